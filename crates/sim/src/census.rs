//! What shows that a run is sound: where its packets went, and a hash over all that happened.

use crate::flow::Connection;

/// A hash over everything that happens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceHash(pub(crate) u64);

impl TraceHash {
    #[inline]
    pub(crate) fn add(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

/// Where a run's packets are, for the conservation tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Data packets sent.
    pub sent: u64,
    /// Data packets dropped by the bottleneck.
    pub dropped: u64,
    /// Data packets that reached a receiver (receivers run ahead of the clock).
    pub received: u64,
    /// Of these, the ones it had already.
    pub duplicates: u64,
    /// Segments handed to the applications, in order.
    pub in_order: u64,
    /// Segments waiting for a gap to be filled.
    pub out_of_order: u64,
    /// ACKs sent. This and all that follow are of two-way runs only.
    pub acks_sent: u64,
    /// ACKs dropped by the queue on the way back.
    pub acks_dropped: u64,
    /// ACKs that reached a sender.
    pub acks_received: u64,
    /// ACKs still on their way when the run or their connection ended.
    pub acks_on_the_way: u64,
}

impl Census {
    /// Counts what a connection has received, and the ACKs still on their way.
    pub(crate) fn add(&mut self, connection: &Connection) {
        let receiver = &connection.receiver;
        self.duplicates += receiver.duplicates();
        self.in_order += receiver.delivered();
        self.out_of_order += receiver.waiting();
        self.acks_on_the_way += connection.acks.len();
    }
}
