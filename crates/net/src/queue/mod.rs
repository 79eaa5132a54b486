//! The queues before a link, one short file for each discipline.
//!
//! A link gives each arriving packet to [`Discipline::enqueue`]. Whenever its wire is free, it calls
//! [`Discipline::dequeue`]: so a discipline judges a packet at the *start* of its service, as below
//! Linux's token bucket. The packet on the wire still counts in the limits of the queue, as in
//! Linux's `qlen` (but not in that of fq, as in Linux). So `enqueue` is told about it. When the queue
//! is empty, `dequeue` returns `None` as soon as the last packet has left the wire: that is when an
//! idle time begins.
//!
//! Call with times that never go back.
//!
//! To add a discipline, write its file and add it to the list at the end of this one.

mod codel;
mod droptail;
mod dualpi2;
mod fifo;
mod fq;
mod fq_codel;
mod list;
mod parameters;
mod pie;
mod red;
#[cfg(test)]
mod script;
mod step;

pub use fifo::Fifo;
pub use parameters::{OutOfRange, Parameter, Values};

use crate::link::Buffer;
use crate::rng::Stream;
use crate::schedule::NEVER;
use list::disciplines;
use serde::{Deserialize, Serialize};

/// A packet in a queue: what disciplines read, and what the host keeps of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<P> {
    /// Which flow it belongs to. Disciplines only compare this number.
    pub flow: u32,
    /// Size of the IP packet.
    pub bytes: u32,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
    /// When it arrived at the queue.
    pub arrived_ns: u64,
    /// The host's own: a segment's header, or where the bytes are.
    pub body: P,
}

impl<P> Packet<P> {
    /// Sets the congestion-experienced mark. Returns false, and changes nothing, if the packet's
    /// sender does not know ECN.
    pub fn mark(&mut self) -> bool {
        let capable = self.ecn != Ecn::NotEct;
        if capable {
            self.ecn = Ecn::Ce;
        }
        capable
    }
}

/// The ECN field (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The sender does not know ECN.
    #[default]
    NotEct,
    /// ECN-capable, classic.
    Ect0,
    /// ECN-capable; L4S since RFC 9331.
    Ect1,
    /// Congestion experienced.
    Ce,
}

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
}

/// An amount of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// How many.
    pub packets: u64,
    /// Their IP bytes.
    pub bytes: u64,
}

impl std::ops::Add for Load {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self {
            packets: self.packets + other.packets,
            bytes: self.bytes + other.bytes,
        }
    }
}

impl Buffer {
    /// Whether a packet of `bytes` bytes fits in beside `load`.
    #[inline]
    pub fn fits(self, load: Load, bytes: u32) -> bool {
        match self {
            Self::Packets(limit) => load.packets < limit,
            Self::Bytes(limit) => load.bytes + u64::from(bytes) <= limit,
        }
    }
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
    /// When the discipline wants [`update`](Self::update) (PIE's timer, adaptive RED);
    /// [`NEVER`] without a timer.
    fn next_update_ns(&self) -> u64 {
        NEVER
    }
    /// Does what the timer is for.
    fn update(&mut self, _now_ns: u64) {}
}

/// What a discipline is. The user's schema and its documentation are made from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// Its name in a scenario.
    pub name: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
}

disciplines! {
    /// A FIFO that drops what arrives while it is full.
    #[default]
    "drop_tail" = droptail::DropTail;
    /// CoDel: drops at the head when packets have waited too long for too long.
    "codel" = codel::Codel(parameters: CodelParameters);
    /// FQ-CoDel: a CoDel for each flow, served in turn, new flows first.
    "fq_codel" = fq_codel::FqCodel(parameters: FqCodelParameters);
    /// fq: a FIFO for each flow, served in turn, new flows first; no flow fills the queue alone.
    "fq" = fq::Fq(parameters: FqParameters);
    /// RED: marks or drops at arrival, more often the longer the average queue.
    "red" = red::Red(parameters: RedParameters);
    /// Step marking for DCTCP: marks every packet above a threshold and none below it.
    "step" = step::Step(parameters: StepParameters);
    /// PIE: drops at arrival with a probability that a controller derives from the delay.
    "pie" = pie::Pie(parameters: PieParameters);
    /// DualPI2: a queue of low latency for L4S packets beside one for classic packets, coupled.
    "dualpi2" = dualpi2::Dualpi2(parameters: Dualpi2Parameters);
}

impl QueueKind {
    /// Whether this is the discipline without parameters of its own.
    pub fn is_drop_tail(&self) -> bool {
        *self == Self::DropTail
    }
}
