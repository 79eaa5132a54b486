//! An application that reads at a rate of its own, one segment at a time, and the packets that wait for it in
//! the receive buffer (`tcp_queue_rcv`, `tcp_eat_recv_skb`).
//!
//! How to drive it: tell it what is in order ([`take`](Reader::take)), and let it read at the time of
//! [`reads_at_ns`](Reader::reads_at_ns).

use ackclock_net::schedule::NEVER;
use std::collections::VecDeque;

/// `MAX_SKB_FRAGS`: so many segments that wait in a row share one packet's overhead.
pub(super) const FRAGS: u64 = 17;
/// An application's data lie in pieces of so many bytes at its sender (`skb_page_frag_refill`). A segment in
/// two of them has two fragments.
const PIECE_BYTES: u64 = 32_768;

/// A reader, and the packets that wait for it.
#[derive(Debug)]
pub(super) struct Reader {
    /// When its rate changes, ns, and to what, bit/s.
    steps: VecDeque<(u64, u64)>,
    rate_bps: u64,
    /// The application reads from then on, if something is there.
    due_ns: u64,
    /// Segments that it has read.
    pub(super) read: u64,
    /// Where the first packet that waits begins, the ends of all of them, and the fragments of the last.
    freed: u64,
    ends: VecDeque<u64>,
    fragments: u64,
    /// When a compressed ACK leaves.
    pub(super) compressed_at_ns: u64,
    /// When a probe of the window arrives, and the jiffy of the last that was answered.
    pub(super) probe_at_ns: u64,
    pub(super) answered: Option<u64>,
}

/// An application that reads after the packets of an instant: what is due besides delayed ACKs.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) reads_at_ns: u64,
    pub(super) compressed_at_ns: u64,
}

impl Reader {
    pub(super) fn new(steps: impl Iterator<Item = (u64, u64)>) -> Self {
        Self {
            steps: steps.collect(),
            rate_bps: 0,
            due_ns: NEVER,
            read: 0,
            freed: 0,
            ends: VecDeque::new(),
            fragments: 0,
            compressed_at_ns: NEVER,
            probe_at_ns: NEVER,
            answered: None,
        }
    }

    /// Segments below `next` that take room in the buffer, and in how many packets.
    pub(super) fn waiting(&self, next: u64) -> (u64, u64) {
        (next - self.freed, self.ends.len() as u64)
    }

    /// The segments below `next` wait for the application, each in the last packet if that has room
    /// (`tcp_try_coalesce`).
    pub(super) fn take(&mut self, next: u64, segment_bytes: u64) {
        for segment in self.ends.back().copied().unwrap_or(self.freed)..next {
            let begin = segment * segment_bytes;
            let pieces = (begin + segment_bytes - 1) / PIECE_BYTES - begin / PIECE_BYTES + 1;
            match self.ends.back_mut() {
                Some(end) if self.fragments + pieces <= FRAGS => {
                    *end += 1;
                    self.fragments += pieces;
                }
                _ => {
                    self.ends.push_back(segment + 1);
                    self.fragments = pieces;
                }
            }
        }
    }

    /// When it reads next, if nothing arrives.
    pub(super) fn reads_at_ns(&self) -> u64 {
        let waits = self.ends.back().is_some_and(|&end| self.read < end);
        let change_ns = self.steps.front().map_or(NEVER, |step| step.0);
        match waits {
            true => self.due_ns.min(change_ns),
            false => NEVER,
        }
    }

    /// Reads a segment, if it is time. Returns whether it does.
    pub(super) fn reads(&mut self, now_ns: u64, segment_bytes: u64) -> bool {
        while self.steps.front().is_some_and(|step| step.0 <= now_ns) {
            let (time_ns, rate_bps) = self.steps.pop_front().unwrap_or_default();
            self.rate_bps = rate_bps;
            self.due_ns = if rate_bps > 0 { time_ns } else { NEVER };
        }
        if self.due_ns > now_ns || self.ends.back().is_none_or(|&end| self.read == end) {
            return false;
        }
        self.due_ns = now_ns + segment_bytes * 8_000_000_000 / self.rate_bps;
        self.read += 1;
        if self.ends.front() == Some(&self.read) {
            self.ends.pop_front();
            self.freed = self.read;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 17 fragments make a packet, and the 23rd segment of 1448 bytes lies in two pieces of 32 KiB. A packet
    /// takes room until all of it is read.
    #[test]
    fn packets_are_read_whole() {
        let mut reader = Reader::new([(0, 1_448_000)].into_iter());
        reader.take(40, 1448);
        assert_eq!(reader.ends, [17, 33, 40]);
        for (read, waiting) in [(1, (40, 3)), (16, (40, 3)), (17, (23, 2)), (33, (7, 1))] {
            while reader.read < read {
                let at_ns = reader.reads_at_ns();
                assert_eq!(at_ns, reader.read * 8_000_000);
                assert!(reader.reads(at_ns, 1448) && !reader.reads(at_ns, 1448));
            }
            assert_eq!(reader.waiting(40), waiting, "{read}");
        }
    }

    /// The reader stops, and reads at once when it goes on; nothing is due where nothing waits.
    #[test]
    fn a_rate_that_changes() {
        let steps = [(0, 1_448_000), (20_000_000, 0), (90_000_000, 724_000)];
        let mut reader = Reader::new(steps.into_iter());
        assert_eq!(reader.reads_at_ns(), NEVER);
        reader.take(5, 1448);
        let mut times_ns = Vec::new();
        while reader.reads_at_ns() < NEVER {
            let at_ns = reader.reads_at_ns();
            if reader.reads(at_ns, 1448) {
                times_ns.push(at_ns / 1_000_000);
            }
        }
        assert_eq!(times_ns, [0, 8, 16, 90, 106]);
    }
}
