//! Each number that a verdict rests on, of a run of which it can be worked out by hand.

use std::collections::BTreeMap;

use ackclock_measure::Number::{AtLeast, Is};
use ackclock_measure::{jain_index, numbers, Column, Number, Run, Seen, Setup, Table};
use serde_json::{json, Value};

/// Rows of a table: names of columns, and rows of whole numbers.
struct Rows(Vec<(&'static str, Vec<u64>, Vec<u32>)>);

fn rows<const N: usize>(names: [&'static str; N], rows: Vec<[u64; N]>) -> Rows {
    let column = |at: usize| rows.iter().map(|row| row[at]).collect::<Vec<_>>();
    let columns = names.iter().enumerate().map(|(at, name)| {
        let short = column(at).iter().map(|value| *value as u32).collect();
        (*name, column(at), short)
    });
    Rows(columns.collect())
}

impl Table for Rows {
    fn column(&self, name: &str) -> Column<'_> {
        let mut named = self.0.iter().filter(|(each, ..)| *each == name);
        let (_, long, short) = named.next().unwrap_or_else(|| panic!("no {name}"));
        match name {
            "flow" | "queue" | "kind" | "cwnd_packets" | "srtt_us" => Column::U32(short),
            _ => Column::U64(long),
        }
    }
}

const S: u64 = 1_000_000;
const FLOWS: [&str; 14] = [
    "start_us",
    "completed_us",
    "delivered_bytes",
    "common_bytes",
    "sent_packets",
    "retransmitted_packets",
    "dropped_packets",
    "link_lost_packets",
    "marked_packets",
    "recoveries",
    "timeouts",
    "undos",
    "receive_window_limited_us",
    "send_buffer_limited_us",
];
const SAMPLES: [&str; 7] = [
    "time_us",
    "flow",
    "cwnd_packets",
    "srtt_us",
    "delivered_packets",
    "delivered_bytes",
    "retransmitted_packets",
];
const QUEUES: [&str; 9] = [
    "time_us",
    "queue",
    "queue_packets",
    "sojourn_us",
    "dropped_packets",
    "link_lost_packets",
    "policed_packets",
    "marked_packets",
    "sent_bytes",
];
/// Payload of a packet of 1500 bytes.
const MSS: u64 = 1448;

/// 1000 packets a second for 40 s, of a flow of mine and one that comes after 12 s.
fn setup(more: Value) -> Setup {
    let mut scenario = json!({
        "duration_ns": 40_000 * S,
        "sample_interval_ns": 1_000 * S,
        "mss_bytes": MSS,
        "header_bytes": 52,
        "bottleneck": {"rate_bps": 12_000_000},
        "flows": [
            {"rtt_ns": 100 * S, "frames": {"size_bytes": 6 * MSS - 1, "every_ns": 1_000 * S}},
            {"rtt_ns": 200 * S},
        ],
        "sessions": [{"flow": {"rtt_ns": 100 * S}}],
    });
    scenario
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    serde_json::from_value(scenario).unwrap()
}

/// The newcomer has 40 packets a second, and 400 from 20 s on if it `comes`.
fn measured(setup: &Setup, comes: bool) -> BTreeMap<&'static str, Option<Number>> {
    let sample = |time_s: u64| {
        // Frames are delivered within a second; those of the last ten wait for the end.
        let frames = if (31..40).contains(&time_s) {
            30
        } else {
            time_s
        };
        let newcomer = match time_s {
            20.. if comes => 320 + 400 * (time_s - 20),
            12.. => 40 * (time_s - 12),
            _ => 0,
        };
        let again = if time_s <= 20 { 30 } else { 48 };
        [
            [time_s * S, 1, 9, 0, 520 * time_s, 6 * MSS * frames, again],
            [time_s * S, 2, 9, 0, newcomer, 0, 0],
        ]
    };
    // Nothing left in the first 10 s; then 1 MB a second, and each second 1 ms more of waiting.
    let queue = |time_s: u64| {
        let after_s = time_s.saturating_sub(10);
        let wait_us = if time_s < 10 {
            100_000
        } else {
            1_000 * after_s
        };
        [time_s * S, 1, 0, wait_us, 0, 0, 0, 0, S * after_s]
    };
    let timeouts = [1, 2, 4, 9].map(|time_s| [time_s * S, 1, 4]);
    let transfers = vec![
        [0, 600_000, 100 * MSS],
        [S, 1_900_000, 100 * MSS],
        [34 * S, 0, 100 * MSS],
    ];
    let run = Run {
        setup,
        flows: &rows(
            FLOWS,
            vec![
                [0, 0, 0, 28 * S, 24_000, 48, 50, 10, 40, 0, 4, 3, 0, 0],
                [12 * S, 0, 0, 7 * S, 9_000, 9, 30, 0, 26, 0, 9, 9, 0, 0],
            ],
        ),
        samples: &rows(SAMPLES, (0..=40).flat_map(sample).collect()),
        queues: &rows(QUEUES, (1..=40).map(queue).collect()),
        events: &rows(
            ["time_us", "flow", "kind"],
            [vec![[0, 1, 0], [0, 2, 0]], timeouts.to_vec()].concat(),
        ),
        transfers: &rows(["start_us", "completed_us", "size_bytes"], transfers),
    };
    numbers(&run, 1).into_iter().collect()
}

fn assert_is(found: &BTreeMap<&'static str, Option<Number>>, expected: &[(&str, Number)]) {
    for (name, expected) in expected {
        let (value, other) = match (found[name], *expected) {
            (Some(Is(value)), Is(other)) | (Some(AtLeast(value)), AtLeast(other)) => (value, other),
            (found, _) => panic!("{name}: {found:?}, not {expected:?}"),
        };
        assert!(
            (value - other).abs() < 1e-9 * other.abs().max(1.0),
            "{name}: {value}, not {other}"
        );
    }
}

#[test]
fn every_number_of_a_run() {
    let found = measured(&setup(json!({})), true);
    // Packets a second, from 12 s to 40 s.
    let newcomer = (8.0 * 40.0 + 20.0 * 400.0) / 28.0;
    let mbps = 8e-6 * MSS as f64;
    let expected = [
        ("utilisation", Is(30.0 / 45.0)),
        ("mine_mbps", Is(520.0 * mbps)),
        ("others_mbps", Is(newcomer * mbps)),
        ("mine_share", Is(520.0 / 500.0)),
        (
            "jain",
            Is((520.0 + newcomer).powi(2) / (2.0 * (270_400.0 + newcomer.powi(2)))),
        ),
        ("slowest_over_fastest", Is(newcomer / 520.0)),
        // From 20 s on it has 80 % of its share: 8 s after its start, and a window of 10 s.
        ("convergence_s", Is(18.0)),
        ("delay_mean_ms", Is(15.0)),
        ("delay_p95_ms", Is(28.5)),
        ("delay_p99_ms", Is(29.7)),
        // 10 of the seconds from 10 s on with less than 50 packets.
        ("others_starved_percent", Is(100.0 / 3.0)),
        ("loss_percent", Is(100.0 * (50.0 + 30.0 - 10.0) / 33_000.0)),
        ("others_loss_percent", Is(100.0 * 30.0 / 9_000.0)),
        ("marked_percent", Is(0.2)),
        ("retransmitted_percent", Is(0.2)),
        ("undos", Is(3.0)),
        ("timeouts", Is(4.0)),
        ("sent_per_rtt", Is(60.0)),
        ("late_retransmissions_per_rtt", Is(18.0 / 200.0)),
        // Waits of 1, 2 and 5 s.
        ("backoff", Is(2.25)),
        // An empty link would need two RTTs of 0.1 s, and 0.1 s. One of three has not come in 6 s.
        ("slowdown_median", Is(3.0)),
        ("slowdown_p99", AtLeast(20.0)),
        ("completed_percent", Is(200.0 / 3.0)),
        ("completion_p99_ms", AtLeast(6_000.0)),
        // The first of the steps of 0.8 s in which it carries 1000 packets a second.
        // With 920 of 1000 packets a second.
        ("full_s", Is(20.8)),
        // 20 frames of 1 s, and one each of 2 s to 10 s.
        ("frame_median_ms", Is(1_000.0)),
        ("frame_p95_ms", Is(8_600.0)),
    ];
    assert_is(&found, &expected);
    assert_eq!(found.len(), expected.len());
}

#[test]
fn what_the_end_of_a_run_cuts_off_is_a_bound() {
    let found = measured(&setup(json!({})), false);
    assert_is(
        &found,
        &[("convergence_s", AtLeast(28.0)), ("full_s", AtLeast(40.0))],
    );
}

#[test]
fn a_run_with_a_receiver_that_lies_has_its_goodputs() {
    let flows = json!([{"rtt_ns": 1, "hides": "losses"}, {"rtt_ns": 1}]);
    let found = measured(&setup(json!({"flows": flows})), true);
    assert_is(
        &found,
        &[
            ("mine_mbps", Is(8.0)),
            ("others_mbps", Is(2.0)),
            ("jain", Is(100.0 / 136.0)),
        ],
    );
    assert!(found["frame_p95_ms"].is_none());
}

#[test]
fn alone_there_are_no_others() {
    let setup = setup(json!({"flows": [{"rtt_ns": 1}], "sessions": []}));
    let run = Run {
        setup: &setup,
        flows: &rows(FLOWS, vec![[0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0]]),
        samples: &rows(SAMPLES, vec![[40 * S, 1, 9, 0, 0, 0, 0]]),
        queues: &rows(QUEUES, Vec::new()),
        events: &rows(["time_us", "flow", "kind"], Vec::new()),
        transfers: &rows(["start_us", "completed_us", "size_bytes"], Vec::new()),
    };
    let found: BTreeMap<_, _> = numbers(&run, 1).into_iter().collect();
    for name in [
        "others_mbps",
        "jain",
        "slowest_over_fastest",
        "convergence_s",
        "backoff",
    ] {
        assert_eq!(found[name], None, "{name}");
    }
    for name in [
        "others_loss_percent",
        "others_starved_percent",
        "slowdown_p99",
        "full_s",
    ] {
        assert_eq!(found[name].is_some(), name == "full_s", "{name}");
    }
    assert_is(&found, &[("mine_mbps", Is(0.0)), ("delay_p99_ms", Is(0.0))]);
}

#[test]
fn what_a_run_comes_to() {
    let setup = setup(json!({
        "bottleneck": {"rate_bps": 8_000_000, "burst_bytes": 3 * S,
                       "rate_at": [{"time_ns": 20_000 * S, "rate_bps": 0},
                                   {"time_ns": 30_000 * S, "rate_bps": 16_000_000}]},
        "flows": [
            {"rtt_ns": 1, "stop_ns": 30_000 * S},
            {"rtt_ns": 1, "stop_ns": 35_000 * S},
            {"rtt_ns": 1, "size_bytes": 9},
            {"rtt_ns": 1, "direction": "reverse"},
        ],
    }));
    let flows = rows(
        FLOWS,
        vec![
            [0, 0, 40 * S, 40 * S, 0, 5, 0, 0, 0, 6, 7, 0, 10 * S, 0],
            [10 * S, 0, 30 * S, 20 * S, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            [S, 3 * S, 8 * S, 0, 0, 0, 0, 0, 0, 0, 0, 0, S, 0],
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        ],
    );
    let mut seen = Seen::new(&setup);
    // A row between two regular ones, two at one time, one that is not measured, and one after the end.
    let first = vec![
        [0, 1, 10, 0, 0, 0, 0],
        [S / 2, 1, 99, 0, 0, 0, 0],
        [S, 1, 98, 0, 0, 0, 0],
    ];
    let rest = vec![
        [S, 1, 20, 40_000, 0, 0, 0],
        [3 * S, 3, 4, 0, 0, 0, 0],
        [4 * S, 3, 50, 0, 0, 0, 0],
    ];
    for part in [first, rest] {
        seen.take_samples(&setup, &rows(SAMPLES, part), flows.u64("completed_us"));
    }
    let queue = |row: u64| {
        [
            row * 10 * S,
            1,
            row,
            1_000 * row,
            2 * row,
            row,
            row,
            3 * row,
            row * S,
        ]
    };
    seen.take_queues(&rows(QUEUES, (1..=4).map(queue).collect()));
    let found = json!(seen.summary(&setup, &flows, false));
    let goodputs_bps = [16e6, 8e6, 0.0, 0.0];
    assert_eq!(found["common_s"], json!([10.0, 30.0]));
    assert_eq!(found["jain_index"], jain_index(&goodputs_bps[..3]));
    // 20 s of 1 MB/s, 10 s of nothing, 10 s of 2 MB/s, and a full bucket of 3 MB.
    assert_eq!(found["utilisation"], 4.0 / 43.0);
    for (flow, goodput_bps) in goodputs_bps.iter().enumerate() {
        assert_eq!(found["flows"][flow]["goodput_bps"], *goodput_bps);
    }
    let first = json!({
        "goodput_bps": 16e6, "lifetime_bps": 8e6, "mean_cwnd_packets": 15.0, "mean_rtt_s": 0.04,
        "retransmitted_packets": 5, "recoveries": 6, "timeouts": 7, "receiver_limited": 0.25,
    });
    assert_eq!(found["flows"][0], first);
    assert_eq!(found["flows"][1]["lifetime_bps"], 8e6);
    assert_eq!(found["flows"][1]["mean_cwnd_packets"], json!(null));
    assert_eq!(found["flows"][2]["lifetime_bps"], 32e6);
    assert_eq!(found["flows"][2]["receiver_limited"], 0.5);
    assert_eq!(found["flows"][2]["mean_cwnd_packets"], 4.0);
    let queue = json!([{
        "queue": 1, "utilisation": 4.0 / 43.0, "mean_queue_packets": 2.5, "median_delay_s": 0.0025,
        "high_delay_s": 0.00385_f64.next_down(), "lost_packets": 8, "dropped_packets": 8, "marked_packets": 12,
    }]);
    assert_eq!(found["queues"], queue);
}

#[test]
fn jains_index_of_shares() {
    for (shares, index) in [
        (&[1.0, 1.0, 1.0][..], 1.0),
        (&[1.0, 0.0, 0.0, 0.0], 0.25),
        (&[2.0, 1.0], 0.9),
    ] {
        assert_eq!(jain_index(shares), index);
    }
    assert!(jain_index(&[0.0, 0.0]).is_nan());
    // Its sums are rounded once.
    assert_eq!(
        jain_index(&[1e8, 1.0, 1e8, 1.0]),
        (2e8_f64 + 2.0).powi(2) / (8e16 + 8.0)
    );
}
