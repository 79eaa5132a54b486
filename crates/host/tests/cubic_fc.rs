//! Cubic-FC's phases on scripted losses, computed by hand from section III of the paper.
//! beta = 717/1024, f_max = 614/1024, sigma = 51/1024, delta_i = 512/1024.

use crate::common;

use ackclock_host::CongestionControl;
use common::{Cubic, Flow};

/// After a loss: ssthresh, W_max, speed of the clock, of 1024.
type After = (u32, u32, u32);

const REAL_TIME: u32 = 1024;

/// `struct cubic` has 18 u32 and 4 u8; cwnd_t0 and the clock follow.
fn clock(cc: &CongestionControl) -> u32 {
    cc.tp().inet_conn.icsk_ca_priv[10] as u32
}

fn losses(spec: &str, windows: &[u32]) -> Vec<After> {
    let mut flow = Flow::with_hz(spec, 250);
    let lose = |cwnd: &u32| {
        let ssthresh = flow.loss_at(*cwnd);
        (ssthresh, flow.cubic(Cubic::LastMaxCwnd), clock(&flow.cc))
    };
    windows.iter().map(lose).collect()
}

/// What plain CUBIC would do there.
fn cubic(windows: &[u32]) -> Vec<After> {
    let mut flow = Flow::with_hz("cubic", 250);
    let lose = |cwnd: &u32| {
        (
            flow.loss_at(*cwnd),
            flow.cubic(Cubic::LastMaxCwnd),
            REAL_TIME,
        )
    };
    windows.iter().map(lose).collect()
}

#[test]
fn alone_it_is_cubic() {
    let windows = [10_000, 9000, 9500, 9000, 9500, 9010, 9400, 8990, 9500, 9000];
    assert_eq!(losses("cubic_fc", &windows), cubic(&windows));
}

#[test]
fn competition_is_met_by_releasing_once() {
    // t0 = 9000 < 10000 begins CP1, t1 = 9200, t2 = 7500.
    let windows = [10_000, 9000, 9200, 7500, 7000, 6900];
    let after = losses("cubic_fc", &windows);
    assert_eq!(after[..3], cubic(&windows)[..3]);
    // delta = 1500 > 373; delta_max = 7500 * 307 / 1024 = 2248, delta_i = 1124,
    // f = 614 * (2248 - 1500) / 1124 = 408, released = 408 * 2248 / 1024 = 895:
    // ssthresh = 5251 - 895, W_max = 6375 - 447, clock = 1024 - 408.
    assert_eq!(after[3], (4356, 5928, 616));
    // BR2: W_max = cwnd_t3, although below that W_max it might be.
    assert_eq!(after[4], (4901, 7000, REAL_TIME));
    // t4 < W_max: as CUBIC, 6900 * 1741 / 2048.
    assert_eq!(after[5], (4831, 5865, REAL_TIME));
}

#[test]
fn br2_keeps_the_window_that_br1_ended_with() {
    let windows = [10_000, 9000, 9200, 7500, 5000];
    assert_eq!(losses("cubic_fc", &windows)[4], (3500, 5000, REAL_TIME)); // not 5000 * 1741 / 2048
}

#[test]
fn f_is_a_tent() {
    // (cwnd_t2, ssthresh, W_max, clock) from cwnd_t0 = 20000.
    let vectors = [
        // 19048: delta = 952 > 19048 * 51 / 1024 = 948, delta_max = 5710, delta_i = 2855,
        // f = 614 * 952 / 2855 = 204, released = 1137
        (19_048, 13337 - 1137, 16192 - 568, 1024 - 204),
        // 19052: delta = 948, not more than 948: no competition, plain CUBIC
        (19_052, 13340, 16196, 1024),
        // 17394: delta = 2606, delta_max = 5214, delta_i = 2607, f = 613, released = 3121
        (17_394, 12179 - 3121, 14786 - 1560, 1024 - 613),
        // 15385: delta = 4615 = min(4615, 4612) = delta_max: f = 0
        (15_385, 10772, 13078, 1024),
        // 1000: far below, delta = delta_max
        (1000, 700, 850, 1024),
    ];
    for (cwnd_t2, ssthresh, w_max, clock) in vectors {
        let after = losses("cubic_fc", &[21_000, 20_000, 20_500, cwnd_t2]);
        assert_eq!(after[3], (ssthresh, w_max, clock), "cwnd_t2 = {cwnd_t2}");
    }
}

#[test]
fn a_grown_window_is_no_competition() {
    let windows = [10_000, 9000, 9500, 9400, 9600, 9500];
    assert_eq!(losses("cubic_fc", &windows), cubic(&windows));
}

#[test]
fn a_timeout_forgets_the_phases() {
    let mut flow = Flow::with_hz("cubic_fc", 250);
    flow.losses(&[10_000, 9000, 9200, 7500]);
    assert_eq!(clock(&flow.cc), 616);
    flow.timeout();
    assert_eq!(clock(&flow.cc), REAL_TIME);
    // As from the beginning: 9000 is a t0 again.
    flow.losses(&[10_000, 9000, 9200]);
    assert_eq!(flow.loss_at(7500), 4356);

    // A timeout is no t0: neither is 8000 t1, nor 6200 t2.
    let mut flow = Flow::with_hz("cubic_fc", 250);
    flow.loss_at(10_000);
    flow.timeout();
    flow.loss_at(8000);
    assert_eq!(flow.loss_at(6200), 4341);
}

#[test]
fn br1_slows_the_clock() {
    // To W_max = 5928 from 4356 CUBIC needs K = cbrt(1572 / 0.4004) = 15.78 s; at
    // 616/1024 of real time 26.2 s.
    let mut flow = Flow::with_hz("cubic_fc", 1000);
    flow.rtt(200_000);
    flow.losses(&[10_000, 9000, 9200, 7500]);
    let c = 410.0 / 1024.0;
    let k = (1572.0f64 / c).cbrt();
    flow.clock_acks(0, 40_000_000, 200_000, 1, |t, cwnd| {
        let law = c * (t * 616.0 / 1024.0 - k).powi(3) + 5928.0;
        let error = (f64::from(cwnd) - law).abs();
        assert!(error <= 1.0 + 0.01 * law, "{t:.3} s: {cwnd}, law {law:.1}");
    });
}

#[test]
fn a_lowered_t1_is_t1_all_the_same() {
    // t1 = 7000 < W_max = 7650, 6500 is t2: delta = 2500 is more than delta_max = 1948, so
    // that f = 0, but W_max is BR1's, then BR2's.
    assert_eq!(
        losses("cubic_fc", &[10_000, 9000, 7000, 6500, 6000])[3..],
        [(4551, 5525, 1024), (4201, 6000, 1024)]
    );
}

#[test]
fn windows_stay_sane_for_any_parameters() {
    for beta in ["0.001", "0.3", "0.7", "0.999"] {
        for f_max in ["0", "0.5", "0.999"] {
            for delta_i in ["0.001", "0.5", "0.999"] {
                let spec = format!("cubic_fc:beta={beta},f_max={f_max},delta_i={delta_i},sigma=0");
                let mut flow = Flow::with_hz(&spec, 250);
                let mut window = 100_000;
                while window > 1 {
                    for cwnd in [window, window * 11 / 10 + 1, window * 3 / 4 + 1] {
                        let ssthresh = flow.loss_at(cwnd);
                        let (w_max, clock) = (flow.cubic(Cubic::LastMaxCwnd), clock(&flow.cc));
                        assert!((2..=cwnd.max(2)).contains(&ssthresh), "{spec}: {cwnd}");
                        assert!(w_max <= cwnd && w_max.max(2) >= ssthresh, "{spec}: {cwnd}");
                        assert!((1..=1024).contains(&clock), "{spec}: {cwnd}");
                    }
                    window = window * 2 / 3;
                }
            }
        }
    }
}
