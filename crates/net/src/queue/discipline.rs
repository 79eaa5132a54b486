//! What a discipline does, and what it reports.

use super::Packet;
use crate::buffer::{Buffer, Load};
use crate::schedule::NEVER;

/// Why a packet was dropped or marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The queue was full.
    Full,
    /// The discipline acted before the queue was full.
    Early,
    /// No queue: the packet was lost on its way to it.
    Loss,
    /// No queue: a policer before it.
    Policed,
}

/// What happened to packets: how many were dropped, by cause, and how many were marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets dropped, for any cause.
    pub dropped_packets: u64,
    /// Of these, [`Cause::Early`].
    pub early_dropped_packets: u64,
    /// Of these, [`Cause::Loss`].
    pub lost_packets: u64,
    /// Of these, [`Cause::Policed`].
    pub policed_packets: u64,
    /// Packets marked.
    pub marked_packets: u64,
}

impl Tally {
    /// Counts a packet that was dropped.
    #[inline]
    pub fn dropped(&mut self, cause: Cause) {
        self.dropped_packets += 1;
        self.early_dropped_packets += u64::from(cause == Cause::Early);
        self.lost_packets += u64::from(cause == Cause::Loss);
        self.policed_packets += u64::from(cause == Cause::Policed);
    }
}

/// What a discipline reports while it works. The caller counts.
pub trait Ledger<P> {
    /// This packet was dropped, at its arrival or later.
    fn dropped(&mut self, packet: Packet<P>, cause: Cause);
    /// A packet of this flow was marked and stays in the queue, or leaves it now.
    fn marked(&mut self, flow: u32, cause: Cause);
    /// A copy of this packet, which is on its way too from now on; `None` if the caller makes no
    /// copies.
    fn copied(&mut self, _packet: &Packet<P>) -> Option<Packet<P>> {
        None
    }
    /// Cuts the first packet off a packet of TSO, which the interface of its sender now sends.
    fn cut(&mut self, _packet: &mut Packet<P>) -> Option<Packet<P>> {
        None
    }
    /// Whether this packet, for which there is no room or which would be lost, goes on all the same.
    fn keeps(&mut self, _packet: &Packet<P>) -> bool {
        false
    }
    /// Whether this packet is lost before its queue; `None`: nobody asks for any packet any more.
    fn aims_at(&mut self, _packet: &Packet<P>) -> Option<bool> {
        None
    }
    /// This packet has left the interface of its sender now.
    fn left(&mut self, _packet: &Packet<P>, _now_ns: u64) {}
}

/// A queue discipline.
pub trait Discipline<P> {
    /// Takes an arriving packet, and reports if it, or another packet in its place, is dropped.
    /// `wire` is what the link is sending.
    fn enqueue(&mut self, now_ns: u64, packet: Packet<P>, wire: Load, ledger: &mut impl Ledger<P>);
    /// The next packet to send. May drop others first (CoDel). `None` if no packet is left.
    fn dequeue(&mut self, now_ns: u64, ledger: &mut impl Ledger<P>) -> Option<Packet<P>>;
    /// What is waiting, without the packet on the wire.
    fn load(&self) -> Load;
    /// The room that is left beside `wire`, if its sender hears that there is none.
    fn room(&self, _wire: Load) -> Buffer {
        Buffer::ENDLESS
    }
    /// When the discipline wants [`update`](Self::update) (PIE's timer, adaptive RED);
    /// [`NEVER`] without a timer.
    fn next_update_ns(&self) -> u64 {
        NEVER
    }
    /// Does what the timer is for.
    fn update(&mut self, _now_ns: u64) {}
}

/// Marks a packet, if its sender knows ECN. Returns whether it does.
pub(super) fn mark<P>(packet: &mut Packet<P>, ledger: &mut impl Ledger<P>) -> bool {
    let capable = packet.mark();
    if capable {
        ledger.marked(packet.flow, Cause::Early);
    }
    capable
}
