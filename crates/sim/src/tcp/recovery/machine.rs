//! The state machine of today's Linux (`tcp_fastretrans_alert`, `tcp_process_loss`,
//! `tcp_enter_loss`): Open, Disorder, CWR, Recovery, Loss (RFC 5681, 6675).
//!
//! How to drive it: call [`tcp_fastretrans_alert`](Sender::tcp_fastretrans_alert) for each dubious
//! ACK, and [`tcp_enter_loss`](Sender::tcp_enter_loss) when the retransmission timer fires.

use super::super::constants::REORDERING;
use super::super::flags::AckFlags;
use super::super::input::tcp_check_sack_reordering;
use super::super::sender::{Rexmit, Sender, SenderEvent};
use super::{Evidence, Step};
use ackclock_host::{CaEvent, CaState};

impl Sender {
    #[inline(never)]
    pub(in super::super) fn tcp_fastretrans_alert(&mut self, mut flags: AckFlags) -> AckFlags {
        self.rexmit = Rexmit::Lost;
        if flags.ece {
            // The reduction is required: nothing may undo it.
            self.host.set_prior_ssthresh(0);
        }
        let mut state = self.state();
        let recovered = self.board.una() >= self.high_seq;
        let duplicate = !flags.una_advanced && !flags.duplicate_sack;
        let mut judges = duplicate || (flags.data_sacked && self.is_sack_far());
        let mut begins = false;
        if state == CaState::Open {
            self.undo.forget_stamp();
        } else if recovered {
            match state {
                CaState::Cwr if self.board.una() != self.high_seq => {
                    self.note(SenderEvent::Recovered);
                    self.tcp_end_cwnd_reduction();
                    self.host.set_state(CaState::Open);
                }
                CaState::Recovery => {
                    if self.loss.new_reno().is_some() {
                        self.host.counts().assume_sacked(0);
                    }
                    if self.tcp_try_undo_recovery(&flags) {
                        self.rexmit = Rexmit::None;
                        return flags;
                    }
                    self.tcp_end_cwnd_reduction();
                }
                _ => (),
            }
            state = self.state();
        }
        match state {
            CaState::Recovery => {
                self.tcp_add_reno_sack(!flags.una_advanced);
                if flags.una_advanced {
                    if !self.tcp_packet_delayed(&flags) {
                        judges = self.is_sack_far();
                    } else if self.tcp_try_undo_partial(&flags) {
                        self.rexmit = Rexmit::None;
                        return flags;
                    }
                }
                if self.tcp_try_undo_dsack() {
                    self.tcp_try_to_open(flags.ece);
                }
                self.tcp_identify_packet_loss(&mut flags);
                if self.state() != CaState::Recovery {
                    if !self.tcp_time_to_recover() {
                        return flags;
                    }
                    self.tcp_enter_recovery(flags.ece);
                }
            }
            CaState::Loss => {
                self.tcp_process_loss(&flags, recovered);
                self.tcp_identify_packet_loss(&mut flags);
                let proceed = self.state() == CaState::Open || flags.lost_retransmission;
                if proceed {
                    self.tcp_count_reno_sacks(&flags);
                }
                begins = proceed && self.tcp_time_to_recover();
                if begins {
                    self.tcp_enter_recovery(flags.ece);
                } else {
                    if self.state() == CaState::Open {
                        self.tcp_try_to_open(flags.ece);
                    }
                    return flags;
                }
            }
            CaState::Open | CaState::Disorder | CaState::Cwr => {
                self.tcp_count_reno_sacks(&flags);
                if state <= CaState::Disorder {
                    self.tcp_try_undo_dsack();
                }
                self.tcp_identify_packet_loss(&mut flags);
                begins = self.tcp_time_to_recover();
                if begins {
                    self.tcp_enter_recovery(flags.ece);
                } else {
                    self.tcp_try_to_open(flags.ece);
                    return flags;
                }
            }
        }
        if let Some(thresh) = self.loss.dup_thresh().filter(|_| judges) {
            thresh.detect(&mut self.board, &mut self.host, begins);
        }
        flags
    }

    fn tcp_time_to_recover(&self) -> bool {
        let thresh = self.loss.dup_thresh();
        self.tp().lost_out > 0 || thresh.is_some_and(|thresh| thresh.is_reached(&self.host))
    }

    /// `tcp_force_fast_retransmit`, without RACK.
    fn is_sack_far(&self) -> bool {
        let thresh = self.loss.dup_thresh();
        thresh.is_some_and(|thresh| thresh.is_far(&self.board))
    }

    fn tcp_identify_packet_loss(&mut self, flags: &mut AckFlags) {
        if let Some(new_reno) = self.loss.new_reno() {
            return new_reno.detect(&mut self.board, &mut self.host, flags.una_advanced);
        }
        let retrans_out = self.tp().retrans_out;
        if self.detect_losses() {
            flags.set_timer = false;
        }
        flags.lost_retransmission |= self.tp().retrans_out < retrans_out;
    }

    /// Notes where a reduction began, so that the sender can undo it.
    pub(super) fn tcp_init_undo(&mut self) {
        let probes = u32::from(self.tlp.is_retransmission_out());
        let retrans_out = self.tp().retrans_out + probes;
        self.undo.begin(self.board.una(), retrans_out);
    }

    pub(in super::super) fn tcp_enter_recovery(&mut self, ece: bool) {
        self.note(SenderEvent::Recovery);
        // `tcp_retrans_stamp_cleanup`
        if !self.tcp_any_retrans_done() {
            self.undo.forget_stamp();
        }
        self.host.set_prior_ssthresh(0);
        self.tcp_init_undo();
        if !self.host.in_cwnd_reduction() {
            if !ece {
                self.host.set_prior_ssthresh(self.host.current_ssthresh());
            }
            self.tcp_init_cwnd_reduction();
        }
        self.host.set_state(CaState::Recovery);
    }

    /// Reduces the window once per window of data, without a loss.
    #[cold]
    pub(in super::super) fn tcp_enter_cwr(&mut self) {
        self.host.set_prior_ssthresh(0);
        if self.state() < CaState::Cwr {
            self.note(SenderEvent::Cwr);
            self.undo.close();
            self.tcp_init_cwnd_reduction();
            self.host.set_state(CaState::Cwr);
        }
    }

    /// RFC 8985, 7.4: reduces the window because the probe has repaired a loss.
    pub(in super::super) fn reduce_for_probe(&mut self) {
        self.tcp_init_cwnd_reduction();
        self.host.set_state(CaState::Cwr);
        self.tcp_end_cwnd_reduction();
        self.tcp_try_keep_open(false);
    }

    fn tcp_init_cwnd_reduction(&mut self) {
        self.high_seq = self.board.nxt();
        self.tlp.forget();
        self.reduction.begin(&mut self.host);
        self.host.begin_reduction();
        self.host.queue_cwr();
    }

    fn tcp_end_cwnd_reduction(&mut self) {
        if self.host.has_cong_control() {
            return;
        }
        let undone = !self.undo.is_open() && self.state() != CaState::Cwr;
        self.reduction.end(&mut self.host, undone);
        self.host.event(CaEvent::CompleteCwr);
    }

    pub(super) fn tcp_undo_cwnd_reduction(&mut self, unmark_lost: bool) {
        self.note(SenderEvent::Undo);
        if unmark_lost {
            self.board.unmark_lost(self.host.counts());
        }
        self.host.undo();
        self.undo.close();
        self.loss.judge_anew();
    }

    /// Ends Recovery or Loss: back to Open, and to the old window if the reduction was spurious. Returns
    /// whether the state holds because the connection has no SACK.
    pub(super) fn tcp_try_undo_recovery(&mut self, flags: &AckFlags) -> bool {
        let undo = self.is_undo_due(flags);
        if undo {
            self.tcp_undo_cwnd_reduction(false);
        } else {
            self.loss.note_recovery(true);
        }
        if self.tcp_is_non_sack_preventing_reopen() {
            return true;
        }
        if !undo {
            self.note(SenderEvent::Recovered);
        }
        self.host.set_state(CaState::Open);
        false
    }

    /// `tcp_may_undo`: D-SACKs or timestamps show that the reduction was spurious.
    fn is_undo_due(&self, flags: &AckFlags) -> bool {
        self.undo.all_answered() || self.tcp_packet_delayed(flags)
    }

    /// Whether the ACK is of an original. Without SACK that nothing was sent again tells it only below
    /// `high_seq`.
    fn tcp_packet_delayed(&self, flags: &AckFlags) -> bool {
        let told =
            self.loss.has_sack() || self.undo.has_stamp() || self.board.una() < self.high_seq;
        told && self.undo.original_answered(flags.echo_ns)
    }

    /// RFC 6582, 3.2: without SACK the state holds until an ACK is above `high_seq`. Duplicates of what
    /// was sent again would begin another recovery.
    fn tcp_is_non_sack_preventing_reopen(&mut self) -> bool {
        let holds = !self.loss.has_sack() && self.board.una() == self.high_seq;
        if holds && !self.tcp_any_retrans_done() {
            self.undo.forget_stamp();
        }
        holds
    }

    /// Without SACK: counts a duplicate ACK, if it is `one`.
    fn tcp_add_reno_sack(&mut self, one: bool) {
        if let Some(new_reno) = self.loss.new_reno().filter(|_| one) {
            new_reno.on_duplicate(self.host.counts());
        }
    }

    /// The same outside of recovery, where an ACK that advances ends the count.
    fn tcp_count_reno_sacks(&mut self, flags: &AckFlags) {
        if flags.una_advanced && !self.loss.has_sack() {
            self.host.counts().assume_sacked(0);
        }
        self.tcp_add_reno_sack(!flags.una_advanced);
    }

    pub(super) fn tcp_try_undo_dsack(&mut self) -> bool {
        let undo = self.undo.all_answered();
        if undo {
            self.loss.note_recovery(false);
            self.tcp_undo_cwnd_reduction(false);
        }
        undo
    }

    /// Handles a partial ACK of an original, not of a retransmission: the cause was reordering.
    fn tcp_try_undo_partial(&mut self, flags: &AckFlags) -> bool {
        tcp_check_sack_reordering(self, flags.prior_una, self.board.una());
        if self.tp().retrans_out > 0 {
            return true;
        }
        if !self.tcp_any_retrans_done() {
            self.undo.forget_stamp();
        }
        self.tcp_undo_cwnd_reduction(true);
        self.tcp_try_keep_open(false);
        false
    }

    /// `frto`: F-RTO has shown it. Without SACK other signs do not end Loss.
    pub(super) fn tcp_try_undo_loss(&mut self, frto: bool) {
        self.tcp_undo_cwnd_reduction(true);
        self.timers.on_progress();
        if !self.tcp_is_non_sack_preventing_reopen() && (frto || self.loss.has_sack()) {
            self.host.set_state(CaState::Open);
        }
    }

    /// Goes to Disorder if segments are SACKed, lost or retransmitted, or if `held` is true;
    /// otherwise to Open.
    pub(super) fn tcp_try_keep_open(&mut self, held: bool) {
        let tp = self.tp();
        let left_out = tp.sacked_out + tp.lost_out > 0 || self.tcp_any_retrans_done() || held;
        let state = if left_out {
            CaState::Disorder
        } else {
            CaState::Open
        };
        if state != self.state() {
            self.host.set_state(state);
            self.high_seq = self.board.nxt();
        }
    }

    fn tcp_any_retrans_done(&self) -> bool {
        let tp = self.tp();
        tp.retrans_out > 0
            || (tp.packets_out > 0 && self.board.ever_retransmitted(self.board.una()))
    }

    fn tcp_try_to_open(&mut self, ece: bool) {
        if !self.tcp_any_retrans_done() {
            self.undo.forget_stamp();
        }
        if ece {
            self.tcp_enter_cwr();
        }
        if self.state() != CaState::Cwr {
            self.tcp_try_keep_open(false);
        }
    }

    /// Handles an ACK after a timeout.
    fn tcp_process_loss(&mut self, flags: &AckFlags, recovered: bool) {
        if flags.una_advanced && self.is_undo_due(flags) {
            return self.tcp_try_undo_loss(false);
        }
        let step = self.frto.on_ack(Evidence {
            una_advanced: flags.una_advanced,
            data_sacked: flags.data_sacked,
            duplicate: !flags.una_advanced && !flags.duplicate_sack,
            original_delivered: flags.original_delivered,
            sent_new: self.board.nxt() > self.high_seq,
            recovered,
        });
        match step {
            Step::Spurious => self.tcp_try_undo_loss(true),
            Step::SendNew => {
                self.high_seq = self.board.nxt();
                self.rexmit = Rexmit::New;
            }
            Step::Retransmit if recovered => {
                self.tcp_try_undo_recovery(flags);
            }
            Step::Retransmit if flags.una_advanced => {
                if !self.loss.has_sack() {
                    self.host.counts().assume_sacked(0);
                }
            }
            // New data of F-RTO has arrived.
            Step::Retransmit => self.tcp_add_reno_sack(self.board.nxt() > self.high_seq),
        }
    }

    /// Enters Loss when the retransmission timer has fired.
    pub(in super::super) fn tcp_enter_loss(&mut self) {
        self.note(SenderEvent::Timeout);
        let state = self.state();
        self.loss
            .detect_after_timeout(&mut self.board, &mut self.host);
        if state <= CaState::Disorder
            || self.high_seq <= self.board.una()
            || (state == CaState::Loss && self.timers.retransmits() == 0)
        {
            self.host.set_prior_ssthresh(self.host.current_ssthresh());
            self.host.begin_reduction();
            self.host.event(CaEvent::Loss);
            self.tcp_init_undo();
        }
        self.host
            .set_cwnd(self.reduction.cwnd_after_timeout(&self.host));
        self.host.set_cwnd_cnt(0);
        self.host.stamp_cwnd();
        if state <= CaState::Disorder && self.tp().sacked_out >= REORDERING {
            self.loss.doubt_reordering();
        }
        self.tlp.forget();
        self.host.set_state(CaState::Loss);
        self.high_seq = self.board.nxt();
        self.host.queue_cwr();
        self.frto
            .begin(state < CaState::Recovery || self.timers.retransmits() > 0);
    }
}
