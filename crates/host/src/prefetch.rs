//! Brings memory into the cache that will be used soon.

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;

/// Asks the processor for the cache lines of `value` without waiting for them. It is only a hint: it
/// changes no result, and does nothing on processors for which Rust has none.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    let start = std::ptr::from_ref(value).cast::<u8>();
    for offset in (0..size_of::<T>()).step_by(LINE_BYTES) {
        prefetch_line(start.wrapping_add(offset));
    }
}

#[inline(always)]
fn prefetch_line(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        // SAFETY: a prefetch reads nothing that a program sees, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}

/// Those of the first 64 lines of a large value that are used often. All values of the type begin a
/// line.
#[derive(Clone, Copy, Debug)]
pub struct Lines {
    base: usize,
    lines: u64,
}

impl Lines {
    /// None yet, of `value`.
    pub fn of<T>(value: &T) -> Self {
        assert_eq!(align_of::<T>() % LINE_BYTES, 0, "a value begins a line");
        Self {
            base: std::ptr::from_ref(value).addr(),
            lines: 0,
        }
    }

    /// Adds a part of the value.
    pub fn add<T>(&mut self, part: &T) {
        let start = std::ptr::from_ref(part).addr();
        self.add_lines(start, start + size_of::<T>());
    }

    /// Adds what lies from `first` up to `end`.
    pub fn add_until<T, U>(&mut self, first: &T, end: &U) {
        let [start, end] = [
            std::ptr::from_ref(first).addr(),
            std::ptr::from_ref(end).addr(),
        ];
        self.add_lines(start, end);
    }

    fn add_lines(&mut self, start: usize, end: usize) {
        let [first, end] = [start - self.base, end - self.base + LINE_BYTES - 1];
        for line in first / LINE_BYTES..(end / LINE_BYTES).min(64) {
            self.lines |= 1 << line;
        }
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.lines.count_ones()
    }

    /// Asks for them, of another value of the type.
    #[inline]
    pub fn prefetch<T>(&self, value: &T) {
        let start = std::ptr::from_ref(value).cast::<u8>();
        let mut lines = self.lines;
        while lines != 0 {
            prefetch_line(start.wrapping_add(LINE_BYTES * lines.trailing_zeros() as usize));
            lines &= lines - 1;
        }
    }
}
