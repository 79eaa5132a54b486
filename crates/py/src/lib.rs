//! `ackclock._core`: the simulator for Python. Thin: scenarios in as canonical
//! JSON, tables out as Arrow.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use ackclock_py_tables::{refuse, refuse_field};
use measure::Ran;
use scenario::{Fields, Object};

/// Makes functions those of Python.
macro_rules! doors {
    ($($(#[$attribute:meta])*
    fn $name:ident($($given:ident: $type:ty),* $(,)?) -> $made:ty $body:block)*) => {$(
        #[pyo3::pyfunction]
        $(#[$attribute])*
        #[allow(clippy::needless_pass_by_value, reason = "Python's")]
        pub fn $name($($given: $type),*) -> $made $body
    )*};
}

mod doors;
mod follow;
mod measure;
mod prepared;
mod run;
mod scenario;
mod stepped;
mod told;

pyo3::import_exception!(ackclock.base.errors, AlgorithmError);

type Refusal = PyErr;

/// The refusal of a text that is no value.
fn no_value(text: String) -> PyErr {
    PyValueError::new_err(text)
}

/// Loads an algorithm by its spec, `name_or_path[@preset][:param=value,…]`:
/// what `algorithms` tells of it, values and the shortest spec.
///
/// Raises AckclockError.
#[pyfunction]
fn configure<'py>(py: Python<'py>, spec: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyDict>> {
    prepared::Snapshot::default().configure(py, spec, false)
}

/// Confines this process, its threads and whatever it starts, for good: it writes only below these
/// directories, and to /dev/null, has no network and signals no process but its own (Landlock; signals
/// from Linux 6.12 on), and makes no namespace, socket or mount, nor looks into other processes
/// (seccomp), as far as this Linux can. The thread that calls must be the only one.
#[pyfunction]
fn confine(directories: Vec<PathBuf>) {
    ackclock_host::confine::to_directories(&directories);
}

/// What holds of the process in which a user's C file runs: "confined: …", or "not confined: …" and why.
#[pyfunction]
fn confinement() -> String {
    ackclock_host::apart::confinement()
}

/// Lets so many drawn connections call the hooks of a C file as a kernel may, for 3 s at most. What is wrong
/// with it, in one line; None: nothing. With `undefined` what C leaves so is found, too: another compile.
///
/// Raises AckclockError.
#[pyfunction]
fn fuzz(py: Python<'_>, spec: &str, connections: u64, undefined: bool) -> PyResult<Option<String>> {
    let found = py.detach(|| ackclock_host::fuzz(spec, connections, undefined));
    found.map_err(|error| refuse(error.to_string()))
}

#[pymodule]
mod _core {
    /// IP and TCP headers of a packet, with timestamps. The wire size is the payload plus the headers.
    #[pymodule_export]
    const HEADER_BYTES: u64 = ackclock_resolve::HEADER_BYTES;

    #[pymodule_export]
    use super::{
        configure, confine, confinement,
        doors::{
            algorithms, any_quantity, capacity_bits, capacity_bps, check_on_vlinux, common_ns,
            connections, connects_ns, convergence_s, delivered_bits, engine_version, examples,
            frame_delays_s, goodputs_bps, headline, installed_window, is_equal, is_unsafe,
            jain_index, keys, lifetimes_bps, loss_changes, mark, means, numbers, packet_script,
            quantity_units, read_quantity, read_room, read_toml, rtts_ns, scenario_schema, summary,
            switches, table, tables, utilisation, write_quantity,
        },
        follow::follow,
        fuzz,
        prepared::{Prepared, Snapshot},
        run::run_many,
        scenario::Written,
        stepped::Stepped,
    };
}
