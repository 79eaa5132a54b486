//! The way of an ACK from its arrival to the new window: `tcp_ack`, in the order of Linux, and
//! nothing else.
//!
//! Algorithms rely on the order in which an ACK calls their hooks (Linux 6, `tcp_ack`):
//!
//! 1. SACK tagging.
//! 2. The cumulative acknowledgement.
//! 3. `pkts_acked`.
//! 4. `in_ack_event`.
//! 5. The recovery state machine: `ssthresh`, `set_state`, `cwnd_event(COMPLETE_CWR)`, `undo_cwnd`.
//! 6. `cong_control`; without it PRR in CWR and Recovery, and `cong_avoid` in other states.
//!
//! Linux 2.6 has the event before 2, and calls `cong_avoid` before the state machine.
//!
//! Each mechanism has a module and a state of its own. `transmit` has what the sender then sends,
//! `timers` has what the clock causes, and `recovery` has the states.

use super::bursts::Bursts;
use super::host::Host;
use super::limits::{FlowLimits, Limits};
use super::loss::{Answer, LossDetection, Tlp};
use super::pacing::{Pacer, SK_PACING_NONE};
use super::profile::{Kernel, Switches};
use super::ranges::Range;
use super::rate::{AckCounts, RateSampler};
use super::recovery::{Frto, Machine, Reduction, SackFrto, Undo};
use super::report::{Events, SenderEvent, Totals};
use super::rtt::RoundTrip;
use super::scoreboard::{Delivery, Scoreboard, Windows};
use super::timers::Timers;
use super::transmit::Rexmit;
use super::validate::Validation;
use super::write_queue::WriteQueue;
use super::Ack;
use crate::scenario::EcnMode;
use ackclock_host::{AckSample, CaState, CongestionControl, TCP_INFINITE_SSTHRESH};

/// What the current ACK has shown (Linux's FLAG_*).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckFlags {
    pub una_advanced: bool,
    pub data_sacked: bool,
    pub duplicate_sack: bool,
    pub original_delivered: bool,
    pub lost_retransmission: bool,
    pub set_timer: bool,
    /// The ACK tells of new marks: it carries ECE, or a larger count (RFC 9768).
    pub ece: bool,
    /// The ACK neither advances `snd_una` nor has SACK blocks.
    pub pure_duplicate: bool,
    pub echo_ns: u64,
    pub newly_lost: u32,
    pub newly_delivered: u32,
}

impl AckFlags {
    /// The flag of `cong_control`, as Linux's `tcp_input.c` numbers it. `slow`: header prediction
    /// failed.
    fn linux(self, slow: bool, retransmitted_acked: bool) -> i32 {
        let bits = [
            (self.una_advanced, 0x02),        // FLAG_WIN_UPDATE
            (self.una_advanced, 0x04),        // FLAG_DATA_ACKED
            (retransmitted_acked, 0x08),      // FLAG_RETRANS_DATA_ACKED
            (self.data_sacked, 0x20),         // FLAG_DATA_SACKED
            (self.ece, 0x40),                 // FLAG_ECE
            (self.lost_retransmission, 0x80), // FLAG_LOST_RETRANS
            (slow, 0x100),                    // FLAG_SLOWPATH
            (self.original_delivered, 0x200), // FLAG_ORIG_SACK_ACKED
            (self.una_advanced, 0x400),       // FLAG_SND_UNA_ADVANCED
            (self.duplicate_sack, 0x800),     // FLAG_DSACKING_ACK
            (self.set_timer, 0x1000),         // FLAG_SET_XMIT_TIMER
        ];
        bits.iter().map(|&(set, bit)| bit * i32::from(set)).sum()
    }
}

/// The sending end of a connection. In memory the fields have this order: what each ACK and burst
/// needs comes first.
#[repr(C)]
pub struct Sender {
    pub(super) machine: Machine,
    pub(super) bursts: Bursts,
    pub(super) rexmit: Rexmit,
    /// All that can be sent now is sent: the next [`poll_transmit`](Self::poll_transmit) need not try.
    pub(super) turn_is_over: bool,
    /// No short way is taken (ADR 17).
    pub(super) long_way: bool,
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
    duplicates: u64,
}

/// How a connection was established.
#[derive(Clone, Copy, Debug)]
pub struct Handshake {
    /// When the answer to the SYN arrived.
    pub now_ns: u64,
    /// From the SYN to its answer.
    pub rtt_ns: u64,
    /// What both ends have agreed to use (RFC 3168, 6.1.1; RFC 9768, 3.1).
    pub ecn: EcnMode,
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
        } = handshake;
        let mut host = Host::new(cc, kernel, switches, now_ns, tick_phase_ns);
        host.use_ecn(ecn);
        let initial_cwnd = host.tp().snd_cwnd;
        let rtt = RoundTrip::new(now_ns, rtt_ns, switches.long_way);
        let pacer = Pacer::new(kernel, switches);
        publish_rtt(&mut host, &rtt);
        pacer.update_rate(&mut host);
        host.init();
        let paced = host.tp().inet_conn.sk.sk_pacing_status != SK_PACING_NONE;
        let rate = RateSampler::new(host.reads_delivery_rate() || switches.long_way);
        let bursts = Bursts::new(kernel, switches, paced);
        let share = bursts.share(host.tp().snd_cwnd);
        let burst = bursts.limit(&mut host, rtt.min_us()).min(share);
        let queue = WriteQueue::new(kernel, switches, host.tp(), &limits, burst);
        let mut limits = Limits::new(limits, kernel, switches.long_way);
        limits.autotune(host.send_buffer());
        Self {
            host,
            board: Scoreboard::new(),
            pushes_bursts: switches.tso || !kernel.pushes_bursts,
            rtt,
            loss: kernel.loss_detection,
            tlp: Tlp::new(kernel.tail_loss_probe),
            machine: kernel.machine,
            high_seq: 0,
            reduction: kernel.reduction,
            undo: Undo::default(),
            frto: Frto::new(kernel.frto),
            sack_frto: SackFrto::new(kernel.sack_frto),
            timers: Timers::new(),
            pacer,
            bursts,
            queue,
            validation: Validation::new(kernel, switches, initial_cwnd),
            limits,
            rexmit: Rexmit::None,
            turn_is_over: false,
            long_way: switches.long_way,
            rate,
            totals: Totals::default(),
            duplicates: 0,
            events: None,
        }
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

    /// Its window rests. Returns how many segments and retransmissions are in it.
    #[inline(always)]
    pub(crate) fn rest(&mut self, windows: &mut Windows) -> (usize, usize) {
        windows.rest(&mut self.board)
    }

    /// Has its window again, which has so many segments and retransmissions.
    #[inline(always)]
    pub(crate) fn wake(&mut self, windows: &mut Windows, segments: usize, retransmissions: usize) {
        windows.wake(&mut self.board, segments, retransmissions);
    }

    /// Gives memory back that it does not need now.
    pub(crate) fn shrink(&mut self) {
        self.board.shrink();
    }

    /// Handles an arriving ACK.
    #[inline(always)]
    pub fn handle_ack(&mut self, now_ns: u64, ack: &Ack) {
        if self.long_way {
            self.forget();
        } else if self.predicts(ack) {
            self.handle_predicted(now_ns, ack.ack);
            return;
        }
        self.tcp_ack(now_ns, ack);
    }

    /// Forgets what makes the next call shorter.
    #[cold]
    pub(super) fn forget(&mut self) {
        self.timers.forget_jiffy();
        self.turn_is_over = false;
    }

    /// Whether an ACK only advances, and no segment is SACKed, lost or in doubt.
    #[inline(always)]
    pub(crate) fn predicts(&self, ack: &Ack) -> bool {
        let quiet = self.host.is_open() && !self.tlp.is_out() && !self.sack_frto.is_active();
        quiet && ack.is_plain() && ack.ack > self.board.una() && self.board.is_clean()
    }

    /// What [`tcp_ack`](Self::tcp_ack) does with most ACKs, as with Linux's header prediction
    /// ([`predicts`](Self::predicts)). Returns whether it leaves nothing to report.
    #[inline(always)]
    pub(crate) fn handle_predicted(&mut self, now_ns: u64, una: u64) -> bool {
        self.host.clock(now_ns);
        let tp = self.host.tp();
        let (prior_ssthresh, prior_in_flight) = (tp.snd_ssthresh, tp.packets_out);
        let prior_una = self.board.una();
        self.rexmit = Rexmit::None;
        if self.machine == Machine::Linux2_6 {
            self.host.in_ack_event(una, true, false, false);
        }
        self.timers.on_progress();
        let (first_ns, last_ns) = self.board.acknowledge_clean(self.host.counts(), una);
        let newest = (last_ns, una - 1);
        self.loss.on_delivered(now_ns, newest, last_ns);
        let window = (una, self.board.nxt());
        let (rtt_us, now_us) = (&mut self.rtt, self.host.now_us());
        let rtt_us = rtt_us.on_plain_ack(now_ns, now_us, (first_ns, last_ns), window);
        publish_rtt(&mut self.host, &self.rtt);
        self.host.publish_una(una);
        let newest = self.rate.on_delivered(Some((newest, false)));
        let acked = (una - prior_una) as u32;
        self.host.pkts_acked(&AckSample {
            pkts_acked: acked,
            rtt_us: rtt_us as i32,
            in_flight: self.rate.in_flight_bytes(&self.host, newest),
        });
        if self.machine == Machine::Linux2_6 {
            self.set_transmit_timer();
            self.validation
                .before_growth(&mut self.host, prior_in_flight);
            self.host.grow(1);
            self.host.note_delivered(acked);
        } else {
            self.host.in_ack_event(una, true, false, false);
            self.set_transmit_timer();
            self.host.note_delivered(acked);
            if self.host.has_cong_control() {
                let flags = AckFlags {
                    una_advanced: true,
                    original_delivered: prior_una < self.high_seq,
                    set_timer: true,
                    ..AckFlags::default()
                };
                let counts = AckCounts {
                    rtt_us: rtt_us as i32,
                    newly_lost: 0,
                    newly_delivered: acked,
                    prior_in_flight,
                };
                let sample = RateSampler::sample(&self.host, newest, &counts);
                self.host.cong_control(flags.linux(false, false), &sample);
                return !self.note_slow_start_exit(prior_ssthresh) && self.is_at_work();
            }
            self.host.grow(acked);
        }
        self.pacer.update_rate(&mut self.host);
        !self.note_slow_start_exit(prior_ssthresh) && self.is_at_work()
    }

    /// Returns whether slow start ends.
    #[inline]
    fn note_slow_start_exit(&mut self, prior_ssthresh: u32) -> bool {
        let tp = self.tp();
        let exits = prior_ssthresh == TCP_INFINITE_SSTHRESH
            && tp.snd_ssthresh < prior_ssthresh
            && tp.prior_cwnd == 0;
        if exits {
            self.note(SenderEvent::SlowStartExit);
        }
        exits
    }

    /// `tcp_ack`.
    #[inline(never)]
    fn tcp_ack(&mut self, now_ns: u64, ack: &Ack) {
        self.host.clock(now_ns);
        let prior_una = self.board.una();
        let tp = self.host.tp();
        let (prior_ssthresh, prior_delivered, prior_lost) =
            (tp.snd_ssthresh, tp.delivered, tp.lost);
        let prior_in_flight = self.host.in_flight();
        self.rexmit = Rexmit::None;
        let min_rtt_ns = u64::from(self.rtt.min_us()) * 1_000;
        let mut delivery = Delivery {
            youngest_ns: now_ns.saturating_sub(min_rtt_ns),
            echo_ns: ack.echo_ns,
            prior_sacked_end: self.board.sacked_end(),
            ..Delivery::default()
        };
        let duplicate_sack = ack.has_sacks() && self.tag_sacked(ack, &mut delivery);
        let una_advanced = ack.ack > prior_una;
        let ece = ack.ece().filter(|_| self.host.uses_ecn());
        let slow = !ack.is_plain();
        let una = if una_advanced { ack.ack } else { prior_una };
        if self.machine == Machine::Linux2_6 {
            self.host
                .in_ack_event(una, una_advanced, slow, ece.is_some());
        }
        if una_advanced {
            self.timers.on_progress();
            let (counts, high_seq) = (self.host.counts(), self.high_seq);
            self.board
                .acknowledge(counts, ack.ack, high_seq, &mut delivery);
        }
        let sacked_late =
            delivery.sacked_late && (self.state() != CaState::Loss || self.undo.is_open());
        if sacked_late || delivery.acked_late {
            self.loss.note_reordering();
        }
        if let Some((newest, _)) = delivery.newest {
            self.loss
                .on_delivered(now_ns, newest, delivery.last_sent_ns);
        }
        let rtt_us = self.measure(&delivery, una_advanced, ack.echo_ns);
        self.host.publish_una(self.board.una());
        let newest = self.rate.on_delivered(delivery.newest);
        self.host.pkts_acked(&AckSample {
            pkts_acked: delivery.acked,
            rtt_us,
            in_flight: self.rate.in_flight_bytes(&self.host, newest),
        });
        let newly_delivered = self.tp().delivered.wrapping_sub(prior_delivered);
        let ece = ece.is_some_and(|ce_packets| self.host.count_ce(newly_delivered, ce_packets));
        if self.machine == Machine::Linux6 {
            self.host.in_ack_event(una, una_advanced, slow, ece);
        }
        let mut flags = AckFlags {
            una_advanced,
            data_sacked: delivery.data_sacked,
            duplicate_sack,
            original_delivered: delivery.original_delivered,
            lost_retransmission: false,
            set_timer: false,
            ece,
            pure_duplicate: !una_advanced && !ack.has_sacks(),
            echo_ns: ack.echo_ns,
            newly_lost: 0,
            newly_delivered,
        };
        if self.tlp.is_out() {
            // `FLAG_DSACK_TLP`.
            let blocks = ack.sacks();
            let of_probe = duplicate_sack && self.tlp.is_probe(blocks[0].1);
            if self.tlp.on_ack(ack.ack, of_probe, flags.pure_duplicate) == Answer::Repaired {
                self.reduce_for_probe();
            }
        }
        let dubious = !una_advanced
            || flags.data_sacked
            || flags.duplicate_sack
            || ece
            || !self.host.is_open();
        // A SACK of a segment that was sent before the last sending of the head is progress too.
        let sacked_older = || {
            let first_ns = delivery.sacked_sent_ns.map_or(u64::MAX, |(first, _)| first);
            first_ns < self.board.head_sent_ns() && self.tp().packets_out > 0
        };
        flags.set_timer = una_advanced || sacked_older();
        match self.machine {
            Machine::Linux6 => {
                if dubious {
                    flags = self.fast_retransmit_alert(flags);
                }
                if flags.set_timer {
                    self.set_transmit_timer();
                }
                flags.newly_lost = self.tp().lost.wrapping_sub(prior_lost);
                self.host.note_delivered(flags.newly_delivered);
                if self.host.has_cong_control() {
                    let counts = AckCounts {
                        rtt_us,
                        newly_lost: flags.newly_lost,
                        newly_delivered: flags.newly_delivered,
                        prior_in_flight,
                    };
                    let sample = RateSampler::sample(&self.host, newest, &counts);
                    let flag = flags.linux(slow, delivery.retransmitted_acked);
                    self.host.cong_control(flag, &sample);
                } else {
                    self.set_window(flags);
                }
            }
            Machine::Linux2_6 => {
                let frto = self.sack_frto.is_active();
                let frto_cwnd = frto && self.process_frto(ack, flags, &delivery);
                if una_advanced {
                    self.set_transmit_timer();
                    if !self.host.in_cwnd_reduction() && !frto_cwnd {
                        self.validation
                            .before_growth(&mut self.host, prior_in_flight);
                        self.host.grow(1);
                    }
                }
                if dubious {
                    self.fast_retransmit_alert_2_6(flags);
                }
                self.host.note_delivered(flags.newly_delivered);
                self.pacer.update_rate(&mut self.host);
            }
        }
        self.totals.lost(self.tp().lost.wrapping_sub(prior_lost));
        self.note_slow_start_exit(prior_ssthresh);
        // A recount costs the whole window. Small windows show every mistake.
        #[cfg(debug_assertions)]
        if dubious && self.tp().packets_out < 256 {
            self.board.check(self.tp());
        }
    }

    /// `tcp_sacktag_write_queue`. Returns whether a D-SACK shows a needless retransmission.
    fn tag_sacked(&mut self, ack: &Ack, delivery: &mut Delivery) -> bool {
        let sacks = ack.sacks();
        let mut blocks = &*sacks;
        let mut duplicate_sack = false;
        if ack.has_duplicate() {
            duplicate_sack = self.hear_duplicate(blocks[0]);
            blocks = &blocks[1..];
        }
        // In ascending order: the first is the one whose RTT counts.
        for block in self.board.new_blocks(blocks) {
            self.board
                .sack(self.host.counts(), block, self.high_seq, delivery);
        }
        duplicate_sack
    }

    /// `tcp_check_dsack` and `tcp_dsack_seen`: a needless retransmission was delivered. Today's Linux
    /// ignores more duplicates than it has sent again: the network has made them.
    #[cold]
    fn hear_duplicate(&mut self, duplicate: Range) -> bool {
        let (start, end) = duplicate;
        self.duplicates += end - start;
        let sent_again = self.duplicates <= self.tp().total_retrans.into();
        if !sent_again && self.machine == Machine::Linux6 {
            return false;
        }
        if sent_again {
            self.host.counts().delivered((end - start) as u32);
        }
        if !self.tlp.is_probe(end) {
            self.loss.note_duplicate();
        }
        if start < self.board.una() || self.board.ever_retransmitted(start) {
            self.undo.on_duplicate_sack(duplicate);
        }
        true
    }

    /// Updates the estimators. Returns the RTT for `pkts_acked`, µs; −1 without a sample.
    #[inline(always)]
    fn measure(&mut self, delivery: &Delivery, una_advanced: bool, echo_ns: u64) -> i32 {
        let window = (self.board.una(), self.board.nxt());
        let now_ns = self.host.now_ns();
        let measured = self
            .rtt
            .on_ack(now_ns, delivery, window, una_advanced, echo_ns);
        let Some(rtt_us) = measured else { return -1 };
        publish_rtt(&mut self.host, &self.rtt);
        rtt_us as i32
    }

    /// `tcp_cong_control`, for algorithms without `cong_control`.
    #[inline]
    fn set_window(&mut self, flags: AckFlags) {
        if self.host.in_cwnd_reduction() {
            self.reduce_window(flags);
        } else if flags.una_advanced {
            self.host.grow(flags.newly_delivered);
        }
        self.pacer.update_rate(&mut self.host);
    }

    #[inline(never)]
    pub(super) fn reduce_window(&mut self, flags: AckFlags) {
        self.reduction.on_ack(&mut self.host, &flags);
    }
}

/// Shows algorithms what the estimators say.
#[inline]
fn publish_rtt(host: &mut Host, rtt: &RoundTrip) {
    let (srtt_us, mdev_us) = rtt.smoothed_us();
    host.publish_rtt(srtt_us, mdev_us);
    host.publish_min_rtt(rtt.min_us());
    host.publish_rto(rtt.rto_us());
}
