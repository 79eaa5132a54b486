//! The timers of the sender: retransmission timeouts (RFC 6298), tail loss probes and the
//! reordering timer (RFC 8985). As in Linux only one of the three is armed at a time.
//!
//! How to drive it: call [`arm`](Timers::arm) or [`arm_rto`](Timers::arm_rto). At the time of
//! [`timeout_ns`](Timers::timeout_ns), [`take`](Timers::take) returns the timer that is due. Call
//! [`backed_off`](Timers::backed_off) after a timeout, [`on_progress`](Timers::on_progress) when an
//! ACK advances, and [`on_measured`](Timers::on_measured) when it measures the RTT.

use super::profile::RTO_MAX_US;
use super::sender::{AckFlags, Sender};
use super::transmit::Rexmit;
use crate::schedule::NEVER;
use ackclock_host::CaState;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    None,
    Retransmission,
    LossProbe,
    Reordering,
}

/// The timer of a connection, and its back-off.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    timer: Timer,
    at_ns: u64,
    backoff: u32,
    /// Timeouts since `una` last advanced.
    retransmits: u32,
}

impl Timers {
    pub(super) const fn new() -> Self {
        Self {
            timer: Timer::None,
            at_ns: NEVER,
            backoff: 0,
            retransmits: 0,
        }
    }

    /// Retransmission timeout with back-off, of the estimator's, µs.
    #[inline]
    pub(super) fn rto_us(&self, estimated_us: u64) -> u64 {
        (estimated_us << self.backoff.min(16)).min(RTO_MAX_US)
    }

    #[inline]
    pub(super) fn arm(&mut self, timer: Timer, at_ns: u64) {
        (self.timer, self.at_ns) = (timer, at_ns);
    }

    #[inline]
    pub(super) fn disarm(&mut self) {
        self.arm(Timer::None, NEVER);
    }

    /// Arms the timeout, `rto_us` from now. If another timer has replaced the timeout, it counts
    /// from the sending of the head.
    #[inline]
    pub(super) fn arm_rto(&mut self, now_ns: u64, head_sent_ns: u64, rto_us: u64) {
        let from_ns = match self.timer {
            Timer::LossProbe | Timer::Reordering => head_sent_ns,
            Timer::None | Timer::Retransmission => now_ns,
        };
        self.arm(
            Timer::Retransmission,
            (from_ns + rto_us * 1_000).max(now_ns + 1),
        );
    }

    #[inline]
    pub(super) fn is_armed(&self) -> bool {
        self.timer != Timer::None
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
    fn backed_off(&mut self) {
        self.retransmits += 1;
        self.backoff += 1;
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

    /// RFC 6298, 5.7: a round-trip time was measured.
    #[inline]
    pub(super) fn on_measured(&mut self) {
        self.backoff = 0;
    }
}

impl Sender {
    /// The retransmission timeout with back-off, µs.
    #[inline]
    pub(super) fn rto_us(&self) -> u64 {
        self.timers.rto_us(self.rtt.rto_us())
    }

    pub(super) fn rearm_rto(&mut self) {
        if self.tp().packets_out == 0 {
            return self.timers.disarm();
        }
        let rto_us = self.rto_us();
        self.timers
            .arm_rto(self.host.now_ns(), self.board.head_sent_ns(), rto_us);
    }

    #[inline]
    pub(super) fn set_transmit_timer(&mut self) {
        if !self.schedule_loss_probe(true) {
            self.rearm_rto();
        }
    }

    #[inline]
    pub(super) fn schedule_loss_probe(&mut self, advancing: bool) -> bool {
        let from_ns = || {
            if advancing {
                self.host.now_ns()
            } else {
                self.board.head_sent_ns()
            }
        };
        let due_ns = self.tlp.due_ns(&self.host, from_ns, || self.rto_us());
        if let Some(at_ns) = due_ns {
            self.timers.arm(Timer::LossProbe, at_ns);
        }
        due_ns.is_some()
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
                self.enter_loss();
                self.timers.backed_off();
                let at_ns = now_ns + self.rto_us() * 1_000;
                self.timers.arm(Timer::Retransmission, at_ns);
                self.rexmit = Rexmit::Lost;
            }
        }
        self.totals.lost(self.tp().lost.wrapping_sub(prior_lost));
    }

    /// `tcp_rack_reo_timeout`: the reordering timer has fired. PRR starts as if one segment had
    /// been delivered.
    fn reordering_timeout(&mut self) {
        let prior_lost = self.tp().lost;
        self.detect_losses();
        if self.tp().lost != prior_lost && self.state() != CaState::Recovery {
            self.enter_recovery();
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
            self.rearm_rto();
        }
    }

    /// Marks the segments that are known to be lost. Sets the reordering timer if other segments
    /// may be lost too. Returns whether it set the timer.
    pub(super) fn detect_losses(&mut self) -> bool {
        let due_ns = self
            .loss
            .detect(&mut self.board, &mut self.host, self.rtt.min_us());
        if let Some(due_ns) = due_ns {
            self.timers.arm(Timer::Reordering, due_ns);
        }
        due_ns.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// Where another timer had its place, the timeout counts from the head's sending.
    #[test]
    fn what_the_timeout_counts_from() {
        let mut timers = Timers::new();
        timers.arm_rto(1_000 * MS, 900 * MS, 300_000);
        assert_eq!(timers.timeout_ns(), 1_300 * MS);
        timers.arm_rto(1_100 * MS, 900 * MS, 300_000);
        assert_eq!(timers.timeout_ns(), 1_400 * MS);
        for other in [Timer::LossProbe, Timer::Reordering] {
            timers.arm(other, 1_150 * MS);
            timers.arm_rto(1_100 * MS, 900 * MS, 300_000);
            assert_eq!(timers.timeout_ns(), 1_200 * MS);
            timers.arm(other, 1_150 * MS);
            timers.arm_rto(1_500 * MS, 900 * MS, 300_000);
            assert_eq!(timers.timeout_ns(), 1_500 * MS + 1, "never in the past");
        }
    }

    /// RFC 6298, 5.5 and 5.7.
    #[test]
    fn back_off() {
        let mut timers = Timers::new();
        for (timeouts, rto_us) in [
            (0, 300_000),
            (1, 600_000),
            (8, 76_800_000),
            (9, 120_000_000),
        ] {
            while timers.retransmits() < timeouts {
                timers.backed_off();
            }
            assert_eq!(timers.rto_us(300_000), rto_us);
        }
        timers.on_progress();
        assert_eq!(
            (timers.retransmits(), timers.rto_us(300_000)),
            (0, 120_000_000)
        );
        timers.on_measured();
        assert_eq!(timers.rto_us(300_000), 300_000);
    }
}
