//! A fast, exact, repeatable packet simulator with a Linux-faithful TCP endpoint.
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
    /// Set it, and the run ends at the next check with [`RunError::Cancelled`].
    pub cancelled: AtomicBool,
    /// Simulated nanoseconds done so far.
    pub simulated_ns: AtomicU64,
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The scenario cannot be simulated.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// An algorithm left a window with which no sender can go on.
    #[error(
        "{kind} {flow}: {algorithm}: {field} = {value} after {time_us} us; \
         an algorithm keeps it from 1 to {most} packets"
    )]
    Algorithm {
        /// `flow` or `session`.
        kind: &'static str,
        /// Its number, from 1.
        flow: u32,
        /// Its algorithm, as in the scenario.
        algorithm: String,
        /// `snd_cwnd` or `snd_ssthresh`.
        field: &'static str,
        /// What the algorithm made of it, packets.
        value: u32,
        /// When.
        time_us: u64,
        /// The largest value that makes sense, packets.
        most: u32,
    },
    /// [`Control::cancelled`] was set.
    #[error("the run was cancelled")]
    Cancelled,
}
