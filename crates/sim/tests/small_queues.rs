//! A link that is the interface of the host that sends: TCP small queues (`tcp_small_queue_check`).

use crate::common;

use ackclock_host::Snapshot;
use ackclock_net::link::Place;
use ackclock_net::queue::QueueKind;
use ackclock_sim::scenario::{Flow, Profile, Scenario, Write};
use common::{dumbbell, flow, simulate, MS, S};

fn own(rate_bps: u64, packets: u64, flows: Vec<Flow>) -> Scenario {
    let mut scenario = dumbbell(Profile::Linux6, rate_bps, packets, flows);
    (scenario.bottleneck.at, scenario.duration_ns) = (Place::Sender, 5 * S);
    scenario.sample_interval_ns = MS;
    scenario
}

/// Slow start and CUBIC overflow 20 packets in the network. At the sender two packets of TSO wait at
/// 10 Mb/s, the second of which may begin when there are 2 · truesize bytes: never more than three, with
/// the one that is leaving. Nothing is lost, and the link stays busy.
#[test]
fn a_small_queue_loses_nothing() {
    for algorithm in ["cubic", "reno", "bbr"] {
        let scenario = own(10_000_000, 20, vec![flow(algorithm, 20 * MS)]);
        let here = simulate(&scenario);
        let mut behind = scenario.clone();
        behind.bottleneck.at = Place::Network;
        let there = simulate(&behind);
        assert_eq!(here.flows.dropped_packets, [0]);
        assert!(algorithm == "bbr" || there.flows.dropped_packets[0] > 0);
        let most = here.queues.queue_packets.iter().max();
        assert!(most <= Some(&3), "{algorithm}: {most:?}");
        let carried = here.flows.delivered_bytes[0] * 8 / 5;
        assert!(carried > 9_400_000, "{algorithm}: {carried}");
    }
}

/// Each flow has its own two packets.
#[test]
fn each_connection_has_its_small_queue() {
    let flows = (0..5).map(|_| flow("reno", 20 * MS)).collect();
    let result = simulate(&own(10_000_000, 50, flows));
    assert_eq!(result.flows.dropped_packets, [0; 5]);
    let most = result.queues.queue_packets.iter().max();
    assert!((Some(&10)..=Some(&15)).contains(&most), "{most:?}");
}

/// An application that has found no room writes again also while its host's queue holds packets back: of
/// 3 s Linux delivers as much.
#[test]
fn a_small_queue_does_not_keep_the_application_from_writing() {
    let mut scenario = own(16_000_000, 52, vec![flow("htcp", 15_700_000)]);
    scenario.duration_ns = 3 * S;
    scenario.jitter_ns = 0;
    assert_eq!(simulate(&scenario).flows.delivered_bytes, [5_710_912]);
}

/// What waits at the interface is not sent again (`skb_still_in_host_queue`): at 1.25 Mb/s two packets take ten
/// times the RTT, and a tail loss probe is due before the second leaves.
#[test]
fn what_has_not_left_the_host_is_not_sent_again() {
    let mut scenario = own(1_250_000, 4, vec![flow("reno", 1_946_000)]);
    scenario.pacing = true;
    let flow = &mut scenario.flows[0];
    flow.receive_window_bytes = Some(4_344);
    flow.initcwnd = Some(3);
    flow.writes = vec![Write {
        at_ns: 0,
        size_bytes: Some(2_896),
        every_ns: Some(70 * MS),
        pause_ns: None,
    }];
    let result = simulate(&scenario);
    assert!(result.flows.sent_packets[0] > 140);
    assert_eq!(result.flows.retransmitted_packets, [0]);
}

/// Flows that begin one after another fill two or four packets, and what the interface refuses stays with its
/// sender, whose window is reduced (`tcp_enter_cwr`); where nothing is out, a timer tries one segment
/// (`tcp_write_wakeup`). Linux delivers as much, and loses nothing.
#[test]
fn what_the_interface_refuses_is_not_sent() {
    let delivered = |rate_bps, packets, algorithms: &[&str]| {
        let starts = algorithms.iter().zip(0..);
        let flows = starts.map(|(name, number)| Flow {
            start_ns: number * 100 * MS,
            ..flow(name, 20 * MS)
        });
        let mut scenario = own(rate_bps, packets, flows.collect());
        (scenario.duration_ns, scenario.jitter_ns) = (3 * S, 0);
        let result = simulate(&scenario);
        assert!(result.flows.dropped_packets.iter().all(|&each| each == 0));
        assert!(result
            .flows
            .retransmitted_packets
            .iter()
            .all(|&each| each == 0));
        result.flows.delivered_bytes
    };
    let two = delivered(10_000_000, 2, &["cubic", "reno"]);
    assert_eq!(two, [263_536, 2_418_160]);
    let three = delivered(4_000_000, 4, &["reno"; 3]);
    assert_eq!(three, [1_068_624, 143_352, 214_304]);
}

#[test]
fn what_no_interface_does_is_refused() {
    let refused = |change: fn(&mut Scenario), fix: &str| {
        let mut scenario = own(10_000_000, 20, vec![flow("cubic", 20 * MS)]);
        change(&mut scenario);
        let error = scenario
            .validate_to_simulate(&Snapshot::default())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("bottleneck.at = sender") && error.contains(fix),
            "{error}"
        );
    };
    refused(|of| of.bottleneck.burst_bytes = 3_000, "another [[link]]");
    refused(
        |of| of.bottleneck.queue = QueueKind::Fq(Default::default()),
        "pacing = true",
    );
    refused(|of| of.profile = Profile::Linux2_6_25, "linux-6");
    refused(|of| of.flows[0].back = vec![1], "first link of a route");
}
