//! Many scenarios on many cores, each result handed over as it comes.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{sync_channel, RecvTimeoutError};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use ackclock_py_tables::tables;
use ackclock_sim::{Control, RunError, Scenario, STALL_LIMIT};
use pyo3::prelude::*;

use crate::refuse;

/// How often Python hears of the progress and may interrupt.
const TICK: Duration = Duration::from_millis(100);
/// How long cancelled work may take to end.
const GRACE: Duration = Duration::from_secs(1);

/// Runs scenarios (canonical JSON) on `threads` threads; 0: as many as there are cores.
///
/// Calls `progress(fraction)` about ten times a second and
/// `on_result(index, tables)` in the calling thread as each one finishes, in
/// no particular order. An exception there, or Ctrl-C, cancels the rest.
///
/// Raises AckclockError, before anything runs, if a scenario cannot be simulated.
#[pyfunction]
pub fn run_many(
    py: Python<'_>,
    scenarios_json: Vec<String>,
    threads: usize,
    progress: Option<Py<PyAny>>,
    on_result: Py<PyAny>,
) -> PyResult<()> {
    let jobs = scenarios_json
        .iter()
        .map(|json| Ok((Scenario::from_json(json)?, Control::default())))
        .collect::<Result<Vec<_>, RunError>>()
        .map_err(refuse)?;
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = if threads == 0 { cores } else { threads }.min(jobs.len());
    let (sender, mut results) = sync_channel(threads);
    let work = Arc::new((jobs, AtomicUsize::new(0)));
    for _ in 0..threads {
        let (work, sender) = (Arc::clone(&work), sender.clone());
        thread::spawn(move || {
            let (jobs, next) = &*work;
            loop {
                let index = next.fetch_add(1, Relaxed);
                let Some((scenario, control)) = jobs.get(index) else {
                    return;
                };
                let started = Instant::now();
                let result = ackclock_sim::run(scenario, control);
                if sender.send((index, result, started.elapsed())).is_err() {
                    return;
                }
            }
        });
    }
    drop(sender);
    let (jobs, next) = &*work;
    let outcome = (|| loop {
        let channel = &mut results;
        match py.detach(move || channel.recv_timeout(TICK)) {
            Ok((index, result, wall)) => {
                let tables = tables(py, result.map_err(refuse)?, wall)?;
                on_result.call1(py, (index, tables))?;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        py.check_signals()?;
        let stalled = jobs
            .iter()
            .find(|(_, control)| control.stalled() > STALL_LIMIT);
        if let Some((scenario, _)) = stalled {
            return Err(refuse(RunError::stalled(scenario)));
        }
        if let Some(progress) = &progress {
            progress.call1(py, (fraction_done(jobs),))?;
        }
    })();
    if outcome.is_err() {
        next.store(jobs.len(), Relaxed);
        for (_, control) in jobs {
            control.cancelled.store(true, Relaxed);
        }
        // A worker ends at its next look, unless it is caught in a user's endless loop: then
        // it is left behind, and ends with the process.
        let end = Instant::now() + GRACE;
        py.detach(move || {
            while results
                .recv_timeout(end.saturating_duration_since(Instant::now()))
                .is_ok()
            {}
        });
    }
    outcome
}

/// Share of the work done, a scenario's work being its time × its rate.
fn fraction_done(jobs: &[(Scenario, Control)]) -> f64 {
    let (mut done, mut all) = (0.0, 0.0);
    for (scenario, control) in jobs {
        let rate = scenario.bottleneck.rate_bps as f64;
        let simulated_ns = control.simulated_ns.load(Relaxed).min(scenario.duration_ns);
        done += simulated_ns as f64 * rate;
        all += scenario.duration_ns as f64 * rate;
    }
    done / all
}
