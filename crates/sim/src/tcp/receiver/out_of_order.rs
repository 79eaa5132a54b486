//! Segments out of order: what waits for a gap, the SACK blocks that report it, and the compression of
//! their ACKs (`tcp_data_queue_ofo`, `__tcp_ack_snd_check`).

use super::super::ack::{Ack, MOST_SACKS, SACKS_BESIDE_STAMPS};
use super::super::ranges::near;
use super::super::sack_list::SackList;
use super::Receiver;

/// How many ACKs of out-of-order data leave at once before compression starts.
const UNCOMPRESSED_DUPLICATE_ACKS: u8 = 3;
/// `tcp_comp_sack_nr`: how many ACKs one compressed ACK may replace.
const MAX_COMPRESSED: u8 = 44;

impl Receiver {
    /// From now on it acknowledges packets that never came, and reports nothing else.
    pub fn hide_losses(&mut self) {
        self.hides_losses = true;
    }

    /// Segments that wait for a gap below them, or for more to merge.
    pub fn waiting(&self) -> u64 {
        let gro = self.batch.as_ref().and_then(|batch| batch.gro.as_ref());
        self.out_of_order.len() + gro.map_or(0, |gro| gro.waiting())
    }

    /// A segment that is not the next one, or that arrives while a gap is open.
    #[cold]
    #[inline(never)]
    pub(super) fn handle_out_of_order(&mut self, segment: u64, pushed: bool) -> Option<Ack> {
        self.handle_gap(segment, 1, pushed)
    }

    /// The same, of several that GRO has merged.
    #[cold]
    #[inline(never)]
    pub(super) fn handle_many_out_of_order(
        &mut self,
        first: u64,
        segments: u64,
        pushed: bool,
    ) -> Option<Ack> {
        let known = |of: &Self| of.rcv_nxt + of.out_of_order.len();
        let (before, duplicates) = (known(self), self.duplicates);
        let answer = self.handle_gap(first, segments, pushed);
        // Some of them may be.
        self.duplicates = duplicates + segments - (known(self) - before);
        answer
    }

    #[inline(always)]
    fn handle_gap(&mut self, segment: u64, segments: u64, pushed: bool) -> Option<Ack> {
        let end = segment + segments;
        if self.hides_losses {
            self.rcv_nxt = self.rcv_nxt.max(end);
            self.data_received(pushed);
            return self.answer(true);
        }
        self.scheduled = true;
        // `tcp_data_queue` forgets a D-SACK whose ACK is compressed.
        self.duplicate = None;
        if end <= self.rcv_nxt {
            self.duplicates += segments;
            self.report_duplicate(segment, segments);
            self.enter_quick_ack_mode(self.max_quick_acks);
        } else if segment <= self.rcv_nxt {
            let is_first = self.rcv_nxt == 0;
            if segments > 1 && segment < self.rcv_nxt {
                self.report_duplicate(segment, self.rcv_nxt - segment);
            }
            self.rcv_nxt = end;
            if segments > 1 {
                self.out_of_order.remove_below(end);
            }
            self.data_received(pushed);
            self.grow_window(is_first);
            if let Some((start, end)) = self.out_of_order.first() {
                if start == self.rcv_nxt {
                    self.rcv_nxt = end;
                }
            }
            self.out_of_order.remove_below(self.rcv_nxt);
            if let Some(tuned) = &mut self.tuned {
                tuned.queue.take(self.rcv_nxt);
            }
            self.sacks
                .remove_below(self.rcv_nxt, self.out_of_order.is_empty());
            if self.out_of_order.is_empty() {
                // RFC 5681, 4.2: send an ACK at once when a gap is filled.
                return self.answer(true);
            }
        } else {
            self.check_ce();
            self.grow_window(self.rcv_nxt == 0);
            let (mut new, range) = (false, (segment, end));
            self.out_of_order.insert(range, |_| new = true);
            if !new {
                self.duplicates += segments;
                self.report_duplicate(segment, segments);
            }
            if new {
                self.tune(Some(segment));
                if self.rcv_nxt == 0 && self.has_sack {
                    self.advertised.grow();
                }
            }
            let place = self.sacks.extend(range);
            // The ACK that leaves for a block has its new length, at the block's old place.
            let overflows = self.compressed > 0 && SackList::overflows(place);
            let overflow = overflows.then(|| self.ack());
            self.sacks.put_first(range, place);
            if overflow.is_some() {
                // This ACK was the segment's: nothing is scheduled any more.
                return overflow;
            }
        }
        let answers = self.answers_gap();
        self.answer(answers)
    }

    /// A segment that was acknowledged before, or left before one that has moved the window (PAWS, RFC 7323,
    /// 5), which is what reordering does to an original behind a retransmission. TCP does not take it, does
    /// not remember its timestamp, and acknowledges what it has (`tcp_send_dupack`).
    #[cold]
    #[inline(never)]
    pub(super) fn discard(&mut self, segment: u64, segments: u64) -> Option<Ack> {
        self.duplicates += segments;
        if segment < self.rcv_nxt {
            self.report_duplicate(segment, segments);
            self.enter_quick_ack_mode(self.max_quick_acks);
        }
        Some(self.ack())
    }

    /// The next ACK has a D-SACK of these segments (`tcp_dsack_set`).
    #[inline(always)]
    fn report_duplicate(&mut self, segment: u64, segments: u64) {
        self.duplicate = Some(segment as u32);
        if let Some(gro) = self.gro() {
            gro.duplicate_segments = segments;
        }
    }

    fn duplicate_segments(&self) -> u64 {
        let gro = self.batch.as_ref().and_then(|batch| batch.gro.as_ref());
        gro.map_or(1, |gro| gro.duplicate_segments)
    }

    /// `tcp_grow_window`, until the application has read its `first` data and asked for a smaller window:
    /// the number of quick ACKs is odd, at least one. Out-of-order data before the first segment in order then end
    /// the quick ACKs of the start before they begin.
    fn grow_window(&mut self, first: bool) {
        if first && self.clamped && self.advertised.grows() {
            self.quick_acks |= 1;
        }
    }

    /// `__tcp_ack_snd_check` while a gap is open: whether an ACK leaves now. If not it is
    /// compressed.
    #[inline(always)]
    fn answers_gap(&mut self) -> bool {
        let Some(compression) = self.sack_compression.filter(|_| self.has_sack) else {
            return true;
        };
        let full = self.compressed >= MAX_COMPRESSED;
        if self.has_enough() || self.acknowledges_each() || full {
            return true;
        }
        if self.duplicate_acks_of != self.rcv_nxt {
            self.duplicate_acks_of = self.rcv_nxt;
            self.duplicate_acks = 0;
        }
        if self.duplicate_acks < UNCOMPRESSED_DUPLICATE_ACKS {
            self.duplicate_acks += 1;
            return true;
        }
        self.compressed += 1;
        if self.compressed == 1 {
            let delay_ns = match (&self.rtt, &self.window_rtt) {
                (Some(rtt), _) => compression.delay_ns(rtt.smallest()),
                (None, Some(rtt)) => compression.delay_ns(rtt.smallest()),
                (None, None) => self.compression_ns.into(),
            };
            self.compressed_at_ns = self.clock.now_ns() + delay_ns + compression.slack_ns();
            self.await_reader(self.compressed_at_ns);
            self.await_batch(self.compressed_at_ns);
        }
        false
    }

    #[cold]
    pub(super) fn report(&mut self, ack: Ack) -> Ack {
        let reported = self.duplicate.take().filter(|_| self.has_sack);
        let duplicate = reported.map(|bits| near(self.rcv_nxt, bits));
        let duplicate = duplicate.map(|segment| (segment, segment + self.duplicate_segments()));
        let known = self.sacks.known().filter(|_| self.has_sack);
        let most = match self.stamps {
            true => SACKS_BESIDE_STAMPS,
            false => MOST_SACKS,
        };
        let blocks = duplicate.into_iter().chain(known).take(most);
        ack.with_sacks(blocks, duplicate.is_some())
    }
}
