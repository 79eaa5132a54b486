//! The JSON Schema of the canonical scenario: what each field means, its range and its default.
//!
//! The fields of [`Scenario`] declare all of it, once. [`check_ranges`] reads the ranges here, and
//! the Python package is made from it (`scripts/generate.py`).

use crate::scenario::{within, Scenario, ScenarioError};
use serde::Serialize;
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
    // Flows one by one: the JSON of 100 000 flows would take more memory than their simulation.
    let rest = Scenario {
        bottleneck: scenario.bottleneck.clone(),
        links: scenario.links.clone(),
        flows: Vec::new(),
        sessions: Vec::new(),
        changes: scenario.changes.clone(),
        programs: scenario.programs.clone(),
        ..*scenario
    };
    check("", &json(&rest), schema())?;
    check_list("flows", &scenario.flows)?;
    check_list("sessions", &scenario.sessions)
}

/// Checks a list of the scenario, and each item that differs from the item before.
fn check_list<T: Serialize + PartialEq>(name: &str, items: &[T]) -> Result<(), ScenarioError> {
    let of = &schema()["properties"][name];
    check_length(name, items.len(), of)?;
    for (index, item) in distinct(items) {
        check(&format!("{name}[{index}]"), &json(item), &of["items"])?;
    }
    Ok(())
}

/// The items that differ from the item before, and their indices. Scenarios with thousands of flows
/// repeat one of them.
pub(crate) fn distinct<T: PartialEq>(items: &[T]) -> impl Iterator<Item = (usize, &T)> {
    let repeats = |index: usize| index > 0 && items[index] == items[index - 1];
    (0..).zip(items).filter(move |&(index, _)| !repeats(index))
}

fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("a scenario is JSON")
}

fn check_length(path: &str, length: usize, of: &Value) -> Result<(), ScenarioError> {
    match of["maxItems"].as_u64() {
        Some(most) => {
            let least = of["minItems"].as_u64().unwrap_or(0);
            within(&format!("{path}.len()"), length as u64, least, most)
        }
        None => Ok(()),
    }
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
            check_length(path, items.len(), of)?;
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
