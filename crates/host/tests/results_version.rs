//! The version of the engine, a part of every kept result's key, changes with what the engine is
//! made of: its files and the packages that it depends on.

#[path = "../../py/version.rs"]
mod version;

use std::fs;
use std::path::Path;

const LOCK: &str = r#"version = 4

[[package]]
name = "engine"
version = "0.1.0"
dependencies = [
 "near 1.0.0",
]

[[package]]
name = "far"
version = "2.0.0"
checksum = "aa"

[[package]]
name = "near"
version = "1.0.0"
checksum = "bb"
dependencies = [
 "far",
]

[[package]]
name = "near"
version = "0.9.0"
checksum = "cc"

[[package]]
name = "stranger"
version = "1.0.0"
checksum = "dd"
"#;

fn digest(root: &Path, lock: &str) -> u64 {
    fs::write(root.join("Cargo.lock"), lock).unwrap();
    version::digest(root, &["src", "Cargo.toml"], "engine")
}

#[test]
fn it_changes_with_every_file_and_dependency_and_with_nothing_else() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    fs::create_dir(root.join("src")).unwrap();
    fs::write(root.join("src/lib.rs"), "a").unwrap();
    fs::write(root.join("Cargo.toml"), "b").unwrap();
    let first = digest(root, LOCK);
    for (from, to, changes) in [
        ("aa", "ab", true),
        ("bb", "ab", true),
        ("2.0.0", "2.0.1", true),
        ("cc", "ab", false),
        ("dd", "ab", false),
    ] {
        let other = digest(root, &LOCK.replace(from, to));
        assert_eq!(other != first, changes, "{from}");
    }
    fs::write(root.join("src/lib.rs"), "aa").unwrap();
    assert_ne!(digest(root, LOCK), first);
    fs::write(root.join("src/lib.rs"), "a").unwrap();
    fs::write(root.join("README.md"), "c").unwrap();
    assert_eq!(digest(root, LOCK), first);
    fs::write(root.join("src/cflags.txt"), "").unwrap();
    assert_ne!(digest(root, LOCK), first);
}

/// Kept results must outlive a new Rust, whose own hash may be another.
#[test]
fn it_is_the_same_with_every_rust() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("src")).unwrap();
    fs::write(root.path().join("src/lib.rs"), "a").unwrap();
    fs::write(root.path().join("Cargo.toml"), "b").unwrap();
    assert_eq!(digest(root.path(), LOCK), 0xfdd5_0392_de70_169c);
}
