//! A receive window that follows its buffer: how it grows with the data that arrives (`tcp_grow_window`), and
//! the buffer with what the application reads in a round trip (`tcp_rcv_space_adjust`), up to `tcp_rmem[2]`;
//! with `SO_RCVBUF` it has one size.
//!
//! How to drive it: tell it of each new segment ([`arrives`](Tuned::arrives)) and of each time that the
//! application reads ([`reads`](Tuned::reads)). [`select`](Tuned::select) is the window of an ACK.
//!
//! Unlike the other limits it is in bytes. A packet takes its data and `PACKET_OVERHEAD_BYTES` of the buffer,
//! as behind a veth pair; network cards differ. Linux's `tcp_clamp_window`, for a buffer that overflows, and
//! the collapsing of packets are left out.

use super::super::advertised_window::UNSCALED_BYTES;
use super::super::receive_buffer::{data_256ths, ReceiveBuffer, FIRST_RATIO, RATIO_BITS};
use super::super::write_queue::PACKET_OVERHEAD_BYTES;
use super::queue::Queue;
use super::reader::Reader;

/// `TCP_INIT_CWND`
const INIT_CWND: u64 = 10;

/// The buffer and the window of a receiver. All but the times are bytes.
#[derive(Debug)]
pub(super) struct Tuned {
    /// `tcp_rmem[2]`; 0: the buffer has one size.
    most: u64,
    mss: u64,
    shift: u32,
    /// `sk_rcvbuf`
    buffer: u64,
    /// `scaling_ratio`: the share of data in the buffer, in 256ths.
    ratio: u64,
    /// `window_clamp`
    clamp: u64,
    /// `rcv_ssthresh`
    ssthresh: u64,
    /// The right edge that the last ACK offered (`rcv_wup` + `rcv_wnd`), and its window.
    edge: u64,
    window: u64,
    /// `rcvq_space`: what the application has read in a round trip, and up to where at which time.
    space: u64,
    space_at: u64,
    space_us: u64,
    /// What waits in the buffer.
    pub(super) queue: Queue,
    /// The application reads at a rate of its own.
    pub(super) reader: Option<Reader>,
}

/// The window of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Selected {
    pub(super) bytes: u64,
    /// The window field is not that of the ACK before.
    pub(super) is_new: bool,
    /// The buffer is more than half full, which ends quick ACKs.
    pub(super) is_tight: bool,
}

impl Tuned {
    /// `tcp_select_initial_window` and `tcp_init_buffer_space`.
    pub(super) fn new(of: ReceiveBuffer, mss: u64) -> Self {
        let (buffer, window) = (of.first_bytes(), of.first_window(mss));
        // One segment is reserved (`tcp_app_win`).
        let clamp = (buffer / 2 - mss).max(2 * mss);
        let ssthresh = window.min(clamp);
        Self {
            most: of.grows_to(),
            mss,
            shift: of.shift(),
            buffer,
            ratio: FIRST_RATIO,
            clamp,
            ssthresh,
            edge: window,
            window,
            space: ssthresh.min(INIT_CWND * mss),
            space_at: 0,
            space_us: 0,
            queue: Queue::new(mss),
            reader: None,
        }
    }

    /// The connection is established at this time.
    pub(super) fn established(&mut self, now_us: u64) {
        self.space_us = now_us;
    }

    /// What a packet of one segment takes.
    pub(super) fn packet(&self) -> u64 {
        self.mss + PACKET_OVERHEAD_BYTES
    }

    /// What waits takes so much of the buffer (`sk_rmem_alloc`).
    pub(super) fn taken(&self) -> u64 {
        let (segments, packets) = self.queue.taken();
        segments * self.mss + packets * PACKET_OVERHEAD_BYTES
    }

    /// `tcp_win_from_space`
    fn window_of_space(&self, space: u64) -> u64 {
        (space * self.ratio) >> RATIO_BITS
    }

    fn free(&self, taken: u64) -> u64 {
        self.window_of_space(self.buffer.saturating_sub(taken))
    }

    /// A new segment waits, so that `taken` is taken (`tcp_measure_rcv_mss`, `tcp_grow_window`). Returns
    /// whether the window grows, which brings a quick ACK.
    pub(super) fn arrives(&mut self, taken: u64) -> bool {
        let ratio = data_256ths(self.mss);
        if self.ratio != ratio {
            self.ratio = ratio;
            self.clamp = self.window_of_space(self.buffer);
            self.space = self.space.min(self.clamp);
        }
        let most = self.clamp.min(self.free(taken));
        let grows = most > self.ssthresh;
        if grows {
            // The ratio is of such packets: they always fit.
            self.ssthresh = most.min(self.ssthresh + 2 * self.mss);
        }
        grows
    }

    /// The application has read up to this segment, and so many wait (`tcp_rcv_space_adjust`). `rtt`: as the
    /// receiver measures it, in eighths of a µs; 0: it has no sample.
    pub(super) fn reads(&mut self, up_to: u64, waiting: u64, now_us: u64, rtt: u64) {
        if rtt == 0 || now_us - self.space_us < rtt >> 3 {
            return;
        }
        let copied = (up_to * self.mss - self.space_at).saturating_sub(waiting * self.mss);
        if copied > self.space {
            // Twice for losses, and again by as much as the sender's cwnd grows in a round trip.
            let wanted = 2 * copied + 16 * self.mss;
            let grown =
                u128::from(wanted) * u128::from(copied - self.space) / u128::from(self.space);
            let wanted = u128::from(wanted) + 2 * grown;
            let buffer =
                ((wanted << RATIO_BITS) / u128::from(self.ratio)).min(self.most.into()) as u64;
            if buffer > self.buffer {
                self.buffer = buffer;
                self.clamp = self.window_of_space(buffer);
            }
            self.space = copied;
        }
        (self.space_at, self.space_us) = (up_to * self.mss, now_us);
    }

    /// `__tcp_select_window`, and whether the buffer is more than half full.
    pub(super) fn window(&self) -> (u64, bool) {
        let (allowed, mut free) = (self.window_of_space(self.buffer), self.free(self.taken()));
        let tight = free < self.clamp.min(allowed) / 2;
        if tight {
            free = free >> self.shift << self.shift;
            if free < allowed >> 4 || free < self.mss {
                return (0, true);
            }
        }
        let most = free.min(self.ssthresh);
        if self.shift > 0 {
            return (self.aligned(most), tight);
        }
        // Whole segments, unless the last window is as good.
        match self.window + self.mss <= most || self.window > most {
            true => (most / self.mss * self.mss, tight),
            false => (self.window, tight),
        }
    }

    fn aligned(&self, bytes: u64) -> u64 {
        bytes.next_multiple_of(1 << self.shift)
    }

    /// The window that is left of the last ACK's (`tcp_receive_window`).
    fn left(&self, next: u64) -> u64 {
        self.edge.saturating_sub(next * self.mss)
    }

    /// Whether an ACK of segments below `next` would offer no less than the last.
    pub(super) fn keeps_up(&self) -> bool {
        self.window().0 >= self.window
    }

    /// Whether reading has at least doubled the window that is left (`__tcp_cleanup_rbuf`), and whether the
    /// buffer was found more than half full.
    pub(super) fn doubles(&self, next: u64) -> (bool, bool) {
        let left = self.left(next);
        if 2 * left > self.clamp {
            return (false, false);
        }
        let (window, is_tight) = self.window();
        (window > 0 && window >= 2 * left, is_tight)
    }

    /// Most quick ACKs, of so many (`tcp_incr_quickack`).
    pub(super) fn quick_acks(&self, most: u32) -> u32 {
        match self.window / (2 * self.mss) {
            0 => most.min(2),
            half => most.min(half.min(u32::MAX.into()) as u32),
        }
    }

    /// The window of an ACK of segments below `next` (`tcp_select_window`).
    pub(super) fn select(&mut self, next: u64) -> Selected {
        let (window, is_tight) = self.window();
        let left = self.left(next);
        // The right edge never moves back.
        let window = if window < left {
            self.aligned(left)
        } else {
            window
        };
        let is_new = window >> self.shift != self.window >> self.shift;
        (self.edge, self.window) = (next * self.mss + window, window);
        let bytes = window.min(UNSCALED_BYTES << self.shift);
        Selected {
            bytes,
            is_new,
            is_tight,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;
    const RTT: u64 = 8 * 100_000;

    /// As Linux 6.12 did, with `tcp_rmem[2]` of 6 MiB and a cwnd that doubles each 100 ms: `rcv_ssthresh`,
    /// `sk_rcvbuf`, and the window that the sender knew.
    #[test]
    fn it_grows_ahead_of_slow_start() {
        let mut tuned = Tuned::new(ReceiveBuffer::Tuned(6 << 20), MSS);
        assert_eq!(
            (tuned.window, tuned.ssthresh, tuned.space),
            (65_160, 64_088, 14_480)
        );
        tuned.established(100_000);
        let (mut next, mut cwnd, mut seen) = (0, 10, Vec::new());
        for turn in 1..=10 {
            for _ in 0..cwnd {
                next += 1;
                tuned.queue.take(next);
                tuned.arrives(tuned.taken());
                tuned.select(next);
                tuned.queue.read_to(next);
                tuned.reads(next, 0, turn * 100_000, RTT);
            }
            seen.push((tuned.ssthresh, tuned.buffer, tuned.window));
            cwnd *= 2;
        }
        assert_eq!(
            seen[..8],
            [
                (76_896, 131_072, 76_928),
                (76_896, 131_072, 76_928),
                (189_840, 357_690, 189_952),
                (415_584, 697_765, 415_616),
                (763_104, 1_279_237, 763_136),
                (1_458_144, 2_442_179, 1_458_176),
                (2_848_224, 4_768_065, 2_848_256),
                (3_758_688, 6_291_456, 3_758_720),
            ]
        );
        assert_eq!(seen[9], seen[7]);
    }

    /// What waits for a gap takes room, and still the right edge does not move back.
    #[test]
    fn a_gap_takes_room() {
        let mut tuned = Tuned::new(ReceiveBuffer::Tuned(200_000), MSS);
        for next in 1..=60 {
            tuned.queue.take(next);
            tuned.arrives(tuned.taken());
            tuned.queue.read_to(next);
            tuned.select(next);
        }
        let edge = tuned.edge;
        assert!(tuned.keeps_up());
        for segment in 61..=110 {
            tuned.queue.wait(segment);
            tuned.arrives(tuned.taken());
            let selected = tuned.select(60);
            assert_eq!(tuned.edge, edge, "{segment}");
            assert_eq!(selected.is_tight, tuned.window().1);
        }
        assert!(tuned.window().1 && !tuned.keeps_up());
    }
}
