//! The reference vectors, `vectors/*.json`: what every algorithm answers to a script, step
//! by step. `make vectors` writes what the test compares; vectors/README.md says what
//! they mean.

mod private_state;
mod sender;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use ackclock_host::{Algorithm, Configured, Era, HostConfig};
use private_state::{members, Member};
use sender::{At, Operation, Sender};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const EPOCH_US: u64 = 1_000_000_000;
/// A configuration's cases.
const EVERY: [(&str, Era); 4] = [
    ("everything", Era::Linux6),
    ("large", Era::Linux6),
    ("everything", Era::Linux2_6),
    ("large", Era::Linux2_6),
];

/// Those of an algorithm that needs ECN, which old kernels did not have; the first two are those of
/// an algorithm with `cong_control`, which they did not have either.
const WITH_ECN: [(&str, Era); 3] = [
    ("everything", Era::Linux6),
    ("large", Era::Linux6),
    ("marks", Era::Linux6),
];

/// Those of CUBICs, whose clamps in packets per RTT and per second are the same at 200 ms.
const WITH_CLAMPS: [(&str, Era); 5] = [
    ("everything", Era::Linux6),
    ("large", Era::Linux6),
    ("everything", Era::Linux2_6),
    ("large", Era::Linux2_6),
    ("clamps", Era::Linux2_6),
];

fn scripts(algorithm: &Algorithm) -> &'static [(&'static str, Era)] {
    if algorithm.needs_ecn() {
        &WITH_ECN
    } else if algorithm
        .params()
        .iter()
        .any(|param| param.name == "max_rate")
    {
        &WITH_CLAMPS
    } else if algorithm.has_cong_control() {
        &WITH_ECN[..2]
    } else {
        &EVERY
    }
}

/// A bottleneck, to make the script's RTTs and losses be like a network's.
#[derive(Clone, Copy)]
struct Bottleneck {
    rtt_us: u32,
    packet_us: u32,
    buffer_packets: u32,
}

impl Bottleneck {
    fn capacity_packets(self) -> u32 {
        self.rtt_us / self.packet_us + self.buffer_packets
    }

    fn rtt_us(self, window: u32) -> u32 {
        self.rtt_us
            .max(window.min(self.capacity_packets()) * self.packet_us)
    }
}

/// A flow that writes down what is done to it.
struct Script<'a> {
    sender: Sender,
    members: &'a [Member],
    path: Bottleneck,
    now_us: u64,
    limit_packets: u32,
    steps: Vec<String>,
}

impl Script<'_> {
    fn step(&mut self, operation: Operation) {
        self.sender.apply(self.now_us, operation);
        let tp = self.sender.cc.tp();
        let private = &tp.inet_conn.icsk_ca_priv;
        let rate = tp.inet_conn.sk.sk_pacing_rate;
        let paced = self.sender.cc.has_cong_control().then_some(rate);
        let state: Vec<_> = self
            .members
            .iter()
            .map(|member| member.value(private).to_string())
            .chain(paced.map(|rate| rate.to_string()))
            .collect();
        self.steps.push(format!(
            "[[{}],{},{},{},[{}]]",
            At(self.now_us, operation),
            tp.snd_cwnd,
            tp.snd_cwnd_cnt,
            tp.snd_ssthresh,
            state.join(",")
        ));
    }

    fn window(&self) -> u32 {
        let cwnd = self.sender.cc.tp().snd_cwnd;
        if self.limit_packets > 0 {
            cwnd.min(self.limit_packets)
        } else {
            cwnd
        }
    }

    /// The ACKs of a window as one step, two packets each, spaced by the bottleneck.
    fn round(&mut self) {
        let window = self.window();
        let (rtt_us, gap_us) = (self.path.rtt_us(window), 2 * self.path.packet_us);
        let count = (window / 2).clamp(1, self.path.capacity_packets());
        let packets = if window > 1 { 2 } else { 1 };
        self.step(Operation::Ack {
            packets,
            rtt_us,
            count,
            gap_us,
        });
        self.now_us += u64::from(rtt_us.max(count * gap_us));
    }

    /// So many rounds, unless the window grows beyond what the path holds before.
    fn rounds(&mut self, rounds: u32) {
        for _ in 0..rounds {
            if self.window() > self.path.capacity_packets() {
                break;
            }
            self.round();
        }
    }

    /// ACKs one by one: for one packet, two, three.
    fn acks(&mut self, count: u32) {
        let rtt_us = self.path.rtt_us(self.window());
        for index in 0..count {
            self.step(Operation::Ack {
                packets: 1 + index % 3,
                rtt_us,
                count: 1,
                gap_us: 0,
            });
            self.now_us += 2 * u64::from(self.path.packet_us);
        }
        self.now_us += u64::from(rtt_us);
    }

    fn wait(&mut self, us: u32) {
        self.now_us += u64::from(us);
    }

    fn recovery(&mut self) {
        let rtt_us = self.path.rtt_us(self.window());
        self.step(Operation::Loss);
        let count = (self.window() / 2).clamp(1, 10);
        self.step(Operation::Dupack {
            rtt_us,
            count,
            gap_us: self.path.packet_us,
        });
        self.wait(rtt_us);
        self.step(Operation::Recovered);
        self.wait(rtt_us);
    }

    fn timeout(&mut self, rounds: u32) {
        self.wait(300_000);
        self.step(Operation::Timeout);
        let rtt_us = self.path.rtt_us(1);
        self.wait(rtt_us);
        self.step(Operation::Ack {
            packets: 1,
            rtt_us,
            count: 1,
            gap_us: 0,
        });
        self.step(Operation::Recovered);
        self.wait(rtt_us);
        self.rounds(rounds);
    }

    fn limit(&mut self, packets: u32) {
        self.limit_packets = packets;
        self.step(Operation::Limit { packets });
    }

    /// A window of ACKs, so many of which have ECE, and the round trip in which they have effect.
    fn marked_round(&mut self, marks: u32) {
        let rtt_us = self.path.rtt_us(self.window());
        for _ in 0..marks {
            let packets = 2;
            self.step(Operation::Echo { packets, rtt_us });
            self.wait(2 * self.path.packet_us);
        }
        self.round();
        if marks > 0 {
            self.step(Operation::Recovered);
        }
    }

    /// 50 Mb/s and 40 ms: the queue marks much, less, nothing and all.
    fn marks(&mut self) {
        self.step(Operation::Start);
        self.wait(40_000);
        self.rounds(4);
        for marks in [1, 0, 3, 0, 0, 12, 1, 1, 0, 5] {
            self.marked_round(marks);
        }
        // Alpha falls to 0.
        self.rounds(60);
        for _ in 0..6 {
            let all = self.window() / 2;
            self.marked_round(all);
        }
        self.recovery();
        self.rounds(3);
        self.marked_round(2);
        self.timeout(4);
        self.marked_round(1);
        self.step(Operation::Echo {
            packets: 1,
            rtt_us: 40_000,
        });
        self.step(Operation::Undo);
        self.round();
    }

    /// Congestion avoidance for so long, as one step, the window's ACKs evenly spread.
    fn avoid(&mut self, us: u32) {
        let window = self.window().max(2);
        let rtt_us = self.path.rtt_us(window);
        let gap_us = 2 * rtt_us / window.min(rtt_us);
        let count = us / gap_us;
        self.step(Operation::Ack {
            packets: 2,
            rtt_us,
            count,
            gap_us,
        });
        self.wait(us);
    }

    /// Out of slow start, up to 40 s of growth to what the path holds.
    fn fill(&mut self) {
        for _ in 0..4 {
            let tp = self.sender.cc.tp();
            let slow_start = tp.snd_cwnd < tp.snd_ssthresh;
            if !slow_start && tp.snd_cwnd < self.path.capacity_packets() {
                self.avoid(10_000_000);
            }
        }
    }

    /// 50 Mb/s and 40 ms, then 160 ms: everything that can happen to a connection.
    fn everything(&mut self) {
        self.step(Operation::Start);
        self.wait(40_000);
        self.acks(4);
        self.rounds(8);
        self.recovery();
        self.acks(3);
        self.rounds(8);
        self.recovery();
        self.rounds(2);
        self.avoid(3_000_000);
        self.avoid(5_000_000);
        self.limit(10);
        self.rounds(1);
        self.limit(0);
        self.rounds(1);
        self.wait(500_000);
        self.step(Operation::Start);
        self.wait(40_000);
        self.rounds(2);
        self.step(Operation::Loss);
        self.wait(10_000);
        self.step(Operation::Undo);
        self.rounds(1);
        self.path.rtt_us = 160_000;
        self.rounds(4);
        self.recovery();
        self.rounds(4);
        self.timeout(8);
        self.timeout(2);
        self.timeout(2);
        self.timeout(6);
    }

    /// 200 Mb/s and 200 ms, with RTTs that rise and fall: large windows.
    fn large(&mut self) {
        self.step(Operation::Start);
        self.wait(200_000);
        self.rounds(18);
        self.fill();
        self.recovery();
        self.rounds(2);
        self.avoid(8_000_000);
        self.avoid(8_000_000);
        self.recovery();
        for rtt_us in [
            200_000, 202_000, 206_000, 214_000, 230_000, 220_000, 204_000, 200_000,
        ] {
            self.path.rtt_us = rtt_us;
            self.round();
        }
        self.avoid(8_000_000);
        self.avoid(8_000_000);
        self.avoid(8_000_000);
        self.timeout(10);
    }

    /// 200 Mb/s and 100 ms: growth after losses of large windows.
    fn clamps(&mut self) {
        self.step(Operation::Start);
        self.wait(100_000);
        self.rounds(12);
        self.fill();
        self.recovery();
        self.avoid(2_000_000);
        self.avoid(2_000_000);
        self.recovery();
        self.avoid(2_000_000);
    }
}

/// One flow through a script, as an element of "cases".
fn case(configured: &Configured, members: &[Member], era: Era, script: &str) -> String {
    let hz = if era == Era::Linux6 { 1000 } else { 250 };
    let host = HostConfig {
        hz,
        era,
        ..HostConfig::default()
    };
    let (rtt_us, packet_us, buffer_packets) = match script {
        "large" => (200_000, 60, 1_600),
        "clamps" => (100_000, 60, 1_600),
        _ => (40_000, 240, 80),
    };
    let mut flow = Script {
        sender: Sender::new(configured, host, EPOCH_US),
        members,
        path: Bottleneck {
            rtt_us,
            packet_us,
            buffer_packets,
        },
        now_us: EPOCH_US,
        limit_packets: 0,
        steps: Vec::new(),
    };
    match script {
        "everything" => flow.everything(),
        "marks" => flow.marks(),
        "clamps" => flow.clamps(),
        _ => flow.large(),
    }
    let kernel = if era == Era::Linux6 {
        "linux-6"
    } else {
        "linux-2.6"
    };
    let params: Vec<_> = configured
        .values()
        .iter()
        .map(|(name, value)| format!("\"{name}\":{value}"))
        .collect();
    format!(
        "{{\"spec\":\"{}\",\"script\":\"{script}\",\"kernel\":\"{kernel}\",\"hz\":{hz},\n\
         \"parameters\":{{{}}},\n\"steps\":[\n{}]}}",
        configured.spec(),
        params.join(","),
        flow.steps.join(",\n")
    )
}

/// The presets that are more than another name of what came before.
fn distinct(algorithm: &Algorithm) -> Vec<Configured> {
    let name = algorithm.name();
    let presets = algorithm
        .presets()
        .iter()
        .map(|preset| format!("{name}@{}", preset.name));
    let mut all: Vec<Configured> = Vec::new();
    for spec in [name.to_string()].into_iter().chain(presets) {
        let configured = Algorithm::configure(&spec).unwrap();
        if all.iter().all(|one| one.values() != configured.values()) {
            all.push(configured);
        }
    }
    all
}

fn algorithm_members(algorithm: &Algorithm) -> Vec<Member> {
    let file = algorithm.source_path().strip_prefix("algorithms/").unwrap();
    members(&Path::new(ROOT).join("algorithms"), file)
}

/// The whole text of an algorithm's file.
fn vectors(algorithm: &Algorithm) -> String {
    let members = algorithm_members(algorithm);
    let mut text = format!(
        "{{\"algorithm\":{:?},\"source\":{:?},\n\"state\":[",
        algorithm.name(),
        algorithm.source_path()
    );
    for (index, member) in members.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        write!(text, "{comma}\n[{:?},{:?}]", member.name, member.doc).unwrap();
    }
    if algorithm.has_cong_control() {
        let comma = if members.is_empty() { "" } else { "," };
        write!(text, "{comma}\n[\"sk_pacing_rate\",\"bytes per second\"]").unwrap();
    }
    let cases: Vec<_> = distinct(algorithm)
        .iter()
        .flat_map(|configured| {
            let each = scripts(algorithm).iter();
            each.map(|&(script, era)| case(configured, &members, era, script))
        })
        .collect();
    write!(text, "],\n\"cases\":[\n{}]}}\n", cases.join(",\n")).unwrap();
    text
}

#[test]
fn the_vectors_are_what_the_algorithms_do() {
    let directory = Path::new(ROOT).join("vectors");
    if env::var_os("ACKCLOCK_WRITE_VECTORS").is_some() {
        for old in files(&directory) {
            fs::remove_file(old).unwrap();
        }
        for algorithm in Algorithm::all() {
            let file = directory.join(format!("{}.json", algorithm.name()));
            fs::write(file, vectors(algorithm)).unwrap();
        }
    }
    let mut known = Vec::new();
    for algorithm in Algorithm::all() {
        let file = directory.join(format!("{}.json", algorithm.name()));
        let kept = fs::read_to_string(&file).unwrap_or_default();
        let is = vectors(algorithm);
        if let Some((kept, is)) = kept.lines().zip(is.lines()).find(|(kept, is)| kept != is) {
            panic!("{file:?} is out of date, `make vectors` writes it anew:\n{kept}\n{is}");
        }
        assert_eq!(
            kept.len(),
            is.len(),
            "{file:?} is out of date; `make vectors`"
        );
        known.push(file);
    }
    assert_eq!(
        files(&directory),
        known,
        "vectors of no algorithm; `make vectors`"
    );
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    files.sort();
    files
}

/// A vector that did not would prove nothing about its preset.
#[test]
fn the_vectors_tell_presets_apart() {
    for algorithm in Algorithm::all() {
        let members = algorithm_members(algorithm);
        let mut seen: Vec<(String, String)> = Vec::new();
        for configured in distinct(algorithm) {
            let steps = |&(script, era): &(&str, Era)| {
                let case = case(&configured, &members, era, script);
                case.split_once("\"steps\"").unwrap().1.to_string()
            };
            let steps: String = scripts(algorithm).iter().map(steps).collect();
            let spec = configured.spec().to_string();
            let same = seen.iter().find(|(_, known)| *known == steps);
            assert!(same.is_none(), "{spec} does what {} does", same.unwrap().0);
            seen.push((spec, steps));
        }
    }
}

/// The C compiler has the last word on where a member lies.
#[test]
fn the_members_lie_where_c_puts_them() {
    let directory = tempfile::tempdir().unwrap();
    for algorithm in Algorithm::all() {
        let source = Path::new(ROOT).join(algorithm.source_path());
        let mut text = format!("#include {source:?}\n");
        let members = algorithm_members(algorithm);
        // A bit-field has no address; the members behind it have one.
        let whole = members.iter().filter(|member| member.bits.is_none());
        for Member {
            name, offset, size, ..
        } in whole
        {
            writeln!(
                text,
                "_Static_assert(__builtin_offsetof(cc_private, {name}) == {offset} && \
                 sizeof(((cc_private *)0)->{name}) == {size}, \"{name}\");"
            )
            .unwrap();
        }
        // No member is missing, but for padding.
        if let Some(last) = members.last() {
            let end = last.offset + last.size;
            writeln!(
                text,
                "_Static_assert(sizeof(cc_private) - {end} < 8, \"its size\");"
            )
            .unwrap();
        }
        let file = directory.path().join("members.c");
        fs::write(&file, text).unwrap();
        let output = Command::new("cc")
            .args(["-std=gnu11", "-fsyntax-only", "-I"])
            .arg(Path::new(ROOT).join("algorithms/include"))
            .arg(&file)
            .output()
            .unwrap();
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {messages}", algorithm.name());
    }
}
