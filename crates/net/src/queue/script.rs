//! What the tests of the disciplines share.

use super::{Cause, Discipline, Ecn, Ledger, Packet};
use crate::buffer::Load;
use crate::rng::{Draw, Owner, Stream};

/// Nanoseconds in a millisecond.
pub(super) const MS: u64 = 1_000_000;

/// A link that serves packets at given times and notes what its queue does.
pub(super) struct Script<Q> {
    pub queue: Q,
    now_ns: u64,
    sent: u32,
    wire: Load,
    notes: Notes,
}

/// What a queue reported: numbers of packets for drops, of flows for marks.
#[derive(Default)]
pub(super) struct Notes {
    pub drops: Vec<(u32, Cause)>,
    pub marks: Vec<(u32, Cause)>,
}

impl Ledger<u32> for Notes {
    fn dropped(&mut self, packet: Packet<u32>, cause: Cause) {
        self.drops.push((packet.body, cause));
    }
    fn marked(&mut self, flow: u32, cause: Cause) {
        self.marks.push((flow, cause));
    }
}

/// The stream of the tests.
pub(super) fn random() -> Stream {
    Stream::for_owner(1, Owner::Link(1), Draw::Queue)
}

impl<Q: Discipline<u32>> Script<Q> {
    pub fn new(queue: Q) -> Self {
        Self {
            queue,
            now_ns: 0,
            sent: 0,
            wire: Load::default(),
            notes: Notes::default(),
        }
    }

    /// Moves the time to a later one, with the updates that the queue asks for.
    pub fn at(&mut self, now_ns: u64) -> &mut Self {
        while self.queue.next_update_ns() <= now_ns {
            let at_ns = self.queue.next_update_ns();
            self.queue.update(at_ns);
        }
        self.now_ns = now_ns;
        self
    }

    /// A packet arrives. Packets are numbered from 0.
    pub fn arrive(&mut self, flow: u32, bytes: u32, ecn: Ecn) -> &mut Self {
        let packet = Packet {
            flow,
            bytes,
            ecn,
            arrived_ns: self.now_ns,
            body: self.sent,
        };
        self.sent += 1;
        self.queue
            .enqueue(self.now_ns, packet, self.wire, &mut self.notes);
        self
    }

    /// The packet on the wire has left, and the next one takes its place.
    pub fn serve(&mut self) -> Option<Packet<u32>> {
        let next = self.queue.dequeue(self.now_ns, &mut self.notes);
        self.wire = next.as_ref().map_or(Load::default(), |packet| Load {
            packets: 1,
            bytes: packet.bytes.into(),
        });
        next
    }

    /// Serves each packet from a time on, one in each `gap_ns`, until the queue is empty. Returns
    /// when drops and marks happened, in units of `gap_ns` since time 0.
    pub fn drain(&mut self, from_ns: u64, gap_ns: u64) -> Vec<u64> {
        let mut times = Vec::new();
        let mut now_ns = from_ns;
        loop {
            let before = self.notes.drops.len() + self.notes.marks.len();
            let served = self.at(now_ns).serve();
            let after = self.notes.drops.len() + self.notes.marks.len();
            times.extend((before..after).map(|_| now_ns / gap_ns));
            if served.is_none() {
                return times;
            }
            now_ns += gap_ns;
        }
    }

    /// Takes what was noted since the last call.
    pub fn notes(&mut self) -> Notes {
        std::mem::take(&mut self.notes)
    }
}
