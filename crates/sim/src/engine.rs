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
mod offer;
mod resting;
mod round;
mod rounds;
mod rows;
mod slow_host;
mod slow_path;
mod taps;

use crate::capture::Capture;
use crate::census::{Census, TraceHash};
use crate::common::Common;
use crate::flow::Flow;
use crate::record::{AckSeen, RunResult};
use crate::scenario::{Prepared, Scenario};
use crate::session::Session;
use crate::topology::Topology;
use crate::{Control, RunError};
use ackclock_host::{advise_large_pages, Snapshot};
use ackclock_net::impair::EveryNth;
use ackclock_net::link::Predicted;
use ackclock_net::network::Network;
use ackclock_net::schedule::{Schedule, NEVER};
use evented::Segment;
use rounds::Rounds;
use std::sync::atomic::Ordering;

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

    /// Whether the memory of its flows matters.
    fn has_many(&self) -> bool {
        matches!(self.path, Path::Rounds(_)) || self.schedule.has_many()
    }
}
