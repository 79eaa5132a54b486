//! TCP small queues: a connection keeps little in its host (`tcp_small_queue_check`, `tcp_wfree`).
//!
//! [`SmallQueue`] is for a host whose own interface has a queue in the scenario. How to drive it: tell
//! [`queued`](SmallQueue::queued) of each burst that reaches the interface, and
//! [`left`](SmallQueue::left) of each packet that has left it. A sender that it
//! [`holds`](SmallQueue::holds) back sends again when `left` says so.
//!
//! Where it has none, packets leave the host when the softirq that let them go has ended: after all ACKs
//! of its instant. [`InSoftirq`] counts those of one instant.

use super::host::Host;
use super::pacing::SK_PACING_NONE;
use super::transmit::Transmit;
use super::write_queue::PACKET_OVERHEAD_BYTES;
use ackclock_net::buffer::{Buffer, Load};
use std::collections::VecDeque;

/// `sk_pacing_shift`: 2⁻¹⁰ s of the pacing rate may wait.
const PACING_SHIFT: u32 = 10;
/// `TCP_RESOURCE_PROBE_INTERVAL`: when a packet that the interface has refused is tried again, if no ACK comes.
pub(super) const RESOURCE_PROBE_US: u64 = 500_000;
/// `tcp_limit_output_bytes`, for flows that are not paced.
const LIMIT_OUTPUT_BYTES: u64 = 1 << 20;

/// `skb->truesize`.
fn truesize(mss_bytes: u64, segments: u32) -> u64 {
    PACKET_OVERHEAD_BYTES + u64::from(segments) * mss_bytes
}

/// Bytes above which a packet of so many segments waits; `factor` is 1 for retransmissions.
fn limit_bytes(host: &Host, segments: u32, factor: u32) -> u64 {
    let (tp, sk) = (host.tp(), &host.tp().inet_conn.sk);
    let two = 2 * truesize(tp.mss_cache.into(), segments);
    let mut limit = two.max(sk.sk_pacing_rate >> PACING_SHIFT);
    if sk.sk_pacing_status == SK_PACING_NONE {
        limit = limit.min(LIMIT_OUTPUT_BYTES);
    }
    limit << factor
}

/// What a connection has let go in one softirq: packets of one segment each, into which the interface cuts
/// them. Only asked where it has sent at this instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct InSoftirq {
    at_ns: u64,
    /// `sk_wmem_alloc`.
    wmem_bytes: u64,
    /// Segments of the last packet, which it does not count yet.
    last: u32,
    /// At that time the application writes: no softirq is between its packets.
    writes_ns: u64,
    /// More ACKs of this instant follow.
    pub(super) acks_follow: bool,
}

impl InSoftirq {
    /// The application writes at once.
    pub(super) fn new(now_ns: u64) -> Self {
        Self {
            at_ns: 0,
            wmem_bytes: 1,
            last: 0,
            writes_ns: now_ns,
            acks_follow: false,
        }
    }

    /// The application writes.
    pub(super) fn writes(&mut self, now_ns: u64) {
        self.writes_ns = now_ns;
    }

    /// A packet of so many segments leaves.
    #[inline(always)]
    pub(super) fn sent(&mut self, segments: u32) {
        self.last = segments;
    }

    /// The softirq has ended, and its packets have left (`tcp_tsq_write`).
    pub(super) fn ended(&mut self, now_ns: u64) {
        (self.at_ns, self.wmem_bytes, self.last) = (now_ns, 1, 0);
    }

    /// Whether one more packet of so many segments waits. Asked before each but the first.
    #[cold]
    #[inline(never)]
    pub(super) fn holds(&mut self, host: &Host, segments: u32, factor: u32) -> bool {
        let now_ns = host.now_ns();
        if self.writes_ns == now_ns {
            return false;
        }
        if self.at_ns != now_ns {
            (self.at_ns, self.wmem_bytes) = (now_ns, 1);
        }
        let sent = u64::from(std::mem::take(&mut self.last));
        self.wmem_bytes += sent * truesize(host.tp().mss_cache.into(), 1);
        self.wmem_bytes > limit_bytes(host, segments, factor)
    }
}

/// What a connection has in the queue of the interface.
#[derive(Clone, Debug)]
pub(super) struct SmallQueue {
    /// `sk_wmem_alloc`: bytes that its packets take there, and one.
    wmem_bytes: u64,
    mss_bytes: u64,
    /// Of each packet there, in order: segments left, how many it had, and the first of them. A packet of
    /// TSO frees its room with its last segment.
    packets: VecDeque<(u32, u32, u64)>,
    /// `TSQ_THROTTLED`: it has more to send.
    throttled: bool,
    /// First segment of the last packet of new data.
    last_first: u64,
    /// What the interface had room for before this turn, and what has entered it since.
    room: Buffer,
    entered: Load,
    packet_bytes: u32,
}

impl SmallQueue {
    pub(super) fn new(mss_bytes: u32, room: Buffer) -> Self {
        Self {
            wmem_bytes: 1,
            mss_bytes: mss_bytes.into(),
            packets: VecDeque::new(),
            throttled: false,
            last_first: 0,
            room,
            entered: Load::default(),
            packet_bytes: mss_bytes,
        }
    }

    fn truesize(&self, segments: u32) -> u64 {
        truesize(self.mss_bytes, segments)
    }

    /// Bursts of so many segments that leave before the first ACK, whatever the window.
    pub(super) fn first_bursts(&self, host: &Host, segments: u32) -> u32 {
        let most = limit_bytes(host, segments, 0) - 1;
        // The queue of retransmissions is empty, or has one packet.
        let wanted = (most / self.truesize(segments) + 1).max(2);
        let room = match self.room {
            Buffer::Packets(packets) => packets,
            Buffer::Bytes(bytes) => bytes / (u64::from(segments) * u64::from(self.packet_bytes)),
        };
        wanted.min(room) as u32
    }

    /// Whether a packet of so many segments waits.
    pub(super) fn holds(&mut self, host: &Host, una: u64, segments: u32, factor: u32) -> bool {
        let full = self.wmem_bytes > limit_bytes(host, segments, factor);
        let waits = full && una < self.last_first;
        self.throttled |= waits;
        waits
    }

    pub(super) fn tell_room(&mut self, room: Buffer, packet_bytes: u32) {
        (self.room, self.packet_bytes) = (room, packet_bytes);
        self.entered = Load::default();
    }

    /// Segments that have entered it in this turn.
    pub(super) fn entered_segments(&self) -> u32 {
        (self.entered.bytes / u64::from(self.packet_bytes)) as u32
    }

    /// Whether the interface has no room for a packet of so many segments.
    pub(super) fn refuses(&mut self, segments: u32) -> bool {
        let refuses = !self.room.fits(self.entered, segments * self.packet_bytes);
        // Its memory is free (`tcp_wfree`), and the sender tries again at once, in vain.
        self.throttled &= !refuses;
        refuses
    }

    pub(super) fn queued(&mut self, burst: Transmit, is_new: bool) {
        self.entered.packets += 1;
        self.entered.bytes += u64::from(burst.segments) * u64::from(self.packet_bytes);
        self.wmem_bytes += self.truesize(burst.segments);
        self.packets
            .push_back((burst.segments, burst.segments, burst.first));
        if is_new {
            self.last_first = burst.first;
        }
    }

    /// `skb_still_in_host_queue`: whether the packet of a segment has not left. It is told when it does.
    pub(super) fn has(&mut self, segment: u64) -> bool {
        let of = |&(_, segments, first): &(u32, u32, u64)| {
            (first..first + u64::from(segments)).contains(&segment)
        };
        let has = self.packets.iter().any(of);
        self.throttled |= has;
        has
    }

    /// A packet was dropped.
    pub(super) fn dropped(&mut self, segments: u32) {
        let dropped = |&(left, of, _): &(u32, u32, u64)| (left, of) == (segments, segments);
        if let Some(place) = self.packets.iter().rposition(dropped) {
            self.packets.remove(place);
            self.wmem_bytes -= self.truesize(segments);
        }
    }

    /// A segment has left. Returns whether the connection goes on sending.
    pub(super) fn left(&mut self) -> bool {
        let Some((left, segments, _)) = self.packets.front_mut() else {
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

#[cfg(test)]
mod tests {
    use super::super::host::reno;
    use super::*;
    use crate::scenario::Profile;

    /// Two packets of 2 segments take 2 · 2 · (1448 + 960) bytes; a third waits beyond 2 · (2 · 1448 + 960), and a
    /// retransmission beyond twice 2 · (1448 + 960). At 100 MB/s a ms has 97 656 bytes.
    #[test]
    fn what_one_softirq_lets_go() {
        let mut host = reno(Profile::Linux6, 1_000);
        host.set_pacing_rate(1_000_000);
        let mut here = InSoftirq::new(host.now_ns() - 1);
        here.sent(2);
        assert!(!here.holds(&host, 2, 0), "4817 of 7712 bytes");
        here.sent(2);
        assert!(here.holds(&host, 2, 0), "9633 of 7712 bytes");
        assert!(here.holds(&host, 1, 1), "9633 of 9632 bytes");
        host.set_pacing_rate(100_000_000);
        here.sent(36);
        assert!(!here.holds(&host, 2, 0), "96 321 of 97 656 bytes");
        here.sent(1);
        assert!(here.holds(&host, 2, 0) && !here.holds(&host, 2, 1));
        here.ended(host.now_ns());
        assert!(!here.holds(&host, 2, 0));
        here.sent(45);
        here.writes(host.now_ns());
        assert!(!here.holds(&host, 2, 0), "an application writes");
        host.clock(host.now_ns() + 1);
        here.sent(45);
        assert!(
            here.holds(&host, 2, 0),
            "108 361 of 97 656 bytes, at another time"
        );
    }
}
