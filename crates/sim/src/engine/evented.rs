//! The event path: packets wait in queues whose departures nobody can predict. The network between
//! the hosts knows its next event itself; a packet reaches its host when it has left its last link.

use super::{taps, Path, Simulation};
use crate::capture::Data;
use crate::census::{Census, TraceHash};
use crate::flow::Flow;
use crate::tcp::{Ack, Marks, Transmit};
use ackclock_net::network::{Exit, Transit};
use ackclock_net::queue::{Cause, Ecn, Ledger, Packet};

/// A packet of a flow.
pub(super) struct Segment {
    /// The connection that sent it, among those of its session.
    connection: u32,
    header: Header,
}

#[derive(Clone)]
pub(crate) enum Header {
    /// The first SYN that is not yet lost: the receiver will answer it. Other SYNs change nothing.
    Syn {
        answered: bool,
    },
    SynAck,
    /// The last packet of the handshake. Data follows at once, so its loss changes nothing.
    Established,
    /// A copy of a packet of the handshake, which takes its place in queues and changes nothing.
    Copied,
    Data {
        segment: u64,
        sent_ns: u64,
        pushed: bool,
        cwr: bool,
    },
    Ack(Ack),
}

/// Counts the packets that queues drop.
struct Losses<'a, 'b> {
    flows: &'a mut [Flow<'b>],
    census: &'a mut Census,
    hash: &'a mut TraceHash,
}

impl Ledger<Transit<Segment>> for Losses<'_, '_> {
    fn dropped(&mut self, packet: Packet<Transit<Segment>>, cause: Cause) {
        let flow = &mut self.flows[packet.flow as usize];
        let Segment { connection, header } = packet.body.body;
        *self.census.queued_of(&header) -= 1;
        match header {
            Header::Data { segment, .. } => {
                self.hash.add(segment);
                self.census.dropped += 1;
                flow.dropped(cause);
            }
            Header::Ack(_) => self.census.acks_dropped += 1,
            Header::Syn { .. } | Header::SynAck if connection == flow.connection => {
                flow.control_left(&header, None);
            }
            Header::Syn { .. } | Header::SynAck | Header::Established | Header::Copied => (),
        }
    }

    fn marked(&mut self, flow: u32, _cause: Cause) {
        self.flows[flow as usize].marked();
    }

    fn copied(&mut self, packet: &Packet<Transit<Segment>>) -> Option<Packet<Transit<Segment>>> {
        let Segment { connection, header } = &packet.body.body;
        let header = match header {
            Header::Data { .. } | Header::Ack(_) => header.clone(),
            Header::Syn { .. } | Header::SynAck | Header::Established | Header::Copied => {
                Header::Copied
            }
        };
        *self.census.queued_of(&header) += 1;
        match header {
            Header::Data { .. } => self.census.copied += 1,
            Header::Ack(_) => self.census.acks_sent += 1,
            _ => (),
        }
        let connection = *connection;
        let body = packet.body.with(Segment { connection, header });
        Some(Packet { body, ..*packet })
    }
}

impl Simulation<'_> {
    /// Sends the packets of a burst.
    #[inline(never)]
    pub(super) fn send_burst(&mut self, element: usize, now_ns: u64, burst: Transmit) {
        if let Path::Rounds(rounds) = &mut self.path {
            let last = burst.range().end == self.flows[element].segments;
            return rounds.now.burst(burst, last);
        }
        self.tap_sent(element, now_ns, burst);
        for segment in burst.range() {
            let flow = &self.flows[element];
            let (route, bytes) = (flow.way.data, flow.packet_bytes(segment));
            let header = Header::Data {
                segment,
                sent_ns: now_ns,
                pushed: burst.pushes(segment),
                cwr: burst.marks_of(segment).cwr,
            };
            self.send(element, now_ns, route, bytes, burst.marks.field, header);
        }
    }

    /// Sends a packet of a flow on a route.
    pub(super) fn send(
        &mut self,
        element: usize,
        now_ns: u64,
        route: usize,
        bytes: u32,
        ecn: Ecn,
        header: Header,
    ) {
        if let Path::Rounds(rounds) = &mut self.path {
            return rounds.now.send(&header);
        }
        if self.path.next_event_ns() <= now_ns {
            self.carry(now_ns);
        }
        let Path::Evented(network) = &mut self.path else {
            return;
        };
        *self.census.queued_of(&header) += 1;
        let is_data = matches!(header, Header::Data { .. });
        let packet = Packet {
            flow: element as u32,
            bytes,
            ecn,
            arrived_ns: now_ns,
            body: Segment {
                connection: self.flows[element].connection,
                header,
            },
        };
        let mut losses = Losses {
            flows: &mut self.flows,
            census: &mut self.census,
            hash: &mut self.hash,
        };
        network.send(now_ns, route, is_data, packet, &mut losses);
    }

    /// Handles the network's events that are due.
    #[inline]
    pub(super) fn carry(&mut self, now_ns: u64) {
        loop {
            let Path::Evented(network) = &mut self.path else {
                return;
            };
            let mut losses = Losses {
                flows: &mut self.flows,
                census: &mut self.census,
                hash: &mut self.hash,
            };
            let Some(exit) = network.poll(now_ns, &mut losses) else {
                return;
            };
            self.deliver(exit);
        }
    }

    /// Gives a packet that has left its last link to its host.
    #[inline]
    fn deliver(&mut self, exit: Exit<Segment>) {
        let Exit { at_ns, packet } = exit;
        let element = packet.flow as usize;
        let flow = &mut self.flows[element];
        let Segment { connection, header } = packet.body.body;
        let current = connection == flow.connection;
        *self.census.queued_of(&header) -= 1;
        match header {
            Header::Data {
                segment,
                sent_ns,
                pushed,
                cwr,
            } => {
                self.hash.add(at_ns);
                self.census.received += 1;
                if current {
                    let burst = Transmit {
                        first: segment,
                        segments: 1,
                        pushed,
                        marks: Marks {
                            field: packet.ecn,
                            cwr,
                        },
                    };
                    let reaches_ns = at_ns + flow.forth_ns;
                    match &mut self.capture {
                        Some(capture) => {
                            let data = Data::new(segment, sent_ns, burst);
                            taps::receive(capture, (element, flow), reaches_ns, data);
                        }
                        None if segment + 1 == flow.segments => {
                            flow.receive_any(reaches_ns, sent_ns, segment, burst);
                        }
                        None => {
                            let waits = flow.has_acks();
                            if flow.receive(reaches_ns, sent_ns, segment, burst) && waits {
                                // Another ACK arrives before: the flow's next event is the same.
                                return;
                            }
                        }
                    }
                } else {
                    // Its session has had all its data before.
                    self.census.duplicates += 1;
                }
            }
            Header::Ack(ack) if current => flow.send_ack(at_ns, ack),
            Header::Ack(_) => self.census.acks_on_the_way += 1,
            Header::Syn { .. } | Header::SynAck | Header::Established if current => {
                self.control_left(element, &header, Some(at_ns), packet.ecn);
            }
            Header::Syn { .. } | Header::SynAck | Header::Established | Header::Copied => (),
        }
        let next_ns = self.flows[element].next_event_ns();
        if next_ns != self.schedule.at_ns(element) {
            self.schedule.set(element, next_ns);
        }
    }
}
