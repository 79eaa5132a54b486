//! A sender and a receiver over a wild path: it loses, delays and copies packets as no queue does.

use super::{MS, S};
use ackclock_host::{Algorithm, CongestionControl, HostConfig};
use ackclock_net::rng::Stream;
use ackclock_sim::scenario::Profile;
use ackclock_sim::tcp::profile::{Kernel, Switches};
use ackclock_sim::tcp::{Ack, FlowLimits, Handshake, Receiver, Sender, SenderEvent, Transmit};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// What the path does. `loss`, `ack_loss`, `ack_copies`, `late`, `copies`, `pause` and `outage` are
/// chances per packet, in thousandths.
#[derive(Clone, Debug)]
pub struct Wild {
    pub profile: Profile,
    pub rtt_ns: u64,
    /// Time between two packets of the path.
    pub spacing_ns: u64,
    pub loss: u64,
    pub ack_loss: u64,
    pub ack_copies: u64,
    /// The packet arrives up to `late_ns` late.
    pub late: u64,
    pub late_ns: u64,
    pub copies: u64,
    /// The path stops for `pause_ns`, and loses nothing.
    pub pause: u64,
    pub pause_ns: u64,
    /// The path loses all packets of the next two RTTs.
    pub outage: u64,
    pub window: u64,
    /// Length of each connection, and how many connections follow each other.
    pub segments: u64,
    pub rounds: u32,
    pub tso: bool,
    pub pacing: bool,
    /// A send buffer of 40 segments, and an ACK that is 1 s late after every 40 segments.
    pub idle: bool,
}

impl Wild {
    pub fn new(profile: Profile) -> Self {
        Self {
            profile,
            rtt_ns: 40 * MS,
            spacing_ns: MS,
            loss: 0,
            ack_loss: 0,
            ack_copies: 0,
            late: 0,
            late_ns: 0,
            copies: 0,
            pause: 0,
            pause_ns: 0,
            outage: 0,
            window: 120,
            segments: 1_500,
            rounds: 3,
            tso: profile == Profile::Linux6,
            pacing: false,
            idle: false,
        }
    }
}

/// What a run shows.
pub enum Event<'a> {
    /// A burst left.
    Sent(u64, Transmit),
    /// The sender was called, and has sent what it had to send.
    Called(&'a Sender),
    /// An event, with cwnd and what was in flight before.
    Happened(SenderEvent, u32, u32),
}

#[derive(Debug, Default)]
pub struct Totals {
    pub sent: u64,
    pub retransmitted: u64,
    pub timeouts: u64,
    pub undos: u64,
}

enum Arrival {
    Data(u64, u64, bool),
    Ack(Ack),
}

/// Lets `rounds` connections run to their end, each for 100 s at most.
pub fn run(path: &Wild, algorithm: &str, totals: &mut Totals, mut watch: impl FnMut(Event<'_>)) {
    let configured = Algorithm::configure(algorithm).unwrap();
    for round in 0..path.rounds {
        let mut dice = Stream::named(u64::from(round), "path");
        let kernel = Kernel::for_profile(path.profile);
        let switches = Switches {
            tso: path.tso,
            pacing: path.pacing,
            ..Switches::usual(path.profile)
        };
        let cc = CongestionControl::new(
            &configured,
            HostConfig {
                hz: 1000,
                era: kernel.era,
                random_seed: round.into(),
                mss_bytes: 1448,
                initial_cwnd: kernel.initial_cwnd(1448),
                initial_ssthresh: 0x7fff_ffff,
                flow: 1,
            },
        );
        let limits = FlowLimits {
            segments: path.segments,
            receive_window: path.window,
            send_buffer: if path.idle { 40 } else { u64::MAX },
        };
        let mut now_ns = path.rtt_ns;
        let mut sender = Sender::new(
            cc,
            &kernel,
            &switches,
            limits,
            Handshake {
                now_ns,
                rtt_ns: path.rtt_ns,
                ecn: false.into(),
                one_packet: false,
            },
            0,
        );
        let clock = kernel.clock(1000, 0);
        let mut receiver = Receiver::new(&kernel, &switches, clock, path.rtt_ns);
        let (mut line, mut arrivals) = (BinaryHeap::new(), BTreeMap::new());
        let (mut number, mut free_ns, mut ack_free_ns, mut outage_until_ns) = (0_u64, 0, 0, 0);
        let mut called = true;
        loop {
            // After each call what the sender sends goes onto the path.
            while let Some(burst) = called.then(|| sender.poll_transmit(now_ns)).flatten() {
                watch(Event::Sent(now_ns, burst));
                let end = burst.first + u64::from(burst.segments);
                for segment in burst.first..end {
                    let pushed = burst.pushed && segment + 1 == end;
                    let mut chance = |thousandths: u64| dice.up_to(999) < thousandths;
                    if chance(path.outage) {
                        outage_until_ns = now_ns + 2 * path.rtt_ns;
                    }
                    free_ns = now_ns.max(free_ns) + path.spacing_ns;
                    if chance(path.pause) {
                        free_ns += path.pause_ns;
                    }
                    let copies = 1 + u64::from(chance(path.copies));
                    if chance(path.loss) || now_ns < outage_until_ns {
                        continue;
                    }
                    let late = chance(path.late);
                    for copy in 0..copies {
                        let late_ns = if late { dice.up_to(path.late_ns) } else { 0 };
                        let at_ns = free_ns + path.rtt_ns / 2 + late_ns + copy * path.rtt_ns / 3;
                        number += 1;
                        line.push(Reverse((at_ns, number)));
                        arrivals.insert(number, Arrival::Data(segment, now_ns, pushed));
                    }
                }
            }
            if called {
                watch(Event::Called(&sender));
            }
            called = false;
            if sender.is_complete() || now_ns > 100 * S {
                break;
            }
            let arrives_ns = line.peek().map_or(u64::MAX, |Reverse((at_ns, _))| *at_ns);
            let next_ns = arrives_ns
                .min(sender.poll_timeout())
                .min(receiver.poll_timeout());
            assert_ne!(next_ns, u64::MAX, "nothing will ever happen");
            now_ns = now_ns.max(next_ns);
            let mut answer = None;
            if receiver.poll_timeout() <= now_ns {
                answer = receiver.handle_timeout(now_ns);
            } else if arrives_ns <= now_ns {
                let Some(Reverse((_, number))) = line.pop() else {
                    break;
                };
                match arrivals.remove(&number) {
                    Some(Arrival::Data(segment, sent_ns, pushed)) => {
                        let last = segment + 1 == path.segments;
                        answer = receiver.handle_segment(now_ns, segment, sent_ns, pushed, last);
                    }
                    Some(Arrival::Ack(ack)) => {
                        sender.handle_ack(now_ns, &ack);
                        called = true;
                    }
                    None => (),
                }
            } else {
                sender.handle_timeout(now_ns);
                called = true;
            }
            if let Some(ack) = answer.filter(|_| dice.up_to(999) >= path.ack_loss) {
                let pause_ns = if path.idle && ack.ack % 40 == 0 { S } else { 0 };
                ack_free_ns = (now_ns + path.rtt_ns / 2 + pause_ns).max(ack_free_ns);
                let copied = path.ack_copies > 0 && dice.up_to(999) < path.ack_copies;
                for _ in 0..1 + u32::from(copied) {
                    number += 1;
                    line.push(Reverse((ack_free_ns, number)));
                    arrivals.insert(number, Arrival::Ack(ack.clone()));
                }
            }
            for (what, cwnd, in_flight) in sender.take_events() {
                totals.timeouts += u64::from(what == SenderEvent::Timeout);
                totals.undos += u64::from(what == SenderEvent::Undo);
                watch(Event::Happened(what, cwnd, in_flight));
            }
        }
        let (sent, retransmitted, _) = sender.totals();
        totals.sent += sent;
        totals.retransmitted += retransmitted;
    }
}
