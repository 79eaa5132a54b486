//! The engine: connects senders, links, propagation delay and receivers, and moves time from event to
//! event.
//!
//! A flow is one element with one pending event. As soon as the bottleneck has accepted a data
//! packet, the receiver's answer is known. So receivers run ahead of the clock, and ACKs wait in
//! the flow's own queue until they reach the sender. An ACK therefore costs one event, and a data
//! packet costs none. If data goes both ways (ADR 7), ACKs queue among the data, and the departure
//! of an ACK is an event too.
//!
//! That needs queues that know each departure at once. Every other network takes an event for each
//! packet (`evented.rs`). Thousands of flows take turns in rounds (`rounds.rs`).

pub(crate) mod evented;
mod fast_path;
mod resting;
mod round;
mod rounds;
mod slow_host;
mod taps;

use crate::capture::{Capture, Data};
use crate::census::{Census, TraceHash};
use crate::common::Common;
use crate::flow::{Due, Flow, Phase};
use crate::record::{AckSeen, EventKind, EventRow, QueueRow, RunResult};
use crate::scenario::{Prepared, Scenario};
use crate::session::Session;
use crate::tcp::{Ack, SenderEvent, Transmit};
use crate::topology::Topology;
use crate::{Control, RunError};
use ackclock_host::{advise_large_pages, prefetch, Snapshot};
use ackclock_net::impair::EveryNth;
use ackclock_net::link::Predicted;
use ackclock_net::network::Network;
use ackclock_net::queue::{Cause, Ecn};
use ackclock_net::schedule::{Schedule, NEVER};
use evented::{Header, Segment};
use rounds::Rounds;
use std::sync::atomic::Ordering;

/// IP bytes of a SYN and of a bare ACK, with timestamps.
const SYN_BYTES: u32 = 60;
const ACK_BYTES: u32 = 52;
/// Bytes of the SACK option, padded, and of each of its blocks.
const SACK_BYTES: u32 = 4;
const SACK_BLOCK_BYTES: u32 = 8;
/// How many events pass between two checks of [`Control`].
const EVENTS_PER_CHECK: u32 = 1 << 14;

/// The network between the hosts.
enum Path {
    /// Links that know at once when a packet leaves, and the losses of data before them. Route `i`
    /// is link `i`.
    Predicted {
        links: Vec<Predicted>,
        losses: Vec<EveryNth>,
    },
    /// A link that does, of flows that take turns in rounds.
    Rounds(Box<Rounds>),
    /// Links that do not.
    Evented(Network<Segment>),
}

struct Simulation<'a> {
    scenario: &'a Scenario,
    /// No short way is taken (ADR 17).
    long_way: bool,
    path: Path,
    /// The flows, then the sessions.
    flows: Vec<Flow<'a>>,
    /// Of the flows.
    schedule: Schedule,
    hash: TraceHash,
    result: RunResult,
    census: Census,
    common: Common,
    /// Until when each flow's host is busy with an ACK; empty if ACKs take no time.
    busy_until_ns: Vec<u64>,
    /// The ACKs of flows, if somebody wants them.
    acks: Option<Vec<AckSeen>>,
    /// Writes the packets, if somebody wants them.
    capture: Option<Box<Capture<'a>>>,
    /// Who takes rows before the end of the run.
    on_rows: Option<&'a mut OnRows<'a>>,
}

/// Takes rows of a run as they come: a result with rows in the tables that grow with time. The
/// rows of all calls, and then those of the result, are the tables.
pub type OnRows<'a> = dyn FnMut(RunResult) + 'a;

/// How a scenario is simulated, and what is wanted besides its result. Each way gives the same result:
/// tests compare them.
#[derive(Default)]
pub struct Options<'a> {
    /// An event for each packet, even where its departure can be predicted. The trace hash is another.
    pub events: bool,
    /// No short way of the common packet (ADR 17).
    pub long_way: bool,
    /// Flows take turns in rounds, as thousands of them do, however few they are, if they can.
    pub rounds: bool,
    /// Whether [`Run::acks`] are wanted.
    pub acks: bool,
    /// Takes the rows of the tables that grow with time whenever there are [`RunResult::MOST_ROWS`], so
    /// that a long run needs no more memory than a short one, and whenever the [`Control`] wants them.
    pub on_rows: Option<&'a mut OnRows<'a>>,
    /// Writes the packets.
    pub capture: Option<Capture<'a>>,
}

/// What a run gives.
#[derive(Debug, Default)]
pub struct Run {
    /// Its tables.
    pub result: RunResult,
    /// Where its packets went.
    pub census: Census,
    /// What each sender was like when each ACK arrived, if that was wanted.
    pub acks: Vec<AckSeen>,
    /// Whether its flows took turns in rounds.
    pub in_rounds: bool,
}

/// Checks a scenario, and simulates it from start to end on the calling thread.
///
/// # Errors
/// A field that cannot be simulated, an algorithm that set an impossible window, or cancellation.
pub fn run(scenario: &Scenario, control: &Control) -> Result<RunResult, RunError> {
    let prepared = Prepared::new(scenario.clone(), &Snapshot::default())?;
    run_with(&prepared, control, Options::default()).map(|run| run.result)
}

/// Simulates a scenario that is already checked and compiled.
///
/// # Errors
/// An algorithm that set an impossible window, packets that cannot be written, or cancellation.
pub fn run_with<'a>(
    prepared: &'a Prepared,
    control: &Control,
    options: Options<'a>,
) -> Result<Run, RunError> {
    let rounds = options.rounds;
    let mut simulation = Simulation::new(prepared, options);
    let in_rounds = rounds && simulation.take_rounds();
    simulation.run(control)?;
    Ok(Run {
        result: simulation.result,
        census: simulation.census,
        acks: simulation.acks.unwrap_or_default(),
        in_rounds,
    })
}

impl Path {
    fn of(topology: &Topology, seed: u64, predict: bool) -> Self {
        if predict && topology.is_predictable() {
            let links = topology.links.iter();
            return Self::Predicted {
                losses: (links.clone())
                    .map(|link| EveryNth::new(link.drop_every_packets))
                    .collect(),
                links: links.map(Predicted::new).collect(),
            };
        }
        let routes = topology.routes.clone();
        Self::Evented(Network::new(seed, &topology.links, routes))
    }

    /// When the next packet leaves a queue, if that is an event.
    #[inline]
    fn next_event_ns(&self) -> u64 {
        match self {
            Self::Predicted { .. } | Self::Rounds(_) => NEVER,
            Self::Evented(network) => network.next_event_ns(),
        }
    }
}

/// Offers a packet to a link that predicts departures. Returns when it leaves; `None`: it is dropped.
fn enqueue(link: &mut Predicted, long_way: bool, now_ns: u64, bytes: u32) -> Option<u64> {
    match long_way {
        true => link.enqueue_the_long_way(now_ns, bytes),
        false => link.enqueue(now_ns, bytes),
    }
}

impl<'a> Simulation<'a> {
    fn new(prepared: &'a Prepared, options: Options<'a>) -> Self {
        let (scenario, algorithms) = (prepared.scenario(), prepared.algorithms());
        let topology = Topology::of(scenario);
        let path = Path::of(&topology, scenario.seed, !options.events);
        let sessions = scenario.sessions.iter().zip(1..).map(|(session, number)| {
            let source = Session::new(number, scenario, session);
            (number, &session.flow, Some(source))
        });
        let mut flows: Vec<Flow<'a>> = Vec::with_capacity(topology.ways.len());
        advise_large_pages(&mut flows);
        flows.extend(
            (scenario.flows.iter().zip(1..))
                .map(|(flow, number)| (number, flow, None))
                .chain(sessions)
                .zip(topology.ways)
                .map(|((number, flow, session), way)| {
                    let configured = &algorithms[&flow.algorithm];
                    let long_way = options.long_way;
                    Flow::new(number, scenario, flow, way, session, configured, long_way)
                }),
        );
        let mut schedule = Schedule::new(flows.len());
        for (element, flow) in flows.iter_mut().enumerate() {
            schedule.set(element, flow.next_event_ns());
        }
        let slow_hosts = match scenario.sack_cost_ns {
            0 => 0,
            _ => flows.len(),
        };
        Self {
            scenario,
            long_way: options.long_way,
            path,
            flows,
            schedule,
            busy_until_ns: vec![0; slow_hosts],
            hash: TraceHash(0),
            result: RunResult::default(),
            census: Census::default(),
            common: Common::of(scenario),
            acks: options.acks.then(Vec::new),
            capture: options.capture.map(Box::new),
            on_rows: options.on_rows,
        }
    }

    fn run(&mut self, control: &Control) -> Result<(), RunError> {
        let _running = control.enter();
        // Departures are known, nobody looks at each ACK or packet, and none waits for a busy host.
        let common = matches!(self.path, Path::Predicted { .. } | Path::Rounds(_))
            && self.acks.is_none()
            && self.capture.is_none()
            && self.busy_until_ns.is_empty()
            && !self.long_way;
        let many = self.schedule.has_many();
        if matches!(self.path, Path::Rounds(_)) || many && common && self.take_rounds() {
            self.run_rounds(control)?;
            self.finish(self.scenario.duration_ns);
            return Ok(());
        }
        let end_ns = self.scenario.duration_ns;
        let mut sample_ns = match self.scenario.sample_interval_ns {
            0 => NEVER,
            interval_ns => interval_ns,
        };
        let mut until_check = 0;
        loop {
            // At equal times packets leave queues first, and we look at the flows last.
            let (at_ns, element) = self.schedule.first();
            let network_ns = self.path.next_event_ns();
            let look_ns = sample_ns.min(self.common.next_ns());
            let now_ns = network_ns.min(at_ns).min(look_ns);
            if now_ns > end_ns {
                break;
            }
            if until_check == 0 {
                until_check = EVENTS_PER_CHECK;
                control.check(now_ns)?;
                if let Some(capture) = &mut self.capture {
                    capture.check()?;
                }
                let live = control.wants_rows.swap(false, Ordering::Relaxed);
                self.hand_over_rows(if live { 1 } else { RunResult::MOST_ROWS });
            }
            if network_ns == now_ns {
                until_check -= 1;
                self.carry(now_ns);
                continue;
            }
            if at_ns > now_ns {
                until_check -= 1;
                if self.common.next_ns() == now_ns {
                    self.look();
                }
                if sample_ns == now_ns {
                    self.sample(now_ns);
                    sample_ns += self.scenario.sample_interval_ns;
                }
                continue;
            }
            if common {
                self.run_fast(look_ns.min(end_ns), &mut until_check)?;
                continue;
            }
            until_check -= 1;
            self.slow_path(element, now_ns)?;
            let next_ns = self.flows[element].next_event_ns();
            self.schedule.set(element, next_ns);
        }
        control.simulated_ns.store(end_ns, Ordering::Relaxed);
        self.finish(end_ns);
        if let Some(capture) = &mut self.capture {
            capture.finish(end_ns)?;
        }
        Ok(())
    }

    /// Handles the event of a flow that is due.
    #[inline(never)]
    fn slow_path(&mut self, element: usize, now_ns: u64) -> Result<(), RunError> {
        let flow = &mut self.flows[element];
        match &mut self.path {
            Path::Rounds(rounds) => rounds.now.event(element, now_ns, None),
            _ => self.hash.add(now_ns ^ (u64::from(flow.number) << 48)),
        }
        let timers_due = self.long_way || flow.next_timer_ns <= now_ns;
        if timers_due && !self.handle_timers(element, now_ns)? {
            return Ok(());
        }
        let flow = &mut self.flows[element];
        let Phase::Open(connection) = &mut flow.phase else {
            return Ok(());
        };
        if let Some(busy_until_ns) = self.busy_until_ns.get_mut(element) {
            let cost_ns = self.scenario.sack_cost_ns;
            match slow_host::take_ack(connection, busy_until_ns, cost_ns, now_ns) {
                None => return Ok(()),
                Some(dropped) => {
                    self.census.acks_dropped += dropped * u64::from(flow.way.acks.is_some());
                }
            }
        }
        if let Some(ack) = connection.acks.take_arrived(now_ns) {
            self.census.acks_received += u64::from(flow.way.acks.is_some());
            match &mut self.path {
                Path::Rounds(rounds) => rounds.now.ack(ack.ack),
                _ => self.hash.add(ack.ack),
            }
            if let Some(acks) = &mut self.acks {
                acks.push(connection.sender.ack_row(now_ns, flow.number));
            }
            if let Some(capture) = &mut self.capture {
                capture.clock(now_ns);
                capture.ack_arrives(now_ns, element, &ack);
            }
            connection.sender.handle_ack(now_ns, &ack);
        }
        if !connection.sender.is_quiet() {
            self.report(element, now_ns)?;
        }
        self.transmit(element, now_ns);
        Ok(())
    }

    /// Records what an ACK or a timer has changed.
    #[inline(never)]
    fn report(&mut self, element: usize, now_ns: u64) -> Result<(), RunError> {
        self.fault(element, now_ns)?;
        self.record_events(element, now_ns);
        Ok(())
    }

    /// Handles an event that is due and not an ACK. Returns whether the sender may send now: after its
    /// timer, or if an ACK comes first.
    #[inline(never)]
    fn handle_timers(&mut self, element: usize, now_ns: u64) -> Result<bool, RunError> {
        let flow = &mut self.flows[element];
        let Phase::Open(connection) = &mut flow.phase else {
            self.connect(element, now_ns)?;
            return Ok(false);
        };
        // In rounds the receiver is behind its sender.
        let rounds = matches!(self.path, Path::Rounds(_));
        if connection.receiver.poll_timeout() <= now_ns && !rounds {
            if let Some(ack) = connection.receiver.handle_timeout(now_ns) {
                self.acknowledge(element, now_ns, ack);
            }
            return Ok(false);
        }
        let pending_acks = connection.pending_acks.as_mut();
        if let Some(ack) = pending_acks.and_then(|acks| acks.take_arrived(now_ns)) {
            self.acknowledge(element, now_ns, ack);
            return Ok(false);
        }
        if flow.application_ns <= now_ns {
            return Ok(!self.run_application(element, now_ns));
        }
        let sender = &mut connection.sender;
        let ack_comes = connection.acks.arrived(now_ns).is_some();
        // What pacing holds back leaves before an ACK of the same instant is handled: Linux's timer
        // (HRTIMER_SOFTIRQ) runs before an ACK that another timer lets come (NET_RX_SOFTIRQ, anew).
        if ack_comes && sender.pacing_ends(now_ns) {
            sender.handle_timeout(now_ns);
            self.transmit(element, now_ns);
            return Ok(false);
        }
        if !ack_comes && sender.poll_timeout() <= now_ns {
            sender.handle_timeout(now_ns);
        }
        Ok(true)
    }

    /// Returns whether the application has stopped.
    #[cold]
    #[inline(never)]
    fn run_application(&mut self, element: usize, now_ns: u64) -> bool {
        let flow = &mut self.flows[element];
        let stopped = flow.application_ns <= now_ns && flow.run_application(self.scenario, now_ns);
        if let (Phase::Open(connection), true) = (&flow.phase, stopped) {
            if connection.sender.is_complete() {
                self.record_events(element, now_ns);
            }
        }
        stopped
    }

    /// Sends the packets that the sender has ready, through the bottleneck to the receiver.
    #[inline(never)]
    fn transmit(&mut self, element: usize, now_ns: u64) {
        loop {
            let flow = &mut self.flows[element];
            let Phase::Open(connection) = &mut flow.phase else {
                return;
            };
            let Some(burst) = connection.sender.poll_transmit(now_ns) else {
                return;
            };
            self.census.sent += u64::from(burst.segments);
            let route = flow.way.data;
            let Path::Predicted { links, losses } = &mut self.path else {
                self.send_burst(element, now_ns, burst);
                continue;
            };
            let (link, loss) = (&mut links[route], &mut losses[route]);
            // The last segment may be smaller, some are lost before the link, and some are captured.
            let plain = burst.range().end != flow.segments
                && self.capture.is_none()
                && !self.long_way
                && loss.passes(burst.segments);
            if !plain {
                self.transmit_each(element, now_ns, burst);
                continue;
            }
            for segment in burst.range() {
                let Some(departs_ns) = link.enqueue(now_ns, flow.packet_bytes) else {
                    self.hash.add(segment);
                    flow.dropped(Cause::Full);
                    self.census.dropped += 1;
                    continue;
                };
                self.hash.add(departs_ns);
                self.census.received += 1;
                flow.receive(departs_ns + flow.forth_ns, now_ns, segment, burst);
            }
        }
    }

    /// Sends the packets of a burst one by one.
    #[cold]
    fn transmit_each(&mut self, element: usize, now_ns: u64, burst: Transmit) {
        self.tap_sent(element, now_ns, burst);
        let flow = &mut self.flows[element];
        let route = flow.way.data;
        let Path::Predicted { links, losses } = &mut self.path else {
            return;
        };
        for segment in burst.range() {
            let departure = if losses[route].drops() {
                Err(Cause::Loss)
            } else {
                let bytes = flow.packet_bytes(segment);
                let departs_ns = enqueue(&mut links[route], self.long_way, now_ns, bytes);
                departs_ns.ok_or(Cause::Full)
            };
            match departure {
                Ok(departs_ns) => {
                    self.hash.add(departs_ns);
                    self.census.received += 1;
                    let at_ns = departs_ns + flow.forth_ns;
                    match &mut self.capture {
                        None => flow.receive_any(at_ns, now_ns, segment, burst),
                        Some(capture) => {
                            let data = Data::new(segment, now_ns, burst);
                            taps::receive(capture, (element, flow), at_ns, data);
                        }
                    }
                }
                Err(cause) => {
                    self.hash.add(segment);
                    flow.dropped(cause);
                    self.census.dropped += 1;
                }
            }
        }
    }

    /// Sends an ACK of a receiver, through the queue on the way back if there is one.
    fn acknowledge(&mut self, element: usize, now_ns: u64, ack: Ack) {
        let flow = &mut self.flows[element];
        if let Some(capture) = &mut self.capture {
            capture.clock(now_ns);
            capture.ack_leaves(now_ns, element, flow.control_field(), &ack);
        }
        let Some(route) = flow.way.acks else {
            flow.send_ack(now_ns, ack);
            return;
        };
        self.census.acks_sent += 1;
        let blocks = ack.sacks().len() as u32;
        let option = if blocks > 0 {
            SACK_BYTES + blocks * SACK_BLOCK_BYTES
        } else {
            0
        };
        let bytes = ACK_BYTES + option;
        let Path::Predicted { links, .. } = &mut self.path else {
            let (field, header) = (flow.control_field(), Header::Ack(ack));
            self.send(element, now_ns, route, bytes, field, header);
            return;
        };
        match enqueue(&mut links[route], self.long_way, now_ns, bytes) {
            Some(departs_ns) => flow.send_ack(departs_ns, ack),
            None => self.census.acks_dropped += 1,
        }
    }

    /// A host sends a packet of the handshake: SYN and final ACK take the way of data, the SYN-ACK the
    /// way back.
    fn connect(&mut self, element: usize, now_ns: u64) -> Result<(), RunError> {
        let flow = &mut self.flows[element];
        let (way, field) = (flow.way, flow.control_field());
        let retry_ns = flow.syn_again_ns(self.scenario.hz, now_ns);
        let Phase::Connecting(connecting) = &mut flow.phase else {
            return Ok(());
        };
        match connecting.due(now_ns, retry_ns) {
            Due::Syn { answered } => {
                if let Some(capture) = &mut self.capture {
                    let last_bytes = flow.last_packet_bytes - self.scenario.header_bytes;
                    let connection = (flow.connection, flow.segments, last_bytes);
                    capture.clock(now_ns);
                    let ecn = (connecting.ecn, field);
                    capture.syn_leaves(now_ns, element, connection, ecn, answered);
                }
                self.control(element, now_ns, way.data, Header::Syn { answered });
            }
            Due::SynAck => {
                let Some(route) = way.acks else {
                    return Ok(());
                };
                if let Some(capture) = &mut self.capture {
                    capture.clock(now_ns);
                    capture.syn_ack_leaves(now_ns, element, field);
                }
                self.control(element, now_ns, route, Header::SynAck);
            }
            Due::Open(handshake, answered_ns) => {
                flow.open(self.scenario, handshake, answered_ns);
                if let Some(capture) = &mut self.capture {
                    capture.clock(now_ns);
                    capture.syn_ack_arrives(now_ns, element, field);
                    capture.established_leaves(now_ns, element, flow.control_field());
                }
                self.control(element, now_ns, way.data, Header::Established);
                self.record_event(element, now_ns, EventKind::Established, None);
                self.run_application(element, now_ns);
                self.fault(element, now_ns)?;
                self.transmit(element, now_ns);
            }
        }
        Ok(())
    }

    /// Sends a packet of a handshake on a route.
    fn control(&mut self, element: usize, now_ns: u64, route: usize, header: Header) {
        let field = self.flows[element].control_field();
        let bytes = match header {
            Header::Established => ACK_BYTES,
            _ => SYN_BYTES,
        };
        let Path::Predicted { links, .. } = &mut self.path else {
            self.send(element, now_ns, route, bytes, field, header);
            return;
        };
        let departs_ns = enqueue(&mut links[route], self.long_way, now_ns, bytes);
        self.control_left(element, &header, departs_ns, field);
    }

    /// A packet of a handshake has left its last link, or `None`: it is dropped.
    fn control_left(
        &mut self,
        element: usize,
        header: &Header,
        departs_ns: Option<u64>,
        field: Ecn,
    ) {
        let flow = &mut self.flows[element];
        if let (Some(capture), Some(at_ns)) = (&mut self.capture, departs_ns) {
            taps::control(capture, (element, flow), at_ns, field, header);
        }
        flow.control_left(header, departs_ns);
    }

    /// Ends the run if the algorithm has set an impossible window.
    #[cold]
    fn fault(&self, element: usize, now_ns: u64) -> Result<(), RunError> {
        let Phase::Open(connection) = &self.flows[element].phase else {
            return Ok(());
        };
        let Some((field, value, most)) = connection.sender.fault() else {
            return Ok(());
        };
        Err(RunError::Algorithm {
            kind: if self.flows[element].session.is_some() {
                "session"
            } else {
                "flow"
            },
            flow: self.flows[element].number,
            algorithm: self.scenario.algorithm(element).into(),
            field,
            value,
            time_us: now_ns / 1_000,
            most,
        })
    }

    #[cold]
    fn record_events(&mut self, element: usize, now_ns: u64) {
        let flow = &mut self.flows[element];
        let Phase::Open(connection) = &mut flow.phase else {
            return;
        };
        let events = connection.sender.take_events();
        let complete = connection.sender.is_complete() && flow.completed_ns == NEVER;
        for (event, cwnd, in_flight) in events {
            let kind = match event {
                SenderEvent::SlowStartExit => EventKind::SlowStartExit,
                SenderEvent::Recovery => EventKind::Recovery,
                SenderEvent::Cwr => EventKind::Cwr,
                SenderEvent::Recovered => EventKind::Recovered,
                SenderEvent::Timeout => EventKind::Timeout,
                SenderEvent::Undo => EventKind::Undo,
            };
            self.record_event(element, now_ns, kind, Some((cwnd, in_flight)));
        }
        if !complete {
        } else if self.flows[element].session.is_some() {
            self.end_transfer(element, now_ns);
        } else {
            self.flows[element].completed_ns = now_ns;
            self.record_event(element, now_ns, EventKind::Completed, None);
        }
    }

    /// Ends the transfer of a session: removes the connection and draws the next one.
    fn end_transfer(&mut self, element: usize, now_ns: u64) {
        let flow = &mut self.flows[element];
        let transfer = flow.transfer(self.scenario, now_ns);
        if let (Phase::Open(connection), Some(session), Some(transfer)) =
            (&flow.phase, &mut flow.session, transfer)
        {
            session.complete(&transfer, &connection.sender);
            self.census.add(connection, flow.way);
            self.result.transfers.push(transfer);
        }
        flow.prepare(self.scenario, now_ns);
    }

    fn record_event(
        &mut self,
        element: usize,
        now_ns: u64,
        kind: EventKind,
        before: Option<(u32, u32)>,
    ) {
        let flow = &mut self.flows[element];
        flow.counts.add(kind);
        let Phase::Open(connection) = &flow.phase else {
            return;
        };
        if flow.session.is_some() {
            return;
        }
        let tp = connection.sender.tp();
        let (cwnd, in_flight) =
            before.unwrap_or((tp.snd_cwnd, connection.sender.packets_in_flight()));
        let event = EventRow {
            time_us: now_ns / 1_000,
            flow: flow.number,
            kind,
            cwnd_packets: cwnd,
            ssthresh_packets: tp.snd_ssthresh,
            in_flight_packets: in_flight,
        };
        let sampled = self.scenario.sample_interval_ns > 0;
        let sample = sampled.then(|| flow.sample(self.scenario, now_ns));
        if let Path::Rounds(rounds) = &mut self.path {
            return rounds.record(element, now_ns, event, sample);
        }
        self.result.events.push(event);
        if let Some(sample) = sample {
            self.result.samples.push(sample);
        }
    }

    /// Hands over the rows so far if there are that many.
    fn hand_over_rows(&mut self, least: usize) {
        if let Some(on_rows) = &mut self.on_rows {
            if self.result.growing_rows() >= least {
                on_rows(self.result.take_rows());
            }
        }
    }

    /// Whether the memory of its flows matters.
    fn has_many(&self) -> bool {
        matches!(self.path, Path::Rounds(_)) || self.schedule.has_many()
    }

    fn sample(&mut self, now_ns: u64) {
        let many = self.has_many();
        for element in 0..self.scenario.flows.len() {
            if let (true, Some(soon)) = (many, self.flows.get(element + 4)) {
                prefetch(soon);
            }
            let flow = &mut self.flows[element];
            if flow.start_ns <= now_ns {
                self.result.samples.push(flow.sample(self.scenario, now_ns));
                if many {
                    flow.shrink();
                }
            }
            if self.result.samples.len() >= RunResult::MOST_ROWS {
                self.hand_over_rows(RunResult::MOST_ROWS);
            }
        }
        let queues = match &self.path {
            Path::Predicted { links, .. } => links.len(),
            Path::Rounds(_) => 1,
            Path::Evented(network) => network.links(),
        };
        for index in 0..queues {
            let state = match &mut self.path {
                Path::Predicted { links, losses } => {
                    let mut state = links[index].state(now_ns);
                    state.totals.lost_packets = losses[index].dropped_packets();
                    state
                }
                Path::Rounds(rounds) => rounds.state(now_ns),
                Path::Evented(network) => network.state(index, now_ns),
            };
            let row = QueueRow::of(now_ns, index as u32 + 1, &state);
            self.result.queues.push(row);
        }
    }

    /// The common interval begins or ends.
    fn look(&mut self) {
        let flows = self.flows.iter();
        let progress = flows.map(|flow| flow.progress(self.scenario));
        self.common.look(progress);
    }

    fn finish(&mut self, end_ns: u64) {
        if let Path::Evented(network) = &self.path {
            self.census.in_network = network.packets();
        }
        if self.has_many() {
            // The rows of flows take the place of what nothing needs any more.
            self.hand_over_rows(1);
            self.path = Path::Predicted {
                links: Vec::new(),
                losses: Vec::new(),
            };
        }
        self.result.flows.reserve(self.scenario.flows.len());
        for (element, flow) in self.flows.iter().enumerate() {
            let progress = flow.progress(self.scenario);
            let common_bytes = self.common.bytes(element, progress);
            if let Phase::Open(connection) = &flow.phase {
                self.census.add(connection, flow.way);
            }
            let Some(session) = &flow.session else {
                let row = flow.row(self.scenario, common_bytes);
                self.hash.add(row.delivered_bytes);
                self.hash.add(row.retransmitted_packets);
                self.result.packets += row.sent_packets;
                self.result.flows.push(row);
                continue;
            };
            let row = flow.session_row(self.scenario, session, common_bytes);
            self.hash.add(row.delivered_bytes);
            self.hash.add(row.retransmitted_packets);
            self.result.packets += row.sent_packets;
            self.result.sessions.push(row);
            if let (Some(transfer), true) =
                (flow.transfer(self.scenario, 0), flow.start_ns <= end_ns)
            {
                self.result.transfers.push(transfer);
            }
        }
        self.result.trace_hash = self.hash.0;
    }
}
