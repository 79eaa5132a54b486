//! SQUARE:FF's K on scripted losses, computed by hand from eq. (3) and (4) of the paper.

use crate::common;

use common::{Cubic, Flow};

/// K, 1/1024 s, of the epoch after a loss at 1000.
fn k(spec: &str, rtt_us: i32) -> u32 {
    let mut flow = Flow::after_loss(spec, 1000, 1000, rtt_us);
    flow.cc.cong_avoid(0, 1);
    flow.cubic(Cubic::K)
}

/// cbrt(300 / (410 / 1024)) s as Linux computes it.
const K: u32 = 9294;

#[test]
fn k_is_cubics_at_the_reference_rtt() {
    assert_eq!(k("cubic", 32_000), K);
    for spec in ["square_ff", "square_ff@cbrt"] {
        let spec = format!("{spec}:reference_rtt_ms=32");
        assert_eq!(k(&spec, 32_000), K, "{spec}");
    }
}

#[test]
fn k_falls_with_the_root_of_the_rtt() {
    // (RTT in us, K by eq. (4), by eq. (3)); the reference RTT is 32 ms.
    let vectors = [
        (8000, f64::from(K) * 2.0, f64::from(K) * 4f64.cbrt()),
        (2000, f64::from(K) * 4.0, f64::from(K) * 16f64.cbrt()),
        (128_000, f64::from(K) / 2.0, f64::from(K) / 4f64.cbrt()),
        (
            320_000,
            f64::from(K) / 10f64.sqrt(),
            f64::from(K) / 10f64.cbrt(),
        ),
    ];
    for (rtt_us, square, cbrt) in vectors {
        for (spec, law) in [("square_ff", square), ("square_ff@cbrt", cbrt)] {
            let spec = format!("{spec}:reference_rtt_ms=32");
            let error = (f64::from(k(&spec, rtt_us)) - law).abs();
            assert!(
                error <= 1.5,
                "{spec}, {rtt_us} us: {} {law}",
                k(&spec, rtt_us)
            );
        }
    }
}

#[test]
fn exponent_0_is_cubic() {
    for rtt_us in [1, 500, 128_000, i32::MAX] {
        assert_eq!(k("square_ff:exponent=0", rtt_us), K);
    }
}

#[test]
fn the_plateau_comes_at_k_whatever_the_rtt() {
    // Eq. (1) with eq. (4)'s K, from both sides: at an RTT above the reference the curve
    // begins above cwnd, which follows it as soon as it can; below, cwnd waits for it.
    for (rtt_us, scale) in [(128_000u64, 0.5), (8000, 2.0)] {
        let spec = "square_ff:reference_rtt_ms=32,tcp_friendliness=0";
        let mut flow = Flow::after_loss(spec, 1000, 1000, rtt_us as i32);
        let k = f64::from(K) / 1024.0 * scale;
        let c = 410.0 / 1024.0;
        flow.clock_acks(0, (1.6e6 * k) as u64, rtt_us, 1, |t, cwnd| {
            // To wait is to grow by a packet per 100 windows of ACKs.
            let waiting = 700.0 + t * 1e6 / rtt_us as f64 / 100.0;
            let law = (c * (t - k).powi(3) + 1000.0).max(waiting);
            if scale < 1.0 && t < 0.6 {
                return; // from 700 to the curve's 953: by half per RTT, then its delay
            }
            let error = (f64::from(cwnd) - law).abs();
            assert!(
                error <= 1.0 + 0.01 * law,
                "{rtt_us}, {t:.3} s: {cwnd} {law:.1}"
            );
        });
    }
}

#[test]
fn a_loss_and_a_timeout_are_cubics() {
    let mut ff = Flow::after_loss("square_ff", 250, 1000, 100_000);
    let mut cubic = Flow::after_loss("cubic", 250, 1000, 100_000);
    for cwnd in [900, 1200, 17, 2, 1] {
        assert_eq!(ff.loss_at(cwnd), cubic.loss_at(cwnd));
        assert_eq!(
            ff.cubic(Cubic::LastMaxCwnd),
            cubic.cubic(Cubic::LastMaxCwnd)
        );
    }
    ff.tp().snd_cwnd = 900;
    ff.timeout();
    assert_eq!(ff.cc.tp().snd_ssthresh, 630);
    for member in [Cubic::LastMaxCwnd, Cubic::K, Cubic::DelayMin] {
        assert_eq!(ff.cubic(member), 0);
    }
}

#[test]
fn windows_stay_sane_at_any_rtt() {
    for rtt_us in [0, 1, 1000, 60_000_000, i32::MAX] {
        for reference in ["0.001", "32", "10000"] {
            for exponent in ["0.167", "0.5", "1"] {
                let spec = format!("square_ff:exponent={exponent},reference_rtt_ms={reference}");
                let mut flow = Flow::after_loss(&spec, 250, 1000, rtt_us);
                let mut last = flow.cwnd();
                for step in 0..2000u64 {
                    flow.at(step * 10_000);
                    flow.cc.cong_avoid(0, 2);
                    // By half per window of ACKs at most.
                    assert!((last..=last + 2).contains(&flow.cwnd()), "{spec}: {rtt_us}");
                    last = flow.cwnd();
                }
            }
        }
    }
}
