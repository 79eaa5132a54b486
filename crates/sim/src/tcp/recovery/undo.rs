//! Whether a reduction was spurious. Two signs show this: D-SACKs for every retransmission (RFC
//! 3708, `tcp_check_dsack`), or a timestamp from before the first retransmission (RFC 3522,
//! `tcp_packet_delayed`).
//!
//! How to drive it: call [`begin`](Undo::begin) when a reduction begins, then
//! [`on_retransmit`](Undo::on_retransmit) and [`on_duplicate_sack`](Undo::on_duplicate_sack). Ask
//! [`is_due`](Undo::is_due), [`all_answered`](Undo::all_answered) or
//! [`original_answered`](Undo::original_answered). Call [`close`](Undo::close) after an undo.

use super::super::ranges::Range;

const NS_PER_MS: u64 = 1_000_000;

/// A reduction that may be undone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo {
    /// `una` when the reduction began that may still be undone, or [`NONE`].
    marker: u64,
    /// Retransmissions since then that no D-SACK has answered; below 0 before the first one.
    retrans: i64,
    /// When the first retransmission was sent, or [`NONE`].
    stamp_ns: u64,
}

/// No segment, and no time: an `Option` of either takes twice the memory.
const NONE: u64 = u64::MAX;

impl Default for Undo {
    fn default() -> Self {
        Self {
            marker: NONE,
            retrans: 0,
            stamp_ns: NONE,
        }
    }
}

impl Undo {
    /// Starts a reduction. `retrans_out` retransmissions are already out.
    pub(crate) fn begin(&mut self, una: u64, retrans_out: u32) {
        self.marker = una;
        self.retrans = if retrans_out > 0 {
            retrans_out.into()
        } else {
            -1
        };
    }

    pub(crate) fn on_retransmit(&mut self, now_ns: u64, segments: u32) {
        self.stamp_ns = self.stamp_ns.min(now_ns);
        self.retrans = self.retrans.max(0) + i64::from(segments);
    }

    /// Handles a D-SACK of a retransmitted segment.
    pub(crate) fn on_duplicate_sack(&mut self, (start, end): Range) {
        if self.is_open() && end > self.marker && self.retrans > 0 {
            self.retrans = (self.retrans - (end - start) as i64).max(0);
        }
    }

    /// Whether there is a reduction that may still be undone.
    pub(crate) fn is_open(&self) -> bool {
        self.marker != NONE
    }

    /// Whether D-SACKs have answered all retransmissions: then none was needed.
    pub(crate) fn all_answered(&self) -> bool {
        self.is_open() && self.retrans == 0
    }

    /// Whether something was sent again since then.
    pub(crate) fn has_stamp(&self) -> bool {
        self.stamp_ns != NONE
    }

    /// RFC 3522: whether the echo is of a transmission before the first retransmission, or none was sent
    /// again. Timestamps count whole milliseconds.
    pub(crate) fn original_answered(&self, echo_ns: u64) -> bool {
        let before = echo_ns / NS_PER_MS < self.stamp_ns / NS_PER_MS;
        self.is_open() && (self.stamp_ns == NONE || before)
    }

    /// Whether either is true.
    pub(crate) fn is_due(&self, echo_ns: u64) -> bool {
        self.all_answered() || self.original_answered(echo_ns)
    }

    /// Forgets the reduction: it was justified, or it is undone.
    pub(crate) fn close(&mut self) {
        self.marker = NONE;
    }

    /// Notes that no retransmission is out: the next one is the first.
    pub(crate) fn forget_stamp(&mut self) {
        self.stamp_ns = NONE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_retransmission_has_to_be_answered() {
        let mut undo = Undo::default();
        assert!(!undo.is_due(0), "there is nothing to undo");
        undo.begin(10, 0);
        undo.on_duplicate_sack((10, 11));
        assert!(!undo.all_answered(), "nothing was sent again");
        undo.on_retransmit(5, 3);
        undo.on_duplicate_sack((10, 11));
        undo.on_duplicate_sack((8, 10));
        assert!(!undo.all_answered(), "8 and 9 lie before the marker");
        undo.on_duplicate_sack((11, 13));
        assert!(undo.all_answered() && undo.is_due(u64::MAX));
        undo.close();
        assert!(!undo.is_due(u64::MAX));
    }

    /// Retransmissions that were out when the reduction began count too.
    #[test]
    fn what_was_out_counts() {
        let mut undo = Undo::default();
        undo.begin(10, 1);
        undo.on_retransmit(5, 1);
        undo.on_duplicate_sack((10, 11));
        assert!(!undo.all_answered());
        undo.on_duplicate_sack((11, 12));
        assert!(undo.all_answered());
    }

    #[test]
    fn timestamps_tell_the_original() {
        let mut undo = Undo::default();
        undo.begin(10, 0);
        assert!(undo.original_answered(0), "nothing was sent again");
        let (stamp_ns, just_before_ns) = (500 * NS_PER_MS + 7, 500 * NS_PER_MS - 1);
        undo.on_retransmit(stamp_ns, 1);
        undo.on_retransmit(900 * NS_PER_MS, 1);
        assert!(undo.original_answered(just_before_ns) && undo.is_due(just_before_ns));
        assert!(
            !undo.original_answered(500 * NS_PER_MS),
            "the same millisecond"
        );
        undo.close();
        assert!(!undo.original_answered(just_before_ns));
    }
}
