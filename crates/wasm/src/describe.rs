//! What is always the same: the algorithms and the names in tables.

use ackclock_host::{Algorithm, Configured, Param};
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

/// As `_core.algorithms()` of Python.
fn algorithm(algorithm: &Algorithm) -> Value {
    let params = algorithm.params().iter().map(|param| {
        json!({
            "name": param.name,
            "default": number(param, param.default),
            "min": number(param, param.min),
            "max": number(param, param.max),
            "doc": param.doc,
        })
    });
    let presets = algorithm.presets().iter();
    let settings: Map<_, _> = presets
        .clone()
        .map(|preset| (preset.name.clone(), algorithm.settings(preset).into()))
        .collect();
    let presets: Map<_, _> = presets
        .map(|preset| (preset.name.clone(), preset.doc.clone().into()))
        .collect();
    json!({
        "name": algorithm.name(),
        "summary": algorithm.summary(),
        "source": algorithm.source_path(),
        "head": algorithm.head(),
        "fingerprint": format!("{:016x}", algorithm.fingerprint()),
        "params": params.collect::<Vec<_>>(),
        "presets": presets,
        "preset_settings": settings,
        "text": String::from_utf8_lossy(&algorithm.sources()[0].text),
    })
}

/// The value of each parameter, as a user writes it.
pub fn values(configured: &Configured) -> Value {
    let params = configured.algorithm().params().iter();
    let values = params.zip(configured.values());
    let values = values.map(|(param, (name, stored))| (name.into(), number(param, stored)));
    values.collect::<Map<_, _>>().into()
}

/// A stored value as a user writes it: 717 of 1024 is 0.7.
fn number(param: &Param, stored: u32) -> Value {
    if param.scale == 1 {
        return param.whole(stored).into();
    }
    let shortest = param.display(stored).parse::<f64>();
    shortest.expect("a number is shown as one").into()
}

/// Names for the codes of each column that has some.
fn table(table: &Table) -> Value {
    let names = table.columns.iter().filter_map(|column| match column.kind {
        Kind::Name(names) => Some((column.name.into(), names.into())),
        Kind::U32 | Kind::U64 => None,
    });
    names.collect::<Map<_, _>>().into()
}
