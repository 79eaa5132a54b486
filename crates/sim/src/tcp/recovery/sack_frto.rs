//! F-RTO with SACK, as in Linux 2.6.24 to 3.9 (RFC 4138, appendix B; `tcp_enter_frto`,
//! `tcp_process_frto`, `tcp_enter_frto_loss`): a timeout sends only the head again. The next two
//! ACKs show whether the rest was lost. If not, the window is reduced as for a single loss.
//!
//! How to drive it: call [`tcp_enter_frto`](Sender::tcp_enter_frto) when the retransmission timer fires,
//! and [`tcp_process_frto`](Sender::tcp_process_frto) for each ACK, before the window may grow.

use super::super::flags::AckFlags;
use super::super::report::SenderEvent;
use super::super::scoreboard::Delivery;
use super::super::sender::Sender;
use super::super::transmit::Rexmit;
use super::super::Ack;
use ackclock_host::{CaEvent, CaState};

/// How far the algorithm is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// No timeout is in doubt.
    Off,
    /// The head was sent again.
    HeadSent,
    /// Then two new segments were allowed.
    NewSent,
}

/// F-RTO on a connection.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct SackFrto {
    enabled: bool,
    step: Step,
    /// What was sent before the timeout: segments below.
    highmark: u64,
}

impl SackFrto {
    pub(in super::super) const fn new(enabled: bool) -> Self {
        Self {
            enabled,
            step: Step::Off,
            highmark: 0,
        }
    }

    pub(in super::super) fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Whether a timeout is in doubt. The sender then judges nothing lost.
    #[inline]
    pub(in super::super) fn is_active(&self) -> bool {
        self.step != Step::Off
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
                self.enter_cwr_after_frto();
                return false;
            }
            self.tcp_enter_frto_loss(3);
        }
        true
    }

    /// The timeout was spurious: reduces the window by rate halving
    /// (`tcp_ratehalving_spur_to_response`, `tcp_enter_cwr`).
    fn enter_cwr_after_frto(&mut self) {
        self.host.set_prior_ssthresh(0);
        self.undo.close();
        if self.state() < CaState::Cwr {
            let cwnd = self.tp().snd_cwnd.min(self.host.in_flight() + 1);
            self.host.set_cwnd(cwnd);
            self.host.set_cwnd_cnt(0);
            self.high_seq = self.board.nxt();
            self.host.stamp_cwnd();
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
    }
}
