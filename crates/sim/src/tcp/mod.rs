//! The TCP endpoint, as state machines that do no I/O: time goes in, packets come out.
//!
//! How to drive a connection:
//!
//! * Give every arriving data packet to [`Receiver::handle_segment`].
//! * Give every arriving ACK to [`Sender::handle_ack`].
//! * At the time of `poll_timeout`, call `handle_timeout`.
//! * After each call to the sender, call [`Sender::poll_transmit`] until it returns `None`. Only
//!   then has the sender judged whether cwnd was the limit.
//!
//! Times never decrease. Data is counted in segments. Every segment holds one MSS, except the last
//! segment of a finite flow. Facts about Linux are in `docs/tcp-endpoint.md`.

mod bursts;
mod clock;
mod ecn;
mod host;
mod limits;
mod loss;
mod pacing;
pub mod profile;
mod ranges;
mod rate;
mod receiver;
mod recovery;
mod report;
mod rtt;
mod scoreboard;
mod sender;
mod timers;
mod transmit;
mod validate;
mod write_queue;

pub use clock::Clock;
pub use ecn::Marks;
pub use limits::FlowLimits;
pub use ranges::Range;
pub use receiver::Receiver;
pub use report::SenderEvent;
pub use sender::{Handshake, Sender};

/// Data packets that leave together: consecutive segments, as in one GSO packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// First segment.
    pub first: u64,
    /// Number of segments.
    pub segments: u32,
    /// Whether the last of them has the PSH flag.
    pub pushed: bool,
    /// The marks of the first of them. The others have the same ECN field, without CWR.
    pub marks: Marks,
}

impl Transmit {
    /// Its packets: the segment of each, whether it has the PSH flag, and its marks.
    #[inline]
    pub fn packets(self) -> impl Iterator<Item = (u64, bool, Marks)> {
        let end = self.first + u64::from(self.segments);
        (self.first..end).map(move |segment| {
            let marks = Marks {
                cwr: self.marks.cwr && segment == self.first,
                ..self.marks
            };
            (segment, self.pushed && segment + 1 == end, marks)
        })
    }
}

/// An ACK: what a receiver tells a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The next segment that the receiver expects: all segments below have arrived.
    pub ack: u64,
    /// Timestamp echo (RFC 7323): when the acknowledged segment was sent, nanoseconds.
    pub echo_ns: u64,
    /// SACK blocks (RFC 2018), the most recent first.
    pub sacks: SackBlocks,
    /// The window field differs from that of the ACK before.
    pub new_window: bool,
    /// The flag ECE (RFC 3168): the receiver has seen congestion, and no answer with CWR yet.
    pub ece: bool,
}

/// Up to three SACK blocks: as many as fit beside timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [Range; 3],
    len: u8,
    /// The first block reports a duplicate (RFC 2883).
    pub duplicate: bool,
}

impl SackBlocks {
    /// Adds a block if there is room.
    pub fn push(&mut self, block: Range) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.len)) {
            *slot = block;
            self.len += 1;
        }
    }

    /// The blocks.
    #[inline]
    pub fn as_slice(&self) -> &[Range] {
        &self.blocks[..usize::from(self.len)]
    }

    /// How many blocks there are.
    #[inline]
    pub fn len(&self) -> u8 {
        self.len
    }

    /// Whether there are no blocks.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}
