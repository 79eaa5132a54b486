//! FACK (Mathis and Mahdavi 1996; in Linux up to 4.14, `sysctl_tcp_fack`): a segment is lost if it
//! is three segments or more below the highest SACK. A retransmission is lost if a segment that
//! was sent after it is SACKed.
//!
//! How to drive it: call [`detect`](Fack::detect) for each dubious ACK.

use super::super::host::Host;
use super::super::scoreboard::Scoreboard;

/// FACK has no state of its own: the scoreboard knows the highest SACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fack;

impl Fack {
    pub(crate) fn detect(self, board: &mut Scoreboard, host: &mut Host) {
        board.judge_by_distance(host.counts());
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::host::reno;
    use super::*;
    use crate::scenario::Profile;

    #[test]
    fn three_below_the_highest_sack() {
        let (mut host, mut board) = (reno(Profile::Linux2_6_25, 20), Scoreboard::new());
        board.send(host.counts(), 1, 20, false);
        for (sacked, lost) in [(2, 0), (3, 1), (10, 8)] {
            let block = (sacked, sacked + 1);
            board.sack(host.counts(), block, 0, &mut Default::default());
            Fack.detect(&mut board, &mut host);
            // All but those SACKed before.
            let sacked_below = host.tp().sacked_out - 1;
            let wanted = if lost == 8 { 8 - sacked_below } else { lost };
            assert_eq!(host.tp().lost_out, wanted, "{sacked}");
        }
    }
}
