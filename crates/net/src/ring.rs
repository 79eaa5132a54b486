//! A queue in a ring of slots. It does less for each element than `VecDeque`, whose capacity is no
//! power of two.

/// Elements in order of arrival.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    /// A power of two of them; element `i` since the start is in slot `i & (slots − 1)`. The others
    /// have `T::default()`, or what has nothing to drop.
    slots: Box<[T]>,
    /// Elements removed so far, and added so far.
    head: u64,
    tail: u64,
}

/// Slots of a ring that has held something.
const LEAST_SLOTS: usize = 4;

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self {
            slots: Box::default(),
            head: 0,
            tail: 0,
        }
    }
}

impl<T: Default> Ring<T> {
    #[inline]
    fn slot(&self, element: u64) -> usize {
        element as usize & self.slots.len().wrapping_sub(1)
    }

    /// How many elements it holds.
    #[inline]
    pub fn len(&self) -> u64 {
        self.tail - self.head
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
        (place < self.len()).then(|| &self.slots[self.slot(self.head + place)])
    }

    /// The same, to change.
    #[inline]
    pub fn get_mut(&mut self, place: u64) -> Option<&mut T> {
        let slot = self.slot(self.head + place);
        (place < self.len()).then(|| &mut self.slots[slot])
    }

    /// The oldest element, to change.
    pub fn front_mut(&mut self) -> Option<&mut T> {
        let slot = self.slot(self.head);
        (!self.is_empty()).then(|| &mut self.slots[slot])
    }

    /// Appends an element.
    #[inline(always)]
    pub fn push(&mut self, element: T) {
        if self.len() == self.capacity() {
            self.grow();
        }
        self.push_in_room(element);
    }

    /// As [`push`](Self::push), of a ring that has room.
    #[inline(always)]
    pub fn push_in_room(&mut self, element: T) {
        debug_assert!(self.len() < self.capacity());
        let slot = self.slot(self.tail);
        // Nothing is read before it is written: the slot may be far away in memory.
        std::mem::forget(std::mem::replace(&mut self.slots[slot], element));
        self.tail += 1;
    }

    /// The same with two elements.
    #[inline(always)]
    pub fn push_pair_in_room(&mut self, pair: [T; 2])
    where
        T: Copy,
    {
        debug_assert!(self.len() + 2 <= self.capacity());
        let (slots, tail) = (&mut *self.slots, self.tail as usize);
        let mask = slots.len().wrapping_sub(1);
        slots[tail & mask] = pair[0];
        slots[(tail + 1) & mask] = pair[1];
        self.tail += 2;
    }

    /// Removes the oldest element.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let slot = self.slot(self.head);
        self.head += 1;
        Some(std::mem::take(&mut self.slots[slot]))
    }

    /// Removes the oldest element, which has nothing to drop. There is one.
    #[inline]
    pub fn skip(&mut self) {
        debug_assert!(!self.is_empty());
        self.head += 1;
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
        self.head += 1;
        Some(std::mem::take(element))
    }

    /// Removes the oldest elements, those that are `gone`. Returns how many, and the last of them. It
    /// looks at few of many: an element that is gone is never behind one that is not.
    pub fn pop_while(&mut self, gone: impl Fn(&T) -> bool) -> (u64, Option<T>)
    where
        T: Copy,
    {
        let gone = |element: u64| gone(&self.slots[self.slot(element)]);
        let (mut head, mut step) = (self.head, 1);
        while head + step <= self.tail && gone(head + step - 1) {
            head += step;
            step *= 2;
        }
        while step > 1 {
            step /= 2;
            if head + step <= self.tail && gone(head + step - 1) {
                head += step;
            }
        }
        let count = head - self.head;
        self.head = head;
        let last = self.slot(self.head.wrapping_sub(1));
        (count, (count > 0).then(|| self.slots[last]))
    }

    /// Doubles the slots.
    #[cold]
    #[inline(never)]
    pub fn grow(&mut self) {
        let mut larger = Vec::new();
        larger.resize_with((2 * self.slots.len()).max(LEAST_SLOTS), T::default);
        for element in self.head..self.tail {
            let (old, new) = (self.slot(element), element as usize & (larger.len() - 1));
            larger[new] = std::mem::take(&mut self.slots[old]);
        }
        self.slots = larger.into_boxed_slice();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn is_a_queue(pushes in proptest::collection::vec(any::<bool>(), 1..300)) {
            let (mut ring, mut plain) = (Ring::default(), VecDeque::new());
            for (number, push) in pushes.into_iter().enumerate() {
                if push {
                    ring.push(Some(number));
                    plain.push_back(Some(number));
                } else {
                    prop_assert_eq!(ring.pop(), plain.pop_front());
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
