//! Names the simulator after its sources, so that no kept result outlives a change of what made it.

mod version;

const ENGINE: &[&str] = &["crates/sim/src", "crates/host/src", "algorithms/host"];

fn main() {
    let version = version::version(ENGINE);
    println!("cargo::rustc-env=ACKCLOCK_ENGINE={version}");
}
