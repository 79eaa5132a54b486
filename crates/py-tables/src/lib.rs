//! What a run and its algorithms are in Python, by `ackclock._core` and by `ackclock._kernel`.

use std::time::Duration;

use ackclock_sim::record::Values;
use ackclock_sim::{RunResult, ScenarioError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;

mod arrow;

pub use arrow::{Arrow, Frame};

pyo3::import_exception!(ackclock.base.errors, AckclockError);
pyo3::import_exception!(ackclock.base.errors, FieldError);

/// An error, in words for the user.
pub fn refuse(error: impl ToString) -> PyErr {
    AckclockError::new_err(error.to_string())
}

/// Field, value and fix each for itself: Python tells them in the words of the scenario's file.
pub fn refuse_field(error: ScenarioError) -> PyErr {
    FieldError::new_err((error.field, error.value, error.fix))
}

/// What `rows` makes of a result, with what the whole run comes to.
pub fn tables(py: Python<'_>, result: RunResult, wall: Duration) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("trace_hash", format!("{:016x}", result.trace_hash))?;
    dict.set_item("packets", result.packets)?;
    dict.set_item("wall_time_s", wall.as_secs_f64())?;
    dict.update(rows(py, result.into_tables())?.as_mapping())?;
    Ok(dict)
}

/// The rows of each table.
pub fn rows(
    py: Python<'_>,
    of: impl IntoIterator<Item = Vec<Values>>,
) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for (table, values) in RunResult::TABLES.iter().zip(of) {
        dict.set_item(table.name, Arrow::table(table, values))?;
    }
    Ok(dict)
}

/// A JSON value in Python.
pub fn python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?
        .call_method1("loads", (value.to_string(),))
}

/// A JSON object in Python.
pub fn dict<'py>(py: Python<'py>, object: &Value) -> PyResult<Bound<'py, PyDict>> {
    Ok(python(py, object)?.cast_into()?)
}
