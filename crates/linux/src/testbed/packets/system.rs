//! What only this test asks of the system.

use crate::sys::{check, now_ns, timespec};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd as _, OwnedFd};

/// `struct virtio_net_hdr`.
pub const VNET_HEADER_BYTES: usize = 10;

/// Whether a reader that sleeps on this socket would be woken; SO_RCVLOWAT decides.
pub fn is_readable(socket: &OwnedFd) -> bool {
    let mut polled = libc::pollfd {
        fd: socket.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: the pointer is of one element.
    unsafe { libc::poll(&mut polled, 1, 0) == 1 }
}

/// Keeps the calling thread on its present CPU. Timers that it causes to be armed fire there.
/// Returns the number of the CPU.
pub fn stay_on_this_cpu() -> io::Result<i32> {
    // SAFETY: zero is an empty set, and the set is what the call reads; 0 is this thread.
    unsafe {
        let cpu = check(libc::sched_getcpu())?;
        let mut cpus: libc::cpu_set_t = zeroed();
        libc::CPU_SET(cpu as usize, &mut cpus);
        check(libc::sched_setaffinity(
            0,
            size_of::<libc::cpu_set_t>(),
            &cpus,
        ))?;
        Ok(cpu)
    }
}

/// A tick of the kernel's timers.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    /// Its number: `jiffies`.
    pub number: u64,
    /// Its monotonic time, ns. Ticks are at multiples of their length (Linux 6.4 on).
    pub at_ns: u64,
    /// The time from tick to tick (1 s / CONFIG_HZ), ns.
    pub length_ns: u64,
}

/// The kernel's last tick. `/proc/timer_list` tells its number, to root.
pub fn last_tick() -> io::Result<Tick> {
    let mut length = timespec(0);
    // SAFETY: the call fills `length`.
    check(unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut length) })?;
    let length_ns = length.tv_nsec as u64;
    let this = || now_ns() / length_ns;
    for _ in 0..100 {
        let before = this();
        let timers = std::fs::read_to_string("/proc/timer_list")?;
        let mut lines = timers.lines();
        let number = lines.find_map(|line| line.strip_prefix("jiffies: "));
        let number = number
            .and_then(|number| number.parse().ok())
            .ok_or_else(|| io::Error::other("no `jiffies` in /proc/timer_list"))?;
        // The kernel wrote the number between two looks at the clock in the same tick.
        if this() == before {
            return Ok(Tick {
                number,
                at_ns: before * length_ns,
                length_ns,
            });
        }
    }
    Err(io::Error::other(
        "/proc/timer_list takes longer than a tick",
    ))
}

/// Gives the calling thread the lowest priority (SCHED_IDLE): it runs if nothing else does.
pub fn become_idle() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: `parameters` is what the call reads; 0 is the calling thread.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &parameters) }).map(drop)
}
