//! fq: a FIFO for each flow, served in turn by deficit round robin, new flows first.
//!
//! Decisions are those of Linux 6.12 (`sch_fq.c`) for packets that it forwards: they have no socket,
//! so it does not pace them. No two flows share a queue here: Linux hashes such packets into 1024
//! queues, and forgets a flow that was silent for 3 s. Where Linux differs from what is written about
//! it, or from deficit round robin:
//!
//! - A packet that finds no flow waiting takes a fast path: a FIFO of at most 8 packets, which goes
//!   before all flows and costs them nothing.
//! - The limit counts what waits in flows, neither the fast path nor the packet on the wire: there can
//!   be 9 packets more than the buffer's.
//! - A flow that was never seen waits in another band (0) than all others (1), since Linux sets its
//!   band only after it has joined a list. Bands take turns: band 1 sends up to 196 608 bytes first.
//! - A flow has its `initial_quantum` once. When it begins again after a pause, it has what it had
//!   left, or a quantum if that is more and the pause was longer than 40 ms.
//! - A flow that has sent all becomes an old one, also if no other waits.

use super::discipline::mark;
use super::parameters::parameters;
use super::{Cause, Discipline, Fifo, Ledger, Packet};
use crate::buffer::{Buffer, Load};
use crate::rng::Stream;
use std::collections::{HashMap, VecDeque};

parameters! {
    /// Parameters of fq.
    FqParameters {
        /// Most packets that one flow may have in the queue. Linux's default.
        flow_limit_packets: u64 = 100 in 1..=10_000_000,
        /// IP bytes that a flow may send in its turn (default: two full packets of the scenario, of
        /// at least 1500 bytes each). Linux's 3028 counts the Ethernet headers of two.
        quantum_bytes: u64 = 3000 in 256..=1_048_576,
        /// IP bytes that a new flow may send in its first turn (default: ten full packets).
        initial_quantum_bytes: u64 = 15_000 in 0..=1_048_576,
        /// Mark an ECN-capable packet that has waited longer than this in its flow's queue. 0: mark
        /// none, as Linux by default.
        ce_threshold_ns: u64 = 0 in 0..=4_294_967_295_000,
    }
}

/// Most packets on the fast path.
const FAST_PACKETS: u64 = 8;
/// A tick of Linux's coarse clock (HZ = 1000).
const TICK_NS: u64 = 1_000_000;
/// After a pause of more ticks than this a flow has at least a quantum.
const REFILL_TICKS: u64 = 40;

/// Bytes that each band may send in its turn. Band 2 is for packets of low priority.
const BAND_BYTES: [i64; 2] = [9 << 16, 3 << 16];

/// The tick in which a flow leaves the lists. Linux keeps the lowest bit for another use.
fn leaves_at(now_ns: u64) -> u64 {
    (now_ns / TICK_NS) | 1
}

/// The queue of one flow.
#[derive(Clone, Debug)]
struct Flow<P> {
    fifo: Fifo<P>,
    /// Bytes that it may still send in this round.
    credit: i64,
    /// Where it waits when it begins to send.
    band: usize,
    /// When it left the lists; `None` while it is on one.
    left_tick: Option<u64>,
}

/// Flows that take turns: places in [`Fq::flows`].
#[derive(Clone, Debug, Default)]
struct Band {
    /// Flows that began to send after a pause …
    new: VecDeque<usize>,
    /// … and flows that have had a turn.
    old: VecDeque<usize>,
    /// Bytes that it may still send in this round.
    credit: i64,
}

/// Bands of flows that take turns.
#[derive(Clone, Debug)]
pub struct Fq<P> {
    parameters: FqParameters,
    buffer: Buffer,
    fast: Fifo<P>,
    flows: Vec<Flow<P>>,
    /// Where in `flows` the flow of this number is.
    indices: HashMap<u32, usize>,
    bands: [Band; 2],
    /// The band that is served.
    turn: usize,
    /// What the flows hold.
    waiting: Load,
}

impl<P> Fq<P> {
    /// An empty queue.
    pub fn new(parameters: &FqParameters, buffer: Buffer, _random: Stream) -> Self {
        Self {
            parameters: *parameters,
            buffer,
            fast: Fifo::default(),
            flows: Vec::new(),
            indices: HashMap::new(),
            bands: Default::default(),
            turn: 0,
            waiting: Load::default(),
        }
    }

    /// The place of a flow, which may be a new one.
    fn index_of(&mut self, flow: u32, now_ns: u64) -> usize {
        *self.indices.entry(flow).or_insert_with(|| {
            self.flows.push(Flow {
                fifo: Fifo::default(),
                credit: self.parameters.initial_quantum_bytes as i64,
                band: 0,
                left_tick: Some(leaves_at(now_ns)),
            });
            self.flows.len() - 1
        })
    }
}

impl<P> Discipline<P> for Fq<P> {
    #[inline]
    fn enqueue(
        &mut self,
        now_ns: u64,
        packet: Packet<P>,
        _wire: Load,
        ledger: &mut impl Ledger<P>,
    ) {
        if !self.buffer.fits(self.waiting, packet.bytes) {
            return ledger.dropped(packet, Cause::Full);
        }
        if self.waiting.packets == 0 && self.fast.load().packets < FAST_PACKETS {
            return self.fast.push(packet);
        }
        let index = self.index_of(packet.flow, now_ns);
        let flow = &mut self.flows[index];
        if flow.fifo.load().packets >= self.parameters.flow_limit_packets {
            return ledger.dropped(packet, Cause::Early);
        }
        if let Some(left_tick) = flow.left_tick.take() {
            self.bands[flow.band].new.push_back(index);
            flow.band = 1;
            let paused = now_ns / TICK_NS > left_tick + REFILL_TICKS;
            if paused {
                flow.credit = flow.credit.max(self.parameters.quantum_bytes as i64);
            }
        }
        self.waiting.packets += 1;
        self.waiting.bytes += u64::from(packet.bytes);
        flow.fifo.push(packet);
    }

    #[inline]
    fn dequeue(&mut self, now_ns: u64, ledger: &mut impl Ledger<P>) -> Option<Packet<P>> {
        if let Some(packet) = self.fast.pop() {
            return Some(packet);
        }
        // With nothing to send, empty flows stay on their lists.
        while self.waiting.packets > 0 {
            let band = &mut self.bands[self.turn];
            let is_new = !band.new.is_empty();
            let list = if is_new { &mut band.new } else { &mut band.old };
            let Some(&index) = list.front().filter(|_| band.credit > 0) else {
                self.turn = 1 - self.turn;
                let (band, bytes) = (&mut self.bands[self.turn], BAND_BYTES[self.turn]);
                band.credit = (band.credit + bytes).min(bytes);
                continue;
            };
            let flow = &mut self.flows[index];
            if flow.credit <= 0 {
                flow.credit += self.parameters.quantum_bytes as i64;
                list.pop_front();
                self.bands[flow.band].old.push_back(index);
                continue;
            }
            if let Some(mut packet) = flow.fifo.pop() {
                flow.credit -= i64::from(packet.bytes);
                band.credit -= i64::from(packet.bytes);
                self.waiting.packets -= 1;
                self.waiting.bytes -= u64::from(packet.bytes);
                let threshold_ns = self.parameters.ce_threshold_ns;
                let late = threshold_ns > 0 && now_ns - packet.arrived_ns > threshold_ns;
                if late {
                    mark(&mut packet, ledger);
                }
                return Some(packet);
            }
            list.pop_front();
            // A flow that sends one packet after another must not stay a new one.
            if is_new {
                self.bands[flow.band].old.push_back(index);
            } else {
                flow.left_tick = Some(leaves_at(now_ns));
            }
        }
        None
    }

    #[inline]
    fn load(&self) -> Load {
        self.fast.load() + self.waiting
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{random, Script, MS};
    use super::super::Ecn;
    use super::*;

    fn fq(parameters: FqParameters, packets: u64) -> Script<Fq<u32>> {
        Script::new(Fq::new(&parameters, Buffer::Packets(packets), random()))
    }

    /// So many full packets of a flow arrive.
    fn arrive(script: &mut Script<Fq<u32>>, flow: u32, packets: u32) {
        for _ in 0..packets {
            script.arrive(flow, 1500, Ecn::NotEct);
        }
    }

    /// The flows of the packets that are sent now.
    fn order(script: &mut Script<Fq<u32>>, packets: usize) -> Vec<u32> {
        (0..packets)
            .map(|_| script.serve().map_or(0, |packet| packet.flow))
            .collect()
    }

    /// A limit of 5 packets, of 3 for a flow. The first 8 packets take the fast path. Of flow 1 the
    /// packets 8 to 10 wait, and 11 is one too many for it. Of flow 2 the packets 12 and 13 wait, and 14
    /// is one too many for the queue.
    #[test]
    fn a_flow_and_the_queue_have_limits() {
        let flow_limit_packets = 3;
        let mut script = fq(
            FqParameters {
                flow_limit_packets,
                ..FqParameters::default()
            },
            5,
        );
        arrive(&mut script, 1, 12);
        arrive(&mut script, 2, 3);
        let drops = script.notes().drops;
        assert_eq!(drops, [(11, Cause::Early), (14, Cause::Full)]);
        assert_eq!(script.queue.load().packets, 13);
    }

    /// Flow 9 takes the fast path. Flows 1 and 2 are in band 0 with 3000 bytes each, and then in band 1
    /// with 1500 a turn.
    #[test]
    fn flows_take_turns_after_the_fast_path() {
        let mut script = fq(
            FqParameters {
                quantum_bytes: 1500,
                initial_quantum_bytes: 3000,
                ..FqParameters::default()
            },
            100,
        );
        arrive(&mut script, 9, 8);
        arrive(&mut script, 1, 4);
        arrive(&mut script, 2, 4);
        assert_eq!(order(&mut script, 8), [9; 8]);
        assert_eq!(order(&mut script, 9), [1, 1, 2, 2, 1, 2, 1, 2, 0]);
    }

    /// Flow 1 sends 8 packets on the fast path, 10 from band 0, and then from band 1. Flow 2 comes into
    /// band 0. Band 1 has 196 608 bytes: after 131 packets 108 are left, so it sends 132. When flow 2
    /// comes again, band 1 has it as a new one, before flow 1, with 13 500 of its 15 000 bytes.
    #[test]
    fn a_flow_that_was_never_seen_waits_for_the_others() {
        let mut script = fq(
            FqParameters {
                flow_limit_packets: 1000,
                ..FqParameters::default()
            },
            1000,
        );
        arrive(&mut script, 1, 400);
        assert_eq!(order(&mut script, 19), [1; 19]);
        arrive(&mut script, 2, 1);
        assert_eq!(order(&mut script, 131), [1; 131]);
        assert_eq!(order(&mut script, 5), [2, 1, 1, 1, 1]);
        arrive(&mut script, 2, 3);
        assert_eq!(order(&mut script, 3), [2, 2, 2]);
    }

    /// Four flows arrive at 0. At 2 ms the first has not waited for longer than 2 ms; 1 ns later the
    /// others have, and flow 3 does not know ECN.
    #[test]
    fn what_waits_longer_than_the_threshold_is_marked() {
        let ce_threshold_ns = 2 * MS;
        let mut script = fq(
            FqParameters {
                ce_threshold_ns,
                ..FqParameters::default()
            },
            100,
        );
        arrive(&mut script, 9, 8);
        for flow in 1..5 {
            script.arrive(flow, 1500, if flow == 3 { Ecn::NotEct } else { Ecn::Ect0 });
        }
        assert_eq!(order(&mut script, 8), [9; 8]);
        script.at(2 * MS).serve();
        assert_eq!(script.notes().marks, []);
        let ecn: Vec<_> = (0..3)
            .map(|_| script.at(2 * MS + 1).serve().unwrap().ecn)
            .collect();
        assert_eq!(ecn, [Ecn::Ce, Ecn::NotEct, Ecn::Ce]);
        let marks = script.notes().marks;
        assert_eq!(marks, [(2, Cause::Early), (4, Cause::Early)]);
    }
}
