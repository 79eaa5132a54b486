//! For build scripts: a version that changes with all that a program is made of.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The version of the package that is built, and the [`digest`] of what it is made of.
#[allow(dead_code, reason = "a test needs the digest only")]
pub fn version(parts: &[&str], package: &str) -> String {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..");
    for part in parts.iter().chain(&["Cargo.lock"]) {
        println!("cargo::rerun-if-changed={}", root.join(part).display());
    }
    let digest = digest(&root, parts, package);
    format!("{}+{digest:016x}", env!("CARGO_PKG_VERSION"))
}

/// A hash of those files and directories below `root`, and of the packages in Cargo.lock that
/// `package` depends on. It is the same with every Rust.
pub fn digest(root: &Path, parts: &[&str], package: &str) -> u64 {
    let mut sources = Vec::new();
    for part in parts {
        collect(&root.join(part), &mut sources);
    }
    sources.sort();
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    for source in &sources {
        let name = source.strip_prefix(root).expect("below the root");
        hash.add(name.to_string_lossy().as_bytes());
        hash.add(&fs::read(source).expect("a source is readable"));
    }
    let lock = fs::read_to_string(root.join("Cargo.lock")).expect("Cargo.lock is readable");
    for locked in dependencies(&lock, package) {
        hash.add(locked.as_bytes());
    }
    hash.0
}

/// FNV-1a.
struct Fnv(u64);

impl Fnv {
    /// The length keeps "ab" + "c" apart from "a" + "bc".
    fn add(&mut self, bytes: &[u8]) {
        let length = (bytes.len() as u64).to_le_bytes();
        for byte in bytes.iter().chain(&length) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

/// The entries of Cargo.lock for a package and all that it depends on, sorted.
fn dependencies<'a>(lock: &'a str, package: &str) -> BTreeSet<&'a str> {
    let entries: Vec<_> = lock.split("[[package]]").skip(1).map(str::trim).collect();
    let mut found = BTreeSet::new();
    let mut wanted = vec![package.to_string()];
    while let Some(name) = wanted.pop() {
        // "name", or "name version" where there are several.
        let mut words = name.split(' ');
        let (name, version) = (words.next(), words.next());
        let fits = |entry: &&&str| {
            field(entry, "name") == name
                && (version.is_none() || field(entry, "version") == version)
        };
        let mut known = entries.iter().filter(fits).peekable();
        assert!(known.peek().is_some(), "Cargo.lock has no {name:?}");
        for entry in known {
            if found.insert(*entry) {
                let list = entry
                    .split_once("dependencies = [")
                    .map_or("", |(_, list)| list);
                wanted.extend(list.split('"').skip(1).step_by(2).map(String::from));
            }
        }
    }
    found
}

/// The text of `name = "text"`.
fn field<'a>(entry: &'a str, name: &str) -> Option<&'a str> {
    let value = |line: &'a str| line.strip_prefix(name)?.strip_prefix(" = \"");
    entry.lines().find_map(value)?.strip_suffix('"')
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
