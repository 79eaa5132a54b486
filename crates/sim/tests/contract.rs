//! What `tcp_cc.h` offers an algorithm beyond windows and states, seen from its C file: each field
//! and each hook is served or refused by name. The table at the head of `tcp/host/mod.rs` names
//! these tests.

use crate::common;

use ackclock_host::{Algorithm, Configured, CongestionControl, HostConfig, Scratch};
use ackclock_sim::scenario::Profile;
use ackclock_sim::tcp::profile::{Kernel, Switches};
use ackclock_sim::tcp::{Ack, FlowLimits, Handshake, Sender};
use ackclock_sim::{run, Control};
use common::script::{Script, RTT, UNLIMITED};
use common::wild::{self, Totals, Wild};
use common::{dumbbell, flow, simulate, MS};
use std::path::{Path, PathBuf};

const CONTRACT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/contract.c");

/// `struct contract` of contract.c, without the address.
#[derive(Debug)]
struct Seen {
    rates: u32,
    largest_kbps: u32,
    invalid: u32,
    app_limited: u32,
    retransmitted: u32,
    flag: i32,
    in_flight: u32,
    min_rtt_us: u32,
    least_rto: u32,
    largest_rto: u32,
}

fn seen(sender: &Sender) -> Seen {
    let words = sender.tp().inet_conn.icsk_ca_priv;
    let word = |index: usize| (words[1 + index / 2] >> (32 * (index % 2))) as u32;
    Seen {
        rates: word(0),
        largest_kbps: word(1),
        invalid: word(2),
        app_limited: word(3),
        retransmitted: word(4),
        flag: word(5) as i32,
        in_flight: word(6),
        min_rtt_us: word(7),
        least_rto: word(8),
        largest_rto: word(9),
    }
}

/// contract.c with `text` before it.
fn with(text: &str) -> (Scratch, PathBuf) {
    let directory = Scratch::new().unwrap();
    let file = std::fs::read_to_string(CONTRACT).unwrap();
    let text = format!("{text}\n{file}");
    let path = directory.write("mine.c", text.as_bytes()).unwrap();
    (directory, path)
}

fn configured(path: &Path) -> Configured {
    Algorithm::configure(path.to_str().unwrap()).unwrap()
}

fn connect(cc: CongestionControl, ecn: bool) -> Sender {
    let kernel = Kernel::for_profile(Profile::Linux6);
    let switches = Switches::usual(Profile::Linux6);
    Sender::new(
        cc,
        &kernel,
        &switches,
        UNLIMITED,
        Handshake {
            now_ns: RTT,
            rtt_ns: RTT,
            ecn: ecn.into(),
            one_packet: false,
        },
        0,
    )
}

fn script(limits: FlowLimits) -> Script {
    Script::with(Profile::Linux6, &configured(Path::new(CONTRACT)), limits)
}

/// Two ACKs of the first window, 100 and 101 ms after its sending.
#[test]
fn a_rate_sample_is_real() {
    let mut script = script(UNLIMITED);
    script.ack(100, 2, &[]);
    // FLAG_WIN_UPDATE, FLAG_DATA_ACKED, FLAG_SND_UNA_ADVANCED, FLAG_SET_XMIT_TIMER.
    let now = seen(&script.sender);
    assert_eq!(now.flag, 0x02 | 0x04 | 0x400 | 0x1000);
    assert_eq!((now.rates, now.app_limited, now.invalid), (1, 1, 0));
    assert_eq!(now.largest_kbps, 2 * 1448 * 8 / 100);
    assert_eq!((now.in_flight, now.min_rtt_us), (2 * 1448, 100_000));
    script.ack(1, 10, &[]);
    let now = seen(&script.sender);
    assert_eq!(now.largest_kbps, 10 * 1448 * 8 / 101);
    assert_eq!(now.in_flight, 10 * 1448);
    // Nothing delivered, no rate; with a SACK the ACK is on the slow path.
    script.ack(1, 10, &[]);
    assert_eq!(seen(&script.sender).invalid, 1);
    script.ack(98, 10, &[(11, 12)]);
    let now = seen(&script.sender);
    assert_eq!(now.flag & 0x526, 0x100 | 0x20);
    assert_eq!(now.app_limited, 2, "the application was the limit at first");
}

/// The network never delivers faster than its link, whatever the windows and the losses. What
/// several ACKs that wait together add is less than 1 %.
#[test]
fn no_rate_exceeds_the_links() {
    for (rate_bps, buffer, rtt_ms, loss) in [
        (10_000_000, 30, 40, None),
        (100_000_000, 300, 20, None),
        (20_000_000, 20, 5, None),
        (50_000_000, 400, 50, Some(300)),
    ] {
        let mut scenario = dumbbell(
            Profile::Linux6,
            rate_bps,
            buffer,
            vec![flow(CONTRACT, rtt_ms * MS)],
        );
        scenario.bottleneck.drop_every_packets = loss;
        let result = simulate(&scenario);
        let payload_kbps = rate_bps * 1448 / 1500 / 1000;
        let largest = u64::from(*result.samples.ssthresh_packets.last().unwrap());
        assert!(result.flows.retransmitted_packets[0] > 0);
        assert!(
            largest <= payload_kbps * 101 / 100 && largest >= payload_kbps * 95 / 100,
            "{largest} of {payload_kbps} kb/s at {rate_bps}, {buffer}, {rtt_ms}, {loss:?}"
        );
    }
}

/// Over a path that loses, there are samples of retransmissions too.
#[test]
fn samples_over_a_lossy_path() {
    let path = Wild {
        loss: 20,
        rounds: 1,
        ..Wild::new(Profile::Linux6)
    };
    let mut last = None;
    wild::run(&path, CONTRACT, &mut Totals::default(), |event| {
        if let wild::Event::Called(sender) = event {
            last = Some(seen(sender));
        }
    });
    let last = last.unwrap();
    assert!(last.retransmitted > 5 && last.rates > 500, "{last:?}");
    // A packet each 1 ms: 11.6 Mb/s.
    assert!((10_000..11_700).contains(&last.largest_kbps), "{last:?}");
}

/// A send buffer below the window: the application is the limit; a receive window is not.
#[test]
fn the_application_is_the_limit() {
    let wrote_little = FlowLimits {
        send_buffer: 6,
        ..UNLIMITED
    };
    let small_window = FlowLimits {
        receive_window: 6,
        ..UNLIMITED
    };
    for (limits, limited) in [(wrote_little, true), (small_window, false)] {
        let mut script = script(limits);
        for round in 1..6 {
            script.ack(100, round * 6, &[]);
        }
        let tp = script.sender.tp();
        let expected = if limited { tp.delivered } else { 0 };
        assert_eq!(tp.app_limited, expected, "{limits:?}");
        assert_eq!(
            seen(&script.sender).app_limited,
            if limited { 5 } else { 1 }
        );
    }
}

/// 100 ms and 200 ms at 1000 Hz; back-off doubles it, and the next sample shows a fresh one.
#[test]
fn the_timeout_follows_the_rtt_and_backs_off() {
    let mut script = script(UNLIMITED);
    let rto = |script: &Script| script.sender.tp().inet_conn.icsk_rto;
    assert_eq!(rto(&script), 300);
    script.ack(100, 2, &[]);
    assert_eq!(rto(&script), 300);
    script.ack(80, 3, &[]);
    assert!((310..400).contains(&rto(&script)), "{}", rto(&script));
    let before = rto(&script);
    while script.sender.state() != ackclock_host::CaState::Loss {
        script.timeout();
    }
    assert_eq!(rto(&script), 2 * before);
    script.timeout();
    assert_eq!(rto(&script), 4 * before);
    let nxt = script.nxt;
    script.ack(50, nxt, &[]);
    assert!(rto(&script) < 3 * before);
    let now = seen(&script.sender);
    assert!(now.least_rto <= 300 && now.largest_rto >= 310, "{now:?}");
}

/// With `sndbuf_expand` the send buffer grows as the algorithm says; here it has room for one window of
/// 160 packets, less than 1 MiB, so a hole stops the flow at the end of the first write. Without the hook
/// it has room for two. With a size of its own it keeps it.
#[test]
fn the_send_buffer_grows_as_the_algorithm_says() {
    let text = "#define CONTRACT_HOOKS .cong_control = contract_cong_control, \
                .sndbuf_expand = contract_sndbuf_expand";
    let (_directory, path) = with(text);
    let rides = |algorithm: &Path, limits| {
        let mut script = Script::with(Profile::Linux6, &configured(algorithm), limits);
        for _ in 1..5 {
            let nxt = script.nxt;
            script.ack(100, nxt, &[]);
        }
        let una = script.sender.una();
        // A hole, and all above it is delivered: nothing is in flight.
        for _ in 0..50 {
            let nxt = script.nxt;
            script.ack(100, una, &[(una + 1, nxt)]);
        }
        script.nxt - una
    };
    let free = rides(Path::new(CONTRACT), UNLIMITED);
    let grown = rides(&path, UNLIMITED);
    let fixed = FlowLimits {
        send_buffer: 12,
        ..UNLIMITED
    };
    assert_eq!(rides(&path, fixed), 12);
    assert_eq!(grown, 714 - 150);
    assert!(free > grown, "{free}");
}

/// Without the hook bursts have at least 2 packets.
#[test]
fn bursts_are_as_large_as_the_algorithm_says() {
    let text = "#define CONTRACT_HOOKS .cong_control = contract_cong_control, \
                .min_tso_segs = contract_min_tso_segs";
    let (_directory, path) = with(text);
    let first = |algorithm: &Path| {
        let mut sender = connect(
            CongestionControl::new(&configured(algorithm), HostConfig::default()),
            false,
        );
        sender.poll_transmit(RTT).unwrap().segments
    };
    // 10 packets in 100 ms are less than one in 1 ms. The hook asks for 6, and half of cwnd is 5.
    assert_eq!((first(Path::new(CONTRACT)), first(&path)), (2, 5));
}

/// How far rate halving goes: to ssthresh, or as far as a user's file says.
#[test]
fn a_reduction_goes_as_far_as_the_algorithm_says() {
    const QUARTER: &str = r#"
#include "tcp_cc.h"
CC_HOOK(u32, quarter_ssthresh, struct sock *sk) { return 12; }
CC_HOOK(void, quarter_avoid, struct sock *sk, u32 ack, u32 acked) {}
CC_HOOK(u32, quarter_min_cwnd, const struct sock *sk) { return tcp_sk(sk)->snd_ssthresh / 4; }
CC_ALGORITHM(quarter, "Goes down to a quarter.", .ssthresh = quarter_ssthresh,
	     .cong_avoid = quarter_avoid MIN_CWND);
"#;
    let least = |member: &str| {
        let directory = Scratch::new().unwrap();
        let text = QUARTER.replace(" MIN_CWND", member);
        let path = directory.write("quarter.c", text.as_bytes()).unwrap();
        let mut cc = CongestionControl::new(&configured(&path), HostConfig::default());
        cc.tp_mut().snd_ssthresh = 12;
        cc.min_cwnd()
    };
    assert_eq!(least(""), 12);
    assert_eq!(least(", .min_cwnd = quarter_min_cwnd"), 3);
    assert_eq!(least(", .min_cwnd = tcp_reno_min_cwnd"), 6);
}

/// `release` is called once, when the connection ends.
/// The file counts in a word of the test's, which only a trusted one may write.
#[test]
fn a_connection_is_released() {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "contract::released", "--ignored"])
        .env("ACKCLOCK_TRUST", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(
        output.stdout.starts_with(b"\nrunning 1 test\n"),
        "{output:?}"
    );
}

#[test]
#[ignore = "run by a_connection_is_released, with ACKCLOCK_TRUST=1"]
fn released() {
    let mut released = Box::new(0_u64);
    let mut cc = CongestionControl::new(&configured(Path::new(CONTRACT)), HostConfig::default());
    cc.tp_mut().inet_conn.icsk_ca_priv[0] = std::ptr::from_mut(&mut *released) as u64;
    let sender = connect(cc, false);
    assert_eq!(*released, 0);
    drop(sender);
    assert_eq!(*released, 1);
    // Without a connection there is nothing to release.
    let mut cc = CongestionControl::new(&configured(Path::new(CONTRACT)), HostConfig::default());
    cc.tp_mut().inet_conn.icsk_ca_priv[0] = std::ptr::from_mut(&mut *released) as u64;
    drop(cc);
    assert_eq!(*released, 1);
}

/// `ecn_flags` says what was agreed (1), and that the next new packet tells of a reduction (2).
/// `CA_ACK_ECE` is in `in_ack_event` only if ECN was agreed.
#[test]
fn ecn_is_as_agreed() {
    const ECE: &str = r#"
#include "tcp_cc.h"
struct ece { u32 count; };
CC_PRIVATE(struct ece);
CC_HOOK(void, ece_event, struct sock *sk, u32 flags)
{
	struct ece *ca = inet_csk_ca(sk);
	ca->count += !!(flags & CA_ACK_ECE);
}
CC_HOOK(u32, ece_ssthresh, struct sock *sk) { return 5; }
CC_HOOK(void, ece_avoid, struct sock *sk, u32 ack, u32 acked) {}
CC_ALGORITHM(ece, "Counts ECE.", .in_ack_event = ece_event, .ssthresh = ece_ssthresh,
	     .cong_avoid = ece_avoid);
"#;
    let directory = Scratch::new().unwrap();
    let path = directory.write("ece.c", ECE.as_bytes()).unwrap();
    for (ecn, after) in [(true, [1, 3, 1]), (false, [0; 3])] {
        let cc = CongestionControl::new(&configured(&path), HostConfig::default());
        let mut sender = connect(cc, ecn);
        let mut seen = vec![sender.tp().ecn_flags];
        while sender.poll_transmit(RTT).is_some() {}
        let ack = Ack::new(2, RTT).with_ece(0);
        sender.handle_ack(2 * RTT, &ack);
        seen.push(sender.tp().ecn_flags);
        let mut bursts = 0;
        while let Some(burst) = sender.poll_transmit(2 * RTT) {
            assert_eq!(burst.marks.cwr, ecn && bursts == 0);
            bursts += 1;
        }
        assert!(bursts > 0);
        seen.push(sender.tp().ecn_flags);
        assert_eq!(seen, after, "{ecn}");
        assert_eq!(sender.tp().inet_conn.icsk_ca_priv[0], u64::from(ecn));
        assert_eq!(sender.tp().snd_ssthresh == 5, ecn);
        // Of the packets that this ACK delivered.
        assert_eq!(sender.tp().delivered_ce, if ecn { 2 } else { 0 });
    }
}

/// An old kernel has no `cong_control`.
#[test]
fn what_an_old_kernel_does_not_serve_is_refused_by_name() {
    let (path, profile) = (CONTRACT, Profile::Linux2_6_25);
    let scenario = dumbbell(profile, 1_000_000, 30, vec![flow(path, 40 * MS)]);
    let error = run(&scenario, &Control::default()).unwrap_err().to_string();
    assert!(
        error
            .contains("it has cong_control, which Linux has had since 4.9; choose profile linux-6"),
        "{error}"
    );
}
