//! What Linux's send buffer, which begins with 1 MiB, holds before the application writes again.

use crate::common::script::Script;
use ackclock_sim::scenario::Profile;

/// The end of the first write: packets of 22 segments, up to the first that ends beyond 1 MiB with 960 bytes
/// each beside the data.
const WRITTEN: u64 = 714;

/// 100 segments are acknowledged, and of the others only the holes have not arrived.
fn ride(holes: &[u64]) -> Script {
    let mut script = Script::new(Profile::Linux6);
    while script.sender.una() < 100 {
        let una = script.sender.una();
        script.ack(10, una + 2, &[]);
    }
    loop {
        let before = script.nxt;
        let mut start = holes[0] + 1;
        for &hole in holes[1..].iter().filter(|&&hole| hole < before) {
            script.ack(10, holes[0], &[(start, hole)]);
            start = hole + 1;
        }
        script.ack(10, holes[0], &[(start, before)]);
        if script.nxt == before {
            return script;
        }
    }
}

/// A window of 110 packets makes the buffer no larger: 2 · 110 · 4352 bytes are less than 1 MiB. The
/// flow stops at the end of the first write, until a third is free: 480 segments and two packets are
/// 696 960 bytes, and half as many again are less than 1 MiB. 484 segments are too many.
#[test]
fn a_hole_at_the_start_ends_at_the_first_write() {
    for (second, goes_on) in [(230, false), (234, true)] {
        let mut script = ride(&[100, second]);
        assert_eq!(script.nxt, WRITTEN);
        assert_eq!(script.sender.limited_ns(script.now_ns).0, 0);
        let limited_ns = script.sender.limited_ns(script.now_ns + 1).1;
        assert!(limited_ns > 0, "the send buffer is the limit");
        script.ack(10, second, &[(second + 1, WRITTEN)]);
        assert_eq!(script.nxt > WRITTEN, goes_on, "{second}");
    }
}
