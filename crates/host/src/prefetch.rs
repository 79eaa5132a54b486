//! Brings memory into the cache that will be used soon.

/// Asks the processor for `value`, which begins a cache line, without waiting for it. It is only a
/// hint: it changes no result, and does nothing on processors for which Rust has none.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    for offset in (0..size_of::<T>()).step_by(64) {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        let line = std::ptr::from_ref(value).cast::<i8>().wrapping_add(offset);
        // SAFETY: a prefetch reads nothing that a program sees, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
