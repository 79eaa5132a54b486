//! Many scenarios on many cores, each result handed over as it comes.

use std::fs::File;
use std::io::BufWriter;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ackclock_host::{give_back_memory, ThreadClock};
use ackclock_py_tables::{refuse, rows, tables, Arrow};
use ackclock_sim::batch::{Answer, Batch};
use ackclock_sim::capture::{Capture, Side};
use ackclock_sim::record::PacketTable;
use ackclock_sim::{run_with, Control, Options, RunError, RunResult, STALL_LIMIT};
use pyo3::prelude::*;

use crate::prepared::Prepared;
use crate::AlgorithmError;

/// How often Python hears of the progress and may interrupt.
const TICK: Duration = Duration::from_millis(100);
/// How long cancelled work may take to end.
const GRACE: Duration = Duration::from_secs(1);
/// The memory of more flows than these is worth giving back when their run ends.
const MANY_FLOWS: usize = 1_000;

/// Runs prepared scenarios on `threads` threads; 0: as many as there are cores.
///
/// Calls `progress(fraction)` about ten times a second and
/// `on_result(index, tables)` in the calling thread as each one finishes, in
/// no particular order. With `on_rows`, a run does not keep all of its rows: it calls
/// `on_rows(index, tables)` in its own thread whenever it has many, and waits. With `live`, it also
/// calls it about ten times a second with the rows so far. An exception in any of them, or Ctrl-C,
/// cancels the rest.
///
/// `pcapng`: a file that takes the packets of the first scenario, the interfaces that it shows
/// ("sender", "receiver", "both"), and how many bytes of each packet it keeps. With `packets`, the
/// tables have one of the packets that senders sent and got.
///
/// Raises AckclockError if a run ends without a result, or the file cannot be written.
#[pyfunction]
#[pyo3(signature = (scenarios, threads, progress, on_result, on_rows=None, live=false, pcapng=None, packets=false))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub fn run_many(
    py: Python<'_>,
    scenarios: Vec<PyRef<'_, Prepared>>,
    threads: usize,
    progress: Option<Py<PyAny>>,
    on_result: Py<PyAny>,
    on_rows: Option<Py<PyAny>>,
    live: bool,
    pcapng: Option<(PathBuf, String, u32)>,
    packets: bool,
) -> PyResult<()> {
    let wants_packets = packets;
    let mut packets = match pcapng {
        Some((path, at, snaplen)) => Some(Packets::to(&path, &at, snaplen)?),
        None => None,
    };
    let jobs = scenarios
        .iter()
        .enumerate()
        .map(|(index, each)| Job {
            index,
            prepared: Arc::clone(&each.prepared),
            control: Control::default(),
            packets: Mutex::new(packets.take()),
        })
        .collect::<Vec<_>>();
    let jobs = Arc::new(jobs);
    let taker = on_rows.map(|call| {
        Arc::new(Taker {
            call,
            failed: Mutex::new(None),
        })
    });
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = if threads == 0 { cores } else { threads };
    let of_jobs = taker.clone();
    let mut batch = Batch::start(Arc::clone(&jobs), threads, move |job: &Job| {
        let started = (Instant::now(), cpu_time());
        let mut on_rows = (of_jobs.as_ref()).map(|taker| |part: RunResult| taker.take(job, part));
        let on_rows = on_rows.as_mut().map(|on_rows| on_rows as _);
        let mut packets = job
            .packets
            .lock()
            .map_or(None, |mut packets| packets.take());
        let capture = packets.as_mut().map(|packets| {
            let scenario = job.prepared.scenario();
            Capture::new(&mut packets.file, scenario, packets.only, packets.snaplen)
        });
        let options = Options {
            on_rows,
            capture,
            packets: wants_packets,
            ..Options::default()
        };
        let result = run_with(&job.prepared, &job.control, options);
        let result = result.map(|run| (run.result, run.packets));
        if job.prepared.scenario().flows.len() > MANY_FLOWS {
            give_back_memory();
        }
        let wall = started.0.elapsed();
        let cpu = cpu_time().zip(started.1);
        (result, wall, cpu.map_or(wall, |(now, before)| now - before))
    })
    .map_err(|error| refuse(format!("cannot start a thread: {error}")))?;
    let told = |fraction: f64| match &progress {
        Some(progress) => progress.call1(py, (fraction,)).map(drop),
        None => Ok(()),
    };
    let mut looked = None::<Instant>;
    let outcome = (|| loop {
        match py.detach(|| batch.wait(TICK)) {
            Answer::Done(index, (result, wall, cpu)) => {
                if let Some(error) = taker.as_ref().and_then(|taker| taker.error()) {
                    return Err(error);
                }
                let (result, packets) = result.map_err(failed)?;
                let tables = tables(py, result, wall)?;
                if let Some(packets) = packets {
                    let rows = Arrow::table(&PacketTable::TABLE, packets.into_columns());
                    tables.set_item("packet_rows", rows)?;
                }
                tables.set_item("cpu_time_s", cpu.as_secs_f64())?;
                on_result.call1(py, (index, tables))?;
            }
            Answer::Lost(index, reason) => return Err(lost(&jobs, index, &reason)),
            Answer::Nothing => {}
            Answer::End => return told(1.0),
        }
        py.check_signals()?;
        if looked.is_some_and(|at| at.elapsed() < TICK) {
            continue; // a look at all jobs takes longer than a short run
        }
        looked = Some(Instant::now());
        if live {
            for job in jobs.iter() {
                job.control.wants_rows.store(true, Relaxed);
            }
        }
        let stalled = jobs.iter().find(|job| job.control.stalled() > STALL_LIMIT);
        if let Some(job) = stalled {
            return Err(failed(RunError::stalled(job.prepared.scenario())));
        }
        told(fraction_done(&jobs))?;
    })();
    if outcome.is_err() {
        batch.stop();
        for job in jobs.iter() {
            job.control.cancelled.store(true, Relaxed);
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

/// CPU time of the calling thread, where the system tells it.
fn cpu_time() -> Option<Duration> {
    ThreadClock::current().and_then(ThreadClock::elapsed)
}

struct Job {
    index: usize,
    prepared: Arc<ackclock_sim::Prepared>,
    control: Control,
    packets: Mutex<Option<Packets>>,
}

/// Where the packets of a run go.
struct Packets {
    file: BufWriter<File>,
    only: Option<Side>,
    snaplen: u32,
}

impl Packets {
    fn to(path: &PathBuf, at: &str, snaplen: u32) -> PyResult<Self> {
        let file = File::create(path)
            .map_err(|error| refuse(format!("the packets cannot be written: {error}")))?;
        let only = match at {
            "sender" => Some(Side::Sender),
            "receiver" => Some(Side::Receiver),
            _ => None,
        };
        Ok(Self {
            file: BufWriter::with_capacity(1 << 18, file),
            only,
            snaplen,
        })
    }
}

/// Who takes rows while runs go on.
struct Taker {
    call: Py<PyAny>,
    /// The first exception.
    failed: Mutex<Option<PyErr>>,
}

impl Taker {
    /// Gives rows of a job to Python. An exception there cancels the job.
    fn take(&self, job: &Job, part: RunResult) {
        if job.control.cancelled.load(Relaxed) {
            return;
        }
        let called = Python::attach(|py| {
            self.call.call1(py, (job.index, rows(py, part)?))?;
            Ok(())
        });
        if let Err(error) = called {
            job.control.cancelled.store(true, Relaxed);
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.get_or_insert(error);
        }
    }

    fn error(&self) -> Option<PyErr> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.take()
    }
}

/// The error of a run that panicked: a fault of ours.
fn lost(jobs: &[Job], index: usize, reason: &str) -> PyErr {
    let scenario = jobs[index].prepared.scenario();
    let algorithms: Vec<_> = jobs[index].prepared.algorithms().keys().cloned().collect();
    refuse(format!(
        "scenario {} of {} (seed {}, {}): the simulator broke down: {reason}; \
         please report this with the scenario",
        index + 1,
        jobs.len(),
        scenario.seed,
        algorithms.join(", "),
    ))
}

/// Why a run has no result.
fn failed(error: RunError) -> PyErr {
    match error {
        RunError::Stalled { .. } | RunError::Algorithm { .. } => {
            AlgorithmError::new_err(error.to_string())
        }
        _ => refuse(error),
    }
}

/// Share of the work done.
fn fraction_done(jobs: &[Job]) -> f64 {
    let (mut done, mut all) = (0.0, 0.0);
    for job in jobs {
        let scenario = job.prepared.scenario();
        let simulated_ns = job
            .control
            .simulated_ns
            .load(Relaxed)
            .min(scenario.duration_ns);
        let share = simulated_ns as f64 / scenario.duration_ns as f64;
        let work = scenario.work();
        done += share * work;
        all += work;
    }
    done / all
}
