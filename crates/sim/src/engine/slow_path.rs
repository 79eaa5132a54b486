//! The slow path: any event of a flow that is due, and what it changes.

use super::simulation::Simulation;
use super::wire::Wire;
use super::{slow_host, taps};
use crate::flow::{ConnectionState, Due};
use crate::header::{Header, ACK_BYTES};
use crate::packets::Payload;
use crate::record::{EventKind, EventRow, PacketRow};
use crate::tcp::{Ack, Push, SenderEvent, Transmit};
use crate::RunError;
use ackclock_net::buffer::{Buffer, Load};
use ackclock_net::queue::Ecn;
use ackclock_net::schedule::NEVER;

impl<W: Wire> Simulation<'_, W> {
    /// Handles the event of a flow that is due.
    #[inline(never)]
    pub(super) fn slow_path(&mut self, element: usize, now_ns: u64) -> Result<(), RunError> {
        let flow = &mut self.flows[element];
        (self.wire).begin(&mut self.hash, element, flow.number, now_ns);
        let timers_due = self.long_way || flow.next_timer_ns <= now_ns;
        if timers_due && !self.handle_timers(element, now_ns)? {
            return Ok(());
        }
        let flow = &mut self.flows[element];
        let ConnectionState::Open(connection) = &mut flow.state else {
            return Ok(());
        };
        if let Some(busy_until_ns) = self.busy_until_ns.get_mut(element) {
            let cost_ns = self.scenario.sack_cost_ns;
            match slow_host::take_ack(connection, busy_until_ns, cost_ns, now_ns) {
                None => return Ok(()),
                Some(dropped) => {
                    self.census.acks_dropped += dropped * u64::from(flow.path.acks.is_some());
                }
            }
        }
        if let Some(ack) = connection.acks.take_arrived(now_ns) {
            self.census.acks_received += u64::from(flow.path.acks.is_some());
            self.wire.acked(&mut self.hash, ack.ack);
            if let Some(acks) = &mut self.acks {
                let sender = &mut connection.sender;
                match &mut self.acting {
                    Some(acting) => {
                        acting.ack_arrives((element, sender), flow.configured, now_ns)?;
                    }
                    None => acks.push(sender.ack_row(now_ns, flow.number)),
                }
            }
            if let (Some(packets), None) = (&mut self.packets, &flow.session) {
                let bytes = (flow.segments, flow.packet_bytes, flow.last_packet_bytes);
                let bytes = Payload::new(self.scenario.header_of(flow.scenario), bytes);
                let row = PacketRow::from_sender(&connection.sender, now_ns, flow.number, bytes);
                packets.push(row.of_ack(&ack, bytes));
            }
            if let Some(capture) = taps::at(&mut self.capture, now_ns) {
                capture.ack_arrives(now_ns, element, &ack);
            }
            if let Some(left_ns) = ack.left_ns() {
                connection.receiver.ack_reaches(left_ns, now_ns);
            }
            connection.sender.handle_ack(now_ns, &ack);
        }
        if !connection.sender.is_quiet() {
            self.report(element, now_ns)?;
        }
        self.transmit(element, now_ns);
        Ok(())
    }

    /// Sends the packets that the sender has ready.
    #[inline(never)]
    pub(super) fn transmit(&mut self, element: usize, now_ns: u64) {
        if self.flows[element].tells_sender {
            self.tell_sender(element, now_ns);
        }
        loop {
            let before = (self.packets.as_ref()).and_then(|_| self.packet_row(element, now_ns));
            let ConnectionState::Open(connection) = &mut self.flows[element].state else {
                return;
            };
            let Some(burst) = connection.sender.poll_transmit(now_ns) else {
                if connection.end_softirq(now_ns) {
                    continue;
                }
                return;
            };
            self.send_burst(element, now_ns, burst, before);
        }
    }

    /// What a sender knows before it sends.
    #[cold]
    fn tell_sender(&mut self, element: usize, now_ns: u64) {
        let ConnectionState::Open(connection) = &mut self.flows[element].state else {
            return;
        };
        let follow = connection.acks.arrived(now_ns).is_some();
        connection.sender.acks_follow(follow);
        if connection.sender.has_small_queue() {
            let room = W::room(self, element, now_ns);
            let bytes = self.flows[element].packet_bytes;
            if let ConnectionState::Open(connection) = &mut self.flows[element].state {
                connection.sender.tell_room(room, bytes);
            }
        }
    }

    #[inline(always)]
    fn send_burst(
        &mut self,
        element: usize,
        now_ns: u64,
        burst: Transmit,
        before: Option<(PacketRow, Payload)>,
    ) {
        if let (Some(packets), Some((row, bytes))) = (&mut self.packets, before) {
            let rows = burst.range().map(|segment| row.of_data(segment, bytes));
            // A FIN of its own has no data.
            rows.filter(|row| row.from_bytes < row.to_bytes)
                .for_each(|row| packets.push(row));
        }
        self.census.sent += u64::from(burst.segments);
        W::offer(self, element, now_ns, burst);
    }

    /// A row of the table of packets, and the sizes of what its flow sends; `None`: it is a session.
    #[cold]
    fn packet_row(&self, element: usize, now_ns: u64) -> Option<(PacketRow, Payload)> {
        let flow = &self.flows[element];
        match (&flow.state, &flow.session) {
            (ConnectionState::Open(connection), None) => {
                let bytes = (flow.segments, flow.packet_bytes, flow.last_packet_bytes);
                let bytes = Payload::new(self.scenario.header_of(flow.scenario), bytes);
                let row = PacketRow::from_sender(&connection.sender, now_ns, flow.number, bytes);
                Some((row, bytes))
            }
            _ => None,
        }
    }

    /// Sends an ACK of a receiver, through the queue on the way back if there is one.
    pub(super) fn acknowledge(&mut self, element: usize, now_ns: u64, ack: Ack) {
        let flow = &mut self.flows[element];
        if let Some(capture) = taps::at(&mut self.capture, now_ns) {
            capture.ack_leaves(now_ns, element, flow.control_field(), &ack);
        }
        match flow.path.acks {
            None => flow.send_ack(now_ns, ack),
            Some(route) => {
                self.census.acks_sent += 1;
                W::send(self, element, now_ns, route, Header::Ack(ack));
            }
        }
    }

    /// A packet of a handshake has left its last link, or `None`: it is dropped.
    pub(super) fn control_left(
        &mut self,
        element: usize,
        header: &Header,
        departs_ns: Option<u64>,
        field: Ecn,
    ) {
        let flow = &mut self.flows[element];
        if let (Some(capture), Some(at_ns)) = (&mut self.capture, departs_ns) {
            taps::control(capture, (element, flow), at_ns, field, header);
        }
        flow.control_left(header, departs_ns);
    }

    /// Records what an ACK or a timer has changed.
    #[inline(never)]
    pub(super) fn report(&mut self, element: usize, now_ns: u64) -> Result<(), RunError> {
        self.fault(element, now_ns)?;
        self.record_events(element, now_ns);
        Ok(())
    }

    /// Handles an event that is due and not an ACK. Returns whether the sender may send now: after its
    /// timer, or if an ACK comes first.
    #[inline(never)]
    pub(super) fn handle_timers(&mut self, element: usize, now_ns: u64) -> Result<bool, RunError> {
        let flow = &mut self.flows[element];
        let ConnectionState::Open(connection) = &mut flow.state else {
            self.connect(element, now_ns)?;
            return Ok(false);
        };
        // An application that reads after the packets of an instant waits for those that ACKs let leave.
        let ack_comes = connection.acks.arrived(now_ns).is_some();
        let reads = ack_comes && connection.receiver.only_reads_batch(now_ns);
        if !W::IN_TURNS && connection.receiver.poll_timeout() <= now_ns && !reads {
            if let Some(ack) = connection.receiver.handle_timeout(now_ns) {
                self.acknowledge(element, now_ns, ack);
            }
            return Ok(false);
        }
        let pending_acks = connection.pending_acks.as_mut();
        if let Some(ack) = pending_acks.and_then(|acks| acks.take_arrived(now_ns)) {
            self.acknowledge(element, now_ns, ack);
            return Ok(false);
        }
        if flow.application_ns <= now_ns {
            return Ok(!self.run_application(element, now_ns, ack_comes));
        }
        let sender = &mut connection.sender;
        // What pacing holds back leaves before an ACK of the same instant is handled: Linux's timer
        // (HRTIMER_SOFTIRQ) runs before an ACK that another timer lets come (NET_RX_SOFTIRQ, anew).
        if ack_comes && sender.pacing_ends(now_ns) {
            sender.handle_timeout(now_ns);
            self.transmit(element, now_ns);
            return Ok(false);
        }
        if !ack_comes && sender.poll_timeout() <= now_ns {
            sender.handle_timeout(now_ns);
            if sender.take_window_probe() {
                let route = flow.path.data;
                W::send(self, element, now_ns, route, Header::WindowProbe);
            }
        }
        Ok(true)
    }

    /// Returns whether the sender can send nothing now: its application has stopped, or the FINs of earlier
    /// connections were due, and no ACK comes.
    #[cold]
    #[inline(never)]
    fn run_application(&mut self, element: usize, now_ns: u64, ack_comes: bool) -> bool {
        if self.answer_fins(element, now_ns) {
            return !ack_comes;
        }
        let flow = &mut self.flows[element];
        let stopped = flow.application_ns <= now_ns && flow.run_application(self.scenario, now_ns);
        if let (ConnectionState::Open(connection), true) = (&flow.state, stopped) {
            if connection.sender.is_complete() {
                self.record_events(element, now_ns);
            }
        }
        while let Some(push) = self.flows[element].write_packet() {
            match push {
                None => self.write_on(element),
                Some(Push::All) => self.transmit(element, now_ns),
                Some(Push::One) => self.push_one(element, now_ns),
            }
        }
        stopped
    }

    /// Sends a burst of what the application writes.
    #[cold]
    fn push_one(&mut self, element: usize, now_ns: u64) {
        self.tell_sender(element, now_ns);
        let before = (self.packets.as_ref()).and_then(|_| self.packet_row(element, now_ns));
        let ConnectionState::Open(connection) = &mut self.flows[element].state else {
            return;
        };
        match connection.sender.push_one() {
            Some(burst) => self.send_burst(element, now_ns, burst, before),
            None => self.write_on(element),
        }
    }

    /// What the application has written waits.
    fn write_on(&mut self, element: usize) {
        if let ConnectionState::Open(connection) = &mut self.flows[element].state {
            connection.sender.write_on();
        }
    }

    /// A host sends a packet of the handshake: SYN and final ACK take the way of data, the SYN-ACK the
    /// way back.
    pub(super) fn connect(&mut self, element: usize, now_ns: u64) -> Result<(), RunError> {
        if self.answer_fins(element, now_ns) {
            return Ok(());
        }
        let flow = &mut self.flows[element];
        let (path, field) = (flow.path, flow.control_field());
        let retry_ns = flow.syn_again_ns(self.scenario.hz, now_ns);
        let ConnectionState::Connecting(connecting) = &mut flow.state else {
            self.run_guest(element, now_ns);
            return Ok(());
        };
        match connecting.due(now_ns, retry_ns) {
            Due::Syn { answered } => {
                if let Some(capture) = taps::at(&mut self.capture, now_ns) {
                    let header_bytes = self.scenario.header_of(flow.scenario);
                    let last_bytes = flow.last_packet_bytes - header_bytes;
                    let connection = (flow.connection, flow.segments, last_bytes);
                    let ecn = (connecting.ecn, field);
                    capture.syn_leaves(now_ns, element, connection, ecn, answered);
                }
                W::send(self, element, now_ns, path.data, Header::Syn { answered });
            }
            Due::SynAck => {
                let Some(route) = path.acks else {
                    return Ok(());
                };
                if let Some(capture) = taps::at(&mut self.capture, now_ns) {
                    capture.syn_ack_leaves(now_ns, element, field);
                }
                W::send(self, element, now_ns, route, Header::SynAck);
            }
            Due::Open(handshake, answered_ns) => {
                // Its last packet leaves first.
                let last = Load {
                    packets: 1,
                    bytes: ACK_BYTES.into(),
                };
                let room = match self.scenario.is_at_sender(flow.scenario) {
                    true => W::room(self, element, now_ns).beside(last),
                    false => Buffer::ENDLESS,
                };
                let flow = &mut self.flows[element];
                flow.open(self.scenario, (handshake, answered_ns), room);
                if let Some(capture) = taps::at(&mut self.capture, now_ns) {
                    capture.syn_ack_arrives(now_ns, element, field);
                    capture.established_leaves(now_ns, element, flow.control_field());
                }
                W::send(self, element, now_ns, path.data, Header::Established);
                self.record_event(element, now_ns, EventKind::Established, None);
                self.run_application(element, now_ns, true);
                self.fault(element, now_ns)?;
                self.transmit(element, now_ns);
            }
        }
        Ok(())
    }

    /// Ends the run if the algorithm has set an impossible window.
    #[cold]
    pub(super) fn fault(&self, element: usize, now_ns: u64) -> Result<(), RunError> {
        let ConnectionState::Open(connection) = &self.flows[element].state else {
            return Ok(());
        };
        let Some((field, value, most)) = connection.sender.fault() else {
            return Ok(());
        };
        Err(RunError::Algorithm {
            kind: if self.flows[element].session.is_some() {
                "session"
            } else {
                "flow"
            },
            flow: self.flows[element].number,
            algorithm: self.scenario.algorithm(element).into(),
            field,
            value,
            time_us: now_ns / 1_000,
            most,
        })
    }

    #[cold]
    pub(super) fn record_events(&mut self, element: usize, now_ns: u64) {
        let flow = &mut self.flows[element];
        let ConnectionState::Open(connection) = &mut flow.state else {
            return;
        };
        let events = connection.sender.take_events();
        let complete = connection.sender.is_complete() && flow.completed_ns == NEVER;
        for (event, cwnd, in_flight) in events {
            let kind = match event {
                SenderEvent::SlowStartExit => EventKind::SlowStartExit,
                SenderEvent::Recovery => EventKind::Recovery,
                SenderEvent::Cwr => EventKind::Cwr,
                SenderEvent::Recovered => EventKind::Recovered,
                SenderEvent::Timeout => EventKind::Timeout,
                SenderEvent::Undo => EventKind::Undo,
            };
            self.record_event(element, now_ns, kind, Some((cwnd, in_flight)));
        }
        if !complete || self.flows[element].is_answered(now_ns) {
        } else if self.flows[element].session.is_some() {
            self.end_transfer(element, now_ns);
        } else {
            self.flows[element].completed_ns = now_ns;
            self.record_event(element, now_ns, EventKind::Completed, None);
        }
    }

    /// Ends the transfer of a session: removes the connection and draws the next one.
    pub(super) fn end_transfer(&mut self, element: usize, now_ns: u64) {
        // The ACK that ends it is the receiver's FIN (`tcp_time_wait`).
        self.flows[element].await_last_ack(self.scenario.hz, now_ns);
        self.send_last_ack(element, now_ns, self.flows[element].connection);
        let flow = &mut self.flows[element];
        let transfer = flow.transfer(self.scenario, now_ns);
        if let (ConnectionState::Open(connection), Some(session), Some(transfer)) =
            (&flow.state, &mut flow.session, transfer)
        {
            session.complete(&transfer, &connection.sender);
            self.census.add(connection, flow.path);
            self.result.transfers.push(transfer);
        }
        flow.prepare(self.scenario, now_ns);
    }

    fn send_last_ack(&mut self, element: usize, now_ns: u64, connection: u32) {
        let route = self.flows[element].path.data;
        W::send(self, element, now_ns, route, Header::LastAck(connection));
    }

    /// FINs of a session's receivers come again, if it is time. Returns whether they do.
    #[cold]
    fn answer_fins(&mut self, element: usize, now_ns: u64) -> bool {
        let flow = &mut self.flows[element];
        let session = flow.session.as_mut();
        let Some(session) = session.filter(|of| of.next_fin_ns() <= now_ns) else {
            return false;
        };
        for connection in session.take_fins(now_ns) {
            self.send_last_ack(element, now_ns, connection);
        }
        self.flows[element].await_fins();
        true
    }

    pub(super) fn record_event(
        &mut self,
        element: usize,
        now_ns: u64,
        kind: EventKind,
        before: Option<(u32, u32)>,
    ) {
        let flow = &mut self.flows[element];
        flow.counts.add(kind);
        let ConnectionState::Open(connection) = &flow.state else {
            return;
        };
        if flow.session.is_some() {
            return;
        }
        let tp = connection.sender.tp();
        let (cwnd, in_flight) =
            before.unwrap_or((tp.snd_cwnd, connection.sender.packets_in_flight()));
        let event = EventRow {
            time_us: now_ns / 1_000,
            flow: flow.number,
            kind,
            cwnd_packets: cwnd,
            ssthresh_packets: tp.snd_ssthresh,
            in_flight_packets: in_flight,
        };
        let sampled = self.scenario.sample_interval_ns > 0;
        let sample = sampled.then(|| flow.sample(self.scenario, now_ns));
        W::record(self, element, now_ns, event, sample);
    }
}
