//! Vegas, Veno, YeAH and Illinois: what they do follows from the queueing delay. RTTs in
//! microseconds; the measured ones of Vegas's kin count one more.

use crate::common;

use ackclock_host::Era;
use common::Flow;

const BASE: i32 = 100_000;

/// In congestion avoidance, the RTT of the empty path known.
fn flow(spec: &str, cwnd: u32) -> Flow {
    let mut flow = Flow::avoiding(spec, cwnd);
    flow.end_round(BASE);
    flow.tp().snd_cwnd = cwnd;
    flow.tp().snd_cwnd_cnt = 0;
    flow.tp().snd_ssthresh = 2;
    flow
}

#[test]
fn vegas_keeps_two_to_four_packets_queued() {
    // (RTT, growth), cwnd 100: diff = 100 (RTT - base) / base, rounded down.
    let vectors = [
        (100_000, 1),
        (101_990, 1), // 1.99
        (102_010, 0), // 2.00: not below alpha
        (104_990, 0), // 4.99 is 4: not above beta
        (105_010, -1),
        (200_000, -1),
    ];
    for (rtt, growth) in vectors {
        let mut flow = flow("vegas", 100);
        assert_eq!(flow.end_round(rtt), growth, "{rtt}");
        // ssthresh follows, so that this is no slow start.
        assert_eq!(flow.tp().snd_ssthresh, 75 - 2 * u32::from(growth < 0));
    }
    // By RTT, as the paper has it, 105.1 ms is 100 * 5.1 / 105.1 = 4.85.
    assert_eq!(flow("vegas@brakmo1995", 100).end_round(105_100), 0);
    assert_eq!(flow("vegas@brakmo1995", 100).end_round(105_300), -1);
    // Never below 2.
    assert_eq!(flow("vegas", 2).end_round(1_000_000), 0);
}

#[test]
fn vegas_shrinks_in_either_era() {
    for era in [Era::Linux6, Era::Linux2_6] {
        let mut flow = Flow::avoiding_in(era, "vegas", 100);
        flow.rtt(BASE);
        for _ in 0..20 {
            flow.round(110_000, 2);
        }
        // 10 % of delay are 4 packets at 40; 20 RTTs take 20 of the 100.
        assert!((79..=82).contains(&flow.cwnd()), "{era:?}: {}", flow.cwnd());
    }
}

#[test]
fn vegas_leaves_slow_start_for_what_the_path_holds() {
    // (RTT, cwnd, ssthresh) after a round at 100 packets.
    let vectors = [
        (100_500, 101, 0x7fff_ffff), // diff 0: slow start goes on
        (101_990, 101, 0x7fff_ffff), // diff 1 = gamma: still
        (102_500, 98, 98),           // target = 100 * 100.001 / 102.501 = 97
        (200_000, 51, 51),           // 50 + 1
    ];
    for (rtt, cwnd, ssthresh) in vectors {
        let mut flow = flow("vegas", 100);
        flow.tp().snd_ssthresh = 0x7fff_ffff;
        flow.end_round(rtt);
        assert_eq!(
            (flow.cwnd(), flow.tp().snd_ssthresh),
            (cwnd, ssthresh),
            "{rtt}"
        );
    }
    // Linux doubles in every RTT, the paper in every other.
    for (spec, windows) in [
        ("vegas", [20, 40, 80, 160]),
        ("vegas@brakmo1995", [10, 20, 20, 40]),
    ] {
        let mut flow = flow(spec, 10);
        flow.tp().snd_ssthresh = 0x7fff_ffff;
        for expected in windows {
            flow.round(BASE, 1);
            let cwnd = flow.cwnd() as i32;
            assert!(
                (cwnd - expected).abs() <= 3,
                "{spec}: {cwnd}, not {expected}"
            );
        }
    }
}

#[test]
fn vegas_is_reno_with_few_samples_and_after_a_loss() {
    assert_eq!(flow("vegas", 100).loss_at(100), 50);
    // Outside Open ACKs count as Reno's.
    let mut flow = flow("vegas", 100);
    flow.cc.set_state(ackclock_host::CaState::Disorder);
    for _ in 0..100 {
        flow.cc.cong_avoid(0, 1);
    }
    assert_eq!(flow.cwnd(), 101);
    // A timeout keeps the base, a pause does not: 150 ms are then the empty path.
    for (event, growth) in [
        (None, -1),
        (Some(ackclock_host::CaEvent::CwndRestart), 1),
        (Some(ackclock_host::CaEvent::TxStart), 1),
    ] {
        flow.timeout();
        if let Some(event) = event {
            flow.cc.cwnd_event(event);
        }
        flow.tp().snd_cwnd = 100;
        flow.tp().snd_ssthresh = 2;
        assert_eq!(flow.end_round(150_000), growth);
    }
}

#[test]
fn veno_tells_the_airs_losses_from_congestion() {
    // (RTT, ssthresh): N = 100 (1 - base / RTT) in half packets, rounded
    // up, beta = 3.
    for (rtt, ssthresh, growth) in [
        (100_000, 80, 10),
        (102_000, 80, 10), // 1.96 is 4 half packets
        (102_700, 50, 5),  // 2.6 is 6 of them: half the growth, all of the halving
        (150_000, 50, 5),
    ] {
        let mut flow = flow("veno", 100);
        let grown: i32 = (0..10).map(|_| flow.round(rtt, 1)).sum();
        assert!((grown - growth).abs() <= 1, "{rtt}: {grown}");
        let mut flow = self::flow("veno", 100);
        (0..5).for_each(|_| flow.ack(rtt, 1));
        assert_eq!(flow.loss_at(100), ssthresh, "{rtt}");
    }
    assert_eq!(flow("veno", 100).loss_at(2), 2);
    // After a pause the queue may be another's path: base anew.
    let mut flow = flow("veno", 100);
    flow.cc.cwnd_event(ackclock_host::CaEvent::TxStart);
    (0..5).for_each(|_| flow.ack(150_000, 1));
    assert_eq!(flow.loss_at(100), 80);
}

#[test]
fn yeah_gives_up_its_queue() {
    // (cwnd, RTT, cwnd after the round, ssthresh at a loss of 1000 then)
    let vectors = [
        (1000, 100_000, 1000, 875), // no queue: a loss costs 1/8
        (1000, 105_000, 1000, 875), // Q = 47
        (1000, 108_600, 1000, 875), // Q = 79
        (1000, 110_000, 910, 875),  // Q = 90 > 80: given up
        (1000, 112_000, 893, 875),  // Q = 107
        (1000, 120_000, 834, 834),  // Q = 166 is more than 1/8
        (1000, 400_000, 500, 500),  // Q = 749: half at most
        (100, 120_000, 100, 875),   // Q = 16, delay 20 % > 1/8: slow mode, nothing given up
    ];
    for (cwnd, rtt, after, ssthresh) in vectors {
        let mut flow = flow("yeah", cwnd);
        flow.end_round(rtt);
        assert_eq!(
            (flow.cwnd(), flow.loss_at(1000)),
            (after, ssthresh),
            "{cwnd} {rtt}"
        );
    }
}

#[test]
fn yeah_grows_fast_without_a_queue() {
    for (cwnd, rtt, growth) in [
        (1000, 100_000, 10), // as Scalable TCP
        (50, 100_000, 1),
        (500, 115_000, 1), // Q = 65, but 15 % more delay: as Reno
    ] {
        let mut flow = flow("yeah", cwnd);
        flow.end_round(rtt);
        let grown = flow.round(rtt, 1);
        assert!((grown - growth).abs() <= 1, "{cwnd} {rtt}: {grown}");
    }
}

#[test]
fn yeah_beside_reno_is_reno() {
    // 16 RTTs of slow mode mean that others fill the queue: a loss costs half.
    for (rounds, ssthresh) in [(15, 875), (16, 500)] {
        let mut flow = flow("yeah", 100);
        for _ in 0..rounds {
            flow.tp().snd_cwnd = 100;
            flow.end_round(120_000);
        }
        assert_eq!(flow.loss_at(1000), ssthresh, "{rounds}");
    }
    // It never gives up more than down to reno_count: half of the window when slow
    // mode began (910 / 2 = 455), and 1 per RTT since.
    let mut flow = flow("yeah", 1000);
    flow.end_round(110_000);
    assert_eq!(flow.cwnd(), 910);
    flow.end_round(400_000);
    assert_eq!(flow.cwnd(), 455);
    flow.end_round(400_000);
    assert_eq!(flow.cwnd(), 455); // reno_count is 456
}

/// `struct illinois`: alpha << 7 and beta << 6.
const ALPHA: usize = 6;
const BETA: usize = 7;

/// A path of 100 ms whose queue has been up to 100 ms long, which does not count while
/// the window is small.
fn illinois(spec: &str, cwnd: u32) -> Flow {
    let mut flow = flow(spec, 10);
    flow.rtt(2 * BASE);
    flow.end_round(BASE);
    flow.tp().snd_cwnd = cwnd;
    flow.tp().snd_cwnd_cnt = 0;
    flow
}

#[test]
fn illinois_follows_its_curves() {
    // (queueing delay, alpha << 7, beta << 6), d_m = 100 ms
    let vectors = [
        (0, 1280, 8), // 10 and 1/8
        (1000, 1280, 8),
        (1001, 1279, 8),   // above d_1: 99000 * 1280 / (99000 + 1 * 1242 / 38)
        (10_000, 322, 8),  // 99000 * 1280 / (99000 + 9000 * 1242 / 38 = 294157)
        (45_000, 82, 20),  // 44000: 1438105; half way from 1/8 to 1/2
        (50_000, 74, 21),  // 49000: 1601526; (8 * 30 + 32 * 40) / 70 = 21.7
        (80_000, 47, 32),  // 79000: 2582052
        (100_000, 38, 32), // 0.3 and 1/2
    ];
    for (delay, alpha, beta) in vectors {
        let mut flow = illinois("illinois", 100);
        flow.end_round(BASE + delay);
        assert_eq!(
            (flow.state(ALPHA), flow.state(BETA)),
            (alpha, beta),
            "{delay}"
        );
        let cost = 1000 * beta / 64;
        assert_eq!(flow.loss_at(1000), 1000 - cost, "{delay}");
    }
    // Below 15 packets standard TCP.
    let mut flow = illinois("illinois", 14);
    flow.end_round(BASE);
    assert_eq!((flow.state(ALPHA), flow.state(BETA)), (128, 32));
}

#[test]
fn illinois_returns_to_its_greatest_growth_after_five_rtts() {
    let mut flow = illinois("illinois", 100);
    flow.end_round(BASE + 50_000);
    let alphas: Vec<_> = (0..6)
        .map(|_| {
            flow.end_round(BASE);
            flow.state(ALPHA)
        })
        .collect();
    assert_eq!(alphas, [74, 74, 74, 74, 1280, 1280]);
}

#[test]
fn illinois_grows_by_alpha_per_rtt() {
    // (delay, packets per ACK, growth in 10 RTTs from 1000 packets)
    for (delay, acked, growth) in [
        (0, 1, 100.0),
        (0, 2, 100.0),
        (50_000, 2, 5.8),
        (100_000, 2, 3.0),
    ] {
        let mut flow = illinois("illinois", 1000);
        flow.end_round(BASE + delay);
        let grown: i32 = (0..10).map(|_| flow.round(BASE + delay, acked)).sum();
        let error = f64::from(grown) - growth;
        assert!(
            error.abs() <= 1.0 + 0.01 * growth,
            "{delay}/{acked}: {grown}"
        );
    }
}

#[test]
fn illinois_begins_anew_after_a_timeout() {
    let mut flow = illinois("illinois", 100);
    flow.end_round(BASE + 50_000);
    flow.timeout();
    assert_eq!((flow.state(ALPHA), flow.state(BETA)), (128, 32));
}
