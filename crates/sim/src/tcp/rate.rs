//! The delivery-rate sample of an ACK (`tcp_rate_gen`, draft-cheng-iccrg-delivery-rate-estimation).
//!
//! The sample has its place here, but no rate yet: `delivered` and `interval_us` are −1, as in
//! Linux without a sample.

use ackclock_host::RateSample;

/// What an ACK showed: the RTT in µs or −1, newly lost packets, newly delivered packets, and the
/// packets in flight before the ACK.
#[inline]
pub(super) fn sample(
    rtt_us: i32,
    newly_lost: u32,
    newly_delivered: u32,
    prior_in_flight: u32,
) -> RateSample {
    RateSample {
        prior_mstamp: 0,
        prior_delivered: 0,
        delivered: -1,
        interval_us: -1,
        rtt_us: i64::from(rtt_us),
        losses: newly_lost as i32,
        acked_sacked: newly_delivered,
        prior_in_flight,
        is_app_limited: false,
        is_retrans: false,
    }
}
