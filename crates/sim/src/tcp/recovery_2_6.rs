//! The recovery state machine of Linux 2.6.25: FACK, rate halving, cwnd moderation.
//!
//! In recovery the window shrinks by one segment for every second ACK, and never exceeds in
//! flight + 1. A burst of losses therefore drags cwnd far below ssthresh.

use super::profile::REORDERING;
use super::sender::{in_flight, AckFlags, Rexmit, Sender, SenderEvent};
use ackclock_host::{CaEvent, CaState};

/// How many segments above those in flight cwnd moderation allows.
const MAX_BURST: u32 = REORDERING;

impl Sender {
    pub(super) fn fast_retransmit_alert_2_6(&mut self, flags: &AckFlags) {
        self.rexmit = Rexmit::Lost;
        let recovered = self.board.una() >= self.high_seq;
        match self.state() {
            CaState::Open => self.retrans_stamp_ns = None,
            CaState::Loss if recovered => {
                self.try_undo_recovery(flags);
                self.moderate_cwnd();
            }
            CaState::Recovery if recovered => {
                self.try_undo_recovery(flags);
                self.moderate_cwnd();
                self.complete_cwr();
            }
            // Stay until all of the recovery's window is acknowledged: a D-SACK may still undo it.
            CaState::Disorder if recovered => {
                self.try_undo_dsack();
                if self.undo_marker.is_none() || self.board.una() > self.high_seq {
                    self.undo_marker = None;
                    self.set_state(CaState::Open);
                }
            }
            CaState::Cwr if self.board.una() > self.high_seq => {
                self.complete_cwr();
                self.set_state(CaState::Open);
            }
            _ => (),
        }
        if self.state() == CaState::Loss {
            if flags.una_advanced && self.may_undo(flags) {
                self.undo_cwnd_reduction(true);
                self.set_state(CaState::Open);
            }
            return self.moderate_cwnd();
        }
        self.detect_losses();
        match self.state() {
            CaState::Recovery | CaState::Loss => (),
            CaState::Open | CaState::Disorder | CaState::Cwr => {
                if self.state() == CaState::Disorder {
                    self.try_undo_dsack();
                }
                if self.tp().lost_out == 0 {
                    self.try_to_open_2_6(flags);
                    return;
                }
                self.enter_recovery_2_6();
            }
        }
        self.cwnd_down(flags);
    }

    fn enter_recovery_2_6(&mut self) {
        let row = (
            SenderEvent::Recovery,
            self.tp().snd_cwnd,
            in_flight(self.tp()),
        );
        self.events.push(row);
        self.high_seq = self.board.nxt();
        self.init_undo();
        let reduces = self.state() < CaState::Cwr;
        let prior_ssthresh = if reduces { self.current_ssthresh() } else { 0 };
        self.cc.tp_mut().prior_ssthresh = prior_ssthresh;
        if reduces {
            let tp = self.cc.tp_mut();
            tp.prior_cwnd = tp.snd_cwnd;
            let ssthresh = self.cc.ssthresh();
            self.cc.tp_mut().snd_ssthresh = ssthresh;
        }
        self.cc.tp_mut().snd_cwnd_cnt = 0;
        self.set_state(CaState::Recovery);
    }

    /// Takes one segment from cwnd for every second ACK (`tcp_cwnd_down`).
    fn cwnd_down(&mut self, flags: &AckFlags) {
        if !(flags.una_advanced || flags.data_sacked || flags.duplicate_sack) {
            return;
        }
        let jiffies = self.jiffies();
        let tp = self.cc.tp_mut();
        let halves = tp.snd_cwnd_cnt + 1;
        tp.snd_cwnd_cnt = halves & 1;
        if halves >> 1 > 0 && tp.snd_cwnd > tp.snd_ssthresh {
            tp.snd_cwnd -= halves >> 1;
        }
        tp.snd_cwnd = tp.snd_cwnd.min(in_flight(tp) + 1);
        tp.snd_cwnd_stamp = jiffies;
    }

    fn complete_cwr(&mut self) {
        let jiffies = self.jiffies();
        let tp = self.cc.tp_mut();
        tp.snd_cwnd = tp.snd_cwnd.min(tp.snd_ssthresh);
        tp.snd_cwnd_stamp = jiffies;
        self.cc.cwnd_event(CaEvent::CompleteCwr);
    }

    fn try_to_open_2_6(&mut self, flags: &AckFlags) {
        if self.tp().retrans_out == 0 {
            self.retrans_stamp_ns = None;
        }
        if self.state() == CaState::Cwr {
            self.cwnd_down(flags);
        } else {
            self.try_keep_open();
            self.moderate_cwnd();
        }
    }

    fn moderate_cwnd(&mut self) {
        let jiffies = self.jiffies();
        let tp = self.cc.tp_mut();
        tp.snd_cwnd = tp.snd_cwnd.min(in_flight(tp) + MAX_BURST);
        tp.snd_cwnd_stamp = jiffies;
    }
}
