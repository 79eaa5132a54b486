//! The real-time loop: one thread carries every packet and drives every socket.
//!
//! Each turn writes the packets that are due, lets their sockets react, and reads what the hosts
//! sent. The kernel handles a packet inside the `write` that delivers the packet, so a turn leaves
//! nothing half done. Then the loop sleeps until the next packet is due, but at least for
//! [`COALESCE_NS`](super::carrier::COALESCE_NS): that makes 1 Gb/s affordable.

use super::carrier::Carrier;
use super::endpoint::{Endpoint, Rows};
use super::namespace::TunNamespace;
use super::TestbedError;
use crate::emulator::{EmulatedNetwork, Toward};
use ackclock_net::schedule::{Schedule, NEVER};
use ackclock_sim::common_interval::CommonInterval;
use ackclock_sim::record::QueueTable;
use ackclock_sim::scenario::Scenario;
use ackclock_sim::topology::Topology;
use ackclock_sim::Control;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

/// Input, state and output of the loop.
#[derive(Debug)]
pub(super) struct Loop<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) carrier: Carrier,
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) record: Rows,
    pub(super) queues: QueueTable,
    pub(super) common_interval: CommonInterval,
    /// Element 2i is the start of flow i, element 2i + 1 its stop; the last two elements are the sampler
    /// and the common interval.
    agenda: Schedule,
    /// Flows whose sender (0) or receiver (1) must be checked in this turn.
    touched: [Vec<usize>; 2],
    turn_ns: u64,
}

impl<'a> Loop<'a> {
    pub(super) fn new(
        scenario: &'a Scenario,
        endpoints: Vec<Endpoint>,
        namespaces: [Arc<TunNamespace>; 2],
        topology: &Topology,
    ) -> Self {
        let flows = endpoints.len();
        let interval_ns = scenario.sample_interval_ns;
        let mut agenda = Schedule::new(2 * flows + 2);
        for (index, flow) in scenario.flows.iter().enumerate() {
            agenda.set(2 * index, endpoints[index].connects_at_ns);
            agenda.set(2 * index + 1, flow.stop_ns.unwrap_or(NEVER));
        }
        agenda.set(2 * flows, if interval_ns > 0 { interval_ns } else { NEVER });
        let common_interval = CommonInterval::new(scenario);
        agenda.set(2 * flows + 1, common_interval.next_ns());
        let mut record = Rows {
            samples_wanted: interval_ns > 0,
            ..Rows::default()
        };
        let mut queues = QueueTable::default();
        let instants = scenario.duration_ns.checked_div(interval_ns).unwrap_or(0) as usize;
        record.samples.reserve(instants * flows + 4096);
        queues.reserve((instants + 1) * topology.links.len());
        let network = EmulatedNetwork::new(scenario, topology);
        let packet_bytes = scenario.packet_bytes();
        Self {
            scenario,
            carrier: Carrier::new(network, namespaces, topology, packet_bytes, false),
            endpoints,
            record,
            queues,
            common_interval,
            agenda,
            touched: Default::default(),
            turn_ns: 0,
        }
    }

    /// Runs the scenario in real time.
    pub(super) fn run(&mut self, control: &Control) -> Result<(), TestbedError> {
        self.carrier.start();
        let end_ns = self.scenario.duration_ns;
        loop {
            let now_ns = self.carrier.now_ns();
            if now_ns >= end_ns {
                break;
            }
            if control.cancelled.load(Relaxed) {
                return Err(TestbedError::cancelled());
            }
            control.simulated_ns.store(now_ns, Relaxed);
            let drained = self.turn(now_ns)?;
            if drained {
                self.carrier
                    .sleep(now_ns, self.agenda.first().0.min(end_ns));
            }
        }
        control.simulated_ns.store(end_ns, Relaxed);
        self.keep_agenda(end_ns)?;
        for endpoint in &mut self.endpoints {
            endpoint.update(end_ns, &mut self.record)?;
        }
        self.carrier.stop();
        Ok(())
    }

    /// Does everything that is due. Returns whether it has read both devices until they were empty.
    fn turn(&mut self, now_ns: u64) -> Result<bool, TestbedError> {
        self.turn_ns = now_ns;
        self.keep_agenda(now_ns)?;
        let [senders, receivers] = &mut self.touched;
        self.carrier.deliver(now_ns, |toward, flow| match toward {
            Toward::Sender => senders.push(flow),
            Toward::Receiver => receivers.push(flow),
        });
        for flow in each_once(receivers) {
            self.endpoints[flow].receive();
        }
        let now_ns = self.carrier.now_ns();
        for flow in each_once(senders) {
            self.endpoints[flow].update(now_ns, &mut self.record)?;
        }
        let answers_drained = self.carrier.read(Toward::Sender, |_| {});
        let data_drained = self.carrier.read(Toward::Receiver, |flow| {
            if self.endpoints[flow].updated_ns < self.turn_ns {
                // No ACK of this turn, so a timer sent it. The next turn checks the sender.
                senders.push(flow);
            }
        });
        Ok(data_drained && answers_drained)
    }

    /// Starts and stops flows, and takes samples.
    fn keep_agenda(&mut self, now_ns: u64) -> Result<(), TestbedError> {
        loop {
            let (at_ns, element) = self.agenda.first();
            if at_ns > now_ns {
                return Ok(());
            }
            let flow = element / 2;
            if element == 2 * self.endpoints.len() + 1 {
                // Before what is due now reaches a socket: nothing later than this time counts.
                let progress = self.endpoints.iter().map(Endpoint::progress);
                let progress = progress.collect::<Result<Vec<_>, _>>()?;
                self.common_interval.sample(progress.into_iter());
                self.agenda.set(element, self.common_interval.next_ns());
                continue;
            }
            if flow == self.endpoints.len() {
                self.sample(at_ns, now_ns)?;
                let next_ns = at_ns + self.scenario.sample_interval_ns;
                self.agenda.set(element, next_ns);
                continue;
            }
            if element % 2 == 0 {
                self.carrier
                    .senders
                    .request_ecn(!self.scenario.flows[flow].ecn.is_off())?;
                self.endpoints[flow].connect()?;
            } else {
                self.endpoints[flow].stop();
                self.touched[0].push(flow);
            }
            self.agenda.set(element, NEVER);
        }
    }

    fn sample(&mut self, at_ns: u64, now_ns: u64) -> Result<(), TestbedError> {
        for endpoint in &mut self.endpoints {
            if endpoint.connects_at_ns <= at_ns {
                self.record.samples.push(endpoint.sample_now(at_ns)?);
            }
        }
        self.carrier.sample(at_ns, now_ns, &mut self.queues);
        Ok(())
    }
}

/// Empties a list of flows.
fn each_once(flows: &mut Vec<usize>) -> impl Iterator<Item = usize> + '_ {
    flows.sort_unstable();
    flows.dedup();
    flows.drain(..)
}
