//! Segments that a record says were sent again, lost or not.

use super::*;

impl Scoreboard {
    /// Sends these segments of the window again but for those that are SACKed. A `probe` is no
    /// retransmission in flight. Returns them; `None`: all are SACKed or acknowledged.
    pub(in super::super) fn resend_recorded(
        &mut self,
        mut counts: Counts<'_>,
        now_ns: u64,
        (first, end): Range,
        probe: bool,
    ) -> Option<Transmit> {
        let (first, end) = (first.max(self.una), end.min(self.nxt));
        let mut last = None;
        for segment in first..end {
            if self.slot(segment).has(SACKED) {
                continue;
            }
            self.resend(&mut counts, now_ns, segment);
            if !probe && !self.slot(segment).has(RETRANS) {
                self.slot_mut(segment).add(RETRANS);
                counts.retransmitted();
            }
            last = Some(segment);
        }
        let last = last?;
        Some(self.resent(first, last + 1))
    }

    /// Whether this segment of the window is SACKed, or acknowledged.
    pub(in super::super) fn has_arrived(&self, segment: u64) -> bool {
        segment < self.una || self.slot(segment).has(SACKED)
    }

    /// Whether this segment of the window is lost, and waits for its retransmission.
    pub(in super::super) fn waits(&self, segment: u64) -> bool {
        self.slot(segment).is_waiting()
    }
}
