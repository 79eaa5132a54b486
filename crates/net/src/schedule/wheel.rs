//! When each of many elements wants to run next: a timing wheel. A tree of 100 000 elements has nine
//! levels; here an element goes into a bucket of its time, and out of it.
//!
//! The next buckets lie sorted in `near`, so that the caller can ask memory for what the elements
//! need, some events before they are first.

/// A bucket has 2⁹ ns.
const BUCKET_BITS: u32 = 9;
/// How many of the next buckets the wheel has: 67 ms. A power of two.
const BUCKETS: u64 = 1 << 17;
/// Later times are in slots of 2¹³ buckets, 4 ms, of which there are so many: 17 s.
const SLOT_BITS: u32 = 13;
const SLOTS: u64 = 1 << 12;
/// How many elements are near, if so many wait in the next [`NEAR_BUCKETS`].
const AHEAD: usize = 16;
const NEAR_BUCKETS: u64 = 128;
/// How many buckets that are not empty lie before the one that [`Wheel::later`] looks at.
const BUCKETS_AHEAD: usize = 3;

/// Where an element is: a bucket, or one of the places below.
type Place = u32;
const FIRST_SLOT: Place = BUCKETS as Place;
/// Behind all slots.
const FAR: Place = FIRST_SLOT + SLOTS as Place;
const NEAR: Place = FAR + 1;
const NOWHERE: Place = FAR + 2;
/// The end of a place's list.
const END: u32 = u32::MAX;

/// An element: its key, and the next in the list of its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    key: u64,
    next: u32,
    place: Place,
}

/// One pending time per element. A key is the time and below it, in `element_bits`, the element.
#[derive(Clone, Debug)]
pub(super) struct Wheel {
    element_bits: u32,
    elements: Vec<Pending>,
    /// The first element of each place.
    heads: Vec<u32>,
    /// A bit for each bucket that is not empty.
    full: Vec<u64>,
    in_buckets: usize,
    in_slots: usize,
    far: usize,
    /// The keys before the bucket `next_bucket`, sorted, from `head` on.
    near: Vec<u64>,
    head: usize,
    /// So many of them, from the end, were not told by [`take_ahead`](Self::take_ahead).
    untold: usize,
    next_bucket: u64,
    /// The first element of a bucket that comes near soon.
    later: u32,
    /// The slot whose elements are in buckets.
    slot: u64,
}

impl Wheel {
    pub(super) fn new(elements: usize) -> Self {
        let pending = Pending {
            key: u64::MAX,
            next: END,
            place: NOWHERE,
        };
        Self {
            element_bits: element_bits(elements),
            elements: vec![pending; elements],
            heads: vec![END; FAR as usize + 1],
            full: vec![0; BUCKETS as usize / 64],
            in_buckets: 0,
            in_slots: 0,
            far: 0,
            near: Vec::new(),
            head: 0,
            untold: 0,
            next_bucket: 0,
            later: END,
            slot: 0,
        }
    }

    /// The last time that so many elements can tell from one that never comes, `u64::MAX`.
    pub(super) fn latest_ns(elements: usize) -> u64 {
        (u64::MAX >> element_bits(elements)) - 1
    }

    /// An element's pending time.
    pub(super) fn at_ns(&self, element: usize) -> u64 {
        self.time_ns(self.elements[element].key)
    }

    /// The earliest time and its element.
    #[inline]
    pub(super) fn first(&self) -> Option<(u64, usize)> {
        let key = *self.near.get(self.head)?;
        Some((self.time_ns(key), self.element(key)))
    }

    /// Before this time no element but the first wants to run; `None`: no other waits. It may be less
    /// than the time of the second.
    #[inline]
    pub(super) fn alone_until_ns(&self) -> Option<u64> {
        match self.near.get(self.head + 1) {
            Some(key) => Some(key >> self.element_bits),
            None if self.in_buckets + self.in_slots + self.far == 0 => None,
            None => Some(self.next_bucket << BUCKET_BITS),
        }
    }

    /// An element that has come near, each once.
    #[inline]
    pub(super) fn take_ahead(&mut self) -> Option<usize> {
        if self.untold == 0 {
            return None;
        }
        let key = self.near[self.near.len() - self.untold];
        self.untold -= 1;
        Some(self.element(key))
    }

    /// An element that will be first after so many others.
    #[inline]
    pub(super) fn soon(&self, others: usize) -> Option<usize> {
        let key = self.near.get(self.head + others)?;
        Some(self.element(*key))
    }

    #[inline]
    fn element(&self, key: u64) -> usize {
        (key & !(u64::MAX << self.element_bits)) as usize
    }

    #[inline]
    fn time_ns(&self, key: u64) -> u64 {
        match key {
            u64::MAX => key,
            _ => key >> self.element_bits,
        }
    }

    /// Replaces an element's pending time.
    #[inline]
    pub(super) fn set(&mut self, element: usize, at_ns: u64) {
        if self.elements[element].place != NOWHERE {
            self.remove(element);
        }
        if at_ns >= u64::MAX >> self.element_bits {
            self.elements[element].key = u64::MAX;
        } else {
            let key = at_ns << self.element_bits | element as u64;
            self.elements[element].key = key;
            self.insert(element, key);
        }
        self.look_ahead();
    }

    #[inline]
    fn bucket(&self, key: u64) -> u64 {
        (key >> self.element_bits) >> BUCKET_BITS
    }

    #[inline]
    fn insert(&mut self, element: usize, key: u64) {
        let bucket = self.bucket(key);
        if bucket < self.next_bucket {
            return self.insert_near(element, key);
        }
        let place = if bucket - self.next_bucket < BUCKETS {
            let place = bucket % BUCKETS;
            self.full[(place / 64) as usize] |= 1 << (place % 64);
            self.in_buckets += 1;
            place as Place
        } else {
            let slot = bucket >> SLOT_BITS;
            if slot - (self.next_bucket >> SLOT_BITS) < SLOTS {
                self.in_slots += 1;
                FIRST_SLOT + (slot % SLOTS) as Place
            } else {
                self.far += 1;
                FAR
            }
        };
        let head = &mut self.heads[place as usize];
        self.elements[element] = Pending {
            key,
            next: *head,
            place,
        };
        *head = element as u32;
    }

    #[inline]
    fn insert_near(&mut self, element: usize, key: u64) {
        self.elements[element].place = NEAR;
        let place = self.head + self.near[self.head..].partition_point(|&other| other < key);
        if self.head == 0 {
            self.near.insert(place, key);
            return;
        }
        // Most often the element was first until now, and comes back a little later.
        self.head -= 1;
        self.near.copy_within(self.head + 1..place, self.head);
        self.near[place - 1] = key;
    }

    #[inline]
    fn remove(&mut self, element: usize) {
        let Pending { key, next, place } = self.elements[element];
        self.elements[element].place = NOWHERE;
        if place == NEAR {
            let before = self.near[self.head..].partition_point(|&other| other < key);
            let place = self.head + before;
            self.near.copy_within(self.head..place, self.head + 1);
            self.head += 1;
            return;
        }
        let head = &mut self.heads[place as usize];
        if *head == element as u32 {
            *head = next;
        } else {
            let mut before = *head as usize;
            while self.elements[before].next != element as u32 {
                before = self.elements[before].next as usize;
            }
            self.elements[before].next = next;
        }
        if place >= FIRST_SLOT {
            *self.waiting_in(place) -= 1;
            return;
        }
        self.in_buckets -= 1;
        if self.heads[place as usize] == END {
            self.full[place as usize / 64] &= !(1 << (place % 64));
        }
    }

    /// Brings more elements near.
    #[inline]
    fn look_ahead(&mut self) {
        while self.near.len() - self.head < AHEAD {
            let until = match self.near.get(self.head) {
                Some(&first) => self.bucket(first) + NEAR_BUCKETS,
                None => u64::MAX,
            };
            if self.next_bucket >= until || !self.bring_near(until) {
                break;
            }
        }
    }

    /// Brings the next bucket near that is not empty and before `until`. Returns whether there is one.
    #[inline(never)]
    fn bring_near(&mut self, until: u64) -> bool {
        while self.in_buckets + self.in_slots + self.far > 0 {
            if self.in_buckets + self.in_slots == 0 {
                let slot_start = self.first_far() >> SLOT_BITS << SLOT_BITS;
                self.next_bucket = self.next_bucket.max(slot_start.min(until));
            }
            if self.next_bucket >> SLOT_BITS != self.slot {
                self.enter_slot();
            }
            let end = ((self.slot + 1) << SLOT_BITS).min(until);
            while self.next_bucket < end && self.in_buckets > 0 {
                let place = self.next_bucket % BUCKETS;
                let full = self.full[(place / 64) as usize] >> (place % 64);
                if full == 0 {
                    self.next_bucket = ((self.next_bucket | 63) + 1).min(end);
                    continue;
                }
                let bucket = self.next_bucket + u64::from(full.trailing_zeros());
                if bucket < end {
                    self.next_bucket = bucket + 1;
                    self.look_far(bucket, full);
                    self.empty((bucket % BUCKETS) as Place);
                    return true;
                }
                self.next_bucket = end;
            }
            self.next_bucket = end;
            if end == until {
                break;
            }
        }
        false
    }

    /// Notes the first element of a later bucket; `full` has the bits from `bucket` on.
    #[inline]
    fn look_far(&mut self, bucket: u64, full: u64) {
        let mut later = full;
        for _ in 0..BUCKETS_AHEAD {
            later &= later.wrapping_sub(1);
        }
        if later != 0 {
            let place = bucket + u64::from(later.trailing_zeros() - full.trailing_zeros());
            self.later = self.heads[(place % BUCKETS) as usize];
        }
    }

    /// What the wheel keeps of an element that comes near soon: the caller may ask memory for it.
    #[inline]
    pub(super) fn later(&self) -> Option<&Pending> {
        self.elements.get(self.later as usize)
    }

    /// Brings the elements of a bucket near.
    fn empty(&mut self, place: Place) {
        if self.head >= self.near.len() / 2 {
            self.near.drain(..self.head);
            self.head = 0;
        }
        let start = self.near.len();
        let mut element = std::mem::replace(&mut self.heads[place as usize], END);
        while element != END {
            let pending = &mut self.elements[element as usize];
            pending.place = NEAR;
            self.near.push(pending.key);
            element = pending.next;
        }
        self.near[start..].sort_unstable();
        let come = self.near.len() - start;
        self.untold += come;
        self.in_buckets -= come;
        self.full[place as usize / 64] &= !(1 << (place % 64));
    }

    /// The first bucket that an element which is far belongs to.
    fn first_far(&self) -> u64 {
        let mut element = self.heads[FAR as usize];
        let mut least = u64::MAX;
        while element != END {
            let pending = &self.elements[element as usize];
            least = least.min(pending.key);
            element = pending.next;
        }
        self.bucket(least)
    }

    /// Puts the elements of the slot into buckets that the next bucket belongs to.
    #[cold]
    fn enter_slot(&mut self) {
        let last = std::mem::replace(&mut self.slot, self.next_bucket >> SLOT_BITS);
        if self.slot / (SLOTS / 2) != last / (SLOTS / 2) {
            self.insert_again(FAR);
        }
        self.insert_again(FIRST_SLOT + (self.slot % SLOTS) as Place);
    }

    fn insert_again(&mut self, place: Place) {
        let mut element = std::mem::replace(&mut self.heads[place as usize], END);
        while element != END {
            let Pending { key, next, .. } = self.elements[element as usize];
            *self.waiting_in(place) -= 1;
            self.insert(element as usize, key);
            element = next;
        }
    }

    /// How many elements wait in slots, or behind them.
    fn waiting_in(&mut self, place: Place) -> &mut usize {
        match place {
            FAR => &mut self.far,
            _ => &mut self.in_slots,
        }
    }
}

fn element_bits(elements: usize) -> u32 {
    elements.next_power_of_two().max(2).trailing_zeros()
}
