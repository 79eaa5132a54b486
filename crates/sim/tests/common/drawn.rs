//! Scenarios drawn at random. Each struct is written out, so that a new key does not compile before it is
//! drawn here.

use crate::common::{MS, S};
use ackclock_net::buffer::Buffer;
use ackclock_net::impair::{
    BadTimes, Bernoulli, GilbertElliott, Loss, LossStep, Outages, ReorderParameters, PARTS,
};
use ackclock_net::line::{DelayJitter, DelayStep, Distribution};
use ackclock_net::link::{Bottleneck, Place};
use ackclock_net::queue::{
    CodelParameters, Dualpi2Parameters, FqCodelParameters, FqParameters, PieParameters, QueueKind,
    RedParameters, StepParameters,
};
use ackclock_net::rate::{PolicerParameters, RateStep, Trace};
use ackclock_sim::scenario::{
    Change, Direction, EcnMode, Flow, Frames, Hides, Profile, ReadStep, Reads, Scenario, Session,
    Sizes, Write,
};
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
                proptest::option::weighted(0.2, 1_u32..5),
                // Of hidden losses no packet count holds, and no window stays within its limit.
                prop_oneof![8 => Just(Hides::Nothing), 1 => Just(Hides::Marks)],
                proptest::option::weighted(0.1, frames()),
                proptest::option::weighted(0.2, (100_000_u64..60_000_000, changes(60_000_000))),
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
                    (profile, tso, delayed_ack_segments, hides, frames, reader),
                ),
                ecn,
            )| Flow {
                algorithm: algorithm.into(),
                // UDP has no sender that these properties are about; a QUIC stack is another crate's.
                stack: None,
                rate_bps: None,
                rtt_ns,
                rtt_exponential_ns: 0, // of a session
                // `scenarios` draws them with the links.
                route: Vec::new(),
                back: Vec::new(),
                profile,
                tso,
                direction,
                start_ns,
                start_spread_ns: spread,
                stop_ns: stop,
                size_bytes: size.filter(|_| writes.is_empty() && frames.is_none()),
                frames: frames.filter(|_| writes.is_empty()),
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
                receive_buffer_bytes: None, // some windows become one
                send_buffer_bytes: buffer,
                read_rate_bps: reader.as_ref().map(|(rate_bps, _)| *rate_bps),
                read_rate_at: reader.map_or(Vec::new(), |(_, changes)| {
                    let step = |(time_ns, rate)| ReadStep {
                        time_ns,
                        rate_bps: if rate < 1_000 { 0 } else { rate },
                    };
                    changes.into_iter().map(step).collect()
                }),
                initial_ssthresh_packets: ssthresh,
                ecn,
                delayed_ack_segments,
                gro_ns: None,
                hides,
            },
        )
}

fn frames() -> impl Strategy<Value = Frames> {
    let parts = (1_u64..100_000, MS..S);
    parts.prop_map(|(size_bytes, every_ns)| Frames {
        size_bytes,
        every_ns,
    })
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
                frames: None,
                hides: Hides::Nothing,
                read_rate_bps: None,
                read_rate_at: Vec::new(),
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
        Just(QueueKind::Fq(FqParameters::default())),
        Just(QueueKind::Red(RedParameters::default())),
        Just(QueueKind::Step(StepParameters::default())),
        Just(QueueKind::Pie(PieParameters::default())),
        Just(QueueKind::Dualpi2(Dualpi2Parameters::default())),
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
                let loss_step = |(time_ns, p_ppb)| LossStep {
                    time_ns,
                    p_ppb: p_ppb / 20,
                };
                let delay_step = |(time_ns, delay_ns)| DelayStep { time_ns, delay_ns };
                let rate_step = |(time_ns, more_bps)| RateStep {
                    time_ns,
                    rate_bps: 200_000 + more_bps,
                };
                let mut link = Bottleneck {
                    rate_bps,
                    buffer: Buffer::Packets(packets),
                    drop_every_packets,
                    drop_packets: match drop_every_packets {
                        None => drop_packets,
                        Some(_) => Vec::new(),
                    },
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
                    rate_at: rates.into_iter().map(rate_step).collect(),
                    trace_ms: None,
                    tick_ns,
                    delay_at: delays.into_iter().map(delay_step).collect(),
                    loss_at: losses.into_iter().map(loss_step).collect(),
                    delay_jitter: jitter.map(|(by_ns, overtaking)| DelayJitter {
                        by_ns,
                        overtaking,
                        distribution: Distribution::Normal,
                    }),
                    limit_packets,
                    at: Place::Network, // at the sender packets are counted in another way
                };
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

/// On any links.
pub fn scenarios() -> impl Strategy<Value = Scenario> {
    (scenarios_on_a_dumbbell(), topologies()).prop_map(|(mut scenario, (first, links, routes))| {
        if let Some(link) = first {
            scenario.bottleneck = link;
        }
        scenario.links = links;
        let drop_tail = |link: &Bottleneck| link.queue.is_drop_tail();
        if !(drop_tail(&scenario.bottleneck) && scenario.links.iter().all(drop_tail)) {
            let keeps = |change: &mut Change| change.keep_packets = None;
            scenario.changes.iter_mut().for_each(keeps);
        }
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
    use Profile::{Linux2_6_18, Linux2_6_25, Linux2_6_32, Linux6, Linux7};
    proptest::sample::select(vec![Linux6, Linux7, Linux2_6_18, Linux2_6_25, Linux2_6_32])
}

/// With a drop-tail queue.
pub fn scenarios_on_a_dumbbell() -> impl Strategy<Value = Scenario> {
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
                    let profile = flow.profile.unwrap_or(profile);
                    let is_new = profile.is_new();
                    flow.rack |= profile == Profile::Linux7;
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
                    let has_buffer = flow.receive_window_bytes.or(flow.receive_buffer_bytes);
                    let reads_at_once = flow.reads.map_or(at_once, |reads| reads == Reads::AtOnce);
                    let may_be_slow = is_new && has_buffer.is_some() && reads_at_once;
                    if !may_be_slow || !flow.timestamps || flow.hides != Hides::Nothing {
                        (flow.read_rate_bps, flow.read_rate_at) = (None, Vec::new());
                    }
                    let merges = is_new && has_buffer.is_none() && flow.hides == Hides::Nothing;
                    if merges && flow.ecn != EcnMode::Accurate && flow.initcwnd.is_some() {
                        flow.gro_ns = Some(20_000);
                    }
                    let needs_6 =
                        ["dctcp", "bbr", "bbr3", "copa"].contains(&flow.algorithm.as_str());
                    if !is_new && needs_6 {
                        flow.algorithm = "reno".into();
                    }
                }
                let changes = drawn_changes(seed, &flows);
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
                    changes,
                    // The simulator runs none.
                    programs: Vec::new(),
                    sample_interval_ns: 50 * MS,
                }
            },
        )
}

/// A third of the scenarios are branches: of the first flow packets are lost and are not, and it gets
/// another algorithm.
fn drawn_changes(seed: u64, flows: &[Flow]) -> Vec<Change> {
    let can = |flow: &Flow| !["dctcp", "prague"].contains(&flow.algorithm.as_str());
    if seed % 3 != 0 || !flows.first().is_some_and(can) {
        return Vec::new();
    }
    let at = |at_ns| Change {
        at_ns,
        flow: Some(1),
        ..Change::default()
    };
    vec![
        Change {
            drop_packets: Some(3),
            keep_packets: Some(2),
            ..at(S + seed % S)
        },
        Change {
            algorithm: Some(["cubic", "reno", "vegas"][seed as usize / 3 % 3].into()),
            ..at(2 * S + seed % S)
        },
    ]
}

/// Mostly on a dumbbell, where all short ways are. An eighth lasts longer than the window of the
/// smallest RTT, on links that are so much slower.
pub fn short_and_long_scenarios() -> impl Strategy<Value = Scenario> {
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
