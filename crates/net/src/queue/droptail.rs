//! Drop-tail: a FIFO that drops what arrives while it is full.

use super::{Cause, Discipline, Fifo, Ledger, Packet};
use crate::buffer::{Buffer, Load};
use crate::rng::Stream;

/// A drop-tail FIFO.
#[derive(Clone, Debug)]
pub struct DropTail<P> {
    buffer: Buffer,
    fifo: Fifo<P>,
}

impl<P> DropTail<P> {
    /// An empty queue.
    pub fn new(buffer: Buffer, _random: Stream) -> Self {
        Self {
            buffer,
            fifo: Fifo::default(),
        }
    }
}

impl<P> Discipline<P> for DropTail<P> {
    #[inline]
    fn enqueue(
        &mut self,
        _now_ns: u64,
        packet: Packet<P>,
        wire: Load,
        ledger: &mut impl Ledger<P>,
    ) {
        let fits = self.buffer.fits(self.fifo.load() + wire, packet.bytes);
        if fits || ledger.keeps(&packet) {
            self.fifo.push(packet);
        } else {
            ledger.dropped(packet, Cause::Full);
        }
    }

    #[inline]
    fn dequeue(&mut self, _now_ns: u64, _ledger: &mut impl Ledger<P>) -> Option<Packet<P>> {
        self.fifo.pop()
    }

    #[inline]
    fn load(&self) -> Load {
        self.fifo.load()
    }

    fn room(&self, wire: Load) -> Buffer {
        self.buffer.beside(self.fifo.load() + wire)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Ecn, Queue, QueueKind};
    use super::*;
    use crate::rng::{Draw, Owner};

    #[derive(Default)]
    struct Drops(Vec<(u32, Cause)>);

    impl Ledger<u32> for Drops {
        fn dropped(&mut self, packet: Packet<u32>, cause: Cause) {
            self.0.push((packet.body, cause));
        }
        fn marked(&mut self, _flow: u32, _cause: Cause) {
            panic!("drop-tail marks nothing");
        }
    }

    fn packet(bytes: u32, body: u32) -> Packet<u32> {
        Packet {
            flow: 1,
            bytes,
            ecn: Ecn::Ect0,
            arrived_ns: 0,
            body,
        }
    }

    fn queue(buffer: Buffer) -> Queue<u32> {
        let random = Stream::for_owner(1, Owner::Link(1), Draw::Queue);
        Queue::new(&QueueKind::DropTail, buffer, random)
    }

    #[test]
    fn the_packet_on_the_wire_takes_a_slot() {
        let wire = Load {
            packets: 1,
            bytes: 1500,
        };
        let mut drops = Drops::default();
        let mut queue = queue(Buffer::Packets(3));
        for body in 0..3 {
            queue.enqueue(0, packet(1500, body), wire, &mut drops);
        }
        assert_eq!(drops.0, [(2, Cause::Full)]);
        queue.enqueue(0, packet(1500, 3), Load::default(), &mut drops);
        assert_eq!(queue.load().packets, 3);
        let order: Vec<_> = std::iter::from_fn(|| queue.dequeue(0, &mut drops)).collect();
        assert_eq!(order, [0, 1, 3].map(|body| packet(1500, body)));
    }

    #[test]
    fn a_small_packet_fits_where_a_large_one_does_not() {
        let wire = Load {
            packets: 1,
            bytes: 1500,
        };
        let mut drops = Drops::default();
        let mut queue = queue(Buffer::Bytes(3100));
        for (body, bytes) in [1500, 1500, 100, 1].into_iter().enumerate() {
            queue.enqueue(0, packet(bytes, body as u32), wire, &mut drops);
        }
        assert_eq!(drops.0, [(1, Cause::Full), (3, Cause::Full)]);
        let (packets, bytes) = (2, 1600);
        assert_eq!(queue.load(), Load { packets, bytes });
    }
}
