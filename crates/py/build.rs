//! Names the simulator after its sources, so that no kept result outlives a change of what made it,
//! and embeds `examples/`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

mod version;

/// The algorithms themselves have fingerprints of their own.
const ENGINE: &[&str] = &[
    "Cargo.toml",
    "algorithms/host",
    "algorithms/include",
    "crates/host/Cargo.toml",
    "crates/host/build.rs",
    "crates/host/src",
    "crates/measure/Cargo.toml",
    "crates/measure/src",
    "crates/net/Cargo.toml",
    "crates/net/src",
    "crates/py-tables/src",
    "crates/py/src",
    "crates/quic/Cargo.toml",
    "crates/quic/src",
    "crates/sim/Cargo.toml",
    "crates/sim/src",
];

fn main() {
    let version = version::version(ENGINE, "ackclock-py");
    println!("cargo::rustc-env=ACKCLOCK_ENGINE={version}");

    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../examples");
    let root = root.canonicalize().expect("examples/ lies beside crates/");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut examples = Vec::new();
    files(&root, &mut examples);
    examples.sort();
    let mut text = String::from("&[\n");
    for file in &examples {
        let path = file.strip_prefix(&root).unwrap();
        writeln!(text, "    ({path:?}, include_str!({file:?})),").unwrap();
    }
    text += "]";
    let out = Path::new(&env::var("OUT_DIR").unwrap()).join("examples.rs");
    fs::write(out, text).unwrap();
}

/// Every file below a directory, but not what Python keeps beside its own.
fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("__pycache__") {
            continue;
        }
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}
