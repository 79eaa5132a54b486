//! An algorithm that calls `cc_become_reno`, because the connection has not the ECN that it needs, is
//! Reno in each packet: in windows, in timing, in what a mark does.

use crate::common;

use ackclock_host::Algorithm;
use ackclock_net::queue::{CodelParameters, QueueKind};
use ackclock_sim::scenario::{EcnMode, Flow, Profile};
use common::wild::{self, Event, Totals, Wild};
use common::{dumbbell, flow, simulate, MS};

fn with_a_fallback() -> impl Iterator<Item = &'static Algorithm> {
    let falls_back = |algorithm: &&Algorithm| {
        let text = &algorithm.sources()[0].text;
        String::from_utf8_lossy(text).contains("cc_become_reno(sk)")
    };
    Algorithm::all().iter().filter(falls_back)
}

#[test]
fn who_falls_back() {
    let names: Vec<_> = with_a_fallback().map(Algorithm::name).collect();
    assert_eq!(names, ["dctcp", "prague"]);
}

/// Without ECN, over a path that loses and delays packets.
#[test]
fn without_ecn() {
    let path = Wild {
        loss: 20,
        late: 30,
        late_ns: 30 * MS,
        ..Wild::new(Profile::Linux6)
    };
    let sent = |algorithm: &str| {
        let (mut sent, mut totals) = (Vec::new(), Totals::default());
        wild::run(&path, algorithm, &mut totals, |event| {
            if let Event::Sent(at_ns, burst) = event {
                sent.push(format!("{at_ns} {burst:?}"));
            }
        });
        assert!(totals.retransmitted > 50, "{totals:?}");
        sent
    };
    let reno = sent("reno");
    for algorithm in with_a_fallback() {
        assert!(sent(algorithm.name()) == reno, "{}", algorithm.name());
    }
}

/// With the ECN of RFC 3168, beside CUBIC on a queue that marks.
#[test]
fn with_classic_ecn() {
    let result = |algorithm: &str| {
        let flows = [algorithm, "cubic"].map(|algorithm| Flow {
            ecn: EcnMode::Classic,
            ..flow(algorithm, 20 * MS)
        });
        let mut scenario = dumbbell(Profile::Linux6, 100_000_000, 1000, flows.into());
        scenario.bottleneck.queue = QueueKind::Codel(CodelParameters {
            ecn: true,
            ..CodelParameters::default()
        });
        let result = simulate(&scenario);
        assert_eq!(
            result.flows.retransmitted_packets,
            [0, 0],
            "marks, no drops"
        );
        format!(
            "{:016x} {:?} {:?}",
            result.trace_hash, result.samples, result.events
        )
    };
    let reno = result("reno");
    for algorithm in with_a_fallback().filter(|algorithm| !algorithm.needs_ecn()) {
        assert!(result(algorithm.name()) == reno, "{}", algorithm.name());
    }
}
