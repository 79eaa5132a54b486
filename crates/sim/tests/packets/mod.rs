//! Packet scripts (docs/packet-scripts.md) in the simulator. `crates/linux` runs the same scripts
//! on the real kernel.

mod script;

use ackclock_host::{Algorithm, CongestionControl, HostConfig};
use ackclock_sim::scenario::Profile;
use ackclock_sim::tcp::profile::{Kernel, Reads, Switches};
use ackclock_sim::tcp::{Ack, FlowLimits, Handshake, Marks, Receiver, Sender};
use script::{Echo, Field, Input, Output, Role, Script, Seen};

/// Time of the simulator at time 0 of a script, ns: 0.3 ms after a tick whose number is a multiple
/// of 8, as in the kernel's test.
const START_NS: u64 = 6_416_300_000;
const MSS: u32 = 1448;
/// As in the kernels of most distributions.
const HZ: u32 = 250;
/// `reads in bulk`: 256 KiB.
const BULK_SEGMENTS: u64 = 182;

#[test]
fn packet_scripts() {
    let mut wrong = String::new();
    for script in script::scripts() {
        let seen = match script.role {
            Role::Sender => send(&script, |_| 0),
            Role::Receiver => receive(&script, |_| 0),
        };
        let comparison = script.compare(&seen, true);
        if comparison.differs_at_us.is_some() {
            wrong += &comparison.listing;
        } else if script::only().is_some() {
            println!("{}", comparison.listing);
        }
    }
    assert!(
        wrong.is_empty(),
        "the simulator answers otherwise:\n{wrong}"
    );
}

/// The kernel handles a packet some 0.1 ms late, now more and now less. If that decided what it
/// answers, a script would hold there only now and then.
#[test]
fn a_tenth_of_a_millisecond_decides_nothing() {
    let mut wrong = String::new();
    for script in script::scripts() {
        for seed in 0..20 {
            let late_us = |at_us: u64| {
                50 + ((at_us ^ seed << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % 150
            };
            let seen = match script.role {
                Role::Sender => send(&script, late_us),
                Role::Receiver => receive(&script, late_us),
            };
            let comparison = script.compare(&seen, false);
            if comparison.differs_at_us.is_some() {
                wrong += &comparison.listing;
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "it depends on 0.1 ms:\n{wrong}");
}

/// A sender, and what it has shown.
struct Sending {
    sender: Sender,
    echo: Echo,
    seen: Vec<Seen>,
}

impl Sending {
    fn transmit(&mut self, now_ns: u64) {
        loop {
            while let Some(burst) = self.sender.poll_transmit(now_ns) {
                let segments = (burst.first, burst.first + u64::from(burst.segments));
                self.echo.sent(segments, now_ns);
                let (push, marks) = (burst.pushed, burst.marks);
                self.show(
                    now_ns,
                    Output::Burst {
                        segments,
                        push,
                        marks,
                    },
                );
            }
            if !self.sender.end_softirq(now_ns) {
                return;
            }
        }
    }

    fn show(&mut self, now_ns: u64, output: Output) {
        let at_us = (now_ns - START_NS) as f64 / 1_000.0;
        self.seen.push(Seen { at_us, output });
    }

    fn run_until(&mut self, until_ns: u64) {
        while self.sender.poll_timeout() <= until_ns {
            let now_ns = self.sender.poll_timeout();
            self.sender.handle_timeout(now_ns);
            self.transmit(now_ns);
        }
    }
}

fn send(script: &Script, late_us: impl Fn(u64) -> u64) -> Vec<Seen> {
    let kernel = Kernel::for_profile(Profile::Linux6);
    let cc = CongestionControl::new(
        &Algorithm::configure(&script.congestion_control).unwrap(),
        HostConfig {
            hz: HZ,
            era: kernel.era,
            random_seed: 1,
            mss_bytes: MSS,
            initial_cwnd: kernel.initial_cwnd(MSS),
            initial_ssthresh: 0x7fff_ffff,
            flow: 1,
        },
    );
    let limits = FlowLimits {
        segments: script.writes,
        receive_window: script.window.unwrap_or(u64::MAX),
        send_buffer: u64::MAX,
    };
    let switches = Switches::usual(Profile::Linux6);
    let rtt_ns = script.rtt_us * 1_000;
    let handshake = Handshake {
        now_ns: START_NS,
        rtt_ns,
        ecn: script.ecn.into(),
        one_packet: false,
    };
    let mut sending = Sending {
        sender: Sender::new(cc, &kernel, &switches, limits, handshake, 0),
        echo: Echo::new(START_NS - rtt_ns),
        seen: Vec::new(),
    };
    if script.closes {
        sending.sender.close_when_written(false);
    }
    sending.transmit(START_NS);
    let mut now_ns = START_NS;
    for (at_us, input) in script.inputs() {
        now_ns = now_ns.max(START_NS + (at_us + late_us(at_us)) * 1_000);
        sending.run_until(now_ns);
        match input {
            Input::Ack {
                ack,
                sacks,
                duplicate,
                original,
                ece,
            } => {
                let mut ack = Ack::new(*ack, sending.echo.timestamp(*ack, *original))
                    .with_sacks(sacks.iter().copied(), *duplicate);
                if *ece {
                    ack = ack.with_ece(0);
                }
                sending.sender.handle_ack(now_ns, &ack);
                sending.transmit(now_ns);
            }
            Input::Look(fields) => {
                let look = |field: &Field| (*field, value(&sending.sender, *field));
                let state = fields.iter().map(look).collect();
                sending.show(now_ns, Output::State(state));
            }
            Input::Data { .. } => (),
        }
    }
    sending.run_until(START_NS + script.end_us * 1_000);
    sending.seen
}

fn value(sender: &Sender, field: Field) -> u64 {
    let tp = sender.tp();
    u64::from(match field {
        Field::Cwnd => tp.snd_cwnd,
        Field::Ssthresh => tp.snd_ssthresh,
        Field::State => tp.inet_conn.icsk_ca_state.into(),
        Field::Lost => tp.lost_out,
        Field::Sacked => tp.sacked_out,
        Field::Retrans => tp.retrans_out,
        Field::MinRttUs => sender.min_rtt_us(),
    })
}

fn receive(script: &Script, late_us: impl Fn(u64) -> u64) -> Vec<Seen> {
    let kernel = Kernel::for_profile(Profile::Linux6);
    let reads = if script.reads_at_once {
        Reads::AtOnce
    } else {
        Reads::Bulk {
            segments: BULK_SEGMENTS,
        }
    };
    let switches = Switches {
        reads,
        ..Switches::usual(Profile::Linux6)
    };
    let clock = kernel.clock(HZ, 0);
    let mut receiver = Receiver::new(&kernel, &switches, clock, script.rtt_us * 1_000);
    if script.ecn {
        receiver.use_ecn(None);
    }
    let mut seen = Vec::new();
    let mut show = |now_ns: u64, ack: Option<Ack>| {
        seen.extend(ack.map(|ack| Seen {
            at_us: (now_ns - START_NS) as f64 / 1_000.0,
            output: Output::Ack {
                ack: ack.ack,
                sacks: ack.sacks().to_vec(),
                duplicate: ack.has_duplicate(),
                ece: ack.ece().is_some(),
            },
        }));
    };
    let mut now_ns = START_NS;
    for (at_us, input) in script.inputs() {
        now_ns = now_ns.max(START_NS + (at_us + late_us(at_us)) * 1_000);
        while receiver.poll_timeout() <= now_ns {
            let due_ns = receiver.poll_timeout();
            show(due_ns, receiver.handle_timeout(due_ns));
        }
        if let Input::Data {
            segments,
            push,
            marks,
        } = input
        {
            for segment in segments.0..segments.1 {
                let push = *push && segment + 1 == segments.1;
                let flags = [push, false];
                let acks = receiver.handle_marked_segment(now_ns, segment, now_ns, flags, *marks);
                acks.into_iter().for_each(|ack| show(now_ns, ack));
            }
        }
    }
    let end_ns = START_NS + script.end_us * 1_000;
    while receiver.poll_timeout() <= end_ns {
        let due_ns = receiver.poll_timeout();
        show(due_ns, receiver.handle_timeout(due_ns));
    }
    seen
}

// --- the language itself

/// Each mistake names the file, the line and what to write.
#[test]
fn mistakes_are_named() {
    for (text, wanted) in [
        (
            "+1 < ack 2",
            "s.pkt:1: +1 < ack 2: write `sender` or `receiver` first",
        ),
        ("", "s.pkt: the first line must be `sender` or `receiver`"),
        ("sender\n> 2:2", "s.pkt:2: > 2:2: `2:2` has no segment"),
        (
            "sender\n< ack x",
            "`x` is not a number of segments from 0 to 10000",
        ),
        ("sender\n< ack 1 sack 1:2 3:4 5:6 7:8", "three blocks fit"),
        ("sender\n< ack 1 3:4", "`3:4`: write `sack A:B …`"),
        ("sender\n= cwnd", "`cwnd` has no value"),
        (
            "sender\n= rtt 5",
            "`rtt` is not one of cwnd, ssthresh, state",
        ),
        ("sender\n= state opened", "`state` has no such value"),
        ("sender\n+x nothing", "`x` is not a time in ms"),
        ("sender\n< 0:2 push", "not an event here: write `< ack N …`"),
        (
            "receiver\n< 0:2 ect",
            "`ect` is not one of ce, cwr, not-ect",
        ),
        ("receiver\n< ack 1", "not an event here: write `< A:B`"),
        (
            "sender\nnothing\n> 0:2\nrtt 5",
            "settings come before the first event",
        ),
    ] {
        let error = Script::parse("s", text).unwrap_err();
        assert!(error.contains(wanted), "{text:?}: {error}");
    }
}

/// What is wrong, late, missing or too much is marked: the first difference only.
#[test]
fn the_first_difference_is_marked() {
    let text = "sender\ntolerance 2\n> 0:4 by 2\n+5 < ack 2\n> 4:8 by any\n+5 nothing";
    let script = Script::parse("s", text).unwrap();
    let seen = |rows: &[(f64, (u64, u64))]| -> Vec<Seen> {
        let burst = |&(at_us, range)| Seen {
            at_us,
            output: Output::Burst {
                segments: range,
                push: range.1 - range.0 > 1,
                marks: Marks::default(),
            },
        };
        rows.iter().map(burst).collect()
    };
    let right = [
        (0.0, (0, 2)),
        (0.0, (2, 4)),
        (5_000.0, (4, 5)),
        (5_000.0, (5, 8)),
    ];
    let differs = |rows: &[(f64, (u64, u64))], exact| {
        let comparison = script.compare(&seen(rows), exact);
        let marked = comparison
            .listing
            .lines()
            .filter(|row| row.starts_with("-->"));
        assert!(marked.count() == usize::from(comparison.differs_at_us.is_some()));
        comparison.differs_at_us
    };
    assert_eq!(differs(&right, true), None);
    assert_eq!(
        differs(&right[..3], true),
        Some(5_000.0),
        "a part is missing"
    );
    assert_eq!(differs(&right[..1], true), Some(0.0), "the rest is missing");
    let mut other = right;
    other[1].1 = (2, 3);
    assert_eq!(differs(&other, true), Some(0.0));
    let mut late = right;
    late[3].0 = 6_999.0;
    assert_eq!(
        differs(&late, true),
        Some(6_999.0),
        "the simulator must be exact"
    );
    assert_eq!(differs(&late, false), None);
    late[3].0 = 7_001.0;
    assert_eq!(differs(&late, false), Some(7_001.0));
    let more = [&right[..], &[(9_000.0, (8, 9))]].concat();
    assert_eq!(differs(&more, true), Some(9_000.0), "one too many");
}
