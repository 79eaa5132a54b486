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
mod discipline;
mod droptail;
mod dualpi2;
mod fifo;
mod fq;
mod fq_codel;
mod list;
mod packet;
mod parameters;
mod pie;
mod red;
#[cfg(test)]
mod script;
mod step;

pub use discipline::{Cause, Discipline, Ledger, Tally};
pub use fifo::Fifo;
pub use packet::{Ecn, Packet};

use crate::buffer::{Buffer, Load};
use crate::rng::Stream;
use list::disciplines;
use serde::{Deserialize, Serialize};

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
