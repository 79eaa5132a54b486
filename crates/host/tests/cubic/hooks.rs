//! CUBIC's hooks against vectors computed by hand (or by an independent script) from
//! the paper and from the description of Linux's integer arithmetic.

use crate::common::{Cubic, Flow};
use ackclock_host::{CaEvent, CongestionControl, Era, HostConfig};

const HZ: [u32; 3] = [100, 250, 1000];

#[test]
fn k_is_linux_cube_root() {
    // (W_max - cwnd, K in 1/1024 s)
    let vectors = [
        (1, 1388),
        (10, 2991),
        (50, 5120),
        (100, 6451),
        (171, 7712),
        (250, 8746),
        (500, 11027),
        (1000, 13897),
        (2500, 18864),
        (5000, 23753),
        (10_000, 29930),
        (25_000, 40665),
        (100_000, 64487),
    ];
    for (distance, k) in vectors {
        let mut flow = Flow::after_loss("cubic", 250, 1_000_000, 100_000);
        flow.tp().snd_cwnd = 1_000_000 - distance;
        flow.cc.cong_avoid(0, 1);
        assert_eq!(flow.cubic(Cubic::K), k, "W_max - cwnd = {distance}");
    }
}

#[test]
fn cnt_follows_the_curve() {
    // W_max = 1000, epoch from 700, dMin = 100 ms: (ms into the epoch, cwnd, cnt).
    let vectors = [
        (0, 700, 63),
        (100, 705, 47),
        (200, 710, 35),
        (500, 740, 43),
        (1000, 780, 45),
        (2000, 850, 56),
        (3000, 900, 60),
        (5000, 970, 194),
        (7000, 990, 141),
        (9000, 999, 999),        // 1 packet short of the plateau
        (10_000, 1000, 100_000), // on it: 100 cwnd
        (12_000, 1005, 167),     // convex
        (15_000, 1070, 62),
        (20_000, 1400, 10),
    ];
    for hz in HZ {
        let mut flow = Flow::after_loss("cubic:tcp_friendliness=0", hz, 1000, 100_000);
        for (ms, cwnd, cnt) in vectors {
            flow.at(ms * 1000);
            flow.tp().snd_cwnd = cwnd;
            flow.cc.cong_avoid(0, 1);
            assert_eq!(flow.cubic(Cubic::Cnt), cnt, "HZ {hz}, {ms} ms, cwnd {cwnd}");
        }
    }
}

#[test]
fn window_follows_the_curve_over_an_epoch() {
    // Mistakes (ii), K or the look-ahead wrong, and (v), units, would show here.
    for (spec, start, c) in [
        ("cubic", 1400, 410),
        ("cubic@ha2008", 1599, 410),
        ("cubic:C=0.8", 1400, 819),
    ] {
        for hz in HZ {
            let mut flow = Flow::after_loss(spec, hz, 2000, 100_000);
            assert_eq!(flow.cwnd(), start);
            let c = f64::from(c) / 1024.0;
            let k = (f64::from(2000 - start) / c).cbrt();
            flow.clock_acks(0, (2e6 * k) as u64, 100_000, 1, |t, cwnd| {
                let law = c * (t - k).powi(3) + 2000.0;
                let error = (f64::from(cwnd) - law).abs();
                assert!(
                    error <= 1.0 + 0.01 * law,
                    "{spec}, HZ {hz}, {t:.3} s: {cwnd}, law {law:.1}"
                );
            });
        }
    }
}

#[test]
fn k_is_that_of_the_window_the_epoch_begins_with() {
    // Mistake (ii): W_max (1 - beta) in place of W_max - cwnd. Recovery may leave cwnd
    // anywhere; K is 1024 cbrt(distance / 0.4) for 500, and not for 300.
    let mut flow = Flow::after_loss("cubic", 250, 1000, 100_000);
    flow.tp().snd_ssthresh = 500;
    flow.tp().snd_cwnd = 500;
    flow.cc.cong_avoid(0, 1);
    assert_eq!(
        (flow.cubic(Cubic::K), flow.cubic(Cubic::OriginPoint)),
        (11027, 1000)
    );

    // Above W_max the curve begins at its plateau.
    let mut flow = Flow::after_loss("cubic", 250, 1000, 100_000);
    flow.tp().snd_cwnd = 1200;
    flow.cc.cong_avoid(0, 1);
    assert_eq!(
        (flow.cubic(Cubic::K), flow.cubic(Cubic::OriginPoint)),
        (0, 1200)
    );
}

#[test]
fn a_loss_reduces_once_and_lowers_the_plateau_if_windows_shrink() {
    // (spec, W_last_max, cwnd, ssthresh, new W_last_max). Mistake (i) is to apply fast
    // convergence to the window as well.
    let vectors = [
        ("cubic", 0, 10, 7, 10),
        ("cubic", 0, 100, 70, 100),
        ("cubic", 1000, 800, 560, 680), // 800 * 1741 / 2048
        ("cubic", 800, 800, 560, 800),
        ("cubic", 800, 1000, 700, 1000),
        ("cubic", 0, 2, 2, 2), // ssthresh is never below 2
        ("cubic:fast_convergence=0", 1000, 800, 560, 800),
        ("cubic@ha2008", 0, 1000, 799, 1000), // 1000 * 819 / 1024
        ("cubic@ha2008", 1000, 800, 639, 719), // 800 * 1843 / 2048
        ("cubic:beta=0.5", 1000, 800, 400, 600),
    ];
    for (spec, last_max, cwnd, ssthresh, new_last_max) in vectors {
        let mut flow = Flow::with_hz(spec, 250);
        if last_max > 0 {
            flow.loss_at(last_max);
        }
        flow.tp().snd_cwnd = cwnd;
        flow.tp().snd_ssthresh = 2;
        flow.cc.cong_avoid(0, 1);
        assert_ne!(flow.cubic(Cubic::EpochStart), 0);
        assert_eq!(
            flow.loss_at(cwnd),
            ssthresh,
            "{spec}: {last_max} then {cwnd}"
        );
        assert_eq!(
            flow.cubic(Cubic::LastMaxCwnd),
            new_last_max,
            "{spec}: {last_max} then {cwnd}"
        );
        assert_eq!(flow.cubic(Cubic::EpochStart), 0);
    }
}

#[test]
fn undo_returns_to_the_window_before_the_loss() {
    let mut flow = Flow::after_loss("cubic", 250, 1000, 100_000);
    assert_eq!((flow.cwnd(), flow.cc.undo_cwnd()), (700, 1000));
    flow.tp().snd_cwnd = 1100;
    assert_eq!(flow.cc.undo_cwnd(), 1100);
}

#[test]
fn a_timeout_forgets_everything() {
    let mut flow = Flow::after_loss("cubic", 250, 1000, 100_000);
    flow.clock_acks(0, 3_000_000, 100_000, 1, |_, _| ());
    flow.tp().snd_cwnd = 900;
    flow.timeout();
    assert_eq!(flow.cc.tp().snd_ssthresh, 630);
    for member in [
        Cubic::LastMaxCwnd,
        Cubic::K,
        Cubic::DelayMin,
        Cubic::EpochStart,
        Cubic::Cnt,
    ] {
        assert_eq!(flow.cubic(member), 0);
    }
    // The next epoch starts on its plateau and grows by at least 1 packet per 20.
    flow.tp().snd_cwnd = 630;
    flow.cc.cong_avoid(0, 1);
    assert_eq!(
        [Cubic::K, Cubic::OriginPoint, Cubic::Cnt].map(|x| flow.cubic(x)),
        [0, 630, 20]
    );
}

#[test]
fn before_the_first_loss_linux_grows_by_5_percent() {
    for (spec, cnt) in [
        ("cubic", 20),
        ("cubic:start_cnt=50", 50),
        ("cubic@ha2008", 20_000),
    ] {
        let mut flow = Flow::with_hz(spec, 250);
        flow.tp().snd_ssthresh = 100;
        flow.tp().snd_cwnd = 200;
        flow.cc.cong_avoid(0, 1);
        assert_eq!(flow.cubic(Cubic::Cnt), cnt, "{spec}");
    }
}

#[test]
fn linux_grows_by_at_most_half() {
    for (spec, cnt) in [("cubic", 2), ("cubic@ha2008", 1), ("cubic@linux-2.6.32", 1)] {
        let mut flow = Flow::after_loss(spec, 250, 1000, 100_000);
        flow.cc.cong_avoid(0, 1);
        flow.at(60_000_000);
        flow.cc.cong_avoid(0, 1);
        assert_eq!(flow.cubic(Cubic::Cnt), cnt, "{spec}");
    }
}

#[test]
fn the_friendly_region_grows_as_standard_tcp() {
    // Mistake (iii): alpha = 3 (1 - beta) / (1 + beta), in eighths 8/15 and 8/23; in ha2008
    // exactly, 1/3. From a loss at 20, 100 RTTs of 10 ms; the curve itself would still be below
    // 20. Alone with W_tcp, 1000 RTTs: 333.7 packets, where 8/23 gives 347.8.
    for (spec, rtts, cwnd) in [
        ("cubic", 100, 14.0 + 100.0 * 8.0 / 15.0),
        ("cubic@ha2008", 100, 15.0 + 100.0 / 3.0),
        ("cubic:tcp_friendliness=0", 100, 19.0),
        ("cubic@ha2008:C=0.001", 1000, 15.0 + 1000.0 * 615.0 / 1843.0),
        (
            "cubic@ha2008:C=0.001,exact_alpha=0",
            1000,
            15.0 + 1000.0 * 8.0 / 23.0,
        ),
    ] {
        let mut flow = Flow::after_loss(spec, 1000, 20, 10_000);
        flow.clock_acks(0, rtts * 10_000, 10_000, 1, |_, _| ());
        let error = (f64::from(flow.cwnd()) - cwnd).abs();
        assert!(error <= 3.0, "{spec}: {}, not {cwnd}", flow.cwnd());
    }
}

#[test]
fn at_a_window_of_2_the_papers_w_tcp_takes_6_acks_for_a_packet_and_linuxs_5() {
    // Each ACK adds alpha / 2 = 0.16685: 6 ACKs 1.0011, 60 ACKs 10.011. Linux: 2 * 23 / 8 = 5,
    // and (60 - 1) / 5 = 11.
    for (spec, after_5, after_6, after_60) in [
        ("cubic@ha2008:exact_alpha=0", 2, 3, 13),
        ("cubic@ha2008", 2, 3, 12),
    ] {
        let mut flow = Flow::after_loss(spec, 1000, 2, 10_000);
        let mut acks = |count| {
            for _ in 0..count {
                (flow.tp().snd_cwnd, flow.tp().snd_cwnd_cnt) = (2, 0);
                flow.cc.cong_avoid(0, 1);
            }
            flow.cubic(Cubic::TcpCwnd)
        };
        assert_eq!(
            (acks(5), acks(1), acks(54)),
            (after_5, after_6, after_60),
            "{spec}"
        );
        if spec == "cubic@ha2008" {
            // 60 * floor(floor(615 * 2^32 / 1843) / 2) / 2^32 = 10.0108: the fraction, and what
            // cnt makes of W_tcp - cwnd = 10.01.
            let alpha = (615u64 << 32) / 1843;
            assert_eq!(flow.state(16), (60 * (alpha / 2)) as u32);
            assert_eq!(flow.cubic(Cubic::Cnt), 1); // 2 / 10.01, but at least 1
        }
    }
    // A fraction of a packet counts: at 20 packets after 10 ACKs W_tcp - cwnd = 10 alpha / 20 =
    // 0.16685, and cnt = 20 / 0.16685 = 119. In whole packets nothing yet.
    for (spec, cnt) in [("cubic@ha2008", 119), ("cubic@ha2008:exact_alpha=0", 2000)] {
        let mut flow = Flow::with_hz(&format!("{spec}{}C=0.001", separator(spec)), 1000);
        flow.rtt(10_000);
        flow.tp().snd_ssthresh = 2;
        for _ in 0..10 {
            (flow.tp().snd_cwnd, flow.tp().snd_cwnd_cnt) = (20, 0);
            flow.cc.cong_avoid(0, 1);
        }
        assert_eq!(flow.cubic(Cubic::Cnt), cnt, "{spec}");
    }
}

fn separator(spec: &str) -> &str {
    if spec.contains(':') {
        ","
    } else {
        ":"
    }
}

#[test]
fn algorithm_1_counts_beyond_cnt() {
    // cnt = 1000 / (target - 1000) with the curve's look-ahead of dMin alone: 410 * t^3 >> 40 = 10
    // at t = 3072 (3 s): cnt = 100. "if cwnd_cnt > cnt": 101 ACKs are counted, and the next one
    // grows the window. Linux 6 grows with the 100th, Linux 2.6 with the 101st.
    for (era, count_beyond, acks) in [
        (Era::Linux6, 1, 102),
        (Era::Linux6, 0, 100),
        (Era::Linux2_6, 1, 102),
        (Era::Linux2_6, 0, 101),
    ] {
        let spec = format!("cubic@ha2008:count_beyond={count_beyond},tcp_friendliness=0");
        let host = HostConfig {
            era,
            ..HostConfig::default()
        };
        let mut flow = Flow::new(&spec, host);
        flow.rtt(3_000_000);
        (flow.tp().snd_ssthresh, flow.tp().snd_cwnd) = (2, 1000);
        let mut acked = 0;
        while flow.cwnd() == 1000 {
            flow.cc.cong_avoid(0, 1);
            assert_eq!(flow.cubic(Cubic::Cnt), 100);
            acked += 1;
        }
        assert_eq!(acked, acks, "{era:?} {count_beyond}");
        assert_eq!((flow.cwnd(), flow.tp().snd_cwnd_cnt), (1001, 0));
    }
}

#[test]
fn w_tcp_counts_as_the_loop_of_linux() {
    // while (ack_cnt > d) { ack_cnt -= d; tcp_cwnd++; } with d = 70 * 15 / 8 = 131.
    let mut flow = Flow::after_loss("cubic:update_gate=0", 250, 100, 100_000);
    for (acked, ack_cnt, tcp_cwnd) in [
        (1, 1, 70),
        (130, 131, 70),
        (1, 1, 71),
        (262, 1, 73),
        (130, 131, 73),
        (131, 131, 74),
    ] {
        flow.tp().snd_cwnd = 70;
        flow.cc.cong_avoid(0, acked);
        assert_eq!(
            (flow.cubic(Cubic::AckCnt), flow.cubic(Cubic::TcpCwnd)),
            (ack_cnt, tcp_cwnd)
        );
    }
}

#[test]
fn an_application_limited_window_stands_still() {
    // Mistake (iv), first half.
    let mut flow = Flow::after_loss("cubic", 250, 1000, 100_000);
    flow.tp().is_cwnd_limited = 0;
    flow.clock_acks(0, 5_000_000, 100_000, 1, |_, cwnd| assert_eq!(cwnd, 700));
    assert_eq!(flow.cubic(Cubic::EpochStart), 0);
}

#[test]
fn idle_time_does_not_count() {
    // Mistake (iv), second half: after 60 s of silence the curve goes on where it was.
    let mut flow = Flow::after_loss("cubic", 250, 1000, 100_000);
    flow.clock_acks(0, 2_000_000, 100_000, 1, |_, _| ());
    let (cwnd, epoch_start) = (flow.cwnd(), flow.cubic(Cubic::EpochStart));
    flow.tp().lsndtime = epoch_start + 500; // 2 s
    flow.at(62_000_000);
    flow.cc.cwnd_event(CaEvent::TxStart);
    assert_eq!(flow.cubic(Cubic::EpochStart), epoch_start + 60 * 250);
    flow.clock_acks(62_000_000, 200_000, 100_000, 1, |_, _| ());
    assert!(flow.cwnd() < cwnd + 20, "{cwnd} to {}", flow.cwnd());

    // No other event moves it, and it is never in the future.
    flow.cc.cwnd_event(CaEvent::CwndRestart);
    assert_eq!(flow.cubic(Cubic::EpochStart), epoch_start + 60 * 250);
    flow.tp().lsndtime = epoch_start;
    flow.cc.cwnd_event(CaEvent::TxStart);
    assert_eq!(
        flow.cubic(Cubic::EpochStart),
        flow.cc.tp().inet_conn.sk.sk_host.jiffies
    );
}

#[test]
fn growth_is_per_packet_not_per_ack() {
    // Mistake (v): half the ACKs, each for two packets, grow the window as much.
    let grown = |acked| {
        let mut flow = Flow::after_loss("cubic", 250, 1000, 100_000);
        flow.clock_acks(0, 5_000_000, 100_000, acked, |_, _| ());
        flow.cwnd()
    };
    assert!(
        grown(1).abs_diff(grown(2)) <= 2,
        "{} and {}",
        grown(1),
        grown(2)
    );
    assert!(
        grown(1).abs_diff(grown(40)) <= 20,
        "{} and {}",
        grown(1),
        grown(40)
    );
}

#[test]
fn the_window_does_not_depend_on_hz() {
    // Mistake (v): jiffies.
    let grown = HZ.map(|hz| {
        let mut flow = Flow::after_loss("cubic", hz, 3000, 50_000);
        flow.clock_acks(0, 15_000_000, 50_000, 1, |_, _| ());
        flow.cwnd()
    });
    assert!(
        grown[0].abs_diff(grown[2]) <= 3 && grown[1].abs_diff(grown[2]) <= 3,
        "{grown:?}"
    );
}

#[test]
fn the_curve_is_evaluated_as_often_as_the_gate_says() {
    // Of an ACK 1 ms later in the same jiffy (HZ 100), 20 ms later, 40 ms later: which
    // evaluates the curve anew? The window stands, or is raised by 1 before each.
    let vectors = [
        ("cubic:update_gate=0", false, [true, true, true]),
        ("cubic:update_gate=1", false, [false, false, true]),
        ("cubic:update_gate=2", false, [false, false, true]),
        ("cubic:update_gate=0", true, [true, true, true]),
        ("cubic:update_gate=1", true, [true, true, true]),
        ("cubic:update_gate=2", true, [false, true, true]),
    ];
    for (spec, raised, expected) in vectors {
        let mut flow = Flow::after_loss(spec, 100, 1000, 100_000);
        flow.cc.cong_avoid(0, 1);
        let mut cwnd = flow.cwnd();
        let evaluated = [1_000, 20_000, 40_000].map(|us| {
            cwnd += u32::from(raised);
            flow.at(us);
            flow.tp().snd_cwnd = cwnd;
            // A cnt of 1 stays unless the curve, which is slower, is evaluated.
            let word = &mut flow.tp().inet_conn.icsk_ca_priv[0];
            *word = *word >> 32 << 32 | 1;
            flow.cc.cong_avoid(0, 1);
            flow.cubic(Cubic::Cnt) > 2
        });
        assert_eq!(evaluated, expected, "{spec}, raised {raised}");
    }
}

#[test]
fn the_least_rtt_ignores_the_second_after_a_loss() {
    let mut flow = Flow::with_hz("cubic", 250);
    for (rtt_us, delay_min) in [
        (-1, 0),
        (80_000, 80_000),
        (90_000, 80_000),
        (70_000, 70_000),
    ] {
        flow.rtt(rtt_us);
        assert_eq!(flow.cubic(Cubic::DelayMin), delay_min);
    }
    flow.loss_at(1000);
    flow.cc.cong_avoid(0, 1);
    flow.at(996_000);
    flow.rtt(60_000);
    assert_eq!(flow.cubic(Cubic::DelayMin), 70_000);
    flow.at(1_000_000);
    flow.rtt(60_000);
    assert_eq!(flow.cubic(Cubic::DelayMin), 60_000);
    flow.rtt(0);
    assert_eq!(flow.cubic(Cubic::DelayMin), 1);
}

#[test]
fn the_initial_ssthresh_is_the_users_or_the_hosts() {
    assert_eq!(
        Flow::with_hz("cubic:initial_ssthresh=100", 250)
            .tp()
            .snd_ssthresh,
        100
    );
    assert_eq!(Flow::with_hz("cubic", 250).tp().snd_ssthresh, 0x7fff_ffff);
}

#[test]
fn a_host_that_counts_acks_is_made_up_for() {
    // Linux 2.6 with delayed ACKs: cong_avoid once for two packets, acked = 1.
    let grown = |spec: &str, packets: u32| {
        let host = HostConfig {
            era: Era::Linux2_6,
            ..HostConfig::default()
        };
        let mut flow = Flow::new(spec, host);
        flow.rtt(100_000);
        flow.loss_at(2000);
        let mut now_us = 0;
        while now_us < 6_000_000 {
            flow.at(now_us);
            acked(&mut flow.cc, packets);
            flow.cc.cong_avoid(0, 1);
            now_us += 100_000 * u64::from(packets) / u64::from(flow.cwnd());
        }
        flow.cwnd()
    };
    let law = 410.0 / 1024.0 * (6.0 - (600.0f64 * 1024.0 / 410.0).cbrt()).powi(3) + 2000.0;
    let error = |cwnd: u32| (f64::from(cwnd) - law).abs() / law;
    for spec in ["cubic@linux-2.6.32", "cubic@linux-2.6.32-backports"] {
        assert!(error(grown(spec, 2)) < 0.01);
        assert!(error(grown(spec, 1)) < 0.01);
    }
}

fn acked(cc: &mut CongestionControl, pkts_acked: u32) {
    let rtt_us = 100_000;
    cc.pkts_acked(&ackclock_host::AckSample {
        pkts_acked,
        rtt_us,
        in_flight: 0,
    });
}

#[test]
fn the_ack_ratio_is_smoothed_in_open_only() {
    let mut flow = Flow::with_hz("cubic@linux-2.6.32", 250);
    assert_eq!(flow.cubic(Cubic::AckRatio), 32); // 2 packets per ACK
    acked(&mut flow.cc, 10);
    assert_eq!(flow.cubic(Cubic::AckRatio), 40); // 32 + 10 - 32 / 16
    flow.cc.set_state(ackclock_host::CaState::Disorder);
    acked(&mut flow.cc, 10);
    assert_eq!(flow.cubic(Cubic::AckRatio), 40);
}
