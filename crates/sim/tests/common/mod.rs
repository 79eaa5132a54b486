//! Scenarios for the tests, in the units people use.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod drawn;
pub mod script;
pub mod wild;

use ackclock_host::Snapshot;
use ackclock_net::buffer::Buffer;
use ackclock_net::link::Bottleneck;
use ackclock_sim::scenario::{Flow, Profile, Reads, Scenario};
use ackclock_sim::{run, run_with, Control, Options, Prepared, Run, RunError, RunResult};

pub const MS: u64 = 1_000_000;
pub const S: u64 = 1_000 * MS;

pub fn flow(algorithm: &str, rtt_ns: u64) -> Flow {
    Flow::endless(algorithm, rtt_ns)
}

pub fn dumbbell(
    profile: Profile,
    rate_bps: u64,
    buffer_packets: u64,
    flows: Vec<Flow>,
) -> Scenario {
    Scenario {
        seed: 1,
        duration_ns: 10 * S,
        profile,
        hz: 1000,
        mss_bytes: 1448,
        header_bytes: 52,
        jitter_ns: 0,
        delayed_ack_segments: 2,
        reads: Reads::AtOnce,
        tso: profile == Profile::Linux6,
        pacing: false,
        sack_cost_ns: 0,
        bottleneck: Bottleneck::drop_tail(rate_bps, Buffer::Packets(buffer_packets)),
        links: Vec::new(),
        flows,
        sessions: Vec::new(),
        changes: Vec::new(),
        programs: Vec::new(),
        sample_interval_ns: 100 * MS,
    }
}

pub fn simulate(scenario: &Scenario) -> RunResult {
    run(scenario, &Control::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// By these ways.
pub fn try_with(scenario: &Scenario, options: Options) -> Result<Run, RunError> {
    let prepared = Prepared::new(scenario.clone(), &Snapshot::default())?;
    let Options {
        events,
        long_way,
        rounds,
        acks,
        ..
    } = options;
    let options = Options {
        events,
        long_way,
        rounds,
        acks,
        ..Options::default()
    };
    run_with(&prepared, &Control::default(), options)
}

pub fn simulate_with(scenario: &Scenario, options: Options) -> Run {
    try_with(scenario, options).unwrap_or_else(|error| panic!("{error}"))
}

/// What each sender was like when each ACK arrived, too.
pub fn simulate_acks(scenario: &Scenario) -> Run {
    simulate_with(
        scenario,
        Options {
            acks: true,
            ..Options::default()
        },
    )
}

/// What real Linux showed: from, to.
pub type Band = [f64; 2];

pub fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0, 0.0), |(count, sum), value| (count + 1, sum + value));
    sum / f64::from(count)
}

/// Whether a value is inside the band, or so close to it.
pub fn near(value: f64, [low, high]: Band, share: f64, absolute: f64) -> bool {
    let margin = |edge: f64| (edge * share).max(absolute);
    value >= low - margin(low) && value <= high + margin(high)
}
