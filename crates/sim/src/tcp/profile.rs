//! Host profiles as data: what differs between the kernels of the papers and today's.

use crate::scenario::Profile;
use ackclock_host::Era;

/// How cwnd moves during recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Proportional rate reduction (RFC 6937 with slow-start reduction bound).
    Prr,
    /// One segment less for every second ACK, never above in flight + 1 (Linux to 3.1).
    RateHalving,
}

/// How a segment is found to be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// RACK (RFC 8985): sent sufficiently before one that was delivered.
    Rack,
    /// FACK: three segments or more below the highest SACK.
    Fack,
}

/// Behaviour of an end host.
#[derive(Clone, Copy, Debug)]
pub struct HostProfile {
    /// Which helpers algorithms find.
    pub era: Era,
    /// How cwnd moves during recovery.
    pub reduction: Reduction,
    /// How a segment is found to be lost.
    pub loss_detection: LossDetection,
    /// Retransmission timeout before the first measurement, µs.
    pub initial_rto_us: u64,
    /// Tail loss probes (RFC 8985, 7)?
    pub tail_loss_probe: bool,
    /// F-RTO (RFC 5682)?
    pub frto: bool,
    /// TSO? Linux 6 makes bursts of up to 1 ms of the pacing rate; 2.6 of up to 64 KB, saving
    /// until a third of the window is free.
    pub tso: bool,
    /// Are packets sent at `sk_pacing_rate`, and not at once?
    pub pacing: bool,
    /// Does the receiver compress the ACKs of out-of-order data?
    pub sack_compression: bool,
    /// Data segments per delayed ACK.
    pub segments_per_ack: u32,
    /// Single-segment ACKs at the start of a connection.
    pub quick_acks: u32,
    /// Longest delay of an ACK, µs.
    pub delayed_ack_us: u64,
}

/// Lower bound of the retransmission timeout, µs.
pub const RTO_MIN_US: u32 = 200_000;
/// Upper bound of the retransmission timeout, µs.
pub const RTO_MAX_US: u64 = 120_000_000;
/// Duplicate ACK threshold, and the reordering assumed.
pub const REORDERING: u32 = 3;

impl HostProfile {
    /// The behaviours that a profile's name stands for.
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

    /// Initial window, packets: RFC 6928, and RFC 3390 before it.
    pub const fn initial_cwnd(&self, mss_bytes: u32) -> u32 {
        match self.era {
            Era::Linux6 => 10,
            Era::Linux2_6 if mss_bytes > 1460 => 2,
            Era::Linux2_6 if mss_bytes > 1095 => 3,
            Era::Linux2_6 => 4,
        }
    }
}
