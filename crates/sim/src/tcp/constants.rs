//! Constants that several mechanisms share (`include/net/tcp.h`).

/// Lower bound of the retransmission timeout, µs.
pub(super) const RTO_MIN_US: u32 = 200_000;
/// Upper bound of the retransmission timeout, µs.
pub(super) const RTO_MAX_US: u64 = 120_000_000;
/// `TCP_TIMEOUT_MIN_US`: how much longer than computed the reordering timer and the tail loss probe
/// wait.
pub(super) const TIMEOUT_MIN_US: u64 = 2_000;
/// `TCP_TIMEOUT_INIT`: the timeout of a probe on a path whose RTT is not known.
pub(super) const TIMEOUT_INIT_US: u64 = 1_000_000;
/// Duplicate ACK threshold, and the assumed degree of reordering.
pub(super) const REORDERING: u32 = 3;
/// `sysctl_tcp_max_reordering`
pub(super) const MOST_REORDERING: u64 = 300;
/// Bytes in the largest GSO packet.
pub(super) const GSO_MAX_BYTES: u64 = 65_536;
/// `MAX_TCP_HEADER` and one byte: what a GSO packet leaves free of 64 KiB.
pub(super) const GSO_HEADER_BYTES: u64 = 321;
/// `sysctl_tcp_tso_win_divisor`: Linux 2.6 waits until 1/3 of the window is free.
pub(super) const TSO_WIN_DIVISOR: u32 = 3;
/// What a send buffer begins with (`tcp_wmem`): the application fills it at once.
pub(super) const SNDBUF_BYTES: u64 = 1 << 20;
