//! DCTCP beside real Linux, whose receivers run it, too, and beside its closed forms.

use crate::common;

use ackclock_net::impair::{Bernoulli, Loss};
use ackclock_net::queue::{QueueKind, RedParameters, StepParameters};
use ackclock_sim::scenario::{Direction, EcnMode, Flow, Profile, Reads, Scenario};
use ackclock_sim::{run, Control, RunResult};
use common::{dumbbell, flow, mean, near, simulate, Band, MS, S};

/// 100 Mb/s, 10 ms and 1000 packets, below a token bucket as in `tests/aqm.rs`.
fn scenario(queue: QueueKind, starts_ns: &[u64], seed: u64) -> Scenario {
    let flows = starts_ns.iter().map(|&start_ns| Flow {
        start_ns,
        receive_window_bytes: Some(120_000_000),
        ..flow("dctcp", 10 * MS)
    });
    let mut scenario = dumbbell(Profile::Linux6, 100_000_000, 1000, flows.collect());
    scenario.seed = seed;
    scenario.duration_ns = 60 * S;
    scenario.reads = Reads::Bulk;
    scenario.bottleneck.queue = queue;
    scenario.bottleneck.burst_bytes = 1585;
    scenario
}

fn step(threshold_packets: u64) -> QueueKind {
    QueueKind::Step(StepParameters {
        threshold_packets,
        ..StepParameters::default()
    })
}

/// What a run shows from `from_us` on; marks of the whole run.
#[derive(Debug)]
struct Shown {
    utilisation: f64,
    cwnd: f64,
    /// IP rates of the flows, Mb/s.
    rates_mbps: Vec<f64>,
    queue_packets: f64,
    marks: f64,
    dropped: u64,
}

fn shown(result: &RunResult, rate_bps: f64, from_us: u64) -> Shown {
    let (queues, samples) = (&result.queues, &result.samples);
    let last = queues.time_us.len() - 1;
    let from = queues.time_us.iter().position(|&at| at >= from_us).unwrap();
    let seconds = (queues.time_us[last] - queues.time_us[from]) as f64 / 1e6;
    let sent_bytes = (queues.sent_bytes[last] - queues.sent_bytes[from]) as f64;
    let of = |flow: u32| {
        let rows = 0..samples.time_us.len();
        // Not the rows of events.
        rows.filter(move |&row| samples.flow[row] == flow && samples.time_us[row] >= from_us)
            .filter(|&row| samples.time_us[row] % 250 == 0)
    };
    let flows = result.flows.delivered_bytes.len() as u32;
    let rates_mbps = (1..=flows).map(|flow| {
        let delivered = |row: usize| samples.delivered_bytes[row] as f64;
        let bytes = delivered(of(flow).next_back().unwrap()) - delivered(of(flow).next().unwrap());
        bytes * 1500.0 / 1448.0 * 8.0 / seconds / 1e6
    });
    Shown {
        utilisation: sent_bytes * 8.0 / (seconds * rate_bps),
        cwnd: mean(of(1).map(|row| f64::from(samples.cwnd_packets[row]))),
        rates_mbps: rates_mbps.collect(),
        queue_packets: mean((from..=last).map(|row| queues.queue_packets[row] as f64)),
        marks: queues.marked_packets[last] as f64,
        dropped: result.flows.dropped_packets.iter().sum(),
    }
}

/// The echo of DCTCP's own receiver, and the count of RFC 9768 in its place.
const FEEDBACK: [EcnMode; 2] = [EcnMode::Classic, EcnMode::Accurate];

/// `B_dctcp_codel`: CoDel that only marks, what has waited for 2 ms.
#[test]
fn one_flow_does_what_linux_does() {
    let queue = QueueKind::Step(StepParameters {
        threshold_ns: 2 * MS,
        ..StepParameters::default()
    });
    for ecn in FEEDBACK {
        let mut scenario = scenario(queue, &[0], 0);
        scenario.flows[0].ecn = ecn;
        let shown = shown(&simulate(&scenario), 100e6, 30_000_000);
        println!("{ecn:?} {shown:.4?}");
        assert!(near(shown.utilisation, [1.0; 2], 0.005, 0.0));
        assert!(near(shown.cwnd, [101.1, 101.2], 0.03, 0.0));
        assert!(near(shown.queue_packets, [13.3, 13.6], 0.05, 1.0));
        assert!(near(shown.marks, [19419.0, 19481.0], 0.1, 3.0));
        assert_eq!(shown.dropped, 0);
    }
}

/// `B_2dctcp_red`: RED with one threshold of 17 packets, and nearly the present queue as average.
#[test]
fn two_flows_do_what_linux_does() {
    const EACH: Band = [31.5, 68.5];
    let queue = QueueKind::Red(RedParameters {
        ecn: true,
        min_bytes: 17 * 1500,
        max_bytes: 17 * 1500 + 1,
        max_p_ppm: 1_000_000,
        weight_log2: 1,
        ..RedParameters::default()
    });
    for ecn in FEEDBACK {
        let shows: Vec<Shown> = [0, 13, 100, 237]
            .iter()
            .zip(0..)
            .map(|(shift_ms, seed)| {
                let mut scenario = scenario(queue, &[0, 5 * S + shift_ms * MS], seed);
                scenario.flows.iter_mut().for_each(|flow| flow.ecn = ecn);
                shown(&simulate(&scenario), 100e6, 30_000_000)
            })
            .collect();
        let of = |value: &dyn Fn(&Shown) -> f64| mean(shows.iter().map(value));
        println!("{ecn:?} {shows:.4?}");
        assert!(near(of(&|shown| shown.utilisation), [1.0; 2], 0.005, 0.0));
        for flow in 0..2 {
            assert!(near(of(&|shown| shown.rates_mbps[flow]), EACH, 0.1, 0.0));
        }
        let queue_packets = of(&|shown| shown.queue_packets);
        assert!(near(queue_packets, [14.0, 14.3], 0.1, 1.0));
        assert!(near(of(&|shown| shown.marks), [48297.0, 49759.0], 0.1, 3.0));
        assert!(shows.iter().all(|shown| shown.dropped == 0));
    }
}

/// Alizadeh et al. 2010, section 3.3: N flows over a pipe of C RTT packets, marked above K, fill the
/// queue up to K + N packets, and it swings by A = sqrt(2 N (C RTT + K)) / 2. If it would fall below 0,
/// the link idles.
#[test]
fn the_queue_swings_as_in_the_closed_form() {
    const PIPE_PACKETS: f64 = 1000.0 / 3.0;
    for (flows, k) in [(1, 60), (2, 60), (4, 60), (1, 30), (1, 15), (1, 5)] {
        let starts_ns: Vec<u64> = (0..flows).map(|index| index * 10 * MS).collect();
        let mut scenario = scenario(step(k), &starts_ns, 0);
        scenario
            .flows
            .iter_mut()
            .for_each(|flow| flow.rtt_ns = 40 * MS);
        scenario.duration_ns = 40 * S;
        scenario.sample_interval_ns = MS / 4;
        scenario.bottleneck.burst_bytes = 0;
        scenario.tso = false;
        let result = simulate(&scenario);
        let mut queue: Vec<_> = result.queues.queue_packets[80_000..].to_vec();
        queue.sort_unstable();
        let share = |of: usize| queue[queue.len() * of / 100] as f64;
        let mean = mean(queue.iter().map(|&packets| packets as f64));
        let (n, k) = (flows as f64, k as f64);
        let most = k + n;
        let swing = (2.0 * n * (PIPE_PACKETS + k)).sqrt() / 2.0;
        let utilisation = shown(&result, 100e6, 20_000_000).utilisation;
        println!(
            "{n} {k}: {} {mean:.1} {} {most} {swing:.1} {utilisation:.4}",
            share(1),
            share(99)
        );
        assert!((share(99) - most).abs() <= 3.0);
        if swing < most {
            // An ACK is of two packets.
            assert!((share(1) - (most - swing)).abs() <= 5.5);
            assert!((mean - (most - swing / 2.0)).abs() <= 1.0);
            assert!(utilisation > 0.9995);
        } else {
            assert!(utilisation < 0.995);
        }
    }
}

/// The first SYN is lost in a full queue. The one after it asks for no ECN, and the flow is Reno: it
/// is not marked, and halves its window at a loss.
#[test]
fn without_ecn_it_is_reno() {
    let others = (0..2).map(|_| flow("reno", 10 * MS));
    let late = |algorithm: &str, start_ms: u64| Flow {
        start_ns: start_ms * MS,
        ..flow(algorithm, 10 * MS)
    };
    let run = |algorithm: &str, start_ms: u64| {
        let mut flows: Vec<_> = others.clone().collect();
        flows.push(late(algorithm, start_ms));
        let mut scenario = dumbbell(Profile::Linux6, 20_000_000, 30, flows);
        scenario.bottleneck.queue = step(20);
        simulate(&scenario)
    };
    let mut fell_back = 0;
    for start_ms in 100..160 {
        let dctcp = run("dctcp", start_ms);
        if dctcp.flows.marked_packets[2] > 0 {
            continue;
        }
        // From its second SYN on, its packets are those of a Reno flow without ECN.
        assert_eq!(dctcp.flows, run("reno", start_ms).flows);
        fell_back += 1;
    }
    assert!(fell_back > 0);
}

/// What is sent again may be marked, too, and so may SYNs and ACKs: the same queue drops those of
/// other flows with ECN.
#[test]
fn every_packet_may_be_marked() {
    let run = |algorithm: &str| {
        let both = [Direction::Forward, Direction::Reverse].map(|direction| Flow {
            ecn: true.into(),
            direction,
            ..flow(algorithm, 40 * MS)
        });
        let mut scenario = dumbbell(Profile::Linux6, 20_000_000, 60, both.to_vec());
        // Drops what it cannot mark.
        scenario.bottleneck.queue = QueueKind::Red(RedParameters {
            ecn: true,
            min_bytes: 15_000,
            max_bytes: 15_001,
            max_p_ppm: 1_000_000,
            weight_log2: 1,
            ..RedParameters::default()
        });
        scenario.bottleneck.loss = Some(Loss::Bernoulli(Bernoulli { p_ppb: 1_000_000 }));
        simulate(&scenario)
    };
    let (dctcp, reno) = (run("dctcp"), run("reno"));
    assert!(dctcp.flows.retransmitted_packets[0] > 0);
    let early = |result: &RunResult| *result.queues.early_dropped_packets.last().unwrap();
    assert_eq!(early(&dctcp), 0);
    assert!(early(&reno) > 0);
}

/// Linux 2.6.25 has no DCTCP.
#[test]
fn an_old_profile_is_refused() {
    let mut scenario = scenario(step(20), &[0], 0);
    scenario.profile = Profile::Linux2_6_25;
    let error = run(&scenario, &Control::default()).unwrap_err().to_string();
    assert_eq!(
        error,
        "flows[0].algorithm = dctcp: it needs ECN, which is modelled as in today's Linux; choose \
         profile linux-6"
    );
}
