//! Runs many jobs on many threads, and returns each result when it comes.

use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError};
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

/// A batch of jobs. After a drop the running jobs continue, and no other job starts.
#[derive(Debug)]
pub struct Batch<R> {
    results: Receiver<(usize, Result<R, String>)>,
    next: Arc<AtomicUsize>,
    /// Which jobs have answered.
    answered: Vec<bool>,
}

/// An answer of a [`Batch`].
#[derive(Debug, PartialEq, Eq)]
pub enum Answer<R> {
    /// The result of the job with this index.
    Done(usize, R),
    /// The job with this index did not end; the text is the reason.
    Lost(usize, String),
    /// No job has answered within the time.
    Nothing,
    /// Every job has answered.
    End,
}

impl<R: Send + 'static> Batch<R> {
    /// Starts all jobs, in their order, on `threads` threads.
    ///
    /// # Errors
    /// The machine cannot start a thread.
    pub fn start<J: Send + Sync + 'static>(
        jobs: Arc<Vec<J>>,
        threads: usize,
        work: impl Fn(&J) -> R + Clone + Send + 'static,
    ) -> io::Result<Self> {
        let threads = threads.min(jobs.len());
        let (sender, results) = sync_channel(threads);
        let next = Arc::new(AtomicUsize::new(0));
        let answered = vec![false; jobs.len()];
        for started in 0..threads {
            let (jobs, next) = (Arc::clone(&jobs), Arc::clone(&next));
            let (sender, work) = (sender.clone(), work.clone());
            let thread = thread::Builder::new().spawn(move || loop {
                let index = next.fetch_add(1, Relaxed);
                let Some(job) = jobs.get(index) else {
                    return;
                };
                let result = catch_unwind(AssertUnwindSafe(|| work(job)));
                if sender.send((index, result.map_err(message))).is_err() {
                    return;
                }
            });
            match thread {
                Err(error) if started == 0 => return Err(error),
                Err(_) => break, // fewer do
                Ok(_) => (),
            }
        }
        Ok(Self {
            results,
            next,
            answered,
        })
    }

    /// Waits for the next answer, at most for the given time.
    pub fn wait(&mut self, timeout: Duration) -> Answer<R> {
        match self.results.recv_timeout(timeout) {
            Ok((index, result)) => {
                self.answered[index] = true;
                match result {
                    Ok(result) => Answer::Done(index, result),
                    Err(reason) => Answer::Lost(index, reason),
                }
            }
            Err(RecvTimeoutError::Timeout) => Answer::Nothing,
            Err(RecvTimeoutError::Disconnected) => {
                match self.answered.iter().position(|answered| !answered) {
                    None => Answer::End,
                    Some(index) => {
                        self.answered[index] = true;
                        Answer::Lost(index, "its thread ended without a result".into())
                    }
                }
            }
        }
    }
}

impl<R> Batch<R> {
    /// Stops the batch: no further job starts.
    pub fn stop(&self) {
        self.next.store(self.answered.len(), Relaxed);
    }
}

impl<R> Drop for Batch<R> {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The message of a panic.
pub fn message(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".into())
}
