//! What to simulate: the canonical, fully resolved form of a scenario.
//!
//! That form has integers only, and every default is filled in. Its JSON text therefore identifies the
//! run. People write the form of Python's `ackclock.Scenario` ("250mbit", "1bdp"), which resolves
//! to this one.

pub mod able;
mod branch;
mod change;
mod ecn;
mod error;
mod flow;
mod limits;
mod links;
mod profile;
mod program;
mod programs;
mod reader;
mod session;
mod stack;
mod validate;

pub use change::Change;
pub use ecn::EcnMode;
pub(crate) use error::within;
pub use error::ScenarioError;
pub(crate) use flow::STAMPS_BYTES;
pub use flow::{Direction, Flow, Frames, Hides, ReadStep, Reads, StackName, Write, KERNEL};
pub(crate) use limits::MAX_TRANSFER_BYTES;
pub use profile::Profile;
pub use program::{Program, Side};
pub use session::{Session, Sizes};

use ackclock_host::{Configured, Snapshot};
use ackclock_net::link::{Bottleneck, Place};
use ackclock_net::rng::{Draw, Owner, Stream};
use limits::{MAX_DURATION_NS, NS_PER_S};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What to run. It needs a duration, a bottleneck and at least one flow, session or program.
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
    /// TCP stack of the hosts: `linux-6`, `linux-7`, `linux-2.6.32`, `linux-2.6.25` or `linux-2.6.18`
    /// (docs/profiles.md).
    #[schemars(extend("default" = "linux-6"))]
    pub profile: Profile,
    /// Timer ticks per second of the hosts' kernel (Linux's HZ).
    #[schemars(range(min = 24, max = 10_000), extend("default" = 1_000))]
    pub hz: u32,
    /// Payload of a full segment in bytes. Headers add 52 bytes.
    #[schemars(range(min = 64, max = 65_483), extend("default" = 1_448))]
    pub mss_bytes: u32,
    /// IP and TCP headers of a packet, with timestamps. The wire size is the payload plus the
    /// headers.
    #[schemars(range(min = 20, max = 120), extend("default" = 52))]
    pub header_bytes: u32,
    /// Longest delay before a host handles an ACK, drawn uniformly from 0 to this. It breaks phase
    /// effects, as real hosts do. ACKs keep their order.
    #[schemars(range(max = NS_PER_S), extend("default" = 20_000))]
    pub jitter_ns: u64,
    /// Full segments per ACK; 1: no delayed ACKs, more than 2: ACKs thinned by their receiver.
    #[schemars(range(min = 1, max = 64), extend("default" = 2))]
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
    /// acknowledged: Linux 2.6 walks over them. At most 2500 ACKs wait meanwhile (Leith et al. 2007).
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
    /// What goes another way from a time on: a branch of the run without it.
    // JSON leaves out an empty list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1_000))]
    pub changes: Vec<Change>,
    /// Programs on two hosts, beside the flows; only Linux in virtual time runs them.
    // JSON leaves out an empty list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1_000))]
    pub programs: Vec<Program>,
    /// Time between two samples; "0s": no samples.
    #[schemars(range(max = MAX_DURATION_NS), extend("default" = 100_000_000))]
    pub sample_interval_ns: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// When the first pause of a session begins, ns, and of each of its connections the pause before it, ns,
/// its size, bytes (`None`: without end), and its RTT, ns.
pub type Connections = (u64, Vec<(u64, Option<u64>, u64)>);

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
        let mut start = Stream::for_owner(self.seed, Owner::Flow(flow as u32 + 1), Draw::Start);
        each.start_ns + start.up_to(each.start_spread_ns)
    }

    /// The propagation delay of flow number `flow` (from 0) there and back, nanoseconds, without the delays
    /// of links: its RTT plus what it draws.
    pub fn drawn_rtt_ns(&self, flow: usize) -> u64 {
        let each = &self.flows[flow];
        let mut random = Stream::for_owner(self.seed, Owner::Flow(flow as u32 + 1), Draw::Rtt);
        each.rtt_ns + random.exponential(each.rtt_exponential_ns)
    }

    /// The flows, then the flows of the sessions.
    pub(crate) fn all_flows(&self) -> impl Iterator<Item = &Flow> {
        let sessions = self.sessions.iter().map(|session| &session.flow);
        self.flows.iter().chain(sessions)
    }

    /// The first link that the data of a flow passes.
    pub(crate) fn first_link(&self, flow: &Flow) -> &Bottleneck {
        (flow.route.first())
            .and_then(|&number| self.link(number))
            .unwrap_or(&self.bottleneck)
    }

    /// Whether that link is the interface of the flow's host.
    pub(crate) fn is_at_sender(&self, flow: &Flow) -> bool {
        self.first_link(flow).at == Place::Sender
    }

    /// Whether packets of a flow may arrive at one instant: a link on their way, or on that of its ACKs, lets
    /// several go at once, or reading opens a window behind the ACK that TCP sends.
    pub(crate) fn arrives_in_batches(&self, flow: &Flow) -> bool {
        let lets_several_go = |link: &Bottleneck, bytes: u32| {
            let delays_vary = link.delay_jitter.is_some() || !link.delay_at.is_empty();
            link.trace_ms.is_some() || delays_vary || link.burst_bytes >= 2 * u64::from(bytes)
        };
        let (header_bytes, mss) = (self.header_of(flow), self.mss_of(flow));
        let link = |&number: &u32| self.link(number);
        let usual = flow.route.is_empty().then_some(&self.bottleneck);
        let mut forth = flow.route.iter().filter_map(link).chain(usual);
        let mut back = flow.back.iter().filter_map(link);
        flow.receive_buffer(mss.into()).is_some()
            || forth.any(|link| lets_several_go(link, header_bytes + mss))
            || back.any(|link| lets_several_go(link, header_bytes))
    }

    /// The link with this number.
    fn link(&self, number: u32) -> Option<&Bottleneck> {
        match number.checked_sub(2) {
            None => (number == 1).then_some(&self.bottleneck),
            Some(further) => self.links.get(further as usize),
        }
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

    /// Its work for a measure of progress: the packets that its link can carry, at most as many as make
    /// the progress of all four papers follow the time within 5 points: losses may hold flows far below
    /// the rate of the link.
    pub fn work(&self) -> f64 {
        const MOST_PACKETS: f64 = 3e7;
        let bits = self.bottleneck.rate_bps as f64 * self.duration_ns as f64 / 1e9;
        (bits / (8.0 * f64::from(self.packet_bytes()))).min(MOST_PACKETS)
    }

    /// Wire size of a full segment, bytes.
    pub fn packet_bytes(&self) -> u32 {
        self.mss_bytes + self.header_bytes
    }

    /// Which hosts a flow has.
    pub(crate) fn profile_of(&self, flow: &Flow) -> Profile {
        flow.profile.unwrap_or(self.profile)
    }

    /// Payload of a full segment of a flow.
    pub fn mss_of(&self, flow: &Flow) -> u32 {
        flow.mss_bytes.unwrap_or(self.mss_bytes)
    }

    /// IP and TCP headers of its packets.
    pub(crate) fn header_of(&self, flow: &Flow) -> u32 {
        self.header_bytes - flow.missing_bytes()
    }
}
