//! A router that works at the ticks of a timer, as dummynet: it releases the packets whose service
//! has ended since the last tick together.

use super::ConstantRate;

/// The packets of a tick go on at this rate at least.
const WIRE_BPS: u64 = 1_000_000_000;

/// The ticks, at the multiples of a time, and the wire behind them.
#[derive(Clone, Debug)]
pub struct Ticks {
    tick_ns: u64,
    /// The tick of the last packet.
    last_ns: u64,
    wire: ConstantRate,
}

/// What happens to a packet whose service has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// The tick that releases it, and frees its room.
    pub at_ns: u64,
    /// When its last bit has left the wire.
    pub leaves_ns: u64,
}

impl Ticks {
    /// The wire is as fast as `rate_bps`, or 1 Gb/s.
    pub fn new(tick_ns: u64, rate_bps: u64) -> Self {
        Self {
            tick_ns,
            last_ns: 0,
            wire: ConstantRate::new(rate_bps.max(WIRE_BPS), 0),
        }
    }

    /// Takes the next packet, whose service ends at `served_ns`. It is released at the first tick
    /// from then on.
    #[inline]
    pub fn release(&mut self, served_ns: u64, bytes: u32) -> Release {
        let [release] = self.release_all([served_ns], bytes);
        release
    }

    /// As [`release`](Self::release), of packets of one size: mostly one tick releases all.
    #[inline]
    pub fn release_all<const N: usize>(&mut self, served_ns: [u64; N], bytes: u32) -> [Release; N] {
        if N > 1 && served_ns[N - 1] > self.last_ns {
            return served_ns.map(|served_ns| self.release(served_ns, bytes));
        }
        if served_ns[0] > self.last_ns {
            self.last_ns = served_ns[0].div_ceil(self.tick_ns) * self.tick_ns;
        }
        let at_ns = self.last_ns;
        let leave_ns: [u64; N] = self.wire.serve_all(at_ns, bytes);
        leave_ns.map(|leaves_ns| Release { at_ns, leaves_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Services end at 0.4, 0.8, 1.2 and 2 ms; each packet takes 12 µs on the wire of 1 Gb/s.
    #[test]
    fn packets_leave_together_at_the_next_tick() {
        let mut ticks = Ticks::new(MS, 30_000_000);
        let released_us = [400, 800, 1_200, 2_000].map(|served_us| {
            let release = ticks.release(served_us * 1_000, 1500);
            (release.at_ns / 1_000, release.leaves_ns / 1_000)
        });
        let expected = [
            (1_000, 1_012),
            (1_000, 1_024),
            (2_000, 2_012),
            (2_000, 2_024),
        ];
        assert_eq!(released_us, expected);
    }

    /// A link that is faster than 1 Gb/s does not get slower by its ticks.
    #[test]
    fn a_fast_link_stays_fast() {
        let mut ticks = Ticks::new(MS, 10_000_000_000);
        let left_ns = [1, 1].map(|served_ns| ticks.release(served_ns, 1500).leaves_ns);
        assert_eq!(left_ns, [MS + 1_200, MS + 2_400]);
    }

    /// Pairs of which one tick releases both, and one that a tick divides.
    #[test]
    fn a_pair_is_two_packets() {
        let served_ns = [[400, 800], [900, 1_100], [1_200, 2_000], [5_000, 5_000]];
        let (mut pairs, mut singles) = (Ticks::new(1_000, 1), Ticks::new(1_000, 1));
        for pair in served_ns {
            let one_by_one = pair.map(|served_ns| singles.release(served_ns, 100));
            assert_eq!(pairs.release_all(pair, 100), one_by_one);
        }
    }
}
