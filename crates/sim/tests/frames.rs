//! Applications that write now and then.

use crate::common;

use ackclock_sim::scenario::{Frames, Profile, Scenario, Write};
use common::{dumbbell, flow, simulate, MS, S};

fn frames(size_bytes: u64, every_ns: u64) -> Scenario {
    let mut scenario = dumbbell(
        Profile::Linux6,
        100_000_000,
        300,
        vec![flow("reno", 20 * MS)],
    );
    scenario.flows[0].frames = Some(Frames {
        size_bytes,
        every_ns,
    });
    scenario.sample_interval_ns = MS;
    scenario
}

/// A packet each 20 ms from the handshake on (20 ms), each ACKed an RTT later at the latest with the
/// delay of its ACK; none is sent twice.
#[test]
fn each_frame_is_sent_when_it_is_written() {
    let result = simulate(&frames(1448, 20 * MS));
    assert_eq!(result.flows.sent_packets[0], 10_000 / 20 - 1);
    assert_eq!(result.flows.retransmitted_packets[0], 0);
    let samples = &result.samples;
    for (row, &at_us) in samples.time_us.iter().enumerate() {
        let written = (at_us.saturating_sub(20_000) / 20_000 + 1).min(at_us / 20_000);
        let delivered = samples.delivered_bytes[row] / 1448;
        assert!(
            delivered <= written && delivered + 4 >= written,
            "{at_us}: {delivered} {written}"
        );
    }
}

/// A part of a segment counts as a whole one.
#[test]
fn a_frame_has_whole_segments() {
    let bytes = |size| simulate(&frames(size, 100 * MS)).flows.delivered_bytes[0];
    assert_eq!(bytes(4000), bytes(3 * 1448));
    assert_eq!(bytes(4000), 3 * 1448 * 100);
}

/// More than the link carries: the flow is like one that always has data.
#[test]
fn too_many_frames_fill_the_link() {
    let packets = |scenario| simulate(&scenario).flows.delivered_bytes[0];
    let mut endless = frames(1, S);
    endless.flows[0].frames = None;
    let (paced, endless) = (packets(frames(1_448_000, 50 * MS)), packets(endless));
    let ratio = paced as f64 / endless as f64;
    assert!((0.98..1.02).contains(&ratio), "{paced} {endless}");
}

#[test]
fn it_stops() {
    let mut scenario = frames(14_480, 100 * MS);
    scenario.flows[0].stop_ns = Some(5 * S);
    let result = simulate(&scenario);
    assert_eq!(result.flows.delivered_bytes[0], 14_480 * 50);
    let completed_us = result.flows.completed_us[0];
    assert!(
        (5_000_000..5_100_000).contains(&completed_us),
        "{completed_us}"
    );
}

/// RFC 5681, 4.1: whoever was silent for long begins with the initial window again. 1 MB
/// on a path without losses: cwnd has doubled from 10.
#[test]
fn a_pause_ends_with_the_initial_window() {
    let mut scenario = frames(1, S);
    scenario.flows[0].frames = None;
    let first = Write {
        size_bytes: Some(1_000_000),
        ..Write::default()
    };
    let second = Write {
        at_ns: 5 * S,
        size_bytes: Some(14_480),
        ..first
    };
    scenario.flows[0].writes = vec![first, second];
    let result = simulate(&scenario);
    let samples = &result.samples;
    let at = |us: u64| samples.time_us.iter().position(|&at| at == us).unwrap();
    let cwnd = |us| samples.cwnd_packets[at(us)];
    let before = cwnd(5_000_000);
    assert!(before > 100, "{before}");
    assert_eq!(cwnd(5_025_000), 10);
    assert_eq!(samples.delivered_bytes[at(9_000_000)], 691 * 1448 + 14_480);
}

/// The flow completes an RTT after the last packet of the last write: 10 packets of 0.12 ms leave 1 s
/// after the handshake. With a last write that goes on it never does.
#[test]
fn it_completes_when_the_last_write_is_acknowledged() {
    let first = Write {
        size_bytes: Some(14_480),
        ..Write::default()
    };
    let last = Write { at_ns: S, ..first };
    let completed_us = |last: Write| {
        let mut scenario = frames(1, S);
        scenario.flows[0].frames = None;
        scenario.flows[0].writes = vec![first, last];
        simulate(&scenario).flows.completed_us[0]
    };
    let at_us = completed_us(last);
    assert!((1_041_200..1_041_300).contains(&at_us), "{at_us}");
    for goes_on in [
        Write {
            every_ns: Some(S),
            ..last
        },
        Write {
            pause_ns: Some(S),
            ..last
        },
        Write {
            size_bytes: None,
            ..last
        },
    ] {
        assert_eq!(completed_us(goes_on), 0);
    }
}

/// So many packets leave in the first RTT after the handshake.
#[test]
fn a_route_has_an_initial_window() {
    for initcwnd in [1, 4, 40] {
        let mut scenario = frames(1, S);
        scenario.flows[0].frames = None;
        scenario.flows[0].initcwnd = Some(initcwnd);
        scenario.duration_ns = 39 * MS;
        let sent = simulate(&scenario).flows.sent_packets[0];
        assert_eq!(sent, u64::from(initcwnd));
    }
}

/// A request is answered an RTT and a pause after the answer before it was acknowledged: 1 packet each
/// 20 + 480 ms, and no more than the delay of its ACK later.
#[test]
fn requests_are_answered_one_by_one() {
    let mut scenario = frames(1, S);
    scenario.flows[0].frames = None;
    scenario.flows[0].writes = vec![Write {
        size_bytes: Some(1448),
        pause_ns: Some(480 * MS),
        ..Write::default()
    }];
    let sent = simulate(&scenario).flows.sent_packets[0];
    assert!((18..=20).contains(&sent), "{sent}");
}
