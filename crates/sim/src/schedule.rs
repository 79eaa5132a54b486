//! When each element wants to run next: a tournament tree with one pending time
//! per element.
//!
//! Ties go to the element with the lower number. This rule is part of what makes
//! a run repeatable.

/// A time that never comes, in nanoseconds.
pub const NEVER: u64 = u64::MAX;

/// One pending time per element, and which is first.
#[derive(Clone, Debug)]
pub struct Schedule {
    at_ns: Vec<u64>,
    /// `winner[1]` is the element that is first of all; element `i` is the leaf
    /// `leaves + i`; node `n` holds the winner of nodes `2n` and `2n + 1`.
    winner: Vec<u32>,
    leaves: usize,
}

impl Schedule {
    /// A schedule of `elements` elements, none of which has a pending time.
    pub fn new(elements: usize) -> Self {
        let leaves = elements.next_power_of_two().max(2);
        let mut schedule = Self {
            at_ns: vec![NEVER; leaves],
            winner: vec![0; 2 * leaves],
            leaves,
        };
        for element in 0..leaves {
            schedule.winner[leaves + element] = element as u32;
        }
        for node in (1..leaves).rev() {
            schedule.winner[node] = schedule.winner[2 * node];
        }
        schedule
    }

    /// Replaces an element's pending time.
    #[inline]
    pub fn set(&mut self, element: usize, at_ns: u64) {
        self.at_ns[element] = at_ns;
        let mut node = (self.leaves + element) / 2;
        while node > 0 {
            let (left, right) = (self.winner[2 * node], self.winner[2 * node + 1]);
            let right_first = self.at_ns[right as usize] < self.at_ns[left as usize];
            self.winner[node] = if right_first { right } else { left };
            node /= 2;
        }
    }

    /// The earliest pending time and its element.
    #[inline]
    pub fn first(&self) -> (u64, usize) {
        let element = self.winner[1] as usize;
        (self.at_ns[element], element)
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
            }
        }
    }
}
