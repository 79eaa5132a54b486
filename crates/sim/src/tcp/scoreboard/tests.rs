use super::super::host::{reno, Host};
use super::*;
use crate::scenario::Profile;

/// packets_out, sacked_out, lost_out, retrans_out; delivered, lost, total_retrans.
fn counts(host: &Host) -> ([u32; 4], [u32; 3]) {
    let tp = host.tp();
    (
        [tp.packets_out, tp.sacked_out, tp.lost_out, tp.retrans_out],
        // The handshake counts as 1.
        [tp.delivered - 1, tp.lost, tp.total_retrans],
    )
}

/// A loss from its sending to its acknowledgement.
#[test]
fn every_segment_is_counted_once() {
    let (mut host, mut board) = (reno(Profile::Linux6, 10), Scoreboard::new());
    let mut delivery = Delivery::default();
    board.send(host.counts(), 1, 10, false);
    assert_eq!(counts(&host), ([10, 0, 0, 0], [0, 0, 0]));
    board.sack(host.counts(), (1, 6), 0, &mut delivery);
    board.sack(host.counts(), (1, 6), 0, &mut delivery);
    assert_eq!(counts(&host), ([10, 5, 0, 0], [5, 0, 0]));
    board.judge_by_distance(host.counts());
    assert_eq!(counts(&host), ([10, 5, 1, 0], [5, 1, 0]));
    let burst = board.retransmit(host.counts(), 2, 9);
    let again = Transmit {
        first: 0,
        segments: 1,
        pushed: false,
        marks: Marks::default(),
    };
    assert_eq!(burst, Some(again));
    assert_eq!(counts(&host), ([10, 5, 1, 1], [5, 1, 1]));
    assert_eq!(board.retransmit(host.counts(), 2, 9), None);
    // One sent after it is SACKed: it was lost again, and so were 6 and 7.
    board.send(host.counts(), 3, 1, false);
    board.sack(host.counts(), (10, 11), 0, &mut delivery);
    board.judge_by_distance(host.counts());
    assert_eq!(counts(&host), ([11, 6, 3, 0], [6, 4, 1]));
    board.acknowledge(host.counts(), 6, 0, &mut delivery);
    assert_eq!(counts(&host), ([5, 1, 2, 0], [7, 4, 1]));
    board.unmark_lost(host.counts());
    assert_eq!(counts(&host), ([5, 1, 0, 0], [7, 4, 1]));
    board.check(host.tp(), true);
    board.acknowledge(host.counts(), 11, 0, &mut delivery);
    assert_eq!(counts(&host), ([0, 0, 0, 0], [11, 4, 1]));
}

/// A timeout loses all but what is SACKed or spared; the head in any case.
#[test]
fn a_timeout_marks_all() {
    let (mut host, mut board) = (reno(Profile::Linux6, 10), Scoreboard::new());
    board.send(host.counts(), 1, 4, false);
    board.send(host.counts(), 9, 4, false);
    board.sack(host.counts(), (2, 3), 0, &mut Delivery::default());
    board.mark_all_lost(host.counts(), |sent_ns| sent_ns > 5);
    assert_eq!(counts(&host), ([8, 1, 3, 0], [1, 3, 0]));
    board.retransmit_last(host.counts(), 10);
    assert_eq!(counts(&host).1, [1, 3, 1], "a probe is not in retrans_out");
    assert!(board.ever_retransmitted(7) && !board.ever_retransmitted(6));
    board.check(host.tp(), true);
}

const MS: u64 = 1_000_000;

/// Ten segments of which RACK has judged the first lost.
fn one_judged() -> (Host, Scoreboard) {
    let (mut host, mut board) = (reno(Profile::Linux6, 10), Scoreboard::new());
    board.send(host.counts(), MS, 10, false);
    board.sack(host.counts(), (1, 4), 0, &mut Delivery::default());
    let due_us = board.judge_by_time(host.counts(), 9_000, (MS, 3), 0);
    assert_eq!((due_us, host.tp().lost_out), (None, 1));
    (host, board)
}

/// RACK looks at transmissions in the order of their sending, and stops at the first that was not sent
/// before what was delivered: it does not reach a retransmission behind it, though of the same time.
#[test]
fn judging_stops_in_the_order_of_sending() {
    for new_first in [true, false] {
        let (mut host, mut board) = one_judged();
        if new_first {
            board.send(host.counts(), 2 * MS, 2, false);
        }
        board.retransmit(host.counts(), 2 * MS, 1);
        if !new_first {
            board.send(host.counts(), 2 * MS, 2, false);
        }
        board.sack(host.counts(), (10, 11), 0, &mut Delivery::default());
        board.judge_by_time(host.counts(), 9_000, (2 * MS, 10), 1_000);
        let lost_again = u32::from(!new_first);
        let expected = ([12, 4, 7, 1 - lost_again], [4, 7 + lost_again, 1]);
        assert_eq!(counts(&host), expected, "{new_first}");
    }
}

/// An undo does not give back to RACK what RACK has judged (`tsorted_sent_queue`), but what a timeout
/// has marked.
#[test]
fn what_an_undo_leaves_to_rack() {
    let (mut host, mut board) = one_judged();
    board.unmark_lost(host.counts());
    board.judge_by_time(host.counts(), 9_000, (MS, 3), 0);
    assert_eq!(host.tp().lost_out, 0);
    board.mark_all_lost(host.counts(), |_| false);
    board.unmark_lost(host.counts());
    board.judge_by_time(host.counts(), 9_000, (MS, 9), 0);
    assert_eq!(host.tp().lost_out, 5, "all from 4 to 8");
}

/// A retransmission that an undo has made needless stays in flight when its segment is SACKed. A
/// D-SACK ends that, and shows reordering (`tcp_sacktag_one`).
#[test]
fn a_needless_retransmission_is_in_flight() {
    let (mut host, mut board) = (reno(Profile::Linux6, 10), Scoreboard::new());
    let mut delivery = Delivery::default();
    board.send(host.counts(), MS, 4, false);
    board.mark_all_lost(host.counts(), |_| false);
    board.retransmit(host.counts(), 2 * MS, 4);
    board.unmark_lost(host.counts());
    board.sack(host.counts(), (1, 2), 0, &mut delivery);
    assert_eq!(counts(&host).0, [4, 1, 0, 4]);
    assert_eq!(delivery.sacked_late, None);
    board.duplicate(host.counts(), 1, 0, &mut delivery);
    assert_eq!(counts(&host).0, [4, 1, 0, 3]);
    assert_eq!(delivery.sacked_late, Some(1));
    board.check(host.tp(), true);
}

/// RACK passes over a retransmission that is younger than any RTT, or than the echo. The rate sample counts
/// each one (`tcp_rate_skb_delivered`).
#[test]
fn every_retransmission_is_sampled() {
    for sacked in [false, true] {
        let (mut host, mut board) = one_judged();
        board.retransmit(host.counts(), 9 * MS, 1);
        let mut delivery = Delivery {
            youngest_ns: 8 * MS,
            echo_ns: 8 * MS,
            ..Delivery::default()
        };
        if sacked {
            board.sack(host.counts(), (0, 1), 0, &mut delivery);
        } else {
            board.acknowledge(host.counts(), 1, 0, &mut delivery);
        }
        assert_eq!(delivery.newest, None);
        assert_eq!(delivery.sampled, Some(((9 * MS, 0), true)), "{sacked}");
    }
}

/// RACK waits for the last segment without an answer that was sent before the newest, or for the
/// head that was sent again.
#[test]
fn rack_waits_for_the_last_that_is_older() {
    let (mut host, mut board) = (reno(Profile::Linux6, 10), Scoreboard::new());
    for segment in 0..20 {
        board.send(host.counts(), (1 + segment) * MS, 1, false);
    }
    board.sack(host.counts(), (9, 12), 0, &mut Delivery::default());
    let wait_us = 50_000;
    let mut due_ms = |board: &mut Scoreboard, newest: SentOrder| {
        let due_us = board.judge_by_time(host.counts(), 40_000, newest, wait_us);
        due_us.map(|due_us| (due_us - wait_us) / 1_000)
    };
    for (newest, due) in [
        (0, None),
        (1, Some(1)),
        (8, Some(8)),
        (9, Some(9)),
        (11, Some(9)),
        (14, Some(14)),
    ] {
        assert_eq!(
            due_ms(&mut board, ((newest + 1) * MS, newest)),
            due,
            "{newest}"
        );
    }
    board.retransmit_head(host.counts(), 30 * MS);
    let due_us = board.judge_by_time(host.counts(), 40_000, (30 * MS, 1), wait_us);
    assert_eq!(due_us, Some(80_000));
}
