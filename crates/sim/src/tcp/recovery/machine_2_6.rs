//! The state machine of Linux 2.6.25 (`tcp_fastretrans_alert`). After a recovery it stays in
//! Disorder until all of the recovery's window is acknowledged: a D-SACK may still undo it.
//!
//! How to drive it: call [`tcp_fastretrans_alert_2_6`](Sender::tcp_fastretrans_alert_2_6) for each
//! dubious ACK. With SACK F-RTO call [`tcp_enter_frto`](Sender::tcp_enter_frto) when the retransmission
//! timer fires, and [`tcp_process_frto`](Sender::tcp_process_frto) for each ACK, before the window may
//! grow. Other timeouts are in `machine`.

use super::super::ack::Ack;
use super::super::flags::AckFlags;
use super::super::scoreboard::Delivery;
use super::super::sender::{Rexmit, Sender, SenderEvent};
use super::sack_frto::Step;
use ackclock_host::{CaEvent, CaState};

impl Sender {
    pub(in super::super) fn tcp_fastretrans_alert_2_6(&mut self, flags: AckFlags) {
        self.rexmit = Rexmit::Lost;
        let recovered = self.board.una() >= self.high_seq;
        match self.state() {
            CaState::Open => self.undo.forget_stamp(),
            CaState::Loss if recovered => {
                self.tcp_try_undo_recovery(&flags);
                self.tcp_moderate_cwnd();
            }
            CaState::Recovery if recovered => {
                self.tcp_try_undo_recovery(&flags);
                self.tcp_moderate_cwnd();
                self.tcp_complete_cwr();
            }
            CaState::Disorder if recovered => {
                self.tcp_try_undo_dsack();
                if !self.undo.is_open() || self.board.una() > self.high_seq {
                    self.undo.close();
                    self.host.set_state(CaState::Open);
                }
            }
            CaState::Cwr if self.board.una() > self.high_seq => {
                self.tcp_complete_cwr();
                self.host.set_state(CaState::Open);
            }
            _ => (),
        }
        if self.state() == CaState::Loss {
            if flags.una_advanced && self.undo.is_due(flags.echo_ns) {
                self.tcp_try_undo_loss(true);
            }
            return self.tcp_moderate_cwnd();
        }
        if self.sack_frto.is_active() {
            self.rexmit = Rexmit::None;
            if self.state() == CaState::Disorder {
                self.tcp_try_undo_dsack();
            }
            return self.tcp_try_to_open_2_6(&flags);
        }
        self.detect_losses();
        match self.state() {
            CaState::Recovery | CaState::Loss => (),
            CaState::Open | CaState::Disorder | CaState::Cwr => {
                if self.state() == CaState::Disorder {
                    self.tcp_try_undo_dsack();
                }
                if self.tp().lost_out == 0 {
                    self.tcp_try_to_open_2_6(&flags);
                    return;
                }
                self.tcp_enter_recovery_2_6();
            }
        }
        self.reduction.on_ack(&mut self.host, &flags);
    }

    fn tcp_enter_recovery_2_6(&mut self) {
        self.note(SenderEvent::Recovery);
        self.high_seq = self.board.nxt();
        self.tcp_init_undo();
        if self.state() < CaState::Cwr {
            self.host.set_prior_ssthresh(self.host.current_ssthresh());
            self.host.begin_reduction();
            self.host.queue_cwr();
        } else {
            self.host.set_prior_ssthresh(0);
        }
        self.reduction.begin(&mut self.host);
        self.host.set_state(CaState::Recovery);
    }

    fn tcp_complete_cwr(&mut self) {
        self.reduction.end(&mut self.host, false);
        self.host.event(CaEvent::CompleteCwr);
    }

    fn tcp_try_to_open_2_6(&mut self, flags: &AckFlags) {
        if self.tp().retrans_out == 0 && !self.sack_frto.is_active() {
            self.undo.forget_stamp();
        }
        if self.state() == CaState::Cwr {
            self.reduction.on_ack(&mut self.host, flags);
        } else {
            self.tcp_try_keep_open(self.undo.is_open());
            self.tcp_moderate_cwnd();
        }
    }

    fn tcp_moderate_cwnd(&mut self) {
        self.reduction.moderate(&mut self.host);
    }
}

impl Sender {
    /// Sends the head again, and waits for what the next ACKs show (`tcp_enter_frto`).
    pub(in super::super) fn tcp_enter_frto(&mut self) {
        self.note(SenderEvent::Timeout);
        let (state, active) = (self.state(), self.sack_frto.is_active());
        let (una, nxt) = (self.board.una(), self.board.nxt());
        if (!active && state <= CaState::Disorder)
            || self.high_seq <= una
            || ((active || state == CaState::Loss) && self.timers.retransmits() == 0)
        {
            self.host.set_prior_ssthresh(self.host.current_ssthresh());
            let cwnd = self.tp().snd_cwnd;
            if active {
                // The window was not reduced yet for the timeout before.
                self.host.set_cwnd(2);
            }
            self.host.begin_reduction();
            self.host.set_cwnd(cwnd);
            // CA_EVENT_FRTO, which later kernels do not have.
            self.host.event(CaEvent::Loss);
        }
        self.undo.begin(una, 0);
        if self.board.ever_retransmitted(una) {
            self.undo.close();
        }
        self.board.forget_head_retransmission(self.host.counts());
        let cwnd = self.tp().snd_cwnd.min(self.host.in_flight() + 1);
        self.host.set_cwnd(cwnd);
        let recovers = active || matches!(state, CaState::Recovery | CaState::Loss);
        self.sack_frto.highmark = if recovers && self.high_seq > una {
            self.high_seq
        } else {
            nxt
        };
        self.sack_frto.step = Step::HeadSent;
        self.host.set_state(CaState::Disorder);
        self.high_seq = nxt;
        self.rexmit = Rexmit::Head;
    }

    /// Judges the timeout by an ACK (`tcp_process_frto`). Returns whether it has set cwnd.
    pub(in super::super) fn tcp_process_frto(
        &mut self,
        ack: &Ack,
        flags: AckFlags,
        delivery: &Delivery,
    ) -> bool {
        let (step, highmark) = (self.sack_frto.step, self.sack_frto.highmark);
        let first = match step {
            Step::Off => return false,
            Step::HeadSent => true,
            Step::NewSent => false,
        };
        if delivery.other_retransmitted_acked || (!first && delivery.retransmitted_acked) {
            self.undo.close();
        }
        if self.board.una() >= highmark {
            self.tcp_enter_frto_loss(if first { 2 } else { 3 });
        } else if first && !flags.una_advanced {
            // Nothing new may leave.
            let cwnd = self.tp().snd_cwnd.min(self.host.in_flight());
            self.host.set_cwnd(cwnd);
        } else if first {
            self.host.set_cwnd(self.host.in_flight() + 2);
            self.sack_frto.step = Step::NewSent;
            if self.limits.available(&self.board) == 0 {
                self.tcp_enter_frto_loss(2);
            }
        } else {
            let originals = delivery.sacked_sent_ns.is_some()
                && ack.sacks().iter().all(|block| block.1 <= highmark);
            let progress = flags.una_advanced || flags.data_sacked;
            if progress && (!flags.data_sacked || originals) {
                self.sack_frto.step = Step::Off;
                self.tcp_enter_cwr_2_6(false);
                return false;
            }
            self.tcp_enter_frto_loss(3);
        }
        true
    }

    /// Reduces the window by rate halving. After a spurious timeout (`tcp_ratehalving_spur_to_response`)
    /// ssthresh is set already.
    pub(in super::super) fn tcp_enter_cwr_2_6(&mut self, set_ssthresh: bool) {
        self.host.set_prior_ssthresh(0);
        if set_ssthresh && self.state() >= CaState::Cwr {
            return;
        }
        self.undo.close();
        if self.state() < CaState::Cwr {
            if set_ssthresh {
                self.host.begin_reduction();
            }
            let cwnd = self.tp().snd_cwnd.min(self.host.in_flight() + 1);
            self.host.set_cwnd(cwnd);
            self.host.set_cwnd_cnt(0);
            self.high_seq = self.board.nxt();
            self.host.stamp_cwnd();
            self.host.queue_cwr();
            self.host.set_state(CaState::Cwr);
        }
    }

    /// The timeout was justified: everything is lost (`tcp_enter_frto_loss`).
    fn tcp_enter_frto_loss(&mut self, allowed: u32) {
        let mut window = self.board.una()..self.board.nxt();
        if window.any(|segment| self.board.ever_retransmitted(segment)) {
            self.undo.close();
        }
        self.board.mark_all_lost(self.host.counts(), |_| false);
        self.host.set_cwnd(self.host.in_flight() + allowed);
        self.host.set_cwnd_cnt(0);
        self.host.stamp_cwnd();
        self.sack_frto.step = Step::Off;
        self.host.set_state(CaState::Loss);
        self.high_seq = self.board.nxt();
        self.host.queue_cwr();
    }
}
