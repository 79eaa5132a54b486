//! Copa's closed forms (NSDI 2018, section 3): flows in default mode keep 1.25 / delta packets each in
//! the queue, use the link, and do not care for losses that are not theirs.

use crate::common;

use ackclock_sim::scenario::{Flow, Profile, Scenario};
use ackclock_sim::RunResult;
use common::{dumbbell, flow, mean, simulate, MS, S};

/// 50 Mb/s, 40 ms, a deep buffer; each flow starts 1 s after the one before.
fn scenario(algorithms: &[&str]) -> Scenario {
    let flows = (0..).zip(algorithms).map(|(number, algorithm)| Flow {
        start_ns: number * S,
        ..flow(algorithm, 40 * MS)
    });
    let mut scenario = dumbbell(Profile::Linux6, 50_000_000, 666, flows.collect());
    scenario.duration_ns = 60 * S;
    scenario.tso = false;
    scenario.sample_interval_ns = 10 * MS;
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

#[test]
fn the_queue_has_so_many_packets_per_flow() {
    for (delta, flows) in [
        (0.5, 1),
        (0.5, 2),
        (0.5, 4),
        (0.5, 8),
        (0.25, 2),
        (0.125, 1),
    ] {
        let spec = format!("copa@default-mode:delta={delta}");
        let (queue, used) = steady(&simulate(&scenario(&vec![spec.as_str(); flows])));
        let formula = 1.25 * flows as f64 / delta;
        assert!(
            (queue - formula).abs() < 1.5 + 0.15 * formula,
            "{flows} flows, delta {delta}: {queue}, formula {formula}"
        );
        assert!(used > 0.99, "{flows} flows, delta {delta}: {used}");
    }
}

/// Alone, Copa knows that nobody fills the queue.
#[test]
fn a_lone_flow_stays_in_default_mode() {
    for tso in [false, true] {
        let mut scenario = scenario(&["copa"]);
        scenario.tso = tso;
        let (queue, used) = steady(&simulate(&scenario));
        assert!(queue < 8.0 && used > 0.99, "{tso}: {queue} {used}");
    }
}

#[test]
fn random_losses_do_not_slow_it_down() {
    let mut scenario = scenario(&["copa@default-mode"]);
    scenario.bottleneck.drop_every_packets = Some(100);
    let (_, used) = steady(&simulate(&scenario));
    assert!(used > 0.97, "{used}");
}

/// CUBIC fills the queue. In default mode Copa retreats; competing it keeps a good share.
#[test]
fn beside_cubic_it_competes() {
    let share = |algorithm: &str| {
        let mut scenario = scenario(&[algorithm, "cubic"]);
        scenario.duration_ns = 120 * S;
        let bytes = simulate(&scenario).flows.delivered_bytes;
        bytes[0] as f64 / (bytes[0] + bytes[1]) as f64
    };
    let (retreats, competes) = (share("copa@default-mode"), share("copa"));
    assert!(retreats < 0.05, "{retreats}");
    assert!((0.15..0.7).contains(&competes), "{competes}");
}

/// When CUBIC has gone, the queue empties, and Copa is in default mode again. CUBIC stays for less
/// than 10 s: then Copa still knows the RTT of the empty path.
#[test]
fn after_cubic_it_returns_to_default_mode() {
    for tso in [false, true] {
        let mut scenario = scenario(&["copa", "cubic"]);
        scenario.tso = tso;
        scenario.flows[1].stop_ns = Some(9 * S);
        let (queue, used) = steady(&simulate(&scenario));
        assert!(queue < 8.0 && used > 0.99, "{tso}: {queue} {used}");
    }
}
