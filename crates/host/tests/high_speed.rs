//! BIC, HighSpeed TCP and Scalable TCP: growth and back-off follow from the window.

use crate::common;

use ackclock_host::Era;
use common::Flow;

/// `struct bictcp`: its first two members.
const CNT: usize = 0;
const LAST_MAX_CWND: usize = 1;

#[test]
fn bic_counts_as_its_law_says() {
    // (W_max, cwnd, cnt), the delayed ACKs not made up for.
    let vectors = [
        (1000, 10, 10),     // up to 14 packets standard TCP
        (1000, 14, 14),     //
        (1000, 15, 1),      // 15 / 16, but 1 at least
        (1000, 800, 50),    // 200 / 4 = 50 > 16: additive, 800 / 16
        (1000, 932, 58),    // 68 / 4 = 17 > 16: still
        (1000, 936, 58),    // 64 / 4 = 16: binary, 936 / 16
        (1000, 960, 96),    // 40 / 4 = 10
        (1000, 992, 496),   // 8 / 4 = 2
        (1000, 993, 4965),  // 7 / 4 = 1: smooth, 993 * 20 / 4
        (1000, 1000, 5000), // so up to W_max + 3
        (1000, 1003, 5015), //
        (1000, 1004, 753),  // max probing: 1004 * 3 / 4
        (1000, 1024, 128),  // 1024 * 3 / 24
        (1000, 1047, 66),   // 1047 * 3 / 47
        (1000, 1048, 65),   // additive: 1048 / 16
        (0, 100, 6),        // no loss yet: additive at once
        (0, 1000, 20),      // by 1/20 at least
    ];
    for (w_max, cwnd, cnt) in vectors {
        for (spec, expected) in [
            ("bic:delayed_ack=0", cnt),
            ("bic", if cwnd <= 14 { cnt } else { (cnt / 2).max(1) }), // 2 packets per ACK at first
        ] {
            let mut flow = Flow::avoiding(spec, cwnd);
            if w_max > 0 {
                flow.loss_at(w_max);
                flow.tp().snd_cwnd = cwnd;
                flow.tp().snd_ssthresh = 2;
            }
            flow.cc.cong_avoid(0, 1);
            assert_eq!(flow.state(CNT), expected, "{spec}: W_max {w_max}, {cwnd}");
        }
    }
}

#[test]
fn bic_grows_by_s_max_per_rtt_and_linux_by_twice_that() {
    // (spec, era, packets per ACK, growth per RTT in the additive part)
    let vectors = [
        ("bic:delayed_ack=0", Era::Linux6, 1, 16),
        ("bic:delayed_ack=0", Era::Linux6, 2, 16),
        ("bic", Era::Linux6, 2, 32), // made up for twice
        ("bic@linux-2.6.18", Era::Linux6, 2, 16),
        ("bic", Era::Linux2_6, 2, 16), // where ACKs are counted it is right
        ("bic@linux-2.6.18", Era::Linux2_6, 2, 16),
    ];
    for (spec, era, acked, growth) in vectors {
        let mut flow = Flow::avoiding_in(era, spec, 2000);
        flow.loss_at(10_000);
        for cwnd in [2000, 4000, 6000] {
            flow.tp().snd_cwnd = cwnd;
            flow.tp().snd_cwnd_cnt = 0;
            flow.tp().snd_ssthresh = 2;
            let grown = flow.round(100_000, acked);
            assert!(
                (grown - growth).abs() <= 1,
                "{spec} {era:?} {cwnd}: {grown}"
            );
        }
    }
}

#[test]
fn bic_climbs_to_w_max_and_leaves_it_in_mirror_image() {
    // ha2008, figure 1 (a): additive, binary search, max probing, additive.
    let mut flow = Flow::avoiding("bic:delayed_ack=0", 100);
    flow.loss_at(1000);
    let mut windows = vec![flow.cwnd() as i32];
    while *windows.last().unwrap() < 1200 {
        flow.round(100_000, 1);
        windows.push(flow.cwnd() as i32);
    }
    let growth: Vec<_> = windows
        .windows(2)
        .map(|pair| (pair[0], pair[1] - pair[0]))
        .collect();
    let of = |range: std::ops::Range<i32>| {
        let within = growth.iter().filter(move |(cwnd, _)| range.contains(cwnd));
        within.map(|&(_, grown)| grown).collect::<Vec<_>>()
    };
    assert!(of(800..930).iter().all(|grown| (15..=17).contains(grown)));
    assert!(
        of(936..1000).windows(2).all(|pair| pair[1] <= pair[0] + 1),
        "slows down"
    );
    assert!(of(996..1003).iter().all(|&grown| grown <= 1));
    assert!(
        of(1004..1048).windows(2).all(|pair| pair[1] >= pair[0] - 1),
        "speeds up"
    );
    assert!(of(1050..1180).iter().all(|grown| (15..=17).contains(grown)));
}

#[test]
fn bic_backs_off_and_forgets_at_a_timeout() {
    // (spec, W_max before, cwnd, ssthresh, W_max after)
    let vectors = [
        ("bic", 0, 1000, 799, 1000),   // 1000 * 819 / 1024
        ("bic", 1000, 800, 639, 719),  // fast convergence: 800 * 1843 / 2048
        ("bic", 800, 1000, 799, 1000), //
        ("bic:fast_convergence=0", 1000, 800, 639, 800),
        ("bic", 0, 14, 7, 14), // standard TCP up to 14
        ("bic", 0, 15, 11, 15),
        ("bic", 0, 2, 2, 2),
        ("bic@xu2004", 0, 1000, 875, 1000),
    ];
    for (spec, before, cwnd, ssthresh, after) in vectors {
        let mut flow = Flow::with_hz(spec, 250);
        if before > 0 {
            flow.loss_at(before);
        }
        assert_eq!(flow.loss_at(cwnd), ssthresh, "{spec} {before} {cwnd}");
        assert_eq!(flow.state(LAST_MAX_CWND), after, "{spec} {before} {cwnd}");
        flow.timeout();
        assert_eq!(flow.state(LAST_MAX_CWND), 0, "{spec} {before} {cwnd}");
    }
    assert_eq!(
        Flow::with_hz("bic@linux-2.6.18", 250).tp().snd_ssthresh,
        100
    );
}

/// RFC 3649, section 5.
fn highspeed_b(w: f64) -> f64 {
    0.5 - 0.4 * (w / 38.0).ln() / (83_000.0f64 / 38.0).ln()
}

fn highspeed_a(w: f64) -> f64 {
    let b = highspeed_b(w);
    w * w * 0.078 / w.powf(1.2) * 2.0 * b / (2.0 - b)
}

#[test]
fn highspeed_table_is_the_formula_of_the_rfc() {
    let mut flow = Flow::avoiding("highspeed@rfc3649", 2);
    let mut ends = Vec::new();
    let mut row = 0;
    for cwnd in 2..=100_000 {
        flow.tp().snd_cwnd = cwnd;
        flow.tp().snd_cwnd_cnt = 0;
        flow.cc.cong_avoid(0, 1);
        if flow.state(0) != row {
            ends.push(cwnd - 1);
            row = flow.state(0);
        }
    }
    ends.push(89_053);
    // The windows at which a(w) reaches 1, 2, 3 ... 72.
    assert_eq!((ends.len(), ends[0], ends[1]), (72, 38, 118));
    for (row, &end) in ends.iter().enumerate().skip(1) {
        let a = highspeed_a(end.into());
        assert!((a - (row + 1) as f64).abs() < 0.06, "{end}: {a}");
    }
    // What a loss costs, in 1/256 rounded down.
    for &end in &ends {
        let cost = f64::from(end - flow.loss_at(end)) / f64::from(end);
        let error = highspeed_b(end.into()) - cost;
        assert!(
            (-1e-9..1.0 / 256.0 + 1.0 / f64::from(end)).contains(&error),
            "{end}: {error}"
        );
    }
}

#[test]
fn highspeed_grows_by_a_per_rtt() {
    for cwnd in [10, 38, 100, 500, 1058, 5000, 10_661, 40_000, 83_000] {
        let a = highspeed_a(cwnd.into()).max(1.0);
        for (spec, acked, share) in [
            ("highspeed", 1, 1.0),
            ("highspeed", 2, 0.5), // Linux counts ACKs
            ("highspeed@rfc3649", 2, 1.0),
        ] {
            let grown = f64::from(Flow::avoiding(spec, cwnd).round(100_000, acked));
            // Between two rows Linux uses the upper.
            let (least, most) = (share * a * 0.99 - 1.0, share * (a + 1.0) * 1.01 + 1.0);
            assert!(
                (least..=most).contains(&grown),
                "{spec} {cwnd}/{acked}: {grown}, a = {a}"
            );
        }
    }
}

#[test]
fn highspeed_backs_off() {
    // (cwnd, ssthresh): 38 * 128 / 256; 1058 * 83 / 256 = 343; 10661 * 52 / 256 = 2165.
    for (cwnd, ssthresh) in [(2, 2), (3, 2), (38, 19), (1058, 715), (10_661, 8496)] {
        let mut flow = Flow::avoiding("highspeed", cwnd);
        flow.cc.cong_avoid(0, 1);
        assert_eq!(flow.loss_at(cwnd), ssthresh);
    }
    // Out of slow start Linux halves, the RFC does not.
    assert_eq!(Flow::with_hz("highspeed", 250).loss_at(10_661), 5331);
    assert_eq!(
        Flow::with_hz("highspeed@rfc3649", 250).loss_at(10_661),
        8496
    );
    // After a timeout the row is the small window's.
    let mut flow = Flow::avoiding("highspeed", 10_000);
    flow.cc.cong_avoid(0, 1);
    flow.timeout();
    flow.tp().snd_ssthresh = 1;
    flow.tp().snd_cwnd = 30;
    assert_eq!(flow.round(100_000, 1), 1);
    assert_eq!(flow.loss_at(30), 15);
}

#[test]
fn scalable_grows_in_proportion() {
    // (spec, era, cwnd, packets per ACK, growth in two RTTs)
    let vectors = [
        ("scalable", Era::Linux6, 50, 1, 2), // as standard TCP
        ("scalable", Era::Linux6, 1000, 1, 20),
        ("scalable", Era::Linux6, 1000, 2, 20),
        ("scalable", Era::Linux6, 10_000, 1, 201), // 100 + 101
        ("scalable", Era::Linux2_6, 1000, 1, 20),
        ("scalable", Era::Linux2_6, 1000, 2, 10),
        ("scalable@linux-2.6", Era::Linux2_6, 1000, 2, 20),
        ("scalable@kelly2003", Era::Linux6, 10, 1, 2), // legacy window
        ("scalable@kelly2003", Era::Linux6, 50, 1, 1), // slower than standard TCP
        ("scalable@kelly2003", Era::Linux6, 1000, 1, 20),
    ];
    for (spec, era, cwnd, acked, growth) in vectors {
        let mut flow = Flow::avoiding_in(era, spec, cwnd);
        let grown = flow.round(100_000, acked) + flow.round(100_000, acked);
        assert!(
            (grown - growth).abs() <= 1,
            "{spec} {era:?} {cwnd}/{acked}: {grown}"
        );
    }
}

#[test]
fn scalable_gives_up_an_eighth() {
    for (spec, cwnd, ssthresh) in [
        ("scalable", 1000, 875),
        ("scalable", 17, 15),
        ("scalable", 7, 7),
        ("scalable", 1, 2),
        ("scalable:b=0.5", 1000, 500),
        ("scalable@kelly2003", 16, 8),
        ("scalable@kelly2003", 17, 15),
    ] {
        assert_eq!(
            Flow::with_hz(spec, 250).loss_at(cwnd),
            ssthresh,
            "{spec} {cwnd}"
        );
    }
}
