//! `ackclock._core`: the simulator for Python.

use pyo3::prelude::*;

#[pymodule(name = "_core")]
mod core {}
