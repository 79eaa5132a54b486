//! Runs with ECN: marks take the place of losses, and only the first SYN asks for it.

use crate::common;

use ackclock_net::queue::{QueueKind, StepParameters};
use ackclock_sim::record::EventKind;
use ackclock_sim::scenario::{Flow, Profile, Scenario};
use ackclock_sim::{run, Control, RunResult};
use common::{dumbbell, flow, simulate, MS};

/// Flows of Reno over 20 Mb/s and 40 ms. Whoever uses ECN is marked above 40 packets.
fn marking(ecn: &[bool]) -> Scenario {
    let flows = ecn.iter().map(|&ecn| Flow {
        ecn: ecn.into(),
        ..flow("reno", 40 * MS)
    });
    let mut scenario = dumbbell(Profile::Linux6, 20_000_000, 100, flows.collect());
    scenario.duration_ns *= 3;
    scenario.bottleneck.queue = QueueKind::Step(StepParameters {
        threshold_packets: 40,
        ..StepParameters::default()
    });
    scenario
}

fn count(result: &RunResult, kind: EventKind) -> usize {
    result
        .events
        .kind
        .iter()
        .filter(|&&each| each == kind)
        .count()
}

/// A mark reduces the window as a loss does, once per window, and nothing is sent again. Without
/// ECN the same queue loses packets.
#[test]
fn marks_take_the_place_of_losses() {
    let with = simulate(&marking(&[true]));
    let without = simulate(&marking(&[false]));
    assert_eq!(with.flows.retransmitted_packets, [0]);
    assert_eq!(with.flows.dropped_packets, [0]);
    assert_eq!(count(&with, EventKind::Recovery), 0);
    assert!(without.flows.dropped_packets[0] > 0);
    assert_eq!(count(&without, EventKind::Cwr), 0);
    // Reno grows by one packet in a round trip. A cycle from half of a window of 20 Mb/s x 40 ms + 40
    // packets = 107 takes 53 round trips of some 50 ms, which is 2.7 s. A packet that leaves right
    // after the reduction may be marked too. Then the window falls twice, and the cycle is longer.
    let events = &with.events;
    let reduced = (0..events.kind.len()).filter(|&row| events.kind[row] == EventKind::Cwr);
    let (full, again): (Vec<_>, Vec<_>) = reduced.partition(|&row| events.cwnd_packets[row] > 100);
    assert!((8..=12).contains(&full.len()), "{}", full.len());
    assert!(again.len() <= full.len(), "{}", again.len());
    let delivered = with.flows.delivered_bytes[0] as f64 * 8.0 / 30.0 / 20e6;
    // 1448 of 1500 bytes, and cycles from a quarter of the window begin below the link's rate.
    assert!((0.85..0.95).contains(&delivered), "{delivered}");
    let longest = with.queues.queue_packets.iter().max();
    // Slow start overshoots by a round trip.
    assert!(*longest.unwrap() <= 100);
}

/// ABE (RFC 8511): a mark in congestion avoidance takes less of the window than a loss; one in slow
/// start takes as much.
#[test]
fn abe_yields_less_to_a_mark() {
    for (algorithm, at_a_mark, at_a_loss) in [
        ("reno_abe", 819.0 / 1024.0, 0.5),
        ("cubic_abe", 870.0 / 1024.0, 717.0 / 1024.0),
    ] {
        for ecn in [true, false] {
            let mut scenario = marking(&[ecn]);
            scenario.flows[0].algorithm = algorithm.into();
            // Slow start ends with a mark, not with HyStart.
            if algorithm == "cubic_abe" {
                scenario.flows[0].algorithm += ":hystart=0";
            }
            let events = simulate(&scenario).events;
            let kind = if ecn {
                EventKind::Cwr
            } else {
                EventKind::Recovery
            };
            let rows = (0..events.kind.len()).filter(|&row| events.kind[row] == kind);
            let kept: Vec<_> = rows
                .map(|row| {
                    let cwnd = f64::from(events.cwnd_packets[row]);
                    (cwnd, f64::from(events.ssthresh_packets[row]))
                })
                .collect();
            let usual = if ecn { at_a_mark } else { at_a_loss };
            assert!(kept.len() > 5, "{algorithm} {ecn}");
            for (index, (cwnd, ssthresh)) in kept.into_iter().enumerate() {
                let expected = if index == 0 { at_a_loss } else { usual };
                assert_eq!(
                    ssthresh,
                    (cwnd * expected).floor(),
                    "{algorithm} {ecn} {index}"
                );
            }
        }
    }
}

/// A flow that is marked yields to one that the same queue does not mark.
#[test]
fn ecn_is_per_flow() {
    let both = simulate(&marking(&[true, false]));
    let delivered = &both.flows.delivered_bytes;
    assert!(count(&both, EventKind::Cwr) > 0);
    assert!(2 * delivered[0] < delivered[1], "{delivered:?}");
}

/// A SYN that is sent again asks for no ECN (`tcp_ecn_clear_syn`). Here the queue is full of another
/// flow's slow start when the first SYN arrives.
#[test]
fn only_the_first_syn_asks() {
    let mut scenario = marking(&[true, true]);
    scenario.bottleneck.queue = QueueKind::DropTail;
    let mut asked = [0; 2];
    for start_ms in 0..200 {
        scenario.flows[1].start_ns = 400 * MS + start_ms * MS;
        let events = run(&scenario, &Control::default()).unwrap().events;
        let established = (0..events.time_us.len())
            .find(|&row| events.flow[row] == 2 && events.kind[row] == EventKind::Established);
        let waited_ms = events.time_us[established.unwrap()] / 1_000 - 400 - start_ms;
        asked[usize::from(waited_ms < 1_000)] += 1;
    }
    assert!(asked.iter().all(|&count| count > 0), "{asked:?}");
}

/// Linux 2.6 had ECN, but nobody has compared it: refused by name.
#[test]
fn an_old_profile_is_refused() {
    let mut scenario = marking(&[true]);
    scenario.profile = Profile::Linux2_6_25;
    let error = run(&scenario, &Control::default()).unwrap_err().to_string();
    assert_eq!(
        error,
        "flows[0].ecn = true: ECN is modelled as in today's Linux; choose profile linux-6, \
         or write false"
    );
}
