//! The way of packets that no queue delays: propagation, and the jitter of the host at its end.

use crate::rng::Stream;

/// A delay line. Packets keep their order.
#[derive(Clone, Debug)]
pub struct Line {
    delay_ns: u64,
    jitter_ns: u64,
    jitter: Stream,
    /// When the last packet arrives.
    last_ns: u64,
}

impl Line {
    /// An empty line. Each packet takes the delay, and a time drawn from U(0, `jitter_ns`).
    pub fn new(delay_ns: u64, jitter_ns: u64, jitter: Stream) -> Self {
        Self {
            delay_ns,
            jitter_ns,
            jitter,
            last_ns: 0,
        }
    }

    /// Empties the line, for another connection that draws from the same stream.
    pub fn restart(&mut self, delay_ns: u64) {
        (self.delay_ns, self.last_ns) = (delay_ns, 0);
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

    #[test]
    fn an_emptied_line_forgets_its_packets() {
        let mut line = Line::new(100, 0, Stream::of(1, Owner::Flow(1), Draw::Jitter));
        assert_eq!(line.arrives_ns(1_000), 1_100);
        line.restart(50);
        assert_eq!(line.arrives_ns(1_000), 1_050);
    }
}
