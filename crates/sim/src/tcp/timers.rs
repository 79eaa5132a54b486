//! The timers of the sender: retransmission timeouts (RFC 6298), tail loss probes and the
//! reordering timer (RFC 8985). As in Linux only one of the three is armed at a time.
//!
//! How to drive it: call [`arm`](Timers::arm) or [`arm_rto`](Timers::arm_rto). At the time of
//! [`timeout_ns`](Timers::timeout_ns), [`take`](Timers::take) returns the timer that is due. Call
//! [`timed_out`](Timers::timed_out) after a timeout, and [`on_progress`](Timers::on_progress) when an
//! ACK advances. How long the timeout is, and its back-off, is `icsk_rto` of the [`Host`].

use super::flags::AckFlags;
use super::host::Host;
use super::profile::TIMEOUT_MIN_US;
use super::sender::Sender;
use super::transmit::Rexmit;
use ackclock_host::CaState;
use ackclock_net::schedule::NEVER;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    None,
    Retransmission,
    LossProbe,
    Reordering,
}

/// `tcp_rto_delta_us`: how far the timeout of a segment is away; 0: it has passed.
fn until_us(host: &Host, sent_ns: u64) -> u64 {
    (sent_ns / 1_000 + host.rto_us()).saturating_sub(host.now_us())
}

/// The timer of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    timer: Timer,
    at_ns: u64,
    /// In which jiffy the timer was armed, and for how many; (0, 0): in another way.
    armed: (u32, u32),
    /// Timeouts since `una` last advanced.
    retransmits: u32,
}

impl Timers {
    pub(super) const fn new() -> Self {
        Self {
            timer: Timer::None,
            at_ns: NEVER,
            armed: (0, 0),
            retransmits: 0,
        }
    }

    #[inline]
    pub(super) fn arm(&mut self, timer: Timer, at_ns: u64) {
        (self.timer, self.at_ns, self.armed) = (timer, at_ns, (0, 0));
    }

    /// Arms a timer for so many jiffies. Most ACKs arm the same one as the ACK before.
    #[inline]
    fn arm_for(&mut self, timer: Timer, host: &Host, wait: u64) {
        let armed = (host.jiffies(), wait as u32);
        if self.armed != armed {
            self.at_ns = host.fires_ns(wait);
            self.armed = armed;
        }
        self.timer = timer;
    }

    /// The next timer is armed as if none had been in this jiffy.
    pub(super) fn forget_jiffy(&mut self) {
        self.armed = (0, 0);
    }

    #[inline]
    pub(super) fn disarm(&mut self) {
        self.arm(Timer::None, NEVER);
    }

    /// Arms the timeout, `icsk_rto` from now. If another timer has replaced the timeout, it counts
    /// from the sending of the head.
    #[inline]
    pub(super) fn arm_rto(&mut self, host: &Host, head_sent_ns: impl Fn() -> u64) {
        let wait = match self.timer {
            Timer::LossProbe | Timer::Reordering => {
                let until_us = until_us(host, head_sent_ns());
                host.jiffies_of_us(until_us).max(1)
            }
            Timer::None | Timer::Retransmission => host.rto(),
        };
        self.arm_for(Timer::Retransmission, host, wait);
    }

    /// Whether the reordering timer is armed.
    #[inline]
    pub(super) fn awaits_reordering(&self) -> bool {
        self.timer == Timer::Reordering
    }

    #[inline]
    pub(super) fn is_armed(&self) -> bool {
        self.timer != Timer::None
    }

    /// Whether the timer is for a tail loss probe.
    #[inline]
    pub(super) fn awaits_probe(&self) -> bool {
        self.timer == Timer::LossProbe
    }

    #[inline]
    pub(super) fn timeout_ns(&self) -> u64 {
        self.at_ns
    }

    /// The timer that is due; it is off then.
    fn take(&mut self, now_ns: u64) -> Option<Timer> {
        if now_ns < self.at_ns {
            return None;
        }
        let timer = self.timer;
        self.disarm();
        Some(timer)
    }

    /// A probe is about to be sent in the timer's stead.
    fn wait_for_probe(&mut self) {
        self.arm(Timer::LossProbe, NEVER);
    }

    /// The retransmission timer fired.
    fn timed_out(&mut self) {
        self.retransmits += 1;
    }

    /// Timeouts since `una` last advanced.
    pub(super) fn retransmits(&self) -> u32 {
        self.retransmits
    }

    /// `una` advanced.
    #[inline]
    pub(super) fn on_progress(&mut self) {
        self.retransmits = 0;
    }
}

impl Sender {
    #[inline]
    pub(super) fn tcp_rearm_rto(&mut self) {
        if self.tp().packets_out == 0 {
            return self.timers.disarm();
        }
        let board = &self.board;
        self.timers.arm_rto(&self.host, || board.head_sent_ns());
    }

    #[inline(always)]
    pub(super) fn tcp_set_xmit_timer(&mut self) {
        if !self.tcp_schedule_loss_probe(true) {
            self.tcp_rearm_rto();
        }
    }

    /// Sets the timer for a tail loss probe, or for the timeout if that is earlier. Returns whether
    /// the state allows a probe. If an ACK is `advancing`, the timeout counts from now.
    #[inline]
    pub(super) fn tcp_schedule_loss_probe(&mut self, advancing: bool) -> bool {
        self.tlp.is_enabled() && self.schedule_probe(advancing)
    }

    #[inline(never)]
    fn schedule_probe(&mut self, advancing: bool) -> bool {
        let host = &self.host;
        let Some(probe_us) = self.tlp.wait_us(host) else {
            return false;
        };
        let wait = if advancing {
            host.jiffies_of_us(probe_us).min(host.rto())
        } else {
            host.jiffies_of_us(match until_us(host, self.board.head_sent_ns()) {
                0 => probe_us,
                timeout_us => probe_us.min(timeout_us),
            })
        };
        self.timers.arm_for(Timer::LossProbe, host, wait);
        true
    }

    /// Whether packets that pacing held back may leave now, and no other timer is due.
    pub(crate) fn pacing_ends(&self, now_ns: u64) -> bool {
        self.pacer.timeout_ns() <= now_ns && self.timers.timeout_ns() > now_ns
    }

    /// Handles the timer that is due at [`poll_timeout`](Self::poll_timeout).
    pub fn handle_timeout(&mut self, now_ns: u64) {
        if self.pacer.expired(now_ns) {
            self.host.clock(now_ns);
        }
        let Some(timer) = self.timers.take(now_ns) else {
            return;
        };
        self.host.clock(now_ns);
        let prior_lost = self.tp().lost;
        self.rexmit = Rexmit::None;
        match timer {
            Timer::None => (),
            Timer::LossProbe => {
                self.tlp.fire();
                self.timers.wait_for_probe();
            }
            Timer::Reordering => self.reordering_timeout(),
            Timer::Retransmission => {
                self.rexmit = Rexmit::Lost;
                if self.sack_frto.is_enabled() {
                    self.tcp_enter_frto();
                } else {
                    self.tcp_enter_loss();
                }
                self.timers.timed_out();
                self.host.back_off_rto();
                let at_ns = self.host.fires_ns(self.host.rto());
                self.timers.arm(Timer::Retransmission, at_ns);
            }
        }
        self.totals.lost(self.tp().lost.wrapping_sub(prior_lost));
    }

    /// `tcp_rack_reo_timeout`: the reordering timer has fired. PRR starts as if one segment had
    /// been delivered.
    fn reordering_timeout(&mut self) {
        let prior_lost = self.tp().lost;
        self.loss
            .detect_by_timer(&mut self.board, &mut self.host, self.rtt.min_us());
        if self.tp().lost != prior_lost && self.state() != CaState::Recovery {
            self.tcp_enter_recovery(false);
            if !self.host.has_cong_control() {
                let flags = AckFlags {
                    newly_delivered: 1,
                    ..AckFlags::default()
                };
                self.reduction.on_ack(&mut self.host, &flags);
            }
        }
        self.rexmit = Rexmit::Lost;
        if !self.timers.is_armed() {
            self.tcp_rearm_rto();
        }
    }

    /// Marks the segments that are known to be lost. Sets the reordering timer if other segments
    /// may be lost too. Returns whether it set the timer.
    pub(super) fn detect_losses(&mut self) -> bool {
        let due_ns = self
            .loss
            .detect(&mut self.board, &mut self.host, self.rtt.min_us());
        if let Some(due_ns) = due_ns {
            let now_ns = self.host.now_ns();
            let wait_us = (due_ns - now_ns) / 1_000 + TIMEOUT_MIN_US;
            let wait = self.host.jiffies_of_us(wait_us).min(self.host.rto());
            let at_ns = self.host.fires_ns(wait);
            self.timers.arm(Timer::Reordering, at_ns);
        }
        due_ns.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::super::host::reno;
    use super::*;
    use crate::scenario::Profile;

    const MS: u64 = 1_000_000;

    #[test]
    fn one_timer_at_a_time() {
        let mut timers = Timers::new();
        assert_eq!((timers.is_armed(), timers.timeout_ns()), (false, NEVER));
        assert_eq!(timers.take(NEVER - 1), None);
        timers.arm(Timer::LossProbe, 200 * MS);
        timers.arm(Timer::Reordering, 100 * MS);
        assert_eq!(timers.take(100 * MS - 1), None);
        assert_eq!(timers.take(100 * MS), Some(Timer::Reordering));
        assert_eq!(timers.take(500 * MS), None);
        timers.wait_for_probe();
        assert_eq!((timers.is_armed(), timers.timeout_ns()), (true, NEVER));
    }

    /// Where another timer had its place, the timeout counts from the head's sending. Jiffies begin
    /// at whole milliseconds, and the wheel counts eights of them (the first jiffy is one).
    #[test]
    fn what_the_timeout_counts_from() {
        let mut host = reno(Profile::Linux6, 10);
        host.clock(1_100 * MS);
        let mut timers = Timers::new();
        timers.arm_rto(&host, || 1_000 * MS);
        assert_eq!(timers.timeout_ns(), host.fires_ns(300));
        for other in [Timer::LossProbe, Timer::Reordering] {
            timers.arm(other, 1_150 * MS);
            timers.arm_rto(&host, || 1_000 * MS);
            assert_eq!(timers.timeout_ns(), host.fires_ns(200));
            timers.arm(other, 1_150 * MS);
            timers.arm_rto(&host, || 700 * MS);
            assert_eq!(timers.timeout_ns(), host.fires_ns(1), "never in the past");
        }
    }
}
