//! The packets of the write queue (`tcp_sendmsg_locked`, `tcp_xmit_size_goal`, `tcp_grow_skb`). An
//! application's data lie in packets of 45 segments, or of half of a smaller receive window. What is
//! left of a packet is not held back for a larger burst, so that the ends of packets show in the
//! bursts of slow start: 20 20 4 20 20 4 …
//!
//! How to drive it: [`head`](WriteQueue::head) is the packet that leaves next.

use super::advertised_window;
use super::constants::{GSO_HEADER_BYTES, GSO_MAX_BYTES, SNDBUF_BYTES};
use super::limits::FlowLimits;
use super::written::Writes;
use ackclock_host::TcpSock;

/// Bytes that the send buffer counts for each packet beside its data (`skb->truesize`): 256 of
/// `sk_buff`, 320 of `skb_shared_info`, and 384 for headers (`SKB_SMALL_HEAD_SIZE`) in a kernel that has
/// Wi-Fi and tunnels, as those of distributions.
pub(super) const PACKET_OVERHEAD_BYTES: u64 = 960;
/// What it keeps unsent once an ACK has come.
const AHEAD_BYTES: u64 = 8 << 20;
/// In place of a number of segments: after so many there is no PSH.
const NEVER: u32 = u32::MAX;

/// Where the packets end.
#[derive(Clone, Debug)]
pub(super) struct WriteQueue {
    /// The end of the packet that holds the next new segment, and where it ended before it was filled up
    /// from the next one.
    pub(super) end: u64,
    written_end: u64,
    /// That packet ends with PSH: it is more than half a window after the one before that does
    /// (`forced_push`).
    pub(super) pushed: bool,
    pub(super) pushed_end: u64,
    /// Segments in half of the window that the handshake shows, and of the one that ACKs show.
    push_segments: u32,
    later_push_segments: u32,
    /// Segments that leave while the application writes for the first time, and in each burst.
    first_window: u32,
    first_burst: u32,
    /// The application writes as many before all others.
    writes_first_window: bool,
    /// Packets that begin before this segment have `small` segments, and others `large`.
    small_until: u64,
    small: u32,
    large: u32,
    /// The end of a write of `large_write` segments.
    write_end: u64,
    large_write: u16,
    /// So many segments the application writes ahead of what leaves.
    ahead: u32,
    /// The application writes for the second time when this is acknowledged.
    again: u32,
    /// The end of the first write, which keeps its PSH if each packet has one segment; else 0.
    first_end: u32,
    /// Packets have one segment: the host has no TSO.
    pub(super) single: bool,
    /// What an application has written that writes now and then.
    pub(super) writes: Option<Box<Writes>>,
    /// The packet is the first part of one that ends there, with PSH or not (`tso_fragment`): it was cut, and
    /// then its turn did not come.
    pub(super) rest: Option<Box<(u64, bool)>>,
}

/// The packet that leaves next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) segments: u64,
    /// The last packet of the write queue.
    pub(super) tail: bool,
}

impl WriteQueue {
    /// Makes the queue of an application that writes all that the send buffer holds, at once and
    /// whenever there is room.
    ///
    /// Until the first ACK the sender knows an unscaled window, and a packet takes half of it. The
    /// `first` segments leave the first packets, in bursts of `burst` segments; they are filled up
    /// again. Later the application writes as much as a large packet holds at a time.
    pub(super) fn new(
        splits_writes: bool,
        tso: bool,
        tp: &TcpSock,
        limits: &FlowLimits,
        [first, burst]: [u32; 2],
    ) -> Self {
        let (mss, first) = (u64::from(tp.mss_cache), u64::from(first));
        let shown = advertised_window::handshake_packets(mss, limits.receive_window);
        let offered_bytes = limits.receive_window.saturating_mul(mss);
        let push_segments = offered_bytes.min(advertised_window::UNSCALED_BYTES) / 2 / mss;
        let most = ((GSO_MAX_BYTES - GSO_HEADER_BYTES) / mss).max(1);
        let small = push_segments.clamp(1, most);
        let mut queue = Self {
            end: u64::MAX,
            written_end: u64::MAX,
            pushed: false,
            pushed_end: 0,
            push_segments: push_segments as u32,
            later_push_segments: NEVER,
            first_window: first.min(shown) as u32,
            first_burst: burst,
            writes_first_window: first > shown && shown < limits.receive_window,
            small_until: 0,
            small: small as u32,
            large: most as u32,
            write_end: u64::MAX >> 1,
            large_write: most as u16,
            ahead: (AHEAD_BYTES / mss) as u32,
            again: (small * SNDBUF_BYTES / 3 / (small * mss + PACKET_OVERHEAD_BYTES)) as u32,
            first_end: 0,
            single: false,
            writes: None,
            rest: None,
        };
        if !splits_writes {
            return queue;
        }
        let later_push_segments =
            advertised_window::first_bytes(mss, limits.receive_window) / 2 / mss;
        if limits.send_buffer == u64::MAX {
            queue.later_push_segments = later_push_segments as u32;
        }
        // An application with a limit of its own counts data, and the socket has room for it.
        let (buffer_bytes, overhead_bytes) = match limits.send_buffer {
            u64::MAX => (SNDBUF_BYTES, PACKET_OVERHEAD_BYTES),
            segments => (segments * mss, 0),
        };
        if !tso {
            // Packets have one segment. One of them has PSH each time that half a window is written.
            let small = push_segments + 1;
            let first_end = buffer_bytes.div_ceil(mss + overhead_bytes);
            return Self {
                end: small,
                written_end: small,
                pushed: true,
                pushed_end: small,
                small_until: first_end / small * small,
                small: small as u32,
                large: queue.later_push_segments.saturating_add(1),
                first_window: 0,
                first_end: first_end as u32,
                single: true,
                ..queue
            };
        }
        queue.large = later_push_segments.clamp(1, most) as u32;
        (queue.written_end, queue.small_until) = (0, u64::MAX);
        let mut written = queue.clone();
        while written.written_end <= queue.first_window.into() {
            written.write();
        }
        let (mut end, mut packets) = (written.written_end, first.div_ceil(burst.into()) + 1);
        while end * mss + packets * overhead_bytes < buffer_bytes {
            end += small;
            packets += 1;
        }
        // The last of them is filled up after the first ACK.
        queue.small_until = end - small;
        queue.next_packet();
        queue
    }

    /// The packet that begins with segment `next`, if `written` segments from there on are written.
    /// What is left of a packet is filled up to `wanted` segments from the packet after it, if that is
    /// written.
    #[inline]
    pub(super) fn head(&mut self, next: u64, written: u64, wanted: u64) -> Head {
        while self.end <= next {
            self.next_packet();
        }
        let mut segments = self.end - next;
        if segments < wanted && next >= self.first_window.into() {
            self.fill(next + wanted.min(written));
            segments = self.end - next;
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

    /// `tcp_grow_skb`: takes segments from the next packet, up to `end`. The packet keeps them, also if
    /// nothing leaves now. Of a packet that it takes whole it takes PSH, too.
    fn fill(&mut self, end: u64) {
        let writes = self.writes.as_ref().filter(|writes| writes.more);
        let end = end.min(writes.map_or(end, |writes| writes.end));
        if end <= self.end {
            return;
        }
        if let Some(rest) = &self.rest {
            if end < rest.0 {
                self.end = end;
            } else {
                self.next_packet();
            }
            return;
        }
        if let Some(writes) = &mut self.writes {
            if let Some(&(next_end, pushed)) = writes.packets.front() {
                self.end = end.min(next_end);
                if end >= next_end {
                    self.pushed |= pushed;
                    writes.packets.pop_front();
                }
                return;
            }
        }
        let mut rest = Self {
            writes: None,
            rest: None,
            ..*self
        };
        rest.next_packet();
        if end < rest.end {
            self.end = end;
        } else {
            rest.pushed |= self.pushed;
            rest.writes = self.writes.take();
            *self = rest;
        }
    }

    /// Cuts the packet that leaves next: what is left follows as a packet of its own.
    #[cold]
    pub(super) fn cut(&mut self, end: u64) {
        if end < self.end {
            let whole = (self.end, self.pushed);
            match &mut self.writes {
                Some(writes) => writes.packets.push_front(whole),
                None => self.rest = Some(self.rest.take().unwrap_or(Box::new(whole))),
            }
            (self.end, self.pushed) = (end, false);
        }
    }

    /// The first write ends: no more of it leaves than what is before `next`.
    pub(super) fn end_first_write_at(&mut self, next: u64) {
        self.first_window = self.first_window.min(next as u32);
    }

    #[inline(never)]
    pub(super) fn next_packet(&mut self) {
        if let Some(rest) = self.rest.take() {
            (self.end, self.pushed) = *rest;
            return;
        }
        if let Some(writes) = &mut self.writes {
            if let Some((end, pushed)) = writes.packets.pop_front() {
                (self.end, self.pushed) = (end, pushed);
                return;
            }
        }
        self.write();
        self.end = self.written_end;
    }

    /// The other end shows a window of so many segments, which changes; `una` and `next` are those of the
    /// sender. The application writes again when a third of its first write is acknowledged, and from then
    /// on well ahead: what is written keeps its packets.
    #[cold]
    pub(super) fn on_advertised_window(&mut self, segments: u64, [una, next]: [u64; 2]) {
        let has_written = (self.again.into()..).contains(&una) && next < self.ahead.into();
        if has_written || self.later_push_segments == NEVER {
            return;
        }
        let half = (segments / 2).min((NEVER - 1).into()) as u32;
        self.later_push_segments = self.later_push_segments.max(half);
        self.large = match self.single {
            false => half.clamp(self.large, self.large_write.into()),
            // One of so many packets has PSH.
            true => self.later_push_segments + 1,
        };
    }

    /// Where the first write ends, and how many segments its packets have. That of Linux 2.6 is not known, and
    /// its send buffer never limits.
    pub(super) fn first_write(&self) -> Option<(u64, u64)> {
        let small = u64::from(self.small);
        match self.single {
            true => Some((self.first_end.into(), 1)),
            false if self.knows_packets() => Some((self.small_until + small, small)),
            false => None,
        }
    }

    /// The other end shows a window of so many segments from the first ACK on.
    pub(super) fn fix_window(&mut self, segments: u64) {
        self.later_push_segments = (segments / 2).min((NEVER - 1).into()) as u32;
        self.large = self.later_push_segments.clamp(1, self.large_write.into());
    }

    /// The application writes for the second time: what is left of its last packet takes as much as fits.
    pub(super) fn write_again(&mut self, next: u64) {
        if next > self.small_until && !self.single {
            self.pushed = false;
            self.write_large(next);
            self.end = self.written_end;
        }
    }

    /// Whether it knows packets at all: Linux 2.6 does not look at them.
    pub(super) fn knows_packets(&self) -> bool {
        self.written_end != u64::MAX
    }

    /// The application has nothing yet, and writes now and then.
    pub(super) fn begin_with(&mut self, mut writes: Box<Writes>) {
        writes.single = self.single;
        (self.end, self.written_end, self.first_window) = (0, 0, 0);
        (self.pushed, self.pushed_end) = (false, 0);
        self.writes = Some(writes);
    }

    /// Most segments in a packet that an application now fills, and half of the window that the other end
    /// has shown. `has_ack`: an ACK has come.
    pub(super) fn goal(&self, has_ack: bool) -> [u64; 2] {
        let single = self.writes.as_ref().is_some_and(|writes| writes.single);
        let (most, half) = match has_ack {
            true => (self.large, self.later_push_segments),
            false => (self.small, self.push_segments),
        };
        [if single { 1 } else { most.into() }, half.into()]
    }

    /// From `end` on there are full packets without end, as from an application that began to write at
    /// `began` and writes as much as a packet holds at a time.
    pub(super) fn go_on_from(&mut self, end: u64, began: u64) {
        let step = u64::from(self.large_write);
        (self.written_end, self.small_until, self.first_end) = (end, 0, 0);
        self.write_end = began + ((end - began) / step + 1) * step;
    }

    fn write(&mut self) {
        let begin = self.written_end;
        self.pushed = false;
        if begin < self.small_until {
            self.written_end = begin + u64::from(self.small);
            if begin < self.first_window.into() {
                self.end_first_write();
                self.push(self.push_segments);
                self.fill_first(begin);
            } else {
                self.push(self.push_segments);
            }
            return;
        }
        if begin < self.first_end.into() {
            self.written_end = self.first_end.into();
            (self.pushed, self.pushed_end) = (true, self.written_end);
            return;
        }
        if begin == self.small_until && self.first_end == 0 {
            // The next write takes PSH from the last packet of the first one.
            self.written_end = begin + u64::from(self.small);
            self.push(self.push_segments);
            self.pushed = false;
            self.write_end = self.written_end + u64::from(self.large_write);
        }
        self.write_large(begin);
    }

    fn write_large(&mut self, begin: u64) {
        self.written_end = begin + u64::from(self.large);
        while self.write_end < self.written_end && self.later_push_segments < NEVER {
            // The same in the middle of a packet.
            if self.write_end > self.pushed_end + u64::from(self.later_push_segments) {
                self.pushed_end = self.write_end;
            }
            self.write_end += u64::from(self.large_write);
        }
        self.push(self.later_push_segments);
    }

    /// A packet of the initial window does not hold more than the first write, if that ends with it.
    fn end_first_write(&mut self) {
        if self.writes_first_window {
            self.written_end = self.written_end.min(self.first_window.into());
        }
    }

    /// `forced_push`, and `tcp_mark_push`.
    fn push(&mut self, half_a_window: u32) {
        let beyond = self.written_end > self.pushed_end + u64::from(half_a_window);
        if beyond && half_a_window < NEVER {
            (self.pushed, self.pushed_end) = (true, self.written_end);
        }
    }

    /// A packet of the initial window is filled up each time that a burst leaves it
    /// (`tcp_push_one`), and what has PSH leaves as far as the window allows.
    fn fill_first(&mut self, begin: u64) {
        let (mut sent, mut is_new) = (begin, self.pushed);
        loop {
            let most = if is_new {
                self.written_end
            } else {
                sent + u64::from(self.first_burst)
            };
            let leaves = most.min(self.written_end).min(self.first_window.into());
            if leaves <= sent || leaves == self.written_end {
                return;
            }
            self.written_end += leaves - sent;
            self.end_first_write();
            sent = leaves;
            let pushed_end = self.pushed_end;
            self.push(self.push_segments);
            is_new = self.pushed_end != pushed_end;
        }
    }

    /// Whether the application has marked this end of a burst with PSH. A packet that is filled up
    /// from the next one takes its mark along.
    #[inline]
    pub(super) fn pushes(&self, end: u64) -> bool {
        self.pushed && end >= self.end
    }
}

#[cfg(test)]
mod tests {
    use super::super::host::reno;
    use super::*;
    use crate::scenario::Profile;

    fn limits(send_buffer: u64, receive_window: u64) -> FlowLimits {
        FlowLimits {
            segments: u64::MAX,
            receive_window,
            send_buffer,
        }
    }

    fn queue(profile: Profile, send_buffer: u64) -> WriteQueue {
        let (splits, tso) = match profile {
            Profile::Linux6 => (true, true),
            _ => (false, false),
        };
        let limits = limits(send_buffer, u64::MAX);
        WriteQueue::new(splits, tso, reno(profile, 10).tp(), &limits, [10, 2])
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
        // The socket has room for all of an application's own limit of 3 MB.
        let own = ends(queue(Profile::Linux6, 3_000_000 / 1448), 2_101);
        assert_eq!(own[own.len() - 3..], [2_034, 2_056, 2_101]);
    }

    /// Half of a window of 15 segments is 7 of them, and half of 17 is 8. The first packet is filled up
    /// when 2 have left: 9 are more than 7, so they have PSH and leave. One of the next packet may
    /// leave, and it is filled up to 17. From then on each second one has PSH.
    #[test]
    fn where_packets_of_a_small_window_end() {
        let host = reno(Profile::Linux6, 10);
        let new = |burst| {
            let limits = limits(u64::MAX, 15);
            WriteQueue::new(true, true, host.tp(), &limits, [10, burst])
        };
        let mut queue = new(2);
        let mut next = 0;
        let mut ends = |until| {
            let mut ends = Vec::new();
            while next < until {
                next += queue.head(next, u64::MAX, 1).segments;
                ends.push((next, queue.pushes(next)));
            }
            ends
        };
        let first = [(9, true), (17, true), (24, false), (31, true), (38, false)];
        assert_eq!(ends(38), first);
        let later = &ends(1_000)[100..];
        let apart: Vec<u64> = later.windows(2).map(|two| two[1].0 - two[0].0).collect();
        assert!(apart.iter().all(|&each| each == 8));
        let head = new(3).head(0, u64::MAX, 3);
        assert_eq!(head.segments, 10);
    }

    /// No limit: half of the 134 234 112 bytes that ACKs offer is 46 351 segments. The first write ends at
    /// 714, and PSH there is lost to the next write. Then packets end at 692 + 45 k, and writes in the
    /// middle of them at 714 + 45 k. More than 46 351 after 714 is 692 + 45 · 1031; more than that
    /// after it is first 714 + 45 · 2061, whose PSH is lost; then 692 + 45 · 3092.
    #[test]
    fn a_push_each_half_window() {
        let mut queue = queue(Profile::Linux6, u64::MAX);
        let (mut next, mut pushed) = (0, Vec::new());
        while next < 150_000 {
            next += queue.head(next, u64::MAX, 1).segments;
            if next > 692 && queue.pushes(next) {
                pushed.push(next);
            }
        }
        assert_eq!(pushed, [47_087, 139_832]);
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
    /// before: 23 segments of 1448. A send buffer of 1 MiB holds 436 packets with 960 bytes each beside
    /// their data, and the last of them has PSH. So it was on Linux 6.12 in virtual time.
    #[test]
    fn what_the_application_pushes_without_tso() {
        let host = reno(Profile::Linux6, 10);
        let limits = limits(u64::MAX, u64::MAX);
        let mut queue = WriteQueue::new(true, false, host.tp(), &limits, [10, 2]);
        assert_eq!(queue.until_push(10), 13);
        assert!(!queue.pushes(20) && queue.pushes(23));
        assert_eq!(queue.until_push(23), 23);
        assert_eq!(queue.until_push(413), 1);
        assert!(queue.pushes(414));
        assert_eq!(queue.until_push(414), 22);
        assert!(queue.pushes(436));
        // Then half of what ACKs offer: 46 351 segments, and one more.
        assert_eq!(queue.until_push(436), 46_352);
        assert!(queue.pushes(46_788));
    }

    /// The first write ends at 714. If all of it has left when the application writes again, the next packet
    /// begins there; what is left of the last one is filled up to 45 segments from where it begins.
    #[test]
    fn the_second_write_fills_the_last_packet() {
        let end = |sent: u64| {
            let mut queue = queue(Profile::Linux6, u64::MAX);
            assert_eq!(queue.first_write(), Some((714, 22)));
            queue.head(sent.min(713), 714 - sent, 1);
            queue.write_again(sent);
            sent + queue.head(sent, u64::MAX, 1).segments
        };
        assert_eq!([680, 692, 700, 714].map(end), [692, 737, 745, 759]);
    }

    /// An application has filled a send buffer of 499 segments, of which the last packet began at 494. What it
    /// writes then goes into that packet, up to 45 segments. When it has filled the head, a burst leaves first,
    /// and the head takes as much again.
    #[test]
    fn a_buffer_that_is_filled_again() {
        let mut queue = queue(Profile::Linux6, 499);
        assert_eq!(queue.head(480, 19, 1).segments, 14);
        assert!(!queue.refill(480, [499, 520]));
        assert_eq!(queue.head(494, 26, 1).segments, 26);
        assert!(!queue.refill(494, [520, 539]));
        assert!(queue.refill(500, [539, 546]));
        assert_eq!(queue.end, 545);
        assert!(!queue.refill_on(510));
        assert_eq!((queue.end, queue.pushes(546)), (546, false));
    }

    #[test]
    fn linux_2_6_does_not_look_at_packets() {
        let mut queue = queue(Profile::Linux2_6_25, u64::MAX);
        assert_eq!(queue.head(3, 500, 45).segments, 500);
    }
}
