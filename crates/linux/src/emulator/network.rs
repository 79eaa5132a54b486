//! The network between the senders' host and the receivers' host: links, and then the own delay of
//! each flow, as in the simulator.
//!
//! All senders are on one host. Which links data and ACKs of a flow pass is a matter of its routes,
//! so data both ways needs no more hosts.
//!
//! The packets of programs ([`EmulatedNetwork::of_programs`]) all pass the path of flow 1. To a
//! queue, the packets of a connection in one direction are a flow.

use super::header::{self, Conversation, Header};
use ackclock_net::line::Line;
use ackclock_net::link::LinkState;
use ackclock_net::network::{Network, Transit};
use ackclock_net::queue::{Cause, Ecn, Ledger, Packet, Tally};
use ackclock_net::rng::{Draw, Owner, Stream};
use ackclock_net::schedule::{Schedule, NEVER};
use ackclock_sim::scenario::Scenario;
use ackclock_sim::topology::{self, Topology};
use std::collections::{HashMap, VecDeque};

/// The receiver of flow `i` (from 1) listens on this port plus `i`.
pub const FIRST_PORT: u16 = 20_000;

/// Which host a packet goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Toward {
    /// The receivers' host: data.
    Receiver,
    /// The senders' host: ACKs.
    Sender,
}

/// A packet that is due.
#[derive(Debug, PartialEq, Eq)]
pub struct Due {
    /// The host that gets the packet.
    pub toward: Toward,
    /// Index of the path, from 0: that of the flow, or 0 of programs.
    pub path: usize,
    /// When the packet became due, nanoseconds from the start.
    pub due_ns: u64,
    /// When it had left its last link and the delay behind that.
    pub left_ns: u64,
    /// The IP packet, marked if a queue has marked it.
    pub bytes: Box<[u8]>,
}

/// Where the packets of the hosts went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets taken from the hosts.
    pub taken: u64,
    /// Copies that links made.
    pub copied: u64,
    /// Packets handed over to the hosts.
    pub delivered: u64,
    /// Of these, packets with the mark "congestion experienced".
    pub delivered_ce: u64,
    /// Packets that links dropped.
    pub dropped: u64,
    /// Marks that queues set. A packet that two queues mark counts twice.
    pub marked: u64,
    /// Packets that are not IPv4 or, of flows, not TCP of one of them. They are in no other count.
    pub strangers: u64,
}

/// A packet of a host.
#[derive(Clone, Debug)]
struct Body {
    toward: Toward,
    path: u32,
    carries_data: bool,
    bytes: Box<[u8]>,
}

/// A packet behind its last link.
#[derive(Debug)]
struct Flying {
    due_ns: u64,
    left_ns: u64,
    bytes: Box<[u8]>,
}

#[derive(Debug)]
struct Path {
    through: topology::Path,
    /// Its own delay behind the last link: of data, and of ACKs.
    forth_ns: u64,
    back: Line,
    /// Packets on their way to the receiver, and to the sender; in order of time.
    flying: [VecDeque<Flying>; 2],
}

/// How a packet shows its flow.
#[derive(Debug)]
enum Flows {
    /// By the port of its receiver.
    Ports,
    /// By its conversation. A new one is the next flow.
    Conversations(HashMap<(Toward, Conversation), u32>),
}

/// The links and the delays between two hosts, with their packets. Times are nanoseconds from the
/// start. Call with times that never go back.
#[derive(Debug)]
pub struct EmulatedNetwork {
    links: Network<Body>,
    paths: Vec<Path>,
    flows: Flows,
    /// What queues did to the data of each flow.
    tallies: Vec<Tally>,
    /// Element 2i has the packets of path i toward its receiver, element 2i + 1 those toward its
    /// sender.
    schedule: Schedule,
    counts: Counts,
}

impl EmulatedNetwork {
    /// Makes an empty network for the flows of the scenario.
    pub fn new(scenario: &Scenario, topology: &Topology) -> Self {
        let paths = scenario.flows.iter().zip(&topology.paths).zip(1..);
        let paths = paths.map(|((flow, through), number)| {
            let [forth_ns, back_ns] = through.split_ns(flow.rtt_ns);
            let jitter = Stream::for_owner(scenario.seed, Owner::Flow(number), Draw::Jitter);
            Path {
                through: *through,
                forth_ns,
                back: Line::new(back_ns, scenario.jitter_ns, jitter),
                flying: Default::default(),
            }
        });
        Self {
            links: Network::new(scenario.seed, &topology.links, topology.routes.clone()),
            paths: paths.collect(),
            flows: Flows::Ports,
            tallies: vec![Tally::default(); scenario.flows.len()],
            schedule: Schedule::new(2 * scenario.flows.len()),
            counts: Counts::default(),
        }
    }

    /// Makes an empty network for programs: every IPv4 packet passes the path of flow 1.
    pub fn of_programs(scenario: &Scenario, topology: &Topology) -> Self {
        Self {
            flows: Flows::Conversations(HashMap::new()),
            tallies: Vec::new(),
            ..Self::new(scenario, topology)
        }
    }

    /// Takes a packet from a host. Returns the index of its path; `None` if it has none.
    #[inline]
    pub fn send(&mut self, now_ns: u64, toward: Toward, packet: &[u8]) -> Option<usize> {
        let Some((path, flow, header)) = self.flow_of(toward, packet) else {
            self.counts.strangers += 1;
            return None;
        };
        self.counts.taken += 1;
        let through = self.paths[path].through;
        let route = match toward {
            Toward::Receiver => Some(through.data),
            Toward::Sender => through.acks,
        };
        let Some(route) = route else {
            self.leave(path, toward, now_ns, packet.into());
            return Some(path);
        };
        self.advance(now_ns);
        let packet = Packet {
            flow,
            bytes: packet.len() as u32,
            ecn: header.ecn,
            arrived_ns: now_ns,
            body: Body {
                toward,
                path: path as u32,
                carries_data: header.carries_data,
                bytes: packet.into(),
            },
        };
        let mut count = Count(&mut self.tallies, &mut self.counts);
        self.links
            .send(now_ns, route, header.carries_data, packet, &mut count);
        Some(path)
    }

    /// Moves the links on to `now_ns`.
    #[inline]
    pub fn advance(&mut self, now_ns: u64) {
        loop {
            let mut count = Count(&mut self.tallies, &mut self.counts);
            let Some(exit) = self.links.poll(now_ns, &mut count) else {
                return;
            };
            let Body {
                toward,
                path,
                mut bytes,
                ..
            } = exit.packet.body.body;
            if exit.packet.ecn == Ecn::Ce {
                header::set_ce(&mut bytes);
            }
            self.leave(path as usize, toward, exit.at_ns, bytes);
        }
    }

    /// A packet has left its last link, if it passes any.
    #[inline]
    fn leave(&mut self, path: usize, toward: Toward, left_ns: u64, bytes: Box<[u8]>) {
        let Path {
            forth_ns,
            back,
            flying,
            ..
        } = &mut self.paths[path];
        let due_ns = match toward {
            Toward::Receiver => left_ns + *forth_ns,
            Toward::Sender => back.arrives_ns(left_ns),
        };
        let flying = &mut flying[toward as usize];
        // Nearly always the last one: packets may only overtake each other between links.
        let after = flying.iter().rev().take_while(|each| each.due_ns > due_ns);
        let place = flying.len() - after.count();
        flying.insert(
            place,
            Flying {
                due_ns,
                left_ns,
                bytes,
            },
        );
        if place == 0 {
            self.schedule.set(2 * path + toward as usize, due_ns);
        }
    }

    /// When a packet is due, or a link has something to do; [`NEVER`] if the network is idle.
    #[inline]
    pub fn next_event_ns(&self) -> u64 {
        self.links.next_event_ns().min(self.schedule.first().0)
    }

    /// Removes the packet that is due first; `None` if no packet is due by `now_ns`.
    #[inline]
    pub fn take_due(&mut self, now_ns: u64) -> Option<Due> {
        self.advance(now_ns);
        let (due_ns, element) = self.schedule.first();
        if due_ns > now_ns {
            return None;
        }
        let (path, toward) = match element % 2 {
            0 => (element / 2, Toward::Receiver),
            _ => (element / 2, Toward::Sender),
        };
        let flying = &mut self.paths[path].flying[toward as usize];
        let Flying { left_ns, bytes, .. } = flying.pop_front()?;
        let next_ns = flying.front().map_or(NEVER, |next| next.due_ns);
        self.schedule.set(element, next_ns);
        self.counts.delivered += 1;
        self.counts.delivered_ce += u64::from(header::is_ce(&bytes));
        Some(Due {
            toward,
            path,
            due_ns,
            left_ns,
            bytes,
        })
    }

    /// The state of each link at `now_ns`, after all its events.
    pub fn states(&mut self, now_ns: u64) -> impl Iterator<Item = LinkState> + use<'_> {
        self.advance(now_ns);
        (0..self.links.links()).map(move |link| self.links.state(link, now_ns))
    }

    /// What queues did to the data of a flow.
    pub fn tally(&self, flow: usize) -> Tally {
        self.tallies[flow]
    }

    /// The conversations of programs, each with what queues did to its packets.
    pub fn conversations(&self) -> Vec<(Toward, Conversation, Tally)> {
        let Flows::Conversations(known) = &self.flows else {
            return Vec::new();
        };
        let tally = |flow: &u32| self.tallies[*flow as usize];
        let each = known.iter();
        each.map(|((toward, of), flow)| (*toward, *of, tally(flow)))
            .collect()
    }

    /// Where the packets went.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// How many packets are on their way.
    pub fn packets(&self) -> u64 {
        let flying = self.paths.iter().flat_map(|path| &path.flying);
        self.links.packets() + flying.map(|each| each.len() as u64).sum::<u64>()
    }

    /// The path, the flow and the header of a packet.
    #[inline]
    fn flow_of(&mut self, toward: Toward, packet: &[u8]) -> Option<(usize, u32, Header)> {
        match &mut self.flows {
            Flows::Ports => {
                let header = Header::parse(packet)?;
                let port = match toward {
                    Toward::Receiver => header.conversation.destination_port,
                    Toward::Sender => header.conversation.source_port,
                };
                let flow = usize::from(port.wrapping_sub(FIRST_PORT)).wrapping_sub(1);
                let is_known = header.conversation.is_tcp() && flow < self.paths.len();
                is_known.then_some((flow, flow as u32, header))
            }
            Flows::Conversations(known) => {
                let header = Header::parse(packet)?;
                let flow = *known
                    .entry((toward, header.conversation))
                    .or_insert_with(|| {
                        self.tallies.push(Tally::default());
                        self.tallies.len() as u32 - 1
                    });
                Some((0, flow, header))
            }
        }
    }
}

/// Counts the packets that queues drop or mark.
struct Count<'a>(&'a mut [Tally], &'a mut Counts);

impl Ledger<Transit<Body>> for Count<'_> {
    fn dropped(&mut self, packet: Packet<Transit<Body>>, cause: Cause) {
        self.1.dropped += 1;
        if packet.body.body.carries_data {
            self.0[packet.flow as usize].dropped(cause);
        }
    }

    fn marked(&mut self, flow: u32, _cause: Cause) {
        self.1.marked += 1;
        self.0[flow as usize].marked_packets += 1;
    }

    fn copied(&mut self, packet: &Packet<Transit<Body>>) -> Option<Packet<Transit<Body>>> {
        self.1.copied += 1;
        Some(packet.clone())
    }
}

#[cfg(test)]
mod tests;
