//! What `ackclock deploy`, `status`, `undeploy` and `doctor` call.

use ackclock_linux::bpf;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::refuse;

/// Registers an algorithm in the kernel until `undeploy`: its name there, its spec, the default
/// that it replaced (or None) and whether the BPF file system was mounted.
///
/// Raises AckclockError.
#[pyfunction]
fn deploy<'py>(
    py: Python<'py>,
    spec: &str,
    name: Option<&str>,
    default: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let done = py
        .detach(|| bpf::deploy(spec, name, default))
        .map_err(refuse)?;
    let dict = PyDict::new(py);
    dict.set_item("name", done.name)?;
    dict.set_item("spec", done.spec)?;
    dict.set_item("replaced", done.replaced)?;
    dict.set_item("mounted", done.mounted)?;
    Ok(dict)
}

/// Unregisters what `deploy` registered: restored, [(namespace, default)], where it was the
/// default; live, [(namespace, sockets)] that still use it.
///
/// Raises AckclockError.
#[pyfunction]
fn undeploy<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
    let done = py.detach(|| bpf::undeploy(name)).map_err(refuse)?;
    let dict = PyDict::new(py);
    dict.set_item("restored", done.restored)?;
    dict.set_item("live", done.live)?;
    Ok(dict)
}

/// The algorithms in BPF that the kernel has: name, spec (None: not ours), parameters, pinned,
/// held_by, sockets, [(namespace, sockets)], and default_in, [namespace].
///
/// Raises AckclockError.
#[pyfunction]
fn status(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let registered = py.detach(bpf::status).map_err(refuse)?;
    let each = registered.into_iter().map(|one| {
        let dict = PyDict::new(py);
        dict.set_item("name", one.name)?;
        dict.set_item("spec", one.spec)?;
        dict.set_item("parameters", one.parameters)?;
        dict.set_item("pinned", one.pinned)?;
        dict.set_item("held_by", one.held_by)?;
        dict.set_item("sockets", one.sockets)?;
        dict.set_item("default_in", one.default_in)?;
        Ok(dict)
    });
    each.collect()
}

/// What this machine can do: what, ok, needed, found, fix of each thing that was looked at.
#[pyfunction]
fn doctor(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let findings = py.detach(ackclock_linux::doctor);
    let each = findings.into_iter().map(|finding| {
        let dict = PyDict::new(py);
        dict.set_item("what", finding.what)?;
        dict.set_item("ok", finding.ok)?;
        dict.set_item("needed", finding.needed)?;
        dict.set_item("found", finding.found)?;
        dict.set_item("fix", finding.fix)?;
        Ok(dict)
    });
    each.collect()
}

/// Adds the functions of this file to `ackclock._kernel`.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(deploy, module)?)?;
    module.add_function(wrap_pyfunction!(undeploy, module)?)?;
    module.add_function(wrap_pyfunction!(status, module)?)?;
    module.add_function(wrap_pyfunction!(doctor, module)?)
}
