//! `ackclock._core`: the simulator for Python. Thin: scenarios in as canonical
//! JSON, tables out as dicts of numpy arrays.

mod prepared;
mod run;

use ackclock_host::{Algorithm, Configured};
use ackclock_py_tables::{fingerprint, number, values};
use ackclock_sim::scenario::Scenario;
use prepared::{Prepared, Snapshot};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

create_exception!(
    ackclock._core,
    AckclockError,
    PyValueError,
    "Bad input: one message that names field, value and fix."
);

fn refuse(error: impl ToString) -> PyErr {
    AckclockError::new_err(error.to_string())
}

/// Version of the engine and a hash of its sources; a part of every result's key.
#[pyfunction]
fn engine_version() -> &'static str {
    env!("ACKCLOCK_ENGINE")
}

/// The built-in algorithms: name, summary, source, head, fingerprint,
/// params, presets.
#[pyfunction]
fn algorithms(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    Algorithm::all()
        .iter()
        .map(|algorithm| describe(py, algorithm))
        .collect()
}

/// Loads an algorithm by its spec, `name_or_path[@preset][:param=value,…]`:
/// what `algorithms` tells of it, values and the shortest spec.
///
/// Raises AckclockError.
#[pyfunction]
fn configure<'py>(py: Python<'py>, spec: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyDict>> {
    Snapshot::default().configure(py, spec)
}

fn describe_configured<'py>(
    py: Python<'py>,
    configured: &Configured,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = describe(py, configured.algorithm())?;
    dict.set_item("values", values(py, configured)?)?;
    dict.set_item("spec", configured.spec())?;
    Ok(dict)
}

/// What `configure` tells of an algorithm that the kernel itself has.
fn the_kernels_own<'py>(py: Python<'py>, spec: &str, name: &str) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", name)?;
    dict.set_item("summary", "the running kernel's own")?;
    dict.set_item("source", "")?;
    dict.set_item("head", "")?;
    dict.set_item("fingerprint", "")?;
    dict.set_item("params", PyList::empty(py))?;
    for empty in ["presets", "preset_settings", "values"] {
        dict.set_item(empty, PyDict::new(py))?;
    }
    dict.set_item("spec", spec)?;
    Ok(dict)
}

/// Checks a scenario in canonical JSON; raises AckclockError.
#[pyfunction]
fn validate(json: &str) -> PyResult<()> {
    Scenario::from_json(json).map(drop).map_err(refuse)
}

fn describe<'py>(py: Python<'py>, algorithm: &Algorithm) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", algorithm.name())?;
    dict.set_item("summary", algorithm.summary())?;
    dict.set_item("source", algorithm.source_path())?;
    dict.set_item("head", algorithm.head())?;
    dict.set_item("fingerprint", fingerprint(algorithm))?;
    let mut params = Vec::new();
    for param in algorithm.params() {
        let each = PyDict::new(py);
        each.set_item("name", &param.name)?;
        each.set_item("default", number(py, param, param.default)?)?;
        each.set_item("min", number(py, param, param.min)?)?;
        each.set_item("max", number(py, param, param.max)?)?;
        each.set_item("doc", &param.doc)?;
        params.push(each);
    }
    dict.set_item("params", params)?;
    let (presets, settings) = (PyDict::new(py), PyDict::new(py));
    for preset in algorithm.presets() {
        presets.set_item(&preset.name, &preset.doc)?;
        settings.set_item(&preset.name, algorithm.settings(preset))?;
    }
    dict.set_item("presets", presets)?;
    dict.set_item("preset_settings", settings)?;
    Ok(dict)
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("AckclockError", module.py().get_type::<AckclockError>())?;
    // What `ackclock new` writes.
    module.add("SKELETON", include_str!("../../../examples/my_cc.c"))?;
    module.add_function(wrap_pyfunction!(engine_version, module)?)?;
    module.add_function(wrap_pyfunction!(algorithms, module)?)?;
    module.add_function(wrap_pyfunction!(configure, module)?)?;
    module.add_function(wrap_pyfunction!(validate, module)?)?;
    module.add_class::<Prepared>()?;
    module.add_class::<Snapshot>()?;
    module.add_function(wrap_pyfunction!(run::run_many, module)?)
}
