//! The kernel's own CUBIC: recorded under real traffic, and replayed in tcp_cubic.c.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ackclock_host::{AckSample, Algorithm, CongestionControl, Era, HostConfig, RateSample};
use libbpf_rs::{MapCore as _, MapFlags, MapType, ObjectBuilder, RingBufferBuilder};

use crate::call::{make, Call, Hook};
use crate::clang;
use crate::trace::{self, Record};

const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/replay");
const ALGORITHM: &str = "ac_record_cubic";

/// By their numbers in record_cubic.c.
const HOOKS: [Hook; 9] = [
    Hook::Ssthresh,
    Hook::CongAvoid,
    Hook::SetState,
    Hook::CwndEvent,
    Hook::InAckEvent,
    Hook::PktsAcked,
    Hook::CongControl,
    Hook::UndoCwnd,
    Hook::Init,
];

pub fn path() -> PathBuf {
    Path::new(HERE).join("linux-6.18-cubic.trace")
}

/// Runs traffic.py on the kernel's CUBIC and keeps every call.
pub fn record() {
    let directory = tempfile::tempdir().unwrap();
    let object = directory.path().join("record.o");
    let algorithms = Path::new(HERE).join("../../../../algorithms/include");
    let include = [algorithms.as_path(), Path::new(env!("LIBBPF_INCLUDE"))];
    let source = Path::new(HERE).join("record_cubic.c");
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

    let mut records: Vec<Record> = Vec::new();
    let mut builder = RingBufferBuilder::new();
    let ring = object.maps().find(|map| map.name() == "records").unwrap();
    builder
        .add(&ring, |bytes| {
            let words = bytes
                .chunks_exact(8)
                .map(|word| u64::from_le_bytes(word.try_into().unwrap()));
            records.push(Record::from_words(&words.collect::<Vec<_>>()));
            0
        })
        .unwrap();
    let ring = builder.build().unwrap();
    let mut traffic = Command::new("python3")
        .arg(Path::new(HERE).join("traffic.py"))
        .arg(ALGORITHM)
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
    let about = format!("cubic of Linux {}, tests/replay/traffic.py", release.trim());
    trace::write(&path(), &about, &by_flow(records));
}

/// One flow after the other, from its init on; sk becomes its number. (The handshake's ACK
/// comes before init.)
fn by_flow(records: Vec<Record>) -> Vec<Record> {
    let (mut flows, mut current) = (0, HashMap::new());
    let mut sorted = Vec::new();
    for mut record in records {
        if HOOKS[record.hook as usize] == Hook::Init {
            current.insert(record.sk, flows);
            flows += 1;
        }
        if let Some(flow) = current.get(&record.sk) {
            record.sk = *flow;
            sorted.push(record);
        }
    }
    sorted.sort_by_key(|record| record.sk);
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
    /// Each call that came out otherwise.
    pub differences: Vec<String>,
}

/// Makes the recorded calls again, with that algorithm. The sender's part of the socket is
/// the record's before each call, the private state is what our own calls made of it.
pub fn replay(spec: &str, records: &[Record]) -> Replayed {
    let configured = Algorithm::configure(spec).unwrap();
    let mut found = Replayed::default();
    let mut flow = None;
    for record in records {
        let hook = HOOKS[record.hook as usize];
        if hook == Hook::Init {
            let host = HostConfig {
                hz: record.hz as u32,
                era: Era::Linux6,
                ..HostConfig::default()
            };
            flow = Some(CongestionControl::new(&configured, host));
            found.flows += 1;
        }
        let cc = flow.as_mut().expect("a flow begins with init");
        found.calls += 1;
        match hook {
            Hook::Ssthresh => found.reductions += 1,
            Hook::UndoCwnd => found.undos += 1,
            Hook::SetState if record.argument0 == 4 => found.timeouts += 1,
            Hook::CwndEvent if record.argument0 == 0 => found.pauses += 1,
            _ => {}
        }
        // The clock may have ticked between the record of it and CUBIC's own look at it.
        let before = cc.tp().clone();
        let mut ours = answer(cc, record, record.jiffies);
        if ours != theirs(record) && record.jiffies_after != record.jiffies {
            *cc.tp_mut() = before;
            ours = answer(cc, record, record.jiffies_after);
        }
        if ours != theirs(record) {
            let theirs = theirs(record);
            found.differences.push(format!(
                "{hook:?}\nours:   {ours:?}\nkernel: {theirs:?}\n{record:?}"
            ));
        }
    }
    found
}

/// Result, cwnd, its credit, ssthresh, and the private state as `struct bictcp` has it.
type Answer = ([u64; 4], [u32; 15]);

fn theirs(record: &Record) -> Answer {
    let mut private = [0; 15];
    for (index, word) in private.iter_mut().enumerate() {
        *word = (record.private[index / 2] >> (32 * (index % 2))) as u32;
    }
    // u16 unused, u8 sample_cnt, u8 found
    private[10] >>= 16;
    let cwnd = record.snd_cwnd_after;
    (
        [
            record.result,
            cwnd,
            record.snd_cwnd_cnt_after,
            record.snd_ssthresh_after,
        ],
        private,
    )
}

fn answer(cc: &mut CongestionControl, record: &Record, jiffies: u64) -> Answer {
    let tp = cc.tp_mut();
    let csk = &mut tp.inet_conn;
    csk.sk.sk_host.jiffies = jiffies as u32;
    csk.sk.sk_pacing_rate = record.sk_pacing_rate;
    csk.sk.sk_pacing_status = record.sk_pacing_status as u32;
    csk.sk.sk_gso_max_size = record.sk_gso_max_size as u32;
    csk.icsk_ca_state = record.icsk_ca_state as u8;
    tp.tcp_mstamp = record.tcp_mstamp;
    tp.snd_una = record.snd_una as u32;
    tp.snd_nxt = record.snd_nxt as u32;
    tp.snd_cwnd = record.snd_cwnd as u32;
    tp.snd_cwnd_cnt = record.snd_cwnd_cnt as u32;
    tp.snd_ssthresh = record.snd_ssthresh as u32;
    tp.snd_cwnd_clamp = record.snd_cwnd_clamp as u32;
    tp.prior_cwnd = record.prior_cwnd as u32;
    tp.packets_out = record.packets_out as u32;
    tp.max_packets_out = record.max_packets_out as u32;
    tp.is_cwnd_limited = record.is_cwnd_limited as u8;
    tp.lsndtime = record.lsndtime as u32;
    tp.mss_cache = record.mss_cache as u32;
    tp.srtt_us = record.srtt_us as u32;
    let call = Call {
        hook: HOOKS[record.hook as usize],
        arguments: [record.argument0 as u32, record.argument1 as u32],
        result: 0,
        sample: AckSample {
            pkts_acked: record.pkts_acked as u32,
            rtt_us: record.rtt_us as i32,
            in_flight: record.in_flight as u32,
        },
        rate: RateSample::default(),
        tp: tp.clone(),
    };
    let outcome = make(cc, &call);
    // The members of struct cubic, in their order but for ack_ratio, which Linux has no more.
    let ours = |index: usize| (outcome.private[index / 2] >> (32 * (index % 2))) as u32;
    let mut private = std::array::from_fn(ours);
    private[10] = ours(15) & 0xffff;
    let window = [
        outcome.result,
        outcome.snd_cwnd,
        outcome.snd_cwnd_cnt,
        outcome.snd_ssthresh,
    ];
    (window.map(u64::from), private)
}
