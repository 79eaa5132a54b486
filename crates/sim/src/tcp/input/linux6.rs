//! `tcp_ack` of Linux 6.12 (`net/ipv4/tcp_input.c`), step by step.

use super::super::ack::Ack;
use super::super::flags::AckFlags;
use super::super::loss::Answer;
use super::super::ranges::Range;
use super::super::rate::{AckCounts, RateSampler};
use super::super::scoreboard::Delivery;
use super::super::sender::Sender;
use super::*;

/// An ACK arrives.
#[inline(never)]
pub(in super::super) fn tcp_ack(sk: &mut Sender, now_ns: u64, ack: &Ack) {
    let (prior, mut delivery) = begin(sk, now_ns, ack);
    let slow = ack.is_slow() || sk.limits.are_closed();
    let una_advanced = ack.ack > prior.una;
    if sk.tp().packets_out == 0 && !ack.has_sacks() && ack.window_bytes().is_some() {
        // `no_queue`
        sk.host.in_ack_event(prior.una, false, slow, false);
        sk.tcp_ack_probe();
        return;
    }
    let duplicate_sack =
        ack.has_sacks() && tcp_sacktag_write_queue(sk, ack, &mut delivery, tcp_check_dsack);
    let ece = tcp_ecn_rcv_ecn_echo(sk, ack);
    let (rtt_us, newest) = tcp_clean_rtx_queue(sk, ack, una_advanced, &mut delivery);
    let newly_delivered = sk.tp().delivered.wrapping_sub(prior.delivered);
    let ece = ece.is_some_and(|ce_packets| sk.host.count_ce(newly_delivered, ce_packets));
    sk.host
        .in_ack_event(sk.board.una(), una_advanced, slow, ece);
    let mut flags = AckFlags {
        una_advanced,
        data_sacked: delivery.data_sacked,
        duplicate_sack,
        original_delivered: delivery.original_delivered,
        lost_retransmission: false,
        set_timer: una_advanced || sacked_older(sk, &delivery),
        ece,
        prior_una: prior.una,
        echo_ns: delivery.echo_ns,
        newly_lost: 0,
        newly_delivered,
    };
    let may_answer_probe = sk.tlp.is_out() && tcp_process_tlp_ack(sk, ack, &flags);
    let dubious = tcp_ack_is_dubious(sk, &flags);
    if dubious {
        flags = sk.tcp_fastretrans_alert(flags);
        // Without SACK it counts duplicates.
        flags.newly_delivered = sk.tp().delivered.wrapping_sub(prior.delivered);
    }
    if flags.set_timer {
        sk.tcp_set_xmit_timer(false);
    }
    flags.newly_lost = sk.tp().lost.wrapping_sub(prior.lost);
    sk.host.note_delivered(flags.newly_delivered); // `tcp_rate_gen`
    if sk.host.has_cong_control() {
        let counts = AckCounts {
            rtt_us,
            newly_lost: flags.newly_lost,
            newly_delivered: flags.newly_delivered,
            prior_in_flight: prior.in_flight,
            ece,
            may_answer_probe,
        };
        let sample = RateSampler::sample(&sk.host, newest, &counts);
        let flag = flags.linux(slow, delivery.retransmitted_acked);
        publish_queue(sk);
        sk.host.cong_control(flag, &sample);
    } else {
        tcp_cong_control(sk, &flags);
    }
    apply_requested_cwr(sk, Sender::tcp_enter_cwr);
    end(sk, &prior, dubious);
}

/// What [`tcp_ack`] does with an ACK that is predicted.
#[inline(always)]
pub(in super::super) fn tcp_ack_predicted<P: Plan>(sk: &mut Sender, now_ns: u64, una: u64) {
    sk.host.clock(now_ns);
    let (prior_una, prior_in_flight) = (sk.board.una(), sk.tp().packets_out);
    let (acked, rtt_us, newest) = clean_predicted::<P>(sk, now_ns, una);
    if P::COMMON.is_none() {
        sk.host
            .in_ack_event(una, true, sk.limits.are_closed(), false);
        sk.tcp_set_xmit_timer(false);
    }
    sk.host.note_delivered(acked);
    if P::COMMON.is_none() && sk.host.has_cong_control() {
        let flags = AckFlags {
            una_advanced: true,
            original_delivered: prior_una < sk.high_seq,
            set_timer: true,
            ..AckFlags::default()
        };
        let counts = AckCounts {
            rtt_us,
            newly_lost: 0,
            newly_delivered: acked,
            prior_in_flight,
            ece: false,
            may_answer_probe: false,
        };
        let sample = RateSampler::sample(&sk.host, newest, &counts);
        let slow = sk.limits.are_closed();
        publish_queue(sk);
        sk.host.cong_control(flags.linux(slow, false), &sample);
        return apply_requested_cwr(sk, Sender::tcp_enter_cwr);
    }
    sk.host.grow(acked);
    apply_requested_cwr(sk, Sender::tcp_enter_cwr);
    sk.pacer.update_rate(&mut sk.host);
}

/// Shows an algorithm that reads it what its application has written, and the receive window.
#[inline]
fn publish_queue(sk: &mut Sender) {
    if sk.rate.keeps_counts() {
        let (unsent, room) = (sk.limits.unsent(&sk.board), sk.limits.room(&sk.board));
        sk.host.publish_queue(unsent, room);
    }
}

/// More duplicates than were sent again are ignored: the network has made them.
#[cold]
fn tcp_check_dsack(sk: &mut Sender, duplicate: Range) -> bool {
    let sent_again = tcp_dsack_seen(sk, duplicate);
    if sent_again {
        if !sk.tlp.is_probe(duplicate.1) {
            sk.loss.note_duplicate();
        }
        check_undo(sk, duplicate);
    }
    sent_again
}

/// A SACK of a segment that was sent before the last sending of the head is progress, too.
fn sacked_older(sk: &Sender, delivery: &Delivery) -> bool {
    let first_ns = delivery.sacked_sent_ns.map_or(u64::MAX, |(first, _)| first);
    first_ns < sk.board.head_sent_ns() && sk.tp().packets_out > 0
}

/// Returns whether the ACK may answer the probe or the original.
fn tcp_process_tlp_ack(sk: &mut Sender, ack: &Ack, flags: &AckFlags) -> bool {
    // `FLAG_DSACK_TLP`
    let of_probe = flags.duplicate_sack && sk.tlp.is_probe(ack.sacks()[0].1);
    let pure_duplicate = !flags.una_advanced && !flags.data_sacked;
    let answer = sk.tlp.on_ack(ack.ack, of_probe, pure_duplicate);
    if answer == Answer::Repaired {
        sk.reduce_for_probe();
    }
    answer == Answer::Ambiguous
}

/// Data in order makes the window grow; where the path reorders much, any data does.
fn tcp_may_raise_cwnd(sk: &Sender, flags: &AckFlags) -> bool {
    flags.una_advanced || (flags.data_sacked && sk.loss.reorders_much())
}

/// The same for algorithms without `cong_control`.
fn tcp_cong_control(sk: &mut Sender, flags: &AckFlags) {
    if sk.host.in_cwnd_reduction() {
        sk.reduction.on_ack(&mut sk.host, flags); // `tcp_cwnd_reduction`
    } else if tcp_may_raise_cwnd(sk, flags) {
        sk.host.grow(flags.newly_delivered);
    }
    sk.pacer.update_rate(&mut sk.host);
}
