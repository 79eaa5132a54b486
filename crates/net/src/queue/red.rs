//! RED (Floyd and Jacobson 1993): marks or drops at arrival, more often the longer the average queue.
//!
//! Decisions are those of Linux 6.12 (`sch_red.c`, `red.h`). The average is a fixed-point number. A
//! random number is drawn once for each gap between two marks, so that gaps are uniform (the paper's
//! second method). Two things are not Linux's: `gentle`, which Linux does not have, and the average
//! after an idle time, which follows the paper; Linux has a coarse table for it, and below a token
//! bucket it does not use this table. A packet that a full queue drops does not count as marked.

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
        /// Time that the link needs for a typical packet. After an idle time the average
        /// is as if packets of this time had found an empty queue (Floyd and Jacobson 1993, section
        /// 4). 0: an idle time does not change the average, as in Linux below a token bucket.
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
    idle_since_ns: Option<u64>,
    adapt_ns: u64,
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
            idle_since_ns: None,
            adapt_ns: if parameters.adaptive { ADAPT_NS } else { NEVER },
        }
    }

    /// The average after an idle time. Nothing changes it if there was none.
    fn average_after_idle(&self, now_ns: u64) -> u64 {
        let Some(since_ns) = self.idle_since_ns else {
            return self.average;
        };
        let packets = (now_ns - since_ns) as f64 / self.parameters.idle_packet_ns as f64;
        let rest = 1.0 - libm::exp2(-(self.parameters.weight_log2 as f64));
        (self.average as f64 * libm::pow(rest, packets)) as u64
    }

    /// Moves the average at an arrival that finds `bytes`.
    fn observe(&mut self, now_ns: u64, bytes: u64) {
        self.average = match self.idle_since_ns {
            Some(_) => self.average_after_idle(now_ns),
            None => self.average - (self.average >> self.parameters.weight_log2) + bytes,
        };
        self.idle_since_ns = None;
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
            self.idle_since_ns.get_or_insert(now_ns);
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
        let average = self.average_after_idle(now_ns) >> weight_log2;
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

    /// The average is 3750/2 when the link becomes idle, for 3 packets' time: 1875/2³. Without this
    /// parameter the average takes one step towards the empty queue, however long the time.
    #[test]
    fn an_idle_time_counts_as_packets() {
        for (idle_packet_ns, twice_average) in [(MS, 3750 / 8), (0, 3750 / 2)] {
            let mut script = red(RedParameters {
                weight_log2: 1,
                idle_packet_ns,
                ..STEADY
            });
            for _ in 0..3 {
                script.arrive(1, 1500, Ecn::Ect0);
            }
            while script.at(MS).serve().is_some() {}
            script.at(4 * MS).arrive(1, 1500, Ecn::Ect0);
            assert_eq!(script.queue.average, twice_average);
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
