//! When each element wants to run next: a tournament tree with one pending time per element. Four
//! meet in each round, so that the tree has few levels, and a level one line of the cache. Many
//! elements are in a timing wheel instead.
//!
//! At equal times the element with the lower number goes first. Repeatable runs depend on this
//! rule.

mod wheel;

use wheel::Wheel;

/// A time that never comes, in nanoseconds.
pub const NEVER: u64 = u64::MAX;

/// More elements than these are in a wheel.
pub const FEW: usize = 2_000;
/// Bits of a key in the tree that are for the element: enough for [`FEW`].
const FEW_BITS: u32 = 11;
/// In the tree this time and later ones never come: 52 days. Keys of earlier times begin with a bit 0.
const FEW_NEVER_NS: u64 = 1 << (63 - FEW_BITS);
/// Children of a node in the tree.
const CHILDREN: usize = 4;

/// One pending time per element; it knows which comes first.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// A tree whose nodes have four children each. A node is the least key below it, and the last
    /// nodes are the elements. The children of the root are group 0, those of node `n` are group
    /// `n + 1`; node `n` is number `n % 4` of group `n / 4`. A key is the time and below it, in so many
    /// bits, the element.
    groups: Vec<[u64; CHILDREN]>,
    /// The node of the first element.
    leaves: usize,
    /// The earliest time and its element.
    first: (u64, usize),
    /// Before this time no other element is first, if the first was set last; else 0.
    alone_until_ns: u64,
    /// In place of the tree.
    wheel: Option<Box<Wheel>>,
}

impl Schedule {
    /// Makes a schedule of `elements` elements without pending times.
    pub fn new(elements: usize) -> Self {
        Self::with(elements, elements > FEW)
    }

    fn with(elements: usize, many: bool) -> Self {
        let groups = match many {
            true => 0,
            false => elements.saturating_sub(1).div_ceil(CHILDREN - 1).max(1),
        };
        let mut schedule = Self {
            groups: vec![[u64::MAX; CHILDREN]; groups],
            leaves: groups.saturating_sub(1),
            first: (NEVER, 0),
            alone_until_ns: 0,
            wheel: many.then(|| Box::new(Wheel::new(elements))),
        };
        for element in 0..elements {
            schedule.set(element, NEVER);
        }
        schedule
    }

    /// The last time that a schedule of so many elements can tell from [`NEVER`]: 39 hours with
    /// 100 000 elements, 1250 hours with up to 2000.
    pub fn latest_ns(elements: usize) -> u64 {
        match elements > FEW {
            true => Wheel::latest_ns(elements),
            false => FEW_NEVER_NS - 1,
        }
    }

    /// Replaces an element's pending time.
    #[inline]
    pub fn set(&mut self, element: usize, at_ns: u64) {
        if self.wheel.is_some() {
            return self.set_of_many(element, at_ns);
        }
        let key = key_of_few(element, at_ns);
        let (mut least, mut other) = (key, u64::MAX);
        let mut node = self.leaves + element;
        // The value is carried up, not read back: so no level waits for the level below.
        while let Some(group) = self.groups.get_mut(node / CHILDREN) {
            group[node % CHILDREN] = least;
            let others = others(group, node);
            (least, other) = (least.min(others), other.min(others));
            node = (node / CHILDREN).wrapping_sub(1);
        }
        if key < other {
            return self.stay_first(key, other);
        }
        // A processor that guesses this knows who is next before it knows the key.
        self.first = (time_of_few(other), element_of_few(other));
        self.alone_until_ns = 0;
    }

    #[inline(never)]
    fn stay_first(&mut self, key: u64, other: u64) {
        self.first = (time_of_few(key), element_of_few(key));
        self.alone_until_ns = time_of_few(other);
    }

    #[inline(never)]
    fn set_of_many(&mut self, element: usize, at_ns: u64) {
        let Some(wheel) = &mut self.wheel else { return };
        wheel.set(element, at_ns);
        let first = wheel.first();
        self.first = first.unwrap_or((NEVER, 0));
        self.alone_until_ns = match first {
            Some((_, first)) if first == element => wheel.alone_until_ns().unwrap_or(NEVER),
            _ => 0,
        };
    }

    /// Before this time no other element than the first wants to run. It is known only if the first
    /// was set last; else this is 0. A wheel may say less than it could.
    #[inline]
    pub fn alone_until_ns(&self) -> u64 {
        self.alone_until_ns
    }

    /// An element's pending time.
    #[inline]
    pub fn at_ns(&self, element: usize) -> u64 {
        if let Some(wheel) = &self.wheel {
            return wheel.at_ns(element);
        }
        let leaf = self.leaves + element;
        time_of_few(self.groups[leaf / CHILDREN][leaf % CHILDREN])
    }

    /// The earliest pending time and its element.
    #[inline]
    pub fn first(&self) -> (u64, usize) {
        self.first
    }

    /// Whether it has many elements, and says what comes soon.
    #[inline]
    pub fn has_many(&self) -> bool {
        self.wheel.is_some()
    }

    /// An element of many that will be first soon. It names each once before it is first, unless the
    /// element was first shortly before.
    #[inline]
    pub fn take_ahead(&mut self) -> Option<usize> {
        self.wheel.as_mut()?.take_ahead()
    }

    /// Memory that a schedule of many elements needs soon: the caller may ask for it.
    #[inline]
    pub fn later(&self) -> Option<&impl Sized> {
        self.wheel.as_ref()?.later()
    }

    /// An element of many that will be first after so many others, if few of them come back before.
    #[inline]
    pub fn soon<const OTHERS: usize>(&self) -> Option<usize> {
        self.wheel.as_ref()?.soon(OTHERS)
    }
}

/// The key of an element in the tree.
#[inline]
fn key_of_few(element: usize, at_ns: u64) -> u64 {
    let at_ns = if at_ns < FEW_NEVER_NS { at_ns } else { NEVER };
    (at_ns << FEW_BITS) | element as u64
}

/// The time of a key in the tree. [`NEVER`] comes back because the first bit does.
#[inline]
fn time_of_few(key: u64) -> u64 {
    (key as i64 >> FEW_BITS) as u64
}

#[inline]
fn element_of_few(key: u64) -> usize {
    key as usize % (1 << FEW_BITS)
}

/// The least key of the node's siblings.
#[inline]
fn others(group: &[u64; CHILDREN], node: usize) -> u64 {
    let sibling = |other: usize| group[(node ^ other) % CHILDREN];
    sibling(1).min(sibling(2)).min(sibling(3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn first_is_the_minimum_with_the_lowest_number(
            elements in 1_usize..40,
            many in any::<bool>(),
            sets in proptest::collection::vec(
                (
                    0_usize..40,
                    prop_oneof![
                        0_u64..8,
                        0_u64..9_000_000,
                        0_u64..60_000_000_000,
                        Just(NEVER),
                        Just(Schedule::latest_ns(40)),
                    ],
                ),
                1..200,
            ),
        ) {
            let mut schedule = Schedule::with(elements, many);
            let mut plain = vec![NEVER; elements];
            for (element, at_ns) in sets {
                let element = element % elements;
                schedule.set(element, at_ns);
                plain[element] = at_ns;
                let first = (0..elements).min_by_key(|&i| (plain[i], i)).unwrap();
                if plain[first] < NEVER || !many {
                    prop_assert_eq!(schedule.first(), (plain[first], first));
                }
                prop_assert_eq!(schedule.first().0, plain[first]);
                prop_assert_eq!(schedule.at_ns(element), at_ns);
                let others = (0..elements).filter(|&i| i != element).map(|i| plain[i]).min();
                let alone_until_ns = if first == element { others.unwrap_or(NEVER) } else { 0 };
                if many {
                    prop_assert!(schedule.alone_until_ns() <= alone_until_ns);
                } else {
                    prop_assert_eq!(schedule.alone_until_ns(), alone_until_ns);
                }
            }
        }

        /// As in a run: the first moves to a later time, again and again.
        #[test]
        fn a_wheel_orders_as_a_tree_does(
            elements in 1_usize..300,
            start_ns in prop_oneof![Just(0_u64), 0_u64..40_000_000_000],
            waits in proptest::collection::vec(
                (0_u64..1 << 36, 0_u32..36, 0_u8..30),
                1..2_000,
            ),
        ) {
            let (mut wheel, mut tree) =
                (Schedule::with(elements, true), Schedule::with(elements, false));
            for (element, &(wait_ns, shift, _)) in (0..elements).zip(waits.iter().cycle()) {
                let at_ns = start_ns + (wait_ns >> shift);
                wheel.set(element, at_ns);
                tree.set(element, at_ns);
            }
            for (wait_ns, shift, kind) in waits {
                let (now_ns, first) = tree.first();
                prop_assert_eq!(wheel.first().0, now_ns);
                if now_ns == NEVER {
                    break;
                }
                prop_assert_eq!(wheel.first().1, first);
                while let Some(element) = wheel.take_ahead() {
                    prop_assert!(element < elements);
                }
                let at_ns = if kind == 0 { NEVER } else { now_ns + (wait_ns >> shift) };
                wheel.set(first, at_ns);
                tree.set(first, at_ns);
                prop_assert!(wheel.alone_until_ns() <= tree.alone_until_ns());
                prop_assert!(wheel.alone_until_ns() == 0 || wheel.first().1 == first);
            }
        }
    }
}
