//! The helpers that the kernel gives its algorithms, in either era.

use crate::common;

use ackclock_host::{Era, HostConfig};
use common::Flow;

fn reno(era: Era) -> Flow {
    Flow::new(
        "reno",
        HostConfig {
            era,
            ..HostConfig::default()
        },
    )
}

/// cwnd and credit after `acks` calls of cong_avoid for `acked` packets.
fn after(mut flow: Flow, acks: u32, acked: u32) -> (u32, u32) {
    (0..acks).for_each(|_| flow.cc.cong_avoid(0, acked));
    (flow.tp().snd_cwnd, flow.tp().snd_cwnd_cnt)
}

#[test]
fn congestion_avoidance_counts_packets_or_acks() {
    // (ACKs, packets in each, cwnd and credit in Linux 6, in Linux 2.6), from cwnd 10.
    let vectors = [
        (9, 1, (10, 9), (10, 9)),
        (10, 1, (11, 0), (10, 10)),
        (11, 1, (11, 1), (11, 0)), // 2.6 needs an ACK more, and loses it
        (5, 2, (11, 0), (10, 5)),
        (1, 35, (13, 5), (10, 1)), // carried over; 2.6 does not count
    ];
    for (acks, acked, linux_6, linux_2_6) in vectors {
        for (era, expected) in [(Era::Linux6, linux_6), (Era::Linux2_6, linux_2_6)] {
            let mut flow = reno(era);
            flow.tp().snd_ssthresh = 5;
            assert_eq!(
                after(flow, acks, acked),
                expected,
                "{era:?}: {acks} ACKs of {acked}"
            );
        }
    }
}

#[test]
fn credit_of_a_larger_window_buys_one_packet() {
    let mut flow = reno(Era::Linux6);
    flow.tp().snd_ssthresh = 5;
    flow.tp().snd_cwnd_cnt = 95;
    assert_eq!(after(flow, 1, 1), (11, 1));
}

#[test]
fn slow_start_ends_below_or_at_ssthresh() {
    // From cwnd 10 with ssthresh 12: 5 packets ACKed at once, or one by one.
    for (era, acks, acked, expected) in [
        (Era::Linux6, 1, 5, (12, 3)), // what is left over counts as credit
        (Era::Linux6, 5, 1, (12, 3)),
        (Era::Linux2_6, 5, 1, (13, 2)), // 12 <= ssthresh is slow start still
        (Era::Linux2_6, 1, 5, (11, 0)),
    ] {
        let mut flow = reno(era);
        flow.tp().snd_ssthresh = 12;
        assert_eq!(after(flow, acks, acked), expected, "{era:?}");
    }
}

#[test]
fn the_window_grows_only_if_it_limits() {
    // (era, in use at most in the last window, cwnd after 1 ACK in slow start at 10)
    for (era, max_packets_out, cwnd) in [
        (Era::Linux6, 5, 10),
        (Era::Linux6, 6, 11),
        (Era::Linux2_6, 6, 10),
    ] {
        let mut flow = reno(era);
        flow.tp().is_cwnd_limited = 0;
        flow.tp().max_packets_out = max_packets_out;
        assert_eq!(after(flow, 1, 1).0, cwnd, "{era:?} {max_packets_out}");
    }
}

#[test]
fn the_clamp_holds() {
    for era in [Era::Linux6, Era::Linux2_6] {
        for ssthresh in [5, 1000] {
            let mut flow = reno(era);
            flow.tp().snd_ssthresh = ssthresh;
            flow.tp().snd_cwnd_clamp = 11;
            assert_eq!(after(flow, 100, 1).0, 11);
        }
    }
}

#[test]
fn reno_halves_and_undoes() {
    let mut flow = reno(Era::Linux6);
    for (cwnd, ssthresh) in [(10, 5), (11, 5), (3, 2), (1, 2)] {
        assert_eq!(flow.loss_at(cwnd), ssthresh);
    }
    flow.loss_at(40);
    assert_eq!(flow.cc.undo_cwnd(), 40);
}

#[test]
fn random_numbers_depend_on_the_seed_alone() {
    // An algorithm whose ssthresh is random.
    let file = common::UserFile::new(
        "#include \"tcp_cc.h\"\n\
         CC_HOOK(u32, dice, struct sock *sk) { return cc_random(sk); }\n\
         CC_HOOK(void, stay, struct sock *sk, u32 ack, u32 acked) { }\n\
         CC_ALGORITHM(dice, \"throws dice\", .ssthresh = dice, .cong_avoid = stay);\n",
    );
    let throws = |random_seed| {
        let host = HostConfig {
            random_seed,
            ..HostConfig::default()
        };
        let mut flow = Flow::new(file.path.to_str().unwrap(), host);
        [0; 4].map(|_| flow.cc.ssthresh())
    };
    assert_eq!(throws(1), throws(1));
    assert_ne!(throws(1), throws(2));
    // xorshift64* from splitmix64(1), by an independent script.
    assert_eq!(throws(1), [1262921053, 3621908801, 1595206758, 992769274]);
}
