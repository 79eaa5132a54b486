//! A link of any rate behind a queue of any discipline.
//!
//! Call [`handle`](Evented::handle) at [`next_event_ns`](Evented::next_event_ns), and
//! [`enqueue`](Evented::enqueue) for each arrival, in order of time. At equal times handle first: a
//! packet that leaves makes room for one that arrives.

use super::{Bottleneck, LinkState, LinkTotals, Place};
use crate::buffer::{Buffer, Load};
use crate::queue::{Cause, Discipline, Ledger, Packet, Queue};
use crate::rate::{Rate, Ticks};
use crate::rng::Stream;
use crate::schedule::NEVER;
use std::collections::VecDeque;

/// A link with an event for each packet that leaves.
#[derive(Clone, Debug)]
pub struct Evented<P> {
    rate: Rate,
    queue: Queue<P>,
    /// The packet in service …
    wire: Option<Packet<P>>,
    /// … and when its last bit leaves.
    departs_ns: u64,
    /// When the queue has something to do. Only that changes it.
    update_ns: u64,
    /// Of the last packet that left.
    sojourn_ns: u64,
    ticks: Option<Box<TickQueue>>,
    /// The interface of hosts: what is left of a packet of TSO in service.
    own: Option<Box<Option<Packet<P>>>>,
    totals: LinkTotals,
}

impl<P> Evented<P> {
    /// An idle link. `random` is for its queue.
    pub fn new(bottleneck: &Bottleneck, random: Stream) -> Self {
        let queue = Queue::new(&bottleneck.queue, bottleneck.buffer, random);
        Self {
            rate: Rate::new(bottleneck),
            update_ns: queue.next_update_ns(),
            queue,
            wire: None,
            departs_ns: NEVER,
            sojourn_ns: 0,
            ticks: (bottleneck.tick_ns > 0).then(|| Box::new(TickQueue::new(bottleneck))),
            own: (bottleneck.at == Place::Sender).then(Box::default),
            totals: LinkTotals::default(),
        }
    }

    /// Takes an arriving packet.
    #[inline]
    pub fn enqueue(&mut self, now_ns: u64, packet: Packet<P>, ledger: &mut impl Ledger<P>) {
        // A copy arrives with its packet, which may need no time.
        debug_assert!(self.departs_ns >= now_ns, "an event was not handled");
        self.totals.enqueued_packets += 1;
        let wire = self.in_service(now_ns);
        let mut counting = Counting(&mut self.totals, ledger);
        self.queue.enqueue(now_ns, packet, wire, &mut counting);
        if self.wire.is_none() {
            self.serve(now_ns, ledger);
        } else {
            self.departs_ns = self.rate.run(now_ns, self.departs_ns);
        }
    }

    /// When [`handle`](Self::handle) has something to do; [`NEVER`] if the link is idle.
    #[inline]
    pub fn next_event_ns(&self) -> u64 {
        self.departs_ns.min(self.update_ns)
    }

    /// Handles one event that is due. Returns the packet whose service has ended, if it was that, and
    /// when its last bit leaves: now, or after the next tick.
    #[inline]
    pub fn handle(&mut self, now_ns: u64, ledger: &mut impl Ledger<P>) -> Option<(u64, Packet<P>)> {
        if self.departs_ns > now_ns {
            if self.update_ns <= now_ns {
                self.queue.update(now_ns);
                self.update_ns = self.queue.next_update_ns();
            }
            return None;
        }
        let departed = self.serve(now_ns, ledger)?;
        let leaves_ns = match &mut self.ticks {
            None => {
                self.left(now_ns, departed.arrived_ns, departed.bytes);
                now_ns
            }
            Some(held) => held.hold(now_ns, departed.arrived_ns, departed.bytes),
        };
        Some((leaves_ns, departed))
    }

    /// Counts a packet that has left.
    #[inline]
    fn left(&mut self, now_ns: u64, arrived_ns: u64, bytes: u32) {
        self.totals.sent_packets += 1;
        self.totals.sent_bytes += u64::from(bytes);
        self.sojourn_ns = now_ns - arrived_ns;
    }

    /// Starts the service of the next packet. Returns the packet that was in service.
    #[inline(always)]
    fn serve(&mut self, now_ns: u64, ledger: &mut impl Ledger<P>) -> Option<Packet<P>> {
        let mut counting = Counting(&mut self.totals, ledger);
        let next = match &mut self.own {
            None => self.queue.dequeue(now_ns, &mut counting),
            Some(rest) => {
                let packet = (rest.take()).or_else(|| self.queue.dequeue(now_ns, &mut counting));
                packet.map(|mut packet| match counting.cut(&mut packet) {
                    Some(first) => {
                        **rest = Some(packet);
                        first
                    }
                    None => packet,
                })
            }
        };
        self.departs_ns = match &next {
            Some(packet) => self.rate.serve(now_ns, packet.bytes),
            None => NEVER,
        };
        std::mem::replace(&mut self.wire, next)
    }

    /// What takes room beside the queue: the packet in service, and those that wait for a tick.
    #[inline]
    fn in_service(&mut self, now_ns: u64) -> Load {
        let wire = self.wire.as_ref().map_or(Load::default(), |packet| Load {
            packets: 1,
            bytes: packet.bytes.into(),
        });
        while let Some(packet) = self.ticks.as_mut().and_then(|held| held.pop(now_ns)) {
            self.left(packet.release_ns, packet.arrived_ns, packet.bytes);
        }
        self.ticks.as_ref().map_or(wire, |held| wire + held.load)
    }

    /// The queue and the totals at `now_ns`, after the events until then.
    pub fn state(&mut self, now_ns: u64) -> LinkState {
        LinkState {
            queue: self.in_service(now_ns) + self.queue.load(),
            sojourn_us: self.sojourn_ns / 1_000,
            totals: self.totals,
        }
    }

    /// The room of its queue (`Discipline::room`), after the events until now.
    pub fn room(&mut self, now_ns: u64) -> Buffer {
        let wire = self.in_service(now_ns);
        self.queue.room(wire)
    }

    /// How many packets [`handle`](Self::handle) has yet to return.
    pub fn packets(&self) -> u64 {
        let rest = self.own.as_ref().is_some_and(|rest| rest.is_some());
        self.queue.load().packets + u64::from(self.wire.is_some()) + u64::from(rest)
    }
}

/// Packets whose service has ended, and which wait for a tick.
#[derive(Clone, Debug)]
struct TickQueue {
    ticks: Ticks,
    packets: VecDeque<HeldPacket>,
    load: Load,
}

#[derive(Clone, Debug)]
struct HeldPacket {
    arrived_ns: u64,
    release_ns: u64,
    bytes: u32,
}

impl TickQueue {
    fn new(bottleneck: &Bottleneck) -> Self {
        Self {
            ticks: Ticks::new(bottleneck.tick_ns, bottleneck.most_bps()),
            packets: VecDeque::new(),
            load: Load::default(),
        }
    }

    /// Takes a packet. Returns when its last bit leaves.
    fn hold(&mut self, now_ns: u64, arrived_ns: u64, bytes: u32) -> u64 {
        let release = self.ticks.release(now_ns, bytes);
        self.load.packets += 1;
        self.load.bytes += u64::from(bytes);
        self.packets.push_back(HeldPacket {
            arrived_ns,
            release_ns: release.at_ns,
            bytes,
        });
        release.leaves_ns
    }

    /// Removes the first packet if its tick has come.
    fn pop(&mut self, now_ns: u64) -> Option<HeldPacket> {
        self.packets.front().filter(|p| p.release_ns <= now_ns)?;
        let packet = self.packets.pop_front()?;
        self.load.packets -= 1;
        self.load.bytes -= u64::from(packet.bytes);
        Some(packet)
    }
}

/// Counts for the link what a discipline reports.
struct Counting<'a, L>(&'a mut LinkTotals, &'a mut L);

impl<P, L: Ledger<P>> Ledger<P> for Counting<'_, L> {
    #[inline]
    fn dropped(&mut self, packet: Packet<P>, cause: Cause) {
        self.0.enqueued_packets -= 1;
        self.0.dropped_packets += 1;
        self.0.early_dropped_packets += u64::from(cause == Cause::Early);
        self.1.dropped(packet, cause);
    }

    #[inline]
    fn marked(&mut self, flow: u32, cause: Cause) {
        self.0.marked_packets += 1;
        self.1.marked(flow, cause);
    }

    fn keeps(&mut self, packet: &Packet<P>) -> bool {
        self.1.keeps(packet)
    }

    fn cut(&mut self, packet: &mut Packet<P>) -> Option<Packet<P>> {
        let first = self.1.cut(packet);
        self.0.enqueued_packets += u64::from(first.is_some());
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;
    use crate::link::Predicted;
    use crate::queue::Ecn;
    use crate::rng::{Draw, Owner};
    use proptest::prelude::*;

    struct Drops(Vec<usize>);

    impl Ledger<usize> for Drops {
        fn dropped(&mut self, packet: Packet<usize>, cause: Cause) {
            assert_eq!(cause, Cause::Full);
            self.0.push(packet.body);
        }
        fn marked(&mut self, _flow: u32, _cause: Cause) {
            panic!("drop-tail marks nothing");
        }
    }

    proptest! {
        /// With drop-tail, an event per packet gives the departures, drops and states that are
        /// predicted, to the nanosecond.
        #[test]
        fn a_drop_tail_queue_is_as_predicted(
            rate_bps in prop_oneof![
                Just(1_000_000_u64), Just(800_000_000), Just(1_000_000_000_000), 1_000_u64..10_000_000_000
            ],
            buffer in prop_oneof![
                (1_u64..30).prop_map(Buffer::Packets),
                (1500_u64..40_000).prop_map(Buffer::Bytes)
            ],
            gaps in proptest::collection::vec((0_u64..4, 0_u64..200_000, 40_u32..1501), 1..120),
            tick_ns in prop_oneof![Just(0), 1_u64..300_000],
        ) {
            let bottleneck = Bottleneck { tick_ns, ..Bottleneck::drop_tail(rate_bps, buffer) };
            let mut predicted: Predicted = Predicted::new(&bottleneck);
            let mut link = Evented::new(&bottleneck, Stream::for_owner(1, Owner::Link(1), Draw::Queue));
            let mut expected = Vec::new();
            let mut drops = Drops(Vec::new());
            let mut departed = Vec::new();
            let mut now_ns = 0;
            for (number, (burst, gap_ns, bytes)) in gaps.into_iter().enumerate() {
                now_ns += if burst == 0 { gap_ns } else { 0 };
                while link.next_event_ns() <= now_ns {
                    let at_ns = link.next_event_ns();
                    departed.extend(link.handle(at_ns, &mut drops).map(|(at_ns, p)| (at_ns, p.body)));
                }
                match predicted.enqueue(now_ns, bytes) {
                    Some(departs_ns) => expected.push((departs_ns, number)),
                    None => prop_assert!(!drops.0.contains(&number)),
                }
                let packet = Packet { flow: 0, bytes, ecn: Ecn::NotEct, arrived_ns: now_ns, body: number };
                let already = drops.0.len();
                link.enqueue(now_ns, packet, &mut drops);
                let accepted = expected.last().is_some_and(|(_, last)| *last == number);
                prop_assert_eq!(drops.0.len() - already, usize::from(!accepted));
                // A service of less than 1 ns ends at once.
                while link.next_event_ns() <= now_ns {
                    departed.extend(link.handle(now_ns, &mut drops).map(|(at_ns, p)| (at_ns, p.body)));
                }
                prop_assert_eq!(link.state(now_ns), predicted.state(now_ns));
            }
            while link.next_event_ns() < NEVER {
                let at_ns = link.next_event_ns();
                departed.extend(link.handle(at_ns, &mut drops).map(|(at_ns, p)| (at_ns, p.body)));
            }
            prop_assert_eq!(departed, expected);
            prop_assert_eq!(link.state(NEVER), predicted.state(NEVER));
        }
    }
}
