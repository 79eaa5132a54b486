//! The JSON Schema of the canonical scenario: what each field means, its range and its default.
//!
//! The fields of [`Scenario`] declare all of it, once. [`check_ranges`] reads the ranges here, and
//! the Python package is made from it (`scripts/generate.py`).

use crate::scenario::{within, Scenario, ScenarioError};
use serde_json::Value;
use std::sync::OnceLock;

/// The schema of [`Scenario`]. Its properties have the order of the fields.
pub fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| schemars::schema_for!(Scenario).to_value())
}

/// Checks the range of each number, and the length of each list.
///
/// # Errors
/// The first field that is out of range.
pub(crate) fn check_ranges(scenario: &Scenario) -> Result<(), ScenarioError> {
    let value = serde_json::to_value(scenario).expect("a scenario is JSON");
    check("", &value, schema())
}

fn check(path: &str, value: &Value, of: &Value) -> Result<(), ScenarioError> {
    let of = target(of);
    for choices in ["anyOf", "oneOf"] {
        let chosen = of[choices].as_array().into_iter().flatten();
        if let Some(chosen) = chosen.map(target).find(|each| describes(each, value)) {
            check(path, value, chosen)?;
        }
    }
    match value {
        Value::Number(_) => {
            let (number, low) = (value.as_u64(), of["minimum"].as_u64());
            if let (Some(number), Some(high)) = (number, of["maximum"].as_u64()) {
                within(path, number, low.unwrap_or(0), high)?;
            }
        }
        Value::Array(items) => {
            if let Some(most) = of["maxItems"].as_u64() {
                let least = of["minItems"].as_u64().unwrap_or(0);
                within(&format!("{path}.len()"), items.len() as u64, least, most)?;
            }
            for (index, item) in items.iter().enumerate() {
                check(&format!("{path}[{index}]"), item, &of["items"])?;
            }
        }
        Value::Object(fields) => {
            let dot = if path.is_empty() { "" } else { "." };
            for (name, field) in fields {
                check(
                    &format!("{path}{dot}{name}"),
                    field,
                    &of["properties"][name],
                )?;
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => (),
    }
    Ok(())
}

/// What a reference refers to.
fn target(of: &Value) -> &Value {
    match of["$ref"].as_str().and_then(|path| path.strip_prefix('#')) {
        Some(path) => schema().pointer(path).expect("the schema has it"),
        None => of,
    }
}

/// Whether `of` is the one of several choices that a valid `value` took: a tagged struct has the
/// choice's tag, another object has the choice's fields. A choice may have choices.
fn describes(of: &Value, value: &Value) -> bool {
    if let Some(choices) = of["oneOf"].as_array() {
        return choices.iter().any(|each| describes(target(each), value));
    }
    match (value, of["properties"].as_object()) {
        (Value::Object(fields), Some(known)) => fields.iter().all(|(name, field)| {
            known
                .get(name)
                .is_some_and(|of| of.get("const").is_none_or(|tag| tag == field))
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each number of a scenario is checked: it has a range, and a default where users need none.
    #[test]
    fn every_number_has_a_range() {
        fn missing(path: &str, of: &Value, found: &mut Vec<String>) {
            let kinds = of["type"].to_string();
            if kinds.contains("integer") && of.get("maximum").is_none() {
                found.push(path.into());
            }
            if kinds.contains("array") && of.get("maxItems").is_none() {
                found.push(path.into());
            }
            match of {
                Value::Object(fields) => {
                    for (name, field) in fields.iter().filter(|(name, _)| *name != "default") {
                        missing(&format!("{path}/{name}"), field, found);
                    }
                }
                Value::Array(items) => {
                    for (index, item) in items.iter().enumerate() {
                        missing(&format!("{path}/{index}"), item, found);
                    }
                }
                _ => (),
            }
        }
        let mut found = Vec::new();
        missing("", schema(), &mut found);
        assert_eq!(found, Vec::<String>::new());
    }
}
