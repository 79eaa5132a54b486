//! H-TCP, Hybla and Westwood+: what they do follows from time since the last loss, from the
//! RTT, and from the rate of ACKs.

use crate::common;

use ackclock_host::Era;
use common::Flow;

/// `struct htcp`: alpha << 7 and beta << 7.
const ALPHA: usize = 0;
const BETA: usize = 1;

/// alpha, so many ms after the recovery from a first loss on a path of this RTT.
fn htcp_alpha(spec: &str, rtt_us: i32, ms: u64) -> f64 {
    let mut flow = Flow::avoiding(spec, 1000);
    flow.rtt(rtt_us);
    flow.loss_at(1000);
    flow.at(ms * 1000);
    flow.tp().snd_cwnd_cnt = 1_000_000;
    flow.cc.cong_avoid(0, 1);
    f64::from(flow.state(ALPHA)) / 128.0
}

#[test]
fn htcp_grows_with_the_time_since_the_loss() {
    // (ms, alpha) at 100 ms and beta = 1/2: 1 + 10 (t - 1) + ((t - 1) / 2)^2, whole.
    let vectors = [
        (0, 1.0),
        (1000, 1.0),
        (1050, 1.0), // 1.5
        (1100, 2.0),
        (2000, 11.0), // 11.25
        (3000, 22.0),
        (5000, 45.0),
        (11_000, 126.0),
        (31_000, 526.0),
    ];
    for (ms, alpha) in vectors {
        assert_eq!(htcp_alpha("htcp", 100_000, ms), alpha, "{ms} ms");
        let delta = ms as f64 / 1000.0 - 1.0;
        let law = 1.0 + 10.0 * delta.max(0.0) + (delta.max(0.0) / 2.0).powi(2);
        assert!((alpha - law).abs() <= 1.0, "{ms} ms: {alpha}, law {law}");
    }
}

#[test]
fn htcp_scales_growth_by_the_rtt() {
    // (RTT, alpha 3 s after a loss): 22 at 100 ms, RTT / 100 ms within 1/10 and 2.
    for (rtt_us, alpha) in [
        (1000, 2.0), // 22 * 8 / 80
        (10_000, 2.0),
        (50_000, 11.0),
        (100_000, 22.0),
        (200_000, 44.0),
        (1_000_000, 44.0),
    ] {
        assert_eq!(htcp_alpha("htcp", rtt_us, 3000), alpha, "{rtt_us}");
        assert_eq!(htcp_alpha("htcp@leith2004", rtt_us, 3000), 22.0, "{rtt_us}");
    }
    // 0.8 at a loss grows by 2 (1 - 0.8) of that: 2 * 22 * 26 / 128.
    let alpha = htcp_alpha("htcp@backoff-0.8", 100_000, 3000);
    assert!((alpha - 8.94).abs() < 0.01, "{alpha}");
}

#[test]
fn htcp_grows_by_alpha_per_rtt() {
    // A second after the loss nothing but 1 per RTT, at any window and era.
    for era in [Era::Linux6, Era::Linux2_6] {
        for cwnd in [20, 100, 1000] {
            let mut flow = Flow::avoiding_in(era, "htcp", cwnd);
            flow.rtt(100_000);
            flow.loss_at(2 * cwnd);
            assert_eq!(flow.cwnd(), cwnd);
            let grown: i32 = (0..9).map(|_| flow.round(100_000, 1)).sum();
            assert!((8..=9).contains(&grown), "{era:?} {cwnd}: {grown}");
        }
    }
    // From 2.0 s on: 11.25 + 11.25 * 0.1 ... = 10 RTTs of 11.25 to 22.
    let mut flow = Flow::avoiding("htcp", 2000);
    flow.rtt(100_000);
    flow.loss_at(4000);
    flow.at(2_000_000);
    flow.tp().snd_cwnd_cnt = 1_000_000; // alpha is computed when a packet was earned
    flow.cc.cong_avoid(0, 1);
    let grown: i32 = (0..10).map(|_| flow.round(100_000, 2)).sum();
    let law: f64 = (0..10)
        .map(|n| f64::from(n) / 10.0)
        .map(|t| 11.0 + 10.0 * t + (t + t * t / 2.0) / 2.0)
        .sum();
    // An ACK more for each packet: its credit is lost.
    assert!(
        (f64::from(grown) - law).abs() <= 0.03 * law + 1.0,
        "{grown}, law {law}"
    );
}

#[test]
fn htcp_backs_off_so_that_the_queue_just_empties() {
    // (greatest RTT in ms, ssthresh of 1000): 128 * 100 / RTT_max of 128, 64 to 102.
    for (max_ms, ssthresh) in [
        (100, 796),
        (110, 796),
        (140, 710),
        (160, 625),
        (200, 500),
        (400, 500),
    ] {
        let mut flow = Flow::avoiding("htcp", 1000);
        let measure = |flow: &mut Flow| {
            (10..=max_ms / 10).for_each(|tens| flow.rtt(tens * 10_000));
        };
        measure(&mut flow);
        assert_eq!(flow.loss_at(1000), 500, "the first loss does not adapt");
        measure(&mut flow);
        assert_eq!(flow.loss_at(1000), ssthresh, "{max_ms}");
        assert_eq!(flow.loss_at(2), 2);
    }
    // Fixed, as in figure 9 of Leith et al. 2007.
    for spec in [
        "htcp@backoff-0.8",
        "htcp:adaptive_backoff=0,fixed_backoff=0.8",
    ] {
        let mut flow = Flow::avoiding(spec, 1000);
        (10..=20).for_each(|tens| flow.rtt(tens * 10_000));
        assert_eq!(flow.loss_at(1000), 796);
        assert_eq!(flow.loss_at(1000), 796);
    }
    // RTT_min of 10 ms and less: always half.
    let mut flow = Flow::avoiding("htcp", 1000);
    flow.rtt(10_000);
    flow.loss_at(1000);
    assert_eq!(flow.loss_at(1000), 500);
}

#[test]
fn htcp_halves_when_throughput_changed() {
    // (RTT in ms of the last epoch, beta << 7): 1000 packets per RTT.
    for (rtt_ms, beta) in [(100, 102), (110, 102), (200, 64), (50, 64)] {
        let mut flow = Flow::avoiding("htcp", 1000);
        for epoch in 0..3 {
            let rtt_us = if epoch == 2 { rtt_ms * 1000 } else { 100_000 };
            for _ in 0..3 {
                flow.tp().snd_cwnd = 1000;
                flow.round(rtt_us, 1);
            }
            flow.loss_at(1000);
        }
        assert_eq!(flow.state(BETA), beta, "{rtt_ms} ms");
    }
}

#[test]
fn htcp_counts_anew_after_a_timeout_and_goes_on_after_an_undo() {
    let grow = |flow: &mut Flow| {
        flow.tp().snd_cwnd = 1000;
        flow.tp().snd_ssthresh = 2;
        flow.tp().snd_cwnd_cnt = 1_000_000;
        flow.cc.cong_avoid(0, 1);
        flow.state(ALPHA)
    };
    let mut flow = Flow::avoiding("htcp", 1000);
    flow.rtt(100_000);
    flow.at(3_000_000);
    assert_eq!(grow(&mut flow), 22 * 128);
    flow.cc.ssthresh();
    flow.cc.set_state(ackclock_host::CaState::Recovery);
    flow.tp().prior_cwnd = 1000;
    assert_eq!(flow.cc.undo_cwnd(), 1001);
    flow.cc.set_state(ackclock_host::CaState::Open);
    assert_eq!(grow(&mut flow), 22 * 128);
    flow.timeout();
    // By now the backoff is 0.8: 2 (1 - 102 / 128).
    assert_eq!(grow(&mut flow), 52);
}

/// A flow whose handshake showed this RTT.
fn hybla(spec: &str, rtt_ms: u32, cwnd: u32) -> Flow {
    let mut flow = Flow::avoiding(spec, cwnd);
    flow.tp().srtt_us = rtt_ms * 1000 * 8;
    flow.cc.init();
    flow.tp().snd_cwnd = cwnd;
    flow
}

#[test]
fn hybla_begins_with_rho() {
    for (rtt_ms, cwnd) in [(1, 1), (25, 1), (49, 1), (50, 2), (100, 4), (600, 24)] {
        let mut flow = Flow::avoiding("hybla", 10);
        flow.tp().srtt_us = rtt_ms * 8000;
        flow.cc.init();
        assert_eq!(flow.cwnd(), cwnd, "{rtt_ms} ms");
    }
    let mut flow = Flow::avoiding("hybla:initial_window=0", 10);
    flow.tp().srtt_us = 800_000;
    flow.cc.init();
    assert_eq!(flow.cwnd(), 10);
}

#[test]
fn hybla_grows_by_rho_squared_per_rtt() {
    // (RTT in ms, cwnd, growth per RTT of Linux, which rounds to 1/128 per ACK)
    let vectors = [
        (25, 100, 0.8),    // rho = 1: 128 / 100 = 1 of 1/128 per ACK, 100 of them
        (10, 100, 0.8),    // rho is 1 at least
        (50, 100, 3.9),    // 512 / 100 = 5
        (100, 100, 15.6),  // 2048 / 100 = 20
        (100, 1000, 15.6), // 2
        (100, 1100, 8.6),  // 1.86 is 1
        (100, 3000, 1.0),  // 0: standard TCP
        (250, 1000, 93.8), // rho^2 = 100: 12.8 is 12
        (110, 1000, 15.6), // rho = 4.4 is 4 3/8: 2450 / 1000 = 2
    ];
    for (rtt_ms, cwnd, growth) in vectors {
        let mut flow = hybla("hybla", rtt_ms, cwnd);
        let grown = flow.round((rtt_ms * 1000) as i32, 1);
        // cwnd rises meanwhile, so that each ACK adds less.
        let error = 1.0 + growth * growth / f64::from(cwnd);
        assert!(
            (f64::from(grown) - growth).abs() <= error,
            "{rtt_ms} {cwnd}: {grown}"
        );
        // The paper: rho^2, whatever the window and the packets per ACK.
        let rho = (rtt_ms * 8 / 25).max(8) as f64 / 8.0;
        for acked in [1, 2] {
            let mut flow = hybla("hybla@caini2004", rtt_ms, cwnd);
            let grown = f64::from(flow.round((rtt_ms * 1000) as i32, acked));
            let least = rho * rho * f64::from(cwnd) / (f64::from(cwnd) + rho * rho);
            let within = (least * 0.99 - 1.0..=rho * rho * 1.01 + 1.0).contains(&grown);
            assert!(within, "{rtt_ms} {cwnd}/{acked}: {grown}");
        }
    }
}

#[test]
fn hybla_slow_start_multiplies_by_two_to_the_rho() {
    // (RTT in ms, growth for one ACK in 1/128): 2^rho - 1
    for (rtt_ms, growth) in [
        (25, 128),
        (50, 3 * 128),
        (100, 15 * 128),
        (110, 16 * 165 - 128),
    ] {
        let mut flow = hybla("hybla", rtt_ms, 100);
        flow.tp().snd_ssthresh = 0x7fff_ffff;
        (0..128).for_each(|_| flow.cc.cong_avoid(0, 1));
        assert_eq!(flow.cwnd(), 100 + growth, "{rtt_ms}");
        // It ends at ssthresh.
        flow.tp().snd_ssthresh = flow.cwnd() + 1;
        flow.cc.cong_avoid(0, 1);
        assert_eq!(flow.cwnd(), 101 + growth);
    }
}

#[test]
fn hybla_halves_and_is_reno_outside_open() {
    let mut flow = hybla("hybla", 100, 100);
    assert_eq!(flow.loss_at(100), 50);
    flow.cc.set_state(ackclock_host::CaState::Disorder);
    flow.tp().snd_ssthresh = 2;
    assert_eq!(flow.round(100_000, 1), 1);
    flow.timeout();
    // rho is of the path, and stays.
    flow.tp().snd_cwnd = 100;
    flow.tp().snd_ssthresh = 2;
    assert!((13..=16).contains(&flow.round(100_000, 1)));
    // A shorter RTT lowers it, a longer one does not raise it.
    for (srtt_us, growth) in [(50_000 * 8, 3..=4), (200_000 * 8, 3..=4)] {
        flow.tp().srtt_us = srtt_us;
        flow.tp().snd_cwnd = 100;
        assert!(growth.contains(&flow.round(100_000, 1)), "{srtt_us}");
    }
}

/// `struct westwood`: bytes per jiffy, smoothed once and twice.
const BW_NS_EST: usize = 0;
const BW_EST: usize = 1;

#[test]
fn westwood_measures_the_rate_of_acks() {
    let mut flow = Flow::avoiding("westwood", 200);
    let mss = f64::from(flow.tp().mss_cache);
    flow.rtt(100_000);
    for (rounds, window) in [(40, 200), (40, 400), (60, 100)] {
        for _ in 0..rounds {
            flow.tp().snd_cwnd = window;
            flow.round(100_000, 2);
        }
        let rate = f64::from(window) * mss / 100.0;
        let estimate = f64::from(flow.state(BW_EST));
        assert!(
            (estimate / rate - 1.0).abs() < 0.02,
            "{window}: {estimate}, not {rate}"
        );
    }
}

#[test]
fn westwood_smooths_twice_by_seven_eighths() {
    // One sample of 10 000 bytes in 100 jiffies after the first of 80 000: 800, then 100.
    for (spec, once, twice) in [
        ("westwood", 712, 789),            // (7 * 800 + 100) / 8, (7 * 800 + 712) / 8
        ("westwood@grieco2004", 730, 730), // (922 * 800 + 102 * 100) / 1024
    ] {
        let mut flow = Flow::avoiding(spec, 10);
        flow.rtt(99_000);
        flow.cc.in_ack_event(2);
        let mut ack = |bytes: u32, ms: u64| {
            flow.at(ms * 1000);
            flow.tp().snd_una += bytes;
            flow.cc.in_ack_event(2);
            (flow.state(BW_NS_EST), flow.state(BW_EST))
        };
        ack(80_000, 50);
        assert_eq!(ack(10_000, 100), (800, 800), "{spec}");
        assert_eq!(ack(0, 200), (once, twice), "{spec}");
    }
}

#[test]
fn westwood_counts_duplicate_acks_once() {
    const BK: usize = 3;
    let mut flow = Flow::avoiding("westwood", 10);
    let mss = flow.tp().mss_cache;
    flow.cc.in_ack_event(2);
    let mut slow_path = |packets: u32| {
        flow.tp().snd_una += packets * mss;
        flow.cc.in_ack_event(1);
        flow.state(BK) / mss
    };
    // Three duplicates; a partial ACK of two counts one, for they were counted; the one
    // left is taken off the next five; the last counts in full.
    assert_eq!([0, 0, 0, 2, 5, 4].map(&mut slow_path), [1, 2, 3, 4, 8, 12]);
}

#[test]
fn westwood_sets_the_window_to_what_fills_the_pipe() {
    // (packets in each RTT of 200 ms, cwnd after a loss): 100 ms of their rate.
    for (window, cwnd) in [(400, 200), (100, 50), (2, 2)] {
        let mut flow = Flow::avoiding("westwood", window);
        flow.rtt(100_000);
        flow.round(100_000, 1);
        for _ in 0..60 {
            flow.tp().snd_cwnd = window;
            flow.round(200_000, 1);
        }
        let halved = flow.loss_at(1000);
        assert_eq!(halved, 500, "while it recovers");
        let (after, ssthresh) = (flow.cwnd(), flow.tp().snd_ssthresh);
        assert!(after.abs_diff(cwnd) <= 1 + cwnd / 50, "{window}: {after}");
        assert_eq!(after, ssthresh);
        // A timeout sets ssthresh so, too.
        flow.tp().snd_cwnd = 1000;
        flow.timeout();
        assert_eq!(flow.tp().snd_ssthresh, ssthresh);
    }
    // As Reno otherwise.
    assert_eq!(Flow::avoiding("westwood", 100).round(100_000, 1), 1);
}
