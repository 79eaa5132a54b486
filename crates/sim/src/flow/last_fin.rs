//! How a session's connection ends: its receiver sends its FIN again until it hears the answer (`LAST_ACK`), and
//! the sender's host answers each that comes (`tcp_timewait_state_process`).
//!
//! How to drive it: [`begin`](LastFin::begin) when the FIN has come, [`hears`](LastFin::hears) when an answer
//! reaches the receiver, and [`answers`](LastFin::answers) at [`reaches_ns`](LastFin::reaches_ns).

use crate::tcp::Clock;
use ackclock_net::schedule::NEVER;

/// `tcp_invalid_ratelimit`: of two FINs so close the second has no answer.
const OUT_OF_WINDOW_US: u64 = 500_000;

/// The FIN of a receiver that has not heard its answer.
pub(crate) struct LastFin {
    /// The connection among those of its session.
    pub(crate) connection: u32,
    clock: Clock,
    /// When it leaves again, and how much later it reaches the sender's host.
    again_ns: u64,
    back_ns: u64,
    heard_ns: u64,
    /// The timeout that follows, jiffies.
    rto: u64,
    /// The jiffy of the last of these that was answered.
    answered: Option<u64>,
    limits_answers: bool,
}

impl LastFin {
    /// The FIN has left now, by this clock. `probe`: Linux 6 first probes for a loss (`tcp_schedule_loss_probe`),
    /// which does not double the timeout. Both are jiffies.
    pub(crate) fn begin(
        connection: u32,
        clock: Clock,
        back_ns: u64,
        (probe, rto): (Option<u64>, u64),
    ) -> Self {
        Self {
            connection,
            clock,
            again_ns: clock.fires_ns(probe.map_or(rto, |probe| probe.min(rto))),
            back_ns,
            heard_ns: NEVER,
            rto: if probe.is_some() { rto } else { 2 * rto },
            answered: None,
            limits_answers: probe.is_some(),
        }
    }

    /// When the FIN reaches the sender's host again; [`NEVER`]: it does not.
    pub(crate) fn reaches_ns(&self) -> u64 {
        match self.again_ns < self.heard_ns {
            true => self.again_ns + self.back_ns,
            false => NEVER,
        }
    }

    /// An answer reaches the receiver.
    pub(crate) fn hears(&mut self, at_ns: u64) {
        self.heard_ns = self.heard_ns.min(at_ns);
    }

    /// The FIN reaches the sender's host again. Returns whether it answers.
    pub(crate) fn answers(&mut self) -> bool {
        let mut host = self.clock;
        host.advance(self.reaches_ns());
        let (now, most) = (host.jiffies(), host.jiffies_of_us(OUT_OF_WINDOW_US));
        let is_soon = self.limits_answers && self.answered.is_some_and(|at| now - at < most);
        if !is_soon {
            self.answered = Some(now);
        }
        self.clock.advance(self.again_ns);
        self.again_ns = self.clock.fires_ns(self.rto);
        self.rto *= 2;
        !is_soon
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Profile;
    use crate::tcp::profile::Kernel;

    const MS: u64 = 1_000_000;

    /// A FIN leaves at 1000 ms, over a path of 10 ms, with a timeout of 210 ms: it leaves again at 1216 as a probe,
    /// at 1432, 1856 and 2704 (the timer wheel counts in eights, then in 64s), and reaches the other host 5 ms later. That does not
    /// answer the second, 216 ms behind the first. An answer that comes at 1500 is in time for no more.
    #[test]
    fn a_fin_comes_again() {
        let mut clock = Kernel::for_profile(Profile::Linux6).clock(1_000, 0);
        clock.advance(1_000 * MS);
        let mut fin = LastFin::begin(1, clock, 5 * MS, (Some(220), 210));
        let mut seen = Vec::new();
        while fin.reaches_ns() < 3_000 * MS {
            seen.push((fin.reaches_ns() / MS, fin.answers()));
        }
        assert_eq!(
            seen,
            [(1_221, true), (1_437, false), (1_861, true), (2_709, true)]
        );
        let mut fin = LastFin::begin(1, clock, 5 * MS, (Some(220), 210));
        fin.answers();
        fin.answers();
        fin.hears(1_500 * MS);
        assert_eq!(fin.reaches_ns(), NEVER);
    }

    /// Linux 2.6 has no probe, and answers each.
    #[test]
    fn an_old_fin_backs_off_at_once() {
        let mut clock = Kernel::for_profile(Profile::Linux2_6_25).clock(1_000, 0);
        clock.advance(1_000 * MS);
        let mut fin = LastFin::begin(1, clock, 0, (None, 200));
        let mut at_ms = || (fin.reaches_ns() / MS, fin.answers());
        assert_eq!([at_ms(), at_ms()], [(1_200, true), (1_600, true)]);
    }
}
