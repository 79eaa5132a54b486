//! What a flow does in its turn, and in no other run: its receiver is a round behind its sender.

use crate::flow::{ConnectionState, Flow};
use crate::tcp::Transmit;
use ackclock_net::queue::Cause;
use ackclock_net::schedule::NEVER;

impl Flow<'_> {
    /// Gives the first one or two packets of a burst to its receiver, unless they were dropped. Returns
    /// how many were. `last`: the burst ends the flow.
    #[inline(always)]
    pub(super) fn take_packets(
        &mut self,
        departs_ns: [Result<u64, Cause>; 2],
        sent_ns: u64,
        burst: Transmit,
        last: bool,
    ) -> u64 {
        if let ([Ok(first_ns), Ok(second_ns)], 2, false) = (departs_ns, burst.segments, last) {
            let at_ns = [first_ns, second_ns].map(|departs_ns| departs_ns + self.forth_ns);
            self.receive_pair(at_ns, sent_ns, burst.first, burst);
            return 0;
        }
        let mut dropped = 0;
        for (segment, departs_ns) in burst.range().zip(departs_ns) {
            match departs_ns {
                Ok(departs_ns) => {
                    self.receive(departs_ns + self.forth_ns, sent_ns, segment, burst);
                }
                Err(cause) => {
                    dropped += 1;
                    self.dropped(segment, cause);
                }
            }
        }
        dropped
    }

    /// When the flow wants to run next, but for its receiver. Call it after each change.
    #[inline]
    pub(super) fn next_of_sender_ns(&mut self) -> u64 {
        let ConnectionState::Open(connection) = &self.state else {
            return self.next_of_handshake_ns();
        };
        self.next_timer_ns = (self.application_ns).min(connection.sender.poll_timeout());
        connection.acks.first_at_ns().min(self.next_timer_ns)
    }

    /// When its receiver wants to run next.
    #[inline]
    pub(super) fn receiver_timeout_ns(&self) -> u64 {
        match &self.state {
            ConnectionState::Open(connection) => connection.receiver.poll_timeout(),
            ConnectionState::Connecting(_) | ConnectionState::Guest(_) => NEVER,
        }
    }

    /// Asks for what the next turn needs besides the flow itself, when that is in the cache.
    #[inline]
    pub(super) fn prefetch_gaps(&self) {
        if let ConnectionState::Open(connection) = &self.state {
            connection.sender.prefetch_gap();
            connection.receiver.prefetch_gap();
        }
    }
}
