//! Step marking, as DCTCP needs it (RFC 8257; Alizadeh et al. 2010): marks every packet above a
//! threshold and none below it.
//!
//! The queue only marks. A packet that is not ECN-capable is dropped when it is full, as others are.

use super::discipline::mark;
use super::parameters::parameters;
use super::{Cause, Discipline, Fifo, Ledger, Packet};
use crate::buffer::{Buffer, Load};
use crate::rng::Stream;

parameters! {
    /// Parameters of step marking.
    StepParameters {
        /// Mark a packet that finds more packets than this at its arrival, the one in service
        /// included: 20 at 1 Gb/s, 65 at 10 Gb/s (Alizadeh et al. 2010, section 3.1 and 4).
        threshold_packets: u64 = 20 in 0..=1_000_000_000,
        /// If this is not 0, mark a packet whose sojourn time at the start of its service is longer,
        /// and do not use `threshold_packets`. As `ce_threshold` of Linux's `codel`.
        threshold_ns: u64 = 0 in 0..=10_000_000_000,
    }
}

/// A FIFO that marks above a threshold.
#[derive(Clone, Debug)]
pub struct Step<P> {
    parameters: StepParameters,
    buffer: Buffer,
    fifo: Fifo<P>,
}

impl<P> Step<P> {
    /// An empty queue.
    pub fn new(parameters: &StepParameters, buffer: Buffer, _random: Stream) -> Self {
        Self {
            parameters: *parameters,
            buffer,
            fifo: Fifo::default(),
        }
    }

    fn by_time(&self) -> bool {
        self.parameters.threshold_ns > 0
    }
}

impl<P> Discipline<P> for Step<P> {
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
            ledger.dropped(packet, Cause::Full);
            return;
        }
        if !self.by_time() && load.packets > self.parameters.threshold_packets {
            mark(&mut packet, ledger);
        }
        self.fifo.push(packet);
    }

    #[inline]
    fn dequeue(&mut self, now_ns: u64, ledger: &mut impl Ledger<P>) -> Option<Packet<P>> {
        let mut packet = self.fifo.pop()?;
        if self.by_time() && now_ns - packet.arrived_ns > self.parameters.threshold_ns {
            mark(&mut packet, ledger);
        }
        Some(packet)
    }

    #[inline]
    fn load(&self) -> Load {
        self.fifo.load()
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{random, Script, MS};
    use super::super::Ecn;
    use super::*;

    fn step(threshold_packets: u64, threshold_ns: u64) -> Script<Step<u32>> {
        let parameters = StepParameters {
            threshold_packets,
            threshold_ns,
        };
        Script::new(Step::new(&parameters, Buffer::Packets(10), random()))
    }

    /// With one packet in service, the packets find 1, 2, 3, … others. The threshold of 3 marks from
    /// the fourth on, the limit of 10 drops the tenth and the eleventh.
    #[test]
    fn the_queue_at_arrival_decides() {
        let mut script = step(3, 0);
        script.arrive(9, 1500, Ecn::Ect0).serve();
        for flow in 1..=11 {
            let ecn = if flow == 6 { Ecn::NotEct } else { Ecn::Ect0 };
            script.arrive(flow, 1500, ecn);
        }
        let notes = script.notes();
        let flows: Vec<_> = notes.marks.iter().map(|mark| mark.0).collect();
        assert_eq!(flows, [4, 5, 7, 8, 9]);
        assert_eq!(notes.drops, [(10, Cause::Full), (11, Cause::Full)]);
        let ce = std::iter::from_fn(|| script.serve()).map(|packet| packet.ecn == Ecn::Ce);
        let ce: Vec<_> = ce.collect();
        assert_eq!(
            ce,
            [false, false, false, true, true, false, true, true, true]
        );
    }

    /// Six packets arrive at once, and the link sends one each ms: the sojourn times are 0 to 5 ms.
    #[test]
    fn the_sojourn_time_decides_at_the_start_of_service() {
        let mut script = step(0, 3 * MS);
        for _ in 0..6 {
            script.arrive(1, 1500, Ecn::Ect0);
        }
        assert_eq!(script.drain(0, MS), [4, 5]);
        assert_eq!(script.notes().marks.len(), 2);
    }
}
