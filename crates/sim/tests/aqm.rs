#![allow(missing_docs)]
mod common;
use ackclock_net::link::Buffer;
use ackclock_net::queue::*;
use ackclock_sim::record::EventKind;
use ackclock_sim::scenario::{Flow, Profile, Reads};
use common::{dumbbell, flow, simulate, MS, S};

fn show(name: &str, kind: QueueKind, flows: &[(&str, bool)], seeds: u64) {
    for seed in 1..=seeds {
        let step = if flows.len() == 2 { 500 } else { 200 };
        let starts = [0, step, 2 * step, 3 * step];
        let flows = flows.iter().zip(starts).map(|(&(cc, ecn), start)| Flow {
            ecn,
            start_ns: (start
                + if start > 0 {
                    [13, 100, 237, 371][(seed % 4) as usize] % 170 * (start / step)
                } else {
                    0
                })
                * MS,
            receive_window_bytes: Some(120_000_000),
            ..flow(cc, 40 * MS)
        });
        let mut scenario = dumbbell(Profile::Linux6, 50_000_000, 1000, flows.collect());
        scenario.seed = seed;
        scenario.duration_ns = 60 * S;
        scenario.reads = Reads::Bulk;
        scenario.bottleneck.queue = kind;
        scenario.bottleneck.buffer = Buffer::Packets(1000);
        let r = simulate(&scenario);
        let q = &r.queues;
        let half = q.time_us.iter().position(|&t| t >= 30_000_000).unwrap();
        let last = q.time_us.len() - 1;
        let utilisation = (q.sent_bytes[last] - q.sent_bytes[half]) as f64 * 8.0 / (30.0 * 50e6);
        let mean = q.queue_packets[half..].iter().sum::<u64>() as f64 / (last + 1 - half) as f64;
        let n = scenario.flows.len() as u32;
        let cwnds: Vec<f64> = (1..=n)
            .map(|f| {
                let rows: Vec<f64> = (0..r.samples.time_us.len())
                    .filter(|&i| r.samples.flow[i] == f && r.samples.time_us[i] >= 30_000_000)
                    .map(|i| f64::from(r.samples.cwnd_packets[i]))
                    .collect();
                rows.iter().sum::<f64>() / rows.len() as f64
            })
            .collect();
        let rates: Vec<f64> = (1..=n)
            .map(|f| {
                let rows: Vec<usize> = (0..r.samples.time_us.len())
                    .filter(|&i| r.samples.flow[i] == f && r.samples.time_us[i] >= 30_000_000)
                    .collect();
                (r.samples.delivered_bytes[*rows.last().unwrap()]
                    - r.samples.delivered_bytes[rows[0]]) as f64
                    * 8.0
                    / 30e6
            })
            .collect();
        let count = |kind| r.events.kind.iter().filter(|&&k| k == kind).count();
        println!("{name} seed {seed}: util {utilisation:.4} cwnd {cwnds:.1?} rates {rates:.1?} queue {mean:.1} drops {:?} recov {} cwr {} sent {:?}",
            r.flows.dropped_packets, count(EventKind::Recovery), count(EventKind::Cwr), r.flows.sent_packets);
    }
}

#[test]
fn explore() {
    let codel = |ecn| {
        QueueKind::Codel(CodelParameters {
            ecn,
            ..CodelParameters::default()
        })
    };
    show("codel_cubic", codel(false), &[("cubic", false)], 1);
    show("codel_4cubic", codel(false), &[("cubic", false); 4], 4);
    show(
        "codel_cubic_reno_ecn",
        codel(true),
        &[("cubic", true), ("reno", true)],
        4,
    );
    let fq = |ecn| {
        QueueKind::FqCodel(FqCodelParameters {
            ecn,
            ..FqCodelParameters::default()
        })
    };
    show("fq_cubic_ecn", fq(true), &[("cubic", true)], 1);
    show(
        "fq_cubic_reno",
        fq(false),
        &[("cubic", false), ("reno", false)],
        3,
    );
    show("fq_4cubic_ecn", fq(true), &[("cubic", true); 4], 3);
    let red = |ecn| {
        QueueKind::Red(RedParameters {
            ecn,
            min_bytes: 45_000,
            max_bytes: 135_000,
            weight_log2: 5,
            ..RedParameters::default()
        })
    };
    show("red_cubic_ecn", red(true), &[("cubic", true)], 3);
    show("red_4cubic_ecn", red(true), &[("cubic", true); 4], 4);
    show(
        "red_cubic_reno",
        red(false),
        &[("cubic", false), ("reno", false)],
        4,
    );
    let pie = |ecn| {
        QueueKind::Pie(PieParameters {
            ecn,
            ..PieParameters::default()
        })
    };
    show("pie_cubic", pie(false), &[("cubic", false)], 3);
    show(
        "pie_cubic_reno_ecn",
        pie(true),
        &[("cubic", true), ("reno", true)],
        4,
    );
    show("pie_4cubic", pie(false), &[("cubic", false); 4], 4);
}
