//! The common interval, in which all flows without a size are active, and what each flow and session
//! carried in it. Rates that are compared or added are over one interval (`ackclock-measure`).
//!
//! Payload counts if it was sent for the first time after the start of the interval and acknowledged
//! by its end. So it has passed each of its links within the interval, and the sum over flows is never
//! more than a link can carry. What was acknowledged within the interval may be more: data that had
//! passed the link before, or a hole that a retransmission fills.

use crate::scenario::Scenario;
use ackclock_net::schedule::NEVER;
use std::ops::Range;

impl Scenario {
    /// From the last start of a flow without a size to the first stop, or to the end of the run;
    /// `None` if there is no such time. The start is the column `start_us`, in nanoseconds.
    pub fn common_interval_ns(&self) -> Option<Range<u64>> {
        let long = self.flows.iter().enumerate();
        let long = long.filter(|(_, flow)| flow.size_bytes.is_none());
        let times = long.map(|(flow, of)| (self.connects_at_ns(flow) / 1_000 * 1_000, of.stop_ns));
        ackclock_measure::common_interval_ns(times, self.duration_ns)
    }
}

/// What a flow or session has carried so far, payload bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Sent, each byte once.
    pub sent: u64,
    /// Acknowledged.
    pub acked: u64,
}

/// Counts the payload of each flow and session within the common interval.
#[derive(Debug)]
pub struct CommonInterval {
    next_ns: u64,
    until_ns: u64,
    /// Up to the end of the interval what was sent before it; then the payload within it.
    bytes: Vec<u64>,
}

impl CommonInterval {
    /// For a run that has not started.
    pub fn new(scenario: &Scenario) -> Self {
        let interval_ns = scenario.common_interval_ns().unwrap_or(NEVER..NEVER);
        Self {
            next_ns: interval_ns.start,
            until_ns: interval_ns.end,
            bytes: Vec::new(),
        }
    }

    /// When to call [`sample`](Self::sample) next, after all else at that time; [`NEVER`]: no more.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Takes what all flows and sessions have carried by [`next_ns`](Self::next_ns).
    #[cold]
    pub fn sample(&mut self, progress: impl Iterator<Item = Progress>) {
        if self.next_ns < self.until_ns {
            self.bytes = progress.map(|source| source.sent).collect();
            self.next_ns = self.until_ns;
            return;
        }
        for (bytes, source) in self.bytes.iter_mut().zip(progress) {
            *bytes = source.acked.saturating_sub(*bytes);
        }
        self.next_ns = NEVER;
    }

    /// The column `common_bytes` of a flow or session, which has carried so much in the whole run.
    pub fn bytes(&self, source: usize, progress: Progress) -> u64 {
        self.bytes.get(source).copied().unwrap_or(progress.acked)
    }
}
