//! The way of packets that no queue delays: propagation, and the jitter of the host at its end.

use crate::rng::Stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
            let stream = Stream::of(seed, Owner::Flow(1), Draw::Jitter);
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
        let mut line = Line::new(100, 0, Stream::of(1, Owner::Link(1), Draw::Jitter));
        assert_eq!(line.arrives_ns(1_000), 1_100);
        line.change(20);
        let arrives_ns = [1_010, 1_079, 1_081].map(|now_ns| line.arrives_ns(now_ns));
        assert_eq!(arrives_ns, [1_100, 1_100, 1_101]);
    }

    #[test]
    fn an_emptied_line_forgets_its_packets() {
        let mut line = Line::new(100, 0, Stream::of(1, Owner::Flow(1), Draw::Jitter));
        assert_eq!(line.arrives_ns(1_000), 1_100);
        line.restart(50);
        assert_eq!(line.arrives_ns(1_000), 1_050);
    }
}
