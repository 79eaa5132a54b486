//! The real-time loop: one thread carries every packet and drives every socket.
//!
//! Each turn writes the packets that are due, lets their sockets react, and reads what the hosts
//! sent. The kernel handles a packet inside the `write` that delivers the packet, so a turn leaves
//! nothing half done. Then the loop sleeps until the next packet is due, but at least for
//! [`COALESCE_NS`]: that makes 1 Gb/s affordable.

use super::endpoint::{Endpoint, Rows};
use super::namespace::TunNamespace;
use super::{sys, TestbedError};
use crate::emulator::{EmulatedNetwork, Lateness, Toward};
use ackclock_net::schedule::{Schedule, NEVER};
use ackclock_sim::common::Common;
use ackclock_sim::record::{QueueRow, QueueTable};
use ackclock_sim::scenario::Scenario;
use ackclock_sim::topology::{Topology, Way};
use ackclock_sim::Control;
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Shortest time between two turns.
const COALESCE_NS: u64 = 50_000;
/// Shortest busy period of a link that measures its rate.
const LEAST_PERIOD_NS: i64 = 400 * COALESCE_NS as i64;
/// Maximum packets read from a device in one turn.
const MOST_READS: u32 = 256;
/// Longest sleep, and so the longest time until a cancelled run ends.
const LONGEST_SLEEP_NS: u64 = 10_000_000;
/// Above all normal threads, below the kernel's own threads.
const PRIORITY: i32 = 50;

/// Input, state and output of the loop.
#[derive(Debug)]
pub(super) struct Loop<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) network: EmulatedNetwork,
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) senders: &'a TunNamespace,
    pub(super) receivers: &'a TunNamespace,
    pub(super) record: Rows,
    pub(super) queues: QueueTable,
    pub(super) measured: Measured,
    pub(super) common: Common,
    /// Element 2i is the start of flow i, element 2i + 1 its stop; the last two elements are the sampler
    /// and the common interval.
    agenda: Schedule,
    /// Flows whose sender (0) or receiver (1) must be checked in this turn.
    touched: [Touched; 2],
    /// The last link that the data of each flow passes.
    last_links: Vec<usize>,
    /// Where a packet is read.
    buffer: Box<[u8]>,
    /// Monotonic time of the start.
    pub(super) started_ns: u64,
    turn_ns: u64,
}

/// How well the loop kept time.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pub(super) lateness: Lateness,
    /// Lateness of the latest sample; then the packets that could not be written.
    pub(super) sample_late_ns: u64,
    pub(super) lost_packets: u64,
    /// How busy each link was.
    pub(super) links: Vec<Busy>,
    pub(super) cpu_time: Duration,
    /// Why the thread has no real-time priority.
    pub(super) not_realtime: Option<io::Error>,
}

/// Data that left the network back to back behind a link, by the real clock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Busy {
    pub(super) rate_bps: u64,
    total: Span,
    /// Since the link was last idle.
    present: Span,
    /// When the last packet left by the link's clock, and by the real clock.
    last: (u64, u64),
}

/// Bytes, and the time that they took.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    pub(super) bytes: u64,
    pub(super) ns: i64,
}

/// A set of flows.
#[derive(Debug)]
struct Touched {
    is_in: Vec<bool>,
    flows: Vec<usize>,
}

impl Touched {
    fn new(flows: usize) -> Self {
        Self {
            is_in: vec![false; flows],
            flows: Vec::with_capacity(flows),
        }
    }

    #[inline]
    fn insert(&mut self, flow: usize) {
        if !self.is_in[flow] {
            self.is_in[flow] = true;
            self.flows.push(flow);
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<usize> {
        let flow = self.flows.pop()?;
        self.is_in[flow] = false;
        Some(flow)
    }
}

impl<'a> Loop<'a> {
    pub(super) fn new(
        scenario: &'a Scenario,
        endpoints: Vec<Endpoint>,
        [senders, receivers]: [&'a TunNamespace; 2],
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
        let common = Common::of(scenario);
        agenda.set(2 * flows + 1, common.next_ns());
        let mut record = Rows {
            samples_wanted: interval_ns > 0,
            ..Rows::default()
        };
        let mut queues = QueueTable::default();
        let instants = scenario.duration_ns.checked_div(interval_ns).unwrap_or(0) as usize;
        record.samples.reserve(instants * flows + 4096);
        queues.reserve((instants + 1) * topology.links.len());
        let last_of = |way: &Way| topology.routes[way.data].last().copied();
        let links = topology.links.iter().map(|link| Busy {
            rate_bps: link.rate_bps,
            ..Busy::default()
        });
        Self {
            scenario,
            network: EmulatedNetwork::new(scenario, topology),
            endpoints,
            senders,
            receivers,
            record,
            queues,
            measured: Measured {
                links: links.collect(),
                ..Measured::default()
            },
            common,
            agenda,
            touched: [Touched::new(flows), Touched::new(flows)],
            last_links: topology.ways.iter().filter_map(last_of).collect(),
            buffer: vec![0; scenario.packet_bytes() as usize].into(),
            started_ns: 0,
            turn_ns: 0,
        }
    }

    /// Runs the scenario in real time.
    pub(super) fn run(&mut self, control: &Control) -> Result<(), TestbedError> {
        self.measured.not_realtime = sys::become_realtime(PRIORITY).err();
        let cpu_before = sys::thread_cpu_time();
        self.started_ns = sys::now_ns();
        let end_ns = self.scenario.duration_ns;
        loop {
            let now_ns = self.now_ns();
            if now_ns >= end_ns {
                break;
            }
            if control.cancelled.load(Relaxed) {
                return Err(TestbedError::Cancelled);
            }
            control.simulated_ns.store(now_ns, Relaxed);
            let drained = self.turn(now_ns)?;
            if drained {
                self.sleep(now_ns, end_ns);
            }
        }
        control.simulated_ns.store(end_ns, Relaxed);
        self.keep_agenda(end_ns)?;
        for endpoint in &mut self.endpoints {
            endpoint.update(end_ns, &mut self.record)?;
        }
        self.measured.cpu_time = sys::thread_cpu_time().saturating_sub(cpu_before);
        Ok(())
    }

    #[inline]
    fn now_ns(&self) -> u64 {
        sys::now_ns() - self.started_ns
    }

    /// Does everything that is due. Returns whether it has read both devices until they were empty.
    fn turn(&mut self, now_ns: u64) -> Result<bool, TestbedError> {
        self.turn_ns = now_ns;
        self.keep_agenda(now_ns)?;
        self.deliver(now_ns);
        let [senders, receivers] = &mut self.touched;
        while let Some(flow) = receivers.pop() {
            self.endpoints[flow].receive();
        }
        let now_ns = sys::now_ns() - self.started_ns;
        while let Some(flow) = senders.pop() {
            self.endpoints[flow].update(now_ns, &mut self.record)?;
        }
        let answers_drained = self.read(Toward::Sender);
        Ok(self.read(Toward::Receiver) && answers_drained)
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
                self.common.look(progress.into_iter());
                self.agenda.set(element, self.common.next_ns());
                continue;
            }
            if flow == self.endpoints.len() {
                self.sample(at_ns, now_ns)?;
                let next_ns = at_ns + self.scenario.sample_interval_ns;
                self.agenda.set(element, next_ns);
                continue;
            }
            if element % 2 == 0 {
                self.senders
                    .request_ecn(!self.scenario.flows[flow].ecn.is_off())?;
                self.endpoints[flow].connect()?;
            } else {
                self.endpoints[flow].stop();
                self.touched[0].insert(flow);
            }
            self.agenda.set(element, NEVER);
        }
    }

    fn sample(&mut self, at_ns: u64, now_ns: u64) -> Result<(), TestbedError> {
        let late_ns = now_ns - at_ns;
        self.measured.sample_late_ns = self.measured.sample_late_ns.max(late_ns);
        for endpoint in &mut self.endpoints {
            if endpoint.connects_at_ns <= at_ns {
                self.record.samples.push(endpoint.sample_now(at_ns)?);
            }
        }
        for (state, number) in self.network.states(at_ns).zip(1..) {
            self.queues.push(QueueRow::of(at_ns, number, &state));
        }
        Ok(())
    }

    /// Writes the packets that are due.
    fn deliver(&mut self, now_ns: u64) {
        while let Some(due) = self.network.take_due(now_ns) {
            let late_ns = sys::now_ns() - self.started_ns - due.due_ns;
            self.measured.lateness.add(late_ns);
            let (host, touched) = match due.toward {
                Toward::Sender => (self.senders, &mut self.touched[0]),
                Toward::Receiver => (self.receivers, &mut self.touched[1]),
            };
            touched.insert(due.flow);
            if due.toward == Toward::Receiver {
                let link = &mut self.measured.links[self.last_links[due.flow]];
                link.add(due.left_ns, late_ns, due.bytes.len());
            }
            if sys::write(&host.tun, &due.bytes).is_err() {
                self.measured.lost_packets += 1;
            }
        }
    }

    /// Reads the packets that a host has sent. Returns whether there are no more.
    fn read(&mut self, toward: Toward) -> bool {
        let host = match toward {
            Toward::Receiver => self.senders,
            Toward::Sender => self.receivers,
        };
        for _ in 0..MOST_READS {
            let Ok(len) = sys::read(&host.tun, &mut self.buffer) else {
                return true;
            };
            let now_ns = sys::now_ns() - self.started_ns;
            let flow = self.network.send(now_ns, toward, &self.buffer[..len]);
            if let (Some(flow), Toward::Receiver) = (flow, toward) {
                if self.endpoints[flow].updated_ns < self.turn_ns {
                    // No ACK of this turn, so a timer sent it. The next turn checks the sender.
                    self.touched[0].insert(flow);
                }
            }
        }
        false
    }

    fn sleep(&self, turn_ns: u64, end_ns: u64) {
        let next_ns = self
            .network
            .next_event_ns()
            .min(self.agenda.first().0)
            .min(end_ns);
        let wake_ns = next_ns.max(turn_ns + COALESCE_NS);
        let now_ns = self.now_ns();
        if wake_ns <= now_ns {
            return;
        }
        if wake_ns - now_ns <= COALESCE_NS {
            sys::sleep_until(self.started_ns + wake_ns);
        } else {
            // A timer of the kernel may send a packet before.
            let longest_ns = (wake_ns - now_ns).min(LONGEST_SLEEP_NS);
            sys::wait_readable([&self.senders.tun, &self.receivers.tun], longest_ns);
        }
    }
}

impl Busy {
    /// Measures a data packet that is written. The packet follows the one before back to back if
    /// exactly its own service time is between them on the link's clock.
    #[inline]
    fn add(&mut self, left_ns: u64, late_ns: u64, bytes: usize) {
        let service_ns = bytes as u64 * 8_000_000_000 / self.rate_bps;
        let written_ns = left_ns + late_ns;
        let (last_left_ns, last_written_ns) = self.last;
        if left_ns.saturating_sub(last_left_ns).abs_diff(service_ns) <= 1 {
            self.present.bytes += bytes as u64;
            self.present.ns += written_ns as i64 - last_written_ns as i64;
        } else {
            self.total = self.total();
            self.present = Span::default();
        }
        self.last = (left_ns, written_ns);
    }

    /// All busy periods that were long enough: the loop writes packets of a short one together.
    pub(super) fn total(&self) -> Span {
        let Span { bytes, ns } = self.total;
        if self.present.ns < LEAST_PERIOD_NS {
            return self.total;
        }
        Span {
            bytes: bytes + self.present.bytes,
            ns: ns + self.present.ns,
        }
    }
}
