//! The counts of packets, which the scoreboard keeps.

use ackclock_host::TcpSock;

/// The counts of packets. They are in the socket, where algorithms see them. The scoreboard reports
/// what happened to each packet.
pub(in crate::tcp) struct Counts<'a>(pub(super) &'a mut TcpSock);

impl Counts<'_> {
    /// The counts.
    #[inline]
    pub(in crate::tcp) fn get(&self) -> &TcpSock {
        self.0
    }

    #[inline]
    pub(in crate::tcp) fn sent(&mut self, segments: u32) {
        self.0.packets_out += segments;
    }

    /// The cumulative acknowledgement advanced over these packets.
    #[inline]
    pub(in crate::tcp) fn acknowledged(&mut self, segments: u32) {
        self.0.packets_out -= segments;
    }

    #[inline]
    pub(in crate::tcp) fn delivered(&mut self, segments: u32) {
        self.0.delivered = self.0.delivered.wrapping_add(segments);
    }

    #[inline]
    pub(in crate::tcp) fn sacked(&mut self) {
        self.0.sacked_out += 1;
    }

    #[inline]
    pub(in crate::tcp) fn no_longer_sacked(&mut self) {
        self.0.sacked_out -= 1;
    }

    /// Without SACK `sacked_out` is what duplicate ACKs tell.
    pub(in crate::tcp) fn assume_sacked(&mut self, segments: u32) {
        self.0.sacked_out = segments;
    }

    /// A segment is judged lost, for the first time or again.
    #[inline]
    pub(in crate::tcp) fn lost(&mut self, again: bool) {
        self.0.lost_out += u32::from(!again);
        self.0.lost = self.0.lost.wrapping_add(1);
    }

    /// A segment is no longer judged lost.
    #[inline]
    pub(in crate::tcp) fn no_longer_lost(&mut self, was: bool) {
        self.0.lost_out -= u32::from(was);
    }

    pub(in crate::tcp) fn none_lost(&mut self) {
        self.0.lost_out = 0;
    }

    /// The retransmission of a segment is in flight.
    #[inline]
    pub(in crate::tcp) fn retransmitted(&mut self) {
        self.0.retrans_out += 1;
    }

    /// The retransmission of a segment, if there was one, is no longer in flight.
    #[inline]
    pub(in crate::tcp) fn no_longer_retransmitted(&mut self, was: bool) {
        self.0.retrans_out -= u32::from(was);
    }

    /// A segment was retransmitted, lost or not.
    #[inline]
    pub(in crate::tcp) fn resent(&mut self) {
        self.0.total_retrans = self.0.total_retrans.wrapping_add(1);
    }
}
