//! One run, told as it goes: the messages of `ackclock.explore.worker`.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

use std::collections::BTreeMap;

use ackclock_host::{layout, Snapshot};
use ackclock_resolve::{Files, Resolved};
use ackclock_sim::record::{EventTable, QueueTable, SampleTable, Table, Values};
use ackclock_sim::scenario::{Direction, Flow};
use ackclock_sim::{run_with, Control, Options, Prepared, RunError, RunResult, Scenario};
use serde_json::{json, Map, Value};

use crate::measured::{measured, tables, Rows, SoFar, Tables};
use crate::page;

/// Rows of one run.
const MOST_ROWS: usize = 8_000_000;
/// What the page draws: columns of a table.
const DRAWN: [(&str, Table, &[&str]); 3] = [
    (
        "samples",
        SampleTable::TABLE,
        &[
            "time_us",
            "flow",
            "cwnd_packets",
            "srtt_us",
            "delivered_packets",
        ],
    ),
    (
        "queues",
        QueueTable::TABLE,
        &["time_us", "queue", "queue_packets"],
    ),
    (
        "events",
        EventTable::TABLE,
        &[
            "time_us",
            "flow",
            "kind",
            "cwnd_packets",
            "ssthresh_packets",
            "in_flight_packets",
        ],
    ),
];
/// Length of the run, for its progress.
pub static DURATION_NS: AtomicU64 = AtomicU64::new(1);

/// Runs a scenario in canonical JSON.
pub fn run(json: &str) {
    if let Err(text) = of_json(json).and_then(|prepared| tell_run(&prepared)) {
        page::error(&text);
    }
}

/// Runs a scenario in TOML.
pub fn run_toml(toml: &str, files: &str) {
    let told = of_toml(toml, files).and_then(|resolved| tell_run(&resolved.prepared));
    if let Err(text) = told {
        page::error(&text);
    }
}

/// Runs a scenario in TOML, and tells only what the scorecard and an attack measure of it.
pub fn measure(toml: &str, files: &str) {
    let told = of_toml(toml, files).and_then(|resolved| tell_numbers(&resolved));
    if let Err(text) = told {
        page::error(&text);
    }
}

/// Tells the canonical form of a scenario in TOML.
pub fn resolve(toml: &str, files: &str) {
    match of_toml(toml, files) {
        Ok(Resolved { prepared, fields }) => {
            let scenario = prepared.scenario().to_json();
            page::message(&json!({"kind": "resolved", "scenario": scenario, "fields": fields}));
        }
        Err(text) => page::error(&text),
    }
}

fn of_toml(toml: &str, files: &str) -> Result<Resolved, String> {
    let files: BTreeMap<String, String> =
        serde_json::from_str(files).map_err(|error| format!("files: {error}"))?;
    let files = files
        .into_iter()
        .map(|(path, text)| (path, text.into_bytes()));
    let missing = "cannot be read (No such file or directory); give another file";
    ackclock_resolve::resolve(toml, &Files::given(files, missing, None))
}

pub fn of_json(json: &str) -> Result<Prepared, String> {
    let scenario = Scenario::parse(json).map_err(|error| error.to_string())?;
    let prepared = Prepared::new(scenario, &Snapshot::default());
    prepared.map_err(|error| error.to_string())
}

fn tell_run(prepared: &Prepared) -> Result<(), String> {
    check_layout();
    DURATION_NS.store(prepared.scenario().duration_ns, Relaxed);
    page::message(&begin(prepared));
    let mut control = Control::default();
    control.at_check = Some(at_check);
    let (mut rows, too_many) = (0, AtomicBool::new(false));
    let mut so_far = SoFar::new(prepared.scenario());
    let mut on_rows = |part: RunResult| {
        let part = tables(part);
        so_far.take(&part);
        rows += tell_rows(&part);
        if rows > MOST_ROWS {
            too_many.store(true, Relaxed);
            control.cancelled.store(true, Relaxed);
        }
    };
    let options = Options {
        on_rows: Some(&mut on_rows),
        ..Options::default()
    };
    let run = run_with(prepared, &control, options).map_err(|error| match error {
        RunError::Cancelled if too_many.load(Relaxed) => format!(
            "sample_interval: the run has more than {MOST_ROWS} rows, the most that the page keeps; \
             sample less often, or use `ackclock run -o`"
        ),
        error => error.to_string(),
    })?;
    end(prepared, run.result, so_far);
    Ok(())
}

fn tell_numbers(Resolved { prepared, fields }: &Resolved) -> Result<(), String> {
    check_layout();
    DURATION_NS.store(prepared.scenario().duration_ns, Relaxed);
    let mut control = Control::default();
    control.at_check = Some(at_check);
    let run =
        run_with(prepared, &control, Options::default()).map_err(|error| error.to_string())?;
    let mine = fields["flow"][0]["count"].as_u64().unwrap_or(1) as usize;
    page::message(&measured(prepared.scenario(), mine, run.result));
    Ok(())
}

pub fn check_layout() {
    if let Some(difference) = layout::difference() {
        panic!("C and Rust disagree: {difference}");
    }
}

/// Tells how far the run is. If the page wants its rows, they come next.
pub fn at_check(control: &Control) {
    let simulated_ns = control.simulated_ns.load(Relaxed) as f64;
    let done = simulated_ns / DURATION_NS.load(Relaxed) as f64;
    if page::message(&json!({"kind": "progress", "done": done})) {
        control.wants_rows.store(true, Relaxed);
    }
}

/// Tells what the page draws of them, and returns how many these are.
fn tell_rows(part: &Tables) -> usize {
    let drawn = DRAWN.iter().map(|(kind, table, wanted)| {
        let found = part.iter().find(|each| each.table.name == table.name);
        let values = &found.expect("it is a table of a result").values;
        page::columns(kind, table, values, wanted, Map::new());
        match &values[0] {
            Values::U64(values) => values.len(),
            Values::U32(values) => values.len(),
            Values::Name(codes) => codes.len(),
        }
    });
    drawn.sum()
}

/// Tells the last rows, and what the run comes to.
fn end(prepared: &Prepared, result: RunResult, mut so_far: SoFar) {
    let (hash, packets) = (result.trace_hash, result.packets);
    let has_sessions = !result.sessions.is_empty();
    let last = tables(result);
    so_far.take(&last);
    tell_rows(&last);
    let [flows, _, _, _, sessions, _] = &last;
    let tell = |kind, rows: &Rows, more| page::columns(kind, &rows.table, &rows.values, &[], more);
    if has_sessions {
        tell("sessions", sessions, Map::new());
    }
    let mut more = Map::new();
    more.insert("trace_hash".into(), format!("{hash:016x}").into());
    more.insert("packets".into(), packets.into());
    more.insert("summary".into(), so_far.summary(prepared, flows, packets));
    tell("end", flows, more);
}

/// What the page needs to know of a run before its first row.
fn begin(prepared: &Prepared) -> Value {
    let scenario = prepared.scenario();
    let flows: Vec<_> = scenario
        .flows
        .iter()
        .map(|flow| told(prepared, scenario, flow))
        .collect();
    let is_back = |flow: &Flow| flow.direction != Direction::Forward;
    let goes_back = scenario.flows.iter().any(is_back);
    json!({
        "kind": "begin",
        "flows": flows,
        "duration_us": scenario.duration_ns / 1000,
        "sample_interval_us": scenario.sample_interval_ns / 1000,
        "queues": 1 + scenario.links.len() + usize::from(goes_back),
        "backend": "sim",
    })
}

fn told(prepared: &Prepared, scenario: &Scenario, flow: &Flow) -> Value {
    let configured = &prepared.algorithms()[&flow.algorithm];
    json!({
        "spec": flow.algorithm,
        "name": configured.algorithm().name(),
        "values": ackclock_sim::describe::values(configured),
        "direction": flow.direction,
        "rtt_ns": flow.rtt_ns,
        "mss_bytes": scenario.mss_of(flow),
        "size_bytes": flow.size_bytes,
        "stop_ns": flow.stop_ns,
    })
}
