//! How late packets were: a histogram that allocates no memory.

/// Counts of times, from 1 ns to hours. A bucket is a sixteenth of its time wide.
#[derive(Clone, Debug)]
pub struct Lateness {
    counts: [u64; BUCKETS],
    total: u64,
    max_ns: u64,
}

const STEPS: usize = 16;
const BUCKETS: usize = 40 * STEPS;

impl Lateness {
    /// An empty histogram.
    pub fn new() -> Self {
        Self {
            counts: [0; BUCKETS],
            total: 0,
            max_ns: 0,
        }
    }

    /// Counts one packet.
    #[inline]
    pub fn add(&mut self, late_ns: u64) {
        self.counts[bucket(late_ns).min(BUCKETS - 1)] += 1;
        self.total += 1;
        self.max_ns = self.max_ns.max(late_ns);
    }

    /// How many packets were counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The largest lateness, µs.
    pub fn max_us(&self) -> f64 {
        self.max_ns as f64 / 1e3
    }

    /// The smallest lateness, µs, that a share `quantile` of the packets did not exceed. It is at
    /// most 1/16 too large; 0 if no packet was counted.
    pub fn quantile_us(&self, quantile: f64) -> f64 {
        let wanted = (self.total as f64 * quantile).ceil().max(1.0) as u64;
        let mut sum = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            sum += count;
            if sum >= wanted {
                return end_ns(bucket).min(self.max_ns) as f64 / 1e3;
            }
        }
        0.0
    }
}

impl Default for Lateness {
    fn default() -> Self {
        Self::new()
    }
}

/// Each value below 16 has its own bucket; above, each doubling has 16 buckets.
#[inline]
fn bucket(ns: u64) -> usize {
    if ns < STEPS as u64 {
        return ns as usize;
    }
    let doublings = (ns.ilog2() - STEPS.ilog2()) as usize;
    (doublings + 1) * STEPS + ((ns >> doublings) as usize & (STEPS - 1))
}

/// The largest time in a bucket.
fn end_ns(bucket: usize) -> u64 {
    if bucket < STEPS {
        return bucket as u64;
    }
    let (doublings, step) = (bucket / STEPS - 1, bucket % STEPS);
    (((STEPS + step + 1) as u64) << doublings) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_quantile_is_that_of_the_sorted_list(
            late in proptest::collection::vec(0_u64..100_000_000_000, 1..300),
            quantile in 0.0..1.0_f64,
        ) {
            let mut lateness = Lateness::new();
            let mut late_ns = late.clone();
            late_ns.iter().for_each(|ns| lateness.add(*ns));
            late_ns.sort_unstable();
            let rank = (late_ns.len() as f64 * quantile).ceil().max(1.0) as usize;
            let exact_us = late_ns[rank - 1] as f64 / 1e3;
            let found_us = lateness.quantile_us(quantile);
            prop_assert!(exact_us <= found_us && found_us <= exact_us * (1.0 + 1.0 / 16.0));
        }
    }

    #[test]
    fn empty_is_zero() {
        assert_eq!(Lateness::new().quantile_us(0.5), 0.0);
    }
}
