//! Memory that the C library keeps.

/// Gives memory that nothing uses back to the system, where the C library (glibc) would keep it: after
/// many small blocks, as of the flows of a large run, that is most of it.
pub fn give_back_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it takes a number, and touches no block that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Asks the system for large pages below the elements that `memory` has room for, before they are
/// written. It is only a hint.
pub fn advise_large_pages<T>(memory: &mut Vec<T>) {
    let room = memory.spare_capacity_mut();
    advise_large(room.as_ptr() as usize, size_of_val(room));
}

/// The same of so many bytes, which are part of one allocation.
pub(crate) fn advise_large(start: usize, bytes: usize) {
    #[cfg(target_os = "linux")]
    {
        const LARGE: usize = 1 << 21;
        let end = (start + bytes) / LARGE * LARGE;
        let start = start.next_multiple_of(LARGE);
        if start < end {
            // SAFETY: the range is part of one allocation. The advice changes no contents.
            unsafe {
                libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE);
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, bytes);
}
