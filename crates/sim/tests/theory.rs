//! The simulator against closed forms.

use crate::common;

use ackclock_sim::record::EventKind;
use ackclock_sim::scenario::{Profile, Reads, Scenario};
use ackclock_sim::RunResult;
use common::{dumbbell, flow, simulate, MS, S};

/// One flow on a path without queue, losing every 1/p-th packet.
fn lossy(
    algorithm: &str,
    profile: Profile,
    rtt_ns: u64,
    one_in: u64,
    duration_ns: u64,
) -> Scenario {
    let mut scenario = dumbbell(
        profile,
        50_000_000_000,
        1 << 20,
        vec![flow(algorithm, rtt_ns)],
    );
    scenario.duration_ns = duration_ns;
    scenario.bottleneck.drop_every_packets = Some(one_in);
    scenario.delayed_ack_segments = 1;
    scenario
}

/// Mean window over the second half: packets delivered per round trip.
fn mean_window(scenario: &Scenario, result: &RunResult) -> f64 {
    let samples = &result.samples;
    let half_us = scenario.duration_ns / 2_000;
    let row = (0..samples.len())
        .find(|&row| samples.time_us[row] >= half_us)
        .unwrap();
    let last = samples.len() - 1;
    let packets = samples.delivered_packets[last] - samples.delivered_packets[row];
    let time_us = samples.time_us[last] - samples.time_us[row];
    packets as f64 * (scenario.flows[0].rtt_ns as f64 / 1e3) / time_us as f64
}

/// Mathis et al. 1997: a loss every 1/p packets gives a sawtooth of mean sqrt(3/(2p)).
#[test]
fn reno_follows_the_square_root_law_over_three_decades() {
    for profile in [Profile::Linux6, Profile::Linux2_6_25] {
        for one_in in [300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000] {
            let scenario = lossy("reno", profile, 10 * MS, one_in, 200 * S);
            let measured = mean_window(&scenario, &simulate(&scenario));
            let theory = (1.5 * one_in as f64).sqrt();
            let error = measured / theory - 1.0;
            println!(
                "{profile:?} p = 1/{one_in}: {measured:.1} packets, theory {theory:.1}, {:+.1} %",
                error * 100.0
            );
            assert!(
                error.abs() < 0.10,
                "p = 1/{one_in}: {measured} against {theory}"
            );
        }
    }
}

/// ha2008 section 1: 10 Gb/s, 100 ms, 1250-byte packets. The window is 100 000
/// packets, and standard TCP needs 5000 s to grow back from half of it.
#[test]
fn reno_needs_5000_seconds_to_fill_ten_gigabits() {
    let mut scenario = dumbbell(
        Profile::Linux6,
        10_000_000_000,
        1_000,
        vec![flow("reno", 100 * MS)],
    );
    scenario.header_bytes = 52;
    scenario.mss_bytes = 1250 - 52;
    scenario.delayed_ack_segments = 1;
    let bdp = scenario.bottleneck.rate_bps / 8 / 10 / 1250;
    assert_eq!(bdp, 100_000);
    // The growth after the first loss, over 60 s, told forward to 50 000 packets.
    scenario.duration_ns = 120 * S;
    let result = simulate(&scenario);
    let samples = &result.samples;
    let at = |time_s: u64| {
        (0..samples.len())
            .find(|&row| samples.time_us[row] >= time_s * 1_000_000)
            .unwrap()
    };
    let (from, to) = (at(60), at(120));
    assert_eq!(samples.state[from].0, 0);
    let growth_per_s = f64::from(samples.cwnd_packets[to] - samples.cwnd_packets[from]) / 60.0;
    let regrow_s = 50_000.0 / growth_per_s;
    println!("{growth_per_s:.2} packets/s: 50 000 packets in {regrow_s:.0} s");
    assert!((regrow_s / 5000.0 - 1.0).abs() < 0.05, "{regrow_s} s");
}

/// ha2008 eq. (1): between losses cwnd is C (t − K)³ + Wmax to 1 segment + 1 %.
#[test]
fn cubic_follows_its_curve() {
    let (rtt_s, c) = (0.1_f64, 0.4);
    for (preset, beta) in [("linux", 717.0 / 1024.0), ("ha2008", 819.0 / 1024.0)] {
        let mut scenario = dumbbell(
            Profile::Linux6,
            100_000_000,
            833,
            vec![flow(&format!("cubic@{preset}"), 100 * MS)],
        );
        scenario.duration_ns = 150 * S;
        let result = simulate(&scenario);
        let (events, samples) = (&result.events, &result.samples);
        let recoveries: Vec<usize> = (0..events.len())
            .filter(|&row| events.kind[row].name() == "recovery")
            .collect();
        assert!(recoveries.len() >= 4, "{} epochs", recoveries.len());
        let mut last_max: f64 = 0.0;
        let mut checked = 0;
        for pair in recoveries.windows(2) {
            let cwnd_at_loss = f64::from(events.cwnd_packets[pair[0]]);
            let w_max = if cwnd_at_loss < last_max {
                cwnd_at_loss * (1.0 + beta) / 2.0
            } else {
                cwnd_at_loss
            };
            last_max = w_max;
            if pair[0] == recoveries[0] {
                continue; // the slow-start overshoot
            }
            let end_us = events.time_us[pair[1]];
            let start = (0..events.len())
                .find(|&row| row > pair[0] && events.kind[row].name() == "recovered")
                .unwrap();
            let w0 = f64::from(events.ssthresh_packets[start]);
            let start_us = events.time_us[start];
            let k_s = ((w_max - w0).max(0.0) / c).cbrt();
            for row in 0..samples.len() {
                // The window reaches the curve of one RTT ahead within one RTT.
                if samples.time_us[row] < start_us + 500_000 || samples.time_us[row] >= end_us {
                    continue;
                }
                let t_s = (samples.time_us[row] - start_us) as f64 / 1e6;
                let formula = c * (t_s - k_s).powi(3) + w_max;
                let ahead = c * (t_s + rtt_s - k_s).powi(3) + w_max;
                let tolerance = 1.0 + 0.01 * formula;
                let cwnd = f64::from(samples.cwnd_packets[row]);
                assert!(
                    cwnd >= formula - tolerance && cwnd <= ahead + tolerance,
                    "{preset}: t = {t_s:.2} s: cwnd {cwnd}, W(t) = {formula:.1}, W(t+RTT) = {ahead:.1}"
                );
                checked += 1;
            }
        }
        println!("{preset}: {checked} samples on the curve");
        assert!(checked > 500);
    }
}

/// Linux's Hybla at RTTs up to 25 ms (rho = 1): each ACK adds at least 1/128 packet up to windows of
/// 128, so that an epoch at 40 Mb/s and 20 ms lasts 5.25 s. (2.86 s if it grew as standard TCP, too.)
#[test]
fn hybla_on_short_paths() {
    let mut scenario = dumbbell(
        Profile::Linux6,
        40_000_000,
        67,
        vec![flow("hybla", 20 * MS)],
    );
    scenario.reads = Reads::Bulk;
    scenario.duration_ns = 120 * S;
    let result = simulate(&scenario);
    let events = result.events.kind.iter().zip(&result.events.time_us);
    let times_s: Vec<f64> = events
        .filter(|(kind, _)| **kind == EventKind::Recovery)
        .map(|(_, time_us)| *time_us as f64 / 1e6)
        .collect();
    let late = &times_s[times_s.len() / 2..];
    let epoch_s = (late[late.len() - 1] - late[0]) / (late.len() - 1) as f64;
    assert!((5.0..5.5).contains(&epoch_s), "{epoch_s}");
}
