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

use std::cell::RefCell;

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
    /// Its segments.
    #[inline]
    pub fn range(&self) -> std::ops::Range<u64> {
        self.first..self.first + u64::from(self.segments)
    }

    /// Whether the packet with this segment has the PSH flag.
    #[inline]
    pub fn pushes(&self, segment: u64) -> bool {
        self.pushed && segment + 1 == self.range().end
    }

    /// The marks of the packet with this segment.
    #[inline]
    pub fn marks_of(&self, segment: u64) -> Marks {
        Marks {
            cwr: self.marks.cwr && segment == self.first,
            ..self.marks
        }
    }
}

/// An ACK: what a receiver tells a sender.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// The next segment that the receiver expects: all segments below have arrived.
    pub ack: u64,
    /// Timestamp echo (RFC 7323): when the acknowledged segment was sent, nanoseconds.
    pub echo_ns: u64,
    /// SACK blocks (RFC 2018), the most recent first.
    pub sacks: SackBlocks,
    /// The window field differs from that of the ACK before.
    pub new_window: bool,
    /// It tells of marks. The flag ECE (RFC 3168): the receiver has seen congestion, and no answer
    /// with CWR yet. With accurate ECN: it has a count, in an option.
    pub ece: bool,
    /// With accurate ECN (RFC 9768): how many marked packets have arrived (r.cep, from 0).
    pub ce_packets: u32,
}

// Thousands of them are on their way.
const _: () = assert!(size_of::<Ack>() == 32);

impl Ack {
    /// Whether it has nothing but the acknowledgement, so that header prediction may succeed.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.sacks.is_empty() && !self.new_window && !self.ece
    }
}

/// Up to three SACK blocks: as many as fit beside timestamps. Most ACKs have none and stay small.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks(Option<Box<Blocks>>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Blocks {
    blocks: [Range; 3],
    len: usize,
    duplicate: bool,
}

thread_local! {
    /// Boxes that ACKs no longer need, for the next ones: in recovery each ACK has blocks.
    #[expect(clippy::vec_box, reason = "the boxes are what is kept")]
    static SPARE: RefCell<Vec<Box<Blocks>>> = const { RefCell::new(Vec::new()) };
}

impl Drop for SackBlocks {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(blocks) = self.0.take() {
            spare(blocks);
        }
    }
}

#[cold]
#[inline(never)]
fn spare(blocks: Box<Blocks>) {
    // When a thread ends there is no list any more.
    let _ = SPARE.try_with(|spare| spare.borrow_mut().push(blocks));
}

impl SackBlocks {
    /// The blocks that there is room for. `duplicate`: the first reports a duplicate (RFC 2883).
    pub fn new(blocks: impl IntoIterator<Item = Range>, duplicate: bool) -> Self {
        let mut blocks = blocks.into_iter().peekable();
        if blocks.peek().is_none() {
            return Self::default();
        }
        let mut new = SPARE.with_borrow_mut(Vec::pop).unwrap_or_default();
        *new = Blocks {
            duplicate,
            ..Blocks::default()
        };
        for (slot, block) in new.blocks.iter_mut().zip(blocks) {
            *slot = block;
            new.len += 1;
        }
        Self(Some(new))
    }

    /// The blocks.
    #[inline]
    pub fn as_slice(&self) -> &[Range] {
        match &self.0 {
            Some(blocks) => &blocks.blocks[..blocks.len],
            None => &[],
        }
    }

    /// Whether the first block reports a duplicate (RFC 2883).
    #[inline]
    pub fn has_duplicate(&self) -> bool {
        self.0.as_ref().is_some_and(|blocks| blocks.duplicate)
    }

    /// Whether there are no blocks.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}
