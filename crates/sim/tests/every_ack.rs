//! Real Linux, ACK by ACK: when each ACK arrives, what it finds the sender like, and how much the
//! sender then sends.
//!
//! The files `data/acks-*.txt` are `tcp_probe` of Linux 6.12 in virtual time: the scenario, then of each
//! ACK its time (us), snd_una and snd_nxt (segments), snd_cwnd and srtt (us). `ACKCLOCK_ACKS=FILE cargo test -p ackclock-sim --test every_ack -- --nocapture` compares
//! any other.

use crate::common;

use ackclock_sim::record::AckSeen;
use ackclock_sim::scenario::{Profile, Reads, Scenario};
use common::{dumbbell, flow, simulate_acks, MS, S};
use std::path::{Path, PathBuf};

/// How exact the times of Linux are: its host's timers fire up to some microseconds late. The variable
/// `ACKCLOCK_TOLERANCE_US` is for longer runs, in which that adds up.
fn tolerance_us() -> u64 {
    std::env::var("ACKCLOCK_TOLERANCE_US").map_or(20, |us| us.parse().unwrap())
}

/// One ACK of a file: `time_us una nxt cwnd srtt_us`.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    time_us: u64,
    una: u64,
    nxt: u64,
    cwnd: u32,
    srtt_us: u32,
}

impl Row {
    fn show(&self) -> String {
        let Self {
            time_us,
            una,
            nxt,
            cwnd,
            srtt_us,
        } = self;
        format!("{time_us} {una} {nxt} {cwnd} {srtt_us}")
    }

    fn is_like(&self, other: &Self) -> bool {
        self.time_us.abs_diff(other.time_us) <= tolerance_us()
            && (self.una, self.nxt, self.cwnd) == (other.una, other.nxt, other.cwnd)
    }
}

/// The first line of a file: `# algorithm Mb/s RTT-in-ms buffer-in-packets reads seconds`.
fn scenario(header: &str) -> Scenario {
    let words: Vec<&str> = header.split_whitespace().collect();
    let number = |index: usize| words[index].parse::<u64>().expect(header);
    let flows = vec![flow(words[1], number(3) * MS)];
    let mut scenario = dumbbell(Profile::Linux6, number(2) * 1_000_000, number(4), flows);
    scenario.reads = match words[5] {
        "bulk" => Reads::Bulk,
        _ => Reads::AtOnce,
    };
    scenario.duration_ns = number(6) * S;
    scenario
}

fn compare(file: &Path) -> Result<usize, String> {
    let text = std::fs::read_to_string(file).unwrap();
    let scenario = scenario(text.lines().next().unwrap());
    let ours = simulate_acks(&scenario).acks;
    let ours = ours.iter().map(|ack: &AckSeen| Row {
        time_us: ack.time_ns / 1_000,
        una: ack.una,
        nxt: ack.nxt,
        cwnd: ack.cwnd_packets,
        srtt_us: ack.srtt_us,
    });
    let ours: Vec<Row> = ours.collect();
    let linux: Vec<Row> = (text.lines().skip(1))
        .map(|line| {
            let numbers: Vec<u64> = line.split(' ').map(|n| n.parse().unwrap()).collect();
            Row {
                time_us: numbers[0],
                una: numbers[1],
                nxt: numbers[2],
                cwnd: numbers[3] as u32,
                srtt_us: numbers[4] as u32,
            }
        })
        .collect();
    assert!(linux.len() > 1_000, "{} is too short", file.display());
    let different =
        (0..linux.len()).find(|&at| !ours.get(at).is_some_and(|our| our.is_like(&linux[at])));
    let Some(at) = different else {
        return Ok(linux.len());
    };
    let mut message = format!("{}: ACK {at} of {} differs\n", file.display(), linux.len());
    message += "         Linux: us una nxt cwnd srtt          ackclock\n";
    let from = at.saturating_sub(12);
    for (row, theirs) in linux.iter().enumerate().skip(from).take(24) {
        let mark = if row == at { "→" } else { " " };
        let our = ours.get(row).map_or(String::new(), Row::show);
        message += &format!("{mark} {row:6} {:36} {our}\n", theirs.show());
    }
    Err(message)
}

#[test]
fn every_ack_is_as_in_linux() {
    if let Some(file) = std::env::var_os("ACKCLOCK_ACKS") {
        match compare(&PathBuf::from(file)) {
            Ok(acks) => println!("all {acks} ACKs are equal"),
            Err(message) => panic!("{message}"),
        }
        return;
    }
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    for name in ["cubic-10-10", "htcp-20-20", "westwood-20-20"] {
        if let Err(message) = compare(&data.join(format!("acks-{name}.txt"))) {
            panic!("{message}");
        }
    }
}
