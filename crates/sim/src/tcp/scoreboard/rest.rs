//! Windows that rest, while their flows do not need them.

use super::{Retransmission, Scoreboard, Slot, FIRST_CAPACITY};
use crate::log::Log;
use ackclock_host::PooledSlice;
use ackclock_net::ring::Ring;
use std::iter::repeat_n;

/// The windows of flows that rest, and the rings of the flow that is awake.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    slots: Log<Slot>,
    retransmissions: Log<Retransmission>,
    rings: Rings,
}

#[derive(Debug, Default)]
struct Rings {
    slots: PooledSlice<Slot>,
    retransmissions: Ring<Retransmission, PooledSlice<Retransmission>>,
}

impl Windows {
    /// The next window, which has so many segments and retransmissions, rests for another round.
    #[inline]
    pub(crate) fn pass(&mut self, segments: usize, retransmissions: usize) {
        self.slots.pass(segments);
        self.retransmissions.pass(retransmissions);
    }

    /// The next window is that of `board`, which gets the rings.
    #[inline(always)]
    pub(in crate::tcp) fn wake(
        &mut self,
        board: &mut Scoreboard,
        segments: usize,
        retransmissions: usize,
    ) {
        debug_assert_eq!(segments as u64, board.nxt - board.una);
        std::mem::swap(&mut board.slots, &mut self.rings.slots);
        if board.slots.len() < segments.max(FIRST_CAPACITY) {
            let capacity = segments.next_power_of_two().max(FIRST_CAPACITY);
            board.slots = repeat_n(Slot::default(), capacity).collect();
        }
        let slots = &mut *board.slots;
        let first = board.una as usize & (slots.len() - 1);
        let run = self.slots.read(segments);
        let run = self.slots.get(run);
        let (before, wrapped) = run.split_at(segments.min(slots.len() - first));
        slots[first..][..before.len()].copy_from_slice(before);
        slots[..wrapped.len()].copy_from_slice(wrapped);
        let again = &mut board.retransmissions;
        std::mem::swap(again, &mut self.rings.retransmissions);
        if retransmissions > 0 {
            let run = self.retransmissions.read(retransmissions);
            again.refill(self.retransmissions.get(run));
        } else {
            again.clear();
        }
    }

    /// `board` has no ring until it wakes up. Returns how many segments and retransmissions are in its window.
    #[inline(always)]
    pub(in crate::tcp) fn rest(&mut self, board: &mut Scoreboard) -> (usize, usize) {
        let segments = (board.nxt - board.una) as usize;
        let slots = &*board.slots;
        let first = board.una as usize & slots.len().wrapping_sub(1);
        let room = &mut self.slots.room(segments)[..segments];
        let (before, wrapped) = room.split_at_mut(segments.min(slots.len() - first));
        before.copy_from_slice(&slots[first..][..before.len()]);
        wrapped.copy_from_slice(&slots[..wrapped.len()]);
        self.slots.end(segments);
        let again = &mut board.retransmissions;
        let retransmissions = again.len() as usize;
        if retransmissions > 0 {
            let (before, wrapped) = again.as_mut_slices();
            let room = &mut self.retransmissions.room(retransmissions)[..retransmissions];
            let (to, to_wrapped) = room.split_at_mut(before.len());
            to.copy_from_slice(before);
            to_wrapped.copy_from_slice(wrapped);
            self.retransmissions.end(retransmissions);
        }
        if slots.len() > self.rings.slots.len() {
            std::mem::swap(&mut board.slots, &mut self.rings.slots);
        }
        if again.capacity() > self.rings.retransmissions.capacity() {
            std::mem::swap(again, &mut self.rings.retransmissions);
        }
        (board.slots, board.retransmissions) = Default::default();
        (segments, retransmissions)
    }

    /// The round has ended.
    pub(crate) fn turn(&mut self) {
        self.slots.turn();
        self.retransmissions.turn();
    }
}
