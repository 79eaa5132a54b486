//! The differences between the kernels of the papers and today's kernel, as data, and what a
//! scenario switches.
//!
//! A [`Kernel`] names its mechanism for each job, in the state at the start of a connection.
//! [`Sender::new`](super::Sender::new) copies the mechanisms. No later code asks for the era.

use super::bursts::Bursts;
use super::clock::Clock;
use super::constants::RTO_MIN_US;
use super::loss::{Fack, LossDetection, Rack};
use super::receive_buffer::ReceiveBuffer;
use super::receiver_rtt::Compression;
use super::recovery::{Prr, RateHalving, Reduction};
use super::validate::Validates;
use crate::scenario::Profile;
use ackclock_host::Era;
use ackclock_net::buffer::Buffer;

/// Behaviour of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Which kernel's helpers the algorithms use.
    pub era: Era,
    /// Retransmission timeout before the first measurement, µs.
    pub initial_rto_us: u64,
    /// How many SYNs are sent again after this time before it doubles (Linux 6.5 on).
    pub(crate) linear_syns: u32,
    /// How cwnd moves during recovery.
    pub(super) reduction: Reduction,
    /// How the sender finds lost segments.
    pub(super) loss_detection: LossDetection,
    /// Whether the sender sends tail loss probes (RFC 8985, 7).
    pub(super) tail_loss_probe: bool,
    /// Whether the sender uses F-RTO (RFC 5682).
    pub(super) frto: bool,
    /// Whether the sender uses F-RTO with SACK, as Linux 2.6 had it (RFC 4138, appendix B).
    pub(super) sack_frto: bool,
    /// When the kernel judges whether cwnd was the limit.
    pub(super) validates: Validates,
    /// How the kernel makes bursts if TSO is on.
    pub(super) offload: Bursts,
    /// Whether the kernel keeps `sk_pacing_rate` even without pacing.
    pub(super) keeps_pacing_rate: bool,
    /// How the receiver compresses the ACKs of out-of-order data, if it does.
    pub(super) sack_compression: Option<Compression>,
    /// How many segments get an ACK each after a pause or a duplicate (`TCP_MAX_QUICKACKS`). At
    /// the start of a connection there is one more.
    pub(super) quick_acks: u32,
    /// Shortest delay of a delayed ACK, µs (`TCP_ATO_MIN`).
    pub(super) delayed_ack_us: u64,
    /// `TCP_DELACK_MAX` bounds how long ACKs wait, as the RTO does.
    pub(super) bounds_ato: bool,
    /// Whether the ends of the write queue's packets show in the bursts (`tcp_tso_should_defer`).
    pub(super) splits_writes: bool,
    /// Whether a burst of more than one segment ends with PSH (Linux 4.11 on).
    pub(crate) pushes_bursts: bool,
    /// Whether receivers have asked for a window below its right edge, as with autotuning off.
    pub(super) clamps_window: bool,
    /// Whether the timer wheel rounds up (Linux 4.8 on).
    pub(super) timers_round_up: bool,
}

/// What a scenario switches on a host with any kernel.
#[derive(Clone, Copy, Debug)]
pub struct Switches {
    /// Whether the host uses TSO. Linux 6 makes bursts of up to 1 ms of the pacing rate. Linux 2.6
    /// makes bursts of up to 64 KB, and waits until a third of the window is free.
    pub tso: bool,
    /// Whether packets leave at `sk_pacing_rate`, and not at once.
    pub pacing: bool,
    /// Highest `sk_pacing_rate` (`SO_MAX_PACING_RATE`), bytes per second.
    pub max_pacing_rate: u64,
    /// Packets of the initial window, if the route has a number of its own.
    pub initcwnd: Option<u32>,
    /// Whether both ends use SACK (`tcp_sack`).
    pub sack: bool,
    /// Whether RACK finds losses (`tcp_recovery`).
    pub rack: bool,
    /// Whether tail loss probes are allowed (`tcp_early_retrans`).
    pub tlp: bool,
    /// Whether both ends send timestamps (`tcp_timestamps`).
    pub timestamps: bool,
    /// Whether an idle window shrinks (`tcp_slow_start_after_idle`).
    pub slow_start_after_idle: bool,
    /// What a timeout adds to the RTT at least, in whole jiffies, if a route says so (`rto_min`), µs.
    pub rto_min_us: Option<u32>,
    /// The receiver's buffer, whose room is the window; `None`: the window is that of `FlowLimits`.
    pub receive_buffer: Option<ReceiveBuffer>,
    /// Data segments per delayed ACK.
    pub segments_per_ack: u32,
    /// When the application of the receiver reads.
    pub reads: Reads,
    /// Whether no short way is taken (ADR 17). The result is the same, and tests compare the two.
    pub long_way: bool,
    /// Whether the flow changes to an algorithm that may want more of each packet.
    pub another_algorithm: bool,
    /// The scenario has the queue of the sender's own interface, with this room.
    pub small_queue: Option<Buffer>,
}

/// When the application of a receiver reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// As soon as data has arrived.
    AtOnce,
    /// When this many segments wait (`SO_RCVLOWAT`), and the first one at once.
    Bulk {
        /// How many segments.
        segments: u64,
    },
}

impl Kernel {
    /// The kernel of a profile.
    pub const fn for_profile(profile: Profile) -> Self {
        match profile {
            Profile::Linux6 => Self {
                era: Era::Linux6,
                initial_rto_us: 1_000_000,
                linear_syns: 4,
                reduction: Reduction::Prr(Prr::new()),
                loss_detection: LossDetection::Rack(Rack::new()),
                tail_loss_probe: true,
                frto: true,
                sack_frto: false,
                validates: Validates::EachTurn,
                offload: Bursts::Autosized,
                keeps_pacing_rate: true,
                sack_compression: Some(Compression::Linux6),
                quick_acks: 16,
                delayed_ack_us: 40_000,
                bounds_ato: true,
                splits_writes: true,
                pushes_bursts: true,
                clamps_window: true,
                timers_round_up: true,
            },
            Profile::Linux7 => Self {
                sack_compression: Some(Compression::Linux7),
                ..Self::for_profile(Profile::Linux6)
            },
            Profile::Linux2_6_18 => Self {
                reduction: Reduction::RateHalving(RateHalving { each_ack: true }),
                sack_frto: false,
                ..Self::for_profile(Profile::Linux2_6_25)
            },
            Profile::Linux2_6_32 => Self {
                validates: Validates::EachAck {
                    up_to_a_burst: true,
                },
                offload: Bursts::SavedTwoTicks,
                ..Self::for_profile(Profile::Linux2_6_25)
            },
            Profile::Linux2_6_25 => Self {
                era: Era::Linux2_6,
                initial_rto_us: 3_000_000,
                linear_syns: 0,
                reduction: Reduction::RateHalving(RateHalving { each_ack: false }),
                loss_detection: LossDetection::Fack(Fack),
                tail_loss_probe: false,
                frto: false,
                sack_frto: true,
                validates: Validates::EachAck {
                    up_to_a_burst: false,
                },
                offload: Bursts::Saved,
                keeps_pacing_rate: false,
                sack_compression: None,
                quick_acks: 16,
                delayed_ack_us: 40_000,
                bounds_ato: false,
                splits_writes: false,
                pushes_bursts: false,
                clamps_window: false,
                timers_round_up: false,
            },
        }
    }

    /// The same, kept once for all flows.
    pub const fn shared(profile: Profile) -> &'static Self {
        match profile {
            Profile::Linux6 => const { &Self::for_profile(Profile::Linux6) },
            Profile::Linux7 => const { &Self::for_profile(Profile::Linux7) },
            Profile::Linux2_6_18 => const { &Self::for_profile(Profile::Linux2_6_18) },
            Profile::Linux2_6_25 => const { &Self::for_profile(Profile::Linux2_6_25) },
            Profile::Linux2_6_32 => const { &Self::for_profile(Profile::Linux2_6_32) },
        }
    }

    /// A clock with `hz` ticks a second, which first ticks at `phase_ns`.
    pub const fn clock(&self, hz: u32, phase_ns: u64) -> Clock {
        Clock::new(self.timers_round_up, hz, phase_ns)
    }

    /// How a host makes bursts. `paced`: the scenario or the algorithm has the packets spaced.
    pub(super) const fn bursts(&self, tso: bool, paced: bool) -> Bursts {
        match (tso, paced) {
            (true, _) => self.offload,
            (false, true) => Bursts::Single,
            (false, false) if self.splits_writes => Bursts::Written,
            (false, false) => Bursts::Window,
        }
    }

    /// Initial window, packets: RFC 6928 in Linux 6, RFC 3390 in Linux 2.6.
    pub const fn initial_cwnd(&self, mss_bytes: u32) -> u32 {
        match self.era {
            Era::Linux6 => 10,
            Era::Linux2_6 if mss_bytes > 1460 => 2,
            Era::Linux2_6 if mss_bytes > 1095 => 3,
            Era::Linux2_6 => 4,
        }
    }
}

impl Switches {
    /// What a timeout adds to the RTT at least, µs (`tcp_rto_min_us`).
    pub(super) fn rto_min_us(&self) -> u32 {
        self.rto_min_us.unwrap_or(RTO_MIN_US)
    }

    /// The usual switches of hosts with this profile.
    pub const fn usual(profile: Profile) -> Self {
        Self {
            tso: profile.is_new(),
            pacing: false,
            max_pacing_rate: u64::MAX,
            initcwnd: None,
            sack: true,
            rack: true,
            tlp: true,
            timestamps: true,
            slow_start_after_idle: true,
            rto_min_us: None,
            receive_buffer: None,
            segments_per_ack: 2,
            reads: Reads::AtOnce,
            another_algorithm: false,
            long_way: false,
            small_queue: None,
        }
    }
}
