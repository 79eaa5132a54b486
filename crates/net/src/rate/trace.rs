//! A recorded link: the trace of its opportunities to deliver a packet, as of mahimahi's `mm-link`
//! (Netravali et al. 2015, section 4.2; its `link_queue.cc`).

const MS: u64 = 1_000_000;
/// What mahimahi counts of a packet beside its IP bytes: the header of its TUN device.
const HEADER_BYTES: u32 = 4;
/// IP bytes that an opportunity carries in a full packet.
const TRACE_BYTES: u32 = 1_500;
const OPPORTUNITY_BYTES: u32 = TRACE_BYTES + HEADER_BYTES;

/// Opportunities at times, repeated without end. Each carries 1504 bytes: a full packet with its
/// header, several small ones, or a part of a larger one. What it does not use is lost.
#[derive(Clone, Debug)]
pub struct Trace {
    times_ms: Vec<u64>,
    period_ns: u64,
    /// When the present repetition began.
    base_ns: u64,
    /// The next opportunity.
    next: usize,
    /// The last opportunity: when it was, and what is left of it.
    at_ns: u64,
    left_bytes: u32,
}

impl Trace {
    /// Times of opportunities, ms. They never go back, and the last one is the period: not 0.
    pub fn new(times_ms: &[u64]) -> Self {
        Self {
            times_ms: times_ms.into(),
            period_ns: times_ms.last().map_or(0, |last| last * MS),
            base_ns: 0,
            next: 0,
            at_ns: 0,
            left_bytes: 0,
        }
    }

    /// The mean rate of such a trace for full packets, bit/s, rounded.
    pub fn mean_bps(times_ms: &[u64]) -> u64 {
        let bits_1000 = times_ms.len() as u128 * u128::from(TRACE_BYTES) * 8 * 1_000;
        let period_ms = times_ms.last().map_or(1, |&last| u128::from(last.max(1)));
        ((bits_1000 + period_ms / 2) / period_ms) as u64
    }

    /// Serves a packet that is ready now, after all packets before it. Returns when its last bit
    /// leaves.
    #[inline]
    pub fn serve(&mut self, now_ns: u64, bytes: u32) -> u64 {
        if self.at_ns < now_ns {
            self.left_bytes = 0;
            self.skip(now_ns);
        }
        let mut need_bytes = bytes + HEADER_BYTES;
        while need_bytes > self.left_bytes {
            need_bytes -= self.left_bytes;
            self.at_ns = self.base_ns + self.times_ms[self.next] * MS;
            self.left_bytes = OPPORTUNITY_BYTES;
            self.next += 1;
            if self.next == self.times_ms.len() {
                self.next = 0;
                self.base_ns += self.period_ns;
            }
        }
        self.left_bytes -= need_bytes;
        self.at_ns
    }

    /// Goes to the first opportunity that is not before now.
    fn skip(&mut self, now_ns: u64) {
        // Now may be the end of a period, where its last opportunities are.
        let periods = now_ns.saturating_sub(self.base_ns + 1) / self.period_ns;
        if periods > 0 {
            self.base_ns += periods * self.period_ns;
            self.next = 0;
        }
        let now_ms = now_ns.saturating_sub(self.base_ns).div_ceil(MS);
        let later = &self.times_ms[self.next..];
        self.next += later.partition_point(|&time_ms| time_ms < now_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The only line "1" is 12 Mb/s: a full packet each ms.
    #[test]
    fn opportunities_times_packet_size() {
        assert_eq!(Trace::mean_bps(&[1]), 12_000_000);
        let mut trace = Trace::new(&[1]);
        for number in 1..100 {
            assert_eq!(trace.serve(0, 1500), number * MS);
        }
        // 3 opportunities in 4 ms.
        assert_eq!(Trace::mean_bps(&[0, 2, 4]), 9_000_000);
        let mut trace = Trace::new(&[0, 2, 4]);
        let left = [0; 7].map(|now_ns| trace.serve(now_ns, 1500) / MS);
        assert_eq!(left, [0, 2, 4, 4, 6, 8, 8]);
    }

    /// 1504 = 9 × 160 + 64: nine packets of 156 bytes share an opportunity, the tenth begins in it
    /// and needs the next one.
    #[test]
    fn small_packets_share_and_large_ones_take_several() {
        let mut trace = Trace::new(&[5, 10]);
        let left: Vec<_> = (0..10).map(|_| trace.serve(0, 156) / MS).collect();
        assert_eq!(left, [5, 5, 5, 5, 5, 5, 5, 5, 5, 10]);
        // 1408 bytes are left of the opportunity at 10 ms; 3008 = 1408 + 1504 + 96.
        assert_eq!(trace.serve(10 * MS, 3004), 20 * MS);
    }

    #[test]
    fn what_is_not_used_is_lost() {
        let mut trace = Trace::new(&[1, 1, 3]);
        assert_eq!(trace.serve(0, 100), MS);
        // What is left of the first opportunity has gone, and so has the second.
        assert_eq!(trace.serve(MS + 1, 100), 3 * MS);
        // 1000 periods later.
        assert_eq!(trace.serve(3000 * MS, 1500), 3000 * MS);
        assert_eq!(trace.serve(3000 * MS, 1500), 3001 * MS);
        assert_eq!(trace.serve(3000 * MS + 3, 1500), 3001 * MS);
        assert_eq!(trace.serve(3001 * MS, 1500), 3003 * MS);
    }

    proptest! {
        /// As mahimahi tells it: each opportunity comes, finds what waits, and goes.
        #[test]
        fn as_opportunities_one_by_one(
            mut times_ms in proptest::collection::vec(0_u64..12, 1..8),
            gaps in proptest::collection::vec((0_u64..5, 0_u64..40 * MS, 40_u32..4000), 1..60),
        ) {
            times_ms.sort_unstable();
            let last = times_ms.len() - 1;
            times_ms[last] = times_ms[last].max(1);
            let mut trace = Trace::new(&times_ms);
            // Packets arrive between the opportunities.
            let (mut arrives_ns, mut free_ns) = (1, 0);
            let mut packets = Vec::new();
            for (burst, gap_ns, bytes) in gaps {
                arrives_ns += if burst == 0 { gap_ns / 2 * 2 } else { 0 };
                free_ns = trace.serve(arrives_ns.max(free_ns), bytes);
                packets.push((arrives_ns, bytes, free_ns));
            }
            let mut waiting = packets.into_iter().peekable();
            let mut served_bytes = 0;
            for repetition in 0.. {
                for &time_ms in &times_ms {
                    let at_ns = (repetition * times_ms[last] + time_ms) * MS;
                    let mut left_bytes = 1504;
                    while let Some(&(arrives_ns, bytes, left_ns)) = waiting.peek() {
                        if arrives_ns > at_ns || left_bytes == 0 {
                            break;
                        }
                        let part = left_bytes.min(bytes + 4 - served_bytes);
                        left_bytes -= part;
                        served_bytes += part;
                        if served_bytes == bytes + 4 {
                            prop_assert_eq!(left_ns, at_ns);
                            served_bytes = 0;
                            waiting.next();
                        }
                    }
                }
                if waiting.peek().is_none() {
                    break;
                }
            }
        }
    }
}
