//! The receiver: reassembly, delayed ACKs (RFC 5681, 4.2), quick ACKs, SACK (RFC 2018, 2883) and
//! its compression (`tcp_data_queue`, `__tcp_ack_snd_check`), and the ACKs that its application
//! causes when it reads (`__tcp_cleanup_rbuf`).
//!
//! How to drive it: call [`handle_segment`](Receiver::handle_segment) with each packet that
//! arrives, or with ECN [`handle_marked_segment`](Receiver::handle_marked_segment), and
//! [`handle_timeout`](Receiver::handle_timeout) at the time of
//! [`poll_timeout`](Receiver::poll_timeout). Send the ACKs that they return.

use super::clock::Clock;
use super::ecn::{Arrival, Echo};
use super::profile::{Kernel, Reads, Switches, RTO_MIN_US};
use super::ranges::{near, Range, RangeSet};
use super::{Ack, Marks};
use ackclock_host::{
    CongestionControl, ICSK_ACK_NOW, ICSK_ACK_PUSHED, ICSK_ACK_SCHED, ICSK_ACK_TIMER,
};
use ackclock_net::schedule::NEVER;

/// How many ACKs of out-of-order data leave at once before compression starts.
const UNCOMPRESSED_DUPLICATE_ACKS: u32 = 3;
/// `TCP_SACK_BLOCKS_EXPECTED`: SACK blocks that an ACK always has room for, even beside a D-SACK.
const SACK_BLOCKS_EXPECTED: usize = 2;
/// `TCP_NUM_SACKS`: how many blocks the receiver remembers.
const SACK_BLOCKS: usize = 4;
/// `tcp_comp_sack_nr`: how many ACKs one compressed ACK may replace.
const MAX_COMPRESSED: u32 = 44;
/// `tcp_comp_sack_delay_ns` and `tcp_comp_sack_slack_ns`. The timer uses the slack to its end.
const MAX_COMPRESSION_NS: u64 = 1_000_000;
const COMPRESSION_SLACK_NS: u64 = 100_000;
/// `TCP_DELACK_MAX`, µs: bounds the delay of an ACK for pushed data.
const DELACK_MAX_US: u64 = 200_000;
/// How many ACKs leave at once after a mark.
const ECN_QUICK_ACKS: u32 = 2;
/// Segments that change the window field of an ACK by one step of 16 KiB, if the window is clamped:
/// an ACK of fewer repeats the field of the ACK before (`tcp_select_window`).
const WINDOW_STEP_SEGMENTS: u64 = 12;

/// The receiving end of a connection. In memory the fields have this order: what each packet needs
/// comes first, and what only a gap needs comes last.
#[derive(Debug)]
#[repr(C)]
pub struct Receiver {
    rcv_nxt: u64,
    /// RFC 7323's Last.ACK.sent and TS.Recent; Linux calls the former `rcv_wup`.
    last_ack_sent: u64,
    ts_recent_ns: u64,
    /// The application reads as soon as all segments below this one are in order.
    reads_at: u64,
    /// Segments in order before this time need no more than
    /// [`handle_ordinary`](Self::handle_ordinary).
    ordinary_until_ns: u64,
    segments_per_ack: u32,
    /// ICSK_ACK_SCHED, ICSK_ACK_PUSHED, ICSK_ACK_TIMER: what is pending until an ACK leaves.
    scheduled: bool,
    pushed: bool,
    delayed: bool,
    /// `ICSK_ACK_NOW`: an ACK must leave now.
    acks_now: bool,
    sack_compression: bool,
    /// It acknowledges what is missing.
    hides_losses: bool,
    /// The application has asked for a window below the right edge (TCP_WINDOW_CLAMP), which never
    /// moves back.
    clamped: bool,
    /// When the delayed-ACK timer fires. An ACK does not stop it (`inet_csk_clear_xmit_timer`).
    delayed_ack_at_ns: u64,
    compressed_at_ns: u64,
    /// In which jiffy the delayed-ACK timer was armed, and for how many.
    armed: (u32, u32),
    /// The current delay of an ACK, jiffies; 0 before the first segment.
    ato: u32,
    /// `TCP_ATO_MIN`, jiffies.
    min_ato: u32,
    last_arrival: u32,
    quick_acks: u32,
    /// `TCP_MAX_QUICKACKS`, or fewer with a small window.
    max_quick_acks: u32,
    /// How many segments the application wants to read at once (`SO_RCVLOWAT`).
    read_segments: u64,
    clock: Clock,
    /// `None`: the connection does not use ECN.
    echo: Option<Box<Echo>>,

    out_of_order: RangeSet,
    /// The SACK list, the most recent block first; empty blocks follow.
    blocks: [Range; SACK_BLOCKS],
    /// A duplicate segment that the next ACK reports (RFC 2883): its last bits.
    duplicate: Option<u32>,
    duplicate_acks: u32,
    compressed: u32,
    duplicate_acks_of: u64,
    /// The delay of a compressed ACK.
    compression_ns: u64,
    /// Bounds of the delay of an ACK, jiffies: with PSH, and without.
    max_delay: (u32, u32),
    /// The retransmission timeout of this end, jiffies.
    rto: u32,
    duplicates: u64,
}

impl Receiver {
    /// Makes a receiver that has just accepted a connection over a path of this RTT.
    pub fn new(kernel: &Kernel, switches: &Switches, clock: Clock, rtt_ns: u64) -> Self {
        let rtt_us = rtt_ns / 1_000;
        let jiffies = |us| clock.jiffies_of_us(us) as u32;
        let min_ato = jiffies(kernel.delayed_ack_us);
        let rtt = jiffies(rtt_us).max(min_ato);
        let bounded = |max_us| rtt.min(jiffies(max_us));
        Self {
            clock,
            sack_compression: kernel.sack_compression,
            max_quick_acks: kernel.quick_acks,
            segments_per_ack: switches.segments_per_ack,
            read_segments: match switches.reads {
                Reads::AtOnce => 1,
                Reads::Bulk { segments } => segments,
            },
            clamped: kernel.clamps_window,
            compression_ns: (rtt_ns / 20).min(MAX_COMPRESSION_NS) + COMPRESSION_SLACK_NS,
            min_ato,
            max_delay: (bounded(DELACK_MAX_US), bounded(500_000)),
            rto: jiffies(rtt_us + (2 * rtt_us).max(RTO_MIN_US.into())),
            rcv_nxt: 0,
            out_of_order: RangeSet::default(),
            blocks: [(0, 0); SACK_BLOCKS],
            duplicate: None,
            ts_recent_ns: 0,
            last_ack_sent: 0,
            // Even a reader in bulk reads the first segment at once.
            reads_at: 1,
            scheduled: false,
            pushed: false,
            delayed: false,
            delayed_ack_at_ns: NEVER,
            armed: (0, 0),
            quick_acks: 0,
            ato: 0,
            last_arrival: 0,
            duplicate_acks: 0,
            duplicate_acks_of: 0,
            compressed: 0,
            compressed_at_ns: NEVER,
            duplicates: 0,
            hides_losses: false,
            echo: None,
            acks_now: false,
            ordinary_until_ns: 0,
        }
    }

    /// Never offers more segments than these. It acknowledges half of such a window one by one; of
    /// one segment, 2 (`tcp_incr_quickack`).
    pub fn offer_at_most(&mut self, window: u64) {
        let half = if window < 2 { 2 } else { window / 2 };
        let half = u32::try_from(half).unwrap_or(u32::MAX);
        self.max_quick_acks = self.max_quick_acks.min(half);
    }

    /// It acknowledges packets that never came, and reports nothing else.
    pub fn hide_losses(&mut self) {
        self.hides_losses = true;
    }

    /// Both ends have agreed to use ECN. `algorithm`: that of this end, if it needs ECN.
    pub fn use_ecn(&mut self, algorithm: Option<CongestionControl>) {
        self.echo = Some(Box::new(Echo::new(algorithm)));
    }

    /// Both ends have agreed to use accurate ECN (RFC 9768).
    pub fn use_accurate_ecn(&mut self) {
        self.echo = Some(Box::new(Echo::accurate()));
    }

    /// Whether both ends have agreed to use accurate ECN.
    pub(crate) fn uses_accurate_ecn(&self) -> bool {
        self.echo.as_ref().is_some_and(|echo| echo.is_accurate())
    }

    /// Whether both ends have agreed to use ECN.
    pub(crate) fn uses_ecn(&self) -> bool {
        self.echo.is_some()
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

    /// Asks for the memory of a gap, when the receiver itself is in the cache.
    #[inline(always)]
    pub(crate) fn prefetch_gap(&self) {
        self.out_of_order.prefetch();
    }

    /// When to call [`handle_timeout`](Self::handle_timeout).
    #[inline]
    pub fn poll_timeout(&self) -> u64 {
        self.delayed_ack_at_ns.min(self.compressed_at_ns)
    }

    /// Handles the timer that is due at `now_ns`, if one is. Returns the ACK that it sends. Two
    /// timers may be due: call it until [`poll_timeout`](Self::poll_timeout) is later.
    #[inline(never)]
    pub fn handle_timeout(&mut self, now_ns: u64) -> Option<Ack> {
        self.ordinary_until_ns = 0;
        self.clock.advance(now_ns);
        if self.compressed_at_ns <= now_ns {
            return Some(self.ack());
        }
        if self.delayed_ack_at_ns > now_ns {
            return None;
        }
        self.delayed_ack_at_ns = NEVER;
        self.armed = (0, 0);
        // `tcp_delack_timer_handler`: whatever armed it, it sends a compressed ACK.
        if self.compressed > 0 {
            return Some(self.ack());
        }
        if !std::mem::take(&mut self.delayed) || !self.scheduled {
            return None;
        }
        self.ato = (self.ato << 1).min(self.rto);
        Some(self.ack())
    }

    /// Handles an arriving segment that was sent at `sent_ns`. `pushed`: it has the PSH flag.
    /// `last`: it ends the flow. Returns an ACK if one leaves now.
    #[inline(always)]
    pub fn handle_segment(
        &mut self,
        now_ns: u64,
        segment: u64,
        sent_ns: u64,
        pushed: bool,
        last: bool,
    ) -> Option<Ack> {
        if self.is_ordinary(now_ns, segment) && !last {
            return self.handle_ordinary(sent_ns, pushed);
        }
        self.clock.advance(now_ns);
        let answer = self.handle_any(segment, sent_ns, pushed, last);
        self.ordinary_until_ns = self.ordinary_until_ns();
        answer
    }

    /// Whether a segment that arrives now needs no more than
    /// [`handle_ordinary`](Self::handle_ordinary), unless it is the last. No timer is due then.
    #[inline]
    pub(crate) fn is_ordinary(&self, now_ns: u64, segment: u64) -> bool {
        now_ns < self.ordinary_until_ns && segment == self.rcv_nxt
    }

    /// Until when each segment in order finds this state: no gap, the delay of ACKs settled, their
    /// timer armed in this jiffy, and an application that reads each segment. Then nothing waits to be
    /// reported either, and at most one segment waits for its ACK.
    fn ordinary_until_ns(&self) -> u64 {
        let ordinary = self.out_of_order.is_empty()
            && self.echo.is_none()
            && self.quick_acks == 0
            && self.ato == self.min_ato
            && self.armed == (self.clock.jiffies() as u32, self.ato)
            && self.read_segments == 1;
        if ordinary {
            self.clock.next_tick_ns()
        } else {
            0
        }
    }

    /// What [`handle_any`](Self::handle_any) does with a segment in order while
    /// [`is_ordinary`](Self::is_ordinary): most packets come this way.
    #[inline]
    pub(crate) fn handle_ordinary(&mut self, sent_ns: u64, pushed: bool) -> Option<Ack> {
        let first = self.rcv_nxt == self.last_ack_sent;
        if first {
            self.ts_recent_ns = self.ts_recent_ns.max(sent_ns);
        }
        self.rcv_nxt += 1;
        self.reads_at = self.rcv_nxt + 1;
        if first && !pushed && self.segments_per_ack > 1 {
            (self.scheduled, self.delayed) = (true, true);
            return None;
        }
        (self.scheduled, self.delayed) = (false, false);
        self.last_ack_sent = self.rcv_nxt;
        Some(Ack::new(self.rcv_nxt, self.ts_recent_ns))
    }

    /// Whether two segments, the second of which arrives now, need no more than
    /// [`handle_pair`](Self::handle_pair): one ACK leaves. `pushed`: the second has the PSH flag.
    #[inline(always)]
    pub fn is_ordinary_pair(&self, now_ns: u64, segment: u64, pushed: bool) -> bool {
        let one_waits = self.rcv_nxt != self.last_ack_sent;
        self.is_ordinary(now_ns, segment) && self.segments_per_ack > 1 && !(pushed && one_waits)
    }

    /// What [`handle_ordinary`](Self::handle_ordinary) does with two segments. Returns the ACK, and
    /// which segment causes it: the second, or the first if one waited for its ACK.
    #[inline(always)]
    pub fn handle_pair(&mut self, sent_ns: u64) -> (usize, Ack) {
        let one_waited = self.rcv_nxt != self.last_ack_sent;
        let echo_ns = self.ts_recent_ns;
        self.ts_recent_ns = echo_ns.max(sent_ns);
        self.rcv_nxt += 2;
        self.reads_at = self.rcv_nxt + 1;
        debug_assert!(self.scheduled == one_waited && self.delayed == one_waited);
        if one_waited {
            self.last_ack_sent = self.rcv_nxt - 1;
            return (0, Ack::new(self.last_ack_sent, echo_ns));
        }
        self.last_ack_sent = self.rcv_nxt;
        (1, Ack::new(self.last_ack_sent, self.ts_recent_ns))
    }

    #[inline(never)]
    fn handle_any(&mut self, segment: u64, sent_ns: u64, pushed: bool, last: bool) -> Option<Ack> {
        if segment <= self.last_ack_sent {
            self.ts_recent_ns = self.ts_recent_ns.max(sent_ns);
        }
        if segment != self.rcv_nxt || !self.out_of_order.is_empty() {
            return self.handle_out_of_order(segment, pushed);
        }
        self.rcv_nxt += 1;
        self.data_received(pushed);
        let answers = last || self.has_enough() || self.acknowledges_each();
        if !answers {
            self.delay_ack();
        }
        self.answer(answers)
    }

    /// The same for a packet that may have marks. Returns up to two ACKs, in the order in which they
    /// leave.
    #[inline(never)]
    pub fn handle_marked_segment(
        &mut self,
        now_ns: u64,
        segment: u64,
        sent_ns: u64,
        [pushed, last]: [bool; 2],
        marks: Marks,
    ) -> [Option<Ack>; 2] {
        if let Some(echo) = &mut self.echo {
            // `tcp_sequence`
            let old = segment + 1 < self.last_ack_sent;
            self.acks_now |= echo.hear(marks, old);
        }
        let answer = self.handle_segment(now_ns, segment, sent_ns, pushed, last);
        let early = self.echo.as_mut().and_then(|echo| echo.early.take());
        [early, answer]
    }

    /// Lets the application read. Sends an ACK if the segment `answers`, or if reading causes one.
    #[inline]
    fn answer(&mut self, answers: bool) -> Option<Ack> {
        let reads = self.will_read();
        if reads {
            self.reads_at = self.rcv_nxt + self.read_segments;
        }
        (answers || (reads && self.reading_answers())).then(|| self.ack())
    }

    /// A segment that is not the next one, or that arrives while a gap is open.
    #[cold]
    #[inline(never)]
    fn handle_out_of_order(&mut self, segment: u64, pushed: bool) -> Option<Ack> {
        if self.hides_losses {
            self.rcv_nxt = self.rcv_nxt.max(segment + 1);
            self.data_received(pushed);
            return self.answer(true);
        }
        self.scheduled = true;
        if segment < self.rcv_nxt {
            self.duplicates += 1;
            self.duplicate = Some(segment as u32);
            self.enter_quick_ack_mode(self.max_quick_acks);
        } else if segment == self.rcv_nxt {
            self.rcv_nxt += 1;
            self.data_received(pushed);
            if let Some((start, end)) = self.out_of_order.first() {
                if start == self.rcv_nxt {
                    self.rcv_nxt = end;
                }
            }
            self.out_of_order.remove_below(self.rcv_nxt);
            self.remove_sacks();
            if self.out_of_order.is_empty() {
                // RFC 5681, 4.2: send an ACK at once when a gap is filled.
                return self.answer(true);
            }
        } else {
            self.check_ce();
            let mut new = false;
            self.out_of_order
                .insert((segment, segment + 1), |_| new = true);
            if !new {
                self.duplicates += 1;
                self.duplicate = Some(segment as u32);
            }
            let overflow = self.overflows(segment).then(|| self.ack());
            self.add_sack((segment, segment + 1));
            if overflow.is_some() {
                // This ACK was the segment's: nothing is scheduled any more.
                return overflow;
            }
        }
        let answers = self.answers_gap();
        self.answer(answers)
    }

    /// `tcp_event_data_recv`: the engine of delayed and quick ACKs sees a segment in order.
    #[inline]
    fn data_received(&mut self, pushed: bool) {
        self.scheduled = true;
        self.pushed |= pushed;
        let now = self.clock.jiffies() as u32;
        if now != self.last_arrival || self.ato != self.min_ato {
            self.adapt_delay(now);
        }
        if self.echo.is_some() {
            self.check_ce();
        }
    }

    /// `tcp_ecn_check_ce`, for a packet that is new.
    #[cold]
    fn check_ce(&mut self) {
        let pending = [
            (self.scheduled, ICSK_ACK_SCHED),
            (self.delayed, ICSK_ACK_TIMER),
            (self.pushed, ICSK_ACK_PUSHED),
            (self.acks_now, ICSK_ACK_NOW),
        ];
        let arrival = Arrival {
            now_ns: self.clock.now_ns(),
            jiffies: self.clock.jiffies(),
            rcv_nxt: self.rcv_nxt,
            pending: pending.iter().map(|&(set, bit)| bit * u8::from(set)).sum(),
        };
        let Some(mut echo) = self.echo.take() else {
            return;
        };
        let orders = echo.check_ce(arrival);
        if orders.quick {
            self.enter_quick_ack_mode(ECN_QUICK_ACKS);
        }
        echo.early = orders.before.map(|(below, ece)| self.ack_below(below, ece));
        self.acks_now |= orders.now;
        self.echo = Some(echo);
    }

    /// `tcp_enter_quickack_mode`
    fn enter_quick_ack_mode(&mut self, acks: u32) {
        self.quick_acks = self.quick_acks.max(acks);
        self.ato = self.min_ato;
    }

    #[inline(never)]
    fn adapt_delay(&mut self, now: u32) {
        if self.ato == 0 {
            // The window still grows (`tcp_grow_window`): one more than usual.
            self.quick_acks = self.max_quick_acks | 1;
            self.ato = self.min_ato;
        } else {
            let pause = now.wrapping_sub(self.last_arrival);
            if pause <= self.min_ato / 2 {
                self.ato = (self.ato >> 1) + self.min_ato / 2;
            } else if pause < self.ato {
                self.ato = ((self.ato >> 1) + pause).min(self.rto);
            } else if pause > self.rto {
                // The sender may be in slow start again.
                self.quick_acks = self.quick_acks.max(self.max_quick_acks);
            }
        }
        self.last_arrival = now;
    }

    /// The first test of `__tcp_ack_snd_check`: enough has arrived, unless a reader of a clamped
    /// window will read it now, and send the ACK.
    #[inline]
    fn has_enough(&self) -> bool {
        self.rcv_nxt - self.last_ack_sent >= 2 && !(self.clamped && self.will_read())
    }

    /// The other tests.
    #[inline]
    fn acknowledges_each(&self) -> bool {
        self.quick_acks > 0 || self.segments_per_ack == 1 || self.acks_now
    }

    /// `__tcp_ack_snd_check` while a gap is open: whether an ACK leaves now. If not it is
    /// compressed.
    fn answers_gap(&mut self) -> bool {
        let full = !self.sack_compression || self.compressed >= MAX_COMPRESSED;
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
        if self.compressed_at_ns == NEVER {
            self.compressed_at_ns = self.clock.now_ns() + self.compression_ns;
        }
        false
    }

    /// `tcp_send_delayed_ack`. Each first segment after an ACK arms the timer anew.
    #[inline]
    fn delay_ack(&mut self) {
        if self.delayed {
            return;
        }
        let mut delay = self.ato;
        if delay > self.min_ato {
            let (pushed, usual) = self.max_delay;
            delay = delay.min(if self.pushed { pushed } else { usual });
        }
        self.delayed = true;
        let armed = (self.clock.jiffies() as u32, delay);
        if self.armed != armed {
            self.armed = armed;
            self.delayed_ack_at_ns = self.clock.fires_ns(delay.into());
        }
    }

    /// Whether enough data is in order for the application.
    #[inline]
    fn will_read(&self) -> bool {
        self.rcv_nxt >= self.reads_at
    }

    /// The application has read what is in order. Whether an ACK leaves (`__tcp_cleanup_rbuf`):
    /// because enough has arrived, or because the buffer is empty now and the sender has marked the
    /// end of a burst.
    #[inline]
    fn reading_answers(&self) -> bool {
        let enough = self.rcv_nxt - self.last_ack_sent >= 2;
        self.scheduled && (enough || (self.pushed && self.out_of_order.is_empty()))
    }

    /// The first block of the SACK list that touches the range.
    fn touched(&self, range: Range) -> Option<usize> {
        self.blocks.iter().position(|&block| touches(block, range))
    }

    /// `tcp_sack_new_ofo_skb`: a segment that touches neither of the two most recent blocks may
    /// push out a block that no ACK has reported yet. Then the compressed ACK must leave first.
    fn overflows(&self, segment: u64) -> bool {
        let place = || {
            let known = self.blocks.iter().filter(|block| block.1 > 0).count();
            self.touched((segment, segment + 1)).unwrap_or(known)
        };
        self.compressed > 0 && place() >= SACK_BLOCKS_EXPECTED
    }

    /// Puts a range first in the SACK list: with the block that it extends and all that they touch
    /// then, or as a block of its own (`tcp_sack_new_ofo_skb`, `tcp_sack_maybe_coalesce`).
    fn add_sack(&mut self, mut range: Range) {
        let hull = |a: Range, b: Range| (a.0.min(b.0), a.1.max(b.1));
        let extended = self.touched(range);
        if let Some(index) = extended {
            range = hull(range, self.blocks[index]);
            let joined = self.blocks.iter().filter(|&&block| touches(block, range));
            if index == 0 && joined.count() == 1 {
                self.blocks[0] = range;
                return;
            }
        }
        let old = std::mem::replace(&mut self.blocks, [(0, 0); SACK_BLOCKS]);
        let mut used = 1;
        for (index, &block) in old.iter().enumerate() {
            if block.1 == 0 || extended == Some(index) {
                continue;
            }
            if extended.is_some() && touches(range, block) {
                range = hull(range, block);
            } else if let Some(slot) = self.blocks.get_mut(used) {
                *slot = block;
                used += 1;
            }
        }
        self.blocks[0] = range;
    }

    /// `tcp_sack_remove`: forgets blocks below the next expected segment.
    fn remove_sacks(&mut self) {
        let empty = self.out_of_order.is_empty();
        let old = self.blocks;
        let kept = old.iter().filter(|block| block.0 > self.rcv_nxt && !empty);
        self.blocks = [(0, 0); SACK_BLOCKS];
        for (slot, block) in self.blocks.iter_mut().zip(kept) {
            *slot = *block;
        }
    }

    /// `tcp_send_ack`: an ACK leaves, and nothing is pending any more.
    #[inline]
    fn ack(&mut self) -> Ack {
        self.forget_pending();
        let ece = self.echo.as_mut().and_then(|echo| echo.tell());
        self.write_ack(self.rcv_nxt, ece)
    }

    #[inline]
    fn forget_pending(&mut self) {
        if self.quick_acks > 0 && self.scheduled {
            self.quick_acks -= 1;
            if self.quick_acks == 0 {
                self.ato = self.min_ato;
            }
        }
        (self.scheduled, self.pushed, self.delayed) = (false, false, false);
        self.acks_now = false;
    }

    /// `__tcp_send_ack`: an ACK for less than has arrived. What is pending stays pending.
    #[cold]
    fn ack_below(&mut self, below: u64, ece: bool) -> Ack {
        let ece = ece.then_some(0);
        if below < self.rcv_nxt {
            return self.write_ack(below, ece);
        }
        self.forget_pending();
        self.write_ack(self.rcv_nxt, ece)
    }

    /// An ACK as it leaves. `ece`: it tells of marks, and how many.
    #[inline(always)]
    fn write_ack(&mut self, ack: u64, ece: Option<u32>) -> Ack {
        (self.compressed, self.compressed_at_ns) = (0, NEVER);
        // The first ACK's field is scaled, unlike that of the handshake.
        let steps = self.clamped && self.rcv_nxt - self.last_ack_sent >= WINDOW_STEP_SEGMENTS;
        let new_window = steps || self.last_ack_sent == 0;
        self.last_ack_sent = self.rcv_nxt;
        let mut ack = Ack::new(ack, self.ts_recent_ns);
        if self.blocks[0].1 > 0 || self.duplicate.is_some() {
            ack = self.report(ack);
        }
        if new_window {
            ack = ack.with_new_window();
        }
        match ece {
            Some(ce_packets) => ack.with_ece(ce_packets),
            None => ack,
        }
    }

    #[cold]
    fn report(&mut self, ack: Ack) -> Ack {
        let duplicate = self.duplicate.take().map(|bits| near(self.rcv_nxt, bits));
        let duplicate = duplicate.map(|segment| (segment, segment + 1));
        let known = self.blocks.iter().filter(|block| block.1 > 0);
        let blocks = duplicate.iter().chain(known).copied();
        ack.with_sacks(blocks, duplicate.is_some())
    }
}

/// `tcp_sack_extend`: whether two blocks overlap or adjoin. An empty block touches nothing.
fn touches(block: Range, other: Range) -> bool {
    block.1 > 0 && other.1 > 0 && block.0 <= other.1 && other.0 <= block.1
}
