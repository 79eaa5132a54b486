//! The receiver alone: what it acknowledges, when, and what the ACK says.

use crate::common;

use ackclock_sim::scenario::Profile;
use ackclock_sim::tcp::profile::{Kernel, Reads, Switches};
use ackclock_sim::tcp::{Ack, Range, ReceiveBuffer, Receiver};
use common::MS;
use proptest::prelude::*;

const RTT: u64 = 100 * MS;
/// Reads too rare to matter.
const BULK: Reads = Reads::Bulk { segments: 1_000 };

fn receiver(profile: Profile, reads: Reads, rtt_ns: u64) -> Receiver {
    let kernel = Kernel::for_profile(profile);
    let switches = Switches {
        reads,
        ..Switches::usual(profile)
    };
    Receiver::new(&kernel, &switches, kernel.clock(1000, 0), rtt_ns)
}

struct Script {
    receiver: Receiver,
    now_ns: u64,
}

impl Script {
    /// Segments 0 to 19 have arrived and are acknowledged, so that the ACKs are no longer quick.
    /// The delayed-ACK timer has fired for nothing.
    fn with_reads(profile: Profile, reads: Reads, rtt_ns: u64) -> Self {
        let mut script = Self {
            receiver: receiver(profile, reads, rtt_ns),
            now_ns: 1000 * MS,
        };
        let answered: Vec<_> = (0..19).filter(|&s| script.segment(s).is_some()).collect();
        assert_eq!(
            answered,
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18]
        );
        let sent_ns = script.now_ns - RTT / 2;
        let ack = script
            .receiver
            .handle_segment(script.now_ns, 19, sent_ns, false, true);
        assert_eq!(ack.map(|ack| ack.ack), Some(20));
        script.now_ns = script.receiver.poll_timeout();
        assert_eq!(script.receiver.handle_timeout(script.now_ns), None);
        assert_eq!(script.receiver.poll_timeout(), u64::MAX);
        script
    }

    fn with(profile: Profile, rtt_ns: u64) -> Self {
        Self::with_reads(profile, BULK, rtt_ns)
    }

    fn new() -> Self {
        Self::with(Profile::Linux6, RTT)
    }

    /// A segment that was sent half a round trip ago arrives 10 us after the last.
    fn segment(&mut self, segment: u64) -> Option<Ack> {
        self.now_ns += 10_000;
        let sent_ns = self.now_ns - RTT / 2;
        self.receiver
            .handle_segment(self.now_ns, segment, sent_ns, false, false)
    }

    /// The same, with PSH.
    fn pushed(&mut self, segment: u64) -> Option<Ack> {
        self.now_ns += 10_000;
        let sent_ns = self.now_ns - RTT / 2;
        self.receiver
            .handle_segment(self.now_ns, segment, sent_ns, true, false)
    }

    fn wait_ms(&self) -> f64 {
        (self.receiver.poll_timeout() - self.now_ns) as f64 / MS as f64
    }
}

fn blocks(ack: Option<Ack>) -> Vec<Range> {
    ack.expect("an ACK").sacks().to_vec()
}

/// RFC 5681, 4.2, with Linux's 40 ms, counted in jiffies, and the jiffy that has begun.
#[test]
fn an_ack_for_every_second_segment_or_after_40_ms() {
    let mut script = Script::new();
    assert_eq!(script.segment(20), None);
    assert!(
        (40.0..=41.0).contains(&script.wait_ms()),
        "{}",
        script.wait_ms()
    );
    assert_eq!(script.segment(21).unwrap().ack, 22);
    assert_eq!(script.segment(22), None);
    script.now_ns = script.receiver.poll_timeout();
    let ack = script.receiver.handle_timeout(script.now_ns).unwrap();
    assert_eq!((ack.ack, ack.sacks().is_empty()), (23, true));
    assert_eq!(script.receiver.handle_timeout(script.now_ns), None);
    // The last one of a flow is not waited for.
    let last = script
        .receiver
        .handle_segment(script.now_ns, 23, script.now_ns, false, true);
    assert_eq!(last.unwrap().ack, 24);
}

/// `tcp_delack_timer_handler`: an ACK that was late makes the next ones wait longer, up to the RTT.
#[test]
fn a_late_ack_raises_the_delay() {
    let mut script = Script::with(Profile::Linux6, 50 * MS);
    for (segment, wait_ms) in [(20, 40.0), (21, 50.0), (22, 50.0)] {
        assert_eq!(script.segment(segment), None);
        let waited = script.wait_ms() - wait_ms;
        assert!((0.0..=1.0).contains(&waited), "{segment}: {waited}");
        script.now_ns = script.receiver.poll_timeout();
        assert!(script.receiver.handle_timeout(script.now_ns).is_some());
    }
}

/// `__tcp_cleanup_rbuf`: an application that empties the buffer acknowledges the end of a burst.
#[test]
fn who_reads_at_once_acknowledges_what_is_pushed() {
    let mut script = Script::with_reads(Profile::Linux6, Reads::AtOnce, RTT);
    assert_eq!(script.segment(20), None);
    assert_eq!(script.segment(21).unwrap().ack, 22);
    assert_eq!(script.pushed(22).unwrap().ack, 23);
    // Not while later data waits for a gap: the first three duplicates are for others.
    for segment in [25, 26, 27] {
        assert!(script.segment(segment).is_some());
    }
    assert_eq!(script.segment(23).unwrap().ack, 24);
}

/// A reader in bulk does so when it reads: the first segment, then each tenth.
#[test]
fn who_reads_in_bulk_acknowledges_then() {
    let mut script = Script::with_reads(Profile::Linux6, Reads::Bulk { segments: 10 }, RTT);
    let answered: Vec<_> = (20..44).filter(|&s| script.pushed(s).is_some()).collect();
    // It reads when 1, 11, 21, 31, 41 segments are there: with segments 20, 30 and 40 of these.
    let expected = [20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42];
    assert_eq!(answered, expected);
}

/// `inet_csk_clear_xmit_timer` leaves the timer running: 40 ms after an odd segment it sends an ACK
/// that is compressed by then.
#[test]
fn the_delayed_ack_timer_outlives_its_ack() {
    let mut script = Script::new();
    assert_eq!(script.segment(20), None);
    let fires_ns = script.receiver.poll_timeout();
    assert!(script.segment(21).is_some());
    script.now_ns = fires_ns - 100_000;
    for segment in [24, 25, 26] {
        assert!(script.segment(segment).is_some());
    }
    assert_eq!(script.segment(27), None);
    assert_eq!(script.receiver.poll_timeout(), fires_ns);
    let ack = script.receiver.handle_timeout(fires_ns);
    assert_eq!(blocks(ack), [(24, 28)]);
    assert_eq!(script.receiver.poll_timeout(), u64::MAX);
}

/// `tcp_send_delayed_ack`: a second segment that leaves its ACK to the reader may bring the timer forward.
/// After a pause of 39 ms the delay is 40/2 + 39 = 59 jiffies, and with the next segment 59/2 + 20 = 49.
#[test]
fn the_delayed_ack_timer_moves_forward() {
    let mut script = Script::with_reads(Profile::Linux6, Reads::AtOnce, RTT);
    assert_eq!(script.segment(20), None);
    assert!(script.segment(21).is_some());
    script.now_ns += 39 * MS;
    assert_eq!(script.segment(22), None);
    assert!((59.0..=60.0).contains(&script.wait_ms()));
    assert!(script.segment(23).is_some());
    assert!((49.0..=50.0).contains(&script.wait_ms()));
}

/// The window field changes with an ACK of 16 KiB: the right edge is above the window. That of the
/// first ACK is scaled, and that of the handshake was not.
#[test]
fn an_ack_of_much_data_changes_the_window_field() {
    let mut first = receiver(Profile::Linux6, BULK, RTT);
    let changes = [0, 1, 2].map(|segment| {
        let ack = first.handle_segment(1000 * MS, segment, 1, false, false);
        ack.is_some_and(|ack| ack.new_window())
    });
    assert_eq!(changes, [true, false, false]);
    for (segments, changes) in [(11, false), (12, true)] {
        let mut script = Script::new();
        for segment in 21..20 + segments {
            script.segment(segment);
        }
        let ack = script.segment(20).unwrap();
        assert_eq!((ack.ack, ack.new_window()), (20 + segments, changes));
    }
}

/// `tcp_event_data_recv`: after a pause of more than an RTO the sender may be in slow start.
#[test]
fn acks_are_quick_after_a_pause() {
    // The last segment arrived some 40 ms ago.
    for (pause_ms, quick) in [(255, false), (265, true)] {
        let mut script = Script::new();
        script.now_ns += pause_ms * MS;
        let answered = (20..30).filter(|&s| script.segment(s).is_some()).count();
        assert_eq!(answered, if quick { 10 } else { 5 }, "{pause_ms} ms");
    }
}

/// `tcp_incr_quickack`: half of a window of less than 32 segments, and the odd one of a window that
/// still grows.
#[test]
fn a_small_window_has_fewer_quick_acks() {
    for (window, quick) in [
        (2, 1),
        (3, 1),
        (5, 3),
        (13, 7),
        (14, 7),
        (16, 9),
        (31, 15),
        (40, 17),
    ] {
        let mut receiver = receiver(Profile::Linux6, BULK, RTT);
        receiver.offer_at_most(window, 1448);
        let answers = |s| {
            receiver
                .handle_segment(1000 * MS, s, 1000 * MS - RTT / 2, false, false)
                .is_some()
        };
        let first_not = (0..40).map(answers).position(|answered| !answered);
        assert_eq!(first_not, Some(quick), "a window of {window}");
    }
}

/// The same of a buffer of 57 920 bytes that is tuned: ten of its window of 20 segments, and two as it grows.
#[test]
fn a_small_buffer_has_fewer_quick_acks() {
    let mut receiver = receiver(Profile::Linux6, Reads::AtOnce, RTT);
    receiver.hold_within(ReceiveBuffer::Tuned(57_920), 1448);
    let answers = |s| {
        receiver
            .handle_segment(1000 * MS, s, 1000 * MS - RTT / 2, false, false)
            .is_some()
    };
    let first_not = (0..40).map(answers).position(|answered| !answered);
    assert_eq!(first_not, Some(12));
}

/// `__tcp_cleanup_rbuf`: reading the one segment of a window of two doubles the window, and is
/// acknowledged, once the window is down to the one that is wanted. With three it waits.
#[test]
fn reading_that_doubles_the_window_is_acknowledged() {
    for (window, answered) in [
        (2, [true, false, true, true, true, true, true, true]),
        (3, [true, false, true, false, true, false, true, false]),
    ] {
        let mut receiver = receiver(Profile::Linux6, Reads::AtOnce, RTT);
        receiver.offer_at_most(window, 1448);
        let answers = |s| {
            let now_ns = (1000 + s) * MS;
            let ack = receiver.handle_segment(now_ns, s, now_ns - RTT / 2, false, false);
            ack.is_some()
        };
        let seen: Vec<_> = (0..8).map(answers).collect();
        assert_eq!(seen, answered, "a window of {window}");
    }
}

/// RFC 2883: a duplicate is the first block. What follows is acknowledged at once.
#[test]
fn a_duplicate_is_reported() {
    let mut script = Script::new();
    let ack = script.segment(7).unwrap();
    assert!(ack.has_duplicate());
    assert_eq!(
        (ack.ack, blocks(Some(ack)), script.receiver.duplicates()),
        (20, vec![(7, 8)], 1)
    );
    let answered = (20..30).filter(|&s| script.segment(s).is_some()).count();
    assert_eq!(answered, 10);
    // One that waits for a gap to be filled is reported twice: as that, and as what it is.
    script.segment(35);
    assert_eq!(blocks(script.segment(35)), [(35, 36), (35, 36)]);
}

/// RFC 7323, 5.3: a segment that left 2 ms before one in order is not taken, and what is missing stays so;
/// 1 ms is within the window of PAWS.
#[test]
fn a_segment_from_before_the_last_one_in_order_is_discarded() {
    let mut script = Script::new();
    for late_ms in [1, 2] {
        let first = script.receiver.delivered();
        assert_eq!(script.segment(first + 2).unwrap().ack, first);
        assert_eq!(script.segment(first).unwrap().ack, first + 1);
        script.now_ns += 10_000;
        let sent_ns = script.now_ns - RTT / 2 - late_ms * MS;
        let now_ns = script.now_ns;
        let ack = (script.receiver).handle_segment(now_ns, first + 1, sent_ns, false, false);
        let taken = if late_ms == 1 { 2 } else { 0 };
        assert_eq!(ack.unwrap().ack, first + 1 + taken, "{late_ms}");
    }
    assert_eq!(script.receiver.duplicates(), 1);
}

/// `tcp_sequence`: a segment below the last ACK tells no timestamp, so those on their way are not late.
#[test]
fn an_old_segment_tells_no_timestamp() {
    let mut script = Script::new();
    let (now_ns, next) = (script.now_ns, script.receiver.delivered());
    let again = (script.receiver).handle_segment(now_ns, next - 10, now_ns, false, false);
    assert_eq!(
        (again.unwrap().ack, script.receiver.duplicates()),
        (next, 1)
    );
    let sent_ns = now_ns - 10 * MS;
    let ack = (script.receiver).handle_segment(now_ns + MS, next, sent_ns, false, true);
    let ack = ack.unwrap();
    assert_eq!((ack.ack, ack.echo_ns), (next + 1, sent_ns));
}

/// RFC 2018, section 4: the block of the latest segment first, then those reported before it.
#[test]
fn the_most_recent_block_comes_first() {
    let mut script = Script::with(Profile::Linux2_6_25, RTT);
    assert_eq!(blocks(script.segment(22)), [(22, 23)]);
    assert_eq!(blocks(script.segment(30)), [(30, 31), (22, 23)]);
    assert_eq!(blocks(script.segment(25)), [(25, 26), (30, 31), (22, 23)]);
    assert_eq!(blocks(script.segment(31)), [(30, 32), (25, 26), (22, 23)]);
    // Four ranges, three blocks; and one that joins two.
    assert_eq!(blocks(script.segment(40)), [(40, 41), (30, 32), (25, 26)]);
    script.segment(23);
    assert_eq!(blocks(script.segment(24)), [(22, 26), (40, 41), (30, 32)]);
    // Below the gap: acknowledged, and no longer reported.
    script.segment(20);
    let ack = script.segment(21).unwrap();
    assert_eq!((ack.ack, blocks(Some(ack))), (26, vec![(40, 41), (30, 32)]));
}

/// RFC 7323, 4.3: the echo is of the segment that a delayed ACK waits for, and never of one
/// that came out of order.
#[test]
fn the_echo_is_of_the_first_unacknowledged() {
    let mut script = Script::new();
    assert_eq!(script.segment(20), None);
    let first_ns = script.now_ns - RTT / 2;
    assert_eq!(script.segment(21).unwrap().echo_ns, first_ns);
    assert_eq!(script.segment(24).unwrap().echo_ns, first_ns);
    let filled = script.segment(22).unwrap();
    assert_eq!(filled.echo_ns, script.now_ns - RTT / 2);
}

/// Three are answered at once, then none for min(RTT/20, 1 ms) and the timer's slack of 0.1 ms, or
/// until 44 wait. Linux 2.6 answers each.
#[test]
fn acks_of_what_is_out_of_order_are_compressed() {
    for (rtt_ns, wait_ms) in [(RTT, 1.1), (10 * MS, 0.6)] {
        let mut script = Script::with(Profile::Linux6, rtt_ns);
        let answered: Vec<_> = (21..=68).filter(|&s| script.segment(s).is_some()).collect();
        assert_eq!(answered, [21, 22, 23, 68]);
        script.segment(69);
        assert_eq!(script.wait_ms(), wait_ms);
        script.now_ns = script.receiver.poll_timeout();
        let ack = script.receiver.handle_timeout(script.now_ns);
        assert_eq!(blocks(ack), [(21, 70)]);
    }
    let mut script = Script::with(Profile::Linux2_6_25, RTT);
    assert!((21..200).all(|segment| script.segment(segment).is_some()));
}

/// The first test of `__tcp_ack_snd_check`: an ACK that moves by more than a segment while a gap is
/// left is none of the three.
#[test]
fn an_ack_that_moves_far_is_no_duplicate() {
    for (missing, acknowledged, answered) in [(21, 21, vec![40, 41]), (23, 23, vec![40, 41, 42])] {
        let mut script = Script::new();
        for segment in (21..30).filter(|&segment| segment != missing) {
            script.segment(segment);
        }
        assert_eq!(script.segment(20).map(|ack| ack.ack), Some(acknowledged));
        let left: Vec<_> = (40..50).filter(|&s| script.segment(s).is_some()).collect();
        assert_eq!(left, answered, "{missing}");
    }
}

#[test]
fn compression_begins_anew_when_the_ack_moves() {
    let mut script = Script::new();
    for segment in 22..30 {
        script.segment(segment);
    }
    script.segment(31);
    assert_eq!(script.segment(20).map(|ack| ack.ack), Some(21));
    let answered: Vec<_> = (40..50).filter(|&s| script.segment(s).is_some()).collect();
    assert_eq!(answered, [40, 41]); // with 20's, three
}

/// What waits is told before a block of a new gap pushes it out.
#[test]
fn a_compressed_block_is_not_lost() {
    let mut script = Script::new();
    for segment in [22, 30, 40] {
        assert!(script.segment(segment).is_some());
    }
    assert_eq!(script.segment(41), None);
    // Beside (40, 42) there would be room for (50, 51) and (30, 31), but not beside a D-SACK.
    assert_eq!(blocks(script.segment(50)), [(40, 42), (30, 31), (22, 23)]);
    // That was the ACK for segment 50: it neither waits nor starts the timer.
    assert_eq!(script.receiver.poll_timeout(), u64::MAX);
    assert_eq!(script.segment(51), None);
    assert_eq!(script.wait_ms(), 1.1);
    // One that grows at its place is told at its place, with what has come (`tcp_sack_extend`).
    assert_eq!(blocks(script.segment(31)), [(50, 52), (40, 42), (30, 32)]);
}

proptest! {
    // A case has hundreds of segments.
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 5))]

    /// Most segments come in order and take a shorter way. The ACKs are equal in all that they say.
    #[test]
    fn the_short_way_is_the_long_way(
        profile in prop_oneof![Just(Profile::Linux6), Just(Profile::Linux2_6_25)],
        segments_per_ack in 1_u32..3,
        at_once in any::<bool>(),
        // Of this size, with a window of so many, or none.
        segment_bytes in prop_oneof![Just(1448), Just(8948)],
        window in proptest::option::of(3_u64..4000),
        steps in proptest::collection::vec(
            (prop_oneof![9 => 0_u64..30, 1 => 0_u64..60_000], 0_u32..60, 0_u32..8),
            1..400,
        ),
    ) {
        let kernel = Kernel::for_profile(profile);
        let switches = Switches {
            segments_per_ack,
            reads: if at_once { Reads::AtOnce } else { Reads::Bulk { segments: 7 } },
            ..Switches::usual(profile)
        };
        let [mut short, mut long] = [false, true].map(|long_way| {
            let switches = Switches { long_way, ..switches };
            let mut one = Receiver::new(&kernel, &switches, kernel.clock(1000, 300_000), RTT);
            one.has_segments_of(segment_bytes);
            if let Some(window) = window {
                one.offer_at_most(window, segment_bytes);
            }
            one
        });
        let (mut now_ns, mut highest) = (1000 * MS, 0);
        for (gap_us, kind, push) in steps {
            now_ns += gap_us * 1_000;
            while short.poll_timeout() < now_ns {
                let at_ns = short.poll_timeout();
                prop_assert_eq!(short.handle_timeout(at_ns), long.handle_timeout(at_ns));
            }
            let next = short.delivered();
            let segment = match kind {
                0 => highest + 2,
                1 => next.saturating_sub(1),
                2 => highest,
                3 => highest + 1,
                _ => next,
            };
            highest = highest.max(segment);
            // A segment that others have overtaken (PAWS).
            let late_ns = if kind == 4 { 5 * MS } else { 0 };
            let (sent_ns, pushed) = (now_ns - RTT / 2 - late_ns, push == 0);
            let second_ns = now_ns + 12_000;
            if kind > 30 && short.is_ordinary_pair([now_ns, second_ns], sent_ns, segment, pushed) {
                let (cause, ack) = short.handle_pair(sent_ns);
                let answers = [
                    long.handle_segment(now_ns, segment, sent_ns, false, false),
                    long.handle_segment(second_ns, segment + 1, sent_ns, pushed, false),
                ];
                prop_assert_eq!(&answers[cause], &Some(ack));
                prop_assert_eq!(&answers[1 - cause], &None);
                prop_assert_eq!(short.poll_timeout(), long.poll_timeout());
                (now_ns, highest) = (second_ns, highest.max(segment + 1));
                continue;
            }
            prop_assert_eq!(
                short.handle_segment(now_ns, segment, sent_ns, pushed, false),
                long.handle_segment(now_ns, segment, sent_ns, pushed, false)
            );
            prop_assert_eq!(short.poll_timeout(), long.poll_timeout());
        }
    }
}
