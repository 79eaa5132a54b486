//! An algorithm's name decides nothing: a copy of its file under another name gives the same
//! packets and the same tables, with every profile.

use crate::common;

use ackclock_host::{Algorithm, Scratch};
use ackclock_sim::scenario::Profile;
use ackclock_sim::{run, Control};
use common::{dumbbell, flow, MS, S};

const PROFILES: [Profile; 4] = [
    Profile::Linux2_6_18,
    Profile::Linux2_6_25,
    Profile::Linux2_6_32,
    Profile::Linux6,
];

/// Packets' hash and tables of two flows that lose packets; or why it is refused, without names.
fn outcome(profile: Profile, algorithm: &str, name: &str) -> String {
    let mut second = flow(algorithm, 60 * MS);
    second.start_ns = S;
    let flows = vec![flow(algorithm, 40 * MS), second];
    let mut scenario = dumbbell(profile, 10_000_000, 30, flows);
    scenario.duration_ns = 6 * S;
    match run(&scenario, &Control::default()) {
        Ok(result) => {
            let lost: u64 = result.flows.retransmitted_packets.iter().sum();
            assert!(lost > 0, "{algorithm}, {profile:?}: no loss shows nothing");
            format!(
                "{:016x} {:?} {:?}",
                result.trace_hash, result.samples, result.events
            )
        }
        Err(error) => error
            .to_string()
            .replace(algorithm, "FILE")
            .replace(name, "NAME"),
    }
}

#[test]
fn a_copy_under_another_name_is_the_same() {
    let directory = Scratch::new().unwrap();
    for original in Algorithm::all() {
        let name = original.name();
        let text = String::from_utf8(original.sources()[0].text.clone()).unwrap();
        let declared = format!("CC_ALGORITHM({name},");
        assert_eq!(text.matches(&declared).count(), 1, "{name}");
        let renamed = text.replace(&declared, "CC_ALGORITHM(another,");
        let path = directory
            .write(&format!("{name}/another.c"), renamed.as_bytes())
            .unwrap();
        let copy = path.to_str().unwrap();
        for profile in PROFILES {
            assert!(
                outcome(profile, name, name) == outcome(profile, copy, "another"),
                "{name} under another name, {profile:?}"
            );
        }
    }
}
