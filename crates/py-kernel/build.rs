//! Names the testbed after its sources, so that no kept result outlives a change of what made it.

#[path = "../py/version.rs"]
mod version;

/// With what the emulator takes from the simulator.
const TESTBED: &[&str] = &[
    "crates/linux/src",
    "crates/linux/bpf",
    "crates/sim/src/link.rs",
    "crates/sim/src/rng.rs",
    "crates/sim/src/scenario.rs",
    "crates/sim/src/schedule.rs",
];

fn main() {
    let version = version::version(TESTBED);
    println!("cargo::rustc-env=ACKCLOCK_TESTBED={version}");
}
