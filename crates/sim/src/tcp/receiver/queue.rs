//! The packets in a receive buffer, each of which takes room beside its data: those in order, until the
//! application has read all of one (`tcp_queue_rcv`, `tcp_eat_recv_skb`), and those that wait for a gap
//! (`tcp_data_queue_ofo`, `tcp_ofo_queue`). A packet joins the one before it if that has room for its fragments
//! (`tcp_try_coalesce`).

use std::collections::VecDeque;

/// `MAX_SKB_FRAGS`
const FRAGS: u64 = 17;
/// An application's data lie in pieces of so many bytes at its sender (`skb_page_frag_refill`). A segment in
/// two of them has two fragments.
const PIECE_BYTES: u64 = 32_768;

/// A packet: its segments, and in how many fragments they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packet {
    begin: u64,
    end: u64,
    fragments: u64,
}

impl Packet {
    fn of(segment: u64, mss: u64) -> Self {
        let begin = segment * mss;
        Self {
            begin: segment,
            end: segment + 1,
            fragments: (begin + mss - 1) / PIECE_BYTES - begin / PIECE_BYTES + 1,
        }
    }

    /// `tcp_try_coalesce`
    fn takes(&mut self, next: Self) -> bool {
        let fits = self.end == next.begin && self.fragments + next.fragments <= FRAGS;
        if fits {
            self.end = next.end;
            self.fragments += next.fragments;
        }
        fits
    }
}

/// The packets of a receive buffer.
#[derive(Debug)]
pub(super) struct Queue {
    mss: u64,
    /// Segments that the application has read.
    read: u64,
    in_order: VecDeque<Packet>,
    gaps: VecDeque<Packet>,
    gap_segments: u64,
}

impl Queue {
    pub(super) fn new(mss: u64) -> Self {
        Self {
            mss,
            read: 0,
            in_order: VecDeque::new(),
            gaps: VecDeque::new(),
            gap_segments: 0,
        }
    }

    /// Segments that take room, and in how many packets.
    pub(super) fn taken(&self) -> (u64, u64) {
        let first = self.in_order.front().map_or(0, |packet| packet.begin);
        let last = self.in_order.back().map_or(0, |packet| packet.end);
        let packets = self.in_order.len() + self.gaps.len();
        (last - first + self.gap_segments, packets as u64)
    }

    /// All segments below `next` are in order.
    pub(super) fn take(&mut self, next: u64) {
        loop {
            let begin = self.in_order.back().map_or(self.read, |last| last.end);
            if begin >= next {
                return;
            }
            let packet = match self.gaps.front() {
                Some(&packet) if packet.begin == begin => {
                    self.gaps.pop_front();
                    self.gap_segments -= packet.end - packet.begin;
                    packet
                }
                _ => Packet::of(begin, self.mss),
            };
            if !(self.in_order.back_mut()).is_some_and(|last| last.takes(packet)) {
                self.in_order.push_back(packet);
            }
        }
    }

    /// A segment waits for a gap. Returns whether it has joined a packet.
    pub(super) fn wait(&mut self, segment: u64) -> bool {
        let packet = Packet::of(segment, self.mss);
        self.gap_segments += 1;
        let at = self.gaps.partition_point(|other| other.begin < segment);
        let joins = at > 0 && self.gaps[at - 1].takes(packet);
        if !joins {
            self.gaps.insert(at, packet);
        }
        joins
    }

    /// Segments that the application has read.
    pub(super) fn read(&self) -> u64 {
        self.read
    }

    /// Whether there is something to read.
    pub(super) fn has_unread(&self) -> bool {
        self.in_order
            .back()
            .is_some_and(|last| self.read < last.end)
    }

    /// The application has read all segments below this one.
    pub(super) fn read_to(&mut self, next: u64) {
        self.read = next;
        while self.in_order.front().is_some_and(|first| first.end <= next) {
            self.in_order.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 17 fragments make a packet, and the 23rd segment of 1448 bytes lies in two pieces of 32 KiB. A packet
    /// takes room until all of it is read.
    #[test]
    fn packets_are_read_whole() {
        let mut queue = Queue::new(1448);
        queue.take(40);
        let ends: Vec<_> = queue.in_order.iter().map(|packet| packet.end).collect();
        assert_eq!(ends, [17, 33, 40]);
        for (read, taken) in [
            (1, (40, 3)),
            (16, (40, 3)),
            (17, (23, 2)),
            (33, (7, 1)),
            (40, (0, 0)),
        ] {
            queue.read_to(read);
            assert_eq!(
                (queue.taken(), queue.has_unread()),
                (taken, read < 40),
                "{read}"
            );
        }
    }

    /// 10 segments are in order when 13 behind a gap have come: they are a packet of their own that does not
    /// fit into the first one, and keep their room for 4 more. The one that fills the gap joins the first.
    #[test]
    fn packets_behind_a_gap_stay_whole() {
        let mut queue = Queue::new(1448);
        queue.take(10);
        assert!(!queue.wait(11) && (12..24).all(|segment| queue.wait(segment)));
        assert!(!queue.wait(26) && !queue.wait(25), "before another");
        assert_eq!(queue.taken(), (25, 4));
        queue.take(24);
        let ends: Vec<_> = queue.in_order.iter().map(|packet| packet.end).collect();
        assert_eq!((queue.taken(), ends), ((26, 4), vec![11, 24]));
        queue.take(27);
        assert_eq!(queue.taken(), (27, 2));
    }
}
