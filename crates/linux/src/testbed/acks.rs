//! Every ACK of a run, as the kernel's tracepoint shows it.

use super::TestbedError;
use crate::bpf::{AckRecord, Filter, PrivateField, Telemetry};
use crate::sys;
use ackclock_sim::record::{AckRow, AckTable, State};
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Maximum rows of the table: 0.7 GB with CUBIC's private state.
const MOST_ROWS: usize = 1 << 22;

/// The ACKs of a run. The rows of a flow are in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acks {
    /// One row per ACK.
    pub rows: AckTable,
    /// One column for each member of the private state of the flows' algorithms.
    pub private: Vec<PrivateColumn>,
    /// ACKs that are missing because the ring to user space, or this table of 4194304 rows, was
    /// full.
    pub lost_rows: u64,
}

/// A column with one member of the private state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateColumn {
    /// Name of the member in the C file.
    pub name: String,
    /// Whether the values are signed: bit 63 then means a negative value.
    pub signed: bool,
    /// Numbers of the flows whose algorithm has this member.
    pub flows: Vec<u32>,
    /// The values, in two's complement; 0 for other flows.
    pub values: Vec<u64>,
}

/// The running stream of the ACKs of some sockets.
pub(super) struct Stream {
    telemetry: Telemetry,
    /// The flows, by the cookies of their sockets.
    flows: HashMap<u64, Flow>,
    /// Until the run has ended, times are those of the kernel, in nanoseconds.
    acks: Acks,
}

/// The number of a flow, and its field for each private column.
struct Flow {
    number: u32,
    fields: Vec<Option<PrivateField>>,
}

impl Stream {
    /// Starts to record the senders of flows 1, 2, …. `private` has the fields of their private
    /// state.
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
            acks: Acks {
                private: columns,
                ..Acks::default()
            },
        })
    }

    /// Takes the ACKs that have come. Call it at least every 100 ms.
    pub(super) fn drain(&mut self) -> Result<(), TestbedError> {
        for record in self.telemetry.poll(Duration::ZERO)? {
            self.push(&record);
        }
        Ok(())
    }

    fn push(&mut self, record: &AckRecord) {
        let acks = &mut self.acks;
        if acks.rows.len() == MOST_ROWS {
            acks.lost_rows += 1;
            return;
        }
        let flow = &self.flows[&record.cookie];
        acks.rows.push(AckRow {
            time_us: record.time_ns,
            flow: flow.number,
            cwnd_packets: record.cwnd_packets,
            ssthresh_packets: record.ssthresh_packets,
            srtt_us: record.srtt_us,
            in_flight_packets: record.in_flight_packets,
            state: State(record.state as u8),
            ack_bytes: record.ack_bytes,
            sack_1_from_bytes: record.sacks[0][0],
            sack_1_to_bytes: record.sacks[0][1],
            sack_2_from_bytes: record.sacks[1][0],
            sack_2_to_bytes: record.sacks[1][1],
            sack_3_from_bytes: record.sacks[2][0],
            sack_3_to_bytes: record.sacks[2][1],
            una_bytes: record.una_bytes,
            nxt_bytes: record.nxt_bytes,
        });
        for (column, field) in acks.private.iter_mut().zip(&flow.fields) {
            let value = field
                .as_ref()
                .map_or(0, |field| field.value(&record.ca_priv));
            column.values.push(value as u64);
        }
    }

    /// The table of a run that started at this monotonic time.
    pub(super) fn finish(mut self, started_ns: u64) -> Result<Acks, TestbedError> {
        self.drain()?;
        self.acks.lost_rows += self.telemetry.lost()?;
        for time in &mut self.acks.rows.time_us {
            *time = time.saturating_sub(started_ns) / 1_000;
        }
        Ok(self.acks)
    }
}

/// One empty column for each name among the fields of flows 1, 2, ….
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
