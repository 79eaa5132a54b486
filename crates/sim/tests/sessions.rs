//! Sources of background traffic generate what they claim: gaps, sizes, round-trip times, load.

use crate::common;

use ackclock_net::impair::LossStep;
use ackclock_sim::scenario::{Flow, Profile, Session, Sizes};
use ackclock_sim::RunResult;
use common::{dumbbell, flow, simulate, MS, S};

/// So many alike sessions alone on a link that never limits them.
fn alone(count: usize, duration_ns: u64, session: Session) -> RunResult {
    let mut scenario = dumbbell(Profile::Linux6, 100_000_000_000, 1_000_000, vec![]);
    scenario.duration_ns = duration_ns;
    scenario.sample_interval_ns = 0;
    scenario.sessions = vec![session; count];
    simulate(&scenario)
}

fn session(size_packets: u64, gap_ns: u64, sizes: Sizes) -> Session {
    Session {
        flow: Flow {
            size_bytes: Some(size_packets * 1448),
            ..flow("reno", MS)
        },
        gap_ns,
        sizes,
        route_ssthresh: false,
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn deviation(values: &[f64]) -> f64 {
    let centre = mean(values);
    mean(
        &values
            .iter()
            .map(|value| (value - centre).powi(2))
            .collect::<Vec<_>>(),
    )
    .sqrt()
}

fn close(value: f64, wanted: f64, share: f64) {
    assert!(
        (value - wanted).abs() <= share * wanted,
        "{value}, not {wanted} ± {share}"
    );
}

/// Seconds between the end of each transfer and the start of the next of its session.
fn gaps_s(result: &RunResult, count: usize) -> Vec<f64> {
    let transfers = &result.transfers;
    let mut free_us = vec![0; count + 1];
    let mut gaps = Vec::new();
    for row in 0..transfers.len() {
        let free = &mut free_us[transfers.session[row] as usize];
        gaps.push((transfers.start_us[row] - *free) as f64 / 1e6);
        *free = transfers.completed_us[row];
    }
    gaps
}

/// Leith et al. 2007: exponential gaps of 1 s, Pareto sizes of shape 1.2 and mean 6 packets.
#[test]
fn web_sessions_are_exponential_and_pareto() {
    let result = alone(100, 1_000 * S, session(6, S, Sizes::Pareto(1_200)));
    let gaps = gaps_s(&result, 100);
    assert!(gaps.len() > 90_000, "{}", gaps.len());
    close(mean(&gaps), 1.0, 0.02);
    close(deviation(&gaps), 1.0, 0.02);
    let over_3_s = gaps.iter().filter(|&&gap| gap > 3.0).count() as f64 / gaps.len() as f64;
    close(over_3_s, (-3.0_f64).exp(), 0.05);

    let packets: Vec<f64> = (result.transfers.size_bytes.iter())
        .map(|&bytes| bytes as f64 / 1448.0)
        .collect();
    // A mean of 6 at shape 1.2 needs a minimum of 1, and Hill's estimator finds the shape.
    let least = packets.iter().copied().fold(f64::INFINITY, f64::min);
    close(least, 1.0, 0.001);
    let logs: Vec<f64> = packets.iter().map(|x| x.ln()).collect();
    close(1.0 / mean(&logs), 1.2, 0.01);
    let tail: Vec<f64> = (packets.iter().filter(|&&x| x > 10.0))
        .map(|x| (x / 10.0).ln())
        .collect();
    close(1.0 / mean(&tail), 1.2, 0.05);
    // The mean itself hardly converges; that of min(x, 1000) does: 6 − 5 · 1000^−0.2.
    let cut: Vec<f64> = packets.iter().map(|x| x.min(1_000.0)).collect();
    close(mean(&cut), 6.0 - 5.0 * 1_000_f64.powf(-0.2), 0.05);
}

#[test]
fn lognormal_sizes() {
    let result = alone(100, 500 * S, session(50, S / 2, Sizes::Lognormal(1_318)));
    let packets: Vec<f64> = (result.transfers.size_bytes.iter())
        .map(|&bytes| bytes as f64 / 1448.0)
        .collect();
    assert!(packets.len() > 80_000, "{}", packets.len());
    let logs: Vec<f64> = packets.iter().map(|x| x.ln()).collect();
    close(deviation(&logs), 1.318, 0.01);
    close(mean(&logs), 50_f64.ln() - 1.318_f64.powi(2) / 2.0, 0.01);
    close(mean(&packets), 50.0, 0.05);
}

/// count × size / (gap + completion time), and a transfer of 10 segments takes three round trips: its FIN waits
/// until the window has room.
#[test]
fn offered_load() {
    let mut source = session(10, S, Sizes::Equal);
    source.flow.rtt_ns = 100 * MS;
    let result = alone(100, 1_000 * S, source);
    let delivered: u64 = result.sessions.delivered_bytes.iter().sum();
    close(
        delivered as f64 / 1_000.0,
        100.0 * 14_480.0 / (1.0 + 0.3),
        0.01,
    );
    let ended = result.sessions.transfers.iter().sum::<u64>();
    assert!(
        delivered / 14_480 - ended < 100,
        "of the others the FIN is on its way"
    );
}

/// All that leaves first is lost. A packet of the last data that is no full one takes the FIN along when it is
/// sent again (`tcp_retrans_try_collapse`); else the FIN is one packet more.
#[test]
fn a_short_segment_takes_the_fin_along() {
    let packets = |bytes| {
        let mut source = session(2, 10 * MS, Sizes::Equal);
        (source.flow.size_bytes, source.flow.rtt_ns) = (Some(bytes), 20 * MS);
        let mut scenario = dumbbell(Profile::Linux6, 10_000_000, 100, vec![]);
        (scenario.duration_ns, scenario.jitter_ns) = (332 * MS, 0);
        scenario.sample_interval_ns = MS;
        scenario.bottleneck.loss_at = [(15 * MS, 1_000_000_000), (100 * MS, 0)]
            .map(|(time_ns, p_ppb)| LossStep { time_ns, p_ppb })
            .to_vec();
        scenario.sessions = vec![source];
        simulate(&scenario).queues.enqueued_packets.last().copied()
    };
    // The SYN, two packets of data, the FIN, and the answer to that of the receiver.
    assert_eq!((packets(2_000), packets(2_896)), (Some(4), Some(5)));
}

/// Each connection has a round-trip time of its own: rtt + Exp(mean).
#[test]
fn exponential_round_trip_times() {
    let mut source = session(1, S / 10, Sizes::Equal);
    source.flow.rtt_ns = 10 * MS;
    source.flow.rtt_exponential_ns = 90 * MS;
    let result = alone(100, 300 * S, source);
    let transfers = &result.transfers;
    let rtts_ms: Vec<f64> = (0..transfers.len())
        .filter(|&row| transfers.completed_us[row] > 0)
        .map(|row| (transfers.completed_us[row] - transfers.start_us[row]) as f64 / 2e3)
        .collect();
    assert!(rtts_ms.len() > 80_000, "{}", rtts_ms.len());
    close(mean(&rtts_ms), 100.0, 0.02);
    close(deviation(&rtts_ms), 90.0, 0.02);
    assert!(rtts_ms.iter().all(|&rtt| rtt >= 10.0));
}

/// A session without a size is one connection without end: 64 KiB a round trip.
#[test]
fn an_endless_session_is_held_by_its_window() {
    let bulk = Session {
        flow: Flow {
            receive_window_bytes: Some(65_536),
            ..flow("reno", 100 * MS)
        },
        gap_ns: 0,
        sizes: Sizes::Equal,
        route_ssthresh: false,
    };
    let result = alone(3, 100 * S, bulk);
    assert!(result.transfers.is_empty());
    for &delivered in &result.sessions.delivered_bytes {
        close(delivered as f64 / 100.0, 45.0 * 1448.0 / 0.1, 0.02);
    }
}

/// Sessions leave no rows but their own, and more of them draw other numbers.
#[test]
fn sessions_are_background() {
    let mut scenario = dumbbell(
        Profile::Linux6,
        20_000_000,
        100,
        vec![flow("cubic", 50 * MS)],
    );
    scenario.sessions = vec![session(6, S / 5, Sizes::Pareto(1_200)); 2];
    let result = simulate(&scenario);
    assert!(result.samples.flow.iter().all(|&flow| flow == 1));
    assert!(result.events.flow.iter().all(|&flow| flow == 1));
    assert_eq!(result.flows.len(), 1);
    let first_size = |session| {
        let row = (0..result.transfers.len()).find(|&r| result.transfers.session[r] == session);
        result.transfers.size_bytes[row.unwrap()]
    };
    assert_ne!(first_size(1), first_size(2));
}

/// Standard TCP of Linux 2.6 on a link that never limits, ACK by ACK: how many round trips a
/// transfer takes after the handshake, and the window at its end.
fn round_trips(packets: u64, ssthresh: u32) -> (u32, u32) {
    let (mut cwnd, mut credit, mut sent, mut acked) = (3, 0, 3, 0);
    let mut in_flight = std::collections::VecDeque::from([1, 1, 1]);
    let mut now = 0;
    while let Some(round) = in_flight.pop_front() {
        now = round;
        let limited = sent - acked >= u64::from(cwnd);
        acked += 1;
        if !limited {
        } else if cwnd <= ssthresh {
            cwnd += 1;
        } else if credit < cwnd {
            credit += 1;
        } else {
            (cwnd, credit) = (cwnd + 1, 0);
        }
        while sent < packets && sent - acked < u64::from(cwnd) {
            sent += 1;
            in_flight.push_back(now + 1);
        }
    }
    (now, cwnd)
}

/// Each transfer ends in congestion avoidance, so the route keeps half of its window, if that is
/// more than its ssthresh: 8, 15, 16, 17, 17 packets. The transfers get shorter.
#[test]
fn a_session_starts_with_the_ssthresh_that_the_route_kept() {
    let transfers = |route_ssthresh| -> Vec<u32> {
        let mut scenario = dumbbell(Profile::Linux2_6_18, 100_000_000_000, 1_000_000, vec![]);
        (scenario.duration_ns, scenario.delayed_ack_segments) = (60 * S, 1);
        let mut session = session(500, 0, Sizes::Equal);
        session.flow.rtt_ns = 100 * MS;
        session.flow.initial_ssthresh_packets = Some(8);
        session.route_ssthresh = route_ssthresh;
        scenario.sessions = vec![session];
        let transfers = simulate(&scenario).transfers;
        (0..6)
            .map(|row| {
                let taken_us = transfers.completed_us[row] - transfers.start_us[row];
                (taken_us as f64 / 100_000.0).round() as u32
            })
            .collect()
    };
    let mut kept = 8;
    let mut expected = Vec::new();
    for _ in 0..6 {
        let (round_trips, cwnd) = round_trips(500, kept);
        expected.push(1 + round_trips);
        kept = kept.max(cwnd / 2);
    }
    assert_eq!(transfers(true), expected);
    assert!(expected[1] < expected[0], "{expected:?}");
    assert_eq!(transfers(false), [expected[0]; 6]);
}

/// The first transfer leaves slow start with a loss; later ones leave it at half of its window. Without
/// the route each is as the first.
#[test]
fn a_route_of_linux_6_keeps_an_ssthresh() {
    let transfers = |route_ssthresh| -> Vec<u64> {
        let mut scenario = dumbbell(Profile::Linux6, 40_000_000, 60, vec![]);
        scenario.duration_ns = 10 * S;
        let mut session = session(1400, 300, Sizes::Equal);
        session.flow.rtt_ns = 60 * MS;
        session.route_ssthresh = route_ssthresh;
        scenario.sessions = vec![session];
        let transfers = simulate(&scenario).transfers;
        (0..3)
            .map(|row| (transfers.completed_us[row] - transfers.start_us[row]) / 10_000)
            .collect()
    };
    let [forgotten, kept] = [false, true].map(transfers);
    assert_eq!(forgotten, [forgotten[0]; 3]);
    assert_eq!(kept[0], forgotten[0]);
    assert!(kept[1] > kept[0] + 20 && kept[2] >= kept[1], "{kept:?}");
}
