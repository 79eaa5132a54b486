//! RACK (RFC 8985, 6; `tcp_rack_detect_loss`): a segment is lost if it was sent sufficiently before
//! a delivered segment.
//!
//! How to drive it: for each ACK call [`on_delivered`](Rack::on_delivered) with the most recently
//! sent transmission that the ACK delivers, then [`detect`](Rack::detect). If `detect` returns a
//! time, call it again at that time.

use super::super::constants::{MOST_REORDERING, REORDERING};
use super::super::host::Host;
use super::super::scoreboard::{is_after, Scoreboard, SentOrder};
use ackclock_host::{CaState, TcpSock};

/// What RACK knows of the most recent transmission that was delivered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rack {
    newest: SentOrder,
    /// When something was delivered last, and when that was sent.
    delivered_ns: u64,
    sent_ns: u64,
    /// Whether anything was delivered since the last judgement.
    advanced: bool,
    reordering_seen: bool,
    /// By how many segments the path is assumed to reorder (`tp->reordering`).
    reordering: u16,
    /// The reordering window in quarters of the smallest RTT (`reo_wnd_steps`) …
    steps: u32,
    /// … when it grew last, and for how many recoveries it keeps its size (`reo_wnd_persist`).
    grew_ns: u64,
    persists: u32,
    /// A D-SACK came since: a retransmission was not needed (`dsack_seen`).
    duplicate_seen: bool,
    /// Whether one came, or the window has not its first size.
    adapts: bool,
}

/// For how many recoveries the reordering window stays (`TCP_RACK_RECOVERY_THRESH`).
const RECOVERIES: u32 = 16;
/// Its maximum.
const MOST_STEPS: u32 = 255;

impl Rack {
    pub(crate) const fn new() -> Self {
        Self {
            newest: (0, 0),
            delivered_ns: 0,
            sent_ns: 0,
            advanced: false,
            reordering_seen: false,
            reordering: REORDERING as u16,
            steps: 1,
            grew_ns: 0,
            persists: 0,
            duplicate_seen: false,
            adapts: false,
        }
    }

    /// Notes delivered transmissions (6.2, step 2): the most recently sent one, and when the last
    /// that the ACK delivered was sent.
    #[inline]
    pub(crate) fn on_delivered(&mut self, now_ns: u64, newest: SentOrder, last_sent_ns: u64) {
        self.advanced = true;
        (self.delivered_ns, self.sent_ns) = (now_ns, last_sent_ns);
        if newest > self.newest || is_after(newest, self.newest) {
            self.newest = newest;
        }
    }

    /// `tcp_rack_update_reo_wnd`, for an ACK that has delivered what was sent at `sent_ns`: the window
    /// grows once for each round trip with a D-SACK.
    #[inline]
    pub(crate) fn adapt(&mut self, now_ns: u64, sent_ns: u64) {
        if self.adapts {
            self.adapt_window(now_ns, sent_ns);
        }
    }

    #[cold]
    fn adapt_window(&mut self, now_ns: u64, sent_ns: u64) {
        if sent_ns < self.grew_ns {
            self.duplicate_seen = false;
        }
        if std::mem::take(&mut self.duplicate_seen) {
            self.steps = (self.steps + 1).min(MOST_STEPS);
            self.grew_ns = now_ns;
            self.persists = RECOVERIES;
        } else if self.persists == 0 {
            self.steps = 1;
            self.adapts = false;
        }
    }

    /// Notes a D-SACK of a retransmission that RACK has caused. It only counts on a path that
    /// reorders.
    pub(crate) fn note_duplicate(&mut self) {
        self.duplicate_seen |= self.reordering_seen;
        self.adapts |= self.reordering_seen;
    }

    /// Notes the end of a recovery: it was needed, or D-SACKs have shown that it was not.
    pub(crate) fn note_recovery(&mut self, needed: bool) {
        self.persists = if needed {
            self.persists.saturating_sub(1)
        } else {
            (self.persists + 1).min(RECOVERIES)
        };
    }

    /// Judges segments when an ACK has arrived (6.2, step 5). Returns when to judge again if no ACK
    /// arrives, µs.
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
        let wait_us = self.rtt_us() + self.reordering_window_us(host.tp(), min_rtt_us);
        let now_us = host.now_us();
        board.judge_by_time(host.counts(), now_us, self.newest, wait_us)
    }

    /// `rack.rtt_us`: the difference of two clocks of whole microseconds.
    fn rtt_us(&self) -> u64 {
        self.delivered_ns / 1_000 - self.sent_ns / 1_000
    }

    /// 6.2, step 4: how long RACK waits for reordered segments. It is 0 after enough duplicate ACKs
    /// on a path that keeps order, and grows with needless retransmissions.
    fn reordering_window_us(&self, tp: &TcpSock, min_rtt_us: u32) -> u64 {
        if !self.reordering_seen
            && (tp.inet_conn.icsk_ca_state >= CaState::Recovery as u8
                || tp.sacked_out >= REORDERING)
        {
            return 0;
        }
        (u64::from(min_rtt_us / 4) * u64::from(self.steps)).min(u64::from(tp.srtt_us >> 3))
    }

    /// 6.3: at a timeout segments of the last RTT are not lost.
    pub(crate) fn spares(&self, now_us: u64, sent_ns: u64) -> bool {
        now_us - sent_ns / 1_000 < self.rtt_us()
    }

    /// `tcp_check_sack_reordering`: a segment was late that lies so many segments below the highest that
    /// arrived.
    pub(crate) fn note_reordering(&mut self, segments: u64) {
        self.reordering_seen = true;
        let segments = segments.min(MOST_REORDERING) as u16;
        self.reordering = self.reordering.max(segments);
    }

    pub(crate) fn reordering(&self) -> u32 {
        self.reordering.into()
    }

    /// `tcp_enter_loss`: a timeout in spite of so many duplicates shows that the path was thought to
    /// reorder more than it does.
    pub(crate) fn doubt_reordering(&mut self) {
        self.reordering = REORDERING as u16;
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
        let start_us = start_ns / 1_000;
        let due_us = rack.detect(&mut board, &mut host, RTT_US);
        assert_eq!((due_us, host.tp().lost_out), (Some(start_us + 128_000), 0));
        assert_eq!(rack.detect(&mut board, &mut host, RTT_US), None, "no news");
        host.clock(start_ns + 125 * MS);
        let due_us = rack.judge(&mut board, &mut host, RTT_US);
        assert_eq!((due_us, host.tp().lost_out), (Some(start_us + 128_000), 1));
        host.clock(start_ns + 128 * MS);
        assert_eq!(rack.judge(&mut board, &mut host, RTT_US), None);
        assert_eq!(host.tp().lost_out, 4, "those sent later are not judged");
    }

    /// Each round trip with a D-SACK adds a quarter of the smallest RTT, up to srtt. Recoveries that
    /// were needed bring it back.
    #[test]
    fn needless_retransmissions_make_it_patient() {
        let (mut host, _, mut rack) = one_sacked();
        host.publish_rtt(8 * RTT_US, 0);
        let window_ms = |rack: &Rack| rack.reordering_window_us(host.tp(), RTT_US) / 1_000;
        rack.note_duplicate();
        rack.adapt(1_000 * MS, 900 * MS);
        assert_eq!(window_ms(&rack), 25, "the path keeps order");
        rack.note_reordering(2);
        for (now_ms, sent_ms, window) in [
            (1_000, 900, 50),
            (1_050, 950, 50), // sent before the window grew
            (1_100, 1_000, 75),
            (1_200, 1_100, 100),
            (1_300, 1_200, 100), // srtt
        ] {
            rack.note_duplicate();
            rack.adapt(now_ms * MS, sent_ms * MS);
            assert_eq!(window_ms(&rack), window, "{now_ms} ms");
        }
        for recovery in 0..RECOVERIES {
            assert_eq!(window_ms(&rack), 100, "{recovery}");
            rack.note_recovery(true);
            rack.adapt(2_000 * MS, 1_900 * MS);
        }
        assert_eq!(window_ms(&rack), 25);
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
        rack.note_reordering(2);
        assert!(rack.detect(&mut board, &mut host, RTT_US).is_some());
        assert_eq!(host.tp().lost_out, 0);
    }

    /// The RTT is that of what the ACK delivered last, which need not be what was sent last.
    #[test]
    fn a_timeout_spares_the_last_round_trip() {
        let mut rack = Rack::new();
        rack.on_delivered(5_100 * MS, (5_050 * MS, 7), 5_001 * MS);
        assert!(rack.advanced && rack.newest == (5_050 * MS, 7));
        assert!(rack.spares(6_000_000, 5_902 * MS) && !rack.spares(6_000_000, 5_901 * MS));
    }

    /// The degree of reordering is the largest seen, at most 300 segments, until a timeout doubts it.
    #[test]
    fn how_much_the_path_reorders() {
        let mut rack = Rack::new();
        rack.note_reordering(3);
        assert_eq!((rack.reordering_seen, rack.reordering), (true, 3));
        rack.note_reordering(1_000);
        rack.note_reordering(2);
        assert_eq!(rack.reordering, 300);
        rack.doubt_reordering();
        assert_eq!((rack.reordering_seen, rack.reordering), (true, 3));
    }

    /// Times are compared in whole microseconds: of two packets of the same one the later segment counts as
    /// sent later.
    #[test]
    fn microseconds_tell_which_was_sent_later() {
        let mut rack = Rack::new();
        rack.on_delivered(9_000, (1_900, 4), 1_900);
        rack.on_delivered(9_000, (1_100, 7), 1_100);
        assert_eq!(rack.newest, (1_100, 7));
        rack.on_delivered(9_999, (1_050, 5), 1_050);
        assert_eq!((rack.newest, rack.rtt_us()), ((1_100, 7), 8));
    }
}
