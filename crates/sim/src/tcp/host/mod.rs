//! The host contract: the socket that an algorithm sees, and its hooks.
//!
//! Only this module writes the fields of the sender's socket, and only it calls hooks. The algorithm itself
//! may also write the fields marked *. The mechanisms call the methods of [`Host`] and [`Counts`]
//! to say what has happened. A test compares these tables with `sock.rs` of `ackclock-host`: each
//! field and each hook has a row, and each test exists.
//!
//! How to drive it: call [`clock`](Host::clock) first in each call to the sender. Then call the
//! methods in the order of `tcp_ack`.
//!
//! | field | written by | test |
//! |---|---|---|
//! | `tcp_mstamp`, `tcp_clock_cache`, `sk_host.jiffies` | [`clock`](Host::clock) | `host::tests::the_clock_ticks_at_its_phase` |
//! | `snd_una`, `bytes_acked`, `snd_nxt` | [`publish_una`](Host::publish_una), [`publish_nxt`](Host::publish_nxt) | `host::tests::sequence_numbers_count_bytes_and_wrap`, `tests/sender.rs` |
//! | `snd_cwnd` * | [`set_cwnd`](Host::set_cwnd), [`undo`](Host::undo), [`restart_cwnd`](Host::restart_cwnd) | `tests/rfc.rs`, `tests/undo.rs`, `tests/sender.rs` |
//! | `snd_ssthresh` * | [`begin_reduction`](Host::begin_reduction), [`set_ssthresh`](Host::set_ssthresh), [`undo`](Host::undo), [`restart_cwnd`](Host::restart_cwnd) | `tests/rfc.rs`, `tests/undo.rs`, `tests/sender.rs` |
//! | `snd_cwnd_cnt` * | [`set_cwnd_cnt`](Host::set_cwnd_cnt) | `tests/undo.rs` |
//! | `snd_cwnd_stamp` * | [`stamp_cwnd`](Host::stamp_cwnd) | `host::tests::growth_is_stamped` |
//! | `snd_cwnd_used`, `is_cwnd_limited`, `max_packets_out` | [`set_usage`](Host::set_usage), [`set_cwnd_used`](Host::set_cwnd_used) | `validate::tests::the_strongest_sign_of_a_window_counts` |
//! | `prior_cwnd` | [`begin_reduction`](Host::begin_reduction) | `host::tests::a_reduction_is_undone` |
//! | `prior_ssthresh` | [`set_prior_ssthresh`](Host::set_prior_ssthresh) | `host::tests::a_reduction_is_undone` |
//! | `packets_out`, `sacked_out`, `lost_out`, `retrans_out`, `delivered`, `lost`, `total_retrans` | [`Counts`], for the scoreboard | `scoreboard::tests::every_segment_is_counted_once` |
//! | `delivered_mstamp` | [`stamp_delivered`](Host::stamp_delivered), [`note_delivered`](Host::note_delivered) | `host::tests::deliveries_are_dated` |
//! | `srtt_us`, `mdev_us` | [`publish_rtt`](Host::publish_rtt) | `tests/rfc.rs`, `rtt::tests::follows_rfc6298` |
//! | `rtt_min` | [`publish_min_rtt`](Host::publish_min_rtt) | `tests/contract.rs`, `rtt::tests::the_windowed_minimum_knows_its_successors` |
//! | `icsk_rto` | [`publish_rto`](Host::publish_rto), [`back_off_rto`](Host::back_off_rto) | `host::tests::the_timeout_is_in_jiffies`, `tests/contract.rs` |
//! | `app_limited` * | [`check_app_limited`](Host::check_app_limited), [`note_delivered`](Host::note_delivered) | `host::tests::an_application_that_writes_too_little`, `tests/contract.rs` |
//! | `lsndtime` | [`note_sent`](Host::note_sent), [`date_idleness`](Host::date_idleness) | `host::tests::sending_is_dated` |
//! | `sk_pacing_rate` * | [`set_pacing_rate`](Host::set_pacing_rate) | `pacing::tests::the_rate_follows_the_window` |
//! | `tcp_wstamp_ns` | [`set_next_send_ns`](Host::set_next_send_ns), for the pacer | `pacing::tests::bursts_take_their_time` |
//! | `sk_pacing_status` * | [`new`](Host::new), once; the pacer obeys it | `host::tests::what_a_connection_begins_with`, `pacing::tests::who_does_not_pace_holds_nothing` |
//! | `icsk_ca_state` | [`set_state`](Host::set_state) | `tests/sender.rs` |
//! | `sk_max_pacing_rate` | [`limit_pacing_rate`](Host::limit_pacing_rate), once | `pacing::tests::the_application_limits_the_rate` |
//! | `snd_cwnd_clamp`, `sk_gso_max_size`, `sk_pacing_shift` | [`new`](Host::new), once | `host::tests::what_a_connection_begins_with` |
//! | `rcv_nxt`, `icsk_ack.pending` *, `sk_host.{acks, ack_ecn_flags, ack_rcv_nxt}` * | [`Echo`](ecn::Echo) at the receiver; 0 at the sender | `ecn::tests::dctcp_tells_each_change` |
//! | `data_segs_out`, `bytes_sent`, `write_seq`, `snd_wnd` | [`publish_sent`](Host::publish_sent), [`publish_queue`](Host::publish_queue), for files that read them | `tests/kernel_contract.rs` |
//! | `sk_family`, `sk_prot` * | `CongestionControl::new`, once; only the algorithm | `ackclock-host` |
//! | `rx_opt` | [`publish_timestamps`](Host::publish_timestamps), for files that read it | `tests/kernel_contract.rs` |
//! | `tlp_orig_data_app_limited` | [`note_probe`](Host::note_probe) | `tests/kernel_contract.rs` |
//! | `fast_ack_mode` * | only the algorithm; no effect | `tests/kernel_contract.rs` |
//! | `mss_cache`, `sk_state`, `sk_host.{hz, era, random, params}` | `CongestionControl::new`, once | `ackclock-host` |
//! | `sk_host.blocks` * | `CongestionControl`, which frees them with the socket | `ackclock-host` |
//! | `sk_host.enters_cwr` * | only the algorithm; [`enters_cwr`](Host::enters_cwr) takes it | `tests/kernel_contract.rs` |
//! | `sk_host.is_reno` * | only the algorithm; `CongestionControl::init` obeys | `tests/become_reno.rs` |
//! | `delivered_ce` | [`count_ce`](Host::count_ce) | `tests/contract.rs`, `tests/accurate_ecn.rs` |
//! | `icsk_ca_priv` * | only the algorithm | `ackclock-host` |
//! | `icsk_guard` | `CongestionControl::new`, once, for the checks of `ackclock-host` | `ackclock-host` |
//! | `ecn_flags` * | [`use_ecn`](Host::use_ecn), [`queue_cwr`](Host::queue_cwr), [`undo`](Host::undo), [`marks_of_new_data`](Host::marks_of_new_data) | `tests/contract.rs` |
//!
//! | argument of a hook | filled by | test |
//! |---|---|---|
//! | `ack_sample`: `pkts_acked`, `rtt_us`, `in_flight` | [`Sender`](super::Sender); [`RateSampler`](super::rate::RateSampler) for files that read `in_flight` | `tests/contract.rs`, `rtt::tests::follows_rfc6298` |
//! | `rate_sample`: `prior_mstamp`, `prior_delivered`, `delivered`, `interval_us`, `is_app_limited`, `is_retrans`; `is_ack_delayed`: never | [`RateSampler`](super::rate::RateSampler) | `rate::tests::acknowledgements`, `rate::tests::sacks_and_a_retransmission`, `tests/contract.rs` |
//! | `rate_sample`: `snd_interval_us`, `rcv_interval_us`, `last_end_seq`; for files that read them: `prior_delivered_ce`, `delivered_ce`, `prior_lost`, `lost`, `tx_in_flight` | [`RateSampler`](super::rate::RateSampler) | `tests/kernel_contract.rs` |
//! | `rate_sample`: `is_ece`, `is_acking_tlp_retrans_seq` | [`Sender`](super::Sender) | `tests/kernel_contract.rs` |
//! | `rate_sample`: `rtt_us`, `losses`, `acked_sacked`, `prior_in_flight` | [`Sender`](super::Sender) | `rate::tests::the_counts_of_an_ack`, `tests/contract.rs` |
//!
//! | hook | called by | test |
//! |---|---|---|
//! | `init` | [`init`](Host::init), when the connection is established | `tests/sender.rs` |
//! | `release` | `CongestionControl`, when the connection ends | `tests/contract.rs` |
//! | `in_ack_event` | [`in_ack_event`](Host::in_ack_event) | `tests/sender.rs` |
//! | `pkts_acked` | [`pkts_acked`](Host::pkts_acked) | `tests/sender.rs` |
//! | `ssthresh` | [`begin_reduction`](Host::begin_reduction) | `tests/sender.rs` |
//! | `set_state` | [`set_state`](Host::set_state) | `tests/sender.rs` |
//! | `cwnd_event` | [`event`](Host::event); `CA_EVENT_ECN_*`: [`Echo`](ecn::Echo) at the receiver, if the algorithm needs ECN | `tests/sender.rs`, `ecn::tests::dctcp_tells_each_change` |
//! | `cong_avoid` | [`grow`](Host::grow) | `tests/sender.rs` |
//! | `cong_control` | [`cong_control`](Host::cong_control); refused with the profiles of Linux 2.6 | `tests/contract.rs` |
//! | `undo_cwnd` | [`undo`](Host::undo) | `tests/undo.rs` |
//! | `min_cwnd` | [`min_cwnd`](Host::min_cwnd), with the profiles of Linux 2.6 | `recovery/rate_halving::tests::how_far_it_goes`, `tests/contract.rs` |
//! | `min_tso_segs` | [`min_tso_segs`](Host::min_tso_segs) | `bursts::tests::how_large`, `tests/contract.rs` |
//! | `sndbuf_expand` | [`sndbuf_bytes`](Host::sndbuf_bytes), until the application writes again | `tests/send_buffer.rs`, `tests/contract.rs` |
//! | `flags`: `TCP_CONG_NEEDS_ECN` | the flow, when it connects | `tests/dctcp.rs` |
//! | `flags`: `TCP_CONG_NEEDS_ACCECN`, `TCP_CONG_ECT_1_NEGOTIATION` | the flow, when it connects | `tests/kernel_contract.rs` |
//! | `name` | refused: `CC_ALGORITHM` sets it | `ackclock-host` |

mod counts;
mod hooks;
#[cfg(test)]
mod tests;

use super::clock::Clock;
use super::constants::{GSO_MAX_BYTES, RTO_MAX_US};
use super::ecn::{self, Marks};
use crate::scenario::EcnMode;
use ackclock_host::{
    CaState, CongestionControl, TcpOptionsReceived, TcpSock, TCP_INFINITE_SSTHRESH,
};
use ackclock_net::queue::Ecn;

pub(super) use counts::Counts;

/// Largest congestion window, packets: 1 Tb/s over 200 ms.
pub(super) const MAX_CWND: u32 = 1 << 24;

/// What an algorithm sees of its host, and the host's clock.
pub(super) struct Host {
    cc: CongestionControl,
    clock: Clock,
    /// The jiffy in which data last waited for a larger burst (`tso_deferred`), if it still waits.
    deferred_at: u32,
    is_deferred: bool,
}

impl Host {
    /// `paces`: packets leave at `sk_pacing_rate`. Does not call `init`.
    pub(super) fn new(
        mut cc: CongestionControl,
        clock: Clock,
        initial_cwnd: u32,
        paces: bool,
        now_ns: u64,
    ) -> Self {
        let tp = cc.tp_mut();
        tp.snd_cwnd = initial_cwnd;
        tp.snd_cwnd_clamp = u32::MAX;
        tp.inet_conn.sk.sk_gso_max_size = GSO_MAX_BYTES as u32;
        tp.inet_conn.sk.sk_pacing_status = u32::from(paces);
        let mut host = Self {
            deferred_at: 0,
            is_deferred: false,
            cc,
            clock,
        };
        host.clock(now_ns);
        host
    }

    // --- What the host shows

    /// The socket.
    #[inline]
    pub(super) fn tp(&self) -> &TcpSock {
        self.cc.tp()
    }

    /// Time of the current call.
    #[inline]
    pub(super) fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// The same in whole microseconds (`tcp_mstamp`).
    #[inline]
    pub(super) fn now_us(&self) -> u64 {
        self.tp().tcp_mstamp
    }

    #[inline]
    pub(super) fn jiffies(&self) -> u32 {
        self.tp().inet_conn.sk.sk_host.jiffies
    }

    /// `usecs_to_jiffies`
    #[inline]
    pub(super) fn jiffies_of_us(&self, us: u64) -> u64 {
        self.clock.jiffies_of_us(us)
    }

    /// When a timer fires that is armed now for so many jiffies.
    #[inline]
    pub(super) fn fires_ns(&self, wait: u64) -> u64 {
        self.clock.fires_ns(wait)
    }

    /// Whether other hosts count the same jiffies.
    pub(super) fn has_no_phase(&self) -> bool {
        self.clock.has_no_phase()
    }

    /// The place of such a timer among those that fire with it.
    pub(super) fn place_in_wheel(&self, wait: u64) -> u64 {
        self.clock.place(wait)
    }

    /// `tcp_pacing_delay`: jiffies until pacing lets the next packet leave.
    pub(super) fn pacing_delay(&self) -> u64 {
        let wait_ns = self.tp().tcp_wstamp_ns.saturating_sub(self.now_ns());
        self.clock.jiffies_in(wait_ns)
    }

    /// `tcp_packets_in_flight`.
    #[inline]
    pub(super) fn in_flight(&self) -> u32 {
        let tp = self.tp();
        tp.packets_out - (tp.sacked_out + tp.lost_out) + tp.retrans_out
    }

    /// Whether the window is full.
    #[inline]
    pub(super) fn cwnd_is_full(&self) -> bool {
        self.in_flight() >= self.tp().snd_cwnd
    }

    #[inline]
    pub(super) fn state(&self) -> CaState {
        match self.tp().inet_conn.icsk_ca_state {
            0 => CaState::Open,
            1 => CaState::Disorder,
            2 => CaState::Cwr,
            3 => CaState::Recovery,
            _ => CaState::Loss,
        }
    }

    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.tp().inet_conn.icsk_ca_state == CaState::Open as u8
    }

    /// `tcp_in_cwnd_reduction`.
    #[inline]
    pub(super) fn in_cwnd_reduction(&self) -> bool {
        let state = self.tp().inet_conn.icsk_ca_state;
        state == CaState::Cwr as u8 || state == CaState::Recovery as u8
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

    /// The least window of rate halving (`tcp_cwnd_min`).
    pub(super) fn min_cwnd(&mut self) -> u32 {
        self.cc.min_cwnd()
    }

    /// A window with a value that an algorithm must not set: its name, its value, its maximum.
    #[inline]
    pub(super) fn fault(&self) -> Option<(&'static str, u32, u32)> {
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

    // --- What happens to the connection

    /// Both ends have agreed how they use ECN.
    pub(super) fn use_ecn(&mut self, mode: EcnMode) {
        self.cc.tp_mut().ecn_flags |= match mode {
            EcnMode::Off => 0,
            EcnMode::Classic => ecn::OK,
            EcnMode::Accurate => ecn::ACCURATE,
        };
        if self.cc.algorithm().sends_ect_1() {
            self.cc.tp_mut().ecn_flags |= ecn::ECT_1;
        }
    }

    /// Sets the clock to the time of a call.
    #[inline]
    pub(super) fn clock(&mut self, now_ns: u64) {
        self.clock.advance(now_ns);
        let tp = self.cc.tp_mut();
        tp.tcp_mstamp = now_ns / 1_000;
        tp.tcp_clock_cache = now_ns;
        tp.inet_conn.sk.sk_host.jiffies = self.clock.jiffies() as u32;
    }

    /// Notes that data leaves.
    #[inline]
    pub(super) fn note_sent(&mut self) {
        self.is_deferred = false;
        self.cc.tp_mut().lsndtime = self.jiffies();
    }

    /// Notes that no data may leave for long (`tcp_finish_connect`).
    pub(super) fn date_idleness(&mut self) {
        self.cc.tp_mut().lsndtime = self.jiffies();
    }

    /// Notes that data waits for a larger burst.
    pub(super) fn note_deferred(&mut self) {
        (self.deferred_at, self.is_deferred) = (self.jiffies(), true);
    }

    /// Ticks since data last waited for a larger burst; 0 if none waits.
    pub(super) fn deferred_ticks(&self) -> u32 {
        match self.is_deferred {
            true => self.jiffies().wrapping_sub(self.deferred_at),
            false => 0,
        }
    }

    /// The counts of the scoreboard.
    #[inline]
    pub(super) fn counts(&mut self) -> Counts<'_> {
        Counts(self.cc.tp_mut())
    }

    /// Shows algorithms the first unacknowledged segment as the kernel counts: bytes, modulo 2³².
    #[inline]
    pub(super) fn publish_una(&mut self, una: u64) {
        let tp = self.cc.tp_mut();
        let bytes = una * u64::from(tp.mss_cache);
        (tp.snd_una, tp.bytes_acked) = (bytes as u32, bytes + 1);
    }

    /// The same for the next new segment.
    #[inline]
    pub(super) fn publish_nxt(&mut self, nxt: u64) {
        let tp = self.cc.tp_mut();
        tp.snd_nxt = (nxt as u32).wrapping_mul(tp.mss_cache);
    }

    /// Shows the timestamps of an ACK, ms: when it left, and when what it acknowledges was sent.
    #[cold]
    pub(super) fn publish_timestamps(&mut self, ack_ns: u64, echo_ns: u64) {
        let ms = |ns: u64| (ns / 1_000_000) as u32;
        self.cc.tp_mut().rx_opt = TcpOptionsReceived {
            rcv_tsval: ms(ack_ns),
            rcv_tsecr: ms(echo_ns),
        };
    }

    /// Shows that packets leave.
    pub(super) fn publish_sent(&mut self, segments: u32) {
        let tp = self.cc.tp_mut();
        tp.data_segs_out = tp.data_segs_out.wrapping_add(segments);
        tp.bytes_sent += u64::from(segments * tp.mss_cache);
    }

    /// Shows how many segments wait, and for how many the receiver has room.
    pub(super) fn publish_queue(&mut self, unsent: u64, room: u64) {
        const MOST: u64 = 1000;
        let tp = self.cc.tp_mut();
        let end = |segments: u64| tp.snd_nxt.wrapping_add(segments as u32 * tp.mss_cache);
        let (written, edge) = (end(unsent.min(MOST)), end(room.min(MOST * MOST)));
        (tp.write_seq, tp.snd_wnd) = (written, edge.wrapping_sub(tp.snd_una));
    }

    /// Notes whether the application had left nothing to send when the segment was sent that a probe
    /// repeats.
    pub(super) fn note_probe(&mut self, was_app_limited: bool) {
        self.cc.tp_mut().tlp_orig_data_app_limited = was_app_limited.into();
    }

    /// Notes that packets were delivered now, or that both intervals of the delivery rate begin
    /// now (`delivered_mstamp`).
    #[inline]
    pub(super) fn stamp_delivered(&mut self) {
        let tp = self.cc.tp_mut();
        tp.delivered_mstamp = tp.tcp_mstamp;
    }

    /// Notes how many packets an ACK delivered (`tcp_rate_gen`). If all packets from before a pause
    /// of the application are delivered, the pause has no effect any more.
    #[inline]
    pub(super) fn note_delivered(&mut self, newly_delivered: u32) {
        let tp = self.cc.tp_mut();
        if tp.app_limited != 0 && (tp.app_limited.wrapping_sub(tp.delivered) as i32) < 0 {
            tp.app_limited = 0;
        }
        if newly_delivered > 0 {
            self.stamp_delivered();
        }
    }

    /// Notes that the application writes, and had left nothing to send. If the window had room, the
    /// application was the limit (`tcp_rate_check_app_limited`).
    pub(super) fn check_app_limited(&mut self) {
        let in_flight = self.in_flight();
        let tp = self.cc.tp_mut();
        if in_flight < tp.snd_cwnd && tp.lost_out <= tp.retrans_out {
            tp.app_limited = tp.delivered.wrapping_add(in_flight).max(1);
        }
    }

    /// Sets the retransmission timeout, without back-off, in jiffies, rounded up
    /// (`tcp_set_rto`; RFC 6298, 5.7).
    #[inline]
    pub(super) fn publish_rto(&mut self, rto_us: u64) {
        self.cc.tp_mut().inet_conn.icsk_rto = self.clock.jiffies_of_us(rto_us) as u32;
    }

    /// The retransmission timeout with back-off, jiffies (`icsk_rto`).
    #[inline]
    pub(super) fn rto(&self) -> u64 {
        self.tp().inet_conn.icsk_rto.into()
    }

    /// The retransmission timeout with back-off, µs.
    #[inline]
    pub(super) fn rto_us(&self) -> u64 {
        u64::from(self.tp().inet_conn.icsk_rto) * self.clock.tick_us()
    }

    /// Doubles the timeout, up to its maximum (RFC 6298, 5.5).
    pub(super) fn back_off_rto(&mut self) {
        let csk = &mut self.cc.tp_mut().inet_conn;
        let most = (RTO_MAX_US / 1_000_000) as u32 * csk.sk.sk_host.hz;
        csk.icsk_rto = (csk.icsk_rto * 2).min(most);
    }

    /// Shows the smallest RTT of the last 300 s, µs.
    #[inline]
    pub(super) fn publish_min_rtt(&mut self, min_rtt_us: u32) {
        self.cc.tp_mut().rtt_min.s[0].v = min_rtt_us;
    }

    /// Shows srtt << 3 and the mean deviation << 2, µs.
    #[inline]
    pub(super) fn publish_rtt(&mut self, srtt_us: u32, mdev_us: u32) {
        let tp = self.cc.tp_mut();
        (tp.srtt_us, tp.mdev_us) = (srtt_us, mdev_us);
    }

    /// Whether both ends have agreed to use ECN.
    #[inline]
    pub(super) fn uses_ecn(&self) -> bool {
        self.tp().ecn_flags & (ecn::OK | ecn::ACCURATE) != 0
    }

    /// The marks of new data that leaves now (`tcp_ecn_send`). The first packet after a reduction
    /// carries CWR.
    #[inline]
    pub(super) fn marks_of_new_data(&mut self) -> Marks {
        let tp = self.cc.tp_mut();
        if tp.ecn_flags == 0 {
            return Marks::default();
        }
        let cwr = tp.ecn_flags & ecn::QUEUE_CWR != 0;
        tp.ecn_flags &= !ecn::QUEUE_CWR;
        Marks {
            field: ect(tp.ecn_flags),
            cwr,
        }
    }

    /// The marks of data that is sent again now. Only accurate ECN, or an algorithm that needs ECN,
    /// allows any.
    pub(super) fn marks_of_old_data(&self) -> Marks {
        let accurate = self.tp().ecn_flags & ecn::ACCURATE != 0;
        let allows = accurate || (self.uses_ecn() && self.cc.algorithm().needs_ecn());
        Marks {
            field: if allows {
                ect(self.tp().ecn_flags)
            } else {
                Ecn::NotEct
            },
            cwr: false,
        }
    }

    /// Notes the marks that an ACK tells of. ECE stands for all packets that the ACK `delivered`
    /// (`tcp_count_delivered`). A count of marked packets stands for those that no ACK told before; an
    /// ACK that was overtaken tells none (`tcp_accecn_process`). Returns whether the path is congested.
    pub(super) fn count_ce(&mut self, delivered: u32, ce_packets: u32) -> bool {
        let tp = self.cc.tp_mut();
        let (new, congested) = if tp.ecn_flags & ecn::ACCURATE == 0 {
            (delivered, true)
        } else {
            let new = (ce_packets.wrapping_sub(tp.delivered_ce) as i32).max(0);
            (new as u32, new > 0)
        };
        tp.delivered_ce = tp.delivered_ce.wrapping_add(new);
        congested
    }

    /// Sets `sk_pacing_rate`, bytes per second, to no more than the application allows.
    #[inline]
    pub(super) fn set_pacing_rate(&mut self, rate: u64) {
        let sk = &mut self.cc.tp_mut().inet_conn.sk;
        sk.sk_pacing_rate = rate.min(sk.sk_max_pacing_rate);
    }

    /// The application allows no higher rate (`SO_MAX_PACING_RATE`), bytes per second.
    pub(super) fn limit_pacing_rate(&mut self, rate: u64) {
        let sk = &mut self.cc.tp_mut().inet_conn.sk;
        sk.sk_max_pacing_rate = rate;
        self.set_pacing_rate(self.tp().inet_conn.sk.sk_pacing_rate);
    }

    /// Sets when pacing lets the next packet leave (`tcp_wstamp_ns`).
    #[inline]
    pub(super) fn set_next_send_ns(&mut self, at_ns: u64) {
        self.cc.tp_mut().tcp_wstamp_ns = at_ns;
    }

    #[inline]
    pub(super) fn set_cwnd(&mut self, cwnd: u32) {
        self.cc.tp_mut().snd_cwnd = cwnd;
    }

    /// Notes that the window was changed or validated now.
    #[inline]
    pub(super) fn stamp_cwnd(&mut self) {
        self.cc.tp_mut().snd_cwnd_stamp = self.jiffies();
    }

    pub(super) fn set_cwnd_cnt(&mut self, count: u32) {
        self.cc.tp_mut().snd_cwnd_cnt = count;
    }

    pub(super) fn set_ssthresh(&mut self, ssthresh: u32) {
        self.cc.tp_mut().snd_ssthresh = ssthresh;
    }

    /// Sets the ssthresh that an undo restores; 0: an undo restores nothing.
    pub(super) fn set_prior_ssthresh(&mut self, ssthresh: u32) {
        self.cc.tp_mut().prior_ssthresh = ssthresh;
    }

    /// Sets whether cwnd was the limit, and how many packets were out.
    #[inline]
    pub(super) fn set_usage(&mut self, limited: bool, packets_out: u32) {
        let tp = self.cc.tp_mut();
        tp.is_cwnd_limited = u8::from(limited);
        tp.max_packets_out = packets_out;
    }

    /// Sets the maximum of packets out while cwnd was not the limit.
    #[inline]
    pub(super) fn set_cwnd_used(&mut self, packets: u32) {
        self.cc.tp_mut().snd_cwnd_used = packets;
    }

    /// Sets the window after an idle time. The window counts as used.
    pub(super) fn restart_cwnd(&mut self, cwnd: u32, ssthresh: u32) {
        self.set_ssthresh(ssthresh);
        self.set_cwnd(cwnd);
        self.stamp_cwnd();
        self.set_cwnd_used(0);
    }

    /// The socket, with the fields that an algorithm may write.
    #[cfg(test)]
    pub(super) fn as_algorithm(&mut self) -> &mut TcpSock {
        self.cc.tp_mut()
    }
}

/// What allows marks: an algorithm asks for ECT(1) in `ecn_flags`.
#[inline]
fn ect(ecn_flags: u8) -> Ecn {
    if ecn_flags & ecn::ECT_1 == 0 {
        Ecn::Ect0
    } else {
        Ecn::Ect1
    }
}

/// Reno on a host with 1000 ticks a second, at 1 s, jiffy 1 001 001; cwnd is `cwnd`, and the timeout
/// 300 ms.
#[cfg(test)]
pub(super) fn reno(profile: crate::scenario::Profile, cwnd: u32) -> Host {
    riding("reno", profile, cwnd)
}

/// The same with another algorithm.
#[cfg(test)]
pub(super) fn riding(algorithm: &str, profile: crate::scenario::Profile, cwnd: u32) -> Host {
    use super::profile::Kernel;
    use ackclock_host::{Algorithm, HostConfig};
    let kernel = Kernel::for_profile(profile);
    let config = HostConfig {
        hz: 1000,
        era: kernel.era,
        ..HostConfig::default()
    };
    let cc = CongestionControl::new(&Algorithm::configure(algorithm).unwrap(), config);
    let mut host = Host::new(cc, kernel.clock(1000, 0), 10, false, 1_000_000_000);
    host.set_cwnd(cwnd);
    host.publish_rto(300_000);
    host
}
