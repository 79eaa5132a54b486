//! Why a run gives no result.

use crate::scenario::ScenarioError;

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A hook of an algorithm does not return.
    #[error(
        "{algorithms}: a hook has run for {limit_s} s of CPU time and does not return; \
         give every loop a bound, as the kernel demands"
    )]
    Stalled {
        /// The C file, or the C files that may be the cause.
        algorithms: String,
        /// CPU time after which the run gave up, seconds.
        limit_s: u64,
    },
    /// The scenario cannot be simulated.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// An algorithm set a window that no sender can work with.
    #[error(
        "{kind} {flow}: {algorithm}: {field} = {value} after {time_us} us; \
         it must stay between 1 and {most} packets"
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
    /// The packets could not be written ([`capture`]).
    #[error("the packets cannot be written: {0}")]
    Capture(String),
    /// [`Control::cancelled`] was set.
    #[error("the run was cancelled")]
    Cancelled,
}

impl From<std::io::Error> for RunError {
    fn from(error: std::io::Error) -> Self {
        Self::Capture(error.to_string())
    }
}
