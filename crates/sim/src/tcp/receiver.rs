//! The receiver: reassembly, delayed ACKs (RFC 5681, 4.2), quick ACKs, SACK (RFC 2018, 2883) and
//! its compression (`tcp_data_queue`, `__tcp_ack_snd_check`).
//!
//! How to drive it: call [`handle_segment`](Receiver::handle_segment) with each packet that
//! arrives, and [`handle_timeout`](Receiver::handle_timeout) at the time of
//! [`poll_timeout`](Receiver::poll_timeout). Send the ACK that they return.

use super::profile::{Kernel, Switches};
use super::ranges::{Range, RangeSet};
use super::{Ack, SackBlocks};
use crate::schedule::NEVER;

/// How many ACKs of out-of-order data leave at once before compression starts.
const UNCOMPRESSED_DUPLICATE_ACKS: u32 = 3;
/// SACK blocks that an ACK always has room for, even beside a D-SACK.
const SACK_BLOCKS_EXPECTED: usize = 2;
/// `tcp_comp_sack_nr`: how many ACKs one compressed ACK may replace.
const MAX_COMPRESSED: u32 = 44;
/// `tcp_comp_sack_delay_ns`.
const MAX_COMPRESSION_NS: u64 = 1_000_000;

/// The receiving end of a connection. Its application reads all data at once.
#[derive(Clone, Debug)]
pub struct Receiver {
    sack_compression: bool,
    /// How many segments get an ACK each when quick ACKs start.
    quick_acks_each: u32,
    delayed_ack_ns: u64,
    segments_per_ack: u32,
    rtt_ns: u64,
    rcv_nxt: u64,
    out_of_order: RangeSet,
    /// Recently reported ranges, the most recent first (RFC 2018, section 4).
    reported: [Range; 4],
    /// RFC 7323's TS.Recent and Last.ACK.sent.
    ts_recent_ns: u64,
    last_ack_sent: u64,
    /// In-order segments since the last ACK.
    unacked: u32,
    quick_acks: u32,
    delayed_ack_at_ns: u64,
    last_arrival_ns: u64,
    duplicate_acks: u32,
    duplicate_acks_of: u64,
    compressed: u32,
    compressed_at_ns: u64,
    duplicates: u64,
}

impl Receiver {
    /// Makes a receiver that has just accepted a connection over a path of this RTT.
    pub fn new(kernel: &Kernel, switches: &Switches, rtt_ns: u64) -> Self {
        Self {
            sack_compression: kernel.sack_compression,
            quick_acks_each: kernel.quick_acks,
            delayed_ack_ns: kernel.delayed_ack_us * 1_000,
            segments_per_ack: switches.segments_per_ack,
            rtt_ns,
            rcv_nxt: 0,
            out_of_order: RangeSet::default(),
            reported: [(0, 0); 4],
            ts_recent_ns: 0,
            last_ack_sent: 0,
            unacked: 0,
            quick_acks: kernel.quick_acks,
            delayed_ack_at_ns: NEVER,
            last_arrival_ns: NEVER,
            duplicate_acks: 0,
            duplicate_acks_of: 0,
            compressed: 0,
            compressed_at_ns: NEVER,
            duplicates: 0,
        }
    }

    /// Segments delivered to the application: in order, each once.
    pub fn delivered(&self) -> u64 {
        self.rcv_nxt
    }

    /// Segments that wait for a gap below them.
    pub fn waiting(&self) -> u64 {
        self.out_of_order.len()
    }

    /// Segments that arrived again.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// When to call [`handle_timeout`](Self::handle_timeout).
    #[inline]
    pub fn poll_timeout(&self) -> u64 {
        self.delayed_ack_at_ns.min(self.compressed_at_ns)
    }

    /// Returns the delayed or compressed ACK that is due; `None` if no ACK is due.
    pub fn handle_timeout(&mut self, now_ns: u64) -> Option<Ack> {
        if self.poll_timeout() > now_ns {
            return None;
        }
        Some(self.ack(None))
    }

    /// Handles an arriving segment that was sent at `sent_ns`. `last`: the segment ends the flow.
    /// Returns an ACK if one leaves now.
    #[inline]
    pub fn handle_segment(
        &mut self,
        now_ns: u64,
        segment: u64,
        sent_ns: u64,
        last: bool,
    ) -> Option<Ack> {
        let idle_ns = now_ns.saturating_sub(self.last_arrival_ns);
        self.last_arrival_ns = now_ns;
        if segment <= self.last_ack_sent {
            self.ts_recent_ns = self.ts_recent_ns.max(sent_ns);
        }
        if segment == self.rcv_nxt && self.out_of_order.is_empty() {
            self.rcv_nxt += 1;
            self.unacked += 1;
            // A pause longer than the RTO: the sender may be in slow start again.
            if idle_ns > (3 * self.rtt_ns).max(self.rtt_ns + 200_000_000) && idle_ns != NEVER {
                self.quick_acks = self.quick_acks_each;
            }
            if self.unacked >= self.segments_per_ack || self.quick_acks > 0 || last {
                return Some(self.ack(None));
            }
            if self.delayed_ack_at_ns == NEVER {
                self.delayed_ack_at_ns = now_ns + self.delayed_ack_ns;
            }
            return None;
        }
        self.handle_out_of_order(now_ns, segment)
    }

    #[cold]
    #[inline(never)]
    fn handle_out_of_order(&mut self, now_ns: u64, segment: u64) -> Option<Ack> {
        if segment < self.rcv_nxt || self.out_of_order.contains(segment) {
            self.duplicates += 1;
            self.quick_acks = self.quick_acks_each;
            return Some(self.ack(Some((segment, segment + 1))));
        }
        let mut overflow = None;
        if segment == self.rcv_nxt {
            self.rcv_nxt += 1;
            if let Some((start, end)) = self.out_of_order.first() {
                if start == self.rcv_nxt {
                    self.rcv_nxt = end;
                }
            }
            self.out_of_order.remove_below(self.rcv_nxt);
            for range in &mut self.reported {
                if range.1 <= self.rcv_nxt {
                    *range = (0, 0);
                }
            }
            if self.out_of_order.is_empty() {
                // RFC 5681, 4.2: send an ACK at once when a gap is filled.
                return Some(self.ack(None));
            }
        } else {
            overflow = self.flush_before(segment);
            let merged = self.out_of_order.insert((segment, segment + 1), |_| ());
            self.report(merged);
        }
        if !self.sack_compression || self.quick_acks > 0 || self.compressed >= MAX_COMPRESSED {
            return Some(self.ack(None));
        }
        if self.duplicate_acks_of != self.rcv_nxt {
            self.duplicate_acks_of = self.rcv_nxt;
            self.duplicate_acks = 0;
        }
        if self.duplicate_acks < UNCOMPRESSED_DUPLICATE_ACKS {
            self.duplicate_acks += 1;
            return Some(self.ack(None));
        }
        self.compressed += 1;
        if self.compressed_at_ns == NEVER {
            self.compressed_at_ns = now_ns + (self.rtt_ns / 20).min(MAX_COMPRESSION_NS);
        }
        overflow
    }

    /// A segment that touches neither of the two most recent blocks may push out a block that no
    /// ACK has reported yet. Then the compressed ACK must leave first.
    fn flush_before(&mut self, segment: u64) -> Option<Ack> {
        let touches = |range: &Range| range.0 <= segment + 1 && segment <= range.1 && range.1 > 0;
        let recent = self.reported[..SACK_BLOCKS_EXPECTED].iter();
        let overflows = self.compressed > 0
            && !recent.clone().any(touches)
            && !recent.clone().any(|range| range.1 == 0);
        overflows.then(|| self.ack(None))
    }

    /// Puts a range first in the list of reported ranges, and removes the ranges that it contains.
    fn report(&mut self, merged: Range) {
        let old = self.reported;
        let others = old
            .iter()
            .filter(|range| range.0 < merged.0 || range.1 > merged.1);
        self.reported = [(0, 0); 4];
        self.reported[0] = merged;
        for (slot, range) in self.reported[1..]
            .iter_mut()
            .zip(others.filter(|range| range.1 > 0))
        {
            *slot = *range;
        }
    }

    #[inline]
    fn ack(&mut self, duplicate: Option<Range>) -> Ack {
        self.unacked = 0;
        self.delayed_ack_at_ns = NEVER;
        self.quick_acks = self.quick_acks.saturating_sub(1);
        self.last_ack_sent = self.rcv_nxt;
        let mut sacks = SackBlocks::default();
        if duplicate.is_some() || !self.out_of_order.is_empty() || self.compressed > 0 {
            self.compressed = 0;
            self.compressed_at_ns = NEVER;
            if let Some(range) = duplicate {
                sacks.duplicate = true;
                sacks.push(range);
            }
            for range in self.reported.iter().filter(|range| range.1 > 0) {
                sacks.push(*range);
            }
        }
        Ack {
            ack: self.rcv_nxt,
            echo_ns: self.ts_recent_ns,
            sacks,
        }
    }
}
