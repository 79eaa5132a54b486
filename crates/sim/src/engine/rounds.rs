//! Many flows take turns in rounds (ADR 18). Among many flows the state of each is far away in memory
//! when its next event comes. But what a flow sends has no effect on it before its propagation delay
//! has passed. So if a round is no longer than that, all events of a flow in this round are known when
//! it begins. The flow handles them one behind the other, while its state is in the cache.
//!
//! What flows send is written down. At the end of a round the link takes the packets of all flows in
//! order of time: for that it needs no flow. In the next round each flow first gives its packets to its
//! receiver, and then its sender handles the ACKs.
//!
//! Result and hash are those of events in order of time. At equal times the flow with the lower number
//! goes first.

use super::evented::Header;
use super::resting::Resting;
use super::round::{Round, DATA, ESTABLISHED, FLAGS, LAST, LOST, NO_ACK, SYN};
use super::{Path, Simulation};
use crate::flow::{Connection, Flow, Phase};
use crate::record::{EventRow, RunResult, SampleRow};
use crate::scenario::{Hides, Scenario};
use crate::tcp::Transmit;
use crate::topology::Topology;
use crate::{Control, RunError};
use ackclock_host::prefetch;
use ackclock_net::impair::EveryNth;
use ackclock_net::link::{Buffer, LinkState, Predicted, WaitingBriefly};
use ackclock_net::schedule::{Schedule, NEVER};
use std::sync::atomic::Ordering;

/// Rounds in the least propagation delay. With one a flow handles twice as many events in each, but what
/// flows send takes twice the memory; the time is the same.
const ROUNDS_PER_DELAY: u64 = 2;
/// A round is no longer, so that a SYN is repeated in a later one.
const LONGEST_NS: u64 = 500_000_000;
/// If fewer packets than this part of the flows leave the link in a round, a round brings nothing.
const MOST_FLOWS_PER_PACKET: u128 = 16;
/// So many turns before a flow's, its memory is asked for; then what a gap needs.
const SOON: [usize; 2] = [4, 2];
/// Time and flow of what was recorded, and how many were recorded before it; then what.
type Row = ((u64, u32, u32), EventRow, Option<SampleRow>);

/// The link of flows that take turns in rounds.
pub(super) struct Rounds {
    link: Predicted<WaitingBriefly>,
    loss: EveryNth,
    length_ns: u64,
    /// When each flow wants to run next, if nothing arrives before.
    next_ns: Vec<u64>,
    /// The flows that have something to do in this round.
    due: Vec<u32>,
    /// How far the flows have taken the packets of the round before.
    taken: usize,
    resting: Resting,
    before: Round,
    pub(super) now: Round,
    /// What flows have recorded in this round.
    rows: Vec<Row>,
}

impl Rounds {
    /// `None`: the flows of this scenario cannot take turns, or would do little in each.
    pub(super) fn of(
        scenario: &Scenario,
        topology: &Topology,
        flows: &mut [Flow<'_>],
    ) -> Option<Self> {
        let one_way = topology.ways.iter().all(|way| way.acks.is_none());
        let ([link], true, true) = (&topology.links[..], one_way, topology.is_predictable()) else {
            return None;
        };
        let delay_ns = |flow: &Flow<'_>| flow.forth_ns + flow.back.delay_ns();
        let length_ns = (flows.iter().map(delay_ns).min()? / ROUNDS_PER_DELAY).min(LONGEST_NS);
        let bytes = scenario.packet_bytes();
        let packets_in = |ns: u64| {
            let bits = u128::from(ns) * u128::from(link.rate_bps) / 1_000_000_000;
            bits / (u128::from(bytes) * 8)
        };
        let buffer_bytes = match link.buffer {
            Buffer::Packets(packets) => u128::from(packets) * u128::from(bytes),
            Buffer::Bytes(bytes) => bytes.into(),
        };
        let longest_queue_ns =
            buffer_bytes * 8_000_000_000 / u128::from(link.rate_bps) + 4 * u128::from(link.tick_ns);
        let fits = longest_queue_ns < u128::from(LOST) / 2
            && buffer_bytes < u128::from(WaitingBriefly::LIMIT) / 2
            && packets_in(scenario.duration_ns) < u128::from(NO_ACK) / 4
            && flows.len() < 1 << (u32::BITS - FLAGS);
        // The packets of a round are dropped in the next: too late for a look at their flow.
        let honest = scenario
            .flows
            .iter()
            .all(|flow| flow.hides != Hides::Losses);
        let plain = scenario.sessions.is_empty() && scenario.sack_cost_ns == 0 && honest;
        let enough = packets_in(length_ns) >= (flows.len() as u128).div_ceil(MOST_FLOWS_PER_PACKET);
        if !(plain && fits && enough && length_ns > 0) {
            return None;
        }
        Some(Self {
            link: Predicted::new(link),
            loss: EveryNth::new(link.drop_every_packets),
            length_ns,
            next_ns: flows.iter_mut().map(Flow::next_event_ns).collect(),
            due: Vec::new(),
            taken: 0,
            resting: Resting::new(flows.len()),
            before: Round::default(),
            now: Round::default(),
            rows: Vec::new(),
        })
    }

    pub(super) fn record(
        &mut self,
        element: usize,
        now_ns: u64,
        event: EventRow,
        sample: Option<SampleRow>,
    ) {
        let order = (now_ns, element as u32, self.rows.len() as u32);
        self.rows.push((order, event, sample));
    }

    /// The queue and the totals at `now_ns`, the end of a round.
    pub(super) fn state(&mut self, now_ns: u64) -> LinkState {
        let mut state = self.link.state(now_ns);
        state.totals.lost_packets = self.loss.dropped_packets();
        state
    }

    /// Lists the flows that have something to do up to `until_ns`.
    fn list_due(&mut self, until_ns: u64) {
        self.due.clear();
        let mut sent = self
            .before
            .sent
            .iter()
            .map(|sent| sent.element() as u32)
            .peekable();
        for (element, &next_ns) in (0..).zip(&self.next_ns) {
            let mut due = next_ns <= until_ns;
            while sent.next_if_eq(&element).is_some() {
                due = true;
            }
            if due {
                self.due.push(element);
            }
        }
        self.taken = 0;
    }

    /// The round has ended: the link takes its packets, and the next begins.
    fn pass(&mut self, flows: &[Flow<'_>]) {
        let spare = &mut self.before;
        self.now.pass(&mut self.link, &mut self.loss, flows, spare);
        std::mem::swap(&mut self.before, &mut self.now);
    }

    /// Hands over what the flows of this round have recorded, in order of time.
    fn give_rows(&mut self, result: &mut RunResult) {
        self.rows.sort_unstable_by_key(|row| row.0);
        for (_, event, sample) in self.rows.drain(..) {
            result.events.push(event);
            if let Some(sample) = sample {
                result.samples.push(sample);
            }
        }
    }
}

impl Simulation<'_> {
    fn rounds(&mut self) -> Option<&mut Rounds> {
        match &mut self.path {
            Path::Rounds(rounds) => Some(rounds),
            _ => None,
        }
    }

    /// Lets the flows take turns in rounds if they can. Returns whether they will.
    pub(super) fn take_rounds(&mut self) -> bool {
        let topology = Topology::of(self.scenario);
        let Some(rounds) = Rounds::of(self.scenario, &topology, &mut self.flows) else {
            return false;
        };
        self.path = Path::Rounds(Box::new(rounds));
        self.schedule = Schedule::new(1);
        true
    }

    /// Simulates all rounds.
    #[inline(never)]
    pub(super) fn run_rounds(&mut self, control: &Control) -> Result<(), RunError> {
        let end_ns = self.scenario.duration_ns;
        let interval_ns = match self.scenario.sample_interval_ns {
            0 => NEVER,
            interval_ns => interval_ns,
        };
        let mut sample_ns = interval_ns;
        let mut from_ns = 0;
        while from_ns <= end_ns {
            control.check(from_ns)?;
            let live = control.wants_rows.swap(false, Ordering::Relaxed);
            self.hand_over_rows(if live { 1 } else { RunResult::MOST_ROWS });
            let common_ns = self.common.next_ns();
            let Some(rounds) = self.rounds() else {
                return Ok(());
            };
            let mut until_ns = from_ns + rounds.length_ns - 1;
            if rounds.before.sent.is_empty() {
                let first_ns = rounds.next_ns.iter().copied().min().unwrap_or(NEVER);
                until_ns = until_ns.max(first_ns.saturating_sub(1));
            }
            until_ns = until_ns.min(sample_ns).min(common_ns).min(end_ns);
            (rounds.now.from_ns, rounds.now.until_ns) = (from_ns, until_ns);
            rounds.list_due(until_ns);
            self.play(until_ns)?;
            self.end_round();
            if until_ns == common_ns {
                self.look();
            }
            if until_ns == sample_ns {
                self.sample(sample_ns);
                sample_ns += interval_ns;
            }
            from_ns = until_ns + 1;
        }
        // The packets of the last round reach their receivers.
        if let Some(rounds) = self.rounds() {
            rounds.list_due(end_ns);
            for place in 0..rounds.due.len() {
                let Some(&element) = self.rounds().and_then(|rounds| rounds.due.get(place)) else {
                    break;
                };
                let element = element as usize;
                self.wake(element, end_ns);
                while self.take_packets(element) {}
                self.rest(element, end_ns);
            }
            self.end_round();
        }
        control.simulated_ns.store(end_ns, Ordering::Relaxed);
        Ok(())
    }

    fn end_round(&mut self) {
        let Path::Rounds(rounds) = &mut self.path else {
            return;
        };
        rounds.before.add_to(&mut self.hash);
        rounds.pass(&self.flows);
        rounds.give_rows(&mut self.result);
        rounds.resting.end_round(self.flows.len());
    }

    #[inline(always)]
    fn wake(&mut self, element: usize, until_ns: u64) {
        if let Path::Rounds(rounds) = &mut self.path {
            let Rounds {
                resting, before, ..
            } = &mut **rounds;
            resting.wake(element, &mut self.flows[element], before.until_ns, until_ns);
        }
    }

    #[inline(always)]
    fn rest(&mut self, element: usize, until_ns: u64) {
        if let Path::Rounds(rounds) = &mut self.path {
            let Rounds {
                resting, next_ns, ..
            } = &mut **rounds;
            if let Some(ack_ns) = resting.rest(&mut self.flows[element], until_ns) {
                next_ns[element] = next_ns[element].min(ack_ns);
            }
        }
    }

    /// Every flow that is due handles its events up to `until_ns`.
    fn play(&mut self, until_ns: u64) -> Result<(), RunError> {
        let Path::Rounds(rounds) = &mut self.path else {
            return Ok(());
        };
        let due = std::mem::take(&mut rounds.due);
        let mut fault: Option<((u64, usize), RunError)> = None;
        for (place, &element) in due.iter().enumerate() {
            let soon = |places: usize| {
                due.get(place + places)
                    .map(|&soon| &self.flows[soon as usize])
            };
            if let Some(flow) = soon(SOON[0]) {
                prefetch(flow);
            }
            if let Some(flow) = soon(SOON[1]) {
                flow.prefetch_gaps();
            }
            let element = element as usize;
            self.wake(element, until_ns);
            let turn = self.take_turn(element, until_ns);
            self.rest(element, until_ns);
            if let Err((at_ns, error)) = turn {
                if fault
                    .as_ref()
                    .is_none_or(|(first, _)| *first > (at_ns, element))
                {
                    fault = Some(((at_ns, element), error));
                }
            }
        }
        if let Path::Rounds(rounds) = &mut self.path {
            rounds.due = due;
        }
        match fault {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    /// The next packets of a flow that left the link in the round before reach its receiver, or were
    /// dropped. Returns whether there were any; then there may be more. After the last of them the
    /// receiver's timers of that round end.
    #[inline(always)]
    fn take_packets(&mut self, element: usize) -> bool {
        let Path::Rounds(rounds) = &mut self.path else {
            return false;
        };
        let flow = &mut self.flows[element];
        let Rounds { before, taken, .. } = &mut **rounds;
        while let Some(&sent) = before.sent.get(*taken) {
            if sent.element() != element {
                break;
            }
            *taken += 1;
            if sent.packets() == 0 {
                continue;
            }
            let sent_ns = before.from_ns + u64::from(sent.after_ns);
            let departs_ns = sent.departs_ns(sent_ns);
            match sent.kind() {
                DATA => {
                    ring(flow, element, sent_ns, &mut before.alarms);
                    let dropped =
                        flow.take_packets(departs_ns, sent_ns, sent.burst(), sent.has(LAST));
                    self.census.dropped += dropped;
                    self.census.received += u64::from(sent.packets()) - dropped;
                }
                SYN => flow.control_left(&Header::Syn { answered: true }, departs_ns[0].ok()),
                ESTABLISHED => flow.control_left(&Header::Established, departs_ns[0].ok()),
                _ => (),
            }
            return true;
        }
        ring(flow, element, before.until_ns, &mut before.alarms);
        false
    }

    /// The sender of a flow handles what comes up to `until_ns`. With an error returns when it came.
    #[inline(always)]
    fn take_turn(&mut self, element: usize, until_ns: u64) -> Result<(), (u64, RunError)> {
        let mut comes_more = true;
        loop {
            // ACKs wait at the receiver, so that few are on their way.
            while comes_more && !self.flows[element].has_acks() {
                comes_more = self.take_packets(element);
            }
            let flow = &mut self.flows[element];
            let next_ns = flow.next_of_sender_ns();
            if next_ns > until_ns {
                while comes_more {
                    comes_more = self.take_packets(element);
                }
                let flow = &self.flows[element];
                let next_ns = next_ns.min(flow.receiver_timeout_ns());
                if let Path::Rounds(rounds) = &mut self.path {
                    rounds.next_ns[element] = next_ns;
                }
                return Ok(());
            }
            let at_error = |error| (next_ns, error);
            let Path::Rounds(rounds) = &mut self.path else {
                return Ok(());
            };
            let open = flow.next_timer_ns > next_ns;
            let (last, Some(connection)) = (flow.segments, flow.phase.open().filter(|_| open))
            else {
                self.slow_path(element, next_ns).map_err(at_error)?;
                continue;
            };
            let Connection { acks, sender, .. } = connection;
            let Some(ack) = acks.pop() else {
                return Ok(());
            };
            rounds.now.event(element, next_ns, Some(ack.ack));
            let plain = sender.predicts(&ack);
            let quiet = match plain {
                true => sender.handle_predicted(next_ns, ack.ack),
                false => {
                    sender.handle_ack(next_ns, &ack);
                    sender.is_quiet()
                }
            };
            if !quiet {
                self.report(element, next_ns).map_err(at_error)?;
                self.transmit(element, next_ns);
                continue;
            }
            if plain && !sender.is_idle() {
                // Its parts, so that most bursts stay in registers.
                while let Some(Transmit {
                    first,
                    segments,
                    pushed,
                    marks,
                }) = sender.poll_new()
                {
                    let burst = Transmit {
                        first,
                        segments,
                        pushed,
                        marks,
                    };
                    self.census.sent += u64::from(segments);
                    rounds.now.burst(burst, burst.range().end == last);
                    if sender.ends_turn() {
                        break;
                    }
                }
                continue;
            }
            while let Some(burst) = sender.poll_transmit(next_ns) {
                self.census.sent += u64::from(burst.segments);
                rounds.now.burst(burst, burst.range().end == last);
                if sender.ends_turn() {
                    break;
                }
            }
        }
    }
}

/// Ends the timers of the receiver that are due by `until_ns`.
#[inline(always)]
fn ring(flow: &mut Flow<'_>, element: usize, until_ns: u64, alarms: &mut Vec<(u64, u32)>) {
    while let Phase::Open(connection) = &mut flow.phase {
        let at_ns = connection.receiver.poll_timeout();
        if at_ns > until_ns {
            return;
        }
        alarms.push((at_ns, element as u32));
        if let Some(ack) = connection.receiver.handle_timeout(at_ns) {
            flow.send_ack(at_ns, ack);
        }
    }
}
