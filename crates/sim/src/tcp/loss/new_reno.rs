//! NewReno (RFC 6582; `tcp_add_reno_sack`, `tcp_remove_reno_sacks`, `tcp_newreno_mark_lost`): without SACK
//! each duplicate ACK counts as one segment that has arrived, and only the head can be judged lost.
//!
//! How to drive it: call [`on_duplicate`](NewReno::on_duplicate) for a duplicate ACK,
//! [`on_acknowledged`](NewReno::on_acknowledged) when `snd_una` has advanced, then
//! [`detect`](NewReno::detect).

use super::super::host::{Counts, Host};
use super::super::scoreboard::Scoreboard;
use super::reordering::Reordering;
use ackclock_host::CaState;

/// How many duplicates a loss needs (`tp->reordering`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewReno {
    pub(super) reordering: Reordering,
}

impl NewReno {
    pub(crate) const fn new() -> Self {
        Self {
            reordering: Reordering::new(),
        }
    }

    /// `tcp_add_reno_sack`: some segment above the head has arrived.
    pub(crate) fn on_duplicate(&mut self, mut counts: Counts<'_>) {
        let prior = counts.get().sacked_out;
        counts.sacked();
        self.limit(&mut counts, 0);
        let arrived = counts.get().sacked_out.saturating_sub(prior);
        counts.delivered(arrived);
    }

    /// `tcp_remove_reno_sacks`: of `acked` segments, which the scoreboard has counted as delivered, the
    /// first filled the hole. Duplicates have told of others before.
    pub(crate) fn on_acknowledged(&mut self, mut counts: Counts<'_>, acked: u32) {
        let sacked = counts.get().sacked_out;
        let told = sacked.min(acked - 1);
        counts.delivered(told.wrapping_neg());
        counts.assume_sacked(sacked - told);
        self.limit(&mut counts, acked);
    }

    /// `tcp_check_reno_reordering`: more duplicates than segments behind the holes show that the path
    /// reorders.
    fn limit(&mut self, counts: &mut Counts<'_>, acked: u32) {
        let tp = counts.get();
        let (sacked, packets) = (tp.sacked_out, tp.packets_out);
        let most = packets - tp.lost_out.max(1).min(packets);
        if sacked > most {
            counts.assume_sacked(most);
            self.reordering = Reordering::with_segments((packets + acked).into());
        }
    }

    /// `tcp_newreno_mark_lost`: the head is lost after enough duplicates, and in Recovery if an ACK has
    /// advanced only to it.
    pub(crate) fn detect(&self, board: &mut Scoreboard, host: &mut Host, una_advanced: bool) {
        let tp = host.tp();
        let state = tp.inet_conn.icsk_ca_state;
        let lost = match state {
            _ if tp.packets_out == 0 => false,
            _ if state < CaState::Recovery as u8 => tp.sacked_out >= self.reordering.segments(),
            _ => state == CaState::Recovery as u8 && una_advanced,
        };
        if lost {
            board.mark_head_lost(host.counts());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::host::reno;
    use super::*;
    use crate::scenario::Profile;

    /// Ten segments are out, and three duplicates arrive. `delivered` counts the SYN, too.
    fn three_duplicates() -> (Host, Scoreboard, NewReno) {
        let (mut host, mut board) = (reno(Profile::Linux6, 10), Scoreboard::new());
        board.send(host.counts(), 1, 10, false);
        let mut detection = NewReno::new();
        for lost in [0, 0, 1] {
            detection.on_duplicate(host.counts());
            detection.detect(&mut board, &mut host, false);
            assert_eq!(host.tp().lost_out, lost);
        }
        (host, board, detection)
    }

    /// RFC 6582, 3.2: a partial ACK shows the next hole. The duplicates have told of the segments that
    /// it acknowledges besides.
    #[test]
    fn one_hole_after_the_other() {
        let (mut host, mut board, mut detection) = three_duplicates();
        host.set_state(CaState::Recovery);
        assert_eq!((host.tp().sacked_out, host.tp().delivered - 1), (3, 3));
        board.acknowledge(host.counts(), 3, 10, &mut Default::default());
        detection.on_acknowledged(host.counts(), 3);
        assert_eq!((host.tp().sacked_out, host.tp().delivered - 1), (1, 4));
        detection.detect(&mut board, &mut host, true);
        assert_eq!(host.tp().lost_out, 1);
        // As many are delivered in all as are acknowledged.
        board.acknowledge(host.counts(), 10, 10, &mut Default::default());
        detection.on_acknowledged(host.counts(), 7);
        assert_eq!((host.tp().sacked_out, host.tp().delivered - 1), (0, 10));
    }

    /// More duplicates than segments behind the hole: from now on it takes as many.
    #[test]
    fn more_duplicates_than_segments() {
        let (mut host, _, mut detection) = three_duplicates();
        for _ in 0..7 {
            detection.on_duplicate(host.counts());
        }
        assert_eq!((host.tp().sacked_out, host.tp().delivered - 1), (9, 9));
        assert_eq!(detection.reordering.segments(), 10);
    }
}
