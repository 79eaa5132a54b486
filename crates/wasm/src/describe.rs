//! What is always the same: the algorithms and the names in tables.

use ackclock_host::Algorithm;
use ackclock_sim::describe;
use ackclock_sim::record::{Kind, Table};
use ackclock_sim::RunResult;
use serde_json::{json, Map, Value};

use crate::page;

pub fn describe() {
    let algorithms: Vec<_> = Algorithm::all().iter().map(algorithm).collect();
    let tables = RunResult::TABLES.iter();
    let tables: Map<_, _> = tables.map(|of| (of.name.into(), table(of))).collect();
    page::message(&json!({"kind": "about", "algorithms": algorithms, "tables": tables}));
}

/// As `_core.algorithms()` of Python, with the text of its file.
fn algorithm(algorithm: &Algorithm) -> Value {
    let mut of = describe::algorithm(algorithm);
    of["text"] = String::from_utf8_lossy(&algorithm.sources()[0].text).into();
    of
}

/// Names for the codes of each column that has some.
fn table(table: &Table) -> Value {
    let names = table.columns.iter().filter_map(|column| match column.kind {
        Kind::Name(names) => Some((column.name.into(), names.into())),
        Kind::U32 | Kind::U64 => None,
    });
    names.collect::<Map<_, _>>().into()
}
