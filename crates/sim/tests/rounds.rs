//! Flows that take turns in rounds do what they do in order of time.

use crate::common;

use ackclock_sim::scenario::{Flow, Profile};
use ackclock_sim::{Options, RunError};
use common::{dumbbell, flow, simulate, simulate_with, try_with, MS, S};

fn in_rounds<'a>() -> Options<'a> {
    Options {
        rounds: true,
        ..Options::default()
    }
}

/// As many flows as take rounds by themselves: starts, losses, a buffer that overflows, and ends.
#[test]
fn thousands_of_flows_take_rounds() {
    let flows = (0..2_100).map(|number| Flow {
        start_ns: number * MS / 4,
        size_bytes: (number % 3 == 0).then_some(5 * 1448 + number),
        rtt_ns: (20 + number % 7) * MS,
        ..flow(["cubic", "reno", "bbr"][number as usize % 3], 20 * MS)
    });
    let mut scenario = dumbbell(Profile::Linux6, 300_000_000, 2_000, flows.collect());
    scenario.duration_ns = 2 * S;
    let rounds = simulate(&scenario);
    let taken = simulate_with(&scenario, in_rounds());
    assert!(taken.in_rounds);
    assert_eq!(taken.result.trace_hash, rounds.trace_hash);
    let events = Options {
        events: true,
        ..Options::default()
    };
    let events = simulate_with(&scenario, events).result;
    assert!(rounds.flows.dropped_packets.iter().sum::<u64>() > 1_000);
    assert!(
        rounds
            .flows
            .completed_us
            .iter()
            .filter(|&&us| us > 0)
            .count()
            > 100
    );
    assert_eq!(rounds.flows, events.flows);
    assert_eq!(rounds.samples, events.samples);
    assert_eq!(rounds.queues, events.queues);
    assert_eq!(rounds.events, events.events);
}

/// Of several algorithms with impossible windows, the first in time ends the run, not the first flow.
#[test]
fn the_first_impossible_window_ends_the_run() {
    let wild = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/wild.c:cwnd=0");
    let starting = |start_ns| Flow {
        start_ns,
        ..flow(wild, 20 * MS)
    };
    let flows = vec![starting(3 * MS), flow("reno", 20 * MS), starting(MS)];
    let mut scenario = dumbbell(Profile::Linux6, 10_000_000, 50, flows);
    scenario.jitter_ns = MS;
    let wanted = try_with(&scenario, Options::default())
        .map(|_| ())
        .unwrap_err();
    let error = try_with(&scenario, in_rounds()).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), wanted.to_string());
    assert!(
        matches!(error, RunError::Algorithm { flow: 3, .. }),
        "{error}"
    );
}

/// Where ACKs pass a queue, no packet leaves in a round, or hosts count the same jiffies, flows do not take turns.
#[test]
fn some_flows_take_no_turns() {
    let takes = |scenario| simulate_with(&scenario, in_rounds()).in_rounds;
    let plain = || {
        let flows = vec![flow("cubic", 20 * MS); 20];
        let mut scenario = dumbbell(Profile::Linux6, 10_000_000, 50, flows);
        scenario.jitter_ns = MS;
        scenario
    };
    assert!(takes(plain()));
    let mut alike = plain();
    alike.jitter_ns = 0;
    assert!(!takes(alike));
    let mut slow = plain();
    slow.bottleneck.rate_bps = 100_000;
    slow.bottleneck.buffer = ackclock_net::buffer::Buffer::Packets(5);
    assert!(!takes(slow));
    let mut both_ways = plain();
    both_ways.flows[3].direction = ackclock_sim::scenario::Direction::Reverse;
    assert!(!takes(both_ways));
}
