//! One flow's congestion control: a socket, an algorithm, and the hooks between.

use std::sync::Arc;

use crate::guarded::{Guarded, GUARD, GUARD_WORDS};
use crate::sock::{
    AckSample, CaEvent, CaState, Era, RateSample, TcpCongestionOps, TcpSock, TCP_INFINITE_SSTHRESH,
};
use crate::{crash, Algorithm, Configured};

/// What the host of a flow is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostConfig {
    /// Ticks (jiffies) per second, not 0.
    pub hz: u32,
    /// Whose helpers the algorithm gets.
    pub era: Era,
    /// Seed of the flow's random numbers.
    pub random_seed: u64,
    /// Payload of a full packet, bytes.
    pub mss_bytes: u32,
    /// Window to begin with, packets.
    pub initial_cwnd: u32,
    /// Slow-start threshold to begin with, packets.
    pub initial_ssthresh: u32,
    /// Number of the flow, from 1, which a crash of its file names. 0: it has none.
    pub flow: u32,
}

impl Default for HostConfig {
    /// A Linux 6 host as Debian builds it.
    fn default() -> Self {
        Self {
            hz: 250,
            era: Era::Linux6,
            random_seed: 0,
            mss_bytes: 1448,
            initial_cwnd: 10,
            initial_ssthresh: TCP_INFINITE_SSTHRESH,
            flow: 0,
        }
    }
}

/// A socket as an algorithm sees it, and the algorithm's hooks.
///
/// The caller sets the fields of [`tp_mut`](Self::tp_mut) before each call to what
/// they would be in Linux at that point of `tcp_ack`, and applies what a hook
/// returns. Two things are easily missed: CUBIC and others take jiffies 0 for
/// "not set", so a clock should not begin there (Linux's does not either), and
/// [`set_state`](Self::set_state) updates `icsk_ca_state` itself.
#[derive(Debug)]
pub struct CongestionControl {
    socket: Guarded,
    /// What `sk_host.params` is: `_params`, or the ops of a file in the kernel's form.
    block: *const u8,
    _params: Arc<[u32]>,
    /// What `sk_host.blocks` points to, for an algorithm of our dialect.
    _storage: Vec<u64>,
    /// Has the hooks, and keeps their code loaded.
    algorithm: Algorithm,
    /// `init` was called, and `release` was not.
    in_use: bool,
    /// `sysctl_tcp_min_tso_segs`
    min_tso_segs: u16,
}

/// The algorithm that every Linux has.
pub const FALLBACK: &str = "reno";

/// Linux's number of the state of an open connection.
const TCP_ESTABLISHED: u8 = 1;
const AF_INET: u16 = 2;

// SAFETY: the fields that are not Send are `block` and its copy in `tp`, which point
// to what `_params` or `algorithm` keep, and the blocks of kzalloc, which the socket alone
// has. Algorithms have no thread-local or global state: the built-in ones by review,
// others because compile.rs refuses writable data.
unsafe impl Send for CongestionControl {}

impl CongestionControl {
    /// A zeroed socket with the host's values. Does not call `init`, which Linux
    /// does when the connection is established.
    ///
    /// # Panics
    /// `host.hz` is 0.
    pub fn new(configured: &Configured, host: HostConfig) -> Self {
        assert!(host.hz > 0, "a clock needs ticks");
        // SAFETY: it has numbers and pointers, and zero is a value of each.
        let mut tp: TcpSock = unsafe { std::mem::zeroed() };
        tp.bytes_acked = 1; // the SYN
        tp.delivered = 1; // the handshake
        tp.snd_cwnd = host.initial_cwnd;
        tp.snd_cwnd_clamp = u32::MAX;
        tp.snd_ssthresh = host.initial_ssthresh;
        tp.rtt_min.s[0].v = u32::MAX;
        tp.mss_cache = host.mss_bytes;
        tp.inet_conn.icsk_rto = host.hz;
        tp.inet_conn.icsk_ca_state = CaState::Open as u8;
        tp.inet_conn.icsk_guard = GUARD;
        let sk = &mut tp.inet_conn.sk;
        sk.sk_pacing_rate = u64::MAX;
        sk.sk_max_pacing_rate = u64::MAX;
        sk.sk_pacing_shift = 10;
        sk.sk_gso_max_size = 65536;
        (sk.sk_state, sk.sk_family) = (TCP_ESTABLISHED, AF_INET);
        sk.sk_host.random = splitmix64(host.random_seed);
        sk.sk_host.hz = host.hz;
        sk.sk_host.era = host.era as u8;
        let algorithm = configured.load(host.hz);
        let algorithm = algorithm.unwrap_or_else(|error| panic!("{error}"));
        let params = Arc::clone(configured.block());
        let block = match algorithm.kernel_form() {
            Some(kernel) => kernel.ops() as *const u8,
            None => params.as_ptr().cast(),
        };
        let mut storage = Vec::new();
        if algorithm.storage_bytes() > 0 {
            // As the blocks of kzalloc (module.c): the next, its bytes, and the block.
            let bytes = u64::from(algorithm.storage_bytes());
            storage.resize(2 + bytes.div_ceil(8) as usize, 0_u64);
            storage[1] = bytes;
            tp.inet_conn.sk.sk_host.blocks = storage.as_mut_ptr().cast();
        }
        if !algorithm.is_built_in() {
            crash::prepare_thread();
        }
        Self {
            socket: Guarded {
                flow: host.flow,
                guest: algorithm.guest(),
                before: [GUARD; GUARD_WORDS],
                tp,
                after: [GUARD; GUARD_WORDS],
            },
            block,
            _params: params,
            _storage: storage,
            algorithm,
            in_use: false,
            min_tso_segs: 2,
        }
    }

    /// Ends the process if the algorithm wrote beside its socket, or beyond its private state:
    /// then nothing in memory can be trusted.
    fn check_guards(&self) {
        let Guarded {
            before, tp, after, ..
        } = &self.socket;
        let what = if tp.inet_conn.icsk_guard != GUARD {
            "writes beyond the 104 bytes of its private state (a bad index or pointer)"
        } else if before.iter().chain(after).any(|word| *word != GUARD) {
            "writes beyond its socket (a bad index or pointer)"
        } else {
            return;
        };
        crash::end(self.algorithm.source_path(), what);
    }

    /// The socket.
    #[inline]
    pub fn tp(&self) -> &TcpSock {
        &self.socket.tp
    }

    /// The socket, to be kept true by the caller.
    #[inline]
    pub fn tp_mut(&mut self) -> &mut TcpSock {
        &mut self.socket.tp
    }

    #[inline]
    fn ops(&self) -> &TcpCongestionOps {
        self.algorithm.ops()
    }

    /// What C gets. The parameter pointer is set here and not in `new`, because
    /// safe code may copy one flow's `TcpSock` over another's.
    #[inline]
    fn sk(&mut self) -> *mut TcpSock {
        let tp = &mut self.socket.tp;
        tp.inet_conn.sk.sk_host.params = self.block;
        &raw mut *tp
    }

    // SAFETY of every call below: the function pointers come from the module that
    // `algorithm` keeps loaded, with the signatures that C declares in
    // tcp_cc_types.h (sock.rs mirrors them); `sk` points to a live socket of C's
    // layout (tested) that nothing else refers to during the call, and its parameter
    // block has one u32 per declared parameter. The C code itself is trusted.

    /// The connection is established, or the algorithm was just chosen for it. If that calls
    /// `cc_become_reno`, the algorithm is Reno from then on.
    pub fn init(&mut self) {
        self.in_use = true;
        if let Some(hook) = self.ops().init {
            // SAFETY: see above.
            unsafe { hook(self.sk()) }
            self.take_ops();
        }
        if self.socket.tp.inet_conn.sk.sk_host.is_reno != 0 {
            self.algorithm = Algorithm::find("reno").expect("it is built in");
        }
    }

    /// The ops that init of a file in the kernel's form has put into icsk_ca_ops.
    fn take_ops(&mut self) {
        let ops = self.socket.tp.inet_conn.sk.sk_host.params;
        let kernel = self.algorithm.kernel_form();
        if let Some(kernel) = kernel.filter(|_| ops != self.block) {
            self.block = ops;
            self.algorithm = kernel.switched(ops as usize);
        }
    }

    /// The connection ends, or another algorithm was chosen. A connection that is dropped ends,
    /// too: nobody needs to call this.
    pub fn release(&mut self) {
        self.in_use = false;
        if let Some(hook) = self.ops().release {
            // SAFETY: see above.
            unsafe { hook(self.sk()) }
        }
    }

    /// Another algorithm takes over an open connection, as with `TCP_CONGESTION`
    /// (`tcp_reinit_congestion_control`): it gets a private state of zeros and its `init`; the window and
    /// the rest of the socket stay. The same algorithm only gets the parameters, as those of a module
    /// that somebody writes.
    pub fn change(&mut self, configured: &Configured) {
        let (old, new) = (&self.algorithm, configured.algorithm());
        let is_same = (old.name(), old.fingerprint()) == (new.name(), new.fingerprint());
        if is_same && !new.is_kernel_form() {
            self._params = Arc::clone(configured.block());
            self.block = self._params.as_ptr().cast();
            return;
        }
        if self.in_use {
            self.release();
        }
        let host = HostConfig {
            hz: self.tp().inet_conn.sk.sk_host.hz,
            flow: self.socket.flow,
            ..HostConfig::default()
        };
        let mut next = Self::new(configured, host);
        let blocks = next.tp().inet_conn.sk.sk_host.blocks;
        std::mem::swap(&mut next.socket.tp, &mut self.socket.tp);
        let tp = next.tp_mut();
        tp.prior_ssthresh = 0;
        tp.inet_conn.icsk_ca_priv.fill(0);
        (
            tp.inet_conn.sk.sk_host.blocks,
            tp.inet_conn.sk.sk_host.is_reno,
        ) = (blocks, 0);
        *self = next;
        self.init();
    }

    /// A reduction begins: the new slow-start threshold, packets.
    pub fn ssthresh(&mut self) -> u32 {
        let hook = self.ops().ssthresh.expect("from_module checked it");
        // SAFETY: see above.
        let ssthresh = unsafe { hook(self.sk()) };
        self.check_guards();
        ssthresh
    }

    /// New data was ACKed: `acked` packets, up to sequence number `ack`.
    #[inline]
    pub fn cong_avoid(&mut self, ack: u32, acked: u32) {
        if let Some(hook) = self.ops().cong_avoid {
            // SAFETY: see above.
            unsafe { hook(self.sk(), ack, acked) }
        }
    }

    /// The sender enters a state. As in Linux the hook still sees the old one in
    /// `icsk_ca_state`, which this then updates.
    pub fn set_state(&mut self, new_state: CaState) {
        if let Some(hook) = self.ops().set_state {
            // SAFETY: see above.
            unsafe { hook(self.sk(), new_state as u8) }
        }
        self.socket.tp.inet_conn.icsk_ca_state = new_state as u8;
    }

    /// Something happened to the window or the marks on packets.
    pub fn cwnd_event(&mut self, event: CaEvent) {
        if let Some(hook) = self.ops().cwnd_event {
            // SAFETY: see above.
            unsafe { hook(self.sk(), event) }
        }
    }

    /// Does the algorithm want [`in_ack_event`](Self::in_ack_event)?
    #[inline]
    pub fn has_in_ack_event(&self) -> bool {
        self.ops().in_ack_event.is_some()
    }

    /// An ACK arrived (`enum tcp_ca_ack_event_flags`).
    #[inline]
    pub fn in_ack_event(&mut self, flags: u32) {
        if let Some(hook) = self.ops().in_ack_event {
            // SAFETY: see above.
            unsafe { hook(self.sk(), flags) }
        }
    }

    /// Does the algorithm want [`pkts_acked`](Self::pkts_acked)?
    #[inline]
    pub fn has_pkts_acked(&self) -> bool {
        self.ops().pkts_acked.is_some()
    }

    /// The retransmission queue was cleaned by an ACK.
    #[inline]
    pub fn pkts_acked(&mut self, sample: &AckSample) {
        if let Some(hook) = self.ops().pkts_acked {
            // SAFETY: see above; `sample` lives through the call.
            unsafe { hook(self.sk(), sample) }
        }
    }

    /// A reduction proved spurious: the window to return to, packets. By default
    /// the larger of `snd_cwnd` and `prior_cwnd`.
    pub fn undo_cwnd(&mut self) -> u32 {
        match self.ops().undo_cwnd {
            // SAFETY: see above.
            Some(hook) => unsafe { hook(self.sk()) },
            None => self.tp().snd_cwnd.max(self.tp().prior_cwnd),
        }
    }

    /// How low a reduction may take `snd_cwnd` in Linux 2.6, packets. By default ssthresh.
    pub fn min_cwnd(&mut self) -> u32 {
        match self.ops().min_cwnd {
            // SAFETY: see above.
            Some(hook) => unsafe { hook(self.sk()) },
            None => self.tp().snd_ssthresh,
        }
    }

    /// Does the algorithm set window and pacing rate itself, on every ACK?
    #[inline]
    pub fn has_cong_control(&self) -> bool {
        self.ops().cong_control.is_some()
    }

    /// An ACK was processed, for algorithms that
    /// [`has_cong_control`](Self::has_cong_control).
    #[inline]
    pub fn cong_control(&mut self, ack: u32, flag: i32, rs: &RateSample) {
        if let Some(hook) = self.ops().cong_control {
            // SAFETY: see above; `rs` lives through the call.
            unsafe { hook(self.sk(), ack, flag, rs) }
        }
    }

    /// Does the algorithm say itself how large its send buffer must be?
    #[inline]
    pub fn has_sndbuf_expand(&self) -> bool {
        self.ops().sndbuf_expand.is_some()
    }

    /// How many windows a growing send buffer has room for. By default 2.
    pub fn sndbuf_expand(&mut self) -> u32 {
        match self.ops().sndbuf_expand {
            // SAFETY: see above.
            Some(hook) => unsafe { hook(self.sk()) },
            None => 2,
        }
    }

    /// Did a hook call `tcp_enter_cwr` since this was asked last?
    #[inline]
    pub fn enters_cwr(&mut self) -> bool {
        let asked = &mut self.socket.tp.inet_conn.sk.sk_host.enters_cwr;
        *asked != 0 && std::mem::take(asked) != 0
    }

    /// The algorithm.
    #[inline]
    pub fn algorithm(&self) -> &Algorithm {
        &self.algorithm
    }

    /// Does the algorithm want [`min_tso_segs`](Self::min_tso_segs)?
    pub fn has_min_tso_segs(&self) -> bool {
        self.ops().min_tso_segs.is_some()
    }

    /// The host's own least number of packets in an offloaded burst (`tcp_min_tso_segs`).
    pub fn set_min_tso_segs(&mut self, segments: u16) {
        self.min_tso_segs = segments;
    }

    /// Least packets in an offloaded burst. By default 2.
    pub fn min_tso_segs(&mut self) -> u32 {
        match self.ops().min_tso_segs {
            // SAFETY: see above.
            Some(hook) => unsafe { hook(self.sk()) },
            None => self.min_tso_segs.into(),
        }
    }
}

impl Drop for CongestionControl {
    fn drop(&mut self) {
        if self.in_use {
            self.release();
        }
        self.check_guards();
    }
}

/// Spreads a seed over 64 bits (Steele, Lea, Flood 2014); never 0, where xorshift
/// would stay.
fn splitmix64(seed: u64) -> u64 {
    let mut x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 31)).max(1)
}
