//! Accurate ECN (RFC 9768): the receiver counts marks, and each ACK tells the count.

use crate::common;

use ackclock_host::{Algorithm, CaState, CongestionControl, HostConfig};
use ackclock_net::impair::{Bernoulli, Loss};
use ackclock_net::queue::{Ecn, QueueKind, RedParameters, StepParameters};
use ackclock_sim::record::EventKind;
use ackclock_sim::scenario::{Direction, EcnMode, Flow, Profile, Scenario};
use ackclock_sim::tcp::profile::{Kernel, Switches};
use ackclock_sim::tcp::{Ack, FlowLimits, Handshake, Marks, Receiver, Sender};
use ackclock_sim::{run, Control, RunResult};
use common::{dumbbell, flow, simulate, MS, S};

const RTT: u64 = 40 * MS;
const MARKED: Ecn = Ecn::Ce;
const CLEAN: Ecn = Ecn::Ect0;

/// A receiver with accurate ECN whose first quick ACKs are over: it acknowledges every other segment.
/// The next segment is 41.
fn receiver(segments_per_ack: u32) -> Receiver {
    let switches = Switches {
        segments_per_ack,
        ..Switches::usual(Profile::Linux6)
    };
    let kernel = Kernel::for_profile(Profile::Linux6);
    let mut receiver = Receiver::new(&kernel, &switches, kernel.clock(1000, 0), RTT);
    receiver.use_accurate_ecn();
    for segment in 0..41 {
        let acks = arrives(&mut receiver, segment, segment, CLEAN);
        assert!(acks.is_none_or(|(_, ce_packets)| ce_packets == 0));
    }
    receiver
}

/// The packet number `index` arrives. The ACK that leaves: the next segment, and the count.
fn arrives(receiver: &mut Receiver, index: u64, segment: u64, field: Ecn) -> Option<(u64, u32)> {
    let marks = Marks { field, cwr: false };
    let now_ns = S + index * MS / 100;
    let [early, ack] = receiver.handle_marked_segment(now_ns, segment, now_ns, [false; 2], marks);
    assert!(early.is_none());
    let ack = ack?;
    Some((ack.ack, ack.ece().expect("every ACK has a count")))
}

/// RFC 9768, 3.2.2.5.1, as Linux has it: a change of the field makes an ACK leave at once, and so do two
/// marks that no ACK has told. Otherwise every other segment makes one.
#[test]
fn the_receiver_counts_marks_in_any_order() {
    let mut receiver = receiver(2);
    let packets = [
        (41, CLEAN, None),
        (42, CLEAN, Some((43, 0))),
        // The first mark: at once.
        (43, MARKED, Some((44, 1))),
        // The second waits for a third.
        (44, MARKED, None),
        (45, MARKED, Some((46, 3))),
        // The last mark of a series waits, and the change tells it.
        (46, MARKED, None),
        (47, CLEAN, Some((48, 4))),
        // 48 is late. What comes in its place counts as well.
        (49, MARKED, Some((48, 5))),
        (50, CLEAN, Some((48, 5))),
        (48, MARKED, Some((51, 6))),
        // ACKs covered 31 and 49 long ago: no longer acceptable, and not counted (`tcp_sequence`).
        (31, MARKED, Some((51, 6))),
        (49, MARKED, Some((51, 6))),
        // One that ends where the last ACK ended still counts. So does one of a gap that came twice.
        (50, MARKED, Some((51, 7))),
        (52, CLEAN, Some((51, 7))),
        (52, MARKED, Some((51, 8))),
    ];
    for (index, (segment, field, ack)) in (41..).zip(packets) {
        let answer = arrives(&mut receiver, index, segment, field);
        assert_eq!(answer, ack, "{segment} {field:?}");
    }
}

/// Two marks that no ACK has told make one leave at once, however many segments it may wait for.
#[test]
fn two_marks_do_not_wait() {
    let mut receiver = receiver(8);
    let first = (41..).find_map(|segment| arrives(&mut receiver, segment, segment, MARKED));
    let (next, told) = first.unwrap();
    for (segment, ack) in (next..).zip([None, Some(told + 2), None, Some(told + 4)]) {
        let answer = arrives(&mut receiver, segment, segment, MARKED);
        assert_eq!(answer.map(|(_, ce_packets)| ce_packets), ack, "{segment}");
    }
}

fn sender() -> Sender {
    let configured = Algorithm::configure("reno").unwrap();
    let cc = CongestionControl::new(&configured, HostConfig::default());
    let limits = FlowLimits {
        segments: u64::MAX,
        receive_window: u64::MAX,
        send_buffer: u64::MAX,
    };
    let handshake = Handshake {
        now_ns: RTT,
        rtt_ns: RTT,
        ecn: EcnMode::Accurate,
        one_packet: false,
    };
    let (kernel, switches) = (
        Kernel::for_profile(Profile::Linux6),
        Switches::usual(Profile::Linux6),
    );
    Sender::new(cc, &kernel, &switches, limits, handshake, 0)
}

/// The sender adds what is new in the count: nothing twice, and what lost ACKs would have told. New marks
/// reduce the window once per round trip, and no packet carries CWR.
#[test]
fn the_sender_adds_what_is_new() {
    let mut sender = sender();
    let send = |sender: &mut Sender, now_ns| {
        while let Some(burst) = sender.poll_transmit(now_ns) {
            assert_eq!((burst.marks.field, burst.marks.cwr), (CLEAN, false));
        }
    };
    send(&mut sender, RTT);
    // Initial window: packets 0 to 9. The first ACK makes it 11, and two more packets leave.
    let mut now_ns = 2 * RTT;
    for (ack, ce_packets, delivered_ce, state) in [
        (1, 0, 0, CaState::Open),
        // Two marks: the window of 11 goes to 5.
        (2, 2, 2, CaState::Cwr),
        // Nothing is new.
        (3, 2, 2, CaState::Cwr),
        // The ACKs of 4 to 6 are lost. This one tells 9 marks, more than a field of 3 bits could. They
        // are of the same round trip.
        (7, 11, 11, CaState::Cwr),
        // An ACK that was overtaken tells nothing.
        (7, 9, 11, CaState::Cwr),
    ] {
        let reply = Ack::new(ack, RTT).with_ece(ce_packets);
        sender.handle_ack(now_ns, &reply);
        let seen = (sender.tp().delivered_ce, sender.state());
        assert_eq!(seen, (delivered_ce, state), "{ack} {ce_packets}");
        let ssthresh = sender.tp().snd_ssthresh;
        assert_eq!(ssthresh == 5, state == CaState::Cwr, "{ssthresh}");
        send(&mut sender, now_ns);
        now_ns += MS;
    }
}

fn step(threshold_packets: u64) -> QueueKind {
    QueueKind::Step(StepParameters {
        threshold_packets,
        ..StepParameters::default()
    })
}

/// One flow over 20 Mb/s, marked above 40 packets.
fn marking(algorithm: &str, ecn: EcnMode) -> Scenario {
    let flows = vec![Flow {
        ecn,
        ..flow(algorithm, RTT)
    }];
    let mut scenario = dumbbell(Profile::Linux6, 20_000_000, 100, flows);
    scenario.duration_ns = 30 * S;
    scenario.bottleneck.queue = step(40);
    scenario
}

/// A file that leaves the count where the test finds it: in ssthresh, which it never uses.
const COUNTER: &str = r#"
#include "tcp_cc.h"
CC_HOOK(void, count_ack, struct sock *sk, u32 flags)
{
	tcp_sk(sk)->snd_ssthresh = 1000 + tcp_sk(sk)->delivered_ce;
}
CC_HOOK(u32, count_ssthresh, struct sock *sk) { return 1000 + tcp_sk(sk)->delivered_ce; }
CC_HOOK(void, count_avoid, struct sock *sk, u32 ack, u32 acked) { }
CC_HOOK(void, count_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	tcp_sk(sk)->snd_cwnd = 90 + tcp_sk(sk)->delivered / 1000 % 5 * 10;
}
CC_ALGORITHM(counter, "Counts marks.", .in_ack_event = count_ack, .ssthresh = count_ssthresh,
	     .cong_avoid = count_avoid, .cong_control = count_control);
"#;

/// What the sender has counted when all is acknowledged is what the link has marked, also where packets
/// are lost. Windows of 90 to 130 packets fill the pipe and a queue of 23 to 63, around the threshold.
#[test]
fn every_mark_is_counted_once() {
    let directory = ackclock_host::Scratch::new().unwrap();
    let path = directory.write("counter.c", COUNTER.as_bytes()).unwrap();
    let counted = |ecn: EcnMode, lost: bool| {
        let mut scenario = marking(path.to_str().unwrap(), ecn);
        scenario.flows[0].size_bytes = Some(20_000_000);
        if lost {
            scenario.bottleneck.loss = Some(Loss::Bernoulli(Bernoulli { p_ppb: 2_000_000 }));
        }
        let result = simulate(&scenario);
        let last = result.samples.ssthresh_packets.last().unwrap();
        assert!(result.events.kind.contains(&EventKind::Completed));
        (u64::from(*last) - 1000, result.flows.marked_packets[0])
    };
    for lost in [false, true] {
        let (delivered_ce, marked) = counted(EcnMode::Accurate, lost);
        println!("lost {lost}: {delivered_ce} of {marked}");
        assert!(marked > 1000, "{marked}");
        assert_eq!(delivered_ce, marked, "lost packets: {lost}");
        // ECE goes on until CWR: classic ECN cannot count.
        let (delivered_ce, marked) = counted(EcnMode::Classic, lost);
        assert_ne!(delivered_ce, marked);
    }
}

fn reductions(result: &RunResult) -> Vec<u64> {
    let events = &result.events;
    (0..events.kind.len())
        .filter(|&row| events.kind[row] == EventKind::Cwr)
        .map(|row| events.time_us[row])
        .collect()
}

/// CUBIC reduces its window once per round trip with either feedback, and gets the same from the link.
#[test]
fn cubic_reduces_once_per_round_trip() {
    let [classic, accurate] =
        [EcnMode::Classic, EcnMode::Accurate].map(|ecn| simulate(&marking("cubic", ecn)));
    for result in [&classic, &accurate] {
        let reductions = reductions(result);
        println!("{} {:?}", reductions.len(), result.flows.delivered_bytes);
        assert!(reductions.len() > 5);
        assert!(reductions
            .windows(2)
            .all(|pair| pair[1] - pair[0] >= RTT / 1_000));
        assert_eq!(result.flows.retransmitted_packets, [0]);
    }
    let delivered = |result: &RunResult| result.flows.delivered_bytes[0] as f64;
    let ratio = delivered(&accurate) / delivered(&classic);
    assert!((0.98..1.02).contains(&ratio), "{ratio}");
}

/// ACKs and retransmissions allow marks, unlike with classic ECN: the queue marks what it would drop.
#[test]
fn every_packet_allows_marks() {
    let early = |ecn: EcnMode| {
        let both = [Direction::Forward, Direction::Reverse].map(|direction| Flow {
            ecn,
            direction,
            ..flow("reno", RTT)
        });
        let mut scenario = dumbbell(Profile::Linux6, 20_000_000, 60, both.to_vec());
        scenario.bottleneck.queue = QueueKind::Red(RedParameters {
            ecn: true,
            min_bytes: 15_000,
            max_bytes: 15_001,
            max_p_ppm: 1_000_000,
            weight_log2: 1,
            ..RedParameters::default()
        });
        scenario.bottleneck.loss = Some(Loss::Bernoulli(Bernoulli { p_ppb: 1_000_000 }));
        let result = simulate(&scenario);
        assert!(result.flows.retransmitted_packets[0] > 0);
        *result.queues.early_dropped_packets.last().unwrap()
    };
    // All but the SYN and the SYN-ACK, which come before the queue is long.
    assert_eq!(early(EcnMode::Accurate), 0);
    assert!(early(EcnMode::Classic) > 0);
}

/// Two SYNs ask for accurate ECN (RFC 9768, 3.1.4.1), one for classic ECN. The flow starts while another
/// flow's slow start fills the queue, so SYNs are lost.
#[test]
fn two_syns_ask() {
    // Marks of a flow whose SYNs were lost, by how many.
    let marks = |ecn: EcnMode| {
        let mut marked = [const { Vec::new() }; 3];
        for start_ms in 0..60 {
            let mut scenario = marking("reno", EcnMode::Off);
            scenario.duration_ns = 12 * S;
            scenario.flows.push(Flow {
                ecn,
                start_ns: 400 * MS + start_ms * 10 * MS,
                ..flow("reno", RTT)
            });
            let result = simulate(&scenario);
            let events = &result.events;
            let established = (0..events.kind.len())
                .find(|&row| events.flow[row] == 2 && events.kind[row] == EventKind::Established);
            let waited_ms = events.time_us[established.unwrap()] / 1_000 - 400 - start_ms * 10;
            let lost = match waited_ms {
                0..1_000 => 0,
                1_000..3_000 => 1,
                _ => 2,
            };
            marked[lost].push(result.flows.marked_packets[1] > 0);
        }
        marked
    };
    for (ecn, asks) in [(EcnMode::Classic, 1), (EcnMode::Accurate, 2)] {
        let marked = marks(ecn);
        println!("{ecn:?} {:?}", marked.each_ref().map(Vec::len));
        assert!(marked[1].len() > 2);
        for (lost, marked) in marked.iter().enumerate() {
            assert!(
                marked.iter().all(|&marked| marked == (lost < asks)),
                "{ecn:?} {lost}"
            );
        }
    }
}

/// Linux 2.6 has no accurate ECN.
#[test]
fn an_old_profile_is_refused() {
    let mut scenario = marking("reno", EcnMode::Accurate);
    scenario.profile = Profile::Linux2_6_25;
    let error = run(&scenario, &Control::default()).unwrap_err().to_string();
    assert_eq!(
        error,
        "flows[0].ecn = \"accurate\": ECN is modelled as in today's Linux; choose profile \
         linux-6, or write false"
    );
}

/// JSON has what people write; `false` is left out.
#[test]
fn what_a_scenario_says() {
    for (ecn, json) in [
        (EcnMode::Classic, "\"ecn\":true"),
        (EcnMode::Accurate, "\"ecn\":\"accurate\""),
    ] {
        let scenario = marking("reno", ecn);
        let text = serde_json::to_string(&scenario).unwrap();
        assert!(text.contains(json), "{text}");
        assert_eq!(Scenario::parse(&text).unwrap(), scenario);
    }
    let off = serde_json::to_string(&marking("reno", EcnMode::Off).flows[0]).unwrap();
    assert!(!off.contains("ecn"), "{off}");
}
