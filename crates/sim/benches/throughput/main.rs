//! Simulated data packets per second of one core, and instructions per packet.
//!
//! `cargo bench -p ackclock-sim` prints a table and writes `target/bench.json`: name →
//! `packets_per_s`, `instructions_per_packet` (absent where valgrind is). Time is the
//! best of several runs, for other work on the machine only ever adds to it;
//! instructions are exact: those of a longer run less those of a shorter one, under
//! valgrind.

use ackclock_net::link::{Bottleneck, Buffer};
use ackclock_sim::engine::run_with_events;
use ackclock_sim::scenario::{Direction, Flow, Profile, Reads, Scenario, Session, Sizes};
use ackclock_sim::{run, Control, RunError};
use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const S: u64 = 1_000_000_000;
const RUNS: u32 = 5;

/// Two flows, 1 BDP drop-tail.
fn pair(profile: Profile, algorithm: &str, rate_bps: u64, rtt_ns: u64) -> Scenario {
    let flow = |start_ns| Flow {
        start_ns,
        start_spread_ns: S,
        ..Flow::endless(algorithm, rtt_ns)
    };
    let bdp = (u128::from(rate_bps) * u128::from(rtt_ns) / u128::from(S) / 12_000) as u64;
    Scenario {
        seed: 1,
        duration_ns: 100 * S,
        profile,
        hz: 1000,
        mss_bytes: 1448,
        header_bytes: 52,
        jitter_ns: 20_000,
        delayed_ack_segments: 2,
        reads: Reads::AtOnce,
        tso: profile == Profile::Linux6,
        pacing: false,
        bottleneck: Bottleneck::drop_tail(rate_bps, Buffer::Packets(bdp)),
        links: Vec::new(),
        flows: vec![flow(0), flow(10 * S)],
        sessions: Vec::new(),
        sample_interval_ns: S / 10,
    }
}

/// Two flows and 100 web sources each way: Leith et al. 2007, figure 4.
fn web_both_ways() -> Scenario {
    let web = |direction| Session {
        flow: Flow {
            direction,
            size_bytes: Some(6 * 1448),
            ..Flow::endless("reno", S / 5)
        },
        gap_ns: S,
        sizes: Sizes::Pareto(1_200),
    };
    let mut scenario = pair(Profile::Linux2_6_25, "cubic@2.6.18", 250_000_000, S / 5);
    scenario.sessions = vec![web(Direction::Forward); 100];
    scenario.sessions.extend(vec![web(Direction::Reverse); 100]);
    scenario
}

/// Packets of a run. The scenario whose name ends so takes an event for each packet at the
/// bottleneck, as every queue but drop-tail does.
const EVENTS: &str = "_events";

fn packets(name: &str, scenario: &Scenario) -> Result<u64, RunError> {
    let control = Control::default();
    if name.ends_with(EVENTS) {
        return Ok(run_with_events(scenario, &control)?.0.packets);
    }
    Ok(run(scenario, &control)?.packets)
}

fn scenarios() -> Vec<(&'static str, Scenario)> {
    let (old, new) = (Profile::Linux2_6_25, Profile::Linux6);
    vec![
        (
            "demo_cubic",
            pair(old, "cubic@linux-2.6.32", 800_000_000, S / 5),
        ),
        (
            "demo_cubic_events",
            pair(old, "cubic@linux-2.6.32", 800_000_000, S / 5),
        ),
        (
            "demo_cubic_fc",
            pair(old, "cubic_fc@linux-2.6.32", 800_000_000, S / 5),
        ),
        ("demo_cubic_linux6", pair(new, "cubic", 800_000_000, S / 5)),
        ("reno_100mbit_100ms", pair(new, "reno", 100_000_000, S / 10)),
        ("web_both_ways", web_both_ways()),
    ]
}

/// Best packets per second of several runs.
fn packets_per_second(name: &str, scenario: &Scenario) -> Result<f64, Box<dyn Error>> {
    let mut best: f64 = 0.0;
    for _ in 0..RUNS {
        let start = Instant::now();
        let packets = packets(name, scenario)?;
        best = best.max(packets as f64 / start.elapsed().as_secs_f64());
    }
    Ok(best)
}

/// What this program does under valgrind: `--simulate NAME SECONDS` prints the packets.
fn simulate(name: &str, seconds: u64) -> Result<(), Box<dyn Error>> {
    let (_, mut scenario) = scenarios()
        .into_iter()
        .find(|(known, _)| *known == name)
        .ok_or("no such scenario")?;
    scenario.duration_ns = seconds * S;
    println!("{}", packets(name, &scenario)?);
    Ok(())
}

/// (instructions, packets) of a run of so many simulated seconds; `None` without valgrind.
fn count(name: &str, seconds: u64) -> Result<Option<(u64, u64)>, Box<dyn Error>> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .args(["--simulate", name, &seconds.to_string()])
        .stdin(Stdio::null())
        .output();
    let Ok(output) = output else { return Ok(None) };
    let log = String::from_utf8(output.stderr)?;
    let collected = log
        .lines()
        .find_map(|line| line.split_once("Collected : "))
        .ok_or(log.clone())?;
    let packets = String::from_utf8(output.stdout)?.trim().parse()?;
    Ok(Some((collected.1.trim().parse()?, packets)))
}

fn instructions_per_packet(name: &str) -> Result<Option<f64>, Box<dyn Error>> {
    let (Some(short), Some(long)) = (count(name, 15)?, count(name, 25)?) else {
        return Ok(None);
    };
    Ok(Some((long.0 - short.0) as f64 / (long.1 - short.1) as f64))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, flag, name, seconds] = arguments.as_slice() {
        if flag == "--simulate" {
            return simulate(name, seconds.parse()?);
        }
    }
    let mut report = serde_json::Map::new();
    println!(
        "{:<22} {:>16} {:>22}",
        "scenario", "M packets/s", "instructions/packet"
    );
    for (name, scenario) in scenarios() {
        let rate = packets_per_second(name, &scenario)?;
        let instructions = instructions_per_packet(name)?;
        let shown = instructions.map_or("needs valgrind".into(), |count| format!("{count:.1}"));
        println!("{name:<22} {:>16.2} {shown:>22}", rate / 1e6);
        let mut entry = serde_json::json!({ "packets_per_s": rate.round() });
        if let Some(count) = instructions {
            entry["instructions_per_packet"] = ((count * 10.0).round() / 10.0).into();
        }
        report.insert(name.into(), entry);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/bench.json");
    std::fs::create_dir_all(path.parent().ok_or("no target directory")?)?;
    std::fs::write(&path, serde_json::to_string_pretty(&report)? + "\n")?;
    println!("wrote target/bench.json");
    Ok(())
}
