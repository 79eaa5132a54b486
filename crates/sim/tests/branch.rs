//! Branches of runs: the same until a time, and then another future.

use crate::common;

use ackclock_host::Snapshot;
use ackclock_net::impair::{Bernoulli, Loss};
use ackclock_net::link::Bottleneck;
use ackclock_net::queue::QueueKind;
use ackclock_sim::record::EventKind;
use ackclock_sim::scenario::{Change, Flow, Profile, Scenario};
use ackclock_sim::{Options, Prepared, Run, RunResult};
use common::{dumbbell, flow, simulate, simulate_with, MS, S};

fn at(at_ns: u64) -> Change {
    Change {
        at_ns,
        ..Change::default()
    }
}

fn of_flow(at_ns: u64, number: u32) -> Change {
    Change {
        flow: Some(number),
        ..at(at_ns)
    }
}

fn drop_next(at_ns: u64, packets: u32) -> Change {
    Change {
        drop_packets: Some(packets),
        ..of_flow(at_ns, 1)
    }
}

fn keep_next(at_ns: u64, packets: u32) -> Change {
    Change {
        keep_packets: Some(packets),
        ..of_flow(at_ns, 1)
    }
}

fn algorithm(at_ns: u64, spec: &str) -> Change {
    Change {
        algorithm: Some(spec.into()),
        ..of_flow(at_ns, 1)
    }
}

fn branch(parent: &Scenario, changes: &[Change]) -> Scenario {
    Scenario {
        changes: changes.to_vec(),
        ..parent.clone()
    }
}

/// A flow that begins without losses.
fn gentle() -> Flow {
    Flow {
        initial_ssthresh_packets: Some(60),
        ..flow("reno", 40 * MS)
    }
}

/// Two flows that lose often.
fn parent() -> Scenario {
    let flows = vec![flow("cubic", 40 * MS), flow("reno", 60 * MS)];
    dumbbell(Profile::Linux6, 20_000_000, 60, flows)
}

/// Packets of flow 1 that were dropped, for any reason.
fn dropped(result: &RunResult) -> u64 {
    result.flows.dropped_packets[0]
}

/// The rows of samples and events before a time.
fn before(result: &RunResult, time_ns: u64) -> String {
    let (samples, events) = (&result.samples, &result.events);
    let mut text = String::new();
    for row in (0..samples.len()).filter(|&row| samples.time_us[row] < time_ns / 1_000) {
        let of = (
            samples.time_us[row],
            samples.flow[row],
            samples.cwnd_packets[row],
        );
        let counts = (samples.delivered_packets[row], samples.srtt_us[row]);
        text += &format!("{of:?} {counts:?}\n");
    }
    for row in (0..events.len()).filter(|&row| events.time_us[row] < time_ns / 1_000) {
        let of = (events.time_us[row], events.flow[row], events.kind[row]);
        text += &format!("{of:?} {}\n", events.cwnd_packets[row]);
    }
    text
}

fn every_way() -> [Options<'static>; 3] {
    [(false, false), (true, false), (false, true)].map(|(events, long_way)| Options {
        events,
        long_way,
        ..Options::default()
    })
}

fn refusal(changes: &[Change]) -> String {
    let scenario = branch(&parent(), changes);
    let refused = Prepared::new(scenario, &Snapshot::default());
    refused.unwrap_err().to_string()
}

/// Also when it comes between any two events, in each network and by each way.
#[test]
fn a_branch_without_a_change_is_its_parent() {
    let codel = Scenario {
        bottleneck: Bottleneck {
            queue: QueueKind::Codel(Default::default()),
            ..parent().bottleneck
        },
        ..parent()
    };
    for parent in [parent(), codel] {
        for options in [
            || Options::default(),
            || Options {
                events: true,
                ..Options::default()
            },
        ] {
            let hash = simulate_with(&parent, options()).result.trace_hash;
            for at_ns in [1, 40 * MS, 100 * MS, 100 * MS + 1, 3 * S + 7, 10 * S - 1] {
                let same = branch(&parent, &[at(at_ns), at(at_ns), at(10 * S - 1)]);
                assert_eq!(
                    simulate_with(&same, options()).result.trace_hash,
                    hash,
                    "{at_ns}"
                );
            }
        }
    }
}

/// By each way just that packet is lost, and all before is the same.
#[test]
fn a_packet_is_lost() {
    let quiet = Scenario {
        duration_ns: 4 * S,
        ..dumbbell(Profile::Linux6, 20_000_000, 2_000, vec![gentle()])
    };
    for options in every_way() {
        let Options {
            events, long_way, ..
        } = options;
        let ways = || Options {
            events,
            long_way,
            ..Options::default()
        };
        let old = simulate_with(&quiet, ways()).result;
        assert_eq!(dropped(&old), 0);
        for packets in [1, 3] {
            let new = simulate_with(&branch(&quiet, &[drop_next(2 * S, packets)]), ways()).result;
            assert_eq!(dropped(&new), u64::from(packets));
            let recovery = new
                .events
                .kind
                .iter()
                .position(|kind| *kind == EventKind::Recovery);
            let at_us = new.events.time_us[recovery.expect("it is missed")];
            assert!((2_000_000..2_600_000).contains(&at_us), "{at_us}");
            assert_eq!(before(&new, 2 * S), before(&old, 2 * S));
            assert_ne!(new.trace_hash, old.trace_hash);
            let none = [drop_next(2 * S, packets), drop_next(2 * S, 0)];
            let none = simulate_with(&branch(&quiet, &none), ways()).result;
            assert_eq!(none.trace_hash, old.trace_hash, "called off");
        }
    }
}

/// The ways agree on what a branch does, at a full queue too.
#[test]
fn each_way_gives_the_same_branch() {
    let changes = [
        drop_next(2 * S, 2),
        keep_next(3 * S, 4),
        algorithm(5 * S, "bbr"),
        Change {
            algorithm: Some("cubic".into()),
            ..of_flow(6 * S, 2)
        },
    ];
    let scenario = branch(&parent(), &changes);
    let rows = |run: Run| {
        let RunResult { flows, .. } = &run.result;
        (format!("{flows:?}"), before(&run.result, 10 * S))
    };
    let [usual, events, long] = every_way().map(|options| rows(simulate_with(&scenario, options)));
    assert_eq!(usual, long);
    assert_eq!(usual, events);
}

/// One loss for want of room, one at random, one of a pattern: none of them happens.
#[test]
fn a_loss_is_undone() {
    let one = || dumbbell(Profile::Linux6, 20_000_000, 60, vec![gentle()]);
    let random = Loss::Bernoulli(Bernoulli { p_ppb: 1_000_000 });
    let of = |bottleneck: Bottleneck| Scenario {
        bottleneck,
        ..one()
    };
    let usual = || Bottleneck {
        buffer: ackclock_net::buffer::Buffer::Packets(4_000),
        ..one().bottleneck
    };
    for (parent, from_ns) in [
        (one(), 4 * S),
        (
            of(Bottleneck {
                loss: Some(random),
                ..usual()
            }),
            S,
        ),
        (
            of(Bottleneck {
                drop_packets: vec![4_000],
                ..usual()
            }),
            S,
        ),
    ] {
        for events in [false, true] {
            let ways = || Options {
                events,
                ..Options::default()
            };
            let old = simulate_with(&parent, ways()).result;
            let new =
                simulate_with(&branch(&parent, &[keep_next(from_ns, 1_000_000)]), ways()).result;
            let until = |result: &RunResult| {
                let rows = 0..result.samples.len();
                let row = rows
                    .rev()
                    .find(|&row| result.samples.time_us[row] < from_ns / 1_000);
                result.samples.lost_packets[row.unwrap()]
            };
            assert_eq!(before(&new, from_ns), before(&old, from_ns));
            assert!(
                dropped(&old) > dropped(&new),
                "{} {}",
                dropped(&old),
                dropped(&new)
            );
            let late = (0..new.events.len())
                .filter(|&row| new.events.time_us[row] > from_ns / 1_000 + 100_000);
            let kinds: Vec<_> = late.map(|row| new.events.kind[row]).collect();
            assert!(
                !kinds.contains(&EventKind::Recovery),
                "{parent:?} {kinds:?}"
            );
            assert_eq!(until(&old), until(&new));
        }
    }
}

/// A link has another rate, delay and loss from then on, as with steps.
#[test]
fn a_link_changes() {
    let link = |change: Change| Change {
        link: Some(1),
        ..change
    };
    for change in [
        Change {
            rate_bps: Some(5_000_000),
            ..at(5 * S)
        },
        Change {
            rate_bps: Some(80_000_000),
            ..at(5 * S)
        },
        Change {
            delay_ns: Some(30 * MS),
            ..at(5 * S)
        },
        Change {
            loss_ppb: Some(10_000_000),
            ..at(5 * S)
        },
    ] {
        let old = simulate(&parent());
        let new = simulate(&branch(&parent(), &[link(change.clone())]));
        assert_eq!(before(&new, 5 * S), before(&old, 5 * S), "{change:?}");
        assert_ne!(before(&new, 10 * S), before(&old, 10 * S), "{change:?}");
    }
}

/// The connection keeps its window; the algorithm begins anew, or only its parameters change.
#[test]
fn an_algorithm_changes() {
    let old = simulate(&parent());
    for spec in ["reno", "bbr", "vegas", "cubic:beta=0.9"] {
        let new = simulate(&branch(&parent(), &[algorithm(5 * S, spec)]));
        assert_eq!(before(&new, 5 * S), before(&old, 5 * S), "{spec}");
        assert_ne!(before(&new, 10 * S), before(&old, 10 * S), "{spec}");
    }
    let same = simulate(&branch(&parent(), &[algorithm(5 * S, "cubic")]));
    assert_eq!(same.trace_hash, old.trace_hash, "Linux does nothing then");
    // Before it connects, it is a flow of the other algorithm.
    let mut late = parent();
    late.flows[0].start_ns = 2 * S;
    let changed = simulate(&branch(&late, &[algorithm(S, "reno")]));
    late.flows[0].algorithm = "reno".into();
    assert_eq!(before(&changed, 10 * S), before(&simulate(&late), 10 * S));
}

/// Their times say when they come, not their places in the list.
#[test]
fn changes_come_in_order_of_time() {
    let (first, second) = (drop_next(2 * S, 1), algorithm(5 * S, "vegas"));
    let hash = |changes: &[Change]| simulate(&branch(&parent(), changes)).trace_hash;
    assert_eq!(
        hash(&[first.clone(), second.clone()]),
        hash(&[second, first])
    );
}

#[test]
fn what_cannot_change_is_refused() {
    for (change, words) in [
        (
            at(10 * S),
            "changes[0].at_ns = 10000000000: the run has ended by then",
        ),
        (
            of_flow(S, 1),
            "changes[0].flow = 1: say beside it what changes",
        ),
        (
            Change {
                flow: Some(3),
                ..drop_next(S, 1)
            },
            "there is none; choose from 1 to 2",
        ),
        (
            Change {
                flow: None,
                ..drop_next(S, 1)
            },
            "it is of a flow; write flow = 1 beside it",
        ),
        (
            Change {
                rate_bps: Some(5_000),
                ..at(S)
            },
            "it is of a link; write link = 1 beside it",
        ),
        (
            Change {
                rate_bps: Some(5),
                link: Some(1),
                ..at(S)
            },
            "choose a value from 1000, or 0",
        ),
        (
            algorithm(S, "dctcp"),
            "hosts agree on ECN when they connect",
        ),
        (algorithm(S, "nosuch"), "unknown algorithm `nosuch`"),
    ] {
        let refused = refusal(&[change]);
        assert!(refused.contains(words), "{refused}");
    }
}
