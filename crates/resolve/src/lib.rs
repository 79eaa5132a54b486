//! A scenario as people write it, in TOML, to the simulator's canonical form: for Python, the command,
//! and the page that has no Python.
//!
//! What each key takes comes from the fields of the simulator's own structs ([`keys`]).

mod files;
mod installed;
mod keys;
mod kinds;
mod links;
mod model;
mod python;
mod scenario;
mod schema;
mod timeline;
pub mod units;
mod words;

pub use files::Files;
pub use installed::rmem_bytes;
pub use keys::{data as keys, Kind, Of};
pub use python::visible;
pub use scenario::{Scenario, HEADER_BYTES};
pub use schema::schema;

use ackclock_host::Snapshot;
use ackclock_sim::Prepared;
use serde_json::{Map, Value};

use model::Table;
use python::brief;

/// A scenario that can be simulated.
pub struct Resolved {
    /// What runs; its scenario is the canonical form.
    pub prepared: Prepared,
    /// The fields of the file.
    pub fields: Map<String, Value>,
}

/// Reads the text of a scenario file and checks it, for a page without Python; the texts of files that
/// its links name come with it.
///
/// # Errors
/// One line that names table, key, value and fix.
pub fn resolve(text: &str, files: &Files) -> Result<Resolved, String> {
    let resolved = || {
        let fields = read(text)?;
        let scenario = Scenario::new(fields.clone())?;
        scenario.refuse_stacks()?;
        let prepared = scenario.prepare(files, &Snapshot::default())?;
        Ok(Resolved { prepared, fields })
    };
    resolved().map_err(|error: String| visible(&error))
}

/// Checks a table that stands alone: `of` is its struct. Gives what was given, in its one form.
///
/// # Errors
/// One line that names key, value and fix.
pub fn table(of: &str, fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
    Ok(Table::parse(of, fields)?.written())
}

/// The fields in the text of a scenario file.
///
/// # Errors
/// What is no TOML, and where.
pub fn read(text: &str) -> Result<Map<String, Value>, String> {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    if text.trim().is_empty() {
        return Err("the file is empty; examples/two_cubic.toml shows what to write".into());
    }
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        format!("not a scenario file: {}", not_toml(&text, &error))
    })?;
    Ok(fields(table))
}

/// What JSON has not becomes text, which its key refuses.
fn json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => {
            let plain = serde_json::Number::from_f64(number);
            plain.map_or_else(|| number.to_string().into(), Value::Number)
        }
        toml::Value::Boolean(is_true) => is_true.into(),
        toml::Value::Datetime(date) => date.to_string().into(),
        toml::Value::Array(each) => each.into_iter().map(json).collect(),
        toml::Value::Table(table) => fields(table).into(),
    }
}

fn fields(table: toml::Table) -> Map<String, Value> {
    let each = table.into_iter();
    each.map(|(key, value)| (key, json(value))).collect()
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
    if error.message().contains("recursion") {
        return "its brackets are nested too deep; close each".into();
    }
    if error.message().contains("duplicate key") {
        return format!("a key is given twice (at line {number}); keep one of the two");
    }
    let reason = error.message().lines().collect::<Vec<_>>().join("; ");
    format!("{} (at line {number})", brief(&reason))
}
