//! The sending end of a connection: its state, which mechanism by mechanism has a module of its own.
//! `order` has the way of an ACK, `output` what the sender sends, `timeouts` what the clock causes.

use super::advertised_window;
use super::bursts::Bursts;
use super::host::Host;
use super::limits::{FlowLimits, Limits};
use super::loss::{DupThresh, LossDetection, NewReno, Tlp};
use super::pacing::{Pacer, SK_PACING_NONE};
use super::plan::{lasting_specials, RARE, SLOW};
use super::profile::{Kernel, Switches};
use super::rate::RateSampler;
use super::recovery::{Frto, Reduction, SackFrto, Undo};
use super::rtt::RoundTrip;
use super::scoreboard::{Rings, Scoreboard};
use super::small_queue::{InSoftirq, SmallQueue};
use super::timers::Timers;
use super::validate::Validation;
use super::write_queue::WriteQueue;
use crate::scenario::EcnMode;
use ackclock_host::{Configured, CongestionControl, Era};

/// The sending end of a connection. In memory the fields have this order: what each ACK and burst
/// needs comes first.
#[repr(C)]
pub struct Sender {
    /// What makes an ACK or a burst uncommon ([`plan`](super::plan)).
    pub(super) special: u8,
    /// Which of these bits stay.
    pub(super) lasting: u8,
    /// Which kernel's order an ACK has.
    pub(super) era: Era,
    pub(super) bursts: Bursts,
    pub(super) rexmit: Rexmit,
    /// No short way is taken (ADR 17).
    pub(super) long_way: bool,
    /// The timer is set when the turn of a predicted ACK ends.
    pub(super) sets_timer: bool,
    pub(super) reduction: Reduction,
    pub(super) frto: Frto,
    /// A burst of several segments ends with PSH (`__tcp_transmit_skb`): they are one packet.
    pub(super) pushes_bursts: bool,
    pub(super) timers: Timers,
    pub(super) tlp: Tlp,
    pub(super) pacer: Pacer,
    pub(super) limits: Limits,
    pub(super) sack_frto: SackFrto,
    pub(super) loss: LossDetection,
    pub(super) rtt: RoundTrip,
    pub(super) queue: WriteQueue,
    pub(super) validation: Validation,
    pub(super) totals: Totals,
    pub(super) rate: RateSampler,
    pub(super) host: Host,
    /// Rows for the events table, in order. The caller takes them with `take_events`.
    pub(super) events: Option<Box<Events>>,
    pub(super) board: Scoreboard,
    /// `nxt` when the current state began, if that state is not Open.
    pub(super) high_seq: u64,
    pub(super) undo: Undo,
    /// Segments that D-SACKs have reported (`dsack_dups`).
    pub(super) duplicates: u64,
    /// The application goes on when its write is acknowledged.
    pub(super) awaits_answer: bool,
    /// What it has in the queue of its host's interface, if that is in the scenario.
    pub(super) small_queue: Option<Box<SmallQueue>>,
    /// What it has let go at this instant, if that is not.
    pub(super) in_softirq: InSoftirq,
    /// A key that only the long way sets: how many ACKs were predicted.
    #[cfg(feature = "spare-key")]
    pub(super) spare: Option<Box<u64>>,
}

/// What [`Sender::poll_transmit`] may send besides new data. From `Head` on it is a timer that sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rexmit {
    None,
    /// Lost segments first.
    Lost,
    /// New data first (F-RTO, step 2b).
    New,
    /// The head, lost or not, whatever the window allows.
    Head,
    /// Lost segments, and no new data (`tcp_rack_reo_timeout`): nothing judges the window then.
    Reordering,
    /// A tail loss probe, and nothing besides.
    Probe,
    /// Nothing: the probe has left, or no segment is lost.
    Probed,
    /// A probe of the closed window, which has no data.
    WindowProbe,
    /// A segment of new data: the window is open, but the host's interface has refused it.
    Wakeup,
}

/// An event of a sender that gets a row in the events table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderEvent {
    /// HyStart, or another rule of the algorithm, set ssthresh below infinity.
    SlowStartExit,
    /// Fast recovery began.
    Recovery,
    /// CWR, Recovery or Loss ended.
    Recovered,
    /// The retransmission timer fired.
    Timeout,
    /// A reduction was undone.
    Undo,
    /// The window is reduced because the path has marked packets (ECN).
    Cwr,
}

/// Packets of a connection so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub(super) sent: u64,
    pub(super) retransmitted: u64,
    pub(super) lost: u64,
    /// Packets of a FIN alone, which are none of the above.
    pub(super) fins: u64,
}

impl Totals {
    #[inline]
    pub(super) fn sent(&mut self, segments: u32) {
        self.sent += u64::from(segments);
    }

    /// Retransmissions among the sent packets.
    pub(super) fn retransmitted(&mut self, segments: u32) {
        self.retransmitted += u64::from(segments);
    }

    #[inline]
    pub(super) fn lost(&mut self, segments: u32) {
        self.lost += u64::from(segments);
    }

    /// Data packets sent, retransmissions included.
    #[inline]
    pub(super) fn sent_packets(&self) -> u64 {
        self.sent
    }
}

/// Rows for the events table: the kind, cwnd before it, packets in flight before it. Boxed, as few
/// ACKs have some.
#[derive(Default)]
pub(super) struct Events(pub(super) Vec<(SenderEvent, u32, u32)>);

/// How a connection was established.
#[derive(Clone, Copy, Debug)]
pub struct Handshake {
    /// When the answer to the SYN arrived.
    pub now_ns: u64,
    /// From the SYN to its answer; 0: without timestamps a SYN that was sent again tells nothing.
    pub rtt_ns: u64,
    /// What both ends have agreed to use (RFC 3168, 6.1.1; RFC 9768, 3.1).
    pub ecn: EcnMode,
    /// More than one SYN was sent again, and not for nothing: today's Linux begins with a window of one
    /// packet (`tcp_init_transfer`; RFC 5681, 3.1).
    pub one_packet: bool,
}

impl Sender {
    /// Makes a sender whose connection is established. Its clock first ticks at `tick_phase_ns`.
    pub fn new(
        cc: CongestionControl,
        kernel: &Kernel,
        switches: &Switches,
        limits: FlowLimits,
        handshake: Handshake,
        tick_phase_ns: u64,
    ) -> Self {
        let Handshake {
            now_ns,
            rtt_ns,
            ecn,
            one_packet,
        } = handshake;
        let tp = cc.tp();
        let mss = tp.mss_cache;
        let initial_cwnd = (switches.initcwnd).unwrap_or(kernel.initial_cwnd(mss));
        let cwnd = match one_packet && kernel.era == Era::Linux6 {
            true => 1,
            false => initial_cwnd,
        };
        let clock = kernel.clock(tp.inet_conn.sk.sk_host.hz, tick_phase_ns);
        let mut host = Host::new(cc, clock, cwnd, switches.pacing, now_ns);
        host.use_ecn(ecn);
        host.limit_pacing_rate(switches.max_pacing_rate);
        let rtt = RoundTrip::new(now_ns, rtt_ns, switches);
        let pacer = Pacer::new(kernel.keeps_pacing_rate || switches.pacing);
        rtt.publish(&mut host);
        pacer.update_rate(&mut host);
        host.init();
        let paced = host.tp().inet_conn.sk.sk_pacing_status != SK_PACING_NONE;
        let rate = RateSampler::new(
            host.reads_delivery_rate() || switches.long_way || switches.another_algorithm,
            host.reads_counts_when_sent() || switches.another_algorithm,
        );
        let bursts = kernel.bursts(switches.tso, paced);
        let share = bursts.share(host.tp().snd_cwnd);
        let burst = bursts.limit(&mut host, rtt.min_us()).min(share);
        let tuned =
            (switches.receive_buffer).map(|buffer| buffer.shown_bytes(mss.into()) / u64::from(mss));
        let limits = FlowLimits {
            receive_window: tuned.unwrap_or(limits.receive_window),
            ..limits
        };
        let small_queue = (switches.small_queue).map(|room| Box::new(SmallQueue::new(mss, room)));
        // Of the next burst the turn does not come, but the application has cut it off.
        let first = (small_queue.as_ref()).map_or(u32::MAX, |queue| {
            burst.saturating_mul(queue.first_bursts(&host, burst) + 1)
        });
        let first = first.min(host.tp().snd_cwnd);
        let queue = WriteQueue::new(
            kernel.splits_writes,
            switches.tso,
            host.tp(),
            &limits,
            [first, burst],
        );
        let shown = advertised_window::handshake_packets(u64::from(mss), limits.receive_window);
        let first_window = if shown < initial_cwnd.into() {
            shown
        } else {
            u64::MAX
        };
        let clamps = kernel.clamps_window;
        let mut limits = Limits::new(limits, first_window, clamps, switches.long_way);
        if let Some(first) = tuned {
            limits.tune(first);
        }
        if let Some((end, _)) = queue.first_write() {
            limits.begin_with_first_write(end);
        }
        let loss = match (switches.sack, switches.rack) {
            (true, true) => kernel.loss_detection,
            (true, false) => LossDetection::DupThresh(DupThresh::new()),
            (false, _) => LossDetection::NewReno(NewReno::new()),
        };
        let tlp = Tlp::new(
            kernel.tail_loss_probe && switches.tlp && switches.sack,
            switches.rto_min_us(),
        );
        let mut timers = Timers::new();
        if host.has_no_phase() {
            timers.take_places();
        }
        let rare = host.has_rare_hooks() || rate.is_wanted() || small_queue.is_some();
        #[cfg(feature = "spare-key")]
        let spare = switches.long_way.then(Box::default);
        #[cfg(feature = "spare-key")]
        let rare = rare || spare.is_some();
        Self {
            special: SLOW,
            lasting: lasting_specials((kernel.era, bursts, &loss, &tlp), rare, switches.long_way),
            sets_timer: false,
            host,
            board: Scoreboard::new(),
            pushes_bursts: switches.tso || !kernel.pushes_bursts,
            rtt,
            loss,
            tlp,
            era: kernel.era,
            high_seq: 0,
            reduction: kernel.reduction,
            undo: Undo::default(),
            frto: Frto::new(kernel.frto),
            sack_frto: SackFrto::new(kernel.sack_frto),
            timers,
            pacer,
            bursts,
            queue,
            validation: Validation::new(
                kernel.validates,
                switches.tso,
                initial_cwnd,
                switches.slow_start_after_idle,
            ),
            limits,
            rexmit: Rexmit::None,
            long_way: switches.long_way,
            rate,
            totals: Totals::default(),
            duplicates: 0,
            awaits_answer: false,
            small_queue,
            in_softirq: InSoftirq::new(now_ns),
            #[cfg(feature = "spare-key")]
            spare,
            events: None,
        }
    }

    /// `tcp_reinit_congestion_control`: another algorithm takes over the open connection.
    #[cold]
    pub(crate) fn change_algorithm(
        &mut self,
        configured: &Configured,
        kernel: &Kernel,
        switches: &Switches,
        now_ns: u64,
    ) {
        self.host.clock(now_ns);
        self.host.change_algorithm(configured);
        let paced = self.host.tp().inet_conn.sk.sk_pacing_status != SK_PACING_NONE;
        self.bursts = kernel.bursts(switches.tso, paced);
        self.lasting |= RARE;
        self.special |= SLOW | RARE;
    }

    /// The algorithm gets other parameters.
    pub(crate) fn set_parameters(&mut self, configured: &Configured) {
        self.host.change_algorithm(configured);
    }

    /// Asks for the send times of segments, when the sender itself is in the cache.
    #[inline(always)]
    pub(crate) fn prefetch_slots(&self) {
        self.board.prefetch_slots();
    }

    /// Asks for what a gap needs.
    #[inline(always)]
    pub(crate) fn prefetch_gap(&self) {
        self.board.prefetch_gap();
    }

    /// The rings of its window, for who lends them to it.
    #[inline(always)]
    pub(crate) fn rings(&mut self) -> Rings<'_> {
        self.board.rings()
    }

    /// Gives memory back that it does not need now.
    pub(crate) fn shrink(&mut self) {
        self.board.shrink();
    }
}
