//! Many scenarios on many cores, each result handed over as it comes.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{sync_channel, RecvTimeoutError};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use ackclock_sim::{Control, RunError, RunResult, Scenario};
use numpy::{Element, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

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

/// A dict per table, name → numpy array; enumerations as strings or codes.
pub(crate) fn tables(
    py: Python<'_>,
    result: RunResult,
    wall: Duration,
) -> PyResult<Bound<'_, PyDict>> {
    fn column<'py, T: Element>(
        table: &Bound<'py, PyDict>,
        name: &str,
        values: Vec<T>,
    ) -> PyResult<()> {
        table.set_item(name, PyArray1::from_vec(table.py(), values))
    }
    macro_rules! table {
        ($table:ident: $($name:ident)*) => {{
            let dict = PyDict::new(py);
            $(column(&dict, stringify!($name), result.$table.$name)?;)*
            dict
        }};
    }
    let dict = PyDict::new(py);
    dict.set_item(
        "flows",
        table!(flows: flow start_us completed_us delivered_bytes sent_packets
            retransmitted_packets dropped_packets recoveries timeouts undos min_rtt_us
            receive_window_limited_us send_buffer_limited_us),
    )?;
    dict.set_item(
        "samples",
        table!(samples: time_us flow cwnd_packets ssthresh_packets srtt_us min_rtt_us
            in_flight_packets delivered_packets delivered_bytes lost_packets
            retransmitted_packets state),
    )?;
    dict.set_item(
        "queues",
        table!(queues: time_us queue queue_packets queue_bytes enqueued_packets dropped_packets
            sent_bytes),
    )?;
    let events = table!(events: time_us flow);
    let kinds = result
        .events
        .kind
        .iter()
        .map(|kind| kind.name())
        .collect::<Vec<_>>();
    events.set_item("kind", kinds)?;
    column(&events, "cwnd_packets", result.events.cwnd_packets)?;
    column(&events, "ssthresh_packets", result.events.ssthresh_packets)?;
    column(
        &events,
        "in_flight_packets",
        result.events.in_flight_packets,
    )?;
    dict.set_item("events", events)?;
    dict.set_item(
        "sessions",
        table!(sessions: session transfers delivered_bytes sent_packets retransmitted_packets
            dropped_packets recoveries timeouts),
    )?;
    dict.set_item(
        "transfers",
        table!(transfers: session start_us completed_us size_bytes),
    )?;
    dict.set_item("trace_hash", format!("{:016x}", result.trace_hash))?;
    dict.set_item("packets", result.packets)?;
    dict.set_item("wall_time_s", wall.as_secs_f64())?;
    Ok(dict)
}
