//! Checks of a run: where its packets went, and a hash over all events.

use crate::flow::Connection;
use crate::header::Header;
use crate::topology::Path;

/// A hash over all events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceHash(pub(crate) u64);

impl TraceHash {
    #[inline]
    pub(crate) fn add(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

/// Where the packets of a run are. The conservation tests use it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Data packets sent. A FIN alone is one here, unlike in the tables.
    pub sent: u64,
    /// So many of them.
    pub fins: u64,
    /// Copies of data packets that links made.
    pub copied: u64,
    /// Data packets dropped by the bottleneck.
    pub dropped: u64,
    /// Data packets that reached a receiver (receivers run ahead of the clock).
    pub received: u64,
    /// Data packets that the receiver already had.
    pub duplicates: u64,
    /// Segments given to the applications, in order.
    pub in_order: u64,
    /// Segments that wait for a gap below them.
    pub out_of_order: u64,
    /// Data packets, ACKs and packets of handshakes that wait in evented queues when the run ends.
    pub queued: [u64; 3],
    /// All packets that wait there, as the network counts them.
    pub in_network: u64,
    /// ACKs sent, copies included. This count and all the counts below are of ACKs that pass queues.
    pub acks_sent: u64,
    /// ACKs dropped by the queue on the way back.
    pub acks_dropped: u64,
    /// ACKs that reached a sender.
    pub acks_received: u64,
    /// ACKs still on their way when the run or their connection ended.
    pub acks_on_the_way: u64,
}

impl Census {
    /// The count of such packets in queues.
    pub(crate) fn queued_of(&mut self, header: &Header) -> &mut u64 {
        let kind = match header {
            Header::Data { .. } => 0,
            Header::Ack(_) => 1,
            Header::Syn { .. }
            | Header::SynAck
            | Header::Established
            | Header::WindowProbe
            | Header::LastAck(_)
            | Header::Copied
            | Header::Datagram(..) => 2,
        };
        &mut self.queued[kind]
    }

    /// Adds what a connection has received, and its ACKs on their way if they pass queues.
    pub(crate) fn add(&mut self, connection: &Connection, path: Path) {
        let receiver = &connection.receiver;
        self.fins += connection.sender.fins();
        self.duplicates += receiver.duplicates();
        self.in_order += receiver.delivered();
        self.out_of_order += receiver.waiting();
        if path.acks.is_some() {
            self.acks_on_the_way += connection.acks.len();
        }
    }
}
