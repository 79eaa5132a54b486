//! What to simulate: the canonical, fully resolved form of a scenario.
//!
//! It has integers only, and every default is filled in. Its JSON text therefore identifies the
//! run. People write the form of Python's `ackclock.Scenario` ("250mbit", "1bdp"), which resolves
//! to this one.

use crate::topology::Topology;
use ackclock_host::{Configured, Snapshot, RECEIVER_EVENTS};
use ackclock_net::link::{Bottleneck, Buffer};
use ackclock_net::rng::{Draw, Owner, Stream};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A dumbbell: flows that share one bottleneck. If any data flows in reverse, the way back has a
/// queue like the forward way, and ACKs share that queue. Otherwise nothing delays ACKs on the way
/// back but propagation and jitter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Seed of every random stream.
    pub seed: u64,
    /// Simulated time, nanoseconds.
    pub duration_ns: u64,
    /// Behaviour of both end hosts.
    pub profile: Profile,
    /// Timer ticks per second of the senders' kernel (100, 250 or 1000).
    pub hz: u32,
    /// TCP payload of a full segment, bytes.
    pub mss_bytes: u32,
    /// IP and TCP headers of a packet, bytes. The wire size is the payload plus the headers.
    pub header_bytes: u32,
    /// Each host handles an incoming ACK after a delay drawn from U(0, jitter). ACKs keep their
    /// order.
    pub jitter_ns: u64,
    /// Full segments that one delayed ACK answers: 2, or 1 for no delayed ACKs.
    pub delayed_ack_segments: u32,
    /// When the applications of the receivers read.
    pub reads: Reads,
    /// Whether hosts use TSO. TCP then waits until it can send large bursts.
    pub tso: bool,
    /// Whether senders pace at `sk_pacing_rate`, as under fq.
    pub pacing: bool,
    /// The shared link: link 1.
    pub bottleneck: Bottleneck,
    /// More links, numbered from 2. JSON leaves out an empty list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Bottleneck>,
    /// Flows, numbered from 1 in every table.
    pub flows: Vec<Flow>,
    /// Sources of background traffic, numbered from 1 in their own tables.
    pub sessions: Vec<Session>,
    /// Interval of the periodic samples, nanoseconds; 0: no samples.
    pub sample_interval_ns: u64,
}

/// When the application of a receiver reads (`linux-6`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reads {
    /// As soon as data has arrived. The receiver then acknowledges the end of each burst.
    AtOnce,
    /// Each 256 KiB (`SO_RCVLOWAT`).
    Bulk,
}

/// One TCP connection. Its data flows from sender to receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// `name[@preset][:param=value,…]`, or the path of a C file in place of the name. On the kernel
    /// also [`KERNEL`] and the name of one of the kernel's own algorithms.
    pub algorithm: String,
    /// Direction of its data.
    pub direction: Direction,
    /// Numbers of the links that its data passes, in order. Empty: link 1, or with `direction` its
    /// copy on the way back. JSON leaves out an empty list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub route: Vec<u32>,
    /// Numbers of the links that its ACKs pass, in order. Empty: none, or the copy of link 1 if any
    /// flow has `direction` reverse. JSON leaves out an empty list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub back: Vec<u32>,
    /// Round-trip propagation delay, nanoseconds. The delays of the links on its way come on top.
    pub rtt_ns: u64,
    /// Mean of a delay that is added to `rtt_ns`, nanoseconds. Each connection draws its delay from
    /// an exponential distribution.
    pub rtt_exponential_ns: u64,
    /// When the flow connects, nanoseconds.
    pub start_ns: u64,
    /// A delay drawn from U(0, spread) is added to `start_ns`.
    pub start_spread_ns: u64,
    /// When its application stops writing; `None`: never.
    pub stop_ns: Option<u64>,
    /// How much its application writes, bytes; `None`: without end.
    pub size_bytes: Option<u64>,
    /// The receiver's window, bytes; `None`: it never limits.
    pub receive_window_bytes: Option<u64>,
    /// The sender's buffer for unacknowledged data, bytes; `None`: it never limits.
    pub send_buffer_bytes: Option<u64>,
    /// Initial ssthresh, packets (a route's metric); `None`: infinity.
    pub initial_ssthresh_packets: Option<u32>,
    /// Whether both hosts use ECN (RFC 3168), if the path lets the first SYN through. JSON leaves out
    /// `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ecn: bool,
}

impl Flow {
    /// A flow that starts at once, never ends, and that only its algorithm limits.
    pub fn endless(algorithm: &str, rtt_ns: u64) -> Self {
        Self {
            algorithm: algorithm.into(),
            direction: Direction::Forward,
            route: Vec::new(),
            back: Vec::new(),
            rtt_ns,
            rtt_exponential_ns: 0,
            start_ns: 0,
            start_spread_ns: 0,
            stop_ns: None,
            size_bytes: None,
            receive_window_bytes: None,
            send_buffer_bytes: None,
            initial_ssthresh_packets: None,
            ecn: false,
        }
    }

    fn configure(&self, of: &str, snapshot: &Snapshot) -> Result<Configured, ScenarioError> {
        let configured = if self.algorithm.starts_with(KERNEL) {
            Err("the kernel's own code runs only there: use --on kernel".into())
        } else {
            snapshot
                .configure(&self.algorithm)
                .map_err(|error| error.to_string())
        };
        configured.map_err(|fix| ScenarioError {
            field: format!("{of}.algorithm"),
            value: self.algorithm.clone(),
            fix,
        })
    }
}

/// The code and the parameters of each algorithm of a scenario, by its spec in the scenario.
pub type Algorithms = BTreeMap<String, Configured>;

/// A scenario that passed every check, with the code of its algorithms. Its run reads no file.
#[derive(Clone, Debug)]
pub struct Prepared {
    scenario: Scenario,
    algorithms: Algorithms,
}

impl Prepared {
    /// Checks a scenario and takes the code of its algorithms from the snapshot.
    ///
    /// # Errors
    /// As [`Scenario::validate_to_simulate`].
    pub fn new(scenario: Scenario, snapshot: &Snapshot) -> Result<Self, ScenarioError> {
        let algorithms = scenario.validate_to_simulate(snapshot)?;
        Ok(Self {
            scenario,
            algorithms,
        })
    }

    /// The scenario.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The code that runs.
    pub fn algorithms(&self) -> &Algorithms {
        &self.algorithms
    }
}

/// Which of the two queues the data passes; the ACKs pass the other queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Queue 1.
    Forward,
    /// Queue 2.
    Reverse,
}

/// A source of one connection after another: it waits, connects, sends, and starts again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// The form of each connection. `size_bytes` is the mean size; `None`: one connection without
    /// end. `stop_ns` is `None`.
    pub flow: Flow,
    /// Mean of the pause before each connection, nanoseconds. Pauses are drawn from an exponential
    /// distribution.
    pub gap_ns: u64,
    /// Distribution of the sizes around their mean.
    pub sizes: Sizes,
}

/// The distribution of the sizes of a session's transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sizes {
    /// All sizes are equal.
    Equal,
    /// Pareto; the value is the shape, in thousandths.
    Pareto(u32),
    /// Lognormal; the value is the standard deviation of the logarithm, in thousandths.
    Lognormal(u32),
}

/// A named set of end-host behaviours (`docs/profiles.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Profile {
    /// Rate halving, FACK, one segment per ACK, initial window of RFC 3390.
    #[serde(rename = "linux-2.6.18")]
    Linux2_6_18,
    /// And F-RTO.
    #[serde(rename = "linux-2.6.25")]
    Linux2_6_25,
    /// And bounded TSO deferral; cwnd may grow while a burst is free.
    #[serde(rename = "linux-2.6.32")]
    Linux2_6_32,
    /// PRR, RACK-TLP, byte-counting, initial window 10, TSO autosizing.
    #[serde(rename = "linux-6")]
    Linux6,
}

impl Profile {
    /// Its name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linux2_6_18 => "linux-2.6.18",
            Self::Linux2_6_25 => "linux-2.6.25",
            Self::Linux2_6_32 => "linux-2.6.32",
            Self::Linux6 => "linux-6",
        }
    }
}

/// A field that cannot be simulated: its name, its value, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} = {value}: {fix}")]
pub struct ScenarioError {
    /// Path of the field, `flows[0].rtt_ns`.
    pub field: String,
    /// The value.
    pub value: String,
    /// What to write instead.
    pub fix: String,
}

/// The prefix of the name of one of the kernel's own algorithms, as in `kernel:cubic`.
pub const KERNEL: &str = "kernel:";
const NS_PER_S: u64 = 1_000_000_000;
/// Longest simulated time: 1000 hours.
const MAX_DURATION_NS: u64 = 3_600_000 * NS_PER_S;
/// Maximum rows of periodic samples, and of transfers. Samples then take about 4 GB.
const MAX_SAMPLES: u64 = 50_000_000;
/// Fastest link: 1 Tb/s.
const MAX_RATE_BPS: u64 = 1_000_000_000_000;
/// Largest window of TCP, bytes (RFC 7323).
const MAX_WINDOW_BYTES: u64 = 1 << 30;
/// Largest transfer.
pub(crate) const MAX_TRANSFER_BYTES: u64 = 1 << 60;

/// The units that users write, largest first, in bit/s and ns.
const RATE_UNITS: [(u64, &str); 5] = [
    (1_000_000_000_000, "tbit"),
    (1_000_000_000, "gbit"),
    (1_000_000, "mbit"),
    (1_000, "kbit"),
    (1, "bit"),
];
const TIME_UNITS: [(u64, &str); 4] = [(NS_PER_S, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];

/// A quantity as users write it, a whole number of its unit: `250mbit`.
fn with_unit(value: u64, units: &[(u64, &str)]) -> String {
    let whole = units.iter().find(|(unit, _)| value % unit == 0);
    let (unit, name) = whole.expect("the last unit is 1");
    format!("{}{name}", value / unit)
}

fn check(ok: bool, field: &str, value: String, fix: &str) -> Result<(), ScenarioError> {
    if ok {
        return Ok(());
    }
    Err(ScenarioError {
        field: field.into(),
        value,
        fix: fix.into(),
    })
}

fn within(field: &str, value: u64, low: u64, high: u64) -> Result<(), ScenarioError> {
    check(
        (low..=high).contains(&value),
        field,
        value.to_string(),
        &format!("choose a value from {low} to {high}"),
    )
}

impl Scenario {
    /// Reads the canonical JSON form and checks it.
    ///
    /// # Errors
    /// The first field that is unknown, missing or out of range.
    pub fn from_json(text: &str) -> Result<Self, ScenarioError> {
        let scenario = Self::parse(text)?;
        scenario.validate(&Snapshot::default())?;
        Ok(scenario)
    }

    /// Reads the canonical JSON form, and does not check the values.
    ///
    /// # Errors
    /// The first field that is unknown or missing.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        serde_json::from_str(text).map_err(|error| ScenarioError {
            field: "scenario".into(),
            value: format!("line {} column {}", error.line(), error.column()),
            fix: error.to_string(),
        })
    }

    /// When flow number `flow` (from 0) connects, nanoseconds: its start plus its random spread.
    pub fn connects_at_ns(&self, flow: usize) -> u64 {
        let each = &self.flows[flow];
        let mut start = Stream::of(self.seed, Owner::Flow(flow as u32 + 1), Draw::Start);
        each.start_ns + start.up_to(each.start_spread_ns)
    }

    /// Checks every range and configures every algorithm.
    ///
    /// # Errors
    /// The first field that is out of range, or whose algorithm does not load.
    pub fn validate(&self, snapshot: &Snapshot) -> Result<Algorithms, ScenarioError> {
        within("duration_ns", self.duration_ns, 1, MAX_DURATION_NS)?;
        within("mss_bytes", self.mss_bytes.into(), 64, 65_000)?;
        within("header_bytes", self.header_bytes.into(), 20, 120)?;
        within("jitter_ns", self.jitter_ns, 0, NS_PER_S)?;
        within("hz", self.hz.into(), 24, 10_000)?;
        self.validate_link("bottleneck", &self.bottleneck)?;
        for (index, link) in self.links.iter().enumerate() {
            self.validate_link(&format!("links[{index}]"), link)?;
        }
        within(
            "delayed_ack_segments",
            self.delayed_ack_segments.into(),
            1,
            2,
        )?;
        check(
            !self.flows.is_empty() || !self.sessions.is_empty(),
            "flows",
            "[]".into(),
            "give at least one flow or session",
        )?;
        within("flows.len()", self.flows.len() as u64, 0, 100_000)?;
        within("sessions.len()", self.sessions.len() as u64, 0, 100_000)?;
        if self.sample_interval_ns != 0 {
            within(
                "sample_interval_ns",
                self.sample_interval_ns,
                1_000,
                MAX_DURATION_NS,
            )?;
            let rows = self.duration_ns / self.sample_interval_ns * (self.flows.len() as u64 + 1);
            check(
                rows <= MAX_SAMPLES,
                "sample_interval_ns",
                self.sample_interval_ns.to_string(),
                &format!("{rows} samples are more than {MAX_SAMPLES}: sample less often"),
            )?;
        }
        let finite = self.sessions.iter().filter(|s| s.flow.size_bytes.is_some());
        let transfers: u64 = finite.map(|s| self.most_transfers(s)).sum();
        check(
            transfers <= MAX_SAMPLES,
            "sessions",
            self.sessions.len().to_string(),
            &format!("they may make {transfers} transfers, more than {MAX_SAMPLES}: fewer, longer gaps or a shorter run"),
        )?;
        let mut algorithms = Algorithms::new();
        let mut configure = |of: &str, flow: &Flow| {
            if !algorithms.contains_key(&flow.algorithm) {
                algorithms.insert(flow.algorithm.clone(), flow.configure(of, snapshot)?);
            }
            Ok(())
        };
        for (index, flow) in self.flows.iter().enumerate() {
            let name = format!("flows[{index}]");
            self.validate_flow(&name, flow)?;
            configure(&name, flow)?;
        }
        for (index, session) in self.sessions.iter().enumerate() {
            let name = format!("sessions[{index}]");
            self.validate_session(&name, session)?;
            configure(&format!("{name}.flow"), &session.flow)?;
        }
        if self.has_routes() {
            let mut flows = self.all_flows();
            check(
                flows.all(|flow| flow.direction == Direction::Forward),
                "direction",
                "reverse".into(),
                "where links or routes are given, write route and back instead",
            )?;
        }
        let topology = Topology::of(self);
        let flows = (1..)
            .zip(&self.flows)
            .map(|(n, flow)| (format!("flow {n}"), flow));
        let sessions = (1..).zip(&self.sessions);
        let sessions = sessions.map(|(n, session)| (format!("session {n}"), &session.flow));
        for (index, (name, flow)) in flows.chain(sessions).enumerate() {
            self.validate_window(&name, flow, topology.slowest_bps(index))?;
        }
        Ok(algorithms)
    }

    /// As [`validate`](Self::validate), and refuses what the kernel gives an algorithm and the
    /// simulator does not: events of the receiver, and `cong_control` on a kernel that did not have it.
    ///
    /// # Errors
    /// The first field that cannot be simulated.
    pub fn validate_to_simulate(&self, snapshot: &Snapshot) -> Result<Algorithms, ScenarioError> {
        let algorithms = self.validate(snapshot)?;
        let flows = self.flows.iter().enumerate();
        let flows = flows.map(|(index, flow)| (format!("flows[{index}]"), flow));
        let sessions = self.sessions.iter().enumerate();
        let sessions =
            sessions.map(|(index, session)| (format!("sessions[{index}].flow"), &session.flow));
        for (name, flow) in flows.chain(sessions) {
            let field = format!("{name}.algorithm");
            let algorithm = algorithms[&flow.algorithm].algorithm();
            for word in RECEIVER_EVENTS {
                let place = algorithm.uses(word);
                check(
                    place.is_none(),
                    &field,
                    flow.algorithm.clone(),
                    &format!(
                        "{} uses {word}, an event of the receiver, and the simulator's receivers \
                         have no algorithm; remove it, or run the file on the kernel (--on kernel)",
                        place.unwrap_or_default()
                    ),
                )?;
            }
            check(
                self.profile == Profile::Linux6 || !algorithm.has_cong_control(),
                &field,
                flow.algorithm.clone(),
                "it has cong_control, which Linux has had since 4.9; choose profile linux-6, or \
                 give it cong_avoid instead",
            )?;
        }
        Ok(algorithms)
    }

    /// Upper bound of the transfers of a session: each takes at least a handshake and an RTT.
    fn most_transfers(&self, session: &Session) -> u64 {
        let rtt_ns = session
            .flow
            .rtt_ns
            .saturating_add(session.flow.rtt_exponential_ns);
        let each_ns = session.gap_ns.saturating_add(rtt_ns.saturating_mul(2));
        self.duration_ns / each_ns.max(1)
    }

    fn validate_session(&self, name: &str, session: &Session) -> Result<(), ScenarioError> {
        self.validate_flow(&format!("{name}.flow"), &session.flow)?;
        within(
            &format!("{name}.gap_ns"),
            session.gap_ns,
            0,
            MAX_DURATION_NS,
        )?;
        check(
            session.flow.stop_ns.is_none(),
            &format!("{name}.flow.stop_ns"),
            format!("{:?}", session.flow.stop_ns),
            "a session does not stop; give null",
        )?;
        match session.sizes {
            Sizes::Equal => (),
            Sizes::Pareto(shape) => {
                within(
                    &format!("{name}.sizes.pareto"),
                    shape.into(),
                    1_001,
                    100_000,
                )?;
            }
            Sizes::Lognormal(sigma) => {
                within(&format!("{name}.sizes.lognormal"), sigma.into(), 1, 10_000)?;
            }
        }
        Ok(())
    }

    fn validate_link(&self, of: &str, link: &Bottleneck) -> Result<(), ScenarioError> {
        let name = |field: &str| format!("{of}.{field}");
        within(&name("rate_bps"), link.rate_bps, 1_000, MAX_RATE_BPS)?;
        match link.buffer {
            Buffer::Packets(packets) => within(&name("buffer.packets"), packets, 1, 1 << 32)?,
            Buffer::Bytes(bytes) => {
                let packet = u64::from(self.packet_bytes());
                within(&name("buffer.bytes"), bytes, packet, 1 << 44)?;
            }
        }
        if let Some(packets) = link.drop_every_packets {
            within(&name("drop_every_packets"), packets, 2, u64::MAX)?;
        }
        within(&name("delay_ns"), link.delay_ns, 0, 100 * NS_PER_S)?;
        if link.burst_bytes != 0 {
            let packet = self.packet_bytes().into();
            within(&name("burst_bytes"), link.burst_bytes, packet, 1 << 44)?;
        }
        link.queue.validate().map_err(|wrong| ScenarioError {
            field: format!("{of}.queue.{}", wrong.name),
            value: wrong.value.to_string(),
            fix: format!("choose a value from {} to {}", wrong.least, wrong.most),
        })
    }

    /// A route visits links that exist, and none of them twice.
    fn validate_route(&self, field: &str, route: &[u32]) -> Result<(), ScenarioError> {
        let links = 1 + self.links.len() as u64;
        for (index, &link) in route.iter().enumerate() {
            within(&format!("{field}[{index}]"), link.into(), 1, links)?;
            check(
                !route[..index].contains(&link),
                field,
                format!("{route:?}"),
                &format!("link {link} is there twice; a route has no loop"),
            )?;
        }
        Ok(())
    }

    fn validate_flow(&self, of: &str, flow: &Flow) -> Result<(), ScenarioError> {
        let name = |field: &str| format!("{of}.{field}");
        self.validate_route(&name("route"), &flow.route)?;
        self.validate_route(&name("back"), &flow.back)?;
        within(&name("rtt_ns"), flow.rtt_ns, 1_000, 100 * NS_PER_S)?;
        within(
            &name("rtt_exponential_ns"),
            flow.rtt_exponential_ns,
            0,
            100 * NS_PER_S,
        )?;
        within(&name("start_ns"), flow.start_ns, 0, self.duration_ns)?;
        within(
            &name("start_spread_ns"),
            flow.start_spread_ns,
            0,
            self.duration_ns,
        )?;
        if let Some(stop_ns) = flow.stop_ns {
            let first = flow.start_ns + flow.start_spread_ns + 1;
            check(
                stop_ns >= first,
                &name("stop_ns"),
                stop_ns.to_string(),
                &format!("stop after the flow has started: at least {first}"),
            )?;
        }
        if let Some(size_bytes) = flow.size_bytes {
            within(&name("size_bytes"), size_bytes, 1, MAX_TRANSFER_BYTES)?;
        }
        for (field, limit) in [
            ("receive_window_bytes", flow.receive_window_bytes),
            ("send_buffer_bytes", flow.send_buffer_bytes),
        ] {
            if let Some(bytes) = limit {
                within(&name(field), bytes, self.mss_bytes.into(), 1 << 50)?;
            }
        }
        check(
            self.profile == Profile::Linux6 || !flow.ecn,
            &name("ecn"),
            flow.ecn.to_string(),
            "ECN is modelled as in today's Linux; choose profile linux-6",
        )?;
        if let Some(packets) = flow.initial_ssthresh_packets {
            let most = ackclock_host::TCP_INFINITE_SSTHRESH.into();
            within(&name("initial_ssthresh_packets"), packets.into(), 2, most)?;
        }
        Ok(())
    }

    /// Refuses a window that is too large for sequence numbers of 32 bits, which would wrap.
    /// Only here are such scenarios refused: the message says what users write.
    fn validate_window(&self, of: &str, flow: &Flow, rate_bps: u64) -> Result<(), ScenarioError> {
        let flows = (self.flows.len() + self.sessions.len()).max(1) as u128;
        let bits = u128::from(rate_bps) * u128::from(flow.rtt_ns) / flows;
        let share = bits / 8 / u128::from(NS_PER_S);
        let limits = [
            flow.receive_window_bytes,
            flow.send_buffer_bytes,
            flow.size_bytes,
        ];
        let limits = limits.into_iter().flatten().map(u128::from);
        check(
            limits.fold(share, u128::min) <= u128::from(MAX_WINDOW_BYTES),
            "bottleneck.rate",
            format!("\"{}\"", with_unit(rate_bps, &RATE_UNITS)),
            &format!(
                "{of}, with rtt = \"{}\", needs a window of {share} bytes for its share of the \
                 rate; TCP allows at most {MAX_WINDOW_BYTES} (RFC 7323). Write \
                 receive_window = \"1GiB\" for {of}, or lower the rate or the RTT",
                with_unit(flow.rtt_ns, &TIME_UNITS)
            ),
        )
    }

    /// The flows, then the flows of the sessions.
    pub(crate) fn all_flows(&self) -> impl Iterator<Item = &Flow> {
        let sessions = self.sessions.iter().map(|session| &session.flow);
        self.flows.iter().chain(sessions)
    }

    /// Whether any data flows in reverse, or ACKs pass links.
    pub fn is_two_way(&self) -> bool {
        let mut flows = self.all_flows();
        flows.any(|flow| flow.direction == Direction::Reverse || !flow.back.is_empty())
    }

    /// Whether the scenario says more than [`bottleneck`](Self::bottleneck) about its network.
    pub fn has_routes(&self) -> bool {
        let mut flows = self.all_flows();
        !self.links.is_empty() || flows.any(|flow| !flow.route.is_empty() || !flow.back.is_empty())
    }

    /// The algorithm of element `index`: the flows come first, then the sessions.
    pub(crate) fn algorithm(&self, index: usize) -> &str {
        let flow = match index.checked_sub(self.flows.len()) {
            None => &self.flows[index],
            Some(session) => &self.sessions[session].flow,
        };
        &flow.algorithm
    }

    /// Wire size of a full segment, bytes.
    pub fn packet_bytes(&self) -> u32 {
        self.mss_bytes + self.header_bytes
    }
}
