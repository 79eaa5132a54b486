//! The recovery state machine of today's Linux (`tcp_fastretrans_alert`): RFC 5681,
//! 6675, 6937 (PRR), 8985 (RACK), 5682 (F-RTO), and undo by D-SACK (RFC 3708) and
//! timestamps (RFC 3522).

use super::profile::LossDetection;
use super::sender::{in_flight, AckFlags, Rexmit, Sender, SenderEvent};
use ackclock_host::{CaEvent, CaState, Era, TCP_INFINITE_SSTHRESH};

impl Sender {
    pub(super) fn set_state(&mut self, state: CaState) {
        self.cc.set_state(state);
        self.cc.tp_mut().inet_conn.icsk_ca_state = state as u8;
    }

    pub(super) fn fast_retransmit_alert(&mut self, flags: &mut AckFlags) {
        self.rexmit = Rexmit::Lost;
        let mut state = self.state();
        let recovered = self.board.una() >= self.high_seq;
        if state == CaState::Open {
            self.retrans_stamp_ns = None;
        } else if recovered {
            match state {
                CaState::Cwr if self.board.una() != self.high_seq => {
                    self.end_cwnd_reduction();
                    self.set_state(CaState::Open);
                }
                CaState::Recovery => {
                    self.try_undo_recovery(flags);
                    self.end_cwnd_reduction();
                }
                _ => (),
            }
            state = self.state();
        }
        match state {
            CaState::Recovery => {
                if flags.una_advanced && self.try_undo_partial(flags) {
                    self.rexmit = Rexmit::None;
                    return;
                }
                if self.try_undo_dsack() {
                    self.try_keep_open();
                }
                self.identify_losses(flags);
                if self.state() != CaState::Recovery && self.tp().lost_out > 0 {
                    self.enter_recovery();
                }
            }
            CaState::Loss => {
                self.process_loss(flags, recovered);
                self.identify_losses(flags);
                let proceed = self.state() == CaState::Open || flags.lost_retransmission;
                if proceed && self.tp().lost_out > 0 {
                    self.enter_recovery();
                } else if self.state() == CaState::Open {
                    self.try_to_open();
                }
            }
            CaState::Open | CaState::Disorder | CaState::Cwr => {
                if state <= CaState::Disorder {
                    self.try_undo_dsack();
                }
                self.identify_losses(flags);
                if self.tp().lost_out > 0 {
                    self.enter_recovery();
                } else {
                    self.try_to_open();
                }
            }
        }
    }

    fn identify_losses(&mut self, flags: &mut AckFlags) {
        let retrans_out = self.tp().retrans_out;
        if self.detect_losses() {
            flags.set_timer = false;
        }
        flags.lost_retransmission |= self.tp().retrans_out < retrans_out;
    }

    /// Notes where a reduction began, so that the sender can undo it.
    pub(super) fn init_undo(&mut self) {
        self.undo_marker = Some(self.board.una());
        let probes = self.tlp_high_seq.is_some() && self.tlp_retransmitted;
        let retrans_out = i64::from(self.tp().retrans_out) + i64::from(probes);
        self.undo_retrans = if retrans_out > 0 { retrans_out } else { -1 };
    }

    pub(super) fn enter_recovery(&mut self) {
        let row = (
            SenderEvent::Recovery,
            self.tp().snd_cwnd,
            in_flight(self.tp()),
        );
        self.events.push(row);
        self.cc.tp_mut().prior_ssthresh = 0;
        self.init_undo();
        if !self.in_cwnd_reduction() {
            let ssthresh = self.current_ssthresh();
            self.cc.tp_mut().prior_ssthresh = ssthresh;
            self.init_cwnd_reduction();
        }
        self.set_state(CaState::Recovery);
    }

    pub(super) fn init_cwnd_reduction(&mut self) {
        self.high_seq = self.board.nxt();
        self.forget_tlp();
        (self.prr_delivered, self.prr_out) = (0, 0);
        let tp = self.cc.tp_mut();
        tp.snd_cwnd_cnt = 0;
        tp.prior_cwnd = tp.snd_cwnd;
        let ssthresh = self.cc.ssthresh();
        self.cc.tp_mut().snd_ssthresh = ssthresh;
    }

    /// Sets cwnd to ssthresh, unless the reduction was undone.
    pub(super) fn end_cwnd_reduction(&mut self) {
        if self.cc.has_cong_control() {
            return;
        }
        let jiffies = self.jiffies();
        let reduced = self.undo_marker.is_some() || self.state() == CaState::Cwr;
        let tp = self.cc.tp_mut();
        if tp.snd_ssthresh < TCP_INFINITE_SSTHRESH && reduced {
            tp.snd_cwnd = tp.snd_ssthresh;
            tp.snd_cwnd_stamp = jiffies;
        }
        self.cc.cwnd_event(CaEvent::CompleteCwr);
    }

    /// RFC 3522: whether the echo is of a transmission before the first retransmission.
    fn packet_was_delayed(&self, flags: &AckFlags) -> bool {
        self.retrans_stamp_ns
            .is_some_and(|stamp_ns| flags.echo_ns < stamp_ns)
    }

    pub(super) fn may_undo(&self, flags: &AckFlags) -> bool {
        self.undo_marker.is_some() && (self.undo_retrans == 0 || self.packet_was_delayed(flags))
    }

    pub(super) fn undo_cwnd_reduction(&mut self, unmark_lost: bool) {
        let row = (SenderEvent::Undo, self.tp().snd_cwnd, in_flight(self.tp()));
        self.events.push(row);
        if unmark_lost {
            self.board.unmark_lost(self.cc.tp_mut());
        }
        if self.tp().prior_ssthresh > 0 {
            let cwnd = self.cc.undo_cwnd();
            let tp = self.cc.tp_mut();
            tp.snd_cwnd = cwnd;
            tp.snd_ssthresh = tp.snd_ssthresh.max(tp.prior_ssthresh);
        }
        let jiffies = self.jiffies();
        self.cc.tp_mut().snd_cwnd_stamp = jiffies;
        self.undo_marker = None;
        self.rack.advanced = true;
    }

    /// Ends Recovery or Loss: back to Open, and to the old window if the reduction was spurious.
    pub(super) fn try_undo_recovery(&mut self, flags: &AckFlags) {
        if self.may_undo(flags) {
            self.undo_cwnd_reduction(false);
        } else {
            let row = (
                SenderEvent::Recovered,
                self.tp().snd_cwnd,
                in_flight(self.tp()),
            );
            self.events.push(row);
        }
        self.set_state(CaState::Open);
    }

    pub(super) fn try_undo_dsack(&mut self) -> bool {
        let undo = self.undo_marker.is_some() && self.undo_retrans == 0;
        if undo {
            self.undo_cwnd_reduction(false);
        }
        undo
    }

    /// Handles a partial ACK of an original, not of a retransmission: the cause was reordering.
    fn try_undo_partial(&mut self, flags: &AckFlags) -> bool {
        if self.undo_marker.is_none() || !self.packet_was_delayed(flags) {
            return false;
        }
        self.rack.reordering_seen = true;
        if self.tp().retrans_out > 0 {
            return true;
        }
        self.retrans_stamp_ns = None;
        self.undo_cwnd_reduction(true);
        self.try_keep_open();
        false
    }

    fn try_undo_loss(&mut self, flags: &AckFlags, spurious: bool) -> bool {
        if !spurious && !self.may_undo(flags) {
            return false;
        }
        self.undo_cwnd_reduction(true);
        self.set_state(CaState::Open);
        true
    }

    pub(super) fn try_keep_open(&mut self) {
        let tp = self.cc.tp();
        let left_out = tp.sacked_out + tp.lost_out > 0
            || self.any_retransmission()
            || (self.profile.era == Era::Linux2_6 && self.undo_marker.is_some());
        let state = if left_out {
            CaState::Disorder
        } else {
            CaState::Open
        };
        if state != self.state() {
            self.set_state(state);
            self.high_seq = self.board.nxt();
        }
    }

    /// `tcp_any_retrans_done`.
    pub(super) fn any_retransmission(&self) -> bool {
        let tp = self.tp();
        tp.retrans_out > 0
            || (tp.packets_out > 0 && self.board.ever_retransmitted(self.board.una()))
    }

    fn try_to_open(&mut self) {
        if !self.any_retransmission() {
            self.retrans_stamp_ns = None;
        }
        if self.state() != CaState::Cwr {
            self.try_keep_open();
        }
    }

    /// Handles an ACK after a timeout (RFC 5682 if F-RTO is on).
    fn process_loss(&mut self, flags: &AckFlags, recovered: bool) {
        if flags.una_advanced && self.try_undo_loss(flags, false) {
            return;
        }
        if self.frto {
            if flags.original_delivered && self.try_undo_loss(flags, true) {
                return;
            }
            if self.board.nxt() > self.high_seq {
                if flags.data_sacked || flags.pure_duplicate {
                    self.frto = false;
                }
            } else if flags.una_advanced && !recovered {
                self.high_seq = self.board.nxt();
                self.rexmit = Rexmit::New;
                return;
            }
        }
        if recovered {
            self.try_undo_recovery(flags);
        }
    }

    /// Enters Loss when the retransmission timer has fired (`tcp_enter_loss`).
    pub(super) fn enter_loss(&mut self) {
        let row = (
            SenderEvent::Timeout,
            self.tp().snd_cwnd,
            in_flight(self.tp()),
        );
        self.events.push(row);
        let state = self.state();
        let rack = self.profile.loss_detection == LossDetection::Rack;
        let (now_ns, rtt_ns) = (self.now_ns, self.rack.rtt_ns);
        self.board.mark_all_lost(self.cc.tp_mut(), |sent_ns| {
            rack && now_ns - sent_ns < rtt_ns
        });
        if state <= CaState::Disorder
            || self.high_seq <= self.board.una()
            || (state == CaState::Loss && self.retransmits == 0)
        {
            let prior_ssthresh = self.current_ssthresh();
            let tp = self.cc.tp_mut();
            tp.prior_ssthresh = prior_ssthresh;
            tp.prior_cwnd = tp.snd_cwnd;
            let ssthresh = self.cc.ssthresh();
            self.cc.tp_mut().snd_ssthresh = ssthresh;
            self.cc.cwnd_event(CaEvent::Loss);
            self.init_undo();
        }
        let jiffies = self.jiffies();
        let prr = self.reduces_by_prr();
        let tp = self.cc.tp_mut();
        tp.snd_cwnd = if prr { in_flight(tp) + 1 } else { 1 };
        tp.snd_cwnd_cnt = 0;
        tp.snd_cwnd_stamp = jiffies;
        self.forget_tlp();
        self.set_state(CaState::Loss);
        self.high_seq = self.board.nxt();
        self.frto = self.profile.frto && (state < CaState::Recovery || self.retransmits > 0);
    }
}
