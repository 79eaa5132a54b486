//! The engine: connects senders, links, propagation delay and receivers, and moves time from event to
//! event.
//!
//! A flow is one element with one pending event. As soon as the bottleneck has accepted a data
//! packet, the receiver's answer is known. So receivers run ahead of the clock, and ACKs wait in
//! the flow's own queue until they reach the sender. An ACK therefore costs one event, and a data
//! packet costs none. If data goes both ways (ADR 7), ACKs queue among the data, and the departure
//! of an ACK is an event too.
//!
//! That needs queues that know each departure at once ([`links`]). Every other network takes an event
//! for each packet ([`evented`]). Thousands of flows take turns in rounds ([`many`]). A simulation is
//! compiled for each of these networks ([`wire`]).

mod acting;
mod branch;
mod evented;
mod fast_path;
mod guests;
mod links;
mod many;
mod rows;
mod simulation;
mod slow_host;
mod slow_path;
mod taps;
mod timers;
mod wire;

use crate::census::{Census, TraceHash};
use crate::common_interval::CommonInterval;
use crate::flow::Flow;
use crate::record::{PacketTable, RunResult};
use crate::scenario::{Change, Prepared, Scenario};
use crate::session::Session;
use crate::topology::Topology;
use crate::{Control, RunError};
use ackclock_host::{advise_large_pages, Snapshot};
use ackclock_net::impair::Aims;
use ackclock_net::network::Network;
use ackclock_net::schedule::{Schedule, FEW, NEVER};
use links::Links;
use many::Many;
use simulation::{share_jiffies, Simulation};
use std::sync::atomic::Ordering;
use wire::Wire;

pub use acting::{Acting, Seen, SEEN};
pub use simulation::{OnRows, Options, Run};

/// How many events pass between two checks of [`Control`].
const EVENTS_PER_CHECK: u32 = 1 << 14;

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
    mut options: Options<'a>,
) -> Result<Run, RunError> {
    options.acks |= options.acting.is_some();
    let scenario = prepared.scenario();
    let topology = Topology::new(scenario);
    let mut flows = flows(prepared, &topology, options.long_way);
    // Of packets that arrive at one instant, those that a link predicts would come before timers.
    let in_batches = flows.iter().any(|flow| flow.in_batches);
    if options.events || scenario.has_guests() || !topology.is_predictable() || in_batches {
        let network = Network::new(scenario.seed, &topology.links, topology.routes);
        return Simulation::new(scenario, flows, network, options).run(prepared, control);
    }
    let in_rounds = options.rounds || flows.len() > FEW && options.allow_fast_path();
    if in_rounds && scenario.changes.is_empty() {
        if let Some(many) = Many::take(scenario, &topology, &mut flows) {
            return Simulation::new(scenario, flows, many, options).run_rounds(control);
        }
    }
    let links = Links::new(&topology.links);
    Simulation::new(scenario, flows, links, options).run(prepared, control)
}

/// The flows, then the sessions.
fn flows<'a>(prepared: &'a Prepared, topology: &Topology, long_way: bool) -> Vec<Flow<'a>> {
    let (scenario, algorithms) = (prepared.scenario(), prepared.algorithms());
    let sessions = scenario.sessions.iter().zip(1..).map(|(session, number)| {
        let source = Session::new(number, scenario, session);
        (number, &session.flow, Some(source))
    });
    let mut flows = Vec::with_capacity(topology.paths.len());
    advise_large_pages(&mut flows);
    let numbered = (scenario.flows.iter().zip(1..)).map(|(flow, number)| (number, flow, None));
    let sources = numbered.chain(sessions).zip(&topology.paths);
    flows.extend(sources.map(|((number, flow, session), &path)| {
        let configured = &algorithms[&flow.algorithm];
        Flow::new(number, scenario, flow, path, session, configured, long_way)
    }));
    flows
}

impl<'a, W: Wire> Simulation<'a, W> {
    fn new(
        scenario: &'a Scenario,
        mut flows: Vec<Flow<'a>>,
        wire: W,
        options: Options<'a>,
    ) -> Self {
        let mut schedule = Schedule::new(if W::IN_TURNS { 0 } else { flows.len() });
        if !W::IN_TURNS {
            for (element, flow) in flows.iter_mut().enumerate() {
                schedule.set(element, flow.next_event_ns());
            }
        }
        let slow_hosts = match scenario.sack_cost_ns {
            0 => 0,
            _ => flows.len(),
        };
        Self {
            scenario,
            long_way: options.long_way,
            same_jiffies: share_jiffies(scenario, flows.len()),
            wire,
            flows,
            schedule,
            busy_until_ns: vec![0; slow_hosts],
            hash: TraceHash(0),
            result: RunResult::default(),
            census: Census::default(),
            common_interval: CommonInterval::new(scenario),
            aims: Aims::default(),
            acks: options.acks.then(Vec::new),
            acting: options.acting,
            packets: options.packets.then(PacketTable::default),
            capture: options.capture.map(Box::new),
            on_rows: options.on_rows,
        }
    }

    fn run(mut self, prepared: &'a Prepared, control: &Control) -> Result<Run, RunError> {
        let _running = control.enter();
        // No host is busy, nobody looks at each ACK or packet, and no short way is forbidden.
        let common = self.busy_until_ns.is_empty()
            && self.acks.is_none()
            && self.packets.is_none()
            && self.capture.is_none()
            && !self.long_way;
        let end_ns = self.scenario.duration_ns;
        let mut sample_ns = match self.scenario.sample_interval_ns {
            0 => NEVER,
            interval_ns => interval_ns,
        };
        let mut changes: Vec<_> = self.scenario.changes.iter().collect();
        changes.sort_by_key(|change| change.at_ns);
        let mut changes = changes.into_iter().peekable();
        // A change comes when all before its time is done.
        let last_ns = |next: Option<&&Change>| next.map_or(NEVER, |change| change.at_ns - 1);
        let mut change_ns = last_ns(changes.peek());
        let mut timed_ns = sample_ns.min(change_ns);
        let mut until_check = 0;
        loop {
            // At equal times packets leave queues first, and we look at the flows last.
            let (at_ns, element) = self.schedule.first();
            let network_ns = self.wire.next_event_ns();
            let look_ns = timed_ns.min(self.common_interval.next_ns());
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
                W::handle(&mut self, now_ns);
                continue;
            }
            if at_ns > now_ns {
                until_check -= 1;
                if self.common_interval.next_ns() == now_ns {
                    self.sample_common_interval();
                }
                if sample_ns == now_ns {
                    self.sample(now_ns);
                    sample_ns += self.scenario.sample_interval_ns;
                }
                while let Some(change) = changes.next_if(|_| change_ns == now_ns) {
                    self.branch(prepared, change)?;
                    change_ns = last_ns(changes.peek());
                }
                timed_ns = sample_ns.min(change_ns);
                continue;
            }
            if common && W::run_fast(&mut self, look_ns.min(end_ns), &mut until_check)? {
                continue;
            }
            until_check -= 1;
            let element = self.first_of_timers(element, now_ns);
            self.slow_path(element, now_ns)?;
            let next_ns = self.flows[element].next_event_ns();
            self.schedule.set(element, next_ns);
        }
        self.finish(control, end_ns)
    }
}
