//! The testbed: a scenario on this machine's own TCP stack.
//!
//! Two network namespaces hold the senders and the receivers. Between their TUN devices the
//! [`emulator`](crate::emulator) is the links and the propagation delay. [`run`] returns the
//! simulator's tables, and a [`Certificate`] of how well the run kept time.

mod acks;
mod algorithms;
mod carrier;
mod certificate;
mod endpoint;
mod error;
mod namespace;
mod packet_file;
#[cfg(test)]
mod packets;
mod realtime;
mod shell;

pub use acks::{Acks, PrivateColumn};
pub use certificate::{Certificate, BOUND_MAX_US, BOUND_P99_US};
pub use error::TestbedError;
pub use shell::{Conversed, Host, Shell, ShellRun};

use crate::emulator::FIRST_PORT;
use crate::sys;
use ackclock_host::Snapshot;
use ackclock_net::buffer::Buffer;
use ackclock_net::link::Bottleneck;
use ackclock_sim::record::RunResult;
use ackclock_sim::scenario::able::Host as On;
use ackclock_sim::scenario::{self, Flow, Scenario, KERNEL};
use ackclock_sim::topology::Topology;
use ackclock_sim::{Control, ScenarioError};
use acks::Stream;
use algorithms::Algorithms;
use carrier::Carrier;
use certificate::{machine_time, Seen};
use endpoint::{Endpoint, RECEIVER, SENDER};
use namespace::{Config, TunNamespace};
use realtime::Loop;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Maximum flows. Each flow needs two sockets and a port.
const MOST_FLOWS: usize = 1_000;
/// Maximum memory for the packets in the queues.
const MOST_QUEUE_BYTES: u64 = 1 << 30;
/// Fastest flow that one thread can serve.
const MOST_RATE_BPS: u64 = 4_000_000_000;

/// Interval at which the testbed empties the stream of ACKs.
const DRAIN: Duration = Duration::from_millis(20);

/// The result of a run on the kernel.
#[derive(Clone, Debug)]
pub struct Run {
    /// The simulator's tables. `trace_hash` is 0, because no two runs are equal.
    pub result: RunResult,
    /// How well the run kept time.
    pub certificate: Certificate,
    /// Every ACK, if the caller asked for ACKs.
    pub acks: Option<Acks>,
    /// The code of the algorithms that ran, without the kernel's own algorithms.
    pub algorithms: scenario::Algorithms,
}

/// Runs a scenario in real time, with the algorithms of the snapshot. With `acks` the run also
/// records every ACK.
///
/// # Errors
/// A field that a kernel run cannot honour, a missing permission, a broken connection, or
/// cancellation. A run that kept time badly is not an error: its certificate says so.
pub fn run(
    scenario: &Scenario,
    snapshot: &Snapshot,
    control: &Control,
    acks: bool,
) -> Result<Run, TestbedError> {
    let code = check(scenario, snapshot)?;
    let topology = Topology::new(scenario);
    let path_bytes = path_bytes(scenario, &topology);
    let config = |address| Config {
        address,
        mtu_bytes: scenario.packet_bytes(),
        queue_packets: device_packets(path_bytes, scenario),
        socket_bytes: socket_bytes(path_bytes),
        programs: false,
        offload: false,
    };
    let algorithms = Algorithms::load(scenario, &code)?;
    let names = &algorithms.names;
    let senders = Arc::new(TunNamespace::new(&config(SENDER))?);
    let receivers = Arc::new(TunNamespace::new(&config(RECEIVER))?);
    for host in [&senders, &receivers] {
        host.set_as(&scenario.flows[0])?;
    }
    let flows = 0..scenario.flows.len();
    let sender_sockets = senders.enter(|| {
        flows
            .clone()
            .map(|flow| sender_socket(scenario, &topology, flow, &names[flow]))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let receiver_sockets = receivers.enter(|| {
        flows
            .clone()
            .map(|flow| {
                let name = algorithms.of_receiver(flow);
                Endpoint::receiver(scenario, flow, name)
                    .map_err(TestbedError::host("listen for a flow"))
            })
            .collect::<Result<Vec<_>, _>>()
    })?;
    let mut stream = acks
        .then(|| Stream::start(&sender_sockets, &algorithms.private_fields(scenario)))
        .transpose()?;
    let endpoints = flows
        .clone()
        .zip(sender_sockets.into_iter().zip(receiver_sockets))
        .map(|(flow, (sender, receiver))| {
            let rate_bps = topology.slowest_bps(flow);
            Endpoint::new(scenario, flow, rate_bps, [sender, receiver])
        })
        .collect();
    let namespaces = [senders.clone(), receivers.clone()];
    let mut event_loop = Loop::new(scenario, endpoints, namespaces, &topology);
    let machine_before = machine_time();
    thread::scope(|scope| {
        let worker = thread::Builder::new()
            .name("ackclock-link".into())
            .spawn_scoped(scope, || event_loop.run(control))
            .map_err(TestbedError::host("start a thread"))?;
        let mut drained = Ok(());
        while let (Some(stream), Ok(()), false) = (&mut stream, &drained, worker.is_finished()) {
            thread::sleep(DRAIN);
            drained = stream.drain();
            control.cancelled.fetch_or(drained.is_err(), Relaxed);
        }
        let ran = worker.join();
        drained?;
        ran.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    let Loop {
        carrier:
            Carrier {
                mut network,
                measured,
                started_ns,
                ..
            },
        endpoints,
        record,
        queues,
        common_interval,
        ..
    } = event_loop;
    let hosts = [senders, receivers];
    let mut seen = Seen::new(&mut network, &hosts, scenario.duration_ns, machine_before)?;
    seen.min_rtts_us = endpoints.iter().map(Endpoint::min_rtt_us).collect();
    let certificate = Certificate::new(scenario, &topology, &measured, &seen);
    let mut result = RunResult {
        samples: record.samples,
        queues,
        events: record.events,
        ..RunResult::default()
    };
    for (flow, endpoint) in endpoints.iter().enumerate() {
        let common_bytes = common_interval.bytes(flow, endpoint.progress()?);
        let row = endpoint.row(network.tally(flow), common_bytes);
        result.packets += row.sent_packets;
        result.flows.push(row);
    }
    Ok(Run {
        result,
        certificate,
        acks: stream.map(|stream| stream.finish(started_ns)).transpose()?,
        algorithms: code,
    })
}

fn sender_socket(
    scenario: &Scenario,
    topology: &Topology,
    flow: usize,
    congestion_control: &str,
) -> Result<std::os::fd::OwnedFd, TestbedError> {
    let rate_bps = topology.slowest_bps(flow);
    Endpoint::sender(scenario, flow, rate_bps, congestion_control)
        .map_err(TestbedError::host("open a socket"))
}

/// Refuses a scenario that a real kernel cannot run. Returns the code of the algorithms that the
/// kernel does not have itself.
///
/// # Errors
/// The first field that a kernel run cannot honour.
pub fn check(
    scenario: &Scenario,
    snapshot: &Snapshot,
) -> Result<scenario::Algorithms, ScenarioError> {
    let mut simulated = scenario.clone();
    let of_sessions = simulated.sessions.iter_mut().map(|each| &mut each.flow);
    for flow in simulated.flows.iter_mut().chain(of_sessions) {
        if flow.algorithm.starts_with(KERNEL) {
            flow.algorithm = "reno".into();
        }
    }
    let mut code = simulated.validate(snapshot)?;
    code.retain(|spec, _| scenario.flows.iter().any(|flow| flow.algorithm == *spec));
    scenario.check_on(On::Kernel)?;
    let refuse = |field: &str, value: String, fix: &str| {
        Err(ScenarioError {
            field: field.into(),
            value,
            fix: fix.into(),
        })
    };
    let topology = Topology::new(scenario);
    let fastest = (0..scenario.flows.len()).max_by_key(|&flow| topology.slowest_bps(flow));
    if let Some(flow) = fastest.filter(|&flow| topology.slowest_bps(flow) > MOST_RATE_BPS) {
        let value = topology.slowest_bps(flow).to_string();
        let fix = format!(
            "give flow {} a link of at most {MOST_RATE_BPS} bit/s",
            flow + 1
        );
        return refuse("bottleneck.rate_bps", value, &fix);
    }
    let queues_bytes = queues_bytes(scenario, &topology);
    if queues_bytes > MOST_QUEUE_BYTES {
        let fix = format!(
            "all queues hold {queues_bytes} bytes; on the kernel give them at most {MOST_QUEUE_BYTES}"
        );
        return refuse("bottleneck.buffer", format!("{queues_bytes} bytes"), &fix);
    }
    if scenario.flows.len() > MOST_FLOWS {
        let fix = format!("run at most {MOST_FLOWS} flows on the kernel");
        return refuse("flows.len()", scenario.flows.len().to_string(), &fix);
    }
    for (index, Flow { algorithm, .. }) in scenario.flows.iter().enumerate() {
        let chosen = |name| sys::set_congestion_control(&sys::tcp_socket()?, name);
        if let Some(Err(error)) = algorithm.strip_prefix(KERNEL).map(chosen) {
            let field = format!("flows[{index}].algorithm");
            let fix = format!(
                "the kernel refuses it: {error}; \
                 sysctl net.ipv4.tcp_available_congestion_control names what it has"
            );
            return refuse(&field, algorithm.clone(), &fix);
        }
    }
    const { assert!(FIRST_PORT as usize + MOST_FLOWS < 30_000) }; // below the ephemeral ports
    Ok(code)
}

/// Bytes that fit into all queues.
fn queues_bytes(scenario: &Scenario, topology: &Topology) -> u64 {
    let bytes = |link: &Bottleneck| match link.buffer {
        Buffer::Packets(packets) => packets * u64::from(scenario.packet_bytes()),
        Buffer::Bytes(bytes) => bytes,
    };
    topology.links.iter().map(bytes).sum()
}

/// Bytes that fit between the hosts: the largest BDP plus the queues.
fn path_bytes(scenario: &Scenario, topology: &Topology) -> u64 {
    let bdp_bytes = |index: usize| {
        let rtt_ns = scenario.flows[index].rtt_ns + topology.paths[index].delay_ns;
        let bits = u128::from(topology.slowest_bps(index)) * u128::from(rtt_ns);
        (bits / 8_000_000_000) as u64
    };
    let largest = (0..scenario.flows.len()).map(bdp_bytes).max();
    largest.unwrap_or(0) + queues_bytes(scenario, topology)
}

/// More packets than fit between the hosts. A device that holds this many drops none.
fn device_packets(path_bytes: u64, scenario: &Scenario) -> u32 {
    let flows = scenario.flows.iter();
    let least = flows.map(|flow| scenario.mss_of(flow)).min().unwrap_or(1);
    let packets = path_bytes / u64::from(least + scenario.header_bytes);
    (2 * packets + 2_000).min(1 << 20) as u32
}

/// A socket buffer that never limits. The kernel counts about 2.3 kB for a packet of 1500 B.
fn socket_bytes(path_bytes: u64) -> u64 {
    (8 * path_bytes).clamp(1 << 23, 1 << 30)
}
