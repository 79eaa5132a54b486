//! What is lost by counting duplicate ACKs (RFC 6582), or segments that are SACKed above (RFC 6675); and how
//! many packets there are.

use super::super::host::Counts;
use super::{Scoreboard, ENDS, LOST, SACKED};

impl Scoreboard {
    /// The first lost segment that waits for its retransmission.
    #[inline]
    pub(in super::super) fn next_lost(&self) -> Option<u64> {
        (self.retransmit_hint.max(self.una)..self.lost_end).find(|&at| self.slot(at).is_waiting())
    }

    /// The head is lost, if it was not before: it is a packet of its own from now on.
    pub(in super::super) fn mark_head_lost(&mut self, mut counts: Counts<'_>) {
        if !self.slot(self.una).has(LOST) {
            self.slot_mut(self.una).add(ENDS);
            self.mark_lost(&mut counts, self.una);
        }
    }

    /// `tcp_mark_head_lost`: lost is what has so many SACKed segments above it.
    pub(in super::super) fn judge_by_count(&mut self, mut counts: Counts<'_>, above: u32) {
        let Some(end) = self.sacked.nth_highest(above.into()) else {
            return;
        };
        for segment in self.judged.max(self.una)..end {
            self.count_lost(&mut counts, segment);
        }
        self.judged = self.judged.max(end);
    }

    /// The same for the packet at the head, if nothing behind it was judged.
    pub(in super::super) fn mark_head_packet_lost(&mut self, mut counts: Counts<'_>) {
        if self.judged > self.una {
            return;
        }
        for segment in self.una..self.nxt {
            let ends = self.slot(segment).has(ENDS);
            self.count_lost(&mut counts, segment);
            if ends {
                return;
            }
        }
    }

    /// Packets of the retransmission queue. Neighbours that are SACKed are one (`tcp_shift_skb_data`).
    pub(in super::super) fn packets(&self) -> u64 {
        let ends = |segment: &u64| {
            let (slot, next) = (self.slot(*segment), segment + 1);
            let joins = slot.has(SACKED) && next < self.nxt && self.slot(next).has(SACKED);
            slot.has(ENDS) && !joins
        };
        (self.una..self.nxt).filter(ends).count() as u64
    }

    /// A retransmission that is in flight stays there.
    fn count_lost(&mut self, counts: &mut Counts<'_>, segment: u64) {
        let slot = self.slot_mut(segment);
        if slot.has(SACKED | LOST) {
            return;
        }
        slot.add(LOST);
        counts.lost(false);
        self.clean_from = self.clean_from.max(segment + 1);
        self.retransmit_hint = self.retransmit_hint.min(segment);
        self.lost_end = self.lost_end.max(segment + 1);
    }
}
