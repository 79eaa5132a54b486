//! The TCP endpoint as sans-IO state machines: time goes in, packets come out.
//!
//! How to drive a connection: give every arriving data packet to
//! [`Receiver::handle_segment`] and every ACK to [`Sender::handle_ack`]; when the
//! time of `poll_timeout` comes, call `handle_timeout`; after each call to the
//! sender take [`Sender::poll_transmit`] until it returns `None`, for only then
//! has it judged whether cwnd was the limit. Times never decrease.
//!
//! Data is counted in segments: every segment holds one MSS but the last of a
//! finite flow. Facts about Linux are in `docs/tcp-endpoint.md`.

pub mod profile;
mod ranges;
mod receiver;
mod recovery;
mod recovery_2_6;
mod rtt;
mod scoreboard;
mod sender;
mod timers;
mod transmit;

pub use ranges::Range;
pub use receiver::Receiver;
pub use sender::{FlowLimits, Sender, SenderEvent};

/// Data packets that leave together: consecutive segments, as one GSO packet would carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// First segment.
    pub first: u64,
    /// How many.
    pub segments: u32,
}

/// What a receiver tells a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The next segment expected: all below have arrived.
    pub ack: u64,
    /// Timestamp echo (RFC 7323): when the segment it answers was sent, nanoseconds.
    pub echo_ns: u64,
    /// SACK blocks (RFC 2018), the most recent first.
    pub sacks: SackBlocks,
}

/// Up to three SACK blocks: what fits beside timestamps.
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

    /// No blocks?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}
