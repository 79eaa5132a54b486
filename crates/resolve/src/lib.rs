//! A scenario as people write it, in TOML, to the simulator's canonical form: what
//! `ackclock.Scenario` does in Python, for a page that has none. Equal files give equal canonical
//! JSON, and refusals have the same words; `tests/explore/test_explore_resolve.py` compares both.
//!
//! What each key takes is data that `make generate` writes of Python's classes (`keys.json`). What is
//! short: Parquet, QUIC stacks and a user's C file. What is wrong with text that is no TOML, and with
//! dates and infinities in it, has other words.

mod files;
mod keys;
mod kinds;
mod links;
mod model;
mod python;
mod scenario;
mod timeline;
mod units;

pub use files::Files;

use ackclock_host::Snapshot;
use ackclock_sim::scenario::KERNEL;
use ackclock_sim::Prepared;
use serde_json::{Map, Value};

use model::Table;
use python::{brief, toml, visible};
use scenario::Scenario;

/// A scenario that can be simulated.
pub struct Resolved {
    /// What runs; its scenario is the canonical form.
    pub prepared: Prepared,
    /// The fields of the file.
    pub fields: Map<String, Value>,
}

/// Reads the text of a scenario file and checks it; the texts of files that its links name come with
/// it.
///
/// # Errors
/// One line that names table, key, value and fix.
pub fn resolve(text: &str, files: &Files) -> Result<Resolved, String> {
    resolved(text, files).map_err(|error| visible(&error))
}

fn resolved(text: &str, files: &Files) -> Result<Resolved, String> {
    let fields = read(text)?;
    let scenario = Scenario::new(fields.clone())?;
    let snapshot = Snapshot::default();
    for (kind, tables) in [("flow", &scenario.flows), ("session", &scenario.sessions)] {
        for (table, number) in tables.iter().zip(1..) {
            configure(&snapshot, table).map_err(|error| format!("{kind} {number}: {error}"))?;
        }
    }
    let canonical = scenario.resolve(files)?.to_string();
    let canonical = ackclock_sim::Scenario::parse(&canonical).map_err(|error| error.to_string())?;
    let prepared = Prepared::new(canonical, &snapshot);
    let prepared =
        prepared.map_err(|error| scenario.in_words(&error.field, &error.value, &error.fix))?;
    Ok(Resolved { prepared, fields })
}

/// Looks whether the algorithm of a flow or session loads.
fn configure(snapshot: &Snapshot, table: &Table) -> Result<(), String> {
    let spec = table.text("algorithm").unwrap_or_default();
    let stack = table.has_key("stack").then(|| table.text("stack"));
    if let Some(stack) = stack.flatten() {
        return Err(format!(
            "stack = \"{stack}\": QUIC stacks and UDP run only with `ackclock explore` or `ackclock run`"
        ));
    }
    if spec.starts_with(KERNEL) {
        return Ok(()); // whoever simulates refuses it
    }
    let Err(error) = snapshot.configure(spec) else {
        return Ok(());
    };
    let shown = toml(&spec.into());
    let mut fix = error.to_string();
    if spec.contains('\n') {
        fix = fix.replace(spec, shown.trim_matches('"'));
    }
    if let Some((name, setting)) = apart(spec) {
        fix = format!("write \"{name}:{setting}\"");
    }
    Err(format!("algorithm = {shown}: {fix}"))
}

/// The name and the setting of "cubic beta=0.8".
fn apart(spec: &str) -> Option<(&str, &str)> {
    let is_name = |letter: char| letter.is_alphanumeric() || "_@.-".contains(letter);
    let end = spec
        .find(|letter| !is_name(letter))
        .filter(|end| *end > 0)?;
    let (name, rest) = spec.split_at(end);
    let setting = rest.trim_start_matches([' ', ',', ';']);
    let (key, value) = setting.split_once('=')?;
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let is_setting = !key.is_empty()
        && key.chars().all(is_word)
        && !value.is_empty()
        && !value.contains(char::is_whitespace);
    (setting.len() < rest.len() && is_setting).then_some((name, setting))
}

/// The fields in the text of a scenario file.
fn read(text: &str) -> Result<Map<String, Value>, String> {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    if text.trim().is_empty() {
        return Err("the file is empty; examples/two_cubic.toml shows what to write".into());
    }
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        format!("not a scenario file: {}", not_toml(&text, &error))
    })?;
    fields(table).map_err(|error| format!("not a scenario file: {error}"))
}

fn json(value: toml::Value) -> Result<Value, String> {
    Ok(match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => match serde_json::Number::from_f64(number) {
            Some(number) => Value::Number(number),
            None => return Err(format!("{number} is no number of a scenario")),
        },
        toml::Value::Boolean(is_true) => is_true.into(),
        toml::Value::Datetime(date) => {
            return Err(format!("{date}: write times with a unit, like \"5s\""))
        }
        toml::Value::Array(each) => {
            let each = each.into_iter().map(json);
            each.collect::<Result<Vec<_>, _>>()?.into()
        }
        toml::Value::Table(table) => fields(table)?.into(),
    })
}

fn fields(table: toml::Table) -> Result<Map<String, Value>, String> {
    let each = table.into_iter();
    each.map(|(key, value)| Ok((key, json(value)?))).collect()
}

/// Why a text is not TOML, and what to type instead.
fn not_toml(text: &str, error: &toml::de::Error) -> String {
    let at = error.span().map_or(0, |span| span.start.min(text.len()));
    let number = 1 + text[..at].matches('\n').count();
    let line = text.lines().nth(number - 1).unwrap_or_default().trim();
    let is_name = |text: &str| {
        !text.is_empty()
            && text
                .chars()
                .all(|each| each.is_alphanumeric() || "_.-".contains(each))
    };
    let before_colon = line.split_once(':').map(|(before, _)| before.trim_end());
    if text.trim_start().starts_with('{') || before_colon.is_some_and(is_name) {
        return "it is JSON or YAML; write TOML, as in examples/two_cubic.toml".into();
    }
    let written = line.split('#').next().unwrap_or_default();
    let (key, value) = written.split_once('=').unwrap_or((written, ""));
    let (key, value) = (key.trim(), value.trim());
    if is_name(key)
        && !value.is_empty()
        && !value.starts_with(['[', '{'])
        && !value.contains(['"', '\''])
    {
        return format!("line {number}: put text in quotes: {key} = \"{value}\"");
    }
    if error.message().contains("duplicate key") {
        return format!("a key is given twice (at line {number}); keep one of the two");
    }
    let reason = error.message().lines().collect::<Vec<_>>().join("; ");
    format!("{} (at line {number})", brief(&reason))
}
