//! Links: each has a queue, and carries its packets one after another.
//!
//! [`Predicted`] says when a packet leaves as soon as the packet arrives. [`Evented`] has any queue
//! discipline, and an event for each packet.

mod evented;
mod predicted;

pub use evented::Evented;
pub use predicted::{Predicted, Remembers, Waiting, WaitingBriefly};

use crate::buffer::{Buffer, Load};
use crate::impair::{Loss, LossStep, ReorderParameters, PARTS};
use crate::line::{DelayJitter, DelayStep};
use crate::queue::QueueKind;
use crate::rate::{PolicerParameters, RateStep};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The shared link and the queue before it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bottleneck {
    /// Rate of the link, IP headers included: "250mbit". Required, except with a `trace`, whose mean
    /// rate it is then.
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
    /// Drop the data packets of each direction with these numbers before they reach the queue: 1 is the
    /// first, and a retransmission counts as one more (default: drop none).
    // JSON leaves out an empty list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1_000_000), inner(range(min = 1, max = i64::MAX)))]
    pub drop_packets: Vec<u64>,
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
    /// Random loss of packets before they reach the queue: of each one with this probability, 0.001,
    /// or a table of its `kind` and its parameters (default: none).
    // JSON leaves out none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// Probability that a packet is sent twice. The copy follows it to the queue.
    // JSON leaves out 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(max = PARTS), extend("default" = 0))]
    pub duplicate_ppb: u64,
    /// Packets that reach the queue late, so that others overtake them: a table of their probability
    /// `p` and their extra `delay` (default: none).
    // JSON leaves out none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<ReorderParameters>,
    /// A policer before the queue: drops what exceeds its `rate` and its `burst` (default: none).
    // JSON leaves out none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policer: Option<PolicerParameters>,
    /// Changes of the rate, each with its `time` and its `rate` from then on, also of what is left of
    /// a packet; "0bit": nothing leaves (default: none).
    // JSON leaves out an empty list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1_000_000))]
    pub rate_at: Vec<RateStep>,
    /// File of a recorded link, as of mahimahi, instead of `rate`: times of the opportunities to
    /// deliver a packet of 1500 bytes, in ms, one each line, repeated without end.
    // JSON leaves out none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 1_000_000),
        inner(range(max = 3_600_000_000_u64))
    )]
    pub trace_ms: Option<Vec<u64>>,
    /// Time between two ticks of a router that works at its timer's ticks, as dummynet: a packet
    /// leaves at the first tick after its service, and takes room until then. Packets of a tick go on
    /// at 1 Gb/s, or at the rate if that is faster. "0s": leaves at once.
    // JSON leaves out 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(max = 1_000_000_000_u64), extend("default" = 0))]
    pub tick_ns: u64,
    /// Changes of the delay behind the link, each with its `time` and its `delay` from then on; no
    /// packet overtakes (default: none).
    // JSON leaves out an empty list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1_000_000))]
    pub delay_at: Vec<DelayStep>,
    /// Changes of the loss, each with its `time` and its probability `p` from then on, whatever `loss`
    /// says; 1: the link is down (default: none).
    // JSON leaves out an empty list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1_000_000))]
    pub loss_at: Vec<LossStep>,
    /// Delays behind the link that differ from packet to packet: a table of how far they are from
    /// `delay`, `by` (default: none).
    // JSON leaves out none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_jitter: Option<DelayJitter>,
    /// Most packets that the queue and the delay behind the link hold together, as netem's `limit`
    /// (default: no limit).
    // JSON leaves out none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4_000_000_000_u64))]
    pub limit_packets: Option<u64>,
    /// Where the link is: `sender`: the interface of the host that sends, the first link of its
    /// flows, so that TCP small queues keep its queue short.
    // JSON leaves out the network.
    #[serde(default, skip_serializing_if = "Place::is_network")]
    #[schemars(extend("default" = "network"))]
    pub at: Place,
}

/// Where a link is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Behind the hosts that send.
    #[default]
    Network,
    /// The interface of the host that sends.
    Sender,
}

impl Place {
    fn is_network(&self) -> bool {
        *self == Self::Network
    }
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
            ..Self::default()
        }
    }

    /// The highest rate that it ever has, bit/s; the mean of a trace.
    pub fn most_bps(&self) -> u64 {
        let steps = self.rate_at.iter().map(|step| step.rate_bps);
        steps.fold(self.rate_bps, u64::max)
    }

    /// Whether a packet's departure is known as soon as the packet arrives.
    pub fn is_predictable(&self) -> bool {
        let predictable = Self {
            drop_every_packets: self.drop_every_packets,
            drop_packets: self.drop_packets.clone(),
            burst_bytes: self.burst_bytes,
            tick_ns: self.tick_ns,
            ..Self::drop_tail(self.rate_bps, self.buffer)
        };
        *self == predictable
    }
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
    /// Packets lost before the queue, which are not in `dropped_packets`.
    pub lost_packets: u64,
    /// Packets that the policer dropped before the queue.
    pub policed_packets: u64,
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
