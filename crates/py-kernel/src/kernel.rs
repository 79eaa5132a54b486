//! What `ackclock deploy`, `status`, `undeploy` and `doctor` call.

use ackclock_linux::bpf::{self, Caller, Checked, Deployed, KernelError, Undeployed};
use ackclock_linux::Finding;
use ackclock_py_tables::refuse;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Mutex;

/// The Python code that asks for a change of the machine: its `tell`, and what that raised or
/// a signal did.
struct Asking(Option<Py<PyAny>>, Mutex<Option<PyErr>>);

impl Asking {
    fn new(tell: Option<Py<PyAny>>) -> Self {
        Self(tell, Mutex::new(None))
    }

    fn keep(&self, outcome: PyResult<()>) {
        if let Err(error) = outcome {
            *self.1.lock().expect("nobody panics") = Some(error);
        }
    }

    fn raise(self, error: KernelError) -> PyErr {
        let raised = self.1.into_inner().expect("nobody panics");
        match (error, raised) {
            (KernelError::Interrupted, Some(raised)) => raised,
            (error, _) => refuse(error),
        }
    }
}

impl Caller for Asking {
    fn tell(&self, text: &str) {
        let Some(tell) = &self.0 else { return };
        self.keep(Python::attach(|py| tell.call1(py, (text,)).map(drop)));
    }

    fn is_interrupted(&self) -> bool {
        self.keep(Python::attach(|py| py.check_signals()));
        self.1.lock().expect("nobody panics").is_some()
    }
}

/// Registers an algorithm in the kernel until `undeploy`: its name there, its spec, the default
/// that it replaced (or None), whether the BPF file system was mounted, and whether the same
/// was deployed already. `tell(text)` is called with what it waits for, and with warnings.
///
/// Raises AckclockError.
#[pyfunction]
#[pyo3(signature = (spec, name=None, default=false, tell=None))]
pub fn deploy(
    py: Python<'_>,
    spec: &str,
    name: Option<&str>,
    default: bool,
    tell: Option<Py<PyAny>>,
) -> PyResult<Deployed> {
    let asking = Asking::new(tell);
    py.detach(|| bpf::deploy(spec, name, default, &asking))
        .map_err(|error| asking.raise(error))
}

/// Names of what is deployed, sorted. `tell` as for `deploy`.
///
/// Raises AckclockError.
#[pyfunction]
#[pyo3(signature = (tell=None))]
pub fn deployed(py: Python<'_>, tell: Option<Py<PyAny>>) -> PyResult<Vec<String>> {
    let asking = Asking::new(tell);
    py.detach(|| bpf::deployed(&asking))
        .map_err(|error| asking.raise(error))
}

/// Unregisters what `deploy` registered: restored, [(namespace, default)], where it was the
/// default; live, [(namespace, sockets)] that still use it. `tell` as for `deploy`.
///
/// Raises AckclockError.
#[pyfunction]
#[pyo3(signature = (name, tell=None))]
pub fn undeploy(py: Python<'_>, name: &str, tell: Option<Py<PyAny>>) -> PyResult<Undeployed> {
    let asking = Asking::new(tell);
    py.detach(|| bpf::undeploy(name, &asking))
        .map_err(|error| asking.raise(error))
}

/// The algorithms in BPF that the kernel has, a dict each, as docs/kernel.md lists them.
///
/// Raises AckclockError.
#[pyfunction]
pub fn status(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let registered = py.detach(bpf::status).map_err(refuse)?;
    let each = registered.into_iter().map(|one| {
        let dict = PyDict::new(py);
        let parameters = PyDict::new(py);
        for (name, value) in one.parameters {
            parameters.set_item(name, value.parse::<f64>()?)?;
        }
        macro_rules! rows {
            ($rows:expr, $first:literal, $second:literal) => {{
                let rows = $rows.into_iter().map(|(first, second)| {
                    let row = PyDict::new(py);
                    row.set_item($first, first)?;
                    row.set_item($second, second)?;
                    Ok(row)
                });
                rows.collect::<PyResult<Vec<_>>>()?
            }};
        }
        dict.set_item("name", one.name)?;
        dict.set_item("spec", one.spec)?;
        dict.set_item("fingerprint", one.fingerprint)?;
        dict.set_item("parameters", parameters)?;
        dict.set_item("deployed", one.pinned)?;
        dict.set_item("held_by", rows!(one.held_by, "pid", "command"))?;
        dict.set_item("sockets", rows!(one.sockets, "namespace", "count"))?;
        let default_in = rows!(one.default_in, "namespace", "previous");
        dict.set_item("default_in", default_in)?;
        Ok(dict)
    });
    each.collect()
}

/// What a kernel would refuse in the BPF code of an algorithm: problems, a line each; programs,
/// instructions, `stack_bytes`; and `not_verified`, why the verifier was not asked, or "".
///
/// Raises AckclockError.
#[pyfunction]
pub fn check(py: Python<'_>, spec: &str) -> PyResult<Checked> {
    let checked = py.detach(|| bpf::check(&ackclock_host::Algorithm::configure(spec)?));
    checked.map_err(refuse)
}

/// What this machine can do: what, ok, needed, found, fix of each thing that was looked at.
#[pyfunction]
pub fn doctor(py: Python<'_>) -> Vec<Finding> {
    py.detach(ackclock_linux::doctor)
}
