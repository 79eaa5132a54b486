//! The sender alone, rule by rule of the RFCs, where a slip would go unnoticed: timers, windows,
//! PRR and RACK. Undo and Linux 2.6 are in `undo.rs`.

use crate::common;

use ackclock_host::{Algorithm, CaState};
use ackclock_sim::scenario::Profile;
use ackclock_sim::tcp::FlowLimits;
use common::script::{at, limited, sent, timer_ms, until_loss, Script, NEW, OLD, UNLIMITED};
use common::MS;

// --- RFC 6298: the retransmission timer

/// 5.5 and 5.7: doubled at each expiry, up to 120 s; measured anew, it is short again.
#[test]
fn rfc6298_back_off_ends_at_120_s_and_with_a_measurement() {
    let mut script = Script::new(OLD);
    let waits: Vec<_> = (0..12)
        .map(|_| {
            script.timeout();
            timer_ms(&script)
        })
        .collect();
    assert!((590..=620).contains(&waits[0]), "{waits:?}");
    assert_eq!(waits[11], 120_000);
    let echo_ns = script.now_ns;
    script.ack_with(100, 1, &[], false, echo_ns);
    assert!(timer_ms(&script) < 400, "{}", timer_ms(&script));
}

/// 5.1, as in `tcp_xmit_retransmit_queue`: retransmitting the head restarts it, nothing else.
#[test]
fn rfc6298_the_heads_retransmission_restarts_the_timer() {
    let (mut script, una) = at(OLD, 40);
    let armed_ns = script.sender.poll_timeout();
    script.ack(100, una, &[(una + 1, una + 4)]);
    assert_eq!(script.sent, [(una, una + 1)]);
    let restarted_ns = script.sender.poll_timeout();
    assert!(restarted_ns > armed_ns);
    script.ack(20, una, &[(una + 6, una + 12), (una + 1, una + 4)]);
    assert_eq!(script.sent[0].0, una + 4);
    assert_eq!(script.sender.poll_timeout(), restarted_ns);
}

/// Section 3 (Karn): segments never sent again beside one that was give no sample; the
/// timestamp does.
#[test]
fn rfc6298_what_was_retransmitted_is_not_measured() {
    let mut script = Script::new(OLD);
    script.timeout();
    let echo_ns = script.now_ns;
    script.ack_with(100, 3, &[], false, echo_ns);
    assert_eq!(script.sender.tp().srtt_us >> 3, 100_000);
    // Nor does a SACK of it.
    let (mut script, una) = at(NEW, 20);
    script.ack(100, una, &[(una + 1, una + 5)]);
    script.ack(5, una, &[(una + 1, una + 5)]);
    script.timeout();
    script.ack(5, una, &[(una, una + 1)]);
    assert_eq!(script.sender.min_rtt_us(), 100_000);
}

/// RFC 5681, 3.1 (7): a second timeout without progress does not reduce ssthresh again; one
/// after progress does.
#[test]
fn rfc5681_ssthresh_is_reduced_once_per_window() {
    let (mut script, una) = at(Profile::Linux2_6_18, 40);
    script.timeout().timeout().timeout();
    assert_eq!((script.cwnd(), script.ssthresh()), (1, 20));
    let echo_ns = script.now_ns;
    script.ack_with(100, una + 1, &[], false, echo_ns);
    assert_eq!(script.sender.state(), CaState::Loss);
    script.timeout();
    assert_eq!((script.cwnd(), script.ssthresh()), (1, 2));
}

/// RFC 5681, 3.1, as in `tcp_init_transfer`: after SYNs that were lost the window begins with one packet.
/// Linux 2.6 does not look.
#[test]
fn rfc5681_lost_syns_leave_one_packet() {
    let reno = Algorithm::configure("reno").unwrap();
    for (profile, lost, cwnd) in [(NEW, true, 1), (NEW, false, 10), (OLD, true, 3)] {
        let script = Script::open(profile, &reno, UNLIMITED, lost);
        assert_eq!((script.cwnd(), sent(&script)), (cwnd, cwnd.into()));
    }
}

// --- RFC 5681, 4.1: restart after idle

/// In congestion avoidance above ssthresh = 20, at `cwnd`; all is acknowledged and nothing
/// sent for `idle_ms`. RTO is 300 ms.
fn after_idle(cwnd: u32, idle_ms: u64) -> Script {
    let (mut script, una) = at(NEW, 40);
    script.ack(100, una, &[(una + 1, una + 5)]);
    while script.cwnd() != cwnd || script.sender.state() != CaState::Open {
        script.ack(100, script.nxt, &[]);
    }
    let una = script.nxt;
    script.now_ns += 100 * MS;
    let echo_ns = script.now_ns - 100 * MS;
    let ack = ackclock_sim::tcp::Ack::new(una, echo_ns);
    script.sender.handle_ack(script.now_ns, &ack);
    script.ack(idle_ms - 100, una, &[]);
    script
}

#[test]
fn rfc5681_a_window_halves_for_every_rto_of_idleness() {
    // Of 32 (33 with the last ACK): ssthresh is at least three quarters.
    for (idle_ms, cwnd) in [(250, 33), (400, 16), (700, 10), (5000, 10)] {
        let script = after_idle(32, idle_ms);
        let ssthresh = if idle_ms == 250 { 20 } else { 16 + 8 };
        assert_eq!(
            (script.cwnd(), script.ssthresh(), sent(&script)),
            (cwnd, ssthresh, cwnd.into()),
            "{idle_ms} ms"
        );
    }
}

// --- RFC 9937: proportional rate reduction

/// ceil(prr_delivered ssthresh / prior_cwnd) may be out: of 41 to 20.
#[test]
fn rfc9937_sends_in_proportion() {
    let (mut script, una) = at(NEW, 41);
    script.ack(100, una, &[(una + 1, una + 2)]);
    let out_before = script.sender.packets_in_flight() - script.cwnd() + 1;
    assert!(out_before <= 1);
    let mut total = 0;
    let prior = script.cwnd();
    for delivered in 1..30 {
        script.ack(0, una, &[(una + 1, una + 2 + delivered)]);
        if script.sender.state() != CaState::Recovery {
            continue;
        }
        total += sent(&script);
        // The ACK that begins recovery counts alone; the first two came before it.
        let prr_delivered = delivered - 1;
        let law = (prr_delivered * u64::from(script.ssthresh())).div_ceil(prior.into());
        assert_eq!(total, law.max(1), "{delivered}");
    }
}

/// Fewer in flight than ssthresh: what is delivered, and one more for each ACK that advances
/// without a new loss, up to ssthresh (slow-start reduction bound).
#[test]
fn rfc9937_slow_start_reduction_bound() {
    let (mut script, una) = at(NEW, 40);
    // 3 delivered, 30 lost, 7 in flight; ssthresh 20.
    script.ack(100, una, &[(una + 30, una + 33)]);
    assert_eq!(
        (sent(&script), script.ssthresh(), script.cwnd()),
        (3, 20, 10)
    );
    let mut rounds = Vec::new();
    for acked in 1..=4 {
        let wait_ms = u64::from(acked == 1) * 100; // for the retransmission's echo
        script.ack(wait_ms, una + acked, &[(una + 30, una + 33)]);
        rounds.push(sent(&script));
    }
    // The first shows that the 7 above the SACKs are lost as well.
    assert_eq!(rounds, [1, 2, 2, 2]);
    // A SACK alone does not add.
    script.ack(0, una + 4, &[(una + 30, una + 34)]);
    assert_eq!(sent(&script), 1);
}

/// At ssthresh exactly the first ACK of a recovery retransmits all the same.
#[test]
fn rfc9937_the_first_ack_retransmits() {
    let (mut script, una) = at(NEW, 40);
    script.ack(100, una, &[(una + 17, una + 20)]);
    assert_eq!((script.cwnd(), sent(&script)), (21, 1));
}

/// A recovery counts from 0, with no credit of congestion avoidance, and leaves ssthresh.
#[test]
fn rfc9937_each_recovery_counts_anew() {
    let (mut script, una) = at(NEW, 40);
    script.ack(100, una, &[(una + 1, una + 40)]);
    script.ack(100, script.nxt, &[]);
    assert_eq!((script.sender.state(), script.cwnd()), (CaState::Open, 21));
    script.ack(100, script.nxt - 10, &[]);
    assert!(script.sender.tp().snd_cwnd_cnt > 0);
    let una = script.sender.una();
    let total: u64 = (1..=9)
        .map(|sacked| {
            script.ack(
                u64::from(sacked == 1) * 100,
                una,
                &[(una + 1, una + 1 + sacked)],
            );
            sent(&script)
        })
        .sum();
    assert_eq!(script.sender.tp().snd_cwnd_cnt, 0);
    assert_eq!((script.ssthresh(), total), (10, 6));
}

// --- RFC 8985: RACK and tail loss probes

/// 6.2, step 4: once reordering was seen, three SACKs prove nothing before a quarter of the
/// RTT; RFC 3522 showed it, by an original that arrives after its retransmission was sent.
#[test]
fn rfc8985_reordering_widens_the_window() {
    let (mut script, una) = at(NEW, 20);
    script.ack(100, una, &[(una + 1, una + 5)]);
    assert_eq!(script.sender.state(), CaState::Recovery);
    let original_ns = script.now_ns - 100 * MS;
    script.ack_with(5, una + 5, &[], false, original_ns);
    assert_eq!(
        (script.sender.state(), script.ssthresh()),
        (CaState::Open, 0x7fff_ffff)
    );
    assert!(script.cwnd() >= 20);
    let una = script.sender.una();
    script.ack(95, una, &[(una + 1, una + 6)]);
    assert_eq!(script.sender.state(), CaState::Disorder);
    // A quarter of the RTT, 2 ms more, and whole jiffies.
    assert!((26..=28).contains(&timer_ms(&script)));
    script.timeout();
    assert_eq!(script.sender.state(), CaState::Recovery);
}

/// The reordering timer reduces as an ACK for one segment would: ceil(5/10) beyond 8 in flight.
#[test]
fn rfc8985_the_reordering_timer_reduces() {
    let mut script = Script::new(NEW);
    script.ack(100, 0, &[(2, 4)]).timeout();
    assert_eq!((script.cwnd(), script.ssthresh(), sent(&script)), (9, 5, 1));
}

/// Section 3.3 and Linux: a retransmission after a timeout that is lost as well is found by one
/// sent after it, and fast recovery takes over.
#[test]
fn rfc8985_a_lost_retransmission_ends_the_loss_state() {
    let (mut script, una) = at(NEW, 20);
    script.ack(100, una, &[(una + 1, una + 5)]);
    until_loss(&mut script);
    let first_ns = script.now_ns;
    script.ack_with(100, una + 5, &[], false, first_ns);
    assert_eq!(script.sender.state(), CaState::Loss);
    assert_eq!(script.sent[0].0, una + 5);
    assert!(sent(&script) > 1, "{:?}", script.sent);
    let second_ns = script.now_ns;
    script.ack_with(100, una + 5, &[(una + 6, una + 7)], false, second_ns);
    assert_eq!(script.sender.state(), CaState::Recovery);
    assert_eq!(script.sent[0].0, una + 5);
}

/// 7.2: two RTTs, and the delay of an ACK if but one segment is out; no later than the
/// timeout. 7.3: new data if there is any.
#[test]
fn rfc8985_when_a_probe_is_sent() {
    let one = FlowLimits {
        segments: 1,
        ..UNLIMITED
    };
    // The wheel counts eight jiffies in one from 63 on, and rounds up.
    let about = |ms: u64| ms + 1..=ms + 8;
    assert!(about(300).contains(&timer_ms(&limited(NEW, one))));
    let mut script = Script::new(NEW);
    assert!(about(202).contains(&timer_ms(&script)));
    script.timeout();
    assert_eq!(script.sent, [(10, 11)]);
    // "Reset s.t. tcp_rearm_rto will restart timer from now."
    assert!(about(300).contains(&timer_ms(&script)));
}

/// 7.3: one probe at a time.
#[test]
fn rfc8985_a_second_probe_waits_for_the_answer_to_the_first() {
    let buffer = FlowLimits {
        send_buffer: 10,
        ..UNLIMITED
    };
    let mut script = limited(NEW, buffer);
    script.timeout();
    assert_eq!(script.sent, [(9, 10)]);
    script.ack(1, 5, &[]);
    assert_eq!(script.sent, [(10, 15)]);
    script.timeout();
    assert_eq!((script.sender.state(), sent(&script)), (CaState::Open, 0));
    script.ack(1, 12, &[]);
    script.timeout();
    assert_eq!((script.sender.state(), sent(&script)), (CaState::Open, 1));
}

/// 7.4.2: a probe that repaired a loss halves the window, once what came after it is acknowledged.
#[test]
fn rfc8985_a_loss_repaired_by_a_probe_counts() {
    let buffer = FlowLimits {
        send_buffer: 10,
        ..UNLIMITED
    };
    let mut script = limited(NEW, buffer);
    script.timeout();
    assert_eq!(script.sent, [(9, 10)]);
    script.ack(100, 10, &[]);
    assert_eq!(script.ssthresh(), 0x7fff_ffff);
    let cwnd = script.cwnd();
    script.ack(100, 12, &[]);
    assert_eq!(script.sender.state(), CaState::Open);
    assert_eq!(script.ssthresh(), cwnd / 2);

    // 7.4.2: not if a D-SACK tells that both arrived.
    let mut script = limited(NEW, buffer);
    script.timeout();
    script.ack(100, 10, &[]);
    script.ack_with(1, 10, &[(9, 10)], true, 0);
    script.ack(100, 12, &[]);
    assert_eq!(script.ssthresh(), 0x7fff_ffff);

    // Nor if the probe was new data.
    let mut script = Script::new(NEW);
    script.timeout();
    script.ack(100, 11, &[]).ack(100, 15, &[]);
    assert_eq!(script.ssthresh(), 0x7fff_ffff);
}

// --- Linux

/// What bursts go by: twice the window per RTT up to half of ssthresh, then 1.2 times.
#[test]
fn linux_pacing_rate() {
    let (mut script, una) = at(NEW, 40);
    until_loss(&mut script);
    // F-RTO finds that the timeout was no mistake.
    let retransmitted_ns = script.now_ns;
    script.ack_with(100, una + 1, &[], false, retransmitted_ns);
    script.ack(100, una + 1, &[(script.nxt - 1, script.nxt)]);
    let mut seen = [false; 2];
    while script.cwnd() < 19 {
        script.ack(100, script.nxt.min(script.sender.una() + 2), &[]);
        let tp = script.sender.tp();
        let window = f64::from(tp.snd_cwnd.max(tp.packets_out) * tp.mss_cache);
        let rate = tp.inet_conn.sk.sk_pacing_rate as f64;
        let ratio = rate * f64::from(tp.srtt_us >> 3) / 1e6 / window;
        let late = script.cwnd() >= script.ssthresh() / 2;
        seen[usize::from(late)] = true;
        let expected = if late { 1.2 } else { 2.0 };
        assert!((ratio - expected).abs() < 0.2, "{}: {ratio}", script.cwnd());
    }
    assert_eq!(seen, [true; 2]);
}
