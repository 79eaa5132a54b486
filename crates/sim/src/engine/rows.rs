//! The rows of a result: samples while it runs, totals at its end.

use super::simulation::{Run, Simulation};
use super::wire::Wire;
use crate::flow::ConnectionState;
use crate::record::{QueueRow, RunResult};
use crate::{Control, RunError};
use ackclock_host::prefetch;
use std::sync::atomic::Ordering;

impl<W: Wire> Simulation<'_, W> {
    /// Whether the memory of its flows matters.
    fn has_many(&self) -> bool {
        W::IN_TURNS || self.schedule.has_many()
    }

    /// Hands over the rows so far if there are that many.
    pub(super) fn hand_over_rows(&mut self, least: usize) {
        if let Some(on_rows) = &mut self.on_rows {
            if self.result.growing_rows() >= least {
                on_rows(self.result.take_rows());
            }
        }
    }

    pub(super) fn sample(&mut self, now_ns: u64) {
        let many = self.has_many();
        for element in 0..self.scenario.flows.len() {
            if let (true, Some(soon)) = (many, self.flows.get(element + 4)) {
                prefetch(soon);
            }
            let flow = &mut self.flows[element];
            if flow.start_ns <= now_ns {
                self.result.samples.push(flow.sample(self.scenario, now_ns));
                if many {
                    flow.shrink();
                }
            }
            if self.result.samples.len() >= RunResult::MOST_ROWS {
                self.hand_over_rows(RunResult::MOST_ROWS);
            }
        }
        for index in 0..self.wire.links() {
            let state = self.wire.state(index, now_ns);
            let row = QueueRow::from_link(now_ns, index as u32 + 1, &state);
            self.result.queues.push(row);
        }
    }

    /// The common interval begins or ends.
    pub(super) fn sample_common_interval(&mut self) {
        let flows = self.flows.iter();
        let progress = flows.map(|flow| flow.progress(self.scenario));
        self.common_interval.sample(progress);
    }

    /// The end of the run.
    pub(super) fn finish(mut self, control: &Control, end_ns: u64) -> Result<Run, RunError> {
        control.simulated_ns.store(end_ns, Ordering::Relaxed);
        self.census.in_network = self.wire.packets();
        if self.has_many() {
            // The rows of flows take the place of what nothing needs any more.
            self.hand_over_rows(1);
        }
        drop(self.wire);
        self.result.flows.reserve(self.scenario.flows.len());
        for (element, flow) in self.flows.iter().enumerate() {
            let progress = flow.progress(self.scenario);
            let common_bytes = self.common_interval.bytes(element, progress);
            if let ConnectionState::Open(connection) = &flow.state {
                self.census.add(connection, flow.path);
            }
            let Some(session) = &flow.session else {
                let row = flow.row(self.scenario, common_bytes);
                self.hash.add(row.delivered_bytes);
                self.hash.add(row.retransmitted_packets);
                self.result.packets += row.sent_packets;
                self.result.flows.push(row);
                continue;
            };
            let row = flow.session_row(self.scenario, session, common_bytes);
            self.hash.add(row.delivered_bytes);
            self.hash.add(row.retransmitted_packets);
            self.result.packets += row.sent_packets;
            self.result.sessions.push(row);
            if let (Some(transfer), true) =
                (flow.transfer(self.scenario, 0), flow.start_ns <= end_ns)
            {
                self.result.transfers.push(transfer);
            }
        }
        self.result.trace_hash = self.hash.0;
        if let Some(capture) = &mut self.capture {
            capture.finish(end_ns)?;
        }
        Ok(Run {
            result: self.result,
            census: self.census,
            acks: self.acks.unwrap_or_default(),
            packets: self.packets,
            in_rounds: W::IN_TURNS,
        })
    }
}
