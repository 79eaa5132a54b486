//! Any programs on a scenario's links: a client's host and a server's host, each a namespace.
//!
//! [`Shell::open`] makes the hosts and starts to carry packets. Programs that begin on a thread that
//! is in a host ([`Shell::enter`]) are on that host. [`Shell::finish`] ends the link.

use super::algorithms::Algorithms;
use super::carrier::Carrier;
use super::certificate::{machine_time, Certificate, Seen};
use super::endpoint::{RECEIVER, SENDER};
use super::namespace::{Config, TunNamespace};
use super::packet_file::PacketFile;
use super::{check, device_packets, path_bytes, socket_bytes, TestbedError};
use crate::emulator::{Conversation, EmulatedNetwork, Toward};
use crate::sys;
use ackclock_host::Snapshot;
use ackclock_net::queue::Tally;
use ackclock_net::schedule::NEVER;
use ackclock_sim::record::{QueueTable, RunResult};
use ackclock_sim::scenario::able::Host as On;
use ackclock_sim::scenario::{self, Direction, Scenario, KERNEL};
use ackclock_sim::topology::{self, Topology};
use ackclock_sim::{Control, ScenarioError};
use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd as _, AsRawFd as _, RawFd};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{channel, Sender};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::{fs, io};

/// Where a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// At the side from which data of a forward flow comes.
    Client,
    /// At the other side.
    Server,
}

impl Host {
    /// Its address on the link.
    pub fn address(self) -> Ipv4Addr {
        match self {
            Self::Client => SENDER,
            Self::Server => RECEIVER,
        }
    }
}

/// The hosts and the running link between them.
#[derive(Debug)]
pub struct Shell {
    scenario: Scenario,
    topology: Topology,
    code: scenario::Algorithms,
    hosts: [Arc<TunNamespace>; 2],
    /// The namespace of the thread that opened it.
    home: File,
    control: Arc<Control>,
    worker: Option<JoinHandle<(Carrier, QueueTable)>>,
    started_ns: u64,
    machine_before: (f64, f64),
    /// They end with the shell.
    algorithms: Algorithms,
}

/// What queues did to the packets of a conversation in one direction.
#[derive(Clone, Copy, Debug)]
pub struct Conversed {
    /// The host from which the packets came.
    pub from: Host,
    /// Protocol and ports.
    pub conversation: Conversation,
    /// The packets with data.
    pub tally: Tally,
}

/// What comes of a shell.
#[derive(Debug)]
pub struct ShellRun {
    /// The table of queues; the other tables are empty.
    pub result: RunResult,
    /// How well the link kept time.
    pub certificate: Certificate,
    /// Every conversation, once for each direction.
    pub conversations: Vec<Conversed>,
    /// How long the link was open.
    pub duration_ns: u64,
    /// The code of the algorithm, without the kernel's own.
    pub code: scenario::Algorithms,
}

impl Shell {
    /// Makes the hosts, whose sockets use the flows' algorithm, and opens the link. `packets`: a file
    /// for the packets at the client's device, and how many bytes of each it has at most.
    ///
    /// # Errors
    /// A field that a shell cannot honour, or a missing permission.
    pub fn open(
        mut scenario: Scenario,
        snapshot: &Snapshot,
        packets: Option<(File, u32)>,
    ) -> Result<Self, TestbedError> {
        let code = check(&scenario, snapshot)?;
        let mut topology = Topology::new(&scenario);
        scenario.check_on(On::Shell)?;
        check_is_allowed(&scenario)?;
        topology.paths = vec![path_of_programs(&scenario, &topology, 0)];
        scenario.flows.truncate(1);
        let algorithms = Algorithms::load(&scenario, &code)?;
        let path_bytes = path_bytes(&scenario, &topology);
        let home = File::open("/proc/thread-self/ns/net")
            .map_err(TestbedError::host("open the network namespace"))?;
        let host = |address| {
            let namespace = TunNamespace::new(&Config {
                address,
                mtu_bytes: scenario.packet_bytes(),
                queue_packets: device_packets(path_bytes, &scenario),
                socket_bytes: socket_bytes(path_bytes),
                programs: true,
                offload: false,
            })?;
            namespace.set("tcp_congestion_control", &algorithms.names[0])?;
            namespace.set_as(&scenario.flows[0])?;
            namespace.request_ecn(!scenario.flows[0].ecn.is_off())?;
            Ok::<_, TestbedError>(Arc::new(namespace))
        };
        let hosts = [host(SENDER)?, host(RECEIVER)?];
        let network = EmulatedNetwork::of_programs(&scenario, &topology);
        let packet_bytes = scenario.packet_bytes();
        let mut carrier = Carrier::new(network, hosts.clone(), &topology, packet_bytes, true);
        if let Some((file, snaplen)) = packets {
            carrier.packets = Some(PacketFile::new(file, snaplen)?);
        }
        let control = Arc::new(Control::default());
        let (started, starts) = channel();
        let worker = {
            let (control, interval_ns) = (control.clone(), scenario.sample_interval_ns);
            thread::Builder::new()
                .name("ackclock-link".into())
                .spawn(move || carry(carrier, interval_ns, &control, &started))
                .map_err(TestbedError::host("start a thread"))?
        };
        let started_ns = starts.recv().unwrap_or_default();
        Ok(Self {
            scenario,
            topology,
            code,
            hosts,
            home,
            control,
            worker: Some(worker),
            started_ns,
            machine_before: machine_time(),
            algorithms,
        })
    }

    /// When the link opened, by the monotonic clock.
    pub fn started_ns(&self) -> u64 {
        self.started_ns
    }

    /// The kernel's name of the algorithm that sockets begin with.
    pub fn algorithm(&self) -> &str {
        &self.algorithms.names[0]
    }

    /// The descriptor of a host's namespace.
    pub fn namespace(&self, host: Host) -> RawFd {
        self.hosts[host as usize].as_fd().as_raw_fd()
    }

    /// Moves the calling thread to a host.
    ///
    /// # Errors
    /// The kernel's.
    pub fn enter(&self, host: Host) -> io::Result<()> {
        self.hosts[host as usize].move_in()
    }

    /// Moves the calling thread to where the shell was opened.
    ///
    /// # Errors
    /// The kernel's.
    pub fn leave(&self) -> io::Result<()> {
        sys::enter_network(self.home.as_fd())
    }

    /// Closes the link. `min_rtt_us`: the smallest RTT that a program's socket measured; 0 if none
    /// did.
    ///
    /// # Errors
    /// The packets cannot be written.
    pub fn finish(mut self, min_rtt_us: u32) -> Result<ShellRun, TestbedError> {
        let duration_ns = sys::now_ns() - self.started_ns;
        let Some((carrier, queues)) = self.stop() else {
            return Err(TestbedError::cancelled());
        };
        let Carrier {
            mut network,
            measured,
            packets,
            ..
        } = carrier;
        packets.map_or(Ok(()), PacketFile::finish)?;
        self.scenario.duration_ns = duration_ns;
        let mut seen = Seen::new(&mut network, &self.hosts, duration_ns, self.machine_before)?;
        seen.min_rtts_us = vec![min_rtt_us];
        let conversations = network.conversations().into_iter();
        let conversations = conversations.map(|(toward, conversation, tally)| Conversed {
            from: match toward {
                Toward::Receiver => Host::Client,
                Toward::Sender => Host::Server,
            },
            conversation,
            tally,
        });
        Ok(ShellRun {
            certificate: Certificate::new(&self.scenario, &self.topology, &measured, &seen),
            conversations: conversations.collect(),
            result: RunResult {
                queues,
                ..RunResult::default()
            },
            duration_ns,
            code: std::mem::take(&mut self.code),
        })
    }

    fn stop(&mut self) -> Option<(Carrier, QueueTable)> {
        self.control.cancelled.store(true, Relaxed);
        let ended = self.worker.take()?.join();
        Some(ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.control.cancelled.store(true, Relaxed);
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}

/// Carries packets until it is cancelled. Tells when it starts.
fn carry(
    mut carrier: Carrier,
    interval_ns: u64,
    control: &Control,
    started: &Sender<u64>,
) -> (Carrier, QueueTable) {
    let mut queues = QueueTable::default();
    let mut sample_ns = if interval_ns > 0 { interval_ns } else { NEVER };
    carrier.start();
    let _ = started.send(carrier.started_ns); // `open` waits for it
    while !control.cancelled.load(Relaxed) {
        let now_ns = carrier.now_ns();
        while sample_ns <= now_ns {
            carrier.sample(sample_ns, now_ns, &mut queues);
            sample_ns += interval_ns;
        }
        carrier.deliver(now_ns, |_, _| {});
        let back_drained = carrier.read(Toward::Sender, |_| {});
        if carrier.read(Toward::Receiver, |_| {}) && back_drained {
            carrier.sleep(now_ns, sample_ns);
        }
    }
    carrier.stop();
    (carrier, queues)
}

/// The links from the client to the server, and back, as a flow's routes say.
fn path_of_programs(scenario: &Scenario, topology: &Topology, flow: usize) -> topology::Path {
    let path = topology.paths[flow];
    match (scenario.flows[flow].direction, path.acks) {
        (Direction::Reverse, Some(acks)) => topology::Path {
            data: acks,
            acks: Some(path.data),
            ..path
        },
        _ => path,
    }
}

/// Refuses algorithms that no namespace can begin with.
fn check_is_allowed(scenario: &Scenario) -> Result<(), ScenarioError> {
    let flows = &scenario.flows;
    let name = flows[0].algorithm.strip_prefix(KERNEL);
    let path = Path::new("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
    let allowed = fs::read_to_string(path).unwrap_or_default();
    match name.filter(|name| !allowed.split_whitespace().any(|each| each == *name)) {
        None => Ok(()),
        Some(name) => Err(ScenarioError {
            field: "flows[0].algorithm".into(),
            value: flows[0].algorithm.clone(),
            fix: format!(
                "Linux lets only sockets choose it; add it to the allowed ones first: \
                 sysctl -w net.ipv4.tcp_allowed_congestion_control=\"{} {name}\"",
                allowed.trim()
            ),
        }),
    }
}
