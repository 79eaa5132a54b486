//! `ackclock._core`: the simulator for Python. Thin: scenarios in as canonical
//! JSON, tables out as Arrow.

mod confine;
mod measure;
mod prepared;
mod run;
mod scenario;

use ackclock_host::Algorithm;
use ackclock_net::impair::LossChanges;
use ackclock_net::rng::{Draw, Owner, Stream};
use ackclock_py_tables::{dict, refuse};
use ackclock_sim::describe;
use ackclock_sim::record::{self, AckTable, Kind, PacketTable, Table};
use ackclock_sim::scenario::{Connections, Scenario};
use ackclock_sim::topology::Topology;
use ackclock_sim::RunResult;
use prepared::Snapshot;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

pyo3::import_exception!(ackclock.base.errors, AlgorithmError);

/// Version of the engine and a hash of its sources; a part of every result's key.
#[pyfunction]
fn engine_version() -> &'static str {
    env!("ACKCLOCK_ENGINE")
}

/// The built-in algorithms: name, summary, source, head, fingerprint,
/// params, presets.
#[pyfunction]
fn algorithms(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let all = Algorithm::all().iter();
    all.map(|each| dict(py, &describe::algorithm(each)))
        .collect()
}

/// Loads an algorithm by its spec, `name_or_path[@preset][:param=value,…]`:
/// what `algorithms` tells of it, values and the shortest spec.
///
/// Raises AckclockError.
#[pyfunction]
fn configure<'py>(py: Python<'py>, spec: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyDict>> {
    Snapshot::default().configure(py, spec, false)
}

type Column = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

/// The tables of a run: name, what a row is, and of each column name, type ("u32", "u64" or
/// "name"), meaning and the names that the codes of a "name" stand for.
#[pyfunction]
fn tables() -> Vec<(&'static str, &'static str, Vec<Column>)> {
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
#[pyfunction]
fn scenario_schema() -> String {
    format!("{:#}", ackclock_resolve::schema())
}

/// When each flow of a scenario (canonical JSON) connects, its random spread included, ns.
///
/// Raises AckclockError.
#[pyfunction]
fn connects_ns(json: &str) -> PyResult<Vec<u64>> {
    let scenario = Scenario::parse(json).map_err(refuse)?;
    let flows = 0..scenario.flows.len();
    Ok(flows.map(|flow| scenario.connects_at_ns(flow)).collect())
}

/// The RTT of each flow of a scenario (canonical JSON), what it draws included, ns.
///
/// Raises AckclockError.
#[pyfunction]
fn rtts_ns(json: &str) -> PyResult<Vec<u64>> {
    let scenario = Scenario::parse(json).map_err(refuse)?;
    let flows = 0..scenario.flows.len();
    Ok(flows.map(|flow| scenario.drawn_rtt_ns(flow)).collect())
}

/// Of each session of a scenario in canonical JSON: when its first pause begins, ns, and of each of its
/// connections the pause before it, ns, its bytes (None: without end), and its RTT, ns.
///
/// Raises AckclockError.
#[pyfunction]
fn connections(json: &str) -> PyResult<Vec<Connections>> {
    let scenario = Scenario::parse(json).map_err(refuse)?;
    let sessions = 0..scenario.sessions.len();
    Ok(sessions.map(|each| scenario.connections(each)).collect())
}

/// Of each link of a scenario in canonical JSON, also the one of the other direction: when its
/// probability of a loss changes before the end of the run, ns, and to how many parts in 10⁹.
///
/// Raises AckclockError.
#[pyfunction]
fn loss_changes(json: &str) -> PyResult<Vec<Vec<(u64, u64)>>> {
    let scenario = Scenario::parse(json).map_err(refuse)?;
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
#[pyfunction]
fn examples() -> Vec<(&'static str, &'static str)> {
    let all: &[_] = include!(concat!(env!("OUT_DIR"), "/examples.rs"));
    all.to_vec()
}

#[pymodule]
mod _core {
    /// IP and TCP headers of a packet, with timestamps. The wire size is the payload plus the headers.
    #[pymodule_export]
    const HEADER_BYTES: u64 = ackclock_resolve::HEADER_BYTES;

    #[pymodule_export]
    use super::{
        algorithms, configure,
        confine::confine,
        connections, connects_ns, engine_version, examples, loss_changes,
        measure::{
            capacity_bits, capacity_bps, common_ns, convergence_s, delivered_bits, frame_delays_s,
            goodputs_bps, headline, is_equal, is_unsafe, jain_index, lifetimes_bps, mark, means,
            numbers, summary, utilisation,
        },
        prepared::{Prepared, Snapshot},
        rtts_ns,
        run::run_many,
        scenario::{
            any_quantity, check_on_vlinux, installed_window, keys, quantity_units, read_quantity,
            read_room, read_toml, switches, table, write_quantity, Written,
        },
        scenario_schema, tables,
    };
}
