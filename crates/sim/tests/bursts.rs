//! What leaves a host at once: TSO's bursts, and pacing, seen in the queue that they make.

use crate::common;

use ackclock_sim::scenario::{Profile, Scenario};
use ackclock_sim::RunResult;
use common::{dumbbell, flow, simulate, MS, S};

/// A flow that its window of 300 segments holds at 36 of 100 Mb/s, sampled every 100 us.
fn held(profile: Profile, tso: bool, pacing: bool) -> Scenario {
    let mut held = flow("reno", 100 * MS);
    held.receive_window_bytes = Some(300 * 1448);
    let mut scenario = dumbbell(profile, 100_000_000, 1_000, vec![held]);
    (scenario.tso, scenario.pacing) = (tso, pacing);
    scenario.sample_interval_ns = MS / 10;
    scenario.duration_ns = 6 * S;
    scenario
}

/// Longest queue, and the payload delivered from `from_s` on, bit/s.
fn queue_and_rate(result: &RunResult, from_s: u64) -> (u64, f64) {
    let longest = result.queues.queue_packets.iter().max();
    let samples = &result.samples;
    let first = (0..samples.len()).find(|&row| samples.time_us[row] >= from_s * 1_000_000);
    let (first, last) = (first.unwrap(), samples.len() - 1);
    let bits = 8 * (samples.delivered_bytes[last] - samples.delivered_bytes[first]);
    let seconds = (samples.time_us[last] - samples.time_us[first]) as f64 / 1e6;
    (*longest.unwrap(), bits as f64 / seconds)
}

/// Slow start sends two packets for each that leaves the bottleneck; pacing spreads them.
#[test]
fn pacing_keeps_slow_start_out_of_the_queue() {
    for profile in [Profile::Linux6, Profile::Linux2_6_25] {
        let (unpaced, rate) = queue_and_rate(&simulate(&held(profile, false, false)), 3);
        let (paced, paced_rate) = queue_and_rate(&simulate(&held(profile, false, true)), 3);
        assert!(unpaced > 50, "{profile:?}: {unpaced}");
        assert!(paced <= 10, "{profile:?}: {paced}");
        // Less queue, shorter round trips: no less throughput.
        assert!(paced_rate > 0.99 * rate, "{profile:?}: {paced_rate} {rate}");
    }
}

/// Its payload is what the application allows, whatever the window would do.
#[test]
fn a_limited_rate_is_kept() {
    for (limit_mbps, algorithm) in [(5, "reno"), (20, "cubic"), (20, "bbr")] {
        let mut scenario = held(Profile::Linux6, true, false);
        scenario.flows[0].receive_window_bytes = None;
        scenario.flows[0].algorithm = algorithm.into();
        scenario.flows[0].max_pacing_rate_bps = Some(limit_mbps * 1_000_000);
        let (queue, rate) = queue_and_rate(&simulate(&scenario), 2);
        let share = rate / limit_mbps as f64 / 1e6;
        assert!((0.98..=1.001).contains(&share), "{algorithm}: {share}");
        assert!(queue <= 10, "{algorithm}: {queue}");
    }
}

/// In slow start the rate is twice the window per round trip: a window takes half of it to leave.
#[test]
fn a_paced_window_takes_half_a_round_trip_in_slow_start() {
    let mut scenario = held(Profile::Linux6, false, true);
    scenario.duration_ns = 250 * MS;
    let result = simulate(&scenario);
    // The first window of 10 leaves at once at 100 ms; its ACKs come at 200 ms and let 20 go,
    // one every 100 ms / (2 · 20) = 2.5 ms.
    let sent = |time_us: u64| {
        let row = result.queues.time_us.iter().rposition(|&at| at <= time_us);
        result.queues.enqueued_packets[row.unwrap()]
    };
    let handshake = sent(110_000) - 10;
    assert_eq!(sent(150_000) - handshake, 10);
    let (at_225_ms, at_250_ms) = (sent(225_000) - handshake, sent(250_000) - handshake);
    assert!((18..=22).contains(&at_225_ms), "{at_225_ms}");
    assert!((27..=31).contains(&at_250_ms), "{at_250_ms}");
}

/// Linux 2.6 with TSO saves for 64 KB, 45 segments: no ACK releases less once the window is large.
#[test]
fn tso_of_2_6_saves_for_bursts() {
    let mut scenario = held(Profile::Linux2_6_25, true, false);
    scenario.flows[0].receive_window_bytes = None;
    scenario.flows[0].initial_ssthresh_packets = Some(200);
    let result = simulate(&scenario);
    let enqueued = &result.queues.enqueued_packets;
    let late = enqueued.len() / 2;
    let (mut bursts, mut sent) = (0, 0);
    for pair in enqueued[late..].windows(2).filter(|pair| pair[1] > pair[0]) {
        bursts += 1;
        sent += pair[1] - pair[0];
    }
    let mean = sent as f64 / f64::from(bursts);
    assert!((40.0..=60.0).contains(&mean), "{mean}");
    let small = simulate(&held(Profile::Linux2_6_25, false, false));
    assert!(small.flows.sent_packets[0] > 1_000);
}
