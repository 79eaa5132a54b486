//! The functions of `ackclock._core` that need no more than they are given. `crates/py` makes them
//! Python's, and `crates/wasm` what the portable engine answers: each has its own macro `doors!`, and
//! its own [`Ran`], a run with its tables, [`Fields`], what a user gives, and [`Object`], which Python
//! gets as a `dict`.

use std::collections::BTreeMap;

use ackclock_host::Algorithm;
use ackclock_measure::{
    self as measure, Delivered, Estimate, Link, Mark, Means, Number, Rule, Run, Seen, Setup,
    Summary, Table as _,
};
use ackclock_net::impair::LossChanges;
use ackclock_net::rng::{Draw, Owner, Stream};
use ackclock_resolve::{units, Kind as KeyKind, Of};
use ackclock_sim::packet_script::{self as packets, Script};
use ackclock_sim::record::{self, AckTable, Kind, PacketTable, Table};
use ackclock_sim::scenario::{able, Connections, Scenario};
use ackclock_sim::tcp::ReceiveBuffer;
use ackclock_sim::topology::Topology;
use ackclock_sim::{describe, RunResult};

use super::{no_value, refuse, refuse_field, Fields, Object, Ran, Refusal};

type ColumnOf = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

type Measured = (&'static str, Option<f64>, bool);

fn quantity(kind: &str) -> Result<Of, Refusal> {
    let found = Of::QUANTITIES.iter().find(|(name, _)| *name == kind);
    let found = found.map(|(_, of)| *of);
    found.ok_or_else(|| no_value(format!("{kind}: no kind of quantity")))
}

fn delivered(result: &Ran) -> Result<(Setup, Delivered), Refusal> {
    let setup = result.setup()?;
    let mut delivered = Delivered::new(&setup);
    for samples in result.parts("samples", &["time_us", "flow", "delivered_packets"])? {
        delivered.take(&samples?);
    }
    Ok((setup, delivered))
}

doors! {

/// Version of the engine and a hash of its sources; a part of every result's key.
fn engine_version() -> &'static str {
    env!("ACKCLOCK_ENGINE")
}

/// The tables of a run: name, what a row is, and of each column name, type ("u32", "u64" or
/// "name"), meaning and the names that the codes of a "name" stand for.
fn tables() -> Vec<(&'static str, &'static str, Vec<ColumnOf>)> {
    let column = |column: &record::Column| {
        let (kind, names): (_, &[_]) = match column.kind {
            Kind::U32 => ("u32", &[]),
            Kind::U64 => ("u64", &[]),
            Kind::Name(names) => ("name", names),
        };
        (column.name, kind, column.meaning, names)
    };
    let tables = RunResult::TABLES
        .iter()
        .chain([&AckTable::TABLE, &PacketTable::TABLE]);
    let of_table = |table: &Table| {
        (
            table.name,
            table.row,
            table.columns.iter().map(column).collect(),
        )
    };
    tables.map(of_table).collect()
}

/// The JSON Schema of a scenario file: what people write, what each key means, its range, its default.
fn scenario_schema() -> String {
    format!("{:#}", ackclock_resolve::schema())
}

/// When each flow of a scenario (canonical JSON) connects, its random spread included, ns.
///
/// Raises AckclockError.
fn connects_ns(json: String) -> Result<Vec<u64>, Refusal> {
    let scenario = Scenario::parse(&json).map_err(refuse)?;
    let flows = 0..scenario.flows.len();
    Ok(flows.map(|flow| scenario.connects_at_ns(flow)).collect())
}

/// The RTT of each flow of a scenario (canonical JSON), what it draws included, ns.
///
/// Raises AckclockError.
fn rtts_ns(json: String) -> Result<Vec<u64>, Refusal> {
    let scenario = Scenario::parse(&json).map_err(refuse)?;
    let flows = 0..scenario.flows.len();
    Ok(flows.map(|flow| scenario.drawn_rtt_ns(flow)).collect())
}

/// Of each session of a scenario in canonical JSON: when its first pause begins, ns, and of each of its
/// connections the pause before it, ns, its bytes (None: without end), and its RTT, ns.
///
/// Raises AckclockError.
fn connections(json: String) -> Result<Vec<Connections>, Refusal> {
    let scenario = Scenario::parse(&json).map_err(refuse)?;
    let sessions = 0..scenario.sessions.len();
    Ok(sessions.map(|each| scenario.connections(each)).collect())
}

/// Of each link of a scenario in canonical JSON, also the one of the other direction: when its
/// probability of a loss changes before the end of the run, ns, and to how many parts in 10⁹.
///
/// Raises AckclockError.
fn loss_changes(json: String) -> Result<Vec<Vec<(u64, u64)>>, Refusal> {
    let scenario = Scenario::parse(&json).map_err(refuse)?;
    let links = Topology::new(&scenario).links.into_iter().zip(1..);
    let changes = links.map(|(link, number)| {
        let random = Stream::for_owner(scenario.seed, Owner::Link(number), Draw::Outage);
        let changes = LossChanges::new(link.loss, &link.loss_at, random);
        let before = |change: &(u64, u64)| change.0 < scenario.duration_ns;
        changes.take_while(before).collect()
    });
    Ok(changes.collect())
}

/// The files of examples/: path below it, text.
fn examples() -> Vec<(&'static str, &'static str)> {
    let all: &[_] = include!(concat!(env!("OUT_DIR"), "/examples.rs"));
    all.to_vec()
}

/// The keys of each table, JSON: name, meaning, default, and what they take.
fn keys() -> String {
    ackclock_resolve::keys().to_string()
}

/// Refuses a scenario (canonical JSON) that Linux of a series ("6.12") in virtual time cannot run.
///
/// Raises FieldError that names the first field.
fn check_on_vlinux(json: String, series: String) -> Result<(), Refusal> {
    let scenario = Scenario::parse(&json).map_err(refuse)?;
    let mut parts = series.split('.').map(|part| part.parse().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    let checked = scenario.check_on(able::Host::Vlinux((next(), next())));
    checked.map_err(refuse_field)
}

/// What ends the window of a Linux as installed, with segments of `mss` bytes: its `tcp_rmem[2]`, and the
/// largest window, both bytes; None of a profile without its tuning.
fn installed_window(profile: String, mss: u64) -> Option<(u64, u64)> {
    let bytes = ackclock_resolve::rmem_bytes(&profile)?;
    Some((bytes, ReceiveBuffer::Tuned(bytes).most_window(mss)))
}

/// The keys of a flow that a switch of `net.ipv4` turns off, and the switches.
fn switches() -> Vec<(&'static str, &'static str)> {
    able::switches().collect()
}

/// The number that a text with a unit stands for, in ns, bit/s or bytes: of a "Time", "Rate", "Size" or
/// "Payload", that one with packets of `mss` bytes.
///
/// Raises ValueError that says what to write.
#[pyo3(signature = (kind, text, mss=1))]
fn read_quantity(kind: String, text: String, mss: u64) -> Result<i128, Refusal> {
    let read = match quantity(&kind)? {
        Of::Time => units::duration_ns(&text),
        Of::Rate => units::rate_bps(&text),
        Of::Size => units::size_bytes(&text),
        _ => units::payload(&text, mss),
    };
    read.map_err(no_value)
}

/// What people write for a number of ns, bit/s or bytes: `read_quantity` the other way.
fn write_quantity(kind: String, number: u64) -> Result<String, Refusal> {
    let kind = quantity(&kind)?;
    let (low, high, like) = (0, 0, String::new());
    Ok(KeyKind {
        kind,
        low,
        high,
        like,
    }
    .written(number))
}

/// A quantity of any kind: the unit that ends the names of columns (s, bps, bytes, packets or bdp), the
/// number as it is written, and the size of its unit, of a time in ns.
///
/// Raises ValueError that says what to write.
fn any_quantity(text: String) -> Result<(&'static str, String, u64), Refusal> {
    units::any(&text).map_err(no_value)
}

/// Room of a queue: "bdp", "packets", "bytes" or "ns", and how many.
///
/// Raises ValueError that says what to write.
fn read_room(text: String) -> Result<(&'static str, String), Refusal> {
    let room = units::buffer(&text).map_err(no_value)?;
    Ok(match room {
        units::Room::Bdp(number) => ("bdp", number.plain()),
        units::Room::Packets(number) => ("packets", number.to_string()),
        units::Room::Bytes(number) => ("bytes", number.to_string()),
        units::Room::Ns(number) => ("ns", number.to_string()),
    })
}

/// The units of each kind of quantity, and their sizes in ns, bit/s and bytes.
fn quantity_units() -> [(&'static str, Vec<(&'static str, u64)>); 3] {
    [
        ("Time", units::TIME_UNITS.to_vec()),
        ("Rate", units::RATE_UNITS.to_vec()),
        ("Size", units::SIZE_UNITS.to_vec()),
    ]
}

/// What the scorecard measures of a run, whose first `mine` flows are those of the algorithm: name,
/// value, and whether it is only known to be at least that.
fn numbers(result: Ran, mine: usize) -> Result<Vec<Measured>, Refusal> {
    let run = Run {
        setup: &result.setup()?,
        flows: &result.whole("flows")?,
        samples: &result.whole("samples")?,
        queues: &result.whole("queues")?,
        events: &result.whole("events")?,
        transfers: &result.whole("transfers")?,
    };
    let found = measure::numbers(&run, mine).into_iter();
    Ok(found
        .map(|(name, number)| match number {
            None => (name, None, false),
            Some(Number::Is(value)) => (name, Some(value), false),
            Some(Number::AtLeast(value)) => (name, Some(value), true),
        })
        .collect())
}

/// What a run comes to: common interval, utilisation, Jain's index, flows and queues.
fn summary(result: Ran, of_programs: bool) -> Result<Summary, Refusal> {
    let (setup, flows) = (result.setup()?, result.whole("flows")?);
    let completed_us = flows.u64("completed_us");
    let mut seen = Seen::new(&setup);
    for samples in result.parts("samples", Seen::SAMPLE_COLUMNS)? {
        seen.take_samples(&setup, &samples?, completed_us);
    }
    for queues in result.parts("queues", Seen::QUEUE_COLUMNS)? {
        seen.take_queues(&queues?);
    }
    Ok(seen.summary(&setup, &flows, of_programs))
}

/// The common interval of a scenario in canonical form, from ns to ns; `starts_us`: when each flow
/// connects.
fn common_ns(resolved: Setup, starts_us: Vec<u64>) -> (u64, u64) {
    let common_ns = resolved.common_ns(&starts_us);
    (common_ns.start, common_ns.end)
}

/// What a link of a canonical scenario can carry from one time to another, IP bits.
fn capacity_bits(link: Link, start_s: f64, stop_s: f64) -> f64 {
    link.capacity_bits(start_s, stop_s)
}

/// Payload that the bottleneck of a canonical scenario can carry, bit/s.
fn capacity_bps(resolved: Setup) -> f64 {
    resolved.capacity_bps()
}

/// Jain's index; NaN if all shares are 0.
fn jain_index(shares: Vec<f64>) -> f64 {
    measure::jain_index(&shares)
}

/// Share of a link's rate in use from one time to another; NaN where samples are missing.
fn utilisation(
    result: Ran,
    start_s: f64,
    stop_s: Option<f64>,
    queue: Option<usize>,
) -> Result<f64, Refusal> {
    let queues = result.parts("queues", &["time_us", "queue", "sent_bytes"])?;
    let queues = queues.collect::<Result<Vec<_>, Refusal>>()?;
    let queues: Vec<_> = queues.iter().map(|rows| rows as &dyn measure::Table).collect();
    Ok(measure::utilisation(
        &result.setup()?,
        &queues,
        start_s,
        stop_s,
        queue,
    ))
}

/// Mean of "cwnd_packets" or "srtt_us" over the regular samples of each flow in a window, until it
/// completes. A flow without a sample has no entry.
fn means(
    result: Ran,
    column: String,
    start_s: f64,
    stop_s: f64,
) -> Result<BTreeMap<usize, f64>, Refusal> {
    let (setup, flows) = (result.setup()?, result.whole("flows")?);
    let mut until_us = setup.ends_us(flows.u64("completed_us"));
    until_us
        .iter_mut()
        .for_each(|end_us| *end_us = end_us.min(1e6 * stop_s));
    let mut means = Means::new(&setup, &column);
    for samples in result.parts("samples", &["time_us", "flow", &column])? {
        means.take(&setup, &samples?, 1e6 * start_s, &until_us);
    }
    let found = (1..).zip(means.values());
    Ok(found
        .filter_map(|(flow, mean)| Some((flow, mean?)))
        .collect())
}

/// Payload sent and acknowledged in the common interval, of each flow, bit/s.
fn goodputs_bps(result: Ran) -> Result<Vec<f64>, Refusal> {
    Ok(measure::goodputs_bps(
        &result.setup()?,
        &result.whole("flows")?,
    ))
}

/// Payload acknowledged in order, from each flow's start to its end, bit/s.
fn lifetimes_bps(result: Ran) -> Result<Vec<f64>, Refusal> {
    Ok(measure::lifetimes_bps(
        &result.setup()?,
        &result.whole("flows")?,
    ))
}

/// Payload that flows have had delivered until some times, bits: numbers of 64 bits, flow by flow; NaN
/// behind a flow's last sample.
fn delivered_bits(
    result: Ran,
    times_s: Vec<f64>,
) -> Result<Vec<u8>, Refusal> {
    let (setup, delivered) = delivered(&result)?;
    let mut bytes = Vec::with_capacity(8 * setup.flows.len() * times_s.len());
    for flow in 0..setup.flows.len() {
        for time_s in &times_s {
            bytes.extend(delivered.bits(flow, *time_s).to_ne_bytes());
        }
    }
    Ok(bytes)
}

/// Time from the last start until the forward flows share fairly, s; None: not by the end.
fn convergence_s(
    result: Ran,
    last_start_s: f64,
    window_s: f64,
    share: f64,
) -> Result<Option<f64>, Refusal> {
    let (setup, delivered) = delivered(&result)?;
    Ok(delivered.convergence_s(&setup, last_start_s, window_s, share))
}

/// Delays of the frames that a flow writes within some time, s.
fn frame_delays_s(
    result: Ran,
    flow: usize,
    established_us: Option<f64>,
    start_s: f64,
    stop_s: f64,
) -> Result<Vec<f64>, Refusal> {
    let (setup, samples) = (result.setup()?, result.whole("samples")?);
    let within_s = start_s..stop_s;
    Ok(measure::frame_delays_s(
        &setup,
        &samples,
        flow - 1,
        established_us,
        within_s,
    ))
}

/// How an algorithm does against another, by a number and the paired difference in it, or by several.
fn mark(differences: Vec<(Rule, Option<Estimate>)>) -> &'static str {
    let marks = differences.iter().map(|(number, of)| number.mark(*of));
    Mark::of_row(marks).name()
}

/// Whether all of an algorithm's interval is where a number is unsafe.
fn is_unsafe(number: Rule, found: Option<Estimate>) -> bool {
    number.is_unsafe(found)
}

/// Whether two algorithms have the same number in each run, or the same bound.
fn is_equal(
    mine: Option<Estimate>,
    other: Option<Estimate>,
    difference: Option<Estimate>,
) -> bool {
    measure::is_equal(mine, other, difference)
}

/// A card in one line, by its rows: name, whether it is unsafe, and mark against the `first` of the others.
/// `equal`: those that are so in every number; `failed`: the row in which the algorithm did.
fn headline(
    rows: Vec<(String, bool, Option<String>)>,
    first: Option<String>,
    equal: Vec<String>,
    failed: Option<String>,
) -> String {
    measure::headline(&rows, first.as_deref(), &equal, failed.as_deref())
}

/// The built-in algorithms: name, summary, source, head, fingerprint,
/// params, presets.
fn algorithms() -> Vec<Object> {
    let all = Algorithm::all().iter();
    all.map(|each| Object(describe::algorithm(each))).collect()
}

/// Checks a table that stands alone: `of` is its name. What is given, in one form for each key.
///
/// Raises AckclockError, one line that names key, value and fix.
fn table(of: String, fields: Fields) -> Result<Object, Refusal> {
    let given = ackclock_resolve::table(&of, fields.0).map_err(refuse)?;
    Ok(Object(given.into()))
}

/// Runs a packet script (docs/packet-scripts.md) on the simulator: what it expects beside what was seen, and
/// when these first differ, µs; None: never.
///
/// Raises AckclockError of a script with a mistake.
fn packet_script(name: String, text: String) -> Result<(String, Option<f64>), Refusal> {
    let script = Script::parse(&name, &text).map_err(refuse)?;
    let seen = packets::run(&script, |_| 0).map_err(|error| refuse(error.to_string()))?;
    let comparison = script.compare(&seen, false);
    Ok((comparison.listing, comparison.differs_at_us))
}

/// The fields in the text of a scenario file.
///
/// Raises AckclockError if it is no TOML.
fn read_toml(text: String) -> Result<Object, Refusal> {
    let fields = ackclock_resolve::read(&text).map_err(refuse)?;
    Ok(Object(fields.into()))
}

}
