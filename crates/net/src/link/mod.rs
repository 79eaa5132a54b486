//! Links: each has a queue, and carries its packets one after another.
//!
//! [`Predicted`] says when a packet leaves as soon as the packet arrives. [`Evented`] has any queue
//! discipline, and an event for each packet.

mod evented;
mod predicted;

pub use evented::Evented;
pub use predicted::Predicted;

use crate::queue::{Load, QueueKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The shared link and the queue before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bottleneck {
    /// Rate of the link, IP headers included: "250mbit".
    #[schemars(range(min = 1_000, max = 1_000_000_000_000_u64), example = 250_000_000)]
    pub rate_bps: u64,
    /// Size of the queue, the packet in service included: "100packets", "2MB", "50ms" (what the
    /// link carries in that time) or "1bdp" (of the longest RTT of the flows that pass it, delays
    /// of links included).
    pub buffer: Buffer,
    /// Drop every Nth data packet of each direction before it reaches the queue (default: drop
    /// none).
    #[schemars(range(min = 2, max = i64::MAX))]
    pub drop_every_packets: Option<u64>,
    /// The queue discipline: its name, or a table of its `kind` and its parameters.
    // JSON leaves out drop-tail.
    #[serde(default, skip_serializing_if = "QueueKind::is_drop_tail")]
    #[schemars(extend("default" = "drop_tail"))]
    pub queue: QueueKind,
    /// Propagation delay behind the link, beside the `rtt` of each flow.
    // JSON leaves out 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(max = 100_000_000_000_u64), extend("default" = 0))]
    pub delay_ns: u64,
    /// What may leave at once after an idle time: the size of a token bucket, as of Linux's `tbf`.
    /// "0B": a wire, on which each packet takes its time.
    // JSON leaves out 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(max = 1_u64 << 44), extend("default" = 0))]
    pub burst_bytes: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Bottleneck {
    /// A link with a drop-tail queue and nothing else.
    pub fn drop_tail(rate_bps: u64, buffer: Buffer) -> Self {
        Self {
            rate_bps,
            buffer,
            drop_every_packets: None,
            queue: QueueKind::DropTail,
            delay_ns: 0,
            burst_bytes: 0,
        }
    }

    /// Whether a packet's departure is known as soon as the packet arrives.
    pub fn is_predictable(&self) -> bool {
        self.queue.is_drop_tail() && self.delay_ns == 0
    }
}

/// The limit of a queue, in its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Buffer {
    /// Maximum packets.
    Packets(#[schemars(range(min = 1, max = 1_u64 << 32))] u64),
    /// Maximum bytes.
    Bytes(#[schemars(range(min = 1, max = 1_u64 << 44))] u64),
}

/// Totals of a link so far. `enqueued = sent + waiting` always holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkTotals {
    /// Packets accepted, and not dropped later.
    pub enqueued_packets: u64,
    /// Packets dropped.
    pub dropped_packets: u64,
    /// Of these, packets that the discipline dropped though there was room.
    pub early_dropped_packets: u64,
    /// Packets marked (ECN).
    pub marked_packets: u64,
    /// Packets whose last bit has left.
    pub sent_packets: u64,
    /// Bytes of the packets whose last bit has left.
    pub sent_bytes: u64,
}

/// A link at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkState {
    /// Its queue, the packet in service included.
    pub queue: Load,
    /// From arrival to the last bit sent, of the last packet that left; 0 before the first.
    pub sojourn_us: u64,
    /// Its totals until then.
    pub totals: LinkTotals,
}
