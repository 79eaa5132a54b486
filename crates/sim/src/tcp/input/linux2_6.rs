//! `tcp_ack` of Linux 2.6.18 to 2.6.32 (`net/ipv4/tcp_input.c`), step by step.

use super::super::ack::Ack;
use super::super::flags::AckFlags;
use super::super::ranges::Range;
use super::super::sender::Sender;
use super::*;

/// An ACK arrives.
#[inline(never)]
pub(in super::super) fn tcp_ack(sk: &mut Sender, now_ns: u64, ack: &Ack) {
    let (prior, mut delivery) = begin(sk, now_ns, ack);
    let una_advanced = ack.ack > prior.una;
    let duplicate_sack =
        ack.has_sacks() && tcp_sacktag_write_queue(sk, ack, &mut delivery, tcp_check_dsack);
    let ece = tcp_ecn_rcv_ecn_echo(sk, ack);
    let una = prior.una.max(ack.ack);
    let slow = ack.is_slow() || sk.limits.are_closed();
    sk.host.in_ack_event(una, una_advanced, slow, ece.is_some());
    tcp_clean_rtx_queue(sk, ack, una_advanced, &mut delivery);
    let newly_delivered = sk.tp().delivered.wrapping_sub(prior.delivered);
    let flags = AckFlags {
        una_advanced,
        data_sacked: delivery.data_sacked,
        duplicate_sack,
        ece: ece.is_some_and(|ce_packets| sk.host.count_ce(newly_delivered, ce_packets)),
        echo_ns: ack.echo_ns,
        newly_delivered,
        ..AckFlags::default()
    };
    let dubious = tcp_ack_is_dubious(sk, &flags);
    let frto_cwnd = sk.sack_frto.is_active() && sk.tcp_process_frto(ack, flags, &delivery);
    if una_advanced {
        sk.tcp_set_xmit_timer(false); // `tcp_ack_packets_out`
        if !frto_cwnd && !sk.host.in_cwnd_reduction() {
            tcp_cong_avoid(sk, prior.in_flight);
        }
    }
    if dubious {
        sk.tcp_fastretrans_alert_2_6(flags);
    }
    apply_requested_cwr(sk, |sk| sk.tcp_enter_cwr_2_6(true));
    sk.host.note_delivered(newly_delivered);
    sk.pacer.update_rate(&mut sk.host);
    end(sk, &prior, dubious);
}

/// What [`tcp_ack`] does with an ACK that is predicted.
#[inline(always)]
pub(in super::super) fn tcp_ack_predicted<P: Plan>(sk: &mut Sender, now_ns: u64, una: u64) {
    sk.host.clock(now_ns);
    let prior_in_flight = sk.tp().packets_out;
    if P::COMMON.is_none() {
        sk.host
            .in_ack_event(una, true, sk.limits.are_closed(), false);
    }
    let (acked, ..) = clean_predicted::<P>(sk, now_ns, una);
    if P::COMMON.is_none() {
        sk.tcp_set_xmit_timer(false);
    }
    tcp_cong_avoid(sk, prior_in_flight);
    apply_requested_cwr(sk, |sk| sk.tcp_enter_cwr_2_6(true));
    sk.host.note_delivered(acked);
    if P::COMMON.is_none() {
        sk.pacer.update_rate(&mut sk.host);
    }
}

#[cold]
fn tcp_check_dsack(sk: &mut Sender, duplicate: Range) -> bool {
    tcp_dsack_seen(sk, duplicate);
    check_undo(sk, duplicate);
    true
}

/// One packet, however many the ACK acknowledges.
#[inline(always)]
fn tcp_cong_avoid(sk: &mut Sender, prior_in_flight: u32) {
    sk.validation.before_growth(&mut sk.host, prior_in_flight);
    sk.host.grow(1);
}
