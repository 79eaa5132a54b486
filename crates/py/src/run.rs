//! Many scenarios on many cores, each result handed over as it comes.

use std::num::NonZero;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ackclock_py_tables::tables;
use ackclock_sim::batch::{Answer, Batch};
use ackclock_sim::{Control, RunError, STALL_LIMIT};
use pyo3::prelude::*;

use crate::prepared::Prepared;
use crate::refuse;

/// How often Python hears of the progress and may interrupt.
const TICK: Duration = Duration::from_millis(100);
/// How long cancelled work may take to end.
const GRACE: Duration = Duration::from_secs(1);

/// Runs prepared scenarios on `threads` threads; 0: as many as there are cores.
///
/// Calls `progress(fraction)` about ten times a second and
/// `on_result(index, tables)` in the calling thread as each one finishes, in
/// no particular order. An exception there, or Ctrl-C, cancels the rest.
///
/// Raises AckclockError if a run ends without a result.
#[pyfunction]
pub fn run_many(
    py: Python<'_>,
    scenarios: Vec<PyRef<'_, Prepared>>,
    threads: usize,
    progress: Option<Py<PyAny>>,
    on_result: Py<PyAny>,
) -> PyResult<()> {
    let jobs = scenarios
        .iter()
        .map(|each| (Arc::clone(&each.prepared), Control::default()))
        .collect::<Vec<_>>();
    let jobs = Arc::new(jobs);
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = if threads == 0 { cores } else { threads };
    let mut batch = Batch::start(Arc::clone(&jobs), threads, |(prepared, control)| {
        let started = Instant::now();
        let result = ackclock_sim::run_prepared(prepared, control);
        (result, started.elapsed())
    })
    .map_err(|error| refuse(format!("cannot start a thread: {error}")))?;
    let outcome = (|| loop {
        match py.detach(|| batch.wait(TICK)) {
            Answer::Done(index, (result, wall)) => {
                let tables = tables(py, result.map_err(refuse)?, wall)?;
                on_result.call1(py, (index, tables))?;
            }
            Answer::Lost(index, reason) => return Err(lost(&jobs, index, &reason)),
            Answer::Nothing => {}
            Answer::End => return Ok(()),
        }
        py.check_signals()?;
        let stalled = jobs
            .iter()
            .find(|(_, control)| control.stalled() > STALL_LIMIT);
        if let Some((prepared, _)) = stalled {
            return Err(refuse(RunError::stalled(prepared.scenario())));
        }
        if let Some(progress) = &progress {
            progress.call1(py, (fraction_done(&jobs),))?;
        }
    })();
    if outcome.is_err() {
        batch.stop();
        for (_, control) in jobs.iter() {
            control.cancelled.store(true, Relaxed);
        }
        // A worker ends at its next look, unless it is caught in a user's endless loop: then
        // it is left behind, and ends with the process.
        let end = Instant::now() + GRACE;
        py.detach(|| loop {
            match batch.wait(end.saturating_duration_since(Instant::now())) {
                Answer::Nothing | Answer::End => break,
                Answer::Done(..) | Answer::Lost(..) => (),
            }
        });
    }
    outcome
}

type Job = (Arc<ackclock_sim::Prepared>, Control);

/// The error of a run that panicked: a fault of ours.
fn lost(jobs: &[Job], index: usize, reason: &str) -> PyErr {
    let scenario = jobs[index].0.scenario();
    let algorithms: Vec<_> = jobs[index].0.algorithms().keys().cloned().collect();
    refuse(format!(
        "scenario {} of {} (seed {}, {}): the simulator broke down: {reason}; \
         please report this with the scenario",
        index + 1,
        jobs.len(),
        scenario.seed,
        algorithms.join(", "),
    ))
}

/// Most packets that a run counts for: losses may hold its flows far below the rate of the link.
const MOST_PACKETS: f64 = 1e7;

/// Share of the work done. The work of a run is the packets that its link can carry.
fn fraction_done(jobs: &[Job]) -> f64 {
    let (mut done, mut all) = (0.0, 0.0);
    for (prepared, control) in jobs {
        let scenario = prepared.scenario();
        let simulated_ns = control.simulated_ns.load(Relaxed).min(scenario.duration_ns);
        let share = simulated_ns as f64 / scenario.duration_ns as f64;
        let bits = scenario.bottleneck.rate_bps as f64 * scenario.duration_ns as f64 / 1e9;
        let packets = bits / (8.0 * f64::from(scenario.packet_bytes()));
        let work = packets.min(MOST_PACKETS);
        done += share * work;
        all += work;
    }
    done / all
}
