//! The packet scripts of this folder, for both hosts.

use ackclock_sim::packet_script::Script;
use std::path::Path;

/// The scripts of this directory; with `PACKETS=NAME` in the environment only that script.
pub fn scripts() -> Vec<Script> {
    let directory = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../sim/tests/packets/scripts"
    ));
    let mut scripts = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        if only().is_none_or(|only| only == name) {
            let text = std::fs::read_to_string(&file).unwrap();
            scripts.push(Script::parse(&name, &text).unwrap_or_else(|error| panic!("{error}")));
        }
    }
    scripts.sort_by(|one, other| one.name.cmp(&other.name));
    assert!(
        !scripts.is_empty(),
        "no script {only:?} in {directory:?}",
        only = only()
    );
    scripts
}

/// The script that the user asked for. Its listing is printed even if nothing differs.
pub fn only() -> Option<String> {
    std::env::var("PACKETS").ok()
}
