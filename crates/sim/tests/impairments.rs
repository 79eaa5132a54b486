//! Losses and changing rates beside real Linux: runs of Linux 6.12 in virtual time, one flow, 40 ms.
//! The bands are those of several runs there, with other seeds and later starts.

use crate::common;

use ackclock_host::Snapshot;
use ackclock_net::impair::{Bernoulli, GilbertElliott, Loss, PARTS};
use ackclock_net::link::Bottleneck;
use ackclock_net::queue::{CodelParameters, QueueKind, RedParameters};
use ackclock_net::rate::{PolicerParameters, RateStep, Trace};
use ackclock_sim::scenario::{Flow, Profile, Reads, Scenario};
use ackclock_sim::RunResult;
use common::{dumbbell, flow, mean, near, simulate, Band, MS, S};

/// One flow of 40 ms over a queue of the BDP, from the start.
fn scenario(algorithm: &str, rate_bps: u64, seed: u64) -> Scenario {
    let flow = Flow {
        receive_window_bytes: Some(120_000_000),
        ..flow(algorithm, 40 * MS)
    };
    let buffer_packets = (rate_bps * 40 / 1_000 / 8 + 750) / 1_500;
    let mut scenario = dumbbell(Profile::Linux6, rate_bps, buffer_packets, vec![flow]);
    scenario.seed = seed;
    scenario.reads = Reads::Bulk;
    scenario
}

/// From one time to another: IP rate, Mb/s; mean cwnd, queue, and srtt, ms; drops of the queue. As of
/// the reference, means are those of the samples each 100 ms, without the last one.
fn shown(result: &RunResult, seconds: [u64; 2]) -> [f64; 5] {
    let (queues, samples) = (&result.queues, &result.samples);
    let [from_us, to_us] = seconds.map(|s| s * 1_000_000);
    let rows = |time_us: &[u64]| -> Vec<usize> {
        let regular =
            |row: &usize| (from_us..to_us).contains(&time_us[*row]) && time_us[*row] % 100_000 == 0;
        (0..time_us.len()).filter(regular).collect()
    };
    let at = |at_us| {
        queues
            .time_us
            .iter()
            .position(|&each| each == at_us)
            .unwrap()
    };
    let (first, last) = (at(from_us), at(to_us));
    let sent_bytes = (queues.sent_bytes[last] - queues.sent_bytes[first]) as f64;
    let flow = rows(&samples.time_us);
    [
        sent_bytes * 8.0 / (to_us - from_us) as f64,
        mean(flow.iter().map(|&row| f64::from(samples.cwnd_packets[row]))),
        mean(
            rows(&queues.time_us)
                .iter()
                .map(|&row| queues.queue_packets[row] as f64),
        ),
        mean(
            flow.iter()
                .map(|&row| f64::from(samples.srtt_us[row]) / 1e3),
        ),
        (queues.dropped_packets[last] - queues.dropped_packets[first]) as f64,
    ]
}

/// Each packet is lost with the same probability before it reaches the queue, ACKs of the handshake
/// too. From 10 s to 120 s; drops of the whole run.
#[test]
fn random_losses_do_what_they_do_to_linux() {
    const RUNS: u64 = 8;
    let cases: [(&str, u64, [Band; 4]); 3] = [
        (
            "reno",
            1_000_000,
            [[11.6, 12.7], [39.8, 43.5], [0.4; 2], [109.0, 450.0]],
        ),
        (
            "cubic",
            100_000,
            [[33.9, 42.3], [116.0, 161.0], [2.0, 18.9], [38.0, 62.0]],
        ),
        (
            "cubic",
            10_000_000,
            [[3.1, 3.4], [10.9, 11.9], [0.1; 2], [296.0, 330.0]],
        ),
    ];
    let mut wrong = Vec::new();
    for (algorithm, p_ppb, bands) in cases {
        let runs = (0..RUNS).map(|seed| {
            let mut scenario = scenario(algorithm, 50_000_000, seed);
            scenario.duration_ns = 120 * S;
            scenario.bottleneck.loss = Some(Loss::Bernoulli(Bernoulli { p_ppb }));
            let result = simulate(&scenario);
            let [rate, cwnd, queue, ..] = shown(&result, [10, 120]);
            [rate, cwnd, queue, result.flows.dropped_packets[0] as f64]
        });
        let runs: Vec<_> = runs.collect();
        let means = [0, 1, 2, 3].map(|value| mean(runs.iter().map(|run| run[value])));
        println!("{algorithm} {p_ppb}: {means:.2?} {runs:.1?}");
        let absolute = [0.0, 0.0, 1.0, 3.0];
        let inside = (0..4).all(|value| near(means[value], bands[value], 0.1, absolute[value]));
        if !inside {
            wrong.push((algorithm, p_ppb, means));
        }
    }
    assert!(wrong.is_empty(), "outside of Linux's bands: {wrong:?}");
}

/// Losses in bursts, and packets that are sent twice, as netem's `gemodel` and `duplicate`. Three runs
/// of Linux each, from 10 s to 60 s. Linux takes no copy for a sign of a needless retransmission.
#[test]
fn bursts_and_copies_do_what_they_do_to_linux() {
    type Case = (&'static str, u64, Option<Loss>, u64, [Band; 4]);
    let bursts = GilbertElliott {
        p_ppb: PARTS / 1_000,
        r_ppb: PARTS / 4,
        h_ppb: 0,
        k_ppb: PARTS,
    };
    let cases: [Case; 2] = [
        (
            "gemodel 0.1% 25%",
            16,
            Some(Loss::GilbertElliott(bursts)),
            0,
            [[11.7, 12.9], [40.0, 44.2], [0.4; 2], [189.0, 229.0]],
        ),
        (
            "duplicate 1%",
            4,
            None,
            PARTS / 100,
            [[50.0; 2], [284.6, 285.6], [119.2, 120.0], [41.0, 47.0]],
        ),
    ];
    for (name, seeds, loss, duplicate_ppb, bands) in cases {
        let runs = (1..=seeds).map(|seed| {
            let mut scenario = scenario("cubic", 50_000_000, seed);
            scenario.duration_ns = 60 * S;
            scenario.bottleneck.loss = loss;
            scenario.bottleneck.duplicate_ppb = duplicate_ppb;
            let result = simulate(&scenario);
            assert_eq!(result.flows.undos[0], 0);
            let [rate, cwnd, queue, ..] = shown(&result, [10, 60]);
            [rate, cwnd, queue, result.flows.dropped_packets[0] as f64]
        });
        let runs: Vec<_> = runs.collect();
        let means = [0, 1, 2, 3].map(|value| mean(runs.iter().map(|run| run[value])));
        println!("{name}: {means:.2?}");
        let absolute = [0.0, 0.0, 1.0, 3.0];
        let inside = (0..4).all(|value| near(means[value], bands[value], 0.1, absolute[value]));
        assert!(inside, "{name}: {means:?} is outside of Linux's bands");
    }
}

/// What Linux showed between two times.
struct Window {
    seconds: [u64; 2],
    rate_mbps: f64,
    utilisation: f64,
    queue: Band,
    cwnd: Band,
    srtt_ms: Band,
    drops: Band,
}

/// 100 Mb/s, 25 Mb/s from 20 s on, 100 Mb/s from 40 s on; 333 packets of queue below a token bucket.
#[test]
fn a_rate_that_changes_does_what_it_does_to_linux() {
    let mut scenario = scenario("cubic", 100_000_000, 1);
    scenario.duration_ns = 60 * S;
    // 1600 bytes of Ethernet packets of 1514.
    scenario.bottleneck.burst_bytes = 1585;
    let step = |seconds, rate_bps| RateStep {
        time_ns: seconds * S,
        rate_bps,
    };
    scenario.bottleneck.rate_at = vec![step(20, 25_000_000), step(40, 100_000_000)];
    let result = simulate(&scenario);
    let windows = [
        Window {
            seconds: [5, 20],
            rate_mbps: 100.0,
            utilisation: 1.0,
            queue: [225.4, 226.5],
            cwnd: [563.6, 564.3],
            srtt_ms: [67.1, 67.2],
            drops: [4.0, 5.0],
        },
        Window {
            seconds: [20, 22],
            rate_mbps: 25.0,
            utilisation: 1.0001,
            queue: [260.8, 260.9],
            cwnd: [376.6, 377.0],
            srtt_ms: [160.1, 160.3],
            drops: [189.0, 191.0],
        },
        Window {
            seconds: [22, 40],
            rate_mbps: 25.0,
            utilisation: 1.0,
            queue: [274.1; 2],
            cwnd: [358.4; 2],
            srtt_ms: [172.0; 2],
            drops: [11.0; 2],
        },
        Window {
            seconds: [40, 45],
            rate_mbps: 100.0,
            utilisation: 1.0,
            queue: [23.2, 23.5],
            cwnd: [356.0, 356.1],
            srtt_ms: [44.8; 2],
            drops: [0.0; 2],
        },
        Window {
            seconds: [45, 60],
            rate_mbps: 100.0,
            utilisation: 1.0,
            queue: [183.0, 183.6],
            cwnd: [521.3; 2],
            srtt_ms: [62.0; 2],
            drops: [10.0; 2],
        },
    ];
    let mut wrong = Vec::new();
    for window in windows {
        let [mbps, cwnd, queue, srtt_ms, drops] = shown(&result, window.seconds);
        let utilisation = mbps / window.rate_mbps;
        let checks = [
            near(utilisation, [window.utilisation; 2], 0.005, 0.0),
            near(queue, window.queue, 0.05, 1.0),
            near(cwnd, window.cwnd, 0.03, 0.0),
            near(srtt_ms, window.srtt_ms, 0.03, 0.0),
            near(drops, window.drops, 0.1, 3.0),
        ];
        let seen = [utilisation, queue, cwnd, srtt_ms, drops];
        println!("{:?} s: {seen:.4?} {checks:?}", window.seconds);
        if !checks.iter().all(|&ok| ok) {
            wrong.push((window.seconds, seen));
        }
    }
    assert!(wrong.is_empty(), "outside of Linux's bands: {wrong:?}");
}

/// What the schema cannot say of a link: one message with field, value and fix.
#[test]
fn a_link_that_cannot_be_is_refused() {
    let refused = |change: &dyn Fn(&mut Bottleneck)| {
        let mut scenario = scenario("cubic", 12_000_000, 1);
        change(&mut scenario.bottleneck);
        let error = scenario.validate(&Snapshot::default()).unwrap_err();
        error.to_string()
    };
    let trace = |times_ms: &[u64]| {
        let times_ms = times_ms.to_vec();
        refused(&move |link| {
            link.rate_bps = Trace::mean_bps(&times_ms);
            link.trace_ms = Some(times_ms.clone());
        })
    };
    let step = |time_ns, rate_bps| RateStep { time_ns, rate_bps };
    for (message, expected) in [
        (
            refused(&|link| link.trace_ms = Some(Vec::new())),
            "bottleneck.trace_ms.len() = 0: choose a value from 1 to 1000000",
        ),
        (
            trace(&[5, 3]),
            "bottleneck.trace_ms[1] = 3: the times of a trace do not go back",
        ),
        (
            trace(&[0, 0]),
            "the last time of a trace is its length: more than 0 ms",
        ),
        (
            refused(&|link| link.trace_ms = Some(vec![2])),
            "bottleneck.rate_bps = 12000000: a link with a trace has its mean rate, 6000000",
        ),
        (
            refused(&|link| {
                link.trace_ms = Some(vec![1]);
                link.burst_bytes = 3_000;
            }),
            "bottleneck.burst_bytes = given beside trace_ms: leave it out",
        ),
        (
            refused(&|link| link.rate_at = vec![step(S, 1_000_000), step(S, 2_000_000)]),
            "bottleneck.rate_at[1].time_ns = 1000000000: each change comes after the one before",
        ),
        (
            refused(&|link| link.rate_at = vec![step(S, 1)]),
            "bottleneck.rate_at[0].rate_bps = 1: choose a value from 1000",
        ),
        (
            refused(&|link| {
                link.policer = Some(PolicerParameters {
                    rate_bps: 1_000_000,
                    burst_bytes: 1_000,
                });
            }),
            "bottleneck.policer.burst_bytes = 1000: give room for a packet, at least 1500",
        ),
        (
            refused(&|link| {
                link.loss = Some(Loss::Bernoulli(Bernoulli { p_ppb: 2 * PARTS }));
            }),
            "bottleneck.loss.bernoulli.p_ppb = 2000000000: choose a value from 0 to 1000000000",
        ),
        (
            refused(&|link| {
                link.queue = QueueKind::Codel(CodelParameters {
                    target_ns: 5,
                    ..CodelParameters::default()
                });
            }),
            "bottleneck.queue.codel.target_ns = 5: choose a value from 1000 to 10000000000",
        ),
        (
            refused(&|link| {
                link.queue = QueueKind::Red(RedParameters {
                    min_bytes: 30_000,
                    ..RedParameters::default()
                });
            }),
            "bottleneck.queue.max_bytes = 22500: choose a value from 30000 to 4000000000",
        ),
    ] {
        assert!(message.contains(expected), "{message}\n{expected}");
    }
}
