//! How another thread follows a run, stops it, and detects a hook that does not return.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ackclock_host::{Algorithm, ThreadClock};

use crate::error::RunError;
use crate::scenario::Scenario;

/// How another thread follows a run and stops it.
#[derive(Debug, Default)]
pub struct Control {
    /// Set it to end the run: the next check returns [`RunError::Cancelled`].
    pub cancelled: AtomicBool,
    /// Set it to be given the rows so far at the next check, if the run hands rows over.
    pub wants_rows: AtomicBool,
    /// Simulated time so far, nanoseconds.
    pub simulated_ns: AtomicU64,
    /// Called at each check by the run's own thread, for who has no other.
    pub at_check: Option<fn(&Control)>,
    /// Number of checks so far.
    checks: AtomicU64,
    worker: Mutex<Worker>,
}

/// The thread of the run, and what [`Control::stalled`] saw last.
#[derive(Debug, Default)]
struct Worker {
    clock: Option<ThreadClock>,
    seen_checks: u64,
    seen_time: Duration,
}

/// CPU time without a check after which a hook counts as endless. Between two checks there are some
/// milliseconds of work.
pub const STALL_LIMIT: Duration = Duration::from_secs(5);

impl Control {
    /// Makes the calling thread the thread of the run, until the returned value is dropped.
    pub(crate) fn enter(&self) -> impl Drop + use<'_> {
        struct Leave<'a>(&'a Control);
        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                self.0.worker().clock = None;
            }
        }
        let clock = ThreadClock::current();
        *self.worker() = Worker {
            clock,
            seen_checks: self.checks.load(Relaxed),
            seen_time: clock.and_then(ThreadClock::elapsed).unwrap_or_default(),
        };
        Leave(self)
    }

    /// Reports the progress of the run. Returns an error if the run is cancelled.
    pub(crate) fn check(&self, now_ns: u64) -> Result<(), RunError> {
        self.simulated_ns.store(now_ns, Relaxed);
        self.checks.fetch_add(1, Relaxed);
        if self.cancelled.load(Relaxed) {
            return Err(RunError::Cancelled);
        }
        if let Some(at_check) = self.at_check {
            at_check(self);
        }
        Ok(())
    }

    /// CPU time that the run's thread has used since it made progress, as far as earlier calls
    /// could see. Call it repeatedly. More than [`STALL_LIMIT`] means that a hook does not return.
    /// The caller can then only abandon the thread.
    pub fn stalled(&self) -> Duration {
        let mut worker = self.worker();
        let Some(time) = worker.clock.and_then(ThreadClock::elapsed) else {
            return Duration::ZERO;
        };
        let checks = self.checks.load(Relaxed);
        if checks != worker.seen_checks {
            (worker.seen_checks, worker.seen_time) = (checks, time);
        }
        time.saturating_sub(worker.seen_time)
    }

    fn worker(&self) -> MutexGuard<'_, Worker> {
        self.worker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunError {
    /// The error of a scenario whose run is [stalled](Control::stalled).
    pub fn stalled(scenario: &Scenario) -> Self {
        let sessions = scenario.sessions.iter().map(|session| &session.flow);
        let mut suspects: Vec<&str> = Vec::new();
        for flow in scenario.flows.iter().chain(sessions) {
            let spec = flow.algorithm.as_str();
            let name = spec.split(['@', ':']).next().unwrap_or(spec);
            if Algorithm::find(name).is_err() && !suspects.contains(&spec) {
                suspects.push(spec);
            }
        }
        Self::Stalled {
            algorithms: match suspects.as_slice() {
                [] => "the simulator".into(),
                [one] => (*one).into(),
                several => format!("one of {}", several.join(", ")),
            },
            limit_s: STALL_LIMIT.as_secs(),
        }
    }
}
