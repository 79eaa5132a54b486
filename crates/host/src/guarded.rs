//! The memory in which the socket of an algorithm lies.

use std::fmt;
use std::mem::offset_of;

use crate::sock::TcpSock;

pub(crate) const GUARD_WORDS: usize = 2;
pub(crate) const GUARD: u64 = 0x5af3_c9d1_8e27_b604;

/// The socket between words that nobody may write: a bad index in C hits them first.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Guarded {
    /// Number of the flow.
    pub(crate) flow: u32,
    /// Number of the user's file where the page runs it.
    pub(crate) guest: u32,
    pub(crate) before: [u64; GUARD_WORDS],
    pub(crate) tp: TcpSock,
    pub(crate) after: [u64; GUARD_WORDS],
}

impl Guarded {
    /// # Safety
    /// As of [`Moment::from_socket`].
    #[cfg(not(feature = "native"))]
    pub(crate) unsafe fn guest(tp: *const TcpSock) -> u32 {
        let before = offset_of!(Self, tp) - offset_of!(Self, guest);
        // SAFETY: a hook gets the socket of a `Guarded`.
        unsafe { *tp.byte_sub(before).cast::<u32>() }
    }
}

/// What a hook's flow was when its file crashed.
pub(crate) struct Moment {
    pub(crate) flow: u64,
    pub(crate) now_ns: u64,
    pub(crate) cwnd: u32,
}

impl fmt::Display for Moment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { flow, now_ns, cwnd } = self;
        let (s, us) = (now_ns / 1_000_000_000, now_ns % 1_000_000_000 / 1_000);
        write!(formatter, " (flow {flow} at {s}.{us:06} s, cwnd {cwnd})")
    }
}

/// What a file does that crashes.
pub(crate) const DIVIDES: &str = "divides by zero, which the kernel's BPF makes 0, or the least \
                                  integer by -1; test the divisor first";
pub(crate) const STOPS: &str = "stops itself (undefined behaviour, or __builtin_trap)";
pub(crate) const NO_STACK: &str =
    "runs out of stack; the kernel has 512 bytes of it and no recursion";

impl Moment {
    /// # Safety
    /// `tp` is what a hook that runs got: the socket of a [`Guarded`].
    pub(crate) unsafe fn from_socket(tp: *const TcpSock) -> Self {
        let before = offset_of!(Guarded, tp) - offset_of!(Guarded, flow);
        // SAFETY: a hook gets the socket of a `Guarded`.
        unsafe {
            Self {
                flow: (*tp.byte_sub(before).cast::<u32>()).into(),
                now_ns: (*tp).tcp_clock_cache,
                cwnd: (*tp).snd_cwnd,
            }
        }
    }
}
