//! Flows of QUIC stacks: what arrives, what is due, what they send.

use super::simulation::Simulation;
use super::wire::Wire;
use crate::flow::ConnectionState;
use crate::guest::{Datagram, End, Event};
use crate::header::Header;
use crate::record::EventKind;
use crate::record::EventRow;

impl<W: Wire> Simulation<'_, W> {
    /// Handles what is due of a flow that is a QUIC stack's.
    #[cold]
    pub(super) fn run_guest(&mut self, element: usize, now_ns: u64) {
        let flow = &mut self.flows[element];
        flow.begin_guest(self.scenario, now_ns);
        if let ConnectionState::Guest(guest) = &mut flow.state {
            guest.advance(now_ns);
        }
        for end in End::ALL {
            while let Some(datagram) = self.guests_datagram(element, end, now_ns) {
                let flow = &mut self.flows[element];
                let datagram = flow.with_field(datagram);
                let (route, to) = match end {
                    End::Sender => (Some(flow.path.data), End::Receiver),
                    End::Receiver => (flow.path.acks, End::Sender),
                };
                match route {
                    Some(route) => {
                        W::send(self, element, now_ns, route, Header::Datagram(to, datagram));
                    }
                    None => flow.datagram_left(to, now_ns, datagram),
                }
            }
        }
        while let Some(event) = self.guests_event(element) {
            self.record_guests_event(element, now_ns, event);
        }
    }

    fn guests_datagram(&mut self, element: usize, end: End, now_ns: u64) -> Option<Datagram> {
        match &mut self.flows[element].state {
            ConnectionState::Guest(guest) => guest.guest()?.poll_transmit(end, now_ns),
            _ => None,
        }
    }

    fn guests_event(&mut self, element: usize) -> Option<Event> {
        match &mut self.flows[element].state {
            ConnectionState::Guest(guest) => guest.guest()?.poll_event(),
            _ => None,
        }
    }

    fn record_guests_event(&mut self, element: usize, now_ns: u64, event: Event) {
        let flow = &mut self.flows[element];
        let sample = flow.sample(self.scenario, now_ns);
        let mss = u64::from(self.scenario.mss_bytes);
        let packets = |bytes: u64| (bytes / mss).try_into().unwrap_or(u32::MAX);
        let now = (sample.cwnd_packets, sample.in_flight_packets);
        let (kind, (cwnd_packets, in_flight_packets)) = match event {
            Event::Established => (EventKind::Established, now),
            Event::Recovery(cwnd, flight) => {
                (EventKind::Recovery, (packets(cwnd), packets(flight)))
            }
            Event::Timeout(cwnd, flight) => (EventKind::Timeout, (packets(cwnd), packets(flight))),
            Event::Completed => (EventKind::Completed, now),
        };
        flow.counts.add(kind);
        if event == Event::Completed {
            flow.completed_ns = now_ns;
        }
        let row = EventRow {
            time_us: now_ns / 1_000,
            flow: flow.number,
            kind,
            cwnd_packets,
            ssthresh_packets: sample.ssthresh_packets,
            in_flight_packets,
        };
        let sampled = self.scenario.sample_interval_ns > 0;
        W::record(self, element, now_ns, row, sampled.then_some(sample));
    }
}
