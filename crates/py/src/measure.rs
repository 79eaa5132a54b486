//! A run of Python, for what `ackclock-measure` makes of it: a `Result`, whose `resolved` has the
//! scenario and whose `parts` are the rows of its tables.

use ackclock_measure::Setup;
use ackclock_py_tables::{refuse, Frame};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// A `Result`.
#[derive(FromPyObject)]
#[pyo3(transparent)]
pub struct Ran(Py<PyAny>);

impl Ran {
    /// What must be known of its scenario.
    pub fn setup(&self) -> PyResult<Setup> {
        Python::attach(|py| {
            let setup: PyResult<_> = self.0.bind(py).getattr("resolved")?.extract();
            setup.map_err(|error| refuse(format!("its scenario is none: {error}")))
        })
    }

    /// A table as the engine handed it over; `None` where it did not.
    fn own(&self, py: Python<'_>, table: &str) -> PyResult<Option<Frame>> {
        let run = self.0.bind(py).getattr("_run")?;
        if run.is_none() {
            return Ok(None);
        }
        Ok(Frame::own(&run.getattr("raw")?.get_item(table)?))
    }

    /// These columns of a table in parts, or all columns of one that does not grow with the time.
    pub fn parts(
        &self,
        table: &str,
        columns: &[&str],
    ) -> PyResult<Box<dyn Iterator<Item = PyResult<Frame>>>> {
        Python::attach(|py| {
            if let Some(own) = self.own(py, table)? {
                return Ok(Box::new([Ok(own)].into_iter()) as _);
            }
            let names: Vec<_> = [table].into_iter().chain(columns.iter().copied()).collect();
            let result = self.0.bind(py);
            let parts = result.call_method1("parts", PyTuple::new(py, names)?)?;
            let parts = parts.try_iter()?.unbind();
            let next = move || {
                Python::attach(|py| {
                    let part = parts.bind(py).clone().next()?;
                    Some(part.and_then(|part| Frame::new(&part)))
                })
            };
            Ok(Box::new(std::iter::from_fn(next)) as _)
        })
    }

    /// A table.
    pub fn whole(&self, table: &str) -> PyResult<Frame> {
        Python::attach(|py| match self.own(py, table)? {
            Some(own) => Ok(own),
            None => Frame::new(&self.0.bind(py).getattr(table)?),
        })
    }
}
