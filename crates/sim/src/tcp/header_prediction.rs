//! Header prediction: the short way of a sender whose ACKs only advance (ADR 17). In bulk transfer
//! most ACKs do.
//!
//! How to drive it: [`handle_ack`](Sender::handle_ack) takes it by itself. A caller in a hurry asks
//! [`predicts`](Sender::predicts), then calls [`handle_predicted`](Sender::handle_predicted), and if the
//! sender is not idle [`poll_new`](Sender::poll_new) in the place of
//! [`poll_transmit`](Sender::poll_transmit), all three with the [`Plan`] of the sender.

use super::ack::Ack;
use super::input::{linux2_6, linux6, note_slow_start_exit};
use super::plan::{Linux2_6, Linux6, Plan, Predicted, LIMITED, RARE, SLOW};
use super::sender::{Rexmit, Sender};
use super::transmit::Transmit;
use ackclock_host::Era;

impl Sender {
    /// Handles an arriving ACK.
    #[inline(never)]
    pub fn handle_ack(&mut self, now_ns: u64, ack: &Ack) {
        if self.predicts::<Predicted>(ack) {
            match self.plan() {
                Some(Era::Linux6) => self.handle_predicted::<Linux6>(now_ns, ack.ack),
                Some(Era::Linux2_6) => self.handle_predicted::<Linux2_6>(now_ns, ack.ack),
                None => self.handle_predicted::<Predicted>(now_ns, ack.ack),
            };
            self.set_due_timer();
            return;
        }
        if ack.ack > self.board.nxt() {
            // The FIN had arrived, and then left again with the last data.
            let (told, nxt) = (ack.clone(), self.board.nxt());
            let of_data = Ack { ack: nxt, ..told };
            let of_data = of_data.with_sacks(ack.sacks().iter().copied(), ack.flags().duplicate);
            return self.handle_ack(now_ns, &of_data);
        }
        self.forget_plan();
        match self.era {
            Era::Linux6 => linux6::tcp_ack(self, now_ns, ack),
            Era::Linux2_6 => linux2_6::tcp_ack(self, now_ns, ack),
        }
    }

    /// Whether an ACK only advances, and no segment is SACKed, lost or in doubt. With the plan of a common
    /// sender: and the sender still is one.
    #[inline(always)]
    pub(crate) fn predicts<P: Plan>(&mut self, ack: &Ack) -> bool {
        let advances = ack.is_plain() && ack.ack > self.board.una();
        match P::COMMON {
            Some(_) => self.is_common() && advances,
            None => advances && (self.special & SLOW == 0 || self.find_plan()),
        }
    }

    /// As [`handle_ack`](Self::handle_ack), of an ACK that the sender [`predicts`](Self::predicts). If it
    /// leaves nothing to report, which it returns, [`poll_new`](Self::poll_new) sets the timer.
    #[inline(always)]
    pub(crate) fn handle_predicted<P: Plan>(&mut self, now_ns: u64, una: u64) -> bool {
        debug_assert!(self.rexmit == Rexmit::None && self.specials() & !self.special == 0);
        #[cfg(feature = "spare-key")]
        if let (None, Some(acks)) = (P::COMMON, &mut self.spare) {
            **acks += 1;
        }
        let prior_ssthresh = self.tp().snd_ssthresh;
        self.sets_timer = P::COMMON.is_some();
        match P::COMMON.map_or(self.era, |(era, _)| era) {
            Era::Linux6 => linux6::tcp_ack_predicted::<P>(self, now_ns, una),
            Era::Linux2_6 => linux2_6::tcp_ack_predicted::<P>(self, now_ns, una),
        }
        let exits = note_slow_start_exit(self, prior_ssthresh);
        let quiet = match P::COMMON {
            Some(_) => self.is_common() && self.fault().is_none(),
            None => self.special & SLOW == 0 && self.is_at_work(),
        } && !exits;
        if !quiet {
            self.set_due_timer();
        }
        quiet
    }

    /// Sets the timer before the turn of a predicted ACK ends.
    #[inline(always)]
    fn set_due_timer(&mut self) {
        if std::mem::take(&mut self.sets_timer) {
            self.tcp_set_xmit_timer(false);
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
    pub(crate) fn poll_new<P: Plan>(&mut self) -> Option<Transmit> {
        debug_assert!(self.rexmit == Rexmit::None && !self.is_idle());
        if P::COMMON.is_none() && self.waits_for_pacing() {
            return None;
        }
        self.transmit_written::<P>()
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

    /// Whether nothing is special.
    #[inline(always)]
    pub(crate) fn is_common(&self) -> bool {
        self.special == 0
    }

    /// The plan of a common sender: that of its era.
    #[inline(always)]
    pub(crate) fn plan(&self) -> Option<Era> {
        self.is_common().then_some(self.era)
    }

    /// A slow path may have changed what an ACK or a burst relies on.
    pub(super) fn forget_plan(&mut self) {
        self.special = SLOW;
    }

    /// Looks anew whether an ACK that only advances is predicted.
    #[inline(never)]
    pub(super) fn find_plan(&mut self) -> bool {
        self.special = self.specials();
        self.rexmit = match self.special & SLOW {
            0 => Rexmit::None,
            _ => self.rexmit,
        };
        self.special & SLOW == 0
    }

    /// What is special about the sender now.
    pub(super) fn specials(&self) -> u8 {
        let quiet = self.host.is_open() && !self.tlp.is_out() && !self.sack_frto.is_active();
        let slow = !quiet || !self.board.is_clean();
        let limited = !self.limits.are_none();
        let rare = self.host.is_asked() || self.pacer.holds(&self.host);
        let now = SLOW * u8::from(slow) + LIMITED * u8::from(limited) + RARE * u8::from(rare);
        self.lasting | now
    }
}
