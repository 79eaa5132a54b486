//! What a sender does where its host holds packets back: TCP small queues, and an interface that refuses.

use super::plan::Plan;
use super::sender::Sender;
use super::transmit::Transmit;
use ackclock_host::{CaEvent, CaState, Era};
use ackclock_net::buffer::Buffer;

impl Sender {
    /// Whether a packet waits because enough of the connection is in the interface's queue, or that has no
    /// room: then it is as if it had not been sent, and the window is reduced (`__tcp_transmit_skb`).
    #[cold]
    pub(super) fn is_throttled(&mut self, segments: u32, factor: u32) -> bool {
        let una = self.board.una();
        let Some(queue) = &mut self.small_queue else {
            return false;
        };
        if queue.holds(&self.host, una, segments, factor) {
            return true;
        }
        let (refused, sent) = (queue.refuses(segments), queue.entered_segments());
        if refused {
            if factor > 0 {
                self.totals.retransmitted(segments);
                self.undo.on_retransmit(self.host.now_ns(), segments);
            }
            if self.host.in_flight() == 0 {
                self.host.event(CaEvent::TxStart);
            }
            self.forget_plan();
            let begins = self.state() < CaState::Cwr;
            self.tcp_enter_cwr();
            if begins {
                // `tcp_write_xmit` counts them when it ends.
                self.reduction.on_sent(sent);
            }
            self.tcp_check_probe_timer();
            let stamp_ns = self.tp().tcp_wstamp_ns.max(self.host.now_ns());
            self.host.set_next_send_ns(stamp_ns);
            self.pacer.pace_all();
            self.queue.end_first_write_at(self.board.nxt());
        }
        refused
    }

    /// What room the interface has for packets of so many bytes.
    #[cold]
    pub(crate) fn tell_room(&mut self, room: Buffer, packet_bytes: u32) {
        if let Some(queue) = &mut self.small_queue {
            queue.tell_room(room, packet_bytes);
        }
    }

    pub(crate) fn has_small_queue(&self) -> bool {
        self.small_queue.is_some()
    }

    /// Whether a segment has not left the host yet: it is not sent again.
    #[cold]
    pub(super) fn is_in_host_queue(&mut self, segment: u64) -> bool {
        (self.small_queue.as_mut()).is_some_and(|queue| queue.has(segment))
    }

    /// Whether a packet waits, until after the ACKs, as this softirq has let enough of its flow go.
    #[inline(always)]
    pub(super) fn waits_for_softirq<P: Plan>(&mut self, segments: u32, factor: u32) -> bool {
        let has_sent = self.tp().tcp_wstamp_ns == self.host.now_ns();
        self.softirq_may_hold::<P>() && has_sent && self.is_held_by_softirq(segments, factor)
    }

    /// Else what waits leaves in the same order.
    #[inline(always)]
    pub(super) fn softirq_may_hold<P: Plan>(&self) -> bool {
        let lost = !P::PREDICTED && self.tp().lost_out > self.tp().retrans_out;
        self.in_softirq.acks_follow || lost
    }

    #[cold]
    fn is_held_by_softirq(&mut self, segments: u32, factor: u32) -> bool {
        let waits = self.era == Era::Linux6
            && self.small_queue.is_none()
            && self.in_softirq.holds(&self.host, segments, factor);
        if waits {
            self.pacer.wake_for_queue(self.host.now_ns());
        }
        waits
    }

    /// Whether more ACKs of this instant follow.
    #[inline(always)]
    pub(crate) fn acks_follow(&mut self, follow: bool) {
        self.in_softirq.acks_follow = follow;
    }

    /// A burst leaves for the host's interface. Returns whether that has a queue.
    #[inline]
    pub(crate) fn queued(&mut self, burst: Transmit) -> bool {
        if let Some(queue) = &mut self.small_queue {
            queue.queued(burst, burst.range().end == self.board.nxt());
        }
        self.small_queue.is_some()
    }

    /// A burst was dropped in that queue.
    #[cold]
    pub(crate) fn dropped(&mut self, segments: u32) {
        if let Some(queue) = &mut self.small_queue {
            queue.dropped(segments);
        }
    }

    /// A segment has left the interface (`tcp_wfree`): more may leave, after an ACK of this instant
    /// (`tcp_tsq_write`).
    #[cold]
    pub(crate) fn left(&mut self, now_ns: u64) {
        if self.small_queue.as_mut().is_some_and(|queue| queue.left()) {
            self.pacer.wake_for_queue(now_ns);
        }
    }
}
