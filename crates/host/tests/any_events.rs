//! Whatever happens, every algorithm keeps a window: RTTs of 0 and of hours, cwnd at its
//! limits, wrapping clocks and sequence numbers, hooks in any order. And once more with
//! every algorithm built to stop at undefined behaviour.

use crate::common;

use std::env;
use std::process::{Command, Output};

use ackclock_host::{AckSample, CaEvent, CaState, Era, HostConfig};
use common::{specs, Flow, UserFile, ALGORITHMS_FROM};

const ALGORITHMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms");
/// The largest window that the simulator lets an algorithm have.
const MAX_CWND: u32 = 1 << 24;
const STATES: [CaState; 5] = [
    CaState::Open,
    CaState::Disorder,
    CaState::Cwr,
    CaState::Recovery,
    CaState::Loss,
];
const EVENTS: [CaEvent; 4] = [
    CaEvent::TxStart,
    CaEvent::CwndRestart,
    CaEvent::CompleteCwr,
    CaEvent::Loss,
];

#[test]
fn no_sequence_of_events_breaks_an_algorithm() {
    for spec in specs() {
        println!("{spec}"); // the last that a program says which ends here
        for (era, hz) in [
            (Era::Linux6, 1000),
            (Era::Linux6, 250),
            (Era::Linux2_6, 100),
        ] {
            let mut flow = live(&spec, era, hz);
            // FAST and Vegas keep the least RTT they ever saw: after 0 everything is a queue.
            if !spec.starts_with("fast") && !spec.starts_with("vegas") {
                recover(&mut flow, &format!("{spec} {era:?}"));
            }
        }
    }
}

/// 20 000 events at random.
fn live(spec: &str, era: Era, hz: u32) -> Flow {
    let windows = [1, 2, 3, 10, 100, 5000, 999_999, MAX_CWND];
    let rtts = [-1, 0, 1, 40, 9_999, 100_000, 20_000_000, i32::MAX];
    let host = HostConfig {
        hz,
        era,
        ..HostConfig::default()
    };
    let mut flow = Flow::new(spec, host);
    flow.tp().snd_ssthresh = 2;
    let mut random = 88_172_645_463_325_252_u64;
    let mut pick = |n: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 33) as usize % n
    };
    // jiffies, microseconds and sequence numbers are near the end of their 32 bits.
    let mut now_us = (1 << 32) * (1_000_000 / u64::from(hz)) - 1_070_000_000;
    flow.tp().snd_una = u32::MAX - 1_000_000;
    let mut step_us = 1;
    for _ in 0..20_000 {
        step_us = if pick(50) == 0 {
            1 << pick(34)
        } else {
            step_us
        };
        now_us += step_us;
        flow.at(now_us);
        match pick(24) {
            0 => flow.cc.set_state(STATES[pick(STATES.len())]),
            1 => flow.cc.cwnd_event(EVENTS[pick(EVENTS.len())]),
            2 => {
                let ssthresh = flow.cc.ssthresh();
                assert!(ssthresh >= 2, "{spec} {era:?}: ssthresh {ssthresh}");
                flow.tp().snd_ssthresh = ssthresh;
                flow.tp().prior_cwnd = flow.cwnd();
            }
            3 => assert!(flow.cc.undo_cwnd() >= 1, "{spec}"),
            4 => flow.tp().snd_cwnd = windows[pick(windows.len())],
            5 => flow.tp().snd_cwnd_cnt = pick(2_000_000) as u32,
            6 => flow.tp().snd_ssthresh = [2, 100, 0x7fff_ffff][pick(3)],
            7 => flow.tp().srtt_us = [0, 1, 800_000, u32::MAX][pick(4)],
            8 => flow.tp().is_cwnd_limited ^= 1,
            9 => flow.cc.pkts_acked(&AckSample {
                pkts_acked: [0, 1, 1_000_000, u32::MAX][pick(4)],
                rtt_us: rtts[pick(rtts.len())],
                in_flight: 0,
            }),
            10 => flow.tp().lsndtime = flow.cc.tp().inet_conn.sk.sk_host.jiffies - pick(9) as u32,
            _ => flow.ack(rtts[pick(rtts.len())], 1 + pick(44) as u32),
        }
        let (cwnd, ssthresh) = (flow.cwnd(), flow.tp().snd_ssthresh);
        assert!(
            cwnd >= 1 && ssthresh >= 2,
            "{spec} {era:?}: {cwnd}, {ssthresh}"
        );
        flow.tp().snd_cwnd = cwnd.min(MAX_CWND);
    }
    flow
}

/// It is not stuck: after a loss at 20, 400 calm RTTs of 50 ms make the window 20 at least.
fn recover(flow: &mut Flow, what: &str) {
    flow.cc.set_state(CaState::Open);
    flow.tp().is_cwnd_limited = 1;
    flow.tp().srtt_us = 8 * 50_000;
    let reduced = flow.loss_at(20);
    assert!((2..=20).contains(&reduced), "{what}: {reduced}");
    for _ in 0..400 {
        flow.round(50_000, 1);
        if flow.cwnd() > 1000 {
            break;
        }
    }
    assert!(flow.cwnd() >= 20, "{what}: stuck at {}", flow.cwnd());
}

/// One test of this program with algorithms compiled anew, to trap where C leaves the
/// behaviour undefined. What overflows a signed number wraps, as in the kernel.
fn sanitized(test: &str) -> Output {
    let compiler = env::var("CC").unwrap_or("cc".into());
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(
            "CC",
            format!("{compiler} -fsanitize=undefined -fsanitize-undefined-trap-on-error"),
        )
        .env(ALGORITHMS_FROM, ALGORITHMS)
        // Its code is this compiler's.
        .env("ACKCLOCK_TRUST", "1")
        .output()
        .unwrap();
    assert!(
        output.stdout.starts_with(b"\nrunning 1 test\n"),
        "{output:?}"
    );
    output
}

#[test]
fn nothing_is_undefined() {
    let output = sanitized("any_events::no_sequence_of_events_breaks_an_algorithm");
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn what_is_undefined_is_seen() {
    let output = sanitized("any_events::a_shift_by_40_of_32_bits");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said.contains("my_cc.c:2, function far: stops itself"),
        "{said}"
    );
}

/// Unseen here.
#[test]
fn a_shift_by_40_of_32_bits() {
    let file = UserFile::new(
        "#include \"tcp_cc.h\"\n\
         CC_HOOK(u32, far, struct sock *sk) { return 2 + (1U << tcp_sk(sk)->snd_cwnd); }\n\
         CC_ALGORITHM(far, \"shifts\", .ssthresh = far, .cong_avoid = tcp_reno_cong_avoid);\n",
    );
    let mut flow = Flow::with_hz(file.path.to_str().unwrap(), 250);
    flow.tp().snd_cwnd = 40;
    assert!(flow.cc.ssthresh() >= 2);
}
