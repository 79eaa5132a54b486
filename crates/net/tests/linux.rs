//! Decisions beside Linux's, call by call: which packets CoDel, FQ-CoDel, fq, RED, PIE and DualPI2
//! drop, mark and send, at random arrivals, with random parameters.
//!
//! The hashes are of the answers of Linux 6.12: the functions of `codel_impl.h`, `sch_fq_codel.c`,
//! `sch_fq.c`, `red.h`, `sch_red.c` and `sch_pie.c`, in a program of their own, got the same calls and
//! the same random numbers. For fq no two flows had a bucket in common, and a tick was 1 ms.
//!
//! 6.12 does not have DualPI2: for it the program had a copy of the later
//! `sch_dualpi2.c`, typed by hand. With `ACKCLOCK_CALLS=DIRECTORY` the test writes calls, random
//! numbers and answers there, to be compared with any other version. In one thing the answers of Linux
//! were changed: RED there also counts a mark for a packet that it then drops because the queue is full.

use ackclock_net::buffer::Buffer;
use ackclock_net::buffer::Load;
use ackclock_net::queue::{
    Cause, CodelParameters, Discipline, Dualpi2Parameters, Ecn, FqCodelParameters, FqParameters,
    Ledger, Packet, PieParameters, Queue, QueueKind, RedParameters,
};
use ackclock_net::rng::{Draw, Owner, Stream};
use std::fmt::Write;
use std::path::Path;

const MS: u64 = 1_000_000;

/// A discipline with random parameters, its limit, and both as a line of numbers.
fn random_queue(name: &str, random: &mut Stream) -> (QueueKind, Buffer, String) {
    let mut from = |least: u64, most: u64| least + random.up_to(most - least);
    let (packets, ecn) = (from(20, 320), from(0, 1));
    let (target_ns, interval_ns, mtu_bytes) = (
        from(1, 20) * MS,
        from(10, 110) * MS,
        [1500, 600][from(0, 1) as usize],
    );
    let codel = CodelParameters {
        target_ns,
        interval_ns,
        mtu_bytes,
        ecn: ecn == 1,
    };
    let limit = Buffer::Packets(packets);
    let line = format!("{packets} {target_ns} {interval_ns} {ecn} {mtu_bytes}");
    match name {
        "codel" => (QueueKind::Codel(codel), limit, line),
        "fq_codel" => {
            let quantum_bytes = from(300, 3300);
            let fq_codel = FqCodelParameters {
                target_ns,
                interval_ns,
                quantum_bytes,
                mtu_bytes,
                ecn: ecn == 1,
            };
            let line = format!("{line} {quantum_bytes}");
            (QueueKind::FqCodel(fq_codel), limit, line)
        }
        "fq" => {
            let fq = FqParameters {
                flow_limit_packets: from(1, 150),
                quantum_bytes: from(256, 5000),
                initial_quantum_bytes: from(0, 20_000),
                ce_threshold_ns: from(0, 30) * MS,
            };
            let FqParameters {
                flow_limit_packets,
                quantum_bytes,
                initial_quantum_bytes,
                ce_threshold_ns,
            } = fq;
            let line = format!(
                "{packets} {flow_limit_packets} {quantum_bytes} {initial_quantum_bytes} \
                 {ce_threshold_ns}"
            );
            (QueueKind::Fq(fq), limit, line)
        }
        "red" => {
            let min_bytes = from(1, 60_000);
            let max_bytes = min_bytes + from(0, 90_000);
            let (weight_log2, max_p_ppm) = (from(0, 9), from(1000, 900_000));
            let red = RedParameters {
                min_bytes,
                max_bytes,
                max_p_ppm,
                weight_log2,
                idle_packet_ns: 0,
                gentle: false,
                adaptive: from(0, 1) == 1,
                ecn: ecn == 1,
            };
            let bytes = packets * 1000;
            let line = format!("{bytes} {min_bytes} {max_bytes} {weight_log2} {max_p_ppm} {ecn}");
            (QueueKind::Red(red), Buffer::Bytes(bytes), line)
        }
        "dualpi2" => {
            let (alpha, beta) = (from(1, 400), from(1, 4000));
            let (coupling, step_ns, classic_share_percent) =
                (from(1, 4), from(0, 5) * MS, from(0, 100));
            let dualpi2 = Dualpi2Parameters {
                target_ns,
                update_ns: 16 * MS,
                alpha_256ths_hz: alpha,
                beta_256ths_hz: beta,
                coupling,
                step_ns,
                classic_share_percent,
                mtu_bytes,
            };
            let line = format!(
                "{packets} {target_ns} {alpha} {beta} {coupling} {step_ns} \
                 {classic_share_percent} {mtu_bytes}"
            );
            (QueueKind::Dualpi2(dualpi2), limit, line)
        }
        _ => {
            let (alpha, beta) = (from(0, 32), from(0, 64));
            let pie = PieParameters {
                target_ns,
                update_ns: 15 * MS,
                alpha_16ths_hz: alpha,
                beta_16ths_hz: beta,
                mtu_bytes,
                ecn: ecn == 1,
            };
            let line = format!("{packets} {target_ns} {alpha} {beta} {ecn} {mtu_bytes}");
            (QueueKind::Pie(pie), limit, line)
        }
    }
}

/// What one call reported.
#[derive(Default)]
struct Report {
    drops: Vec<u32>,
    marks: u32,
}

impl Ledger<u32> for Report {
    fn dropped(&mut self, packet: Packet<u32>, _cause: Cause) {
        self.drops.push(packet.body);
    }
    fn marked(&mut self, _flow: u32, _cause: Cause) {
        self.marks += 1;
    }
}

/// A link behind the queue, and the calls and answers of its queue as text.
struct Link {
    queue: Queue<u32>,
    ns_per_byte: u64,
    wire: Option<(u64, u32)>,
    calls: String,
    answers: String,
}

impl Link {
    fn note(&mut self, call: &str, answer: &str, report: &Report) {
        writeln!(self.calls, "{call}").unwrap();
        write!(self.answers, "{answer} d").unwrap();
        for number in &report.drops {
            write!(self.answers, " {number}").unwrap();
        }
        writeln!(self.answers, " m{}", report.marks).unwrap();
    }

    fn serve(&mut self, now_ns: u64) {
        let mut report = Report::default();
        let next = self.queue.dequeue(now_ns, &mut report);
        let number = next.as_ref().map_or(-1, |packet| i64::from(packet.body));
        self.note(
            &format!("D {now_ns} 0 0 0 0"),
            &format!("D {number}"),
            &report,
        );
        let service_ns = |bytes: u32| u64::from(bytes) * self.ns_per_byte;
        self.wire = next.map(|packet| (now_ns + service_ns(packet.bytes), packet.bytes));
    }

    fn run(&mut self, now_ns: u64) {
        loop {
            let departs_ns = self.wire.map_or(u64::MAX, |wire| wire.0);
            let update_ns = self.queue.next_update_ns();
            if departs_ns.min(update_ns) > now_ns {
                return;
            }
            if update_ns < departs_ns {
                self.queue.update(update_ns);
                self.note(&format!("U {update_ns} 0 0 0 0"), "U", &Report::default());
            } else {
                self.serve(departs_ns);
            }
        }
    }

    fn arrive(&mut self, packet: Packet<u32>, bits: u32) {
        let now_ns = packet.arrived_ns;
        let Packet {
            flow, bytes, body, ..
        } = packet;
        let wire = self.wire.map_or(Load::default(), |(_, bytes)| Load {
            packets: 1,
            bytes: bytes.into(),
        });
        let mut report = Report::default();
        self.queue.enqueue(now_ns, packet, wire, &mut report);
        self.note(
            &format!("A {now_ns} {flow} {bytes} {bits} {body}"),
            "A",
            &report,
        );
        if self.wire.is_none() {
            self.serve(now_ns);
        }
    }
}

/// 15 000 packets in bursts, at a load that changes from 30 % to 200 %.
fn answers(name: &str, seed: u64) -> String {
    let mut random = Stream::named(seed, name);
    let (kind, buffer, line) = random_queue(name, &mut random);
    let own = Stream::for_owner(seed, Owner::Link(1), Draw::Queue);
    let mut link = Link {
        queue: Queue::new(&kind, buffer, own.clone()),
        ns_per_byte: [80, 240, 800][random.up_to(2) as usize],
        wire: None,
        calls: line + "\n",
        answers: String::new(),
    };
    let (mut now_ns, mut load_percent) = (0, 90);
    for body in 0..15_000 {
        if body % 1500 == 0 {
            load_percent = [30, 90, 99, 105, 120, 200][random.up_to(5) as usize];
        }
        let bytes = match random.up_to(3) {
            3 => 40 + random.up_to(1460) as u32,
            _ => 1500,
        };
        if random.up_to(3) == 0 {
            now_ns += random.exponential(4 * 1300 * link.ns_per_byte * 100 / load_percent);
        }
        link.run(now_ns);
        let flow = random.up_to(1 + u64::from(body / 3000)) as u32;
        let (ecn, bits) = match flow % 3 {
            0 => (Ecn::NotEct, 0),
            1 => (Ecn::Ect0, 2),
            _ => (Ecn::Ect1, 1),
        };
        let arrived_ns = now_ns;
        let packet = Packet {
            flow,
            bytes,
            ecn,
            arrived_ns,
            body,
        };
        link.arrive(packet, bits);
    }
    if let Some(directory) = std::env::var_os("ACKCLOCK_CALLS") {
        let write = |what: &str, bytes: &[u8]| {
            let file = Path::new(&directory).join(format!("{name}-{seed}.{what}"));
            std::fs::write(file, bytes).unwrap();
        };
        let mut numbers = own;
        let numbers: Vec<u8> = (0..50_000)
            .flat_map(|_| numbers.bits().to_le_bytes())
            .collect();
        write("random", &numbers);
        write("calls", link.calls.as_bytes());
        write("answers", link.answers.as_bytes());
    }
    link.answers
}

/// FNV-1a of the answers of 40 seeds.
fn hash(name: &str) -> u64 {
    let texts = (0..40).map(|seed| answers(name, seed));
    texts.fold(0xcbf2_9ce4_8422_2325, |hash, text| {
        text.bytes().fold(hash, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    })
}

#[test]
fn decisions_are_those_of_linux() {
    for (name, linux) in [
        ("codel", 0x1ed5_f628_01ef_355b),
        ("fq_codel", 0x94be_84de_8d82_517e),
        ("fq", 0x1233_bc4b_add2_ce31),
        ("red", 0xd8d7_cf1a_1c1a_ec1d),
        ("pie", 0x084a_1342_adb5_acd3),
        ("dualpi2", 0x54d2_192c_8cab_5407),
    ] {
        assert_eq!(hash(name), linux, "{name}");
    }
}
