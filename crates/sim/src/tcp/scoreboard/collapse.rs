//! `tcp_collapse_retrans`.

use super::super::host::Counts;
use super::{Scoreboard, Slot, LOST, RETRANS, SACKED};

impl Scoreboard {
    /// The packet before the last of the window takes the last one in, unless that is SACKed. Returns whether
    /// it does. `sack`: the connection has it; else a packet less may have been duplicate ACKs.
    #[cold]
    pub(in super::super) fn collapse_last(&mut self, mut counts: Counts<'_>, sack: bool) -> bool {
        let last = self.nxt - 1;
        let slot = self.slot(last);
        if slot.has(SACKED) {
            return false;
        }
        counts.no_longer_lost(slot.has(LOST));
        counts.no_longer_retransmitted(slot.has(RETRANS));
        counts.acknowledged(1);
        if !sack {
            counts.assume_sacked(counts.get().sacked_out.saturating_sub(1));
        }
        *self.slot_mut(last) = Slot::default();
        self.nxt = last;
        self.lost_end = self.lost_end.min(last);
        true
    }
}
