//! How much CPU time a thread has used, read by another thread.

use std::time::Duration;

/// The CPU clock of a thread. Unlike the time of day it stands still while a busy machine runs
/// other work.
#[derive(Clone, Copy, Debug)]
pub struct ThreadClock(#[cfg(target_os = "linux")] libc::clockid_t);

impl ThreadClock {
    /// That of the calling thread; `None` where the system has none.
    pub fn current() -> Option<Self> {
        #[cfg(target_os = "linux")]
        {
            let mut clock = 0;
            // SAFETY: the calling thread exists, and `clock` is valid during the call.
            let error =
                unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
            (error == 0).then_some(Self(clock))
        }
        #[cfg(not(target_os = "linux"))]
        None
    }

    /// CPU time so far; `None` if the thread has ended.
    pub fn elapsed(self) -> Option<Duration> {
        #[cfg(target_os = "linux")]
        {
            let mut time = libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            // SAFETY: `time` is valid during the call; an unknown clock is an error.
            let error = unsafe { libc::clock_gettime(self.0, &raw mut time) };
            (error == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
        }
        #[cfg(not(target_os = "linux"))]
        None
    }
}
