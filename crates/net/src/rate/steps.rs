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
/// nothing leaves. A change fills a bucket, as that of Linux's `tbf`, which has no rate of 0: a bucket
/// that is dead for a time keeps its tokens.
#[derive(Clone, Debug)]
pub struct SteppedRate {
    rate: ConstantRate,
    steps: Changes,
    /// A change fills the bucket.
    refills: bool,
    /// Then: when the last packet leaves, and its bytes.
    waits: (u64, u32),
}

impl SteppedRate {
    /// The rate of an idle link at time 0.
    pub fn new(rate_bps: u64, burst_bytes: u64, steps: &[RateStep]) -> Self {
        let lives = steps.iter().all(|step| step.rate_bps > 0);
        let changes = steps.iter().map(|step| (step.time_ns, step.rate_bps));
        Self {
            rate: ConstantRate::new(rate_bps, burst_bytes),
            steps: Changes::new(changes),
            refills: burst_bytes > 0 && lives && !steps.is_empty(),
            waits: (0, 0),
        }
    }

    /// As [`ConstantRate::serve`]; [`NEVER`] if the link stays dead.
    #[inline(always)]
    pub fn serve(&mut self, now_ns: u64, bytes: u32) -> u64 {
        if self.steps.are_over() && !self.refills {
            return self.rate.serve(now_ns, bytes);
        }
        self.serve_stepped(now_ns, bytes)
    }

    #[inline(never)]
    fn serve_stepped(&mut self, now_ns: u64, bytes: u32) -> u64 {
        if self.refills {
            return self.serve_refilled(now_ns, bytes);
        }
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

    /// `tbf_dequeue` finds the bucket as the last change has filled it. A packet that waits does so until
    /// its tokens had come at the rate of before (`qdisc_watchdog`).
    #[cold]
    fn serve_refilled(&mut self, now_ns: u64, bytes: u32) -> u64 {
        let (left_ns, left_bytes) = self.waits;
        if self.refill(left_ns.saturating_sub(1), left_ns) {
            self.rate.serve(left_ns, left_bytes);
        }
        self.refill(now_ns, now_ns);
        let leaves_ns = self.rate.serve(now_ns, bytes);
        self.waits = (leaves_ns, bytes);
        leaves_ns
    }

    /// Makes the changes until then, whose tokens a packet finds at `at_ns`. Returns whether there are.
    fn refill(&mut self, until_ns: u64, at_ns: u64) -> bool {
        let mut rate_bps = None;
        while let Some(change) = self.steps.due(until_ns) {
            rate_bps = Some(change.1);
        }
        if let Some(rate_bps) = rate_bps {
            self.rate.refill(at_ns, rate_bps);
        }
        rate_bps.is_some()
    }

    /// A packet arrives behind one that waits, to leave at `leaves_ns`. Returns when that one leaves: if a
    /// change has filled the bucket, now (`qdisc_run`).
    #[inline]
    pub fn run(&mut self, now_ns: u64, leaves_ns: u64) -> u64 {
        if !self.refills || !self.steps.is_due(now_ns) {
            return leaves_ns;
        }
        self.waits.0 = now_ns;
        now_ns
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
        // 3000 bytes of tokens are still there at its end; tbf counts 1 999 999 ns for 1500 more.
        let mut bucket = outage(10 * MS, Some((30 * MS, 6_000_000)), 3000);
        let left = [20 * MS; 3].map(|at_ns| bucket.serve(at_ns, 1500));
        assert_eq!(left, [30 * MS, 30 * MS, 32 * MS - 1]);
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

    /// 8 Mb/s, from 10 ms on 2 Mb/s, from 30 ms on 16 Mb/s: 1, 4 and 0.5 us a byte.
    fn bucket() -> SteppedRate {
        let step = |time_ns, rate_bps| RateStep { time_ns, rate_bps };
        let steps = [step(10 * MS, 2_000_000), step(30 * MS, 16_000_000)];
        SteppedRate::new(8_000_000, 1600, &steps)
    }

    /// `tbf_change`: a packet that waits for its tokens since 9.4 ms leaves at 10.9 ms as without the
    /// change, and finds 100 bytes more than it needs. The next one waits for 1400 bytes at 2 Mb/s.
    #[test]
    fn a_change_fills_a_bucket() {
        let (mut bucket, mut at_ns) = (bucket(), 8 * MS);
        let left = [(); 4].map(|()| {
            at_ns = bucket.serve(at_ns, 1500);
            at_ns / 1_000
        });
        assert_eq!(left, [8_000, 9_400, 10_900, 16_500]);
    }

    /// `qdisc_run`: an arrival after the change finds the full bucket, and the packet that waits leaves.
    #[test]
    fn an_arrival_finds_the_full_bucket() {
        let mut bucket = bucket();
        let left = [29 * MS; 2].map(|at_ns| bucket.serve(at_ns, 1500) / 1_000);
        assert_eq!(left, [29_000, 34_600]);
        let run =
            |bucket: &mut SteppedRate, at_us: u64| bucket.run(at_us * 1_000, 34_600_000) / 1_000;
        assert_eq!(
            [29_001, 31_000].map(|at_us| run(&mut bucket, at_us)),
            [34_600, 31_000]
        );
        assert_eq!(bucket.serve(31 * MS, 1500), 31_700_000);
    }
}
