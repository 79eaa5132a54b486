//! FQ-CoDel (RFC 8290): a queue under CoDel for each flow, served in turn, new flows first.
//!
//! Decisions are those of Linux 6.12 (`sch_fq_codel.c`), but no two flows share a queue: Linux
//! hashes flows into 1024 queues. It differs from the RFC in three ways that change decisions:
//!
//! - What [`codel`](super::codel) says.
//! - The backlog by which CoDel sees a standing queue is that of all flows.
//! - A full queue drops half of the fattest flow's bytes, but no more than 64 packets, from the head.
//!   The flow's CoDel counts them as its own.

use super::codel::{CodelParameters, ControlLaw, Targets};
use super::parameters::parameters;
use super::{Cause, Discipline, Fifo, Ledger, Packet};
use crate::buffer::{Buffer, Load};
use crate::rng::Stream;
use std::collections::{HashMap, VecDeque};

parameters! {
    /// Parameters of FQ-CoDel.
    FqCodelParameters {
        /// Sojourn time that a standing queue may have (RFC 8290, section 5.2.2).
        target_ns: u64 = 5_000_000 in 1_000..=10_000_000_000,
        /// Time for which the sojourn time must stay above the target before the first drop
        /// (RFC 8290, section 5.2.1).
        interval_ns: u64 = 100_000_000 in 10_000..=100_000_000_000,
        /// IP bytes that a flow may send in its turn (default: a full packet of the scenario, at
        /// least 1500). The RFC's 1514 (section 5.2.4) counts the Ethernet header of one.
        quantum_bytes: u64 = 1500 in 256..=1_048_576,
        /// IP bytes of a full packet (default: of the scenario, at least 1500). CoDel never drops
        /// while no more than this waits.
        mtu_bytes: u64 = 1500 in 64..=65_535,
        /// Mark ECN-capable packets instead of dropping them (RFC 8290, section 5.2.5).
        ecn: bool = true,
    }
}

/// Most packets that one arrival at a full queue drops at once.
const BATCH_PACKETS: u32 = 64;

/// The queue of one flow.
#[derive(Clone, Debug)]
struct Flow<P> {
    fifo: Fifo<P>,
    law: ControlLaw,
    /// Bytes that it may still send in this round.
    deficit: i64,
    /// Whether it is on a list.
    listed: bool,
}

/// Flows that take turns, each under CoDel.
#[derive(Clone, Debug)]
pub struct FqCodel<P> {
    targets: Targets,
    quantum: i64,
    buffer: Buffer,
    flows: Vec<Flow<P>>,
    /// Where in `flows` the flow of this number is.
    indices: HashMap<u32, usize>,
    /// Flows that began to send after a pause …
    new: VecDeque<usize>,
    /// … and flows that have had a turn.
    old: VecDeque<usize>,
    load: Load,
}

impl<P> FqCodel<P> {
    /// An empty queue.
    pub fn new(parameters: &FqCodelParameters, buffer: Buffer, _random: Stream) -> Self {
        let &FqCodelParameters {
            target_ns,
            interval_ns,
            mtu_bytes,
            ecn,
            ..
        } = parameters;
        Self {
            targets: Targets::new(&CodelParameters {
                target_ns,
                interval_ns,
                mtu_bytes,
                ecn,
            }),
            quantum: parameters.quantum_bytes as i64,
            buffer,
            flows: Vec::new(),
            indices: HashMap::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            load: Load::default(),
        }
    }

    /// Whether the queue holds more than it may.
    fn is_over(&self, wire: Load) -> bool {
        let Load { packets, bytes } = self.load + wire;
        let packets = packets - 1;
        !self.buffer.fits(Load { packets, bytes }, 0)
    }

    /// Makes room at the cost of the flow with the most bytes; of several, the one that came first.
    fn drop_from_fattest(&mut self, ledger: &mut impl Ledger<P>) {
        let backlog = |flow: &Flow<P>| flow.fifo.load().bytes;
        let fattest = self.flows.iter_mut().reduce(|fattest, flow| {
            if backlog(flow) > backlog(fattest) {
                flow
            } else {
                fattest
            }
        });
        let Some(flow) = fattest else { return };
        let enough = backlog(flow) / 2;
        let (mut packets, mut bytes) = (0, 0);
        while let Some(packet) = flow.fifo.pop() {
            packets += 1;
            bytes += u64::from(packet.bytes);
            ledger.dropped(packet, Cause::Full);
            if packets == BATCH_PACKETS || bytes >= enough {
                break;
            }
        }
        flow.law.add_drops(packets);
        self.load.packets -= u64::from(packets);
        self.load.bytes -= bytes;
    }
}

impl<P> Discipline<P> for FqCodel<P> {
    #[inline]
    fn enqueue(
        &mut self,
        _now_ns: u64,
        packet: Packet<P>,
        wire: Load,
        ledger: &mut impl Ledger<P>,
    ) {
        let index = *self.indices.entry(packet.flow).or_insert_with(|| {
            self.flows.push(Flow {
                fifo: Fifo::default(),
                law: ControlLaw::default(),
                deficit: 0,
                listed: false,
            });
            self.flows.len() - 1
        });
        let flow = &mut self.flows[index];
        if !flow.listed {
            flow.listed = true;
            flow.deficit = self.quantum;
            self.new.push_back(index);
        }
        self.load.packets += 1;
        self.load.bytes += u64::from(packet.bytes);
        flow.fifo.push(packet);
        while self.load.packets > 0 && self.is_over(wire) {
            self.drop_from_fattest(ledger);
        }
    }

    #[inline]
    fn dequeue(&mut self, now_ns: u64, ledger: &mut impl Ledger<P>) -> Option<Packet<P>> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let index = *list.front()?;
            let flow = &mut self.flows[index];
            if flow.deficit <= 0 {
                flow.deficit += self.quantum;
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            let before = flow.fifo.load();
            let others_bytes = self.load.bytes - before.bytes;
            let next =
                flow.law
                    .dequeue(&self.targets, now_ns, &mut flow.fifo, others_bytes, ledger);
            let after = flow.fifo.load();
            self.load.packets -= before.packets - after.packets;
            self.load.bytes -= before.bytes - after.bytes;
            if let Some(packet) = next {
                flow.deficit -= i64::from(packet.bytes);
                return Some(packet);
            }
            list.pop_front();
            // A flow that sends one packet after another must not stay a new one.
            if is_new && !self.old.is_empty() {
                self.old.push_back(index);
            } else {
                flow.listed = false;
            }
        }
    }

    #[inline]
    fn load(&self) -> Load {
        self.load
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{random, Script, MS};
    use super::super::Ecn;
    use super::*;

    fn fq_codel(packets: u64) -> Script<FqCodel<u32>> {
        let parameters = FqCodelParameters::default();
        Script::new(FqCodel::new(
            &parameters,
            Buffer::Packets(packets),
            random(),
        ))
    }

    /// The flows of the packets that are sent now.
    fn order(script: &mut Script<FqCodel<u32>>, packets: usize) -> Vec<u32> {
        (0..packets)
            .map(|_| script.serve().map_or(0, |packet| packet.flow))
            .collect()
    }

    /// Flow 1 has packets of 1500 bytes, flow 2 of 500, flow 3 of 1000, and each a deficit of 1500.
    ///
    /// | sent | deficits after | |
    /// |---|---|---|
    /// | 1 | 0 | new flows: 1, 2, 3. Flow 1 gets 1500 and goes to the end of the old ones |
    /// | 2 2 2 | 0 | the same |
    /// | 3 3 | −500 | 500 > 0, so flow 3 sends once more; then gets 1500: 1000 |
    /// | 1 | 0 | old flows: 1, 2, 3 |
    /// | 2 2 2 | 0 | |
    /// | 3 | 0 | 1000 − 1000: the byte count is fair over two rounds |
    /// | 1, 2 2 2, 3 3 | | as at the start |
    #[test]
    fn flows_share_bytes_and_not_packets() {
        let mut script = fq_codel(1000);
        for _ in 0..20 {
            for (flow, bytes) in [(1, 1500), (2, 500), (3, 1000)] {
                script.arrive(flow, bytes, Ecn::NotEct);
            }
        }
        assert_eq!(
            order(&mut script, 17),
            [1, 2, 2, 2, 3, 3, 1, 2, 2, 2, 3, 1, 2, 2, 2, 3, 3]
        );
    }

    /// A flow that begins is served before those that wait, for one quantum. "1:0" is flow 1 with a
    /// deficit of 0.
    ///
    /// | sent | new flows | old flows | why |
    /// |---|---|---|---|
    /// | 1 2 1 | | 1:0 2:1500 | |
    /// | 3 | 3:0 | 1:0 2:1500 | flow 3 begins |
    /// | 2 | | 2:0 3:1500 1:1500 | 3 has had its turn; 1 had too, and gives way |
    /// | 3 | | 3:0 1:1500 2:1500 | |
    /// | 1 | | 1:0 2:1500 3:1500 | |
    /// | 2 | | 2:0 3:1500 1:1500 | |
    /// | 4 | 4:1460 | 2:0 3:1500 1:1500 | flow 4 begins, with one small packet |
    /// | 4 | 4:1420 | 2:0 3:1500 1:1500 | its second packet came before its next turn |
    /// | 1 | | 1:0 4:1420 2:1500 | 4 is empty and becomes an old flow; 3 is empty and leaves |
    /// | 4 | | 4:1380 2:1500 1:1500 | its third packet waits for its turn as an old flow |
    /// | 2 | | 2:0 1:1500 | 4 is empty and leaves |
    /// | 1 | | 1:0 2:1500 | |
    /// | 3 | 3:0 | 1:0 2:1500 | flow 3 has left the lists, so it is new again |
    /// | 2 | | 2:0 3:0 1:1500 | |
    #[test]
    fn a_new_flow_goes_first_for_one_quantum() {
        let mut script = fq_codel(1000);
        for _ in 0..10 {
            script.arrive(1, 1500, Ecn::NotEct);
            script.arrive(2, 1500, Ecn::NotEct);
        }
        assert_eq!(order(&mut script, 3), [1, 2, 1]);
        script.arrive(3, 1500, Ecn::NotEct);
        script.arrive(3, 1500, Ecn::NotEct);
        assert_eq!(order(&mut script, 5), [3, 2, 3, 1, 2]);
        script.arrive(4, 40, Ecn::NotEct);
        assert_eq!(order(&mut script, 1), [4]);
        script.arrive(4, 40, Ecn::NotEct);
        assert_eq!(order(&mut script, 2), [4, 1]);
        script.arrive(4, 40, Ecn::NotEct);
        assert_eq!(order(&mut script, 3), [4, 2, 1]);
        script.arrive(3, 1500, Ecn::NotEct);
        assert_eq!(order(&mut script, 2), [3, 2]);
    }

    /// A flow that sends one packet after another goes first once; then it waits for those before it.
    #[test]
    fn an_emptied_new_flow_gives_way() {
        let mut script = fq_codel(1000);
        for _ in 0..10 {
            for flow in 1..=3 {
                script.arrive(flow, 1500, Ecn::NotEct);
            }
        }
        assert_eq!(order(&mut script, 3), [1, 2, 3]);
        script.arrive(4, 40, Ecn::NotEct);
        assert_eq!(order(&mut script, 2), [4, 1]);
        script.arrive(4, 40, Ecn::NotEct);
        assert_eq!(order(&mut script, 4), [2, 3, 4, 1]);
    }

    /// Each flow has its own CoDel. 500 packets of flow 1 arrive at once, and one of flow 2 each
    /// 10 ms, which is sent in the same ms (the first 1 ms later). So flow 2 takes a tenth of the
    /// link and waits for nothing, and all drops are flow 1's, at the times of `codel.rs`: 105, 205,
    /// 255, 311.25 (served at 312) and 360.03 (361) ms.
    ///
    /// Until 105 ms flow 1 has sent 105 − 11 packets, so the one with number 94 is dropped. Then it
    /// loses one and sends 100 − 10 until 205 ms: 94 + 1 + 90 = 185; then 185 + 1 + 50 − 5 = 231;
    /// 231 + 1 + 57 − 6 = 283; 283 + 1 + 49 − 5 = 328.
    #[test]
    fn drops_hit_the_flow_whose_packets_wait() {
        let mut script = fq_codel(1000);
        let mut late = Vec::new();
        for _ in 0..500 {
            script.arrive(1, 1500, Ecn::NotEct);
        }
        for ms in 0..400 {
            script.at(ms * MS);
            if ms % 10 == 0 {
                script.arrive(2, 1500, Ecn::NotEct);
            }
            assert!(script.serve().is_some());
            late.extend(script.notes().drops.into_iter().map(|drop| (ms, drop)));
        }
        let drops: Vec<_> = late.iter().map(|(ms, drop)| (*ms, drop.0)).collect();
        assert_eq!(
            drops,
            [(105, 94), (205, 185), (255, 231), (312, 283), (361, 328)]
        );
        assert!(late.iter().all(|(_, drop)| drop.1 == Cause::Early));
    }

    /// A limit of 100 packets. Flow 1 has 80 packets of 1500 bytes, flow 2 has 20 of 100. The next
    /// packet of flow 2 costs flow 1 half its 120 000 bytes: 40 packets from the head.
    #[test]
    fn a_full_queue_halves_the_fattest_flow() {
        let mut script = fq_codel(100);
        for _ in 0..80 {
            script.arrive(1, 1500, Ecn::Ect0);
        }
        for _ in 0..20 {
            script.arrive(2, 100, Ecn::Ect0);
        }
        assert_eq!(script.notes().drops, []);
        script.arrive(2, 100, Ecn::Ect0);
        let drops = script.notes().drops;
        assert_eq!(drops, (0..40).map(|n| (n, Cause::Full)).collect::<Vec<_>>());
        assert_eq!(script.queue.load().packets, 61);
    }

    /// Half of 1000 packets would be 500, but one arrival drops no more than 64. CoDel counts them.
    ///
    /// 105, 205 and 255 ms are as in `codel.rs`. A batch at 256 ms makes the count 3 + 64. So at
    /// 312 ms the step from x = 0.5625 is 0.5625 (3 − 68 · 0.3164)/2 = −5.2075. The kernel keeps 16
    /// bits behind the point: 0.7925. The next drop is due at 311.25 + 79.25 = 390.5 ms.
    #[test]
    fn a_batch_is_64_packets_and_counts_as_drops() {
        let mut script = fq_codel(1000);
        for _ in 0..400 {
            script.arrive(1, 1500, Ecn::NotEct);
        }
        let mut drops = Vec::new();
        for ms in 0..393 {
            script.at(ms * MS);
            if ms == 256 {
                // The packet on the wire counts.
                for _ in script.queue.load().packets..999 {
                    script.arrive(1, 1500, Ecn::NotEct);
                }
                assert_eq!(script.notes().drops, []);
                script.arrive(1, 1500, Ecn::NotEct);
                let batch = script.notes().drops;
                assert_eq!(batch.len(), 64);
                assert!(batch.iter().all(|drop| drop.1 == Cause::Full));
            }
            script.serve();
            drops.extend(script.notes().drops.iter().map(|drop| (ms, drop.1)));
        }
        let early = |ms| (ms, Cause::Early);
        assert_eq!(drops, [105, 205, 255, 312, 391].map(early));
    }
}
