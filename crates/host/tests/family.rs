//! SQRT, Constant Rate, Compound, FAST, Libra and HRF on scripted ACKs and losses, against
//! values computed by hand from the formula that each file's head gives.

use crate::common;

use common::{Flow, UserFile};

/// In congestion avoidance at `cwnd`, the smoothed RTT being the least one.
fn avoiding(spec: &str, cwnd: u32, rtt_us: u32) -> Flow {
    let mut flow = Flow::with_hz(spec, 1000);
    flow.rtt(rtt_us as i32);
    flow.tp().srtt_us = rtt_us.saturating_mul(8);
    flow.tp().snd_ssthresh = 2;
    flow.tp().snd_cwnd = cwnd;
    flow
}

/// One window of ACKs, one by one; at its end the round is over.
fn round(flow: &mut Flow) {
    for _ in 0..flow.cwnd() - 1 {
        flow.cc.cong_avoid(0, 1);
    }
    let tp = flow.tp();
    tp.snd_una = tp.snd_nxt.wrapping_add(1);
    tp.snd_nxt = tp.snd_nxt.wrapping_add(1_000_000);
    flow.cc.cong_avoid(0, 1);
}

/// Growth in so many rounds at `cwnd`, per round.
fn increase(flow: &mut Flow, cwnd: u32, rounds: u32) -> f64 {
    let mut grown = 0;
    for _ in 0..rounds {
        flow.tp().snd_cwnd = cwnd;
        round(flow);
        grown += flow.cwnd() - cwnd;
    }
    f64::from(grown) / f64::from(rounds)
}

fn close(measured: f64, law: f64) -> bool {
    (measured - law).abs() <= 0.01 * law + 0.005
}

#[test]
fn increase_per_rtt() {
    // (spec, RTT in us, window, packets per RTT)
    let vectors = [
        ("binomial_sqrt", 100_000, 4, 0.5), // 1 / sqrt(w)
        ("binomial_sqrt", 100_000, 100, 0.1),
        ("binomial_sqrt", 10_000, 400, 0.05),
        ("binomial_sqrt@iiad", 100_000, 10, 0.15), // 1.5 / w
        ("binomial_sqrt@iiad", 100_000, 100, 0.015),
        ("binomial_sqrt:k=0,alpha=3", 100_000, 500, 3.0),
        ("constant_rate", 100_000, 100, 1.0), // (RTT / 100 ms)^2
        ("constant_rate", 10_000, 50, 0.01),
        ("constant_rate", 50_000, 500, 0.25),
        ("constant_rate", 300_000, 1000, 9.0),
        ("constant_rate:reference_rtt_ms=10", 20_000, 1000, 4.0),
        // 2 * 100 * T^2 / (T + 1) * exp(0): 200 * 0.01 / 1.1, 200 * 0.0001 / 1.01, 200 * 0.25 / 1.5
        ("libra", 100_000, 200, 1.818),
        ("libra", 10_000, 10, 0.0198),
        ("libra", 500_000, 5000, 33.33),
        ("libra:capacity_mbps=1000,k1=1", 100_000, 1000, 9.09),
        ("libra:t0_ms=100", 100_000, 1000, 10.0),
        ("hrf", 100_000, 100, 1.0), // no queue: as Constant Rate
        ("hrf", 20_000, 50, 0.04),
        ("hrf", 300_000, 1000, 9.0),
    ];
    for (spec, rtt_us, cwnd, law) in vectors {
        let mut flow = avoiding(spec, cwnd, rtt_us);
        let rounds = (1000.0 / law) as u32; // enough that a packet more or less is 0.1 %
        let measured = increase(&mut flow, cwnd, rounds.min(20_000));
        assert!(
            close(measured, law),
            "{spec}, {rtt_us} us, {cwnd}: {measured}, not {law}"
        );
    }
}

#[test]
fn increase_counts_packets_however_they_are_acked() {
    let grown = |acked: u32| {
        let mut flow = avoiding("binomial_sqrt:k=0,alpha=7", 700, 100_000);
        for _ in 0..700 / acked {
            flow.cc.cong_avoid(0, acked);
        }
        flow.cwnd()
    };
    assert_eq!([1, 2, 35, 700].map(grown), [706, 706, 706, 707]); // cwnd rises on the way
}

#[test]
fn back_off() {
    // (spec, RTT in us, window, ssthresh)
    let vectors = [
        ("binomial_sqrt", 100_000, 900, 880), // 900 - 0.667 * 30
        ("binomial_sqrt", 100_000, 10_000, 9933),
        ("binomial_sqrt", 100_000, 4, 3),
        ("binomial_sqrt", 100_000, 2, 2),
        ("binomial_sqrt", 100_000, 1, 2),
        ("binomial_sqrt@iiad", 100_000, 100, 99),
        ("binomial_sqrt:l=1,beta=0.5", 100_000, 1001, 501), // rounded
        ("binomial_sqrt:beta=10", 100_000, 30, 2),          // 10 sqrt(30) is more than there is
        ("constant_rate", 10_000, 101, 50),
        ("constant_rate", 10_000, 3, 2),
        ("hrf", 10_000, 101, 50),
        ("compound", 100_000, 1000, 500),
        ("compound", 100_000, 3, 2),
        ("compound:beta=0.125", 100_000, 1000, 875), // of it 375 is dwnd
        ("fast", 100_000, 1001, 500),
        ("fast", 100_000, 1, 2),
        // w - w / (2 (T + 1 s)): 1000 - 1000 / 2.2, / 2.02, / 3
        ("libra", 100_000, 1000, 546),
        ("libra", 10_000, 1000, 505),
        ("libra", 500_000, 1000, 667),
        ("libra", 500_000, 1, 2),
        ("libra:t1_ms=10000", 100_000, 1000, 2),
    ];
    for (spec, rtt_us, cwnd, ssthresh) in vectors {
        let mut flow = avoiding(spec, cwnd, rtt_us);
        assert_eq!(flow.loss_at(cwnd), ssthresh, "{spec}, {cwnd}");
    }
}

#[test]
fn powers_are_close() {
    // An algorithm whose "ssthresh" is cwnd^exponent (power.h), of 1024.
    for (numerator, denominator) in [(1u32, 2u32), (3, 4), (1, 6), (1, 1)] {
        let file = UserFile::new(&format!(
            "#include \"power.h\"\nCC_HOOK(u32, power, struct sock *sk)\n\
             {{ return cc_power(tcp_sk(sk)->snd_cwnd, 1, {numerator}, {denominator}) >> 6; }}\n\
             CC_ALGORITHM(p, \"\", .ssthresh = power, .cong_avoid = tcp_reno_cong_avoid);\n"
        ));
        let mut flow = Flow::with_hz(file.path.to_str().unwrap(), 250);
        for cwnd in (1..100).chain((100..1_000_000).step_by(997)) {
            flow.tp().snd_cwnd = cwnd;
            let exact =
                1024.0 * f64::from(cwnd).powf(f64::from(numerator) / f64::from(denominator));
            let error = (f64::from(flow.cc.ssthresh()) - exact).abs();
            assert!(
                error <= 1.0 + 1e-4 * exact,
                "{cwnd}^({numerator}/{denominator})"
            );
        }
    }
}

#[test]
fn sqrt_halves_what_slow_start_overshot() {
    // 1000 - 0.667 * 31.6, 1000 - 1
    for (spec, decreased) in [("binomial_sqrt", 979), ("binomial_sqrt@iiad", 999)] {
        let mut flow = avoiding(spec, 1000, 100_000);
        flow.tp().snd_ssthresh = 1000;
        assert_eq!(flow.cc.ssthresh(), decreased);
        flow.tp().snd_ssthresh = 1001;
        assert_eq!(flow.cc.ssthresh(), 500);
    }
}

#[test]
fn sqrt_meets_standard_tcp() {
    // alpha and beta: a loss every 1/p packets leaves the mean window of sqrt(1.5 / p).
    let mut flow = avoiding("binomial_sqrt", 100, 100_000);
    let (mut sum, mut acks) = (0.0, 0.0);
    for packet in 1..=1_000_000u32 {
        flow.cc.cong_avoid(0, 1);
        if packet % 10_000 == 0 {
            let cwnd = flow.cwnd();
            flow.loss_at(cwnd);
        }
        if packet > 300_000 {
            acks += 1.0 / f64::from(flow.cwnd()); // windows of ACKs
            sum += 1.0;
        }
    }
    let (mean, law) = (sum / acks, (1.5 * 10_000f64).sqrt());
    assert!((mean / law - 1.0).abs() < 0.05, "{mean} {law}");
}

#[test]
fn libra_lets_go_as_the_queue_fills() {
    // exp(-2 (T - Tmin) / (Tmax - Tmin)), T from 100 to 200 ms.
    for (rtt_us, law) in [
        (100_000u32, 200.0 * 0.01 / 1.1),
        (150_000, 200.0 * 0.0225 / 1.15 * (-1f64).exp()),
        (200_000, 200.0 * 0.04 / 1.2 * (-2f64).exp()),
    ] {
        let mut flow = avoiding("libra", 100, 100_000);
        flow.rtt(200_000);
        flow.tp().srtt_us = rtt_us * 8;
        let measured = increase(&mut flow, 100, 1000);
        assert!(close(measured, law), "{rtt_us}: {measured}, not {law}");
    }
}

#[test]
fn hrf_changes_its_mode_with_the_queue() {
    // Base 200 ms: up to 220 ms (RTT / 100 ms)^2, above RTT / 100 ms.
    for (rtt_us, law) in [
        (200_000u32, 4.0),
        (219_000, 4.796),
        (221_000, 2.21),
        (400_000, 4.0),
    ] {
        let mut flow = avoiding("hrf", 500, 200_000);
        flow.tp().srtt_us = rtt_us * 8;
        let measured = increase(&mut flow, 500, 500);
        assert!(close(measured, law), "{rtt_us}: {measured}, not {law}");
    }
}

#[test]
fn compound_grows_by_its_law_while_the_queue_is_short() {
    // Per RTT one packet as standard TCP and w^(3/4) / 8 - 1.
    for (cwnd, law) in [
        (100u32, 31.62 / 8.0),
        (1000, 177.83 / 8.0),
        (10_000, 125.0),
        (40, 15.9 / 8.0),
    ] {
        let mut flow = avoiding("compound", cwnd, 100_000);
        round(&mut flow);
        let grown = f64::from(flow.cwnd() - cwnd);
        assert!((grown - law).abs() <= 1.0, "{cwnd}: {grown}, not {law}");
    }
    // Below low_window it is standard TCP.
    let mut flow = avoiding("compound", 30, 100_000);
    assert!(close(increase(&mut flow, 30, 1000), 1.0));
}

#[test]
fn compound_gives_way_to_a_queue() {
    let mut flow = avoiding("compound:k=1", 400, 100_000); // 400 / 8 - 1 = 49 a round
    for (rtt_us, cwnd) in [
        (100_000u32, 450u32), // 400 + 1 + 49
        (107_000, 506),       // diff = 450 * 7 / 107 = 29.5 < 30: 450 + 1 + 55.4
        (125_000, 406),       // diff = 507 * 0.2 = 101.4; dwnd = 104.4 - 101.4 = 3
        (125_000, 404),       // diff = 81.4: dwnd = 0, cwnd = 404
        (125_000, 405),       // standard TCP is left
    ] {
        flow.tp().srtt_us = rtt_us * 8;
        round(&mut flow);
        assert!(
            flow.cwnd().abs_diff(cwnd) <= 1,
            "{rtt_us}: {}, not {cwnd}",
            flow.cwnd()
        );
    }
}

#[test]
fn compound_keeps_the_share_of_dwnd_at_a_loss() {
    // win 1000 of which dwnd is 0: cwnd 500, dwnd = 1000 * 7/8 - 500 = 375. A queue of 30 %
    // takes 262 of these.
    let mut flow = avoiding("compound:beta=0.125", 1000, 100_000);
    assert_eq!(flow.loss_at(1000), 875);
    flow.tp().srtt_us = 8 * 142_857;
    round(&mut flow);
    assert!(flow.cwnd().abs_diff(875 + 1 - 262) <= 1, "{}", flow.cwnd());
}

#[test]
fn fast_follows_its_equation_every_other_rtt() {
    // (1 - gamma) w + gamma (base / RTT w + alpha), gamma = 1/2, alpha = 100, base = 100 ms.
    let mut flow = avoiding("fast", 1000, 100_000);
    let grow = |flow: &mut Flow, cwnd: u32| {
        flow.tp().snd_cwnd = cwnd;
        round(flow);
        let between = flow.cwnd();
        round(flow);
        [between, flow.cwnd()]
    };
    assert_eq!(grow(&mut flow, 1000), [1000, 1050]);
    assert_eq!(grow(&mut flow, 20), [20, 40]); // at most twice
                                               // An average RTT of 125 ms.
    for _ in 0..5000 {
        flow.rtt(125_000);
    }
    assert_eq!(grow(&mut flow, 1000), [1000, 950]); // 500 + (800 + 100) / 2
    assert_eq!(grow(&mut flow, 500), [500, 500]); // at rest: 500 * 0.2 = 100 queued
    assert_eq!(grow(&mut flow, 400), [400, 410]);
    let mut flow = avoiding("fast:alpha=200,gamma=1", 1000, 100_000);
    assert_eq!(grow(&mut flow, 1000), [1000, 1200]);
}

#[test]
fn fast_averages_the_rtt_over_a_third_of_a_window() {
    let mut flow = avoiding("fast", 300, 100_000);
    // 100 samples of 200 ms with weight 1/100: 200 - 100 * 0.99^100 = 163.4 ms.
    for _ in 0..100 {
        flow.rtt(200_000);
    }
    let average = f64::from((flow.cc.tp().inet_conn.icsk_ca_priv[0] >> 8) as u32) / 1000.0;
    assert!((average - 163.4).abs() < 0.2, "{average}");
}

#[test]
fn fast_leaves_slow_start_at_750_us_of_queue() {
    for (rtt_us, cwnd) in [(100_700, 11), (100_800, 10)] {
        let mut flow = avoiding("fast", 10, 100_000);
        flow.tp().snd_ssthresh = 1000;
        for _ in 0..500 {
            flow.rtt(rtt_us);
        }
        flow.cc.cong_avoid(0, 1);
        assert_eq!(flow.cwnd(), cwnd, "{rtt_us}");
    }
}

const FAMILY: [&str; 7] = [
    "binomial_sqrt",
    "binomial_sqrt@iiad",
    "constant_rate",
    "compound",
    "fast",
    "libra",
    "hrf",
];

#[test]
fn slow_start_is_standard() {
    for spec in FAMILY {
        let mut flow = avoiding(spec, 10, 100_000);
        flow.tp().snd_ssthresh = 20;
        for cwnd in 11..=20 {
            flow.cc.cong_avoid(0, 1);
            assert_eq!(flow.cwnd(), cwnd, "{spec}");
        }
    }
}

#[test]
fn an_application_limited_window_stands_still() {
    for spec in FAMILY {
        let mut flow = avoiding(spec, 1000, 300_000);
        flow.tp().is_cwnd_limited = 0;
        for _ in 0..5 {
            round(&mut flow);
        }
        assert_eq!(flow.cwnd(), 1000, "{spec}");
    }
}

#[test]
fn a_timeout_forgets() {
    for spec in FAMILY {
        let mut flow = avoiding(spec, 1000, 100_000);
        for _ in 0..4 {
            round(&mut flow);
        }
        flow.timeout();
        assert!((2..=1100).contains(&flow.cc.tp().snd_ssthresh), "{spec}");
        // Afterwards as a flow that never saw anything but that ssthresh.
        let mut fresh = avoiding(spec, 1, 50_000);
        fresh.tp().snd_ssthresh = flow.cc.tp().snd_ssthresh;
        if spec != "fast" && spec != "compound" {
            for flow in [&mut flow, &mut fresh] {
                flow.rtt(50_000);
                flow.tp().srtt_us = 8 * 50_000;
                for _ in 0..2000 {
                    flow.cc.cong_avoid(0, 1);
                }
            }
            assert_eq!(flow.cwnd(), fresh.cwnd(), "{spec}");
        }
    }
}

#[test]
fn windows_stay_sane_at_any_rtt() {
    for spec in FAMILY {
        for rtt_us in [0u32, 1, 1000, 10_000_000, 0x7fff_ffff] {
            for cwnd in [1u32, 2, 100, 1_000_000] {
                let mut flow = avoiding(spec, cwnd, rtt_us);
                for step in 0..300u32 {
                    flow.rtt((rtt_us / (1 + step % 3)) as i32);
                    let before = flow.cwnd();
                    match step % 50 {
                        17 => {
                            let ssthresh = flow.loss_at(before);
                            assert!(
                                (2..=before.max(2)).contains(&ssthresh),
                                "{spec} {rtt_us} {cwnd}"
                            );
                        }
                        41 => flow.timeout(),
                        _ => flow.cc.cong_avoid(0, 1 + step % 40),
                    }
                    if step % 5 == 0 {
                        let tp = flow.tp();
                        tp.snd_una = tp.snd_nxt.wrapping_add(1);
                        tp.snd_nxt += 1000;
                    }
                    let after = flow.cwnd();
                    assert!(
                        after >= 1 && after <= 3 * before + 1000,
                        "{spec} {rtt_us} {cwnd}: {before} {after}"
                    );
                }
            }
        }
    }
}
