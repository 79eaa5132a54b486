//! Hosts that need time for an ACK with SACK blocks.

use crate::common;

use ackclock_sim::scenario::{Flow, Profile, Scenario};
use common::{dumbbell, flow, simulate_acks, MS, S};

/// A flow whose receive window limits it to so many packets, on a link without a queue that loses
/// one packet. No new data leaves until that packet has arrived, so the window stays unacknowledged.
fn windowed(window_packets: u64, lost: u64, sack_cost_ns: u64) -> Scenario {
    let limited = Flow {
        receive_window_bytes: Some(window_packets * 1448),
        ..flow("reno", 500 * MS)
    };
    let mut scenario = dumbbell(Profile::Linux2_6_18, 100_000_000_000, 10_000, vec![limited]);
    scenario.bottleneck.drop_every_packets = Some(lost + 1);
    (scenario.duration_ns, scenario.delayed_ack_segments) = (40 * S, 1);
    scenario.sample_interval_ns = 0;
    scenario.sack_cost_ns = sack_cost_ns;
    scenario
}

/// When the sender handled the ACKs while the lost packet was the first unacknowledged one. The last
/// of them acknowledges it, the others have SACK blocks.
fn dubious_ns(scenario: &Scenario) -> Vec<u64> {
    let acks = simulate_acks(scenario).acks;
    let lost = scenario.bottleneck.drop_every_packets.unwrap() - 1;
    let dubious = acks.iter().filter(|ack| ack.una == lost);
    dubious.map(|ack| ack.time_ns).collect()
}

/// All of a window of 100 packets but the lost one is SACKed, one ACK each. At 10 us a packet an ACK
/// takes 1 ms: each is handled when it has arrived and the one before is done.
#[test]
fn an_ack_with_sack_blocks_takes_its_time_for_each_packet() {
    let arrived_ns = dubious_ns(&windowed(100, 1_999, 0));
    let handled_ns = dubious_ns(&windowed(100, 1_999, 10_000));
    assert_eq!((arrived_ns.len(), handled_ns.len()), (100, 100));
    let mut free_ns = 0;
    for (arrived_ns, handled_ns) in arrived_ns.iter().zip(&handled_ns).take(99) {
        assert_eq!(*handled_ns, free_ns.max(*arrived_ns));
        free_ns = handled_ns + 100 * 10_000;
    }
    assert!(handled_ns[98] > arrived_ns[98]);
}

/// A window of 4000 packets, and an ACK takes 0.4 s. 3999 arrive within an RTT of 0.5 s: the first
/// is handled at once, and 2500 find room in the backlog, one more when the host takes the second.
#[test]
fn the_backlog_has_room_for_2500() {
    let mut arrived_ns = dubious_ns(&windowed(4_000, 39_999, 0));
    assert_eq!(arrived_ns.len(), 4_000);
    arrived_ns.pop();
    let mut slow = windowed(4_000, 39_999, 100_000);
    slow.duration_ns = 2_000 * S;
    let (cost_ns, mut waiting, mut handled_ns) = (4_000 * 100_000, 0_u32, Vec::new());
    let mut free_ns = 0;
    for arrived_ns in arrived_ns {
        while free_ns <= arrived_ns && waiting > 0 {
            (waiting, free_ns) = (waiting - 1, free_ns + cost_ns);
            handled_ns.push(free_ns - cost_ns);
        }
        if free_ns <= arrived_ns {
            handled_ns.push(arrived_ns);
            free_ns = arrived_ns + cost_ns;
        } else if waiting < 2_500 {
            waiting += 1;
        }
    }
    let first: Vec<u64> = dubious_ns(&slow)
        .into_iter()
        .take(handled_ns.len())
        .collect();
    assert_eq!(first, handled_ns);
    assert_eq!(waiting, 2_500);
}
