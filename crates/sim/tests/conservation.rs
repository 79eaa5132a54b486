//! Whatever the scenario: no packet appears or vanishes, data arrives in order and
//! once, windows are kept, and a seed repeats everything.

mod common;

use ackclock_net::link::{Bottleneck, Buffer};
use ackclock_net::queue::{CodelParameters, FqCodelParameters, QueueKind, RedParameters};
use ackclock_sim::engine::{run_with_census, run_with_events};
use ackclock_sim::record::EventKind;
use ackclock_sim::scenario::{Direction, Flow, Profile, Reads, Scenario, Session, Sizes};
use ackclock_sim::{Census, Control};
use common::{MS, S};
use proptest::prelude::*;

fn flows() -> impl Strategy<Value = Flow> {
    let algorithms = proptest::sample::select(vec![
        "reno",
        "cubic",
        "cubic@ha2008",
        "cubic_fc",
        "bic",
        "bic@linux-2.6.18",
        "highspeed",
        "highspeed@rfc3649",
        "scalable",
        "htcp",
        "hybla",
        "illinois",
        "vegas",
        "vegas@brakmo1995",
        "veno",
        "westwood",
        "yeah",
        "square_ff",
        "square_ff@cbrt",
        "cubic@2.6.18",
        "cubic@rfc9438",
        "sqrt",
        "constant_rate",
        "compound",
        "fast",
        "libra",
        "hrf",
    ]);
    (
        algorithms,
        100_000_u64..(300 * MS),
        0_u64..S,
        0_u64..(100 * MS),
        proptest::option::of(1_u64..3_000_000),
        proptest::option::of((1_500 * MS)..(4 * S)),
        proptest::option::of(1_448_u64..200_000),
        proptest::option::of(1_448_u64..200_000),
        proptest::option::of(2_u32..100),
        prop_oneof![3 => Just(Direction::Forward), 1 => Just(Direction::Reverse)],
        proptest::bool::weighted(0.3),
    )
        .prop_map(
            |(
                algorithm,
                rtt_ns,
                start_ns,
                spread,
                size,
                stop,
                window,
                buffer,
                ssthresh,
                direction,
                ecn,
            )| Flow {
                direction,
                start_ns,
                start_spread_ns: spread,
                stop_ns: stop,
                size_bytes: size,
                receive_window_bytes: window,
                send_buffer_bytes: buffer,
                initial_ssthresh_packets: ssthresh,
                ecn,
                ..Flow::endless(algorithm, rtt_ns)
            },
        )
}

fn sessions() -> impl Strategy<Value = Session> {
    (
        flows(),
        0_u64..S,
        prop_oneof![
            Just(Sizes::Equal),
            (1_001_u32..3_000).prop_map(Sizes::Pareto),
            (1_u32..4_000).prop_map(Sizes::Lognormal),
        ],
        0_u64..(50 * MS),
    )
        .prop_map(|(flow, gap_ns, sizes, rtt_exponential_ns)| Session {
            flow: Flow {
                stop_ns: None,
                rtt_exponential_ns,
                ..flow
            },
            gap_ns,
            sizes,
        })
}

fn queues() -> impl Strategy<Value = QueueKind> {
    prop_oneof![
        Just(QueueKind::DropTail),
        Just(QueueKind::Codel(CodelParameters::default())),
        Just(QueueKind::FqCodel(FqCodelParameters::default())),
        Just(QueueKind::Red(RedParameters::default())),
    ]
}

/// The queue of the first link, more links, and routes over up to four links for data and ACKs.
type Topology = (QueueKind, Vec<Bottleneck>, Vec<[Vec<u32>; 2]>);

/// Half of them are a drop-tail queue and nothing else.
fn topologies() -> impl Strategy<Value = Topology> {
    let link = (
        200_000_u64..60_000_000,
        2_u64..200,
        proptest::option::weighted(0.2, 2_u64..400),
        queues(),
        0_u64..(20 * MS),
        prop_oneof![Just(0), 1_500_u64..20_000],
    )
        .prop_map(
            |(rate_bps, packets, drop_every_packets, queue, delay_ns, burst_bytes)| Bottleneck {
                drop_every_packets,
                queue,
                delay_ns,
                burst_bytes,
                ..Bottleneck::drop_tail(rate_bps, Buffer::Packets(packets))
            },
        );
    let route = || proptest::sample::subsequence(vec![1, 2, 3, 4], 0..=4).prop_shuffle();
    let routes = (route(), route()).prop_map(|(data, acks)| [data, acks]);
    prop_oneof![
        2 => Just((QueueKind::DropTail, Vec::new(), Vec::new())),
        1 => queues().prop_map(|queue| (queue, Vec::new(), Vec::new())),
        1 => (
            queues(),
            proptest::collection::vec(link, 1..4),
            proptest::collection::vec(routes, 8),
        ),
    ]
}

fn scenarios() -> impl Strategy<Value = Scenario> {
    (scenarios_on_a_dumbbell(), topologies()).prop_map(|(mut scenario, (queue, links, routes))| {
        scenario.bottleneck.queue = queue;
        scenario.links = links;
        let most = 1 + scenario.links.len() as u32;
        let sessions = scenario
            .sessions
            .iter_mut()
            .map(|session| &mut session.flow);
        for (flow, [data, acks]) in scenario.flows.iter_mut().chain(sessions).zip(routes) {
            flow.direction = Direction::Forward;
            let known = |route: Vec<u32>| route.into_iter().filter(|&link| link <= most);
            flow.route = known(data).collect();
            flow.back = known(acks).collect();
        }
        scenario
    })
}

fn scenarios_on_a_dumbbell() -> impl Strategy<Value = Scenario> {
    (
        0..=i64::MAX as u64,
        prop_oneof![
            Just(Profile::Linux6),
            Just(Profile::Linux2_6_18),
            Just(Profile::Linux2_6_25),
            Just(Profile::Linux2_6_32),
        ],
        prop_oneof![Just(100_u32), Just(250), Just(1000)],
        prop_oneof![Just(0_u64), 1_u64..(5 * MS)],
        (
            1_u32..3,
            any::<bool>(),
            any::<bool>(),
            proptest::bool::weighted(0.3),
        ),
        200_000_u64..60_000_000,
        prop_oneof![
            (1_u64..200).prop_map(Buffer::Packets),
            (1_500_u64..300_000).prop_map(Buffer::Bytes)
        ],
        (
            proptest::option::weighted(0.4, 2_u64..400),
            prop_oneof![3 => Just(0), 1 => 1_500_u64..20_000],
        ),
        proptest::collection::vec(flows(), 1..5),
        proptest::collection::vec(sessions(), 0..4),
    )
        .prop_map(
            |(
                seed,
                profile,
                hz,
                jitter_ns,
                (delayed_ack_segments, at_once, tso, pacing),
                rate_bps,
                buffer,
                (drop, burst_bytes),
                mut flows,
                mut sessions,
            )| {
                let in_sessions = sessions.iter_mut().map(|session| &mut session.flow);
                for flow in flows.iter_mut().chain(in_sessions) {
                    flow.ecn &= profile == Profile::Linux6;
                }
                Scenario {
                    seed,
                    duration_ns: 5 * S,
                    profile,
                    hz,
                    mss_bytes: 1448,
                    header_bytes: 52,
                    jitter_ns,
                    delayed_ack_segments,
                    reads: if at_once { Reads::AtOnce } else { Reads::Bulk },
                    tso,
                    pacing,
                    links: Vec::new(),
                    bottleneck: Bottleneck {
                        drop_every_packets: drop,
                        burst_bytes,
                        ..Bottleneck::drop_tail(rate_bps, buffer)
                    },
                    flows,
                    sessions,
                    sample_interval_ns: 50 * MS,
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_unaccounted(scenario in scenarios(), events in any::<bool>()) {
        let run = if events { run_with_events } else { run_with_census };
        let (result, census) = run(&scenario, &Control::default()).unwrap();
        let Census { acks_sent, acks_received, acks_dropped, acks_on_the_way, .. } = census;
        let [data, acks, handshakes] = census.queued;
        prop_assert_eq!(census.in_network, data + acks + handshakes);
        let predicted = !events && !scenario.has_routes() && scenario.bottleneck.is_predictable();
        prop_assert!(!predicted || census.in_network == 0);
        prop_assert_eq!(census.sent, census.received + census.dropped + data);
        if scenario.is_two_way() {
            prop_assert_eq!(acks_sent, acks_received + acks_dropped + acks_on_the_way + acks);
        } else {
            prop_assert_eq!((acks_sent, acks_dropped), (0, 0));
        }
        let (flows, sessions) = (&result.flows, &result.sessions);
        let sum = |ours: &[u64], theirs: &[u64]| ours.iter().chain(theirs).sum::<u64>();
        prop_assert_eq!(census.sent, sum(&flows.sent_packets, &sessions.sent_packets));
        prop_assert_eq!(census.dropped, sum(&flows.dropped_packets, &sessions.dropped_packets));
        prop_assert_eq!(census.sent, result.packets);
        // Every arrival was new data or a duplicate of what was there; new data is what
        // the application got in order plus what waits for a gap to be filled.
        prop_assert_eq!(
            census.received,
            census.in_order + census.out_of_order + census.duplicates
        );

        for (row, flow) in scenario.flows.iter().enumerate() {
            let delivered = result.flows.delivered_bytes[row];
            prop_assert!(delivered <= flow.size_bytes.unwrap_or(u64::MAX));
            if result.flows.completed_us[row] > 0 && flow.stop_ns.is_none() {
                prop_assert_eq!(Some(delivered), flow.size_bytes);
            }
            prop_assert!(result.flows.retransmitted_packets[row] <= result.flows.sent_packets[row]);
            if delivered > 0 {
                prop_assert!(result.flows.min_rtt_us[row] + 1_000 > flow.rtt_ns / 1_000);
            }
        }

        // A session's transfers follow each other, and what they carried adds up.
        let transfers = &result.transfers;
        for (row, session) in scenario.sessions.iter().enumerate() {
            let own = (0..transfers.len()).filter(|&each| transfers.session[each] == row as u32 + 1);
            let (mut done, mut carried, mut free_us) = (0, 0, session.flow.start_ns / 1_000);
            for each in own {
                prop_assert!(transfers.start_us[each] >= free_us);
                prop_assert!(transfers.size_bytes[each] >= 1);
                free_us = transfers.completed_us[each];
                if free_us == 0 {
                    free_us = u64::MAX;
                    continue;
                }
                let handshake_and_data_us = 2 * session.flow.rtt_ns / 1_000;
                prop_assert!(free_us >= transfers.start_us[each] + handshake_and_data_us);
                carried += transfers.size_bytes[each];
                done += 1;
            }
            prop_assert_eq!(sessions.transfers[row], done);
            prop_assert!(sessions.delivered_bytes[row] >= carried);
        }

        // The link was never faster than its rate.
        for row in 0..result.queues.len() {
            let bits = u128::from(result.queues.sent_bytes[row]) * 8 * 1_000_000;
            let queue = result.queues.queue[row] as usize;
            let links = if scenario.links.is_empty() { 0 } else { queue - 1 };
            let link = links.checked_sub(1).map_or(&scenario.bottleneck, |i| &scenario.links[i]);
            let rate = u128::from(link.rate_bps);
            prop_assert!(bits <= rate * u128::from(result.queues.time_us[row]) + 1_000_000);
        }

        let samples = &result.samples;
        for row in 0..samples.len() {
            let flow = &scenario.flows[samples.flow[row] as usize - 1];
            prop_assert!(samples.cwnd_packets[row] >= 1);
            let window = flow.receive_window_bytes.unwrap_or(u64::MAX).min(flow.send_buffer_bytes.unwrap_or(u64::MAX));
            // F-RTO of Linux 2.6 counts the head twice after a timeout.
            prop_assert!(u64::from(samples.in_flight_packets[row]) <= (window / 1448).saturating_add(1));
        }
        let of_flow = |wanted: u32| (0..samples.len()).filter(move |&row| samples.flow[row] == wanted);
        for number in 1..=scenario.flows.len() as u32 {
            let delivered: Vec<_> = of_flow(number).map(|row| samples.delivered_packets[row]).collect();
            prop_assert!(delivered.windows(2).all(|pair| pair[0] <= pair[1]));
        }

        // A sender recovers before it recovers again.
        for number in 1..=scenario.flows.len() as u32 {
            let mut recovering = false;
            for row in (0..result.events.len()).filter(|&row| result.events.flow[row] == number) {
                match result.events.kind[row] {
                    EventKind::Recovery => {
                        prop_assert!(!recovering);
                        recovering = true;
                    }
                    EventKind::Recovered | EventKind::Timeout | EventKind::Undo => recovering = false,
                    _ => (),
                }
            }
        }
    }

    /// Whether queues know departures at once or take an event for each packet: the tables are
    /// equal.
    #[test]
    fn events_give_the_tables_that_are_predicted(mut scenario in scenarios_on_a_dumbbell()) {
        if !scenario.sessions.is_empty() {
            // Predicted packets still draw jitter when the transfer that they belong to is over.
            scenario.jitter_ns = 0;
        }
        let (predicted, _) = run_with_census(&scenario, &Control::default()).unwrap();
        let (evented, _) = run_with_events(&scenario, &Control::default()).unwrap();
        prop_assert_eq!(predicted.flows, evented.flows);
        prop_assert_eq!(predicted.samples, evented.samples);
        prop_assert_eq!(predicted.queues, evented.queues);
        prop_assert_eq!(predicted.events, evented.events);
        prop_assert_eq!(predicted.sessions, evented.sessions);
        prop_assert_eq!(predicted.transfers, evented.transfers);
    }

    #[test]
    fn a_seed_repeats_everything(scenario in scenarios(), events in any::<bool>()) {
        let run = if events { run_with_events } else { run_with_census };
        let run = || run(&scenario, &Control::default()).unwrap().0;
        let (first, second) = (run(), run());
        prop_assert_eq!(first.trace_hash, second.trace_hash);
        prop_assert_eq!(first.samples, second.samples);
        prop_assert_eq!(first.events, second.events);
        prop_assert_eq!(first.transfers, second.transfers);
    }
}
