//! Which end hosts are simulated.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A named set of end-host behaviours (`docs/profiles.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Profile {
    /// Rate halving, FACK, one segment per ACK, initial window of RFC 3390.
    #[serde(rename = "linux-2.6.18")]
    Linux2_6_18,
    /// And F-RTO.
    #[serde(rename = "linux-2.6.25")]
    Linux2_6_25,
    /// And bounded TSO deferral; cwnd may grow while a burst is free.
    #[serde(rename = "linux-2.6.32")]
    Linux2_6_32,
    /// PRR, RACK-TLP, byte-counting, initial window 10, TSO autosizing.
    #[serde(rename = "linux-6")]
    Linux6,
    /// And compressed ACKs that wait for a third of the RTT.
    #[serde(rename = "linux-7")]
    Linux7,
}

impl Profile {
    /// Its name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linux2_6_18 => "linux-2.6.18",
            Self::Linux2_6_25 => "linux-2.6.25",
            Self::Linux2_6_32 => "linux-2.6.32",
            Self::Linux6 => "linux-6",
            Self::Linux7 => "linux-7",
        }
    }

    /// Whether it is one of today's kernels, and not of Linux 2.6.
    pub const fn is_new(self) -> bool {
        matches!(self, Self::Linux6 | Self::Linux7)
    }
}
