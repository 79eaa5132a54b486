//! The result of a run: tables with one `Vec` per column. All columns of a table have the same
//! length. Every name ends in its unit.

use ackclock_host::CaState;
use ackclock_net::link::LinkState;
use std::mem::take;

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

impl RunResult {
    /// The tables of every run.
    pub const TABLES: [Table; 6] = [
        FlowTable::TABLE,
        SampleTable::TABLE,
        QueueTable::TABLE,
        EventTable::TABLE,
        SessionTable::TABLE,
        TransferTable::TABLE,
    ];

    /// Rows that a run keeps before it hands them over: 7 MB of samples. Tables grow to powers of two;
    /// this is a little less, so that rows that come before the run looks fit, too.
    pub const MOST_ROWS: usize = 7 << 14;

    /// Rows of the tables that grow with time.
    pub(crate) fn growing_rows(&self) -> usize {
        self.samples.len() + self.queues.len() + self.events.len() + self.transfers.len()
    }

    /// Takes the rows of the tables that grow with time.
    pub(crate) fn take_rows(&mut self) -> Self {
        Self {
            samples: take(&mut self.samples),
            queues: take(&mut self.queues),
            events: take(&mut self.events),
            transfers: take(&mut self.transfers),
            ..Self::default()
        }
    }

    /// The columns of each table, in the order of [`Self::TABLES`].
    pub fn into_tables(self) -> [Vec<Values>; Self::TABLES.len()] {
        [
            self.flows.into_columns(),
            self.samples.into_columns(),
            self.queues.into_columns(),
            self.events.into_columns(),
            self.sessions.into_columns(),
            self.transfers.into_columns(),
        ]
    }
}

/// What a table is: `docs/tables.md` shows it, and Python reads it.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its name, as a field of [`RunResult`].
    pub name: &'static str,
    /// What one row is.
    pub row: &'static str,
    /// Its columns, in order.
    pub columns: &'static [Column],
}

/// What a column is.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name, which ends in its unit.
    pub name: &'static str,
    /// Type of its values.
    pub kind: Kind,
    /// What its values mean.
    pub meaning: &'static str,
}

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers of 32 bits.
    U32,
    /// Whole numbers of 64 bits.
    U64,
    /// One of these names. The values of the column are indices into them.
    Name(&'static [&'static str]),
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// Of [`Kind::U32`].
    U32(Vec<u32>),
    /// Of [`Kind::U64`].
    U64(Vec<u64>),
    /// Of [`Kind::Name`].
    Name(Vec<u8>),
}

/// A type that a column may have.
pub trait Cell: Sized {
    /// How users see it.
    const KIND: Kind;
    /// A column of it.
    fn values(column: Vec<Self>) -> Values;
}

impl Cell for u32 {
    const KIND: Kind = Kind::U32;
    fn values(column: Vec<Self>) -> Values {
        Values::U32(column)
    }
}

impl Cell for u64 {
    const KIND: Kind = Kind::U64;
    fn values(column: Vec<Self>) -> Values {
        Values::U64(column)
    }
}

impl Cell for State {
    const KIND: Kind = Kind::Name(&Self::NAMES);
    fn values(column: Vec<Self>) -> Values {
        Values::Name(column.into_iter().map(|state| state.0).collect())
    }
}

/// Declares a table: one doc comment says what a row is, another what each column means. These
/// comments are the text of `docs/tables.md`.
macro_rules! table {
    (
        $(#[doc = $doc:literal])*
        $table:ident / $row:ident = $called:literal {
            $($(#[doc = $cdoc:literal])* $name:ident: $type:ty,)*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $table { $($(#[doc = $cdoc])* pub $name: Vec<$type>,)* }

        #[doc = concat!("One row of [`", stringify!($table), "`].")]
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $row { $($(#[doc = $cdoc])* pub $name: $type,)* }

        impl $table {
            /// Its name and its columns.
            pub const TABLE: Table = Table {
                name: $called,
                row: concat!($($doc),*).trim_ascii(),
                columns: &[$(Column {
                    name: stringify!($name),
                    kind: <$type as Cell>::KIND,
                    meaning: concat!($($cdoc),*).trim_ascii(),
                }),*],
            };
            /// Appends a row.
            pub fn push(&mut self, row: $row) { $(self.$name.push(row.$name);)* }
            /// Makes room for `rows` more rows.
            pub fn reserve(&mut self, rows: usize) { $(self.$name.reserve(rows);)* }
            /// Number of rows.
            pub fn len(&self) -> usize { [$(self.$name.len()),*][0] }
            /// Whether the table has no rows.
            pub fn is_empty(&self) -> bool { self.len() == 0 }
            /// The values of each column, in the order of [`Self::TABLE`].
            pub fn into_columns(self) -> Vec<Values> { vec![$(Cell::values(self.$name)),*] }
        }
    };
}

table! {
    /// One row per flow: its totals at the end of the run.
    FlowTable / FlowRow = "flows" {
        /// Number of the flow, from 1.
        flow: u32,
        /// When the flow connected, its random spread included.
        start_us: u64,
        /// When its FIN was ACKed; 0 if the flow did not finish.
        completed_us: u64,
        /// Acknowledged payload.
        delivered_bytes: u64,
        /// Payload sent for the first time and acknowledged while all flows without a size were
        /// active; if they never are at once, or there are none, in the whole run. Without losses
        /// that the receiver hides.
        common_bytes: u64,
        /// Data packets sent, retransmissions included.
        sent_packets: u64,
        /// Retransmitted data packets.
        retransmitted_packets: u64,
        /// Data packets that the links dropped.
        dropped_packets: u64,
        /// Of these, packets that a queue discipline dropped though there was room (AQM).
        early_dropped_packets: u64,
        /// Of these, packets lost before they reached a queue (`loss`, `drop_every_packets`).
        link_lost_packets: u64,
        /// Of these, packets that a policer dropped.
        policed_packets: u64,
        /// Data packets that a queue discipline marked (ECN).
        marked_packets: u64,
        /// How often the flow entered fast recovery.
        recoveries: u64,
        /// Retransmission timeouts.
        timeouts: u64,
        /// Window reductions that were spurious and therefore undone.
        undos: u64,
        /// Smallest measured RTT.
        min_rtt_us: u64,
        /// Time in which the receive window was the limit.
        receive_window_limited_us: u64,
        /// Time in which the send buffer was the limit.
        send_buffer_limited_us: u64,
    }
}

table! {
    /// One row per flow at every multiple of the sample interval and at each of its events.
    SampleTable / SampleRow = "samples" {
        /// Simulated time.
        time_us: u64,
        /// Number of the flow, from 1.
        flow: u32,
        /// Congestion window.
        cwnd_packets: u32,
        /// Slow-start threshold; 2147483647 before the first loss.
        ssthresh_packets: u32,
        /// Smoothed RTT (RFC 6298); 0 before the first sample.
        srtt_us: u32,
        /// Smallest RTT of the last 300 s; 0 before the first sample.
        min_rtt_us: u32,
        /// packets_out − (sacked_out + lost_out) + retrans_out.
        in_flight_packets: u32,
        /// Packets known to be delivered (ACKed or SACKed) so far.
        delivered_packets: u64,
        /// Cumulatively acknowledged payload so far.
        delivered_bytes: u64,
        /// Packets judged lost so far; on the kernel: retransmitted, or marked as lost.
        lost_packets: u64,
        /// Retransmitted packets so far.
        retransmitted_packets: u64,
        /// Congestion state.
        state: State,
    }
}

table! {
    /// One row per sampling instant and queue of the bottleneck.
    QueueTable / QueueRow = "queues" {
        /// Simulated time.
        time_us: u64,
        /// 1: forward; 2: back, if data goes both ways.
        queue: u32,
        /// Packets in the queue, the one in service included.
        queue_packets: u64,
        /// Bytes in the queue.
        queue_bytes: u64,
        /// Time from arrival to the last bit sent, of the last packet that left; 0 before the first.
        sojourn_us: u64,
        /// Packets accepted so far.
        enqueued_packets: u64,
        /// Packets dropped so far.
        dropped_packets: u64,
        /// Of these, packets that the discipline dropped though there was room (AQM).
        early_dropped_packets: u64,
        /// Packets lost before the queue so far (`loss`, `drop_every_packets`).
        link_lost_packets: u64,
        /// Packets that the policer before the queue dropped so far.
        policed_packets: u64,
        /// Packets that the discipline marked so far (ECN).
        marked_packets: u64,
        /// Bytes that left the queue so far.
        sent_bytes: u64,
    }
}

impl QueueRow {
    /// The state of the link behind queue number `queue`.
    pub fn from_link(time_ns: u64, queue: u32, link: &LinkState) -> Self {
        Self {
            time_us: time_ns / 1_000,
            queue,
            queue_packets: link.queue.packets,
            queue_bytes: link.queue.bytes,
            sojourn_us: link.sojourn_us,
            enqueued_packets: link.totals.enqueued_packets,
            dropped_packets: link.totals.dropped_packets,
            early_dropped_packets: link.totals.early_dropped_packets,
            link_lost_packets: link.totals.lost_packets,
            policed_packets: link.totals.policed_packets,
            marked_packets: link.totals.marked_packets,
            sent_bytes: link.totals.sent_bytes,
        }
    }
}

table! {
    /// One row per change of a sender's state, in order of time.
    EventTable / EventRow = "events" {
        /// Simulated time.
        time_us: u64,
        /// Number of the flow, from 1.
        flow: u32,
        /// Kind of event.
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
    /// One row per session: its totals at the end of the run.
    SessionTable / SessionRow = "sessions" {
        /// Number of the session, from 1.
        session: u32,
        /// Completed transfers.
        transfers: u64,
        /// Acknowledged payload.
        delivered_bytes: u64,
        /// Payload sent for the first time and acknowledged while all flows without a size were
        /// active; as in the table of flows.
        common_bytes: u64,
        /// Data packets sent, retransmissions included.
        sent_packets: u64,
        /// Retransmitted data packets.
        retransmitted_packets: u64,
        /// Data packets that the bottleneck dropped.
        dropped_packets: u64,
        /// How often its connections entered fast recovery.
        recoveries: u64,
        /// Retransmission timeouts.
        timeouts: u64,
    }
}

table! {
    /// One row per transfer of a session, in order of completion; unfinished transfers last.
    TransferTable / TransferRow = "transfers" {
        /// Number of the session, from 1.
        session: u32,
        /// When the transfer sent its first SYN.
        start_us: u64,
        /// When its FIN was ACKed; 0 if the run ended before.
        completed_us: u64,
        /// Payload of the transfer.
        size_bytes: u64,
    }
}

table! {
    /// `--acks` writes this table. It has one row per ACK that a sender received once it was
    /// established, with the sender's state before TCP handled the ACK. Sequence numbers count bytes
    /// from the first of the connection. On the kernel the rows of a finite flow end with its last
    /// write, and further columns hold
    /// the private state of the algorithms: one 64-bit column per member, named as in the C file,
    /// such as `private.cnt`. A value is null if the flow's algorithm has no member of that name.
    AckTable / AckRow = "acks" {
        /// When the ACK arrived, by the clock of the samples.
        time_us: u64,
        /// Number of the flow, from 1.
        flow: u32,
        /// Congestion window.
        cwnd_packets: u32,
        /// Slow-start threshold; 2147483647 before the first loss.
        ssthresh_packets: u32,
        /// Smoothed RTT (RFC 6298).
        srtt_us: u32,
        /// packets_out − (sacked_out + lost_out) + retrans_out.
        in_flight_packets: u32,
        /// Congestion state.
        state: State,
        /// ACK number: all bytes below have arrived.
        ack_bytes: u64,
        /// Where the first SACK block begins; 0: there is none.
        sack_1_from_bytes: u64,
        /// Where it ends.
        sack_1_to_bytes: u64,
        /// The second block.
        sack_2_from_bytes: u64,
        /// Its end.
        sack_2_to_bytes: u64,
        /// The third block.
        sack_3_from_bytes: u64,
        /// Its end.
        sack_3_to_bytes: u64,
        /// Bytes that were acknowledged before (`snd_una`).
        una_bytes: u64,
        /// Bytes that were sent before (`snd_nxt`).
        nxt_bytes: u64,
    }
}

table! {
    /// `ackclock linux diverge` writes this table: one row per packet that a sender sends or gets, with the
    /// sender's state just before. Sequence numbers count bytes from the first of the connection.
    PacketTable / PacketRow = "packets" {
        /// When it leaves, or arrives.
        time_ns: u64,
        /// Number of the flow, from 1.
        flow: u32,
        /// What it is.
        kind: PacketKind,
        /// First byte of data.
        from_bytes: u64,
        /// Behind the last byte of data.
        to_bytes: u64,
        /// ACK number.
        ack_bytes: u64,
        /// Where the first SACK block begins; 0: there is none.
        sack_1_from_bytes: u64,
        /// Where it ends.
        sack_1_to_bytes: u64,
        /// The second block.
        sack_2_from_bytes: u64,
        /// Its end.
        sack_2_to_bytes: u64,
        /// The third block.
        sack_3_from_bytes: u64,
        /// Its end.
        sack_3_to_bytes: u64,
        /// Bytes that were acknowledged before (`snd_una`).
        una_bytes: u64,
        /// Bytes that were sent before (`snd_nxt`).
        nxt_bytes: u64,
        /// Congestion window.
        cwnd_packets: u32,
        /// Slow-start threshold; 2147483647 before the first loss.
        ssthresh_packets: u32,
        /// Smoothed RTT (RFC 6298).
        srtt_us: u32,
        /// packets_out − (sacked_out + lost_out) + retrans_out.
        in_flight_packets: u32,
        /// Retransmission timeout, with its back-off.
        rto_us: u64,
        /// The timer that is armed.
        timer: TimerKind,
        /// Until it fires; 0: none is armed. On Linux until it is due: the timer wheel fires it later, by
        /// up to an eighth.
        timer_us: u64,
        /// Congestion state.
        state: State,
    }
}

/// Declares what a column names: each kind with its name. The first is the default.
macro_rules! names {
    (
        $(#[doc = $doc:literal])*
        $kind:ident { $(#[doc = $of_first:literal])* $first:ident = $named:literal, $($(#[doc = $of:literal])* $each:ident = $name:literal,)* }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $kind { $(#[doc = $of_first])* #[default] $first, $($(#[doc = $of])* $each,)* }

        impl $kind {
            const NAMES: &'static [&'static str] = &[$named, $($name,)*];
        }

        impl Cell for $kind {
            const KIND: Kind = Kind::Name(Self::NAMES);
            fn values(column: Vec<Self>) -> Values {
                Values::Name(column.into_iter().map(|kind| kind as u8).collect())
            }
        }
    };
}

names! {
    /// Kinds of rows in [`PacketTable`].
    PacketKind {
        /// Data leaves.
        Data = "data",
        /// An ACK arrives.
        Ack = "ack",
    }
}

names! {
    /// The timer that a sender has armed.
    TimerKind {
        /// None.
        None = "none",
        /// The retransmission timeout.
        Retransmission = "retransmission",
        /// Of a tail loss probe.
        LossProbe = "loss_probe",
        /// The reordering timer of RACK.
        Reordering = "reordering",
        /// Of a probe of a closed window.
        WindowProbe = "window_probe",
    }
}

names! {
    /// Kinds of rows in [`EventTable`].
    EventKind {
        /// The connection was established and may send data.
        Established = "established",
        /// Slow start ended without a loss (HyStart).
        SlowStartExit = "slow_start_exit",
        /// Fast recovery began.
        Recovery = "recovery",
        /// Fast recovery, CWR or Loss ended.
        Recovered = "recovered",
        /// The retransmission timer fired.
        Timeout = "timeout",
        /// A reduction was found to be spurious, and was undone.
        Undo = "undo",
        /// The last byte of a finite flow was acknowledged.
        Completed = "completed",
        /// The sender reduces its window because the path has marked packets (ECN).
        Cwr = "cwr",
    }
}

impl EventKind {
    /// The name of the event in the tables.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// How often the events that a flow's totals report have happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventCounts {
    /// [`EventKind::Recovery`].
    pub recoveries: u32,
    /// [`EventKind::Timeout`].
    pub timeouts: u32,
    /// [`EventKind::Undo`].
    pub undos: u32,
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

/// A sender's congestion state, as Linux numbers it (`tcp_ca_state`).
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct State(pub u8);

impl std::fmt::Debug for State {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(out)
    }
}

impl State {
    /// The states in the order of [`CaState`].
    const NAMES: [&str; CaState::Loss as usize + 1] =
        ["open", "disorder", "cwr", "recovery", "loss"];
}

/// A sender's state when an ACK arrives, before the sender handles it (Linux's `tcp_probe`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckSeen {
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
    /// packets_out − (sacked_out + lost_out) + retrans_out.
    pub in_flight_packets: u32,
    /// `app_limited` of Linux; 0: the application does not limit it.
    pub app_limited: u32,
    /// Pacing rate, bytes per second.
    pub pacing_rate: u64,
    /// The private state of its algorithm.
    pub private: [u64; ackclock_host::ICSK_CA_PRIV_WORDS],
}
