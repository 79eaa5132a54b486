//! What a run and its algorithms are in Python, by `ackclock._core` and by `ackclock._kernel`.

use std::time::Duration;

use ackclock_host::{Algorithm, Configured, Param};
use ackclock_sim::scenario::Algorithms;
use ackclock_sim::RunResult;
use pyo3::prelude::*;
use pyo3::types::PyDict;

mod arrow;
pub use arrow::{Arrow, Frame};

/// What `rows` makes of a result, with what the whole run comes to.
pub fn tables(py: Python<'_>, result: RunResult, wall: Duration) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("trace_hash", format!("{:016x}", result.trace_hash))?;
    dict.set_item("packets", result.packets)?;
    dict.set_item("wall_time_s", wall.as_secs_f64())?;
    dict.update(rows(py, result)?.as_mapping())?;
    Ok(dict)
}

/// The rows of each table.
pub fn rows(py: Python<'_>, result: RunResult) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for (table, values) in RunResult::TABLES.iter().zip(result.into_tables()) {
        dict.set_item(table.name, Arrow::table(table, values))?;
    }
    Ok(dict)
}

/// The value of each parameter, as a user writes it.
pub fn values<'py>(py: Python<'py>, configured: &Configured) -> PyResult<Bound<'py, PyDict>> {
    let values = PyDict::new(py);
    let params = configured.algorithm().params().iter();
    for (param, (name, stored)) in params.zip(configured.values()) {
        values.set_item(name, number(py, param, stored)?)?;
    }
    Ok(values)
}

/// What ran, by its spec in the scenario: name, source, spec, values, fingerprint.
pub fn code<'py>(py: Python<'py>, algorithms: &Algorithms) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (spec, configured) in algorithms {
        let algorithm = configured.algorithm();
        let each = PyDict::new(py);
        each.set_item("name", algorithm.name())?;
        each.set_item("source", algorithm.source_path())?;
        each.set_item("spec", configured.spec())?;
        each.set_item("values", values(py, configured)?)?;
        each.set_item("fingerprint", fingerprint(algorithm))?;
        dict.set_item(spec, each)?;
    }
    Ok(dict)
}

/// An algorithm's fingerprint, as text.
pub fn fingerprint(algorithm: &Algorithm) -> String {
    format!("{:016x}", algorithm.fingerprint())
}

/// A stored value as a user writes it: 717 of 1024 is 0.7.
pub fn number<'py>(py: Python<'py>, param: &Param, stored: u32) -> PyResult<Bound<'py, PyAny>> {
    if param.scale == 1 {
        let whole = param.whole(stored);
        return Ok(whole.into_pyobject(py)?.into_any());
    }
    let shortest = param.display(stored).parse::<f64>()?;
    Ok(shortest.into_pyobject(py)?.into_any())
}
