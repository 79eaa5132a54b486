//! A policer: drops what exceeds a rate, and delays nothing.

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
/// them.
#[derive(Clone, Debug)]
pub struct Policer {
    rate_bps: u64,
    /// The size of the bucket, and its tokens at `at_ns`: 10⁻⁹ bits, so that nothing is rounded.
    most: u128,
    tokens: u128,
    at_ns: u64,
}

impl Policer {
    /// With a full bucket at time 0.
    pub fn new(parameters: &PolicerParameters) -> Self {
        let most = nanobits(parameters.burst_bytes);
        Self {
            rate_bps: parameters.rate_bps,
            most,
            tokens: most,
            at_ns: 0,
        }
    }

    /// Whether it drops a packet that arrives now.
    #[inline]
    pub fn drops(&mut self, now_ns: u64, bytes: u32) -> bool {
        let grown = u128::from(now_ns - self.at_ns) * u128::from(self.rate_bps);
        self.tokens = (self.tokens + grown).min(self.most);
        self.at_ns = now_ns;
        let needed = nanobits(bytes.into());
        let drops = needed > self.tokens;
        if !drops {
            self.tokens -= needed;
        }
        drops
    }
}

fn nanobits(bytes: u64) -> u128 {
    u128::from(bytes) * 8 * 1_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

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
        // 500 bytes were left. After 2/3 ms there are 1500.
        assert!(policer.drops(2 * MS / 3, 1500));
        assert!(!policer.drops(2 * MS / 3 + 1, 1500));
        // After an idle time: the burst again.
        let dropped = (0..10).filter(|_| policer.drops(1000 * MS, 1500)).count();
        assert_eq!(dropped, 6);
    }

    proptest! {
        /// In any window what passes is at most burst + rate × window; of an overload that lasts,
        /// no less than this but for one packet.
        #[test]
        fn what_passes(
            rate_bps in 1_000_u64..1_000_000_000,
            // A bucket that 10 µs do not fill beside a packet.
            burst_bytes in 3_000_u64..100_000,
            arrivals in proptest::collection::vec((0_u64..20 * MS, 40_u32..1501), 1..200),
        ) {
            let parameters = PolicerParameters { rate_bps, burst_bytes };
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
                    prop_assert!(sum <= nanobits(burst_bytes) + grown);
                }
            }
            // One packet each 10 µs is 1.2 Gb/s.
            let (mut policer, mut sum, mut now_ns) = (Policer::new(&parameters), 0, 0);
            for number in 0..10_000 {
                now_ns = number * 10_000;
                sum += if policer.drops(now_ns, 1500) { 0 } else { nanobits(1500) };
            }
            let grown = u128::from(now_ns) * u128::from(rate_bps);
            prop_assert!(sum <= nanobits(burst_bytes) + grown);
            prop_assert!(sum + nanobits(1500) > nanobits(burst_bytes) + grown);
        }
    }
}
