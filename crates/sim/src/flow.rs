//! One flow or session: the two ends of its connection, the ACKs between them, and
//! when it wants to run next.

mod application;
mod guest;
mod guest_connection;
mod handshake;
mod hosts;
mod last_fin;
mod packets;
mod rows;

pub(crate) use guest_connection::GuestConnection;
pub(crate) use handshake::{Connecting, Due};
pub(crate) use last_fin::LastFin;

use crate::acks::AckLine;
use crate::header::ACK_BYTES;
use crate::record::EventCounts;
use crate::scenario::{EcnMode, Flow as FlowScenario, Scenario};
use crate::session::Session;
use crate::tcp::profile::Kernel;
use crate::tcp::{Handshake, Receiver, Sender};
use crate::topology::Path;
use crate::write_schedule::WriteSchedule;
use ackclock_host::{Configured, PooledBox};
use ackclock_net::buffer::Buffer;
use ackclock_net::line::Line;
use ackclock_net::queue::Tally;
use ackclock_net::rng::{Draw, Owner, Stream};
use ackclock_net::schedule::NEVER;

/// The state of a flow's connection.
#[allow(clippy::large_enum_variant, reason = "not boxed, for speed")]
pub(crate) enum ConnectionState {
    /// The flow has not started, or a SYN is on its way.
    Connecting(Connecting),
    /// Established. Not boxed: its flow is next to it in memory.
    Open(Connection),
    /// A QUIC stack, from before its handshake on.
    Guest(Box<GuestConnection>),
}

impl ConnectionState {
    /// The connection, if it is established.
    #[inline(always)]
    pub(crate) fn open(&mut self) -> Option<&mut Connection> {
        match self {
            Self::Open(connection) => Some(connection),
            Self::Connecting(_) | Self::Guest(_) => None,
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
    /// Ends the softirq if nothing else of the connection is due. Returns whether it has held packets back.
    #[inline(always)]
    pub(crate) fn end_softirq(&mut self, now_ns: u64) -> bool {
        self.sender.waits_for_softirq_end(now_ns) && self.can_end_softirq(now_ns)
    }

    #[cold]
    fn can_end_softirq(&mut self, now_ns: u64) -> bool {
        self.acks.arrived(now_ns).is_none()
            && !self.receiver.only_reads_batch(now_ns)
            && self.sender.end_softirq(now_ns)
    }

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
    pub(crate) path: Path,
    /// The flow's own delay behind its last link; `back` is the delay on the way back.
    pub(crate) forth_ns: u64,
    pub(crate) back: Line,
    /// IP bytes of a bare ACK.
    pub(crate) ack_bytes: u32,
    ecn: EcnMode,
    /// Its packets may have marks, or its receiver merges them.
    is_special: bool,
    /// Its packets may arrive several at one instant.
    pub(crate) in_batches: bool,
    /// So the sender hears of ACKs that follow; or of the room in its host's own interface.
    pub(crate) tells_sender: bool,
    pub(crate) state: ConnectionState,

    /// The session that draws the next connection. A flow has only one connection, and no session.
    pub(crate) session: Option<Box<Session>>,
    /// What its connections draw; `None` when there will be no more.
    draws: Option<PooledBox<Draws>>,
    pub(crate) scenario: &'a FlowScenario,
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
    /// An application that writes now and then.
    application: Option<Box<WriteSchedule>>,
}

/// The random streams of connections.
struct Draws {
    rtt: Stream,
    cc: Stream,
}

impl<'a> Flow<'a> {
    /// Makes a flow; with `session`, makes a session.
    pub(crate) fn new(
        number: u32,
        scenario: &Scenario,
        flow: &'a FlowScenario,
        path: Path,
        session: Option<Session>,
        configured: &'a Configured,
        long_way: bool,
    ) -> Self {
        let owner = match session {
            Some(_) => Owner::Session(number),
            None => Owner::Flow(number),
        };
        let stream = |draw| Stream::for_owner(scenario.seed, owner, draw);
        let ecn = match flow.ecn {
            _ if configured.algorithm().needs_accurate_ecn() => EcnMode::Accurate,
            EcnMode::Off if configured.algorithm().needs_ecn() => EcnMode::Classic,
            ecn => ecn,
        };
        let packet_bytes = scenario.mss_of(flow) + scenario.header_of(flow);
        let mut new = Self {
            number,
            session: session.map(Box::new),
            connection: 0,
            state: ConnectionState::Connecting(Connecting::new(NEVER, ecn, flow.timestamps)),
            draws: Some(PooledBox::new(Draws {
                rtt: stream(Draw::Rtt),
                cc: stream(Draw::Cc),
            })),
            scenario: flow,
            configured,
            kernel: Kernel::shared(scenario.profile_of(flow)),
            path,
            rtt_ns: flow.rtt_ns,
            forth_ns: 0,
            back: Line::new(0, scenario.jitter_ns, stream(Draw::Jitter)),
            start_ns: 0,
            application_ns: flow.stop_ns.unwrap_or(NEVER),
            next_timer_ns: NEVER,
            segments: u64::MAX,
            packet_bytes,
            last_packet_bytes: packet_bytes,
            ack_bytes: ACK_BYTES - flow.missing_bytes(),
            ecn,
            is_special: ecn != EcnMode::Off || flow.gro_ns.is_some(),
            in_batches: scenario.arrives_in_batches(flow),
            tells_sender: scenario.arrives_in_batches(flow) || scenario.is_at_sender(flow),
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
            application: None,
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
        self.rtt_ns = own_ns + self.path.delay_ns;
        let [forth_ns, back_ns] = self.path.split_ns(own_ns);
        self.forth_ns = forth_ns;
        self.back.restart(back_ns);
        self.state = match self.scenario.stack {
            None => {
                let stamps = self.scenario.timestamps;
                ConnectionState::Connecting(Connecting::new(self.start_ns, self.ecn, stamps))
            }
            Some(_) => ConnectionState::Guest(Box::default()),
        };
        if let Some(bytes) = size_bytes {
            let mss = u64::from(scenario.mss_of(self.scenario));
            self.segments = bytes.div_ceil(mss);
            let last_bytes = (bytes - (self.segments - 1) * mss) as u32;
            self.last_packet_bytes = scenario.header_of(self.scenario) + last_bytes;
        }
    }

    /// Opens a connection after its handshake.
    pub(crate) fn open(
        &mut self,
        scenario: &Scenario,
        (handshake, answered_ns): (Handshake, u64),
        room: Buffer,
    ) {
        let mut sender = self.establish(scenario, handshake, room);
        self.begin_to_write(&mut sender, handshake.now_ns);
        let mut receiver = self.accept(scenario, handshake.ecn);
        // While the links have their smallest delays.
        let least_rtt_ns = self.rtt_ns - self.path.delay_ns + self.path.least_delay_ns;
        let back_ns = self.path.acks.is_none().then(|| self.back.delay_ns());
        receiver.measure_rtt(answered_ns, back_ns, least_rtt_ns);
        if self.session.is_none() {
            self.draws = None;
        }
        self.state = ConnectionState::Open(Connection {
            sender,
            receiver,
            pending_acks: (self.path.acks).map(|_| PooledBox::new(AckLine::default())),
            acks: AckLine::default(),
        });
    }

    /// Asks for what the next event needs besides the flow itself, when that is in the cache.
    #[inline]
    pub(crate) fn prefetch_more(&self) {
        if let ConnectionState::Open(connection) = &self.state {
            connection.acks.prefetch_slots();
            connection.sender.prefetch_slots();
            connection.receiver.prefetch_gap();
        }
    }

    /// The same, when that is in the cache, too.
    #[inline]
    pub(crate) fn prefetch_slots(&self) {
        if let ConnectionState::Open(connection) = &self.state {
            connection.acks.prefetch_first();
        }
    }

    /// Gives memory back that a larger window needed.
    pub(crate) fn shrink(&mut self) {
        if let ConnectionState::Open(connection) = &mut self.state {
            connection.acks.shrink();
            connection.sender.shrink();
        }
    }

    /// When the flow wants to run next. Call it after each change.
    #[inline]
    pub(crate) fn next_event_ns(&mut self) -> u64 {
        let next_timer_ns = self.update_next_timer_ns();
        let ConnectionState::Open(connection) = &self.state else {
            return next_timer_ns;
        };
        connection.acks.first_at_ns().min(next_timer_ns)
    }

    /// When the flow wants to run next for another reason than an ACK. Call it after each change.
    #[inline]
    pub(crate) fn update_next_timer_ns(&mut self) -> u64 {
        let ConnectionState::Open(connection) = &self.state else {
            return self.next_of_handshake_ns();
        };
        self.next_timer_ns = self
            .next_independent_ns()
            .min(connection.sender.poll_timeout());
        self.next_timer_ns
    }

    /// When the flow wants to run next for a reason that a common ACK does not change.
    #[inline]
    pub(crate) fn next_independent_ns(&self) -> u64 {
        let ConnectionState::Open(connection) = &self.state else {
            return NEVER;
        };
        (connection.next_pending_ack_ns())
            .min(connection.receiver.poll_timeout())
            .min(self.application_ns)
    }

    #[cold]
    pub(crate) fn next_of_handshake_ns(&mut self) -> u64 {
        self.next_timer_ns = match &mut self.state {
            ConnectionState::Connecting(connecting) => {
                let fin_ns = self.session.as_ref().map_or(NEVER, |of| of.next_fin_ns());
                connecting.next_event_ns().min(fin_ns)
            }
            ConnectionState::Open(_) => NEVER,
            ConnectionState::Guest(guest) => guest.next_event_ns(self.start_ns),
        };
        self.next_timer_ns
    }

    /// Whether ACKs are on their way to the sender.
    #[inline]
    pub(crate) fn has_acks(&self) -> bool {
        matches!(&self.state, ConnectionState::Open(connection) if !connection.acks.is_empty())
    }
}
