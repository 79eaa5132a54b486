//! The hooks: the calls into the algorithm.

use super::super::constants::REORDERING;
use super::super::ecn;
use super::Host;
use ackclock_host::{AckSample, CaEvent, CaState, Configured, RateSample};

/// `CA_ACK_SLOWPATH` and `CA_ACK_WIN_UPDATE` of `in_ack_event`.
const CA_ACK_SLOWPATH: u32 = 1;
const CA_ACK_WIN_UPDATE: u32 = 2;
/// `CA_ACK_ECE`: the ACK carries ECE.
const CA_ACK_ECE: u32 = 4;
/// The least window that a send buffer has room for, packets.
const TCP_INIT_CWND: u32 = 10;
/// Of each packet, as the send buffer is sized: the option with timestamps, which the peer's MSS includes,
/// `MAX_TCP_HEADER` with `skb_shared_info`, and `sk_buff`.
const STAMPS_BYTES: u64 = 12;
const HEADERS_BYTES: u64 = 320 + 320;
const SK_BUFF_BYTES: u64 = 256;

impl Host {
    pub(in crate::tcp) fn init(&mut self) {
        self.cc.init();
    }

    pub(in crate::tcp) fn change_algorithm(&mut self, configured: &Configured) {
        self.cc.change(configured);
    }

    /// Calls `in_ack_event`. Linux has already moved snd_una to `una`. `slow`: header prediction
    /// failed, because of SACK blocks, another window field or ECE.
    #[inline]
    pub(in crate::tcp) fn in_ack_event(&mut self, una: u64, advanced: bool, slow: bool, ece: bool) {
        if !self.cc.has_in_ack_event() {
            return;
        }
        self.publish_una(una);
        let update = if advanced { CA_ACK_WIN_UPDATE } else { 0 };
        let path = if slow { CA_ACK_SLOWPATH } else { 0 };
        let echo = if ece { CA_ACK_ECE } else { 0 };
        self.cc.in_ack_event(update | path | echo);
    }

    #[inline]
    pub(in crate::tcp) fn pkts_acked(&mut self, sample: &AckSample) {
        if self.cc.has_pkts_acked() {
            self.cc.pkts_acked(sample);
        }
    }

    /// Calls `cong_avoid` for `acked` delivered packets.
    #[inline]
    pub(in crate::tcp) fn grow(&mut self, acked: u32) {
        let ack = self.tp().snd_una;
        self.cc.cong_avoid(ack, acked);
        self.stamp_cwnd();
    }

    #[inline]
    pub(in crate::tcp) fn has_cong_control(&self) -> bool {
        self.cc.has_cong_control()
    }

    /// Calls `cong_control`. `flag` has the bits of Linux's `tcp_input.c` (FLAG_*).
    #[inline]
    pub(in crate::tcp) fn cong_control(&mut self, flag: i32, sample: &RateSample) {
        let ack = self.tp().snd_una;
        self.cc.cong_control(ack, flag, sample);
    }

    /// Whether the algorithm reads what the delivery rate needs to know of each packet.
    pub(in crate::tcp) fn reads_delivery_rate(&self) -> bool {
        self.cc.algorithm().reads_delivery_rate()
    }

    /// Whether it reads counts of the time when a packet was sent.
    pub(in crate::tcp) fn reads_counts_when_sent(&self) -> bool {
        self.cc.algorithm().reads_counts_when_sent()
    }

    /// Whether a hook called `tcp_enter_cwr` since this was asked last.
    #[inline]
    pub(in crate::tcp) fn enters_cwr(&mut self) -> bool {
        self.cc.enters_cwr()
    }

    /// Whether a hook has asked for what few flows have: pacing, ECN, `tcp_enter_cwr`.
    #[inline]
    pub(in crate::tcp) fn is_asked(&self) -> bool {
        let (tp, sk) = (self.tp(), &self.tp().inet_conn.sk);
        sk.sk_pacing_status | u32::from(tp.ecn_flags | sk.sk_host.enters_cwr) != 0
    }

    /// Whether the algorithm has a hook that few have.
    pub(in crate::tcp) fn has_rare_hooks(&self) -> bool {
        self.cc.has_in_ack_event() || self.cc.has_cong_control() || self.cc.has_min_tso_segs()
    }

    /// How large the send buffer is to be: two windows, or as many as the algorithm says, of full packets
    /// of one segment (`tcp_sndbuf_expand`).
    pub(in crate::tcp) fn sndbuf_bytes(&mut self) -> u64 {
        let windows = match self.cc.has_sndbuf_expand() {
            true => self.cc.sndbuf_expand(),
            false => 2,
        };
        let tp = self.tp();
        let packets = tp.snd_cwnd.max(TCP_INIT_CWND).max(REORDERING + 1);
        let segment = u64::from(tp.mss_cache) + STAMPS_BYTES + HEADERS_BYTES;
        let per_mss = segment.next_power_of_two() + SK_BUFF_BYTES;
        u64::from(windows) * u64::from(packets) * per_mss
    }

    #[inline]
    pub(in crate::tcp) fn min_tso_segs(&mut self) -> u32 {
        self.cc.min_tso_segs()
    }

    #[inline]
    pub(in crate::tcp) fn event(&mut self, event: CaEvent) {
        self.cc.cwnd_event(event);
    }

    pub(in crate::tcp) fn set_state(&mut self, state: CaState) {
        self.cc.set_state(state);
    }

    /// Starts a reduction: the algorithm says where it ends (`ssthresh`).
    pub(in crate::tcp) fn begin_reduction(&mut self) {
        let tp = self.cc.tp_mut();
        tp.prior_cwnd = tp.snd_cwnd;
        let ssthresh = self.cc.ssthresh();
        self.set_ssthresh(ssthresh);
    }

    /// `tcp_ecn_queue_cwr`: with classic ECN the next new packet says that the window is reduced.
    pub(in crate::tcp) fn queue_cwr(&mut self) {
        if self.tp().ecn_flags & ecn::OK != 0 {
            self.cc.tp_mut().ecn_flags |= ecn::QUEUE_CWR;
        }
    }

    /// Undoes a spurious reduction: back to the window before it (`undo_cwnd`).
    pub(in crate::tcp) fn undo(&mut self) {
        if self.tp().prior_ssthresh > 0 {
            let cwnd = self.cc.undo_cwnd();
            let tp = self.cc.tp_mut();
            tp.snd_cwnd = cwnd;
            if tp.prior_ssthresh > tp.snd_ssthresh {
                tp.snd_ssthresh = tp.prior_ssthresh;
                // `tcp_ecn_withdraw_cwr`
                tp.ecn_flags &= !ecn::QUEUE_CWR;
            }
        }
        self.stamp_cwnd();
    }
}
