//! A fast, deterministic packet simulator with a TCP endpoint that behaves as Linux does.
#![forbid(unsafe_code)]

mod census;
pub mod engine;
mod flow;
pub mod link;
pub mod record;
pub mod rng;
pub mod scenario;
pub mod schedule;
mod session;
pub mod tcp;

pub use census::Census;
pub use engine::run;
pub use record::RunResult;
pub use scenario::{Scenario, ScenarioError};

use std::sync::atomic::{AtomicBool, AtomicU64};

/// How another thread follows a run and stops it.
#[derive(Debug, Default)]
pub struct Control {
    /// Set it to end the run: the next check returns [`RunError::Cancelled`].
    pub cancelled: AtomicBool,
    /// Simulated time so far, nanoseconds.
    pub simulated_ns: AtomicU64,
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The scenario cannot be simulated.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// An algorithm set a window that no sender can work with.
    #[error(
        "{kind} {flow}: {algorithm}: {field} = {value} after {time_us} us; \
         an algorithm keeps it from 1 to {most} packets"
    )]
    Algorithm {
        /// `flow` or `session`.
        kind: &'static str,
        /// Number of the flow or session, from 1.
        flow: u32,
        /// Its algorithm, as in the scenario.
        algorithm: String,
        /// `snd_cwnd` or `snd_ssthresh`.
        field: &'static str,
        /// The value that the algorithm set, packets.
        value: u32,
        /// Simulated time of the fault.
        time_us: u64,
        /// The largest valid value, packets.
        most: u32,
    },
    /// [`Control::cancelled`] was set.
    #[error("the run was cancelled")]
    Cancelled,
}
