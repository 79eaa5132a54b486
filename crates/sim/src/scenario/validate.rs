//! What the fields of a scenario must be beside their ranges.

use super::able::Host;
use super::error::{check, within};
use super::limits::{MAX_DURATION_NS, NS_PER_S};
use super::{Algorithms, Direction, EcnMode, Flow, Hides, Reads, Scenario, ScenarioError, Session};
use crate::schema::{self, distinct};
use crate::topology::Topology;
use ackclock_host::Snapshot;
use ackclock_net::schedule::Schedule;

/// Maximum rows of periodic samples, and of transfers. In memory they take about 7 GB.
const MAX_SAMPLES: u64 = 100_000_000;
/// Largest window of TCP, bytes (RFC 7323).
const MAX_WINDOW_BYTES: u64 = 1 << 30;

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

impl Scenario {
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
            !(self.flows.is_empty() && self.sessions.is_empty() && self.programs.is_empty()),
            "flows",
            "[]",
            "give at least one flow or session",
        )?;
        let elements = self.flows.len() + self.sessions.len();
        let latest_ns = Schedule::latest_ns(elements);
        check(
            self.duration_ns <= latest_ns,
            "duration_ns",
            self.duration_ns,
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
                self.sample_interval_ns,
                &format!("{rows} samples are more than {MAX_SAMPLES}: sample less often"),
            )?;
        }
        let finite = self.sessions.iter().filter(|s| s.flow.size_bytes.is_some());
        let transfers: u64 = finite.map(|s| self.most_transfers(s)).sum();
        check(
            transfers <= MAX_SAMPLES,
            "sessions",
            self.sessions.len(),
            &format!("they may make {transfers} transfers, more than {MAX_SAMPLES}: fewer, longer gaps or a shorter run"),
        )?;
        let mut algorithms = Algorithms::new();
        for (index, of, flow) in self.each_flow() {
            if index >= self.flows.len() {
                self.check_flow_on(Host::Session, &of, flow)?;
            }
            self.validate_flow(&of, flow)?;
            if !algorithms.contains_key(&flow.algorithm) {
                let configured = flow.configure(&of, self.hz, snapshot)?;
                algorithms.insert(flow.algorithm.clone(), configured);
            }
        }
        self.validate_changes(snapshot, &mut algorithms)?;
        self.validate_programs()?;
        let has_routes = self.has_routes();
        for (_, of, flow) in self.each_flow() {
            check(
                !has_routes || flow.direction != Direction::Reverse,
                &format!("{of}.direction"),
                "reverse",
                "where links or routes are given, write route and back instead",
            )?;
        }
        let topology = Topology::new(self);
        for (index, _, flow) in self.each_flow() {
            self.validate_window(flow, &topology, index)?;
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
        for (_, name, flow) in self.each_flow() {
            self.validate_stack(&name, flow)?;
            let field = format!("{name}.algorithm");
            let algorithm = algorithms[&flow.algorithm].algorithm();
            let is_new = self.profile_of(flow).is_new();
            check(
                is_new || !(algorithm.needs_ecn() || algorithm.needs_accurate_ecn()),
                &field,
                &flow.algorithm,
                "it needs ECN, which is modelled as in today's Linux; choose profile linux-6",
            )?;
            check(
                is_new || !algorithm.has_cong_control(),
                &field,
                &flow.algorithm,
                "it has cong_control, which Linux has had since 4.9; choose profile linux-6, or \
                 give it cong_avoid instead",
            )?;
        }
        self.validate_changed_algorithms(&algorithms)?;
        check(
            self.programs.is_empty(),
            "programs.len()",
            self.programs.len(),
            "only Linux runs programs; add --on vlinux: ackclock run FILE --on vlinux",
        )?;
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

    /// The flows that differ from the one before: the index among all, the name, and the flow.
    fn each_flow(&self) -> impl Iterator<Item = (usize, String, &Flow)> {
        let flows = distinct(&self.flows);
        let flows = flows.map(|(index, flow)| (index, format!("flows[{index}]"), flow));
        let sessions = distinct(&self.sessions).map(move |(index, session)| {
            let name = format!("sessions[{index}].flow");
            (self.flows.len() + index, name, &session.flow)
        });
        flows.chain(sessions)
    }

    fn validate_flow(&self, of: &str, flow: &Flow) -> Result<(), ScenarioError> {
        let name = |field: &str| format!("{of}.{field}");
        self.check_flow_on(Host::Tcp(self.profile_of(flow)), of, flow)?;
        self.validate_route(&name("route"), &flow.route)?;
        self.validate_route(&name("back"), &flow.back)?;
        within(&name("start_ns"), flow.start_ns, 0, self.duration_ns)?;
        within(
            &name("start_spread_ns"),
            flow.start_spread_ns,
            0,
            self.duration_ns,
        )?;
        flow.check_writes(of)?;
        self.validate_rate(of, flow)?;
        self.validate_reader(of, flow)?;
        if let Some(stop_ns) = flow.stop_ns {
            let first = flow.start_ns + flow.start_spread_ns + 1;
            check(
                stop_ns >= first,
                &name("stop_ns"),
                stop_ns,
                &format!("stop after the flow has started: at least {first}"),
            )?;
        }
        let mss = u64::from(self.mss_of(flow));
        check(
            mss <= self.mss_bytes.into(),
            &name("mss_bytes"),
            mss,
            &format!("choose at most the scenario's mss, {}", self.mss_bytes),
        )?;
        let (window, buffer) = (flow.receive_window_bytes, flow.send_buffer_bytes);
        let tuned = flow.receive_buffer_bytes;
        let reads = flow.reads.unwrap_or(self.reads);
        for (field, limit, room, least) in [
            // A quarter of it is a window at least.
            ("receive_buffer_bytes", tuned, "eight segments", 8 * mss),
            // With room for one Linux offers no window that holds (`__tcp_select_window`).
            ("receive_window_bytes", window, "two segments", 2 * mss),
            ("send_buffer_bytes", buffer, "a segment", mss),
        ] {
            check(
                limit.is_none_or(|bytes| bytes >= least),
                &name(field),
                limit.unwrap_or_default(),
                &format!("give room for {room}, at least {least}"),
            )?;
        }
        for (is_wrong, fix) in [
            (
                window.is_some(),
                "its window is receive_window; leave one out",
            ),
            (
                reads == Reads::Bulk,
                "leave out reads: such a reader makes its buffer larger",
            ),
            (
                !flow.timestamps,
                "leave out timestamps, which tell the receiver the RTT",
            ),
            (tuned > Some(MAX_WINDOW_BYTES), "choose at most 1 GiB"),
        ] {
            check(
                tuned.is_none() || !is_wrong,
                &name("receive_buffer_bytes"),
                tuned.unwrap_or_default(),
                fix,
            )?;
        }
        for (is_wrong, other) in [
            (tuned.is_some(), "receive_buffer"),
            (flow.read_rate_bps.is_some(), "read_rate"),
            (flow.hides != Hides::Nothing, "hides"),
            (flow.ecn == EcnMode::Accurate, "accurate ECN"),
        ] {
            check(
                flow.gro_ns.is_none() || !is_wrong,
                &name("gro_ns"),
                flow.gro_ns.unwrap_or_default(),
                &format!("is not modelled with {other}; leave one out"),
            )?;
        }
        check(
            flow.timestamps || self.header_bytes >= 52,
            &name("timestamps"),
            "false",
            "header_bytes counts them; give 52 or more there, or leave it out",
        )
    }

    /// Refuses a window that is too large for sequence numbers of 32 bits, which would wrap.
    fn validate_window(
        &self,
        flow: &Flow,
        topology: &Topology,
        index: usize,
    ) -> Result<(), ScenarioError> {
        let of = match index.checked_sub(self.flows.len()) {
            None => format!("flow {}", index + 1),
            Some(session) => format!("session {}", session + 1),
        };
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
            flow.receive_buffer_bytes,
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
}
