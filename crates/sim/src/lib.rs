//! A fast, exact, repeatable packet simulator with a Linux-faithful TCP endpoint.
#![forbid(unsafe_code)]

pub mod engine;
mod flow;
pub mod link;
pub mod record;
pub mod rng;
pub mod scenario;
pub mod schedule;
pub mod tcp;

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
    /// [`Control::cancelled`] was set.
    #[error("the run was cancelled")]
    Cancelled,
}
