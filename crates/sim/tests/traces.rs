//! Hashes of all packets and states of 126 short runs, in `data/traces.txt`. A change of the
//! structure must leave this file as it is.
//!
//! There are two kinds of runs. A dumbbell has a hash of its packets and a hash of its tables. A
//! sender and a receiver over a wild path have a hash of the packets and a hash of the socket after
//! each call. A wild path loses, delays and duplicates packets as no queue does.
//!
//! To write the file again after a change of the rules:
//! `ACKCLOCK_WRITE_TRACES=1 cargo test -p ackclock-sim --test traces`. The commit says why.
//!
//! `data/traces.jsonl` has the dumbbells in canonical form, for the simulator in a browser.

use crate::common;

use ackclock_host::TcpSock;
use ackclock_net::buffer::Buffer;
use ackclock_sim::scenario::{Change, Direction, Flow, Profile, Scenario, Session, Sizes};
use ackclock_sim::RunResult;
use common::script::{NEW, OLD};
use common::wild::{self, Totals, Wild};
use common::{dumbbell, flow, simulate, MS, S};
use std::fmt::Write as _;

const ALGORITHMS: [&str; 23] = [
    "reno",
    "cubic",
    "cubic@2.6.18",
    "cubic@linux-2.6.32",
    "cubic@linux-2.6.32-backports",
    "cubic_fc",
    "bic",
    "bic@linux-2.6.18",
    "highspeed",
    "scalable",
    "htcp",
    "hybla",
    "illinois",
    "vegas",
    "veno",
    "westwood",
    "yeah",
    "square_ff",
    "compound",
    "fast",
    "libra",
    "hrf",
    "constant_rate",
];

/// What rides on wild paths. The witnesses hash all that their hooks see.
const RIDERS: [&str; 5] = [
    "cubic",
    "westwood",
    "fast",
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/witness.c"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/witness_control.c"),
];

struct Hash(u64);

impl Hash {
    fn add(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn socket(&mut self, tp: &TcpSock) {
        let sk = &tp.inet_conn.sk;
        let wide = [
            sk.sk_pacing_rate,
            tp.tcp_mstamp,
            tp.delivered_mstamp,
            sk.sk_host.jiffies.into(),
        ];
        wide.into_iter().for_each(|value| self.add(value));
        for word in tp.inet_conn.icsk_ca_priv {
            self.add(word);
        }
        let numbers = [
            tp.snd_una,
            tp.snd_nxt,
            tp.snd_cwnd,
            tp.snd_cwnd_cnt,
            tp.snd_cwnd_stamp,
            tp.snd_ssthresh,
            tp.snd_cwnd_clamp,
            tp.snd_cwnd_used,
            tp.prior_cwnd,
            tp.prior_ssthresh,
            tp.packets_out,
            tp.retrans_out,
            tp.sacked_out,
            tp.lost_out,
            tp.max_packets_out,
            tp.delivered,
            tp.lost,
            tp.total_retrans,
            tp.srtt_us,
            tp.mdev_us,
            tp.rtt_min.s[0].v,
            tp.lsndtime,
            tp.inet_conn.icsk_rto,
            tp.app_limited,
            tp.is_cwnd_limited.into(),
            tp.ecn_flags.into(),
            tp.inet_conn.icsk_ca_state.into(),
        ];
        for number in numbers {
            self.add(number.into());
        }
    }
}

/// A hash of the tables, beside that of the packets.
fn tables(result: &RunResult) -> u64 {
    let mut hash = Hash(0);
    let text = format!(
        "{:?}{:?}{:?}{:?}",
        result.samples, result.events, result.flows, result.sessions
    );
    text.bytes().for_each(|byte| hash.add(byte.into()));
    hash.0
}

fn dumbbells() -> Vec<(String, Scenario)> {
    let mut all = Vec::new();
    for (profile, era) in [
        (Profile::Linux2_6_18, "linux-2.6.18"),
        (Profile::Linux2_6_32, "linux-2.6.32"),
    ] {
        for algorithm in ["reno", "cubic@2.6.18"] {
            let flows = vec![flow(algorithm, 40 * MS), flow("reno", 60 * MS)];
            let mut scenario = dumbbell(profile, 10_000_000, 30, flows);
            all.push((format!("{era} {algorithm}"), scenario.clone()));
            scenario.tso = true;
            all.push((format!("{era} {algorithm}, tso"), scenario));
        }
    }
    for (profile, era) in [(NEW, "linux-6"), (OLD, "linux-2.6.25")] {
        // Slow start, two or three loss episodes and a second flow of every algorithm.
        for algorithm in ALGORITHMS {
            let mut second = flow(algorithm, 60 * MS);
            second.start_ns = 3 * S;
            let flows = vec![flow(algorithm, 40 * MS), second];
            all.push((
                format!("{era} {algorithm}"),
                dumbbell(profile, 10_000_000, 30, flows),
            ));
        }
        let mut vary = |name: &str, change: &dyn Fn(&mut Scenario)| {
            let flows = vec![flow("cubic", 50 * MS), flow("reno", 30 * MS)];
            let mut scenario = dumbbell(profile, 20_000_000, 50, flows);
            scenario.jitter_ns = 20_000;
            change(&mut scenario);
            all.push((format!("{era} {name}"), scenario));
        };
        let reverse = |algorithm| Flow {
            direction: Direction::Reverse,
            ..flow(algorithm, 40 * MS)
        };
        let web = |direction| Session {
            flow: Flow {
                direction,
                size_bytes: Some(20 * 1448),
                rtt_exponential_ns: 20 * MS,
                ..flow("reno", 20 * MS)
            },
            gap_ns: S / 10,
            sizes: Sizes::Pareto(1_200),
            route_ssthresh: false,
        };
        vary("tso the other way", &|s| s.tso = !s.tso);
        vary("paced", &|s| s.pacing = true);
        vary("paced, no tso", &|s| (s.pacing, s.tso) = (true, false));
        vary("100 Hz, jitter", &|s| (s.hz, s.jitter_ns) = (100, 3 * MS));
        vary("an ACK each", &|s| s.delayed_ack_segments = 1);
        vary("both ways", &|s| s.flows.push(reverse("cubic")));
        vary("web both ways", &|s| {
            s.sessions = vec![web(Direction::Forward); 5];
            s.sessions.extend(vec![web(Direction::Reverse); 5]);
        });
        vary("every 50th lost", &|s| {
            s.bottleneck.drop_every_packets = Some(50);
        });
        vary("every 4th lost", &|s| {
            s.bottleneck.drop_every_packets = Some(4);
        });
        vary("tiny buffer", &|s| {
            s.bottleneck.buffer = Buffer::Packets(2);
        });
        vary("thin", &|s| s.bottleneck.rate_bps = 300_000);
        vary("small windows", &|s| {
            s.flows[0].receive_window_bytes = Some(5 * 1448);
            s.flows[1].send_buffer_bytes = Some(30 * 1448);
        });
        vary("short flows", &|s| {
            for (flow, packets) in s.flows.iter_mut().zip([7, 400]) {
                flow.size_bytes = Some(packets * 1448 - 100);
                flow.initial_ssthresh_packets = Some(20);
            }
        });
        vary("fast", &|s| {
            s.bottleneck.rate_bps = 300_000_000;
            s.bottleneck.buffer = Buffer::Packets(500);
            s.duration_ns = 5 * S;
        });
    }
    all
}

/// Paths that no queue makes, and what rides on them.
fn wilds() -> Vec<(String, Wild)> {
    let mut all = Vec::new();
    for (profile, era) in [(NEW, "linux-6"), (OLD, "linux-2.6.25")] {
        let calm = Wild::new(profile);
        let paths = [
            ("calm", calm.clone()),
            (
                "losses",
                Wild {
                    loss: 20,
                    ..calm.clone()
                },
            ),
            (
                "ACKs lost",
                Wild {
                    loss: 10,
                    ack_loss: 300,
                    ..calm.clone()
                },
            ),
            (
                "reordering",
                Wild {
                    late: 30,
                    late_ns: 8 * MS,
                    ..calm.clone()
                },
            ),
            (
                "strong reordering",
                Wild {
                    late: 100,
                    late_ns: 60 * MS,
                    ..calm.clone()
                },
            ),
            (
                "reordering and losses",
                Wild {
                    loss: 10,
                    late: 30,
                    late_ns: 30 * MS,
                    ..calm.clone()
                },
            ),
            (
                "copies",
                Wild {
                    loss: 10,
                    copies: 50,
                    late: 20,
                    late_ns: 20 * MS,
                    ..calm.clone()
                },
            ),
            (
                "pauses",
                Wild {
                    pause: 4,
                    pause_ns: 700 * MS,
                    ..calm.clone()
                },
            ),
            (
                "pauses and losses",
                Wild {
                    loss: 30,
                    pause: 4,
                    pause_ns: 500 * MS,
                    ..calm.clone()
                },
            ),
            (
                "outages",
                Wild {
                    loss: 5,
                    outage: 3,
                    ..calm.clone()
                },
            ),
            (
                "outages and reordering",
                Wild {
                    outage: 5,
                    late: 50,
                    late_ns: 40 * MS,
                    ..calm.clone()
                },
            ),
            (
                "ACKs lost, a small window",
                Wild {
                    loss: 5,
                    ack_loss: 400,
                    window: 8,
                    ..calm.clone()
                },
            ),
            (
                "ACKs copied",
                Wild {
                    loss: 10,
                    ack_loss: 300,
                    ack_copies: 300,
                    window: 8,
                    ..calm.clone()
                },
            ),
            (
                "far, outages",
                Wild {
                    rtt_ns: 200 * MS,
                    outage: 5,
                    window: 60,
                    rounds: 6,
                    ..calm.clone()
                },
            ),
            (
                "short, outages",
                Wild {
                    outage: 150,
                    segments: 12,
                    rounds: 60,
                    ..calm.clone()
                },
            ),
            (
                "half lost",
                Wild {
                    loss: 400,
                    ..calm.clone()
                },
            ),
            (
                "a small window",
                Wild {
                    loss: 20,
                    window: 6,
                    ..calm.clone()
                },
            ),
            (
                "short",
                Wild {
                    loss: 100,
                    segments: 15,
                    rounds: 60,
                    ..calm.clone()
                },
            ),
            (
                "short, reordering",
                Wild {
                    loss: 60,
                    late: 100,
                    late_ns: 30 * MS,
                    segments: 30,
                    rounds: 40,
                    ..calm.clone()
                },
            ),
            (
                "paced",
                Wild {
                    loss: 20,
                    pacing: true,
                    ..calm.clone()
                },
            ),
            (
                "other tso",
                Wild {
                    loss: 20,
                    tso: !calm.tso,
                    ..calm.clone()
                },
            ),
            (
                "idle",
                Wild {
                    loss: 10,
                    idle: true,
                    ..calm.clone()
                },
            ),
        ];
        for (name, path) in paths {
            all.push((format!("{era}, wild: {name}"), path));
        }
    }
    all
}

fn traces() -> String {
    let mut text =
        String::from("# packets, retransmitted, timeouts, undone, packets' hash, state's hash\n");
    for (name, scenario) in dumbbells() {
        let result = simulate(&scenario);
        let (flows, sessions) = (&result.flows, &result.sessions);
        let sum = |ours: &[u64], theirs: &[u64]| ours.iter().chain(theirs).sum::<u64>();
        writeln!(
            text,
            "{name}: {} {} {} {} {:016x} {:016x}",
            result.packets,
            sum(
                &flows.retransmitted_packets,
                &sessions.retransmitted_packets
            ),
            sum(&flows.timeouts, &sessions.timeouts),
            sum(&flows.undos, &[]),
            result.trace_hash,
            tables(&result),
        )
        .unwrap();
    }
    for (name, path) in wilds() {
        let (mut packets, mut state) = (Hash(0), Hash(0));
        let mut totals = Totals::default();
        for algorithm in RIDERS {
            wild::run(&path, algorithm, &mut totals, |event| match event {
                wild::Event::Sent(at_ns, burst) => {
                    packets.add(at_ns);
                    packets.add(burst.first ^ (u64::from(burst.segments) << 40));
                }
                wild::Event::Called(sender) => {
                    state.socket(sender.tp());
                    state.add(sender.poll_timeout());
                }
                wild::Event::Happened(what, cwnd, in_flight) => {
                    state.add(what as u64 ^ (u64::from(cwnd) << 8) ^ (u64::from(in_flight) << 32));
                }
            });
        }
        writeln!(
            text,
            "{name}: {} {} {} {} {:016x} {:016x}",
            totals.sent, totals.retransmitted, totals.timeouts, totals.undos, packets.0, state.0
        )
        .unwrap();
    }
    text
}

/// The name, the scenario and the hash of each dumbbell in the traces, one a line.
fn scenarios(traces: &str) -> String {
    let dumbbells = dumbbells().into_iter().zip(traces.lines().skip(1));
    let lines = dumbbells.map(|((name, scenario), trace)| {
        let hash = trace.rsplit(' ').nth(1).unwrap();
        let scenario = scenario.to_json();
        format!("{{\"name\":\"{name}\",\"trace_hash\":\"{hash}\",\"scenario\":{scenario}}}\n")
    });
    lines.collect()
}

#[test]
fn nothing_changes() {
    let now = traces();
    compare(
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/traces.jsonl"),
        &scenarios(&now),
    );
    compare(
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/traces.txt"),
        &now,
    );
}

/// In the middle of each dumbbell, whatever comes then.
#[test]
fn a_branch_without_a_change_is_its_parent() {
    let traces = include_str!("data/traces.txt").lines().skip(1);
    for ((name, mut scenario), trace) in dumbbells().into_iter().zip(traces) {
        let at_ns = scenario.duration_ns / 2;
        scenario.changes = vec![Change {
            at_ns,
            ..Change::default()
        }];
        let result = simulate(&scenario);
        let hashes = format!(" {:016x} {:016x}", result.trace_hash, tables(&result));
        assert!(trace.ends_with(&hashes), "{name}");
    }
}

fn compare(file: &str, now: &str) {
    if std::env::var_os("ACKCLOCK_WRITE_TRACES").is_some() {
        std::fs::write(file, now).unwrap();
        return;
    }
    let before = std::fs::read_to_string(file).expect(file);
    let changed: Vec<_> = before
        .lines()
        .zip(now.lines())
        .filter(|(before, now)| before != now)
        .map(|(before, now)| format!("- {before}\n+ {now}"))
        .collect();
    assert!(
        changed.is_empty() && before.lines().count() == now.lines().count(),
        "{} of {} traces differ from {file}:\n{}",
        changed.len(),
        before.lines().count() - 1,
        changed.join("\n")
    );
}
