//! Every algorithm, with every preset, passes the verifier of the kernel here.

mod common;

use ackclock_host::Algorithm;
use ackclock_linux::bpf::Registered;

#[test]
fn every_algorithm_and_preset_loads() {
    if common::skipped("loading algorithms") {
        return;
    }
    for algorithm in Algorithm::all() {
        let name = algorithm.name();
        let presets = algorithm
            .presets()
            .iter()
            .map(|preset| format!("{name}@{}", preset.name));
        for spec in std::iter::once(name.to_string()).chain(presets) {
            let registered = Registered::load(&spec).unwrap_or_else(|error| panic!("{error}"));
            assert!(
                available().contains(&registered.name().to_string()),
                "{spec}"
            );
            let name = registered.name().to_string();
            drop(registered);
            assert!(!available().contains(&name), "{spec}");
        }
    }
}

fn available() -> Vec<String> {
    let names = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    names
        .unwrap()
        .split_whitespace()
        .map(String::from)
        .collect()
}
