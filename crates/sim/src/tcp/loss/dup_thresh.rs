//! Losses by the number of SACKed segments (RFC 6675, 4; `tcp_mark_head_lost`), which is what Linux has
//! without RACK: a segment is lost if as many above it are SACKed as the path is assumed to reorder.
//! What was sent again is not judged: only the timeout finds it lost.
//!
//! How to drive it: once the state is Recovery, or [`is_reached`](DupThresh::is_reached) begins it, call
//! [`detect`](DupThresh::detect) for each duplicate ACK, and if the highest SACK
//! [`is_far`](DupThresh::is_far).

use super::super::host::Host;
use super::super::scoreboard::Scoreboard;
use super::reordering::Reordering;

/// The duplicate threshold is the degree of reordering.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DupThresh {
    pub(super) reordering: Reordering,
}

impl DupThresh {
    pub(crate) const fn new() -> Self {
        Self {
            reordering: Reordering::new(),
        }
    }

    /// `tcp_time_to_recover`: so many segments are SACKed.
    pub(crate) fn is_reached(&self, host: &Host) -> bool {
        host.tp().sacked_out >= self.reordering.segments()
    }

    /// `tcp_force_fast_retransmit`: so far above the head a segment is SACKed.
    pub(crate) fn is_far(&self, board: &Scoreboard) -> bool {
        board.sacked_end() > board.una() + u64::from(self.reordering.segments())
    }

    /// `tcp_update_scoreboard`. `begins`: Recovery has just begun, for whatever reason.
    pub(crate) fn detect(&self, board: &mut Scoreboard, host: &mut Host, begins: bool) {
        if self.is_reached(host) {
            board.judge_by_count(host.counts(), self.reordering.segments());
        } else if begins {
            board.mark_head_packet_lost(host.counts());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::host::reno;
    use super::*;
    use crate::scenario::Profile;

    /// RFC 6675, 4: three SACKed segments above, whatever lies between. The degree of reordering is the
    /// threshold.
    #[test]
    fn three_above() {
        let (mut host, mut board) = (reno(Profile::Linux6, 20), Scoreboard::new());
        board.send(host.counts(), 1, 20, false);
        let mut thresh = DupThresh::new();
        for (sacked, far, lost) in [(2, false, 0), (5, true, 0), (7, true, 2), (8, true, 4)] {
            let block = (sacked, sacked + 1);
            board.sack(host.counts(), block, 0, &mut Default::default());
            assert_eq!(thresh.is_far(&board), far, "{sacked}");
            thresh.detect(&mut board, &mut host, false);
            assert_eq!(host.tp().lost_out, lost, "{sacked}");
        }
        thresh.reordering.note(5);
        assert!(!thresh.is_reached(&host) && thresh.is_far(&board) == (9 > 5));
        thresh.detect(&mut board, &mut host, true);
        assert_eq!(host.tp().lost_out, 4, "the head was judged");
        board.check(host.tp(), true);
    }

    /// A Recovery for another reason begins with the packet at the head. An undo judges anew, and leaves
    /// retransmissions in flight.
    #[test]
    fn the_head_and_an_undo() {
        let (mut host, mut board) = (reno(Profile::Linux6, 20), Scoreboard::new());
        board.send(host.counts(), 1, 3, false);
        board.send(host.counts(), 1, 7, false);
        let thresh = DupThresh::new();
        thresh.detect(&mut board, &mut host, true);
        assert_eq!(host.tp().lost_out, 3);
        board.retransmit(host.counts(), 5, 2);
        board.unmark_lost(host.counts());
        board.sack(host.counts(), (6, 9), 0, &mut Default::default());
        thresh.detect(&mut board, &mut host, false);
        assert_eq!((host.tp().lost_out, host.tp().retrans_out), (6, 2));
        board.check(host.tp(), true);
    }
}
