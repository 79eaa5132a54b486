//! Links that packets visit one after another, each on the route of its flow.
//!
//! [`Network::send`] puts a packet on its route. Call [`Network::poll`] at
//! [`Network::next_event_ns`] until it returns `None`: it returns each packet that has left its last
//! link. Poll before you send at the same time: a packet that leaves makes room for one that
//! arrives.

use crate::impair::EveryNth;
use crate::link::{Bottleneck, Evented, LinkState};
use crate::queue::{Cause, Ledger, Packet};
use crate::rng::{Draw, Owner, Stream};
use crate::schedule::{Schedule, NEVER};
use std::collections::VecDeque;

/// A packet on its route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transit<P> {
    route: u32,
    /// How many links of the route are behind it.
    hop: u32,
    /// Whether it is data: only data is lost on its way to a queue.
    is_data: bool,
    /// The host's own.
    pub body: P,
}

/// A packet that has left its last link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit<P> {
    /// When it arrives: now or later, for a link may have a delay behind it.
    pub at_ns: u64,
    /// The packet.
    pub packet: Packet<Transit<P>>,
}

/// A link, and the packets in the delay behind it.
#[derive(Clone, Debug)]
struct Hop<P> {
    loss: EveryNth,
    link: Evented<Transit<P>>,
    delay_ns: u64,
    line: VecDeque<(u64, Packet<Transit<P>>)>,
}

/// Links and routes.
#[derive(Clone, Debug)]
pub struct Network<P> {
    hops: Vec<Hop<P>>,
    routes: Vec<Vec<usize>>,
    /// Link `i` of `n` is element `i`, the delay behind it element `n + i`. So at equal times packets
    /// leave links before packets reach links.
    schedule: Schedule,
}

impl<P> Network<P> {
    /// An idle network. A route has the indices of the links that it visits, in order, and at least
    /// one.
    pub fn new(seed: u64, links: &[Bottleneck], routes: Vec<Vec<usize>>) -> Self {
        let hops = links.iter().zip(1..).map(|(link, number)| Hop {
            loss: EveryNth::new(link.drop_every_packets),
            link: Evented::new(link, Stream::of(seed, Owner::Link(number), Draw::Queue)),
            delay_ns: link.delay_ns,
            line: VecDeque::new(),
        });
        let mut network = Self {
            hops: hops.collect(),
            routes,
            schedule: Schedule::new(2 * links.len()),
        };
        for (index, hop) in network.hops.iter().enumerate() {
            network.schedule.set(index, hop.link.next_event_ns());
        }
        network
    }

    /// Puts a packet on a route.
    #[inline]
    pub fn send(
        &mut self,
        now_ns: u64,
        route: usize,
        is_data: bool,
        packet: Packet<P>,
        ledger: &mut impl Ledger<Transit<P>>,
    ) {
        let transit = Packet {
            flow: packet.flow,
            bytes: packet.bytes,
            ecn: packet.ecn,
            arrived_ns: now_ns,
            body: Transit {
                route: route as u32,
                hop: 0,
                is_data,
                body: packet.body,
            },
        };
        self.enter(now_ns, transit, ledger);
    }

    /// When the next packet leaves a link or reaches one.
    #[inline]
    pub fn next_event_ns(&self) -> u64 {
        self.schedule.first().0
    }

    /// Handles the events that are due, up to the first packet that leaves its route.
    #[inline]
    pub fn poll(&mut self, now_ns: u64, ledger: &mut impl Ledger<Transit<P>>) -> Option<Exit<P>> {
        loop {
            let (at_ns, element) = self.schedule.first();
            if at_ns > now_ns {
                return None;
            }
            let links = self.hops.len();
            if let Some(index) = element.checked_sub(links) {
                let line = &mut self.hops[index].line;
                let arriving = line.pop_front();
                let next_ns = line.front().map_or(NEVER, |first| first.0);
                self.schedule.set(element, next_ns);
                if let Some((_, packet)) = arriving {
                    self.enter(at_ns, packet, ledger);
                }
                continue;
            }
            let hop = &mut self.hops[element];
            let departed = hop.link.handle(at_ns, ledger);
            self.schedule.set(element, hop.link.next_event_ns());
            let Some(mut packet) = departed else {
                continue;
            };
            let at_ns = at_ns + hop.delay_ns;
            packet.body.hop += 1;
            let route = &self.routes[packet.body.route as usize];
            if packet.body.hop as usize == route.len() {
                return Some(Exit { at_ns, packet });
            }
            if hop.line.is_empty() {
                self.schedule.set(links + element, at_ns);
            }
            hop.line.push_back((at_ns, packet));
        }
    }

    /// The state of a link after the last event.
    pub fn state(&self, link: usize) -> LinkState {
        self.hops[link].link.state()
    }

    /// How many links there are.
    pub fn links(&self) -> usize {
        self.hops.len()
    }

    /// How many packets are in queues, on wires and in the delays between links.
    pub fn packets(&self) -> u64 {
        let of = |hop: &Hop<P>| hop.link.state().queue.packets + hop.line.len() as u64;
        self.hops.iter().map(of).sum()
    }

    /// A packet reaches the next link of its route.
    #[inline]
    fn enter(
        &mut self,
        now_ns: u64,
        mut packet: Packet<Transit<P>>,
        ledger: &mut impl Ledger<Transit<P>>,
    ) {
        let route = &self.routes[packet.body.route as usize];
        let index = route[packet.body.hop as usize];
        packet.arrived_ns = now_ns;
        let Hop { loss, link, .. } = &mut self.hops[index];
        if packet.body.is_data && loss.drops() {
            ledger.dropped(packet, Cause::Loss);
            return;
        }
        let before_ns = link.next_event_ns();
        link.enqueue(now_ns, packet, ledger);
        let next_ns = link.next_event_ns();
        if next_ns != before_ns {
            self.schedule.set(index, next_ns);
        }
    }
}
