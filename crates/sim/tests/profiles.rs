//! What the profiles of Linux 2.6 differ in; `docs/profiles.md` has the sources. The mechanisms
//! have tests of their own beside their code.

mod common;

use ackclock_host::CaState;
use ackclock_sim::scenario::Profile;
use common::script::{at, Script};
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
