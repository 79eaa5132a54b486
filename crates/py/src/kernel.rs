//! The real kernel for Python: what `ackclock deploy`, `status`, `undeploy` and `doctor` call.

use pyo3::prelude::*;

/// Adds the functions of this file to `ackclock._core`.
pub fn add_to(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
