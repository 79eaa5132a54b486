//! The receiver alone: what it acknowledges, when, and what the ACK says.

mod common;

use ackclock_sim::scenario::Profile;
use ackclock_sim::tcp::profile::{Kernel, Switches};
use ackclock_sim::tcp::{Ack, Range, Receiver};
use common::MS;

const RTT: u64 = 100 * MS;

struct Script {
    receiver: Receiver,
    now_ns: u64,
}

impl Script {
    /// Segments 0 to 19 have arrived, so that the ACKs are no longer quick.
    fn with(profile: Profile, rtt_ns: u64) -> Self {
        let mut script = Self {
            receiver: Receiver::new(&Kernel::of(profile), &Switches::usual(profile), rtt_ns),
            now_ns: 1000 * MS,
        };
        for segment in 0..20 {
            script.segment(segment);
        }
        assert_eq!(script.receiver.poll_timeout(), u64::MAX);
        script
    }

    fn new() -> Self {
        Self::with(Profile::Linux6, RTT)
    }

    /// A segment that was sent half a round trip ago arrives 10 us after the last.
    fn segment(&mut self, segment: u64) -> Option<Ack> {
        self.now_ns += 10_000;
        let sent_ns = self.now_ns - RTT / 2;
        self.receiver
            .handle_segment(self.now_ns, segment, sent_ns, false)
    }

    fn wait_ms(&self) -> f64 {
        (self.receiver.poll_timeout() - self.now_ns) as f64 / MS as f64
    }
}

fn blocks(ack: Option<Ack>) -> Vec<Range> {
    ack.expect("an ACK").sacks.as_slice().to_vec()
}

/// RFC 5681, 4.2, with Linux's 40 ms.
#[test]
fn an_ack_for_every_second_segment_or_after_40_ms() {
    let mut script = Script::new();
    assert_eq!(script.segment(20), None);
    assert_eq!(script.wait_ms(), 40.0);
    assert_eq!(script.segment(21).unwrap().ack, 22);
    assert_eq!(script.segment(22), None);
    script.now_ns += 40 * MS;
    let ack = script.receiver.handle_timeout(script.now_ns).unwrap();
    assert_eq!((ack.ack, ack.sacks.is_empty()), (23, true));
    assert_eq!(script.receiver.handle_timeout(script.now_ns), None);
    // The last one of a flow is not waited for.
    let last = script.receiver.handle_segment(script.now_ns, 23, 1, true);
    assert_eq!(last.unwrap().ack, 24);
}

/// `tcp_event_data_recv`: after a pause of more than an RTO the sender may be in slow start.
#[test]
fn acks_are_quick_after_a_pause() {
    for (pause_ms, quick) in [(299, false), (301, true)] {
        let mut script = Script::new();
        script.now_ns += pause_ms * MS;
        let answered = (20..30).filter(|&s| script.segment(s).is_some()).count();
        assert_eq!(answered, if quick { 10 } else { 5 }, "{pause_ms} ms");
    }
}

/// RFC 2883: a duplicate is the first block. What follows is acknowledged at once.
#[test]
fn a_duplicate_is_reported() {
    let mut script = Script::new();
    let ack = script.segment(7).unwrap();
    assert!(ack.sacks.duplicate);
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

/// `tcp_sack_compress_send_ack`: three are answered at once, then none for min(RTT/20, 1 ms),
/// or until 44 wait. Linux 2.6 answers each.
#[test]
fn acks_of_what_is_out_of_order_are_compressed() {
    for (rtt_ns, wait_ms) in [(RTT, 1.0), (10 * MS, 0.5)] {
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
    assert_eq!(script.segment(51), None);
}
