//! Prague on a dual queue: a full link with a queue of next to nothing, its closed form of the window,
//! and a fair share beside CUBIC, which the coupled queue is made for (RFC 9332).

use crate::common;

use ackclock_net::queue::{Dualpi2Parameters, QueueKind};
use ackclock_sim::scenario::{EcnMode, Flow, Profile, Scenario};
use ackclock_sim::RunResult;
use common::{dumbbell, flow, mean, simulate, MS, S};

/// 50 Mb/s, a dual queue; Prague has accurate ECN, others none.
fn scenario(algorithms: &[(&str, u64)]) -> Scenario {
    let flows = algorithms.iter().map(|&(algorithm, rtt_ns)| Flow {
        ecn: if algorithm.starts_with("prague") {
            EcnMode::Accurate
        } else {
            EcnMode::Off
        },
        ..flow(algorithm, rtt_ns)
    });
    let mut scenario = dumbbell(Profile::Linux6, 50_000_000, 10_000, flows.collect());
    scenario.bottleneck.queue = QueueKind::Dualpi2(Dualpi2Parameters::default());
    scenario.duration_ns = 60 * S;
    scenario.tso = false;
    scenario
}

/// Mean queue, packets, and share of the link, from 20 s on.
fn steady(result: &RunResult) -> (f64, f64) {
    let queues = &result.queues;
    let from = queues.time_us.iter().position(|&at| at >= 20_000_000);
    let (from, to) = (from.unwrap(), queues.time_us.len() - 1);
    let packets = mean((from..to).map(|row| queues.queue_packets[row] as f64));
    let bytes = (queues.sent_bytes[to] - queues.sent_bytes[from]) as f64;
    (packets, bytes * 8.0 / 40.0 / 50e6)
}

/// Goodput of each flow, Mb/s.
fn rates(result: &RunResult) -> Vec<f64> {
    let bytes = result.flows.delivered_bytes.iter();
    bytes.map(|bytes| *bytes as f64 * 8.0 / 60e6).collect()
}

/// The step of the dual queue marks above 1 ms, which is 4 packets.
#[test]
fn a_full_link_and_hardly_a_queue() {
    let result = simulate(&scenario(&[("prague", 25 * MS)]));
    let (queue, used) = steady(&result);
    assert!(queue < 6.0 && used > 0.9, "{queue} {used}");
    assert_eq!(result.flows.retransmitted_packets[0], 0);
}

/// The coupled queue gives both the same rate.
#[test]
fn beside_cubic_it_has_its_share() {
    let shares = rates(&simulate(&scenario(&[
        ("prague", 25 * MS),
        ("cubic", 25 * MS),
    ])));
    let ratio = shares[0] / shares[1];
    assert!((0.5..2.0).contains(&ratio), "{shares:?}");
}

/// With RTTs of 5 and 25 ms the reference RTT makes the rates more alike than DCTCP's law.
#[test]
fn the_rtt_does_not_decide() {
    let ratio = |spec: &str| {
        let spec = format!("prague{spec}");
        let shares = rates(&simulate(&scenario(&[
            (spec.as_str(), 5 * MS),
            (spec.as_str(), 25 * MS),
        ])));
        shares[0] / shares[1]
    };
    let (draft, dependent) = (ratio(""), ratio(":reference_rtt_ms=0"));
    assert!(draft < 0.7 * dependent, "{draft} {dependent}");
    assert!((0.5..2.0).contains(&draft), "{draft} {dependent}");
}
