//! A queue in a ring of slots. It does less for each element than `VecDeque`, whose capacity is no
//! power of two.

use std::marker::PhantomData;
use std::ops::{DerefMut, Range};

/// Elements in order of arrival. `S` is the memory of its slots.
#[derive(Clone, Debug)]
pub struct Ring<T, S = Box<[T]>> {
    /// A power of two of them; element `i` since the start is in slot `i & (slots − 1)`. The others
    /// have `T::default()`, or what has nothing to drop.
    slots: S,
    of: PhantomData<T>,
    /// Elements removed so far, and added so far: the last bits of both counts.
    head: u64,
    tail: u64,
}

/// Slots of a ring that has held something.
const LEAST_SLOTS: usize = 4;

impl<T, S: Default> Default for Ring<T, S> {
    fn default() -> Self {
        Self {
            slots: S::default(),
            of: PhantomData,
            head: 0,
            tail: 0,
        }
    }
}

impl<T: Default, S: DerefMut<Target = [T]> + FromIterator<T>> Ring<T, S> {
    #[inline]
    fn slot(&self, element: u64) -> usize {
        element as usize & self.slots.len().wrapping_sub(1)
    }

    /// The slot of the element at a place in the queue.
    #[inline]
    fn slot_at(&self, place: u64) -> usize {
        self.slot(self.head.wrapping_add(place))
    }

    /// How many elements it holds.
    #[inline]
    pub fn len(&self) -> u64 {
        self.tail.wrapping_sub(self.head)
    }

    /// Whether it holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.tail == self.head
    }

    /// How many it can hold without growing.
    #[inline]
    pub fn capacity(&self) -> u64 {
        self.slots.len() as u64
    }

    /// The oldest element.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.is_empty() {
            return None;
        }
        Some(&self.slots[self.slot(self.head)])
    }

    /// The slot that the next element goes into, if it has been there before.
    #[inline]
    pub fn next_slot(&self) -> Option<&T> {
        self.slots.get(self.slot(self.tail))
    }

    /// The element at a place in the queue, from 0.
    pub fn get(&self, place: u64) -> Option<&T> {
        (place < self.len()).then(|| &self.slots[self.slot_at(place)])
    }

    /// The same, to change.
    #[inline]
    pub fn get_mut(&mut self, place: u64) -> Option<&mut T> {
        let slot = self.slot_at(place);
        (place < self.len()).then(|| &mut self.slots[slot])
    }

    /// The oldest element, to change.
    pub fn front_mut(&mut self) -> Option<&mut T> {
        let slot = self.slot(self.head);
        (!self.is_empty()).then(|| &mut self.slots[slot])
    }

    /// The newest element.
    #[inline]
    pub fn back(&self) -> Option<&T> {
        self.get(self.len().checked_sub(1)?)
    }

    /// The same, to change.
    #[inline]
    pub fn back_mut(&mut self) -> Option<&mut T> {
        self.get_mut(self.len().checked_sub(1)?)
    }

    /// The elements, from the oldest on.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        (0..self.len()).filter_map(|place| self.get(place))
    }

    /// The same, as two slices.
    #[inline]
    pub fn as_mut_slices(&mut self) -> (&mut [T], &mut [T]) {
        let (start, len) = (self.slot(self.head), self.len() as usize);
        let slots = &mut *self.slots;
        let (wrapped, before) = slots.split_at_mut(start.min(slots.len()));
        let room = before.len();
        let (before, wrapped) = (
            &mut before[..len.min(room)],
            &mut wrapped[..len.max(room) - room],
        );
        (before, wrapped)
    }

    /// Puts these elements in the place of all, which have nothing to drop.
    #[inline]
    pub fn refill(&mut self, elements: &[T])
    where
        T: Copy,
    {
        (self.head, self.tail) = (0, 0);
        while self.slots.len() < elements.len() {
            self.grow();
        }
        self.tail = elements.len() as u64;
        self.slots[..elements.len()].copy_from_slice(elements);
    }

    /// Forgets all elements, which have nothing to drop.
    #[inline]
    pub fn clear(&mut self) {
        self.head = self.tail;
    }

    /// The first place whose element is not `before`, where those that are come first.
    pub fn partition_point(&self, before: impl Fn(&T) -> bool) -> u64 {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.get(middle).is_some_and(&before) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    /// Puts an element in the place of others, or of none. It moves those before or behind: the fewer.
    pub fn replace(&mut self, places: Range<u64>, element: T)
    where
        T: Copy,
    {
        let front = places.start < self.len() / 2;
        match (places.is_empty(), front) {
            (true, true) => {
                if self.len() == self.capacity() {
                    self.grow();
                }
                self.head = self.head.wrapping_sub(1);
                (0..places.start).for_each(|to| self.copy(to + 1, to));
            }
            (true, false) => {
                self.push(element);
                let behind = places.start..self.len() - 1;
                behind.rev().for_each(|from| self.copy(from, from + 1));
            }
            (false, true) => {
                let gone = places.end - places.start - 1;
                (0..places.start)
                    .rev()
                    .for_each(|from| self.copy(from, from + gone));
                self.head = self.head.wrapping_add(gone);
            }
            (false, false) => {
                let gone = places.end - places.start - 1;
                (places.end..self.len()).for_each(|from| self.copy(from, from - gone));
                self.tail = self.tail.wrapping_sub(gone);
            }
        }
        let slot = self.slot_at(places.start);
        self.slots[slot] = element;
    }

    fn copy(&mut self, from: u64, to: u64)
    where
        T: Copy,
    {
        let (from, to) = (self.slot_at(from), self.slot_at(to));
        self.slots[to] = self.slots[from];
    }

    /// Appends an element.
    #[inline(always)]
    pub fn push(&mut self, element: T) {
        if self.len() == self.capacity() {
            self.grow();
        }
        let slot = self.slot(self.tail);
        // Nothing is read before it is written: the slot may be far away in memory.
        std::mem::forget(std::mem::replace(&mut self.slots[slot], element));
        self.tail = self.tail.wrapping_add(1);
    }

    /// Appends elements to a ring that has room for them.
    #[inline(always)]
    pub fn push_all_in_room<const N: usize>(&mut self, elements: [T; N])
    where
        T: Copy,
    {
        debug_assert!(self.len() + N as u64 <= self.capacity());
        let (slots, tail) = (&mut *self.slots, self.tail as usize);
        let mask = slots.len().wrapping_sub(1);
        for place in 0..N {
            slots[(tail + place) & mask] = elements[place];
        }
        self.tail = self.tail.wrapping_add(N as u64);
    }

    /// Removes the oldest element.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let slot = self.slot(self.head);
        self.head = self.head.wrapping_add(1);
        Some(std::mem::take(&mut self.slots[slot]))
    }

    /// Removes the oldest element, which has nothing to drop. There is one.
    #[inline]
    pub fn skip(&mut self) {
        debug_assert!(!self.is_empty());
        self.head = self.head.wrapping_add(1);
    }

    /// Removes the oldest element if it is `gone`.
    #[inline(always)]
    pub fn pop_if(&mut self, gone: impl Fn(&T) -> bool) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let slot = self.slot(self.head);
        let element = &mut self.slots[slot];
        if !gone(element) {
            return None;
        }
        self.head = self.head.wrapping_add(1);
        Some(std::mem::take(element))
    }

    /// Removes the oldest elements, those that are `gone`. Returns how many, and the last of them. It
    /// looks at few of many: an element that is gone is never behind one that is not.
    pub fn pop_while(&mut self, gone: impl Fn(&T) -> bool) -> (u64, Option<T>)
    where
        T: Copy,
    {
        let gone = |place: u64| gone(&self.slots[self.slot_at(place)]);
        let (mut count, mut step) = (0, 1);
        while count + step <= self.len() && gone(count + step - 1) {
            count += step;
            step *= 2;
        }
        while step > 1 {
            step /= 2;
            if count + step <= self.len() && gone(count + step - 1) {
                count += step;
            }
        }
        self.head = self.head.wrapping_add(count);
        let last = self.slot(self.head.wrapping_sub(1));
        (count, (count > 0).then(|| self.slots[last]))
    }

    /// Doubles the slots.
    #[cold]
    #[inline(never)]
    pub fn grow(&mut self) {
        self.move_to((2 * self.slots.len()).max(LEAST_SLOTS));
    }

    /// Gives slots back if it needs less than half of them, and half as many again as elements.
    pub fn shrink(&mut self) {
        let slots = ((self.len() + self.len() / 2) as usize).next_power_of_two();
        if slots.max(LEAST_SLOTS) < self.slots.len() {
            self.move_to(slots.max(LEAST_SLOTS));
        }
    }

    fn move_to(&mut self, slots: usize) {
        let mut larger: S = std::iter::repeat_with(T::default).take(slots).collect();
        for place in 0..self.len() {
            let old = self.slot_at(place);
            let new = self.head.wrapping_add(place) as usize & (larger.len() - 1);
            larger[new] = std::mem::take(&mut self.slots[old]);
        }
        self.slots = larger;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn replaces_as_a_list_does(
            steps in proptest::collection::vec((any::<u8>(), any::<u8>(), any::<bool>()), 1..200),
        ) {
            let (mut ring, mut plain) = (Ring::<_>::default(), Vec::new());
            for (number, (start, length, removes)) in (1..).zip(steps) {
                let start = usize::from(start) % (plain.len() + 1);
                let end = (start + usize::from(length % 4)).min(plain.len());
                ring.replace(start as u64..end as u64, number);
                plain.splice(start..end, [number]);
                if removes && plain.len() > 3 {
                    prop_assert_eq!(ring.pop(), Some(plain.remove(0)));
                }
                prop_assert!(ring.iter().eq(&plain));
                let (before, wrapped) = ring.as_mut_slices();
                prop_assert!(before.iter().chain(wrapped.iter()).eq(&plain));
                if length % 16 == 0 {
                    ring.clear();
                    prop_assert!(ring.is_empty());
                    ring.refill(&plain);
                    prop_assert!(ring.iter().eq(&plain));
                }
                prop_assert_eq!(ring.back(), plain.last());
                let middle = plain.get(plain.len() / 2).copied();
                prop_assert_eq!(middle, ring.get(ring.len() / 2).copied());
                prop_assert!(ring.partition_point(|_| true) == ring.len());
            }
        }

        #[test]
        fn is_a_queue(pushes in proptest::collection::vec(any::<bool>(), 1..300)) {
            let (mut ring, mut plain) = (Ring::<_>::default(), VecDeque::new());
            for (number, push) in pushes.into_iter().enumerate() {
                if push {
                    ring.push(Some(number));
                    plain.push_back(Some(number));
                } else {
                    prop_assert_eq!(ring.pop(), plain.pop_front());
                }
                if number % 7 == 0 {
                    ring.shrink();
                    prop_assert!(ring.capacity() <= (3 * ring.len()).max(4));
                }
                prop_assert_eq!(ring.len(), plain.len() as u64);
                prop_assert_eq!(ring.front(), plain.front());
                prop_assert_eq!(ring.front_mut(), plain.front_mut());
                for place in 0..=plain.len() {
                    prop_assert_eq!(ring.get(place as u64), plain.get(place));
                    prop_assert_eq!(ring.get_mut(place as u64), plain.get_mut(place));
                }
                prop_assert!(ring.capacity() >= ring.len());
            }
        }
    }
}
