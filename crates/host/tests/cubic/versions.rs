//! The CUBICs of ha2008's table 1 and of leith2007's Algorithm 1, feature by feature. Lines
//! are those of the latter.

use crate::common::{Cubic, Flow};
use ackclock_host::{Algorithm, Era, HostConfig};

const OLD: [&str; 8] = [
    "cubic@2.0-pre",
    "cubic@2.0",
    "cubic@2.6.18",
    "cubic@2.6.18.2",
    "cubic@2.6.18.1",
    "cubic@2.1",
    "cubic@2.6.22-rc4",
    "cubic@2.2",
];

/// On the kernel of its time, whose hosts count ACKs.
fn flow(spec: &str) -> Flow {
    let host = HostConfig {
        era: Era::Linux2_6,
        ..HostConfig::default()
    };
    Flow::new(spec, host)
}

/// After a loss at `w_max`, dMin 200 ms, one packet per ACK.
fn after_loss(spec: &str, w_max: u32) -> Flow {
    let mut flow = flow(&format!(
        "{spec}{}delayed_ack=0",
        if spec.contains(':') { "," } else { ":" }
    ));
    flow.rtt(200_000);
    flow.loss_at(w_max);
    flow
}

/// cnt at `cwnd` (above ssthresh, which is slow start on that kernel), `ms` into the epoch after a loss.
fn cnt(flow: &mut Flow, ms: u64, cwnd: u32) -> u32 {
    flow.at(ms * 1000);
    flow.tp().snd_cwnd = cwnd;
    flow.cc.cong_avoid(0, 1);
    flow.cubic(Cubic::Cnt)
}

#[test]
fn every_row_of_table_1_is_a_preset() {
    let cubic = Algorithm::find("cubic").unwrap();
    let names: Vec<_> = cubic
        .presets()
        .iter()
        .map(|preset| preset.name.as_str())
        .collect();
    for spec in OLD {
        assert!(names.contains(&spec.trim_start_matches("cubic@")), "{spec}");
    }
    for name in [
        "linux",
        "linux-2.6.32",
        "linux-2.6.32-backports",
        "ha2008",
        "rfc9438",
        "rfc9406",
    ] {
        assert!(names.contains(&name), "{name}");
    }
}

#[test]
fn line_2_slow_start_ends_at_100_until_2_6_22_rc4() {
    for spec in OLD {
        let initial = match spec {
            "cubic@2.6.22-rc4" | "cubic@2.2" => 0x7fff_ffff,
            _ => 100,
        };
        assert_eq!(flow(spec).tp().snd_ssthresh, initial, "{spec}");
    }
}

#[test]
fn line_6_delay_min_is_the_least_rtt() {
    let mut flow = flow("cubic@2.6.18");
    for (rtt, least) in [(90_000, 90_000), (80_000, 80_000), (95_000, 80_000)] {
        flow.rtt(rtt);
        assert_eq!(flow.cubic(Cubic::DelayMin), least);
    }
}

#[test]
fn lines_7_and_8_slow_start_counts_acks() {
    let mut flow = flow("cubic@2.6.18");
    flow.tp().snd_cwnd = 99;
    flow.cc.cong_avoid(0, 1);
    assert_eq!(flow.cwnd(), 100);
}

#[test]
fn lines_10_to_14_the_epoch() {
    // b = 2.5 is 1/c: K = cbrt(2.5 (last_max - cwnd)) = cbrt(2.5 * 200) = 7.937 s.
    let mut flow = after_loss("cubic@2.6.18", 1000);
    cnt(&mut flow, 0, 800);
    let k = f64::from(flow.cubic(Cubic::K)) / 1024.0;
    assert!((k - 7.937).abs() < 0.0025 * 7.937, "{k}");
    assert_eq!(flow.cubic(Cubic::OriginPoint), 1000);
    // max(0, ...) and max(cwnd, last_max)
    let mut flow = after_loss("cubic@2.6.18", 1000);
    cnt(&mut flow, 0, 1100);
    assert_eq!(
        (flow.cubic(Cubic::K), flow.cubic(Cubic::OriginPoint)),
        (0, 1100)
    );
}

#[test]
fn lines_15_to_21_the_curve() {
    // W_max = 1000, epoch from 800, dMin = 200 ms, K = 8125/1024 s; cnt = cwnd / (target - cwnd).
    // At 0 s: t = 204, offset 7921, 410 * 7921^3 >> 40 = 185, target = 815, 800 / 15 = 53.
    let mut flow = after_loss("cubic@2.2:tcp_friendliness=0", 1000);
    assert_eq!(flow.cubic(Cubic::EpochStart), 0);
    assert_eq!(cnt(&mut flow, 0, 800), 53);
    assert_eq!(flow.cubic(Cubic::K), 8125);
    // At 8 s: t = 8396, offset 271: on the plateau, 100 cwnd.
    assert_eq!(cnt(&mut flow, 8000, 1000), 100_000);
    // At 12 s: t = 12492, offset 4367, 410 * 4367^3 >> 40 = 31: 1005 / 26.
    assert_eq!(cnt(&mut flow, 12_000, 1005), 38);
}

#[test]
fn line_23_growth_is_clamped_to_20_packets_per_second() {
    // 10000 packets, dMin = 200 ms: at most 20 * 0.2 = 4 per RTT, cnt >= cwnd / 4, in the concave
    // region as in the convex one. 160/s would give 32 per RTT: the 2.0 of table 1.
    for (spec, concave, convex) in [
        ("cubic@2.6.18", 8000 / 4, 10_000 / 4),
        ("cubic@2.6.18.2", 8000 / 32, 10_000 / 32),
        ("cubic@2.0", 8000 / 32, 10_000 / 32),
        // No clamp below W_max: K = 17492/1024 s, at t = 204 the target is 8074, 8000 / 74.
        ("cubic@2.1", 108, 10_000 / 32),
        ("cubic@2.6.22-rc4", 108, 10_000 / 32),
        // None at all: at 40 s t = 41164, offset 23672, 410 * 23672^3 >> 40 = 4946.
        ("cubic@2.2", 108, 2),
        ("cubic@2.0-pre", 108, 2),
    ] {
        let mut flow = after_loss(spec, 10_000);
        assert_eq!(cnt(&mut flow, 0, 8000), concave, "{spec}");
        assert_eq!(cnt(&mut flow, 40_000, 10_000), convex, "{spec}");
    }
}

#[test]
fn line_23_growth_is_linear_in_time() {
    // Far below W_max 2.6.18 climbs 20 packets per second, 2.6.18.2 160, whatever the RTT.
    for (spec, seconds, per_second) in [("cubic@2.6.18", 20, 20.0), ("cubic@2.6.18.2", 10, 160.0)] {
        for rtt_us in [50_000, 200_000] {
            let mut flow = flow(&format!("{spec}:delayed_ack=0,tcp_friendliness=0"));
            flow.rtt(rtt_us);
            flow.loss_at(20_000);
            flow.clock_acks(0, seconds * 1_000_000, rtt_us as u64, 1, |t, cwnd| {
                let law = 15_996.0 + per_second * t;
                assert!(
                    (f64::from(cwnd) - law).abs() <= 1.0 + 0.01 * per_second * t + 5.0,
                    "{spec} {t} {cwnd} {law}"
                );
            });
        }
    }
}

#[test]
fn lines_25_and_26_before_the_first_loss_cnt_is_50() {
    // Whatever curve and clamp say: 200 / 4 = 50 by the clamp, but 2000 / 4 = 500.
    for spec in OLD {
        for cwnd in [120, 2000, 20_000] {
            let mut flow = flow(&format!("{spec}:delayed_ack=0,initial_ssthresh=100"));
            flow.rtt(200_000);
            assert_eq!(cnt(&mut flow, 0, cwnd), 50, "{spec} at {cwnd}");
        }
    }
    // Doubles approximately every 35 RTTs.
    let mut flow = flow("cubic@2.6.18:delayed_ack=0");
    flow.tp().snd_cwnd = 1000;
    flow.clock_acks(0, 3_500_000, 100_000, 1, |_, _| ());
    assert!((1900..=2050).contains(&flow.cwnd()), "{}", flow.cwnd());
}

#[test]
fn lines_28_to_33_one_packet_per_cnt() {
    let mut flow = flow("cubic@2.6.18:delayed_ack=0");
    flow.tp().snd_cwnd = 1000;
    for _ in 0..50 {
        flow.cc.cong_avoid(0, 1);
    }
    assert_eq!((flow.cwnd(), flow.tp().snd_cwnd_cnt), (1000, 50));
    flow.cc.cong_avoid(0, 1);
    assert_eq!((flow.cwnd(), flow.tp().snd_cwnd_cnt), (1001, 0));
}

#[test]
fn lines_36_to_44_a_loss() {
    // (last_max, cwnd, new last_max, ssthresh): 0.9 and 0.8 are 1843/2048 and 819/1024.
    for (last_max, cwnd, new_last_max, ssthresh) in [
        (0, 1000, 1000, 799),
        (1000, 800, 719, 639),
        (800, 1000, 1000, 799),
        (0, 2, 2, 2),
    ] {
        let mut flow = flow("cubic@2.6.18");
        if last_max > 0 {
            flow.loss_at(last_max);
        }
        assert_eq!(flow.loss_at(cwnd), ssthresh);
        assert_eq!(flow.cubic(Cubic::LastMaxCwnd), new_last_max);
        assert_eq!(flow.cubic(Cubic::EpochStart), 0);
    }
    // "The original cubic algorithm lacks the mode switch."
    let mut flow = flow("cubic@2.0-pre");
    flow.losses(&[1000, 800]);
    assert_eq!(flow.cubic(Cubic::LastMaxCwnd), 800);
}

#[test]
fn the_scaling_bug_flattens_the_curve() {
    // 32/1024 of a packet/s^3 where C is 410/1024: K as it should be, amplitude 1/12.8.
    let mut flow = after_loss("cubic@2.6.18.1:max_rate=0,tcp_friendliness=0", 1000);
    // t = 204, offset 7921, 32 * 7921^3 >> 40 = 14: target 986 already, 800 / 186 = 4.
    assert_eq!(cnt(&mut flow, 0, 800), 4);
    assert_eq!(flow.cubic(Cubic::K), 8125);
    // Convex: t = 20684, offset 12559, 32 * 12559^3 >> 40 = 57, not 738: 1000 / 57.
    assert_eq!(cnt(&mut flow, 20_000, 1000), 17);
    // With its clamp the climb is linear, at 20 per second.
    let mut flow = after_loss("cubic@2.6.18.1", 1000);
    assert_eq!(cnt(&mut flow, 0, 800), 800 / 4);
}

#[test]
fn a_spurious_loss_was_undone_to_last_max() {
    for (spec, undone) in [
        ("cubic@2.2", 719),
        ("cubic@linux-2.6.32", 680), // 800 * 1741 / 2048
        ("cubic@linux-2.6.32-backports", 800),
        ("cubic", 800),
    ] {
        let mut flow = flow(spec);
        flow.losses(&[1000, 800]);
        assert_eq!(flow.cc.undo_cwnd(), undone, "{spec}");
        flow.tp().snd_cwnd = 900;
        assert_eq!(flow.cc.undo_cwnd(), 900, "{spec}");
    }
}

#[test]
fn delayed_acks_are_made_up_for() {
    // 2 packets per ACK to begin with: cnt = 50 is 25 ACKs.
    let mut flow = flow("cubic@2.6.18");
    assert_eq!(cnt(&mut flow, 0, 1000), 25);
}

#[test]
fn a_timeout_forgets_and_50_returns() {
    for spec in OLD {
        let mut flow = after_loss(spec, 1000);
        cnt(&mut flow, 1000, 900);
        flow.timeout();
        assert_eq!(flow.cc.tp().snd_ssthresh, 719, "{spec}");
        assert_eq!(flow.cubic(Cubic::LastMaxCwnd), 0);
        assert_eq!(cnt(&mut flow, 2000, 800), 50, "{spec}");
    }
}

#[test]
fn rfc9438_grows_as_reno_above_the_window_of_the_last_loss() {
    // 4.3: W_est grows by 8/15 per window of ACKs up to cwnd_prior, by 1 from there. From 14,
    // 20 being the window of the loss: 6 / (8/15) = 11.25 windows, then one per window.
    let grown = |spec: &str, rtts: u64| {
        let mut flow = Flow::after_loss(spec, 1000, 20, 1000);
        flow.clock_acks(0, rtts * 1000, 1000, 1, |_, _| ());
        f64::from(flow.cwnd())
    };
    for (spec, rtts, law) in [
        ("cubic@rfc9438", 8, 14.0 + 8.0 * 8.0 / 15.0),
        ("cubic@rfc9438", 60, 20.0 + 60.0 - 11.25),
        (
            "cubic@rfc9438:reno_above_prior=0",
            60,
            14.0 + 60.0 * 8.0 / 15.0,
        ),
    ] {
        let cwnd = grown(spec, rtts);
        assert!(
            (cwnd - law).abs() <= 3.0,
            "{spec}, {rtts} RTTs: {cwnd} {law}"
        );
    }
}

#[test]
fn rfc9438_begins_on_the_plateau() {
    // 4.8 and before any loss: K = 0, W_max = cwnd; no growth by 5 %.
    let mut flow = Flow::with_hz("cubic@rfc9438", 250);
    flow.tp().snd_ssthresh = 100;
    assert_eq!(cnt(&mut flow, 0, 200), 20_000);
    assert_eq!(
        (flow.cubic(Cubic::K), flow.cubic(Cubic::OriginPoint)),
        (0, 200)
    );
    // 4.2: the target is at most 1.5 cwnd.
    assert_eq!(cnt(&mut flow, 60_000, 200), 2);
}

#[test]
fn before_the_first_loss_the_released_2_6_32_follows_the_curve() {
    // K = 0 and W_max = cwnd = 400, dMin = 100 ms. At t = 102 the curve is still at 400, and cnt is
    // 100 cwnd. After 10 s
    // t = 10342, 410 * 10342^3 >> 40 = 412: 400 / 412 = 0, and at least 1. The backports have
    // 20 instead of 40000. Both divide by the 2 packets of an ACK.
    for (spec, at_first, later) in [
        ("cubic@linux-2.6.32", 20_000, 1),
        ("cubic@linux-2.6.32-backports", 10, 1),
    ] {
        let mut flow = flow(&format!("{spec}:tcp_friendliness=0,C=0.4"));
        flow.cc.set_state(ackclock_host::CaState::Disorder); // the ratio of ACKs stays
        flow.rtt(100_000);
        flow.tp().snd_ssthresh = 100;
        let first = cnt(&mut flow, 0, 400);
        assert_eq!(first, at_first, "{spec}");
        assert_eq!(cnt(&mut flow, 10_000, 400), later, "{spec}");
    }
}
