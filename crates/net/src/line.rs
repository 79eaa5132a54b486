//! The way of packets that no queue delays: propagation, and the jitter of the host at its end.

use crate::rng::{Draw, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::f64::consts::SQRT_2;
use std::sync::LazyLock;

/// A change of the delay behind a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelayStep {
    /// When the delay changes. Packets that have left the link before keep theirs; none overtakes.
    #[schemars(range(max = 3_600_000_000_000_000_u64), example = 20_000_000_000_u64)]
    pub time_ns: u64,
    /// The delay from then on.
    #[schemars(range(max = 100_000_000_000_u64), example = 50_000_000)]
    pub delay_ns: u64,
}

/// The delays of a path that differ from packet to packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelayJitter {
    /// How far a delay is from the mean: of `uniform` at most, of `normal` the standard deviation.
    #[schemars(range(min = 1, max = 100_000_000_000_u64), example = 10_000_000)]
    pub by_ns: u64,
    /// Distribution of the delays, as of netem. None is below 0.
    #[schemars(extend("default" = "uniform"))]
    pub distribution: Distribution,
    /// Whether packets overtake each other, as with netem without a rate. Otherwise they keep their
    /// order.
    #[schemars(extend("default" = false))]
    pub overtaking: bool,
}

/// The distribution of the delays of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Equally often from mean − jitter to mean + jitter.
    Uniform,
    /// A bell: iproute2's table.
    Normal,
    /// A long tail: shape 3, cut at four standard deviations, as iproute2's table.
    Pareto,
}

impl DelayJitter {
    /// A delay around its mean.
    pub fn draw_ns(&self, mean_ns: u64, random: &mut Stream) -> u64 {
        let by = self.by_ns as f64;
        let off = match self.distribution {
            // tabledist: from mean − jitter, and less than mean + jitter.
            Distribution::Uniform => {
                let least_ns = mean_ns + random.up_to(2 * self.by_ns - 1);
                return least_ns.saturating_sub(self.by_ns);
            }
            Distribution::Normal => {
                let entry = normal()[(random.bits() >> 32) as usize % NORMAL_ENTRIES];
                // tabledist rounds so.
                let off = self.by_ns as i64 * i64::from(entry);
                let off_ns = (off + off.signum() * UNIT / 2) / UNIT;
                return mean_ns.saturating_add_signed(off_ns);
            }
            // A Pareto distribution of shape 3 and minimum 1 has mean 3/2 and variance 3/4. netem's
            // table has 4/3 of what is above the mean.
            Distribution::Pareto => ((random.pareto(1.5, 3.0) - 1.5) * 4.0 / 3.0).min(4.0),
        };
        // `as` saturates.
        (mean_ns as f64 + by * off).round() as u64
    }
}

const NORMAL_ENTRIES: usize = 4096;
/// `NETEM_DIST_SCALE`: a standard deviation in netem's tables.
const UNIT: i64 = 8192;

/// iproute2's `normal.dist`, which netem draws from: its entry k is the largest multiple of 0.00005 that at
/// most 4 k of 16384 numbers are below, rounded; cut at four standard deviations.
fn normal() -> &'static [i32; NORMAL_ENTRIES] {
    static TABLE: LazyLock<[i32; NORMAL_ENTRIES]> = LazyLock::new(|| {
        let at = |step: usize| -10.0 + step as f64 * 5e-5;
        let below = |x: f64| (16384.0 * (0.5 + 0.5 * libm::erf(x / SQRT_2))).round_ties_even();
        let (mut step, mut table) = (0, [0; NORMAL_ENTRIES]);
        for (k, entry) in table.iter_mut().enumerate() {
            let mut jump = 1 << 18;
            while jump > 0 {
                if below(at(step + jump)) <= 4.0 * k as f64 {
                    step += jump;
                }
                jump /= 2;
            }
            *entry = ((at(step) * UNIT as f64).round_ties_even() as i32).max(-32768);
        }
        table
    });
    &TABLE
}

/// The jitter of a path, and the stream that it is drawn from.
#[derive(Clone, Debug)]
pub struct Jittered {
    jitter: DelayJitter,
    random: Stream,
    last_ns: u64,
}

impl Jittered {
    /// That of a link. `stream` gives the streams of the link.
    pub fn new(jitter: DelayJitter, stream: impl Fn(Draw) -> Stream) -> Self {
        Self {
            jitter,
            random: stream(Draw::Delay),
            last_ns: 0,
        }
    }

    /// When a packet arrives that enters now, with this mean delay.
    pub fn arrives_ns(&mut self, now_ns: u64, mean_ns: u64) -> u64 {
        let at_ns = now_ns + self.jitter.draw_ns(mean_ns, &mut self.random);
        if self.jitter.overtaking {
            return at_ns;
        }
        self.last_ns = at_ns.max(self.last_ns);
        self.last_ns
    }
}

/// A delay line. Packets keep their order.
#[derive(Clone, Debug)]
pub struct Line {
    delay_ns: u64,
    /// When the last packet arrives.
    last_ns: u64,
    /// The most jitter, and the stream that it is drawn from. In a box they would be one more wait for
    /// memory at each packet.
    jitter_ns: u64,
    jitter: Stream,
}

impl Line {
    /// An empty line. Each packet takes the delay, and a time drawn from U(0, `jitter_ns`).
    pub fn new(delay_ns: u64, jitter_ns: u64, jitter: Stream) -> Self {
        Self {
            delay_ns,
            last_ns: 0,
            jitter_ns,
            jitter,
        }
    }

    /// Empties the line, for another connection that draws from the same stream.
    pub fn restart(&mut self, delay_ns: u64) {
        (self.delay_ns, self.last_ns) = (delay_ns, 0);
    }

    /// Gives later packets another delay.
    pub fn change(&mut self, delay_ns: u64) {
        self.delay_ns = delay_ns;
    }

    /// The delay without jitter.
    #[inline]
    pub fn delay_ns(&self) -> u64 {
        self.delay_ns
    }

    /// When a packet that enters now arrives.
    #[inline]
    pub fn arrives_ns(&mut self, now_ns: u64) -> u64 {
        let jitter_ns = self.jitter.up_to(self.jitter_ns);
        self.last_ns = (now_ns + self.delay_ns + jitter_ns).max(self.last_ns);
        self.last_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Draw, Owner};
    use proptest::prelude::*;

    proptest! {
        /// A packet takes the delay and up to the jitter, unless the packet before it arrives
        /// later: then both arrive together.
        #[test]
        fn packets_keep_their_order(
            seed in any::<u64>(),
            delay_ns in 0_u64..100_000,
            jitter_ns in 0_u64..100_000,
            gaps in proptest::collection::vec(0_u64..30_000, 1..100),
        ) {
            let stream = Stream::for_owner(seed, Owner::Flow(1), Draw::Jitter);
            let mut line = Line::new(delay_ns, jitter_ns, stream);
            let (mut now_ns, mut last_ns) = (0, 0);
            for gap_ns in gaps {
                now_ns += gap_ns;
                let arrives_ns = line.arrives_ns(now_ns);
                let own = now_ns + delay_ns..=now_ns + delay_ns + jitter_ns;
                prop_assert!(own.contains(&arrives_ns) || arrives_ns == last_ns);
                prop_assert!(arrives_ns >= last_ns.max(now_ns + delay_ns));
                last_ns = arrives_ns;
            }
        }
    }

    /// A shorter delay does not let later packets overtake.
    #[test]
    fn packets_keep_their_order_when_the_delay_falls() {
        let mut line = Line::new(100, 0, Stream::for_owner(1, Owner::Link(1), Draw::Jitter));
        assert_eq!(line.arrives_ns(1_000), 1_100);
        line.change(20);
        let arrives_ns = [1_010, 1_079, 1_081].map(|now_ns| line.arrives_ns(now_ns));
        assert_eq!(arrives_ns, [1_100, 1_100, 1_101]);
    }

    /// Entries of iproute2's file, and the sums of all.
    #[test]
    fn the_normal_distribution_is_that_of_iproute2() {
        let table = normal();
        assert_eq!(table[..3], [-32768, -28307, -26871]);
        assert_eq!(table[2047..2050], [-5, 0, 5]);
        assert_eq!(table[4094..], [27159, 28858]);
        let sum: i32 = table.iter().sum();
        assert_eq!(sum, -26163);
    }

    #[test]
    fn an_emptied_line_forgets_its_packets() {
        let mut line = Line::new(100, 0, Stream::for_owner(1, Owner::Flow(1), Draw::Jitter));
        assert_eq!(line.arrives_ns(1_000), 1_100);
        line.restart(50);
        assert_eq!(line.arrives_ns(1_000), 1_050);
    }
}
