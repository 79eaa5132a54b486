//! The fast path of the common event (ADR 17): an ACK that header prediction takes reaches its
//! sender, and the data that it releases pass a link that knows when they leave. Everything is looked
//! up once for all the ACKs that arrive one behind the other.

use super::links::Links;
use super::simulation::Simulation;
use crate::flow::ConnectionState;
use crate::tcp::{Linux2_6, Linux6, Plan, Predicted, Transmit};
use crate::RunError;
use ackclock_host::{prefetch, Era};
use ackclock_net::schedule::NEVER;

/// What the fast path has left of its last event.
enum SlowPathReason {
    /// The next ACK arrives then.
    Nothing(u64),
    /// The ACK has changed something that is recorded.
    Report,
    /// Nothing is out: the sender may have been idle, and is to send.
    Turn,
    /// These packets differ from the others of the flow, or not all of them reach the link.
    Burst(Transmit),
}

impl Simulation<'_, Links> {
    /// Handles the events of flows up to `until_ns`, in order, of a network that predicts departures.
    /// At most `left` events; it counts them down.
    #[inline(never)]
    pub(super) fn run_fast(&mut self, until_ns: u64, left: &mut u32) -> Result<(), RunError> {
        let prefetches = self.schedule.has_many();
        loop {
            let (at_ns, element) = self.schedule.first();
            if at_ns > until_ns || *left == 0 {
                return Ok(());
            }
            if prefetches {
                self.prefetch();
            }
            // ACKs may arrive one behind the other.
            let alone_until_ns = self.schedule.alone_until_ns().min(until_ns + 1);
            let mut next_ns = at_ns;
            loop {
                let flow = &mut self.flows[element];
                let handled = if flow.next_timer_ns > next_ns {
                    match flow.state.open().and_then(|each| each.sender.plan()) {
                        Some(Era::Linux6) => {
                            self.fast_path::<Linux6>(element, &mut next_ns, alone_until_ns, left)?
                        }
                        Some(Era::Linux2_6) => {
                            self.fast_path::<Linux2_6>(element, &mut next_ns, alone_until_ns, left)?
                        }
                        None => self.fast_path::<Predicted>(
                            element,
                            &mut next_ns,
                            alone_until_ns,
                            left,
                        )?,
                    }
                } else {
                    self.forward_plain_ack(element, &mut next_ns, left)
                };
                if !handled {
                    *left -= 1;
                    let first = self.first_of_timers(element, next_ns);
                    self.slow_path(first, next_ns)?;
                    if first != element {
                        let later_ns = self.flows[first].next_event_ns();
                        self.schedule.set(first, later_ns);
                        break;
                    }
                    next_ns = self.flows[element].next_event_ns();
                }
                if next_ns >= alone_until_ns || *left == 0 {
                    break;
                }
            }
            self.schedule.set(element, next_ns);
        }
    }

    /// Asks for the memory of flows that will be due soon.
    #[inline(never)]
    fn prefetch(&mut self) {
        if let Some(pending) = self.schedule.later() {
            prefetch(pending);
        }
        while let Some(element) = self.schedule.take_ahead() {
            prefetch(&self.flows[element]);
        }
        if let Some(element) = self.schedule.soon::<9>() {
            self.flows[element].prefetch_more();
        }
        if let Some(element) = self.schedule.soon::<4>() {
            self.flows[element].prefetch_slots();
        }
    }

    /// Handles the event of a flow that is due at `next_ns`, as [`slow_path`](Self::slow_path) does, if it is the
    /// departure of a plain ACK on a link that data take, too. Then `next_ns` is when the flow wants to
    /// run next. Returns whether it was.
    #[inline(always)]
    fn forward_plain_ack(&mut self, element: usize, next_ns: &mut u64, left: &mut u32) -> bool {
        let flow = &mut self.flows[element];
        let (ConnectionState::Open(connection), Some(route)) = (&mut flow.state, flow.path.acks)
        else {
            return false;
        };
        let now_ns = *next_ns;
        let Some(pending_acks) = &mut connection.pending_acks else {
            return false;
        };
        let Some(ack) = pending_acks.first_plain(now_ns) else {
            return false;
        };
        // The timer that was due when its segment came has gone first.
        let receiver = &connection.receiver;
        debug_assert!(receiver.poll_timeout() > now_ns || receiver.only_reads(now_ns));
        pending_acks.skip();
        self.hash.add(now_ns ^ (u64::from(flow.number) << 48));
        self.census.acks_sent += 1;
        *left -= 1;
        match self.wire.links[route].enqueue(now_ns, flow.ack_bytes) {
            Some(departs_ns) => flow.send_ack(departs_ns, ack),
            None => self.census.acks_dropped += 1,
        }
        *next_ns = flow.next_event_ns();
        true
    }

    /// Handles the ACK of a flow that is due at `next_ns`, and those that follow before `until_ns`, as
    /// [`slow_path`](Self::slow_path) does, while each is a common ACK. At most `left` events; it counts them
    /// down. Then `next_ns` is when the flow wants to run next. Returns whether the first event was
    /// one.
    #[inline(always)]
    fn fast_path<P: Plan>(
        &mut self,
        element: usize,
        next_ns: &mut u64,
        until_ns: u64,
        left: &mut u32,
    ) -> Result<bool, RunError> {
        let flow = &mut self.flows[element];
        let route = flow.path.data;
        let (link, loss) = (&mut self.wire.links[route], &mut self.wire.losses[route]);
        let pushes_bursts = flow.kernel.pushes_bursts;
        let (mut packets, mut dropped, mut more) = (0, 0, *left);
        let (mut hash, number) = (self.hash, u64::from(flow.number) << 48);
        // The first event is due, whatever other flows want. Then a timer that has moved since may end
        // the way early: it does so seldom.
        let (mut next_independent_ns, mut before_ns) =
            (flow.next_timer_ns.min(until_ns), flow.next_timer_ns);
        let reason = loop {
            let Some(mut connection) = flow.state.open() else {
                break SlowPathReason::Nothing(NEVER);
            };
            let Some(&(at_ns, ref ack)) = connection.acks.front() else {
                break SlowPathReason::Nothing(NEVER);
            };
            if at_ns >= before_ns || more == 0 || !connection.sender.predicts::<P>(ack) {
                break SlowPathReason::Nothing(at_ns);
            }
            // Its plan is quicker.
            if P::COMMON.is_none() && connection.sender.is_common() && more < *left {
                break SlowPathReason::Nothing(at_ns);
            }
            let (now_ns, ack) = (at_ns, ack.ack);
            connection.acks.skip();
            more -= 1;
            hash.add(now_ns ^ number);
            hash.add(ack);
            if !connection.sender.handle_predicted::<P>(now_ns, ack) {
                *next_ns = now_ns;
                break SlowPathReason::Report;
            }
            if connection.sender.is_idle() {
                *next_ns = now_ns;
                break SlowPathReason::Turn;
            }
            let turn = loop {
                let Some(burst) = connection.sender.poll_new::<P>() else {
                    break Ok(connection.sender.poll_timeout());
                };
                let last = P::COMMON.is_none() && burst.range().end >= flow.segments;
                if last || !loss.passes(burst.segments) {
                    break Err(SlowPathReason::Burst(burst));
                }
                packets += u64::from(burst.segments);
                if burst.segments == 2 && link.takes(2, now_ns, flow.packet_bytes) {
                    let departures_ns = link.enqueue_pair(now_ns, flow.packet_bytes);
                    hash.add(departures_ns[0]);
                    hash.add(departures_ns[1]);
                    let at_ns = departures_ns.map(|departs_ns| departs_ns + flow.forth_ns);
                    let pushes = burst.pushed && pushes_bursts;
                    if connection
                        .receiver
                        .is_ordinary_pair(at_ns, now_ns, burst.first, pushes)
                    {
                        let (cause, ack) = connection.receiver.handle_pair(now_ns);
                        match &mut connection.pending_acks {
                            None => {
                                let arrives_ns = flow.back.arrives_ns(at_ns[cause]);
                                connection.acks.push((arrives_ns, ack));
                            }
                            Some(pending_acks) => {
                                pending_acks.push((at_ns[cause], ack));
                                next_independent_ns = next_independent_ns.min(at_ns[cause]);
                            }
                        }
                        continue;
                    }
                    flow.receive(at_ns[0], now_ns, burst.first, burst);
                    flow.receive(at_ns[1], now_ns, burst.first + 1, burst);
                } else {
                    dropped += flow.carry(link, &mut hash, now_ns, burst);
                }
                next_independent_ns = flow.next_independent_ns().min(until_ns);
                match flow.state.open() {
                    Some(open) => connection = open,
                    None => break Err(SlowPathReason::Nothing(NEVER)),
                }
            };
            match turn {
                Ok(timeout_ns) => before_ns = next_independent_ns.min(timeout_ns),
                Err(rest) => {
                    *next_ns = now_ns;
                    break rest;
                }
            }
        };
        let taken = *left - more;
        (*left, self.hash) = (more, hash);
        self.census.sent += packets;
        self.census.dropped += dropped;
        self.census.received += packets - dropped;
        self.census.acks_received += u64::from(taken) * u64::from(flow.path.acks.is_some());
        match reason {
            SlowPathReason::Nothing(ack_ns) => {
                *next_ns = ack_ns.min(flow.update_next_timer_ns());
                return Ok(taken > 0);
            }
            SlowPathReason::Report => self.report(element, *next_ns)?,
            SlowPathReason::Turn => (),
            SlowPathReason::Burst(burst) => {
                self.census.sent += u64::from(burst.segments);
                self.offer_each(element, *next_ns, burst);
            }
        }
        self.transmit(element, *next_ns);
        *next_ns = self.flows[element].next_event_ns();
        Ok(true)
    }
}
