//! The state of the sender, and the way of an ACK from its arrival to the new window: `tcp_ack`,
//! in the order of Linux. `transmit` has what the sender then sends; `timers` has what the clock
//! causes.
//!
//! Algorithms rely on the order in which an ACK calls their hooks (Linux 6, `tcp_ack`):
//!
//! 1. SACK tagging.
//! 2. `in_ack_event`, which sees the new `snd_una`.
//! 3. The cumulative acknowledgement.
//! 4. `pkts_acked`.
//! 5. The recovery state machine: `ssthresh`, `set_state`, `cwnd_event(COMPLETE_CWR)`, `undo_cwnd`.
//! 6. `cong_control`; without it PRR in CWR and Recovery, and `cong_avoid` in other states.
//!
//! Linux 2.6 calls `cong_avoid` before the state machine.

use super::profile::{HostProfile, Reduction};
use super::rtt::{RttEstimator, WindowedMin, MAX_RTT_US};
use super::scoreboard::{Delivery, Scoreboard, SentOrder};
use super::timers::Timer;
use super::transmit::Limited;
use super::Ack;
use crate::schedule::NEVER;
use ackclock_host::{
    AckSample, CaState, CongestionControl, Era, RateSample, TcpSock, TCP_INFINITE_SSTHRESH,
};

/// `CA_ACK_SLOWPATH` and `CA_ACK_WIN_UPDATE` of `in_ack_event`.
const CA_ACK_SLOWPATH: u32 = 1;
const CA_ACK_WIN_UPDATE: u32 = 2;
/// Largest congestion window, packets: 1 Tb/s over 200 ms.
pub(super) const MAX_CWND: u32 = 1 << 24;
/// Bytes in the largest GSO packet.
pub(super) const GSO_MAX_BYTES: u64 = 65_536;

/// Limits of a flow besides cwnd, in segments.
#[derive(Clone, Copy, Debug)]
pub struct FlowLimits {
    /// How much the application writes in total.
    pub segments: u64,
    /// Receive window.
    pub receive_window: u64,
    /// Send buffer.
    pub send_buffer: u64,
}

/// An event of a sender that gets a row in the events table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderEvent {
    /// HyStart, or another rule of the algorithm, set ssthresh below infinity.
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

/// What [`Sender::poll_transmit`] may send besides new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rexmit {
    None,
    /// Lost segments first.
    Lost,
    /// New data first (F-RTO, step 2b).
    New,
}

/// What RACK knows of the most recent transmission that was delivered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rack {
    pub newest: SentOrder,
    pub rtt_ns: u64,
    pub advanced: bool,
    pub reordering_seen: bool,
}

/// What the current ACK has shown (Linux's FLAG_*).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckFlags {
    pub una_advanced: bool,
    pub data_sacked: bool,
    pub duplicate_sack: bool,
    pub original_delivered: bool,
    pub lost_retransmission: bool,
    pub set_timer: bool,
    /// The ACK neither advances `snd_una` nor has SACK blocks.
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
    pub(super) limits: FlowLimits,
    /// Time of the current call.
    pub(super) now_ns: u64,
    pub(super) tick_ns: u64,
    pub(super) next_tick_ns: u64,
    /// `nxt` when the current state began, if that state is not Open.
    pub(super) high_seq: u64,
    /// `una` when the reduction began that may still be undone.
    pub(super) undo_marker: Option<u64>,
    /// Retransmissions since then that no D-SACK has answered; below 0 before the first one.
    pub(super) undo_retrans: i64,
    /// When the first retransmission of this recovery was sent.
    pub(super) retrans_stamp_ns: Option<u64>,
    pub(super) prr_delivered: u32,
    pub(super) prr_out: u32,
    pub(super) frto: bool,
    pub(super) rexmit: Rexmit,
    /// Timeouts since `una` last advanced.
    pub(super) retransmits: u32,
    pub(super) backoff: u32,
    pub(super) timer: Timer,
    pub(super) timer_at_ns: u64,
    pub(super) probe_pending: bool,
    pub(super) tlp_high_seq: Option<u64>,
    pub(super) tlp_retransmitted: bool,
    pub(super) cwnd_usage_end: u64,
    pub(super) last_send_ns: u64,
    /// `tcp_wstamp_ns`: nothing leaves before this time.
    pub(super) paced_until_ns: u64,
    /// When to send the packets that pacing holds back.
    pub(super) pacing_at_ns: u64,
    pub(super) sent_in_this_turn: u32,
    pub(super) sent_packets: u64,
    pub(super) retransmitted_packets: u64,
    pub(super) lost_packets: u64,
    pub(super) limited: Limited,
    /// Rows for the events table, in order. The caller takes them with `take_events`.
    pub(super) events: Vec<(SenderEvent, u32, u32)>,
}

impl Sender {
    /// Makes a sender whose connection was established at `now_ns`, after a handshake of
    /// `handshake_rtt_ns`. Its clock first ticks at `tick_phase_ns`.
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
        tp.inet_conn.sk.sk_pacing_status = u32::from(profile.pacing);
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
            paced_until_ns: 0,
            pacing_at_ns: NEVER,
            sent_in_this_turn: 0,
            sent_packets: 0,
            retransmitted_packets: 0,
            lost_packets: 0,
            limited: Limited::default(),
            events: Vec::new(),
        };
        sender.clock(now_ns);
        let handshake_us = (handshake_rtt_ns / 1_000).min(MAX_RTT_US.into()) as u32;
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

    /// A window with a value that an algorithm must not set: its name, its value, its maximum.
    #[inline]
    pub fn fault(&self) -> Option<(&'static str, u32, u32)> {
        let tp = self.tp();
        if tp.snd_cwnd.wrapping_sub(1) >= MAX_CWND {
            return Some(("snd_cwnd", tp.snd_cwnd, MAX_CWND));
        }
        (tp.snd_ssthresh.wrapping_sub(1) >= TCP_INFINITE_SSTHRESH).then_some((
            "snd_ssthresh",
            tp.snd_ssthresh,
            TCP_INFINITE_SSTHRESH,
        ))
    }

    /// The current state of the recovery state machine.
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

    /// Segments that are cumulatively acknowledged.
    #[inline]
    pub fn una(&self) -> u64 {
        self.board.una()
    }

    /// Segments that the sender knows to be delivered: acknowledged or SACKed.
    pub fn delivered_packets(&self) -> u64 {
        self.board.una() + u64::from(self.tp().sacked_out)
    }

    /// Three totals: data packets sent, retransmissions included; retransmissions; lost packets.
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

    /// Nanoseconds up to `now_ns` in which (receive window, send buffer) limited the flow.
    pub fn limited_ns(&self, now_ns: u64) -> (u64, u64) {
        let mut limited = self.limited;
        limited.add_until(now_ns);
        (limited.receive_window_ns, limited.send_buffer_ns)
    }

    /// Whether all data is written and acknowledged.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.board.una() >= self.limits.segments
    }

    /// Stops the application: it writes no more than the sender has already sent.
    pub fn stop_writing(&mut self) {
        self.limits.segments = self.limits.segments.min(self.board.nxt());
    }

    /// Takes the events since the last call: the kind, cwnd before it, packets in flight before it.
    pub fn take_events(&mut self) -> std::vec::Drain<'_, (SenderEvent, u32, u32)> {
        self.events.drain(..)
    }

    /// Whether [`take_events`](Self::take_events) has events.
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// packets_out − (sacked_out + lost_out) + retrans_out.
    #[inline]
    pub fn packets_in_flight(&self) -> u32 {
        in_flight(self.cc.tp())
    }

    /// When to call [`handle_timeout`](Self::handle_timeout).
    #[inline]
    pub fn poll_timeout(&self) -> u64 {
        self.timer_at_ns.min(self.pacing_at_ns)
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

    /// Handles an arriving ACK.
    pub fn handle_ack(&mut self, now_ns: u64, ack: &Ack) {
        self.clock(now_ns);
        let prior_una = self.board.una();
        let prior_ssthresh = self.tp().snd_ssthresh;
        let (prior_delivered, prior_lost, prior_in_flight) = {
            let tp = self.cc.tp();
            (tp.delivered, tp.lost, in_flight(tp))
        };
        self.rexmit = Rexmit::None;
        let mut delivery = Delivery::default();
        if !ack.sacks.is_empty() {
            self.tag_sacked(ack, &mut delivery);
        }
        let una_advanced = ack.ack > prior_una;
        if self.cc.has_in_ack_event() {
            // Linux has already moved snd_una. The fast path is for new data without SACK.
            let tp = self.cc.tp_mut();
            tp.snd_una = (ack.ack.max(prior_una) as u32).wrapping_mul(tp.mss_cache);
            let fast = una_advanced && ack.sacks.is_empty();
            self.cc.in_ack_event(if fast {
                CA_ACK_WIN_UPDATE
            } else {
                CA_ACK_SLOWPATH
            });
        }
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
        let mut flags = AckFlags {
            una_advanced,
            data_sacked: delivery.data_sacked,
            duplicate_sack: ack.sacks.duplicate,
            original_delivered: delivery.original_delivered,
            lost_retransmission: false,
            set_timer: false,
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
        // A SACK of a segment that was sent before the last sending of the head is progress too.
        let head_ns = self.board.sent_ns(self.board.una());
        let sacked_older = delivery
            .sacked_sent_ns
            .is_some_and(|(first_ns, _)| first_ns < head_ns);
        flags.set_timer = una_advanced || (sacked_older && self.tp().packets_out > 0);
        match self.profile.era {
            Era::Linux6 => {
                if dubious {
                    self.fast_retransmit_alert(&mut flags);
                }
                if flags.set_timer {
                    self.set_transmit_timer();
                }
                flags.newly_lost = self.tp().lost.wrapping_sub(prior_lost);
                self.congestion_control(&flags, rtt_us, prior_in_flight);
            }
            Era::Linux2_6 => {
                if una_advanced {
                    self.set_transmit_timer();
                }
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
                self.update_pacing_rate();
            }
        }
        self.lost_packets += u64::from(self.tp().lost.wrapping_sub(prior_lost));
        let tp = self.cc.tp();
        if prior_ssthresh == TCP_INFINITE_SSTHRESH
            && tp.snd_ssthresh < prior_ssthresh
            && tp.prior_cwnd == 0
        {
            let row = (SenderEvent::SlowStartExit, tp.snd_cwnd, in_flight(tp));
            self.events.push(row);
        }
        // A recount costs the whole window. Small windows show every mistake.
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
        // Too early for the retransmission: probably the original was delivered.
        if retransmitted && rtt_ns / 1_000 < u64::from(self.min_rtt.get()) {
            return;
        }
        self.rack.advanced = true;
        self.rack.rtt_ns = rtt_ns;
        if sent > self.rack.newest {
            self.rack.newest = sent;
        }
    }

    /// Updates the estimators. Returns the RTT for `pkts_acked`, µs; −1 without a sample.
    #[inline]
    fn update_rtt(&mut self, delivery: &Delivery, una_advanced: bool, echo_ns: u64) -> i32 {
        let age_us = |sent_ns: u64| ((self.now_ns - sent_ns) / 1_000).min(MAX_RTT_US.into()) as u32;
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
            // Karn: only the timestamp shows which transmission the ACK answers.
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

    /// Shows algorithms the sequence numbers as the kernel counts them: bytes, modulo 2³².
    #[inline]
    pub(super) fn publish_sequence(&mut self) {
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
            return;
        } else if self.in_cwnd_reduction() {
            self.reduce_cwnd(flags);
        } else if flags.una_advanced {
            let ack = self.tp().snd_una;
            self.cc.cong_avoid(ack, flags.newly_delivered);
            let stamp = self.jiffies();
            self.cc.tp_mut().snd_cwnd_stamp = stamp;
        }
        self.update_pacing_rate();
    }

    /// PRR (RFC 6937, with the slow-start reduction bound).
    pub(super) fn reduce_cwnd(&mut self, flags: &AckFlags) {
        let delivered = flags.newly_delivered;
        let (prr_delivered, prr_out) = (self.prr_delivered + delivered, self.prr_out);
        let tp = self.cc.tp_mut();
        if delivered == 0 || tp.prior_cwnd == 0 {
            return;
        }
        let in_flight = in_flight(tp);
        let budget = if tp.snd_ssthresh < in_flight {
            // Proportional: send ssthresh/prior_cwnd of the delivered packets.
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

    pub(super) fn forget_tlp(&mut self) {
        self.tlp_high_seq = None;
    }

    /// Whether PRR moves cwnd, and not rate halving.
    pub(super) fn reduces_by_prr(&self) -> bool {
        self.profile.reduction == Reduction::Prr
    }
}

/// `tcp_packets_in_flight`.
#[inline]
pub(super) fn in_flight(tp: &TcpSock) -> u32 {
    tp.packets_out - (tp.sacked_out + tp.lost_out) + tp.retrans_out
}
