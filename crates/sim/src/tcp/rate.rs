//! The delivery-rate sample of an ACK (`tcp_rate_gen`, draft-cheng-iccrg-delivery-rate-estimation).
//!
//! Its place, and what of it is known: the rate itself is not sampled yet, and `delivered` and
//! `interval_us` are −1, as in Linux where there is no sample.

use ackclock_host::RateSample;

/// What an ACK showed: RTT in µs or −1, packets newly deemed lost, packets newly delivered, and
/// packets in flight before it.
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
