//! The bottleneck: a fixed-rate link behind a drop-tail FIFO.
//!
//! The link knows a packet's departure when the packet arrives, because no later packet can
//! overtake it. So [`Link::enqueue`] answers at once, and the link needs no event of its own. The
//! link never sees the contents of packets. The simulator keeps headers and the emulator keeps
//! real bytes; both use the answer as the key.

use crate::queue::Load;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Upper bound of the size of an ACK.
const SMALL_BYTES: u32 = 100;

/// A fixed-rate link behind a drop-tail FIFO.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bottleneck {
    /// Rate in bits of IP packets per second.
    pub rate_bps: u64,
    /// Room in the queue, the packet in service included.
    pub buffer: Buffer,
    /// Drop every Nth data packet of each direction before it reaches the queue; `None`: drop none.
    pub drop_every_packets: Option<u64>,
}

/// The limit of the drop-tail queue, in its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Buffer {
    /// Maximum packets.
    Packets(u64),
    /// Maximum bytes.
    Bytes(u64),
}

/// A fixed-rate link and its queue. Call [`enqueue`](Self::enqueue) in order of time.
#[derive(Clone, Debug)]
pub struct Link {
    rate_bps: u64,
    limit: Buffer,
    /// Departure time and size of every packet waiting or in service.
    waiting: VecDeque<(u64, u32)>,
    waiting_bytes: u64,
    /// When the last bit of the last accepted packet leaves: the whole nanoseconds …
    free_at_ns: u64,
    /// … and the remainder, in units of 1/rate nanoseconds. So rounding loses no time.
    free_at_rest: u64,
    /// Size, service time and remainder of the last small packet, and of the last large packet.
    service: [(u32, u64, u64); 2],
    totals: LinkTotals,
}

/// Totals of a link so far. `enqueued = sent + waiting` always holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkTotals {
    /// Packets accepted.
    pub enqueued_packets: u64,
    /// Packets dropped because the queue was full.
    pub dropped_packets: u64,
    /// Packets whose last bit has left.
    pub sent_packets: u64,
    /// Bytes of the packets whose last bit has left.
    pub sent_bytes: u64,
}

impl Link {
    /// An idle link.
    pub fn new(bottleneck: &Bottleneck) -> Self {
        Self {
            rate_bps: bottleneck.rate_bps,
            limit: bottleneck.buffer,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            free_at_ns: 0,
            free_at_rest: 0,
            service: [(0, 0, 0); 2],
            totals: LinkTotals::default(),
        }
    }

    /// Accepts or drops an arriving packet. Returns when its last bit leaves; `None` if the queue
    /// is full and drops the packet.
    #[inline]
    pub fn enqueue(&mut self, now_ns: u64, bytes: u32) -> Option<u64> {
        self.advance(now_ns);
        let load = Load {
            packets: self.waiting.len() as u64,
            bytes: self.waiting_bytes,
        };
        if !self.limit.fits(load, bytes) {
            self.totals.dropped_packets += 1;
            return None;
        }
        if self.free_at_ns < now_ns {
            (self.free_at_ns, self.free_at_rest) = (now_ns, 0);
        }
        let service = &mut self.service[usize::from(bytes > SMALL_BYTES)];
        if service.0 != bytes {
            let bits_ns = u128::from(bytes) * 8 * 1_000_000_000;
            let rate = u128::from(self.rate_bps);
            *service = (bytes, (bits_ns / rate) as u64, (bits_ns % rate) as u64);
        }
        self.free_at_ns += service.1;
        self.free_at_rest += service.2;
        if self.free_at_rest >= self.rate_bps {
            self.free_at_rest -= self.rate_bps;
            self.free_at_ns += 1;
        }
        self.waiting.push_back((self.free_at_ns, bytes));
        self.waiting_bytes += u64::from(bytes);
        self.totals.enqueued_packets += 1;
        Some(self.free_at_ns)
    }

    /// Removes every packet that has left by `now_ns`.
    #[inline]
    pub fn advance(&mut self, now_ns: u64) {
        while let Some(&(departs_ns, bytes)) = self.waiting.front() {
            if departs_ns > now_ns {
                break;
            }
            self.waiting.pop_front();
            self.waiting_bytes -= u64::from(bytes);
            self.totals.sent_packets += 1;
            self.totals.sent_bytes += u64::from(bytes);
        }
    }

    /// Packets in the queue at the time of the last call, the one in service included.
    pub fn queue_packets(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Bytes in the queue at the time of the last call, the packet in service included.
    pub fn queue_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// Totals at the time of the last call.
    pub fn totals(&self) -> LinkTotals {
        self.totals
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
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// FIFO, work-conserving, exact to the nanosecond over any number of packets,
        /// drops where and only where the queue is full, and loses count of nothing.
        #[test]
        fn is_an_exact_drop_tail_fifo(
            rate_bps in prop_oneof![Just(1_000_000_u64), Just(800_000_000), 1_000_u64..10_000_000_000],
            buffer in buffers(),
            gaps in proptest::collection::vec((0_u64..4, 0_u64..200_000, 40_u32..1501), 1..120),
        ) {
            let bottleneck = Bottleneck { rate_bps, buffer, drop_every_packets: None };
            let mut link = Link::new(&bottleneck);
            let mut now_ns = 0;
            let arrivals: Vec<(u64, u32)> = gaps
                .into_iter()
                .map(|(burst, gap_ns, bytes)| {
                    now_ns += if burst == 0 { gap_ns } else { 0 };
                    (now_ns, bytes)
                })
                .collect();
            let departures: Vec<_> = arrivals.iter().map(|&(at, bytes)| link.enqueue(at, bytes)).collect();
            prop_assert_eq!(&departures, &plain(&bottleneck, &arrivals));
            let accepted: Vec<u64> = departures.iter().flatten().copied().collect();
            prop_assert!(accepted.windows(2).all(|pair| pair[0] <= pair[1]));
            let totals = link.totals();
            prop_assert_eq!(totals.enqueued_packets, accepted.len() as u64);
            prop_assert_eq!(totals.dropped_packets, (departures.len() - accepted.len()) as u64);
            prop_assert_eq!(totals.enqueued_packets, totals.sent_packets + link.queue_packets());
            link.advance(u64::MAX);
            prop_assert_eq!((link.queue_packets(), link.queue_bytes()), (0, 0));
            prop_assert_eq!(link.totals().sent_packets, accepted.len() as u64);
        }
    }
}
