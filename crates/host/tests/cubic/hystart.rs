//! HyStart: when CUBIC leaves slow start before a loss.

use crate::common::Flow;

/// In slow start at this window, with the RTTs so far at `rtt_us`, in a round of its own.
fn in_slow_start(spec: &str, cwnd: u32, rtt_us: i32) -> Flow {
    let mut flow = Flow::with_hz(spec, 250);
    flow.rtt(rtt_us);
    flow.tp().snd_cwnd = cwnd;
    flow.tp().snd_nxt = 200_000;
    flow.tp().snd_una = 100_000; // bytes: past the end of the first round, at 0
    flow
}

fn left_slow_start(flow: &mut Flow) -> bool {
    flow.tp().snd_ssthresh == flow.tp().snd_cwnd
}

#[test]
fn hystart_leaves_when_delay_rises_by_an_eighth() {
    // After 8 samples of the round the least of them counts: (dMin, least that is too
    // much). The eighth is at least 4 ms and at most 16 ms.
    for (delay_min, too_much) in [(10_000, 14_001), (100_000, 112_501), (400_000, 416_001)] {
        for (rtt_us, leaves) in [(too_much - 1, false), (too_much, true)] {
            let mut flow = in_slow_start("cubic:hystart_detect=2", 100, delay_min);
            for _ in 0..8 {
                flow.rtt(rtt_us);
                assert!(!left_slow_start(&mut flow));
            }
            flow.rtt(rtt_us);
            assert_eq!(left_slow_start(&mut flow), leaves, "{delay_min}: {rtt_us}");
        }
    }
}

#[test]
fn hystart_starts_a_round_when_the_last_is_acked() {
    let mut flow = in_slow_start("cubic:hystart_detect=2", 100, 100_000);
    flow.rtt(100_000); // one low sample holds for its round
    for _ in 0..20 {
        flow.rtt(200_000);
    }
    assert!(!left_slow_start(&mut flow));
    flow.tp().snd_una = 200_000; // not past its end
    flow.rtt(200_000);
    assert!(!left_slow_start(&mut flow));
    flow.tp().snd_una = 200_001;
    flow.tp().snd_nxt = 300_000;
    for _ in 0..9 {
        flow.rtt(200_000);
    }
    assert!(left_slow_start(&mut flow));
}

#[test]
fn hystart_leaves_when_the_ack_train_is_half_an_rtt_long() {
    // (pacing, bytes/s, spacing of the ACKs in us, us after which it leaves)
    let vectors = [
        (0, u64::MAX, 1000, Some(51_000)), // more than 100 ms / 2
        (0, u64::MAX, 2000, Some(52_000)),
        (0, u64::MAX, 2001, None),              // no train
        (1, u64::MAX, 1000, Some(101_000)),     // paced: not halved
        (1, 1_000_000_000, 100, Some(100_300)), // + 4 * 65536 B / 1 GB/s = 262 us
        (1, 10_000_000, 100, Some(101_100)),    // + 1 ms at most
    ];
    for (pacing, rate, spacing_us, expected) in vectors {
        let mut flow = in_slow_start("cubic:hystart_detect=1", 100, 100_000);
        flow.tp().inet_conn.sk.sk_pacing_status = pacing;
        flow.tp().inet_conn.sk.sk_pacing_rate = rate;
        flow.rtt(100_000); // the round begins
        flow.tp().snd_una = 150_000;
        let left = (1..2000).map(|ack| ack * spacing_us).find(|us| {
            flow.at(*us);
            flow.rtt(100_000);
            left_slow_start(&mut flow)
        });
        assert_eq!(left, expected, "{pacing} {rate} {spacing_us}");
    }
}

#[test]
fn hystart_of_linux_2_6_takes_a_sixteenth() {
    // (spec, HZ, dMin, least that is too much), us. In jiffies RTTs are rounded up: at HZ 1000
    // 10 ms may rise by 2, 100 ms by 6.25, 400 ms by 16; at HZ 250 100 ms is 25 jiffies, which may
    // rise by 2, so 27 is not too much and 27 ends at 108 ms. In ms at least 4, in eighths.
    let (released, backports) = ("cubic@linux-2.6.32", "cubic@linux-2.6.32-backports");
    for (spec, hz, delay_min, too_much) in [
        (released, 1000, 10_000, 12_001),
        (released, 1000, 100_000, 106_001),
        (released, 1000, 400_000, 416_001),
        (released, 250, 100_000, 108_001),
        (backports, 1000, 10_000, 14_125),
        (backports, 250, 10_000, 14_125),
        (backports, 1000, 100_000, 106_375),
        (backports, 1000, 400_000, 416_125),
    ] {
        for (rtt_us, leaves) in [(too_much - 1, false), (too_much, true)] {
            let mut flow = Flow::with_hz(&format!("{spec}:hystart_detect=2"), hz);
            flow.rtt(delay_min);
            next_round(&mut flow);
            flow.tp().snd_cwnd = 100;
            for _ in 0..8 {
                flow.rtt(rtt_us);
                assert!(!left_slow_start(&mut flow));
            }
            // Only the first 8 count: a smaller one now is too late.
            flow.rtt(delay_min);
            assert_eq!(
                left_slow_start(&mut flow),
                leaves,
                "{spec} HZ {hz}, {delay_min}: {rtt_us}"
            );
        }
    }
}

/// Ends HyStart's round, as Linux 2.6 does: with an ACK in slow start.
fn next_round(flow: &mut Flow) {
    flow.tp().snd_una += 200_000;
    flow.tp().snd_nxt = flow.tp().snd_una + 100_000;
    let una = flow.tp().snd_una;
    flow.cc.cong_avoid(una, 1);
}

#[test]
fn hystart_of_linux_2_6_ends_a_round_with_an_ack_in_slow_start() {
    for spec in ["cubic@linux-2.6.32", "cubic@linux-2.6.32-backports"] {
        let mut flow = in_slow_start(&format!("{spec}:hystart_detect=2"), 100, 100_000);
        next_round(&mut flow);
        flow.rtt(100_000); // one low sample holds for its round
        (0..20).for_each(|_| flow.rtt(200_000));
        assert!(!left_slow_start(&mut flow), "{spec}");
        flow.tp().snd_una += 200_000; // an RTT sample does not end it, as in Linux 6
        (0..20).for_each(|_| flow.rtt(200_000));
        assert!(!left_slow_start(&mut flow), "{spec}");
        next_round(&mut flow);
        (0..9).for_each(|_| flow.rtt(200_000));
        assert!(left_slow_start(&mut flow), "{spec}");
    }
}

#[test]
fn hystart_of_linux_2_6_leaves_when_the_train_is_half_an_rtt_long() {
    // (spec, HZ, spacing of the ACKs, us after which it leaves), dMin = 100 ms. In jiffies half of
    // dMin is enough, in ms it takes more. At HZ 250 a gap of 2 ms is a jiffy: the ACKs may be
    // 4 ms apart, and 50 ms are 12.5 jiffies, 12 of which are enough.
    let (released, backports) = ("cubic@linux-2.6.32", "cubic@linux-2.6.32-backports");
    for (spec, hz, spacing_us, expected) in [
        (released, 1000, 1000, Some(50_000)),
        (released, 1000, 2000, Some(50_000)),
        (released, 1000, 3000, None),
        (released, 250, 4000, Some(48_000)),
        (released, 250, 8000, None),
        (backports, 1000, 1000, Some(51_000)),
        (backports, 250, 4000, None),
    ] {
        let mut flow = Flow::with_hz(&format!("{spec}:hystart_detect=1"), hz);
        flow.rtt(100_000);
        next_round(&mut flow);
        flow.tp().snd_cwnd = 100;
        let left = (1..200).map(|ack| ack * spacing_us).find(|us| {
            flow.at(*us);
            flow.rtt(100_000);
            left_slow_start(&mut flow)
        });
        assert_eq!(left, expected, "{spec} HZ {hz}, {spacing_us}");
    }
}

#[test]
fn hystart_waits_for_its_window_and_can_be_off() {
    let left = |spec, cwnd| {
        let mut flow = in_slow_start(spec, cwnd, 100_000);
        (0..20).for_each(|_| flow.rtt(200_000));
        left_slow_start(&mut flow)
    };
    assert!(left("cubic", 16));
    assert!(!left("cubic", 15));
    assert!(left("cubic:hystart_low_window=10", 15));
    assert!(!left("cubic:hystart=0", 100));
    assert!(!left("cubic@ha2008", 100));
}

#[test]
fn hystart_acts_once_until_a_timeout() {
    let mut flow = in_slow_start("cubic", 100, 100_000);
    let rises = |flow: &mut Flow| {
        flow.tp().snd_ssthresh = 1000;
        flow.tp().snd_una += 200_000;
        flow.tp().snd_nxt += 200_000;
        (0..20).for_each(|_| flow.rtt(200_000));
        left_slow_start(flow)
    };
    assert!(rises(&mut flow));
    assert!(!rises(&mut flow));
    flow.timeout();
    flow.tp().snd_cwnd = 100;
    flow.rtt(100_000);
    assert!(rises(&mut flow));
}

/// In its first slow start, with HyStart++.
fn plus_plus() -> Flow {
    let mut flow = Flow::with_hz("cubic@rfc9406", 250);
    flow.tp().snd_cwnd = 100;
    flow
}

/// A round of so many ACKs of 2 packets each, with this RTT; how much the window grows.
fn round_of(flow: &mut Flow, acks: u32, rtt_us: i32) -> u32 {
    let before = flow.cwnd();
    flow.tp().snd_una = flow.tp().snd_nxt + 1;
    flow.tp().snd_nxt += 100_000;
    for _ in 0..acks {
        flow.rtt(rtt_us);
        flow.cc.cong_avoid(0, 2);
    }
    flow.cwnd() - before
}

#[test]
fn hystart_plus_plus_is_conservative_when_the_delay_of_a_round_rises_by_an_eighth() {
    // Above the round before, not above the least RTT of all; at least 4 ms and at most 16 ms.
    for (last, too_much) in [(10_000, 14_000), (100_000, 112_500), (400_000, 416_000)] {
        for (rtt_us, is_conservative) in [(too_much - 1, false), (too_much, true)] {
            let mut flow = plus_plus();
            for earlier in [last - 3_000, last] {
                assert_eq!(round_of(&mut flow, 8, earlier), 16);
            }
            // The 8th RTT of the round decides; it is worth half a packet.
            let grown = if is_conservative { 14 } else { 16 };
            assert_eq!(round_of(&mut flow, 8, rtt_us), grown, "{last}: {rtt_us}");
            assert!(!left_slow_start(&mut flow));
        }
    }
}

#[test]
fn hystart_plus_plus_takes_eight_rtts_of_a_round_and_of_the_one_before_any() {
    let mut flow = plus_plus();
    round_of(&mut flow, 1, 100_000);
    assert_eq!(round_of(&mut flow, 7, 200_000), 14);
    assert_eq!(round_of(&mut flow, 8, 300_000), 14);
}

#[test]
fn hystart_plus_plus_leaves_slow_start_after_five_conservative_rounds() {
    let mut flow = plus_plus();
    round_of(&mut flow, 20, 100_000);
    // The round in which they begin is the first: 7 ACKs of 2 packets, and 13 of half a packet.
    assert_eq!(round_of(&mut flow, 20, 120_000), 14 + 6);
    for rtt_us in [130_000, 140_000, 130_000, 120_000] {
        assert_eq!(round_of(&mut flow, 20, rtt_us), 10);
        assert!(flow.tp().snd_ssthresh == 0x7fff_ffff);
    }
    let cwnd = flow.cwnd();
    round_of(&mut flow, 1, 120_000);
    assert_eq!(flow.tp().snd_ssthresh, cwnd);
}

#[test]
fn hystart_plus_plus_resumes_slow_start_when_the_delay_falls() {
    let mut flow = plus_plus();
    for _ in 0..3 {
        round_of(&mut flow, 20, 100_000);
        assert_eq!(round_of(&mut flow, 20, 120_000), 14 + 6);
        for _ in 0..3 {
            assert_eq!(round_of(&mut flow, 20, 140_000), 10);
        }
        // 8 RTTs below the round in which they began, also just below.
        let grown = round_of(&mut flow, 20, 119_999);
        assert!(
            (29..=30).contains(&grown),
            "7 ACKs of half a packet: {grown}"
        );
        assert_eq!(round_of(&mut flow, 20, 119_999), 40);
        assert!(!left_slow_start(&mut flow));
    }
}

#[test]
fn hystart_plus_plus_is_for_the_first_slow_start() {
    let mut flow = plus_plus();
    round_of(&mut flow, 20, 100_000);
    round_of(&mut flow, 20, 120_000);
    flow.tp().snd_ssthresh = 1000;
    assert_eq!(round_of(&mut flow, 20, 140_000), 40);
    assert_eq!(round_of(&mut flow, 20, 180_000), 40);
    assert_eq!(flow.tp().snd_ssthresh, 1000);
}

#[test]
fn hystart_plus_plus_grows_by_eight_packets_per_ack_unless_it_paces() {
    for (pacing, acked, growth) in [(0, 8, 8), (0, 9, 8), (0, 64, 8), (1, 64, 64)] {
        let mut flow = plus_plus();
        flow.tp().inet_conn.sk.sk_pacing_status = pacing;
        flow.cc.cong_avoid(0, acked);
        assert_eq!(flow.cwnd(), 100 + growth, "{pacing} {acked}");
    }
    // In conservative rounds a quarter of 8.
    let mut flow = plus_plus();
    round_of(&mut flow, 20, 100_000);
    round_of(&mut flow, 20, 120_000);
    let cwnd = flow.cwnd();
    flow.cc.cong_avoid(0, 64);
    assert_eq!(flow.cwnd(), cwnd + 2);
}
