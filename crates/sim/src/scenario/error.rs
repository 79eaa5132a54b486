//! What is wrong with a field, and what to write instead.

/// A field that cannot be simulated: its name, its value, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} = {value}: {fix}")]
pub struct ScenarioError {
    /// Path of the field, `flows[0].rtt_ns`.
    pub field: String,
    /// The value.
    pub value: String,
    /// What to write instead.
    pub fix: String,
}

pub(super) fn check(
    ok: bool,
    field: &str,
    value: impl ToString,
    fix: &str,
) -> Result<(), ScenarioError> {
    let refused = || ScenarioError {
        field: field.into(),
        value: value.to_string(),
        fix: fix.into(),
    };
    ok.then_some(()).ok_or_else(refused)
}

pub(crate) fn within(field: &str, value: u64, low: u64, high: u64) -> Result<(), ScenarioError> {
    check(
        (low..=high).contains(&value),
        field,
        value,
        &format!("choose a value from {low} to {high}"),
    )
}
