//! What flows do in a round: a record of each event and of
//! the packets that it sends.

use crate::census::TraceHash;
use crate::flow::Flow;
use crate::header::{Header, ACK_BYTES, SYN_BYTES};
use crate::tcp::{Marks, Transmit};
use ackclock_host::prefetch;
use ackclock_net::impair::DropPattern;
use ackclock_net::link::{Predicted, WaitingBriefly};
use ackclock_net::queue::{Cause, Ecn};

/// So many records before its turn a record is asked for.
const RECORDS_SOON: usize = 16;
/// In place of a departure: why a packet never leaves.
pub(super) const DROPPED: u32 = u32::MAX;
pub(super) const LOST: u32 = u32::MAX - 1;
/// In place of the segment that an event acknowledges.
pub(super) const NO_ACK: u32 = u32::MAX;

/// An event of a flow, and up to two packets that it sends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// Since the round began.
    pub(super) after_ns: u32,
    /// The flow, and in the last [`FLAGS`] bits the flags and the number of packets.
    element_and_flags: u32,
    /// What the ACK that arrives acknowledges.
    ack: u32,
    /// The first packet.
    first: u32,
    /// When its packets leave the link, after the event.
    departs_after_ns: [u32; 2],
}

/// So many bits.
pub(super) const FLAGS: u32 = 10;
/// How many packets it has.
const PACKETS: u32 = 3;
/// The event begins here: otherwise it continues.
const BEGINS: u32 = 1 << 2;
const PUSHED: u32 = 1 << 3;
const CWR: u32 = 1 << 4;
/// The last of the packets is the last of the flow, which may be smaller, or its FIN.
pub(super) const LAST: u32 = 1 << 5;
const ECN_SHIFT: u32 = 6;
/// What its packets are: data, a SYN that will be answered, another SYN, or the last packet of a
/// handshake.
const KIND: u32 = 3 << 8;
pub(super) const DATA: u32 = 0;
pub(super) const SYN: u32 = 1 << 8;
const SYN_AGAIN: u32 = 2 << 8;
pub(super) const ESTABLISHED: u32 = 3 << 8;

impl Sent {
    #[inline(always)]
    pub(super) fn element(self) -> usize {
        (self.element_and_flags >> FLAGS) as usize
    }

    #[inline(always)]
    pub(super) fn has(self, flag: u32) -> bool {
        self.element_and_flags & flag != 0
    }

    #[inline(always)]
    pub(super) fn kind(self) -> u32 {
        self.element_and_flags & KIND
    }

    #[inline(always)]
    pub(super) fn packets(self) -> u32 {
        self.element_and_flags & PACKETS
    }

    /// When its packets leave the link; of an event at `now_ns`.
    #[inline(always)]
    pub(super) fn departs_ns(self, now_ns: u64) -> [Result<u64, Cause>; 2] {
        self.departs_after_ns.map(|after_ns| match after_ns {
            DROPPED => Err(Cause::Full),
            LOST => Err(Cause::Loss),
            _ => Ok(now_ns + u64::from(after_ns)),
        })
    }

    #[inline(always)]
    pub(super) fn burst(self) -> Transmit {
        Transmit {
            first: self.first.into(),
            segments: self.packets(),
            pushed: self.has(PUSHED),
            marks: Marks {
                field: Ecn::from_bits((self.element_and_flags >> ECN_SHIFT) as u8),
                cwr: self.has(CWR),
            },
        }
    }
}

/// What flows have done in a round: in the order of flows, and of one flow in order of time.
#[derive(Debug, Default)]
pub(super) struct Round {
    pub(super) from_ns: u64,
    pub(super) until_ns: u64,
    pub(super) sent: Vec<Sent>,
    /// The places in `sent` in order of time, below the time.
    order: Vec<u64>,
    /// Timers of receivers in this round, and their flows.
    pub(super) alarms: Vec<(u64, u32)>,
}

impl Round {
    /// An event of a flow begins, with an ACK or without.
    #[inline(always)]
    pub(super) fn event(&mut self, element: usize, now_ns: u64, ack: Option<u64>) {
        self.sent.push(Sent {
            after_ns: (now_ns - self.from_ns) as u32,
            element_and_flags: (element as u32) << FLAGS | BEGINS,
            ack: ack.map_or(NO_ACK, |ack| ack as u32),
            first: 0,
            departs_after_ns: [DROPPED; 2],
        });
    }

    /// The event that has begun is that of an ACK.
    pub(super) fn ack(&mut self, ack: u64) {
        if let Some(event) = self.sent.last_mut() {
            event.ack = ack as u32;
        }
    }

    /// The flow whose event has begun sends this; `last`: the end of the flow, too.
    #[inline(always)]
    pub(super) fn burst(&mut self, burst: Transmit, last: bool) {
        let mut flags = DATA | (burst.marks.field as u32) << ECN_SHIFT;
        flags |= u32::from(burst.marks.cwr) * CWR;
        let (mut first, mut left) = (burst.first as u32, burst.segments);
        while left > 2 {
            self.add(first, 2, flags);
            (first, left, flags) = (first + 2, left - 2, flags & !CWR);
        }
        flags |= u32::from(burst.pushed) * PUSHED;
        flags |= u32::from(last) * LAST;
        self.add(first, left, flags);
    }

    /// The flow whose event has begun sends this packet of a handshake.
    pub(super) fn send(&mut self, header: &Header) {
        let kind = match header {
            Header::Syn { answered: true } => SYN,
            Header::Established => ESTABLISHED,
            _ => SYN_AGAIN,
        };
        self.add(0, 1, kind);
    }

    #[inline(always)]
    fn add(&mut self, first: u32, packets: u32, flags: u32) {
        let Some(event) = self.sent.last_mut() else {
            return;
        };
        if event.packets() == 0 {
            event.first = first;
            event.element_and_flags |= flags | packets;
        } else {
            let element = event.element_and_flags >> FLAGS << FLAGS;
            let sent = Sent {
                first,
                element_and_flags: element | flags | packets,
                ack: NO_ACK,
                ..*event
            };
            self.sent.push(sent);
        }
    }

    /// When the round has ended the link takes its packets, in order of time. `spare` is an empty round:
    /// the sort uses its memory.
    pub(super) fn pass(
        &mut self,
        link: &mut Predicted<WaitingBriefly>,
        loss: &mut DropPattern,
        flows: &[Flow<'_>],
        spare: &mut Self,
    ) {
        self.order.clear();
        let keys = (0_u64..).zip(&self.sent);
        self.order
            .extend(keys.map(|(place, sent)| u64::from(sent.after_ns) << 32 | place));
        sort_by_time(&mut self.order, &mut spare.order);
        spare.order.clear();
        let plain_bytes = flows.first().map_or(0, |flow| flow.packet_bytes);
        for (turn, &key) in self.order.iter().enumerate() {
            if let Some(&soon) = self.order.get(turn + RECORDS_SOON) {
                prefetch(&self.sent[soon as u32 as usize]);
            }
            let sent = &mut self.sent[key as u32 as usize];
            let now_ns = self.from_ns + (key >> 32);
            let after = |departs_ns: u64| (departs_ns - now_ns) as u32;
            let (packets, kind) = (sent.packets(), sent.kind());
            if packets == 0 {
                continue;
            }
            if kind == DATA
                && packets == 2
                && !sent.has(LAST)
                && link.takes(2, now_ns, plain_bytes)
                && loss.passes(2)
            {
                sent.departs_after_ns = link.enqueue_pair(now_ns, plain_bytes).map(after);
                continue;
            }
            for place in 0..packets {
                let bytes = match kind {
                    DATA if flows[sent.element()].has_data(u64::from(sent.first + place))
                        && loss.drops() =>
                    {
                        sent.departs_after_ns[place as usize] = LOST;
                        continue;
                    }
                    DATA if sent.has(LAST) => {
                        flows[sent.element()].packet_bytes(u64::from(sent.first + place))
                    }
                    DATA => plain_bytes,
                    ESTABLISHED => ACK_BYTES,
                    _ => SYN_BYTES,
                };
                if let Some(departs_ns) = link.enqueue(now_ns, bytes) {
                    sent.departs_after_ns[place as usize] = after(departs_ns);
                }
            }
        }
    }

    /// Adds its events, when the timers of receivers are known, and forgets it.
    pub(super) fn add_to(&mut self, hash: &mut TraceHash) {
        self.alarms.sort_unstable();
        let mut alarms = self.alarms.iter().copied().peekable();
        let number = |element: u32| (u64::from(element) + 1) << 48;
        for (turn, &key) in self.order.iter().enumerate() {
            if let Some(&soon) = self.order.get(turn + RECORDS_SOON) {
                prefetch(&self.sent[soon as u32 as usize]);
            }
            let sent = self.sent[key as u32 as usize];
            let now_ns = self.from_ns + (key >> 32);
            let element = sent.element() as u32;
            if sent.has(BEGINS) {
                while let Some((at_ns, element)) =
                    alarms.next_if(|&alarm| alarm <= (now_ns, element))
                {
                    hash.add(at_ns ^ number(element));
                }
                hash.add(now_ns ^ number(element));
            }
            if sent.ack != NO_ACK {
                hash.add(sent.ack.into());
            }
            if sent.kind() == DATA {
                for (segment, after_ns) in sent.burst().range().zip(sent.departs_after_ns) {
                    hash.add(match after_ns {
                        DROPPED | LOST => segment,
                        _ => now_ns + u64::from(after_ns),
                    });
                }
            }
        }
        for (at_ns, element) in alarms {
            hash.add(at_ns ^ number(element));
        }
        self.sent.clear();
        self.order.clear();
        self.alarms.clear();
    }
}

/// Sorts keys by their upper 32 bits; equal ones keep their order. A radix sort: `spare` is its memory.
fn sort_by_time(keys: &mut Vec<u64>, spare: &mut Vec<u64>) {
    const BITS: u32 = 9;
    let latest = keys.iter().copied().max().unwrap_or(0);
    let mut shift = u32::BITS;
    while latest >> shift > 0 {
        let digit = |key: u64| (key >> shift) as usize & ((1 << BITS) - 1);
        let mut places = [0; 1 << BITS];
        for &key in keys.iter() {
            places[digit(key)] += 1;
        }
        let mut place = 0;
        for each in &mut places {
            place += std::mem::replace(each, place);
        }
        spare.resize(keys.len(), 0);
        for &key in keys.iter() {
            let place = &mut places[digit(key)];
            spare[*place] = key;
            *place += 1;
        }
        std::mem::swap(keys, spare);
        shift += BITS;
    }
}
