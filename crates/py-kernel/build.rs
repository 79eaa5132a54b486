//! Names the testbed after its sources, so that no kept result outlives a change of what made it.

#[path = "../py/version.rs"]
mod version;

/// With what the emulator takes from the simulator.
const TESTBED: &[&str] = &[
    "Cargo.toml",
    "algorithms/include",
    "crates/host/Cargo.toml",
    "crates/host/build.rs",
    "crates/host/src",
    "crates/linux/Cargo.toml",
    "crates/linux/bpf",
    "crates/linux/build.rs",
    "crates/linux/src",
    "crates/net/Cargo.toml",
    "crates/net/src",
    "crates/py-kernel/src",
    "crates/py-tables/src",
    "crates/sim/Cargo.toml",
    "crates/sim/src/record.rs",
    "crates/sim/src/scenario",
    "crates/sim/src/schema.rs",
    "crates/sim/src/topology.rs",
];

fn main() {
    let version = version::version(TESTBED, "ackclock-py-kernel");
    println!("cargo::rustc-env=ACKCLOCK_TESTBED={version}");
}
