//! Many scenarios on many cores, each result handed over as it comes.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::num::NonZero;
use std::os::fd::{AsRawFd as _, RawFd};
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{sync_channel, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ackclock_host::apart::Apart;
use ackclock_host::give_back_memory;
use ackclock_py_tables::{refuse, rows, Arrow};
use ackclock_sim::batch::{Answer, Batch};
use ackclock_sim::capture::{Capture, Side};
use ackclock_sim::record::PacketTable;
use ackclock_sim::{run_with, Control, Options, RunError, RunResult, STALL_LIMIT};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::prepared::Prepared;
use crate::told::{cpu_time, Failure, Finished, Told};
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
/// `on_rows(index, tables)` whenever it has many, and waits. With `live`, it also
/// calls it about ten times a second with the rows so far. An exception in any of them, or Ctrl-C,
/// cancels the rest. On Linux the code of users' files runs in a process of its own, which can do
/// nothing but compute (`confinement`).
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
    let mut file = match pcapng {
        Some((path, at, snaplen)) => Some(Packets::to(&path, &at, snaplen)?),
        None => None,
    };
    let kept = file
        .as_ref()
        .map(|packets| packets.file.get_ref().as_raw_fd());
    let jobs = scenarios
        .iter()
        .enumerate()
        .map(|(index, each)| Job {
            index,
            prepared: Arc::clone(&each.prepared),
            control: Control::default(),
            packets: Mutex::new(file.take()),
        })
        .collect::<Vec<_>>();
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let work = Work {
        jobs: Arc::new(jobs),
        threads: if threads == 0 { cores } else { threads },
        live,
        wants_rows: on_rows.is_some(),
        wants_packets: packets,
    };
    let tell = |told: Told| -> PyResult<()> {
        py.check_signals()?;
        match (told, &progress, &on_rows) {
            (Told::Progress(fraction), Some(progress), _) => {
                progress.call1(py, (fraction,)).map(drop)
            }
            (Told::Rows(index, of), _, Some(on_rows)) => {
                on_rows.call1(py, (index, rows(py, of)?)).map(drop)
            }
            (Told::Finished(index, run), ..) => {
                on_result.call1(py, (index, finished(py, run)?)).map(drop)
            }
            (Told::Failed(failure), ..) => Err(failure.into()),
            _ => Ok(()),
        }
    };
    if work.jobs.iter().any(Job::has_users_file) && Apart::IS_POSSIBLE {
        work.run_apart(py, kept.as_slice(), tell)
    } else {
        let taker = on_rows.as_ref().map(|call| Taker::new(call.clone_ref(py)));
        work.run_here(py, taker.map(Arc::new), tell)
    }
}

/// What `on_result` gets.
pub fn finished(py: Python<'_>, run: Finished) -> PyResult<Bound<'_, PyDict>> {
    let dict = rows(py, run.rows)?;
    dict.set_item("trace_hash", format!("{:016x}", run.trace_hash))?;
    dict.set_item("packets", run.packets)?;
    dict.set_item("wall_time_s", run.wall.as_secs_f64())?;
    dict.set_item("cpu_time_s", run.cpu.as_secs_f64())?;
    if let Some(packets) = run.packet_rows {
        dict.set_item("packet_rows", Arrow::table(&PacketTable::TABLE, packets))?;
    }
    Ok(dict)
}

/// What is to be run.
struct Work {
    jobs: Arc<Vec<Job>>,
    threads: usize,
    live: bool,
    wants_rows: bool,
    wants_packets: bool,
}

type Ended = Result<Finished, Failure>;
/// Gets the rows so far of a job, in its thread.
type OnRows = Arc<dyn Fn(&Job, RunResult) + Send + Sync>;

impl Work {
    /// In a process of its own, which tells what happens.
    fn run_apart(
        &self,
        py: Python<'_>,
        kept: &[RawFd],
        mut tell: impl FnMut(Told) -> PyResult<()>,
    ) -> PyResult<()> {
        let started = Apart::start(kept, |to, _| {
            let to = Arc::new(Mutex::new(BufWriter::with_capacity(1 << 16, to)));
            let write = |told: Told, to: &Mutex<BufWriter<File>>| {
                let mut to = to.lock().unwrap_or_else(PoisonError::into_inner);
                told.write(&mut *to).and_then(|()| to.flush())
            };
            let rows_to = Arc::clone(&to);
            let on_rows: OnRows = Arc::new(move |job: &Job, part: RunResult| {
                let told = Told::Rows(job.index, part.into_tables().into());
                let _ = write(told, &rows_to); // a reader that is gone ends this process
            });
            let batch = self.start(self.wants_rows.then_some(on_rows));
            let outcome = batch.and_then(|mut batch| {
                self.follow(
                    || batch.wait(TICK),
                    |told| write(told, &to).map_err(|error| Failure::ours(error.to_string())),
                )
            });
            let _ = write(outcome.map_or_else(Told::Failed, |()| Told::End), &to);
        });
        let (process, mut from) = started.map_err(|error| refuse(format!("fork: {error}")))?;
        let (sender, mut told) = sync_channel(1);
        // It ends with the process.
        std::thread::spawn(move || {
            while let Ok(told) = Told::read(&mut from) {
                if sender.send(told).is_err() {
                    return;
                }
            }
        });
        loop {
            let next = &mut told;
            match py.detach(move || next.recv_timeout(TICK)) {
                Ok(Told::End) => return Ok(()),
                Ok(told) => tell(told)?,
                Err(RecvTimeoutError::Timeout) => py.check_signals()?,
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let why = match process.end() {
            why if why.is_empty() => "the process that ran it was killed".into(),
            why => why,
        };
        Err(AlgorithmError::new_err(why))
    }

    /// In threads of this process.
    fn run_here(
        &self,
        py: Python<'_>,
        taker: Option<Arc<Taker>>,
        tell: impl FnMut(Told) -> PyResult<()>,
    ) -> PyResult<()> {
        let of_jobs = taker.clone();
        let on_rows =
            of_jobs.map(|taker| -> OnRows { Arc::new(move |job, part| taker.take(job, part)) });
        let mut batch = self.start(on_rows)?;
        let outcome = self.follow(|| py.detach(|| batch.wait(TICK)), tell);
        if outcome.is_err() {
            batch.stop();
            for job in self.jobs.iter() {
                job.control.cancelled.store(true, Relaxed);
            }
            // A worker ends at its next look.
            let end = Instant::now() + GRACE;
            py.detach(|| loop {
                match batch.wait(end.saturating_duration_since(Instant::now())) {
                    Answer::Nothing | Answer::End => break,
                    Answer::Done(..) | Answer::Lost(..) => (),
                }
            });
        }
        taker.and_then(|taker| taker.error()).map_or(outcome, Err)
    }

    fn start(&self, on_rows: Option<OnRows>) -> Result<Batch<Ended>, Failure> {
        let wants_packets = self.wants_packets;
        let work = move |job: &Job| job.run(on_rows.as_ref(), wants_packets);
        Batch::start(Arc::clone(&self.jobs), self.threads, work)
            .map_err(|error| Failure::ours(format!("cannot start a thread: {error}")))
    }

    /// Tells what comes, until all jobs have ended.
    fn follow<E: From<Failure>>(
        &self,
        mut wait: impl FnMut() -> Answer<Ended>,
        mut tell: impl FnMut(Told) -> Result<(), E>,
    ) -> Result<(), E> {
        let jobs = &self.jobs;
        let mut looked = None::<Instant>;
        loop {
            match wait() {
                Answer::Done(index, ended) => tell(Told::Finished(index, ended?))?,
                Answer::Lost(index, reason) => return Err(lost(jobs, index, &reason).into()),
                Answer::Nothing => {}
                Answer::End => return tell(Told::Progress(1.0)),
            }
            if looked.is_some_and(|at| at.elapsed() < TICK) {
                continue; // a look at all jobs takes longer than a short run
            }
            looked = Some(Instant::now());
            if self.live {
                for job in jobs.iter() {
                    job.control.wants_rows.store(true, Relaxed);
                }
            }
            let stalled = jobs.iter().find(|job| job.control.stalled() > STALL_LIMIT);
            if let Some(job) = stalled {
                return Err(failed(RunError::stalled(job.prepared.scenario())).into());
            }
            tell(Told::Progress(fraction_done(jobs)))?;
        }
    }
}

struct Job {
    index: usize,
    prepared: Arc<ackclock_sim::Prepared>,
    control: Control,
    packets: Mutex<Option<Packets>>,
}

impl Job {
    /// Whether it runs code that is not built in.
    fn has_users_file(&self) -> bool {
        let mut all = self.prepared.algorithms().values();
        all.any(|each| !each.algorithm().is_built_in())
    }

    fn run(&self, on_rows: Option<&OnRows>, wants_packets: bool) -> Ended {
        let started = (Instant::now(), cpu_time());
        let mut on_rows = on_rows.map(|on_rows| |part: RunResult| on_rows(self, part));
        let on_rows = on_rows.as_mut().map(|on_rows| on_rows as _);
        let mut packets = self
            .packets
            .lock()
            .map_or(None, |mut packets| packets.take());
        let capture = packets.as_mut().map(|packets| {
            let scenario = self.prepared.scenario();
            Capture::new(&mut packets.file, scenario, packets.only, packets.snaplen)
        });
        let options = Options {
            on_rows,
            capture,
            packets: wants_packets,
            ..Options::default()
        };
        let run = run_with(&self.prepared, &self.control, options).map_err(failed)?;
        if self.prepared.scenario().flows.len() > MANY_FLOWS {
            give_back_memory();
        }
        Ok(Finished::new(run, started))
    }
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
    fn new(call: Py<PyAny>) -> Self {
        let failed = Mutex::new(None);
        Self { call, failed }
    }

    /// Gives rows of a job to Python. An exception there cancels the job.
    fn take(&self, job: &Job, part: RunResult) {
        if job.control.cancelled.load(Relaxed) {
            return;
        }
        let called = Python::attach(|py| {
            self.call
                .call1(py, (job.index, rows(py, part.into_tables())?))?;
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
fn lost(jobs: &[Job], index: usize, reason: &str) -> Failure {
    let scenario = jobs[index].prepared.scenario();
    let algorithms: Vec<_> = jobs[index].prepared.algorithms().keys().cloned().collect();
    Failure::ours(format!(
        "scenario {} of {} (seed {}, {}): the simulator broke down: {reason}; \
         please report this with the scenario",
        index + 1,
        jobs.len(),
        scenario.seed,
        algorithms.join(", "),
    ))
}

/// Why a run has no result.
pub fn failed(error: RunError) -> Failure {
    Failure {
        is_algorithms: matches!(error, RunError::Stalled { .. } | RunError::Algorithm { .. }),
        text: error.to_string(),
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure.is_algorithms {
            true => AlgorithmError::new_err(failure.text),
            false => refuse(failure.text),
        }
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
