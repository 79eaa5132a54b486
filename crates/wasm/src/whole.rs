//! One run with all its rows, for Python: what `_core.run_many` hands over.

use std::io;
use std::sync::atomic::Ordering::Relaxed;

use ackclock_sim::capture::{Capture, Side};
use ackclock_sim::record::{PacketTable, Table, Values};
use ackclock_sim::{run_with, Acting, Control, Options, Prepared, RunError, RunResult, Seen, SEEN};
use serde::Deserialize;
use serde_json::{json, Map, Value};

use crate::face::{refuse, refused, Refusal};
use crate::page;
use crate::run::{at_check, check_layout, of_json, DURATION_NS};

/// What is wanted of a run.
#[derive(Deserialize)]
struct Wanted {
    scenario: String,
    /// Whether rows are handed over as they come.
    rows: bool,
    /// Whether there is a table of packets.
    packets: bool,
    /// The flow, from 0, whose parameters are set on the way, and whether at each ACK.
    acting: Option<(usize, bool)>,
    /// Interfaces that a pcapng shows, and how many bytes of each packet it keeps.
    pcapng: Option<(String, u32)>,
}

/// Tells `progress`, `rows`, `pcapng`, and at last the tables and `end`, or `refused`.
pub fn run(text: &str) {
    let wanted = serde_json::from_str(text).map_err(refuse);
    if let Err(refusal) = wanted.and_then(|wanted| tell_run(&wanted)) {
        refused(refusal);
    }
}

fn tell_run(wanted: &Wanted) -> Result<(), Refusal> {
    check_layout();
    let prepared = of_json(&wanted.scenario).map_err(refuse)?;
    DURATION_NS.store(prepared.scenario().duration_ns, Relaxed);
    let mut control = Control::default();
    control.at_check = Some(at_check);
    let mut on_rows = |part: RunResult| {
        tell_tables(part);
        page::message(&json!({"kind": "rows"}));
    };
    let mut file = io::BufWriter::with_capacity(1 << 18, Told);
    let capture = wanted.pcapng.as_ref().map(|(at, snaplen)| {
        let only = match &**at {
            "sender" => Some(Side::Sender),
            "receiver" => Some(Side::Receiver),
            _ => None,
        };
        Capture::new(&mut file, prepared.scenario(), only, *snaplen)
    });
    let mut act = |seen: Seen| wanted.acting.and_then(|of| act(&prepared, of.0, seen));
    let options = Options {
        acting: (wanted.acting).map(|(flow, each_ack)| Acting::new(flow, each_ack, &mut act)),
        on_rows: wanted.rows.then_some(&mut on_rows as _),
        capture,
        packets: wanted.packets,
        ..Options::default()
    };
    let run = run_with(&prepared, &control, options).map_err(|error| match error {
        RunError::Stalled { .. } | RunError::Algorithm { .. } => {
            Refusal(json!(["AlgorithmError", error.to_string()]))
        }
        error => refuse(error),
    })?;
    io::Write::flush(&mut file).map_err(refuse)?;
    let (hash, packets) = (run.result.trace_hash, run.result.packets);
    tell_tables(run.result);
    if let Some(packets) = run.packets {
        tell_table("packet_rows", &PacketTable::TABLE, &packets.into_columns());
    }
    let hash = format!("{hash:016x}");
    page::message(&json!({"kind": "end", "trace_hash": hash, "packets": packets}));
    Ok(())
}

/// Asks which parameters a flow gets, names and values; an answer that is none ends the run.
fn act(prepared: &Prepared, flow: usize, seen: Seen) -> Option<Vec<u32>> {
    let seen: Map<_, _> = (SEEN.iter().zip(seen))
        .map(|(name, value)| (name.to_string(), value.into()))
        .collect();
    let answer = page::asked(&json!(["act", seen])).ok()?;
    let (names, values): (Vec<String>, Vec<f64>) = serde_json::from_slice(&answer).ok()?;
    let spec = &prepared.scenario().flows[flow].algorithm;
    prepared.algorithms()[spec].set(&names, &values).ok()
}

fn tell_tables(result: RunResult) {
    for (table, values) in RunResult::TABLES.iter().zip(result.into_tables()) {
        tell_table(table.name, table, &values);
    }
}

fn tell_table(name: &str, table: &Table, values: &[Values]) {
    let more = Map::from_iter([("table".into(), Value::from(name))]);
    page::columns("table", table, values, &[], more);
}

/// Tells bytes of a pcapng.
struct Told;

impl io::Write for Told {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let columns = json!([["", "|u1", bytes.as_ptr() as usize, bytes.len()]]);
        page::message(&json!({"kind": "pcapng", "columns": columns}));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
