//! Host profiles: the differences between the kernels of the papers and today's kernel, as data.

use crate::scenario::Profile;
use ackclock_host::Era;

/// How cwnd moves during recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Proportional rate reduction (RFC 6937 with slow-start reduction bound).
    Prr,
    /// One segment less for every second ACK, never above in flight + 1 (Linux up to 3.1).
    RateHalving,
}

/// How the sender finds lost segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// RACK (RFC 8985): a segment is lost if it was sent sufficiently before a delivered segment.
    Rack,
    /// FACK: a segment is lost if it is three segments or more below the highest SACK.
    Fack,
}

/// Behaviour of an end host.
#[derive(Clone, Copy, Debug)]
pub struct HostProfile {
    /// Which kernel's helpers the algorithms use.
    pub era: Era,
    /// How cwnd moves during recovery.
    pub reduction: Reduction,
    /// How the sender finds lost segments.
    pub loss_detection: LossDetection,
    /// Retransmission timeout before the first measurement, µs.
    pub initial_rto_us: u64,
    /// Whether the sender sends tail loss probes (RFC 8985, 7).
    pub tail_loss_probe: bool,
    /// Whether the sender uses F-RTO (RFC 5682).
    pub frto: bool,
    /// Whether the host uses TSO. Linux 6 makes bursts of up to 1 ms of the pacing rate. Linux 2.6
    /// makes bursts of up to 64 KB, and waits until a third of the window is free.
    pub tso: bool,
    /// Whether packets leave at `sk_pacing_rate`, and not at once.
    pub pacing: bool,
    /// Whether the receiver compresses the ACKs of out-of-order data.
    pub sack_compression: bool,
    /// Data segments per delayed ACK.
    pub segments_per_ack: u32,
    /// How many segments get an ACK each at the start of a connection.
    pub quick_acks: u32,
    /// Longest delay of an ACK, µs.
    pub delayed_ack_us: u64,
}

/// Lower bound of the retransmission timeout, µs.
pub const RTO_MIN_US: u32 = 200_000;
/// Upper bound of the retransmission timeout, µs.
pub const RTO_MAX_US: u64 = 120_000_000;
/// Duplicate ACK threshold, and the assumed degree of reordering.
pub const REORDERING: u32 = 3;

impl HostProfile {
    /// The behaviour of a profile.
    pub const fn of(profile: Profile) -> Self {
        match profile {
            Profile::Linux6 => Self {
                era: Era::Linux6,
                reduction: Reduction::Prr,
                loss_detection: LossDetection::Rack,
                initial_rto_us: 1_000_000,
                tail_loss_probe: true,
                frto: true,
                tso: true,
                pacing: false,
                sack_compression: true,
                segments_per_ack: 2,
                quick_acks: 16,
                delayed_ack_us: 40_000,
            },
            Profile::Linux2_6_25 => Self {
                era: Era::Linux2_6,
                reduction: Reduction::RateHalving,
                loss_detection: LossDetection::Fack,
                initial_rto_us: 3_000_000,
                tail_loss_probe: false,
                frto: false,
                tso: false,
                pacing: false,
                sack_compression: false,
                segments_per_ack: 2,
                quick_acks: 16,
                delayed_ack_us: 40_000,
            },
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
