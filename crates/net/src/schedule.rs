//! When each element wants to run next: a tournament tree with one pending time per element.
//!
//! At equal times the element with the lower number goes first. Repeatable runs depend on this
//! rule.

/// A time that never comes, in nanoseconds.
pub const NEVER: u64 = u64::MAX;

/// One pending time per element; it knows which comes first.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Element `i` of `n` is the leaf `n + i`. A node below `n` holds the smaller of its children,
    /// `2 node` and `2 node + 1`. So `least[1]` is the first of all.
    least: Vec<u128>,
}

/// The order of elements: by time, then by number.
#[inline]
fn key(at_ns: u64, element: usize) -> u128 {
    (u128::from(at_ns) << 64) | element as u128
}

impl Schedule {
    /// Makes a schedule of `elements` elements without pending times.
    pub fn new(elements: usize) -> Self {
        let mut schedule = Self {
            least: vec![u128::MAX; 2 * elements],
        };
        for element in 0..elements {
            schedule.set(element, NEVER);
        }
        schedule
    }

    /// Replaces an element's pending time.
    #[inline]
    pub fn set(&mut self, element: usize, at_ns: u64) {
        let mut node = self.least.len() / 2 + element;
        // The value is carried up, not read back: so no level waits for the level below.
        let mut least = key(at_ns, element);
        self.least[node] = least;
        while node > 1 {
            least = least.min(self.least[node ^ 1]);
            node /= 2;
            self.least[node] = least;
        }
    }

    /// An element's pending time.
    #[inline]
    pub fn at_ns(&self, element: usize) -> u64 {
        (self.least[self.least.len() / 2 + element] >> 64) as u64
    }

    /// The earliest pending time and its element.
    #[inline]
    pub fn first(&self) -> (u64, usize) {
        let first = self.least[1];
        ((first >> 64) as u64, first as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn first_is_the_minimum_with_the_lowest_number(
            elements in 1_usize..40,
            sets in proptest::collection::vec((0_usize..40, 0_u64..8), 1..200),
        ) {
            let mut schedule = Schedule::new(elements);
            let mut plain = vec![NEVER; elements];
            for (element, at_ns) in sets {
                let element = element % elements;
                schedule.set(element, at_ns);
                plain[element] = at_ns;
                let first = (0..elements).min_by_key(|&i| (plain[i], i)).unwrap();
                prop_assert_eq!(schedule.first(), (plain[first], first));
                prop_assert_eq!(schedule.at_ns(element), at_ns);
            }
        }
    }
}
