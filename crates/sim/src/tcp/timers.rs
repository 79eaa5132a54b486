//! The timers of the sender: retransmission timeouts (RFC 6298), tail loss probes and the
//! reordering timer (RFC 8985).

use super::profile::{LossDetection, REORDERING, RTO_MAX_US, RTO_MIN_US};
use super::sender::{AckFlags, Rexmit, Sender};
use super::{Ack, Transmit};
use crate::schedule::NEVER;
use ackclock_host::CaState;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    None,
    Retransmission,
    LossProbe,
    Reordering,
}

impl Sender {
    /// The retransmission timeout with back-off, µs.
    #[inline]
    pub(super) fn rto_us(&self) -> u64 {
        (self.rtt.rto_us() << self.backoff.min(16)).min(RTO_MAX_US)
    }

    #[inline]
    fn arm(&mut self, timer: Timer, at_ns: u64) {
        (self.timer, self.timer_at_ns) = (timer, at_ns);
    }

    pub(super) fn rearm_rto(&mut self) {
        if self.tp().packets_out == 0 {
            return self.arm(Timer::None, NEVER);
        }
        let rto_ns = self.rto_us() * 1_000;
        let from_ns = match self.timer {
            // These timers replaced the timeout: count from the sending of the head.
            Timer::LossProbe | Timer::Reordering => self.board.sent_ns(self.board.una()),
            _ => self.now_ns,
        };
        self.arm(
            Timer::Retransmission,
            (from_ns + rto_ns).max(self.now_ns + 1),
        );
    }

    #[inline]
    pub(super) fn set_transmit_timer(&mut self) {
        if !self.schedule_loss_probe(true) {
            self.rearm_rto();
        }
    }

    /// Schedules a tail loss probe after two RTTs, or the timeout if that is earlier. Returns
    /// whether it did.
    #[inline]
    pub(super) fn schedule_loss_probe(&mut self, advancing: bool) -> bool {
        let tp = self.cc.tp();
        let state = tp.inet_conn.icsk_ca_state;
        let open = state == CaState::Open as u8 || state == CaState::Cwr as u8;
        if !self.profile.tail_loss_probe || tp.packets_out == 0 || !open || tp.sacked_out > 0 {
            return false;
        }
        let grace_us = if tp.packets_out == 1 {
            u64::from(RTO_MIN_US)
        } else {
            2 * self.tick_ns / 1_000
        };
        let probe_at_ns = self.now_ns + (u64::from(tp.srtt_us >> 2) + grace_us) * 1_000;
        let from_ns = if advancing {
            self.now_ns
        } else {
            self.board.sent_ns(self.board.una())
        };
        let timeout_at_ns = from_ns + self.rto_us() * 1_000;
        let at_ns = if timeout_at_ns > self.now_ns {
            probe_at_ns.min(timeout_at_ns)
        } else {
            probe_at_ns
        };
        self.arm(Timer::LossProbe, at_ns);
        true
    }

    /// Handles the timer that is due at [`poll_timeout`](Self::poll_timeout).
    pub fn handle_timeout(&mut self, now_ns: u64) {
        if self.pacing_at_ns <= now_ns {
            self.pacing_at_ns = NEVER;
            self.clock(now_ns);
        }
        if now_ns < self.timer_at_ns {
            return;
        }
        self.clock(now_ns);
        let prior_lost = self.tp().lost;
        self.rexmit = Rexmit::None;
        match std::mem::replace(&mut self.timer, Timer::None) {
            Timer::None => self.timer_at_ns = NEVER,
            Timer::LossProbe => {
                self.probe_pending = true;
                self.arm(Timer::LossProbe, NEVER);
            }
            Timer::Reordering => self.reordering_timeout(),
            Timer::Retransmission => {
                self.enter_loss();
                self.retransmits += 1;
                self.backoff += 1;
                let rto_ns = self.rto_us() * 1_000;
                self.arm(Timer::Retransmission, now_ns + rto_ns);
                self.rexmit = Rexmit::Lost;
            }
        }
        if self.timer == Timer::None {
            self.timer_at_ns = NEVER;
        }
        self.lost_packets += u64::from(self.tp().lost.wrapping_sub(prior_lost));
    }

    /// `tcp_rack_reo_timeout`: the reordering timer has fired. PRR starts as if one segment had
    /// been delivered.
    fn reordering_timeout(&mut self) {
        let prior_lost = self.tp().lost;
        self.detect_losses();
        if self.tp().lost != prior_lost && self.state() != CaState::Recovery {
            self.enter_recovery();
            if !self.cc.has_cong_control() {
                self.reduce_cwnd(&AckFlags {
                    newly_delivered: 1,
                    ..AckFlags::default()
                });
            }
        }
        self.rexmit = Rexmit::Lost;
        if self.timer == Timer::None {
            self.rearm_rto();
        }
    }

    /// Marks the segments that are known to be lost. Sets the reordering timer if other segments
    /// may be lost too. Returns whether it set the timer.
    pub(super) fn detect_losses(&mut self) -> bool {
        match self.profile.loss_detection {
            LossDetection::Rack => {
                if !std::mem::take(&mut self.rack.advanced) {
                    return false;
                }
                let window_ns = self.reordering_window_ns();
                let (now_ns, rack) = (self.now_ns, self.rack);
                let due_ns = self.board.judge_by_time(
                    self.cc.tp_mut(),
                    now_ns,
                    rack.newest,
                    rack.rtt_ns,
                    window_ns,
                );
                if let Some(due_ns) = due_ns {
                    self.rack.advanced = true;
                    self.arm(Timer::Reordering, due_ns);
                }
                due_ns.is_some()
            }
            LossDetection::Fack => {
                self.board.judge_by_distance(self.cc.tp_mut());
                false
            }
        }
    }

    /// RFC 8985, 6.2 step 4: the time that RACK waits for reordered segments. It is 0 after enough
    /// duplicate ACKs on a path that keeps order.
    fn reordering_window_ns(&self) -> u64 {
        let tp = self.tp();
        if !self.rack.reordering_seen
            && (tp.inet_conn.icsk_ca_state >= CaState::Recovery as u8
                || tp.sacked_out >= REORDERING)
        {
            return 0;
        }
        u64::from(self.min_rtt.get() / 4).min(u64::from(tp.srtt_us >> 3)) * 1_000
    }

    /// Sends a tail loss probe: new data if there is any, otherwise the last segment again.
    pub(super) fn send_probe(&mut self) -> Option<Transmit> {
        if self.tp().packets_out == 0 || self.tlp_high_seq.is_some() {
            self.rearm_rto();
            return None;
        }
        let new_data = self.available() > 0;
        let probe = if new_data {
            self.send(1)
        } else {
            let probe = self.board.retransmit_last(self.cc.tp_mut(), self.now_ns);
            let Some(probe) = probe else {
                self.rearm_rto();
                return None;
            };
            self.sent_packets += 1;
            self.retransmitted_packets += 1;
            probe
        };
        self.tlp_retransmitted = !new_data;
        self.tlp_high_seq = Some(self.board.nxt());
        self.timer = Timer::None;
        self.rearm_rto();
        Some(probe)
    }

    /// RFC 8985, 7.4: reduces the window if the probe has repaired a loss.
    pub(super) fn process_tlp_ack(&mut self, ack: &Ack, flags: &AckFlags) {
        let Some(high_seq) = self.tlp_high_seq.filter(|&high_seq| ack.ack >= high_seq) else {
            return;
        };
        if !self.tlp_retransmitted || flags.duplicate_sack {
            self.tlp_high_seq = None;
        } else if ack.ack > high_seq {
            self.init_cwnd_reduction();
            self.set_state(CaState::Cwr);
            self.end_cwnd_reduction();
            self.try_keep_open();
        } else if flags.pure_duplicate {
            self.tlp_high_seq = None;
        }
    }
}
