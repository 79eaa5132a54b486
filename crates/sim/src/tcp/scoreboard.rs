//! What the sender knows of each segment in its window: when it was last sent, and whether it is
//! SACKed, lost or retransmitted.
//!
//! How to drive it: call [`send`](Scoreboard::send) and [`retransmit`](Scoreboard::retransmit) to transmit,
//! [`sack`](Scoreboard::sack) and [`acknowledge`](Scoreboard::acknowledge) for an ACK. `judge_by_time` or
//! `judge_by_distance` finds losses. [`Counts`] changes the counts in `TcpSock`, where algorithms see them.

mod by_count;
mod collapse;
mod delivery;
mod recorded;
#[cfg(test)]
mod tests;

pub(super) use delivery::{is_after, Delivery, SentOrder};

use super::ack::MOST_SACKS;
use super::constants::REORDERING;
use super::ecn::Marks;
use super::host::Counts;
use super::ranges::{near, Range, RangeSet};
use super::transmit::Transmit;
use ackclock_host::{prefetch, PooledSlice};
use ackclock_net::ring::Ring;
use delivery::NS_PER_US;
use std::iter::repeat_n;

const NS_PER_MS: u64 = 1_000_000;

const SACKED: u64 = 1;
const LOST: u64 = 2;
/// A retransmission of the segment is in flight.
const RETRANS: u64 = 4;
/// The segment was retransmitted at least once.
const EVER_RETRANS: u64 = 8;
/// The application has marked the segment with PSH. It keeps the mark if it is sent again.
const PUSHED: u64 = 16;
/// A packet of the retransmission queue ends with the segment: a burst does, or a split packet.
const ENDS: u64 = 32;
/// RACK has judged it lost, and looks at it when it is sent again: it left `tsorted_sent_queue`.
const UNSORTED: u64 = 64;
const FLAG_BITS: u32 = 7;
/// How many segments a new ring holds: most flows among thousands need no more.
pub(crate) const FIRST_CAPACITY: usize = 16;

/// When a segment was last sent, and its flags below: a window of n segments takes 8 n bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot(u64);

impl Slot {
    #[inline]
    fn new(sent_ns: u64) -> Self {
        debug_assert_eq!(sent_ns >> (u64::BITS - FLAG_BITS), 0);
        Self(sent_ns << FLAG_BITS)
    }

    #[inline]
    fn sent_ns(self) -> u64 {
        self.0 >> FLAG_BITS
    }

    #[inline]
    fn flags(self) -> u64 {
        self.0 & ((1 << FLAG_BITS) - 1)
    }

    #[inline]
    fn has(self, flags: u64) -> bool {
        self.0 & flags != 0
    }

    /// Whether the segment is lost, and waits for its retransmission.
    #[inline]
    fn is_waiting(self) -> bool {
        self.flags() & (SACKED | LOST | RETRANS) == LOST
    }

    #[inline]
    fn add(&mut self, flags: u64) {
        self.0 |= flags;
    }

    #[inline]
    fn remove(&mut self, flags: u64) {
        self.0 &= !flags;
    }
}

/// A retransmission in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Retransmission {
    sent_ns: u64,
    /// The last bits of its segment.
    bits: u32,
    /// How far behind the segment `nxt` was when the retransmission was sent.
    to_nxt: u32,
}

impl Retransmission {
    /// Its segment, in a window that begins near `una`.
    #[inline]
    fn segment(&self, una: u64) -> u64 {
        near(una, self.bits)
    }
}

/// The rings of a window, from `snd_una` to `snd_nxt`: a slot for each segment, at segment & (length − 1),
/// and the retransmissions.
pub(crate) struct Rings<'a> {
    pub(crate) window: (u64, u64),
    pub(crate) slots: &'a mut PooledSlice<Slot>,
    pub(crate) retransmissions: &'a mut Ring<Retransmission, PooledSlice<Retransmission>>,
}

/// The sender's window, segment by segment. In memory what each ACK needs comes first.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Scoreboard {
    una: u64,
    nxt: u64,
    /// A ring indexed by segment & (length − 1).
    slots: PooledSlice<Slot>,
    /// From here on there are no flags but PUSHED and ENDS.
    clean_from: u64,
    sacked: RangeSet,
    /// The SACK blocks of the ACK before (`recv_sack_cache`): the last bits of their segments.
    last_blocks: [(u32, u32); MOST_SACKS],
    /// All unacknowledged segments below are SACKed, lost or retransmitted.
    judged: u64,
    /// Retransmissions in order of sending.
    retransmissions: Ring<Retransmission, PooledSlice<Retransmission>>,
    /// No segment below is lost and waits for its retransmission.
    retransmit_hint: u64,
    lost_end: u64,
}

impl Scoreboard {
    /// Makes an empty window.
    pub(super) fn new() -> Self {
        Self {
            una: 0,
            nxt: 0,
            slots: repeat_n(Slot::default(), FIRST_CAPACITY).collect(),
            sacked: RangeSet::default(),
            last_blocks: [(0, 0); MOST_SACKS],
            clean_from: 0,
            judged: 0,
            retransmissions: Ring::default(),
            retransmit_hint: 0,
            lost_end: 0,
        }
    }

    /// Its rings, for who lends them to it.
    #[inline(always)]
    pub(super) fn rings(&mut self) -> Rings<'_> {
        Rings {
            window: (self.una, self.nxt),
            slots: &mut self.slots,
            retransmissions: &mut self.retransmissions,
        }
    }

    /// Asks for what a gap needs.
    #[inline(always)]
    pub(super) fn prefetch_gap(&self) {
        self.sacked.prefetch();
    }

    /// And for its ends.
    #[inline(always)]
    pub(super) fn prefetch_slots(&self) {
        self.prefetch_gap();
        if let Some(first) = self.retransmissions.front() {
            prefetch(first);
        }
        let mask = self.slots.len() - 1;
        for segment in [self.una, self.nxt] {
            prefetch(&self.slots[segment as usize & mask]);
        }
    }

    /// First unacknowledged segment.
    #[inline]
    pub(super) fn una(&self) -> u64 {
        self.una
    }

    /// The next new segment.
    #[inline]
    pub(super) fn nxt(&self) -> u64 {
        self.nxt
    }

    /// What is known of this segment of the window.
    #[inline]
    fn slot(&self, segment: u64) -> Slot {
        self.slots[segment as usize & (self.slots.len() - 1)]
    }

    #[inline]
    fn slot_mut(&mut self, segment: u64) -> &mut Slot {
        let mask = self.slots.len() - 1;
        &mut self.slots[segment as usize & mask]
    }

    /// When the first unacknowledged segment was last sent.
    #[inline]
    pub(super) fn head_sent_ns(&self) -> u64 {
        self.slot(self.una).sent_ns()
    }

    /// Sends `segments` new segments. `pushed`: the application has marked their end with PSH.
    #[inline(always)]
    pub(super) fn send(
        &mut self,
        mut counts: Counts<'_>,
        now_ns: u64,
        segments: u32,
        pushed: bool,
    ) -> Transmit {
        let first = self.nxt;
        self.nxt += u64::from(segments);
        if self.nxt - self.una > self.slots.len() as u64 {
            self.grow(first);
        }
        let slot = Slot::new(now_ns);
        let end = Slot(slot.0 | if pushed { PUSHED | ENDS } else { ENDS });
        if segments > 2 {
            self.fill(first..self.nxt - 1, slot);
        }
        let (slots, last) = (&mut *self.slots, self.nxt - 1);
        let mask = slots.len() - 1;
        if segments == 2 {
            slots[first as usize & mask] = slot;
        }
        slots[last as usize & mask] = end;
        counts.sent(segments);
        Transmit {
            first,
            segments,
            pushed,
            marks: Marks::default(),
        }
    }

    #[inline(never)]
    fn fill(&mut self, segments: std::ops::Range<u64>, slot: Slot) {
        for segment in segments {
            *self.slot_mut(segment) = slot;
        }
    }

    /// Makes room for the window, whose segments below `end` are in the ring.
    #[cold]
    fn grow(&mut self, end: u64) {
        self.move_to((self.nxt - self.una).next_power_of_two(), end);
    }

    /// Gives slots back if the window needs less than half of them, and half as many again as it has.
    pub(super) fn shrink(&mut self) {
        self.retransmissions.shrink();
        let window = self.nxt - self.una;
        let capacity = (window + window / 2)
            .next_power_of_two()
            .max(FIRST_CAPACITY as u64);
        if capacity < self.slots.len() as u64 {
            self.move_to(capacity, self.nxt);
        }
    }

    fn move_to(&mut self, capacity: u64, end: u64) {
        let mut slots: PooledSlice<_> = repeat_n(Slot::default(), capacity as usize).collect();
        for segment in self.una..end {
            slots[(segment & (capacity - 1)) as usize] = self.slot(segment);
        }
        self.slots = slots;
    }

    /// Whether no segment of the window was ever SACKed, lost or retransmitted.
    #[inline]
    pub(super) fn is_clean(&self) -> bool {
        self.una >= self.clean_from
    }

    /// As [`acknowledge`](Self::acknowledge), of a window that [`is_clean`](Self::is_clean). Returns
    /// when the first and the last of the acknowledged segments were sent.
    #[inline]
    pub(super) fn acknowledge_clean(&mut self, mut counts: Counts<'_>, ack: u64) -> (u64, u64) {
        debug_assert!(self.una < ack && ack <= self.nxt && self.is_clean());
        let sent_ns = (self.head_sent_ns(), self.slot(ack - 1).sent_ns());
        let acked = (ack - self.una) as u32;
        counts.acknowledged(acked);
        counts.delivered(acked);
        self.una = ack;
        sent_ns
    }

    /// Moves the cumulative acknowledgement to `ack`.
    pub(super) fn acknowledge(
        &mut self,
        mut counts: Counts<'_>,
        ack: u64,
        high_seq: u64,
        delivery: &mut Delivery,
    ) {
        debug_assert!(self.una < ack && ack <= self.nxt);
        delivery.acked = (ack - self.una) as u32;
        if self.is_clean() {
            delivery.original_delivered = self.una < high_seq;
            let (first_ns, last_ns) = self.acknowledge_clean(counts, ack);
            delivery.acked_sent_ns = Some((first_ns, last_ns));
            delivery.sample((last_ns, ack - 1), false);
            return delivery.deliver((last_ns, ack - 1), false);
        }
        counts.acknowledged(delivery.acked);
        for segment in self.una..ack {
            let slot = self.slot_mut(segment);
            let (sent_ns, flags) = (slot.sent_ns(), slot.flags());
            slot.remove(flags);
            if flags & EVER_RETRANS != 0 {
                counts.no_longer_retransmitted(flags & RETRANS != 0);
                delivery.retransmitted_acked = true;
                delivery.other_retransmitted_acked |= segment > self.una;
            } else if flags & SACKED == 0 {
                let first = delivery.acked_sent_ns.map_or(sent_ns, |(first, _)| first);
                delivery.acked_sent_ns = Some((first, sent_ns));
                delivery.original_delivered |= segment < high_seq;
                if delivery.acked_late.is_none() && segment < delivery.prior_sacked_end {
                    delivery.acked_late = Some(segment);
                }
            }
            if flags & SACKED != 0 {
                counts.no_longer_sacked();
            } else {
                counts.delivered(1);
                // `tcp_skb_spurious_retrans`
                let retransmitted = flags & EVER_RETRANS != 0;
                delivery.sample((sent_ns, segment), retransmitted);
                if !retransmitted || delivery.echo_ns / NS_PER_MS >= sent_ns / NS_PER_MS {
                    delivery.deliver((sent_ns, segment), retransmitted);
                }
            }
            counts.no_longer_lost(flags & LOST != 0);
        }
        self.una = ack;
        self.sacked.remove_below(ack);
        self.judged = self.judged.max(ack);
        if self.is_clean() {
            // All were of segments below.
            self.retransmissions = Ring::default();
        }
    }

    /// The SACK blocks of an ACK that the ACK before did not have, in ascending order; the others
    /// say nothing new.
    pub(super) fn new_blocks(&mut self, blocks: &[Range]) -> impl Iterator<Item = Range> + use<> {
        let bits = |block: Range| (block.0 as u32, block.1 as u32);
        let mut ascending = [(0, 0); MOST_SACKS];
        ascending[..blocks.len()].copy_from_slice(blocks);
        let last = std::mem::replace(&mut self.last_blocks, ascending.map(bits));
        ascending.sort_unstable();
        ascending
            .into_iter()
            .filter(move |block| block.1 > 0 && !last.contains(&bits(*block)))
    }

    /// Takes one SACK block.
    pub(super) fn sack(
        &mut self,
        mut counts: Counts<'_>,
        block: Range,
        high_seq: u64,
        delivery: &mut Delivery,
    ) {
        let block = (block.0.max(self.una), block.1.min(self.nxt));
        if block.0 >= block.1 {
            return;
        }
        self.clean_from = self.clean_from.max(block.1);
        // `tcp_match_skb_to_sack`
        if block.0 > self.una {
            self.slot_mut(block.0 - 1).add(ENDS);
        }
        self.slot_mut(block.1 - 1).add(ENDS);
        let highest = self.sacked.end();
        let (mask, slots) = (self.slots.len() - 1, &mut self.slots);
        self.sacked.insert(block, |(start, end)| {
            for segment in start..end {
                let slot = &mut slots[segment as usize & mask];
                let (sent_ns, old) = (slot.sent_ns(), slot.flags());
                debug_assert_eq!(old & SACKED, 0);
                if old & EVER_RETRANS == 0 {
                    let first = delivery.sacked_sent_ns.map_or(sent_ns, |(first, _)| first);
                    delivery.sacked_sent_ns = Some((first, sent_ns));
                    delivery.original_delivered |= segment < high_seq;
                    if segment < highest {
                        delivery.sacked_late(segment);
                    }
                }
                if old & LOST != 0 {
                    counts.no_longer_lost(true);
                    counts.no_longer_retransmitted(old & RETRANS != 0);
                    slot.remove(LOST | RETRANS);
                }
                slot.add(SACKED);
                counts.sacked();
                counts.delivered(1);
                delivery.data_sacked = true;
                delivery.sample((sent_ns, segment), old & EVER_RETRANS != 0);
                delivery.deliver((sent_ns, segment), old & EVER_RETRANS != 0);
            }
        });
    }

    /// A D-SACK has reported this segment of the window, and `ack` acknowledges all below. If it was SACKed
    /// and sent again, the path reorders, and no retransmission is in flight any more.
    pub(super) fn duplicate(
        &mut self,
        mut counts: Counts<'_>,
        segment: u64,
        ack: u64,
        delivery: &mut Delivery,
    ) {
        let slot = self.slot(segment);
        if slot.has(SACKED) && slot.has(EVER_RETRANS) {
            delivery.sacked_late(segment);
        }
        if segment >= ack && slot.has(SACKED) && slot.has(RETRANS) {
            counts.no_longer_retransmitted(true);
            self.slot_mut(segment).remove(RETRANS);
        }
    }

    /// Whether this segment of the window was ever retransmitted.
    pub(super) fn ever_retransmitted(&self, segment: u64) -> bool {
        self.slot(segment).has(EVER_RETRANS)
    }

    fn mark_lost(&mut self, counts: &mut Counts<'_>, segment: u64) {
        let slot = self.slot_mut(segment);
        let flags = slot.flags();
        debug_assert_eq!(flags & SACKED, 0);
        slot.remove(RETRANS);
        slot.add(LOST);
        if flags & (LOST | RETRANS) == LOST {
            self.retransmit_hint = self.retransmit_hint.min(segment);
            return;
        }
        counts.no_longer_retransmitted(flags & RETRANS != 0);
        counts.lost(flags & LOST != 0);
        self.clean_from = self.clean_from.max(segment + 1);
        self.retransmit_hint = self.retransmit_hint.min(segment);
        self.lost_end = self.lost_end.max(segment + 1);
    }

    /// Judges transmissions in the order of sending. `verdict` gets each transmission that no ACK
    /// has answered, and says whether it is lost. Judging stops at the first transmission that is
    /// not lost, separately for originals and for retransmissions; if `one_order`, for both.
    fn judge(
        &mut self,
        counts: &mut Counts<'_>,
        one_order: bool,
        mut verdict: impl FnMut(SentOrder, u64) -> bool,
    ) {
        self.judged = self.judged.max(self.una);
        while self.judged < self.nxt {
            let segment = self.judged;
            let slot = self.slot(segment);
            if !slot.has(SACKED | LOST | EVER_RETRANS | UNSORTED) {
                if !verdict((slot.sent_ns(), segment), segment + u64::from(REORDERING)) {
                    break;
                }
                self.mark_lost(counts, segment);
                if one_order {
                    self.slot_mut(segment).add(UNSORTED);
                }
            }
            self.judged += 1;
        }
        while let Some(retransmission) = self.retransmissions.front() {
            let segment = retransmission.segment(self.una);
            let &Retransmission {
                sent_ns, to_nxt, ..
            } = retransmission;
            let sent_at_nxt = segment + u64::from(to_nxt);
            if one_order && sent_at_nxt > self.judged {
                break;
            }
            let slot = self.slot(segment);
            let stale = segment < self.una
                || slot.has(SACKED)
                || slot.flags() & (LOST | RETRANS) == LOST
                || slot.sent_ns() != sent_ns;
            if !stale {
                if !verdict((sent_ns, segment), sent_at_nxt) {
                    break;
                }
                self.mark_lost(counts, segment);
            }
            self.retransmissions.skip();
        }
    }

    /// RACK: a transmission is lost if it was sent before `newest`, and `wait_us` ago. Returns when, in
    /// µs, the last of the others that were sent before `newest` will be judged lost if no ACK
    /// arrives.
    pub(super) fn judge_by_time(
        &mut self,
        mut counts: Counts<'_>,
        now_us: u64,
        newest: SentOrder,
        wait_us: u64,
    ) -> Option<u64> {
        let mut waits = false;
        let is_older = |sent: SentOrder| is_after(newest, sent);
        let lost_at_us = |sent_ns: u64| sent_ns / NS_PER_US + wait_us;
        self.judge(&mut counts, true, |sent, _| {
            let older = is_older(sent);
            let lost = older && lost_at_us(sent.0) <= now_us;
            waits |= older && !lost;
            lost
        });
        if !waits {
            return None;
        }
        let unanswered = |segment: u64| {
            let slot = self.slot(segment);
            !slot.has(SACKED) && (!slot.has(LOST | UNSORTED) || slot.has(RETRANS))
        };
        // Segments that were never lost are in order of sending, but for the head: of those the last
        // one decides. Else each ACK of a large window would walk over all of it.
        let never_lost = self.judged.max(self.lost_end).max(self.una + 1);
        let (mut end, mut newer) = (never_lost.min(self.nxt), self.nxt);
        while end < newer {
            let middle = end.midpoint(newer);
            match is_older((self.slot(middle).sent_ns(), middle)) {
                true => end = middle + 1,
                false => newer = middle,
            }
        }
        let last = (never_lost..end).rev().find(|&each| unanswered(each));
        (self.judged..never_lost.min(self.nxt))
            .filter(|&segment| unanswered(segment))
            .chain(last)
            .map(|segment| (self.slot(segment).sent_ns(), segment))
            .filter(|&sent| is_older(sent))
            .map(|(sent_ns, _)| lost_at_us(sent_ns))
            .chain(
                self.retransmissions
                    .iter()
                    .map(|r| (r.sent_ns, r.segment(self.una)))
                    .filter(|&sent| sent.1 >= self.una && unanswered(sent.1) && is_older(sent))
                    .map(|(sent_ns, _)| lost_at_us(sent_ns)),
            )
            .max()
    }

    /// FACK: an original is lost if it is more than `REORDERING` below the highest SACK. A
    /// retransmission is lost if a segment that was sent after it is SACKed.
    pub(super) fn judge_by_distance(&mut self, mut counts: Counts<'_>) {
        let end = self.sacked.end();
        self.judge(&mut counts, false, |_, order| order < end);
    }

    /// Handles a timeout: every segment that is not SACKed is lost, unless `spare` says that it was
    /// sent too recently. The head is always lost.
    pub(super) fn mark_all_lost(&mut self, mut counts: Counts<'_>, spare: impl Fn(u64) -> bool) {
        for segment in self.una..self.nxt {
            let slot = self.slot(segment);
            if !slot.has(SACKED) && (segment == self.una || !spare(slot.sent_ns())) {
                self.mark_lost(&mut counts, segment);
            }
        }
    }

    /// Removes every loss mark: there was no loss.
    pub(super) fn unmark_lost(&mut self, mut counts: Counts<'_>) {
        for segment in self.una..self.lost_end.min(self.nxt).max(self.una) {
            self.slot_mut(segment).remove(LOST);
        }
        counts.none_lost();
        self.judged = self.una;
    }

    /// One past the highest SACKed segment.
    pub(super) fn sacked_end(&self) -> u64 {
        self.sacked.end()
    }

    /// Retransmits up to `limit` consecutive lost segments of one packet.
    pub(super) fn retransmit(
        &mut self,
        mut counts: Counts<'_>,
        now_ns: u64,
        limit: u32,
    ) -> Option<Transmit> {
        if counts.get().retrans_out >= counts.get().lost_out {
            return None;
        }
        let first = self.next_lost().unwrap_or(self.lost_end.max(self.una));
        let mut segment = first;
        let mut ends = false;
        while segment < self.lost_end
            && segment - first < u64::from(limit)
            && !ends
            && self.slot(segment).is_waiting()
        {
            self.resend(&mut counts, now_ns, segment);
            self.slot_mut(segment).add(RETRANS);
            ends = self.slot(segment).has(ENDS);
            counts.retransmitted();
            segment += 1;
        }
        self.retransmit_hint = segment;
        (first < segment).then(|| self.resent(first, segment))
    }

    /// A burst of retransmissions: a packet of its own from now on.
    fn resent(&mut self, first: u64, end: u64) -> Transmit {
        let last = self.slot_mut(end - 1);
        last.add(ENDS);
        Transmit {
            first,
            segments: (end - first) as u32,
            pushed: last.has(PUSHED),
            marks: Marks::default(),
        }
    }

    /// Retransmits the last segment of the window, lost or not (tail loss probe).
    pub(super) fn retransmit_last(
        &mut self,
        mut counts: Counts<'_>,
        now_ns: u64,
    ) -> Option<Transmit> {
        let last = self.nxt.checked_sub(1).filter(|&last| last >= self.una)?;
        if last > self.una {
            self.slot_mut(last - 1).add(ENDS);
        }
        self.resend(&mut counts, now_ns, last);
        Some(self.resent(last, last + 1))
    }

    /// Retransmits the head, lost or not. It then counts twice in flight.
    pub(super) fn retransmit_head(&mut self, mut counts: Counts<'_>, now_ns: u64) -> Transmit {
        let first = self.una;
        self.resend(&mut counts, now_ns, first);
        self.slot_mut(first).add(RETRANS);
        counts.retransmitted();
        self.resent(first, first + 1)
    }

    /// The retransmission of the head, if there was one, is no longer in flight.
    pub(super) fn forget_head_retransmission(&mut self, mut counts: Counts<'_>) {
        let head = self.slot_mut(self.una);
        counts.no_longer_retransmitted(head.has(RETRANS));
        head.remove(RETRANS);
    }

    fn resend(&mut self, counts: &mut Counts<'_>, now_ns: u64, segment: u64) {
        let slot = self.slot_mut(segment);
        let flags = slot.flags() | EVER_RETRANS;
        *slot = Slot::new(now_ns);
        slot.add(flags);
        self.clean_from = self.clean_from.max(segment + 1);
        self.retransmissions.push(Retransmission {
            sent_ns: now_ns,
            bits: segment as u32,
            to_nxt: (self.nxt - segment) as u32,
        });
        counts.resent();
    }

    /// Recounts everything, slowly. Tests use it for assertions. `sack`: the connection has it.
    #[cfg(debug_assertions)]
    pub(super) fn check(&self, tp: &ackclock_host::TcpSock, sack: bool) {
        let count = |bit: u64| {
            (self.una..self.nxt)
                .filter(|&segment| self.slot(segment).has(bit))
                .count() as u32
        };
        assert_eq!(
            u64::from(tp.packets_out),
            self.nxt - self.una,
            "packets_out"
        );
        if sack {
            assert_eq!(tp.sacked_out, count(SACKED), "sacked_out");
        }
        assert_eq!(tp.lost_out, count(LOST), "lost_out");
        assert_eq!(tp.retrans_out, count(RETRANS), "retrans_out");
        assert!(tp.sacked_out + tp.lost_out <= tp.packets_out);
        assert!((self.clean_from.max(self.una)..self.nxt).all(|segment| self
            .slot(segment)
            .flags()
            & !(PUSHED | ENDS)
            == 0));
    }
}
