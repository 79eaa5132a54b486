//! What each host can: for each key of a scenario, each host's answer. A key that some host has not
//! answered does not compile.

use super::{EcnMode, Flow, Hides, Profile, Reads, Scenario, ScenarioError, Session, StackName};
use super::{KERNEL, STAMPS_BYTES};
use crate::schema::distinct;
use ackclock_net::buffer::Buffer;
use ackclock_net::link::{Bottleneck, Place};
use ackclock_net::queue::QueueKind;
use serde::Serialize;
use serde_json::Value;
use Able::{Alike, AsKernel, By, No, Only, Since, Yes};

/// Of a Linux: 6.12.
pub type Version = (u32, u32);

/// The Linux that `vlinux` is.
pub const VLINUX: Version = (6, 12);
/// The first with accurate ECN, and here with DualPI2.
pub const LINUX_7: Version = (7, 0);
/// The first without the loss detection of RFC 6675.
const ONLY_RACK: Version = (6, 17);
/// The first with the switches of today's Linux, of the profiles.
const TODAY: Version = (3, 0);
/// What `sk_trim_gso_size` leaves of 65 536 bytes; with a larger MSS nothing is sent.
const MOST_MSS_BYTES: u32 = 65_215;
/// What `TCP_MAXSEG` takes (`MAX_TCP_WINDOW`), less the timestamps.
const MOST_MAXSEG_BYTES: u32 = 32_767 - STAMPS_BYTES;
/// A host's own jitter, which the virtual Linux leaves out. More is part of the path.
const MOST_JITTER_NS: u64 = 1_000_000;
/// The algorithms of the virtual Linux's `kernel.config`, and Reno, which every Linux has.
const OF_LINUX: &str = "kernel: and one of bbr, bic, cdg, cubic, dctcp, highspeed, htcp, hybla, \
     illinois, lp, nv, reno, scalable, vegas, veno, westwood, yeah";

/// Who serves a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// The simulator's TCP, of a profile.
    Tcp(Profile),
    /// A QUIC stack in the simulator.
    Quic(StackName),
    /// UDP in the simulator.
    Udp,
    /// A session in the simulator.
    Session,
    /// Linux in virtual time.
    Vlinux(Version),
    /// The running kernel.
    Kernel,
    /// Programs on the running kernel.
    Shell,
}

impl Host {
    /// That of a stack.
    pub(super) fn of(stack: StackName) -> Self {
        match stack {
            StackName::Udp => Self::Udp,
            StackName::Quinn | StackName::Noq => Self::Quic(stack),
        }
    }

    fn version(self) -> Version {
        match self {
            Self::Tcp(profile) if !profile.is_new() => (2, 6),
            Self::Tcp(Profile::Linux7) => LINUX_7,
            Self::Vlinux(version) => version,
            _ => VLINUX,
        }
    }
}

/// The hosts of documents and pages, and their names there.
pub const HOSTS: [(&str, Host); 8] = [
    ("linux-2.6", Host::Tcp(Profile::Linux2_6_32)),
    ("quinn, noq", Host::Quic(StackName::Quinn)),
    ("udp", Host::Udp),
    ("session", Host::Session),
    ("vlinux", Host::Vlinux(VLINUX)),
    ("vlinux:7.3", Host::Vlinux((7, 3))),
    ("kernel", Host::Kernel),
    ("shell", Host::Shell),
];

/// A host's answer to a key.
enum Able<T> {
    /// As in the simulator.
    Yes,
    /// Yes, in this way.
    By(&'static str),
    /// The same in all flows, by this way.
    Alike(&'static str),
    /// Only the usual value; why.
    No(&'static str),
    /// From this version on, before it only the usual value; why.
    Since(Version, &'static str),
    /// Only these values; of others it tells why not.
    Only(&'static str, fn(&On<'_>, &T) -> Option<String>),
    /// What the kernel answers.
    AsKernel,
}

/// The answers to a key.
struct Row<T> {
    key: &'static str,
    /// The switch of `net.ipv4` that turns it off.
    switch: Option<&'static str>,
    /// Whether the value is one that every host takes.
    is_usual: fn(&T) -> bool,
    /// Of [`Host::Tcp`], [`Host::Quic`], [`Host::Udp`] and [`Host::Session`].
    stacks: [Able<T>; 4],
    /// Of [`Host::Vlinux`], [`Host::Kernel`] and [`Host::Shell`].
    machines: [Able<T>; 3],
}

/// Rows for the fields of a struct: each of them is named, and each host answers. In parentheses: which
/// values are usual, or the switch of `net.ipv4` that a field turns off.
macro_rules! rows {
    ($name:ident of $of:ident: $($($key:ident),+ = $usual:tt $stacks:tt $machines:tt;)*) => {
        static $name: &[Row<$of>] = &[$($(Row {
            key: stringify!($key),
            switch: rows!(@switch $usual),
            is_usual: |of: &$of| rows!(@usual of $key $usual),
            stacks: rows!(@stacks $stacks),
            machines: $machines,
        }),+),*];
        // "pattern requires `..`": a field has no row.
        const _: fn(&$of) = |$of { $($($key: _),+),* }| ();
    };
    (@usual $of:ident $key:ident (any)) => {{ let _ = &$of.$key; true }};
    (@usual $of:ident $key:ident (none)) => { $of.$key.is_none() };
    (@usual $of:ident $key:ident (empty)) => { $of.$key.is_empty() };
    (@usual $of:ident $key:ident (is $usual:expr)) => { $of.$key == $usual };
    (@usual $of:ident $key:ident (switch $switch:literal)) => { $of.$key };
    (@switch (switch $switch:literal)) => { Some($switch) };
    (@switch $usual:tt) => { None };
    (@stacks _) => { [Yes, Yes, Yes, Yes] };
    (@stacks $stacks:tt) => { $stacks };
}

const UNTOLD: &str = "is not told so";
const SILENT: Able<Flow> = No(UNTOLD);
const TODAYS: Able<Flow> = Since(TODAY, "it is a switch of today's Linux");
const MODELLED: Able<Flow> = Since(TODAY, "it is that of today's Linux");
const TCP_ONLY: Able<Flow> = No("a session has TCP only");
const OF_SIZES: Able<Flow> = No("a session sends transfers of its size");
const READS_ALL: Able<Flow> = No("a session's reader reads all");
const HAS_DATA: Able<Flow> = No("its applications always have data");
const ALL_READ: Able<Flow> = No("its readers read all");
const NO_PROGRAMS: Able<Scenario> = No("only Linux runs programs: add --on vlinux");
const ONE_ROUTE: Able<Flow> = Alike("all of its flows share a route");
const NO_METRIC: Able<Flow> = No("since Linux 3.6 a route has none to give");
const OWN_TCP: Able<Flow> = No("it has its own TCP");
const OF_ALL: Able<Flow> = No("all flows have that of the running kernel");
const HONEST: Able<Flow> = No("its receivers are honest");
const SWITCH: Able<Flow> = Alike("all of its flows share a sysctl");
const ONE_PATH: Able<Flow> = Alike("the programs of a shell share one path and one algorithm");
const SAME_PATH: Able<Flow> = Only("flow 1's", other_path);
const RACK: Able<Flow> = Only("true", only_rack);
const NO_ECN: Able<Flow> = Only("false", no_ecn);

const SIMULATED: Able<Scenario> = No("only the simulator branches a run");

/// A key of programs' own.
const fn idle<T>() -> Able<T> {
    By("does not count: programs decide")
}

rows! { FLOW of Flow:
    // Fields = (usual values) [TCP, QUIC, UDP, session] [vlinux, kernel, shell].
    algorithm = (any) [Only("an algorithm of `ackclock list`", |_, flow| when(
        flow.algorithm.starts_with(KERNEL), "only Linux has it; run, sweep, evaluate and conform take it with --on kernel or --on vlinux")), Yes, Yes, Yes]
        [Only(OF_LINUX, not_of_linux), Yes, ONE_PATH];
    stack = (none) [Yes, Yes, Yes, TCP_ONLY] [Only("udp", |_, flow| when(
        flow.stack.is_some_and(|name| name != StackName::Udp),
        "its hosts have Linux's TCP and UDP")), OWN_TCP, AsKernel];
    profile = (none) [Yes, SILENT, SILENT, Yes]
        [Only("the kernel's own", |on, flow| on.other_profile(flow.profile)), OF_ALL, AsKernel];
    tso = (none) [Yes, SILENT, SILENT, Yes] [Yes, OF_ALL, AsKernel];
    direction = (any) _ [Yes, Yes, Yes];
    route = (any) _ [Yes, Yes, SAME_PATH];
    back = (empty) [Yes, Yes, SILENT, Yes] [Yes, Yes, SAME_PATH];
    rtt_ns = (any) _ [Yes, Yes, ONE_PATH];
    rtt_exponential_ns = (is 0) _ [Yes, No("it draws none"), AsKernel];
    start_ns, start_spread_ns = (any) _ [Yes, Yes, idle()];
    stop_ns = (none) [Yes, Yes, Yes, No("a session does not stop")] [Yes, Yes, idle()];
    frames = (none) [Yes, Yes, SILENT, OF_SIZES] [Yes, HAS_DATA, AsKernel];
    writes = (empty) [Yes, Yes, SILENT, OF_SIZES] [Yes, HAS_DATA, AsKernel];
    size_bytes = (none) [Yes, Yes, SILENT, Yes] [Yes, Yes, idle()];
    receive_window_bytes = (none) [Yes, Yes, SILENT, Yes] [Yes,
        By("`TCP_WINDOW_CLAMP`; the first window may be larger by some segments"), idle()];
    receive_buffer_bytes = (none) [MODELLED, SILENT, SILENT, Yes]
        [Yes, SWITCH, SWITCH];
    send_buffer_bytes = (none) [Yes, Yes, SILENT, Yes]
        [Yes, By("the application leaves at most this much data unacknowledged"), idle()];
    read_rate_bps = (none) [MODELLED, SILENT, SILENT, READS_ALL] [Yes, ALL_READ, AsKernel];
    read_rate_at = (empty) [MODELLED, SILENT, SILENT, READS_ALL] [Yes, ALL_READ, AsKernel];
    mss_bytes = (none) [Yes, SILENT, SILENT, Yes] [Yes,
        Only("536B to 32755B", |_, flow| when(
            flow.mss_bytes.is_some_and(|mss| !(536..=MOST_MAXSEG_BYTES).contains(&mss)),
            "it is a socket's TCP_MAXSEG, less 12 bytes of timestamps")), idle()];
    initcwnd = (none) [Yes, Only("2 or more", |_, flow| when(
        flow.stack == Some(StackName::Quinn) && flow.initcwnd == Some(1),
        "quinn sends only what leaves room in its window, so nothing with one packet")), SILENT, Yes]
        [Yes, ONE_ROUTE, ONE_ROUTE];
    max_pacing_rate_bps = (none) [Yes, SILENT, SILENT, Yes] [Yes, Yes, idle()];
    sack = (switch "tcp_sack") [TODAYS, SILENT, SILENT, Yes] [Yes, SWITCH, SWITCH];
    rack = (switch "tcp_recovery") [RACK, SILENT, SILENT, Yes]
        [RACK, No("Linux has no other rule since 6.17"), AsKernel];
    tlp = (switch "tcp_early_retrans") [TODAYS, SILENT, SILENT, Yes] [Yes, SWITCH, SWITCH];
    timestamps = (switch "tcp_timestamps") [TODAYS, SILENT, SILENT, Yes]
        [Yes, No("its packets have them"), AsKernel];
    slow_start_after_idle = (switch "tcp_slow_start_after_idle") [Yes, SILENT, SILENT, Yes]
        [Yes, SWITCH, SWITCH];
    rto_min_ns = (none) [MODELLED, SILENT, SILENT, Yes] [Yes, ONE_ROUTE, ONE_ROUTE];
    initial_ssthresh_packets = (none) [Yes, SILENT, SILENT, Yes] [NO_METRIC, NO_METRIC, AsKernel];
    ecn = (is EcnMode::Off) [NO_ECN, Only("true", |_, flow| when(
        flow.ecn == EcnMode::Accurate, "QUIC's counts are accurate (RFC 9000, section 13.4)")), NO_ECN, Yes]
        [Only("true; \"accurate\" from Linux 7.0 on", not_accurate), Only("true", not_accurate), ONE_PATH];
    delayed_ack_segments = (none) [Yes, SILENT, SILENT, Yes]
        [Only("1 or 2", |_, flow| thinned(flow.delayed_ack_segments)),
         Only("2", |_, flow| delayed(flow.delayed_ack_segments)), AsKernel];
    reads = (none) [Yes, SILENT, SILENT, Yes]
        [Yes, Only("\"at once\"", |_, flow| in_bulk(flow.reads)), AsKernel];
    gro_ns = (none) [MODELLED, SILENT, SILENT, Yes]
        [Yes, No("its devices merge as they are set"), AsKernel];
    hides = (is Hides::Nothing) [Yes, SILENT, SILENT, No("a session's receiver is honest")]
        [HONEST, HONEST, AsKernel];
    rate_bps = (none) [Only("max_pacing_rate", |_, flow| when(
        flow.rate_bps.is_some() && flow.stack != Some(StackName::Udp), "only udp has one")), Yes, Yes, TCP_ONLY] [Yes, OWN_TCP, AsKernel];
}

rows! { LINK of Bottleneck:
    rate_bps, buffer, drop_every_packets, drop_packets, delay_ns, loss, duplicate_ppb, reorder, policer,
        rate_at, trace_ms, delay_at, loss_at, delay_jitter = (any) _ [Yes, Yes, Yes];
    queue = (any) _ [Only("a queue that tc has (dualpi2: from Linux 7.0 on)", not_of_tc), Yes, Yes];
    burst_bytes = (any) _ [Only("0B beside a rate of 0 or a trace", |_, link| when(
        is_own(link) && link.burst_bytes != 0, "a rate of 0 has none there")), Yes, Yes];
    tick_ns = (is 0) _ [No("Linux has no such qdisc"), Yes, Yes];
    limit_packets = (any) _ [
        Only("at most the packets of a drop_tail buffer with a constant delay", no_limit), Yes, Yes];
    at = (is Place::Network) _ [
        Only("\"network\", or give its flows the same ecn, tso and switches", hosts_differ),
        No("its links are behind the host's interface"), AsKernel];
}

rows! { SESSION of Session:
    flow = (any) _ [Yes, Yes, Yes];
    gap_ns, sizes, route_ssthresh = (any) _ [Yes, No("it has no sessions"), AsKernel];
}

rows! { SCENARIO of Scenario:
    bottleneck, links, flows, sample_interval_ns = (any) _ [Yes, Yes, Yes];
    seed = (any) _ [Yes,
        By("sets `start_spread`, `jitter`, and what queues draw; two runs still differ"), AsKernel];
    duration_ns = (any) _ [Yes, By("passes in real time"), idle()];
    profile = (any) _ [
        Only("the kernel's own", |on, all| on.other_profile(Some(all.profile).filter(|of| *of != Profile::Linux6))),
        Only("linux-6", |_, all| when(!all.profile.is_new(), "its TCP is today's")), AsKernel];
    hz = (any) _ [
        By("1000, or a kernel of its own: `ackclock linux build --hz 250`"),
        By("the kernel's; `compare` gives it to the simulator"), AsKernel];
    mss_bytes = (any) _ [
        Only("at most 65215", |_, all| when(all.mss_bytes > MOST_MSS_BYTES,
            "a burst of its TCP has no room for more")),
        Only("536 or more", |_, all| when(all.mss_bytes < 536, "Linux's TCP has no smaller one")), AsKernel];
    header_bytes = (any) _ [Yes, Only("52", |_, all| when(all.header_bytes != 40 + STAMPS_BYTES,
        "IP and TCP with timestamps have 52")), AsKernel];
    jitter_ns = (any) _ [
        Only("at most 1ms, which does nothing", |_, all| when(all.jitter_ns > MOST_JITTER_NS,
            "its ACKs arrive to the nanosecond")),
        By("added to the delay of each ACK; the machine adds its own"), AsKernel];
    delayed_ack_segments = (any) _ [
        Only("1 or 2", |_, all| thinned(Some(all.delayed_ack_segments))),
        Only("2", |_, all| delayed(Some(all.delayed_ack_segments))), AsKernel];
    reads = (any) _ [Yes, Only("\"at once\"", |_, all| in_bulk(Some(all.reads))), AsKernel];
    tso = (is true) _ [Yes, No("it sends in bursts"), AsKernel];
    pacing = (any) _ [Yes, Yes, idle()];
    sack_cost_ns = (is 0) _ [
        No("computing takes no time there"), No("ACKs cost there what they cost"), AsKernel];
    sessions = (empty) _ [Yes, No("it opens no connections after the first"), AsKernel];
    changes = (empty) _ [SIMULATED, SIMULATED, SIMULATED];
    programs = (empty) [NO_PROGRAMS, NO_PROGRAMS, NO_PROGRAMS, NO_PROGRAMS] [
        Yes, No("it runs none beside flows; type `ackclock shell`"), NO_PROGRAMS];
}

impl Scenario {
    /// Refuses what a machine cannot honour.
    ///
    /// # Errors
    /// The first such field.
    pub fn check_on(&self, host: Host) -> Result<(), ScenarioError> {
        let on = self.on(host);
        on.check("", SCENARIO, self)?;
        on.check("bottleneck.", LINK, &self.bottleneck)?;
        for (index, link) in self.links.iter().enumerate() {
            on.check(&format!("links[{index}]."), LINK, link)?;
        }
        for (index, flow) in distinct(&self.flows) {
            on.check(&format!("flows[{index}]."), FLOW, flow)?;
        }
        let in_session = On {
            in_session: true,
            ..on
        };
        for (index, session) in distinct(&self.sessions) {
            on.check(&format!("sessions[{index}]."), SESSION, session)?;
            in_session.check(&format!("sessions[{index}].flow."), FLOW, &session.flow)?;
        }
        Ok(())
    }

    /// Refuses what a host of the simulator cannot honour of a flow.
    pub(super) fn check_flow_on(
        &self,
        host: Host,
        of: &str,
        flow: &Flow,
    ) -> Result<(), ScenarioError> {
        self.on(host).check(&format!("{of}."), FLOW, flow)
    }

    fn on(&self, host: Host) -> On<'_> {
        On {
            scenario: self,
            host,
            in_session: false,
        }
    }
}

/// The fields of a flow of which a host takes only the usual value, and why.
pub fn refused_by(host: Host) -> impl Iterator<Item = (&'static str, &'static str)> {
    FLOW.iter().filter_map(move |row| match *row.answer(host) {
        No(why) => Some((row.key, why)),
        _ => None,
    })
}

/// The keys of a flow that a switch of `net.ipv4` turns off, and the switches.
pub fn switches() -> impl Iterator<Item = (&'static str, &'static str)> {
    FLOW.iter().filter_map(|row| Some((row.key, row.switch?)))
}

/// The switches that a flow turns off.
pub fn switched_off(flow: &Flow) -> impl Iterator<Item = &'static str> + '_ {
    let off = |row: &'static Row<Flow>| row.switch.filter(|_| !(row.is_usual)(flow));
    FLOW.iter().filter_map(off)
}

/// A struct, its field, and what documents say of a host's answer.
pub type Answer = (&'static str, &'static str, String);

/// The answers of a host that are not just yes.
pub fn answers(host: Host) -> Vec<Answer> {
    fn of<T: Serialize>(of: &'static str, rows: &[Row<T>], host: Host) -> Vec<Answer> {
        let told = |row: &Row<T>| Some((of, row.key, row.told(host)?));
        rows.iter().filter_map(told).collect()
    }
    [
        of("Scenario", SCENARIO, host),
        of("Bottleneck", LINK, host),
        of("Flow", FLOW, host),
        of("Session", SESSION, host),
    ]
    .concat()
}

fn when(is_wrong: bool, why: impl Into<String>) -> Option<String> {
    is_wrong.then(|| why.into())
}

fn not_of_linux(_: &On<'_>, flow: &Flow) -> Option<String> {
    let own = flow.algorithm.strip_prefix(KERNEL)?;
    when(!is_of_linux(own), format!("Linux has no {own}"))
}

/// Whether Linux has an algorithm of its own with this name.
pub fn is_of_linux(name: &str) -> bool {
    let (_, names) = OF_LINUX.split_once(" of ").unwrap_or_default();
    names.split(", ").any(|each| each == name)
}

fn other_path(on: &On<'_>, flow: &Flow) -> Option<String> {
    let every: Vec<u32> = (1..).take(1 + on.scenario.links.len()).collect();
    let route = |flow: &Flow| match flow.route[..] {
        [] => every.clone(),
        _ => flow.route.clone(),
    };
    let first = &on.scenario.flows[0];
    let is_other = route(flow) != route(first) || flow.back != first.back;
    when(is_other, "the programs of a shell share one path")
}

fn only_rack(on: &On<'_>, flow: &Flow) -> Option<String> {
    let why = match on.version() {
        version if version >= ONLY_RACK => "Linux has no other rule since 6.17",
        version if version < TODAY => "it is a switch of today's Linux",
        _ => return None,
    };
    when(!flow.rack, why)
}

fn no_ecn(on: &On<'_>, flow: &Flow) -> Option<String> {
    let why = match on.host {
        Host::Udp => "udp is not told so",
        _ if on.version() < TODAY => "ECN is modelled as in today's Linux",
        _ => return None,
    };
    when(!flow.ecn.is_off(), why)
}

fn not_accurate(on: &On<'_>, flow: &Flow) -> Option<String> {
    let is_new = matches!(on.host, Host::Vlinux(version) if version >= LINUX_7);
    let why = "Linux before 7.0 does not negotiate it";
    when(!is_new && flow.ecn == EcnMode::Accurate, why)
}

fn thinned(segments: Option<u32>) -> Option<String> {
    when(
        segments > Some(2),
        "Linux acknowledges every second segment at least",
    )
}

fn delayed(segments: Option<u32>) -> Option<String> {
    when(segments.is_some_and(|each| each != 2), "it delays ACKs")
}

fn in_bulk(reads: Option<Reads>) -> Option<String> {
    when(reads == Some(Reads::Bulk), "its receivers read at once")
}

/// Whether Linux has no such link: recorded, or dead at times.
fn is_own(link: &Bottleneck) -> bool {
    link.trace_ms.is_some() || link.rate_at.iter().any(|step| step.rate_bps == 0)
}

fn not_of_tc(on: &On<'_>, link: &Bottleneck) -> Option<String> {
    match link.queue {
        QueueKind::Dualpi2(_) => when(on.version() < LINUX_7, "Linux before 7.0 has no such qdisc"),
        QueueKind::Step(step) => when(
            step.threshold_ns == 0 && on.packets_differ(),
            "its RED counts bytes, and these packets differ in size",
        ),
        QueueKind::Red(red) => {
            let (log2, idles) = (red.weight_log2, red.idle_packet_ns > 0);
            // `red_check_params`: a threshold has 31 bits, `log2` of them behind the point.
            let most = (1_u64 << (31 - log2)) - 1;
            // iproute2's `tc_red_eval_P`: doubled 31 times, the slope of the probability is more than 1.
            let least = (red.max_bytes - red.min_bytes) as f64 / 2_f64.powi(31);
            let wrong = [
                (
                    red.max_bytes > most,
                    format!("max up to {most}B with weight_log2 = {log2}"),
                ),
                (
                    red.max_p_ppm as f64 / 1e6 <= least,
                    format!("max_p from {least:.5} with this max"),
                ),
                (red.gentle, "gentle = false".into()),
                (
                    idles && link.burst_bytes > 0,
                    "idle_packet = \"0s\" below a burst".into(),
                ),
            ];
            let wrong = wrong.into_iter().find(|(is_wrong, _)| *is_wrong);
            wrong.map(|(_, takes)| format!("its RED takes {takes}"))
        }
        _ => None,
    }
}

fn no_limit(_: &On<'_>, link: &Bottleneck) -> Option<String> {
    let limit = link.limit_packets?;
    let packets = match link.buffer {
        Buffer::Packets(packets) => packets,
        Buffer::Bytes(_) => 0,
    };
    let is_netem = link.queue == QueueKind::DropTail
        && link.trace_ms.is_none()
        && link.rate_at.is_empty()
        && link.burst_bytes == 0
        && link.delay_at.is_empty()
        && link.delay_jitter.is_none();
    let why = "netem has one for a drop_tail queue of as many packets and a constant delay";
    when(!is_netem || packets < limit, why)
}

/// The flows of an interface are of one host, which has one setting of each switch.
fn hosts_differ(on: &On<'_>, link: &Bottleneck) -> Option<String> {
    if link.at == Place::Network {
        return None;
    }
    let of_host = |flow: &Flow| {
        let off: Vec<_> = switched_off(flow).collect();
        (flow.ecn, flow.tso.unwrap_or(on.scenario.tso), off)
    };
    let here = |flow: &&Flow| std::ptr::eq(on.scenario.first_link(flow), link);
    let flows: Vec<_> = on.scenario.all_flows().filter(here).collect();
    let differs = |flow: &&Flow| {
        let first = flows.iter().find(|each| each.direction == flow.direction);
        first.map(|first| of_host(first)) != Some(of_host(flow))
    };
    when(flows.iter().any(differs), "its flows are of one host")
}

/// Where a key is asked for.
struct On<'a> {
    scenario: &'a Scenario,
    host: Host,
    in_session: bool,
}

impl On<'_> {
    fn version(&self) -> Version {
        self.host.version()
    }

    fn stack(&self) -> &'static str {
        match self.host {
            Host::Quic(stack) => stack.name(),
            _ => "udp",
        }
    }

    /// Why a Linux has not a profile that is given: it is another than its own.
    fn other_profile(&self, given: Option<Profile>) -> Option<String> {
        let own = match self.version() < LINUX_7 {
            true => Profile::Linux6,
            false => Profile::Linux7,
        };
        let is_other = given.is_some_and(|profile| profile != own);
        when(is_other, format!("its TCP is {}", own.name()))
    }

    /// Whether queues have full packets of another size than the scenario's, or ACKs.
    fn packets_differ(&self) -> bool {
        let differs = |flow: &Flow| flow.mss_bytes.is_some() || !flow.timestamps;
        self.scenario.is_two_way() || self.scenario.all_flows().any(differs)
    }

    /// Refuses the first key of a table that the host cannot honour.
    fn check<T: Serialize>(
        &self,
        of: &str,
        rows: &[Row<T>],
        table: &T,
    ) -> Result<(), ScenarioError> {
        for row in rows {
            let Some(fix) = row.refusal(self, table) else {
                continue;
            };
            let (key, value) = match value(table, row.key) {
                Value::Array(items) if of.is_empty() => (".len()", items.len().into()),
                value => ("", value),
            };
            return Err(ScenarioError {
                field: format!("{of}{}{key}", row.key),
                value: value.to_string(),
                fix,
            });
        }
        Ok(())
    }
}

/// A key's value in JSON; null, if JSON leaves it out.
fn value<T: Serialize>(table: &T, key: &str) -> Value {
    serde_json::to_value(table).expect("a table is JSON")[key].take()
}

impl<T: Serialize> Row<T> {
    fn answer(&self, host: Host) -> &Able<T> {
        match host {
            Host::Tcp(_) => &self.stacks[0],
            Host::Quic(_) => &self.stacks[1],
            Host::Udp => &self.stacks[2],
            Host::Session => &self.stacks[3],
            Host::Vlinux(_) => &self.machines[0],
            Host::Kernel => &self.machines[1],
            Host::Shell => &self.machines[2],
        }
    }

    /// Why a host refuses a value, and what else it takes, if that is not the usual one.
    fn why_not(&self, on: &On<'_>, table: &T) -> Option<(String, Option<&'static str>)> {
        let is_usual = (self.is_usual)(table);
        let (is_wrong, why) = match *self.answer(on.host) {
            Yes | By(_) | AsKernel => return None,
            No(UNTOLD) => return (!is_usual).then(|| (format!("{} {UNTOLD}", on.stack()), None)),
            No(why) => (!is_usual, why),
            Since(first, why) => (!is_usual && on.version() < first, why),
            Alike(why) => {
                let mut flows = on.scenario.flows.iter();
                let first = flows.next().filter(|_| !on.in_session);
                let same = |first| value(first, self.key) == value(table, self.key);
                (first.is_some_and(|first| !same(first)), why)
            }
            Only(takes, why_not) => return why_not(on, table).map(|why| (why, Some(takes))),
        };
        is_wrong.then(|| (why.into(), None))
    }

    /// Why a host refuses a value, and what to write instead, or to use.
    fn refusal(&self, on: &On<'_>, table: &T) -> Option<String> {
        let (why, takes) = self.why_not(on, table)?;
        let takes_it = |host: &Host| self.why_not(&On { host: *host, ..*on }, table).is_none();
        let instead = match (takes, self.answer(on.host)) {
            (Some(takes), _) => format!("write {takes}"),
            (None, Alike(_)) => "give all flows the same".into(),
            (None, _) => "leave it out".into(),
        };
        let place = match on.host {
            Host::Vlinux(_) => "virtual Linux",
            Host::Kernel => "kernel",
            Host::Tcp(_) if takes_it(&Host::Tcp(Profile::Linux6)) => {
                return Some(format!("{why}; choose profile linux-6, or {instead}"))
            }
            _ => return Some(format!("{why}; {instead}")),
        };
        let others = [
            ("the simulator", Host::Tcp(on.scenario.profile)),
            ("vlinux", Host::Vlinux(VLINUX)),
            ("vlinux:7.3", Host::Vlinux((7, 3))),
        ];
        let others = others.iter().filter(|(_, host)| takes_it(host)).take(2);
        let others: Vec<_> = others.map(|(name, _)| *name).collect();
        let or_use = if others.is_empty() { "" } else { ", or use " };
        let others = others.join(" or ");
        Some(format!(
            "not on the {place}: {why}; {instead}{or_use}{others}"
        ))
    }

    /// What documents say of the answer, if there is something to say.
    fn told(&self, host: Host) -> Option<String> {
        Some(match *self.answer(host) {
            Yes => return None,
            AsKernel => return self.told(Host::Kernel),
            By(how) => how.into(),
            Alike(why) => format!("alike: {why}"),
            Since(first, _) if host.version() >= first => return None,
            No(why) | Since(_, why) => format!("refused: {why}"),
            Only(takes, _) => takes.into(),
        })
    }
}
