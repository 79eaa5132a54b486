//! How many ACKs a receiver sends, by when its application reads (docs/tcp-endpoint.md).

use crate::common;

use ackclock_sim::scenario::{Profile, Reads};
use common::{dumbbell, flow, simulate_acks, MS, S};

/// ACKs a delivered segment, from the second half of the run on.
fn acks_per_segment(profile: Profile, reads: Reads) -> f64 {
    let cubic = flow("cubic:beta=0.8,hystart=0", 8 * MS);
    let mut reno = flow("reno", 8 * MS);
    reno.start_ns = S / 2;
    let mut scenario = dumbbell(profile, 100_000_000, 67, vec![cubic, reno]);
    scenario.reads = reads;
    scenario.duration_ns = 60 * S;
    let acks = simulate_acks(&scenario).acks;
    let late = acks.iter().filter(|ack| ack.time_ns > 30 * S);
    let (mut count, mut first, mut last) = (0, [None; 2], [0; 2]);
    for ack in late {
        let of = ack.flow as usize - 1;
        first[of].get_or_insert(ack.una);
        last[of] = ack.una;
        count += 1;
    }
    let segments: u64 = (0..2).map(|of| last[of] - first[of].unwrap()).sum();
    f64::from(count) / segments as f64
}

/// Linux: 0.537 to 0.544 at once, 0.494 in bulk. Linux 2.6 has no PSH at the end of bursts.
#[test]
fn who_reads_at_once_gets_more_acks() {
    let at_once = acks_per_segment(Profile::Linux6, Reads::AtOnce);
    assert!((0.52..0.56).contains(&at_once), "{at_once}");
    let bulk = acks_per_segment(Profile::Linux6, Reads::Bulk);
    assert!((0.484..0.504).contains(&bulk), "{bulk}");
    let old = |reads| acks_per_segment(Profile::Linux2_6_25, reads);
    assert!((old(Reads::AtOnce) - old(Reads::Bulk)).abs() < 0.001);
}
