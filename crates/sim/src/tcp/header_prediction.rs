//! Header prediction: the short way of a sender whose ACKs only advance (ADR 17). In bulk transfer
//! most ACKs do.
//!
//! How to drive it: [`handle_ack`](Sender::handle_ack) takes it by itself. A caller in a hurry asks
//! [`predicts`](Sender::predicts), then calls [`handle_predicted`](Sender::handle_predicted), and if the
//! sender is not idle [`poll_new`](Sender::poll_new) in the place of
//! [`poll_transmit`](Sender::poll_transmit).

use super::ack::Ack;
use super::input::{linux2_6, linux6};
use super::sender::{Rexmit, Sender};
use super::transmit::Transmit;
use ackclock_host::Era;

impl Sender {
    /// Handles an arriving ACK.
    #[inline(never)]
    pub fn handle_ack(&mut self, now_ns: u64, ack: &Ack) {
        if !self.long_way && self.predicts(ack) {
            self.handle_predicted(now_ns, ack.ack);
            return;
        }
        match self.era {
            Era::Linux6 => linux6::tcp_ack(self, now_ns, ack),
            Era::Linux2_6 => linux2_6::tcp_ack(self, now_ns, ack),
        }
    }

    /// Whether an ACK only advances, and no segment is SACKed, lost or in doubt.
    #[inline(always)]
    pub(crate) fn predicts(&self, ack: &Ack) -> bool {
        let quiet = self.host.is_open() && !self.tlp.is_out() && !self.sack_frto.is_active();
        quiet && ack.is_plain() && ack.ack > self.board.una() && self.board.is_clean()
    }

    /// As [`handle_ack`](Self::handle_ack), of an ACK that the sender [`predicts`](Self::predicts).
    /// Returns whether it leaves nothing to report.
    #[inline(always)]
    pub(crate) fn handle_predicted(&mut self, now_ns: u64, una: u64) -> bool {
        match self.era {
            Era::Linux6 => linux6::tcp_ack_predicted(self, now_ns, una),
            Era::Linux2_6 => linux2_6::tcp_ack_predicted(self, now_ns, una),
        }
    }

    /// Whether no packet is out.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.tp().packets_out == 0
    }

    /// As [`poll_transmit`](Self::poll_transmit) after [`handle_predicted`](Self::handle_predicted), of
    /// a sender that is not idle: only new data can leave.
    #[inline(always)]
    pub(crate) fn poll_new(&mut self) -> Option<Transmit> {
        debug_assert!(self.rexmit == Rexmit::None && !self.is_idle());
        if self.waits_for_pacing() {
            return None;
        }
        self.transmit_new::<true, false>()
    }

    /// Whether an ACK has left nothing to report: no event, no fault, no end.
    #[inline(always)]
    pub(crate) fn is_quiet(&self) -> bool {
        !self.has_events() && self.is_at_work()
    }

    /// Whether there is neither a fault nor the end.
    #[inline(always)]
    pub(super) fn is_at_work(&self) -> bool {
        !self.is_complete() && self.fault().is_none()
    }
}
