//! cwnd validation: whether cwnd limited the flow, and how an unused window decays
//! (`tcp_cwnd_validate`, `tcp_cwnd_application_limited`, `tcp_cwnd_restart`; RFC 2861 and
//! RFC 5681, 4.1).
//!
//! How to drive it: call [`restart_after_idle`](Validation::restart_after_idle) before new data is
//! sent (or [`on_write`](Validation::on_write) when it is written), [`on_sent`](Validation::on_sent) after it, and
//! [`end_of_turn`](Validation::end_of_turn) when nothing more can be sent. Linux 2.6 also calls
//! [`before_growth`](Validation::before_growth) for each ACK that lets the window grow.

use super::constants::{GSO_MAX_BYTES, REORDERING, TSO_WIN_DIVISOR};
use super::host::Host;
use super::scoreboard::Scoreboard;
use ackclock_host::CaEvent;

/// When a kernel judges whether cwnd was the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validates {
    /// When it has sent all it could (Linux 3.16 on).
    EachTurn,
    /// When an ACK arrives, by what was in flight before it (Linux 2.6).
    EachAck {
        /// Whether a window with room for a burst of 3 counts as full (Linux 2.6.26 on).
        up_to_a_burst: bool,
    },
}

/// The state of cwnd validation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Validation {
    validates: Validates,
    tso: bool,
    initial_cwnd: u16,
    /// `tcp_slow_start_after_idle`
    decays: bool,
    /// An idle window restarts when the application writes, not when data leaves.
    has_explicit_writes: bool,
    /// `cwnd_usage_seq`: the end of the window that `max_packets_out` and `is_cwnd_limited`
    /// describe.
    usage_end: u64,
    sent_in_this_turn: u32,
}

impl Validation {
    pub(super) fn new(validates: Validates, tso: bool, initial_cwnd: u32, decays: bool) -> Self {
        Self {
            validates,
            tso,
            initial_cwnd: initial_cwnd as u16,
            decays,
            has_explicit_writes: false,
            usage_end: 0,
            sent_in_this_turn: 0,
        }
    }

    /// Notes that new data left.
    #[inline]
    pub(super) fn on_sent(&mut self, segments: u32) {
        self.sent_in_this_turn += segments;
    }

    /// Whether new data left in this turn.
    #[inline]
    pub(super) fn has_sent(&self) -> bool {
        self.sent_in_this_turn > 0
    }

    /// Whether several segments left.
    pub(super) fn has_sent_several(&self) -> bool {
        self.sent_in_this_turn > 1
    }

    /// What was sent in this turn judges no window (`tcp_write_wakeup`).
    pub(super) fn forget_turn(&mut self) {
        self.sent_in_this_turn = 0;
    }

    /// Judges the window after everything that could be sent has been sent. `blocked`: cwnd held
    /// data back.
    #[inline]
    pub(super) fn end_of_turn(&mut self, host: &mut Host, board: &Scoreboard, blocked: bool) {
        let sent = std::mem::take(&mut self.sent_in_this_turn);
        if self.validates != Validates::EachTurn {
            return;
        }
        let limited = blocked || host.cwnd_is_full();
        if sent == 0 && !limited {
            return;
        }
        let tp = host.tp();
        if board.una() >= self.usage_end
            || limited
            || (tp.is_cwnd_limited == 0 && tp.packets_out > tp.max_packets_out)
        {
            self.usage_end = board.nxt();
            host.set_usage(limited, tp.packets_out);
        }
        let tp = host.tp();
        let slow_start = tp.snd_cwnd < tp.snd_ssthresh;
        if tp.is_cwnd_limited != 0 || (slow_start && tp.snd_cwnd < 2 * tp.max_packets_out) {
            host.set_cwnd_used(0);
            host.stamp_cwnd();
            return;
        }
        host.set_cwnd_used(tp.snd_cwnd_used.max(tp.packets_out));
        let unused = host.jiffies().wrapping_sub(host.tp().snd_cwnd_stamp);
        if u64::from(unused) >= host.rto() && self.decays && !host.has_cong_control() {
            self.application_limited(host);
        }
    }

    /// RFC 2861, as in Linux: a window that is unused for an RTO decays.
    fn application_limited(&self, host: &mut Host) {
        if host.is_open() {
            let tp = host.tp();
            let used = tp.snd_cwnd_used.max(self.initial_cwnd.into());
            if used < tp.snd_cwnd {
                let cwnd = (tp.snd_cwnd + used) >> 1;
                host.set_ssthresh(host.current_ssthresh());
                host.set_cwnd(cwnd);
            }
            host.set_cwnd_used(0);
        }
        host.stamp_cwnd();
    }

    /// Linux 2.6 checks at each ACK whether the window was full when it arrived
    /// (`tcp_is_cwnd_limited`). With TSO, data that waits for a larger burst may leave a third of
    /// the window free: from 2.6.26 on less than 64 KB.
    #[inline]
    pub(super) fn before_growth(&self, host: &mut Host, prior_in_flight: u32) {
        let cwnd = host.tp().snd_cwnd;
        let limited = prior_in_flight >= cwnd || self.is_full(host, cwnd - prior_in_flight);
        host.set_usage(limited, 0);
    }

    /// Whether a window with so much room counts as full, as Linux 2.6 sees it.
    #[inline(never)]
    fn is_full(&self, host: &Host, free: u32) -> bool {
        let (cwnd, mss) = (host.tp().snd_cwnd, u64::from(host.tp().mss_cache));
        let saved = self.tso && TSO_WIN_DIVISOR * free < cwnd;
        match self.validates {
            Validates::EachAck {
                up_to_a_burst: true,
            } => free <= REORDERING || (saved && u64::from(free) * mss < GSO_MAX_BYTES),
            _ => saved,
        }
    }

    /// RFC 5681, 4.1: after an idle RTO, halves the window for each RTO, down to the initial
    /// window. Algorithms with `cong_control` keep theirs (`tcp_slow_start_after_idle_check`).
    #[inline]
    pub(super) fn restart_after_idle(&self, host: &mut Host) {
        if host.tp().packets_out == 0 && host.tp().lsndtime != 0 && !self.has_explicit_writes {
            self.restart(host);
        }
    }

    /// From now on [`on_write`](Self::on_write) says when the application writes.
    pub(super) fn set_explicit_writes(&mut self) {
        self.has_explicit_writes = true;
    }

    /// The application writes the first of new data (`tcp_skb_entail`).
    pub(super) fn on_write(&self, host: &mut Host) {
        if host.tp().packets_out == 0 {
            self.restart(host);
        }
    }

    /// A closed window opens (`tcp_ack_update_window`): an application that writes now and then has written.
    pub(super) fn on_open_window(&self, host: &mut Host) {
        if self.has_explicit_writes {
            self.on_write(host);
        }
    }

    fn restart(&self, host: &mut Host) {
        if host.has_cong_control() || !self.decays {
            return;
        }
        let rto = host.rto();
        let mut idle = u64::from(host.jiffies().wrapping_sub(host.tp().lsndtime));
        if idle <= rto {
            return;
        }
        host.event(CaEvent::CwndRestart);
        let ssthresh = host.current_ssthresh();
        let mut cwnd = host.tp().snd_cwnd;
        let restart = cwnd.min(self.initial_cwnd.into());
        while idle > rto && cwnd > restart {
            idle -= rto;
            cwnd >>= 1;
        }
        host.restart_cwnd(cwnd.max(restart), ssthresh);
    }
}

#[cfg(test)]
mod tests {
    use super::super::host::{reno, riding};
    use super::super::profile::Kernel;
    use super::*;
    use crate::scenario::Profile;

    const S: u64 = 1_000_000_000;
    /// A file with `cong_control`.
    const CONTROLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/witness_control.c");

    fn validation(profile: Profile, tso: bool) -> Validation {
        Validation::new(Kernel::for_profile(profile).validates, tso, 10, true)
    }

    fn usage(host: &Host) -> (u8, u32, u32) {
        let tp = host.tp();
        (tp.is_cwnd_limited, tp.max_packets_out, tp.snd_cwnd_used)
    }

    /// Linux 6: a window that was full once counts as used until it is acknowledged.
    #[test]
    fn the_strongest_sign_of_a_window_counts() {
        let mut validation = validation(Profile::Linux6, true);
        let (mut host, mut board) = (reno(Profile::Linux6, 10), Scoreboard::new());
        host.set_ssthresh(5);
        board.send(host.counts(), S, 10, false);
        validation.on_sent(10);
        validation.end_of_turn(&mut host, &board, false);
        assert_eq!(usage(&host), (1, 10, 0));
        // Fewer packets are out, and the window is the same.
        board.acknowledge(host.counts(), 5, 0, &mut Default::default());
        board.send(host.counts(), S, 1, false);
        validation.on_sent(1);
        validation.end_of_turn(&mut host, &board, false);
        assert_eq!(usage(&host), (1, 10, 0));
        // The next window is not used.
        board.acknowledge(host.counts(), 11, 0, &mut Default::default());
        board.send(host.counts(), S, 4, false);
        validation.on_sent(4);
        validation.end_of_turn(&mut host, &board, false);
        assert_eq!(usage(&host), (0, 4, 4));
    }

    /// Unused for an RTO: half way from the window to its used part (or to the initial window).
    #[test]
    fn an_unused_window_decays() {
        let mut validation = validation(Profile::Linux6, true);
        let (mut host, mut board) = (reno(Profile::Linux6, 40), Scoreboard::new());
        host.set_ssthresh(20);
        host.stamp_cwnd();
        for (after_ns, cwnd, ssthresh) in [(299_000_000, 40, 20), (1_000_000, 25, 30)] {
            host.clock(host.now_ns() + after_ns);
            board.send(host.counts(), S, 1, false);
            validation.on_sent(1);
            validation.end_of_turn(&mut host, &board, false);
            assert_eq!(
                (host.tp().snd_cwnd, host.tp().snd_ssthresh),
                (cwnd, ssthresh)
            );
        }
        assert_eq!(host.tp().snd_cwnd_stamp, host.jiffies());
    }

    /// Linux 2.6: full, or with TSO within a third of the window. From 2.6.26 on also within 3
    /// segments, and within 64 KB of TSO (45 segments).
    #[test]
    fn linux_2_6_asks_at_each_ack() {
        let (old, new) = (Profile::Linux2_6_25, Profile::Linux2_6_32);
        for (profile, tso, cwnd, in_flight, limited) in [
            (Profile::Linux2_6_18, false, 30, 29, 0),
            (old, false, 30, 30, 1),
            (old, false, 30, 29, 0),
            (old, true, 30, 21, 1),
            (old, true, 30, 20, 0),
            (old, true, 300, 201, 1),
            (new, false, 30, 27, 1),
            (new, false, 30, 26, 0),
            (new, true, 30, 21, 1),
            (new, true, 30, 20, 0),
            (new, true, 6, 3, 1),
            (new, true, 300, 255, 1),
            (new, true, 300, 254, 0),
        ] {
            let mut host = reno(profile, cwnd);
            let mut validation = validation(profile, tso);
            validation.before_growth(&mut host, in_flight);
            assert_eq!(
                usage(&host),
                (limited, 0, 0),
                "{profile:?} {tso} {in_flight}"
            );
            validation.on_sent(1);
            validation.end_of_turn(&mut host, &Scoreboard::new(), true);
            assert_eq!(usage(&host), (limited, 0, 0), "and at no other time");
        }
    }

    #[test]
    fn idle_rtos_halve_the_window() {
        for (idle_ms, cwnd, ssthresh) in [
            (300, 80, 8),
            (301, 40, 60),
            (1_000, 10, 60),
            (99_000, 10, 60),
        ] {
            let validation = validation(Profile::Linux6, true);
            let mut host = reno(Profile::Linux6, 80);
            host.set_ssthresh(8);
            validation.restart_after_idle(&mut host);
            assert_eq!(host.tp().snd_cwnd, 80, "nothing was ever sent");
            host.note_sent();
            host.clock(S + idle_ms * 1_000_000);
            validation.restart_after_idle(&mut host);
            assert_eq!(
                (host.tp().snd_cwnd, host.tp().snd_ssthresh),
                (cwnd, ssthresh),
                "{idle_ms}"
            );
            host.note_sent();
            validation.restart_after_idle(&mut host);
            assert_eq!(host.tp().snd_cwnd, cwnd, "once");
        }
    }

    /// Without `tcp_slow_start_after_idle` neither idleness nor little use takes anything from the window.
    #[test]
    fn an_unused_window_may_stay() {
        let mut validation = Validation::new(Validates::EachTurn, true, 10, false);
        let (mut host, mut board) = (reno(Profile::Linux6, 40), Scoreboard::new());
        host.set_ssthresh(20);
        host.note_sent();
        host.clock(99 * S);
        validation.restart_after_idle(&mut host);
        board.send(host.counts(), 99 * S, 1, false);
        validation.on_sent(1);
        validation.end_of_turn(&mut host, &board, false);
        assert_eq!((host.tp().snd_cwnd, host.tp().snd_ssthresh), (40, 20));
    }

    /// `tcp_slow_start_after_idle_check`
    #[test]
    fn who_has_cong_control_keeps_its_window() {
        let validation = validation(Profile::Linux6, true);
        let mut host = riding(CONTROLS, Profile::Linux6, 80);
        host.note_sent();
        host.clock(99 * S);
        validation.restart_after_idle(&mut host);
        assert_eq!(host.tp().snd_cwnd, 80);
    }
}
