//! Records what the kernel's own algorithm does under real traffic.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use libbpf_rs::{MapCore as _, MapFlags, MapType, ObjectBuilder, RingBufferBuilder};

use crate::call::Hook;
use crate::clang;
use crate::trace::{self, Row};

const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/replay");

/// The trace of an algorithm.
pub fn path(algorithm: &str) -> PathBuf {
    Path::new(HERE).join(format!("linux-6.18-{algorithm}.trace"))
}

/// Runs traffic.py on the kernel's `algorithm`, whose calls record_`algorithm`.c passes on, and
/// keeps every call.
pub fn record<R: Row>(algorithm: &str) {
    let directory = tempfile::tempdir().unwrap();
    let object = directory.path().join("record.o");
    let algorithms = Path::new(HERE).join("../../../../algorithms/include");
    let include = [algorithms.as_path(), Path::new(env!("LIBBPF_INCLUDE"))];
    let source = Path::new(HERE).join(format!("record_{algorithm}.c"));
    let compile = clang::command(&clang::find().unwrap(), &include, &source, &object).output();
    let output = compile.unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );

    let mut object = ObjectBuilder::default()
        .open_file(&object)
        .unwrap()
        .load()
        .unwrap();
    let mut ops = object
        .maps_mut()
        .find(|map| map.map_type() == MapType::StructOps)
        .unwrap();
    let link = ops.attach_struct_ops().unwrap();

    let mut records: Vec<R> = Vec::new();
    let mut builder = RingBufferBuilder::new();
    let ring = object.maps().find(|map| map.name() == "records").unwrap();
    builder
        .add(&ring, |bytes| {
            let words = bytes
                .chunks_exact(8)
                .map(|word| u64::from_le_bytes(word.try_into().unwrap()));
            records.push(R::from_words(&words.collect::<Vec<_>>()));
            0
        })
        .unwrap();
    let ring = builder.build().unwrap();
    let mut traffic = Command::new("python3")
        .arg(Path::new(HERE).join("traffic.py"))
        .arg(format!("ac_record_{algorithm}"))
        .spawn()
        .unwrap();
    while traffic.try_wait().unwrap().is_none() {
        ring.poll(Duration::from_millis(50)).unwrap();
    }
    ring.consume().unwrap();
    drop((ring, link));
    let lost = object
        .maps()
        .find(|map| map.name().to_string_lossy().ends_with(".bss"))
        .unwrap();
    let lost = lost.lookup(&[0; 4], MapFlags::ANY).unwrap().unwrap();
    assert!(
        lost.iter().all(|byte| *byte == 0),
        "the ring buffer was full"
    );

    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let about = format!(
        "{algorithm} of Linux {}, tests/replay/traffic.py",
        release.trim()
    );
    trace::write(&path(algorithm), &about, &by_flow(records));
}

/// One flow after the other, from its init on; sk becomes its number. (The handshake's ACK
/// comes before init.)
fn by_flow<R: Row>(records: Vec<R>) -> Vec<R> {
    let (mut flows, mut current) = (0, HashMap::new());
    let mut sorted = Vec::new();
    for mut record in records {
        if record.hook() == Hook::Init {
            current.insert(record.sk(), flows);
            flows += 1;
        }
        if let Some(flow) = current.get(&record.sk()) {
            record.set_sk(*flow);
            sorted.push(record);
        }
    }
    sorted.sort_by_key(|record| record.sk());
    sorted
}

/// What the replay found.
#[derive(Debug, Default)]
pub struct Replayed {
    pub calls: usize,
    pub flows: usize,
    pub reductions: usize,
    pub timeouts: usize,
    pub undos: usize,
    /// Times when the application had paused.
    pub pauses: usize,
    /// Calls in which the kernel drew another random number.
    pub draws: usize,
    /// Each call that came out otherwise.
    pub differences: Vec<String>,
}
