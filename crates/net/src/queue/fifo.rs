//! Packets in order of arrival: what most disciplines keep.

use super::Packet;
use crate::buffer::Load;
use std::collections::VecDeque;

/// A FIFO without a limit.
#[derive(Clone, Debug)]
pub struct Fifo<P> {
    packets: VecDeque<Packet<P>>,
    bytes: u64,
}

impl<P> Default for Fifo<P> {
    fn default() -> Self {
        Self {
            packets: VecDeque::new(),
            bytes: 0,
        }
    }
}

impl<P> Fifo<P> {
    /// Appends a packet.
    #[inline]
    pub fn push(&mut self, packet: Packet<P>) {
        self.bytes += u64::from(packet.bytes);
        self.packets.push_back(packet);
    }

    /// Removes the oldest packet.
    #[inline]
    pub fn pop(&mut self) -> Option<Packet<P>> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// The oldest packet.
    #[inline]
    pub fn head(&self) -> Option<&Packet<P>> {
        self.packets.front()
    }

    /// What the queue holds.
    #[inline]
    pub fn load(&self) -> Load {
        Load {
            packets: self.packets.len() as u64,
            bytes: self.bytes,
        }
    }
}
