//! What flows that take turns need only in their turn: the rings of their windows and of their ACKs. Between
//! two turns these lie packed, one flow behind the other, as each round visits them. So no ring has free
//! slots but those of the flow whose turn it is, and the processor reads and writes memory in its order.

use super::log::Log;
use super::packed;
use super::windows::Windows;
use crate::acks::{AckLine, Timed};
use crate::flow::{Connection, Flow};
use std::ops::Range;

/// Words before the ACKs of a flow: how many segments and retransmissions are in its window, 32 bits each, and
/// how many words the ACKs take.
const HEADER: usize = 2;

/// The packed rings of flows, in the order of flows.
pub(super) struct Resting {
    windows: Windows,
    acks: Log<u64>,
    /// The next flow.
    next: usize,
    /// The words of the ACKs which arrive in a later round, of the flow that is awake.
    later: Range<usize>,
    /// The ring of this flow.
    ring: AckLine,
}

/// How many segments and retransmissions a window has, and how many words its ACKs take.
struct Counts {
    segments: usize,
    retransmissions: usize,
    ack_words: usize,
}

impl Resting {
    /// For flows without connections.
    pub(super) fn new(flows: usize) -> Self {
        let mut acks = Log::default();
        for _ in 0..flows {
            acks.room(HEADER)[..HEADER].fill(0);
            acks.end(HEADER);
        }
        acks.turn();
        Self {
            windows: Windows::default(),
            acks,
            next: 0,
            later: 0..0,
            ring: AckLine::default(),
        }
    }

    /// What the next flow has.
    #[inline(always)]
    fn read_header(&mut self) -> Counts {
        let header = self.acks.read(HEADER);
        let header = self.acks.get(header);
        self.next += 1;
        Counts {
            segments: (header[0] >> 32) as usize,
            retransmissions: header[0] as u32 as usize,
            ack_words: header[1] as usize,
        }
    }

    /// The flows up to this one rest for another round.
    #[inline]
    fn pass_to(&mut self, element: usize) {
        while self.next < element {
            let counts = self.read_header();
            self.windows.pass(counts.segments, counts.retransmissions);
            let words = self.acks.read(counts.ack_words);
            let all = words.start - HEADER..words.end;
            let (room, run) = self.acks.room_and_read(all.len(), all);
            let count = run.len();
            room[..count].copy_from_slice(run);
            self.acks.end(count);
        }
    }

    /// A flow's turn begins: it has its rings, and the ACKs that arrive by `until_ns`. The round before
    /// ended at `past_ns`.
    #[inline(always)]
    pub(super) fn wake(
        &mut self,
        element: usize,
        flow: &mut Flow<'_>,
        past_ns: u64,
        until_ns: u64,
    ) {
        self.pass_to(element);
        let counts = self.read_header();
        self.later = self.acks.read(counts.ack_words);
        let Some(connection) = flow.state.open() else {
            return;
        };
        let Connection { acks, sender, .. } = connection;
        self.windows
            .wake(sender.rings(), counts.segments, counts.retransmissions);
        std::mem::swap(acks, &mut self.ring);
        let una = sender.una();
        let mut words = self.acks.get(self.later.clone());
        while let Some(at_ns) = packed::first_at_ns(words, past_ns) {
            if at_ns > until_ns {
                break;
            }
            let (ack, taken) = packed::read(words, at_ns, una);
            acks.push((at_ns, ack));
            words = &words[taken..];
        }
        self.later.start = self.later.end - words.len();
    }

    /// The turn of the flow that is awake ends at `until_ns`. Returns when its next ACK arrives, if one is
    /// on its way.
    #[inline(always)]
    pub(super) fn rest(&mut self, flow: &mut Flow<'_>, until_ns: u64) -> Option<u64> {
        let Some(connection) = flow.state.open() else {
            self.acks.room(HEADER)[..HEADER].fill(0);
            self.acks.end(HEADER);
            return None;
        };
        let Connection { acks, sender, .. } = connection;
        let (segments, retransmissions) = self.windows.rest(sender.rings());
        // An ACK is written where there is room for the longest.
        let most = HEADER + self.later.len() + (acks.len() as usize + 1) * packed::MOST_WORDS;
        let (words, later) = self.acks.room_and_read(most, self.later.clone());
        let mut end = HEADER + later.len();
        words[HEADER..end].copy_from_slice(later);
        let una = sender.una();
        let mut write = |acks: &mut [Timed]| {
            for (at_ns, ack) in acks {
                if let Some(room) = words[end..].first_chunk_mut() {
                    end += packed::write(room, *at_ns, ack, until_ns, una);
                }
            }
        };
        let (before, wrapped) = acks.as_mut_slices();
        write(before);
        write(wrapped);
        words[0] = (segments as u64) << 32 | retransmissions as u64;
        words[1] = (end - HEADER) as u64;
        let next_ns = packed::first_at_ns(&words[HEADER..end], until_ns);
        self.acks.end(end);
        acks.clear();
        if acks.capacity() > self.ring.capacity() {
            std::mem::swap(acks, &mut self.ring);
        }
        *acks = AckLine::default();
        next_ns
    }

    /// The round has ended.
    pub(super) fn end_round(&mut self, flows: usize) {
        self.pass_to(flows);
        self.next = 0;
        self.acks.turn();
        self.windows.turn();
    }
}
