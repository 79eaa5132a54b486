//! Every ACK of a run, as the kernel's tracepoint shows it.

use super::{sys, TestbedError};
use crate::bpf::{Filter, PrivateField, Record, Telemetry};
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Most rows that are kept: 0.7 GB with CUBIC's private state.
const MOST_ROWS: usize = 1 << 22;

/// Each sender's state when an ACK arrives, before it is handled: one row an ACK, in order of
/// time per flow. The columns are those of the samples, and of the private state.
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
    /// A column for each name in the private state of the flows' algorithms.
    pub private: Vec<PrivateColumn>,
    /// ACKs that found no room, in the ring to user space or in this table of 4194304 rows.
    pub lost_rows: u64,
}

/// A member of private state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateColumn {
    /// Its name in the C file.
    pub name: String,
    /// Are the values negative where bit 63 is set?
    pub signed: bool,
    /// Numbers of the flows whose algorithm has it.
    pub flows: Vec<u32>,
    /// Two's complement; 0 for other flows.
    pub values: Vec<u64>,
}

/// The running stream of some sockets' ACKs.
pub(super) struct Stream {
    telemetry: Telemetry,
    /// By the cookies of their sockets.
    flows: HashMap<u64, Flow>,
    /// Times are the kernel's, in ns, until the run has ended.
    times_ns: Vec<u64>,
    table: AckTable,
}

/// Number of a flow, and its field for each of the private columns.
struct Flow {
    number: u32,
    fields: Vec<Option<PrivateField>>,
}

impl Stream {
    /// Begins to record these senders, the flows 1, 2, …, whose private state has those fields.
    pub(super) fn start(
        senders: &[OwnedFd],
        private: &[Vec<PrivateField>],
    ) -> Result<Self, TestbedError> {
        let columns = private_columns(private);
        let telemetry = Telemetry::start(Filter::Watched)?;
        let mut flows = HashMap::new();
        for ((number, sender), own) in (1..).zip(senders).zip(private) {
            let cookie = sys::cookie(sender).map_err(TestbedError::host("name a socket"))?;
            telemetry.watch(cookie)?;
            let field_of = |column: &PrivateColumn| {
                let found = own.iter().find(|field| field.name == column.name);
                found.cloned()
            };
            let fields = columns.iter().map(field_of).collect();
            flows.insert(cookie, Flow { number, fields });
        }
        Ok(Self {
            telemetry,
            flows,
            times_ns: Vec::new(),
            table: AckTable {
                private: columns,
                ..AckTable::default()
            },
        })
    }

    /// Takes what has come; to be called every 100 ms or more often.
    pub(super) fn drain(&mut self) -> Result<(), TestbedError> {
        for record in self.telemetry.poll(Duration::ZERO)? {
            self.push(&record);
        }
        Ok(())
    }

    fn push(&mut self, record: &Record) {
        let table = &mut self.table;
        if self.times_ns.len() == MOST_ROWS {
            table.lost_rows += 1;
            return;
        }
        let flow = &self.flows[&record.cookie];
        self.times_ns.push(record.time_ns);
        table.flow.push(flow.number);
        table.cwnd_packets.push(record.cwnd_packets);
        table.ssthresh_packets.push(record.ssthresh_packets);
        table.srtt_us.push(record.srtt_us);
        table.in_flight_packets.push(record.in_flight_packets);
        table.state.push(record.state as u8);
        for (column, field) in table.private.iter_mut().zip(&flow.fields) {
            let value = field.as_ref().map_or(0, |field| field.value(record));
            column.values.push(value as u64);
        }
    }

    /// The table, of a run that started at this monotonic time.
    pub(super) fn finish(mut self, started_ns: u64) -> Result<AckTable, TestbedError> {
        self.drain()?;
        self.table.lost_rows += self.telemetry.lost()?;
        for time in &mut self.times_ns {
            *time = time.saturating_sub(started_ns) / 1_000;
        }
        self.table.time_us = self.times_ns;
        Ok(self.table)
    }
}

/// An empty column for each name, of the fields of flows 1, 2, ….
fn private_columns(fields: &[Vec<PrivateField>]) -> Vec<PrivateColumn> {
    let mut columns: Vec<PrivateColumn> = Vec::new();
    for (number, own) in (1..).zip(fields) {
        for field in own {
            if let Some(known) = columns.iter_mut().find(|column| column.name == field.name) {
                known.signed |= field.signed;
                known.flows.push(number);
            } else {
                columns.push(PrivateColumn {
                    name: field.name.clone(),
                    signed: field.signed,
                    flows: vec![number],
                    values: Vec::new(),
                });
            }
        }
    }
    columns
}
