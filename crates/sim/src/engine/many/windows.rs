//! Windows that rest, while their flows do not need them.

use super::log::Log;
use crate::tcp::{Retransmission, Rings, Slot, FIRST_CAPACITY};
use ackclock_host::PooledSlice;
use ackclock_net::ring::Ring;
use std::iter::repeat_n;

/// The windows of flows that rest, and the rings of the flow that is awake.
#[derive(Debug, Default)]
pub(super) struct Windows {
    slots: Log<Slot>,
    retransmissions: Log<Retransmission>,
    spare: Spare,
}

#[derive(Debug, Default)]
struct Spare {
    slots: PooledSlice<Slot>,
    retransmissions: Ring<Retransmission, PooledSlice<Retransmission>>,
}

impl Windows {
    /// The next window, which has so many segments and retransmissions, rests for another round.
    #[inline]
    pub(super) fn pass(&mut self, segments: usize, retransmissions: usize) {
        self.slots.pass(segments);
        self.retransmissions.pass(retransmissions);
    }

    /// The next window is that of `rings`, which get its memory.
    #[inline(always)]
    pub(super) fn wake(&mut self, rings: Rings<'_>, segments: usize, retransmissions: usize) {
        let (una, nxt) = rings.window;
        debug_assert_eq!(segments as u64, nxt - una);
        std::mem::swap(rings.slots, &mut self.spare.slots);
        if rings.slots.len() < segments.max(FIRST_CAPACITY) {
            let capacity = segments.next_power_of_two().max(FIRST_CAPACITY);
            *rings.slots = repeat_n(Slot::default(), capacity).collect();
        }
        let slots = &mut **rings.slots;
        let first = una as usize & (slots.len() - 1);
        let run = self.slots.read(segments);
        let run = self.slots.get(run);
        let (before, wrapped) = run.split_at(segments.min(slots.len() - first));
        slots[first..][..before.len()].copy_from_slice(before);
        slots[..wrapped.len()].copy_from_slice(wrapped);
        let again = rings.retransmissions;
        std::mem::swap(again, &mut self.spare.retransmissions);
        if retransmissions > 0 {
            let run = self.retransmissions.read(retransmissions);
            again.refill(self.retransmissions.get(run));
        } else {
            again.clear();
        }
    }

    /// `rings` have no memory until they wake up. Returns how many segments and retransmissions are in its window.
    #[inline(always)]
    pub(super) fn rest(&mut self, rings: Rings<'_>) -> (usize, usize) {
        let (una, nxt) = rings.window;
        let segments = (nxt - una) as usize;
        let slots = &**rings.slots;
        let first = una as usize & slots.len().wrapping_sub(1);
        let room = &mut self.slots.room(segments)[..segments];
        let (before, wrapped) = room.split_at_mut(segments.min(slots.len() - first));
        before.copy_from_slice(&slots[first..][..before.len()]);
        wrapped.copy_from_slice(&slots[..wrapped.len()]);
        self.slots.end(segments);
        let again = rings.retransmissions;
        let retransmissions = again.len() as usize;
        if retransmissions > 0 {
            let (before, wrapped) = again.as_mut_slices();
            let room = &mut self.retransmissions.room(retransmissions)[..retransmissions];
            let (to, to_wrapped) = room.split_at_mut(before.len());
            to.copy_from_slice(before);
            to_wrapped.copy_from_slice(wrapped);
            self.retransmissions.end(retransmissions);
        }
        if slots.len() > self.spare.slots.len() {
            std::mem::swap(rings.slots, &mut self.spare.slots);
        }
        if again.capacity() > self.spare.retransmissions.capacity() {
            std::mem::swap(again, &mut self.spare.retransmissions);
        }
        (*rings.slots, *again) = Default::default();
        (segments, retransmissions)
    }

    /// The round has ended.
    pub(super) fn turn(&mut self) {
        self.slots.turn();
        self.retransmissions.turn();
    }
}
