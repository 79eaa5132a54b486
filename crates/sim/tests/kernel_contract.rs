//! What a file in the kernel's form finds besides what our dialect uses, seen from the file. The table
//! at the head of `tcp/host/mod.rs` names these tests.

use crate::common;

use ackclock_host::{Algorithm, CaState, Configured};
use ackclock_sim::scenario::Profile;
use ackclock_sim::tcp::{Ack, FlowLimits, Sender};
use common::script::{Script, RTT, UNLIMITED};
use common::{dumbbell, flow, simulate, MS};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/kernel_contract.c");

/// `struct seen` of the file.
#[derive(Debug)]
struct Seen {
    bytes_acked: u64,
    last_end_seq: u32,
    interval_us: [u32; 2],
    lost: [u32; 2],
    delivered_ce: [u32; 2],
    tx_in_flight: u32,
    is_ece: bool,
    may_answer_probe: bool,
    probes_app_limited: bool,
    ecn_flags: u32,
}

fn seen(sender: &Sender) -> Seen {
    let words = sender.tp().inet_conn.icsk_ca_priv;
    let word = |index: usize| (words[1 + index / 2] >> (32 * (index % 2))) as u32;
    Seen {
        bytes_acked: words[0],
        last_end_seq: word(0),
        interval_us: [word(1), word(2)],
        lost: [word(3), word(4)],
        delivered_ce: [word(5), word(6)],
        tx_in_flight: word(7),
        is_ece: word(8) != 0,
        may_answer_probe: word(9) != 0,
        probes_app_limited: word(10) != 0,
        ecn_flags: word(11),
    }
}

fn show() -> Configured {
    Algorithm::configure(&format!("{FILE}@show")).unwrap()
}

/// ACKs of a window that left at once, with a loss.
#[test]
fn a_sample_knows_when_its_packet_was_sent() {
    let mut script = Script::with(Profile::Linux6, &show(), UNLIMITED);
    script.ack(100, 2, &[]);
    let first = seen(&script.sender);
    assert_eq!(first.bytes_acked, 2 * 1448 + 1);
    assert_eq!(first.last_end_seq, 2 * 1448);
    assert_eq!(first.interval_us, [0, 100_000]);
    // It left in a burst of two, the first.
    assert_eq!((first.tx_in_flight, first.lost), (2, [0, 0]));
    assert!(!first.is_ece && !first.may_answer_probe);
    // Segment 2 is lost; 10 and 11 left after the first ACK.
    script.ack(1, 2, &[(3, 10)]);
    script.ack(100, 2, &[(3, 12)]);
    let after = seen(&script.sender);
    assert_eq!(after.bytes_acked, first.bytes_acked);
    assert_eq!(after.last_end_seq, 12 * 1448);
    assert_eq!((after.tx_in_flight, after.lost), (10, [0, 1]));
}

/// ECE counts the packets that the ACK delivers, and those before.
#[test]
fn a_sample_knows_the_marks() {
    let mut script = Script::with(Profile::Linux6, &show(), UNLIMITED);
    script.sender = Sender::new(
        ackclock_host::CongestionControl::new(&show(), ackclock_host::HostConfig::default()),
        &ackclock_sim::tcp::profile::Kernel::for_profile(Profile::Linux6),
        &ackclock_sim::tcp::profile::Switches::usual(Profile::Linux6),
        UNLIMITED,
        ackclock_sim::tcp::Handshake {
            now_ns: RTT,
            rtt_ns: RTT,
            ecn: true.into(),
            one_packet: false,
        },
        0,
    );
    script.transmit();
    script
        .sender
        .handle_ack(2 * RTT, &Ack::new(2, RTT).with_ece(0));
    let marked = seen(&script.sender);
    assert!(marked.is_ece);
    assert_eq!(marked.delivered_ce, [0, 2]);
    assert_eq!(
        marked.ecn_flags & 1 << 5,
        1 << 5,
        "ECT(1) from the handshake"
    );
}

/// The last segment again: its ACK may answer either copy; the ACK of what follows tells.
#[test]
fn a_probe_is_told_from_an_original() {
    let limits = FlowLimits {
        segments: 4,
        ..UNLIMITED
    };
    let mut script = Script::with(Profile::Linux6, &show(), limits);
    script.ack(100, 3, &[]);
    while script.sent.is_empty() || script.sent[0] != (3, 4) {
        script.timeout();
    }
    script.ack(100, 4, &[]);
    let now = seen(&script.sender);
    assert!(now.may_answer_probe, "{now:?}");
    assert!(now.probes_app_limited, "the application wrote 4 segments");
}

/// 14 segments are written, the first 10 leave, the receiver takes 20, and from its first ACK on 2 more
/// (`tcp_grow_window`). Segment 2 is sent again.
#[test]
fn a_file_sees_what_was_sent_and_what_waits() {
    let limits = FlowLimits {
        segments: 14,
        receive_window: 20,
        ..UNLIMITED
    };
    let queue = Algorithm::configure(&format!("{FILE}@queue")).unwrap();
    let mut script = Script::with(Profile::Linux6, &queue, limits);
    let mut ack = |ack, sack: &[(u64, u64)]| {
        script.ack(100, ack, sack);
        let words = script.sender.tp().inet_conn.icsk_ca_priv;
        [words[0] / 1448, words[1], words[2] / 1448, words[3] / 1448]
    };
    assert_eq!(ack(2, &[]), [10, 10, 4, 20]);
    assert_eq!(ack(2, &[(3, 10)]), [12, 12, 2, 22]);
    let [bytes, packets, waiting, _] = ack(14, &[]);
    assert_eq!((bytes, packets, waiting), (15, 15, 0));
}

/// `tcp_enter_cwr` in `cong_avoid` (`tcp_cdg_backoff`) begins a reduction, also on an ACK with a SACK; PRR
/// takes the window down.
#[test]
fn a_hook_may_begin_a_reduction() {
    for (profile, has_sack) in [
        (Profile::Linux6, false),
        (Profile::Linux6, true),
        (Profile::Linux2_6_25, false),
    ] {
        let early = Algorithm::configure(&format!("{FILE}@early")).unwrap();
        let mut script = Script::with(profile, &early, UNLIMITED);
        let mut acked = 0;
        while script.cwnd() < 14 {
            acked += 1;
            script.ack(10, acked, &[]);
        }
        let ssthresh = script.ssthresh();
        let sacked = [(acked + 2, acked + 3)];
        script.ack(1, acked + 1, if has_sack { &sacked } else { &[] });
        assert_eq!(
            script.sender.tp().inet_conn.icsk_ca_state,
            CaState::Cwr as u8
        );
        assert!(script.ssthresh() == 7 && ssthresh > 7);
        let sent = script.nxt;
        for more in 2 + u64::from(has_sack)..16 + u64::from(has_sack) {
            script.ack(1, acked + more, &[]);
        }
        assert_eq!(script.cwnd(), 7, "{profile:?}");
        assert!(script.nxt > sent);
    }
}

/// TSval and TSecr: ten packets of 12 ms are on the way for 120 ms, of which an ACK takes 40.
#[test]
fn timestamps_tell_both_ways() {
    let path = format!("{FILE}@show");
    let mut scenario = dumbbell(Profile::Linux6, 1_000_000, 300, vec![flow(&path, 40 * MS)]);
    scenario.delayed_ack_segments = 1;
    let result = simulate(&scenario);
    let ssthresh = result.samples.ssthresh_packets;
    let told = ssthresh.iter().filter(|&&each| each < 1 << 20);
    let told: Vec<_> = told.map(|each| (each / 1000, each % 1000 - 1)).collect();
    assert!(told.len() > 100);
    for (there, back) in &told[20..] {
        assert!(
            there.abs_diff(80) <= 1 && back.abs_diff(40) <= 1,
            "{there} {back}"
        );
    }
}
