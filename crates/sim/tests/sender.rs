//! The sender alone, driven by scripted ACKs: what packetdrill is to the kernel.
//!
//! RTT 100 ms; every test says which rule it shows. Segments are numbered from 0.

use crate::common;

use ackclock_host::{Algorithm, CaState};
use ackclock_sim::scenario::Profile;
use ackclock_sim::tcp::FlowLimits;
use common::script::{Script, UNLIMITED};
use common::MS;

#[test]
fn initial_windows() {
    assert_eq!(Script::new(Profile::Linux6).sent, [(0, 10)]); // RFC 6928
    assert_eq!(Script::new(Profile::Linux2_6_25).sent, [(0, 3)]); // RFC 3390
}

#[test]
fn slow_start_counts_packets_now_and_acks_then() {
    let mut now = Script::new(Profile::Linux6);
    now.ack(100, 2, &[]);
    assert_eq!((now.cwnd(), now.sent.clone()), (12, vec![(10, 14)]));
    let mut then = Script::new(Profile::Linux2_6_25);
    then.ack(100, 2, &[]);
    assert_eq!((then.cwnd(), then.sent.clone()), (4, vec![(3, 6)]));
}

/// RACK without reordering: the third SACKed segment proves what lies below it lost.
#[test]
fn three_sacked_segments_start_recovery() {
    let mut script = Script::new(Profile::Linux6);
    script.ack(100, 0, &[(1, 2)]);
    assert_eq!(script.sender.state(), CaState::Disorder);
    script.ack(0, 0, &[(1, 3)]);
    assert_eq!(script.sender.state(), CaState::Disorder);
    assert_eq!(script.sender.tp().lost_out, 0);
    script.ack(0, 0, &[(1, 4)]);
    assert_eq!(script.sender.state(), CaState::Recovery);
    assert_eq!((script.sender.tp().lost_out, script.ssthresh()), (1, 5));
    assert_eq!(script.sent, [(0, 1)]);
}

/// Two SACKed segments are no proof: a quarter of the smallest RTT later they are. The timer waits 2 ms
/// more (TCP_TIMEOUT_MIN_US), and for the end of the jiffy.
#[test]
fn the_reordering_timer_starts_recovery_too() {
    let mut script = Script::new(Profile::Linux6);
    script.ack(100, 0, &[(1, 3)]);
    let since_ns = script.now_ns;
    script.timeout();
    assert_eq!((script.now_ns - since_ns) / MS, 28);
    assert_eq!(
        (script.sender.state(), script.sent.clone()),
        (CaState::Recovery, vec![(0, 1)])
    );
    assert_eq!(script.cwnd(), script.sender.packets_in_flight());
}

/// RFC 9937: PRR sends ssthresh/prior_cwnd of what is delivered, so that cwnd
/// arrives at ssthresh when recovery ends.
#[test]
fn prr_halves_smoothly() {
    let mut script = Script::new(Profile::Linux6);
    script.grow_to(40);
    let first = script.sender.una();
    let mut sent = 0;
    for sacked in 1..40 {
        script.ack(
            u64::from(sacked == 1) * 100,
            first,
            &[(first + 1, first + 1 + sacked)],
        );
        sent += script
            .sent
            .iter()
            .map(|range| range.1 - range.0)
            .sum::<u64>();
    }
    assert_eq!(script.ssthresh(), 20);
    // 39 delivered: about half of them may be replaced, the retransmission included.
    assert!((18..=21).contains(&sent), "{sent}");
    assert_eq!(script.sender.packets_in_flight(), 20);
    // Recovery ends with what was sent before it began: 40, and one while in Disorder.
    script.ack(100, first + 40, &[]);
    assert_eq!(script.sender.state(), CaState::Recovery);
    script.ack(0, first + 41, &[]);
    assert_eq!((script.sender.state(), script.cwnd()), (CaState::Open, 20));
}

/// Linux 2.6: one segment less for every second ACK.
#[test]
fn rate_halving_takes_one_segment_for_two_acks() {
    let mut script = Script::new(Profile::Linux2_6_25);
    script.grow_to(40);
    let first = script.sender.una();
    let mut windows = Vec::new();
    for sacked in 1..=12 {
        script.ack(
            u64::from(sacked == 1) * 100,
            first,
            &[(first + 1, first + 1 + sacked)],
        );
        windows.push(script.cwnd());
    }
    // Recovery from the third SACK (FACK), then one less for every two.
    assert_eq!(script.sender.state(), CaState::Recovery);
    assert_eq!(script.ssthresh(), 20);
    let fall: Vec<_> = windows[3..].iter().map(|cwnd| windows[3] - cwnd).collect();
    assert_eq!(fall, [0, 0, 1, 1, 2, 2, 3, 3, 4], "{windows:?}");
}

#[test]
fn a_timeout_restarts_from_one_segment_and_backs_off() {
    let mut script = Script::new(Profile::Linux2_6_18);
    let sent_ns = script.now_ns;
    script.timeout();
    // RTO = SRTT + 200 ms.
    let rto_ms = (script.now_ns - sent_ns) / MS;
    assert!((300..=310).contains(&rto_ms), "{rto_ms} ms");
    assert_eq!(
        (script.sender.state(), script.cwnd(), script.ssthresh()),
        (CaState::Loss, 1, 2)
    );
    assert_eq!(script.sent, [(0, 1)]);
    let first_ns = script.now_ns;
    script.timeout();
    let second_ns = script.now_ns;
    script.timeout();
    let waits = [
        (second_ns - first_ns) / MS,
        (script.now_ns - second_ns) / MS,
    ];
    assert_eq!([waits[0] / rto_ms, waits[1] / rto_ms], [2, 4], "{waits:?}");
    // ssthresh is not reduced again for the same window.
    assert_eq!(script.ssthresh(), 2);
}

/// RFC 8985, 7: the tail is probed after two round trips, before the timeout.
#[test]
fn a_tail_loss_probe_comes_before_the_timeout() {
    let limits = FlowLimits {
        segments: 10,
        ..UNLIMITED
    };
    let reno = Algorithm::configure("reno").unwrap();
    let mut script = Script::with(Profile::Linux6, &reno, limits);
    script.ack(100, 8, &[]);
    let sent_ns = script.now_ns;
    script.timeout();
    assert_eq!(script.sent, [(9, 10)]);
    assert_eq!(script.sender.state(), CaState::Open);
    let wait_ms = (script.now_ns - sent_ns) / MS;
    assert!((203..=210).contains(&wait_ms), "{wait_ms} ms");
    // Its SACK reveals the loss of segment 8, without a timeout.
    script.ack(100, 8, &[(9, 10)]);
    assert_eq!(
        (script.sender.state(), script.sent.clone()),
        (CaState::Recovery, vec![(8, 9)])
    );
}

/// RFC 3522: the ACK echoes the original's timestamp, so the timeout was spurious.
#[test]
fn a_spurious_timeout_is_undone() {
    for profile in [Profile::Linux6, Profile::Linux2_6_18] {
        let mut script = Script::new(profile);
        script.grow_to(20);
        let (una, sent_ns) = (script.sender.una(), script.now_ns);
        while script.sender.state() != CaState::Loss {
            script.timeout();
        }
        assert_eq!(script.ssthresh(), 10);
        script.ack_with(10, una + 2, &[], false, sent_ns);
        assert_eq!(script.sender.state(), CaState::Open, "{profile:?}");
        assert!(script.ssthresh() >= 20);
        // Linux 2.6 then moderates the burst that this would allow.
        let moderated = script.sender.packets_in_flight() + 3;
        let wanted = if profile == Profile::Linux6 {
            20
        } else {
            moderated.min(20)
        };
        assert!(script.cwnd() >= wanted, "{profile:?}: {}", script.cwnd());
    }
}

/// RFC 3708: D-SACKs for every retransmission say that none was needed.
#[test]
fn duplicate_sacks_undo_a_recovery() {
    let mut script = Script::new(Profile::Linux6);
    script.grow_to(20);
    let una = script.sender.una();
    script.ack(100, una, &[(una + 1, una + 5)]);
    assert_eq!(
        (script.sender.state(), script.sent[0]),
        (CaState::Recovery, (una, una + 1))
    );
    // The original arrives late, after its retransmission was sent, and then that.
    let echo_ns = script.now_ns;
    script.ack_with(10, una + 5, &[], false, echo_ns);
    script.ack_with(90, una + 6, &[(una, una + 1)], true, echo_ns);
    assert_eq!(script.sender.state(), CaState::Open);
    // The old window, and what this ACK adds to it: the needless retransmission counts, too.
    // The old window, and what this ACK adds to it: a needless retransmission was delivered, too.
    assert_eq!((script.cwnd(), script.ssthresh()), (22, 0x7fff_ffff));
}

/// A retransmission that is lost as well is found by RACK, not by a timeout.
#[test]
fn a_lost_retransmission_is_sent_again() {
    let mut script = Script::new(Profile::Linux6);
    script.grow_to(20);
    let una = script.sender.una();
    script.ack(100, una, &[(una + 1, una + 5)]);
    assert_eq!(script.sent[0], (una, una + 1));
    script.ack(1, una, &[(una + 1, una + 20)]);
    let fresh = script.sent.last().unwrap().1;
    // A segment sent after the retransmission is SACKed one round trip later.
    script.ack(100, una, &[(una + 20, fresh), (una + 1, una + 20)]);
    assert!(script.sent.contains(&(una, una + 1)), "{:?}", script.sent);
    assert_eq!(script.sender.state(), CaState::Recovery);
}

/// cwnd does not grow while the receive window, not cwnd, is the limit.
#[test]
fn a_window_that_does_not_limit_does_not_grow() {
    let limits = FlowLimits {
        receive_window: 12,
        ..UNLIMITED
    };
    let reno = Algorithm::configure("reno").unwrap();
    let mut script = Script::with(Profile::Linux6, &reno, limits);
    let mut windows = Vec::new();
    for round in 0..20 {
        // The first ACK offers two segments more.
        let most = if round == 1 { 14 } else { 12 };
        assert!(script.sender.packets_in_flight() <= most);
        script.ack(100, script.nxt, &[]);
        windows.push(script.cwnd());
    }
    // Slow start goes on while cwnd is below twice what was in flight (tcp_is_cwnd_limited).
    assert!((24..36).contains(&windows[10]), "{windows:?}");
    assert_eq!(windows[10], windows[19]);
    assert!(script.sender.limited_ns(script.now_ns).0 > 1_000 * MS);
}

fn hooks_called(script: &Script) -> String {
    let words = script.sender.tp().inet_conn.icsk_ca_priv;
    let bytes = words.iter().flat_map(|word| word.to_ne_bytes());
    bytes
        .take_while(|&hook| hook != 0)
        .map(char::from)
        .collect()
}

/// The host contract: `i` init, `A` TX_START, `f`/`q` in_ack_event (fast/slow path),
/// `p` pkts_acked, `s` ssthresh, digits set_state, `C` COMPLETE_CWR, `D` LOSS, `a` cong_avoid.
#[test]
fn hooks_are_called_in_tcp_acks_order() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/hook_order.c");
    let algorithm = Algorithm::configure(file).unwrap();

    let mut script = Script::with(Profile::Linux6, &algorithm, UNLIMITED);
    script.ack(100, 2, &[]);
    script.ack(0, 2, &[(3, 6)]);
    script.ack(100, script.nxt, &[]);
    // init and first flight; an ACK; a loss; the ACK that ends recovery, with nothing in
    // flight when the next flight starts.
    assert_eq!(
        hooks_called(&script),
        "iA".to_owned() + "pfa" + "pqs3" + "pf0C" + "aA"
    );

    // A duplicate ACK without SACK is as header prediction expects. The event shows the new snd_una.
    let mut script = Script::with(Profile::Linux6, &algorithm, UNLIMITED);
    script.ack(100, 2, &[]);
    script.ack(100, 2, &[]);
    script.ack(100, 4, &[]);
    assert_eq!(
        hooks_called(&script),
        "iA".to_owned() + "pfa" + "p?" + "pfa"
    );

    let mut script = Script::with(Profile::Linux6, &algorithm, UNLIMITED);
    while script.sender.state() != CaState::Loss {
        script.timeout();
    }
    assert_eq!(hooks_called(&script), "iA".to_owned() + "sD4A");

    // Linux 2.6 grows before it looks at the state.
    let mut script = Script::with(Profile::Linux2_6_25, &algorithm, UNLIMITED);
    script.ack(100, 1, &[]);
    script.ack(0, 1, &[(2, 5)]);
    script.ack(100, script.nxt, &[]);
    assert_eq!(
        hooks_called(&script),
        "iA".to_owned() + "fpa" + "qps3A" + "fp0C1A"
    );
}
