//! The way of an ACK from its arrival to the new window: `tcp_ack` of Linux 6 ([`linux6`]) and of
//! Linux 2.6 ([`linux2_6`]), each with the steps and the names of its kernel's `tcp_input.c`. Here is
//! what both share.
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
//! Each mechanism has a module and a state of its own. `output` has what the sender then sends,
//! `timeouts` has what the clock causes, and `recovery` has the states.

pub(super) mod linux2_6;
pub(super) mod linux6;

use super::ack::Ack;
use super::flags::AckFlags;
use super::plan::Plan;
use super::ranges::Range;
use super::rate::Newest;
use super::scoreboard::Delivery;
use super::sender::{Rexmit, Sender, SenderEvent};
use ackclock_host::{AckSample, CaState, Era, TCP_INFINITE_SSTHRESH};

/// What an ACK finds.
#[derive(Clone, Copy)]
struct Prior {
    una: u64,
    ssthresh: u32,
    delivered: u32,
    lost: u32,
    in_flight: u32,
}

/// An ACK arrives.
#[inline(always)]
fn begin(sk: &mut Sender, now_ns: u64, ack: &Ack) -> (Prior, Delivery) {
    sk.host.clock(now_ns);
    let echo_ns = sk.rtt.echo_ns(ack);
    if let Some(left_ns) = ack.left_ns() {
        sk.host.publish_timestamps(left_ns, echo_ns);
    }
    if let Some(bytes) = ack.window_bytes() {
        let mss = u64::from(sk.host.tp().mss_cache);
        let window = bytes / mss;
        sk.limits
            .advertise_edge(ack.ack + window, bytes % mss, ack.ack > sk.board.una());
        sk.queue
            .on_advertised_window(window, [sk.board.una(), sk.board.nxt()]);
    }
    sk.rexmit = Rexmit::None;
    let tp = sk.host.tp();
    let prior = Prior {
        una: sk.board.una(),
        ssthresh: tp.snd_ssthresh,
        delivered: tp.delivered,
        lost: tp.lost,
        in_flight: sk.host.in_flight(),
    };
    let min_rtt_ns = u64::from(sk.rtt.min_us()) * 1_000;
    let delivery = Delivery {
        youngest_ns: now_ns.saturating_sub(min_rtt_ns),
        echo_ns,
        prior_sacked_end: sk.board.sacked_end(),
        ..Delivery::default()
    };
    (prior, delivery)
}

/// Returns whether a D-SACK shows a needless retransmission, as `tcp_check_dsack` judges it.
#[inline(always)]
fn tcp_sacktag_write_queue(
    sk: &mut Sender,
    ack: &Ack,
    delivery: &mut Delivery,
    tcp_check_dsack: impl FnOnce(&mut Sender, Range) -> bool,
) -> bool {
    let sacks = ack.sacks();
    let mut blocks = &*sacks;
    let mut duplicate_sack = false;
    if ack.has_duplicate() {
        let start = blocks[0].0;
        duplicate_sack = tcp_check_dsack(sk, blocks[0]);
        if duplicate_sack && start >= sk.board.una() && (start >= ack.ack || sk.undo.is_open()) {
            sk.board
                .duplicate(sk.host.counts(), start, ack.ack, delivery);
        }
        blocks = &blocks[1..];
    }
    // In ascending order: the first is the one whose RTT counts.
    for block in sk.board.new_blocks(blocks) {
        sk.board
            .sack(sk.host.counts(), block, sk.high_seq, delivery);
    }
    if let Some(low) = delivery.sacked_late {
        if sk.state() != CaState::Loss || sk.undo.is_open() {
            tcp_check_sack_reordering(sk, low, ack.ack);
        }
    }
    duplicate_sack
}

/// `low` was late, of a window that begins with `una` once this ACK is handled.
#[cold]
pub(super) fn tcp_check_sack_reordering(sk: &mut Sender, low: u64, una: u64) {
    // `tcp_highest_sack_seq`
    let highest = match sk.tp().sacked_out {
        _ if !sk.loss.has_sack() => una,
        0 => una,
        _ => sk.board.sacked_end(),
    };
    if low < highest {
        sk.loss.note_reordering(highest - low);
    }
}

/// A D-SACK may show that a reduction was needless.
fn check_undo(sk: &mut Sender, duplicate: Range) {
    let start = duplicate.0;
    if start < sk.board.una() || sk.board.ever_retransmitted(start) {
        sk.undo.on_duplicate_sack(duplicate);
    }
}

/// Counts the duplicates that D-SACKs have reported (`tcp_dsack_seen`). Returns whether there were as
/// many retransmissions: the network has not made them.
fn tcp_dsack_seen(sk: &mut Sender, (start, end): Range) -> bool {
    sk.duplicates += end - start;
    let sent_again = sk.duplicates <= sk.tp().total_retrans.into();
    if sent_again {
        sk.host.counts().delivered((end - start) as u32);
    }
    sent_again
}

/// Whether the ACK carries ECE, and the connection uses ECN.
fn tcp_ecn_rcv_ecn_echo(sk: &Sender, ack: &Ack) -> Option<u32> {
    ack.ece().filter(|_| sk.host.uses_ecn())
}

/// Removes what the ACK acknowledges, and measures the RTT. Returns it, µs (−1 without a sample), and
/// what was sent last of all that the ACK delivers.
#[inline(always)]
fn tcp_clean_rtx_queue(
    sk: &mut Sender,
    ack: &Ack,
    una_advanced: bool,
    delivery: &mut Delivery,
) -> (i32, Option<Newest>) {
    if una_advanced {
        sk.timers.on_progress();
        sk.board
            .acknowledge(sk.host.counts(), ack.ack, sk.high_seq, delivery);
    }
    if una_advanced {
        if let Some(new_reno) = sk.loss.new_reno() {
            new_reno.on_acknowledged(sk.host.counts(), delivery.acked);
            // Any original may be one of those that duplicates have told of.
            delivery.original_delivered &= !delivery.retransmitted_acked;
        }
    }
    if let Some(low) = delivery.acked_late {
        tcp_check_sack_reordering(sk, low, ack.ack);
    }
    let now_ns = sk.host.now_ns();
    if let Some(newest) = delivery.newest {
        sk.loss.on_delivered(now_ns, newest, delivery.last_sent_ns);
    }
    if let Some(((sent_ns, _), _)) = delivery.sampled {
        sk.loss.adapt(now_ns, sent_ns);
    }
    let window = (sk.board.una(), sk.board.nxt());
    let rtt_us = (sk.rtt).on_ack(now_ns, delivery, window, una_advanced);
    if rtt_us.is_some() {
        sk.rtt.publish(&mut sk.host);
    }
    let rtt_us = rtt_us.map_or(-1, |rtt_us| rtt_us as i32);
    sk.host.publish_una(sk.board.una());
    let newest = sk.rate.on_delivered(delivery.sampled);
    sk.host.pkts_acked(&AckSample {
        pkts_acked: delivery.acked,
        rtt_us,
        in_flight: sk.rate.in_flight_bytes(&sk.host, newest),
    });
    (rtt_us, newest)
}

/// What [`tcp_clean_rtx_queue`] does with an ACK that is predicted. Returns how many packets it
/// acknowledges, too.
#[inline(always)]
fn clean_predicted<P: Plan>(sk: &mut Sender, now_ns: u64, una: u64) -> (u32, i32, Option<Newest>) {
    let acked = (una - sk.board.una()) as u32;
    sk.timers.on_progress();
    let (first_ns, last_ns) = sk.board.acknowledge_clean(sk.host.counts(), una);
    let newest = (last_ns, una - 1);
    if !matches!(P::COMMON, Some((Era::Linux2_6, _))) {
        sk.loss.on_plain_ack(now_ns, newest);
    }
    let window = (una, sk.board.nxt());
    let now_us = sk.host.now_us();
    let rtt_us = (sk.rtt).on_plain_ack(now_ns, now_us, (first_ns, last_ns), window) as i32;
    sk.rtt.publish(&mut sk.host);
    sk.host.publish_una(una);
    let (mut sampled, mut in_flight) = (None, 0);
    if P::COMMON.is_none() {
        sampled = sk.rate.on_delivered(Some((newest, false)));
        in_flight = sk.rate.in_flight_bytes(&sk.host, sampled);
    }
    sk.host.pkts_acked(&AckSample {
        pkts_acked: acked,
        rtt_us,
        in_flight,
    });
    (acked, rtt_us, sampled)
}

/// Does what a hook has asked for by `tcp_enter_cwr`: the reduction begins when the hooks have returned.
#[inline(always)]
fn apply_requested_cwr(sk: &mut Sender, tcp_enter_cwr: impl FnOnce(&mut Sender)) {
    if !sk.host.is_asked() {
        return;
    }
    let enters = sk.host.enters_cwr();
    if enters || sk.is_common() {
        sk.forget_plan();
    }
    if enters {
        tcp_enter_cwr(sk);
    }
}

fn tcp_ack_is_dubious(sk: &Sender, flags: &AckFlags) -> bool {
    !flags.una_advanced
        || flags.data_sacked
        || flags.duplicate_sack
        || flags.ece
        || !sk.host.is_open()
}

/// Notes whether slow start ends. Returns it.
#[inline]
pub(super) fn note_slow_start_exit(sk: &mut Sender, prior_ssthresh: u32) -> bool {
    let tp = sk.tp();
    let exits = prior_ssthresh == TCP_INFINITE_SSTHRESH
        && tp.snd_ssthresh < prior_ssthresh
        && tp.prior_cwnd == 0;
    if exits {
        sk.note(SenderEvent::SlowStartExit);
    }
    exits
}

/// The ACK is handled.
fn end(sk: &mut Sender, prior: &Prior, dubious: bool) {
    sk.totals.lost(sk.tp().lost.wrapping_sub(prior.lost));
    note_slow_start_exit(sk, prior.ssthresh);
    // A recount costs the whole window. Small windows show every mistake.
    #[cfg(debug_assertions)]
    if dubious && sk.tp().packets_out < 256 {
        sk.board.check(sk.tp(), sk.loss.has_sack());
    }
    #[cfg(not(debug_assertions))]
    let _ = dubious;
}
