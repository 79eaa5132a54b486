//! TCP small queues: a connection keeps little in the queue of its host's own interface
//! (`tcp_small_queue_check`, `tcp_wfree`).
//!
//! How to drive it: tell [`queued`](SmallQueue::queued) of each burst that reaches the interface, and
//! [`left`](SmallQueue::left) of each packet that has left it. A sender that it
//! [`holds`](SmallQueue::holds) back sends again when `left` says so.

use super::host::Host;
use super::pacing::SK_PACING_NONE;
use super::transmit::Transmit;
use super::write_queue::PACKET_OVERHEAD_BYTES;
use std::collections::VecDeque;

/// `sk_pacing_shift`: 2⁻¹⁰ s of the pacing rate may wait.
const PACING_SHIFT: u32 = 10;
/// `tcp_limit_output_bytes`, for flows that are not paced.
const LIMIT_OUTPUT_BYTES: u64 = 1 << 20;

/// What a connection has in the queue of the interface.
#[derive(Clone, Debug)]
pub(super) struct SmallQueue {
    /// `sk_wmem_alloc`: bytes that its packets take there, and one.
    wmem_bytes: u64,
    mss_bytes: u64,
    /// Segments left of each packet there, in order, and how many it had. A packet of TSO frees its room
    /// with its last segment.
    packets: VecDeque<(u32, u32)>,
    /// `TSQ_THROTTLED`: it has more to send.
    throttled: bool,
    /// First segment of the last packet of new data.
    last_first: u64,
}

impl SmallQueue {
    pub(super) fn new(mss_bytes: u32) -> Self {
        Self {
            wmem_bytes: 1,
            mss_bytes: mss_bytes.into(),
            packets: VecDeque::new(),
            throttled: false,
            last_first: 0,
        }
    }

    /// `skb->truesize`.
    fn truesize(&self, segments: u32) -> u64 {
        PACKET_OVERHEAD_BYTES + u64::from(segments) * self.mss_bytes
    }

    /// Bytes above which a packet of so many segments waits; `factor` is 1 for retransmissions.
    fn limit_bytes(&self, host: &Host, segments: u32, factor: u32) -> u64 {
        let sk = &host.tp().inet_conn.sk;
        let mut limit = (2 * self.truesize(segments)).max(sk.sk_pacing_rate >> PACING_SHIFT);
        if sk.sk_pacing_status == SK_PACING_NONE {
            limit = limit.min(LIMIT_OUTPUT_BYTES);
        }
        limit << factor
    }

    /// Bursts of so many segments that leave before the first ACK, whatever the window.
    pub(super) fn first_bursts(&self, host: &Host, segments: u32) -> u32 {
        let most = self.limit_bytes(host, segments, 0) - 1;
        // The queue of retransmissions is empty, or has one packet.
        (most / self.truesize(segments) + 1).max(2) as u32
    }

    /// Whether a packet of so many segments waits.
    pub(super) fn holds(&mut self, host: &Host, una: u64, segments: u32, factor: u32) -> bool {
        let full = self.wmem_bytes > self.limit_bytes(host, segments, factor);
        let waits = full && una < self.last_first;
        self.throttled |= waits;
        waits
    }

    pub(super) fn queued(&mut self, burst: Transmit, is_new: bool) {
        self.wmem_bytes += self.truesize(burst.segments);
        self.packets.push_back((burst.segments, burst.segments));
        if is_new {
            self.last_first = burst.first;
        }
    }

    /// A packet was dropped.
    pub(super) fn dropped(&mut self, segments: u32) {
        let dropped = (segments, segments);
        if let Some(place) = self.packets.iter().rposition(|&each| each == dropped) {
            self.packets.remove(place);
            self.wmem_bytes -= self.truesize(segments);
        }
    }

    /// A segment has left. Returns whether the connection goes on sending.
    pub(super) fn left(&mut self) -> bool {
        let Some((left, segments)) = self.packets.front_mut() else {
            return false;
        };
        *left -= 1;
        if *left > 0 {
            return false;
        }
        let segments = *segments;
        self.packets.pop_front();
        self.wmem_bytes -= self.truesize(segments);
        std::mem::take(&mut self.throttled)
    }
}
