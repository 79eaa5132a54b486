//! What holds for every queue discipline, over random arrivals: each packet leaves once or is dropped
//! once, in the order of its flow; only packets that know ECN are marked; the limit holds; the link
//! is never idle while a packet waits.

use ackclock_net::buffer::{Buffer, Load};
use ackclock_net::queue::{
    Cause, CodelParameters, Discipline, Dualpi2Parameters, Ecn, FqCodelParameters, FqParameters,
    Ledger, Packet, PieParameters, Queue, QueueKind, RedParameters, StepParameters,
};
use ackclock_net::rng::{Draw, Owner, Stream};
use proptest::prelude::*;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Every discipline, with parameters of which some make it act often.
fn kinds() -> impl Strategy<Value = QueueKind> {
    let ms = |from: u64, to: u64| (from..=to).prop_map(|ms| ms * 1_000_000);
    prop_oneof![
        Just(QueueKind::DropTail),
        (ms(1, 5), ms(5, 100), any::<bool>()).prop_map(|(target_ns, interval_ns, ecn)| {
            QueueKind::Codel(CodelParameters {
                target_ns,
                interval_ns,
                ecn,
                ..CodelParameters::default()
            })
        }),
        (ms(1, 5), ms(5, 100), 256_u64..5000, any::<bool>()).prop_map(
            |(target_ns, interval_ns, quantum_bytes, ecn)| {
                QueueKind::FqCodel(FqCodelParameters {
                    target_ns,
                    interval_ns,
                    quantum_bytes,
                    ecn,
                    ..FqCodelParameters::default()
                })
            }
        ),
        (1_u64..100, 256_u64..5000, 0_u64..20_000, ms(0, 5)).prop_map(
            |(flow_limit_packets, quantum_bytes, initial_quantum_bytes, ce_threshold_ns)| {
                QueueKind::Fq(FqParameters {
                    flow_limit_packets,
                    quantum_bytes,
                    initial_quantum_bytes,
                    ce_threshold_ns,
                })
            }
        ),
        (
            1_u64..50_000,
            0_u64..50_000,
            0_u64..10,
            0_u64..2,
            any::<(bool, bool, bool)>()
        )
            .prop_map(
                |(min_bytes, span, weight_log2, idle, (gentle, adaptive, ecn))| {
                    QueueKind::Red(RedParameters {
                        min_bytes,
                        max_bytes: min_bytes + span,
                        weight_log2,
                        idle_packet_ns: idle * 1_000_000,
                        gentle,
                        adaptive,
                        ecn,
                        ..RedParameters::default()
                    })
                }
            ),
    ]
}

fn buffers() -> impl Strategy<Value = Buffer> {
    prop_oneof![
        (1_u64..200).prop_map(Buffer::Packets),
        (1500_u64..300_000).prop_map(Buffer::Bytes)
    ]
}

/// The ECN field that the sender of a flow sets.
fn ecn_of(flow: u32) -> Ecn {
    [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][flow as usize % 4]
}

fn load_of<P>(packet: &Packet<P>) -> Load {
    Load {
        packets: 1,
        bytes: packet.bytes.into(),
    }
}

/// What a queue reported in one call.
#[derive(Default)]
struct Reports {
    drops: Vec<(Packet<u32>, Cause)>,
    marks: Vec<u32>,
}

impl Ledger<u32> for Reports {
    fn dropped(&mut self, packet: Packet<u32>, cause: Cause) {
        self.drops.push((packet, cause));
    }
    fn marked(&mut self, flow: u32, _cause: Cause) {
        self.marks.push(flow);
    }
}

/// A link that checks all that its queue does.
struct Link {
    queue: Queue<u32>,
    buffer: Buffer,
    /// What the queue never exceeds: fq counts neither the wire nor its fast path.
    most: Buffer,
    service_ns_per_byte: u64,
    wire: Option<(u64, Packet<u32>)>,
    /// Packets inside, by their number: as they arrived.
    inside: BTreeMap<u32, Packet<u32>>,
    /// The sum of `inside`.
    held: Load,
    /// The last packet of each flow that left.
    last: BTreeMap<u32, u32>,
    marks: u64,
    changed: u64,
    early: u64,
}

impl Link {
    fn new(kind: &QueueKind, buffer: Buffer, service_ns_per_byte: u64) -> Self {
        let random = Stream::for_owner(1, Owner::Link(1), Draw::Queue);
        Self {
            queue: Queue::new(kind, buffer, random),
            buffer,
            most: match (kind, buffer) {
                (QueueKind::Fq(_), Buffer::Packets(packets)) => Buffer::Packets(packets + 9),
                (QueueKind::Fq(_), Buffer::Bytes(bytes)) => Buffer::Bytes(bytes + 9 * 1500),
                _ => buffer,
            },
            service_ns_per_byte,
            wire: None,
            inside: BTreeMap::new(),
            held: Load::default(),
            last: BTreeMap::new(),
            marks: 0,
            changed: 0,
            early: 0,
        }
    }

    fn on_wire(&self) -> Load {
        self.wire
            .as_ref()
            .map_or(Load::default(), |(_, packet)| load_of(packet))
    }

    /// A packet leaves the queue, towards the wire or not.
    fn take(&mut self, packet: &Packet<u32>) {
        let arrived = self.inside.remove(&packet.body).expect("left twice");
        self.held.packets -= 1;
        self.held.bytes -= u64::from(arrived.bytes);
        if packet.ecn != arrived.ecn {
            assert_eq!(packet.ecn, Ecn::Ce);
            assert_ne!(arrived.ecn, Ecn::NotEct);
            self.changed += 1;
        }
        let ecn = arrived.ecn;
        assert_eq!(Packet { ecn, ..*packet }, arrived);
    }

    fn account(&mut self, reports: Reports, may_be_full: bool) {
        for (packet, cause) in reports.drops {
            self.take(&packet);
            assert!(cause == Cause::Early || may_be_full, "not full");
            self.early += u64::from(cause == Cause::Early);
        }
        for flow in reports.marks {
            assert_ne!(ecn_of(flow), Ecn::NotEct);
            self.marks += 1;
        }
        assert_eq!(self.queue.load(), self.held);
    }

    fn serve(&mut self, now_ns: u64) {
        let mut reports = Reports::default();
        let next = self.queue.dequeue(now_ns, &mut reports);
        if let Some(packet) = &next {
            self.take(packet);
            let before = self.last.insert(packet.flow, packet.body);
            assert!(before < Some(packet.body), "overtaken");
        }
        self.account(reports, false);
        assert!(next.is_some() || self.inside.is_empty(), "idle");
        let departs_ns =
            |packet: &Packet<u32>| now_ns + u64::from(packet.bytes) * self.service_ns_per_byte;
        self.wire = next.map(|packet| (departs_ns(&packet), packet));
    }

    /// Runs until `now_ns`, or until the queue is empty.
    fn run(&mut self, now_ns: u64) {
        while let Some(&(departs_ns, _)) = self.wire.as_ref().filter(|(at, _)| *at <= now_ns) {
            self.update(departs_ns);
            self.serve(departs_ns);
        }
        if now_ns < u64::MAX {
            self.update(now_ns);
        }
    }

    fn update(&mut self, now_ns: u64) {
        while self.queue.next_update_ns() <= now_ns {
            let at_ns = self.queue.next_update_ns();
            self.queue.update(at_ns);
            assert!(self.queue.next_update_ns() > at_ns, "the timer stands");
        }
    }

    fn arrive(&mut self, packet: Packet<u32>) {
        let now_ns = packet.arrived_ns;
        self.run(now_ns);
        let wire = self.on_wire();
        let load = self.queue.load() + wire;
        let may_drop = !self.buffer.fits(load, packet.bytes);
        let must_drop = !self.most.fits(load, packet.bytes);
        self.inside.insert(packet.body, packet);
        self.held = self.held + load_of(&packet);
        let mut reports = Reports::default();
        self.queue.enqueue(now_ns, packet, wire, &mut reports);
        let dropped = !reports.drops.is_empty();
        self.account(reports, may_drop);
        assert!(!must_drop || dropped, "over the limit");
        let load = self.queue.load() + wire;
        match self.most {
            Buffer::Packets(limit) => assert!(load.packets <= limit),
            Buffer::Bytes(limit) => assert!(load.bytes <= limit),
        }
        if self.wire.is_none() {
            self.serve(now_ns);
        }
    }
}

proptest! {
    #[test]
    fn every_discipline_keeps_the_rules(
        kind in kinds(),
        buffer in buffers(),
        service_ns_per_byte in 80_u64..8_000,
        bursts in proptest::collection::vec(
            (0_u64..3_000_000, 0_u32..8, 40_u32..1501, 1_usize..20), 1..150,
        ),
    ) {
        let mut link = Link::new(&kind, buffer, service_ns_per_byte);
        let (mut now_ns, mut number) = (0, 0);
        for (gap_ns, flow, bytes, packets) in bursts {
            now_ns += gap_ns;
            for _ in 0..packets {
                let ecn = ecn_of(flow);
                link.arrive(Packet { flow, bytes, ecn, arrived_ns: now_ns, body: number });
                number += 1;
            }
        }
        link.run(u64::MAX);
        prop_assert_eq!(link.queue.load(), Load::default());
        prop_assert!(link.wire.is_none() && link.inside.is_empty());
        prop_assert!(link.changed <= link.marks);
    }
}

/// In an overload that lasts, every discipline but drop-tail acts before its queue is full, and
/// marks if it is told to.
#[test]
fn every_discipline_acts() {
    for (kind, marks) in acting() {
        let mut link = Link::new(&kind, Buffer::Packets(1000), 80);
        for number in 0..40_000_u32 {
            // 1500 bytes take 120 µs.
            let arrived_ns = u64::from(number) * 110_000;
            let (flow, bytes) = (number % 3, 1500);
            let ecn = ecn_of(flow);
            link.arrive(Packet {
                flow,
                bytes,
                ecn,
                arrived_ns,
                body: number,
            });
        }
        assert_eq!(
            link.early + link.marks > 0,
            kind != QueueKind::DropTail,
            "{kind:?}"
        );
        assert_eq!(link.marks > 0, marks, "{kind:?}");
        link.run(u64::MAX);
        assert_eq!(link.marks, link.changed, "{kind:?}");
    }
}

/// Each discipline, and whether it marks.
fn acting() -> Vec<(QueueKind, bool)> {
    let codel = |ecn| {
        QueueKind::Codel(CodelParameters {
            ecn,
            ..CodelParameters::default()
        })
    };
    vec![
        (QueueKind::DropTail, false),
        (codel(false), false),
        (codel(true), true),
        (QueueKind::FqCodel(FqCodelParameters::default()), true),
        (QueueKind::Fq(FqParameters::default()), false),
        (
            QueueKind::Fq(FqParameters {
                ce_threshold_ns: 1_000_000,
                ..FqParameters::default()
            }),
            true,
        ),
        (QueueKind::Red(RedParameters::default()), false),
        (
            QueueKind::Red(RedParameters {
                gentle: true,
                adaptive: true,
                ecn: true,
                ..RedParameters::default()
            }),
            true,
        ),
        (QueueKind::Step(StepParameters::default()), true),
        (QueueKind::Pie(PieParameters::default()), false),
        (
            QueueKind::Pie(PieParameters {
                ecn: true,
                ..PieParameters::default()
            }),
            true,
        ),
        (QueueKind::Dualpi2(Dualpi2Parameters::default()), true),
    ]
}

/// A scenario may leave parameters out.
#[test]
fn a_kind_is_read_as_it_is_written() {
    for (kind, _) in acting() {
        let mut written = serde_json::to_value(kind).unwrap();
        assert_eq!(QueueKind::deserialize(&written).unwrap(), kind);
        for (_, parameters) in written.as_object_mut().into_iter().flatten() {
            *parameters = serde_json::json!({});
        }
        assert!(QueueKind::deserialize(&written).is_ok());
    }
    assert!(serde_json::from_str::<QueueKind>(r#"{"codel": {"target": 5}}"#).is_err());
}
