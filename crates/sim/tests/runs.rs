//! Whole runs: what they report, and how they refuse.

use crate::common;

use ackclock_sim::record::EventKind;
use ackclock_sim::scenario::{Flow, Profile, Session, Sizes};
use ackclock_sim::{capture::Capture, run_with, Options, Prepared};
use ackclock_sim::{run, Control, RunError};
use common::{dumbbell, flow, simulate, MS, S};
use std::sync::atomic::Ordering;

/// An algorithm's impossible window ends the run with its name and value, in every profile.
#[test]
fn impossible_windows_are_refused() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/wild.c");
    let cases = [
        ("cwnd=0", "snd_cwnd", 0),
        ("cwnd=4294967295", "snd_cwnd", u32::MAX),
        ("ssthresh=0", "snd_ssthresh", 0),
        ("ssthresh=4294967295", "snd_ssthresh", u32::MAX),
    ];
    for profile in [Profile::Linux6, Profile::Linux2_6_25] {
        for (settings, wanted, number) in cases {
            let algorithm = format!("{file}:{settings}");
            let scenario = dumbbell(profile, 10_000_000, 50, vec![flow(&algorithm, 20 * MS)]);
            match run(&scenario, &Control::default()) {
                Err(RunError::Algorithm {
                    flow: 1,
                    field,
                    value,
                    ..
                }) => assert_eq!((field, value), (wanted, number)),
                other => panic!("{settings}: {:?}", other.map(|_| "ran")),
            }
        }
    }
}

#[test]
fn a_sessions_impossible_window_is_refused_too() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/wild.c:cwnd=0");
    let mut scenario = dumbbell(Profile::Linux6, 10_000_000, 50, vec![flow("reno", 20 * MS)]);
    let session = |algorithm| Session {
        flow: flow(algorithm, 20 * MS),
        gap_ns: 0,
        sizes: Sizes::Equal,
        route_ssthresh: false,
    };
    scenario.sessions = vec![session("reno"), session(file)];
    let error = run(&scenario, &Control::default()).map(|_| ()).unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with("session 2: "), "{message}");
    assert!(message.contains("wild.c:cwnd=0: snd_cwnd = 0"), "{message}");
}

/// More transfers than memory holds are refused before any is made.
#[test]
fn too_many_transfers_are_refused() {
    let mut scenario = dumbbell(Profile::Linux6, 10_000_000, 50, vec![]);
    scenario.duration_ns = 3_600 * S;
    let short = Flow {
        size_bytes: Some(1),
        ..flow("reno", 1_000)
    };
    scenario.sessions = vec![Session {
        flow: short,
        gap_ns: 10_000,
        sizes: Sizes::Equal,
        route_ssthresh: false,
    }];
    let error = run(&scenario, &Control::default()).map(|_| ()).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("sessions = 1: they may make 300000000"),
        "{error}"
    );
}

/// HyStart ends slow start without a loss: one row says so, before the first recovery.
#[test]
fn hystarts_exit_is_an_event() {
    for profile in [Profile::Linux6, Profile::Linux2_6_25] {
        let scenario = dumbbell(profile, 100_000_000, 833, vec![flow("cubic", 100 * MS)]);
        let kinds = simulate(&scenario).events.kind;
        let exits = kinds
            .iter()
            .filter(|kind| **kind == EventKind::SlowStartExit);
        assert_eq!(exits.count(), 1, "{profile:?}");
        assert_eq!(kinds[1], EventKind::SlowStartExit, "{kinds:?}");
    }
}

#[test]
fn a_cancelled_run_ends() {
    let mut scenario = dumbbell(
        Profile::Linux6,
        100_000_000,
        833,
        vec![flow("reno", 100 * MS)],
    );
    scenario.duration_ns = 3_600 * S;
    let control = Control::default();
    control.cancelled.store(true, Ordering::Relaxed);
    assert_eq!(
        run(&scenario, &control).map(|_| ()),
        Err(RunError::Cancelled)
    );
}

/// A finite flow ends, and its time is that of its transmission: 100 segments from IW 10.
#[test]
fn a_finite_flow_completes() {
    let mut short = flow("reno", 100 * MS);
    short.size_bytes = Some(100 * 1448 - 7);
    let scenario = dumbbell(Profile::Linux6, 1_000_000_000, 1000, vec![short]);
    let result = simulate(&scenario);
    assert_eq!(result.flows.delivered_bytes[0], 100 * 1448 - 7);
    // Handshake, then windows of 10, 20, 40, 80: five round trips.
    assert_eq!(result.flows.completed_us[0] / 10_000, 50);
    assert_eq!(result.events.kind.last(), Some(&EventKind::Completed));
}

/// A capture has a FIN with the last data, and in no other packet.
#[test]
fn the_last_packet_of_a_capture_has_a_fin() {
    const ENHANCED_PACKET: u32 = 6;
    // Behind the head of a block, Ethernet and IP; and the TCP flags.
    const FLAGS: usize = 28 + 14 + 20 + 13;
    let mut scenario = dumbbell(Profile::Linux6, 10_000_000, 50, vec![flow("reno", 20 * MS)]);
    scenario.flows[0].size_bytes = Some(20 * 1448 - 100);
    let prepared = Prepared::new(scenario.clone(), &Default::default()).unwrap();
    let mut file = Vec::new();
    let options = Options {
        capture: Some(Capture::new(&mut file, &scenario, None, 100)),
        ..Options::default()
    };
    run_with(&prepared, &Control::default(), options).unwrap();
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let (mut at, mut flags) = (0, Vec::new());
    while at < file.len() {
        if word(at) == ENHANCED_PACKET {
            flags.push(file[at + FLAGS]);
        }
        at += word(at + 4) as usize;
    }
    let with_fin = flags.iter().filter(|flags| **flags & 1 != 0);
    assert_eq!(
        with_fin.count(),
        2,
        "one packet, at its sender and its receiver"
    );
}

/// Timers of five connections without jitter often fire at one time: in the order of Linux's wheel. What Linux
/// 6.12 carries of them, in virtual time.
#[test]
fn timers_of_one_time_fire_in_the_wheels_order() {
    let flows = (0..5).map(|number| Flow {
        start_ns: number * 100 * MS,
        ..flow("reno", 2 * MS)
    });
    let mut scenario = dumbbell(Profile::Linux6, 1_000_000, 4, flows.collect());
    scenario.duration_ns = 20 * S;
    let flows = simulate(&scenario).flows;
    let delivered = [644_360, 192_584, 783_368, 687_800, 98_464];
    assert_eq!(flows.delivered_bytes, delivered);
    assert_eq!(flows.retransmitted_packets, [143, 54, 148, 148, 36]);
}
