//! How much waits in a queue, and how much may.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An amount of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// How many.
    pub packets: u64,
    /// Their IP bytes.
    pub bytes: u64,
}

impl std::ops::Add for Load {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self {
            packets: self.packets + other.packets,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// The limit of a queue, in its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Buffer {
    /// Maximum packets.
    Packets(#[schemars(range(min = 1, max = 1_u64 << 32))] u64),
    /// Maximum bytes.
    Bytes(#[schemars(range(min = 1, max = 1_u64 << 44))] u64),
}

/// Room for nothing.
impl Default for Buffer {
    fn default() -> Self {
        Self::Packets(0)
    }
}

impl Buffer {
    /// Room for all.
    pub const ENDLESS: Self = Self::Packets(u64::MAX);

    /// Whether a packet of `bytes` bytes fits in beside `load`.
    #[inline]
    pub fn fits(self, load: Load, bytes: u32) -> bool {
        match self {
            Self::Packets(limit) => load.packets < limit,
            Self::Bytes(limit) => load.bytes + u64::from(bytes) <= limit,
        }
    }

    /// What `load` leaves of it.
    pub fn beside(self, load: Load) -> Self {
        match self {
            Self::Packets(limit) => Self::Packets(limit.saturating_sub(load.packets)),
            Self::Bytes(limit) => Self::Bytes(limit.saturating_sub(load.bytes)),
        }
    }
}
