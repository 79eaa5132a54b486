//! A policer: drops what exceeds a rate, and delays nothing.

use super::constant::TokenTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rate and burst of a policer. Packets that it lets pass go on to the queue of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Policer")]
pub struct PolicerParameters {
    /// Rate of its tokens, IP headers included.
    #[schemars(range(min = 1_000, max = 1_000_000_000_000_u64), example = 20_000_000)]
    pub rate_bps: u64,
    /// Size of its bucket, full at the start: what may pass at once after an idle time.
    #[schemars(range(min = 64, max = 1_u64 << 44), example = 100_000)]
    pub burst_bytes: u64,
}

/// A token bucket without a queue. A packet passes if there are tokens for all its bytes, and takes
/// them. Tokens are whole nanoseconds (`tcf_police_act`).
#[derive(Clone, Debug)]
pub struct Policer {
    time: TokenTime,
    /// The size of the bucket, and its tokens at `at_ns`.
    most_ns: i64,
    tokens_ns: i64,
    at_ns: u64,
}

impl Policer {
    /// With a full bucket at time 0.
    pub fn new(parameters: &PolicerParameters) -> Self {
        let most_ns = bucket_ns(parameters);
        Self {
            time: TokenTime::new(parameters.rate_bps),
            most_ns,
            tokens_ns: most_ns,
            at_ns: 0,
        }
    }

    /// Whether it drops a packet that arrives now.
    #[inline]
    pub fn drops(&mut self, now_ns: u64, bytes: u32) -> bool {
        let grown_ns = self.tokens_ns + (now_ns - self.at_ns) as i64;
        let left_ns = grown_ns.min(self.most_ns) - self.time.ns(bytes.into());
        if left_ns >= 0 {
            (self.at_ns, self.tokens_ns) = (now_ns, left_ns);
        }
        left_ns < 0
    }
}

/// A bucket that is not smaller than asked for: `tc` counts whole microseconds, of whole bytes, and of these
/// units of 64 ns.
fn bucket_ns(of: &PolicerParameters) -> i64 {
    let rate = u128::from(of.rate_bps);
    let us = |bytes: u128| bytes * 8_000_000 / rate;
    let bytes = (us(of.burst_bytes.into()) + 1) * rate / 8_000_000 + 1;
    (us(bytes) * 1_000 / 64 * 64).min(1 << 61) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn nanobits(bytes: u64) -> u128 {
        u128::from(bytes) * 8 * 1_000_000_000
    }

    /// 12 Mb/s are 1500 bytes each ms. Of a burst of 10 packets the first 4 pass: 6000 bytes.
    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let (rate_bps, burst_bytes) = (12_000_000, 6_500);
        let parameters = PolicerParameters {
            rate_bps,
            burst_bytes,
        };
        let mut policer = Policer::new(&parameters);
        let dropped = (0..10).filter(|_| policer.drops(0, 1500)).count();
        assert_eq!(dropped, 6);
        // A bucket of 4334 us is 67 718 units of 64 ns. Four packets took 999 999 ns each; the fifth needs 666 043.
        assert!(policer.drops(666_042, 1500));
        assert!(!policer.drops(666_043, 1500));
        // After an idle time: the burst again.
        let dropped = (0..10).filter(|_| policer.drops(1000 * MS, 1500)).count();
        assert_eq!(dropped, 6);
    }

    proptest! {
        /// In any window what passes is at most burst + rate × window; of an overload that lasts,
        /// no less than this but for one packet. The bucket is 2 us and two bytes larger at most, and each packet
        /// takes up to 2 ns less than its time.
        #[test]
        fn what_passes(
            bytes_per_s in 125_u64..125_000_000,
            // A bucket that 10 µs do not fill beside a packet.
            burst_bytes in 3_000_u64..100_000,
            arrivals in proptest::collection::vec((0_u64..20 * MS, 40_u32..1501), 1..200),
        ) {
            let rate_bps = 8 * bytes_per_s;
            let parameters = PolicerParameters { rate_bps, burst_bytes };
            let more = |packets: u64| nanobits(2) + u128::from(2_000 + 2 * packets) * u128::from(rate_bps);
            let mut policer = Policer::new(&parameters);
            let mut now_ns = 0;
            let mut passed: Vec<(u64, u128)> = Vec::new();
            for (gap_ns, bytes) in arrivals {
                now_ns += gap_ns;
                if !policer.drops(now_ns, bytes) {
                    passed.push((now_ns, nanobits(bytes.into())));
                }
            }
            for from in 0..passed.len() {
                let mut sum = 0;
                for &(at_ns, bits) in &passed[from..] {
                    sum += bits;
                    let grown = u128::from(at_ns - passed[from].0) * u128::from(rate_bps);
                    prop_assert!(sum <= nanobits(burst_bytes) + grown + more(200));
                }
            }
            // One packet each 10 µs is 1.2 Gb/s.
            let (mut policer, mut sum, mut now_ns) = (Policer::new(&parameters), 0, 0);
            for number in 0..10_000 {
                now_ns = number * 10_000;
                sum += if policer.drops(now_ns, 1500) { 0 } else { nanobits(1500) };
            }
            let grown = u128::from(now_ns) * u128::from(rate_bps);
            prop_assert!(sum <= nanobits(burst_bytes) + grown + more(10_000));
            prop_assert!(sum + nanobits(1500) > nanobits(burst_bytes) + grown);
        }
    }
}
