//! `ackclock._kernel`: the real kernel for Python. It is built where clang and libelf are.

mod kernel;
mod shell;
mod testbed;

use ackclock_sim::ScenarioError;
use pyo3::prelude::*;

pyo3::import_exception!(ackclock.base.errors, AckclockError);
pyo3::import_exception!(ackclock.base.errors, FieldError);

fn refuse(error: impl ToString) -> PyErr {
    AckclockError::new_err(error.to_string())
}

/// Field, value and fix each for itself: Python tells them in the words of the scenario's file.
fn refuse_field(error: ScenarioError) -> PyErr {
    FieldError::new_err((error.field, error.value, error.fix))
}

/// The package's version and a hash of the testbed's sources; a part of the key of a kept kernel
/// run.
#[pyfunction]
fn testbed_version() -> &'static str {
    env!("ACKCLOCK_TESTBED")
}

#[pymodule]
mod _kernel {
    #[pymodule_export]
    use super::{
        kernel::{check, deploy, deployed, doctor, status, undeploy},
        shell::Shell,
        testbed::{check_on_kernel, rehearse_on_kernel, run_on_kernel, Snapshot},
        testbed_version,
    };
}
