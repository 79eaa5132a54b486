//! `#[repr(C)]` mirror of `algorithms/include/tcp_cc_types.h`.
//!
//! Field names, units and meaning are the C header's; they are documented there
//! once. `layout.rs` compares every offset and size with the C compiler's.
#![allow(missing_docs, reason = "the C header has them")]

/// Words of private state that a socket gives its algorithm.
pub const ICSK_CA_PRIV_WORDS: usize = 13;
/// `snd_ssthresh` before the first loss.
pub const TCP_INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// The .flags of `CC_ALGORITHM`.
pub const TCP_CONG_NON_RESTRICTED: u32 = 1;
pub const TCP_CONG_NEEDS_ECN: u32 = 1 << 1;
pub const TCP_CONG_NEEDS_ACCECN: u32 = 1 << 2;
pub const TCP_CONG_ECT_1_NEGOTIATION: u32 = 1 << 3;
/// Bits of `ecn_flags`.
pub const TCP_ECN_OK: u8 = 1;
pub const TCP_ECN_QUEUE_CWR: u8 = 1 << 1;
pub const TCP_ECN_DEMAND_CWR: u8 = 1 << 2;
pub const TCP_ECN_SEEN: u8 = 1 << 3;
pub const TCP_ECN_MODE_ACCECN: u8 = 1 << 4;
pub const TCP_ECN_ECT_1: u8 = 1 << 5;
/// Bits of `icsk_ack.pending`.
pub const ICSK_ACK_SCHED: u8 = 1;
pub const ICSK_ACK_TIMER: u8 = 1 << 1;
pub const ICSK_ACK_PUSHED: u8 = 1 << 2;
pub const ICSK_ACK_NOW: u8 = 1 << 4;

/// `enum tcp_ca_state`.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaState {
    Open = 0,
    Disorder = 1,
    Cwr = 2,
    Recovery = 3,
    Loss = 4,
}

/// `enum tcp_ca_event`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaEvent {
    TxStart = 0,
    CwndRestart = 1,
    CompleteCwr = 2,
    Loss = 3,
    EcnNoCe = 4,
    EcnIsCe = 5,
}

/// Which kernel's helpers (`tcp_slow_start`, `tcp_cong_avoid_ai`) the host is.
#[repr(u16)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// Linux 2.6: one segment per ACK, `cwnd <= ssthresh` is slow start.
    Linux2_6 = 0,
    /// Today's Linux: byte counting with carry, `cwnd < ssthresh`.
    Linux6 = 1,
}

#[repr(C)]
#[derive(Clone, Debug)]
pub struct CcHost {
    pub params: *const u8,
    pub random: u64,
    pub jiffies: u32,
    pub hz: u32,
    pub era: u8,
    pub is_reno: u8,
    pub acks: u8,
    pub ack_ecn_flags: u8,
    pub ack_rcv_nxt: u32,
    pub blocks: *mut u8,
    pub enters_cwr: u8,
}

#[repr(C)]
#[derive(Clone, Debug)]
pub struct Sock {
    pub sk_host: CcHost,
    pub sk_pacing_rate: u64,
    pub sk_pacing_status: u32,
    pub sk_gso_max_size: u32,
    pub sk_max_pacing_rate: u64,
    pub sk_pacing_shift: u8,
    pub sk_state: u8,
    pub sk_family: u16,
    pub sk_prot: *const u8,
}

#[repr(C)]
#[derive(Clone, Debug)]
pub struct InetConnectionSock {
    pub sk: Sock,
    pub icsk_rto: u32,
    pub icsk_ca_state: u8,
    pub icsk_ack: IcskAck,
    pub icsk_ca_priv: [u64; ICSK_CA_PRIV_WORDS],
    pub icsk_guard: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct IcskAck {
    pub pending: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpOptionsReceived {
    pub rcv_tsval: u32,
    pub rcv_tsecr: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MinmaxSample {
    pub v: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Minmax {
    pub s: [MinmaxSample; 1],
}

#[repr(C)]
#[derive(Clone, Debug)]
pub struct TcpSock {
    pub inet_conn: InetConnectionSock,
    pub tcp_mstamp: u64,
    pub delivered_mstamp: u64,
    pub tcp_clock_cache: u64,
    pub tcp_wstamp_ns: u64,
    pub bytes_acked: u64,
    pub snd_una: u32,
    pub snd_nxt: u32,
    pub snd_cwnd: u32,
    pub snd_cwnd_cnt: u32,
    pub snd_cwnd_stamp: u32,
    pub snd_ssthresh: u32,
    pub snd_cwnd_clamp: u32,
    pub snd_cwnd_used: u32,
    pub prior_cwnd: u32,
    pub prior_ssthresh: u32,
    pub packets_out: u32,
    pub retrans_out: u32,
    pub sacked_out: u32,
    pub lost_out: u32,
    pub max_packets_out: u32,
    pub delivered: u32,
    pub lost: u32,
    pub total_retrans: u32,
    pub srtt_us: u32,
    pub mdev_us: u32,
    pub rtt_min: Minmax,
    pub lsndtime: u32,
    pub mss_cache: u32,
    pub delivered_ce: u32,
    pub rcv_nxt: u32,
    pub app_limited: u32,
    pub ecn_flags: u8,
    pub is_cwnd_limited: u8,
    pub rx_opt: TcpOptionsReceived,
    pub bytes_sent: u64,
    pub data_segs_out: u32,
    pub write_seq: u32,
    pub snd_wnd: u32,
    pub tlp_orig_data_app_limited: u8,
    pub fast_ack_mode: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct AckSample {
    pub pkts_acked: u32,
    pub rtt_us: i32,
    pub in_flight: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    pub prior_mstamp: u64,
    pub prior_delivered: u32,
    pub prior_delivered_ce: u32,
    pub delivered: i32,
    pub delivered_ce: i32,
    pub interval_us: i64,
    pub snd_interval_us: u32,
    pub rcv_interval_us: u32,
    pub rtt_us: i64,
    pub losses: i32,
    pub acked_sacked: u32,
    pub prior_in_flight: u32,
    pub last_end_seq: u32,
    pub is_app_limited: bool,
    pub is_retrans: bool,
    pub is_ack_delayed: bool,
    pub is_ece: bool,
    pub is_acking_tlp_retrans_seq: bool,
    pub prior_lost: u32,
    pub tx_in_flight: u32,
    pub lost: i32,
}

/// The hooks of [`TcpCongestionOps`].
pub(crate) const HOOKS: usize = 13;
/// Those of a file in the kernel's form, and a setter of options (`hooks` of module.c).
pub(crate) const KERNEL_HOOKS: usize = 16;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpCongestionOps {
    pub ssthresh: Option<unsafe extern "C" fn(*mut TcpSock) -> u32>,
    pub cong_avoid: Option<unsafe extern "C" fn(*mut TcpSock, u32, u32)>,
    pub set_state: Option<unsafe extern "C" fn(*mut TcpSock, u8)>,
    pub cwnd_event: Option<unsafe extern "C" fn(*mut TcpSock, CaEvent)>,
    pub in_ack_event: Option<unsafe extern "C" fn(*mut TcpSock, u32)>,
    pub pkts_acked: Option<unsafe extern "C" fn(*mut TcpSock, *const AckSample)>,
    pub min_tso_segs: Option<unsafe extern "C" fn(*mut TcpSock) -> u32>,
    pub cong_control: Option<unsafe extern "C" fn(*mut TcpSock, u32, i32, *const RateSample)>,
    pub undo_cwnd: Option<unsafe extern "C" fn(*mut TcpSock) -> u32>,
    pub min_cwnd: Option<unsafe extern "C" fn(*const TcpSock) -> u32>,
    pub sndbuf_expand: Option<unsafe extern "C" fn(*mut TcpSock) -> u32>,
    pub init: Option<unsafe extern "C" fn(*mut TcpSock)>,
    pub release: Option<unsafe extern "C" fn(*mut TcpSock)>,
    pub flags: u32,
    pub name: [u8; 16],
}

impl TcpCongestionOps {
    /// Where the hooks lie, in order; 0: there is none.
    pub(crate) fn addresses(&self) -> [usize; HOOKS] {
        const _: () =
            assert!(std::mem::offset_of!(TcpCongestionOps, flags) == HOOKS * size_of::<usize>());
        // SAFETY: the structure begins with so many pointers to functions, or nulls.
        unsafe { *std::ptr::from_ref(self).cast() }
    }
}
