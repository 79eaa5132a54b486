//! Receivers that lie.

use crate::common;

use ackclock_net::queue::{CodelParameters, QueueKind};
use ackclock_sim::scenario::{EcnMode, Flow, Hides, Profile, Scenario};
use common::{dumbbell, flow, simulate, MS, S};

/// Two flows on 20 Mb/s, 20 ms; the first one's receiver lies.
fn beside_an_honest_one(algorithm: &str, hides: Hides, ecn: EcnMode) -> Scenario {
    let liar = Flow {
        hides,
        ecn,
        // Nothing else ends its slow start.
        receive_window_bytes: Some(300_000),
        ..flow(algorithm, 20 * MS)
    };
    let honest = Flow {
        ecn,
        ..flow(algorithm, 20 * MS)
    };
    let mut scenario = dumbbell(Profile::Linux6, 20_000_000, 33, vec![liar, honest]);
    scenario.duration_ns = 30 * S;
    scenario
}

/// The sender never hears of a loss: it never reduces its window, and sends nothing again.
#[test]
fn losses() {
    for algorithm in ["reno", "cubic"] {
        let result = simulate(&beside_an_honest_one(
            algorithm,
            Hides::Losses,
            EcnMode::Off,
        ));
        let flows = &result.flows;
        assert!(flows.dropped_packets[0] > 100);
        assert_eq!(
            (flows.retransmitted_packets[0], flows.recoveries[0]),
            (0, 0)
        );
        assert!(flows.retransmitted_packets[1] > 0);
        assert!(flows.delivered_bytes[0] > 5 * flows.delivered_bytes[1]);
    }
}

/// CoDel marks; the sender answers no mark, but still each loss.
#[test]
fn marks() {
    for ecn in [EcnMode::Classic, EcnMode::Accurate] {
        let mut scenario = beside_an_honest_one("reno", Hides::Marks, ecn);
        scenario.bottleneck.queue = QueueKind::Codel(CodelParameters {
            ecn: true,
            ..CodelParameters::default()
        });
        let flows = simulate(&scenario).flows;
        assert!(flows.marked_packets[0] > 10);
        let ratio = flows.delivered_bytes[0] as f64 / flows.delivered_bytes[1] as f64;
        assert!(ratio > 3.0, "{ratio}");
    }
}

#[test]
fn an_honest_one_has_its_share() {
    let flows = simulate(&beside_an_honest_one("reno", Hides::Nothing, EcnMode::Off)).flows;
    let ratio = flows.delivered_bytes[0] as f64 / flows.delivered_bytes[1] as f64;
    assert!((0.5..2.0).contains(&ratio), "{ratio}");
}
