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
    /// The machine refused an operation.
    #[error("cannot {what}: {source}; {fix}")]
    Host {
        /// The operation.
        what: String,
        /// The kernel's error.
        source: io::Error,
        /// What the user can do.
        fix: &'static str,
    },
    /// A socket cannot use the algorithm.
    #[error("flow {flow}: {algorithm}: {problem}")]
    Algorithm {
        /// Number of the flow, from 1.
        flow: usize,
        /// Its algorithm, as in the scenario.
        algorithm: String,
        /// Why the socket cannot use it.
        problem: String,
    },
    /// A connection ended before the run did.
    #[error("flow {flow}: the connection ended: {source}")]
    Connection {
        /// Number of the flow, from 1.
        flow: u32,
        /// The kernel's error.
        source: io::Error,
    },
    /// The testbed cannot record ACKs.
    #[error(transparent)]
    Telemetry(#[from] KernelError),
    /// [`Control::cancelled`](ackclock_sim::Control::cancelled) was set.
    #[error("the run was cancelled")]
    Cancelled,
}

impl TestbedError {
    pub(super) fn host(what: &str) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Host {
            what: what.into(),
            fix: match source.raw_os_error() {
                Some(libc::EMFILE) => "allow more open files, two for a flow (ulimit -n)",
                _ => "`ackclock doctor` says what this machine lacks",
            },
            source,
        }
    }
}
