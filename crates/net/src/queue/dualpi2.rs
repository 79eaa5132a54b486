//! DualPI2 (RFC 9332): a queue of low latency for L4S packets beside one for classic packets, coupled
//! so that flows of both kinds get equal rates.
//!
//! Decisions are those of Linux 6.17 (`sch_dualpi2.c`) with its defaults. It differs from the RFC's
//! appendix A in these ways:
//!
//! - Marks and drops are random, not spread evenly.
//! - Above a sojourn time, every packet of the L queue is marked: a step, not a ramp.
//! - The queues share the link by weights and a credit, not by a time shift.
//! - The controller sees the longer delay of both queues, and less than two full packets are let pass.

use super::discipline::mark;
use super::parameters::parameters;
use super::{Cause, Discipline, Ecn, Fifo, Ledger, Packet};
use crate::buffer::{Buffer, Load};
use crate::rng::Stream;

parameters! {
    /// Parameters of DualPI2.
    Dualpi2Parameters {
        /// The queueing delay of the classic queue that the controller aims at
        /// (RFC 9332, appendix A.1).
        target_ns: u64 = 15_000_000 in 1_000..=1_000_000_000,
        /// Time between two updates of the probability. Linux's default; RFC 9332,
        /// appendix A.1, has 15 ms.
        update_ns: u64 = 16_000_000 in 100_000..=1_000_000_000,
        /// How much a delay above the target raises the probability at each update: per second of
        /// delay, in units of 1/256. Linux's default: 0.16 Hz.
        alpha_256ths_hz: u64 = 41 in 1..=1_000_000,
        /// How much a growing delay raises the probability at each update: per second of growth, in
        /// units of 1/256. Linux's default: 3.2 Hz.
        beta_256ths_hz: u64 = 819 in 1..=1_000_000,
        /// The L queue is marked with the base probability times this, the classic queue with its
        /// square (RFC 9332, section 2.1).
        coupling: u64 = 2 in 1..=255,
        /// Sojourn time above which every packet of the L queue is marked. Linux's
        /// default.
        step_ns: u64 = 1_000_000 in 0..=1_000_000_000,
        /// Share of the link that the classic queue gets at least, percent. Linux's default.
        classic_share_percent: u64 = 10 in 0..=100,
        /// IP bytes of a full packet (default: of the scenario, at least 1500). Less than two of
        /// them waiting are no reason to mark.
        mtu_bytes: u64 = 1500 in 64..=65_535,
    }
}

/// A probability of 1.
const ONE: u32 = u32::MAX;

/// Two queues under DualPI2.
#[derive(Clone, Debug)]
pub struct Dualpi2<P> {
    parameters: Dualpi2Parameters,
    alpha: i64,
    beta: i64,
    buffer: Buffer,
    classic: Fifo<P>,
    /// The L queue.
    low_latency: Fifo<P>,
    random: Stream,
    /// Which queue is next: the L queue, unless this is above 0. Bytes times percent.
    credit: i64,
    /// The base probability.
    probability: u32,
    /// The delay at the last update.
    delay_ns: u64,
    next_update_ns: u64,
}

/// A gain in Linux's units: probability per 64 ns of delay.
fn gain(of_256_hz: u64) -> i64 {
    (((of_256_hz * u64::from(ONE)) >> 2) / 1_000_000_000) as i64
}

impl<P> Dualpi2<P> {
    /// Empty queues.
    pub fn new(parameters: &Dualpi2Parameters, buffer: Buffer, random: Stream) -> Self {
        let mut queue = Self {
            parameters: *parameters,
            alpha: gain(parameters.alpha_256ths_hz),
            beta: gain(parameters.beta_256ths_hz),
            buffer,
            classic: Fifo::default(),
            low_latency: Fifo::default(),
            random,
            credit: 0,
            probability: 0,
            delay_ns: 0,
            next_update_ns: parameters.update_ns,
        };
        queue.reset_credit();
        queue
    }

    fn reset_credit(&mut self) {
        let classic = self.parameters.classic_share_percent as i64;
        self.credit = self.parameters.mtu_bytes as i64 * (classic - (100 - classic));
    }

    /// Takes the next packet, whether it is of the L queue, and what it does to the credit.
    fn pop(&mut self) -> Option<(Packet<P>, bool, i64)> {
        let classic = self.parameters.classic_share_percent as i64;
        let waits = |fifo: &Fifo<P>| fifo.head().is_some();
        let both = waits(&self.low_latency) && waits(&self.classic);
        let is_low = waits(&self.low_latency) && (!both || self.credit <= 0);
        let (fifo, weight) = if is_low {
            (&mut self.low_latency, classic)
        } else {
            (&mut self.classic, classic - 100)
        };
        let Some(packet) = fifo.pop() else {
            self.reset_credit();
            return None;
        };
        let credit = if both {
            weight * i64::from(packet.bytes)
        } else {
            0
        };
        Some((packet, is_low, credit))
    }

    fn roll(&mut self, probability: u32) -> bool {
        (self.random.bits() >> 32) as u32 <= probability
    }

    /// With the square of the base probability.
    fn roll_square(&mut self) -> bool {
        self.roll(self.probability) && self.roll(self.probability)
    }

    /// What happens to a packet that is next.
    fn judge(&mut self, packet: &Packet<P>, is_low: bool, now_ns: u64) -> Verdict {
        let coupled = u64::from(self.probability) * self.parameters.coupling;
        let overload = coupled > ONE.into();
        let above_step = is_low && now_ns - packet.arrived_ns > self.parameters.step_ns;
        if self.load().bytes < 2 * self.parameters.mtu_bytes {
            // Only the step acts.
        } else if overload {
            // Marks no longer help. Both queues drop, and the L queue marks what is left.
            if self.roll_square() {
                return Verdict::Drop;
            }
            if is_low {
                return Verdict::Mark;
            }
        } else if is_low {
            if self.roll(coupled as u32) {
                return Verdict::Mark;
            }
        } else if self.roll_square() {
            return match packet.ecn {
                Ecn::NotEct => Verdict::Drop,
                _ => Verdict::Mark,
            };
        }
        if above_step {
            Verdict::Mark
        } else {
            Verdict::Pass
        }
    }
}

/// What happens to a packet.
enum Verdict {
    Pass,
    Mark,
    Drop,
}

impl<P> Discipline<P> for Dualpi2<P> {
    #[inline]
    fn enqueue(
        &mut self,
        _now_ns: u64,
        packet: Packet<P>,
        wire: Load,
        ledger: &mut impl Ledger<P>,
    ) {
        if !self.buffer.fits(self.load() + wire, packet.bytes) {
            ledger.dropped(packet, Cause::Full);
        } else if matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce) {
            self.low_latency.push(packet);
        } else {
            self.classic.push(packet);
        }
    }

    #[inline]
    fn dequeue(&mut self, now_ns: u64, ledger: &mut impl Ledger<P>) -> Option<Packet<P>> {
        loop {
            let (mut packet, is_low, credit) = self.pop()?;
            match self.judge(&packet, is_low, now_ns) {
                Verdict::Drop => {
                    ledger.dropped(packet, Cause::Early);
                    continue;
                }
                Verdict::Mark => _ = mark(&mut packet, ledger),
                Verdict::Pass => (),
            }
            self.credit += credit;
            return Some(packet);
        }
    }

    #[inline]
    fn load(&self) -> Load {
        self.classic.load() + self.low_latency.load()
    }

    #[inline]
    fn next_update_ns(&self) -> u64 {
        self.next_update_ns
    }

    fn update(&mut self, now_ns: u64) {
        self.next_update_ns = now_ns + self.parameters.update_ns;
        let waits_ns = |fifo: &Fifo<P>| fifo.head().map_or(0, |packet| now_ns - packet.arrived_ns);
        let delay_ns = waits_ns(&self.classic).max(waits_ns(&self.low_latency));
        let difference = |a: u64, b: u64| a as i64 - b as i64;
        let delta = difference(delay_ns, self.parameters.target_ns)
            .saturating_mul(self.alpha)
            .saturating_add(difference(delay_ns, self.delay_ns).saturating_mul(self.beta));
        self.delay_ns = delay_ns;
        let probability = i64::from(self.probability) + delta / 64;
        self.probability = probability.clamp(0, ONE.into()) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{random, Script, MS};
    use super::*;

    fn dualpi2() -> Script<Dualpi2<u32>> {
        let parameters = Dualpi2Parameters::default();
        Script::new(Dualpi2::new(&parameters, Buffer::Packets(10_000), random()))
    }

    /// A queue at this probability, with packets of this kind.
    fn standing(ecn: Ecn, packets: u32, percent: f64) -> Script<Dualpi2<u32>> {
        let mut script = dualpi2();
        for _ in 0..packets {
            script.arrive(1, 1500, ecn);
        }
        script.queue.probability = (percent / 100.0 * f64::from(ONE)) as u32;
        script
    }

    /// α = 41/256 Hz is 44 units, β = 819/256 Hz 879 units of 2⁻³² per 64 ns: 0.16007 and 3.19778 Hz.
    /// A packet waits for 16, 32, 48 ms and is served. Steps and probabilities in percent:
    ///
    /// | delay, ms | α (delay − 15 ms) | β growth | step | probability |
    /// |---|---|---|---|---|
    /// | 16 | 0.0160 | 5.1165 | 5.1325 | 5.1325 |
    /// | 32 | 0.2721 | 5.1165 | 5.3886 | 10.5210 |
    /// | 48 | 0.5282 | 5.1165 | 5.6447 | 16.1657 |
    /// | 0 | −0.2401 | −15.3494 | −15.5895 | 0.5763 |
    /// | 0 | −0.2401 | 0 | −0.2401 | 0.3361 |
    #[test]
    fn the_controller() {
        for ecn in [Ecn::NotEct, Ecn::Ect1] {
            let mut script = dualpi2();
            script.arrive(1, 1500, ecn);
            let expect = |script: &mut Script<Dualpi2<u32>>, ms, expected: f64| {
                script.at(ms * MS);
                let percent = f64::from(script.queue.probability) / f64::from(ONE) * 100.0;
                assert!((percent - expected).abs() < 1e-4, "{percent} {expected}");
            };
            expect(&mut script, 16, 5.1325);
            expect(&mut script, 32, 10.5210);
            expect(&mut script, 48, 16.1657);
            assert!(script.serve().is_some());
            expect(&mut script, 64, 0.5763);
            expect(&mut script, 80, 0.3361);
            expect(&mut script, 112, 0.0);
        }
    }

    /// The credit begins at 1500 (10 − 90) = −120 000. A packet of the L queue adds 1500 · 10, one of
    /// the classic queue takes 1500 · 90. The L queue is next up to a credit of 0: 9 packets, then one
    /// classic.
    #[test]
    fn the_classic_queue_gets_its_share() {
        let mut script = dualpi2();
        for _ in 0..40 {
            script.arrive(1, 1500, Ecn::Ect1);
            script.arrive(2, 1500, Ecn::Ect0);
        }
        let order: Vec<_> = (0..30).map(|_| script.serve().unwrap().flow).collect();
        let round = [1, 1, 1, 1, 1, 1, 1, 1, 1, 2];
        assert_eq!(order, round.repeat(3));
        // A queue that is alone gets all, and this does not count.
        let mut script = standing(Ecn::NotEct, 20, 0.0);
        let credit = script.queue.credit;
        while script.serve().is_some() {}
        assert_eq!(script.queue.credit, credit);
    }

    /// Over 100 000 packets at a base probability of 10 %: L packets are marked with 2 · 10 %, classic
    /// packets are marked or dropped with (10 %)². The standard deviations are 0.13 % and 0.03 %.
    #[test]
    fn the_queues_are_coupled() {
        for (ecn, marked, dropped) in [
            (Ecn::Ect1, 0.2, 0.0),
            (Ecn::Ce, 0.2, 0.0),
            (Ecn::Ect0, 0.01, 0.0),
            (Ecn::NotEct, 0.0, 0.01),
        ] {
            let mut script = standing(ecn, 20, 10.0);
            for _ in 0..100_000 {
                script.arrive(1, 1500, ecn);
                assert!(script.serve().is_some());
                if script.queue.load().packets < 20 {
                    script.arrive(1, 1500, ecn);
                }
            }
            let notes = script.notes();
            let close = |count: usize, share: f64, deviation: f64| {
                (count as f64 / 100_000.0 - share).abs() <= 4.0 * deviation
            };
            let deviation = |share: f64| (share * (1.0 - share) / 100_000.0).sqrt();
            assert!(
                close(notes.marks.len(), marked, deviation(marked)),
                "{ecn:?}"
            );
            assert!(
                close(notes.drops.len(), dropped, deviation(dropped)),
                "{ecn:?}"
            );
        }
    }

    /// At a base probability of 60 % the coupled one is above 1: L packets are dropped with (60 %)² and
    /// otherwise all marked, and ECT(0) packets are dropped like those without ECN.
    #[test]
    fn an_overload_drops() {
        for (ecn, all_marked) in [(Ecn::Ect1, true), (Ecn::Ect0, false), (Ecn::NotEct, false)] {
            let mut script = standing(ecn, 10_000, 60.0);
            let mut sent = 0;
            while script.serve().is_some() {
                sent += 1;
            }
            let notes = script.notes();
            assert_eq!(notes.drops.len() + sent, 10_000);
            assert!((notes.drops.len() as f64 / 10_000.0 - 0.36).abs() < 0.02);
            // The last two packets leave less than two behind.
            assert_eq!(notes.marks.len() + 2 >= sent, all_marked);
        }
    }

    /// 5 packets wait for 0 to 4 ms with a base probability of 0. The step is at 1 ms, and for L
    /// packets only.
    #[test]
    fn the_step_marks_the_low_latency_queue() {
        for (ecn, times) in [(Ecn::Ect1, &[2, 3, 4][..]), (Ecn::Ect0, &[])] {
            let mut script = standing(ecn, 5, 0.0);
            assert_eq!(script.drain(0, MS), times);
        }
    }
}
