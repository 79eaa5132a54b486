//! Tests of the network between two hosts.

use super::*;
use ackclock_net::buffer::Buffer;
use ackclock_net::impair::{Bernoulli, Loss, ReorderParameters, PARTS};
use ackclock_net::link::{Bottleneck, Predicted};
use ackclock_net::queue::{CodelParameters, FqCodelParameters, QueueKind, StepParameters};
use ackclock_net::rate::RateStep;
use ackclock_sim::scenario::{Direction, Flow, Profile, Reads, Scenario};
use proptest::prelude::*;

fn scenario(rtts_ns: &[u64], jitter_ns: u64, bottleneck: Bottleneck) -> Scenario {
    let flow = |&rtt_ns| Flow::endless("reno", rtt_ns);
    Scenario {
        seed: 1,
        duration_ns: 1_000_000_000,
        profile: Profile::Linux6,
        hz: 250,
        mss_bytes: 1448,
        header_bytes: 52,
        jitter_ns,
        delayed_ack_segments: 2,
        reads: Reads::AtOnce,
        tso: true,
        pacing: false,
        sack_cost_ns: 0,
        bottleneck,
        links: Vec::new(),
        flows: rtts_ns.iter().map(flow).collect(),
        sessions: Vec::new(),
        changes: Vec::new(),
        programs: Vec::new(),
        sample_interval_ns: 0,
    }
}

fn network(scenario: &Scenario) -> EmulatedNetwork {
    EmulatedNetwork::new(scenario, &Topology::new(scenario))
}

fn bottleneck(buffer: Buffer) -> Bottleneck {
    Bottleneck::drop_tail(100_000_000, buffer)
}

/// An IPv4 TCP packet of `len` bytes.
fn packet(source_port: u16, destination_port: u16, len: usize) -> Vec<u8> {
    let mut packet = vec![0; len];
    packet[0] = 0x45;
    packet[9] = 6;
    packet[20..22].copy_from_slice(&source_port.to_be_bytes());
    packet[22..24].copy_from_slice(&destination_port.to_be_bytes());
    packet[32] = 8 << 4;
    packet
}

fn data(flow: u16, len: usize) -> Vec<u8> {
    packet(40_000, FIRST_PORT + flow, len)
}

fn ack(flow: u16) -> Vec<u8> {
    packet(FIRST_PORT + flow, 40_000, 52)
}

/// Everything that is due by `now_ns`.
fn due(network: &mut EmulatedNetwork, now_ns: u64) -> Vec<Due> {
    std::iter::from_fn(|| network.take_due(now_ns)).collect()
}

fn links() -> impl Strategy<Value = Bottleneck> {
    let queues = prop_oneof![
        Just(QueueKind::DropTail),
        Just(QueueKind::Codel(CodelParameters {
            target_ns: 100_000,
            interval_ns: 1_000_000,
            ..CodelParameters::default()
        })),
        Just(QueueKind::FqCodel(FqCodelParameters::default())),
        Just(QueueKind::Step(StepParameters {
            threshold_packets: 2,
            threshold_ns: 0
        })),
    ];
    (
        rates(),
        queues,
        2_u64..20,
        0_u64..300_000,
        any::<[bool; 3]>(),
    )
        .prop_map(|(rate, queue, packets, delay_ns, [copies, late, losses])| {
            let p_ppb = PARTS / 10;
            Bottleneck {
                queue,
                delay_ns,
                buffer: Buffer::Packets(packets),
                duplicate_ppb: u64::from(copies) * p_ppb,
                reorder: late.then_some(ReorderParameters {
                    p_ppb,
                    delay_ns: 250_000,
                }),
                loss: losses.then_some(Loss::Bernoulli(Bernoulli { p_ppb })),
                ..rate
            }
        })
}

/// Constant, in steps, of a trace, at ticks.
fn rates() -> impl Strategy<Value = Bottleneck> {
    let constant = || bottleneck(Buffer::Packets(1));
    prop_oneof![
        Just(constant()),
        Just(Bottleneck {
            rate_at: vec![RateStep {
                time_ns: 5_000_000,
                rate_bps: 20_000_000,
            }],
            ..constant()
        }),
        Just(Bottleneck {
            trace_ms: Some(vec![0, 0, 1, 1, 1, 3]),
            ..constant()
        }),
        Just(Bottleneck {
            tick_ns: 700_000,
            ..constant()
        }),
    ]
}

proptest! {
    /// Data leaves when the simulator's link says, to the nanosecond, whole and in order,
    /// however late the loop takes it out.
    #[test]
    fn carries_what_the_link_carries(
        packets in proptest::collection::vec((0_u64..200_000, 52_usize..1501, 1_u16..3), 1..200),
        buffer in prop_oneof![
            (1_u64..20).prop_map(Buffer::Packets),
            (1500_u64..20_000).prop_map(Buffer::Bytes)
        ],
        patience in 1_usize..40,
    ) {
        let scenario = scenario(&[40_000_000, 80_000_000], 0, bottleneck(buffer));
        let mut network = network(&scenario);
        let mut link: Predicted = Predicted::new(&scenario.bottleneck);
        let mut expected = VecDeque::new();
        let mut now_ns = 0;
        for (index, (gap_ns, len, flow)) in packets.into_iter().enumerate() {
            now_ns += gap_ns;
            let mut packet = data(flow, len);
            packet[4] = index as u8;
            let of = network.send(now_ns, Toward::Receiver, &packet);
            prop_assert_eq!(of, Some(usize::from(flow) - 1));
            if let Some(due_ns) = link.enqueue(now_ns, len as u32) {
                expected.push_back((due_ns, packet));
            }
            if index % patience == 0 {
                for due in due(&mut network, now_ns) {
                    let (due_ns, packet) = expected.pop_front().expect("one more");
                    prop_assert_eq!((due.toward, due.due_ns), (Toward::Receiver, due_ns));
                    prop_assert_eq!(&due.bytes[..], &packet[..]);
                }
                prop_assert!(expected.front().is_none_or(|(due_ns, _)| *due_ns > now_ns));
            }
        }
        let states: Vec<_> = network.states(now_ns).collect();
        prop_assert_eq!(states, [link.state(now_ns)]);
        prop_assert_eq!(network.counts().strangers, 0);
    }

    /// A loop that is late changes nothing: neither drops nor marks nor when a packet is due.
    /// No packet is lost unaccounted, and the marks in the packets are those of the queues.
    #[test]
    fn whatever_the_links_a_late_loop_changes_nothing(
        packets in proptest::collection::vec((0_u64..100_000, 1_u16..4, any::<bool>(), 0_u8..3), 1..300),
        (first, second) in (links(), links()),
        routes in proptest::sample::subsequence(vec![1, 2], 0..=2),
        patience in 1_usize..40,
    ) {
        let mut scenario = scenario(&[1_000_000, 2_000_000, 3_000_000], 10_000, first);
        scenario.links = vec![second];
        for (flow, [route, back]) in scenario.flows.iter_mut().zip([
            [vec![1, 2], routes],
            [vec![2], vec![1]],
            [vec![2, 1], vec![]],
        ]) {
            (flow.route, flow.back) = (route, back);
        }
        let run = |patience: usize| {
            let mut network = network(&scenario);
            let (mut now_ns, mut out) = (0, Vec::new());
            for (index, (gap_ns, flow, is_ack, ecn)) in packets.iter().enumerate() {
                now_ns += gap_ns;
                let (toward, mut packet) = match is_ack {
                    true => (Toward::Sender, ack(*flow)),
                    false => (Toward::Receiver, data(*flow, 1500)),
                };
                (packet[1], packet[4], packet[5]) = (*ecn, index as u8, (index >> 8) as u8);
                network.send(now_ns, toward, &packet);
                if index % patience == 0 {
                    out.extend(due(&mut network, now_ns));
                }
                let Counts { taken, copied, delivered, dropped, .. } = network.counts();
                assert_eq!(taken + copied, delivered + dropped + network.packets());
            }
            out.extend(due(&mut network, NEVER - 1));
            assert_eq!(network.packets(), 0);
            let tallies: Vec<_> = (0..3).map(|flow| network.tally(flow)).collect();
            (out, network.counts(), tallies)
        };
        let (out, counts, tallies) = run(patience);
        let marked = out.iter().filter(|due| header::is_ce(&due.bytes)).count() as u64;
        prop_assert_eq!(marked, counts.delivered_ce);
        prop_assert!(counts.delivered_ce <= counts.marked + counts.copied);
        prop_assert_eq!(tallies.iter().map(|each| each.marked_packets).sum::<u64>(), counts.marked);
        prop_assert_eq!(run(1), (out, counts, tallies));
    }

    /// Answers come out in order of the time at which they are due. Those of a flow keep their
    /// order.
    #[test]
    fn delays_answers(
        answers in proptest::collection::vec((0_u64..300_000, 0_u16..3), 1..200),
        jitter_ns in 0_u64..2_000_000,
    ) {
        let rtts_ns = [1_000_000, 40_000_000, 40_000_000];
        let mut network = network(&scenario(&rtts_ns, jitter_ns, bottleneck(Buffer::Packets(10))));
        let mut now_ns = 0;
        let mut sent: Vec<VecDeque<(u64, u8)>> = vec![VecDeque::new(); 3];
        for (index, (gap_ns, flow)) in answers.iter().enumerate() {
            now_ns += gap_ns;
            let mut packet = ack(flow + 1);
            packet[4] = index as u8;
            let of = network.send(now_ns, Toward::Sender, &packet);
            prop_assert_eq!(of, Some(usize::from(*flow)));
            sent[usize::from(*flow)].push_back((now_ns, index as u8));
        }
        let mut last_ns = 0;
        for due in due(&mut network, NEVER - 1) {
            let (sent_ns, mark) = sent[due.path].pop_front().expect("one more");
            prop_assert_eq!((due.toward, due.bytes.len(), due.bytes[4]), (Toward::Sender, 52, mark));
            let late_ns = due.due_ns - sent_ns - rtts_ns[due.path];
            prop_assert!(late_ns <= jitter_ns);
            prop_assert!(due.due_ns >= last_ns);
            last_ns = due.due_ns;
        }
        prop_assert!(sent.iter().all(VecDeque::is_empty));
    }
}

/// Data of 1500 bytes takes 120 µs on a link, an ACK of 52 bytes 4160 ns. Half of the 10 ms is
/// behind the data's link, and half behind the ACKs'. A reverse flow has the links exchanged, so
/// its ACK waits for the other's data.
#[test]
fn data_both_ways_shares_the_links_with_acks() {
    let mut scenario = scenario(&[10_000_000; 2], 0, bottleneck(Buffer::Packets(9)));
    scenario.flows[1].direction = Direction::Reverse;
    let mut network = network(&scenario);
    network.send(0, Toward::Receiver, &data(1, 1500));
    network.send(0, Toward::Sender, &ack(2));
    network.send(0, Toward::Sender, &ack(1));
    let due: Vec<_> = due(&mut network, NEVER - 1)
        .iter()
        .map(|due| (due.toward, due.path, due.due_ns))
        .collect();
    assert_eq!(
        due,
        [
            (Toward::Sender, 0, 5_004_160),
            (Toward::Receiver, 0, 5_120_000),
            (Toward::Sender, 1, 5_124_160),
        ]
    );
}

#[test]
fn loses_every_nth_data_packet() {
    let every = Bottleneck {
        drop_every_packets: Some(3),
        ..bottleneck(Buffer::Packets(100))
    };
    let mut network = network(&scenario(&[1_000_000], 0, every));
    for len in [1500, 52, 1500, 52, 1500, 1500] {
        network.send(0, Toward::Receiver, &data(1, len));
    }
    let expected = Tally {
        dropped_packets: 1,
        lost_packets: 1,
        ..Tally::default()
    };
    assert_eq!(network.tally(0), expected);
    let sent: Vec<_> = network
        .states(NEVER - 1)
        .map(|state| state.totals.sent_packets)
        .collect();
    assert_eq!(sent, [5]);
}

/// TCP, UDP and echo requests of programs share one link and its delay. To the queue each
/// direction of a conversation is a flow.
#[test]
fn programs_share_a_path() {
    let scenario = scenario(&[10_000_000], 0, bottleneck(Buffer::Packets(2)));
    let mut network = EmulatedNetwork::of_programs(&scenario, &Topology::new(&scenario));
    let mut udp = packet(7, 53, 1500);
    udp[9] = 17;
    let mut ping = packet(8 << 8, 0, 1500);
    ping[9] = 1;
    let tcp = packet(40_000, 80, 1500);
    for sent in [&tcp, &udp, &ping, &tcp] {
        assert_eq!(network.send(0, Toward::Receiver, sent), Some(0));
    }
    network.send(0, Toward::Sender, &packet(80, 40_000, 52));
    assert_eq!(network.send(0, Toward::Receiver, &[0x60; 100]), None);
    let due: Vec<_> = due(&mut network, NEVER - 1)
        .iter()
        .map(|due| (due.due_ns, due.bytes[9]))
        .collect();
    assert_eq!(due, [(120_000, 6), (240_000, 17), (10_000_000, 6)]);
    let mut dropped: Vec<_> = network
        .conversations()
        .iter()
        .map(|(toward, of, tally)| {
            (
                *toward as u8,
                of.protocol,
                of.source_port,
                tally.dropped_packets,
            )
        })
        .collect();
    dropped.sort_unstable();
    assert_eq!(
        dropped,
        [
            (0, 1, 0, 1),
            (0, 6, 40_000, 1),
            (0, 17, 7, 0),
            (1, 6, 80, 0)
        ]
    );
    assert_eq!(network.counts().strangers, 1);
}

#[test]
fn strangers_are_counted_and_not_carried() {
    let mut network = network(&scenario(&[1_000_000], 0, bottleneck(Buffer::Packets(9))));
    let mut udp = data(1, 100);
    udp[9] = 17;
    for stranger in [&udp[..], &data(2, 100), &[0x45], &[0x60; 100]] {
        for toward in [Toward::Receiver, Toward::Sender] {
            assert_eq!(network.send(0, toward, stranger), None);
        }
    }
    let expected = Counts {
        strangers: 8,
        ..Counts::default()
    };
    assert_eq!(network.counts(), expected);
    assert_eq!(network.next_event_ns(), NEVER);
}
