//! Flows of QUIC stacks through our links.

use ackclock_net::buffer::Buffer;
use ackclock_net::link::Bottleneck;
use ackclock_sim::record::EventKind;
use ackclock_sim::scenario::{Flow, Frames, Profile, Reads, Scenario, StackName, Write};
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
        changes: Vec::new(),
        programs: Vec::new(),
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
    // The `bbr3` of noq draws with a seed that its configuration has no word for.
    let (of_quinn, of_noq) = (["cubic", "reno", "bbr"], ["cubic", "reno"]);
    let of_quinn = of_quinn.map(|algorithm| (StackName::Quinn, algorithm));
    let of_noq = of_noq.map(|algorithm| (StackName::Noq, algorithm));
    for (stack, algorithm) in of_quinn.into_iter().chain(of_noq) {
        let flows = vec![guest(stack, algorithm), Flow::endless("cubic", 40 * MS)];
        let mut noisy = scenario(20_000_000, 60, flows);
        noisy.jitter_ns = 100_000;
        let hashes = [1, 1, 2].map(|seed| {
            noisy.seed = seed;
            simulate(&noisy).trace_hash
        });
        assert_eq!(hashes[0], hashes[1], "{stack:?} {algorithm}");
        assert_ne!(hashes[0], hashes[2], "{stack:?} {algorithm}");
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

fn writes(stack: StackName, writes: &[Write]) -> Flow {
    Flow {
        writes: writes.into(),
        ..guest(stack, "cubic")
    }
}

/// When a flow had delivered so much, us after it was connected.
fn delivered_us(result: &RunResult, bytes: u64) -> u64 {
    let (samples, events) = (&result.samples, &result.events);
    let row = (samples.delivered_bytes.iter()).position(|delivered| *delivered >= bytes);
    samples.time_us[row.unwrap()] - events.time_us[0]
}

/// What a frame needs on an empty link is the serialization of its packets: one, or 7 of quinn, which noq
/// would pace. The path's delay is that of ACKs.
#[test]
fn a_frame_takes_its_serialization() {
    for stack in STACKS {
        let frames = match stack {
            StackName::Quinn => vec![(1_000, 1), (9_800, 7)],
            _ => vec![(1_000, 1)],
        };
        for (size_bytes, packets) in frames {
            let frames = Some(Frames {
                size_bytes,
                every_ns: 100 * MS,
            });
            let flow = Flow {
                frames,
                ..guest(stack, "cubic")
            };
            let mut of = scenario(10_000_000, 100, vec![flow]);
            (of.duration_ns, of.sample_interval_ns) = (2 * S, MS / 20);
            let result = simulate(&of);
            // 28 bytes of IP and UDP, 16 of AES-GCM, 10 or 11 of QUIC's header, 2 to 6 of the frame's.
            let us = |more: u64| (size_bytes + packets * (54 + more)) * 8 / 10;
            // Before the first leaves the end of the handshake.
            for number in 1..19 {
                let delay_us = delivered_us(&result, size_bytes * (number + 1)) - number * 100_000;
                let expected = us(2)..us(8) + 50;
                assert!(
                    expected.contains(&delay_us),
                    "{stack:?} {packets}: {delay_us}"
                );
            }
            assert_eq!(result.flows.delivered_bytes, [size_bytes * 20]);
        }
    }
}

#[test]
fn what_is_written_arrives_and_completes() {
    for stack in STACKS {
        let every_100_ms = Write {
            at_ns: 2 * S,
            size_bytes: Some(50_001),
            every_ns: Some(100 * MS),
            ..Write::default()
        };
        let once = |at_ns, bytes| Write {
            at_ns,
            size_bytes: Some(bytes),
            ..Write::default()
        };
        let flow = writes(
            stack,
            &[once(0, 100_000), every_100_ms, once(4 * S, 1_000_000)],
        );
        let mut of = scenario(20_000_000, 60, vec![flow]);
        let results = [1, 1].map(|_| simulate(&of));
        let flows = &results[0].flows;
        assert_eq!(flows.delivered_bytes, [100_000 + 20 * 50_001 + 1_000_000]);
        // 1 MB takes 0.4 s at least.
        let completed_us = flows.completed_us[0];
        assert!((4_440_000..5_000_000).contains(&completed_us), "{flows:?}");
        assert_eq!(results[0].trace_hash, results[1].trace_hash);
        // After a handshake of some 40 ms the writes of 2 s and of 9 times 100 ms more.
        of.flows[0].stop_ns = Some(2_980 * MS);
        let flows = simulate(&of).flows;
        assert_eq!(flows.delivered_bytes, [100_000 + 10 * 50_001]);
        // And the end of the stream needs an RTT, and an ACK that waits for up to 25 ms.
        let completed_us = flows.completed_us[0];
        assert!((3_020_000..3_050_000).contains(&completed_us), "{flows:?}");
    }
}

/// Who waits for an answer writes again after the pause: a request takes its serialization, an RTT, and
/// what the receiver keeps the ACK of one packet, 25 ms (RFC 9000, 18.2).
#[test]
fn a_pause_begins_with_the_last_ack() {
    for stack in STACKS {
        let request = Write {
            size_bytes: Some(1_000),
            pause_ns: Some(200 * MS),
            ..Write::default()
        };
        let mut of = scenario(10_000_000, 100, vec![writes(stack, &[request])]);
        (of.duration_ns, of.sample_interval_ns) = (10 * S, MS / 10);
        let result = simulate(&of);
        for number in 1..20 {
            let took_us =
                delivered_us(&result, 1_000 * (number + 1)) - delivered_us(&result, 1_000 * number);
            // Now and then a MAX_STREAMS of the receiver takes the ACK along.
            let least_us = 200_000 + 40_000 + 800;
            assert!(
                took_us.abs_diff(least_us + 25_000) < 200 || took_us.abs_diff(least_us) < 200,
                "{stack:?}: {took_us}"
            );
        }
    }
}

/// Neither stack reduces its window after a silence, as Linux's TCP does (RFC 9002, section 7.8, lets it
/// pace instead), and neither raises one that its application does not fill.
#[test]
fn the_window_stands_while_the_application_is_the_limit() {
    for stack in STACKS {
        let write = |at_ns, size_bytes, every_ns| Write {
            at_ns,
            size_bytes,
            every_ns,
            ..Write::default()
        };
        let phases = [
            write(0, Some(1_000), Some(20 * MS)),
            write(5 * S, Some(4_000_000), None),
            write(15 * S, None, None),
        ];
        let result = simulate(&scenario(20_000_000, 60, vec![writes(stack, &phases)]));
        let cwnd = |at_us: u64| {
            let row = (result.samples.time_us.iter()).position(|us| *us == at_us);
            result.samples.cwnd_packets[row.unwrap()]
        };
        // 12 000 bytes, in packets of 1448.
        assert_eq!([cwnd(500_000), cwnd(5_000_000)], [8, 8], "{stack:?}");
        assert!(cwnd(8_000_000) > 60, "{stack:?}");
        assert_eq!(cwnd(15_000_000), cwnd(8_000_000), "{stack:?}");
        assert_eq!(result.flows.receive_window_limited_us, [0]);
        assert_eq!(result.flows.send_buffer_limited_us, [0]);
    }
}

/// 30 packets leave at once, or in four round trips of 4, 8, 16 and the rest.
#[test]
fn a_flow_has_an_initial_window() {
    for (name, stack) in STACKS.into_iter().zip(&ackclock_quic::STACKS) {
        for algorithm in stack.algorithms {
            let took_us = [4, 40].map(|initcwnd| {
                let flow = Flow {
                    size_bytes: Some(42_000),
                    initcwnd: Some(initcwnd),
                    ..guest(name, algorithm)
                };
                let mut of = scenario(1_000_000_000, 100, vec![flow]);
                (of.duration_ns, of.sample_interval_ns) = (S, MS / 10);
                let result = simulate(&of);
                // BBR has grown with the ACKs of the handshake.
                let opened = result.events.cwnd_packets[0];
                let expected = initcwnd..=initcwnd + 4;
                assert!(expected.contains(&opened), "{name:?} {algorithm} {opened}");
                delivered_us(&result, 42_000)
            });
            let [small, large] = took_us;
            assert!(small > 115_000, "{name:?} {algorithm}: {took_us:?}");
            assert!(large < 40_000, "{name:?} {algorithm}: {took_us:?}");
        }
    }
}

/// Until the first ACK both stacks have a guess, 333 ms. The first measurement is the path's delay.
#[test]
fn no_rtt_is_known_before_the_first_ack() {
    for stack in STACKS {
        let flow = Flow {
            size_bytes: Some(100_000),
            ..Flow::endless("cubic", 100 * MS)
        };
        let flow = Flow {
            stack: Some(stack),
            ..flow
        };
        let mut of = scenario(1_000_000_000, 100, vec![flow]);
        (of.duration_ns, of.sample_interval_ns) = (S, MS);
        let samples = simulate(&of).samples;
        let rows = samples.time_us.iter().zip(&samples.srtt_us);
        let mut rows = rows.zip(&samples.min_rtt_us);
        // Packets of the handshake need up to 0.1 ms.
        assert!(rows.all(|((&at_us, &srtt_us), &min_rtt_us)| match at_us {
            ..=100_000 => [srtt_us, min_rtt_us] == [0, 0],
            101_000.. => [srtt_us, min_rtt_us].map(|us| us / 1_000) == [100, 100],
            _ => true,
        }));
    }
}

/// quinn sends while a full packet leaves room in its window, noq while it fits.
#[test]
fn one_packet_is_a_window_of_noq_only() {
    let of = |stack| {
        let flow = Flow {
            initcwnd: Some(1),
            ..guest(stack, "cubic")
        };
        run(&scenario(20_000_000, 60, vec![flow]), &Control::default())
    };
    let refused = of(StackName::Quinn).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("initcwnd") && refused.contains("2 or more"));
    assert!(goodput_mbps(&of(StackName::Noq).unwrap())[0] > 10.0);
}

/// What waits for its ACK or its reader limits a sender to so much in each RTT.
#[test]
fn buffers_limit_a_stack() {
    for stack in STACKS {
        let limited = |send_buffer_bytes, receive_window_bytes| {
            let flow = Flow {
                send_buffer_bytes,
                receive_window_bytes,
                ..guest(stack, "cubic")
            };
            goodput_mbps(&simulate(&scenario(1_000_000_000, 1_000, vec![flow])))[0]
        };
        let (sends, receives) = (limited(Some(100_000), None), limited(None, Some(100_000)));
        // 100 kB in 40 ms.
        assert!((18.0..20.0).contains(&sends), "{stack:?}: {sends}");
        // The receiver tells now and then that it has read.
        assert!((15.0..20.0).contains(&receives), "{stack:?}: {receives}");
    }
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
    let mss = Flow {
        mss_bytes: Some(1_000),
        ..guest(StackName::Quinn, "cubic")
    };
    assert!(refused(mss).contains("mss_bytes"));
    let thins = Flow {
        delayed_ack_segments: Some(2),
        ..guest(StackName::Noq, "cubic")
    };
    assert!(refused(thins).contains("delayed_ack_segments"));
    let back = Flow {
        rate_bps: Some(1_000_000),
        back: vec![1],
        ..guest(StackName::Udp, "none")
    };
    assert!(refused(back).contains("back"));
}
