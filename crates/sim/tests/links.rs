//! Several links on a flow's way.

use crate::common;

use ackclock_net::buffer::Buffer;
use ackclock_net::link::Bottleneck;
use ackclock_net::queue::{QueueKind, RedParameters};
use ackclock_net::rate::{RateStep, Trace};
use ackclock_sim::scenario::{Flow, Profile, Scenario};
use ackclock_sim::{run, Control};
use common::{dumbbell, flow, simulate, MS, S};

fn link(rate_bps: u64, delay_ns: u64) -> Bottleneck {
    Bottleneck {
        delay_ns,
        ..Bottleneck::drop_tail(rate_bps, Buffer::Packets(1_000))
    }
}

fn network(links: &[Bottleneck], flows: Vec<Flow>) -> Scenario {
    let mut scenario = dumbbell(Profile::Linux6, 1_000_000, 1, flows);
    scenario.bottleneck = links[0].clone();
    scenario.links = links[1..].to_vec();
    scenario
}

/// A send buffer of one segment: the RTT is the sum of all services and delays.
#[test]
fn a_lone_packet_takes_every_service_and_delay() {
    let probe = Flow {
        send_buffer_bytes: Some(1448),
        route: vec![2, 1],
        back: vec![3],
        ..flow("reno", 40 * MS)
    };
    let links = [
        link(10_000_000, 3 * MS),
        link(20_000_000, 5 * MS),
        link(10_000_000, 7 * MS),
    ];
    let mut scenario = network(&links, vec![probe]);
    scenario.delayed_ack_segments = 1;
    let result = simulate(&scenario);
    // Delays of 40 + 3 + 5 + 7 ms. 60 bytes of each SYN take 48, 24 and 48 us.
    assert_eq!(result.flows.min_rtt_us[0], 55_120);
    // 1500 bytes take 1200 and 600 us, the ACK's 52 bytes 41.6 us.
    let srtt_us = *result.samples.srtt_us.last().unwrap();
    assert!(srtt_us.abs_diff(56_841) <= 1, "{srtt_us}");
}

/// Behind a slow link a fast one never has two packets at once, and drops none. So it adds its
/// service and nothing else: the flow with that delay in its own RTT has the same totals.
#[test]
fn a_fast_link_behind_a_slow_one_adds_its_service() {
    let (slow, fast) = (link(10_000_000, 0), link(100_000_000, 2 * MS));
    let over_both = Flow {
        route: vec![1, 2],
        ..flow("cubic", 40 * MS)
    };
    let both = simulate(&network(&[slow.clone(), fast], vec![over_both]));
    // SYNs are smaller: there the fast link takes 4.8 us, not 120 us.
    let alone = simulate(&network(&[slow], vec![flow("cubic", 42 * MS + 120_000)]));
    assert_eq!(both.queues.queue_packets.len(), 2 * alone.queues.len());
    let fast_queue: Vec<_> = both
        .queues
        .queue_packets
        .iter()
        .skip(1)
        .step_by(2)
        .collect();
    assert!(fast_queue.iter().all(|&&packets| packets <= 1));
    assert_eq!(both.flows.dropped_packets, alone.flows.dropped_packets);
    let delivered = [&both, &alone].map(|result| result.flows.delivered_bytes[0]);
    assert!(
        delivered[0].abs_diff(delivered[1]) <= 2 * 1448,
        "{delivered:?}"
    );
}

/// One flow over three links that each lose 1 packet in 500, and a flow over each: the window is
/// proportional to 1/sqrt(p), so the long flow gets 1/sqrt(3) of the others, on average over four runs.
#[test]
fn losses_of_links_add_up() {
    let lossy = Bottleneck {
        drop_every_packets: Some(500),
        ..link(50_000_000_000, 0)
    };
    let cross = (1..=3).map(|number| Flow {
        route: vec![number],
        ..flow("reno", 20 * MS)
    });
    let long = Flow {
        route: vec![1, 2, 3],
        ..flow("reno", 20 * MS)
    };
    let flows = std::iter::once(long).chain(cross).collect();
    let mut scenario = network(&[lossy.clone(), lossy.clone(), lossy], flows);
    scenario.duration_ns = 200 * S;
    scenario.jitter_ns = 20_000;
    let ratios = (1..=4).map(|seed| {
        scenario.seed = seed;
        let delivered = simulate(&scenario).flows.delivered_bytes;
        let others = delivered[1..].iter().sum::<u64>() as f64 / 3.0;
        delivered[0] as f64 / others
    });
    let ratio = ratios.sum::<f64>() / 4.0;
    println!("{ratio:.3}, theory {:.3}", 3_f64.sqrt().recip());
    assert!((ratio * 3_f64.sqrt() - 1.0).abs() < 0.10, "{ratio}");
}

/// The parking lot: two Reno flows over three links, and two flows over each of them. RED gives
/// every link the same small loss rate p, so in the fluid model a window is proportional to
/// 1/sqrt(p), that of the long flows to 1/sqrt(3p). Then
/// x_long / x_cross = RTT_cross / (sqrt(3) RTT_long), where queues are a part of the RTTs.
#[test]
fn a_parking_lot_shares_as_the_fluid_model_says() {
    let red = RedParameters {
        min_bytes: 30_000,
        max_bytes: 300_000,
        max_p_ppm: 2_000,
        gentle: true,
        ..RedParameters::default()
    };
    let red = Bottleneck {
        queue: QueueKind::Red(red),
        ..link(40_000_000, 0)
    };
    let route = |route: Vec<u32>| Flow {
        route,
        start_spread_ns: S,
        ..flow("reno", 100 * MS)
    };
    let mut flows = vec![route(vec![1, 2, 3]); 2];
    for number in 1..=3 {
        flows.extend(vec![route(vec![number]); 2]);
    }
    let mut scenario = network(&[red.clone(), red.clone(), red], flows);
    scenario.duration_ns = 400 * S;
    scenario.jitter_ns = 20_000;
    scenario.tso = false;
    let of_seed = |seed: u64| {
        let result = simulate(&Scenario {
            seed,
            ..scenario.clone()
        });
        // The first 100 s are the start.
        let delivered = |flow: u32| {
            let samples = &result.samples;
            let of =
                |row: &usize| samples.flow[*row] == flow && samples.time_us[*row] >= 100_000_000;
            let mut rows = (0..samples.len()).filter(of);
            let (first, last) = (rows.next().unwrap(), rows.next_back().unwrap());
            (samples.delivered_packets[last] - samples.delivered_packets[first]) as f64
        };
        let long = (1..=2).map(delivered).sum::<f64>() / 2.0;
        let cross = (3..=8).map(delivered).sum::<f64>() / 6.0;
        let queued = &result.queues.queue_bytes;
        let queued_bytes = queued.iter().sum::<u64>() as f64 / queued.len() as f64;
        let wait_ms = queued_bytes * 8.0 / 40e3;
        let theory = (100.0 + wait_ms) / (100.0 + 3.0 * wait_ms) / 3_f64.sqrt();
        println!(
            "{:.3}, theory {theory:.3}, waiting {wait_ms:.1} ms",
            long / cross
        );
        long / cross / theory
    };
    let ratio = (1..=4).map(of_seed).sum::<f64>() / 4.0;
    assert!((ratio - 1.0).abs() < 0.10, "{ratio}");
}

/// What a message about a route says.
#[test]
fn wrong_routes_are_refused() {
    let with = |flow: Flow| {
        let scenario = network(&[link(1_000_000, 0), link(1_000_000, 0)], vec![flow]);
        let text = serde_json::to_string(&scenario).unwrap();
        Scenario::from_json(&text).unwrap_err().to_string()
    };
    let unknown = Flow {
        route: vec![1, 3],
        ..flow("reno", 40 * MS)
    };
    assert_eq!(
        with(unknown),
        "flows[0].route[1] = 3: choose a value from 1 to 2"
    );
    let looped = Flow {
        back: vec![1, 2, 1],
        ..flow("reno", 40 * MS)
    };
    assert_eq!(
        with(looped),
        "flows[0].back = [1, 2, 1]: link 1 is there twice; a route has no loop"
    );
    let reverse = Flow {
        direction: ackclock_sim::scenario::Direction::Reverse,
        ..flow("reno", 40 * MS)
    };
    assert_eq!(
        with(reverse),
        "flows[0].direction = reverse: where links or routes are given, write route and back instead"
    );
}

/// Half a second without a link, said as a rate of 0 and as a trace without opportunities.
#[test]
fn an_outage_is_the_same_in_both_ways_to_say_it() {
    let flows = || vec![flow("cubic", 40 * MS)];
    let mut stepped = dumbbell(Profile::Linux6, 20_000_000, 100, flows());
    stepped.duration_ns = 22 * S;
    stepped.bottleneck.rate_at = [(10_000, 0), (10_500, 20_000_000)]
        .map(|(time_ms, rate_bps)| RateStep {
            time_ns: time_ms * MS,
            rate_bps,
        })
        .into();
    let mut traced = stepped.clone();
    // 1500 bytes at 20 Mb/s are 0.6 ms.
    let times_ms: Vec<u64> = (1..22_000 * 5 / 3)
        .map(|packet| packet * 3 / 5)
        .filter(|time_ms| !(10_000..10_500).contains(time_ms))
        .chain([22_000])
        .collect();
    traced.bottleneck.rate_at = Vec::new();
    traced.bottleneck.rate_bps = Trace::mean_bps(&times_ms);
    traced.bottleneck.trace_ms = Some(times_ms);
    let [stepped, traced] = [stepped, traced].map(|scenario| simulate(&scenario));
    let bytes = [&stepped, &traced].map(|result| result.flows.delivered_bytes[0] as f64);
    assert!((bytes[0] / bytes[1] - 1.0).abs() < 0.02, "{bytes:?}");
    // The link is full before and after: 21 s of 20 Mb/s, less what the loss of time costs.
    let share = bytes[0] * 8.0 / 20e6 / 21.5 * 1500.0 / 1448.0;
    assert!(share > 0.95, "{share}");
}

/// A packet that is in service when the rate is low for half a second leaves soon after.
#[test]
fn a_slow_half_second_is_no_outage_of_twelve() {
    let mut scenario = dumbbell(
        Profile::Linux6,
        20_000_000,
        100,
        vec![flow("cubic", 40 * MS)],
    );
    scenario.duration_ns = 22 * S;
    scenario.bottleneck.rate_at = [(10_000, 1_000), (10_500, 20_000_000)]
        .map(|(time_ms, rate_bps)| RateStep {
            time_ns: time_ms * MS,
            rate_bps,
        })
        .into();
    let bytes = simulate(&scenario).flows.delivered_bytes[0] as f64;
    let share = bytes * 8.0 / 20e6 / 21.5 * 1500.0 / 1448.0;
    assert!(share > 0.95, "{share}");
}

#[test]
fn a_link_that_is_dead_from_the_start_is_refused() {
    let mut scenario = dumbbell(
        Profile::Linux6,
        20_000_000,
        100,
        vec![flow("cubic", 40 * MS)],
    );
    let mut refused = |steps: &[(u64, u64)]| {
        let steps = steps
            .iter()
            .map(|&(time_ns, rate_bps)| RateStep { time_ns, rate_bps });
        scenario.bottleneck.rate_at = steps.collect();
        run(&scenario, &Control::default()).map_err(|error| error.to_string())
    };
    let message = "0bit from 0s on: the link carries nothing in the whole run";
    for steps in [
        vec![(0, 0)],
        vec![(0, 0), (S, 0)],
        vec![(0, 0), (100 * S, 1_000)],
    ] {
        let error = refused(&steps).unwrap_err();
        assert!(
            error.contains(message) && error.contains("rate_at"),
            "{error}"
        );
    }
    refused(&[(0, 0), (S, 1_000)]).unwrap();
    refused(&[(S, 0)]).unwrap();
}

/// Behind a bucket packets arrive at one instant, and the application reads after them: one ACK answers
/// all. With a bucket of one packet each takes its time.
#[test]
fn one_ack_answers_what_a_bucket_lets_go() {
    let most_acked = |burst_bytes| {
        let mut scenario = dumbbell(
            Profile::Linux6,
            30_000_000,
            200,
            vec![flow("reno", 30 * MS)],
        );
        scenario.jitter_ns = 0;
        scenario.duration_ns = 200 * MS;
        scenario.bottleneck.burst_bytes = burst_bytes;
        let acks = common::simulate_acks(&scenario).acks;
        let moved = acks.windows(2).map(|two| two[1].una - two[0].una);
        moved.max().unwrap()
    };
    assert_eq!([0, 1_585].map(most_acked), [2, 2]);
    assert!(most_acked(20_000) > 8);
}
