//! One flow or session: the two ends of its connection, the ACKs between them, and
//! when it wants to run next.

mod handshake;

pub(crate) use handshake::{Connecting, Due};

use crate::acks::AckLine;
use crate::census::TraceHash;
use crate::common::Progress;
use crate::engine::evented::Header;
use crate::record::{EventCounts, FlowRow, SampleRow, SessionRow, State, TransferRow};
use crate::scenario::{self, EcnMode, Flow as FlowScenario, Hides, Scenario};
use crate::session::Session;
use crate::tcp::profile::{Kernel, Reads, Switches};
use crate::tcp::{Ack, Clock, FlowLimits, Handshake, Receiver, Sender, Transmit};
use crate::topology::Way;
use ackclock_host::{Configured, CongestionControl, HostConfig, PooledBox, TCP_INFINITE_SSTHRESH};
use ackclock_net::line::Line;
use ackclock_net::link::Predicted;
use ackclock_net::queue::{Cause, Ecn, Tally};
use ackclock_net::rng::{Draw, Owner, Stream};
use ackclock_net::schedule::NEVER;

/// `SO_RCVLOWAT` of an application that reads in bulk.
const BULK_READ_BYTES: u64 = 262_144;

/// The phase of a flow.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Phase {
    /// The flow has not started, or a SYN is on its way.
    Connecting(Connecting),
    /// Established. Not boxed: its flow is next to it in memory.
    Open(Connection),
}

impl Phase {
    /// The connection, if it is established.
    #[inline(always)]
    pub(crate) fn open(&mut self) -> Option<&mut Connection> {
        match self {
            Self::Open(connection) => Some(connection),
            Self::Connecting(_) => None,
        }
    }
}

/// In memory the sender is last: many events do not need it.
#[repr(C)]
pub(crate) struct Connection {
    pub(crate) acks: AckLine,
    /// ACKs that the receiver, ahead of the clock, will send. `None` in one-way runs, which put them
    /// into `acks` at once.
    pub(crate) pending_acks: Option<PooledBox<AckLine>>,
    pub(crate) receiver: Receiver,
    pub(crate) sender: Sender,
}

impl Connection {
    /// When the receiver sends the first of its pending ACKs.
    #[inline(always)]
    pub(crate) fn next_pending_ack_ns(&self) -> u64 {
        match &self.pending_acks {
            Some(acks) => acks.first_at_ns(),
            None => NEVER,
        }
    }
}

/// In memory the fields have this order: what each ACK and packet needs comes first.
#[repr(C, align(64))]
pub(crate) struct Flow<'a> {
    /// Number among the flows, or among the sessions; from 1.
    pub(crate) number: u32,
    /// IP bytes of each data packet, and of the last.
    pub(crate) packet_bytes: u32,
    pub(crate) last_packet_bytes: u32,
    /// How many connections it has had.
    pub(crate) connection: u32,
    /// When it wants to run next for another reason than an ACK.
    pub(crate) next_timer_ns: u64,
    /// When its application acts next: writes a frame, or stops.
    pub(crate) application_ns: u64,
    pub(crate) segments: u64,
    pub(crate) kernel: &'static Kernel,
    pub(crate) way: Way,
    /// The flow's own delay behind its last link; `back` is the delay on the way back.
    pub(crate) forth_ns: u64,
    pub(crate) back: Line,
    ecn: EcnMode,
    pub(crate) phase: Phase,

    /// The session that draws the next connection. A flow has only one connection, and no session.
    pub(crate) session: Option<Box<Session>>,
    /// What its connections draw; `None` when there will be no more.
    draws: Option<PooledBox<Draws>>,
    scenario: &'a FlowScenario,
    pub(crate) configured: &'a Configured,
    /// Propagation delay of its connection there and back, with the delays of links.
    pub(crate) rtt_ns: u64,
    pub(crate) start_ns: u64,
    /// [`NEVER`]: not yet.
    pub(crate) completed_ns: u64,
    /// Packets for which a queue had no room.
    full_packets: u64,
    /// What else happened to packets, if anything did.
    others: Option<Box<Tally>>,
    pub(crate) counts: EventCounts,
    tick_phase_ns: u32,
    /// Its hosts take no short way (ADR 17).
    long_way: bool,
}

/// The random streams of connections.
struct Draws {
    rtt: Stream,
    cc: Stream,
}

/// What a scenario switches on its hosts.
fn switches(scenario: &Scenario, long_way: bool) -> Switches {
    Switches {
        tso: scenario.tso,
        pacing: scenario.pacing,
        segments_per_ack: scenario.delayed_ack_segments,
        reads: match scenario.reads {
            scenario::Reads::AtOnce => Reads::AtOnce,
            scenario::Reads::Bulk => Reads::Bulk {
                segments: BULK_READ_BYTES.div_ceil(scenario.mss_bytes.into()),
            },
        },
        long_way,
    }
}

impl<'a> Flow<'a> {
    /// Makes a flow; with `session`, makes a session.
    pub(crate) fn new(
        number: u32,
        scenario: &Scenario,
        flow: &'a FlowScenario,
        way: Way,
        session: Option<Session>,
        configured: &'a Configured,
        long_way: bool,
    ) -> Self {
        let owner = match session {
            Some(_) => Owner::Session(number),
            None => Owner::Flow(number),
        };
        let stream = |draw| Stream::of(scenario.seed, owner, draw);
        let ecn = match flow.ecn {
            EcnMode::Off if configured.algorithm().needs_ecn() => EcnMode::Classic,
            ecn => ecn,
        };
        let mut new = Self {
            number,
            session: session.map(Box::new),
            connection: 0,
            phase: Phase::Connecting(Connecting::new(NEVER, ecn)),
            draws: Some(PooledBox::new(Draws {
                rtt: stream(Draw::Rtt),
                cc: stream(Draw::Cc),
            })),
            scenario: flow,
            configured,
            kernel: Kernel::shared(scenario.profile),
            way,
            rtt_ns: flow.rtt_ns,
            forth_ns: 0,
            back: Line::new(0, scenario.jitter_ns, stream(Draw::Jitter)),
            start_ns: 0,
            application_ns: flow.stop_ns.unwrap_or(NEVER),
            next_timer_ns: NEVER,
            segments: u64::MAX,
            packet_bytes: scenario.packet_bytes(),
            last_packet_bytes: scenario.packet_bytes(),
            ecn,
            // Hosts without noise tick at whole multiples of their tick.
            tick_phase_ns: match scenario.jitter_ns {
                0 => 0,
                _ => stream(Draw::Tick).up_to(1_000_000_000 / u64::from(scenario.hz)) as u32,
            },
            completed_ns: NEVER,
            full_packets: 0,
            others: None,
            counts: EventCounts::default(),
            long_way,
        };
        let start_ns = flow.start_ns + stream(Draw::Start).up_to(flow.start_spread_ns);
        new.prepare(scenario, start_ns);
        new
    }

    /// Draws the next connection of a source that has been idle since `idle_ns`.
    pub(crate) fn prepare(&mut self, scenario: &Scenario, idle_ns: u64) {
        let Some(draws) = &mut self.draws else { return };
        self.start_ns = idle_ns;
        self.connection += 1;
        let mut size_bytes = self.scenario.size_bytes;
        if let Some(session) = &mut self.session {
            self.start_ns += session.draw_gap_ns();
            size_bytes = session.draw_bytes();
        }
        let extra_ns = draws.rtt.exponential(self.scenario.rtt_exponential_ns);
        let own_ns = self.scenario.rtt_ns + extra_ns;
        self.rtt_ns = own_ns + self.way.delay_ns;
        let [forth_ns, back_ns] = self.way.split_ns(own_ns);
        self.forth_ns = forth_ns;
        self.back.restart(back_ns);
        self.phase = Phase::Connecting(Connecting::new(self.start_ns, self.ecn));
        if let Some(bytes) = size_bytes {
            let mss = u64::from(scenario.mss_bytes);
            self.segments = bytes.div_ceil(mss);
            let last_bytes = (bytes - (self.segments - 1) * mss) as u32;
            self.last_packet_bytes = scenario.header_bytes + last_bytes;
        }
    }

    /// When a SYN that leaves now is sent again, unless it is answered. The wait doubles each time, in
    /// Linux 6 from the sixth SYN on (`tcp_syn_linear_timeouts`), where it also counts jiffies.
    pub(crate) fn syn_again_ns(&self, hz: u32, now_ns: u64) -> u64 {
        let Phase::Connecting(connecting) = &self.phase else {
            return NEVER;
        };
        let doublings = connecting
            .syns
            .saturating_sub(self.kernel.linear_syns)
            .min(6);
        let wait_us = self.kernel.initial_rto_us << doublings;
        if self.kernel.linear_syns == 0 {
            return now_ns + wait_us * 1_000;
        }
        let mut clock = Clock::new(self.kernel, hz, self.tick_phase_ns.into());
        clock.advance(now_ns);
        clock.fires_ns(clock.jiffies_of_us(wait_us))
    }

    /// Opens a connection after its handshake.
    pub(crate) fn open(&mut self, scenario: &Scenario, handshake: Handshake, answered_ns: u64) {
        let mut sender = self.establish(scenario, handshake);
        if self.scenario.frames.is_some() {
            sender.write_nothing();
            self.application_ns = handshake.now_ns;
        }
        let mut receiver = self.accept(scenario, handshake.ecn);
        // While the links have their smallest delays.
        let least_rtt_ns = self.rtt_ns - self.way.delay_ns + self.way.least_delay_ns;
        receiver.measure_rtt(answered_ns, self.back.delay_ns(), least_rtt_ns);
        if self.session.is_none() {
            self.draws = None;
        }
        self.phase = Phase::Open(Connection {
            sender,
            receiver,
            pending_acks: (self.way.acks).map(|_| PooledBox::new(AckLine::default())),
            acks: AckLine::default(),
        });
    }

    /// The application writes a frame, or stops. Returns whether it has stopped.
    #[cold]
    pub(crate) fn run_application(&mut self, scenario: &Scenario, now_ns: u64) -> bool {
        let stop_ns = self.scenario.stop_ns.unwrap_or(NEVER);
        let Phase::Open(connection) = &mut self.phase else {
            return false;
        };
        if stop_ns <= now_ns {
            connection.sender.stop_writing();
            self.application_ns = NEVER;
            return true;
        }
        if let Some(frames) = self.scenario.frames {
            let segments = frames.size_bytes.div_ceil(scenario.mss_bytes.into());
            connection.sender.write_more(now_ns, segments);
            self.application_ns = stop_ns.min(now_ns + frames.every_ns);
        }
        false
    }

    /// Asks for what the next event needs besides the flow itself, when that is in the cache.
    #[inline]
    pub(crate) fn prefetch_more(&self) {
        if let Phase::Open(connection) = &self.phase {
            connection.acks.prefetch_slots();
            connection.sender.prefetch_slots();
            connection.receiver.prefetch_gap();
        }
    }

    /// Asks for what the next turn needs besides the flow itself, when that is in the cache.
    #[inline]
    pub(crate) fn prefetch_gaps(&self) {
        if let Phase::Open(connection) = &self.phase {
            connection.sender.prefetch_gap();
            connection.receiver.prefetch_gap();
        }
    }

    /// The same, when that is in the cache, too.
    #[inline]
    pub(crate) fn prefetch_slots(&self) {
        if let Phase::Open(connection) = &self.phase {
            connection.acks.prefetch_first();
        }
    }

    /// Gives memory back that a larger window needed.
    pub(crate) fn shrink(&mut self) {
        if let Phase::Open(connection) = &mut self.phase {
            connection.acks.shrink();
            connection.sender.shrink();
        }
    }

    /// The receiver of a connection that is established now.
    fn accept(&mut self, scenario: &Scenario, ecn: EcnMode) -> Receiver {
        let clock = Clock::new(self.kernel, scenario.hz, self.tick_phase_ns.into());
        let mut receiver = Receiver::new(
            self.kernel,
            &switches(scenario, self.long_way),
            clock,
            self.rtt_ns,
        );
        if self.scenario.hides == Hides::Losses {
            receiver.hide_losses();
        }
        receiver.has_segments_of(scenario.mss_bytes);
        if let Some(bytes) = self.scenario.receive_window_bytes {
            receiver.offer_at_most(bytes / u64::from(scenario.mss_bytes), scenario.mss_bytes);
        }
        match ecn {
            _ if self.scenario.hides == Hides::Marks => (),
            EcnMode::Off => (),
            EcnMode::Classic => {
                let needed = self.needs_ecn();
                receiver.use_ecn(needed.then(|| self.congestion_control(scenario)));
            }
            EcnMode::Accurate => receiver.use_accurate_ecn(),
        }
        receiver
    }

    /// Whether the algorithm asks for ECN, and runs at both ends.
    pub(crate) fn needs_ecn(&self) -> bool {
        self.configured.algorithm().needs_ecn()
    }

    /// The ECN field of the packets without new data that the hosts send now. Linux allows marks on
    /// them only if the algorithm needs ECN, or after a handshake for accurate ECN (`tcp_ecn_send`).
    pub(crate) fn control_field(&self) -> Ecn {
        let allowed = match &self.phase {
            Phase::Connecting(connecting) => connecting.ecn != EcnMode::Off && self.needs_ecn(),
            Phase::Open(Connection { receiver, .. }) => {
                receiver.uses_accurate_ecn() || (receiver.uses_ecn() && self.needs_ecn())
            }
        };
        if allowed {
            Ecn::Ect0
        } else {
            Ecn::NotEct
        }
    }

    fn congestion_control(&mut self, scenario: &Scenario) -> CongestionControl {
        let ssthresh = match &self.session {
            Some(session) => session.ssthresh(),
            None => (self.scenario.initial_ssthresh_packets).unwrap_or(TCP_INFINITE_SSTHRESH),
        };
        CongestionControl::new(
            self.configured,
            HostConfig {
                hz: scenario.hz,
                era: self.kernel.era,
                random_seed: self.draws.as_mut().map_or(0, |draws| draws.cc.bits()),
                mss_bytes: scenario.mss_bytes,
                initial_cwnd: self.kernel.initial_cwnd(scenario.mss_bytes),
                initial_ssthresh: ssthresh,
            },
        )
    }

    fn establish(&mut self, scenario: &Scenario, handshake: Handshake) -> Sender {
        let cc = self.congestion_control(scenario);
        let mss = u64::from(scenario.mss_bytes);
        let in_segments = |bytes: Option<u64>| bytes.map_or(u64::MAX, |bytes| bytes / mss);
        let limits = FlowLimits {
            segments: self.segments,
            receive_window: in_segments(self.scenario.receive_window_bytes),
            send_buffer: in_segments(self.scenario.send_buffer_bytes),
        };
        Sender::new(
            cc,
            self.kernel,
            &switches(scenario, self.long_way),
            limits,
            handshake,
            self.tick_phase_ns.into(),
        )
    }

    /// When the flow wants to run next. Call it after each change.
    #[inline]
    pub(crate) fn next_event_ns(&mut self) -> u64 {
        let next_timer_ns = self.update_next_timer_ns();
        let Phase::Open(connection) = &self.phase else {
            return next_timer_ns;
        };
        connection.acks.first_at_ns().min(next_timer_ns)
    }

    /// When the flow wants to run next for another reason than an ACK. Call it after each change.
    #[inline]
    pub(crate) fn update_next_timer_ns(&mut self) -> u64 {
        let Phase::Open(connection) = &self.phase else {
            return self.next_of_handshake_ns();
        };
        self.next_timer_ns = self
            .next_independent_ns()
            .min(connection.sender.poll_timeout());
        self.next_timer_ns
    }

    /// When the flow wants to run next, but for its receiver. Call it after each change.
    #[inline]
    pub(crate) fn next_of_sender_ns(&mut self) -> u64 {
        let Phase::Open(connection) = &self.phase else {
            return self.next_of_handshake_ns();
        };
        self.next_timer_ns = (self.application_ns).min(connection.sender.poll_timeout());
        connection.acks.first_at_ns().min(self.next_timer_ns)
    }

    /// When its receiver wants to run next.
    #[inline]
    pub(crate) fn receiver_timeout_ns(&self) -> u64 {
        match &self.phase {
            Phase::Open(connection) => connection.receiver.poll_timeout(),
            Phase::Connecting(_) => NEVER,
        }
    }

    /// When the flow wants to run next for a reason that a common ACK does not change.
    #[inline]
    pub(crate) fn next_independent_ns(&self) -> u64 {
        let Phase::Open(connection) = &self.phase else {
            return NEVER;
        };
        (connection.next_pending_ack_ns())
            .min(connection.receiver.poll_timeout())
            .min(self.application_ns)
    }

    #[cold]
    fn next_of_handshake_ns(&mut self) -> u64 {
        self.next_timer_ns = match &self.phase {
            Phase::Connecting(connecting) => connecting.next_event_ns(),
            Phase::Open(_) => NEVER,
        };
        self.next_timer_ns
    }

    /// Whether ACKs are on their way to the sender.
    #[inline]
    pub(crate) fn has_acks(&self) -> bool {
        matches!(&self.phase, Phase::Open(connection) if !connection.acks.is_empty())
    }

    /// IP bytes of the data packet with this segment.
    #[inline]
    pub(crate) fn packet_bytes(&self, segment: u64) -> u32 {
        if segment + 1 == self.segments {
            self.last_packet_bytes
        } else {
            self.packet_bytes
        }
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
                self.dropped(Cause::Full);
                dropped += 1;
            }
            segment += 1;
        }
        dropped
    }

    /// Gives the first one or two packets of a burst to its receiver, unless they were dropped. Returns
    /// how many were. `last`: the burst ends the flow.
    #[inline(always)]
    pub(crate) fn take_packets(
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
                Ok(departs_ns) if last => {
                    self.receive_any(departs_ns + self.forth_ns, sent_ns, segment, burst);
                }
                Ok(departs_ns) => {
                    self.receive(departs_ns + self.forth_ns, sent_ns, segment, burst);
                }
                Err(cause) => {
                    dropped += 1;
                    self.dropped(cause);
                }
            }
        }
        dropped
    }

    /// Counts a packet that was dropped.
    #[inline]
    pub(crate) fn dropped(&mut self, cause: Cause) {
        match cause {
            Cause::Full => self.full_packets += 1,
            _ => self.others.get_or_insert_default().dropped(cause),
        }
    }

    /// Counts a packet that was marked.
    pub(crate) fn marked(&mut self) {
        self.others.get_or_insert_default().marked_packets += 1;
    }

    /// What happened to its packets.
    fn tally(&self) -> Tally {
        let others = self.others.as_deref().copied().unwrap_or_default();
        Tally {
            dropped_packets: self.full_packets + others.dropped_packets,
            ..others
        }
    }

    /// A packet of its handshake has left its last link, or `None`: it is dropped.
    #[cold]
    pub(crate) fn control_left(&mut self, header: &Header, departs_ns: Option<u64>) {
        let back_ns = self.back.delay_ns();
        let arrives_ns = departs_ns.map(|departs_ns| departs_ns + self.forth_ns);
        match (&mut self.phase, header) {
            (Phase::Connecting(connecting), Header::Syn { answered: true }) => {
                connecting.syn_left(arrives_ns, self.way.acks.is_none().then_some(back_ns));
            }
            (Phase::Connecting(connecting), Header::SynAck) => {
                connecting.syn_ack_left(departs_ns.map(|departs_ns| departs_ns + back_ns));
            }
            (Phase::Open(connection), Header::Established) => {
                if let Some(at_ns) = arrives_ns {
                    connection.receiver.established(at_ns);
                }
            }
            _ => (),
        }
    }

    /// As [`receive`](Self::receive), of two packets of a burst.
    #[inline(always)]
    fn receive_pair(&mut self, at_ns: [u64; 2], sent_ns: u64, segment: u64, burst: Transmit) {
        let Phase::Open(connection) = &mut self.phase else {
            return;
        };
        let receiver = &mut connection.receiver;
        let pushed = self.kernel.pushes_bursts && burst.pushes(segment + 1);
        if receiver.is_ordinary_pair(at_ns, segment, pushed) {
            let (cause, ack) = receiver.handle_pair(sent_ns);
            self.queue_ack(at_ns[cause], ack);
            return;
        }
        self.receive(at_ns[0], sent_ns, segment, burst);
        self.receive(at_ns[1], sent_ns, segment + 1, burst);
    }

    /// As [`receive_any`](Self::receive_any), of a packet that is not the last: most need less. Returns
    /// whether no more than an ACK on its way has changed.
    #[inline(never)]
    pub(crate) fn receive(
        &mut self,
        at_ns: u64,
        sent_ns: u64,
        segment: u64,
        burst: Transmit,
    ) -> bool {
        let Phase::Open(connection) = &mut self.phase else {
            return false;
        };
        let timeout_ns = connection.receiver.poll_timeout();
        if !connection.receiver.is_ordinary(at_ns, segment) {
            self.receive_any(at_ns, sent_ns, segment, burst);
            return false;
        }
        let same_timeout = connection.receiver.poll_timeout() == timeout_ns;
        let pushed = self.kernel.pushes_bursts && burst.pushes(segment);
        if let Some(ack) = connection.receiver.handle_ordinary(sent_ns, pushed) {
            self.queue_ack(at_ns, ack);
        }
        same_timeout && self.way.acks.is_none()
    }

    /// Gives the packet of a burst with this segment to its receiver. `at_ns` may be in the future.
    #[inline(never)]
    pub(crate) fn receive_any(&mut self, at_ns: u64, sent_ns: u64, segment: u64, burst: Transmit) {
        self.receive_tapped(at_ns, sent_ns, segment, burst, |_, _| ());
    }

    /// As [`receive_any`](Self::receive_any); shows each ACK that leaves because of it, and when, where
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
        let one_way = self.way.acks.is_none();
        let mut answer = |flow: &mut Self, at_ns, ack| {
            if one_way {
                leaves(at_ns, &ack);
            }
            flow.queue_ack(at_ns, ack);
        };
        while let Phase::Open(connection) = &mut self.phase {
            let timeout_ns = connection.receiver.poll_timeout();
            // At equal times the timer goes first in two-way runs.
            if timeout_ns >= at_ns + u64::from(self.way.acks.is_some()) {
                break;
            }
            if let Some(ack) = connection.receiver.handle_timeout(timeout_ns) {
                answer(self, timeout_ns, ack);
            }
        }
        let Phase::Open(connection) = &mut self.phase else {
            return;
        };
        let receiver = &mut connection.receiver;
        let pushed = self.kernel.pushes_bursts && burst.pushes(segment);
        let last = segment + 1 == self.segments;
        if self.ecn != EcnMode::Off {
            let (flags, marks) = ([pushed, last], burst.marks_of(segment));
            let acks = receiver.handle_marked_segment(at_ns, segment, sent_ns, flags, marks);
            for ack in acks.into_iter().flatten() {
                answer(self, at_ns, ack);
            }
            return;
        }
        if let Some(ack) = receiver.handle_segment(at_ns, segment, sent_ns, pushed, last) {
            answer(self, at_ns, ack);
        }
    }

    /// Queues an ACK that the receiver will send.
    #[inline(always)]
    fn queue_ack(&mut self, at_ns: u64, ack: Ack) {
        if self.way.acks.is_none() {
            self.send_ack(at_ns, ack);
        } else if let Phase::Open(connection) = &mut self.phase {
            if let Some(acks) = &mut connection.pending_acks {
                acks.push(at_ns, ack);
            }
        }
    }

    /// Sends an ACK to the sender. It takes the propagation delay and the host's jitter, and never
    /// overtakes another ACK.
    #[inline(always)]
    pub(crate) fn send_ack(&mut self, at_ns: u64, ack: Ack) {
        let arrives_ns = self.back.arrives_ns(at_ns);
        if let Phase::Open(connection) = &mut self.phase {
            connection.acks.push(arrives_ns, ack);
        }
    }

    fn delivered_bytes(&self, scenario: &Scenario, una: u64) -> u64 {
        let whole = una * u64::from(scenario.mss_bytes);
        if una < self.segments {
            whole
        } else {
            whole - u64::from(self.packet_bytes - self.last_packet_bytes)
        }
    }

    pub(crate) fn sample(&self, scenario: &Scenario, now_ns: u64) -> SampleRow {
        let mut row = SampleRow {
            time_us: now_ns / 1_000,
            flow: self.number,
            cwnd_packets: self.kernel.initial_cwnd(scenario.mss_bytes),
            ssthresh_packets: TCP_INFINITE_SSTHRESH,
            srtt_us: 0,
            min_rtt_us: 0,
            in_flight_packets: 0,
            delivered_packets: 0,
            delivered_bytes: 0,
            lost_packets: 0,
            retransmitted_packets: 0,
            state: State(0),
        };
        if let Phase::Open(connection) = &self.phase {
            let sender = &connection.sender;
            let tp = sender.tp();
            let (_, retransmitted_packets, lost_packets) = sender.totals();
            row = SampleRow {
                cwnd_packets: tp.snd_cwnd,
                ssthresh_packets: tp.snd_ssthresh,
                srtt_us: tp.srtt_us >> 3,
                min_rtt_us: sender.min_rtt_us(),
                in_flight_packets: sender.packets_in_flight(),
                delivered_packets: sender.delivered_packets(),
                delivered_bytes: self.delivered_bytes(scenario, sender.una()),
                lost_packets,
                retransmitted_packets,
                state: State(tp.inet_conn.icsk_ca_state),
                ..row
            };
        }
        row
    }

    /// What it has carried so far; a session with all its connections. Losses that the receiver hides
    /// are acknowledged, too, and do not count.
    pub(crate) fn progress(&self, scenario: &Scenario) -> Progress {
        let mut progress = Progress::default();
        if let Phase::Open(connection) = &self.phase {
            let sender = &connection.sender;
            progress.sent = self.delivered_bytes(scenario, sender.nxt());
            progress.acked = self.delivered_bytes(scenario, sender.una());
        }
        if let Some(session) = &self.session {
            let over = session.over().delivered_bytes;
            (progress.sent, progress.acked) = (progress.sent + over, progress.acked + over);
        }
        if self.scenario.hides == Hides::Losses {
            let hidden = self.tally().dropped_packets * u64::from(scenario.mss_bytes);
            progress.sent = progress.sent.saturating_sub(hidden);
            progress.acked = progress.acked.saturating_sub(hidden);
        }
        progress
    }

    /// The totals of the flow.
    pub(crate) fn row(&self, scenario: &Scenario, common_bytes: u64) -> FlowRow {
        let tally = self.tally();
        let mut row = FlowRow {
            flow: self.number,
            start_us: self.start_ns / 1_000,
            completed_us: match self.completed_ns {
                NEVER => 0,
                ns => ns / 1_000,
            },
            delivered_bytes: 0,
            common_bytes,
            sent_packets: 0,
            retransmitted_packets: 0,
            dropped_packets: tally.dropped_packets,
            early_dropped_packets: tally.early_dropped_packets,
            link_lost_packets: tally.lost_packets,
            policed_packets: tally.policed_packets,
            marked_packets: tally.marked_packets,
            recoveries: self.counts.recoveries.into(),
            timeouts: self.counts.timeouts.into(),
            undos: self.counts.undos.into(),
            min_rtt_us: 0,
            receive_window_limited_us: 0,
            send_buffer_limited_us: 0,
        };
        if let Phase::Open(connection) = &self.phase {
            let sender = &connection.sender;
            let (receive_window_ns, send_buffer_ns) = sender.limited_ns(scenario.duration_ns);
            (row.sent_packets, row.retransmitted_packets, _) = sender.totals();
            row.delivered_bytes = self.delivered_bytes(scenario, sender.una());
            row.min_rtt_us = sender.min_rtt_us().into();
            row.receive_window_limited_us = receive_window_ns / 1_000;
            row.send_buffer_limited_us = send_buffer_ns / 1_000;
        }
        row
    }

    /// The totals of the session.
    pub(crate) fn session_row(
        &self,
        scenario: &Scenario,
        session: &Session,
        common_bytes: u64,
    ) -> SessionRow {
        let (over, open) = (session.over(), self.row(scenario, common_bytes));
        SessionRow {
            delivered_bytes: over.delivered_bytes + open.delivered_bytes,
            common_bytes,
            sent_packets: over.sent_packets + open.sent_packets,
            retransmitted_packets: over.retransmitted_packets + open.retransmitted_packets,
            dropped_packets: self.tally().dropped_packets,
            recoveries: self.counts.recoveries.into(),
            timeouts: self.counts.timeouts.into(),
            ..over
        }
    }

    /// The current transfer of the session; `None` if the transfer has no end.
    pub(crate) fn transfer(&self, scenario: &Scenario, completed_ns: u64) -> Option<TransferRow> {
        (self.segments < u64::MAX).then(|| TransferRow {
            session: self.number,
            start_us: self.start_ns / 1_000,
            completed_us: completed_ns / 1_000,
            size_bytes: self.delivered_bytes(scenario, self.segments),
        })
    }
}
