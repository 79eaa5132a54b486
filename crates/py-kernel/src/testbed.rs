//! A scenario on this machine's own TCP stack.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use ackclock_linux::bpf::Registered;
use ackclock_linux::testbed::{self, Certificate, TestbedError};
use ackclock_py_tables::{python, refuse, refuse_field, tables, Arrow};
use ackclock_sim::batch::message;
use ackclock_sim::describe::code;
use ackclock_sim::record::AckTable;
use ackclock_sim::{Control, Scenario};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::atomic::Ordering::Relaxed;

/// How often Python hears of the progress and may interrupt.
const TICK: Duration = Duration::from_millis(100);

/// The algorithms of one command: each C file is read and compiled once.
#[pyclass(frozen, module = "ackclock._kernel")]
#[derive(Default)]
pub struct Snapshot(pub(crate) Arc<ackclock_host::Snapshot>);

#[pymethods]
impl Snapshot {
    #[new]
    fn new() -> Self {
        Self::default()
    }
}

/// Refuses a scenario (canonical JSON) that the kernel cannot run.
///
/// Raises FieldError that names the first field.
#[pyfunction]
pub fn check_on_kernel(snapshot: &Snapshot, scenario_json: &str) -> PyResult<()> {
    let scenario: Scenario = Scenario::parse(scenario_json).map_err(refuse)?;
    testbed::check(&scenario, &snapshot.0)
        .map(drop)
        .map_err(refuse_field)
}

/// Registers the algorithms of a scenario (canonical JSON) for a moment: clang and the verifier see
/// them, and nothing runs.
///
/// Raises AckclockError that says which of them refuses, where, and why.
#[pyfunction]
pub fn rehearse_on_kernel(
    py: Python<'_>,
    snapshot: &Snapshot,
    scenario_json: &str,
) -> PyResult<()> {
    let scenario: Scenario = Scenario::parse(scenario_json).map_err(refuse)?;
    let code = testbed::check(&scenario, &snapshot.0).map_err(refuse_field)?;
    py.detach(|| {
        code.values()
            .try_for_each(|each| Registered::new(each).map(drop))
    })
    .map_err(refuse)
}

/// Runs a scenario (canonical JSON) on the kernel, in real time: the tables of `run_many`,
/// `certificate`, a dict, and `algorithms`, the code that ran (as `Prepared`'s; without the
/// kernel's own); with `acks` the table `acks`, `lost_acks`, how many it lacks, and
/// `private_state`: for each column its name, the flows that have it, and its values.
///
/// Calls `progress(fraction)` about ten times a second. An exception there, or Ctrl-C, ends
/// the run.
///
/// Raises AckclockError if the scenario or the machine cannot.
#[pyfunction]
pub fn run_on_kernel<'py>(
    py: Python<'py>,
    snapshot: &Snapshot,
    scenario_json: &str,
    progress: Option<Py<PyAny>>,
    acks: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let scenario: Scenario = Scenario::parse(scenario_json).map_err(refuse)?;
    let control = Arc::new(Control::default());
    let started = Instant::now();
    let duration_ns = scenario.duration_ns as f64;
    let worker = {
        let (control, snapshot) = (Arc::clone(&control), Arc::clone(&snapshot.0));
        thread::spawn(move || testbed::run(&scenario, &snapshot, &control, acks))
    };
    let watched: PyResult<()> = (|| {
        while !worker.is_finished() {
            py.detach(|| thread::sleep(TICK));
            py.check_signals()?;
            if let Some(progress) = &progress {
                let fraction = control.simulated_ns.load(Relaxed) as f64 / duration_ns;
                progress.call1(py, (fraction,))?;
            }
        }
        Ok(())
    })();
    control.cancelled.store(watched.is_err(), Relaxed);
    let outcome = py.detach(|| worker.join());
    watched?;
    let outcome = outcome.map_err(|panic| {
        let reason = message(panic);
        refuse(format!(
            "the testbed broke down: {reason}; please report this with the scenario"
        ))
    })?;
    let run = outcome.map_err(failed)?;
    let dict = tables(py, run.result, started.elapsed())?;
    dict.set_item("certificate", describe(py, run.certificate)?)?;
    dict.set_item("algorithms", python(py, &code(&run.algorithms))?)?;
    if let Some(acks) = run.acks {
        let rows = Arrow::table(&AckTable::TABLE, acks.rows.into_columns());
        dict.set_item("acks", rows)?;
        dict.set_item("lost_acks", acks.lost_rows)?;
        let private = acks.private.into_iter().map(|each| {
            let values = Arrow::column(each.values, each.signed);
            Ok((each.name, each.flows, values))
        });
        dict.set_item("private_state", private.collect::<PyResult<Vec<_>>>()?)?;
    }
    Ok(dict)
}

pub(crate) fn failed(error: TestbedError) -> PyErr {
    match error {
        TestbedError::Scenario(error) => refuse_field(error),
        _ => refuse(error),
    }
}

pub(crate) fn describe(py: Python<'_>, certificate: Certificate) -> PyResult<Bound<'_, PyDict>> {
    let is_valid = certificate.is_valid();
    let dict = certificate.into_pyobject(py)?;
    dict.set_item("valid", is_valid)?;
    dict.set_item("bound_p99_us", testbed::BOUND_P99_US)?;
    dict.set_item("bound_max_us", testbed::BOUND_MAX_US)?;
    Ok(dict)
}
