//! Data both ways: ACKs queue among it, and nothing else changes.

use crate::common;

use ackclock_sim::scenario::{Direction, Flow, Profile, Scenario};
use ackclock_sim::{Options, Run};
use common::{dumbbell, flow, simulate, simulate_with, MS, S};

fn reverse(flow: Flow) -> Flow {
    Flow {
        direction: Direction::Reverse,
        ..flow
    }
}

/// A send buffer of one segment: one round trip a segment, whose time is then known exactly.
fn probe(rtt_ns: u64) -> Flow {
    Flow {
        send_buffer_bytes: Some(1448),
        ..flow("reno", rtt_ns)
    }
}

fn pair(forward: Flow, back: Flow) -> Scenario {
    let mut scenario = dumbbell(Profile::Linux6, 10_000_000, 100, vec![forward, back]);
    scenario.delayed_ack_segments = 1;
    scenario
}

/// With an empty way back an ACK takes its own 52 bytes of service time, and no more.
#[test]
fn a_lone_ack_takes_its_service_time() {
    let mut idle = reverse(flow("reno", 100 * MS));
    idle.start_ns = 10 * S;
    let result = simulate(&pair(probe(100 * MS), idle));
    // At 10 Mb/s 60 bytes of each SYN are 48 us, 1500 bytes 1200 us, 52 bytes 41.6 us.
    assert_eq!(result.flows.min_rtt_us[0], 100_096);
    let last = result.samples.flow.iter().rposition(|&flow| flow == 1);
    let srtt_us = result.samples.srtt_us[last.unwrap()];
    assert!(srtt_us.abs_diff(101_241) <= 1, "{srtt_us}");
}

/// A bulk flow in reverse holds 100 packets in its queue; the probe's ACKs wait behind them.
#[test]
fn acks_wait_behind_reverse_data() {
    let mut bulk = reverse(flow("reno", 20 * MS));
    bulk.receive_window_bytes = Some(80 * 1448);
    let result = simulate(&pair(probe(100 * MS), bulk));
    let (samples, queues) = (&result.samples, &result.queues);
    let at = |time_us: u64, flow: u32| {
        let row = (0..samples.len())
            .rposition(|row| samples.time_us[row] <= time_us && samples.flow[row] == flow);
        f64::from(samples.srtt_us[row.unwrap()])
    };
    let mut waits_us = Vec::new();
    for row in 0..queues.len() {
        if queues.queue[row] == 2 && queues.time_us[row] > 5_000_000 {
            waits_us.push(queues.queue_bytes[row] as f64 * 0.8);
        }
    }
    let wait_us = waits_us.iter().sum::<f64>() / waits_us.len() as f64;
    // 80 packets less the 16.7 that the path of 20 ms holds.
    assert!((wait_us - 63.3 * 1_200.0).abs() < 3_000.0, "{wait_us}");
    let extra_us = at(10_000_000, 1) - 101_241.0;
    assert!(
        (extra_us - wait_us).abs() < 0.03 * wait_us,
        "{extra_us} {wait_us}"
    );
}

/// Where ACKs meet no data, a two-way run does what a one-way run does.
#[test]
fn an_idle_way_back_changes_little() {
    for profile in [Profile::Linux6, Profile::Linux2_6_25] {
        let mut one_way = dumbbell(
            profile,
            50_000_000,
            200,
            vec![flow("cubic", 40 * MS), flow("reno", 80 * MS)],
        );
        one_way.jitter_ns = 20_000;
        one_way.duration_ns = 60 * S;
        let mut two_way = one_way.clone();
        let mut late = reverse(flow("reno", 40 * MS));
        late.start_ns = 60 * S;
        two_way.flows.push(late);
        let (one, two) = (simulate(&one_way), simulate(&two_way));
        let total = |bytes: &[u64]| bytes.iter().sum::<u64>() as f64;
        let (first, second) = (
            total(&one.flows.delivered_bytes),
            total(&two.flows.delivered_bytes),
        );
        assert!((first / second - 1.0).abs() < 0.01, "{first} {second}");
    }
}

/// The queue on the way back drops ACKs, too, and every flow lives with it.
#[test]
fn lost_acks_are_survived() {
    for profile in [Profile::Linux6, Profile::Linux2_6_25] {
        let mut small = flow("cubic", 20 * MS);
        small.size_bytes = Some(3_000_000);
        let mut flows = vec![small.clone(); 8];
        flows.extend(vec![reverse(small); 8]);
        let mut scenario = dumbbell(profile, 10_000_000, 10, flows);
        scenario.duration_ns = 120 * S;
        let Run { result, census, .. } = simulate_with(&scenario, Options::default());
        assert!(census.acks_dropped > 10, "{census:?}");
        assert_eq!(result.flows.delivered_bytes, vec![3_000_000; 16]);
    }
}

/// Zhang, Shenker and Clark 1991: data both ways compresses ACKs, and bulk flows that fill a link
/// one way no longer do.
#[test]
fn compressed_acks_cost_throughput() {
    let sent = |flows| {
        let mut scenario = dumbbell(Profile::Linux2_6_25, 10_000_000, 20, flows);
        scenario.jitter_ns = 20_000;
        scenario.duration_ns = 100 * S;
        simulate(&scenario).flows.delivered_bytes[0] as f64
    };
    let alone = sent(vec![flow("reno", 20 * MS)]);
    let both = sent(vec![flow("reno", 20 * MS), reverse(flow("reno", 20 * MS))]);
    assert!(both < 0.9 * alone, "{both} {alone}");
    assert!(both > 0.5 * alone, "{both} {alone}");
}
