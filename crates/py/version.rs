//! For build scripts: a version that changes with the sources that it names.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// The package's version and a hash of those files and directories.
pub fn version(parts: &[&str]) -> String {
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
