//! Names the simulator after its sources, so that no kept result outlives a change of what made it.

mod version;

/// The algorithms themselves have fingerprints of their own.
const ENGINE: &[&str] = &[
    "Cargo.toml",
    "algorithms/host",
    "algorithms/include",
    "crates/host/Cargo.toml",
    "crates/host/build.rs",
    "crates/host/src",
    "crates/net/Cargo.toml",
    "crates/net/src",
    "crates/py-tables/src",
    "crates/py/src",
    "crates/sim/Cargo.toml",
    "crates/sim/src",
];

fn main() {
    let version = version::version(ENGINE, "ackclock-py");
    println!("cargo::rustc-env=ACKCLOCK_ENGINE={version}");
}
