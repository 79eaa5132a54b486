//! A fixed-rate link behind a drop-tail FIFO.
//!
//! The link knows a packet's departure when the packet arrives, because no later packet can
//! overtake it. So [`Predicted::enqueue`] answers at once, and the link needs no event of its own.
//! The link never sees the contents of packets. The simulator keeps headers and the emulator keeps real
//! bytes; both use the answer as the key.

use super::{Bottleneck, LinkState, LinkTotals};
use crate::buffer::{Buffer, Load};
use crate::rate::{ConstantRate, Ticks};
use crate::ring::Ring;

/// A fixed-rate link, its ticks and its queue. Call [`enqueue`](Self::enqueue) in order of time.
/// `W` is what it remembers of each packet that waits.
#[derive(Clone, Debug)]
pub struct Predicted<W = Waiting> {
    rate: ConstantRate,
    ticks: Option<Box<Ticks>>,
    limit: Buffer,
    /// Every packet waiting or in service.
    waiting: Ring<W>,
    /// So many packets of at most so many bytes fit in before packets that have left must be
    /// removed.
    room: (u64, u32),
    enqueued_bytes: u64,
    dropped_packets: u64,
    sent: Load,
    /// Of the last packet that left.
    sojourn_ns: u64,
}

/// What a link remembers of a packet that has not left.
pub trait Remembers: Copy + Default {
    /// Of a packet that arrived at `arrived_ns`. `departs_ns`: when its room is free, as its last bit
    /// leaves or at a tick. `enqueued_bytes`: what the link has accepted up to its end.
    fn new(arrived_ns: u64, departs_ns: u64, enqueued_bytes: u64) -> Self;
    /// When its room is free.
    fn departs_ns(&self) -> u64;
    /// How long it waits for that.
    fn sojourn_ns(&self) -> u64;
    /// Bytes accepted up to its end, of `all_bytes` that were accepted so far.
    fn enqueued_bytes(&self, all_bytes: u64) -> u64;
}

/// A packet that has not left.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waiting {
    arrived_ns: u64,
    departs_ns: u64,
    enqueued_bytes: u64,
}

impl Remembers for Waiting {
    #[inline(always)]
    fn new(arrived_ns: u64, departs_ns: u64, enqueued_bytes: u64) -> Self {
        Self {
            arrived_ns,
            departs_ns,
            enqueued_bytes,
        }
    }

    #[inline(always)]
    fn departs_ns(&self) -> u64 {
        self.departs_ns
    }

    fn sojourn_ns(&self) -> u64 {
        self.departs_ns - self.arrived_ns
    }

    fn enqueued_bytes(&self, _all_bytes: u64) -> u64 {
        self.enqueued_bytes
    }
}

/// The same in fewer bytes, for a link with a million of them. No packet may wait for 4 s, and less than
/// 4 GB may wait ([`LIMIT`](Self::LIMIT)).
#[derive(Clone, Copy, Debug, Default)]
pub struct WaitingBriefly {
    departs_ns: u64,
    sojourn_ns: u32,
    /// The last bits.
    enqueued_bytes: u32,
}

impl WaitingBriefly {
    /// The longest wait, ns, and the most bytes that may wait.
    pub const LIMIT: u64 = u32::MAX as u64;
}

impl Remembers for WaitingBriefly {
    #[inline(always)]
    fn new(arrived_ns: u64, departs_ns: u64, enqueued_bytes: u64) -> Self {
        debug_assert!(departs_ns - arrived_ns <= Self::LIMIT);
        Self {
            departs_ns,
            sojourn_ns: (departs_ns - arrived_ns) as u32,
            enqueued_bytes: enqueued_bytes as u32,
        }
    }

    #[inline(always)]
    fn departs_ns(&self) -> u64 {
        self.departs_ns
    }

    fn sojourn_ns(&self) -> u64 {
        self.sojourn_ns.into()
    }

    fn enqueued_bytes(&self, all_bytes: u64) -> u64 {
        all_bytes - u64::from((all_bytes as u32).wrapping_sub(self.enqueued_bytes))
    }
}

impl<W: Remembers> Predicted<W> {
    /// An idle link.
    pub fn new(bottleneck: &Bottleneck) -> Self {
        Self {
            rate: ConstantRate::new(bottleneck.rate_bps, bottleneck.burst_bytes),
            ticks: (bottleneck.tick_ns > 0)
                .then(|| Box::new(Ticks::new(bottleneck.tick_ns, bottleneck.rate_bps))),
            limit: bottleneck.buffer,
            waiting: Ring::default(),
            room: (0, 0),
            enqueued_bytes: 0,
            dropped_packets: 0,
            sent: Load::default(),
            sojourn_ns: 0,
        }
    }

    /// Whether so many packets of this size that arrive together fit in: one or two.
    #[inline(always)]
    pub fn takes(&mut self, packets: u64, now_ns: u64, bytes: u32) -> bool {
        let fits = |room: (u64, u32)| room.0 >= packets && bytes <= room.1;
        fits(self.room) || self.makes_room(now_ns, bytes) && fits(self.room)
    }

    /// Accepts or drops an arriving packet. Returns when its last bit leaves; `None` if the queue
    /// is full and drops the packet.
    #[inline(always)]
    pub fn enqueue(&mut self, now_ns: u64, bytes: u32) -> Option<u64> {
        // Packets that have left are removed when their room is needed.
        if !self.takes(1, now_ns, bytes) {
            self.dropped_packets += 1;
            return None;
        }
        let served_ns = self.rate.serve_all(now_ns, bytes);
        let [leaves_ns] = self.accept(now_ns, served_ns, bytes);
        Some(leaves_ns)
    }

    /// As [`enqueue`](Self::enqueue), of two packets that [it takes](Self::takes).
    #[inline(always)]
    pub fn enqueue_pair(&mut self, now_ns: u64, bytes: u32) -> [u64; 2] {
        let served_ns = self.rate.serve_all(now_ns, bytes);
        self.accept(now_ns, served_ns, bytes)
    }

    /// As [`enqueue`](Self::enqueue), by the rules alone: it looks for room at each packet. Tests compare
    /// the two.
    #[cold]
    pub fn enqueue_the_long_way(&mut self, now_ns: u64, bytes: u32) -> Option<u64> {
        self.room = (0, 0);
        if !self.takes(1, now_ns, bytes) {
            self.dropped_packets += 1;
            return None;
        }
        let served_ns = self.rate.serve_from_bucket(now_ns, bytes);
        let [leaves_ns] = self.accept(now_ns, served_ns, bytes);
        Some(leaves_ns)
    }

    /// Accepts a packet that the full queue has just dropped. Returns when its last bit leaves.
    #[cold]
    pub fn enqueue_beyond(&mut self, now_ns: u64, bytes: u32) -> u64 {
        self.dropped_packets -= 1;
        if self.waiting.len() == self.waiting.capacity() {
            self.waiting.grow();
        }
        self.room = (1, bytes);
        let served_ns = self.rate.serve_all(now_ns, bytes);
        let [leaves_ns] = self.accept(now_ns, served_ns, bytes);
        leaves_ns
    }

    /// Takes packets of one size that fit in. Returns when the last bit of each leaves.
    #[inline(always)]
    fn accept<const N: usize>(&mut self, now_ns: u64, served_ns: [u64; N], bytes: u32) -> [u64; N] {
        self.room.0 -= N as u64;
        let (free_ns, leave_ns) = match &mut self.ticks {
            None => (served_ns, served_ns),
            Some(ticks) => {
                let releases = ticks.release_all(served_ns, bytes);
                (
                    releases.map(|each| each.at_ns),
                    releases.map(|each| each.leaves_ns),
                )
            }
        };
        let before_bytes = self.enqueued_bytes;
        self.enqueued_bytes += N as u64 * u64::from(bytes);
        let waiting: [W; N] = std::array::from_fn(|place| {
            let enqueued_bytes = before_bytes + (place as u64 + 1) * u64::from(bytes);
            W::new(now_ns, free_ns[place], enqueued_bytes)
        });
        self.waiting.push_all_in_room(waiting);
        leave_ns
    }

    /// Whether an arriving packet fits in when those that have left are removed.
    #[inline(never)]
    fn makes_room(&mut self, now_ns: u64, bytes: u32) -> bool {
        self.advance(now_ns);
        if !self.limit.fits(self.load(), bytes) {
            return false;
        }
        if self.waiting.len() == self.waiting.capacity() {
            self.waiting.grow();
        }
        let load = self.load();
        let slots = self.waiting.capacity() - load.packets;
        self.room = match self.limit {
            Buffer::Packets(limit) => ((limit - load.packets).min(slots), u32::MAX),
            Buffer::Bytes(limit) => {
                let free = |bytes: u32| (limit - load.bytes) / u64::from(bytes);
                let largest = self.room.1.max(bytes);
                match free(largest) {
                    0 => (free(bytes).min(slots), bytes),
                    packets => (packets.min(slots), largest),
                }
            }
        };
        true
    }

    /// Removes every packet that has left by `now_ns`.
    fn advance(&mut self, now_ns: u64) {
        let left = |packet: &W| packet.departs_ns() <= now_ns;
        let (packets, last) = self.waiting.pop_while(left);
        if let Some(last) = last {
            self.sent.packets += packets;
            self.sent.bytes = last.enqueued_bytes(self.enqueued_bytes);
            self.sojourn_ns = last.sojourn_ns();
        }
        self.room.0 = 0;
    }

    #[inline]
    fn load(&self) -> Load {
        Load {
            packets: self.waiting.len(),
            bytes: self.enqueued_bytes - self.sent.bytes,
        }
    }

    /// The queue and the totals at `now_ns`.
    pub fn state(&mut self, now_ns: u64) -> LinkState {
        self.advance(now_ns);
        let queue = self.load();
        LinkState {
            queue,
            sojourn_us: self.sojourn_ns / 1_000,
            totals: LinkTotals {
                enqueued_packets: self.sent.packets + queue.packets,
                dropped_packets: self.dropped_packets,
                sent_packets: self.sent.packets,
                sent_bytes: self.sent.bytes,
                ..LinkTotals::default()
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same queue, told in exact fractions of a nanosecond and without shortcuts.
    fn plain(bottleneck: &Bottleneck, arrivals: &[(u64, u32)]) -> Vec<Option<u64>> {
        let rate = u128::from(bottleneck.rate_bps);
        // Times here are in units of 1/rate ns.
        let mut accepted: Vec<(u128, u32)> = Vec::new();
        arrivals
            .iter()
            .map(|&(now_ns, bytes)| {
                let now = u128::from(now_ns) * rate;
                // A packet has left when the clock, which shows whole nanoseconds, says so.
                let here = |&&(departs, _): &&(u128, u32)| departs / rate > u128::from(now_ns);
                let full = match bottleneck.buffer {
                    Buffer::Packets(limit) => accepted.iter().filter(here).count() as u64 >= limit,
                    Buffer::Bytes(limit) => {
                        let waiting: u64 =
                            accepted.iter().filter(here).map(|p| u64::from(p.1)).sum();
                        waiting + u64::from(bytes) > limit
                    }
                };
                if full {
                    return None;
                }
                let free = accepted.last().map_or(0, |last| last.0);
                let starts = if free / rate < u128::from(now_ns) {
                    now
                } else {
                    free
                };
                let departs = starts + u128::from(bytes) * 8 * 1_000_000_000;
                accepted.push((departs, bytes));
                Some((departs / rate) as u64)
            })
            .collect()
    }

    fn buffers() -> impl Strategy<Value = Buffer> {
        prop_oneof![
            (1_u64..30).prop_map(Buffer::Packets),
            (1500_u64..40_000).prop_map(Buffer::Bytes)
        ]
    }

    proptest! {
        /// FIFO, work-conserving, exact to the nanosecond over any number of packets,
        /// drops where and only where the queue is full, and loses count of nothing.
        #[test]
        fn is_an_exact_drop_tail_fifo(
            rate_bps in prop_oneof![Just(1_000_000_u64), Just(800_000_000), 1_000_u64..10_000_000_000],
            buffer in buffers(),
            gaps in proptest::collection::vec(
                (0_u64..4, 0_u64..200_000, prop_oneof![Just(1500), 40_u32..1501]),
                1..120,
            ),
        ) {
            let bottleneck = Bottleneck::drop_tail(rate_bps, buffer);
            let mut link: Predicted = Predicted::new(&bottleneck);
            let mut now_ns = 0;
            let arrivals: Vec<(u64, u32)> = gaps
                .into_iter()
                .map(|(burst, gap_ns, bytes)| {
                    now_ns += if burst == 0 { gap_ns } else { 0 };
                    (now_ns, bytes)
                })
                .collect();
            let mut departures = Vec::new();
            while let [first @ (at, bytes), rest @ ..] = &arrivals[departures.len()..] {
                if rest.first() == Some(first) && link.takes(2, *at, *bytes) {
                    departures.extend(link.enqueue_pair(*at, *bytes).map(Some));
                } else {
                    departures.push(link.enqueue(*at, *bytes));
                }
            }
            prop_assert_eq!(&departures, &plain(&bottleneck, &arrivals));
            let accepted: Vec<u64> = departures.iter().flatten().copied().collect();
            prop_assert!(accepted.windows(2).all(|pair| pair[0] <= pair[1]));
            // In 4 s it sends all that fits in its buffer.
            if rate_bps >= 1_000_000 {
                let mut brief: Predicted<WaitingBriefly> = Predicted::new(&bottleneck);
                let told = arrivals.iter().map(|&(at, bytes)| brief.enqueue(at, bytes));
                prop_assert!(told.eq(departures.iter().copied()));
                let same = |at_ns| (brief.state(at_ns), link.clone().state(at_ns));
                for (brief, plain) in [now_ns, now_ns + 100_000, u64::MAX].map(same) {
                    prop_assert_eq!(brief, plain);
                }
            }
            let LinkState { queue, totals, .. } = link.state(now_ns);
            prop_assert_eq!(totals.enqueued_packets, accepted.len() as u64);
            prop_assert_eq!(totals.dropped_packets, (departures.len() - accepted.len()) as u64);
            prop_assert_eq!(totals.enqueued_packets, totals.sent_packets + queue.packets);
            let LinkState { queue, totals, .. } = link.state(u64::MAX);
            prop_assert_eq!(queue, Load::default());
            prop_assert_eq!(totals.sent_packets, accepted.len() as u64);
        }
    }
}
