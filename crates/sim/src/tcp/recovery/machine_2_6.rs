//! The state machine of Linux 2.6.25 (`tcp_fastretrans_alert`). After a recovery it stays in
//! Disorder until all of the recovery's window is acknowledged: a D-SACK may still undo it.
//!
//! How to drive it: call [`tcp_fastretrans_alert_2_6`](Sender::tcp_fastretrans_alert_2_6) for each
//! dubious ACK. Timeouts are in `machine`.

use super::super::flags::AckFlags;
use super::super::report::SenderEvent;
use super::super::sender::Sender;
use super::super::transmit::Rexmit;
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
                self.tcp_try_undo_loss();
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
