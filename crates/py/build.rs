//! Names the simulator and the testbed after their sources, so that no kept result outlives a
//! change of what made it.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

const ENGINE: &[&str] = &["crates/sim/src", "crates/host/src", "algorithms/host"];
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
    println!("cargo::rustc-env=ACKCLOCK_ENGINE={}", version(ENGINE));
    println!("cargo::rustc-env=ACKCLOCK_TESTBED={}", version(TESTBED));
}

/// The package's version and a hash of those files and directories.
fn version(parts: &[&str]) -> String {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..");
    let mut sources = Vec::new();
    for part in parts {
        println!("cargo::rerun-if-changed={}", root.join(part).display());
        collect(&root.join(part), &mut sources);
    }
    sources.sort();
    let mut hasher = DefaultHasher::new();
    for source in &sources {
        source
            .strip_prefix(&root)
            .expect("below the root")
            .hash(&mut hasher);
        fs::read(source)
            .expect("a source is readable")
            .hash(&mut hasher);
    }
    format!("{}+{:016x}", env!("CARGO_PKG_VERSION"), hasher.finish())
}

fn collect(path: &Path, sources: &mut Vec<PathBuf>) {
    if path.is_file() {
        sources.push(path.to_path_buf());
        return;
    }
    for entry in fs::read_dir(path).expect("a source directory is readable") {
        collect(&entry.expect("an entry is readable").path(), sources);
    }
}
