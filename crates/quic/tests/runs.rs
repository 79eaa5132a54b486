//! Flows of QUIC stacks through our links.

use ackclock_net::buffer::Buffer;
use ackclock_net::link::Bottleneck;
use ackclock_sim::record::EventKind;
use ackclock_sim::scenario::{Flow, Profile, Reads, Scenario, StackName};
use ackclock_sim::{run, Control, RunResult};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;
const STACKS: [StackName; 2] = [StackName::Quinn, StackName::Noq];

fn guest(stack: StackName, algorithm: &str) -> Flow {
    Flow {
        stack: Some(stack),
        ..Flow::endless(algorithm, 40 * MS)
    }
}

fn scenario(rate_bps: u64, buffer_packets: u64, flows: Vec<Flow>) -> Scenario {
    ackclock_quic::install();
    Scenario {
        seed: 1,
        duration_ns: 20 * S,
        profile: Profile::Linux6,
        hz: 1000,
        mss_bytes: 1448,
        header_bytes: 52,
        jitter_ns: 0,
        delayed_ack_segments: 2,
        reads: Reads::AtOnce,
        tso: true,
        pacing: false,
        sack_cost_ns: 0,
        bottleneck: Bottleneck::drop_tail(rate_bps, Buffer::Packets(buffer_packets)),
        links: Vec::new(),
        flows,
        sessions: Vec::new(),
        sample_interval_ns: 100 * MS,
    }
}

fn simulate(scenario: &Scenario) -> RunResult {
    run(scenario, &Control::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// What the flows got, Mb/s.
fn goodput_mbps(result: &RunResult) -> Vec<f64> {
    let bytes = result.flows.delivered_bytes.iter();
    bytes
        .map(|bytes| *bytes as f64 * 8.0 / 20.0 / 1e6)
        .collect()
}

#[test]
fn each_congestion_control_fills_a_link() {
    for name in STACKS {
        let stacks = &ackclock_quic::STACKS;
        let stack = stacks
            .iter()
            .find(|stack| stack.name == name.name())
            .unwrap();
        for algorithm in stack.algorithms {
            let result = simulate(&scenario(20_000_000, 100, vec![guest(name, algorithm)]));
            let [goodput] = goodput_mbps(&result)[..] else {
                panic!("one flow");
            };
            // Of 1500 bytes a datagram carries some 1440 of the stream.
            assert!(
                (16.0..19.3).contains(&goodput),
                "{} {algorithm}: {goodput} Mb/s",
                stack.name
            );
            assert_eq!(result.events.kind[0], EventKind::Established);
            assert_eq!(result.flows.min_rtt_us[0] / 1_000, 40, "{}", stack.name);
            assert!(result.flows.sent_packets[0] > 25_000);
        }
    }
}

#[test]
fn a_seed_repeats_a_run() {
    for stack in STACKS {
        let flows = vec![guest(stack, "cubic"), Flow::endless("cubic", 40 * MS)];
        let mut noisy = scenario(20_000_000, 60, flows);
        noisy.jitter_ns = 100_000;
        let hashes = [1, 1, 2].map(|seed| {
            noisy.seed = seed;
            simulate(&noisy).trace_hash
        });
        assert_eq!(hashes[0], hashes[1], "{stack:?}");
        assert_ne!(hashes[0], hashes[2], "{stack:?}");
    }
}

/// The window of Reno after each loss is half of what it was (RFC 9002, section 7.3.2).
#[test]
fn windows_and_losses_are_in_the_tables() {
    let result = simulate(&scenario(
        10_000_000,
        20,
        vec![guest(StackName::Quinn, "reno")],
    ));
    let events = &result.events;
    let mut halved = 0;
    for (at, _) in (events.kind.iter().enumerate()).filter(|(_, k)| **k == EventKind::Recovery) {
        halved += 1;
        let (before, after) = (events.cwnd_packets[at], events.ssthresh_packets[at]);
        assert!(after.abs_diff(before / 2) <= 1, "{after} after {before}");
    }
    assert!(halved > 5, "{halved}");
    let flows = &result.flows;
    assert!(flows.dropped_packets[0] > 0);
    // What quinn takes for lost was lost.
    assert_eq!(flows.retransmitted_packets[0], flows.dropped_packets[0]);
}

#[test]
fn a_transfer_completes() {
    let flow = Flow {
        size_bytes: Some(1_000_000),
        start_ns: S,
        ..guest(StackName::Quinn, "cubic")
    };
    let flows = simulate(&scenario(20_000_000, 200, vec![flow])).flows;
    assert_eq!(flows.delivered_bytes, [1_000_000]);
    // 1 MB at 20 Mb/s takes 0.43 s with headers; the handshake and slow start take some RTTs more.
    assert!(
        (1_430_000..1_900_000).contains(&flows.completed_us[0]),
        "{flows:?}"
    );
}

#[test]
fn a_field_that_a_stack_has_not_is_refused() {
    let refused = |flow: Flow| {
        let error = run(&scenario(20_000_000, 60, vec![flow]), &Control::default());
        error.map(|_| ()).unwrap_err().to_string()
    };
    let vegas = Flow {
        algorithm: "vegas".into(),
        ..guest(StackName::Quinn, "cubic")
    };
    assert!(refused(vegas).contains("quinn has cubic, reno, bbr of its own"));
    let buffer = Flow {
        send_buffer_bytes: Some(1 << 20),
        ..guest(StackName::Quinn, "cubic")
    };
    assert!(refused(buffer).contains("send_buffer_bytes"));
}
