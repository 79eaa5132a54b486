//! Names the engine after its sources, so that no cached result outlives a change of it.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

fn main() {
    let root = Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..");
    let mut sources = Vec::new();
    for directory in ["crates/sim/src", "crates/host/src", "algorithms/host"] {
        println!("cargo::rerun-if-changed={}", root.join(directory).display());
        collect(&root.join(directory), &mut sources);
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
    let version = env!("CARGO_PKG_VERSION");
    println!(
        "cargo::rustc-env=ACKCLOCK_ENGINE={version}+{:016x}",
        hasher.finish()
    );
}

fn collect(directory: &Path, sources: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a source directory is readable") {
        let path = entry.expect("an entry is readable").path();
        if path.is_dir() {
            collect(&path, sources);
        } else {
            sources.push(path);
        }
    }
}
