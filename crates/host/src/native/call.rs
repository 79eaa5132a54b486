//! What a thread runs of a user's file: mirror of `algorithms/include/cc_call.h`.

use std::ffi::{c_char, c_long, CStr};
use std::mem::offset_of;

use crate::sock::{TcpSock, ICSK_CA_PRIV_WORDS};

/// `struct cc_call`.
#[repr(C)]
struct Call {
    sk: *const u8,
    private: *const u8,
    params: *const u8,
    sample: *const u8,
    sample_size: u64,
    stack_end: *const u8,
    breach_at: *const u8,
    breach_of: *const c_char,
    breach: *const c_char,
    returns: *const u8,
    returns_end: *const u8,
    may_switch: bool,
    switched_at: *const u8,
}

unsafe extern "C" {
    safe fn cc_current_slot() -> c_long;
    safe fn cc_current_call() -> *mut Call;
}

/// What the checks compare addresses with: where it lies from the thread's own address, and its bytes.
pub(crate) struct Range {
    pub(crate) start_at: i64,
    pub(crate) bytes: usize,
}

/// What the code of a file compares with, in the thread's call.
pub(crate) struct Compared {
    /// What a file may read.
    pub(crate) socket: Range,
    /// What it may write.
    pub(crate) private: Range,
    /// Where its functions that run were called from, and the end of that list.
    pub(crate) returns_at: i64,
    pub(crate) returns_end_at: i64,
}

impl Compared {
    /// Where it lies from the thread's own address.
    pub(crate) fn here() -> Self {
        let at = |offset: usize| cc_current_slot() as i64 + offset as i64;
        Self {
            socket: Range {
                start_at: at(offset_of!(Call, sk)),
                bytes: size_of::<TcpSock>(),
            },
            private: Range {
                start_at: at(offset_of!(Call, private)),
                bytes: size_of::<u64>() * ICSK_CA_PRIV_WORDS,
            },
            returns_at: at(offset_of!(Call, returns)),
            returns_end_at: at(offset_of!(Call, returns_end)),
        }
    }
}

/// How far each thread's call lies from the thread's own address.
pub(crate) fn slot() -> c_long {
    cc_current_slot()
}

/// The socket of the hook of a checked file that this thread runs. For the handler of a signal.
pub(crate) fn socket() -> Option<*const TcpSock> {
    // SAFETY: each thread has its own.
    let call = unsafe { &*cc_current_call() };
    // module_init has no private state, and a trusted file's hooks do not say which is theirs.
    let private = call
        .sk
        .wrapping_add(offset_of!(TcpSock, inet_conn.icsk_ca_priv));
    (!call.private.is_null() && call.private == private).then_some(call.sk.cast())
}

/// What a file did on this thread that it must not: where, to what, and what is wrong with that. For
/// the handler of a signal: it allocates nothing.
pub(crate) fn breach() -> Option<(usize, &'static [u8], &'static [u8])> {
    // SAFETY: each thread has its own; strings are literals of a library that is still loaded.
    unsafe {
        let call = &*cc_current_call();
        if call.breach_at.is_null() {
            return None;
        }
        let text = |at| CStr::from_ptr(at).to_bytes();
        Some((
            call.breach_at as usize,
            text(call.breach_of),
            text(call.breach),
        ))
    }
}
