//! A last word for the commonest slip in a user's C file: a division by zero.
//!
//! BPF gives 0 for it; natively the processor stops the process. What can still be said then is
//! prepared when the file is loaded, since a signal handler may allocate nothing.

use std::ffi::{c_char, c_int, CString};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The line to write; kept for as long as the process lives.
static LAST_WORD: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());

/// From now on a division by zero names `path` before it ends the process with status 1.
///
/// With several files of a user's the last one loaded is named, as one of those that may have done it.
pub(crate) fn explain_division_by_zero(path: &str) {
    let earlier = !LAST_WORD.load(Ordering::Acquire).is_null();
    let or_another = if earlier {
        " (or another C file of yours)"
    } else {
        ""
    };
    let text = format!(
        "error: {path}{or_another}: divides by zero, which the kernel's BPF makes 0; \
         test the divisor first\n"
    );
    let Ok(text) = CString::new(text) else { return };
    // A line that was there before is leaked: a handler may be reading it.
    LAST_WORD.store(text.into_raw(), Ordering::Release);
    // SAFETY: the handler calls nothing but what POSIX allows in one.
    unsafe {
        libc::signal(libc::SIGFPE, last_word as *const () as libc::sighandler_t);
    }
}

extern "C" fn last_word(_: c_int) {
    let text = LAST_WORD.load(Ordering::Acquire);
    // SAFETY: the text is never freed; write and _exit are async-signal-safe.
    unsafe {
        libc::write(libc::STDERR_FILENO, text.cast(), libc::strlen(text));
        libc::_exit(1);
    }
}
