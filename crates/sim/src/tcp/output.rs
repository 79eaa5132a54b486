//! What a sender sends and when (`tcp_write_xmit`, `tcp_xmit_retransmit_queue`,
//! `tcp_send_loss_probe`).
//!
//! How to drive it: after each call to the sender, call [`poll_transmit`](Sender::poll_transmit)
//! until it returns `None`. It sends a pending probe first, then lost segments, then new data.

use super::bursts::{Bursts, Defers};
use super::limits::Limits;
use super::pacing::SK_PACING_NONE;
use super::plan::{Any, Linux2_6, Linux6, Plan, LIMITED, SLOW};
use super::sender::{Rexmit, Sender};
use super::small_queue::RESOURCE_PROBE_US;
use super::timers::Timer;
use super::transmit::Transmit;
use super::write_queue::PACKET_OVERHEAD_BYTES;
use ackclock_host::{CaEvent, Era};

impl Sender {
    /// The next burst to send now; `None` if there is nothing more to send.
    #[inline(always)]
    pub fn poll_transmit(&mut self, now_ns: u64) -> Option<Transmit> {
        debug_assert_eq!(now_ns, self.host.now_ns());
        match self.plan().filter(|_| !self.is_idle()) {
            Some(Era::Linux6) => return self.poll_new::<Linux6>(),
            Some(Era::Linux2_6) => return self.poll_new::<Linux2_6>(),
            None => (),
        }
        if self.rexmit >= Rexmit::Head {
            return self.transmit_for_timer();
        }
        if self.waits_for_pacing() {
            return None;
        }
        if self.has_lost_to_send() {
            if let Some(burst) = self.retransmit_lost() {
                return Some(burst);
            }
        }
        let burst = self.transmit_written::<Any>();
        if burst.is_none() && self.rexmit == Rexmit::New && self.board.nxt() <= self.high_seq {
            // F-RTO had no new data to send: use conventional recovery.
            self.frto.give_up();
            self.rexmit = Rexmit::Lost;
            return self.retransmit_lost();
        }
        burst
    }

    /// A burst of the first packet of the write queue, while the application writes (`tcp_push_one`).
    #[cold]
    pub(crate) fn push_one(&mut self) -> Option<Transmit> {
        if self.waits_for_pacing() {
            return None;
        }
        let burst = self.transmit_new::<Any, true>();
        if burst.is_some() {
            self.nothing_to_send();
        }
        burst
    }

    /// What a timer sends whatever the window allows.
    #[cold]
    fn transmit_for_timer(&mut self) -> Option<Transmit> {
        match std::mem::replace(&mut self.rexmit, Rexmit::None) {
            Rexmit::Head => {
                let (now_ns, is_first) = (self.host.now_ns(), self.host.in_flight() == 0);
                if self.is_in_host_queue(self.board.una()) {
                    return None;
                }
                let head = self.board.retransmit_head(self.host.counts(), now_ns);
                if is_first {
                    self.host.event(CaEvent::TxStart);
                }
                Some(self.retransmitted(head))
            }
            Rexmit::Reordering => {
                if self.pacer.holds(&self.host) {
                    self.pacer.wake(&self.host);
                    return None;
                }
                let burst = self.retransmit_lost();
                if burst.is_some() {
                    self.rexmit = Rexmit::Reordering;
                }
                burst
            }
            Rexmit::Wakeup => {
                self.rexmit = Rexmit::Probed;
                if !self.is_throttled(1, 0) {
                    let segment = self.send::<Any>(1, 0);
                    self.validation.forget_turn();
                    self.nothing_to_send();
                    return Some(segment);
                }
                let wait = self.host.jiffies_of_us(RESOURCE_PROBE_US);
                self.timers.arm_for(Timer::WindowProbe, &self.host, wait);
                None
            }
            Rexmit::Probe => {
                let probe = self.send_probe();
                if probe.is_some() {
                    self.rexmit = Rexmit::Probed;
                }
                probe
            }
            _ => None,
        }
    }

    #[inline]
    fn has_lost_to_send(&self) -> bool {
        self.rexmit == Rexmit::Lost && self.tp().lost_out > 0
    }

    /// `tcp_pacing_check`.
    #[inline(always)]
    pub(super) fn waits_for_pacing(&mut self) -> bool {
        let waits = self.pacer.holds(&self.host);
        if waits {
            self.wait_for_pacing();
        }
        waits
    }

    /// Sets a timer if pacing holds packets back.
    #[inline(never)]
    fn wait_for_pacing(&mut self) {
        if self.limits.refills() {
            self.write_all();
        }
        self.limits.close(&self.board);
        let waits = self.limits.available(&self.board) > 0 || self.has_lost_to_send();
        if waits && !self.host.cwnd_is_full() {
            self.pacer.wake(&self.host);
        }
        self.nothing_to_send();
    }

    fn retransmit_lost(&mut self) -> Option<Transmit> {
        let cwnd = self.tp().snd_cwnd;
        let quota = cwnd.saturating_sub(self.host.in_flight());
        if quota == 0 {
            return None;
        }
        let limit = match self.bursts {
            Bursts::Written => 1,
            bursts => quota.min(bursts.limit(&mut self.host, self.rtt.min_us())),
        };
        if self.small_queue.is_some() && self.is_throttled(1, 1)
            || self.waits_for_softirq::<Any>(1, 1)
        {
            return None;
        }
        if self.small_queue.is_some() && self.is_in_host_queue(self.board.next_lost()?) {
            return None;
        }
        let now_ns = self.host.now_ns();
        let burst = self.board.retransmit(self.host.counts(), now_ns, limit)?;
        if quota == cwnd {
            self.host.event(CaEvent::TxStart);
        }
        let burst = self.retransmitted(burst);
        if burst.first == self.board.una() && !self.timers.awaits_reordering() {
            self.tcp_rearm_rto();
        }
        Some(burst)
    }

    /// Notes that segments were sent again.
    pub(super) fn retransmitted(&mut self, mut burst: Transmit) -> Transmit {
        if self.limits.has_loose_fin() {
            self.tcp_retrans_try_collapse(burst);
        }
        self.host.note_sent();
        self.in_softirq.sent(burst.segments);
        burst.pushed |= self.pushes_bursts && burst.segments > 1;
        burst.marks = self.host.marks_of_old_data();
        self.rate
            .on_sent(&mut self.host, self.board.una(), burst, false);
        self.undo.on_retransmit(self.host.now_ns(), burst.segments);
        self.totals.retransmitted(burst.segments);
        let data = self.data_of(burst);
        self.note_sent(data);
        if self.host.in_cwnd_reduction() {
            self.reduction.on_sent(burst.segments);
        }
        burst
    }

    /// Sends what is written. Where nothing more of it can leave and it is all, the application closes.
    #[inline(always)]
    pub(super) fn transmit_written<P: Plan>(&mut self) -> Option<Transmit> {
        let burst = self.transmit_new::<P, false>();
        if burst.is_none() && self.is_limited::<P>() && self.limits.close(&self.board) {
            return self.transmit_closed();
        }
        burst
    }

    #[cold]
    #[inline(never)]
    fn transmit_closed(&mut self) -> Option<Transmit> {
        self.transmit_new::<Any, false>()
    }

    /// `PUSHED`: no burst waits for a larger one.
    #[inline(always)]
    pub(super) fn transmit_new<P: Plan, const PUSHED: bool>(&mut self) -> Option<Transmit> {
        if self.is_limited::<P>() {
            self.note_ack_and_write(PUSHED);
        } else if P::COMMON.is_none() && self.special == LIMITED {
            self.forget_plan();
        }
        let in_flight = match P::PREDICTED {
            true => self.tp().packets_out,
            false => self.host.in_flight(),
        };
        debug_assert_eq!(in_flight, self.host.in_flight());
        if in_flight >= self.tp().snd_cwnd {
            if P::COMMON.is_none() && self.ends_beyond_cwnd() {
                return Some(self.send::<P>(1, in_flight));
            }
            match P::COMMON {
                Some(_) => self.end_of_turn::<P>(false),
                None => self.nothing_to_send(),
            }
            return None;
        }
        let (mut unsent, mut room, mut rest) = (Limits::NONE, Limits::NONE, 0);
        if self.is_limited::<P>() {
            (unsent, rest) = (self.limits.unsent(&self.board), self.limits.edge_bytes);
            room = self.limits.room(&self.board);
            if unsent == 0 || room == 0 {
                if unsent > 0 {
                    if !matches!(self.bursts, Bursts::Window | Bursts::Written) {
                        self.fill_head(unsent);
                    }
                    self.tcp_check_probe_timer();
                }
                self.nothing_to_send();
                return self.refill::<P, PUSHED>();
            }
        }
        if !P::PREDICTED {
            self.validation.restart_after_idle(&mut self.host);
        }
        let cwnd = self.tp().snd_cwnd;
        let quota = cwnd - in_flight;
        let bursts = P::COMMON.map_or(self.bursts, |(_, bursts)| bursts);
        if matches!(bursts, Bursts::Window | Bursts::Written) {
            let mut segments = match self.is_limited::<P>() {
                false => quota,
                true => unsent.min(room).min(quota.into()) as u32,
            };
            if bursts == Bursts::Written {
                let most = self.queue.until_push(self.board.nxt());
                segments = most.min(segments.into()) as u32;
            }
            if !P::PREDICTED && self.small_queue.is_some() {
                segments = 1;
                if self.is_throttled(segments, 0) {
                    self.nothing_to_send();
                    return self.refill::<P, PUSHED>();
                }
            }
            if bursts == Bursts::Written && self.softirq_may_hold::<P>() {
                segments = 1;
                if self.waits_for_softirq::<P>(segments, 0) {
                    self.forget_plan();
                    self.nothing_to_send();
                    return None;
                }
            }
            return Some(self.send::<P>(segments, in_flight));
        }
        let burst = bursts.limit(&mut self.host, self.rtt.min_us());
        let wanted = u64::from(quota.min(bursts.share(cwnd)).min(burst));
        let nxt = self.board.nxt();
        let head = self.queue.head(nxt, unsent, wanted);
        let allowed = (u64::from(quota), room, rest);
        let head_ns = self.board.head_sent_ns();
        let defers = bursts.defers(&self.host, allowed, burst.into(), &head, head_ns);
        // A FIN in the packet: the application writes no more.
        let ends = nxt + head.segments == self.limits.fin_end();
        if PUSHED || defers == Defers::No || (defers == Defers::ForData && ends) {
            let segments = wanted.min(head.segments).min(room) as u32;
            if !P::PREDICTED && self.small_queue.is_some() && self.is_throttled(segments, 0) {
                self.queue.cut(nxt + u64::from(segments));
                self.nothing_to_send();
                return self.refill::<P, PUSHED>();
            }
            if self.waits_for_softirq::<P>(segments, 0) {
                self.queue.cut(nxt + u64::from(segments));
                self.forget_plan();
                self.nothing_to_send();
                return None;
            }
            return Some(self.send::<P>(segments, in_flight));
        }
        self.host.note_deferred();
        self.end_of_turn::<P>(defers == Defers::ForCwnd);
        if !self.is_limited::<P>() {
            return None;
        }
        self.refill::<P, PUSHED>()
    }

    /// `tcp_cwnd_test` of Linux 2.6 has room for the last packet, which has the FIN.
    #[cold]
    fn ends_beyond_cwnd(&self) -> bool {
        let limits = &self.limits;
        self.era == Era::Linux2_6
            && limits.available(&self.board) == 1
            && self.board.nxt() + 1 == limits.fin_end()
    }

    /// Whether more than cwnd may limit the flow.
    #[inline(always)]
    fn is_limited<P: Plan>(&self) -> bool {
        P::COMMON.is_none() && !self.limits.are_none()
    }

    /// The ACK that has come may be the first. The application writes, unless it first lets leave what is
    /// written.
    #[inline(never)]
    fn note_ack_and_write(&mut self, pushed: bool) {
        if !self.limits.has_ack() {
            let sacked = u32::from(self.loss.has_sack()) * self.tp().sacked_out;
            self.limits.note_first_ack(&self.board, sacked);
        }
        if !self.limits.refills() || !self.limits.has_ack() {
            self.write_all();
        } else if self.limits.first_write().is_some() && self.validation.has_sent() {
            self.tcp_should_expand_sndbuf();
        } else if !pushed {
            self.queue.refill_on(self.board.nxt());
        }
    }

    /// Nothing of what is written can leave: the application fills the send buffer again.
    #[cold]
    #[inline(never)]
    fn refill<P: Plan, const PUSHED: bool>(&mut self) -> Option<Transmit> {
        let written = self.limits.written();
        if !self.limits.refills() {
            return None;
        }
        let pushes_one = self.fill_buffer();
        if self.limits.written() == written {
            return None;
        }
        self.in_softirq.writes(self.host.now_ns());
        match pushes_one {
            true => self.transmit_new::<P, true>(),
            false => self.transmit_new::<P, PUSHED>(),
        }
    }

    /// The application writes what the send buffer has room for. Returns whether a burst of the head leaves then.
    #[inline]
    fn fill_buffer(&mut self) -> bool {
        if let Some(end) = self.limits.first_write() {
            self.tcp_check_space(end);
        }
        let written = self.limits.written();
        if self.limits.write(&self.board) {
            self.host.check_app_limited();
        }
        let refills = self.limits.refills() && written > 0 && self.queue.knows_packets();
        refills && self.refill_queue(written)
    }

    /// The same where no burst can leave.
    fn write_all(&mut self) {
        if self.fill_buffer() {
            self.queue.refill_on(self.board.nxt());
        }
    }

    /// What the application has now written fills the last packet of the write queue, and new ones.
    #[cold]
    fn refill_queue(&mut self, written: u64) -> bool {
        let end = self.limits.written();
        let writes = self.limits.first_write().is_none() && end > written;
        writes && self.queue.refill(self.board.nxt(), [written, end])
    }

    /// After each packet the send buffer grows if the window has room.
    #[cold]
    fn tcp_should_expand_sndbuf(&mut self) {
        let split = self.bursts == Bursts::Written && self.validation.has_sent_several();
        if split || !self.host.cwnd_is_full() {
            let least = self.host.sndbuf_bytes();
            self.limits.sndbuf_bytes = self.limits.sndbuf_bytes.max(least);
        }
    }

    /// What leaves of an empty write queue while the application fills it (`tcp_push_one`).
    fn leaves_while_writing(&mut self) -> u64 {
        let cwnd = self.tp().snd_cwnd;
        let quota = cwnd.saturating_sub(self.host.in_flight());
        let leaves = match self.tp().inet_conn.sk.sk_pacing_status {
            _ if self.pacer.holds(&self.host) => 0,
            SK_PACING_NONE => quota,
            _ => {
                let burst = self.bursts.limit(&mut self.host, self.rtt.min_us());
                burst.min(self.bursts.share(cwnd)).min(quota)
            }
        };
        u64::from(leaves).min(self.limits.room(&self.board))
    }

    /// `tcp_check_space`: an application that has found no room up to `end` writes again once a third of
    /// the send buffer is free (`sk_stream_is_writeable`).
    #[cold]
    fn tcp_check_space(&mut self, end: u64) {
        let Some((_, segments)) = self.queue.first_write().filter(|_| self.limits.has_ack()) else {
            return;
        };
        self.tcp_should_expand_sndbuf();
        let (una, nxt) = (self.board.una(), self.board.nxt());
        let data_bytes = (end - una) * u64::from(self.tp().mss_cache);
        let sndbuf_bytes = self.limits.sndbuf_bytes;
        let is_writeable = |queued: u64| queued + queued / 2 <= sndbuf_bytes;
        // Few ACKs need to count the packets.
        if is_writeable(data_bytes) {
            let sent = match self.bursts {
                Bursts::Written => nxt - una,
                _ => self.board.packets(),
            };
            let packets = sent + (end - nxt).div_ceil(segments);
            if is_writeable(data_bytes + packets * PACKET_OVERHEAD_BYTES) {
                let leaves = match nxt < end {
                    true => 0,
                    false => self.leaves_while_writing(),
                };
                self.queue.write_again(nxt + leaves);
                self.limits.write_again();
                self.limits.note(&self.board, &self.host);
            }
        }
    }

    /// `tcp_grow_skb` comes before `tcp_snd_wnd_test`: a packet for which the receive window has no room
    /// is filled up, but none of one segment.
    #[inline(never)]
    fn fill_head(&mut self, unsent: u64) {
        let cwnd = self.tp().snd_cwnd;
        let quota = (cwnd - self.host.in_flight()).min(self.bursts.share(cwnd));
        let burst = self.bursts.limit(&mut self.host, self.rtt.min_us());
        let wanted = u64::from(quota.min(burst));
        self.queue.head(self.board.nxt(), unsent, wanted);
    }

    /// Sends new data beside the `in_flight` packets.
    #[inline(always)]
    pub(super) fn send<P: Plan>(&mut self, segments: u32, in_flight: u32) -> Transmit {
        let first = !P::PREDICTED && self.is_idle();
        let end = self.board.nxt() + u64::from(segments);
        if P::COMMON.is_none() && end > self.limits.offered() {
            return self.send_fin();
        }
        if !P::PREDICTED && in_flight == 0 {
            self.forget_plan();
            self.host.event(CaEvent::TxStart);
        }
        self.host.note_sent();
        let now_ns = self.host.now_ns();
        let at_end = P::COMMON.is_none() && end == self.limits.offered();
        let pushed = self.queue.pushes(end) || at_end;
        let mut burst = self
            .board
            .send(self.host.counts(), now_ns, segments, pushed);
        burst.pushed |= self.pushes_bursts & (segments > 1);
        self.validation.on_sent(segments);
        self.in_softirq.sent(segments);
        if P::COMMON.is_some() {
            self.totals.sent(segments);
            self.host.set_next_send_ns(now_ns);
        } else {
            burst.marks = self.host.marks_of_new_data();
            self.rate
                .on_sent(&mut self.host, self.board.una(), burst, first);
            self.note_sent(segments);
        }
        if !P::PREDICTED && self.host.in_cwnd_reduction() {
            self.reduction.on_sent(segments);
        }
        // `tcp_event_new_data_sent`, `tcp_schedule_loss_probe`
        if !self.sets_timer
            && !self.tcp_schedule_loss_probe(false)
            && (first || self.timers.awaits_probe())
        {
            self.tcp_rearm_rto();
        }
        burst
    }

    /// The FIN leaves without data: it is in flight, and is no data for pacing, for counts of packets, and for
    /// the algorithm (`__tcp_transmit_skb`).
    #[cold]
    #[inline(never)]
    fn send_fin(&mut self) -> Transmit {
        let (first, now_ns) = (self.is_idle(), self.host.now_ns());
        let mut fin = self.board.send(self.host.counts(), now_ns, 1, false);
        fin.marks = self.host.marks_of_old_data();
        self.validation.on_sent(1);
        self.rate
            .on_sent(&mut self.host, self.board.una(), fin, first);
        let data = self.data_of(fin);
        self.note_sent(data);
        if self.host.in_cwnd_reduction() {
            self.reduction.on_sent(1);
        }
        if !self.tcp_schedule_loss_probe(false) && (first || self.timers.awaits_probe()) {
            self.tcp_rearm_rto();
        }
        fin
    }

    /// A packet of the last data, and no full one, takes the FIN in if it is sent again.
    #[cold]
    fn tcp_retrans_try_collapse(&mut self, burst: Transmit) {
        let is_last = burst.range().end + 1 == self.board.nxt() && burst.segments == 1;
        let is_new = self.era == Era::Linux6;
        if is_last && is_new {
            let sack = self.loss.has_sack();
            if self.board.collapse_last(self.host.counts(), sack) {
                self.limits.collapse_fin();
                // An ACK of the FIN that left alone is beyond `snd_nxt`: no header prediction.
                self.lasting |= SLOW;
                self.forget_plan();
            }
        }
    }

    /// Segments of a burst that have data: not its FIN.
    #[inline]
    fn data_of(&mut self, burst: Transmit) -> u32 {
        let fins = u32::from(burst.range().end > self.limits.offered());
        self.totals.fins += u64::from(fins);
        burst.segments - fins
    }

    #[inline]
    fn note_sent(&mut self, segments: u32) {
        self.totals.sent(segments);
        let sent_packets = self.totals.sent_packets();
        if self.pacer.on_sent(&mut self.host, segments, sent_packets) {
            self.timers.pace();
        }
    }

    /// New segments of a probe: a burst, if the window has room for it, and one at least
    /// (`tcp_write_xmit` with `push_one` of 2).
    fn probe_segments(&mut self) -> u32 {
        let tp = self.tp();
        let quota = tp.snd_cwnd.saturating_sub(self.host.in_flight());
        let quota = quota.min(self.bursts.share(tp.snd_cwnd));
        let wanted = match self.bursts {
            Bursts::Window | Bursts::Written => 1,
            _ => quota.min(self.bursts.limit(&mut self.host, self.rtt.min_us())),
        };
        let (nxt, unsent) = (self.board.nxt(), self.limits.unsent(&self.board));
        let wanted = u64::from(wanted.max(1)).min(self.limits.room(&self.board));
        let head = self.queue.head(nxt, unsent, wanted);
        wanted.min(head.segments) as u32
    }

    /// Sends a tail loss probe: new data if there is any, otherwise the last segment again.
    fn send_probe(&mut self) -> Option<Transmit> {
        let new_data = self.limits.available(&self.board) > 0;
        let is_out = self.tp().packets_out == 0 || self.tlp.is_out();
        let waits = !is_out
            && match new_data {
                true => self.waits_for_pacing(),
                false => self.is_in_host_queue(self.board.nxt() - 1),
            };
        if is_out || waits {
            self.tcp_rearm_rto();
            return None;
        }
        let probe = if new_data {
            let segments = self.probe_segments();
            let probe = self.send::<Any>(segments, self.host.in_flight());
            self.nothing_to_send();
            probe
        } else {
            let now_ns = self.host.now_ns();
            let probe = self.board.retransmit_last(self.host.counts(), now_ns);
            let Some(mut probe) = probe else {
                self.tcp_rearm_rto();
                return None;
            };
            probe.marks = self.host.marks_of_old_data();
            self.host.note_sent();
            self.host.note_probe(self.rate.was_app_limited(probe.first));
            self.rate
                .on_sent(&mut self.host, self.board.una(), probe, false);
            let data = self.data_of(probe);
            self.totals.sent(data);
            self.totals.retransmitted(1);
            probe
        };
        self.tlp.on_sent(!new_data, self.board.nxt());
        self.timers.disarm();
        self.tcp_rearm_rto();
        Some(probe)
    }

    /// Ends a turn: nothing more can be sent.
    #[inline(never)]
    pub(super) fn nothing_to_send(&mut self) {
        if !self.limits.are_none() {
            if self.limits.refills() && self.host.cwnd_is_full() {
                self.write_all();
            }
            self.limits.note(&self.board, &self.host);
        }
        self.end_of_turn::<Any>(false);
    }

    /// `blocked`: data waits for a larger window.
    #[inline(always)]
    pub(super) fn end_of_turn<P: Plan>(&mut self, blocked: bool) {
        self.host.publish_nxt(self.board.nxt());
        if std::mem::take(&mut self.sets_timer) {
            self.set_xmit_timer(self.validation.has_sent());
        }
        // `tcp_push_pending_frames`: where no data waits, nothing judges the window.
        let had_data = !self.is_limited::<P>()
            || self.validation.has_sent()
            || self.limits.unsent(&self.board) > 0;
        if !had_data {
            return;
        }
        self.validation
            .end_of_turn(&mut self.host, &self.board, blocked);
    }
}
