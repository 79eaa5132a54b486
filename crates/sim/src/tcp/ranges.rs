//! A set of segment numbers, as sorted ranges that neither overlap nor touch. It holds the
//! receiver's out-of-order data, and what the sender knows of that data.

use ackclock_host::{prefetch, PooledSlice};
use ackclock_net::ring::Ring;

/// Segments `start..end`.
pub type Range = (u64, u64);

/// The segment with these last bits that is nearest to `other`: half the memory for what lies near a
/// window.
#[inline]
pub(super) fn near(other: u64, bits: u32) -> u64 {
    let beyond = bits.wrapping_sub(other as u32) as i32;
    other.wrapping_add_signed(beyond.into())
}

/// A set of segment numbers.
#[derive(Clone, Debug, Default)]
pub struct RangeSet(Ring<Range, PooledSlice<Range>>);

impl RangeSet {
    /// Asks for its memory.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        if let Some(first) = self.0.front() {
            prefetch(first);
        }
    }

    /// Adds `start..end`. Calls `on_new` for every part that was not in the set, in ascending
    /// order. Returns the range that now holds `start..end`.
    pub fn insert(&mut self, (start, end): Range, mut on_new: impl FnMut(Range)) -> Range {
        debug_assert!(start < end);
        let ranges = &mut self.0;
        // Data arrives mostly in order: the last range grows, or a new one follows it.
        match ranges.back_mut() {
            Some(last) if start < last.0 => (),
            Some(last) if start <= last.1 => {
                if last.1 < end {
                    on_new((last.1, end));
                    last.1 = end;
                }
                return *last;
            }
            _ => {
                on_new((start, end));
                ranges.push((start, end));
                return (start, end);
            }
        }
        let low = ranges.partition_point(|range| range.1 < start);
        let mut merged = (start, end);
        let mut seen = start;
        let mut high = low;
        while let Some(&range) = ranges.get(high).filter(|range| range.0 <= end) {
            if seen < range.0 {
                on_new((seen, range.0));
            }
            seen = seen.max(range.1);
            merged = (merged.0.min(range.0), merged.1.max(range.1));
            high += 1;
        }
        if seen < end {
            on_new((seen, end));
        }
        ranges.replace(low..high, merged);
        merged
    }

    /// Removes everything below `bound`.
    pub fn remove_below(&mut self, bound: u64) {
        while let Some(front) = self.0.front_mut() {
            if front.1 > bound {
                front.0 = front.0.max(bound);
                break;
            }
            self.0.skip();
        }
        if self.0.is_empty() && self.0.capacity() > 0 {
            // The next gap, of any flow, has its memory.
            self.0 = Ring::default();
        }
    }

    /// The lowest range.
    pub fn first(&self) -> Option<Range> {
        self.0.front().copied()
    }

    /// One past the highest segment; 0 if the set is empty.
    pub fn end(&self) -> u64 {
        self.0.back().map_or(0, |range| range.1)
    }

    /// Of the highest `count` segments the lowest; `None`: there are fewer.
    pub(super) fn nth_highest(&self, count: u64) -> Option<u64> {
        let mut left = count;
        for range in self.0.iter().rev() {
            let segments = range.1 - range.0;
            if left <= segments {
                return Some(range.1 - left);
            }
            left -= segments;
        }
        None
    }

    /// Number of segments in the set.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|range| range.1 - range.0).sum()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn behaves_as_a_set(operations in proptest::collection::vec((0_u64..60, 1_u64..9, 0_u8..8), 1..80)) {
            let mut ranges = RangeSet::default();
            let mut plain = BTreeSet::new();
            for (start, length, kind) in operations {
                if kind == 0 {
                    ranges.remove_below(start);
                    plain.retain(|&segment| segment >= start);
                } else {
                    let fresh: Vec<u64> =
                        (start..start + length).filter(|segment| !plain.contains(segment)).collect();
                    let mut reported = Vec::new();
                    let merged = ranges.insert((start, start + length), |(a, b)| reported.extend(a..b));
                    prop_assert_eq!(reported, fresh);
                    plain.extend(start..start + length);
                    prop_assert!(merged.0 <= start && merged.1 >= start + length);
                    prop_assert!((merged.0..merged.1).all(|segment| plain.contains(&segment)));
                }
                prop_assert_eq!(ranges.len(), plain.len() as u64);
                prop_assert_eq!(ranges.end(), plain.last().map_or(0, |last| last + 1));
                prop_assert_eq!(ranges.first().map(|range| range.0), plain.first().copied());
                let list: Vec<_> = ranges.0.iter().copied().collect();
                let segments = list.iter().flat_map(|range| range.0..range.1);
                prop_assert!(segments.eq(plain.iter().copied()));
                prop_assert!(list.windows(2).all(|pair| pair[0].1 < pair[1].0));
            }
        }
    }
}
