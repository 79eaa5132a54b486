//! What the profiles of Linux 2.6 differ in; `docs/profiles.md` has the sources. The mechanisms
//! have tests of their own beside their code.

use crate::common;

use ackclock_host::CaState;
use ackclock_net::buffer::Buffer;
use ackclock_net::link::Bottleneck;
use ackclock_sim::scenario::{Flow, Profile, Scenario};
use ackclock_sim::RunResult;
use common::script::{at, Script};
use common::{dumbbell, flow, simulate, MS, S};
use std::path::Path;

const OLDEST: Profile = Profile::Linux2_6_18;
const OLD: Profile = Profile::Linux2_6_25;
const LATER: Profile = Profile::Linux2_6_32;

/// A window of 20 packets from `una` on, after its first timeout; and the end of the window.
fn timed_out(profile: Profile) -> (Script, u64, u64) {
    let (mut script, una) = at(profile, 20);
    let nxt = script.nxt;
    script.timeout();
    assert_eq!(script.sent, [(una, una + 1)], "the head");
    assert_eq!(script.ssthresh(), 10);
    (script, una, nxt)
}

/// Without F-RTO a timeout loses everything.
#[test]
fn a_timeout_of_2_6_18() {
    let (mut script, una, nxt) = timed_out(OLDEST);
    assert_eq!((script.sender.state(), script.cwnd()), (CaState::Loss, 1));
    assert_eq!(script.sender.tp().lost_out, (nxt - una) as u32);
    script.ack(100, una + 1, &[]);
    assert_eq!(script.sent, [(una + 1, una + 3)], "and sends it again");
}

/// With F-RTO nothing is lost yet, and the first new ACK lets two new segments leave. If the next
/// ACK is of segments that were not sent again, the timeout was spurious.
#[test]
fn a_spurious_timeout_of_2_6_25() {
    for profile in [OLD, LATER] {
        let (mut script, una, nxt) = timed_out(profile);
        assert_eq!(script.sender.state(), CaState::Disorder);
        assert_eq!(script.sender.tp().lost_out, 0);
        script.ack(100, una + 2, &[]);
        assert_eq!(script.sent, [(nxt, nxt + 2)]);
        script.ack(1, una + 4, &[]);
        assert_eq!(script.sender.state(), CaState::Cwr, "rate halving, to 10");
        assert_eq!((script.ssthresh(), script.sender.tp().lost_out), (10, 0));
        for segment in una + 5..=nxt + 2 {
            script.ack(1, segment, &[]);
        }
        script.ack(100, script.nxt, &[]);
        assert_eq!(script.sender.tp().total_retrans, 1, "only the head");
        assert_eq!(script.sender.state(), CaState::Open);
    }
}

/// SACKs of originals from before the timeout show the same.
#[test]
fn sacks_show_a_spurious_timeout_too() {
    let (mut script, una, _) = timed_out(OLD);
    script.ack(100, una + 2, &[]);
    script.ack(1, una + 2, &[(una + 3, una + 5)]);
    assert_eq!(script.sender.state(), CaState::Cwr);
    // But a SACK of what was sent after the timeout does not.
    let (mut script, una, nxt) = timed_out(OLD);
    script.ack(100, una + 2, &[]);
    script.ack(100, una + 2, &[(nxt, nxt + 1)]);
    assert_eq!(script.sender.state(), CaState::Loss);
    assert_eq!(
        script.cwnd(),
        3 + script.sender.packets_in_flight() - sent(&script)
    );
}

fn sent(script: &Script) -> u32 {
    script
        .sent
        .iter()
        .map(|(start, end)| (end - start) as u32)
        .sum()
}

/// A duplicate ACK instead: the rest is lost.
#[test]
fn a_justified_timeout_of_2_6_25() {
    let (mut script, una, nxt) = timed_out(OLD);
    script.ack(50, una, &[(una + 8, una + 9)]);
    assert_eq!(script.sender.state(), CaState::Disorder, "waits");
    assert!(script.sent.is_empty());
    script.ack(50, una + 1, &[(una + 8, una + 9)]);
    assert_eq!(script.sent, [(nxt, nxt + 2)], "two new segments");
    script.ack(100, una + 1, &[]);
    assert_eq!(script.sender.state(), CaState::Loss);
    let lost = script.sender.tp().lost_out;
    assert_eq!(
        u64::from(lost),
        nxt + 2 - (una + 1) - 1,
        "all but the SACKed"
    );
    assert_eq!(script.sent, [(una + 1, una + 4)], "three at once");
}

/// The head times out again: F-RTO again, and the reduction can no longer be undone.
#[test]
fn a_second_timeout() {
    let (mut script, una, _) = timed_out(OLD);
    script.timeout();
    assert_eq!(script.sent, [(una, una + 1)]);
    assert_eq!(script.sender.state(), CaState::Disorder);
    assert_eq!(script.ssthresh(), 10, "reduced once");
    assert_eq!(script.sender.tp().total_retrans, 2);
}

/// `docs/profiles.md` names a test for each difference: an existing file or function.
#[test]
fn the_page_names_tests() {
    fn texts(directory: &Path, text: &mut String) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                texts(&path, text);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                text.push_str(&std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/profiles.md")).unwrap();
    let mut code = String::new();
    texts(&root.join("crates/sim"), &mut code);
    let mut rows = 0;
    for row in page.lines().filter(|line| line.ends_with("` |")) {
        let cell = row.trim_end_matches(" |").rsplit_once(" | ").unwrap().1;
        for test in cell.split('`').skip(1).step_by(2) {
            let function = test.rsplit("::").next().unwrap();
            let exists = root.join(test).is_file() || code.contains(&format!("fn {function}()"));
            assert!(exists, "{test}");
        }
        rows += 1;
    }
    assert!(rows > 14, "{rows}");
}

const PROFILES: [Profile; 5] = [Profile::Linux6, Profile::Linux7, OLDEST, OLD, LATER];

/// A path that loses and jitters.
fn lossy(profile: Profile, flow: Flow) -> Scenario {
    let mut scenario = dumbbell(profile, 10_000_000, 25, vec![flow]);
    (scenario.tso, scenario.jitter_ns) = (profile.is_new(), MS / 50);
    scenario.bottleneck.drop_every_packets = Some(97);
    scenario
}

/// A flow of CUBIC with hosts of its own.
fn own(profile: Profile) -> Flow {
    Flow {
        profile: Some(profile),
        tso: Some(profile.is_new()),
        ..flow("cubic", 40 * MS)
    }
}

/// Whatever the scenario's profile is, packet for packet.
#[test]
fn a_flow_with_its_own_hosts_is_as_if_all_had_them() {
    for profile in PROFILES {
        let all = simulate(&lossy(profile, flow("cubic", 40 * MS)));
        assert!(all.flows.recoveries[0] > 5);
        for others in PROFILES {
            let alone = simulate(&lossy(others, own(profile)));
            assert_eq!(alone.trace_hash, all.trace_hash, "{profile:?} {others:?}");
            assert_eq!(alone.samples, all.samples, "{profile:?} {others:?}");
        }
    }
}

/// Over two links that share nothing, each flow is what it is alone with hosts of its profile.
#[test]
fn two_flows_keep_the_rules_of_their_hosts() {
    let link = Bottleneck {
        drop_every_packets: Some(97),
        ..Bottleneck::drop_tail(10_000_000, Buffer::Packets(25))
    };
    let over = |number, profile| Flow {
        route: vec![number],
        ..own(profile)
    };
    for [first, second] in [[Profile::Linux6, OLDEST], [LATER, Profile::Linux7]] {
        let mut scenario = dumbbell(LATER, 10_000_000, 25, vec![over(1, first), over(2, second)]);
        scenario.bottleneck = link.clone();
        scenario.links = vec![link.clone()];
        let both = simulate(&scenario);
        for (number, profile) in [(1, first), (2, second)] {
            let mut scenario = scenario.clone();
            (scenario.profile, scenario.tso) = (profile, profile.is_new());
            scenario.flows = vec![
                Flow {
                    route: vec![number],
                    ..flow("cubic", 40 * MS)
                };
                2
            ];
            // The other flow starts when this one has ended.
            scenario.flows[2 - number as usize].start_ns = 10 * S;
            let alone = simulate(&scenario);
            assert_eq!(
                windows(&both, number),
                windows(&alone, number),
                "{profile:?}"
            );
        }
        let [first, second] = [1, 2].map(|number| windows(&both, number));
        assert_ne!(first, second);
    }
}

/// When a flow had which window and what in flight.
fn windows(result: &RunResult, flow: u32) -> Vec<(u64, u32, u32)> {
    let samples = &result.samples;
    let rows = (0..samples.len()).filter(|row| samples.flow[*row] == flow);
    rows.map(|row| {
        let time_us = samples.time_us[row];
        (
            time_us,
            samples.cwnd_packets[row],
            samples.in_flight_packets[row],
        )
    })
    .collect()
}

/// An old host has no switches of today's Linux, wherever it is; a new one beside it has.
#[test]
fn what_a_flows_own_hosts_have_not_is_refused() {
    let refused = |flow: Flow, profile| {
        let error = common::try_with(&lossy(profile, flow), Default::default());
        error.map(|_| ()).unwrap_err().to_string()
    };
    let no_sack = |flow| Flow {
        sack: false,
        ..flow
    };
    let said = refused(no_sack(own(OLD)), Profile::Linux6);
    assert!(said.contains("flows[0].sack"), "{said}");
    let bbr = Flow {
        algorithm: "bbr".into(),
        ..own(LATER)
    };
    assert!(refused(bbr, Profile::Linux6).contains("cong_control"));
    simulate(&lossy(OLD, no_sack(own(Profile::Linux6))));
    let no_rack = Flow {
        rack: false,
        ..own(Profile::Linux7)
    };
    let said = refused(no_rack, Profile::Linux6);
    assert!(said.contains("no other rule since 6.17"), "{said}");
}
