//! The receiver: reassembly, delayed ACKs (RFC 5681, 4.2), quick ACKs, SACK (RFC 2018, 2883) and
//! its compression (`tcp_data_queue`, `__tcp_ack_snd_check`), and the ACKs that its application
//! causes when it reads (`__tcp_cleanup_rbuf`).
//!
//! How to drive it: call [`handle_segment`](Receiver::handle_segment) with each packet that
//! arrives, or with ECN [`handle_marked_segment`](Receiver::handle_marked_segment), and
//! [`handle_timeout`](Receiver::handle_timeout) at the time of
//! [`poll_timeout`](Receiver::poll_timeout). Send the ACKs that they return.

mod batch;
mod delayed_ack;
mod gro;
mod merged;
mod ordinary;
mod out_of_order;
mod queue;
mod reader;
mod slow;
mod tuned;

use super::ack::Ack;
use super::advertised_window::{most_packets, AdvertisedWindow};
use super::clock::Clock;
use super::ecn::Marks;
use super::ecn::{Arrival, Echo};
use super::profile::{Kernel, Reads, Switches};
use super::ranges::RangeSet;
use super::receive_buffer::ReceiveBuffer;
use super::receiver_rtt::{Compression, ReceiverRtt, WindowRtt};
use super::sack_list::SackList;
use ackclock_host::{
    CongestionControl, ICSK_ACK_NOW, ICSK_ACK_PUSHED, ICSK_ACK_SCHED, ICSK_ACK_TIMER,
};
use ackclock_net::schedule::NEVER;
pub(crate) use merged::Packet;
use reader::Batch;
use tuned::Tuned;

/// `TCP_DELACK_MAX`, µs: bounds the delay of an ACK for pushed data.
const DELACK_MAX_US: u64 = 200_000;
/// The bound of other delays, µs.
const DELACK_MAX_LATE_US: u64 = 500_000;
/// Timestamps count milliseconds. One may be older by so many.
const NS_PER_MS: u64 = 1_000_000;
const TCP_PAWS_WINDOW_MS: u64 = 1;
/// How many ACKs leave at once after a mark.
const ECN_QUICK_ACKS: u32 = 2;
/// Bytes of a segment, unless told otherwise.
const SEGMENT_BYTES: u32 = 1448;

/// `__tcp_ack_snd_check`: more than one full segment.
const LINUX_ENOUGH: u64 = 2;

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
    /// Those that left before this time echo the same ACK.
    same_echo_until_ns: u64,
    segments_per_ack: u32,
    /// ICSK_ACK_SCHED, ICSK_ACK_PUSHED, ICSK_ACK_TIMER: what is pending until an ACK leaves.
    scheduled: bool,
    pushed: bool,
    delayed: bool,
    /// `ICSK_ACK_NOW`: an ACK must leave now.
    acks_now: bool,
    sack_compression: Option<Compression>,
    /// Acknowledges what is missing.
    hides_losses: bool,
    /// The connection has SACK.
    has_sack: bool,
    /// Its packets have timestamps.
    stamps: bool,
    /// No short way is taken (ADR 17).
    long_way: bool,
    /// Does each ACK tell when it left? None then is ordinary.
    tells_departures: bool,
    /// The offered window is above the one that the application wants.
    clamped: bool,
    /// The handshake is over.
    established: bool,
    /// ACKs of out-of-order data that have left at once, and those that wait as one.
    duplicate_acks: u8,
    compressed: u8,
    /// When the delayed-ACK timer fires. An ACK does not stop it (`inet_csk_clear_xmit_timer`).
    delayed_ack_at_ns: u64,
    /// When a compressed ACK leaves. Where an application reads at a rate of its own, what comes first of
    /// that and its [`Reader`](reader::Reader)'s times.
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
    /// A longer delay has a bound, jiffies: it is above `TCP_ATO_MIN`, or at `delack_max`.
    unbounded_ato: u32,
    /// The retransmission timeout of this end, jiffies.
    rto: u32,
    /// Bounds `ato`, beside the RTO.
    most_ato: u32,
    /// How many segments the application wants to read at once (`SO_RCVLOWAT`).
    read_segments: u32,
    /// The delay of a compressed ACK on a path whose RTT nobody measures.
    compression_ns: u32,
    clock: Clock,
    /// `None`: the connection does not use ECN.
    echo: Option<Box<Echo>>,

    out_of_order: RangeSet,
    sacks: SackList,
    /// A duplicate segment that the next ACK reports (RFC 2883): its last bits.
    duplicate: Option<u32>,
    duplicate_acks_of: u64,
    advertised: AdvertisedWindow,
    /// How many segments it offers.
    window: u64,
    /// So many segments leave at most half of the window that is wanted; never, if it has no limit.
    half_window: u64,
    /// When it answered the SYN; `NEVER`: it knows the RTT of the path.
    answered_ns: u64,
    /// What it measures of a short path, or for a window that is tuned.
    rtt: Option<Box<ReceiverRtt>>,
    /// The same without timestamps.
    window_rtt: Option<Box<WindowRtt>>,
    /// The window that grows with what arrives; `None`: `advertised` says what it does.
    tuned: Option<Box<Tuned>>,
    /// The application reads after the packets of an instant; `None`: after each, of which no two are.
    batch: Option<Box<Batch>>,
    /// So many segments are acknowledged at once. With more than Linux's two, PSH brings no ACK.
    enough: u64,
    /// Bounds of the delay of an ACK, jiffies: with PSH, and without.
    max_delay: (u32, u32),
    /// `tcp_delack_max`, jiffies.
    delack_max: u32,
    rto_min_us: u32,
    duplicates: u64,
}

impl Receiver {
    /// Makes a receiver that has just accepted a connection over a path of this RTT.
    pub fn new(kernel: &Kernel, switches: &Switches, clock: Clock, rtt_ns: u64) -> Self {
        let min_ato = clock.jiffies_of_us(kernel.delayed_ack_us) as u32;
        let mut new = Self {
            clock,
            sack_compression: kernel.sack_compression,
            max_quick_acks: kernel.quick_acks,
            segments_per_ack: switches.segments_per_ack,
            enough: LINUX_ENOUGH.max(switches.segments_per_ack.into()),
            read_segments: match switches.reads {
                Reads::AtOnce => 1,
                Reads::Bulk { segments } => segments as u32,
            },
            clamped: kernel.clamps_window,
            advertised: AdvertisedWindow::unlimited(SEGMENT_BYTES),
            window: most_packets(SEGMENT_BYTES.into()),
            half_window: u64::MAX,
            answered_ns: NEVER,
            established: false,
            compression_ns: (kernel.sack_compression).map_or(0, |of| of.delay_of_path(rtt_ns)),
            rtt: None,
            window_rtt: None,
            tuned: None,
            batch: None,
            min_ato,
            max_delay: (0, 0),
            unbounded_ato: 0,
            rto_min_us: switches.rto_min_us(),
            delack_max: match switches.rto_min_us {
                Some(us) => clock.jiffies_of_us(us.into()).max(2) as u32 - 1,
                None => u32::MAX,
            },
            rto: 0,
            most_ato: match kernel.bounds_ato {
                true => clock.jiffies_of_us(DELACK_MAX_US) as u32,
                false => u32::MAX,
            },
            rcv_nxt: 0,
            out_of_order: RangeSet::default(),
            sacks: SackList::default(),
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
            has_sack: switches.sack,
            stamps: switches.timestamps,
            // The short ways are those of Linux, with timestamps.
            long_way: switches.long_way
                || switches.segments_per_ack > LINUX_ENOUGH as u32
                || !switches.timestamps,
            tells_departures: false,
            echo: None,
            acks_now: false,
            ordinary_until_ns: 0,
            same_echo_until_ns: 0,
        };
        new.know_rtt(rtt_ns);
        new
    }

    /// What follows from the RTT of the handshake.
    fn know_rtt(&mut self, rtt_ns: u64) {
        let rtt_us = rtt_ns / 1_000;
        let jiffies = |us| self.clock.jiffies_of_us(us) as u32;
        let rtt = jiffies(rtt_us).max(self.min_ato);
        self.max_delay = (
            rtt.min(jiffies(DELACK_MAX_US)).min(self.delack_max),
            rtt.min(jiffies(DELACK_MAX_LATE_US)).min(self.delack_max),
        );
        self.unbounded_ato = self.min_ato.min(self.delack_max);
        self.rto = jiffies(rtt_us + (2 * rtt_us).max(self.rto_min_us.into()));
        self.most_ato = self.most_ato.min(self.rto);
    }

    /// The host answered the SYN at `answered_ns`, and its ACKs take `back_ns` to the sender, if that is always
    /// the same; else [`ack_reaches`](Self::ack_reaches) tells of each. From now on it
    /// measures the RTT, which is `least_rtt_ns` or more. Call [`established`](Self::established) when
    /// the last packet of the handshake arrives. Receivers of Linux 2.6 know the RTT of the path.
    pub(crate) fn measure_rtt(
        &mut self,
        answered_ns: u64,
        back_ns: Option<u64>,
        least_rtt_ns: u64,
    ) {
        let Some(compression) = self.sack_compression else {
            return;
        };
        self.answered_ns = answered_ns;
        if !self.stamps {
            self.window_rtt = Some(Box::new(WindowRtt::new(self.window)));
            return;
        }
        let needs_it = self.tuned.is_some() || self.gro().is_some();
        if least_rtt_ns < compression.long_rtt_ns() || needs_it {
            let phase_ns = self.clock.next_tick_ns();
            self.rtt = Some(Box::new(ReceiverRtt::new(answered_ns, back_ns, phase_ns)));
            if back_ns.is_none() {
                self.tell_departures();
            }
        }
    }

    /// The last packet of the handshake arrives, or if it is lost, the first data.
    pub(crate) fn established(&mut self, at_ns: u64) {
        if std::mem::replace(&mut self.established, true) {
            return;
        }
        // `tcp_create_openreq_child`
        self.clock.advance(at_ns);
        self.last_arrival = self.clock.jiffies() as u32;
        if let Some(tuned) = &mut self.tuned {
            tuned.established(at_ns / 1_000);
        }
        if self.answered_ns == NEVER {
            return;
        }
        // `tcp_synack_rtt_meas`: whole microseconds of the clock.
        let rtt_ns = (at_ns / 1_000 - self.answered_ns / 1_000) * 1_000;
        self.know_rtt(rtt_ns);
        if let Some(rtt) = &mut self.rtt {
            rtt.established(rtt_ns);
        }
        if let Some(rtt) = &mut self.window_rtt {
            rtt.established(rtt_ns);
        }
    }

    /// Its segments have so many bytes.
    pub fn has_segments_of(&mut self, bytes: u32) {
        self.advertised = AdvertisedWindow::unlimited(bytes);
        self.window = most_packets(bytes.into());
    }

    /// Never offers more than these segments, 2 or more. It acknowledges half of such a window one by
    /// one (`tcp_incr_quickack`).
    pub fn offer_at_most(&mut self, window: u64, segment_bytes: u32) {
        debug_assert!(window >= 2);
        self.advertised =
            AdvertisedWindow::at_most(segment_bytes, window * u64::from(segment_bytes));
        let half = u32::try_from(window / 2).unwrap_or(u32::MAX);
        self.max_quick_acks = self.max_quick_acks.min(half);
        self.window = window;
        self.half_window = window - window / 2;
        // Else two segments are acknowledged before the window has halved.
        self.long_way |= window < 3;
    }

    /// Its window is what a buffer has room for.
    pub fn hold_within(&mut self, buffer: ReceiveBuffer, segment_bytes: u32) {
        self.tuned = Some(Box::new(Tuned::new(buffer, segment_bytes.into())));
        (self.clamped, self.long_way) = (false, true);
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

    /// What it has acknowledged.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.last_ack_sent
    }

    /// Segments that arrived again, or too late (PAWS).
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
            if let Some(answer) = self.handle_rare(now_ns) {
                return answer;
            }
        }
        if self.delayed_ack_at_ns > now_ns {
            return None;
        }
        (self.delayed_ack_at_ns, self.armed) = (NEVER, (0, 0));
        // `tcp_delack_timer_handler`: whatever armed it, it sends a compressed ACK.
        if self.compressed > 0 {
            return Some(self.ack());
        }
        if !std::mem::take(&mut self.delayed) || !self.scheduled {
            return None;
        }
        self.ato = (self.ato << 1).min(self.most_ato);
        Some(self.ack())
    }

    /// Handles an arriving segment that was sent at `sent_ns`. `pushed`: it has the PSH flag.
    /// `last`: it ends the flow. Returns an ACK if one leaves now.
    pub fn handle_segment(
        &mut self,
        now_ns: u64,
        segment: u64,
        sent_ns: u64,
        pushed: bool,
        last: bool,
    ) -> Option<Ack> {
        if !last && self.is_ordinary(now_ns, segment, sent_ns) {
            return self.handle_ordinary(sent_ns, pushed);
        }
        self.handle_uncommon(now_ns, segment, sent_ns, pushed, last)
    }

    /// The same, of a segment that need not be ordinary.
    #[inline(always)]
    pub(crate) fn handle_uncommon(
        &mut self,
        now_ns: u64,
        segment: u64,
        sent_ns: u64,
        pushed: bool,
        last: bool,
    ) -> Option<Ack> {
        self.clock.advance(now_ns);
        let answer = self.handle_any(segment, 1, sent_ns, pushed, last);
        self.ordinary_until_ns = self.ordinary_until_ns();
        self.same_echo_until_ns = (self.rtt.as_ref()).map_or(NEVER, |rtt| rtt.same_echo_until_ns());
        answer
    }

    /// Handles a packet of so many segments, of which `segment` is the first.
    #[inline(always)]
    fn handle_any(
        &mut self,
        segment: u64,
        segments: u64,
        sent_ns: u64,
        pushed: bool,
        last: bool,
    ) -> Option<Ack> {
        // `tcp_validate_incoming`: PAWS, then `tcp_sequence`.
        let late = || self.ts_recent_ns / NS_PER_MS > sent_ns / NS_PER_MS + TCP_PAWS_WINDOW_MS;
        let older = self.ts_recent_ns > sent_ns && self.stamps;
        if ((older && late()) || segment + segments < self.last_ack_sent) && !self.hides_losses {
            return self.discard(segment, segments);
        }
        if let Some(rtt) = &mut self.rtt {
            rtt.arrives(self.clock.now_ns(), sent_ns);
        }
        if !self.established {
            self.established(self.clock.now_ns());
        }
        if segment <= self.last_ack_sent {
            self.ts_recent_ns = self.ts_recent_ns.max(sent_ns);
        }
        if segment != self.rcv_nxt || !self.out_of_order.is_empty() {
            return match segments {
                1 => self.handle_out_of_order(segment, pushed),
                _ => self.handle_many_out_of_order(segment, segments, pushed),
            };
        }
        self.rcv_nxt += segments;
        self.data_received(pushed);
        let mut answers = last || self.has_enough() || self.acknowledges_each();
        if !answers {
            answers = self.delay_ack();
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
            self.acks_now |= echo.take_marks(marks, old);
        }
        let answer = self.handle_segment(now_ns, segment, sent_ns, pushed, last);
        let early = self.echo.as_mut().and_then(|echo| echo.early.take());
        [early, answer]
    }

    /// Lets the application read. Sends an ACK if the segment `answers`, or if reading causes one.
    #[inline(always)]
    fn answer(&mut self, answers: bool) -> Option<Ack> {
        if self.tuned.is_some() {
            return self.answer_tuned(answers);
        }
        let reads = self.will_read() && !self.reads_later();
        if reads {
            self.reads_at = self.rcv_nxt + u64::from(self.read_segments);
        }
        (answers || (reads && self.reading_answers())).then(|| self.ack())
    }

    /// The application reads what is in order. Returns `answer`, or the ACK that reading causes.
    #[cold]
    fn read_now(&mut self, answer: Option<Ack>) -> Option<Ack> {
        let rtt = self.rtt.as_ref().map_or(0, |rtt| rtt.estimate());
        self.reads_at = self.rcv_nxt + u64::from(self.read_segments);
        let doubles = self.tuned.as_mut().is_some_and(|tuned| {
            tuned.queue.read_to(self.rcv_nxt);
            tuned.reads(self.rcv_nxt, 0, self.clock.now_ns() / 1_000, rtt);
            tuned.doubles(self.rcv_nxt).0
        });
        answer.or_else(|| (doubles || self.reading_answers()).then(|| self.ack()))
    }

    /// [`answer`](Self::answer) of a window that grows with what is read: first TCP acknowledges.
    #[cold]
    #[inline(never)]
    fn answer_tuned(&mut self, answers: bool) -> Option<Ack> {
        let answer = answers.then(|| self.ack());
        if self.reads_slowly() {
            return self.read_if_due(answer);
        }
        if !self.will_read() || self.reads_later() {
            return answer;
        }
        self.read_now(answer)
    }

    /// Data in order wait in the buffer, or for a `gap` this segment: a window that is tuned may grow.
    #[inline]
    fn tune(&mut self, gap: Option<u64>) {
        if self.tuned.is_some() {
            self.tune_window(gap);
        }
    }

    #[cold]
    #[inline(never)]
    fn tune_window(&mut self, gap: Option<u64>) {
        let Some(mut tuned) = self.tuned.take() else {
            return;
        };
        // One that joins no packet is not yet in the queue.
        let own = match gap {
            None => {
                tuned.queue.take(self.rcv_nxt);
                0
            }
            Some(segment) if tuned.queue.wait(segment) => 0,
            Some(_) => tuned.packet(),
        };
        // Without SACK it does not grow, so that duplicate ACKs are such.
        let grows = gap.is_none() || self.has_sack;
        if grows && tuned.arrives(tuned.taken() - own) {
            self.quick_acks |= 1;
        }
        // `__tcp_ack_snd_check` asks for the window, which ends quick ACKs.
        let asks = tuned.reader.is_some() && self.rcv_nxt - self.last_ack_sent >= self.enough;
        if asks && tuned.window().1 {
            self.quick_acks = 0;
        }
        self.tuned = Some(tuned);
    }

    /// The window of an ACK, if it is tuned: bytes, and whether the window field is new.
    #[cold]
    #[inline(never)]
    fn select_window(&mut self) -> (u64, bool) {
        let Some(mut tuned) = self.tuned.take() else {
            return (0, false);
        };
        let selected = tuned.select(self.rcv_nxt);
        if selected.is_tight {
            self.quick_acks = 0;
        }
        self.tuned = Some(tuned);
        (selected.bytes, selected.is_new)
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

    /// Whether enough data is in order for the application.
    #[inline]
    fn will_read(&self) -> bool {
        self.rcv_nxt >= self.reads_at
    }

    /// The application has read what is in order. Whether an ACK leaves (`__tcp_cleanup_rbuf`):
    /// because enough has arrived, because the buffer is empty now and the sender has marked the end of
    /// a burst, or because the window at least doubles, which is down to the one that is wanted.
    #[inline]
    fn reading_answers(&self) -> bool {
        let arrived = self.rcv_nxt - self.last_ack_sent;
        let ends = self.pushed && self.enough == LINUX_ENOUGH && self.out_of_order.is_empty();
        (self.scheduled && (arrived >= self.enough || ends))
            || (arrived >= self.half_window && !self.clamped)
    }

    /// `tcp_send_ack`: an ACK leaves, and nothing is pending any more.
    #[inline(always)]
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
        if let Some(rtt) = &mut self.rtt {
            let now_ns = self.clock.now_ns();
            let refreshes = self.sack_compression.is_some_and(Compression::refreshes);
            let is_compressed = self.compressed > 0 && self.compressed_at_ns <= now_ns;
            rtt.leaves(now_ns, is_compressed && !refreshes);
        }
        (self.compressed, self.compressed_at_ns) = (0, NEVER);
        // The first ACK's field is scaled, unlike that of the handshake.
        let mut new_window = self.last_ack_sent == 0;
        if self.clamped && !new_window {
            let segments = self.rcv_nxt - self.last_ack_sent;
            new_window = self.advertised.acknowledges(segments);
            self.clamped = self.advertised.is_above();
        }
        self.last_ack_sent = self.rcv_nxt;
        let mut window_bytes = 0;
        if self.tuned.is_some() {
            (window_bytes, new_window) = self.select_window();
            self.await_reader(NEVER);
        }
        if self.batch.is_some() {
            self.await_batch(NEVER);
        }
        let mut ack = Ack::new(ack, self.ts_recent_ns);
        if !self.sacks.is_empty() || self.duplicate.is_some() {
            ack = self.report(ack);
        }
        if new_window {
            ack = ack.with_new_window();
        }
        if self.tuned.is_some() {
            ack = ack.with_window(window_bytes);
        }
        if self.tells_departures {
            ack = ack.with_departure(self.clock.now_ns());
        }
        match ece {
            Some(ce_packets) => ack.with_ece(ce_packets),
            None => ack,
        }
    }
}
