//! Every algorithm and every preset of it, by the same measures: what an RTT adds, what a
//! loss takes, what a timeout leaves. The laws are the papers' formulas, in floating point.

use crate::common;

use common::Flow;

/// Every spec, but LEDBAT++ only without its slowdowns, which the formulas leave out.
fn specs() -> Vec<String> {
    let mut specs = common::specs();
    specs.retain(|spec| !spec.starts_with("ledbat_pp") || spec.ends_with("no-slowdown"));
    specs
}

const RTT_US: i32 = 100_000;
const WINDOWS: [u32; 4] = [10, 100, 1000, 10_000];

/// What an RTT of 100 ms without a queue adds to the window, packets.
enum Increase {
    /// At once.
    PerRtt(fn(f64) -> f64),
    /// By ACKs, each of which adds f(w, W_max) / w.
    PerAck(fn(f64, f64) -> f64),
    /// CUBIC's, which has its own test.
    Curve,
}

struct Law {
    increase: Increase,
    /// What a loss leaves of the window.
    decrease: fn(f64) -> f64,
}

fn law(spec: &str) -> Law {
    use Increase::{Curve, PerAck, PerRtt};
    let half: fn(f64) -> f64 = |w| w / 2.0;
    let eighth_or_half_below_15: fn(f64) -> f64 = |w| w * if w < 15.0 { 0.5 } else { 0.875 };
    let (increase, decrease): (Increase, fn(f64) -> f64) = match name_and_preset(spec) {
        ("cubic" | "cubic_fc" | "square_ff", preset) if is_early_cubic(preset) => {
            (Curve, |w| 0.8 * w)
        }
        ("cubic" | "cubic_abe" | "cubic_fc" | "square_ff", _) => (Curve, |w| 0.7 * w),
        // Without ECN.
        ("reno" | "reno_abe" | "dctcp" | "westwood" | "constant_rate" | "hrf", _) => {
            (PerAck(|_, _| 1.0), half)
        }
        ("vegas", _) => (PerRtt(|_| 1.0), half),
        // In the first second after a loss; and the first loss does not adapt.
        ("htcp", "backoff-0.8") => (PerAck(|_, _| 2.0 * (1.0 - 0.8)), |w| 0.8 * w),
        ("htcp", _) => (PerAck(|_, _| 1.0), half),
        ("veno", _) => (PerAck(|_, _| 1.0), |w| 0.8 * w),
        // A fourth of the way to W_max, at most S_max = 16; in the paper half of it and 32.
        // Linux divides by the packets of an ACK and counts them: once more 31/16 at least.
        ("bic", preset) => (
            match preset {
                "xu2004" => PerAck(|w, w_max| bic(w, w_max, 2.0, 32.0, 1.0)),
                _ => PerAck(|w, w_max| bic(w, w_max, 4.0, 16.0, 31.0 / 16.0)),
            },
            match preset {
                "xu2004" => |w| w * if w <= 14.0 { 0.5 } else { 0.875 },
                _ => |w| w * if w <= 14.0 { 0.5 } else { 0.8 },
            },
        ),
        ("highspeed", _) => (PerAck(|w, _| highspeed(w).0), |w| {
            w * (1.0 - highspeed(w).1)
        }),
        ("scalable", "linux-2.6") => (PerAck(|w, _| (w / 50.0).max(1.0)), |w| 0.875 * w),
        ("scalable", "kelly2003") => (
            PerAck(|w, _| if w <= 16.0 { 1.0 } else { w / 100.0 }),
            |w| w * if w <= 16.0 { 0.5 } else { 0.875 },
        ),
        ("scalable" | "yeah", _) => (PerAck(|w, _| (w / 100.0).max(1.0)), |w| 0.875 * w),
        // rho = 100 ms / 25 ms; Linux has rho^2 / w in 128ths, and is Reno where that is 0.
        ("hybla", "caini2004") => (PerAck(|_, _| 16.0), half),
        ("hybla", _) => (
            PerAck(|w, _| match (16.0 * 128.0 / w).floor() / 128.0 {
                0.0 => 1.0,
                each => each * w,
            }),
            half,
        ),
        // alpha = 10, a packet per so many whole ACKs.
        ("illinois", _) => (
            PerAck(|w, _| if w < 15.0 { 1.0 } else { w / (w / 10.0).ceil() }),
            eighth_or_half_below_15,
        ),
        // gamma alpha every other RTT, at most the window.
        ("fast", _) => (PerRtt(|w| w.min(50.0) / 2.0), half),
        ("compound", "") => (
            PerRtt(|w| if w < 38.0 { 1.0 } else { w.powf(0.75) / 8.0 }),
            half,
        ),
        // GAIN = 1 / ceil(2 target / base), with a base of 100 ms.
        ("ledbat_pp", _) => (PerRtt(|_| 0.5), half),
        ("libra", "") => (PerAck(|_, _| 200.0 * 0.01 / 1.1), |w| w - w / 2.2),
        ("binomial_sqrt", "iiad") => (PerAck(|w, _| 1.5 / w), |w| w - 1.0),
        ("binomial_sqrt", _) => (PerAck(|w, _| w.powf(-0.5)), |w| w - w.sqrt() / 1.5),
        _ => panic!("{spec} is new: what is its law?"),
    };
    Law { increase, decrease }
}

fn name_and_preset(spec: &str) -> (&str, &str) {
    spec.split_once('@').unwrap_or((spec, ""))
}

/// Of the CUBICs with beta = 0.8?
fn is_early_cubic(preset: &str) -> bool {
    preset.starts_with("2.") || preset == "ha2008"
}

/// A part of the way to W_max, a packet per so many whole ACKs.
fn bic(w: f64, w_max: f64, parts: f64, s_max: f64, packets_per_ack: f64) -> f64 {
    if w <= 14.0 {
        return 1.0;
    }
    packets_per_ack * w / (w / ((w_max - w) / parts).min(s_max)).floor()
}

/// RFC 3649, section 5: a(w) and b(w) of its table, whose rows are where a is whole.
fn highspeed(w: f64) -> (f64, f64) {
    let b = |w: f64| 0.5 - 0.4 * (w.max(38.0) / 38.0).ln() / (83_000.0f64 / 38.0).ln();
    let a = |w: f64| w * w * 0.078 / w.powf(1.2) * 2.0 * b(w) / (2.0 - b(w));
    let mut row = w.max(38.0);
    while a(row) < a(w).max(1.0).ceil() {
        row += 1.0;
    }
    (a(w).max(1.0).ceil(), b(row))
}

/// In congestion avoidance for two RTTs, after a loss at 1.25 windows.
fn avoiding(spec: &str, window: u32) -> Flow {
    let mut flow = Flow::avoiding(spec, window);
    flow.tp().srtt_us = 8 * RTT_US as u32;
    flow.rtt(RTT_US);
    flow.loss_at(window * 5 / 4);
    for _ in 0..2 {
        pinned_round(&mut flow, window);
    }
    flow
}

/// What an RTT adds to this window.
fn pinned_round(flow: &mut Flow, window: u32) -> i32 {
    flow.tp().snd_ssthresh = 2;
    flow.tp().snd_cwnd = window;
    flow.round(RTT_US, 1)
}

#[test]
fn an_rtt_adds_what_the_formula_says() {
    const RTTS: u32 = 6;
    for spec in specs() {
        for window in WINDOWS {
            let begin = f64::from(window);
            let formula = match law(&spec).increase {
                Increase::Curve => continue,
                Increase::PerRtt(growth) => growth(begin),
                Increase::PerAck(growth) => {
                    let w_max = (begin * 1.25).floor();
                    (0..window).fold(begin, |w, _| w + growth(w, w_max) / w) - begin
                }
            } * f64::from(RTTS);
            let mut flow = avoiding(&spec, window);
            let grown: i32 = (0..RTTS).map(|_| pinned_round(&mut flow, window)).sum();
            assert!(
                (f64::from(grown) - formula).abs() <= 1.0 + 0.01 * formula,
                "{spec} at {window}: {grown} in {RTTS} RTTs, formula {formula:.1}"
            );
        }
    }
}

/// Eq. (1) of ha2008 and what table 1's versions change of it, as a fluid: the window heads
/// for the curve one RTT ahead, as fast as clamps let it, and is no smaller than W_tcp.
#[test]
fn every_cubic_follows_its_curve() {
    let rtt = f64::from(RTT_US) / 1e6;
    for spec in specs() {
        if !matches!(law(&spec).increase, Increase::Curve) {
            continue;
        }
        let (name, preset) = name_and_preset(&spec);
        let early = is_early_cubic(preset);
        let beta: f64 = if early { 0.8 } else { 0.7 };
        let c = 410.0 / 1024.0;
        let height = if preset == "2.6.18.1" {
            32.0 / 1024.0
        } else {
            c
        };
        let alpha = 3.0 * (1.0 - beta) / (1.0 + beta);
        // Packets per RTT, from t on.
        let (most, clamped_from) = match preset {
            "2.0" => (32.0, 0.0),
            "2.6.18" | "2.6.18.1" => (20.0 * rtt, 0.0),
            "2.1" | "2.6.22-rc4" => (32.0, 1.0),
            _ => (f64::INFINITY, 0.0),
        };
        for w_max in [100.0, 1000.0, 3000.0f64] {
            let neutral = match name {
                "square_ff" => ":delayed_ack=0,reference_rtt_ms=100",
                _ => ":delayed_ack=0",
            };
            let mut flow =
                Flow::after_loss(&format!("{spec}{neutral}"), 1000, w_max as u32, RTT_US);
            let begin = f64::from(flow.cwnd());
            let k = ((w_max - begin) / c).cbrt();
            let (mut w, mut w_tcp, mut now) = (begin, begin, 0.0);
            flow.clock_acks(0, (1.5e6 * k) as u64, RTT_US as u64, 1, |t, cwnd| {
                while now < t {
                    let step = 0.001 / rtt; // RTTs
                    let alpha = match preset {
                        "rfc9438" | "rfc9406" if w_tcp >= w_max => 1.0,
                        _ => alpha,
                    };
                    w_tcp += alpha * step;
                    let ahead = height * (now + rtt - k).powi(3) + w_max - w;
                    let limit = if now >= clamped_from * k {
                        most
                    } else {
                        f64::INFINITY
                    };
                    let growth = ahead.max(0.01).min(limit).max(w_tcp - w);
                    w += growth * step;
                    now += 0.001;
                }
                assert!(
                    (f64::from(cwnd) - w).abs() <= 1.0 + 0.01 * w,
                    "{spec}, W_max {w_max}, {t:.3} s: {cwnd}, law {w:.1}"
                );
            });
        }
    }
}

#[test]
fn a_loss_leaves_what_the_formula_says() {
    for spec in specs() {
        for window in WINDOWS {
            let ssthresh = avoiding(&spec, window).loss_at(window);
            let formula = (law(&spec).decrease)(window.into());
            assert!(
                (f64::from(ssthresh) - formula).abs() <= 1.0 + 0.01 * formula,
                "{spec} at {window}: {ssthresh}, formula {formula:.1}"
            );
        }
        for window in 1..=5 {
            let ssthresh = avoiding(&spec, 10).loss_at(window);
            assert!(
                (2..=window.max(2)).contains(&ssthresh),
                "{spec} at {window}: {ssthresh}"
            );
        }
    }
}

/// Windows whose product with anything needs more than 32 bits.
#[test]
fn a_loss_leaves_its_share_of_the_largest_windows() {
    for spec in specs() {
        // HighSpeed's law ends with its table, at 89053 packets.
        if spec.starts_with("highspeed") {
            continue;
        }
        for window in (22..32).flat_map(|bits| [1u32 << bits, (1 << bits) + (1 << bits) / 3]) {
            let ssthresh = avoiding(&spec, 10_000).loss_at(window);
            let formula = (law(&spec).decrease)(window.into());
            assert!(
                (f64::from(ssthresh) - formula).abs() <= 1.0 + 0.01 * formula,
                "{spec} at {window}: {ssthresh}, formula {formula:.1}"
            );
        }
    }
}

/// Nor does growth overflow there: an RTT of ACKs never shrinks such a window, nor doubles it.
#[test]
fn the_largest_windows_grow() {
    // Hybla keeps the window below its max_cwnd.
    for spec in specs().iter().filter(|spec| !spec.starts_with("hybla")) {
        for bits in 22..32 {
            let window = (1u32 << bits) + (1 << bits) / 3;
            let mut flow = avoiding(spec, 10_000);
            flow.loss_at(window);
            flow.tp().snd_ssthresh = 2;
            let begin = flow.cwnd();
            let most = flow.cwnd().saturating_mul(2);
            for step in 0..300u32 {
                flow.at(1_000_000 * u64::from(step + 1));
                flow.ack(RTT_US, 1 << 10);
                let cwnd = flow.cwnd();
                // Vegas and its like may take a packet; FAST counts on its own RTT.
                assert!(
                    cwnd >= begin / 2 && cwnd <= most,
                    "{spec}, {begin} packets, step {step}: {cwnd}"
                );
            }
        }
    }
}

/// After a timeout a flow goes on as a new one that knows the new ssthresh and nothing else.
#[test]
fn a_timeout_forgets() {
    for spec in specs() {
        let mut flow = avoiding(&spec, 1000);
        flow.losses(&[1200, 1000, 1100]);
        for rtt_us in [120_000, 140_000, 130_000] {
            flow.round(rtt_us, 1);
        }
        let before = flow.cwnd();
        flow.tp().snd_una = flow.tp().snd_nxt; // nothing is out, else old rounds would go on
        flow.timeout();
        let ssthresh = flow.tp().snd_ssthresh;
        assert!((2..=before).contains(&ssthresh), "{spec}: {ssthresh}");

        let mut fresh = Flow::avoiding(&spec, 1);
        fresh.tp().snd_ssthresh = ssthresh;
        fresh.tp().prior_cwnd = flow.tp().prior_cwnd;
        let grow = |flow: &mut Flow| {
            flow.tp().srtt_us = 8 * 90_000;
            let round = |_| {
                flow.round(90_000, 1);
                flow.cwnd()
            };
            (0..30).map(round).collect::<Vec<_>>()
        };
        let (after, anew) = (grow(&mut flow), grow(&mut fresh));
        // Kept: Hybla's part of a packet; a fixed back-off, which a new flow does not know yet.
        if !spec.starts_with("hybla") && spec != "htcp@backoff-0.8" {
            assert_eq!(after, anew, "{spec}");
        }
        assert!(after[29] >= flow.tp().snd_ssthresh, "{spec}: {after:?}");
    }
}
