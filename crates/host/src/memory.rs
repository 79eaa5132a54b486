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
