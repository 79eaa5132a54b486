//! The way of an ACK from its arrival to the new window: `tcp_ack`, in the order of Linux, and
//! nothing else.
//!
//! Algorithms rely on the order in which an ACK calls their hooks (Linux 6, `tcp_ack`):
//!
//! 1. SACK tagging.
//! 2. `in_ack_event`, which sees the new `snd_una`.
//! 3. The cumulative acknowledgement.
//! 4. `pkts_acked`.
//! 5. The recovery state machine: `ssthresh`, `set_state`, `cwnd_event(COMPLETE_CWR)`, `undo_cwnd`.
//! 6. `cong_control`; without it PRR in CWR and Recovery, and `cong_avoid` in other states.
//!
//! Linux 2.6 calls `cong_avoid` before the state machine.
//!
//! Each mechanism has a module and a state of its own. `transmit` has what the sender then sends,
//! `timers` has what the clock causes, and `recovery` has the states.

use super::bursts::Bursts;
use super::host::Host;
use super::limits::{FlowLimits, Limits};
use super::loss::{Answer, LossDetection, Tlp};
use super::pacing::Pacer;
use super::profile::{Kernel, Switches};
use super::rate;
use super::recovery::{Frto, Machine, Reduction, Undo};
use super::report::{SenderEvent, Totals};
use super::rtt::RoundTrip;
use super::scoreboard::{Delivery, Scoreboard};
use super::timers::Timers;
use super::transmit::Rexmit;
use super::validate::Validation;
use super::Ack;
use ackclock_host::{AckSample, CongestionControl, TCP_INFINITE_SSTHRESH};

/// What the current ACK has shown (Linux's FLAG_*).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckFlags {
    pub una_advanced: bool,
    pub data_sacked: bool,
    pub duplicate_sack: bool,
    pub original_delivered: bool,
    pub lost_retransmission: bool,
    pub set_timer: bool,
    /// The ACK neither advances `snd_una` nor has SACK blocks.
    pub pure_duplicate: bool,
    pub echo_ns: u64,
    pub newly_lost: u32,
    pub newly_delivered: u32,
}

/// The sending end of a connection.
pub struct Sender {
    pub(super) host: Host,
    pub(super) board: Scoreboard,
    pub(super) rtt: RoundTrip,
    pub(super) loss: LossDetection,
    pub(super) tlp: Tlp,
    pub(super) machine: Machine,
    /// `nxt` when the current state began, if that state is not Open.
    pub(super) high_seq: u64,
    pub(super) reduction: Reduction,
    pub(super) undo: Undo,
    pub(super) frto: Frto,
    pub(super) timers: Timers,
    pub(super) pacer: Pacer,
    pub(super) bursts: Bursts,
    pub(super) validation: Validation,
    pub(super) limits: Limits,
    pub(super) rexmit: Rexmit,
    pub(super) totals: Totals,
    /// Rows for the events table, in order. The caller takes them with `take_events`.
    pub(super) events: Vec<(SenderEvent, u32, u32)>,
}

impl Sender {
    /// Makes a sender whose connection was established at `now_ns`, after a handshake of
    /// `handshake_rtt_ns`. Its clock first ticks at `tick_phase_ns`.
    pub fn new(
        cc: CongestionControl,
        kernel: &Kernel,
        switches: &Switches,
        limits: FlowLimits,
        now_ns: u64,
        handshake_rtt_ns: u64,
        tick_phase_ns: u64,
    ) -> Self {
        let host = Host::new(cc, kernel, switches, now_ns, tick_phase_ns);
        let initial_cwnd = host.tp().snd_cwnd;
        let mut sender = Self {
            host,
            board: Scoreboard::new(),
            rtt: RoundTrip::new(kernel.initial_rto_us, now_ns, handshake_rtt_ns),
            loss: kernel.loss_detection,
            tlp: Tlp::new(kernel.tail_loss_probe),
            machine: kernel.machine,
            high_seq: 0,
            reduction: kernel.reduction,
            undo: Undo::default(),
            frto: Frto::new(kernel.frto),
            timers: Timers::new(),
            pacer: Pacer::new(kernel, switches),
            bursts: Bursts::new(kernel, switches),
            validation: Validation::new(kernel, switches, initial_cwnd),
            limits: Limits::new(limits),
            rexmit: Rexmit::None,
            totals: Totals::default(),
            events: Vec::new(),
        };
        let (srtt_us, mdev_us) = sender.rtt.smoothed_us();
        sender.host.publish_rtt(srtt_us, mdev_us);
        sender.pacer.update_rate(&mut sender.host);
        sender.host.init();
        sender
    }

    /// Handles an arriving ACK.
    pub fn handle_ack(&mut self, now_ns: u64, ack: &Ack) {
        self.host.clock(now_ns);
        let prior_una = self.board.una();
        let tp = self.host.tp();
        let (prior_ssthresh, prior_delivered, prior_lost) =
            (tp.snd_ssthresh, tp.delivered, tp.lost);
        let prior_in_flight = self.host.in_flight();
        self.rexmit = Rexmit::None;
        let mut delivery = Delivery::default();
        if !ack.sacks.is_empty() {
            self.tag_sacked(ack, &mut delivery);
        }
        let una_advanced = ack.ack > prior_una;
        let fast = una_advanced && ack.sacks.is_empty();
        self.host.in_ack_event(ack.ack.max(prior_una), fast);
        if una_advanced {
            self.timers.on_progress();
            self.board
                .acknowledge(self.host.counts(), ack.ack, self.high_seq, &mut delivery);
        }
        if let Some((sent, retransmitted)) = delivery.newest {
            self.loss
                .on_delivered(now_ns, sent, retransmitted, self.rtt.min_us());
        }
        let rtt_us = self.measure(&delivery, una_advanced, ack.echo_ns);
        self.host
            .publish_sequence(self.board.una(), self.board.nxt());
        self.host.pkts_acked(&AckSample {
            pkts_acked: delivery.acked,
            rtt_us,
            in_flight: prior_in_flight,
        });
        let mut flags = AckFlags {
            una_advanced,
            data_sacked: delivery.data_sacked,
            duplicate_sack: ack.sacks.duplicate,
            original_delivered: delivery.original_delivered,
            lost_retransmission: false,
            set_timer: false,
            pure_duplicate: !una_advanced && ack.sacks.is_empty(),
            echo_ns: ack.echo_ns,
            newly_lost: 0,
            newly_delivered: self.tp().delivered.wrapping_sub(prior_delivered),
        };
        if self.tlp.is_out() {
            let (duplicate_sack, pure) = (flags.duplicate_sack, flags.pure_duplicate);
            if self.tlp.on_ack(ack.ack, duplicate_sack, pure) == Answer::Repaired {
                self.reduce_for_probe();
            }
        }
        let dubious =
            !una_advanced || flags.data_sacked || flags.duplicate_sack || !self.host.is_open();
        // A SACK of a segment that was sent before the last sending of the head is progress too.
        let head_ns = self.board.head_sent_ns();
        let sacked_older = delivery
            .sacked_sent_ns
            .is_some_and(|(first_ns, _)| first_ns < head_ns);
        flags.set_timer = una_advanced || (sacked_older && self.tp().packets_out > 0);
        match self.machine {
            Machine::Linux6 => {
                if dubious {
                    self.fast_retransmit_alert(&mut flags);
                }
                if flags.set_timer {
                    self.set_transmit_timer();
                }
                flags.newly_lost = self.tp().lost.wrapping_sub(prior_lost);
                self.congestion_control(&flags, rtt_us, prior_in_flight);
            }
            Machine::Linux2_6 => {
                if una_advanced {
                    self.set_transmit_timer();
                    if !self.host.in_cwnd_reduction() {
                        self.validation
                            .before_growth(&mut self.host, prior_in_flight);
                        self.host.grow(1);
                    }
                }
                if dubious {
                    self.fast_retransmit_alert_2_6(&flags);
                }
                self.pacer.update_rate(&mut self.host);
            }
        }
        self.totals.lost(self.tp().lost.wrapping_sub(prior_lost));
        let tp = self.tp();
        if prior_ssthresh == TCP_INFINITE_SSTHRESH
            && tp.snd_ssthresh < prior_ssthresh
            && tp.prior_cwnd == 0
        {
            self.note(SenderEvent::SlowStartExit);
        }
        // A recount costs the whole window. Small windows show every mistake.
        #[cfg(debug_assertions)]
        if dubious && self.tp().packets_out < 256 {
            self.board.check(self.tp());
        }
    }

    /// `tcp_sacktag_write_queue`.
    fn tag_sacked(&mut self, ack: &Ack, delivery: &mut Delivery) {
        let mut blocks = ack.sacks.as_slice();
        if ack.sacks.duplicate {
            let start = blocks[0].0;
            if start < self.board.una() || self.board.ever_retransmitted(start) {
                self.undo.on_duplicate_sack(blocks[0]);
            }
            blocks = &blocks[1..];
        }
        for &block in blocks {
            self.board
                .sack(self.host.counts(), block, self.high_seq, delivery);
        }
    }

    /// Updates the estimators. Returns the RTT for `pkts_acked`, µs; −1 without a sample.
    #[inline]
    fn measure(&mut self, delivery: &Delivery, una_advanced: bool, echo_ns: u64) -> i32 {
        let window = (self.board.una(), self.board.nxt());
        let now_ns = self.host.now_ns();
        let measured = self
            .rtt
            .on_ack(now_ns, delivery, window, una_advanced, echo_ns);
        let Some(rtt_us) = measured else { return -1 };
        self.timers.on_measured();
        let (srtt_us, mdev_us) = self.rtt.smoothed_us();
        self.host.publish_rtt(srtt_us, mdev_us);
        rtt_us as i32
    }

    /// `tcp_cong_control`.
    #[inline]
    fn congestion_control(&mut self, flags: &AckFlags, rtt_us: i32, prior_in_flight: u32) {
        if self.host.has_cong_control() {
            let (lost, delivered) = (flags.newly_lost, flags.newly_delivered);
            let sample = rate::sample(rtt_us, lost, delivered, prior_in_flight);
            return self.host.cong_control(&sample);
        }
        if self.host.in_cwnd_reduction() {
            self.reduction.on_ack(&mut self.host, flags);
        } else if flags.una_advanced {
            self.host.grow(flags.newly_delivered);
        }
        self.pacer.update_rate(&mut self.host);
    }
}
