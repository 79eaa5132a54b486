//! The largest values of fields.

pub(crate) const NS_PER_S: u64 = 1_000_000_000;
/// Longest simulated time: 1000 hours.
pub(crate) const MAX_DURATION_NS: u64 = 3_600_000 * NS_PER_S;
/// Longest round trip, and longest mean of what is added to it: 100 s.
pub(crate) const MAX_RTT_NS: u64 = 100 * NS_PER_S;
/// Largest receive window or send buffer: 1000000 GB.
pub(crate) const MAX_LIMIT_BYTES: u64 = 1_000_000_000_000_000;
/// Smallest receive buffer that acts as on Linux: 24 kB.
pub(crate) const MIN_RECEIVE_BUFFER_BYTES: u64 = 24_000;
/// Largest transfer: 1000000000 GB.
pub(crate) const MAX_TRANSFER_BYTES: u64 = 1_000_000_000_000_000_000;
