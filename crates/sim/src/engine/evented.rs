//! The event path: packets wait in queues whose departures nobody can predict. The network between
//! the hosts knows its next event itself; a packet reaches its host when it has left its last link.

use super::simulation::Simulation;
use super::taps;
use super::wire::Wire;
use crate::capture::Data;
use crate::census::{Census, TraceHash};
use crate::flow::{ConnectionState, Flow};
use crate::guest::Datagram;
use crate::header::Header;
use crate::tcp::{Marks, Transmit};
use ackclock_net::buffer::Buffer;
use ackclock_net::impair::Aims;
use ackclock_net::link::LinkState;
use ackclock_net::network::{Exit, Network, Transit};
use ackclock_net::queue::{Cause, Ecn, Ledger, Packet};
use ackclock_net::schedule::Schedule;

/// A packet of a flow.
pub(super) struct Segment {
    /// The connection that sent it, among those of its session.
    connection: u32,
    header: Header,
}

/// Counts the packets that queues drop.
struct Losses<'a, 'b> {
    flows: &'a mut [Flow<'b>],
    census: &'a mut Census,
    hash: &'a mut TraceHash,
    aims: &'a mut Aims,
    schedule: &'a mut Schedule,
}

impl Ledger<Transit<Segment>> for Losses<'_, '_> {
    fn dropped(&mut self, packet: Packet<Transit<Segment>>, cause: Cause) {
        let flow = &mut self.flows[packet.flow as usize];
        let at_first = packet.body.is_at_first();
        let Segment { connection, header } = packet.body.body;
        *self.census.queued_of(&header) -= 1;
        match header {
            Header::Data {
                segment, segments, ..
            } => {
                self.hash.add(segment);
                self.census.dropped += u64::from(segments);
                (0..segments).for_each(|_| flow.dropped(segment, cause));
                if connection == flow.connection && at_first {
                    flow.dropped_at_host(segments);
                }
            }
            Header::Ack(_) => self.census.acks_dropped += 1,
            Header::Datagram(to, _) => flow.datagram_dropped(to, cause),
            Header::Syn { .. } | Header::SynAck if connection == flow.connection => {
                flow.control_left(&header, None);
            }
            Header::Syn { .. }
            | Header::SynAck
            | Header::Established
            | Header::WindowProbe
            | Header::LastAck(_)
            | Header::Copied => (),
        }
    }

    fn marked(&mut self, flow: u32, _cause: Cause) {
        self.flows[flow as usize].marked();
    }

    fn copied(&mut self, packet: &Packet<Transit<Segment>>) -> Option<Packet<Transit<Segment>>> {
        let Segment { connection, header } = &packet.body.body;
        let header = match header {
            Header::Data { .. } | Header::Ack(_) | Header::Datagram(..) => header.clone(),
            Header::Syn { .. }
            | Header::SynAck
            | Header::Established
            | Header::WindowProbe
            | Header::LastAck(_)
            | Header::Copied => Header::Copied,
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

    fn keeps(&mut self, packet: &Packet<Transit<Segment>>) -> bool {
        packet.body.body.header.is_data() && self.aims.keeps(packet.flow)
    }

    fn aims_at(&mut self, packet: &Packet<Transit<Segment>>) -> Option<bool> {
        let at_first = packet.body.is_at_first();
        (!self.aims.are_over()).then(|| at_first && self.aims.drops(packet.flow))
    }

    fn cut(&mut self, packet: &mut Packet<Transit<Segment>>) -> Option<Packet<Transit<Segment>>> {
        let flow = &self.flows[packet.flow as usize];
        let Segment { connection, header } = &mut packet.body.body;
        let Header::Data {
            segment,
            segments,
            cwr,
            sent_ns,
            ..
        } = header
        else {
            return None;
        };
        if *segments == 1 {
            return None;
        }
        let first = Header::Data {
            segment: *segment,
            sent_ns: *sent_ns,
            pushed: false,
            cwr: std::mem::take(cwr),
            segments: 1,
        };
        let bytes = flow.packet_bytes(*segment);
        (*segment, *segments) = (*segment + 1, *segments - 1);
        let connection = *connection;
        *self.census.queued_of(&first) += 1;
        packet.bytes -= bytes;
        let body = packet.body.with(Segment {
            connection,
            header: first,
        });
        Some(Packet {
            body,
            bytes,
            ..*packet
        })
    }

    fn left(&mut self, packet: &Packet<Transit<Segment>>, now_ns: u64) {
        let (element, body) = (packet.flow as usize, &packet.body.body);
        let flow = &mut self.flows[element];
        if matches!(body.header, Header::Data { .. }) && body.connection == flow.connection {
            flow.has_left(now_ns);
            self.schedule.set(element, flow.next_event_ns());
        }
    }
}

impl Wire for Network<Segment> {
    #[inline(never)]
    fn offer(sim: &mut Simulation<'_, Self>, element: usize, now_ns: u64, burst: Transmit) {
        let flow = (element, &sim.flows[element]);
        taps::sent(&mut sim.capture, flow, now_ns, burst);
        if let ConnectionState::Open(connection) = &mut sim.flows[element].state {
            if connection.sender.queued(burst) {
                sim.offer_whole(element, now_ns, burst);
                return;
            }
        }
        for segment in burst.range() {
            let flow = &sim.flows[element];
            let (route, bytes) = (flow.path.data, flow.packet_bytes(segment));
            let (field, has_data) = (burst.marks.field, flow.has_data(segment));
            let header = Header::Data {
                segment,
                sent_ns: now_ns,
                pushed: burst.pushes(segment),
                cwr: burst.marks_of(segment).cwr,
                segments: 1,
            };
            sim.enter(element, now_ns, route, (bytes, field, has_data), header);
        }
    }

    fn send(
        sim: &mut Simulation<'_, Self>,
        element: usize,
        now_ns: u64,
        route: usize,
        header: Header,
    ) {
        let field = match &header {
            Header::Datagram(_, datagram) => datagram.ecn,
            _ => sim.flows[element].control_field(),
        };
        let bytes = header.bytes(sim.flows[element].scenario);
        let is_data = header.is_data();
        sim.enter(element, now_ns, route, (bytes, field, is_data), header);
    }

    #[inline]
    fn next_event_ns(&self) -> u64 {
        Network::next_event_ns(self)
    }

    #[inline]
    fn handle(sim: &mut Simulation<'_, Self>, now_ns: u64) {
        while sim.wire.next_event_ns() <= now_ns {
            let (network, mut losses) = sim.network_and_losses();
            if let Some(exit) = network.poll(now_ns, &mut losses) {
                sim.deliver(exit);
            }
        }
    }

    fn room(sim: &mut Simulation<'_, Self>, element: usize, now_ns: u64) -> Buffer {
        Wire::handle(sim, now_ns);
        sim.wire.room(now_ns, sim.flows[element].path.data)
    }

    fn watch(&mut self) {
        Network::watch(self);
    }

    fn links(&self) -> usize {
        Network::links(self)
    }

    fn state(&mut self, link: usize, now_ns: u64) -> LinkState {
        Network::state(self, link, now_ns)
    }

    fn packets(&self) -> u64 {
        Network::packets(self)
    }
}

impl<'a> Simulation<'a, Network<Segment>> {
    fn network_and_losses(&mut self) -> (&mut Network<Segment>, Losses<'_, 'a>) {
        let losses = Losses {
            flows: &mut self.flows,
            census: &mut self.census,
            hash: &mut self.hash,
            aims: &mut self.aims,
            schedule: &mut self.schedule,
        };
        (&mut self.wire, losses)
    }

    /// A burst enters the queue of its host's interface, which is to cut it.
    #[cold]
    fn offer_whole(&mut self, element: usize, now_ns: u64, burst: Transmit) {
        let flow = &self.flows[element];
        let route = flow.path.data;
        let bytes = burst
            .range()
            .map(|segment| flow.packet_bytes(segment))
            .sum();
        let header = Header::Data {
            segment: burst.first,
            sent_ns: now_ns,
            pushed: burst.pushed,
            cwr: burst.marks.cwr,
            segments: burst.segments as u16,
        };
        self.enter(
            element,
            now_ns,
            route,
            (bytes, burst.marks.field, true),
            header,
        );
    }

    /// A packet of a flow enters a route.
    fn enter(
        &mut self,
        element: usize,
        now_ns: u64,
        route: usize,
        (bytes, ecn, is_data): (u32, Ecn, bool),
        header: Header,
    ) {
        if self.wire.next_event_ns() <= now_ns {
            Wire::handle(self, now_ns);
        }
        *self.census.queued_of(&header) += 1;
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
        let (network, mut losses) = self.network_and_losses();
        network.send(now_ns, route, is_data, packet, &mut losses);
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
                segments: _,
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
            Header::Datagram(to, datagram) => {
                self.hash.add(at_ns);
                let ecn = packet.ecn;
                flow.datagram_left(to, at_ns, Datagram { ecn, ..datagram });
            }
            Header::LastAck(_) => self.control_left(element, &header, Some(at_ns), packet.ecn),
            Header::Syn { .. } | Header::SynAck | Header::Established | Header::WindowProbe
                if current =>
            {
                self.control_left(element, &header, Some(at_ns), packet.ecn);
            }
            Header::Syn { .. }
            | Header::SynAck
            | Header::Established
            | Header::WindowProbe
            | Header::Copied => (),
        }
        let next_ns = self.flows[element].next_event_ns();
        if next_ns != self.schedule.at_ns(element) {
            self.schedule.set(element, next_ns);
        }
    }
}
