//! A run that waits for its caller at each step, in which a flow's parameters are set.

use std::fs::File;
use std::io::{BufReader, BufWriter, Error, Read as _, Result, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ackclock_host::apart::Apart;
use ackclock_host::Configured;
use ackclock_py_tables::refuse;
use ackclock_sim::{run_with, Acting, Control, Options, Prepared as Ready, Seen, SEEN};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::prepared::Prepared;
use crate::run::{failed, finished};
use crate::told::{cpu_time, Finished, Told};
use crate::AlgorithmError;

/// A step that takes longer never ends.
const LONGEST_STEP: Duration = Duration::from_secs(60);

/// A run whose caller sets the parameters of a flow's algorithm, step by step: `ackclock.gym`'s. A user's C
/// file runs in a process of its own, as in `run_many`; other code in a thread.
#[pyclass(module = "ackclock._core")]
pub struct Stepped {
    ready: Arc<Ready>,
    flow: usize,
    names: Vec<String>,
    from: BufReader<UnixStream>,
    apart: Option<Apart>,
}

#[pymethods]
impl Stepped {
    /// Begins a run. `flow`: from 1; `names`: those of the parameters that are set. A step ends at an ACK:
    /// at each, or at the first that comes a smoothed RTT after the last step.
    ///
    /// Raises AckclockError.
    #[new]
    fn new(
        prepared: PyRef<'_, Prepared>,
        flow: usize,
        names: Vec<String>,
        each_ack: bool,
    ) -> PyResult<Self> {
        let ready = Arc::clone(&prepared.prepared);
        let flow = flow - 1;
        let (mine, theirs) = UnixStream::pair().map_err(refuse)?;
        mine.set_read_timeout(Some(LONGEST_STEP)).map_err(refuse)?;
        let theirs = File::from(OwnedFd::from(theirs));
        let is_built_in = |of: &Configured| of.algorithm().is_built_in();
        let apart = if ready.algorithms().values().all(is_built_in) || !Apart::IS_POSSIBLE {
            let ready = Arc::clone(&ready);
            std::thread::spawn(move || work(&ready, flow, each_ack, &theirs));
            None
        } else {
            let work = |_, _| work(&ready, flow, each_ack, &theirs);
            let started = Apart::start(&[theirs.as_raw_fd()], work);
            Some(started.map_err(refuse)?.0)
        };
        let stepped = Self {
            ready,
            flow,
            names,
            from: BufReader::new(mine),
            apart,
        };
        Ok(stepped)
    }

    /// Sets the parameters, at the end of a step: the next begins.
    ///
    /// Raises AckclockError.
    fn set(&mut self, values: Vec<f64>) -> PyResult<()> {
        let values = configured(&self.ready, self.flow).set(&self.names, &values);
        let values = values.map_err(|error| refuse(error.to_string()))?;
        let bytes: Vec<_> = values.iter().flat_map(|each| each.to_ne_bytes()).collect();
        let written = self.from.get_mut().write_all(&bytes);
        written.map_err(|error| self.broken(Some(error)))
    }

    /// Waits for the end of a step; the first begins with the connection. Returns what the sender knows then
    /// or, at the end of the run, what `run_many` gives to `on_result`.
    ///
    /// Raises AckclockError.
    fn wait<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let from = &mut self.from;
        match py.detach(|| Told::read(from)) {
            Ok(Told::Step(seen)) => {
                let dict = PyDict::new(py);
                let mut each = SEEN.iter().zip(seen);
                each.try_for_each(|(name, value)| dict.set_item(name, value))?;
                Ok(dict)
            }
            Ok(Told::Finished(_, run)) => finished(py, run),
            Ok(Told::Failed(failure)) => Err(failure.into()),
            other => Err(self.broken(other.err())),
        }
    }
}

/// What a flow, from 0, runs.
fn configured(ready: &Ready, flow: usize) -> &Configured {
    &ready.algorithms()[&ready.scenario().flows[flow].algorithm]
}

impl Stepped {
    /// Why a run is gone.
    fn broken(&mut self, error: Option<Error>) -> PyErr {
        let words = self.apart.take().map(Apart::end).unwrap_or_default();
        match error {
            _ if !words.is_empty() => AlgorithmError::new_err(words),
            Some(error) => refuse(format!("the step gave no answer: {error}")),
            None => refuse("the step gave no answer"),
        }
    }
}

/// Simulates, and tells each step and the result.
fn work(ready: &Ready, flow: usize, each_ack: bool, both: &File) {
    let parameters = configured(ready, flow).values().len();
    let started = (Instant::now(), cpu_time());
    let tell = |told: Told| -> Result<()> {
        let mut to = BufWriter::new(both);
        told.write(&mut to).and_then(|()| to.flush())
    };
    let mut act = |seen: Seen| {
        tell(Told::Step(seen)).ok()?;
        let mut bytes = vec![0; 4 * parameters];
        let mut from = both;
        from.read_exact(&mut bytes).ok()?;
        let each = bytes.chunks_exact(4);
        Some(
            each.map(|each| u32::from_ne_bytes(each.try_into().expect("4 bytes")))
                .collect(),
        )
    };
    let options = Options {
        acting: Some(Acting::new(flow, each_ack, &mut act)),
        ..Options::default()
    };
    let run = run_with(ready, &Control::default(), options);
    let told = match run {
        Ok(run) => Told::Finished(0, Finished::new(run, started)),
        Err(error) => Told::Failed(failed(error)),
    };
    let _ = tell(told); // a caller that is gone wants no result
}
