//! The sender: `tcp_ack` in its order, transmission, timers, cwnd validation.
//!
//! The order in which an ACK calls the algorithm's hooks is the host contract
//! (Linux 6, `tcp_ack`): `in_ack_event`; SACK tagging and cumulative
//! acknowledgement; `pkts_acked`; the recovery state machine (`ssthresh`,
//! `set_state`, `cwnd_event(COMPLETE_CWR)`, `undo_cwnd`); then `cong_control`, or
//! PRR in CWR and Recovery, or `cong_avoid`. Linux 2.6 calls `cong_avoid` before
//! the state machine.

use super::profile::{HostProfile, LossDetection, Reduction, REORDERING, RTO_MAX_US, RTO_MIN_US};
use super::rtt::{RttEstimator, WindowedMin};
use super::scoreboard::{Delivery, Scoreboard, SentOrder};
use super::{Ack, Transmit};
use crate::schedule::NEVER;
use ackclock_host::{
    AckSample, CaEvent, CaState, CongestionControl, Era, RateSample, TcpSock, TCP_INFINITE_SSTHRESH,
};

/// `CA_ACK_SLOWPATH` and `CA_ACK_WIN_UPDATE` of `in_ack_event`.
const CA_ACK_SLOWPATH: u32 = 1;
const CA_ACK_WIN_UPDATE: u32 = 2;
/// `sysctl_tcp_pacing_ss_ratio`, `sysctl_tcp_pacing_ca_ratio`, percent.
const PACING_SS_PERCENT: u64 = 200;
const PACING_CA_PERCENT: u64 = 120;
/// Bytes in the largest GSO packet.
const GSO_MAX_BYTES: u64 = 65_536;
/// `tcp_tso_rtt_log`: paths shorter than 2⁹ µs get larger bursts.
const TSO_RTT_LOG: u32 = 9;
/// A burst is put off only if the last one left, and the next ACK is due, within this time.
const TSO_DEFER_NS: u64 = 1_000_000;

/// What limits a flow besides cwnd, in segments.
#[derive(Clone, Copy, Debug)]
pub struct FlowLimits {
    /// What the application writes in all.
    pub segments: u64,
    /// Receive window.
    pub receive_window: u64,
    /// Send buffer.
    pub send_buffer: u64,
}

/// Something that happened to a sender and is worth a row in the events table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderEvent {
    /// HyStart, or another rule of the algorithm's, set ssthresh below infinity.
    SlowStartExit,
    /// Fast recovery began.
    Recovery,
    /// CWR, Recovery or Loss ended.
    Recovered,
    /// The retransmission timer fired.
    Timeout,
    /// A reduction was undone.
    Undo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    None,
    Retransmission,
    LossProbe,
    Reordering,
}

/// What [`Sender::poll_transmit`] may send besides new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rexmit {
    None,
    /// Lost segments first.
    Lost,
    /// New data first (F-RTO, step 2b).
    New,
}

/// RACK's view of the most recently sent transmission that was delivered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rack {
    pub newest: SentOrder,
    pub rtt_ns: u64,
    pub advanced: bool,
    pub reordering_seen: bool,
}

/// What the ACK being processed has shown (Linux's FLAG_*).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckFlags {
    pub una_advanced: bool,
    pub data_sacked: bool,
    pub duplicate_sack: bool,
    pub original_delivered: bool,
    pub lost_retransmission: bool,
    /// The ACK carries nothing new but its number.
    pub pure_duplicate: bool,
    pub echo_ns: u64,
    pub newly_lost: u32,
    pub newly_delivered: u32,
}

/// The sending end of a connection.
pub struct Sender {
    pub(super) cc: CongestionControl,
    pub(super) profile: HostProfile,
    pub(super) board: Scoreboard,
    pub(super) rtt: RttEstimator,
    pub(super) min_rtt: WindowedMin,
    pub(super) rack: Rack,
    limits: FlowLimits,
    /// Time of the call being handled.
    pub(super) now_ns: u64,
    tick_ns: u64,
    next_tick_ns: u64,
    /// `nxt` when the present state other than Open began.
    pub(super) high_seq: u64,
    /// `una` when the reduction that may be undone began.
    pub(super) undo_marker: Option<u64>,
    /// Retransmissions since that no D-SACK has answered; below 0: none made yet.
    pub(super) undo_retrans: i64,
    /// When the first retransmission of this recovery was sent.
    pub(super) retrans_stamp_ns: Option<u64>,
    pub(super) prr_delivered: u32,
    pub(super) prr_out: u32,
    pub(super) frto: bool,
    pub(super) rexmit: Rexmit,
    /// Timeouts since `una` last advanced.
    pub(super) retransmits: u32,
    backoff: u32,
    timer: Timer,
    timer_at_ns: u64,
    probe_pending: bool,
    tlp_high_seq: Option<u64>,
    tlp_retransmitted: bool,
    cwnd_usage_end: u64,
    last_send_ns: u64,
    sent_in_this_turn: u32,
    sent_packets: u64,
    retransmitted_packets: u64,
    lost_packets: u64,
    limited: Limited,
    /// Rows for the events table, in order; whoever drives the sender drains it.
    pub(super) events: Vec<(SenderEvent, u32, u32)>,
}

/// For how long the receive window or the send buffer was what held a flow back.
#[derive(Clone, Copy, Debug, Default)]
struct Limited {
    by: Option<Limit>,
    since_ns: u64,
    receive_window_ns: u64,
    send_buffer_ns: u64,
}

impl Limited {
    fn add_until(&mut self, now_ns: u64) {
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
    /// A sender whose connection was established at `now_ns`, after a handshake that
    /// took `handshake_rtt_ns`. `tick_phase_ns` says when its clock first ticks.
    pub fn new(
        mut cc: CongestionControl,
        profile: HostProfile,
        limits: FlowLimits,
        now_ns: u64,
        handshake_rtt_ns: u64,
        tick_phase_ns: u64,
    ) -> Self {
        let tp = cc.tp_mut();
        let hz = tp.inet_conn.sk.sk_host.hz;
        tp.snd_cwnd = profile.initial_cwnd(tp.mss_cache);
        tp.snd_cwnd_clamp = u32::MAX;
        tp.inet_conn.sk.sk_gso_max_size = GSO_MAX_BYTES as u32;
        let mut sender = Self {
            cc,
            profile,
            board: Scoreboard::new(),
            rtt: RttEstimator::new(profile.initial_rto_us),
            min_rtt: WindowedMin::default(),
            rack: Rack::default(),
            limits,
            now_ns,
            tick_ns: 1_000_000_000 / u64::from(hz),
            next_tick_ns: tick_phase_ns,
            high_seq: 0,
            undo_marker: None,
            undo_retrans: 0,
            retrans_stamp_ns: None,
            prr_delivered: 0,
            prr_out: 0,
            frto: false,
            rexmit: Rexmit::None,
            retransmits: 0,
            backoff: 0,
            timer: Timer::None,
            timer_at_ns: NEVER,
            probe_pending: false,
            tlp_high_seq: None,
            tlp_retransmitted: false,
            cwnd_usage_end: 0,
            last_send_ns: 0,
            sent_in_this_turn: 0,
            sent_packets: 0,
            retransmitted_packets: 0,
            lost_packets: 0,
            limited: Limited::default(),
            events: Vec::new(),
        };
        sender.clock(now_ns);
        let handshake_us = (handshake_rtt_ns / 1_000) as u32;
        sender.rtt.sample(handshake_us, 0, 0);
        sender.min_rtt.sample(now_ns, handshake_us);
        sender.publish_rtt();
        sender.update_pacing_rate();
        sender.cc.init();
        sender
    }

    /// The state that algorithms see.
    #[inline]
    pub fn tp(&self) -> &TcpSock {
        self.cc.tp()
    }

    /// The present state of the recovery state machine.
    #[inline]
    pub fn state(&self) -> CaState {
        match self.tp().inet_conn.icsk_ca_state {
            0 => CaState::Open,
            1 => CaState::Disorder,
            2 => CaState::Cwr,
            3 => CaState::Recovery,
            _ => CaState::Loss,
        }
    }

    /// Segments cumulatively acknowledged.
    #[inline]
    pub fn una(&self) -> u64 {
        self.board.una()
    }

    /// Segments known to be delivered: acknowledged or SACKed.
    pub fn delivered_packets(&self) -> u64 {
        self.board.una() + u64::from(self.tp().sacked_out)
    }

    /// Data packets sent, retransmissions included; those alone; packets deemed lost.
    pub fn totals(&self) -> (u64, u64, u64) {
        (
            self.sent_packets,
            self.retransmitted_packets,
            self.lost_packets,
        )
    }

    /// Smallest RTT in the last 300 s, µs; 0 before the first sample.
    pub fn min_rtt_us(&self) -> u32 {
        match self.min_rtt.get() {
            u32::MAX => 0,
            min_rtt_us => min_rtt_us,
        }
    }

    /// Nanoseconds up to `now_ns` in which (receive window, send buffer) held it back.
    pub fn limited_ns(&self, now_ns: u64) -> (u64, u64) {
        let mut limited = self.limited;
        limited.add_until(now_ns);
        (limited.receive_window_ns, limited.send_buffer_ns)
    }

    /// Everything written and acknowledged?
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.board.una() >= self.limits.segments
    }

    /// The application writes nothing more than it has already sent.
    pub fn stop_writing(&mut self) {
        self.limits.segments = self.limits.segments.min(self.board.nxt());
    }

    /// Takes the events since the last call: what, cwnd before, in flight before.
    pub fn take_events(&mut self) -> std::vec::Drain<'_, (SenderEvent, u32, u32)> {
        self.events.drain(..)
    }

    /// Has [`take_events`](Self::take_events) anything to give?
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// packets_out − (sacked_out + lost_out) + retrans_out.
    #[inline]
    pub fn packets_in_flight(&self) -> u32 {
        in_flight(self.cc.tp())
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called.
    #[inline]
    pub fn poll_timeout(&self) -> u64 {
        self.timer_at_ns
    }

    #[inline]
    pub(super) fn clock(&mut self, now_ns: u64) {
        debug_assert!(now_ns >= self.now_ns);
        self.now_ns = now_ns;
        let tp = self.cc.tp_mut();
        tp.tcp_mstamp = now_ns / 1_000;
        if now_ns >= self.next_tick_ns {
            let ticks = (now_ns - self.next_tick_ns) / self.tick_ns + 1;
            self.next_tick_ns += ticks * self.tick_ns;
            let jiffies = &mut tp.inet_conn.sk.sk_host.jiffies;
            *jiffies = jiffies.wrapping_add(ticks as u32);
        }
    }

    #[inline]
    pub(super) fn jiffies(&self) -> u32 {
        self.tp().inet_conn.sk.sk_host.jiffies
    }

    /// An ACK arrives.
    pub fn handle_ack(&mut self, now_ns: u64, ack: &Ack) {
        self.clock(now_ns);
        let prior_una = self.board.una();
        let (prior_delivered, prior_lost, prior_in_flight) = {
            let tp = self.cc.tp();
            (tp.delivered, tp.lost, in_flight(tp))
        };
        self.rexmit = Rexmit::None;
        if self.cc.has_in_ack_event() {
            let slow = !ack.sacks.is_empty();
            self.cc.in_ack_event(if slow {
                CA_ACK_SLOWPATH
            } else {
                CA_ACK_WIN_UPDATE
            });
        }

        let mut delivery = Delivery::default();
        if !ack.sacks.is_empty() {
            self.tag_sacked(ack, &mut delivery);
        }
        let una_advanced = ack.ack > prior_una;
        if una_advanced {
            self.retransmits = 0;
            self.board
                .acknowledge(self.cc.tp_mut(), ack.ack, self.high_seq, &mut delivery);
        }
        if let Some((sent, retransmitted)) = delivery.newest {
            self.advance_rack(sent, retransmitted);
        }
        let rtt_us = self.update_rtt(&delivery, una_advanced, ack.echo_ns);
        self.publish_sequence();
        if self.cc.has_pkts_acked() {
            let pkts_acked = delivery.acked;
            self.cc.pkts_acked(&AckSample {
                pkts_acked,
                rtt_us,
                in_flight: prior_in_flight,
            });
        }
        if una_advanced {
            self.set_transmit_timer();
        }

        let mut flags = AckFlags {
            una_advanced,
            data_sacked: delivery.data_sacked,
            duplicate_sack: ack.sacks.duplicate,
            original_delivered: delivery.original_delivered,
            lost_retransmission: false,
            pure_duplicate: !una_advanced && ack.sacks.is_empty(),
            echo_ns: ack.echo_ns,
            newly_lost: 0,
            newly_delivered: self.tp().delivered.wrapping_sub(prior_delivered),
        };
        if self.tlp_high_seq.is_some() {
            self.process_tlp_ack(ack, &flags);
        }
        let dubious = !una_advanced
            || flags.data_sacked
            || flags.duplicate_sack
            || self.tp().inet_conn.icsk_ca_state != CaState::Open as u8;
        match self.profile.era {
            Era::Linux6 => {
                if dubious {
                    self.fast_retransmit_alert(&mut flags);
                }
                flags.newly_lost = self.tp().lost.wrapping_sub(prior_lost);
                self.congestion_control(&flags, rtt_us, prior_in_flight);
            }
            Era::Linux2_6 => {
                if una_advanced && !self.in_cwnd_reduction() {
                    self.validate_cwnd_2_6(prior_in_flight);
                    let ack = self.tp().snd_una;
                    self.cc.cong_avoid(ack, 1);
                    let stamp = self.jiffies();
                    self.cc.tp_mut().snd_cwnd_stamp = stamp;
                }
                if dubious {
                    self.fast_retransmit_alert_2_6(&flags);
                }
            }
        }
        self.lost_packets += u64::from(self.tp().lost.wrapping_sub(prior_lost));
        // A recount costs the whole window: small ones show every mistake.
        #[cfg(debug_assertions)]
        if dubious && self.tp().packets_out < 256 {
            self.board.check(self.cc.tp());
        }
    }

    fn tag_sacked(&mut self, ack: &Ack, delivery: &mut Delivery) {
        let mut blocks = ack.sacks.as_slice();
        if ack.sacks.duplicate {
            // RFC 3708: every retransmission was unnecessary once D-SACKs have
            // answered as many segments as were retransmitted.
            let (start, end) = blocks[0];
            if let Some(marker) = self.undo_marker {
                let answers = start < self.board.una() || self.board.ever_retransmitted(start);
                if answers && end > marker && self.undo_retrans > 0 {
                    self.undo_retrans = (self.undo_retrans - (end - start) as i64).max(0);
                }
            }
            blocks = &blocks[1..];
        }
        for &block in blocks {
            self.board
                .sack(self.cc.tp_mut(), block, self.high_seq, delivery);
        }
    }

    #[inline]
    fn advance_rack(&mut self, sent: SentOrder, retransmitted: bool) {
        let rtt_ns = self.now_ns - sent.0;
        // It may be the original that was delivered: too early to be the retransmission.
        if retransmitted && rtt_ns / 1_000 < u64::from(self.min_rtt.get()) {
            return;
        }
        self.rack.advanced = true;
        self.rack.rtt_ns = rtt_ns;
        if sent > self.rack.newest {
            self.rack.newest = sent;
        }
    }

    /// Feeds the estimators; returns what `pkts_acked` is told, µs or −1.
    #[inline]
    fn update_rtt(&mut self, delivery: &Delivery, una_advanced: bool, echo_ns: u64) -> i32 {
        let age_us = |sent_ns: u64| ((self.now_ns - sent_ns) / 1_000) as u32;
        let (mut seq_rtt_us, mut ca_rtt_us) = (None, None);
        if let (Some((first, last)), false) = (delivery.acked_sent_ns, delivery.retransmitted_acked)
        {
            (seq_rtt_us, ca_rtt_us) = (Some(age_us(first)), Some(age_us(last)));
        }
        if let Some((first, last)) = delivery.sacked_sent_ns {
            ca_rtt_us = Some(age_us(last));
            seq_rtt_us = seq_rtt_us.or(Some(age_us(first)));
        }
        if seq_rtt_us.is_none() && una_advanced {
            // Karn: only the timestamp tells which transmission was answered.
            seq_rtt_us = Some(age_us(echo_ns));
            ca_rtt_us = seq_rtt_us;
        }
        if let (Some(seq_rtt_us), Some(ca_rtt_us)) = (seq_rtt_us, ca_rtt_us) {
            self.min_rtt.sample(self.now_ns, ca_rtt_us.max(1));
            self.rtt
                .sample(seq_rtt_us, self.board.una(), self.board.nxt());
            self.backoff = 0;
            self.publish_rtt();
        }
        ca_rtt_us.map_or(-1, |rtt_us| rtt_us as i32)
    }

    #[inline]
    fn publish_rtt(&mut self) {
        let (srtt_us, mdev_us) = (self.rtt.srtt_us, self.rtt.mdev_us);
        let tp = self.cc.tp_mut();
        (tp.srtt_us, tp.mdev_us) = (srtt_us, mdev_us);
    }

    /// The kernel counts bytes, modulo 2³².
    #[inline]
    fn publish_sequence(&mut self) {
        let (una, nxt) = (self.board.una(), self.board.nxt());
        let tp = self.cc.tp_mut();
        tp.snd_una = (una as u32).wrapping_mul(tp.mss_cache);
        tp.snd_nxt = (nxt as u32).wrapping_mul(tp.mss_cache);
    }

    #[inline]
    pub(super) fn in_cwnd_reduction(&self) -> bool {
        let state = self.tp().inet_conn.icsk_ca_state;
        state == CaState::Cwr as u8 || state == CaState::Recovery as u8
    }

    /// `tcp_cong_control`.
    #[inline]
    fn congestion_control(&mut self, flags: &AckFlags, rtt_us: i32, prior_in_flight: u32) {
        let ssthresh = self.tp().snd_ssthresh;
        if self.cc.has_cong_control() {
            let ack = self.tp().snd_una;
            let sample = RateSample {
                prior_mstamp: 0,
                prior_delivered: 0,
                delivered: -1,
                interval_us: -1,
                rtt_us: i64::from(rtt_us),
                losses: flags.newly_lost as i32,
                acked_sacked: flags.newly_delivered,
                prior_in_flight,
                is_app_limited: false,
                is_retrans: false,
            };
            self.cc.cong_control(ack, 0, &sample);
        } else if self.in_cwnd_reduction() {
            self.reduce_cwnd(flags);
        } else if flags.una_advanced {
            let ack = self.tp().snd_una;
            self.cc.cong_avoid(ack, flags.newly_delivered);
            let stamp = self.jiffies();
            self.cc.tp_mut().snd_cwnd_stamp = stamp;
        }
        let tp = self.cc.tp();
        if ssthresh == TCP_INFINITE_SSTHRESH && tp.snd_ssthresh < ssthresh && tp.lost == 0 {
            let row = (SenderEvent::SlowStartExit, tp.snd_cwnd, in_flight(tp));
            self.events.push(row);
        }
        self.update_pacing_rate();
    }

    /// PRR (RFC 6937, with the slow-start reduction bound).
    fn reduce_cwnd(&mut self, flags: &AckFlags) {
        let delivered = flags.newly_delivered;
        let (prr_delivered, prr_out) = (self.prr_delivered + delivered, self.prr_out);
        let tp = self.cc.tp_mut();
        if delivered == 0 || tp.prior_cwnd == 0 {
            return;
        }
        let in_flight = in_flight(tp);
        let budget = if tp.snd_ssthresh < in_flight {
            // Proportional: send ssthresh/prior_cwnd of what was delivered.
            let share = u64::from(tp.snd_ssthresh) * u64::from(prr_delivered);
            share.div_ceil(u64::from(tp.prior_cwnd)) as i64 - i64::from(prr_out)
        } else {
            let mut budget = (i64::from(prr_delivered) - i64::from(prr_out)).max(delivered.into());
            if flags.una_advanced && flags.newly_lost == 0 {
                budget += 1;
            }
            budget.min((tp.snd_ssthresh - in_flight).into())
        };
        // The first ACK of a recovery always retransmits.
        let budget = budget.max(i64::from(prr_out == 0)).max(0) as u32;
        tp.snd_cwnd = in_flight + budget;
        self.prr_delivered = prr_delivered;
    }

    /// `tcp_update_pacing_rate`: bursts and HyStart ask for it even where nothing is paced.
    #[inline]
    fn update_pacing_rate(&mut self) {
        if self.profile.era == Era::Linux2_6 {
            return;
        }
        let tp = self.cc.tp_mut();
        let slow_start = tp.snd_cwnd < tp.snd_ssthresh / 2;
        let percent = if slow_start {
            PACING_SS_PERCENT
        } else {
            PACING_CA_PERCENT
        };
        let window = u64::from(tp.snd_cwnd.max(tp.packets_out));
        let rate = u64::from(tp.mss_cache) * ((1_000_000 / 100) << 3) * percent * window;
        tp.inet_conn.sk.sk_pacing_rate = rate / u64::from(tp.srtt_us.max(1));
    }

    /// Segments in a burst (`tcp_tso_autosize`); without TSO whatever the window allows.
    #[inline]
    fn burst_segments(&mut self) -> u32 {
        if !self.profile.tso {
            return u32::MAX;
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

    /// What is to be sent now, one burst a call, until `None`.
    #[inline]
    pub fn poll_transmit(&mut self, now_ns: u64) -> Option<Transmit> {
        debug_assert_eq!(now_ns, self.now_ns);
        if self.probe_pending {
            self.probe_pending = false;
            if let Some(probe) = self.send_probe() {
                return Some(probe);
            }
        }
        if self.rexmit == Rexmit::Lost && self.tp().lost_out > 0 {
            if let Some(burst) = self.retransmit_lost() {
                return Some(burst);
            }
        }
        self.transmit_new()
    }

    fn retransmit_lost(&mut self) -> Option<Transmit> {
        let tp = self.cc.tp();
        let quota = tp.snd_cwnd.saturating_sub(in_flight(tp));
        if quota == 0 {
            return None;
        }
        let limit = quota.min(self.burst_segments());
        let burst = self
            .board
            .retransmit(self.cc.tp_mut(), self.now_ns, limit)?;
        self.note_retransmission(burst.segments);
        if burst.first == self.board.una() {
            self.rearm_rto();
        }
        Some(burst)
    }

    fn note_retransmission(&mut self, segments: u32) {
        self.retrans_stamp_ns.get_or_insert(self.now_ns);
        self.undo_retrans = self.undo_retrans.max(0) + i64::from(segments);
        self.sent_packets += u64::from(segments);
        self.retransmitted_packets += u64::from(segments);
        if self.in_cwnd_reduction() {
            self.prr_out += segments;
        }
    }

    /// `tcp_write_xmit`.
    #[inline]
    fn transmit_new(&mut self) -> Option<Transmit> {
        let (una, nxt) = (self.board.una(), self.board.nxt());
        let room = self.limits.receive_window.min(self.limits.send_buffer);
        let available = self
            .limits
            .segments
            .min(una.saturating_add(room))
            .saturating_sub(nxt);
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
    fn send(&mut self, segments: u32) -> Transmit {
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
        if first {
            self.rearm_rto();
            self.schedule_loss_probe(false);
        }
        burst
    }

    /// `tcp_tso_should_defer`: waits for the next ACK if that will allow a full burst.
    #[inline]
    fn defers(&self, quota: u32, burst: u32) -> bool {
        let tp = self.tp();
        if quota >= burst
            || !self.profile.tso
            || tp.inet_conn.icsk_ca_state >= CaState::Recovery as u8
            || self.now_ns - self.last_send_ns > TSO_DEFER_NS
            || quota >= tp.snd_cwnd / 3
            || tp.packets_out == 0
        {
            return false;
        }
        // Nor if the next ACK is far: more than half a round trip or 1 ms from now.
        let srtt_ns = u64::from(tp.srtt_us >> 3) * 1_000;
        let next_ack_ns = self.board.sent_ns(self.board.una()) + srtt_ns;
        next_ack_ns <= self.now_ns + (srtt_ns / 2).min(TSO_DEFER_NS)
    }

    /// `tcp_cwnd_validate`, once everything that could be sent has been.
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

    /// RFC 7661's predecessor in Linux (RFC 2861): a window unused for an RTO decays.
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

    /// Linux 2.6 asks at each ACK: was the window full when it arrived, within a burst?
    fn validate_cwnd_2_6(&mut self, prior_in_flight: u32) {
        let tp = self.cc.tp_mut();
        tp.is_cwnd_limited = u8::from(prior_in_flight + REORDERING >= tp.snd_cwnd);
        tp.max_packets_out = 0;
    }

    /// RFC 5681, 4.1: after an idle RTO, half the window for each RTO, down to the initial one.
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

    /// `tcp_current_ssthresh`: three quarters of a window that is larger than ssthresh.
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

    // Timers.

    /// Retransmission timeout with back-off, µs.
    #[inline]
    fn rto_us(&self) -> u64 {
        (self.rtt.rto_us() << self.backoff.min(16)).min(RTO_MAX_US)
    }

    #[inline]
    fn arm(&mut self, timer: Timer, at_ns: u64) {
        (self.timer, self.timer_at_ns) = (timer, at_ns);
    }

    fn rearm_rto(&mut self) {
        if self.tp().packets_out == 0 {
            return self.arm(Timer::None, NEVER);
        }
        let rto_ns = self.rto_us() * 1_000;
        let from_ns = match self.timer {
            // These took the place of the timeout: count from the head's sending.
            Timer::LossProbe | Timer::Reordering => self.board.sent_ns(self.board.una()),
            _ => self.now_ns,
        };
        self.arm(
            Timer::Retransmission,
            (from_ns + rto_ns).max(self.now_ns + 1),
        );
    }

    #[inline]
    fn set_transmit_timer(&mut self) {
        if !self.schedule_loss_probe(true) {
            self.timer = Timer::Retransmission;
            self.rearm_rto();
        }
    }

    /// A tail loss probe after two round trips, or the timeout if that is earlier.
    #[inline]
    fn schedule_loss_probe(&mut self, advancing: bool) -> bool {
        let tp = self.cc.tp();
        let state = tp.inet_conn.icsk_ca_state;
        let open = state == CaState::Open as u8 || state == CaState::Cwr as u8;
        if !self.profile.tail_loss_probe || tp.packets_out == 0 || !open || tp.sacked_out > 0 {
            return false;
        }
        let grace_us = if tp.packets_out == 1 {
            u64::from(RTO_MIN_US)
        } else {
            2 * self.tick_ns / 1_000
        };
        let probe_at_ns = self.now_ns + (u64::from(tp.srtt_us >> 2) + grace_us) * 1_000;
        let from_ns = if advancing {
            self.now_ns
        } else {
            self.board.sent_ns(self.board.una())
        };
        let timeout_at_ns = from_ns + self.rto_us() * 1_000;
        self.arm(
            Timer::LossProbe,
            probe_at_ns.min(timeout_at_ns).max(self.now_ns + 1),
        );
        true
    }

    /// A timer set by [`poll_timeout`](Self::poll_timeout) is due.
    pub fn handle_timeout(&mut self, now_ns: u64) {
        if now_ns < self.timer_at_ns {
            return;
        }
        self.clock(now_ns);
        let prior_lost = self.tp().lost;
        self.rexmit = Rexmit::None;
        match std::mem::replace(&mut self.timer, Timer::None) {
            Timer::None => self.timer_at_ns = NEVER,
            Timer::LossProbe => self.probe_pending = true,
            Timer::Reordering => self.reordering_timeout(),
            Timer::Retransmission => {
                self.enter_loss();
                self.retransmits += 1;
                self.backoff += 1;
                let rto_ns = self.rto_us() * 1_000;
                self.arm(Timer::Retransmission, now_ns + rto_ns);
                self.rexmit = Rexmit::Lost;
            }
        }
        if self.timer == Timer::None {
            self.timer_at_ns = NEVER;
        }
        self.lost_packets += u64::from(self.tp().lost.wrapping_sub(prior_lost));
    }

    fn reordering_timeout(&mut self) {
        let prior_lost = self.tp().lost;
        self.detect_losses();
        let flags = AckFlags {
            newly_lost: self.tp().lost.wrapping_sub(prior_lost),
            ..AckFlags::default()
        };
        if self.tp().lost_out > 0 && self.state() < CaState::Recovery {
            self.enter_recovery();
            self.reduce_cwnd(&flags);
        }
        self.rexmit = Rexmit::Lost;
        if self.timer == Timer::None {
            self.rearm_rto();
        }
    }

    /// Marks what can be known to be lost; sets the reordering timer if time will tell.
    pub(super) fn detect_losses(&mut self) {
        match self.profile.loss_detection {
            LossDetection::Rack => {
                if !std::mem::take(&mut self.rack.advanced) {
                    return;
                }
                let window_ns = self.reordering_window_ns();
                let (now_ns, rack) = (self.now_ns, self.rack);
                let due_ns = self.board.judge_by_time(
                    self.cc.tp_mut(),
                    now_ns,
                    rack.newest,
                    rack.rtt_ns,
                    window_ns,
                );
                if let Some(due_ns) = due_ns {
                    self.rack.advanced = true;
                    self.arm(Timer::Reordering, due_ns);
                }
            }
            LossDetection::Fack => self.board.judge_by_distance(self.cc.tp_mut()),
        }
    }

    /// RFC 8985, 6.2 step 4: no tolerance once duplicates abound on a path that keeps order.
    fn reordering_window_ns(&self) -> u64 {
        let tp = self.tp();
        if !self.rack.reordering_seen
            && (tp.inet_conn.icsk_ca_state >= CaState::Recovery as u8
                || tp.sacked_out >= REORDERING)
        {
            return 0;
        }
        u64::from(self.min_rtt.get() / 4).min(u64::from(tp.srtt_us >> 3)) * 1_000
    }

    /// Sends a tail loss probe: new data if there is any, else the last segment again.
    fn send_probe(&mut self) -> Option<Transmit> {
        if self.tp().packets_out == 0 {
            return None;
        }
        if self.tlp_high_seq.is_some() {
            self.rearm_rto();
            return None;
        }
        let (una, nxt) = (self.board.una(), self.board.nxt());
        let window_end = una.saturating_add(self.limits.receive_window);
        let new_data = nxt < self.limits.segments.min(window_end);
        let probe = if new_data {
            self.send(1)
        } else {
            let probe = self.board.retransmit_last(self.cc.tp_mut(), self.now_ns);
            let Some(probe) = probe else {
                self.rearm_rto();
                return None;
            };
            self.note_retransmission(1);
            probe
        };
        self.tlp_retransmitted = !new_data;
        self.tlp_high_seq = Some(self.board.nxt());
        self.timer = Timer::None;
        self.rearm_rto();
        Some(probe)
    }

    /// RFC 8985, 7.4: did the probe repair a loss? Then the window pays for it.
    fn process_tlp_ack(&mut self, ack: &Ack, flags: &AckFlags) {
        let Some(high_seq) = self.tlp_high_seq.filter(|&high_seq| ack.ack >= high_seq) else {
            return;
        };
        if !self.tlp_retransmitted || flags.duplicate_sack {
            self.tlp_high_seq = None;
        } else if ack.ack > high_seq {
            self.init_cwnd_reduction();
            self.set_state(CaState::Cwr);
            self.end_cwnd_reduction();
            self.try_keep_open();
        } else if flags.pure_duplicate {
            self.tlp_high_seq = None;
        }
    }

    pub(super) fn forget_tlp(&mut self) {
        self.tlp_high_seq = None;
    }

    /// Is cwnd moved by PRR, and not by rate halving?
    pub(super) fn reduces_by_prr(&self) -> bool {
        self.profile.reduction == Reduction::Prr
    }
}

/// `tcp_packets_in_flight`.
#[inline]
pub(super) fn in_flight(tp: &TcpSock) -> u32 {
    tp.packets_out - (tp.sacked_out + tp.lost_out) + tp.retrans_out
}
