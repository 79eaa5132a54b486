//! The packets of a run as a pcapng file, as `tcpdump` would see them at the two hosts of each
//! flow.
//!
//! How to drive it: tell [`Capture`] of each packet when it passes an interface. Receivers run ahead
//! of the clock, so a packet may be told before its time; the file is in order of time.

mod frame;
pub mod pcapng;

use crate::scenario::{EcnMode, Scenario, STAMPS_BYTES};
use crate::tcp::{Ack, Transmit};
use ackclock_net::queue::Ecn;
use frame::{Addresses, Frame, ACK, CWR, ECE, FIN, PSH, SYN};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::{self, Write};

/// Least bytes of a packet to keep: Ethernet, IP and TCP headers with all options.
pub const LEAST_SNAPLEN: u32 = 94;
/// Most bytes of a packet to keep, as tcpdump's.
pub const MOST_SNAPLEN: u32 = 262_144;

/// For how long a data packet's timestamp echo is known after it was sent.
const MEMORY_NS: u64 = 10_000_000_000;
/// Largest window scale (RFC 7323).
const MOST_SHIFT: u8 = 14;
/// ACE of a connection without marks (RFC 9768, 3.2.1: r.cep starts at 5).
const FIRST_ACE: u32 = 5;

/// Link type "Ethernet" (LINKTYPE_ETHERNET).
const ETHERNET: u16 = 1;
const INTERFACES: [(&str, &str); 2] = [
    ("sender", "of the hosts that send data"),
    ("receiver", "of the hosts that acknowledge it"),
];

/// The interfaces, numbered as in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// Of the host that sends data.
    Sender,
    /// Of the host that acknowledges it.
    Receiver,
}

/// A data packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data {
    pub(crate) segment: u64,
    pub(crate) sent_ns: u64,
    /// The burst that it is of; its ECN field is that of the packet where it is seen.
    pub(crate) burst: Transmit,
}

impl Data {
    pub(crate) fn new(segment: u64, sent_ns: u64, burst: Transmit) -> Self {
        Self {
            segment,
            sent_ns,
            burst,
        }
    }
}

/// The two ends of a flow's connection.
#[derive(Debug, Default)]
struct Ends {
    addresses: Addresses,
    /// Segments of a finite flow, and payload of the last; otherwise `u64::MAX`.
    segments: u64,
    last_bytes: u32,
    /// Where the segment with the FIN ends, if that has left; else 0.
    fin_end: u64,
    /// Payload of the others.
    mss_bytes: u32,
    sack: bool,
    stamps: bool,
    /// Window field of the receiver, and how far it is shifted.
    window: u16,
    shift: u8,
    /// Whether ACKs at each interface now show one less, so that a changed field shows.
    less: [bool; 2],
    ecn: EcnMode,
    /// When the last SYN left, the one that is answered, the answer, and the answer to that.
    last_syn_ns: u64,
    syn_ns: u64,
    answered_ns: u64,
    established_ns: u64,
    /// The ECN field of the SYN, as it arrived.
    heard: Ecn,
    /// What the data sender echoes, and since when.
    echoes: VecDeque<(u64, u32)>,
    /// The ACKs on their way.
    left: VecDeque<Left>,
    /// The ACK that arrived last.
    newest: Option<Left>,
}

/// An ACK that has left its receiver, and when.
#[derive(Clone, Debug)]
struct Left {
    at_ns: u64,
    field: Ecn,
    ack: Ack,
}

/// A packet that waits for its time: time, order of arrival, the block of the file.
type Waiting = Reverse<(u64, u64, Vec<u8>)>;

/// Writes what the interfaces see.
pub struct Capture<'a> {
    out: &'a mut dyn Write,
    only: Option<Side>,
    snaplen: u32,
    ends: Vec<Ends>,
    waiting: BinaryHeap<Waiting>,
    told: u64,
    error: Option<io::Error>,
}

impl<'a> Capture<'a> {
    /// A capture of the runs' packets to `out`, at both interfaces or `only` one; `snaplen` bytes of
    /// each packet are kept.
    pub fn new(
        out: &'a mut dyn Write,
        scenario: &Scenario,
        only: Option<Side>,
        snaplen: u32,
    ) -> Self {
        let flows = scenario.flows.iter().zip(1..).map(|flow| (flow, false));
        let sessions = scenario.sessions.iter().map(|session| &session.flow);
        let sessions = sessions.zip(1..).map(|flow| (flow, true));
        let ends = flows.chain(sessions).map(|((flow, number), session)| {
            let mss = scenario.mss_of(flow).into();
            let (window, shift) = match flow.receive_buffer(mss) {
                None => window(flow.receive_window_bytes),
                Some(buffer) => {
                    let shift = buffer.shift();
                    ((buffer.shown_bytes(mss) >> shift) as u16, shift as u8)
                }
            };
            Ends {
                addresses: Addresses::for_number(number, session),
                mss_bytes: scenario.mss_of(flow),
                sack: flow.sack,
                stamps: flow.timestamps,
                window,
                shift,
                less: [false; 2],
                ..Ends::default()
            }
        });
        let mut capture = Self {
            out,
            only,
            snaplen: snaplen.clamp(LEAST_SNAPLEN, MOST_SNAPLEN),
            ends: ends.collect(),
            waiting: BinaryHeap::new(),
            told: 0,
            error: None,
        };
        let head = pcapng::head(ETHERNET, &INTERFACES, capture.snaplen);
        capture.write(&head);
        capture
    }

    /// The time now: nothing earlier will be told.
    #[cold]
    pub(crate) fn clock(&mut self, now_ns: u64) {
        self.write_until(now_ns);
    }

    /// A SYN leaves; with `answered`, the receiver will answer it. It begins connection number
    /// `connection` of its flow, of so many segments, the last of `last_bytes`.
    #[cold]
    pub(crate) fn syn_leaves(
        &mut self,
        at_ns: u64,
        element: usize,
        (connection, segments, last_bytes): (u32, u64, u32),
        (ecn, field): (EcnMode, Ecn),
        answered: bool,
    ) {
        let ends = &mut self.ends[element];
        ends.addresses.connect(connection);
        (ends.segments, ends.last_bytes, ends.ecn) = (segments, last_bytes, ecn);
        ends.fin_end = 0;
        ends.last_syn_ns = at_ns;
        if answered {
            ends.syn_ns = at_ns;
            ends.echoes.clear();
            ends.left.clear();
            ends.newest = None;
        }
        self.see_syn(at_ns, (element, Side::Sender), field, at_ns);
    }

    /// A SYN reaches the receiver.
    #[cold]
    pub(crate) fn syn_arrives(&mut self, at_ns: u64, element: usize, field: Ecn, answered: bool) {
        let ends = &mut self.ends[element];
        ends.heard = field;
        let sent_ns = if answered {
            ends.syn_ns
        } else {
            ends.last_syn_ns
        };
        self.see_syn(at_ns, (element, Side::Receiver), field, sent_ns);
    }

    fn see_syn(&mut self, at_ns: u64, (element, at): (usize, Side), field: Ecn, sent_ns: u64) {
        let flags = match self.ends[element].ecn {
            EcnMode::Off => 0,
            EcnMode::Classic => ECE | CWR,
            EcnMode::Accurate => frame::ace(7),
        };
        let mut frame = self.frame(element, true, SYN | flags, field);
        frame.stamps = (stamp(sent_ns), 0);
        frame.mss_and_shift = Some((self.mss_option(element), MOST_SHIFT));
        frame.permits_sack = self.ends[element].sack;
        self.see(at_ns, at, &frame);
    }

    /// The receiver answers the SYN.
    #[cold]
    pub(crate) fn syn_ack_leaves(&mut self, at_ns: u64, element: usize, field: Ecn) {
        self.ends[element].answered_ns = at_ns;
        self.see_syn_ack(at_ns, (element, Side::Receiver), field);
    }

    /// The answer reaches the sender.
    #[cold]
    pub(crate) fn syn_ack_arrives(&mut self, at_ns: u64, element: usize, field: Ecn) {
        self.see_syn_ack(at_ns, (element, Side::Sender), field);
        let ends = &mut self.ends[element];
        ends.note_echo(at_ns, stamp(ends.answered_ns));
    }

    fn see_syn_ack(&mut self, at_ns: u64, (element, at): (usize, Side), field: Ecn) {
        let ends = &self.ends[element];
        let flags = match ends.ecn {
            EcnMode::Off => 0,
            EcnMode::Classic => ECE,
            EcnMode::Accurate => frame::ace_of(ends.heard),
        };
        let shift = ends.shift;
        let window = u64::from(ends.window) << shift;
        let stamps = (stamp(ends.answered_ns), stamp(ends.syn_ns));
        let mut frame = self.frame(element, false, SYN | ACK | flags, field);
        frame.window = window.min(u16::MAX.into()) as u16;
        (frame.ack, frame.stamps) = (1, stamps);
        frame.mss_and_shift = Some((self.mss_option(element), shift));
        frame.permits_sack = self.ends[element].sack;
        self.see(at_ns, at, &frame);
    }

    /// The last packet of the handshake leaves.
    #[cold]
    pub(crate) fn established_leaves(&mut self, at_ns: u64, element: usize, field: Ecn) {
        self.ends[element].established_ns = at_ns;
        self.see_established(at_ns, (element, Side::Sender), field);
    }

    /// The last packet of the handshake reaches the receiver.
    #[cold]
    pub(crate) fn established_arrives(&mut self, at_ns: u64, element: usize, field: Ecn) {
        self.see_established(at_ns, (element, Side::Receiver), field);
    }

    fn see_established(&mut self, at_ns: u64, (element, at): (usize, Side), field: Ecn) {
        let sent_ns = self.ends[element].established_ns;
        let flags = match self.ends[element].ecn {
            EcnMode::Accurate => frame::ace_of(field),
            EcnMode::Off | EcnMode::Classic => 0,
        };
        let mut frame = self.frame(element, true, ACK | flags, field);
        (frame.seq, frame.ack) = (1, 1);
        frame.stamps = (stamp(sent_ns), self.echo(element, sent_ns));
        self.see(at_ns, at, &frame);
    }

    /// The segment with the FIN ends there, if it has left.
    #[cold]
    pub(crate) fn fin_ends(&mut self, element: usize, fin_end: u64) {
        self.ends[element].fin_end = fin_end;
    }

    /// A data packet, or a FIN of its own, is seen.
    #[cold]
    pub(crate) fn see_data(&mut self, at_ns: u64, (element, at): (usize, Side), data: Data) {
        let Data {
            segment,
            sent_ns,
            burst,
        } = data;
        let ends = &self.ends[element];
        let last = segment + 1 == ends.segments;
        let marks = burst.marks_of(segment);
        let mut flags = ACK;
        flags |= if burst.pushes(segment) || last {
            PSH
        } else {
            0
        };
        let fin = segment + 1 == ends.fin_end;
        flags |= if fin { FIN } else { 0 };
        flags |= match ends.ecn {
            EcnMode::Accurate => frame::ace(FIRST_ACE),
            _ if marks.cwr => CWR,
            _ => 0,
        };
        let payload = match segment {
            _ if last => ends.last_bytes,
            _ if segment < ends.segments => ends.mss_bytes,
            _ => 0,
        };
        let mut frame = self.frame(element, true, flags, marks.field);
        (frame.seq, frame.ack) = (self.sequence(element, segment), 1);
        frame.payload = payload;
        frame.stamps = (stamp(sent_ns), self.echo(element, sent_ns));
        self.see(at_ns, at, &frame);
    }

    /// An ACK leaves its receiver.
    #[cold]
    pub(crate) fn ack_leaves(&mut self, at_ns: u64, element: usize, field: Ecn, ack: &Ack) {
        let left = Left {
            at_ns,
            field,
            ack: ack.clone(),
        };
        self.see_ack(at_ns, (element, Side::Receiver), &left);
        self.ends[element].left.push_back(left);
    }

    /// An ACK reaches its sender.
    #[cold]
    pub(crate) fn ack_arrives(&mut self, at_ns: u64, element: usize, ack: &Ack) {
        let ends = &mut self.ends[element];
        let Some(left) = ends.arrived(ack) else {
            return;
        };
        ends.note_echo(at_ns, stamp(left.at_ns));
        self.see_ack(at_ns, (element, Side::Sender), &left);
    }

    fn see_ack(&mut self, at_ns: u64, (element, at): (usize, Side), left: &Left) {
        let (ends, ack) = (&mut self.ends[element], &left.ack);
        let flags = match (ends.ecn, ack.ece()) {
            (EcnMode::Off, _) | (EcnMode::Classic, None) => 0,
            (EcnMode::Classic, Some(_)) => ECE,
            (EcnMode::Accurate, marks) => {
                frame::ace(FIRST_ACE.wrapping_add(marks.unwrap_or_default()))
            }
        };
        let told = ack.window_bytes();
        let mut window = told.map_or(ends.window, |bytes| (bytes >> ends.shift) as u16);
        if told.is_none() {
            ends.less[at as usize] ^= ack.new_window();
            window -= u16::from(ends.less[at as usize] && window > 1);
        }
        let mut frame = self.frame(element, false, ACK | flags, left.field);
        (frame.seq, frame.ack) = (1, self.sequence(element, ack.ack));
        frame.window = window;
        for (slot, &(start, end)) in frame.sacks.iter_mut().zip(&*ack.sacks()) {
            *slot = (self.sequence(element, start), self.sequence(element, end));
        }
        frame.blocks = ack.sacks().len();
        frame.stamps = (stamp(left.at_ns), stamp(ack.echo_ns));
        self.see(at_ns, at, &frame);
    }

    /// # Errors
    /// The first error of a write.
    #[cold]
    pub(crate) fn check(&mut self) -> io::Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// Writes what remains until the end of the run.
    ///
    /// # Errors
    /// The first error of a write.
    #[cold]
    pub(crate) fn finish(&mut self, end_ns: u64) -> io::Result<()> {
        self.write_until(end_ns + 1);
        if self.error.is_none() {
            self.error = self.out.flush().err();
        }
        self.check()
    }

    /// A packet from the data's sender or to it, still without sequence numbers.
    fn frame(&self, element: usize, forth: bool, flags: u16, field: Ecn) -> Frame {
        let [from, to] = self.ends[element].addresses.pair(forth);
        Frame {
            from,
            to,
            flags,
            field,
            window: u16::MAX,
            has_stamps: self.ends[element].stamps,
            ..Frame::default()
        }
    }

    /// The sequence number of the first byte of a segment; a FIN behind the last has one, too.
    fn sequence(&self, element: usize, segment: u64) -> u32 {
        let ends = &self.ends[element];
        let bytes = if segment < ends.segments {
            segment.wrapping_mul(ends.mss_bytes.into())
        } else {
            (ends.segments - 1) * u64::from(ends.mss_bytes) + u64::from(ends.last_bytes)
        };
        let after_fin = (1..=segment).contains(&ends.fin_end);
        (bytes + 1 + u64::from(after_fin)) as u32
    }

    /// What the data sender echoed at `sent_ns`.
    fn echo(&self, element: usize, sent_ns: u64) -> u32 {
        let echoes = &self.ends[element].echoes;
        let later = echoes.partition_point(|&(since_ns, _)| since_ns <= sent_ns);
        echoes
            .get(later.saturating_sub(1))
            .map_or(0, |&(_, stamp)| stamp)
    }

    /// The MSS option counts the timestamps of each packet.
    fn mss_option(&self, element: usize) -> u16 {
        let ends = &self.ends[element];
        let stamps_bytes = if ends.stamps { STAMPS_BYTES } else { 0 };
        (ends.mss_bytes + stamps_bytes).min(u16::MAX.into()) as u16
    }

    /// Keeps a packet until its time.
    fn see(&mut self, at_ns: u64, at: Side, frame: &Frame) {
        if self.only.is_none_or(|only| only == at) {
            let outbound = frame.is_forth() == (at == Side::Sender);
            let (bytes, whole) = frame.bytes();
            let mut block = Vec::new();
            let place = (at as u32, at_ns, outbound);
            pcapng::packet(&mut block, place, &bytes, whole, self.snaplen);
            self.waiting.push(Reverse((at_ns, self.told, block)));
            self.told += 1;
        }
    }

    /// Writes the packets before this time.
    fn write_until(&mut self, end_ns: u64) {
        while let Some(Reverse((at_ns, ..))) = self.waiting.peek() {
            if *at_ns >= end_ns {
                return;
            }
            if let Some(Reverse((.., block))) = self.waiting.pop() {
                self.write(&block);
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.error = self.out.write_all(bytes).err();
        }
    }
}

impl Ends {
    /// The data sender echoes this stamp from now on.
    fn note_echo(&mut self, now_ns: u64, stamp: u32) {
        if self.echoes.back().is_some_and(|last| last.1 == stamp) {
            return;
        }
        while self.echoes.len() > 1 && self.echoes[1].0 + MEMORY_NS < now_ns {
            self.echoes.pop_front();
        }
        self.echoes.push_back((now_ns, stamp));
    }

    /// How an ACK that arrives has left. Those that left before it and have not come are lost; a copy
    /// has left as the first.
    fn arrived(&mut self, ack: &Ack) -> Option<Left> {
        let is_copy = self
            .newest
            .as_ref()
            .is_some_and(|newest| newest.ack == *ack);
        let place = self.left.iter().position(|left| left.ack == *ack);
        if let Some(place) = place.filter(|&place| place == 0 || !is_copy) {
            self.newest = self.left.drain(..=place).next_back();
        }
        self.newest.clone()
    }
}

/// A window field and its shift, for a receive window or none.
fn window(bytes: Option<u64>) -> (u16, u8) {
    let bytes = bytes.unwrap_or(u64::MAX);
    let shift = (0..MOST_SHIFT).find(|&shift| bytes >> shift <= u16::MAX.into());
    let shift = shift.unwrap_or(MOST_SHIFT);
    ((bytes >> shift).min(u16::MAX.into()) as u16, shift)
}

/// The timestamp of a host at this time: milliseconds, as Linux's, from 1 (0 would say nothing).
fn stamp(at_ns: u64) -> u32 {
    (at_ns / 1_000_000) as u32 + 1
}
