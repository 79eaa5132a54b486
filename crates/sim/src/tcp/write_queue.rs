//! The packets of the write queue (`tcp_sendmsg_locked`, `tcp_xmit_size_goal`, `tcp_grow_skb`). An
//! application's data lie in packets of 45 segments. What is left of a packet is not held back for a
//! larger burst, so that the ends of packets show in the bursts of slow start: 20 20 4 20 20 4 …
//!
//! How to drive it: [`head`](WriteQueue::head) is the packet that leaves next.

use super::bursts::{GSO_HEADER_BYTES, GSO_MAX_BYTES};
use super::profile::{Kernel, Switches};
use ackclock_host::TcpSock;

/// Largest window field without scaling, which is all that the handshake shows.
const UNSCALED_WINDOW_BYTES: u64 = 65_535;
/// Bytes that the send buffer counts for each packet beside its data (`skb->truesize`), computed from
/// the sizes of a 64-bit kernel. What Linux wrote into six sizes of `tcp_wmem` allows up to 1112.
const PACKET_OVERHEAD_BYTES: u64 = 832;
/// Segments in the bursts of the initial window (`tcp_min_tso_segs`).
const FIRST_BURST: u64 = 2;
/// A send buffer that holds more than the application writes at once.
const FIRST_WRITE_BYTES: u64 = 1 << 20;

/// Where the packets end.
#[derive(Clone, Copy, Debug)]
pub(super) struct WriteQueue {
    /// The end of the packet that holds the next new segment.
    end: u64,
    /// That packet ends with PSH: it is more than half a window after the one before that does
    /// (`forced_push`).
    pushed: bool,
    pushed_end: u64,
    /// Segments in half of the unscaled window.
    push_segments: u64,
    /// Packets that begin before this segment have `small` segments, and others `large`.
    small_until: u64,
    small: u64,
    large: u64,
}

/// The packet that leaves next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) segments: u64,
    /// It is the last packet of the write queue.
    pub(super) tail: bool,
}

impl WriteQueue {
    /// Makes the queue of an application that writes all that a send buffer of `send_buffer`
    /// segments holds, at once and whenever there is room.
    ///
    /// Until the first ACK the sender knows an unscaled window, and a packet takes half of it. The
    /// initial window leaves the first packet, in bursts of two; the packet is filled up again.
    pub(super) fn new(
        kernel: &Kernel,
        switches: &Switches,
        tp: &TcpSock,
        send_buffer: u64,
    ) -> Self {
        let (mss, first) = (u64::from(tp.mss_cache), u64::from(tp.snd_cwnd));
        let small = (UNSCALED_WINDOW_BYTES / 2 / mss).max(1);
        let large = ((GSO_MAX_BYTES - GSO_HEADER_BYTES) / mss).max(1);
        if !kernel.splits_writes {
            return Self {
                end: u64::MAX,
                pushed: false,
                pushed_end: 0,
                push_segments: small,
                small_until: 0,
                small,
                large,
            };
        }
        let buffer_bytes = send_buffer.saturating_mul(mss).min(FIRST_WRITE_BYTES);
        if !switches.tso {
            // Packets have one segment. One of them has PSH each time that half a window is written.
            let small = UNSCALED_WINDOW_BYTES / 2 / mss + 1;
            return Self {
                end: small,
                pushed: true,
                pushed_end: small,
                push_segments: small - 1,
                small_until: buffer_bytes.div_ceil(mss + PACKET_OVERHEAD_BYTES) / small * small,
                small,
                large: u64::MAX >> 1,
            };
        }
        let (mut written, mut packets) = (first + small, first.div_ceil(FIRST_BURST) + 1);
        while written * mss + packets * PACKET_OVERHEAD_BYTES < buffer_bytes {
            written += small;
            packets += 1;
        }
        Self {
            end: first + small,
            // When the first burst has left, it is filled up for the first time.
            pushed: true,
            pushed_end: small + FIRST_BURST.min(first),
            push_segments: small,
            // The last of them is filled up after the first ACK.
            small_until: written - small,
            small,
            large,
        }
    }

    /// The packet that begins with segment `next`, if `written` segments from there on are written.
    /// What is left of a packet is filled up to `wanted` segments from the packet after it.
    #[inline]
    pub(super) fn head(&mut self, next: u64, written: u64, wanted: u64) -> Head {
        while self.end <= next {
            self.next_packet();
        }
        let mut segments = self.end - next;
        if segments < wanted {
            segments = wanted.min(segments + self.size_at(self.end));
        }
        Head {
            segments: segments.min(written),
            tail: segments >= written,
        }
    }

    /// How many segments from `next` on leave before or with the next one that has PSH.
    #[inline]
    pub(super) fn until_push(&mut self, next: u64) -> u64 {
        while self.end <= next {
            self.next_packet();
        }
        self.end - next
    }

    fn next_packet(&mut self) {
        let large = self.end >= self.small_until;
        self.end += self.size_at(self.end);
        // After the first ACK half a window is more than a packet, and the next write takes PSH
        // from the last packet again.
        self.pushed = !large && self.end > self.pushed_end + self.push_segments;
        if self.pushed {
            self.pushed_end = self.end;
        }
    }

    /// Whether the application has marked this end of a burst with PSH. A packet that is filled up
    /// from the next one takes its mark along.
    #[inline]
    pub(super) fn pushes(&self, end: u64) -> bool {
        self.pushed && end >= self.end
    }

    #[inline]
    fn size_at(&self, begin: u64) -> u64 {
        if begin < self.small_until {
            self.small
        } else {
            self.large
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::host::reno;
    use super::*;
    use crate::scenario::Profile;

    fn queue(profile: Profile, send_buffer: u64) -> WriteQueue {
        let (kernel, switches) = (Kernel::of(profile), Switches::usual(profile));
        WriteQueue::new(&kernel, &switches, reno(profile, 10).tp(), send_buffer)
    }

    fn ends(mut queue: WriteQueue, until: u64) -> Vec<u64> {
        let (mut next, mut ends) = (0, Vec::new());
        while next < until {
            next += queue.head(next, u64::MAX, 1).segments;
            ends.push(next);
        }
        ends
    }

    /// Linux 6.12 with `tcp_wmem` of 1 MiB and without a limit had packets to 692, then of 45.
    #[test]
    fn where_packets_end() {
        let large = ends(queue(Profile::Linux6, u64::MAX), 800);
        assert_eq!(large[..3], [32, 54, 76]);
        assert_eq!(large[30..], [692, 737, 782, 827]);
        // Linux with `tcp_wmem` of 128 KiB wrote 98 segments before the first ACK.
        assert_eq!(
            ends(queue(Profile::Linux6, 131_072 / 1448), 150),
            [32, 54, 76, 121, 166]
        );
    }

    #[test]
    fn what_is_left_is_filled_up() {
        let mut queue = queue(Profile::Linux6, u64::MAX);
        let head = |segments, tail| Head { segments, tail };
        assert_eq!(queue.head(30, 1_000, 1), head(2, false));
        assert_eq!(queue.head(30, 1_000, 4), head(4, false));
        assert_eq!(
            queue.head(30, 1_000, 45),
            head(24, false),
            "from one packet"
        );
        assert_eq!(queue.head(30, 3, 4), head(3, true));
        assert_eq!(queue.head(34, 1_000, 4), head(20, false));
    }

    /// In a trace of Linux 6.12 single segments that ended here had PSH.
    #[test]
    fn what_the_application_pushes() {
        let mut queue = queue(Profile::Linux6, u64::MAX);
        let pushed = |queue: &mut WriteQueue, next| {
            let head = queue.head(next, u64::MAX, 1);
            queue.pushes(next + head.segments)
        };
        let ends = [31, 53, 75, 97, 229, 691, 736].map(|next| pushed(&mut queue, next));
        assert_eq!(ends, [true, true, false, true, true, false, false]);
        assert!(!queue.pushes(700), "the middle of a packet");
    }

    /// A write has PSH where more than 32767 bytes, half of an unscaled window, are behind the one
    /// before: 23 segments of 1448. A send buffer of 1 MiB holds 460 packets with 832 bytes each beside
    /// their data.
    #[test]
    fn what_the_application_pushes_without_tso() {
        let kernel = Kernel::of(Profile::Linux6);
        let switches = Switches {
            tso: false,
            ..Switches::usual(Profile::Linux6)
        };
        let host = reno(Profile::Linux6, 10);
        let mut queue = WriteQueue::new(&kernel, &switches, host.tp(), u64::MAX);
        assert_eq!(queue.until_push(10), 13);
        assert!(!queue.pushes(20) && queue.pushes(23));
        assert_eq!(queue.until_push(23), 23);
        assert_eq!(queue.until_push(459), 1);
        assert!(queue.pushes(460));
        assert!(queue.until_push(460) > 1 << 60);
    }

    #[test]
    fn linux_2_6_does_not_look_at_packets() {
        let mut queue = queue(Profile::Linux2_6_25, u64::MAX);
        assert_eq!(queue.head(3, 500, 45).segments, 500);
    }
}
