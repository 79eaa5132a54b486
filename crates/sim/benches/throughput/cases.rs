//! What is measured.

use ackclock_net::buffer::Buffer;
use ackclock_net::link::Bottleneck;
use ackclock_net::queue::{CodelParameters, QueueKind};
use ackclock_sim::scenario::{Direction, Flow, Profile, Reads, Scenario, Session, Sizes};

const S: u64 = 1_000_000_000;

/// A scenario and how long to run it, in simulated time.
pub struct Case {
    pub name: &'static str,
    pub scenario: Scenario,
    /// Length of a run whose time is taken.
    pub timed_ms: u64,
    /// Lengths of the two runs whose instructions are counted: the difference leaves out what a run
    /// does only once.
    pub counted_ms: [u64; 2],
}

/// A drop-tail bottleneck with a buffer of 1 BDP.
fn dumbbell(profile: Profile, rate_bps: u64, rtt_ns: u64, flows: Vec<Flow>) -> Scenario {
    let bdp = (u128::from(rate_bps) * u128::from(rtt_ns) / u128::from(S) / 12_000) as u64;
    Scenario {
        seed: 1,
        duration_ns: S,
        profile,
        hz: 1000,
        mss_bytes: 1448,
        header_bytes: 52,
        jitter_ns: 20_000,
        delayed_ack_segments: 2,
        reads: Reads::AtOnce,
        tso: profile == Profile::Linux6,
        pacing: false,
        sack_cost_ns: 0,
        bottleneck: Bottleneck::drop_tail(rate_bps, Buffer::Packets(bdp)),
        links: Vec::new(),
        flows,
        sessions: Vec::new(),
        changes: Vec::new(),
        programs: Vec::new(),
        sample_interval_ns: S / 10,
    }
}

/// Two flows at 800 Mb/s and 200 ms, as `make demo` runs them.
fn demo(profile: Profile, algorithm: &str) -> Scenario {
    let flow = |start_ns| Flow {
        start_ns,
        start_spread_ns: S,
        ..Flow::endless(algorithm, S / 5)
    };
    dumbbell(profile, 800_000_000, S / 5, vec![flow(0), flow(10 * S)])
}

/// Many CUBIC flows at 100 ms. All start within 200 ms.
fn many(flows: usize, rate_bps: u64) -> Scenario {
    let flow = Flow {
        start_spread_ns: S / 5,
        ..Flow::endless("cubic", S / 10)
    };
    dumbbell(Profile::Linux6, rate_bps, S / 10, vec![flow; flows])
}

/// Four flows each way: ACKs wait among the data.
fn both_ways() -> Scenario {
    let flow = |direction| Flow {
        direction,
        start_spread_ns: S,
        ..Flow::endless("cubic", S / 10)
    };
    let mut flows = vec![flow(Direction::Forward); 4];
    flows.extend(vec![flow(Direction::Reverse); 4]);
    dumbbell(Profile::Linux6, 400_000_000, S / 10, flows)
}

/// Two flows and 100 web sources each way: Leith et al. 2007, figure 4.
fn web_both_ways() -> Scenario {
    let flow = |start_ns| Flow {
        start_ns,
        start_spread_ns: S,
        ..Flow::endless("cubic@2.6.18", S / 5)
    };
    let web = |direction| Session {
        flow: Flow {
            direction,
            size_bytes: Some(6 * 1448),
            ..Flow::endless("reno", S / 5)
        },
        gap_ns: S,
        sizes: Sizes::Pareto(1_200),
        route_ssthresh: false,
    };
    let flows = vec![flow(0), flow(10 * S)];
    let mut scenario = dumbbell(Profile::Linux2_6_25, 250_000_000, S / 5, flows);
    scenario.sessions = vec![web(Direction::Forward); 100];
    scenario.sessions.extend(vec![web(Direction::Reverse); 100]);
    scenario
}

/// The demo's flows through CoDel: every packet at the queue is an event.
fn codel() -> Scenario {
    let mut scenario = demo(Profile::Linux6, "cubic");
    scenario.bottleneck.queue = QueueKind::Codel(CodelParameters::default());
    scenario
}

/// Two flows through a router with ticks, as most runs of Leith et al. 2007.
fn ticks() -> Scenario {
    let flow = |start_ns| Flow {
        start_ns,
        start_spread_ns: S,
        ..Flow::endless("cubic@2.6.18.2", 16_000_000)
    };
    let flows = vec![flow(0), flow(10 * S)];
    let mut scenario = dumbbell(Profile::Linux2_6_18, 250_000_000, 16_000_000, flows);
    scenario.bottleneck.tick_ns = 1_000_000;
    scenario
}

/// Eight flows, and 62 web users and 6 downloads each way: Ha et al. 2008, figure 10.
fn paper_both_ways() -> Scenario {
    let flow = |algorithm| Flow {
        start_spread_ns: S,
        ..Flow::endless(algorithm, S / 100)
    };
    let session = |direction, size_bytes, gap_ns, sizes| Session {
        flow: Flow {
            direction,
            size_bytes: Some(size_bytes),
            rtt_exponential_ns: 9 * S / 100,
            receive_window_bytes: Some(65_536),
            ..Flow::endless("reno", S / 100)
        },
        gap_ns,
        sizes,
        route_ssthresh: false,
    };
    let flows = [vec![flow("cubic@2.2"); 4], vec![flow("reno"); 4]].concat();
    let mut scenario = dumbbell(Profile::Linux2_6_25, 400_000_000, S / 100, flows);
    for direction in [Direction::Forward, Direction::Reverse] {
        let web = session(direction, 85_000, S, Sizes::Lognormal(2_000));
        let download = session(direction, 10_000_000, 0, Sizes::Equal);
        scenario.sessions.extend(vec![web; 62]);
        scenario.sessions.extend(vec![download; 6]);
    }
    scenario
}

pub fn all() -> Vec<Case> {
    let case = |name, scenario, timed_s: u64, counted_ms| Case {
        name,
        scenario,
        timed_ms: 1_000 * timed_s,
        counted_ms,
    };
    let (old, new) = (Profile::Linux2_6_25, Profile::Linux6);
    let long = [15_000, 25_000];
    vec![
        case("demo_cubic", demo(old, "cubic@linux-2.6.32"), 100, long),
        case("demo_cubic_linux6", demo(new, "cubic"), 100, long),
        case("demo_codel", codel(), 100, long),
        case("both_ways", both_ways(), 50, [5_000, 15_000]),
        case("web_both_ways", web_both_ways(), 100, long),
        case("paper_both_ways", paper_both_ways(), 50, [5_000, 15_000]),
        case("paper_ticks", ticks(), 100, [15_000, 35_000]),
        case("flows_2", many(2, 100_000_000), 200, [20_000, 40_000]),
        // Each flow has the share of one of 100 000 below.
        case(
            "flows_2_slow",
            many(2, 2_000_000),
            5_000,
            [500_000, 1_500_000],
        ),
        case("flows_100", many(100, 1_000_000_000), 40, [5_000, 10_000]),
        case("flows_1000", many(1_000, 10_000_000_000), 5, [2_000, 3_000]),
        case(
            "flows_100000",
            many(100_000, 100_000_000_000),
            2,
            [800, 1_000],
        ),
    ]
}
