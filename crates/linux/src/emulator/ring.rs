//! A FIFO of packets in memory that is allocated once.

use std::collections::VecDeque;

/// A FIFO of packets. Each packet has the time at which it is due.
#[derive(Debug)]
pub(super) struct Ring {
    bytes: Box<[u8]>,
    packets: VecDeque<Packet>,
    /// Where the next packet starts if it fits before the end.
    tail: usize,
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    due_ns: u64,
    flow: u32,
    start: usize,
    len: usize,
}

impl Ring {
    /// Makes room for `packets` packets and `bytes` bytes. No packet may be longer than `longest`.
    pub(super) fn new(packets: usize, bytes: usize, longest: usize) -> Self {
        // One packet's room may stay unused at the end; one more keeps the tail away from the head.
        Self {
            bytes: vec![0; bytes + 3 * longest].into(),
            packets: VecDeque::with_capacity(packets),
            tail: 0,
        }
    }

    /// The memory, so that the caller can lock it.
    pub(super) fn memory(&self) -> &[u8] {
        &self.bytes
    }

    /// Room for the next packet of up to `len` bytes; `None` if the ring is full.
    #[inline]
    pub(super) fn room(&mut self, len: usize) -> Option<&mut [u8]> {
        let head = self.packets.front().map(|packet| packet.start);
        self.tail = match head {
            None => 0,
            Some(head) if self.tail > head => {
                if self.tail + len <= self.bytes.len() {
                    self.tail
                } else if len < head {
                    0
                } else {
                    return None;
                }
            }
            Some(head) if self.tail + len < head => self.tail,
            Some(_) => return None,
        };
        Some(&mut self.bytes[self.tail..self.tail + len])
    }

    /// Appends the packet of `len` bytes that the caller wrote into [`room`](Self::room).
    #[inline]
    pub(super) fn push(&mut self, len: usize, flow: u32, due_ns: u64) {
        self.packets.push_back(Packet {
            due_ns,
            flow,
            start: self.tail,
            len,
        });
        self.tail += len;
    }

    /// The first packet: when it is due, its flow and its bytes.
    #[inline]
    pub(super) fn front(&self) -> Option<(u64, u32, &[u8])> {
        let packet = self.packets.front()?;
        let bytes = &self.bytes[packet.start..packet.start + packet.len];
        Some((packet.due_ns, packet.flow, bytes))
    }

    #[inline]
    pub(super) fn pop(&mut self) {
        self.packets.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The ring behaves as a `VecDeque<Vec<u8>>`, and never refuses below its capacity.
        #[test]
        fn is_a_fifo(steps in proptest::collection::vec(proptest::option::of(1_usize..60), 1..400)) {
            const PACKETS: usize = 7;
            let mut ring = Ring::new(PACKETS, PACKETS * 60, 60);
            let mut plain: VecDeque<(u64, Vec<u8>)> = VecDeque::new();
            for (step, len) in steps.into_iter().enumerate() {
                match len {
                    Some(len) if plain.len() < PACKETS => {
                        let room = ring.room(60).expect("below capacity");
                        room[..len].fill(step as u8);
                        ring.push(len, step as u32, step as u64);
                        plain.push_back((step as u64, vec![step as u8; len]));
                    }
                    _ => {
                        ring.pop();
                        plain.pop_front();
                    }
                }
                let front = ring.front().map(|(due_ns, _, bytes)| (due_ns, bytes.to_vec()));
                prop_assert_eq!(front, plain.front().cloned());
            }
        }
    }
}
