//! When each element wants to run next: a tournament tree with one pending time per element.
//!
//! At equal times the element with the lower number goes first. Repeatable runs depend on this
//! rule.

/// A time that never comes, in nanoseconds.
pub const NEVER: u64 = u64::MAX;

/// One pending time per element; it knows which comes first.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// A perfect tree, whose node `n` has the children `2 n` and `2 n + 1`; the elements are its
    /// leaves. Entry `n` holds the least key of each child.
    children: Vec<[u64; 2]>,
    /// The earliest time and its element.
    first: (u64, usize),
    /// A key is the time and below it, in so many bits, the element.
    element_bits: u32,
}

impl Schedule {
    /// Makes a schedule of `elements` elements without pending times.
    pub fn new(elements: usize) -> Self {
        let leaves = elements.next_power_of_two().max(2);
        let mut schedule = Self {
            children: vec![[u64::MAX; 2]; leaves],
            first: (NEVER, 0),
            element_bits: leaves.trailing_zeros(),
        };
        for element in 0..elements {
            schedule.set(element, NEVER);
        }
        schedule
    }

    /// The last time that a schedule of so many elements can tell from [`NEVER`]: 39 hours with
    /// 100 000 elements, years with a hundred.
    pub fn latest_ns(elements: usize) -> u64 {
        (u64::MAX >> elements.next_power_of_two().max(2).trailing_zeros()) - 1
    }

    /// Replaces an element's pending time.
    #[inline]
    pub fn set(&mut self, element: usize, at_ns: u64) {
        let at_ns = at_ns.min(u64::MAX >> self.element_bits);
        let mut least = (at_ns << self.element_bits) | element as u64;
        let mut node = self.children.len() + element;
        // The value is carried up, not read back: so no level waits for the level below.
        while node > 1 {
            let pair = &mut self.children[node / 2];
            pair[node % 2] = least;
            least = least.min(pair[(node ^ 1) % 2]);
            node /= 2;
        }
        let element = least & !(u64::MAX << self.element_bits);
        self.first = (self.time_ns(least), element as usize);
    }

    /// An element's pending time.
    #[inline]
    pub fn at_ns(&self, element: usize) -> u64 {
        let leaf = self.children.len() + element;
        self.time_ns(self.children[leaf / 2][leaf % 2])
    }

    #[inline]
    fn time_ns(&self, key: u64) -> u64 {
        match key >> self.element_bits {
            never if never == u64::MAX >> self.element_bits => NEVER,
            at_ns => at_ns,
        }
    }

    /// The earliest pending time and its element.
    #[inline]
    pub fn first(&self) -> (u64, usize) {
        self.first
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
            sets in proptest::collection::vec(
                (0_usize..40, prop_oneof![0_u64..8, Just(NEVER), Just(Schedule::latest_ns(40))]),
                1..200,
            ),
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
