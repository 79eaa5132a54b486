//! ACKs on their way to a sender.

use crate::tcp::Ack;
use ackclock_host::{prefetch, PooledSlice};
use ackclock_net::ring::Ring;
use ackclock_net::schedule::NEVER;
use std::ops::{Deref, DerefMut};

/// When an ACK arrives, and the ACK.
pub(crate) type Timed = (u64, Ack);

/// ACKs on their way, in order, and when each arrives. What a ring forgets must be plain.
#[derive(Debug, Default)]
pub(crate) struct AckLine(Ring<Timed, PooledSlice<Timed>>);

impl Deref for AckLine {
    type Target = Ring<Timed, PooledSlice<Timed>>;

    #[inline(always)]
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for AckLine {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl AckLine {
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

    /// Takes the first ACK, if it has arrived by `now_ns`.
    #[inline(always)]
    pub(crate) fn take_arrived(&mut self, now_ns: u64) -> Option<Ack> {
        Some(self.0.pop_if(|&(at_ns, _)| at_ns <= now_ns)?.1)
    }

    /// A copy of the first ACK, if it has arrived by `now_ns` and is plain.
    #[inline]
    pub(crate) fn first_plain(&self, now_ns: u64) -> Option<Ack> {
        let ack = self.arrived(now_ns).filter(|ack| ack.is_plain())?;
        Some(Ack::new(ack.ack, ack.echo_ns))
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
