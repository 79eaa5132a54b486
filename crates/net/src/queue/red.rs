//! RED (Floyd and Jacobson 1993): marks or drops at arrival, more often the longer the average queue.
//!
//! Decisions are those of Linux 6.12 (`sch_red.c`, `red.h`). The average is a fixed-point number. A
//! random number is drawn once for each gap between two marks, so that gaps are uniform (the paper's
//! second method). `gentle` is not Linux's. A packet that a full queue drops does not count as marked.

use super::discipline::mark;
use super::parameters::parameters;
use super::{Cause, Discipline, Ecn, Fifo, Ledger, Packet};
use crate::buffer::{Buffer, Load};
use crate::rng::Stream;
use crate::schedule::NEVER;

parameters! {
    /// Parameters of RED.
    RedParameters {
        /// Average queue below which no packet is marked, IP bytes: 5 full packets (Floyd 1997,
        /// "RED: Discussions of Setting Parameters").
        min_bytes: u64 = 7500 in 1..=4_000_000_000,
        /// Average queue from which every packet is marked, IP bytes: three times the minimum
        /// (Floyd 1997).
        max_bytes: u64 = 22_500 in 1..=4_000_000_000,
        /// Probability of a mark just below the maximum (Floyd 1997).
        max_p_ppm: u64 = 100_000 in 1..=1_000_000,
        /// The average moves by 1/2ⁿ of its distance to the queue at each arrival. This is n: about
        /// 0.002 (Floyd 1997).
        weight_log2: u64 = 9 in 0..=16,
        /// Time of a typical packet, by which the average falls while the link idles (default: of a full
        /// packet at its `rate`, as at the root of an interface; 0s with a `burst`). Linux takes it 15.6
        /// times as long: tc writes units of 64 ns, and the kernel reads us. 0: an idle time changes
        /// nothing, as below a token bucket.
        idle_packet_ns: u64 = 0 in 0..=10_000_000_000,
        /// Above the maximum, raise the probability from max_p to 1 at twice the maximum, and mark
        /// every packet only from there (Floyd 2000, "Recommendation on using the gentle variant of
        /// RED").
        gentle: bool = false,
        /// Every 0.5 s, adapt max_p so that the average stays near the middle (Floyd, Gummadi and
        /// Shenker 2001, section 3).
        adaptive: bool = false,
        /// Mark ECN-capable packets instead of dropping them, also above the maximum. Linux's
        /// default.
        ecn: bool = false,
    }
}

/// How often `max_p` adapts.
const ADAPT_NS: u64 = 500_000_000;

/// A probability of 1.
const ONE: u64 = 1 << 32;

/// A hundredth, rounded.
const PERCENT: u64 = (ONE + 50) / 100;

/// A FIFO under RED.
#[derive(Clone, Debug)]
pub struct Red<P> {
    parameters: RedParameters,
    buffer: Buffer,
    fifo: Fifo<P>,
    random: Stream,
    /// The average queue, bytes, in units of 1/2ⁿ.
    average: u64,
    /// Packets since the last mark, if the average is between the thresholds.
    count: Option<u64>,
    /// `count` times the excess of the average over the minimum, bytes, at which the next packet is
    /// marked.
    gap: u64,
    /// In units of 2⁻³².
    max_p: u64,
    /// max_p per byte between the thresholds.
    slope: u64,
    idle: Idle,
    adapt_ns: u64,
}

/// What an idle time makes of the average: that of Linux's table (`tc_red_eval_idle_damping`).
#[derive(Clone, Debug)]
struct Idle {
    since_ns: Option<u64>,
    /// A cell is 2ⁿ µs. This is n.
    cell_log2: u32,
    /// Halvings.
    halvings_per_us: f64,
}

impl Idle {
    /// The last cell of the table.
    const LAST: u64 = 255;

    /// A weight of 1/2ⁿ.
    fn new(packet_ns: u64, weight_log2: u64) -> Self {
        // `tc` gives the kernel, which counts µs, units of 64 ns.
        let packet = (packet_ns / 1000).max(1) * 125 / 8;
        let rest = 1.0 - libm::exp2(-(weight_log2 as f64));
        let halvings_per_us = -libm::log(rest) / packet as f64;
        let whole_us = 31.0 / halvings_per_us;
        let is_short = |log2: &u32| whole_us / libm::exp2((*log2).into()) < 512.0;
        Self {
            since_ns: None,
            cell_log2: (0..31).find(is_short).unwrap_or(31),
            halvings_per_us,
        }
    }

    /// `red_calc_qavg_from_idle_time`. Nothing changes the average if there was no idle time.
    fn rest(&self, average: u64, now_ns: u64) -> u64 {
        let Some(since_ns) = self.since_ns else {
            return average;
        };
        let us = ((now_ns - since_ns) / 1000).min(Self::LAST << self.cell_log2);
        let cell = us >> self.cell_log2;
        // An `int` and a byte, of which tc forgets the rest.
        let from_us = f64::from((cell << self.cell_log2) as i32);
        let halvings = ((from_us * self.halvings_per_us) as i32 as u8).min(31);
        if cell == Self::LAST {
            average >> 31
        } else if halvings > 0 {
            average >> halvings
        } else {
            let fall = (u128::from(average) * u128::from(us)) >> self.cell_log2;
            average - (fall as u64).min(average.div_ceil(2))
        }
    }
}

impl<P> Red<P> {
    /// An empty queue.
    pub fn new(parameters: &RedParameters, buffer: Buffer, random: Stream) -> Self {
        let max_p = (parameters.max_p_ppm * ONE / 1_000_000).min(ONE - 1);
        let span = (parameters.max_bytes - parameters.min_bytes).max(1);
        Self {
            parameters: *parameters,
            buffer,
            fifo: Fifo::default(),
            random,
            average: 0,
            count: None,
            gap: 0,
            max_p,
            slope: (max_p / span).max(1),
            idle: Idle::new(parameters.idle_packet_ns, parameters.weight_log2),
            adapt_ns: if parameters.adaptive { ADAPT_NS } else { NEVER },
        }
    }

    /// Moves the average at an arrival that finds `bytes`.
    fn observe(&mut self, now_ns: u64, bytes: u64) {
        self.average = match self.idle.since_ns {
            Some(_) => self.idle.rest(self.average, now_ns),
            None => self.average - (self.average >> self.parameters.weight_log2) + bytes,
        };
        self.idle.since_ns = None;
    }

    /// Whether the arriving packet is to be marked or dropped.
    fn strikes(&mut self) -> bool {
        let RedParameters {
            min_bytes,
            max_bytes,
            weight_log2,
            gentle,
            ..
        } = self.parameters;
        if self.average < min_bytes << weight_log2 {
            self.count = None;
            return false;
        }
        let excess = if self.average < max_bytes << weight_log2 {
            (self.average - (min_bytes << weight_log2)) >> weight_log2
        } else if gentle && self.average < (2 * max_bytes) << weight_log2 {
            let beyond = (self.average >> weight_log2) - max_bytes;
            let p = self.max_p + (ONE - self.max_p) * beyond / max_bytes;
            p / self.slope
        } else {
            self.count = None;
            return true;
        };
        let Some(count) = &mut self.count else {
            self.count = Some(0);
            self.draw();
            return false;
        };
        *count += 1;
        let strikes = excess * *count >= self.gap;
        if strikes {
            *count = 0;
            self.draw();
        }
        strikes
    }

    /// Draws the gap to the next mark.
    fn draw(&mut self) {
        self.gap = (self.random.bits() >> 32) / self.slope;
    }
}

impl<P> Discipline<P> for Red<P> {
    #[inline]
    fn enqueue(
        &mut self,
        now_ns: u64,
        mut packet: Packet<P>,
        wire: Load,
        ledger: &mut impl Ledger<P>,
    ) {
        let load = self.fifo.load() + wire;
        self.observe(now_ns, load.bytes);
        let strikes = self.strikes();
        let markable = self.parameters.ecn && packet.ecn != Ecn::NotEct;
        if strikes && !markable {
            ledger.dropped(packet, Cause::Early);
        } else if !self.buffer.fits(load, packet.bytes) {
            ledger.dropped(packet, Cause::Full);
        } else {
            if strikes {
                mark(&mut packet, ledger);
            }
            self.fifo.push(packet);
        }
    }

    #[inline]
    fn dequeue(&mut self, now_ns: u64, _ledger: &mut impl Ledger<P>) -> Option<Packet<P>> {
        let next = self.fifo.pop();
        if next.is_none() && self.parameters.idle_packet_ns > 0 {
            self.idle.since_ns.get_or_insert(now_ns);
        }
        next
    }

    #[inline]
    fn load(&self) -> Load {
        self.fifo.load()
    }

    #[inline]
    fn next_update_ns(&self) -> u64 {
        self.adapt_ns
    }

    fn update(&mut self, now_ns: u64) {
        self.adapt_ns = now_ns + ADAPT_NS;
        let RedParameters {
            min_bytes,
            max_bytes,
            weight_log2,
            ..
        } = self.parameters;
        let average = self.idle.rest(self.average, now_ns) >> weight_log2;
        let span = (max_bytes - min_bytes).max(1);
        let fifth = span / 5;
        if average > min_bytes + 3 * fifth && self.max_p <= 50 * PERCENT {
            self.max_p += PERCENT.min(self.max_p / 4);
        } else if average < min_bytes + 2 * fifth && self.max_p >= PERCENT {
            self.max_p = self.max_p / 10 * 9;
        }
        self.slope = ((self.max_p + span / 2) / span).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{random, Script, MS};
    use super::*;

    fn red(parameters: RedParameters) -> Script<Red<u32>> {
        let buffer = Buffer::Bytes(1_000_000);
        Script::new(Red::new(&parameters, buffer, random()))
    }

    /// The average is the queue: 10 packets of 1500 bytes.
    const STEADY: RedParameters = RedParameters {
        min_bytes: 5_000,
        max_bytes: 25_000,
        max_p_ppm: 100_000,
        weight_log2: 0,
        idle_packet_ns: 0,
        gentle: false,
        adaptive: false,
        ecn: true,
    };

    /// Packets that find `waiting` others, one after another. Returns which of them are marked.
    fn marks(script: &mut Script<Red<u32>>, waiting: u64, packets: usize) -> Vec<usize> {
        while script.queue.load().packets < waiting {
            script.queue.fifo.push(Packet {
                flow: 9,
                bytes: 1500,
                ecn: Ecn::Ect0,
                arrived_ns: 0,
                body: 0,
            });
        }
        let arriving = (1..=packets).filter(|_| {
            script.arrive(1, 1500, Ecn::Ect0);
            script.queue.fifo.pop();
            !script.notes().marks.is_empty()
        });
        arriving.collect()
    }

    /// The stream's first numbers are 0.9108, 0.8024, 0.2818, 0.4102, 0.6631, 0.6223, 0.0922, 0.8119.
    /// p = 0.1 (15 000 − 5000)/(25 000 − 5000) = 0.05, so the gaps are 20 times these numbers, rounded
    /// up: 19, 17, 6, 9, 14, 13, 2, 17. The first packet above the minimum begins the first gap.
    #[test]
    fn gaps_between_marks_are_uniform() {
        let expected = [20, 37, 43, 52, 66, 79, 81, 98];
        assert_eq!(marks(&mut red(STEADY), 10, 100), expected);
        // A packet that finds a short queue ends the gap, and the next one begins with 0.8024.
        let mut script = red(STEADY);
        assert_eq!(marks(&mut script, 10, 15), [0_usize; 0]);
        script.queue.fifo = Fifo::default();
        assert_eq!(marks(&mut script, 3, 1), [0_usize; 0]);
        assert_eq!(marks(&mut script, 10, 20), [18]);
    }

    /// Above the maximum RED marks every packet. The gentle variant has p = 0.1 + 0.9/2 = 0.55 halfway
    /// to twice the maximum: gaps are 1/0.55 times the numbers, so 1.66, 1.46, 0.51, 0.75, 1.21, 1.13,
    /// 0.17, 1.48, each rounded up.
    #[test]
    fn gentle_goes_on_above_the_maximum() {
        assert_eq!(marks(&mut red(STEADY), 25, 4), [1, 2, 3, 4]);
        let gentle = RedParameters {
            gentle: true,
            ..STEADY
        };
        let expected = [3, 5, 6, 7, 9, 11, 12, 14];
        assert_eq!(marks(&mut red(gentle), 25, 14), expected);
        assert_eq!(marks(&mut red(gentle), 34, 4), [1, 2, 3, 4]);
    }

    #[test]
    fn what_cannot_be_marked_is_dropped() {
        let no_ecn = RedParameters {
            ecn: false,
            ..STEADY
        };
        for (parameters, ecn) in [(STEADY, Ecn::NotEct), (no_ecn, Ecn::Ect0)] {
            let mut script = red(parameters);
            marks(&mut script, 25, 0);
            script.arrive(1, 1500, ecn);
            let notes = script.notes();
            assert_eq!(notes.drops, [(0, Cause::Early)]);
            assert_eq!(notes.marks, []);
        }
    }

    /// w = 1/2. Packets of 1500 bytes find 0, 1500, 3000, 4500 bytes, and the average is 0,
    /// 0 + 1500/2 = 750, 750 + 2250/2 = 1875, 1875 + 2625/2 = 3187.5: above 3000, so the fourth one is
    /// dropped.
    #[test]
    fn the_average_follows_the_queue() {
        let parameters = RedParameters {
            min_bytes: 2000,
            max_bytes: 3000,
            weight_log2: 1,
            ecn: false,
            ..STEADY
        };
        let mut script = red(parameters);
        for twice_average in [0, 1500, 3750] {
            script.arrive(1, 1500, Ecn::Ect0);
            assert_eq!(script.queue.average, twice_average);
        }
        assert_eq!(script.notes().drops, []);
        script.arrive(1, 1500, Ecn::Ect0);
        assert_eq!(script.notes().drops, [(3, Cause::Early)]);
        // The packet on the wire counts too: 6375 − 3187 + 3 · 1500, with 2 of the 3 in the queue.
        script.serve();
        script.arrive(1, 40, Ecn::Ect0);
        assert_eq!(script.queue.average, 6375 - 3187 + 4500);
    }

    /// The average is 3750/2 when the link becomes idle. A packet of 1 ms counts 15 625 us and halves
    /// ln 2 times, so 31 halvings take 698 800 us: cells are of 2^11 us, each of 0.0908 halvings. In the
    /// first cell it falls by 400/2048, then at most to the half; cells 14 and 29 have 1.27 and 2.63
    /// halvings. Without this parameter the average takes one step to the empty queue, however long.
    #[test]
    fn an_idle_time_lets_the_average_fall_as_linux_s_table() {
        for (idle_packet_ns, idle_us, twice_average) in [
            (MS, 400, 3750 - 732),
            (MS, 3_000, 1875),
            (MS, 30_000, 1875),
            (MS, 60_000, 937),
            (MS, 600_000, 0),
            (0, 600_000, 1875),
        ] {
            let mut script = red(RedParameters {
                weight_log2: 1,
                idle_packet_ns,
                ..STEADY
            });
            for _ in 0..3 {
                script.arrive(1, 1500, Ecn::Ect0);
            }
            while script.at(MS).serve().is_some() {}
            script.at(MS + idle_us * 1000).arrive(1, 1500, Ecn::Ect0);
            assert_eq!(script.queue.average, twice_average, "{idle_us}");
        }
    }

    /// The band is 5000 + 20 000 · 0.4 to 0.6: 13 000 to 17 000 bytes.
    #[test]
    fn max_p_adapts_each_half_second() {
        let percent = |script: &Script<Red<u32>>| script.queue.max_p as f64 * 100.0 / ONE as f64;
        for (max_p_ppm, waiting, expected) in [
            // Above the band one hundredth more, or a quarter if this is less.
            (100_000, 12, [11.0, 12.0, 13.0]),
            (20_000, 12, [2.5, 3.125, 3.90625]),
            (495_000, 12, [50.5, 50.5, 50.5]),
            // Below it a tenth less.
            (100_000, 8, [9.0, 8.1, 7.29]),
            (10_500, 8, [0.945, 0.945, 0.945]),
            // Inside it nothing.
            (100_000, 10, [10.0, 10.0, 10.0]),
        ] {
            let mut script = red(RedParameters {
                max_p_ppm,
                adaptive: true,
                ..STEADY
            });
            marks(&mut script, waiting, 1);
            for (number, expected) in (1..).zip(expected) {
                script.at(number * 500 * MS - 1);
                script.at(number * 500 * MS);
                let actual = percent(&script);
                assert!((actual - expected).abs() < 1e-6, "{actual} {expected}");
            }
        }
    }
}
