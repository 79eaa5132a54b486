//! Memory for the small blocks of many flows: rings of ACKs, send times, SACK blocks.
//!
//! Each thread has a pool. A block that is dropped is the next of its size again, without the C
//! library's search. Blocks lie side by side in chunks, below which the system may put pages of 2 MB:
//! then a processor finds a block of a far flow without a walk through the tables of pages. When a
//! thread has no block any more, its chunks go back to the system.

use std::alloc::{alloc, dealloc, handle_alloc_error, Layout};
use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::{null_mut, NonNull};

/// Sizes of blocks are multiples of this, and so are their addresses.
const STEP: usize = 16;
/// Larger blocks come from the C library.
const LARGEST: usize = 1024;
/// Bytes of the first chunk. Each is twice as large as the one before, up to a page of 2 MB.
const FIRST_CHUNK: usize = 1 << 16;
const LAST_CHUNK: usize = 1 << 21;

/// The blocks of a thread.
struct Pool {
    /// The first free block of each size. It has the address of the next.
    free: [*mut u8; LARGEST / STEP + 1],
    chunks: Vec<(*mut u8, Layout)>,
    /// What is left of the last chunk.
    next: *mut u8,
    left: usize,
    /// How many blocks are in use.
    used: usize,
}

thread_local! {
    static POOL: RefCell<Pool> = const {
        RefCell::new(Pool {
            free: [null_mut(); LARGEST / STEP + 1],
            chunks: Vec::new(),
            next: null_mut(),
            left: 0,
            used: 0,
        })
    };
}

impl Pool {
    /// A block of so many steps.
    #[inline]
    fn take(&mut self, steps: usize) -> *mut u8 {
        self.used += 1;
        let block = self.free[steps];
        if block.is_null() {
            return self.carve(steps * STEP);
        }
        // SAFETY: `give` has written the address of the next free block there.
        self.free[steps] = unsafe { block.cast::<*mut u8>().read() };
        block
    }

    #[inline(never)]
    fn carve(&mut self, bytes: usize) -> *mut u8 {
        if self.left < bytes {
            let size = (FIRST_CHUNK << self.chunks.len().min(16)).min(LAST_CHUNK);
            let layout = Layout::from_size_align(size, size).expect("a power of two");
            // SAFETY: the layout has a size.
            let chunk = unsafe { alloc(layout) };
            if chunk.is_null() {
                handle_alloc_error(layout);
            }
            super::memory::advise_large(chunk as usize, size);
            self.chunks.push((chunk, layout));
            (self.next, self.left) = (chunk, size);
        }
        let block = self.next;
        self.next = block.wrapping_add(bytes);
        self.left -= bytes;
        block
    }

    /// Takes a block back.
    ///
    /// # Safety
    /// `take(steps)` of this pool has returned it, and nobody uses it any more.
    #[inline]
    unsafe fn give(&mut self, block: *mut u8, steps: usize) {
        // SAFETY: a block has room for an address, and is aligned for one.
        unsafe { block.cast::<*mut u8>().write(self.free[steps]) };
        self.free[steps] = block;
        self.used -= 1;
        if self.used == 0 {
            self.give_chunks_back();
        }
    }

    #[cold]
    fn give_chunks_back(&mut self) {
        self.free.fill(null_mut());
        (self.next, self.left) = (null_mut(), 0);
        for (chunk, layout) in self.chunks.drain(..) {
            // SAFETY: `alloc` has returned it for this layout, and no block of it is in use.
            unsafe { dealloc(chunk, layout) };
        }
    }
}

/// Memory for `len` elements. Only the thread that has it may give it back.
#[inline]
fn take<T>(len: usize) -> NonNull<T> {
    const { assert!(align_of::<T>() <= STEP) };
    let layout = Layout::array::<T>(len).expect("less than the address space");
    if layout.size() == 0 {
        return NonNull::dangling();
    }
    take_block(layout).cast()
}

#[inline(never)]
fn take_block(layout: Layout) -> NonNull<u8> {
    let block = match layout.size() {
        size @ ..=LARGEST => POOL.with_borrow_mut(|pool| pool.take(size.div_ceil(STEP))),
        // SAFETY: the layout has a size.
        _ => unsafe { alloc(layout) },
    };
    NonNull::new(block).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Gives memory back.
///
/// # Safety
/// `take(len)` has returned it on this thread, and nobody uses it any more.
#[inline]
unsafe fn give<T>(memory: NonNull<T>, len: usize) {
    if len > 0 && size_of::<T>() > 0 {
        // SAFETY: as the caller says. `take` has made this layout.
        unsafe {
            let layout = Layout::array::<T>(len).unwrap_unchecked();
            give_block(memory.as_ptr().cast(), layout);
        }
    }
}

/// # Safety
/// `take_block(layout)` has returned it on this thread, and nobody uses it any more.
#[inline(never)]
unsafe fn give_block(block: *mut u8, layout: Layout) {
    match layout.size() {
        size @ ..=LARGEST => {
            // When a thread ends there is no pool any more. SAFETY: as the caller says.
            let _ = POOL.try_with(|pool| unsafe {
                pool.borrow_mut().give(block, size.div_ceil(STEP));
            });
        }
        // SAFETY: as the caller says.
        _ => unsafe { dealloc(block, layout) },
    }
}

/// One value in a block of the pool, as in a `Box`.
pub struct PooledBox<T>(NonNull<T>, PhantomData<T>);

impl<T> PooledBox<T> {
    /// Puts a value into a block.
    #[inline]
    pub fn new(value: T) -> Self {
        let block = take::<T>(1);
        // SAFETY: the block has room for one `T`.
        unsafe { block.write(value) };
        Self(block, PhantomData)
    }
}

impl<T> Deref for PooledBox<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: `new` has written it, and only `drop` ends it.
        unsafe { self.0.as_ref() }
    }
}

impl<T> DerefMut for PooledBox<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and nobody else has the block.
        unsafe { self.0.as_mut() }
    }
}

impl<T> Drop for PooledBox<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: `new` has taken and written it. A pointer is not `Send`: this is the same thread.
        unsafe {
            self.0.drop_in_place();
            give(self.0, 1);
        }
    }
}

impl<T: Clone> Clone for PooledBox<T> {
    fn clone(&self) -> Self {
        Self::new((**self).clone())
    }
}

impl<T: fmt::Debug> fmt::Debug for PooledBox<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}

impl<T: PartialEq> PartialEq for PooledBox<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for PooledBox<T> {}

/// Values in a block of the pool, as in a boxed slice.
pub struct PooledSlice<T>(NonNull<T>, usize, PhantomData<T>);

impl<T> Default for PooledSlice<T> {
    fn default() -> Self {
        Self(NonNull::dangling(), 0, PhantomData)
    }
}

/// Of an iterator that knows how many values it has.
impl<T> FromIterator<T> for PooledSlice<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut values = values.into_iter();
        let len = values.size_hint().0;
        let block = take::<T>(len);
        let mut written = 0;
        for value in values.by_ref().take(len) {
            // SAFETY: the block has room for `len` of them.
            unsafe { block.add(written).write(value) };
            written += 1;
        }
        assert!(
            written == len && values.next().is_none(),
            "it says how many there are"
        );
        Self(block, len, PhantomData)
    }
}

impl<T> Deref for PooledSlice<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: so many were written there, and only `drop` ends them.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr(), self.1) }
    }
}

impl<T> DerefMut for PooledSlice<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and nobody else has the block.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_ptr(), self.1) }
    }
}

impl<T> Drop for PooledSlice<T> {
    fn drop(&mut self) {
        // SAFETY: as of `PooledBox`.
        unsafe {
            std::ptr::drop_in_place::<[T]>(&mut **self);
            give(self.0, self.1);
        }
    }
}

impl<T: Clone> Clone for PooledSlice<T> {
    fn clone(&self) -> Self {
        self.iter().cloned().collect()
    }
}

impl<T: fmt::Debug> fmt::Debug for PooledSlice<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    /// Blocks of many sizes, in any order: each keeps its values, each value is dropped once, and the
    /// pool gives its chunks back at the end.
    #[test]
    fn blocks_keep_their_values() {
        let dropped = Rc::new(());
        type Values = PooledSlice<(usize, Rc<()>)>;
        let mut kept: Vec<(usize, Values, PooledBox<usize>)> = Vec::new();
        let mut random = 1_usize;
        for round in 0..60_000 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let draw = random >> 33;
            if draw % 5 < 3 {
                let values = (0..draw / 5 % 80).map(|value| (round + value, Rc::clone(&dropped)));
                kept.push((round, values.collect(), PooledBox::new(round)));
            } else if !kept.is_empty() {
                let (round, slice, mut value) = kept.swap_remove(draw % kept.len());
                *value += 1;
                assert_eq!((*value, slice.clone().len()), (round + 1, slice.len()));
                for (place, (value, _)) in slice.iter().enumerate() {
                    assert_eq!(*value, round + place);
                }
            }
        }
        POOL.with_borrow(|pool| assert!(pool.used > 0 && pool.chunks.len() > 5));
        let values: usize = kept.iter().map(|(_, slice, _)| slice.len()).sum();
        assert_eq!(Rc::strong_count(&dropped), 1 + values);
        drop(kept);
        assert_eq!(Rc::strong_count(&dropped), 1);
        POOL.with_borrow(|pool| assert!(pool.used == 0 && pool.chunks.is_empty()));
    }
}
