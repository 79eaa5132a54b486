//! What the clock causes (`tcp_timer.c`): which timer is set after an ACK or a burst, and what a sender does
//! when one fires.
//!
//! How to drive it: call [`handle_timeout`](Sender::handle_timeout) at the time of
//! [`poll_timeout`](Sender::poll_timeout).

use super::constants::TIMEOUT_MIN_US;
use super::flags::AckFlags;
use super::sender::{Rexmit, Sender};
use super::timers::{until_us, Timer};
use ackclock_host::{CaState, Era};
use ackclock_net::schedule::NEVER;

impl Sender {
    #[inline]
    pub(super) fn tcp_rearm_rto(&mut self) {
        if self.tp().packets_out == 0 {
            return self.timers.disarm();
        }
        let board = &self.board;
        self.timers.arm_rto(&self.host, || board.head_sent_ns());
    }

    /// Sets the timer after an ACK that advances; `sent`: new data has left since.
    pub(super) fn tcp_set_xmit_timer(&mut self, sent: bool) {
        self.set_xmit_timer(sent);
    }

    /// The same at the end of a turn, which most ACKs have.
    #[inline(always)]
    pub(super) fn set_xmit_timer(&mut self, sent: bool) {
        if !(self.tlp.is_enabled() && self.schedule_probe(!sent)) {
            self.tcp_rearm_rto();
        }
    }

    /// Sets the timer for a tail loss probe, or for the timeout if that is earlier. Returns whether
    /// the state allows a probe. If an ACK is `advancing`, the timeout counts from now.
    #[inline(never)]
    pub(super) fn tcp_schedule_loss_probe(&mut self, advancing: bool) -> bool {
        self.tlp.is_enabled() && self.schedule_probe(advancing)
    }

    #[inline(always)]
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
        self.timers.arm_paced(Timer::LossProbe, host, wait);
        true
    }

    /// Whether packets that pacing held back may leave now, and no other timer is due.
    pub(crate) fn pacing_ends(&self, now_ns: u64) -> bool {
        self.pacer.paces(now_ns) && self.timers.timeout_ns() > now_ns
    }

    /// The softirq ends: no ACK of this instant is left. Returns whether it has held packets back, which
    /// leave now.
    pub fn end_softirq(&mut self, now_ns: u64) -> bool {
        let ends = self.waits_for_softirq_end(now_ns) && self.small_queue.is_none();
        if ends {
            self.pacing_ended(now_ns);
        }
        ends
    }

    /// Whether a small queue has held packets back.
    #[inline(always)]
    pub(crate) fn waits_for_softirq_end(&self, now_ns: u64) -> bool {
        self.pacer.waits_for_queue(now_ns)
    }

    /// `tcp_tsq_write`: what is lost comes first, also during F-RTO.
    fn pacing_ended(&mut self, now_ns: u64) {
        self.forget_plan();
        self.pacer.expired(now_ns);
        self.host.clock(now_ns);
        self.in_softirq.ended(now_ns);
        if self.rexmit <= Rexmit::New {
            self.rexmit = Rexmit::Lost;
        }
    }

    /// The place in the wheel of the timer that is due now, if one is, and pacing is not.
    pub(crate) fn place_in_wheel(&self, now_ns: u64) -> Option<u64> {
        let due = self.timers.timeout_ns() == now_ns && self.pacer.timeout_ns() > now_ns;
        (due && self.era == Era::Linux6).then(|| self.timers.place())
    }

    /// Handles the timer that is due at [`poll_timeout`](Self::poll_timeout).
    pub fn handle_timeout(&mut self, now_ns: u64) {
        self.forget_plan();
        let paces = self.pacer.timeout_ns() <= now_ns;
        if paces {
            self.pacing_ended(now_ns);
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
                self.rexmit = Rexmit::Probe;
                self.timers.wait_for_probe();
            }
            Timer::Reordering => {
                self.reordering_timeout();
                if paces {
                    self.rexmit = Rexmit::Lost;
                }
            }
            Timer::WindowProbe => self.tcp_send_probe0(),
            Timer::Retransmission => {
                self.rexmit = Rexmit::Head;
                if self.sack_frto.is_enabled() {
                    self.tcp_enter_frto();
                } else {
                    self.tcp_enter_loss();
                }
                self.timers.timed_out();
                self.host.back_off_rto();
                let wait = self.host.rto();
                self.timers.arm_for(Timer::Retransmission, &self.host, wait);
            }
        }
        self.totals.lost(self.tp().lost.wrapping_sub(prior_lost));
    }

    /// The window is closed to what waits: it will be probed, unless another timer is set
    /// (`tcp_check_probe_timer`).
    #[cold]
    pub(super) fn tcp_check_probe_timer(&mut self) {
        if self.tp().packets_out == 0 && self.timers.is_off() {
            self.timers.arm_window_probe(&self.host);
        }
    }

    #[cold]
    fn tcp_send_probe0(&mut self) {
        let opens = self.limits.room(&self.board) > 0;
        if self.tp().packets_out > 0 || opens || self.limits.unsent(&self.board) == 0 {
            self.timers.window_opens();
            if self.tp().packets_out == 0 && opens && self.small_queue.is_some() {
                // `tcp_write_wakeup`
                self.rexmit = Rexmit::Wakeup;
            }
            return;
        }
        self.rexmit = Rexmit::WindowProbe;
        self.timers.window_probed();
        self.timers.arm_window_probe(&self.host);
    }

    /// Takes the probe of the window that is to leave after [`handle_timeout`](Self::handle_timeout): a packet
    /// without data.
    pub fn take_window_probe(&mut self) -> bool {
        let probes = self.rexmit == Rexmit::WindowProbe;
        if probes {
            self.rexmit = Rexmit::None;
        }
        probes
    }

    /// An ACK comes while no packet is out: the window may have opened (`tcp_ack_probe`).
    #[cold]
    pub(super) fn tcp_ack_probe(&mut self) {
        if self.limits.unsent(&self.board) == 0 {
            return;
        }
        if self.limits.room(&self.board) > 0 {
            self.timers.window_opens();
            self.validation.on_open_window(&mut self.host);
        } else {
            self.timers.arm_window_probe(&self.host);
        }
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
        self.rexmit = match self.board.next_lost() {
            Some(_) => Rexmit::Reordering,
            None => Rexmit::Probed,
        };
        // The timeout counts from the last sending of the head. If that leaves now, it counts anew.
        self.timers.arm(Timer::Reordering, NEVER);
        self.tcp_rearm_rto();
    }

    /// Marks the segments that are known to be lost. Sets the reordering timer if other segments
    /// may be lost too. Returns whether it set the timer.
    pub(super) fn detect_losses(&mut self) -> bool {
        let due_us = self
            .loss
            .detect(&mut self.board, &mut self.host, self.rtt.min_us());
        if let Some(due_us) = due_us {
            let wait_us = due_us - self.host.now_us() + TIMEOUT_MIN_US;
            let wait = self.host.jiffies_of_us(wait_us).min(self.host.rto());
            self.timers.arm_for(Timer::Reordering, &self.host, wait);
        }
        due_us.is_some()
    }
}
