//! What packets meet on a link beside its queue: copies, late packets, a policer, ticks, and delays
//! that change.

use ackclock_net::buffer::Buffer;
use ackclock_net::impair::{ReorderParameters, PARTS};
use ackclock_net::line::{DelayJitter, DelayStep, Distribution};
use ackclock_net::link::Bottleneck;
use ackclock_net::network::{Network, Transit};
use ackclock_net::queue::{Cause, Ecn, Ledger, Packet};
use ackclock_net::rate::PolicerParameters;

const MS: u64 = 1_000_000;

/// A packet is a number, and whether it is a copy.
type Body = (u32, bool);

#[derive(Default)]
struct Notes {
    dropped: Vec<(u32, Cause)>,
    copies: u64,
}

impl Ledger<Transit<Body>> for Notes {
    fn dropped(&mut self, packet: Packet<Transit<Body>>, cause: Cause) {
        self.dropped.push((packet.body.body.0, cause));
    }
    fn marked(&mut self, _flow: u32, _cause: Cause) {
        panic!("drop-tail marks nothing");
    }
    fn copied(&mut self, packet: &Packet<Transit<Body>>) -> Option<Packet<Transit<Body>>> {
        self.copies += 1;
        let body = packet.body.with((packet.body.body.0, true));
        Some(Packet { body, ..*packet })
    }
}

/// 12 Mb/s: a packet of 1500 bytes takes 1 ms.
fn link(packets: u64) -> Bottleneck {
    Bottleneck::drop_tail(12_000_000, Buffer::Packets(packets))
}

/// When packets that are sent at these times, in µs, arrive: number, whether it is a copy, µs.
fn arrivals(link: Bottleneck, sent_us: &[u64]) -> (Vec<(Body, u64)>, Notes) {
    let mut network = Network::new(1, &[link], vec![vec![0]]);
    let mut notes = Notes::default();
    let mut arrived = Vec::new();
    let mut sent = sent_us.iter().zip(0..).peekable();
    loop {
        let send_ns = sent.peek().map_or(u64::MAX, |(at_us, _)| *at_us * 1_000);
        let event_ns = network.next_event_ns();
        let now_ns = send_ns.min(event_ns);
        if now_ns == u64::MAX {
            break;
        }
        while let Some(exit) = network.poll(now_ns, &mut notes) {
            arrived.push((exit.packet.body.body, exit.at_ns / 1_000));
        }
        if send_ns == now_ns {
            let Some((_, number)) = sent.next() else {
                break;
            };
            let packet = Packet {
                flow: 1,
                bytes: 1500,
                ecn: Ecn::NotEct,
                arrived_ns: now_ns,
                body: (number, false),
            };
            network.send(now_ns, 0, true, packet, &mut notes);
        }
    }
    assert_eq!(network.packets(), 0);
    let all = sent_us.len() as u64 + notes.copies;
    assert_eq!(all, (arrived.len() + notes.dropped.len()) as u64);
    (arrived, notes)
}

#[test]
fn a_copy_follows_its_packet() {
    let always = Bottleneck {
        duplicate_ppb: PARTS,
        ..link(3)
    };
    let (arrived, notes) = arrivals(always, &[0, 100]);
    let expected = [((0, false), 1_000), ((0, true), 2_000), ((1, false), 3_000)];
    assert_eq!(arrived, expected);
    assert_eq!(notes.dropped, [(1, Cause::Full)]);
}

/// Half of the packets come 5 ms late. The others keep their order, and so do the late ones.
#[test]
fn late_packets_are_overtaken() {
    let half = Bottleneck {
        rate_bps: 12_000_000_000,
        reorder: Some(ReorderParameters {
            p_ppb: PARTS / 2,
            delay_ns: 5 * MS,
        }),
        ..link(10)
    };
    let sent_us: Vec<u64> = (0..2_000).map(|number| number * 1_000).collect();
    let (arrived, _) = arrivals(half, &sent_us);
    let took_us = arrived
        .iter()
        .map(|((number, _), at_us)| at_us - u64::from(*number) * 1_000);
    let took_us: Vec<_> = took_us.collect();
    // A late packet may reach the queue with another one.
    let expected = |took_us: &u64| [1, 2, 5_001, 5_002].contains(took_us);
    assert!(took_us.iter().all(expected));
    // σ is 22 packets.
    let late = took_us.iter().filter(|&&took_us| took_us > 5_000).count();
    assert!((900..1_100).contains(&late), "{late}");
    let overtaken = arrived.windows(2).filter(|two| two[0].0 > two[1].0).count();
    assert!(overtaken > 200, "{overtaken}");
}

/// Two packets pass of a bucket of 3500 bytes; 500 remain. The rate of 1.2 Mb/s adds 150 bytes each
/// ms: after 7 ms there is room for another one.
#[test]
fn a_policer_drops_before_the_queue() {
    let policed = Bottleneck {
        policer: Some(PolicerParameters {
            rate_bps: 1_200_000,
            burst_bytes: 3_500,
        }),
        ..link(10)
    };
    let (arrived, notes) = arrivals(policed, &[0, 0, 0, 6_000, 7_000]);
    let numbers: Vec<_> = arrived.iter().map(|each| (each.0 .0, each.1)).collect();
    assert_eq!(numbers, [(0, 1_000), (1, 2_000), (4, 8_000)]);
    assert_eq!(notes.dropped, [(2, Cause::Policed), (3, Cause::Policed)]);
}

/// Services end at 1, 2 and 3 ms, and the tick is 2.5 ms. The slots of the first two are taken until
/// 2.5 ms: so a packet that comes at 2.2 ms finds three of three, and one at 2.6 ms finds one.
#[test]
fn a_slot_is_taken_until_the_tick() {
    let ticking = Bottleneck {
        tick_ns: 5 * MS / 2,
        ..link(3)
    };
    let (arrived, notes) = arrivals(ticking, &[0, 0, 0, 2_200, 2_600]);
    let numbers: Vec<_> = arrived.iter().map(|each| (each.0 .0, each.1)).collect();
    // 12 µs each on the wire of 1 Gb/s.
    let expected = [(0, 2_512), (1, 2_524), (2, 5_012), (4, 5_024)];
    assert_eq!(numbers, expected);
    assert_eq!(notes.dropped, [(3, Cause::Full)]);
}

/// The delay is that when a packet leaves the link. When it falls, packets arrive together.
#[test]
fn the_delay_changes_at_its_time() {
    let step = |ms, delay_ms| DelayStep {
        time_ns: ms * MS,
        delay_ns: delay_ms * MS,
    };
    let changing = Bottleneck {
        delay_ns: MS,
        delay_at: vec![step(3, 10), step(5, 4)],
        ..link(10)
    };
    let (arrived, notes) = arrivals(changing, &[0, 1_000, 2_000, 3_500, 4_500, 20_000]);
    let times_us: Vec<_> = arrived.iter().map(|each| each.1).collect();
    // They leave at 1, 2, 3, 4.5, 5.5 and 21 ms.
    assert_eq!(times_us, [2_000, 3_000, 13_000, 14_500, 14_500, 25_000]);
    assert!(notes.dropped.is_empty());
}

/// Packets each 100 µs over a link of 20 ms ± 5 ms, in µs, without the 1 µs of their service.
fn delays_us(distribution: Distribution, overtaking: bool) -> Vec<(u32, f64)> {
    let jittery = Bottleneck {
        rate_bps: 12_000_000_000,
        delay_ns: 20 * MS,
        delay_jitter: Some(DelayJitter {
            by_ns: 5 * MS,
            distribution,
            overtaking,
        }),
        ..link(10)
    };
    let sent_us: Vec<u64> = (0..40_000).map(|number| number * 100).collect();
    let (arrived, _) = arrivals(jittery, &sent_us);
    let took = |&((number, _), at_us): &(Body, u64)| {
        (number, at_us as f64 - 1.0 - f64::from(number) * 100.0)
    };
    arrived.iter().map(took).collect()
}

/// Means and deviations are those of the distribution; 95 % of the delays are in the range.
#[test]
fn delays_have_their_distribution() {
    for (distribution, expected, sigma, [low, high]) in [
        (
            Distribution::Uniform,
            20.0,
            5.0 / 3_f64.sqrt(),
            [15.25, 24.75],
        ),
        (Distribution::Normal, 20.0, 5.0, [10.2, 29.8]),
        // (u^(−1/3) − 1.5) · 4/3 at u = 0.975 and 0.025. What is cut at 4 takes 0.0329 from the mean,
        // and leaves a deviation of 0.8209.
        (Distribution::Pareto, 19.835, 4.104, [16.72, 32.8]),
    ] {
        let took: Vec<_> = delays_us(distribution, true)
            .iter()
            .map(|each| each.1 / 1e3)
            .collect();
        let mean = took.iter().sum::<f64>() / took.len() as f64;
        let square = took.iter().map(|ms| (ms - mean).powi(2)).sum::<f64>() / took.len() as f64;
        let inside = took.iter().filter(|ms| (low..high).contains(*ms)).count();
        let share = inside as f64 / took.len() as f64;
        println!("{distribution:?}: {mean} {} {share}", square.sqrt());
        assert!((mean - expected).abs() < 0.1, "{distribution:?}: {mean}");
        assert!(
            (square.sqrt() / sigma - 1.0).abs() < 0.05,
            "{distribution:?}"
        );
        assert!((share - 0.95).abs() < 0.01, "{distribution:?}: {share}");
    }
}

/// Without overtaking each packet waits for the ones before it, so all take longer.
#[test]
fn packets_overtake_only_where_they_may() {
    let overtaken = |took: &[(u32, f64)]| took.windows(2).filter(|two| two[0].0 > two[1].0).count();
    assert!(overtaken(&delays_us(Distribution::Uniform, true)) > 10_000);
    let ordered = delays_us(Distribution::Uniform, false);
    assert_eq!(overtaken(&ordered), 0);
    assert!(ordered.iter().all(|each| each.1 < 25_000.0));
    let mean = ordered.iter().map(|each| each.1).sum::<f64>() / ordered.len() as f64;
    assert!(mean > 23_000.0, "{mean}");
}

/// Services end at 1, 2 and 3 ms, and each packet is in the delay for 10 ms more: with a limit of 3
/// nothing has room until 11 ms.
#[test]
fn a_limit_counts_the_queue_and_the_delay() {
    let limited = Bottleneck {
        delay_ns: 10 * MS,
        limit_packets: Some(3),
        ..link(100)
    };
    let (arrived, notes) = arrivals(limited, &[0, 0, 0, 0, 10_900, 11_000, 11_100, 12_000]);
    let numbers: Vec<_> = arrived.iter().map(|each| (each.0 .0, each.1)).collect();
    let expected = [
        (0, 11_000),
        (1, 12_000),
        (2, 13_000),
        (5, 22_000),
        (7, 23_000),
    ];
    assert_eq!(numbers, expected);
    assert_eq!(notes.dropped, [3, 4, 6].map(|number| (number, Cause::Full)));
}
