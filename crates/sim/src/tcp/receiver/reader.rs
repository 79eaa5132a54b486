//! An application that reads at a rate of its own, one segment at a time.
//!
//! How to drive it: let it read at the time of [`reads_at_ns`](Reader::reads_at_ns).

use super::merged::Gro;
use ackclock_net::schedule::NEVER;
use std::collections::VecDeque;

/// A reader.
#[derive(Debug)]
pub(super) struct Reader {
    /// When its rate changes, ns, and to what, bit/s.
    steps: VecDeque<(u64, u64)>,
    rate_bps: u64,
    /// The application reads from then on, if something is there.
    due_ns: u64,
    /// When a compressed ACK leaves.
    pub(super) compressed_at_ns: u64,
    /// When a probe of the window arrives, and the jiffy of the last that was answered.
    pub(super) probe_at_ns: u64,
    pub(super) answered: Option<u64>,
}

/// An application that reads after the packets of an instant: what is due besides delayed ACKs.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) reads_at_ns: u64,
    pub(super) compressed_at_ns: u64,
    /// What its device merges, if it does.
    pub(super) gro: Option<Gro>,
}

impl Batch {
    /// When one of these is due.
    pub(super) fn due_ns(&self) -> u64 {
        let flush_at_ns = self.gro.as_ref().map_or(NEVER, |gro| gro.flush_at_ns);
        self.reads_at_ns.min(self.compressed_at_ns).min(flush_at_ns)
    }
}

impl Reader {
    pub(super) fn new(steps: impl Iterator<Item = (u64, u64)>) -> Self {
        Self {
            steps: steps.collect(),
            rate_bps: 0,
            due_ns: NEVER,
            compressed_at_ns: NEVER,
            probe_at_ns: NEVER,
            answered: None,
        }
    }

    /// When it reads next, if nothing arrives. `waits`: there is something to read.
    pub(super) fn reads_at_ns(&self, waits: bool) -> u64 {
        let change_ns = self.steps.front().map_or(NEVER, |step| step.0);
        match waits {
            true => self.due_ns.min(change_ns),
            false => NEVER,
        }
    }

    /// Reads a segment of what `waits`, if it is time. Returns whether it does.
    pub(super) fn reads(&mut self, now_ns: u64, segment_bytes: u64, waits: bool) -> bool {
        while self.steps.front().is_some_and(|step| step.0 <= now_ns) {
            let (time_ns, rate_bps) = self.steps.pop_front().unwrap_or_default();
            self.rate_bps = rate_bps;
            self.due_ns = if rate_bps > 0 { time_ns } else { NEVER };
        }
        let reads = waits && self.due_ns <= now_ns;
        if reads {
            self.due_ns = now_ns + segment_bytes * 8_000_000_000 / self.rate_bps;
        }
        reads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reader stops, and reads at once when it goes on; nothing is due where nothing waits.
    #[test]
    fn a_rate_that_changes() {
        let steps = [(0, 1_448_000), (20_000_000, 0), (90_000_000, 724_000)];
        let mut reader = Reader::new(steps.into_iter());
        assert_eq!(reader.reads_at_ns(false), NEVER);
        let mut times_ns = Vec::new();
        while times_ns.len() < 5 {
            let at_ns = reader.reads_at_ns(true);
            if reader.reads(at_ns, 1448, true) {
                times_ns.push(at_ns / 1_000_000);
            }
        }
        assert_eq!(times_ns, [0, 8, 16, 90, 106]);
    }
}
