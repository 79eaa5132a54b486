//! The packets of a flow behind its links: data reaches the receiver, ACKs go back.

use super::{ConnectionState, Flow};
use crate::census::TraceHash;
use crate::header::Header;
use crate::tcp::{Ack, Packet, Transmit};
use ackclock_net::link::Predicted;
use ackclock_net::queue::Cause;

impl Flow<'_> {
    /// IP bytes of the packet with this segment: behind the data, a FIN may be one of its own.
    #[inline]
    pub(crate) fn packet_bytes(&self, segment: u64) -> u32 {
        if segment + 1 < self.segments {
            self.packet_bytes
        } else if self.has_data(segment) {
            self.last_packet_bytes
        } else {
            self.ack_bytes
        }
    }

    /// Where the segment with the FIN ends, if it has left.
    pub(crate) fn fin_end(&self) -> u64 {
        match &self.state {
            ConnectionState::Open(connection) => connection.sender.fin_end(),
            ConnectionState::Connecting(_) | ConnectionState::Guest(_) => 0,
        }
    }

    /// Whether this segment has data: it is no FIN of its own.
    #[inline]
    pub(crate) fn has_data(&self, segment: u64) -> bool {
        segment < self.segments
    }

    /// Sends a burst without the last packet of the flow through its link to the receiver. Returns how
    /// many packets the queue had no room for.
    #[inline(never)]
    pub(crate) fn carry(
        &mut self,
        link: &mut Predicted,
        hash: &mut TraceHash,
        now_ns: u64,
        burst: Transmit,
    ) -> u64 {
        let mut dropped = 0;
        let (mut segment, end) = (burst.first, burst.range().end);
        while segment < end {
            if segment + 2 <= end && link.takes(2, now_ns, self.packet_bytes) {
                let departures_ns = link.enqueue_pair(now_ns, self.packet_bytes);
                hash.add(departures_ns[0]);
                hash.add(departures_ns[1]);
                let at_ns = departures_ns.map(|departs_ns| departs_ns + self.forth_ns);
                self.receive_pair(at_ns, now_ns, segment, burst);
                segment += 2;
                continue;
            }
            if let Some(departs_ns) = link.enqueue(now_ns, self.packet_bytes) {
                hash.add(departs_ns);
                self.receive(departs_ns + self.forth_ns, now_ns, segment, burst);
            } else {
                hash.add(segment);
                self.dropped(segment, Cause::Full);
                dropped += 1;
            }
            segment += 1;
        }
        dropped
    }

    /// Counts a packet that was dropped, if it has data.
    #[inline]
    pub(crate) fn dropped(&mut self, segment: u64, cause: Cause) {
        match cause {
            _ if !self.has_data(segment) => (),
            Cause::Full => self.full_packets += 1,
            _ => self.others.get_or_insert_default().dropped(cause),
        }
    }

    /// A packet of so many segments was dropped in the queue of its host's interface.
    #[cold]
    pub(crate) fn dropped_at_host(&mut self, segments: u16) {
        if let ConnectionState::Open(connection) = &mut self.state {
            connection.sender.dropped(segments.into());
        }
    }

    /// A data packet has left its host's interface.
    #[cold]
    pub(crate) fn has_left(&mut self, now_ns: u64) {
        if let ConnectionState::Open(connection) = &mut self.state {
            connection.sender.left(now_ns);
        }
    }

    /// Counts a packet that was marked.
    pub(crate) fn marked(&mut self) {
        self.others.get_or_insert_default().marked_packets += 1;
    }

    /// A packet of its handshake has left its last link, or `None`: it is dropped.
    #[cold]
    pub(crate) fn control_left(&mut self, header: &Header, departs_ns: Option<u64>) {
        let back_ns = self.back.delay_ns();
        let arrives_ns = departs_ns.map(|departs_ns| departs_ns + self.forth_ns);
        match (&mut self.state, header) {
            (ConnectionState::Connecting(connecting), Header::Syn { answered: true }) => {
                connecting.syn_left(arrives_ns, self.path.acks.is_none().then_some(back_ns));
            }
            (ConnectionState::Connecting(connecting), Header::SynAck) => {
                connecting.syn_ack_left(departs_ns.map(|departs_ns| departs_ns + back_ns));
            }
            (ConnectionState::Open(connection), Header::Established) => {
                if let Some(at_ns) = arrives_ns {
                    connection.receiver.established(at_ns);
                }
            }
            (ConnectionState::Open(connection), Header::WindowProbe) => {
                if let Some(at_ns) = arrives_ns {
                    connection.receiver.on_window_probe(at_ns);
                }
            }
            (_, Header::LastAck(connection)) => {
                if let (Some(session), Some(at_ns)) = (&mut self.session, arrives_ns) {
                    session.last_ack_arrives(*connection, at_ns);
                    self.await_fins();
                }
            }
            _ => (),
        }
    }

    /// As [`receive`](Self::receive), of two packets of a burst without the last.
    #[inline(always)]
    pub(crate) fn receive_pair(
        &mut self,
        at_ns: [u64; 2],
        sent_ns: u64,
        segment: u64,
        burst: Transmit,
    ) {
        let ConnectionState::Open(connection) = &mut self.state else {
            return;
        };
        let receiver = &mut connection.receiver;
        let pushed = self.kernel.pushes_bursts && burst.pushes(segment + 1);
        if receiver.is_ordinary_pair(at_ns, sent_ns, segment, pushed) {
            let (cause, ack) = receiver.handle_pair(sent_ns);
            self.queue_ack(at_ns[cause], ack);
            return;
        }
        self.receive(at_ns[0], sent_ns, segment, burst);
        self.receive(at_ns[1], sent_ns, segment + 1, burst);
    }

    /// Gives the packet of a burst with this segment to its receiver. `at_ns` may be in the future.
    /// Returns whether no more than an ACK on its way to the sender has changed.
    #[inline(never)]
    pub(crate) fn receive(
        &mut self,
        at_ns: u64,
        sent_ns: u64,
        segment: u64,
        burst: Transmit,
    ) -> bool {
        let before_last = segment + 1 < self.segments;
        match &mut self.state {
            ConnectionState::Open(connection)
                if before_last && connection.receiver.is_ordinary(at_ns, segment, sent_ns) =>
            {
                let pushed = self.kernel.pushes_bursts && burst.pushes(segment);
                if let Some(ack) = connection.receiver.handle_ordinary(sent_ns, pushed) {
                    self.queue_ack(at_ns, ack);
                }
                self.path.acks.is_none()
            }
            _ => self.receive_any(at_ns, sent_ns, segment, burst),
        }
    }

    #[inline(never)]
    fn receive_any(&mut self, at_ns: u64, sent_ns: u64, segment: u64, burst: Transmit) -> bool {
        self.receive_tapped(at_ns, sent_ns, segment, burst, |_, _| ());
        false
    }

    /// As [`receive`](Self::receive); shows each ACK that leaves because of it, and when, where
    /// no queue is on the way back.
    #[inline(always)]
    pub(crate) fn receive_tapped(
        &mut self,
        at_ns: u64,
        sent_ns: u64,
        segment: u64,
        burst: Transmit,
        mut leaves: impl FnMut(u64, &Ack),
    ) {
        while let ConnectionState::Open(connection) = &mut self.state {
            let timeout_ns = connection.receiver.poll_timeout();
            // At equal times the timer goes first: it is a softirq (TIMER, HRTIMER) of the pass in which
            // the packet leaves its queue (NET_TX). The receiver hears of it in the next (NET_RX).
            if timeout_ns > at_ns || (timeout_ns == at_ns && connection.receiver.only_reads(at_ns))
            {
                break;
            }
            if let Some(ack) = connection.receiver.handle_timeout(timeout_ns) {
                self.answer(timeout_ns, ack, &mut leaves);
            }
        }
        let ConnectionState::Open(connection) = &mut self.state else {
            return;
        };
        let receiver = &mut connection.receiver;
        let pushed = self.kernel.pushes_bursts && burst.pushes(segment);
        let fin_end = connection.sender.fin_end();
        let (last, from) = (segment + 1 == fin_end, receiver.acknowledged());
        let full = self.last_packet_bytes == self.packet_bytes;
        if self.is_special {
            if self.scenario.gro_ns.is_some() {
                return self.receive_merged(at_ns, sent_ns, segment, burst, leaves);
            }
            let (flags, marks) = ([pushed, last], burst.marks_of(segment));
            let acks = receiver.handle_marked_segment(at_ns, segment, sent_ns, flags, marks);
            for ack in acks.into_iter().flatten() {
                self.answer(at_ns, ack, &mut leaves);
            }
            return;
        }
        if let Some(ack) = receiver.handle_uncommon(at_ns, segment, sent_ns, pushed, last) {
            // More than a segment TCP acknowledges itself, before the application of a session closes: the
            // FIN is the second packet, which ends the connection.
            let data = self.segments.saturating_sub(from);
            let two = ack.ack == fin_end && fin_end > 0 && (data > 1 || (data == 1 && full));
            if two && self.session.is_some() && self.path.acks.is_some() {
                self.answer(at_ns, Ack::new(fin_end - 1, ack.echo_ns), &mut leaves);
            }
            self.answer(at_ns, ack, &mut leaves);
        }
    }

    /// The same where the device merges packets.
    #[cold]
    #[inline(never)]
    fn receive_merged(
        &mut self,
        at_ns: u64,
        sent_ns: u64,
        segment: u64,
        burst: Transmit,
        mut leaves: impl FnMut(u64, &Ack),
    ) {
        let ConnectionState::Open(connection) = &mut self.state else {
            return;
        };
        let full = self.last_packet_bytes == self.packet_bytes;
        let packet = Packet {
            first: segment,
            segments: 1,
            sent_ns,
            marks: burst.marks_of(segment),
            pushed: self.kernel.pushes_bursts && burst.pushes(segment),
            last: segment + 1 == connection.sender.fin_end(),
            is_full: segment + 1 < self.segments || (segment < self.segments && full),
            has_data: segment < self.segments,
        };
        let acks = connection.receiver.handle_packet(at_ns, packet);
        for ack in acks.into_iter().flatten() {
            self.answer(at_ns, ack, &mut leaves);
        }
    }

    /// Queues an ACK, and shows it where no queue is on the way back.
    #[inline(always)]
    fn answer(&mut self, at_ns: u64, ack: Ack, leaves: &mut impl FnMut(u64, &Ack)) {
        if self.path.acks.is_none() {
            leaves(at_ns, &ack);
        }
        self.queue_ack(at_ns, ack);
    }

    /// Queues an ACK that the receiver will send.
    #[inline(always)]
    pub(super) fn queue_ack(&mut self, at_ns: u64, ack: Ack) {
        if self.path.acks.is_none() {
            self.send_ack(at_ns, ack);
        } else if let ConnectionState::Open(connection) = &mut self.state {
            if let Some(acks) = &mut connection.pending_acks {
                acks.push((at_ns, ack));
            }
        }
    }

    /// Sends an ACK to the sender. It takes the propagation delay and the host's jitter, and never
    /// overtakes another ACK.
    #[inline(always)]
    pub(crate) fn send_ack(&mut self, at_ns: u64, ack: Ack) {
        let arrives_ns = self.back.arrives_ns(at_ns);
        if let ConnectionState::Open(connection) = &mut self.state {
            connection.acks.push((arrives_ns, ack));
        }
    }
}
