//! PIE (RFC 8033): drops at arrival with a probability that a controller derives from the delay.
//!
//! Decisions are those of Linux 6.12 (`sch_pie.c`) with its defaults: delays come from the packets'
//! timestamps. It differs from the RFC in these ways:
//!
//! - Its clock counts units of 64 ns.
//! - The delay is that of the last packet that left, and 0 if it left none behind.
//! - The burst allowance shrinks with the time between departures.
//! - PIE is active from the start, not only from a third of the limit on.
//! - The probability decays by 1/64 after two updates without delay, and it may exceed 1.
//! - A packet that is marked after a sum of probabilities of 8.5 does not reset this sum.
//!
//! Linux makes its first update 0.5 s after the queue was set up. Here time 0 is long after that, so
//! the first update comes after one period.

use super::discipline::mark;
use super::parameters::parameters;
use super::{Cause, Discipline, Fifo, Ledger, Packet};
use crate::buffer::{Buffer, Load};
use crate::rng::Stream;

parameters! {
    /// Parameters of PIE.
    PieParameters {
        /// The queueing delay that the controller aims at (RFC 8033, section 4.2:
        /// `QDELAY_REF`).
        target_ns: u64 = 15_000_000 in 1_000..=10_000_000_000,
        /// Time between two updates of the probability (RFC 8033, section 4.2:
        /// `T_UPDATE`).
        update_ns: u64 = 15_000_000 in 100_000..=10_000_000_000,
        /// How much a delay above the target raises the probability at each update: per second of
        /// delay, in units of 1/16 (RFC 8033, section 4.2: 1/8 Hz).
        alpha_16ths_hz: u64 = 2 in 0..=512,
        /// How much a growing delay raises the probability at each update: per second of growth, in
        /// units of 1/16 (RFC 8033, section 4.2: 1 1/4 Hz).
        beta_16ths_hz: u64 = 20 in 0..=512,
        /// IP bytes of a full packet (default: of the scenario, at least 1500). PIE drops nothing
        /// while less than two of them wait.
        mtu_bytes: u64 = 1500 in 64..=65_535,
        /// Mark ECN-capable packets instead of dropping them while the probability is at most 10 %
        /// (RFC 8033, section 5.1). Linux's default.
        ecn: bool = false,
    }
}

/// Linux's unit of time, as a power of two of nanoseconds.
const TICK_LOG2: u32 = 6;
const TICKS_PER_S: u64 = 1_000_000_000 >> TICK_LOG2;

/// A probability of 1.
const ONE: u64 = u64::MAX >> 8;

/// How long PIE lets a burst pass after a time without queue (RFC 8033, section 4.4).
const BURST_TICKS: u64 = 150_000_000 >> TICK_LOG2;

/// A delay above which the probability rises by 2 % at each update (RFC 8033, section 5.2).
const HIGH_TICKS: u64 = 250_000_000 >> TICK_LOG2;

/// A FIFO under PIE. Times are in Linux's units.
#[derive(Clone, Debug)]
pub struct Pie<P> {
    parameters: PieParameters,
    target: u64,
    buffer: Buffer,
    fifo: Fifo<P>,
    random: Stream,
    /// Of the last packet that left.
    delay: u64,
    /// At the update before.
    delay_before: u64,
    burst: u64,
    dequeued: Option<u64>,
    /// Whether a packet is in service. It counts in the backlog.
    serving: bool,
    probability: u64,
    /// Sum of the probabilities since the last drop.
    sum: u64,
    next_update_ns: u64,
}

impl<P> Pie<P> {
    /// An empty queue.
    pub fn new(parameters: &PieParameters, buffer: Buffer, random: Stream) -> Self {
        Self {
            parameters: *parameters,
            target: parameters.target_ns >> TICK_LOG2,
            buffer,
            fifo: Fifo::default(),
            random,
            delay: 0,
            delay_before: 0,
            burst: BURST_TICKS,
            dequeued: None,
            serving: false,
            probability: 0,
            sum: 0,
            next_update_ns: parameters.update_ns,
        }
    }

    /// Whether the arriving packet is to be dropped or marked.
    fn strikes(&mut self, backlog_bytes: u64) -> bool {
        let calm = self.delay < self.target / 2 && self.probability < ONE / 5;
        if self.burst > 0 || calm || backlog_bytes < 2 * self.parameters.mtu_bytes {
            return false;
        }
        // The sum keeps drops from coming too close to each other or too far apart.
        self.sum = match self.probability {
            0 => 0,
            probability => self.sum.saturating_add(probability),
        };
        if self.sum < ONE / 100 * 85 {
            return false;
        }
        if self.sum >= ONE / 2 * 17 {
            return true;
        }
        let strikes = self.random.bits() >> 8 < self.probability;
        if strikes {
            self.sum = 0;
        }
        strikes
    }

    /// α or β in the units of the probability per tick of delay. A small probability moves in small
    /// steps.
    fn gain(&self, sixteenths_hz: u64) -> i128 {
        let mut gain = (sixteenths_hz * (ONE / TICKS_PER_S)) >> 4;
        if self.probability < ONE / 10 {
            gain >>= 1;
        }
        for power in [100, 1000, 10_000, 100_000, 1_000_000] {
            if self.probability < ONE / power {
                gain >>= 2;
            }
        }
        gain.into()
    }
}

impl<P> Discipline<P> for Pie<P> {
    #[inline]
    fn enqueue(
        &mut self,
        _now_ns: u64,
        mut packet: Packet<P>,
        wire: Load,
        ledger: &mut impl Ledger<P>,
    ) {
        let load = self.fifo.load() + wire;
        if !self.buffer.fits(load, packet.bytes) {
            self.sum = 0;
            ledger.dropped(packet, Cause::Full);
            return;
        }
        if self.strikes(load.bytes) {
            let marks = self.parameters.ecn && self.probability <= ONE / 10;
            if !(marks && mark(&mut packet, ledger)) {
                self.sum = 0;
                ledger.dropped(packet, Cause::Early);
                return;
            }
        }
        self.fifo.push(packet);
    }

    #[inline]
    fn dequeue(&mut self, now_ns: u64, _ledger: &mut impl Ledger<P>) -> Option<Packet<P>> {
        let next = self.fifo.pop();
        self.serving = next.is_some();
        let packet = next?;
        let now = now_ns >> TICK_LOG2;
        self.delay = match self.fifo.load().packets {
            0 => 0,
            _ => now - (packet.arrived_ns >> TICK_LOG2),
        };
        let gap = now - self.dequeued.replace(now).unwrap_or(now);
        self.burst = self.burst.saturating_sub(gap);
        Some(packet)
    }

    #[inline]
    fn load(&self) -> Load {
        self.fifo.load()
    }

    #[inline]
    fn next_update_ns(&self) -> u64 {
        self.next_update_ns
    }

    fn update(&mut self, now_ns: u64) {
        self.next_update_ns = now_ns + self.parameters.update_ns;
        let difference = |a: u64, b: u64| i128::from(a) - i128::from(b);
        let mut delta = self.gain(self.parameters.alpha_16ths_hz)
            * difference(self.delay, self.target)
            + self.gain(self.parameters.beta_16ths_hz) * difference(self.delay, self.delay_before);
        let two_percent = i128::from(ONE / 50);
        if self.probability >= ONE / 10 {
            delta = delta.min(two_percent);
        }
        if self.delay > HIGH_TICKS {
            delta += two_percent;
        }
        self.probability = (i128::from(self.probability) + delta).clamp(0, i64::MAX.into()) as u64;
        let waiting = self.serving || self.fifo.load().packets > 0;
        if self.delay == 0 && self.delay_before == 0 && !waiting {
            self.probability -= self.probability / 64;
        }
        let low = self.target / 2;
        if self.delay < low && self.delay_before < low && self.probability == 0 {
            self.burst = BURST_TICKS;
            self.dequeued = None;
            self.sum = 0;
        }
        self.delay_before = self.delay;
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{random, Script, MS};
    use super::super::Ecn;
    use super::*;

    fn pie(parameters: PieParameters) -> Script<Pie<u32>> {
        Script::new(Pie::new(&parameters, Buffer::Packets(1000), random()))
    }

    fn ticks(ns: u64) -> u64 {
        ns >> TICK_LOG2
    }

    /// A queue that stands at this probability, and lets no burst pass.
    fn standing(ecn: bool, percent: u64) -> Script<Pie<u32>> {
        let mut script = pie(PieParameters {
            ecn,
            ..PieParameters::default()
        });
        for _ in 0..10 {
            script.arrive(9, 1500, Ecn::NotEct);
        }
        script.queue.burst = 0;
        script.queue.delay = ticks(20 * MS);
        script.queue.probability = ONE / 100 * percent;
        script
    }

    /// The delay is 55 ms, for some updates. The step is (1/8)(0.055 − 0.015) = 0.005, and at first
    /// (5/4)(0.055 − 0) = 0.06875 more. It is divided by 2048 below a probability of 10⁻⁶, by 512
    /// below 10⁻⁵, then by 128, 32, 8, 2 and, from 10 % on, 1:
    ///
    /// | probability before | step | probability |
    /// |---|---|---|
    /// | 0 | 0.07375/2048 | 3.601·10⁻⁵ |
    /// | < 10⁻⁴ | 0.005/128 = 3.906·10⁻⁵ | 7.507·10⁻⁵ |
    /// | < 10⁻⁴ | | 11.414·10⁻⁵ |
    /// | < 10⁻³ | 0.005/32 = 15.625·10⁻⁵ | 27.039·10⁻⁵ |
    #[test]
    fn small_probabilities_move_in_small_steps() {
        let mut script = pie(PieParameters::default());
        script.queue.delay = ticks(55 * MS);
        for (update, expected) in (1..).zip([3.601e-5, 7.507e-5, 11.414e-5, 27.039e-5]) {
            script.at(update * 15 * MS);
            let probability = script.queue.probability as f64 / ONE as f64;
            assert!((probability / expected - 1.0).abs() < 2e-4, "{probability}");
        }
    }

    /// One update from a probability, a delay and the delay before. Results in percent.
    #[test]
    fn one_update() {
        for (from, delay_ms, before_ms, waiting, to) in [
            // 5 + (0.125 · 0.005 + 1.25 · 0.002)/2 · 100.
            (5.0, 20, 18, true, 5.15625),
            // 20 + (0.125 · 0.005 + 1.25 · 0.002) · 100.
            (20.0, 20, 18, true, 20.3125),
            // 20 − 0.125 · 0.015 − 1.25 · 0.01.
            (20.0, 0, 10, true, 18.5625),
            // 1.25 · 0.2 alone would be 25: no more than 2.
            (20.0, 215, 15, true, 22.0),
            // Below 10 % there is no such limit: (0.125 · 0.2 + 1.25 · 0.2)/2.
            (9.0, 215, 15, true, 22.75),
            // Above 250 ms 2 more.
            (20.0, 300, 15, true, 24.0),
            // (100 − 0.125 · 1.5) · 63/64, but only if no packet waits or is on its way.
            (100.0, 0, 0, false, 98.252_929_687_5),
            (100.0, 0, 0, true, 99.8125),
            // Not below 0.
            (0.001, 0, 100, true, 0.0),
            // Above 100.
            (100.0, 215, 215, true, 102.0),
        ] {
            let mut script = pie(PieParameters::default());
            script.queue.probability = (ONE as f64 / 100.0 * from) as u64;
            script.queue.delay = ticks(delay_ms * MS);
            script.queue.delay_before = ticks(before_ms * MS);
            script.queue.serving = waiting;
            script.at(15 * MS);
            let percent = script.queue.probability as f64 / ONE as f64 * 100.0;
            assert!((percent - to).abs() < 1e-3, "{percent} instead of {to}");
        }
    }

    /// At 30 % the sum reaches 0.85 with the third packet. From there on the stream decides: 0.9108,
    /// 0.8024, 0.2818 < 0.3, so the fifth packet is dropped. Then 2 more without a number, and 0.4102,
    /// 0.6631, 0.6223, 0.0922: the sixth after it.
    #[test]
    fn drops_are_neither_close_nor_far_apart() {
        let mut script = standing(false, 30);
        let drops = (1..=12).filter(|_| {
            script.arrive(1, 1500, Ecn::Ect0);
            !script.notes().drops.is_empty()
        });
        assert_eq!(drops.collect::<Vec<_>>(), [5, 11]);
        // A sum of 8.5 drops without a number, and the fourth packet of 12 above made it 0.3.
        script.queue.sum = ONE / 100 * 835;
        script.arrive(1, 1500, Ecn::Ect0);
        assert_eq!(script.notes().drops.len(), 1);
        assert_eq!(script.queue.sum, 0);
    }

    #[test]
    fn it_marks_up_to_ten_percent() {
        for (percent, ecn, knows, marks) in [
            (10, true, Ecn::Ect0, 1),
            (11, true, Ecn::Ect0, 0),
            (10, true, Ecn::NotEct, 0),
            (10, false, Ecn::Ect0, 0),
        ] {
            let mut script = standing(ecn, percent);
            script.queue.sum = ONE / 100 * 845;
            script.arrive(1, 1500, knows);
            let notes = script.notes();
            assert_eq!(notes.marks.len(), marks);
            assert_eq!(notes.drops.len(), 1 - marks);
            // A mark keeps the sum: the next packet is marked too.
            assert_eq!(script.queue.sum > 0, marks == 1);
        }
    }

    /// A packet passes if the delay is low, or less than two full packets wait, or a burst may pass.
    #[test]
    fn what_passes() {
        let strikes = |change: fn(&mut Pie<u32>)| {
            let mut script = standing(false, 19);
            script.queue.sum = ONE / 2 * 17;
            change(&mut script.queue);
            !script.arrive(1, 1500, Ecn::Ect0).notes().drops.is_empty()
        };
        assert!(strikes(|_| ()));
        assert!(!strikes(|queue| queue.burst = 1));
        assert!(!strikes(|queue| queue.delay = queue.target / 2 - 1));
        assert!(strikes(|queue| {
            queue.delay = 0;
            queue.probability = ONE / 5;
        }));
        let leave = |queue: &mut Pie<u32>, packets| {
            while queue.load().packets > packets {
                queue.fifo.pop();
            }
        };
        assert!(strikes(|queue| while queue.load().packets > 2 {
            queue.fifo.pop();
        }));
        let mut script = standing(false, 19);
        script.queue.sum = ONE / 2 * 17;
        leave(&mut script.queue, 1);
        script.arrive(1, 1500, Ecn::Ect0);
        assert_eq!(script.notes().drops, []);
    }

    /// Departures 10 ms apart use up 150 ms of allowance from the first one on. Two updates without
    /// delay and probability give it back.
    #[test]
    fn a_burst_passes_for_150_ms() {
        let mut script = pie(PieParameters::default());
        for _ in 0..40 {
            script.arrive(1, 1500, Ecn::NotEct);
        }
        let queue = &mut script.queue;
        let mut notes = super::super::script::Notes::default();
        for departure in 0..=15 {
            assert!(queue.burst > 0, "{departure}");
            queue.dequeue((1000 + 10 * departure) * MS, &mut notes);
        }
        assert_eq!(queue.burst, 0);
        queue.delay = 0;
        queue.update(1160 * MS);
        assert_eq!(queue.burst, BURST_TICKS);
    }
}
