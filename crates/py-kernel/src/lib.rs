//! `ackclock._kernel`: the real kernel for Python. It is built where clang and libelf are.

mod kernel;
mod shell;
mod testbed;

use pyo3::prelude::*;

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
