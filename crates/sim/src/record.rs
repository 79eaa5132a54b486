//! The result of a run: tables with one `Vec` per column. All columns of a table have the same
//! length. Every name ends in its unit.

use ackclock_host::CaState;
use ackclock_net::link::Link;

/// Everything that a run recorded.
#[derive(Clone, Debug, Default)]
pub struct RunResult {
    /// One row per flow.
    pub flows: FlowTable,
    /// One row per flow and sampling instant.
    pub samples: SampleTable,
    /// One row per sampling instant.
    pub queues: QueueTable,
    /// One row per state change of a sender.
    pub events: EventTable,
    /// One row per session.
    pub sessions: SessionTable,
    /// One row per transfer of a session.
    pub transfers: TransferTable,
    /// Hash over every simulated event. Equal runs have equal hashes.
    pub trace_hash: u64,
    /// Data packets that senders sent, retransmissions included.
    pub packets: u64,
}

macro_rules! table {
    ($(#[$doc:meta])* $table:ident / $row:ident { $($(#[$cdoc:meta])* $name:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $table { $($(#[$cdoc])* pub $name: Vec<$type>,)* }

        #[doc = concat!("One row of [`", stringify!($table), "`].")]
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $row { $($(#[$cdoc])* pub $name: $type,)* }

        impl $table {
            /// Appends a row.
            pub fn push(&mut self, row: $row) { $(self.$name.push(row.$name);)* }
            /// Makes room for `rows` more rows.
            pub fn reserve(&mut self, rows: usize) { $(self.$name.reserve(rows);)* }
            /// Number of rows.
            pub fn len(&self) -> usize { [$(self.$name.len()),*][0] }
            /// Whether the table has no rows.
            pub fn is_empty(&self) -> bool { self.len() == 0 }
        }
    };
}

table! {
    /// Totals of each flow at the end of the run.
    FlowTable / FlowRow {
        /// Number of the flow, from 1.
        flow: u32,
        /// When the flow connected, its random spread included.
        start_us: u64,
        /// When the last byte was acknowledged; 0 if the flow did not finish.
        completed_us: u64,
        /// Acknowledged payload, bytes.
        delivered_bytes: u64,
        /// Data packets sent, retransmissions included.
        sent_packets: u64,
        /// Retransmitted data packets.
        retransmitted_packets: u64,
        /// Data packets dropped by the bottleneck.
        dropped_packets: u64,
        /// How often the flow entered fast recovery.
        recoveries: u64,
        /// Retransmission timeouts.
        timeouts: u64,
        /// Reductions that were spurious and therefore undone.
        undos: u64,
        /// Smallest round-trip time measured.
        min_rtt_us: u64,
        /// Time in which the receive window limited the flow, not cwnd.
        receive_window_limited_us: u64,
        /// Time in which the send buffer limited the flow, not cwnd.
        send_buffer_limited_us: u64,
    }
}

table! {
    /// State of each sender at the sampling instants.
    SampleTable / SampleRow {
        /// Simulated time.
        time_us: u64,
        /// Number of the flow, from 1.
        flow: u32,
        /// Congestion window.
        cwnd_packets: u32,
        /// Slow-start threshold; 0x7fffffff before the first loss.
        ssthresh_packets: u32,
        /// Smoothed round-trip time; 0 before the first sample.
        srtt_us: u32,
        /// Smallest round-trip time in Linux's window of 300 s; 0 before the first sample.
        min_rtt_us: u32,
        /// packets_out − (sacked_out + lost_out) + retrans_out.
        in_flight_packets: u32,
        /// Packets that the sender knows to be delivered, cumulative.
        delivered_packets: u64,
        /// Payload that is cumulatively acknowledged.
        delivered_bytes: u64,
        /// Packets that the sender judged to be lost, cumulative.
        lost_packets: u64,
        /// Packets retransmitted, cumulative.
        retransmitted_packets: u64,
        /// `CaState` as a number: open, disorder, cwr, recovery, loss.
        state: u8,
    }
}

table! {
    /// State of the bottleneck at the sampling instants.
    QueueTable / QueueRow {
        /// Simulated time.
        time_us: u64,
        /// Number of the queue, from 1.
        queue: u32,
        /// Packets in the queue, the one in service included.
        queue_packets: u64,
        /// Bytes of the packets in the queue.
        queue_bytes: u64,
        /// Packets accepted, cumulative.
        enqueued_packets: u64,
        /// Packets dropped, cumulative.
        dropped_packets: u64,
        /// Bytes that left the queue, cumulative.
        sent_bytes: u64,
    }
}

impl QueueRow {
    /// The state of a link now, with the queue's number.
    pub fn of(now_ns: u64, queue: u32, link: &mut Link) -> Self {
        link.advance(now_ns);
        let totals = link.totals();
        Self {
            time_us: now_ns / 1_000,
            queue,
            queue_packets: link.queue_packets(),
            queue_bytes: link.queue_bytes(),
            enqueued_packets: totals.enqueued_packets,
            dropped_packets: totals.dropped_packets,
            sent_bytes: totals.sent_bytes,
        }
    }
}

table! {
    /// Events of the senders, in order of time.
    EventTable / EventRow {
        /// Simulated time.
        time_us: u64,
        /// Number of the flow, from 1.
        flow: u32,
        /// Kind of the event.
        kind: EventKind,
        /// Congestion window just before the event.
        cwnd_packets: u32,
        /// Slow-start threshold just after the event.
        ssthresh_packets: u32,
        /// Packets in flight just before the event.
        in_flight_packets: u32,
    }
}

table! {
    /// Totals of each session at the end of the run.
    SessionTable / SessionRow {
        /// Number of the session, from 1.
        session: u32,
        /// Completed transfers.
        transfers: u64,
        /// Acknowledged payload, bytes.
        delivered_bytes: u64,
        /// Data packets sent, retransmissions included.
        sent_packets: u64,
        /// Retransmitted data packets.
        retransmitted_packets: u64,
        /// Data packets dropped by the bottleneck.
        dropped_packets: u64,
        /// How often its connections entered fast recovery.
        recoveries: u64,
        /// Retransmission timeouts.
        timeouts: u64,
    }
}

table! {
    /// Transfers of the sessions, in order of completion. Transfers that the end of the run cut off
    /// come last.
    TransferTable / TransferRow {
        /// Number of the session, from 1.
        session: u32,
        /// When the transfer connected.
        start_us: u64,
        /// When the last byte was acknowledged; 0 if the run ended before.
        completed_us: u64,
        /// Payload of the transfer.
        size_bytes: u64,
    }
}

/// Kinds of rows in [`EventTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The connection was established and may send data.
    Established,
    /// Slow start ended without a loss (HyStart).
    SlowStartExit,
    /// Fast recovery began.
    Recovery,
    /// Fast recovery, CWR or Loss ended.
    Recovered,
    /// The retransmission timer fired.
    Timeout,
    /// A reduction was found to be spurious, and was undone.
    Undo,
    /// The last byte of a finite flow was acknowledged.
    Completed,
}

impl EventKind {
    /// The name of the event in the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Established => "established",
            Self::SlowStartExit => "slow_start_exit",
            Self::Recovery => "recovery",
            Self::Recovered => "recovered",
            Self::Timeout => "timeout",
            Self::Undo => "undo",
            Self::Completed => "completed",
        }
    }
}

/// How often the events that a flow's totals report have happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventCounts {
    /// [`EventKind::Recovery`].
    pub recoveries: u64,
    /// [`EventKind::Timeout`].
    pub timeouts: u64,
    /// [`EventKind::Undo`].
    pub undos: u64,
}

impl EventCounts {
    /// Counts an event.
    pub fn add(&mut self, kind: EventKind) {
        match kind {
            EventKind::Recovery => self.recoveries += 1,
            EventKind::Timeout => self.timeouts += 1,
            EventKind::Undo => self.undos += 1,
            _ => (),
        }
    }
}

/// The name of a sender's state in the tables.
pub const fn state_name(state: u8) -> &'static str {
    const NAMES: [&str; 5] = ["open", "disorder", "cwr", "recovery", "loss"];
    NAMES[if state as usize <= CaState::Loss as usize {
        state as usize
    } else {
        0
    }]
}

/// A sender's state when an ACK arrives, before the sender handles it (Linux's `tcp_probe`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckRow {
    /// When the ACK arrives.
    pub time_ns: u64,
    /// Number of the flow.
    pub flow: u32,
    /// First unacknowledged segment.
    pub una: u64,
    /// The next new segment.
    pub nxt: u64,
    /// Congestion window, packets.
    pub cwnd_packets: u32,
    /// Slow-start threshold, packets.
    pub ssthresh_packets: u32,
    /// Smoothed RTT.
    pub srtt_us: u32,
}
