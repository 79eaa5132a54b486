//! A rate that changes at given times.

use super::ConstantRate;
use crate::changes::Changes;
use crate::schedule::NEVER;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A change of a link's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateStep {
    /// When the rate changes, also of what is left of a packet in service.
    #[schemars(range(max = 3_600_000_000_000_000_u64), example = 20_000_000_000_u64)]
    pub time_ns: u64,
    /// The rate from then on; "0bit": nothing leaves.
    #[schemars(range(max = 1_000_000_000_000_u64), example = 25_000_000)]
    pub rate_bps: u64,
}

/// A wire or a token bucket whose rate changes, also while it serves a packet. While the rate is 0
/// nothing leaves.
#[derive(Clone, Debug)]
pub struct SteppedRate {
    rate: ConstantRate,
    steps: Changes,
}

impl SteppedRate {
    /// The rate of an idle link at time 0.
    pub fn new(rate_bps: u64, burst_bytes: u64, steps: &[RateStep]) -> Self {
        let steps = steps.iter();
        Self {
            rate: ConstantRate::new(rate_bps, burst_bytes),
            steps: Changes::new(steps.map(|step| (step.time_ns, step.rate_bps))),
        }
    }

    /// As [`ConstantRate::serve`]; [`NEVER`] if the link stays dead.
    #[inline]
    pub fn serve(&mut self, now_ns: u64, bytes: u32) -> u64 {
        let mut ready_ns = now_ns;
        while let Some(change) = self.steps.due(now_ns) {
            ready_ns = ready_ns.max(self.change(change));
        }
        if ready_ns == NEVER {
            return NEVER;
        }
        let mut leaves_ns = self.rate.serve(ready_ns, bytes);
        while let Some(change) = self.steps.due(leaves_ns.saturating_sub(1)) {
            leaves_ns = match self.change(change) {
                NEVER => NEVER,
                _ => self.rate.free_at_ns(),
            };
        }
        leaves_ns
    }

    /// Makes a change. Returns when the link has a rate again: then, later or [`NEVER`].
    #[cold]
    fn change(&mut self, (at_ns, rate_bps): (u64, u64)) -> u64 {
        let (mut resumes_ns, mut rate_bps) = (at_ns, rate_bps);
        while rate_bps == 0 {
            match self.steps.due(NEVER) {
                Some(later) => (resumes_ns, rate_bps) = later,
                None => return NEVER,
            }
        }
        self.rate.pause(at_ns, resumes_ns);
        self.rate.change(resumes_ns, rate_bps);
        resumes_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn rate(burst_bytes: u64) -> SteppedRate {
        let step = |time_ns, rate_bps| RateStep { time_ns, rate_bps };
        let steps = [step(10 * MS, 3_000_000), step(30 * MS, 24_000_000)];
        SteppedRate::new(12_000_000, burst_bytes, &steps)
    }

    /// A packet of 1500 bytes takes 1 ms, from 10 ms on 4 ms, from 30 ms on half a ms. That which
    /// begins at 9.5 ms has half of its bytes left at 10 ms, that at 29 ms three quarters at 30 ms.
    #[test]
    fn a_packet_in_service_takes_the_new_rate() {
        let mut wire = rate(0);
        let starts = [8 * MS, 19 * MS / 2, 13 * MS, 25 * MS, 29 * MS, 33 * MS];
        let left = starts.map(|at_ns| wire.serve(at_ns, 1500));
        let ends = [9 * MS, 12 * MS, 17 * MS, 29 * MS, 30 * MS + MS * 3 / 8];
        assert_eq!(left[..5], ends);
        assert_eq!(left[5], 33 * MS + MS / 2);
    }

    fn outage(from_ns: u64, until: Option<(u64, u64)>, burst_bytes: u64) -> SteppedRate {
        let step = |(time_ns, rate_bps)| RateStep { time_ns, rate_bps };
        let steps = [Some((from_ns, 0)), until].into_iter().flatten();
        let steps: Vec<_> = steps.map(step).collect();
        SteppedRate::new(12_000_000, burst_bytes, &steps)
    }

    /// The rest of a packet waits for the end of the outage, and takes the rate of then.
    #[test]
    fn a_dead_link_carries_nothing() {
        let mut wire = outage(10 * MS, Some((30 * MS, 6_000_000)), 0);
        let left = [0, 19 * MS / 2, 31 * MS].map(|at_ns| wire.serve(at_ns, 1500));
        assert_eq!(left, [MS, 31 * MS, 33 * MS]);
        // A packet that arrives in the meantime.
        let mut wire = outage(10 * MS, Some((30 * MS, 6_000_000)), 0);
        assert_eq!(wire.serve(20 * MS, 1500), 32 * MS);
        // 3000 bytes of tokens are still there at its end.
        let mut bucket = outage(10 * MS, Some((30 * MS, 6_000_000)), 3000);
        let left = [20 * MS; 3].map(|at_ns| bucket.serve(at_ns, 1500));
        assert_eq!(left, [30 * MS, 30 * MS, 32 * MS]);
    }

    #[test]
    fn a_link_may_die_for_ever() {
        let mut wire = outage(10 * MS, None, 0);
        let left = [0, 19 * MS / 2].map(|at_ns| wire.serve(at_ns, 1500));
        assert_eq!(left, [MS, NEVER]);
        assert_eq!(outage(10 * MS, None, 3000).serve(20 * MS, 1500), NEVER);
    }

    proptest! {
        /// Whatever the steps, a wire that always has packets sends just the bits that its rates allow.
        #[test]
        fn no_bit_is_lost_or_made(
            steps in proptest::collection::vec((1_u64..20 * MS, prop_oneof![
                Just(0), 1_000_u64..10_000, 1_000_000_u64..1_000_000_000
            ]), 0..12),
            packets in proptest::collection::vec(40_u32..1501, 1..60),
        ) {
            let mut at_ns = 0;
            let rate_at: Vec<_> = steps.into_iter().map(|(gap_ns, rate_bps)| {
                at_ns += gap_ns;
                RateStep { time_ns: at_ns, rate_bps }
            }).collect();
            let mut wire = SteppedRate::new(12_000_000, 0, &rate_at);
            // Bits × 10⁹ that the rates allow until then.
            let allowed = |until_ns: u64| {
                let begins = [RateStep { time_ns: 0, rate_bps: 12_000_000 }];
                let steps: Vec<_> = begins.into_iter().chain(rate_at.iter().copied()).collect();
                let ends = steps.iter().skip(1).map(|step| step.time_ns).chain([NEVER]);
                steps.iter().zip(ends).map(|(step, end_ns)| {
                    let lasts_ns = end_ns.min(until_ns).saturating_sub(step.time_ns);
                    u128::from(lasts_ns) * u128::from(step.rate_bps)
                }).sum::<u128>()
            };
            let (mut now_ns, mut sent) = (0, 0);
            for bytes in packets {
                now_ns = wire.serve(now_ns, bytes);
                sent += u128::from(bytes) * 8_000_000_000;
                if now_ns == NEVER {
                    prop_assert!(allowed(NEVER - 1) < sent);
                    break;
                }
                // The last bit leaves within the nanosecond.
                prop_assert!((0..1_000_000_000).contains(&(sent as i128 - allowed(now_ns) as i128)));
            }
        }
    }

    /// A bucket keeps its tokens. At 10 ms it has all of its 3000 bytes: two packets leave at once,
    /// and the third needs 4 ms at 3 Mb/s.
    #[test]
    fn a_bucket_keeps_its_tokens() {
        let mut bucket = rate(3000);
        let left = [10 * MS; 3].map(|at_ns| bucket.serve(at_ns, 1500));
        assert_eq!(left, [10 * MS, 10 * MS, 14 * MS]);
        // At 30 ms it is full again, at 24 Mb/s too.
        let left = [30 * MS; 3].map(|at_ns| bucket.serve(at_ns, 1500));
        assert_eq!(left, [30 * MS, 30 * MS, 30 * MS + MS / 2]);
    }
}
