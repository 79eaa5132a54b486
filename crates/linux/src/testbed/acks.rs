//! Every ACK of a run, as the kernel's tracepoint shows it.

use super::{sys, TestbedError};
use crate::bpf::{Filter, Record, Telemetry};
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Each sender's state when an ACK arrives, before it is handled: one row an ACK, in order of
/// time per flow. The columns are those of the samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AckTable {
    /// From the start of the run.
    pub time_us: Vec<u64>,
    /// Number of the flow, from 1.
    pub flow: Vec<u32>,
    /// Congestion window.
    pub cwnd_packets: Vec<u32>,
    /// Slow-start threshold; 2147483647 before the first loss.
    pub ssthresh_packets: Vec<u32>,
    /// Smoothed round-trip time.
    pub srtt_us: Vec<u32>,
    /// packets_out − (sacked_out + lost_out) + retrans_out.
    pub in_flight_packets: Vec<u32>,
    /// Congestion state: open, disorder, cwr, recovery, loss.
    pub state: Vec<u8>,
    /// ACKs that found the ring to user space full.
    pub lost_rows: u64,
}

/// The running stream of some sockets' ACKs.
pub(super) struct Stream {
    telemetry: Telemetry,
    flows: HashMap<u64, u32>,
    records: Vec<Record>,
}

impl Stream {
    /// Begins to record these senders, the flows 1, 2, ….
    pub(super) fn start(senders: &[OwnedFd]) -> Result<Self, TestbedError> {
        let telemetry = Telemetry::start(Filter::Watched)?;
        let mut flows = HashMap::new();
        for (number, sender) in (1..).zip(senders) {
            let cookie = sys::cookie(sender).map_err(TestbedError::host("name a socket"))?;
            telemetry.watch(cookie)?;
            flows.insert(cookie, number);
        }
        Ok(Self {
            telemetry,
            flows,
            records: Vec::new(),
        })
    }

    /// Takes what has come; to be called every 100 ms or more often.
    pub(super) fn drain(&mut self) -> Result<(), TestbedError> {
        self.records.extend(self.telemetry.poll(Duration::ZERO)?);
        Ok(())
    }

    /// The table, of a run that started at this monotonic time.
    pub(super) fn finish(mut self, started_ns: u64) -> Result<AckTable, TestbedError> {
        self.drain()?;
        let mut table = AckTable {
            lost_rows: self.telemetry.lost()?,
            ..AckTable::default()
        };
        for record in &self.records {
            let Some(&flow) = self.flows.get(&record.cookie) else {
                continue;
            };
            table
                .time_us
                .push(record.time_ns.saturating_sub(started_ns) / 1_000);
            table.flow.push(flow);
            table.cwnd_packets.push(record.cwnd_packets);
            table.ssthresh_packets.push(record.ssthresh_packets);
            table.srtt_us.push(record.srtt_us);
            table.in_flight_packets.push(record.in_flight_packets);
            table.state.push(record.state as u8);
        }
        Ok(table)
    }
}
