//! What can go wrong on the testbed, in words for its user.

use crate::bpf::KernelError;
use ackclock_sim::ScenarioError;
use std::io;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// The scenario cannot run on a real kernel.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Anything else: what is wrong, and what to do.
    #[error("{0}")]
    Other(String),
}

impl From<KernelError> for TestbedError {
    fn from(error: KernelError) -> Self {
        Self::Other(error.to_string())
    }
}

impl TestbedError {
    /// The machine refused an operation.
    pub(super) fn host(what: &str) -> impl FnOnce(io::Error) -> Self + '_ {
        move |error| {
            let fix = match error.raw_os_error() {
                Some(libc::EMFILE) => "allow more open files, two for a flow (ulimit -n)",
                _ => "`ackclock doctor` says what this machine lacks",
            };
            Self::cannot(what, fix)(error)
        }
    }

    /// The machine refused an operation; what the user can do.
    pub(super) fn cannot<'a>(what: &'a str, fix: &'a str) -> impl FnOnce(io::Error) -> Self + 'a {
        move |error| Self::Other(format!("cannot {what}: {error}; {fix}"))
    }

    /// [`Control::cancelled`](ackclock_sim::Control::cancelled) was set.
    pub(super) fn cancelled() -> Self {
        Self::Other("the run was cancelled".into())
    }

    /// A socket of flow `flow` (from 0) cannot use the algorithm.
    pub(super) fn algorithm(flow: usize, algorithm: &str, problem: &str) -> Self {
        Self::Other(format!("flow {}: {algorithm}: {problem}", flow + 1))
    }
}
