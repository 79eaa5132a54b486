//! RACK (RFC 8985, 6; `tcp_rack_detect_loss`): a segment is lost if it was sent sufficiently before
//! a delivered segment.
//!
//! How to drive it: for each ACK call [`on_delivered`](Rack::on_delivered) with the most recently
//! sent transmission that the ACK delivers, then [`detect`](Rack::detect). If `detect` returns a
//! time, call it again at that time.

use super::super::host::Host;
use super::super::profile::REORDERING;
use super::super::scoreboard::{Scoreboard, SentOrder};
use ackclock_host::{CaState, TcpSock};

/// What RACK knows of the most recent transmission that was delivered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rack {
    newest: SentOrder,
    rtt_ns: u64,
    /// Whether anything was delivered since the last judgement.
    advanced: bool,
    reordering_seen: bool,
}

impl Rack {
    pub(crate) const fn new() -> Self {
        Self {
            newest: (0, 0),
            rtt_ns: 0,
            advanced: false,
            reordering_seen: false,
        }
    }

    /// Notes delivered transmissions (6.2, step 2): the most recently sent one, and when the last
    /// that the ACK delivered was sent.
    #[inline]
    pub(crate) fn on_delivered(&mut self, now_ns: u64, newest: SentOrder, last_sent_ns: u64) {
        self.advanced = true;
        self.rtt_ns = now_ns - last_sent_ns;
        if newest > self.newest {
            self.newest = newest;
        }
    }

    /// Judges segments when an ACK has arrived (6.2, step 5). Returns when to judge again if no ACK
    /// arrives.
    pub(crate) fn detect(
        &mut self,
        board: &mut Scoreboard,
        host: &mut Host,
        min_rtt_us: u32,
    ) -> Option<u64> {
        if !std::mem::take(&mut self.advanced) {
            return None;
        }
        self.judge(board, host, min_rtt_us)
    }

    /// Judges segments when the reordering timer has fired, which does not start anew then.
    pub(crate) fn judge(
        &self,
        board: &mut Scoreboard,
        host: &mut Host,
        min_rtt_us: u32,
    ) -> Option<u64> {
        let window_ns = self.reordering_window_ns(host.tp(), min_rtt_us);
        let now_ns = host.now_ns();
        board.judge_by_time(host.counts(), now_ns, self.newest, self.rtt_ns, window_ns)
    }

    /// 6.2, step 4: how long RACK waits for reordered segments. It is 0 after enough duplicate ACKs
    /// on a path that keeps order.
    fn reordering_window_ns(&self, tp: &TcpSock, min_rtt_us: u32) -> u64 {
        if !self.reordering_seen
            && (tp.inet_conn.icsk_ca_state >= CaState::Recovery as u8
                || tp.sacked_out >= REORDERING)
        {
            return 0;
        }
        u64::from(min_rtt_us / 4).min(u64::from(tp.srtt_us >> 3)) * 1_000
    }

    /// 6.3: at a timeout segments of the last RTT are not lost.
    pub(crate) fn spares(&self, now_ns: u64, sent_ns: u64) -> bool {
        now_ns - sent_ns < self.rtt_ns
    }

    pub(crate) fn note_reordering(&mut self) {
        self.reordering_seen = true;
    }

    pub(crate) fn judge_anew(&mut self) {
        self.advanced = true;
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::host::reno;
    use super::*;
    use crate::scenario::Profile;

    const MS: u64 = 1_000_000;
    const RTT_US: u32 = 100_000;

    /// Ten segments, one each ms from 1 s on, of which the fifth is SACKed a round trip later.
    fn one_sacked() -> (Host, Scoreboard, Rack) {
        let (mut host, mut board) = (reno(Profile::Linux6, 10), Scoreboard::new());
        host.publish_rtt(8 * RTT_US, 0);
        let start_ns = host.now_ns();
        for segment in 0..10 {
            board.send(host.counts(), start_ns + segment * MS, 1, false);
        }
        board.sack(host.counts(), (4, 5), 0, &mut Default::default());
        let mut rack = Rack::new();
        host.clock(start_ns + 104 * MS);
        rack.on_delivered(host.now_ns(), (start_ns + 4 * MS, 4), start_ns + 4 * MS);
        (host, board, rack)
    }

    /// Four older ones are unanswered: lost a quarter of the smallest RTT after their time. Linux
    /// waits for the last of them.
    #[test]
    fn time_tells() {
        let (mut host, mut board, mut rack) = one_sacked();
        let start_ns = host.now_ns() - 104 * MS;
        let due_ns = rack.detect(&mut board, &mut host, RTT_US);
        assert_eq!((due_ns, host.tp().lost_out), (Some(start_ns + 128 * MS), 0));
        assert_eq!(rack.detect(&mut board, &mut host, RTT_US), None, "no news");
        host.clock(start_ns + 125 * MS);
        let due_ns = rack.judge(&mut board, &mut host, RTT_US);
        assert_eq!((due_ns, host.tp().lost_out), (Some(start_ns + 128 * MS), 1));
        host.clock(start_ns + 128 * MS);
        assert_eq!(rack.judge(&mut board, &mut host, RTT_US), None);
        assert_eq!(host.tp().lost_out, 4, "those sent later are not judged");
    }

    /// In Recovery RACK does not wait, unless the path is known to reorder.
    #[test]
    fn recovery_is_impatient() {
        let (mut host, mut board, mut rack) = one_sacked();
        host.set_state(CaState::Recovery);
        assert_eq!(rack.detect(&mut board, &mut host, RTT_US), None);
        assert_eq!(host.tp().lost_out, 4);
        let (mut host, mut board, mut rack) = one_sacked();
        host.set_state(CaState::Recovery);
        rack.note_reordering();
        assert!(rack.detect(&mut board, &mut host, RTT_US).is_some());
        assert_eq!(host.tp().lost_out, 0);
    }

    /// The RTT is that of what the ACK delivered last, which need not be what was sent last.
    #[test]
    fn a_timeout_spares_the_last_round_trip() {
        let mut rack = Rack::new();
        rack.on_delivered(5_100 * MS, (5_050 * MS, 7), 5_001 * MS);
        assert!(rack.advanced && rack.newest == (5_050 * MS, 7));
        assert!(rack.spares(6_000 * MS, 5_902 * MS) && !rack.spares(6_000 * MS, 5_901 * MS));
    }
}
