//! What a sender sends and when (`tcp_write_xmit`): retransmissions, new data, bursts. It also
//! judges whether the window limited the sender.

use super::profile::REORDERING;
use super::sender::{in_flight, Rexmit, Sender, GSO_MAX_BYTES, MAX_CWND};
use super::Transmit;
use ackclock_host::{CaEvent, CaState, Era};

/// `sysctl_tcp_pacing_ss_ratio`, `sysctl_tcp_pacing_ca_ratio`, percent.
const PACING_SS_PERCENT: u64 = 200;
const PACING_CA_PERCENT: u64 = 120;
/// `tcp_tso_rtt_log`: paths shorter than 2⁹ µs get larger bursts.
const TSO_RTT_LOG: u32 = 9;
/// `sysctl_tcp_tso_win_divisor`: Linux 2.6 waits until 1/3 of the window is free.
const TSO_WIN_DIVISOR: u32 = 3;
/// How many packets at the start of a connection leave without pacing.
const UNPACED_PACKETS: u64 = 10;
/// A burst waits only if the last burst left within this time, and the next ACK is due within it.
const TSO_DEFER_NS: u64 = 1_000_000;

/// How long the receive window or the send buffer limited a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limited {
    by: Option<Limit>,
    since_ns: u64,
    pub(super) receive_window_ns: u64,
    pub(super) send_buffer_ns: u64,
}

impl Limited {
    pub(super) fn add_until(&mut self, now_ns: u64) {
        let for_ns = now_ns - self.since_ns;
        self.since_ns = now_ns;
        match self.by {
            Some(Limit::ReceiveWindow) => self.receive_window_ns += for_ns,
            Some(Limit::SendBuffer) => self.send_buffer_ns += for_ns,
            None => (),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    ReceiveWindow,
    SendBuffer,
}

impl Sender {
    /// `tcp_update_pacing_rate`. Bursts and HyStart use the rate even without pacing.
    #[inline]
    pub(super) fn update_pacing_rate(&mut self) {
        if self.profile.era == Era::Linux2_6 && !self.profile.pacing {
            return;
        }
        let tp = self.cc.tp_mut();
        let slow_start = tp.snd_cwnd < tp.snd_ssthresh / 2;
        let percent = if slow_start {
            PACING_SS_PERCENT
        } else {
            PACING_CA_PERCENT
        };
        let window = u64::from(tp.snd_cwnd.max(tp.packets_out).min(MAX_CWND));
        let rate = u64::from(tp.mss_cache) * ((1_000_000 / 100) << 3) * percent * window;
        tp.inet_conn.sk.sk_pacing_rate = rate / u64::from(tp.srtt_us.max(1));
    }

    /// Segments in a burst (`tcp_tso_autosize`). Without TSO the window is the only limit.
    #[inline]
    fn burst_segments(&mut self) -> u32 {
        if !self.profile.tso {
            return if self.profile.pacing { 1 } else { u32::MAX };
        }
        if self.profile.era == Era::Linux2_6 {
            return (GSO_MAX_BYTES as u32 / self.tp().mss_cache).max(1);
        }
        let min_segments = self.cc.min_tso_segs();
        let tp = self.cc.tp();
        let mut bytes = tp.inet_conn.sk.sk_pacing_rate >> 10;
        let halvings = self.min_rtt.get() >> TSO_RTT_LOG;
        if halvings < 32 {
            bytes += GSO_MAX_BYTES >> halvings;
        }
        let mss = tp.mss_cache.max(1);
        ((bytes.min(GSO_MAX_BYTES) as u32) / mss).max(min_segments)
    }

    /// The next burst to send now; `None` if there is nothing more to send.
    #[inline]
    pub fn poll_transmit(&mut self, now_ns: u64) -> Option<Transmit> {
        debug_assert_eq!(now_ns, self.now_ns);
        if self.probe_pending {
            self.probe_pending = false;
            if let Some(probe) = self.send_probe() {
                return Some(probe);
            }
        }
        if self.waits_for_pacing() {
            return None;
        }
        if self.rexmit == Rexmit::Lost && self.tp().lost_out > 0 {
            if let Some(burst) = self.retransmit_lost() {
                return Some(burst);
            }
        }
        let burst = self.transmit_new();
        if burst.is_none() && self.rexmit == Rexmit::New && self.board.nxt() <= self.high_seq {
            // F-RTO had no new data to send: use conventional recovery.
            self.frto = false;
            self.rexmit = Rexmit::Lost;
            return self.retransmit_lost();
        }
        burst
    }

    pub(super) fn retransmit_lost(&mut self) -> Option<Transmit> {
        let tp = self.cc.tp();
        let quota = tp.snd_cwnd.saturating_sub(in_flight(tp));
        if quota == 0 {
            return None;
        }
        let idle = quota == tp.snd_cwnd;
        let limit = quota.min(self.burst_segments());
        let burst = self
            .board
            .retransmit(self.cc.tp_mut(), self.now_ns, limit)?;
        if idle {
            self.cc.cwnd_event(CaEvent::TxStart);
        }
        self.note_retransmission(burst.segments);
        if burst.first == self.board.una() {
            self.rearm_rto();
        }
        Some(burst)
    }

    pub(super) fn note_retransmission(&mut self, segments: u32) {
        self.last_send_ns = self.now_ns;
        self.cc.tp_mut().lsndtime = self.jiffies();
        self.retrans_stamp_ns.get_or_insert(self.now_ns);
        self.undo_retrans = self.undo_retrans.max(0) + i64::from(segments);
        self.sent_packets += u64::from(segments);
        self.retransmitted_packets += u64::from(segments);
        self.pace(segments);
        if self.in_cwnd_reduction() {
            self.prr_out += segments;
        }
    }

    /// `tcp_pacing_check`. Sets a timer if pacing holds packets back.
    #[inline]
    fn waits_for_pacing(&mut self) -> bool {
        if self.paced_until_ns <= self.now_ns {
            return false;
        }
        let tp = self.tp();
        let ready = self.available() > 0 || (self.rexmit == Rexmit::Lost && tp.lost_out > 0);
        if ready && in_flight(tp) < tp.snd_cwnd {
            self.pacing_at_ns = self.paced_until_ns;
        }
        self.note_limit();
        self.end_of_turn(false);
        true
    }

    /// `tcp_update_skb_after_send`: each burst takes its time at the pacing rate. A late burst
    /// takes up to half of that time less. The first ten packets leave at once.
    #[inline]
    fn pace(&mut self, segments: u32) {
        let tp = self.cc.tp();
        let rate = tp.inet_conn.sk.sk_pacing_rate;
        if !self.profile.pacing || rate == 0 || self.sent_packets <= UNPACED_PACKETS {
            return;
        }
        let bytes = u64::from(segments) * u64::from(tp.mss_cache);
        let lasts_ns = bytes * 1_000_000_000 / rate;
        let late_ns = self.now_ns.saturating_sub(self.paced_until_ns);
        self.paced_until_ns =
            self.paced_until_ns.max(self.now_ns) + lasts_ns - late_ns.min(lasts_ns / 2);
    }

    /// New segments that the application has written and that fit the receive window and the send
    /// buffer.
    #[inline]
    pub(super) fn available(&self) -> u64 {
        let room = self.limits.receive_window.min(self.limits.send_buffer);
        let end = self.board.una().saturating_add(room);
        self.limits
            .segments
            .min(end)
            .saturating_sub(self.board.nxt())
    }

    /// `tcp_write_xmit`.
    #[inline]
    fn transmit_new(&mut self) -> Option<Transmit> {
        let available = self.available();
        if available == 0 {
            self.note_limit();
            self.end_of_turn(false);
            return None;
        }
        self.restart_after_idle();
        let tp = self.cc.tp();
        let in_flight = in_flight(tp);
        if in_flight >= tp.snd_cwnd {
            self.note_limit();
            self.end_of_turn(true);
            return None;
        }
        let quota = tp.snd_cwnd - in_flight;
        let burst = self.burst_segments();
        if u64::from(quota.min(burst)) <= available && self.defers(quota, burst) {
            self.end_of_turn(true);
            return None;
        }
        let segments = u64::from(quota.min(burst)).min(available) as u32;
        Some(self.send(segments))
    }

    #[inline]
    pub(super) fn send(&mut self, segments: u32) -> Transmit {
        let jiffies = self.jiffies();
        let tp = self.cc.tp();
        let (idle, first) = (in_flight(tp) == 0, tp.packets_out == 0);
        if idle {
            self.cc.cwnd_event(CaEvent::TxStart);
        }
        let tp = self.cc.tp_mut();
        tp.lsndtime = jiffies;
        let burst = self.board.send(tp, self.now_ns, segments);
        if self.in_cwnd_reduction() {
            self.prr_out += segments;
        }
        self.last_send_ns = self.now_ns;
        self.sent_in_this_turn += segments;
        self.sent_packets += u64::from(segments);
        self.pace(segments);
        if first {
            self.rearm_rto();
        }
        self.schedule_loss_probe(false);
        burst
    }

    /// `tcp_tso_should_defer`: whether to wait for the next ACK, which will allow a full burst.
    #[inline]
    fn defers(&self, quota: u32, burst: u32) -> bool {
        let tp = self.tp();
        if self.profile.era == Era::Linux2_6 {
            // `tcp_tso_win_divisor`, without the limit of two ticks that came with 2.6.19.
            return self.profile.tso
                && tp.inet_conn.icsk_ca_state == CaState::Open as u8
                && quota < burst
                && u64::from(TSO_WIN_DIVISOR * quota)
                    < u64::from(tp.snd_cwnd).min(self.limits.receive_window);
        }
        if quota >= burst
            || !self.profile.tso
            || tp.inet_conn.icsk_ca_state >= CaState::Recovery as u8
            || self.now_ns - self.last_send_ns > TSO_DEFER_NS
            || 3 * u64::from(quota) >= u64::from(tp.snd_cwnd)
            || tp.packets_out == 0
        {
            return false;
        }
        // Do not wait either if the next ACK is more than min(srtt/2, 1 ms) away.
        let srtt_ns = u64::from(tp.srtt_us >> 3) * 1_000;
        let next_ack_ns = self.board.sent_ns(self.board.una()) + srtt_ns;
        next_ack_ns <= self.now_ns + (srtt_ns / 2).min(TSO_DEFER_NS)
    }

    /// `tcp_cwnd_validate`, after everything that could be sent has been sent.
    #[inline]
    fn end_of_turn(&mut self, blocked: bool) {
        let sent = std::mem::take(&mut self.sent_in_this_turn);
        let limited = blocked || in_flight(self.tp()) >= self.tp().snd_cwnd;
        self.publish_sequence();
        if (sent == 0 && !limited) || self.profile.era == Era::Linux2_6 {
            return;
        }
        let (una, nxt, jiffies) = (self.board.una(), self.board.nxt(), self.jiffies());
        let rto_us = self.rto_us();
        let tp = self.cc.tp_mut();
        if una >= self.cwnd_usage_end
            || limited
            || (tp.is_cwnd_limited == 0 && tp.packets_out > tp.max_packets_out)
        {
            tp.is_cwnd_limited = u8::from(limited);
            tp.max_packets_out = tp.packets_out;
            self.cwnd_usage_end = nxt;
        }
        let slow_start = tp.snd_cwnd < tp.snd_ssthresh;
        if tp.is_cwnd_limited != 0 || (slow_start && tp.snd_cwnd < 2 * tp.max_packets_out) {
            tp.snd_cwnd_used = 0;
            tp.snd_cwnd_stamp = jiffies;
            return;
        }
        tp.snd_cwnd_used = tp.snd_cwnd_used.max(tp.packets_out);
        let unused_us = u64::from(jiffies.wrapping_sub(tp.snd_cwnd_stamp)) * (self.tick_ns / 1_000);
        if unused_us >= rto_us && !self.cc.has_cong_control() {
            self.application_limited();
        }
    }

    /// RFC 2861, the predecessor of RFC 7661, as in Linux: a window that is unused for an RTO
    /// decays.
    fn application_limited(&mut self) {
        let (initial, jiffies) = (
            self.profile.initial_cwnd(self.tp().mss_cache),
            self.jiffies(),
        );
        let open = self.state() == CaState::Open;
        let ssthresh = self.current_ssthresh();
        let tp = self.cc.tp_mut();
        if open {
            let used = tp.snd_cwnd_used.max(initial);
            if used < tp.snd_cwnd {
                tp.snd_ssthresh = ssthresh;
                tp.snd_cwnd = (tp.snd_cwnd + used) >> 1;
            }
            tp.snd_cwnd_used = 0;
        }
        tp.snd_cwnd_stamp = jiffies;
    }

    /// Linux 2.6 checks at each ACK whether the window was full, up to a burst, when it arrived.
    pub(super) fn validate_cwnd_2_6(&mut self, prior_in_flight: u32) {
        let tso = self.profile.tso;
        let tp = self.cc.tp_mut();
        let free = tp.snd_cwnd.saturating_sub(prior_in_flight);
        let limited = if tso {
            TSO_WIN_DIVISOR * free < tp.snd_cwnd
        } else {
            free <= REORDERING
        };
        tp.is_cwnd_limited = u8::from(limited);
        tp.max_packets_out = 0;
    }

    /// RFC 5681, 4.1: after an idle RTO, halves the window for each RTO, down to the initial
    /// window.
    #[inline]
    fn restart_after_idle(&mut self) {
        if self.tp().packets_out != 0 || self.last_send_ns == 0 {
            return;
        }
        let rto_ns = self.rto_us() * 1_000;
        let mut idle_ns = self.now_ns - self.last_send_ns;
        if idle_ns <= rto_ns {
            return;
        }
        self.cc.cwnd_event(CaEvent::CwndRestart);
        let (ssthresh, jiffies) = (self.current_ssthresh(), self.jiffies());
        let initial = self.profile.initial_cwnd(self.tp().mss_cache);
        let tp = self.cc.tp_mut();
        let restart = initial.min(tp.snd_cwnd);
        tp.snd_ssthresh = ssthresh;
        while idle_ns > rto_ns && tp.snd_cwnd > restart {
            idle_ns -= rto_ns;
            tp.snd_cwnd >>= 1;
        }
        tp.snd_cwnd = tp.snd_cwnd.max(restart);
        tp.snd_cwnd_stamp = jiffies;
        tp.snd_cwnd_used = 0;
        self.last_send_ns = self.now_ns;
    }

    /// `tcp_current_ssthresh`: the maximum of ssthresh and three quarters of cwnd; ssthresh itself
    /// during a reduction.
    pub(super) fn current_ssthresh(&self) -> u32 {
        let tp = self.tp();
        if self.in_cwnd_reduction() {
            tp.snd_ssthresh
        } else {
            tp.snd_ssthresh.max((tp.snd_cwnd >> 1) + (tp.snd_cwnd >> 2))
        }
    }

    #[inline]
    fn note_limit(&mut self) {
        let tp = self.cc.tp();
        let out = self.board.nxt() - self.board.una();
        let unsent = self.board.nxt() < self.limits.segments;
        let by = if !unsent || in_flight(tp) >= tp.snd_cwnd {
            None
        } else if out >= self.limits.receive_window {
            Some(Limit::ReceiveWindow)
        } else if out >= self.limits.send_buffer {
            Some(Limit::SendBuffer)
        } else {
            None
        };
        if by == self.limited.by {
            return;
        }
        self.limited.add_until(self.now_ns);
        self.limited.by = by;
    }
}
