//! A router that works at the ticks of a timer, as dummynet: it releases the packets whose service
//! has ended since the last tick together.

use super::ConstantRate;
use crate::queue::Load;
use std::collections::VecDeque;

/// The packets of a tick go on at this rate at least.
const WIRE_BPS: u64 = 1_000_000_000;

/// Packets that wait for a tick. Ticks are the multiples of a time.
#[derive(Clone, Debug)]
pub struct Ticks {
    tick_ns: u64,
    wire: ConstantRate,
    /// When each packet is released, and its size.
    held: VecDeque<(u64, u32)>,
    load: Load,
}

impl Ticks {
    /// No packet waits. The link behind it is as fast as `rate_bps`, or 1 Gb/s.
    pub fn new(tick_ns: u64, rate_bps: u64) -> Self {
        Self {
            tick_ns,
            wire: ConstantRate::new(rate_bps.max(WIRE_BPS), 0),
            held: VecDeque::new(),
            load: Load::default(),
        }
    }

    /// Takes a packet whose service has ended. It is released at the next tick, or now at a tick.
    /// Returns when its last bit has then left the wire.
    pub fn hold(&mut self, now_ns: u64, bytes: u32) -> u64 {
        let release_ns = now_ns.div_ceil(self.tick_ns) * self.tick_ns;
        self.held.push_back((release_ns, bytes));
        self.load.packets += 1;
        self.load.bytes += u64::from(bytes);
        self.wire.serve(release_ns, bytes)
    }

    /// Frees the room of the packets that are released by now. Returns how much that is.
    pub fn release(&mut self, now_ns: u64) -> Load {
        let mut released = Load::default();
        while let Some(&(_, bytes)) = self.held.front().filter(|held| held.0 <= now_ns) {
            self.held.pop_front();
            released.packets += 1;
            released.bytes += u64::from(bytes);
        }
        self.load.packets -= released.packets;
        self.load.bytes -= released.bytes;
        released
    }

    /// What waits for its tick.
    pub fn load(&self) -> Load {
        self.load
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
        let ends_us = [400, 800, 1_200, 2_000];
        let left_us = ends_us.map(|end_us| ticks.hold(end_us * 1_000, 1500) / 1_000);
        assert_eq!(left_us, [1_012, 1_024, 2_012, 2_024]);
        let load = |packets| Load {
            packets,
            bytes: packets * 1_500,
        };
        assert_eq!(ticks.load(), load(4));
        assert_eq!(ticks.release(MS - 1), load(0));
        assert_eq!(ticks.release(MS), load(2));
        assert_eq!(ticks.load(), load(2));
        assert_eq!(ticks.release(9 * MS), load(2));
    }

    /// A link that is faster than 1 Gb/s does not get slower by its ticks.
    #[test]
    fn a_fast_link_stays_fast() {
        let mut ticks = Ticks::new(MS, 10_000_000_000);
        let left_ns = [1, 1].map(|end_ns| ticks.hold(end_ns, 1500));
        assert_eq!(left_ns, [MS + 1_200, MS + 2_400]);
    }
}
