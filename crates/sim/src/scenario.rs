//! What to simulate: the canonical, fully resolved form of a scenario.
//!
//! It has integers only, and every default is filled in. Its JSON text therefore identifies the
//! run. People write the form of Python's `ackclock.Scenario` ("250mbit", "1bdp"), which resolves
//! to this one.

mod ecn;
mod links;

pub use ecn::EcnMode;

use crate::schema::{self, distinct};
use crate::topology::Topology;
use ackclock_host::{Configured, Snapshot};
use ackclock_net::link::Bottleneck;
use ackclock_net::rng::{Draw, Owner, Stream};
use ackclock_net::schedule::Schedule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What to run. It needs a duration, a bottleneck and at least one flow or session.
// A dumbbell. If any data flows in reverse, the way back has a queue like the forward way, and ACKs
// share that queue. Otherwise nothing delays ACKs on the way back but propagation and jitter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Random seed. Equal seeds give equal results.
    #[schemars(range(max = i64::MAX), extend("default" = 1))]
    pub seed: u64,
    /// Simulated time.
    #[schemars(range(min = 1, max = MAX_DURATION_NS), example = 60 * NS_PER_S)]
    pub duration_ns: u64,
    /// TCP stack of the hosts: `linux-6`, `linux-2.6.32`, `linux-2.6.25` or `linux-2.6.18`
    /// (docs/profiles.md).
    #[schemars(extend("default" = "linux-6"))]
    pub profile: Profile,
    /// Timer ticks per second of the hosts' kernel (Linux's HZ).
    #[schemars(range(min = 24, max = 10_000), extend("default" = 1_000))]
    pub hz: u32,
    /// Payload of a full segment in bytes. Headers add 52 bytes.
    #[schemars(range(min = 64, max = 65_000), extend("default" = 1_448))]
    pub mss_bytes: u32,
    /// IP and TCP headers of a packet, with timestamps. The wire size is the payload plus the
    /// headers.
    #[schemars(range(min = 20, max = 120), extend("default" = 52))]
    pub header_bytes: u32,
    /// Longest delay before a host handles an ACK, drawn uniformly from 0 to this. It breaks phase
    /// effects, as real hosts do. ACKs keep their order.
    #[schemars(range(max = NS_PER_S), extend("default" = 20_000))]
    pub jitter_ns: u64,
    /// Full segments per ACK; 1: no delayed ACKs.
    #[schemars(range(min = 1, max = 2), extend("default" = 2))]
    pub delayed_ack_segments: u32,
    /// When the application of a receiver reads. `"at once"`: as soon as data arrives; a receiver
    /// with `linux-6` then also acknowledges the end of each burst. `"bulk"`: each 256 KiB
    /// (SO_RCVLOWAT).
    #[schemars(extend("default" = "at_once"))]
    pub reads: Reads,
    /// Whether hosts send bursts that the network card cuts into packets (default: true for
    /// `linux-6`, false for the others). With `tso`, Linux 2.6 saves data for bursts of up to 64
    /// KB.
    pub tso: bool,
    /// Whether senders space their packets at `sk_pacing_rate`, as with fq.
    #[schemars(extend("default" = false))]
    pub pacing: bool,
    /// Time that a sending host needs for each ACK with SACK blocks, for each packet that is not yet
    /// acknowledged: Linux 2.6 walks over them. ACKs that come meanwhile wait, at most 2500, and
    /// further ones are lost (`max_backlog` of Leith et al. 2007). "0s": no time.
    // JSON leaves out 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(max = 1_000_000), extend("default" = 0))]
    pub sack_cost_ns: u64,
    /// The shared link: link 1.
    pub bottleneck: Bottleneck,
    /// More links, numbered from 2: packets pass links in series.
    // JSON leaves out an empty list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 999))]
    pub links: Vec<Bottleneck>,
    /// Flows, numbered from 1 in every table.
    #[schemars(length(max = 100_000))]
    pub flows: Vec<Flow>,
    /// Sources of background traffic, numbered from 1 in their own tables.
    #[schemars(length(max = 100_000))]
    pub sessions: Vec<Session>,
    /// Time between two samples; "0s": no samples.
    #[schemars(range(max = MAX_DURATION_NS), extend("default" = 100_000_000))]
    pub sample_interval_ns: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// When the application of a receiver reads (`linux-6`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reads {
    /// As soon as data has arrived. The receiver then acknowledges the end of each burst.
    AtOnce,
    /// Each 256 KiB (`SO_RCVLOWAT`).
    Bulk,
}

/// One TCP connection that always has data to send, or `count` of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// NAME[@PRESET][:PARAMETER=VALUE,…]. NAME is an algorithm of `ackclock list` or the path of a
    /// C file. `kernel:NAME` is Linux's own algorithm, only on the kernel and on vlinux.
    pub algorithm: String,
    /// Direction of its data: `forward` or `reverse`. With a reverse flow or session the reverse
    /// path gets the same bottleneck, where ACKs and data share a queue.
    #[schemars(extend("default" = "forward"))]
    pub direction: Direction,
    /// Numbers of the links that its data passes, in order (default: every link).
    // JSON leaves out an empty list, which stands for the default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1_000), inner(range(min = 1, max = 1_000)))]
    pub route: Vec<u32>,
    /// Numbers of the links that its ACKs pass, in order (default: none).
    // JSON leaves out an empty list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1_000), inner(range(min = 1, max = 1_000)))]
    pub back: Vec<u32>,
    /// Round-trip propagation delay (default: the scenario's `rtt`). The delays of the
    /// links on its way come on top.
    #[schemars(range(min = 1_000, max = MAX_RTT_NS), example = NS_PER_S / 10)]
    pub rtt_ns: u64,
    /// Mean of an extra delay added to `rtt`, drawn once per connection from an exponential
    /// distribution.
    #[schemars(range(max = MAX_RTT_NS), extend("default" = 0))]
    pub rtt_exponential_ns: u64,
    /// Time at which it connects; of a session: at which its first pause starts.
    #[schemars(range(max = MAX_DURATION_NS), extend("default" = 0))]
    pub start_ns: u64,
    /// Longest extra delay after `start`, drawn uniformly from 0 to this.
    #[schemars(range(max = MAX_DURATION_NS), extend("default" = 0))]
    pub start_spread_ns: u64,
    /// Time at which its application stops sending (default: never).
    #[schemars(range(max = MAX_DURATION_NS))]
    pub stop_ns: Option<u64>,
    /// Its application writes a frame each so often, as sound and video do, and otherwise nothing: a
    /// table of the `size` of a frame and the time `every` (default: it always has data to send).
    // JSON leaves out none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<Frames>,
    /// Data that it sends in all, of a session: the mean size of a transfer. "2MB" or "600packets"
    /// (default: one connection without end).
    #[schemars(range(min = 1, max = MAX_TRANSFER_BYTES))]
    pub size_bytes: Option<u64>,
    /// Receive window (default: no limit).
    #[schemars(range(min = 1, max = MAX_LIMIT_BYTES))]
    pub receive_window_bytes: Option<u64>,
    /// Sender's buffer for unacknowledged data (default: no limit).
    #[schemars(range(min = 1, max = MAX_LIMIT_BYTES))]
    pub send_buffer_bytes: Option<u64>,
    /// ssthresh at the start, as from a route's cached metric (default: no limit).
    #[schemars(range(min = 2, max = ackclock_host::TCP_INFINITE_SSTHRESH))]
    pub initial_ssthresh_packets: Option<u32>,
    /// Whether both hosts use ECN (RFC 3168), if the path lets the first SYN through.
    /// `"accurate"`: the receiver counts marks, and each ACK tells the count (RFC 9768).
    // JSON leaves out `false`.
    #[serde(default, skip_serializing_if = "EcnMode::is_off")]
    #[schemars(extend("default" = false))]
    pub ecn: EcnMode,
    /// What its receiver hides from it, to get more than its share: `nothing`; `losses`, so that it
    /// acknowledges packets that never came; or `marks`, of which it echoes none.
    // JSON leaves out `nothing`.
    #[serde(default, skip_serializing_if = "Hides::is_nothing")]
    #[schemars(extend("default" = "nothing"))]
    pub hides: Hides,
}

/// What a receiver hides from its sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Hides {
    /// It is honest.
    #[default]
    Nothing,
    /// It acknowledges what is missing.
    Losses,
    /// It does not echo ECN's marks.
    Marks,
}

impl Hides {
    fn is_nothing(&self) -> bool {
        *self == Self::Nothing
    }
}

/// What an application writes, the first frame as soon as it is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Frames {
    /// Size of a frame, rounded up to full segments.
    #[schemars(range(min = 1, max = 1_u64 << 40), example = 10_000)]
    pub size_bytes: u64,
    /// Time between two frames.
    #[schemars(range(min = 1_000, max = MAX_DURATION_NS), example = 20_000_000)]
    pub every_ns: u64,
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
            frames: None,
            size_bytes: None,
            receive_window_bytes: None,
            send_buffer_bytes: None,
            initial_ssthresh_packets: None,
            ecn: EcnMode::Off,
            hides: Hides::Nothing,
        }
    }

    fn configure(&self, of: &str, snapshot: &Snapshot) -> Result<Configured, ScenarioError> {
        let configured = if self.algorithm.starts_with(KERNEL) {
            Err(
                "only Linux has it; add --on kernel or --on vlinux, or choose an algorithm of \
                 `ackclock list`"
                    .into(),
            )
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Queue 1.
    Forward,
    /// Queue 2.
    Reverse,
}

/// Background traffic, one connection after another: web traffic, downloads.
///
/// A session waits, opens a connection, sends, and starts again when all data is acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// The form of each connection. `stop_ns` is `None`.
    pub flow: Flow,
    /// Mean pause before each connection, drawn from an exponential distribution.
    #[schemars(range(max = MAX_DURATION_NS), extend("default" = 0))]
    pub gap_ns: u64,
    /// Distribution of the sizes around their mean.
    pub sizes: Sizes,
    /// Whether each connection starts with the ssthresh that the route kept of those before, as in
    /// Linux 2.6 (`tcp_update_metrics`). The first one starts with `initial_ssthresh_packets`.
    /// Each session has a route of its own.
    // JSON leaves out `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("default" = false))]
    pub route_ssthresh: bool,
}

/// The distribution of the sizes of a session's transfers, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sizes {
    /// All sizes are equal.
    Equal,
    /// Shape of a Pareto distribution of sizes (default: equal sizes).
    Pareto(#[schemars(range(min = 1_001, max = 100_000))] u32),
    /// Standard deviation of the logarithm of lognormal sizes (default: equal sizes).
    Lognormal(#[schemars(range(min = 1, max = 10_000))] u32),
}

/// A named set of end-host behaviours (`docs/profiles.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
/// Maximum rows of periodic samples, and of transfers. In memory they take about 7 GB.
const MAX_SAMPLES: u64 = 100_000_000;
/// Longest round trip, and longest mean of what is added to it: 100 s.
const MAX_RTT_NS: u64 = 100 * NS_PER_S;
/// Largest receive window or send buffer: 1000000 GB.
const MAX_LIMIT_BYTES: u64 = 1_000_000_000_000_000;
/// Largest window of TCP, bytes (RFC 7323).
const MAX_WINDOW_BYTES: u64 = 1 << 30;
/// Largest transfer: 1000000000 GB.
pub(crate) const MAX_TRANSFER_BYTES: u64 = 1_000_000_000_000_000_000;

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

pub(crate) fn within(field: &str, value: u64, low: u64, high: u64) -> Result<(), ScenarioError> {
    check(
        (low..=high).contains(&value),
        field,
        value.to_string(),
        &format!("choose a value from {low} to {high}"),
    )
}

/// When the first pause of a session begins, ns, and of each of its connections the pause before it, ns,
/// and its size, bytes (`None`: without end).
pub type Connections = (u64, Vec<(u64, Option<u64>)>);

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

    /// The canonical JSON text.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a scenario is JSON")
    }

    /// When flow number `flow` (from 0) connects, nanoseconds: its start plus its random spread.
    pub fn connects_at_ns(&self, flow: usize) -> u64 {
        let each = &self.flows[flow];
        let mut start = Stream::of(self.seed, Owner::Flow(flow as u32 + 1), Draw::Start);
        each.start_ns + start.up_to(each.start_spread_ns)
    }

    /// The connections of a session, as many as fit in the run.
    pub fn connections(&self, session: usize) -> Connections {
        let (number, of) = (session as u32 + 1, &self.sessions[session]);
        let mut start = Stream::of(self.seed, Owner::Session(number), Draw::Start);
        let mut source = crate::session::Session::new(number, self, of);
        let most = self.duration_ns / (2 * of.flow.rtt_ns).max(1) + 1;
        let draw = |_| (source.draw_gap_ns(), source.draw_bytes());
        let start_ns = of.flow.start_ns + start.up_to(of.flow.start_spread_ns);
        (start_ns, (0..most).map(draw).collect())
    }

    /// Checks every range and configures every algorithm.
    ///
    /// # Errors
    /// The first field that is out of range, or whose algorithm does not load.
    pub fn validate(&self, snapshot: &Snapshot) -> Result<Algorithms, ScenarioError> {
        schema::check_ranges(self)?;
        self.validate_link("bottleneck", &self.bottleneck)?;
        for (index, link) in self.links.iter().enumerate() {
            self.validate_link(&format!("links[{index}]"), link)?;
        }
        check(
            !self.flows.is_empty() || !self.sessions.is_empty(),
            "flows",
            "[]".into(),
            "give at least one flow or session",
        )?;
        let elements = self.flows.len() + self.sessions.len();
        let latest_ns = Schedule::latest_ns(elements);
        check(
            self.duration_ns <= latest_ns,
            "duration_ns",
            self.duration_ns.to_string(),
            &format!(
                "choose at most {} hours with {elements} flows and sessions",
                latest_ns / (3_600 * NS_PER_S)
            ),
        )?;
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
        for (index, flow) in distinct(&self.flows) {
            let name = format!("flows[{index}]");
            self.validate_flow(&name, flow)?;
            configure(&name, flow)?;
        }
        for (index, session) in distinct(&self.sessions) {
            let name = format!("sessions[{index}]");
            self.validate_session(&name, session)?;
            configure(&format!("{name}.flow"), &session.flow)?;
        }
        if self.has_routes() {
            let mut flows = self.all_flows();
            let reverse = flows.position(|flow| flow.direction == Direction::Reverse);
            let of = match reverse.unwrap_or(0).checked_sub(self.flows.len()) {
                None => format!("flows[{}]", reverse.unwrap_or(0)),
                Some(session) => format!("sessions[{session}].flow"),
            };
            check(
                reverse.is_none(),
                &format!("{of}.direction"),
                "reverse".into(),
                "where links or routes are given, write route and back instead",
            )?;
        }
        let topology = Topology::of(self);
        for (index, flow) in distinct(&self.flows) {
            self.validate_window(&format!("flow {}", index + 1), flow, &topology, index)?;
        }
        for (index, session) in distinct(&self.sessions) {
            let name = format!("session {}", index + 1);
            let index = self.flows.len() + index;
            self.validate_window(&name, &session.flow, &topology, index)?;
        }
        Ok(algorithms)
    }

    /// As [`validate`](Self::validate), and refuses algorithms that need what an old kernel did not
    /// have: `cong_control`, or ECN as today's Linux has it.
    ///
    /// # Errors
    /// The first field that cannot be simulated.
    pub fn validate_to_simulate(&self, snapshot: &Snapshot) -> Result<Algorithms, ScenarioError> {
        let algorithms = self.validate(snapshot)?;
        let flows = distinct(&self.flows);
        let flows = flows.map(|(index, flow)| (format!("flows[{index}]"), flow));
        let sessions = distinct(&self.sessions);
        let sessions =
            sessions.map(|(index, session)| (format!("sessions[{index}].flow"), &session.flow));
        for (name, flow) in flows.chain(sessions) {
            let field = format!("{name}.algorithm");
            let algorithm = algorithms[&flow.algorithm].algorithm();
            check(
                self.profile == Profile::Linux6 || !algorithm.needs_ecn(),
                &field,
                flow.algorithm.clone(),
                "it needs ECN, which is modelled as in today's Linux; choose profile linux-6",
            )?;
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
        check(
            session.flow.stop_ns.is_none(),
            &format!("{name}.flow.stop_ns"),
            format!("{:?}", session.flow.stop_ns),
            "a session does not stop; give null",
        )?;
        check(
            self.profile != Profile::Linux6 || !session.route_ssthresh,
            &format!("{name}.route_ssthresh"),
            session.route_ssthresh.to_string(),
            "Linux has no route cache since 3.6; choose a profile of Linux 2.6, or leave it out",
        )
    }

    fn validate_flow(&self, of: &str, flow: &Flow) -> Result<(), ScenarioError> {
        let name = |field: &str| format!("{of}.{field}");
        self.validate_route(&name("route"), &flow.route)?;
        self.validate_route(&name("back"), &flow.back)?;
        within(&name("start_ns"), flow.start_ns, 0, self.duration_ns)?;
        within(
            &name("start_spread_ns"),
            flow.start_spread_ns,
            0,
            self.duration_ns,
        )?;
        check(
            flow.frames.is_none() || flow.size_bytes.is_none(),
            &name("frames"),
            format!("{:?}", flow.frames),
            "frames have no end; leave out size or frames",
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
        for (field, limit) in [
            ("receive_window_bytes", flow.receive_window_bytes),
            ("send_buffer_bytes", flow.send_buffer_bytes),
        ] {
            check(
                limit.is_none_or(|bytes| bytes >= self.mss_bytes.into()),
                &name(field),
                limit.unwrap_or_default().to_string(),
                &format!("give room for a segment, at least {}", self.mss_bytes),
            )?;
        }
        check(
            self.profile == Profile::Linux6 || flow.ecn.is_off(),
            &name("ecn"),
            flow.ecn.name(),
            "ECN is modelled as in today's Linux; choose profile linux-6",
        )?;
        Ok(())
    }

    /// Refuses a window that is too large for sequence numbers of 32 bits, which would wrap.
    fn validate_window(
        &self,
        of: &str,
        flow: &Flow,
        topology: &Topology,
        index: usize,
    ) -> Result<(), ScenarioError> {
        let flows = (self.flows.len() + self.sessions.len()).max(1) as u128;
        let slowest = topology.slowest(index);
        let link = &topology.links[slowest];
        let rate_bps = link.most_bps();
        let key = match link.rate_bps {
            _ if link.trace_ms.is_some() => "trace_ms",
            rate if rate == rate_bps => "rate_bps",
            _ => "rate_at",
        };
        let field = match slowest.checked_sub(1).filter(|_| !self.links.is_empty()) {
            None => format!("bottleneck.{key}"),
            Some(further) => format!("links[{further}].{key}"),
        };
        let rtt_ns = flow.rtt_ns + topology.longest_delay_ns(index);
        let bits = u128::from(rate_bps) * u128::from(rtt_ns) / flows;
        let share = bits / 8 / u128::from(NS_PER_S);
        let limits = [
            flow.receive_window_bytes,
            flow.send_buffer_bytes,
            flow.size_bytes,
        ];
        let limits = limits.into_iter().flatten().map(u128::from);
        check(
            limits.fold(share, u128::min) <= u128::from(MAX_WINDOW_BYTES),
            &field,
            format!("\"{}\"", with_unit(rate_bps, &RATE_UNITS)),
            &format!(
                "{of}, with a round trip of {}, needs a window of {share} bytes for its share of the \
                 rate; TCP allows at most {MAX_WINDOW_BYTES} (RFC 7323). Write \
                 receive_window = \"1GiB\" for {of}, or lower the rate or the RTT",
                with_unit(rtt_ns, &TIME_UNITS)
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
