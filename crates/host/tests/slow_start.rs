//! The slow starts of `slow_start.h`, by the numbers of their documents, worked out by hand. RTT 100 ms.

use ackclock_host::{AckSample, Algorithm, CongestionControl, HostConfig};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/slow_start.c");
const MSS: u64 = 1448;

fn start(preset: &str) -> CongestionControl {
    let configured = Algorithm::configure(&format!("{FILE}@{preset}")).unwrap();
    let mut flow = CongestionControl::new(&configured, HostConfig::default());
    flow.tp_mut().is_cwnd_limited = 1;
    flow.init();
    flow
}

/// An ACK of one packet at a time, with an RTT.
fn ack(flow: &mut CongestionControl, now_us: u64, packets: u64, rtt_us: i32) {
    let tp = flow.tp_mut();
    tp.tcp_mstamp = now_us;
    tp.bytes_acked += packets * MSS;
    tp.snd_una = tp.snd_una.wrapping_add((packets * MSS) as u32);
    flow.pkts_acked(&AckSample {
        pkts_acked: packets as u32,
        rtt_us,
        in_flight: 0,
    });
    flow.cong_avoid(0, packets as u32);
}

/// RFC 3742, 2: above max_ssthresh of 100 a window of W grows by W / int(W / 50), at most 50 in an RTT.
#[test]
fn limited_slow_start_adds_50_in_a_round() {
    let mut flow = start("limited");
    let mut round = |cwnd: u32| {
        flow.tp_mut().snd_cwnd = cwnd;
        (0..cwnd).for_each(|_| ack(&mut flow, 0, 1, 100_000));
        flow.tp().snd_cwnd
    };
    assert_eq!(round(50), 100);
    assert_eq!(round(200), 250);
    assert_eq!(round(1000), 1050);
    // int(140 / 50) is 2 until 150, which 20 ACKs reach; then 3: 120 more ACKs are 40 packets.
    assert_eq!(round(140), 190);
}

/// A flow whose first round begins with the next ACK.
fn begun(rtt_us: i32) -> CongestionControl {
    let mut flow = start("hystart_pp");
    flow.tp_mut().snd_nxt = 9 * MSS as u32;
    ack(&mut flow, 0, 1, rtt_us);
    flow
}

/// One round of HyStart++: eight ACKs with these RTTs, the last of which ends it.
fn round(flow: &mut CongestionControl, rtts_us: [i32; 8]) -> u32 {
    let before = flow.tp().snd_cwnd;
    let tp = flow.tp_mut();
    tp.snd_nxt = tp.snd_una.wrapping_add(16 * MSS as u32);
    for rtt_us in rtts_us {
        ack(flow, 0, 1, rtt_us);
    }
    flow.tp().snd_cwnd - before
}

/// RFC 9406, 4.2: the eighth sample of a round tells; the threshold is an eighth of the RTT, from 4 to
/// 16 ms. 4.3: then a quarter of the growth, for 5 rounds; below the baseline slow start goes on.
#[test]
fn hystart_pp_follows_its_rfc() {
    for (last_us, enters_us) in [(100_000, 112_500), (20_000, 24_000), (200_000, 216_000)] {
        let mut flow = begun(last_us);
        assert_eq!(round(&mut flow, [last_us; 8]), 8);
        assert_eq!(round(&mut flow, [enters_us - 1; 8]), 8, "{last_us}");

        let mut flow = begun(last_us);
        assert_eq!(round(&mut flow, [last_us; 8]), 8);
        // Seven packets, and a quarter of the eighth.
        assert_eq!(round(&mut flow, [enters_us; 8]), 7);
        for _ in 0..3 {
            assert_eq!(round(&mut flow, [enters_us; 8]), 2);
        }
        let mut resumes = [enters_us; 8];
        resumes[7] = enters_us - 1;
        assert_eq!(flow.tp().snd_ssthresh, 0x7fff_ffff);
        // The round in which it began counts: this is the fifth.
        round(&mut flow, [enters_us; 8]);
        assert_eq!(flow.tp().snd_ssthresh, flow.tp().snd_cwnd);

        let mut flow = begun(last_us);
        round(&mut flow, [last_us; 8]);
        round(&mut flow, [enters_us; 8]);
        round(&mut flow, resumes);
        assert_eq!(round(&mut flow, [enters_us - 1; 8]), 8, "slow start again");
    }
}

/// Windows of 3.5 RTTs in 10 bins of 35 ms, one an RTT after the other. Where the rate of ACKs stays, the later
/// one has half of what doubling would bring, 50 % less than expected: it ends at the first look, with
/// the 13th bin (10 bins, and 2 whole and a part of one in an RTT). Where it doubles, it goes on.
#[test]
fn search_ends_where_the_rate_stays() {
    let mut flow = start("search");
    let ends = (0..).find(|each| {
        ack(&mut flow, 5_000 * each, 1, 100_000);
        flow.tp().snd_ssthresh < 0x7fff_ffff
    });
    assert_eq!(ends, Some(13 * 35 / 5));
    let mut flow = start("search");
    for each in 0..200 {
        // Doubles in 100 ms, which are 20 ACKs.
        let packets = (10.0 * 2_f64.powf(each as f64 / 20.0)) as u64;
        ack(&mut flow, 5_000 * each, packets, 100_000);
    }
    assert_eq!(flow.tp().snd_ssthresh, 0x7fff_ffff);
}
