//! BBR's closed forms (ACM Queue 14(5), 2016): a full link with next to no queue, a visit to
//! PROBE_RTT every 10 s, 4 packets there. tests/hosts/test_linux_reference.py compares with real
//! Linux.

use crate::common;

use ackclock_sim::scenario::{Profile, Scenario};
use ackclock_sim::RunResult;
use common::{dumbbell, flow, mean, simulate, MS, S};

/// 100 Mb/s, 40 ms, a deep buffer.
fn alone(seconds: u64) -> Scenario {
    let mut scenario = dumbbell(
        Profile::Linux6,
        100_000_000,
        2000,
        vec![flow("bbr", 40 * MS)],
    );
    scenario.duration_ns = seconds * S;
    scenario.sample_interval_ns = 10 * MS;
    scenario
}

/// Mean queue and share of the link, from 3 s to 10 s.
fn steady(result: &RunResult) -> (f64, f64) {
    let queues = &result.queues;
    let row = |at_us: u64| queues.time_us.iter().position(|&at| at >= at_us).unwrap();
    let (from, to) = (row(3_000_000), row(10_000_000));
    let packets = mean((from..to).map(|row| queues.queue_packets[row] as f64));
    let bytes = (queues.sent_bytes[to] - queues.sent_bytes[from]) as f64;
    (packets, bytes * 8.0 / 7.0 / 100e6)
}

/// The queue holds what a phase of 1.25 adds, a quarter of the BDP of 333 packets and three bursts, in
/// two of eight phases; in the others part of a burst. The margin takes 1 % of the link, but for the
/// time with a queue. Packets are spaced with and without TSO.
#[test]
fn a_full_link_and_a_short_queue() {
    for tso in [true, false] {
        let mut scenario = alone(10);
        scenario.tso = tso;
        let (queue, used) = steady(&simulate(&scenario));
        assert!(queue < 333.0 / 10.0, "{queue}");
        assert!((0.985..=1.0).contains(&used), "{used}");
    }
}

/// Every 10 s and the time in PROBE_RTT cwnd is 4 for 200 ms and the round in which the packets
/// that are out drain; what that costs.
#[test]
fn probe_rtt_comes_every_ten_seconds() {
    let result = simulate(&alone(45));
    let samples = &result.samples;
    let small: Vec<u64> = (0..samples.time_us.len())
        .filter(|&row| samples.cwnd_packets[row] == 4 && samples.time_us[row] > S / 1000)
        .map(|row| samples.time_us[row])
        .collect();
    let mut visits: Vec<(u64, u64)> = Vec::new();
    for at in small {
        match visits.last_mut() {
            Some((_, end)) if at - *end < 500_000 => *end = at,
            _ => visits.push((at, at)),
        }
    }
    assert_eq!(visits.len(), 4, "{visits:?}");
    for (begin, end) in &visits {
        assert!((200_000..=320_000).contains(&(end - begin)), "{visits:?}");
    }
    for pair in visits.windows(2) {
        let apart = pair[1].0 - pair[0].1;
        assert!((9_990_000..=10_100_000).contains(&apart), "{visits:?}");
    }
}

/// A loss says nothing of the path's rate: with 1 % of the packets lost BBR keeps the link full,
/// where CUBIC has a tenth of it.
#[test]
fn random_losses_do_not_slow_it_down() {
    let goodput = |algorithm: &str| {
        let mut scenario = alone(10);
        scenario.flows[0].algorithm = algorithm.into();
        scenario.bottleneck.drop_every_packets = Some(100);
        simulate(&scenario).flows.delivered_bytes[0] as f64 * 8.0 / 10.0 / 100e6
    };
    let (bbr, cubic) = (goodput("bbr"), goodput("cubic"));
    assert!(bbr > 0.85 && cubic < 0.15, "{bbr} {cubic}");
}

/// A policer at 20 Mb/s: two intervals of the same rate show it, and BBR sends at that rate. Without
/// the model (`lt_bw_max_rtts=0`) it loses more.
#[test]
fn a_policer_is_found() {
    let lost = |algorithm: &str| {
        let mut scenario = alone(30);
        scenario.flows[0].algorithm = algorithm.into();
        scenario.bottleneck.policer = Some(ackclock_net::rate::PolicerParameters {
            rate_bps: 20_000_000,
            burst_bytes: 100_000,
        });
        let flows = simulate(&scenario).flows;
        flows.retransmitted_packets[0] as f64 / flows.sent_packets[0] as f64
    };
    let (with, without) = (lost("bbr"), lost("bbr:lt_bw_max_rtts=0"));
    assert!(with < 0.7 * without, "{with} {without}");
}
