//! The sender alone: what tells that a reduction was a mistake, and Linux 2.6's own rules.

use crate::common;

use ackclock_host::CaState;
use ackclock_sim::scenario::Profile;
use ackclock_sim::tcp::FlowLimits;
use common::script::{at, limited, sent, undone, until_loss, Script, NEW, OLD, UNLIMITED};

// --- RFC 5682: F-RTO, without the help of timestamps

/// After a timeout at 20; the retransmission is acknowledged and F-RTO sends new data.
fn frto() -> (Script, u64, u64) {
    let (mut script, una) = at(NEW, 20);
    until_loss(&mut script);
    let stamp_ns = script.now_ns;
    let next = script.nxt;
    script.ack_with(100, una + 1, &[], false, stamp_ns);
    assert_eq!(
        (script.sender.state(), script.sent[0].0),
        (CaState::Loss, next)
    );
    (script, una, stamp_ns)
}

/// 2.1, step 3b: an ACK for what was never sent again: the timeout was spurious.
#[test]
fn rfc5682_an_original_undoes_the_timeout() {
    let (mut script, una, stamp_ns) = frto();
    script.ack_with(1, una + 3, &[], false, stamp_ns);
    assert_eq!(
        (script.sender.state(), script.ssthresh()),
        (CaState::Open, 0x7fff_ffff)
    );
}

/// Step 3a: the new data is SACKed, which says nothing for the originals: retransmit, and
/// trust no original later on.
#[test]
fn rfc5682_a_duplicate_ack_ends_it() {
    let (mut script, una, stamp_ns) = frto();
    let newest = script.nxt;
    script.ack_with(100, una + 1, &[(newest - 1, newest)], false, stamp_ns);
    assert_eq!(script.sender.state(), CaState::Loss);
    assert_eq!(script.sent[0].0, una + 1);
    let untouched = script.sent.last().unwrap().1;
    assert!(untouched < una + 19, "{:?}", script.sent);
    script.ack_with(1, untouched + 1, &[(newest - 1, newest)], false, stamp_ns);
    assert_eq!(
        (script.sender.state(), script.ssthresh()),
        (CaState::Loss, 10)
    );
}

/// Section 3 and Linux: not in Recovery, where losses are proved; but again after a second
/// timeout of the same segment.
#[test]
fn rfc5682_when_it_applies() {
    let (mut script, una) = at(NEW, 20);
    script.ack(100, una, &[(una + 1, una + 10)]);
    assert_eq!(script.sender.state(), CaState::Recovery);
    until_loss(&mut script);
    let stamp_ns = script.now_ns;
    script.ack_with(100, una + 10, &[], false, stamp_ns);
    assert_eq!(script.sent[0].0, una + 10, "{:?}", script.sent);

    let (mut script, una) = at(NEW, 20);
    until_loss(&mut script);
    script.timeout();
    let (stamp_ns, next) = (script.now_ns, script.nxt);
    script.ack_with(100, una + 1, &[], false, stamp_ns);
    assert_eq!(script.sent[0].0, next, "{:?}", script.sent);
}

// --- RFC 3708: undo by D-SACK

/// A D-SACK for what lies before the recovery, or was not sent again, answers nothing.
#[test]
fn rfc3708_only_retransmissions_of_this_recovery_count() {
    for old in [true, false] {
        let (mut script, una) = at(NEW, 20);
        script.ack(100, una, &[(una + 1, una + 5)]);
        assert_eq!(script.sent[0], (una, una + 1));
        let block = if old {
            (una - 5, una - 4)
        } else {
            (una + 2, una + 3)
        };
        let now_ns = script.now_ns;
        script.ack_with(1, una, &[block, (una + 1, una + 5)], true, now_ns);
        assert!(!undone(&mut script), "{block:?}");
    }
}

/// D-SACKs of copies that the network made are no sign: from the first one that is more than was
/// sent again, today's Linux ignores them (`tcp_dsack_seen`).
#[test]
fn copies_of_the_network_undo_nothing() {
    for copies in [0, 1] {
        let (mut script, una) = at(NEW, 20);
        let now_ns = script.now_ns;
        for copy in 0..copies {
            script.ack_with(1, una, &[(una - 2 - copy, una - 1 - copy)], true, now_ns);
        }
        script.ack(100, una, &[(una + 1, una + 5)]);
        assert_eq!(script.sent[0], (una, una + 1));
        let now_ns = script.now_ns;
        script.ack_with(1, una + 5, &[(una, una + 1)], true, now_ns);
        assert_eq!(undone(&mut script), copies == 0);
    }
}

/// In Recovery a D-SACK that answers all ends it at once; what is SACKed decides between Open and Disorder
/// (`tcp_try_to_open`).
#[test]
fn rfc3708_a_d_sack_ends_recovery() {
    for (sacked, state) in [(false, CaState::Open), (true, CaState::Disorder)] {
        let (mut script, una) = at(NEW, 20);
        script.ack(100, una, &[(una + 1, una + 5)]);
        assert_eq!(script.sent[0], (una, una + 1));
        let stamp_ns = script.now_ns;
        script.ack_with(50, una + 5, &[], false, stamp_ns);
        assert_eq!(script.sender.state(), CaState::Recovery);
        let mut blocks = vec![(una, una + 1)];
        blocks.extend(sacked.then_some((una + 7, una + 8)));
        script.ack_with(1, una + 5, &blocks, true, stamp_ns);
        assert_eq!(script.sender.state(), state);
        assert_eq!((script.cwnd(), script.ssthresh()), (20, 0x7fff_ffff));
    }
}

/// An undo also forgets how often the timer has fired (`tcp_try_undo_loss`), where an original is SACKed
/// and nothing acknowledged: a timeout in the Recovery that follows is not taken for one more of the
/// same, so there is no F-RTO.
#[test]
fn an_undo_forgets_the_timeouts() {
    let (mut script, una) = at(NEW, 20);
    until_loss(&mut script);
    let echo_ns = script.now_ns;
    script.ack_with(1, una, &[(una + 1, una + 2)], false, echo_ns);
    assert_eq!(script.sender.state(), CaState::Disorder);
    script.ack_with(
        1,
        una,
        &[(una + 1, una + 2), (una + 3, una + 12)],
        false,
        echo_ns,
    );
    assert_eq!(script.sender.state(), CaState::Recovery);
    until_loss(&mut script);
    let next = script.nxt;
    script.ack_with(100, una + 2, &[(una + 3, una + 12)], false, script.now_ns);
    assert!(script.sent[0].0 < next, "{:?}", script.sent);
}

/// A probe is a retransmission that a D-SACK may answer, too.
#[test]
fn rfc3708_a_probe_counts_as_well() {
    let ten = FlowLimits {
        segments: 10,
        ..UNLIMITED
    };
    let mut script = limited(NEW, ten);
    script.timeout();
    script.ack(1, 0, &[(1, 4)]);
    assert_eq!(script.sent, [(0, 1)]);
    let now_ns = script.now_ns;
    script.ack_with(100, 0, &[(9, 10), (1, 10)], true, now_ns);
    assert!(!undone(&mut script));
    script.ack_with(1, 10, &[(0, 1)], true, now_ns);
    assert!(undone(&mut script));
}

/// After an undone timeout losses are found again.
#[test]
fn rfc3522_segments_are_judged_anew_after_an_undo() {
    let (mut script, una) = at(NEW, 20);
    let sent_ns = script.now_ns;
    script.ack(100, una, &[(una + 1, una + 5)]);
    until_loss(&mut script);
    let now_ns = script.now_ns;
    script.ack_with(1, una, &[(una + 1, una + 6)], false, now_ns);
    assert_eq!(script.sender.state(), CaState::Loss);
    script.ack_with(1, una + 6, &[], false, sent_ns);
    assert!(undone(&mut script));
    let una = una + 6;
    script.ack(100, una, &[(una + 1, una + 12)]);
    assert_eq!(script.sender.state(), CaState::Recovery);
    assert_eq!(script.sent[0], (una, una + 1));
}

// --- Linux 2.6.25

/// A burst of losses drags cwnd to in flight + 1, below ssthresh, where it is after recovery.
#[test]
fn linux_2_6_cwnd_follows_what_is_in_flight() {
    let (mut script, una) = at(OLD, 40);
    // Lost: all that is 3 below the highest SACK. 40 - 20 - 18 in flight.
    script.ack(100, una, &[(una + 20, una + 40)]);
    let tp = script.sender.tp();
    assert_eq!((tp.lost, tp.sacked_out, script.ssthresh()), (20, 20, 20));
    assert_eq!((script.cwnd(), sent(&script)), (1, 1));
    script.ack(100, script.nxt, &[]);
    assert!(script.cwnd() < 10, "{}", script.cwnd());
}

/// Rate halving ends at half of ssthresh with standard TCP.
#[test]
fn linux_2_6_halves_below_ssthresh() {
    let (mut script, una) = at(OLD, 40);
    let high = script.nxt;
    for sacked in 2..40 {
        script.ack(
            u64::from(sacked == 2) * 100,
            una,
            &[(una + 1, una + sacked)],
        );
    }
    for sacked in high + 1..script.nxt {
        script.ack(1, una, &[(una + 1, sacked)]);
        let least = script.ssthresh() / 2;
        assert!(script.cwnd() >= least - 1, "{}", script.cwnd());
    }
    assert_eq!(script.sender.state(), CaState::Recovery);
}

/// It counts from the recovery on, ACKs that tell something.
#[test]
fn linux_2_6_halving_counts_what_tells() {
    let (mut script, una) = at(OLD, 40);
    script.ack(100, una, &[(una + 1, una + 5)]);
    while script.sender.state() != CaState::Open {
        script.ack(100, script.nxt, &[]);
    }
    while script.sender.tp().snd_cwnd_cnt != 5 || script.cwnd() < 10 {
        script.ack(20, script.sender.una() + 1, &[]);
    }
    let (cwnd, una) = (script.cwnd(), script.sender.una());
    script.ack(20, una, &[(una + 1, una + 5)]);
    assert_eq!(script.sender.state(), CaState::Recovery);
    assert!(script.cwnd() + 4 >= cwnd, "{cwnd} {}", script.cwnd());
    assert_eq!(script.sender.tp().snd_cwnd_cnt, 1);
    for _ in 0..3 {
        script.ack(1, una, &[]);
    }
    assert_eq!(script.sender.tp().snd_cwnd_cnt, 1);
}

/// In Disorder cwnd is at most 3 above what is in flight.
#[test]
fn linux_2_6_moderates_bursts() {
    let (mut script, una) = at(OLD, 40);
    script.ack(100, una + 30, &[(una + 32, una + 33)]);
    assert_eq!(script.sender.state(), CaState::Disorder);
    assert_eq!((script.cwnd(), sent(&script)), (12, 3));
}

/// From 2.6.26 on a window that was full within 3 segments counts as full; before it does not.
#[test]
fn linux_2_6_grows_a_window_that_is_nearly_used() {
    let limits = FlowLimits {
        receive_window: 12,
        ..UNLIMITED
    };
    for (profile, cwnd) in [(OLD, 13), (Profile::Linux2_6_32, 16)] {
        let mut script = limited(profile, limits);
        for _ in 0..100 {
            script.ack(100, script.sender.una() + 1, &[]);
        }
        assert_eq!(script.cwnd(), cwnd, "{profile:?}");
    }
}

// --- Linux 6: reordering

/// `tcp_may_raise_cwnd`: where a segment was late by more than three, SACKed data makes the window grow, too.
#[test]
fn data_out_of_order_raises_cwnd_where_the_path_reorders_much() {
    for late in [true, false] {
        let (mut script, una) = at(NEW, 20);
        script.ack(100, una, &[(una + 10, una + 11)]);
        let mut next = una;
        if late {
            next += 1;
            script.ack(1, next, &[(una + 10, una + 11)]);
        }
        let cwnd = script.cwnd();
        script.ack(1, next, &[(una + 10, una + 12)]);
        assert_eq!(script.sender.state(), CaState::Disorder);
        assert_eq!(script.cwnd() - cwnd, u32::from(late));
    }
}
