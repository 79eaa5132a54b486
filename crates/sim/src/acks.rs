//! ACKs on their way to a sender.

use crate::tcp::Ack;
use ackclock_host::{prefetch, PooledSlice};
use ackclock_net::ring::Ring;
use ackclock_net::schedule::NEVER;

/// When an ACK arrives, and the ACK.
pub(crate) type Timed = (u64, Ack);

/// ACKs on their way, in order, and when each arrives.
#[derive(Debug, Default)]
pub(crate) struct AckLine(Ring<Timed, PooledSlice<Timed>>);

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

    /// The ACKs, and when they arrive.
    #[inline(always)]
    pub(crate) fn as_mut_slices(&mut self) -> (&mut [Timed], &mut [Timed]) {
        self.0.as_mut_slices()
    }

    /// Forgets all ACKs, which are plain.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// How many ACKs it has room for.
    pub(crate) fn capacity(&self) -> u64 {
        self.0.capacity()
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
