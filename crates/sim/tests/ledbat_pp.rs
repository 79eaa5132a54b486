//! LEDBAT++'s closed forms (draft-irtf-iccrg-ledbat-plus-plus): its target delay, what slowdowns cost
//! and what they cure, and that it yields.

use crate::common;

use ackclock_sim::scenario::{Flow, Profile, Scenario};
use ackclock_sim::RunResult;
use common::{dumbbell, flow, mean, simulate, MS, S};

/// 50 Mb/s, 40 ms, room for 320 ms; the second flow starts after 20 s.
fn scenario(algorithms: &[&str], seconds: u64) -> Scenario {
    let flows = (0..).zip(algorithms).map(|(number, algorithm)| Flow {
        start_ns: 20 * number * S,
        ..flow(algorithm, 40 * MS)
    });
    let mut scenario = dumbbell(Profile::Linux6, 50_000_000, 1333, flows.collect());
    scenario.duration_ns = seconds * S;
    scenario.sample_interval_ns = 10 * MS;
    scenario
}

/// Mean queue, packets, and share of the link, of the second half.
fn steady(result: &RunResult, seconds: u64) -> (f64, f64) {
    let queues = &result.queues;
    let half = queues
        .time_us
        .iter()
        .position(|&at| at >= seconds * 500_000);
    let (from, to) = (half.unwrap(), queues.time_us.len() - 1);
    let packets = mean((from..to).map(|row| queues.queue_packets[row] as f64));
    let bytes = (queues.sent_bytes[to] - queues.sent_bytes[from]) as f64;
    (packets, bytes * 8.0 / (seconds as f64 / 2.0) / 50e6)
}

/// The first flow's part of what both delivered.
fn share(algorithms: [&str; 2], seconds: u64) -> f64 {
    let result = simulate(&scenario(&algorithms, seconds));
    let samples = &result.samples;
    let half = seconds * 500_000;
    let of = |flow: u32| {
        let mut rows = (0..samples.time_us.len()).filter(|&row| samples.flow[row] == flow);
        let first = rows.find(|&row| samples.time_us[row] >= half).unwrap();
        (samples.delivered_packets[rows.next_back().unwrap()] - samples.delivered_packets[first])
            as f64
    };
    of(1) / (of(1) + of(2))
}

/// 4167 packets per second wait for the target.
#[test]
fn the_target_delay() {
    for target_ms in [30, 60, 100] {
        let spec = format!("ledbat_pp@no-slowdown:target_ms={target_ms}");
        let (queue, used) = steady(&simulate(&scenario(&[&spec], 40)), 40);
        let formula = f64::from(target_ms) * 50e3 / 8.0 / 1500.0;
        assert!(
            (queue - formula).abs() < 0.03 * formula,
            "{queue} {formula}"
        );
        assert!(used > 0.999, "{used}");
    }
}

/// A slowdown is followed by 9 times its duration.
#[test]
fn slowdowns_take_a_tenth_of_the_time() {
    let result = simulate(&scenario(&["ledbat_pp"], 120));
    let (queue, used) = steady(&result, 120);
    assert!((0.9..1.0).contains(&used), "{used}");
    assert!(queue < 250.0, "{queue}");
    let samples = &result.samples;
    let rows = (0..samples.time_us.len()).filter(|&row| samples.time_us[row] > 5_000_000);
    let frozen: Vec<_> = rows.map(|row| samples.cwnd_packets[row] == 2).collect();
    let begun = frozen.windows(2).filter(|pair| !pair[0] && pair[1]).count();
    assert!(begun >= 10, "{begun}");
    let part = frozen.iter().filter(|is| **is).count() as f64 / frozen.len() as f64;
    assert!(part < 0.1, "{part}");
    assert_eq!(result.flows.retransmitted_packets[0], 0);
}

/// Without slowdowns the newcomer takes the first flow's queue for its path, and the link.
#[test]
fn the_latecomers_advantage_and_its_cure() {
    let late = share(["ledbat_pp@no-slowdown"; 2], 200);
    assert!(late < 0.1, "{late}");
    let cured = share(["ledbat_pp"; 2], 400);
    assert!((0.25..0.75).contains(&cured), "{cured}");
}

/// Flows that queue more than the target get the link.
#[test]
fn it_yields_to_standard_tcp() {
    for other in ["cubic", "reno"] {
        let part = share(["ledbat_pp", other], 100);
        assert!(part < 0.1, "{other}: {part}");
    }
}
