//! Jiffies, and the timers that count them (`kernel/time/timer.c`).
//!
//! How to drive it: call [`advance`](Clock::advance) with the time of each call.
//! [`fires_ns`](Clock::fires_ns) then says when a timer fires that is armed now.

/// Jiffies at the start of a run, before a host's phase is added. A multiple of all granularities
/// of the timer wheel that matter.
pub(super) const FIRST_JIFFY: u64 = 1_000_000;
/// When a run begins on the virtual Linux, which starts 2 s before with `INITIAL_JIFFIES`, −300 s.
const VIRTUAL_START_S: i64 = -298;
/// The timer wheel rounds up to multiples of 8, 64, 512, of these jiffies, modulo 4096.
const WHEEL: i64 = 4096;
/// A timer of up to 62 jiffies fires on its jiffy. Each further level of the wheel is eight times
/// as coarse (`LVL_START`, `LVL_CLK_SHIFT`).
const FINE_JIFFIES: u64 = 63;
const LEVEL_SHIFT: u32 = 3;

/// So many more than [`FIRST_JIFFY`] has a host of the virtual Linux before the first tick.
pub(super) const fn virtual_jiffies(hz: u32) -> u64 {
    (VIRTUAL_START_S * hz as i64 - 1 - FIRST_JIFFY as i64).rem_euclid(WHEEL) as u64
}

/// A host's clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    now_ns: u64,
    next_tick_ns: u64,
    jiffies: u64,
    /// 2⁶⁴ / `tick_us`, rounded up.
    per_tick: u64,
    tick_ns: u32,
    tick_us: u16,
    rounds_up: bool,
}

impl Clock {
    /// Makes a clock with `hz` ticks a second, which first ticks at `phase_ns`. `rounds_up`: its timer
    /// wheel rounds up (Linux 4.8 on).
    pub(super) const fn new(rounds_up: bool, hz: u32, phase_ns: u64) -> Self {
        let tick_us = 1_000_000 / hz;
        assert!(tick_us <= u16::MAX as u32, "at least 16 ticks a second");
        Self {
            now_ns: 0,
            next_tick_ns: phase_ns,
            jiffies: FIRST_JIFFY + if rounds_up { virtual_jiffies(hz) } else { 0 },
            per_tick: u64::MAX / tick_us as u64 + 1,
            tick_ns: 1_000_000_000 / hz,
            tick_us: tick_us as u16,
            rounds_up,
        }
    }

    /// Sets the clock to the time of a call. Times never decrease.
    #[inline]
    pub(crate) fn advance(&mut self, now_ns: u64) {
        debug_assert!(now_ns >= self.now_ns);
        self.now_ns = now_ns;
        if now_ns >= self.next_tick_ns {
            self.tick();
        }
    }

    #[inline(always)]
    fn tick(&mut self) {
        // As floating-point numbers: exact for 100 days, and without the branch that a division of 64
        // bits gets, which nothing can guess here. Signed: a processor converts these at once.
        let late_ns = (self.now_ns - self.next_tick_ns) as i64 as f64;
        let ticks = (late_ns / f64::from(self.tick_ns)) as i64 as u64 + 1;
        self.next_tick_ns += ticks * self.tick_ns();
        self.jiffies += ticks;
    }

    /// Time of the current call.
    #[inline]
    pub(super) fn now_ns(&self) -> u64 {
        self.now_ns
    }

    #[inline]
    pub(crate) fn jiffies(&self) -> u64 {
        self.jiffies
    }

    /// When the next jiffy begins.
    #[inline]
    pub(super) fn next_tick_ns(&self) -> u64 {
        self.next_tick_ns
    }

    /// The length of a jiffy, µs.
    #[inline]
    pub(super) fn tick_us(&self) -> u64 {
        self.tick_us.into()
    }

    #[inline]
    fn tick_ns(&self) -> u64 {
        self.tick_ns.into()
    }

    /// `usecs_to_jiffies`: rounds up. A division would cost more; the product is exact for less than
    /// 2⁶⁴ / `tick_us` µs, which is years.
    #[inline]
    pub(crate) fn jiffies_of_us(&self, us: u64) -> u64 {
        let ticks = u128::from(us + self.tick_us() - 1) * u128::from(self.per_tick);
        (ticks >> 64) as u64
    }

    /// `nsecs_to_jiffies`: whole jiffies in a time.
    pub(crate) fn jiffies_in(&self, ns: u64) -> u64 {
        ns / self.tick_ns()
    }

    /// When a timer fires that is armed now for `delay` jiffies. The wheel of Linux since 4.8
    /// rounds up to the next jiffy of its level, so that a timer never fires early.
    #[inline]
    pub(crate) fn fires_ns(&self, delay: u64) -> u64 {
        let expires = self.jiffies + delay;
        let fires = if self.rounds_up {
            let shift = wheel_shift(delay);
            ((expires >> shift) + 1) << shift
        } else {
            expires.max(self.jiffies + 1)
        };
        self.next_tick_ns + (fires - self.jiffies - 1) * self.tick_ns()
    }

    /// Whether it ticks with the run's clock, as those of other hosts do then.
    pub(crate) fn has_no_phase(&self) -> bool {
        self.next_tick_ns % self.tick_ns() == 0
    }

    /// The place in the wheel of a timer that is armed now for `delay` jiffies. Of timers that fire at
    /// once Linux runs those of coarser levels first, and of a level the last that came (`expire_timers`,
    /// `enqueue_timer`): those with greater places.
    pub(crate) fn place(&self, delay: u64) -> u64 {
        u64::from(wheel_shift(delay)) << 56 | self.now_ns
    }
}

/// How coarse the wheel is for a delay: 2^shift jiffies.
#[inline]
fn wheel_shift(delay: u64) -> u32 {
    if delay < FINE_JIFFIES {
        return 0;
    }
    if delay < FINE_JIFFIES << LEVEL_SHIFT {
        return LEVEL_SHIFT;
    }
    let mut shift = 2 * LEVEL_SHIFT;
    while delay >= FINE_JIFFIES << shift && shift < 8 * LEVEL_SHIFT {
        shift += LEVEL_SHIFT;
    }
    shift
}

#[cfg(test)]
mod tests {
    use super::super::profile::Kernel;
    use super::*;
    use crate::scenario::Profile;

    const MS: u64 = 1_000_000;

    fn clock(profile: Profile, hz: u32) -> Clock {
        let mut clock = Kernel::for_profile(profile).clock(hz, 0);
        clock.advance(276 * MS + 600_000);
        clock
    }

    /// Armed for 40 ms at 276.6 ms, a timer fires at 317 ms (measured, HZ 1000).
    #[test]
    fn a_timer_never_fires_early() {
        let clock_6 = clock(Profile::Linux6, 1_000);
        assert_eq!(clock_6.jiffies(), FIRST_JIFFY + 431 + 277);
        assert_eq!(clock_6.fires_ns(40), 317 * MS);
        assert_eq!(clock_6.fires_ns(0), 277 * MS);
        // From 63 jiffies on the wheel counts in eights, from 504 on in 64s.
        // At 2000 ms the virtual Linux has a multiple of 64: its SYNs leave then, its timeouts 8 ms apart.
        assert_eq!((clock_6.fires_ns(63) / MS) % 8, 0);
        assert_eq!((clock_6.fires_ns(504) / MS) % 64, 2000 % 64);
        assert!((339..=347).contains(&(clock_6.fires_ns(63) / MS)));
        assert!((780..=845).contains(&(clock_6.fires_ns(504) / MS)));
        // Four milliseconds a jiffy: the timer of 10 jiffies fires within the 11th.
        assert_eq!(clock(Profile::Linux6, 250).fires_ns(10), 320 * MS);
        // Linux before 4.8 fires on the jiffy itself.
        assert_eq!(clock(Profile::Linux2_6_25, 1_000).fires_ns(40), 316 * MS);
    }

    #[test]
    fn jiffies_of_microseconds_round_up() {
        let clock = clock(Profile::Linux6, 1_000);
        assert_eq!(
            [0, 1, 1_000, 1_001].map(|us| clock.jiffies_of_us(us)),
            [0, 1, 1, 2]
        );
        for hz in [24, 64, 100, 250, 300, 1_000, 10_000] {
            let kernel = Kernel::for_profile(Profile::Linux6);
            let (clock, tick_us) = (kernel.clock(hz, 0), 1_000_000 / u64::from(hz));
            for ticks in [0, 1, 2, 7, 200, 120_000, 16_000_003] {
                for us in (ticks * tick_us).saturating_sub(2)..=ticks * tick_us + 2 {
                    assert_eq!(clock.jiffies_of_us(us), us.div_ceil(tick_us), "{us} {hz}");
                }
            }
        }
    }
}
