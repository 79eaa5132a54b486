//! The straight path of the common event (ADR 17): an ACK that header prediction takes reaches its
//! sender, and the data that it releases pass a link that knows when they leave. Everything is looked
//! up once for all the ACKs that arrive one behind the other.

use super::{Dumbbell, Path, ACK_BYTES};
use crate::flow::Phase;
use crate::tcp::Transmit;
use crate::RunError;

/// What the straight path has left of its last event.
enum Rest {
    Nothing,
    /// The ACK has changed something that is recorded.
    Report,
    /// Nothing is out: the sender may have been idle, and is to send.
    Turn,
    /// These packets differ from the others of the flow, or not all of them reach the link.
    Burst(Transmit),
}

impl Dumbbell<'_> {
    /// Handles the event of a flow that is due at `next_ns`, as [`step`](Self::step) does, if it is the
    /// departure of a plain ACK on a link that data take, too. Then `next_ns` is when the flow wants to
    /// run next. Returns whether it was.
    #[inline(always)]
    pub(super) fn depart(&mut self, element: usize, next_ns: &mut u64) -> bool {
        let flow = &mut self.flows[element];
        let (Path::Predicted { links, .. }, Some(route)) = (&mut self.path, flow.way.acks) else {
            return false;
        };
        let Phase::Open(connection) = &mut flow.phase else {
            return false;
        };
        let now_ns = *next_ns;
        let Some(ack) = connection.answers.first_plain(now_ns) else {
            return false;
        };
        if connection.receiver.poll_timeout() <= now_ns {
            return false;
        }
        connection.answers.skip();
        self.hash.add(now_ns ^ (u64::from(flow.number) << 48));
        self.census.acks_sent += 1;
        match links[route].enqueue(now_ns, ACK_BYTES) {
            Some(departs_ns) => flow.fly(departs_ns, ack),
            None => self.census.acks_dropped += 1,
        }
        *next_ns = flow.next_event_ns();
        true
    }

    /// Handles the event of a flow that is due at `next_ns`, and those that follow before `until_ns`,
    /// as [`step`](Self::step) does, while each is a common ACK. At most `left` events; it counts them
    /// down. Then `next_ns` is when the flow wants to run next. Returns whether the first event was
    /// one.
    #[inline(always)]
    pub(super) fn ride(
        &mut self,
        element: usize,
        next_ns: &mut u64,
        until_ns: u64,
        left: &mut u32,
    ) -> Result<bool, RunError> {
        let Path::Predicted { links, losses } = &mut self.path else {
            return Ok(false);
        };
        let flow = &mut self.flows[element];
        if flow.others_ns <= *next_ns {
            return Ok(false);
        }
        let (link, loss) = (&mut links[flow.way.data], &mut losses[flow.way.data]);
        let (mut packets, mut dropped, mut rode) = (0, 0, 0);
        // The first event is due, whatever other flows want. Then a timer that has moved since may end
        // the way early: it does so seldom.
        let (mut steady_ns, mut before_ns) = (flow.others_ns, flow.others_ns);
        let rest = loop {
            let Phase::Open(connection) = &mut flow.phase else {
                break Rest::Nothing;
            };
            let Some(&(at_ns, ref ack)) = connection.acks.first() else {
                break Rest::Nothing;
            };
            if at_ns >= before_ns || rode == *left || !connection.sender.predicts(ack) {
                break Rest::Nothing;
            }
            let (now_ns, ack) = (at_ns, ack.ack);
            connection.acks.skip();
            rode += 1;
            self.hash.add(now_ns ^ (u64::from(flow.number) << 48));
            self.hash.add(ack);
            if !connection.sender.handle_predicted(now_ns, ack) {
                *next_ns = now_ns;
                break Rest::Report;
            }
            if connection.sender.is_idle() {
                *next_ns = now_ns;
                break Rest::Turn;
            }
            let uncommon = loop {
                let Phase::Open(connection) = &mut flow.phase else {
                    break None;
                };
                let Some(burst) = connection.sender.poll_new() else {
                    break None;
                };
                if burst.range().end == flow.segments || !loss.passes(burst.segments) {
                    break Some(burst);
                }
                packets += u64::from(burst.segments);
                if burst.segments == 2 && link.takes_pair(now_ns, flow.packet_bytes) {
                    let departures_ns = link.enqueue_pair(now_ns, flow.packet_bytes);
                    self.hash.add(departures_ns[0]);
                    self.hash.add(departures_ns[1]);
                    let at_ns = departures_ns.map(|departs_ns| departs_ns + flow.forth_ns);
                    steady_ns = match flow.arrive_pair(at_ns, now_ns, burst.first, burst) {
                        Some(answers_ns) => steady_ns.min(answers_ns),
                        None => flow.steady_ns(),
                    };
                } else {
                    dropped += flow.carry(link, &mut self.hash, now_ns, burst);
                    steady_ns = flow.steady_ns();
                }
                let Phase::Open(connection) = &mut flow.phase else {
                    break None;
                };
                if connection.sender.ends_turn() {
                    break None;
                }
            };
            if let Some(burst) = uncommon {
                *next_ns = now_ns;
                break Rest::Burst(burst);
            }
            let Phase::Open(connection) = &flow.phase else {
                break Rest::Nothing;
            };
            before_ns = steady_ns
                .min(connection.sender.poll_timeout())
                .min(until_ns);
        };
        *left -= rode;
        self.census.sent += packets;
        self.census.dropped += dropped;
        self.census.received += packets - dropped;
        self.census.acks_received += u64::from(rode) * u64::from(flow.way.acks.is_some());
        match rest {
            Rest::Nothing => {
                *next_ns = flow.next_event_ns();
                return Ok(rode > 0);
            }
            Rest::Report => self.report(element, *next_ns)?,
            Rest::Turn => (),
            Rest::Burst(burst) => {
                self.census.sent += u64::from(burst.segments);
                self.transmit_each(element, *next_ns, burst);
            }
        }
        self.transmit(element, *next_ns);
        *next_ns = self.flows[element].next_event_ns();
        Ok(true)
    }
}
