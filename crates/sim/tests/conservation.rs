//! Whatever the scenario: no packet appears or vanishes, data arrives in order and
//! once, windows are kept, and a seed repeats everything.

mod common;

use ackclock_net::buffer::Buffer;
use ackclock_net::impair::{
    BadTimes, Bernoulli, GilbertElliott, Loss, LossStep, Outages, ReorderParameters, PARTS,
};
use ackclock_net::line::{DelayJitter, DelayStep, Distribution};
use ackclock_net::link::Bottleneck;
use ackclock_net::queue::{CodelParameters, FqCodelParameters, QueueKind, RedParameters};
use ackclock_net::rate::{PolicerParameters, RateStep, Trace};
use ackclock_sim::record::EventKind;
use ackclock_sim::scenario::{
    Direction, EcnMode, Flow, Hides, Profile, Reads, Scenario, Session, Sizes, Write,
};
use ackclock_sim::{Census, Options, Run, RunResult};
use common::{simulate, simulate_with, MS, S};
use proptest::prelude::*;

/// Up to three phases, each of any form; the last may be without end.
fn writes() -> impl Strategy<Value = Vec<Write>> {
    let each = (1_u64..(2 * S), 1_u64..300_000, 0_u64..3, MS..S);
    (proptest::collection::vec(each, 1..4), any::<bool>()).prop_map(|(phases, endless)| {
        let (mut at_ns, last) = (0, phases.len() - 1);
        let phase = |(number, (lasts_ns, size, form, ns))| {
            let write = Write {
                at_ns,
                size_bytes: Some(size),
                every_ns: (form == 1).then_some(ns),
                pause_ns: (form == 2).then_some(ns),
            };
            at_ns += lasts_ns;
            match endless && number == last {
                true => Write {
                    at_ns: write.at_ns,
                    ..Write::default()
                },
                false => write,
            }
        };
        phases.into_iter().enumerate().map(phase).collect()
    })
}

fn flows() -> impl Strategy<Value = Flow> {
    let algorithms = "reno cubic cubic@ha2008 cubic_fc bic bic@linux-2.6.18 highspeed \
                 highspeed@rfc3649 scalable htcp hybla illinois vegas vegas@brakmo1995 veno \
                 westwood yeah square_ff square_ff@cbrt cubic@2.6.18 cubic@rfc9438 cubic@rfc9406 \
                 binomial_sqrt constant_rate compound fast libra hrf cubic_abe reno_abe dctcp bbr \
                 bbr3 copa ledbat_pp";
    let algorithms = proptest::sample::select(Vec::from_iter(algorithms.split(' ')));
    (
        algorithms,
        100_000_u64..(300 * MS),
        0_u64..S,
        0_u64..(100 * MS),
        proptest::option::of(1_u64..3_000_000),
        proptest::option::of((1_500 * MS)..(4 * S)),
        proptest::option::of(2_896_u64..200_000),
        proptest::option::of(1_448_u64..200_000),
        proptest::option::of(2_u32..100),
        (
            prop_oneof![3 => Just(Direction::Forward), 1 => Just(Direction::Reverse)],
            prop_oneof![4 => Just(Vec::new()), 1 => writes()],
            proptest::option::weighted(0.2, 1_u32..100),
            proptest::option::weighted(0.2, 100_000_u64..100_000_000),
            (
                proptest::bool::weighted(0.8),
                proptest::bool::weighted(0.8),
                proptest::bool::weighted(0.8),
                proptest::bool::weighted(0.8),
                proptest::bool::weighted(0.8),
                proptest::option::weighted(0.2, MS..(300 * MS)),
            ),
            proptest::option::weighted(
                0.2,
                proptest::sample::select(vec![Reads::AtOnce, Reads::Bulk]),
            ),
            (
                proptest::option::weighted(0.2, profiles()),
                proptest::option::weighted(0.1, any::<bool>()),
            ),
        ),
        prop_oneof![
            6 => Just(EcnMode::Off),
            3 => Just(EcnMode::Classic),
            2 => Just(EcnMode::Accurate),
        ],
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
                (
                    direction,
                    writes,
                    initcwnd,
                    max_pacing_rate_bps,
                    (sack, rack, tlp, timestamps, slow_start_after_idle, rto_min_ns),
                    reads,
                    (profile, tso),
                ),
                ecn,
            )| Flow {
                profile,
                tso,
                direction,
                start_ns,
                start_spread_ns: spread,
                stop_ns: stop,
                frames: None,
                size_bytes: size.filter(|_| writes.is_empty()),
                writes,
                initcwnd,
                mss_bytes: initcwnd.map(|packets| 1448 - 11 * packets),
                max_pacing_rate_bps,
                sack,
                rack,
                tlp,
                timestamps,
                slow_start_after_idle,
                rto_min_ns,
                reads,
                receive_window_bytes: window,
                send_buffer_bytes: buffer,
                initial_ssthresh_packets: ssthresh,
                ecn,
                delayed_ack_segments: None,
                hides: Hides::Nothing,
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
                writes: Vec::new(),
                rtt_exponential_ns,
                ..flow
            },
            gap_ns,
            sizes,
            route_ssthresh: false,
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

fn losses() -> impl Strategy<Value = Loss> {
    let share = 1_000_000_u64..100_000_000;
    prop_oneof![
        share
            .clone()
            .prop_map(|p_ppb| Loss::Bernoulli(Bernoulli { p_ppb })),
        (share, 10_000_000..=PARTS, 0..=PARTS, PARTS * 9 / 10..=PARTS).prop_map(
            |(p_ppb, r_ppb, h_ppb, k_ppb)| {
                Loss::GilbertElliott(GilbertElliott {
                    p_ppb,
                    r_ppb,
                    h_ppb,
                    k_ppb,
                })
            }
        ),
        (1_u64..S, 1_u64..S, 0..=PARTS).prop_map(|(good, bad, h_ppb)| {
            let [good_ns, bad_ns] = [good + 1_000, bad / 10 + 1_000];
            Loss::BadTimes(BadTimes {
                good_ns,
                bad_ns,
                h_ppb,
            })
        }),
        (10_000_u64..S, 1_000_u64..10_000)
            .prop_map(|(every_ns, lasts_ns)| Loss::Outages(Outages { every_ns, lasts_ns })),
    ]
}

/// Up to three changes, in order of time.
fn changes(most: u64) -> impl Strategy<Value = Vec<(u64, u64)>> {
    let each = (1_u64..(2 * S), 0..most);
    let waits = proptest::collection::vec(each, 1..4);
    let changes = waits.prop_map(|waits| {
        let mut time_ns = 0;
        let step = |(wait_ns, value)| {
            time_ns += wait_ns;
            (time_ns, value)
        };
        waits.into_iter().map(step).collect()
    });
    prop_oneof![4 => Just(Vec::new()), 1 => changes]
}

fn traces() -> impl Strategy<Value = Vec<u64>> {
    proptest::collection::vec(0_u64..60, 1..50).prop_map(|mut times_ms| {
        times_ms.sort_unstable();
        let last = times_ms.len() - 1;
        times_ms[last] = times_ms[last].max(1);
        times_ms
    })
}

/// Links with every element, each in some of them.
fn links() -> impl Strategy<Value = Bottleneck> {
    let seldom = 0.2;
    let late = (1_000_000..PARTS, 1_u64..(20 * MS));
    let police = (200_000_u64..60_000_000, 1_500_u64..100_000);
    (
        (
            200_000_u64..60_000_000,
            2_u64..200,
            proptest::option::weighted(seldom, 2_u64..400),
            queues(),
            0_u64..(20 * MS),
            prop_oneof![Just(0), 1_500_u64..20_000],
        ),
        (
            proptest::option::weighted(seldom, losses()),
            prop_oneof![4 => Just(0), 1 => 1..PARTS / 10],
            proptest::option::weighted(seldom, late),
            proptest::option::weighted(seldom, police),
            changes(60_000_000),
            proptest::option::weighted(seldom, traces()),
            prop_oneof![3 => Just(0), 1 => (MS / 10)..(10 * MS)],
            changes(20 * MS),
        ),
        (
            changes(PARTS),
            proptest::option::weighted(seldom, (1_u64..(20 * MS), any::<bool>())),
            proptest::option::weighted(seldom, 2_u64..400),
            prop_oneof![4 => Just(Vec::new()), 1 => Just(vec![1, 2, 30])],
        ),
    )
        .prop_map(
            |(
                (rate_bps, packets, drop_every_packets, queue, delay_ns, burst_bytes),
                (loss, duplicate_ppb, late, police, rates, trace_ms, tick_ns, delays),
                (losses, jitter, limit_packets, drop_packets),
            )| {
                let drop_tail = Bottleneck::drop_tail(rate_bps, Buffer::Packets(packets));
                let mut link = Bottleneck {
                    drop_every_packets,
                    queue,
                    delay_ns,
                    burst_bytes,
                    loss,
                    duplicate_ppb,
                    reorder: late.map(|(p_ppb, delay_ns)| ReorderParameters { p_ppb, delay_ns }),
                    policer: police.map(|(rate_bps, burst_bytes)| PolicerParameters {
                        rate_bps,
                        burst_bytes,
                    }),
                    tick_ns,
                    limit_packets,
                    ..drop_tail
                };
                if drop_every_packets.is_none() {
                    link.drop_packets = drop_packets;
                }
                link.delay_jitter = jitter.map(|(by_ns, overtaking)| DelayJitter {
                    by_ns,
                    overtaking,
                    distribution: Distribution::Normal,
                });
                let loss = |(time_ns, p_ppb)| LossStep {
                    time_ns,
                    p_ppb: p_ppb / 20,
                };
                link.loss_at = losses.into_iter().map(loss).collect();
                let delay = |(time_ns, delay_ns)| DelayStep { time_ns, delay_ns };
                link.delay_at = delays.into_iter().map(delay).collect();
                let rate = |(time_ns, more_bps)| RateStep {
                    time_ns,
                    rate_bps: 200_000 + more_bps,
                };
                link.rate_at = rates.into_iter().map(rate).collect();
                if let Some(times_ms) = trace_ms {
                    link.rate_bps = Trace::mean_bps(&times_ms);
                    link.trace_ms = Some(times_ms);
                    link.burst_bytes = 0;
                    link.rate_at.clear();
                }
                link
            },
        )
}

/// The first link, if it is more than a drop-tail queue; more links, and routes over up to four links
/// for data and ACKs.
type Topology = (Option<Bottleneck>, Vec<Bottleneck>, Vec<[Vec<u32>; 2]>);

/// A third of them are a drop-tail queue and nothing else.
fn topologies() -> impl Strategy<Value = Topology> {
    let route = || proptest::sample::subsequence(vec![1, 2, 3, 4], 0..=4).prop_shuffle();
    let routes = (route(), route()).prop_map(|(data, acks)| [data, acks]);
    prop_oneof![
        1 => Just((None, Vec::new(), Vec::new())),
        1 => links().prop_map(|link| (Some(link), Vec::new(), Vec::new())),
        1 => (
            links().prop_map(Some),
            proptest::collection::vec(links(), 1..4),
            proptest::collection::vec(routes, 8),
        ),
    ]
}

fn scenarios() -> impl Strategy<Value = Scenario> {
    (scenarios_on_a_dumbbell(), topologies()).prop_map(|(mut scenario, (first, links, routes))| {
        if let Some(link) = first {
            scenario.bottleneck = link;
        }
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

fn profiles() -> impl Strategy<Value = Profile> {
    use Profile::{Linux2_6_18, Linux2_6_25, Linux2_6_32, Linux6};
    proptest::sample::select(vec![Linux6, Linux2_6_18, Linux2_6_25, Linux2_6_32])
}

fn scenarios_on_a_dumbbell() -> impl Strategy<Value = Scenario> {
    (
        0..=i64::MAX as u64,
        profiles(),
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
                    let is_new = flow.profile.unwrap_or(profile) == Profile::Linux6;
                    if !is_new {
                        flow.ecn = EcnMode::Off;
                        flow.rto_min_ns = None;
                        (flow.sack, flow.rack, flow.tlp, flow.timestamps) =
                            (true, true, true, true);
                    } else if let Some(window) = flow
                        .receive_window_bytes
                        .filter(|w| flow.timestamps && w % 4 == 0 && *w >= 6_000)
                        .filter(|_| flow.reads.map_or(at_once, |reads| reads == Reads::AtOnce))
                    {
                        flow.receive_window_bytes = None;
                        flow.receive_buffer_bytes = Some(4 * window);
                    }
                    let needs_6 =
                        ["dctcp", "bbr", "bbr3", "copa"].contains(&flow.algorithm.as_str());
                    if !is_new && needs_6 {
                        flow.algorithm = "reno".into();
                    }
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
                    // Up to far more than an ACK may take.
                    sack_cost_ns: [0, 0, 0, 1_000, 300_000][seed as usize % 5],
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

/// Mostly on a dumbbell, where all short ways are. An eighth lasts longer than the window of the
/// smallest RTT, on links that are so much slower.
fn short_and_long_scenarios() -> impl Strategy<Value = Scenario> {
    let scenarios = prop_oneof![3 => scenarios_on_a_dumbbell(), 1 => scenarios()];
    (scenarios, proptest::bool::weighted(0.125)).prop_map(|(mut scenario, long)| {
        if long {
            scenario.duration_ns = 400 * S;
            scenario.sample_interval_ns = 5 * S;
            scenario.sessions.clear();
            for link in std::iter::once(&mut scenario.bottleneck).chain(&mut scenario.links) {
                link.rate_bps = match &link.trace_ms {
                    Some(times_ms) => Trace::mean_bps(times_ms),
                    None => link.rate_bps.min(2_000_000),
                };
            }
        }
        scenario
    })
}

fn tables_are_equal(one: &RunResult, other: &RunResult) -> Result<(), TestCaseError> {
    prop_assert_eq!(&one.flows, &other.flows);
    prop_assert_eq!(&one.samples, &other.samples);
    prop_assert_eq!(&one.queues, &other.queues);
    prop_assert_eq!(&one.events, &other.events);
    prop_assert_eq!(&one.sessions, &other.sessions);
    prop_assert_eq!(&one.transfers, &other.transfers);
    Ok(())
}

proptest! {
    #[test]
    fn nothing_is_lost_unaccounted(scenario in scenarios(), events in any::<bool>()) {
        let options = Options { events, ..Options::default() };
        let Run { result, census, .. } = simulate_with(&scenario, options);
        let Census { acks_sent, acks_received, acks_dropped, acks_on_the_way, .. } = census;
        let [data, acks, handshakes] = census.queued;
        prop_assert_eq!(census.in_network, data + acks + handshakes);
        let predicted = !events && !scenario.has_routes() && scenario.bottleneck.is_predictable();
        prop_assert!(!predicted || census.in_network == 0);
        prop_assert_eq!(census.sent + census.copied, census.received + census.dropped + data);
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
                // What all writes are together, in whole segments; those that go on are at least once.
                let mss = u64::from(scenario.mss_of(flow));
                let whole = |write: &Write| Some(write.size_bytes?.next_multiple_of(mss));
                let written: Option<u64> = flow.writes.iter().map(whole).sum();
                let goes_on = |write: &Write| write.every_ns.or(write.pause_ns).is_some();
                match flow.writes.last() {
                    None => prop_assert_eq!(Some(delivered), flow.size_bytes),
                    Some(last) => {
                        prop_assert!(!goes_on(last) && Some(delivered) >= written);
                        if !flow.writes.iter().any(goes_on) {
                            prop_assert_eq!(Some(delivered), written);
                        }
                    }
                }
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
            let mut time_us = u128::from(result.queues.time_us[row]);
            if let Some(times_ms) = &link.trace_ms {
                // Its opportunities may be at the start of its period.
                time_us += u128::from(times_ms[times_ms.len() - 1]) * 1_000;
            }
            let slack = 1_000_000 + u128::from(link.burst_bytes) * 8 * 1_000_000;
            prop_assert!(bits <= u128::from(link.most_bps()) * time_us + slack);
        }

        let samples = &result.samples;
        for row in 0..samples.len() {
            let flow = &scenario.flows[samples.flow[row] as usize - 1];
            prop_assert!(samples.cwnd_packets[row] >= 1);
            let window = flow.receive_window_bytes.unwrap_or(u64::MAX).min(flow.send_buffer_bytes.unwrap_or(u64::MAX));
            // F-RTO of Linux 2.6 counts the head twice after a timeout. The first ACK of Linux 6 offers two
            // segments more than the window.
            prop_assert!(u64::from(samples.in_flight_packets[row]) <= (window / u64::from(scenario.mss_of(flow))).saturating_add(2));
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
        let run = |events| simulate_with(&scenario, Options { events, ..Options::default() }).result;
        let (predicted, evented) = (run(false), run(true));
        tables_are_equal(&predicted, &evented)?;
    }

    /// Whether flows handle events in order of time or take turns in rounds.
    #[test]
    fn rounds_change_nothing(mut scenario in scenarios_on_a_dumbbell()) {
        scenario.sessions.clear();
        for flow in &mut scenario.flows {
            flow.direction = Direction::Forward;
        }
        let run = |rounds| simulate_with(&scenario, Options { rounds, ..Options::default() });
        let (in_rounds, timely) = (run(true), run(false));
        if !in_rounds.in_rounds {
            // The buffer holds packets for more than two seconds, or a round has no packet.
            return Ok(());
        }
        let (rounds, census_of_rounds) = (in_rounds.result, in_rounds.census);
        let (timely, census) = (timely.result, timely.census);
        prop_assert_eq!(timely.trace_hash, rounds.trace_hash);
        prop_assert_eq!(timely.flows, rounds.flows);
        prop_assert_eq!(timely.samples, rounds.samples);
        prop_assert_eq!(timely.queues, rounds.queues);
        prop_assert_eq!(timely.events, rounds.events);
        prop_assert_eq!(census, census_of_rounds);
    }

    /// Whether the common packet takes its short ways or not (ADR 17).
    #[test]
    fn no_short_way_changes_anything(scenario in short_and_long_scenarios(), events in any::<bool>()) {
        let run = |long_way| {
            let options = Options { events, long_way, ..Options::default() };
            let Run { result, census, .. } = simulate_with(&scenario, options);
            (result, census)
        };
        let ((short, short_census), (long, long_census)) = (run(false), run(true));
        tables_are_equal(&short, &long)?;
        prop_assert_eq!(short_census, long_census);
        prop_assert_eq!(short.trace_hash, long.trace_hash);
    }

    #[test]
    fn a_seed_repeats_everything(scenario in scenarios(), events in any::<bool>()) {
        let run = || simulate_with(&scenario, Options { events, ..Options::default() }).result;
        let (first, second) = (run(), run());
        prop_assert_eq!(first.trace_hash, second.trace_hash);
        prop_assert_eq!(first.samples, second.samples);
        prop_assert_eq!(first.events, second.events);
        prop_assert_eq!(first.transfers, second.transfers);
    }
}

proptest! {
    // A case has eight runs.
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 32))]

    /// Whatever runs beside a run, and on whichever thread it is: its result is the same.
    #[test]
    fn threads_change_nothing(scenarios in proptest::collection::vec(scenarios(), 4)) {
        let run = |scenario| simulate(scenario);
        let alone: Vec<_> = scenarios.iter().map(run).collect();
        let together: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = scenarios.iter().map(|each| scope.spawn(move || run(each))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for (alone, together) in alone.iter().zip(&together) {
            prop_assert_eq!(alone.trace_hash, together.trace_hash);
            prop_assert_eq!(&alone.samples, &together.samples);
            prop_assert_eq!(&alone.queues, &together.queues);
        }
    }
}
