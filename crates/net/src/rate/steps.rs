//! A rate that changes at given times.

use super::ConstantRate;
use crate::changes::Changes;
use crate::link::Bottleneck;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A change of a link's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateStep {
    /// When the rate changes. A packet in service keeps the rate with which it began.
    #[schemars(range(max = 3_600_000_000_000_000_u64), example = 20_000_000_000_u64)]
    pub time_ns: u64,
    /// The rate from then on.
    #[schemars(range(min = 1_000, max = 1_000_000_000_000_u64), example = 25_000_000)]
    pub rate_bps: u64,
}

/// A wire or a token bucket whose rate changes. The rate of a packet is that at the start of its
/// service.
#[derive(Clone, Debug)]
pub struct SteppedRate {
    rate: ConstantRate,
    steps: Changes,
}

impl SteppedRate {
    /// The rate of an idle link at time 0.
    pub fn new(bottleneck: &Bottleneck) -> Self {
        let steps = bottleneck.rate_at.iter();
        Self {
            rate: ConstantRate::new(bottleneck.rate_bps, bottleneck.burst_bytes),
            steps: Changes::new(steps.map(|step| (step.time_ns, step.rate_bps))),
        }
    }

    /// As [`ConstantRate::serve`].
    #[inline]
    pub fn serve(&mut self, now_ns: u64, bytes: u32) -> u64 {
        while let Some((at_ns, rate_bps)) = self.steps.due(now_ns) {
            self.rate.change(at_ns, rate_bps);
        }
        self.rate.serve(now_ns, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Buffer;

    const MS: u64 = 1_000_000;

    fn rate(burst_bytes: u64) -> SteppedRate {
        let step = |time_ns, rate_bps| RateStep { time_ns, rate_bps };
        SteppedRate::new(&Bottleneck {
            rate_at: vec![step(10 * MS, 3_000_000), step(30 * MS, 24_000_000)],
            burst_bytes,
            ..Bottleneck::drop_tail(12_000_000, Buffer::Packets(10))
        })
    }

    /// A packet of 1500 bytes takes 1 ms, from 10 ms on 4 ms, from 30 ms on half a ms. The packets
    /// whose service starts at 9.5 and at 29 ms keep their rate.
    #[test]
    fn the_rate_is_that_at_the_start_of_service() {
        let mut wire = rate(0);
        let starts = [8 * MS, 19 * MS / 2, 21 * MS / 2, 25 * MS, 29 * MS, 33 * MS];
        let left = starts.map(|at_ns| wire.serve(at_ns, 1500));
        let ends = [9 * MS, 21 * MS / 2, 29 * MS / 2, 29 * MS, 33 * MS];
        assert_eq!(left[..5], ends);
        assert_eq!(left[5], 33 * MS + MS / 2);
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
