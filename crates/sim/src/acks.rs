//! ACKs on their way to a sender, and what a sender has done with the first of them ahead of the clock.

use crate::tcp::{Ack, Marks, Sender, Transmit};
use ackclock_host::{prefetch, PooledSlice};
use ackclock_net::ring::Ring;
use ackclock_net::schedule::NEVER;

/// ACKs on their way, in order, and when each arrives.
#[derive(Debug, Default)]
pub(crate) struct AckLine(Ring<(u64, Ack), PooledSlice<(u64, Ack)>>);

impl AckLine {
    #[inline]
    pub(crate) fn push(&mut self, at_ns: u64, ack: Ack) {
        self.0.push((at_ns, ack));
    }

    /// Whether no ACK is on its way.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Asks for the slots at both ends.
    #[inline(always)]
    pub(crate) fn prefetch_slots(&self) {
        for slot in [self.0.front(), self.0.next_slot()].into_iter().flatten() {
            prefetch(slot);
        }
    }

    /// Asks for what the first ACK tells besides, when its slot is in the cache.
    #[inline(always)]
    pub(crate) fn prefetch_first(&self) {
        if let Some((_, ack)) = self.0.front() {
            ack.prefetch();
        }
    }

    /// Gives memory back that it does not need now.
    pub(crate) fn shrink(&mut self) {
        self.0.shrink();
    }

    /// How many ACKs are on their way.
    pub(crate) fn len(&self) -> u64 {
        self.0.len()
    }

    #[inline]
    pub(crate) fn first_at_ns(&self) -> u64 {
        self.0.front().map_or(NEVER, |&(at_ns, _)| at_ns)
    }

    /// The first ACK, if it has arrived by `now_ns`.
    #[inline]
    pub(crate) fn arrived(&self, now_ns: u64) -> Option<&Ack> {
        match self.0.front() {
            Some((at_ns, ack)) if *at_ns <= now_ns => Some(ack),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Ack> {
        Some(self.0.pop()?.1)
    }

    /// Takes the first ACK, if it has arrived by `now_ns`.
    #[inline(always)]
    pub(crate) fn take_arrived(&mut self, now_ns: u64) -> Option<Ack> {
        Some(self.0.pop_if(|&(at_ns, _)| at_ns <= now_ns)?.1)
    }

    /// The first ACK, and when it arrives.
    #[inline]
    pub(crate) fn first(&self) -> Option<&(u64, Ack)> {
        self.0.front()
    }

    /// A copy of the first ACK, if it has arrived by `now_ns` and is plain.
    #[inline]
    pub(crate) fn first_plain(&self, now_ns: u64) -> Option<Ack> {
        let ack = self.arrived(now_ns).filter(|ack| ack.is_plain())?;
        Some(Ack::new(ack.ack, ack.echo_ns))
    }

    /// Removes the first ACK, which is plain.
    #[inline]
    pub(crate) fn skip(&mut self) {
        self.0.skip();
    }

    /// Lets the first ACK arrive later, while the host is busy.
    pub(crate) fn delay_first(&mut self, until_ns: u64) {
        if let Some((at_ns, _)) = self.0.front_mut() {
            *at_ns = until_ns.max(*at_ns);
        }
    }

    /// Drops the ACKs that have arrived by `now_ns` behind the first `places`. Returns how many.
    pub(crate) fn drop_beyond(&mut self, places: u64, now_ns: u64) -> u64 {
        let before = self.len();
        if (self.0.get(places)).is_some_and(|&(at_ns, _)| at_ns <= now_ns) {
            let all: Vec<_> = std::iter::from_fn(|| self.0.pop()).collect();
            for (place, each) in (0..).zip(all) {
                if place < places || each.0 > now_ns {
                    self.0.push(each);
                }
            }
        }
        before - self.len()
    }
}

/// How far a sender is ahead of the clock. ACKs do not overtake each other, so all that arrive before
/// the last one on its way are known, and so is what the sender does with them. It handles them one
/// behind the other, while its state is in the cache. Each keeps its place in the line until its time
/// comes: then what it released leaves.
#[derive(Debug)]
pub(crate) struct Ahead {
    /// So many ACKs, the first of the line, are handled.
    handled: u32,
    /// What is to be done after the last of them: until then the sender handles no other.
    pub(crate) rest: Rest,
    /// The sender's own timeout after the last of them.
    pub(crate) timeout_ns: u64,
}

/// What the last ACK that a sender handled ahead of the clock leaves to do at its time.
#[derive(Debug, Default)]
pub(crate) enum Rest {
    #[default]
    Nothing,
    /// Something is to be recorded, and then the sender may send.
    Report,
    /// The sender has sent this, too, and may send more.
    Sends(Box<Transmit>),
}

impl Ahead {
    pub(crate) fn none() -> Self {
        Self {
            handled: 0,
            rest: Rest::Nothing,
            timeout_ns: NEVER,
        }
    }

    /// Whether the first ACK of the line is handled.
    #[inline]
    pub(crate) fn is_ahead(&self) -> bool {
        self.handled > 0
    }

    /// Lets the sender handle the ACKs that arrive up to `until_ns`.
    #[inline(never)]
    pub(crate) fn run(&mut self, acks: &mut AckLine, sender: &mut Sender, until_ns: u64) {
        while matches!(self.rest, Rest::Nothing) {
            let place = u64::from(self.handled);
            if let Some((_, next)) = acks.0.get(place + 1) {
                next.prefetch();
            }
            let Some(&mut (at_ns, ref mut slot)) = acks.0.get_mut(place) else {
                break;
            };
            if at_ns > until_ns || at_ns >= sender.poll_timeout() {
                break;
            }
            let ack = std::mem::take(slot);
            let burst;
            (burst, self.rest) = handle(sender, at_ns, &ack);
            *slot = Ack::new(ack.ack, burst);
            self.handled += 1;
        }
        self.timeout_ns = sender.poll_timeout();
    }

    /// Takes the first ACK of the line, which is handled: its number, and what it has released.
    #[inline]
    pub(crate) fn take(&mut self, acks: &mut AckLine) -> Option<(u64, Option<Transmit>)> {
        let (_, ack) = acks.0.front()?;
        let taken = (ack.ack, unpack(ack.echo_ns));
        acks.0.skip();
        self.handled -= 1;
        Some(taken)
    }
}

/// Gives an ACK to the sender. Returns the burst that it releases, packed, and what it leaves to do.
#[inline(always)]
fn handle(sender: &mut Sender, at_ns: u64, ack: &Ack) -> (u64, Rest) {
    let plain = sender.predicts(ack);
    let quiet = match plain {
        true => sender.handle_predicted(at_ns, ack.ack),
        false => {
            sender.handle_ack(at_ns, ack);
            sender.is_quiet()
        }
    };
    if !quiet {
        return (0, Rest::Report);
    }
    let plain = plain && !sender.is_idle();
    let mut poll = || match plain {
        true => sender.poll_new(),
        false => sender.poll_transmit(at_ns),
    };
    let Some(burst) = poll() else {
        return (0, Rest::Nothing);
    };
    let Some(packed) = pack(burst) else {
        return (0, Rest::Sends(Box::new(burst)));
    };
    if sender.ends_turn() {
        return (packed, Rest::Nothing);
    }
    let mut poll = || match plain {
        true => sender.poll_new(),
        false => sender.poll_transmit(at_ns),
    };
    match poll() {
        None => (packed, Rest::Nothing),
        Some(burst) => (packed, Rest::Sends(Box::new(burst))),
    }
}

/// A burst takes the place of an ACK's timestamp echo: the segment above, then how many, and PSH.
const SEGMENTS_BITS: u32 = 15;

/// `None`: the burst has marks, or large numbers.
#[inline]
fn pack(burst: Transmit) -> Option<u64> {
    let Transmit {
        first,
        segments,
        pushed,
        marks,
    } = burst;
    let fits = first >> (u64::BITS - SEGMENTS_BITS - 1) == 0 && segments >> SEGMENTS_BITS == 0;
    let shift = SEGMENTS_BITS + 1;
    (fits && marks == Marks::default())
        .then_some(first << shift | u64::from(segments) << 1 | u64::from(pushed))
}

#[inline]
fn unpack(packed: u64) -> Option<Transmit> {
    let segments = (packed >> 1) as u32 & ((1 << SEGMENTS_BITS) - 1);
    (segments > 0).then(|| Transmit {
        first: packed >> (SEGMENTS_BITS + 1),
        segments,
        pushed: packed & 1 != 0,
        marks: Marks::default(),
    })
}
