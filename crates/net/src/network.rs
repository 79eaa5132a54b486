//! Links that packets visit one after another, each on the route of its flow.
//!
//! [`Network::send`] puts a packet on its route. Call [`Network::poll`] at
//! [`Network::next_event_ns`] until it returns `None`: it returns each packet that has left its last
//! link. Poll before you send at the same time: a packet that leaves makes room for one that
//! arrives.

use crate::buffer::Buffer;
use crate::changes::Changes;
use crate::impair::{DropPattern, Impairments, LossChanges, Losses, Share};
use crate::line::{Jittered, Line};
use crate::link::{Bottleneck, Evented, LinkState, Place};
use crate::queue::{Cause, Ledger, Packet};
use crate::rate::Policer;
use crate::rng::{Draw, Owner, Stream};
use crate::schedule::{Schedule, NEVER};
use std::collections::VecDeque;

/// A packet on its route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transit<P> {
    route: u32,
    /// How many links of the route are behind it.
    hop: u32,
    /// Whether it is data: only data is counted to drop every Nth.
    is_data: bool,
    /// The host's own.
    pub body: P,
}

impl<P> Transit<P> {
    /// Whether it has not left the first link of its route.
    pub fn is_at_first(&self) -> bool {
        self.hop == 0
    }

    /// Another packet at the same place.
    pub fn with(&self, body: P) -> Self {
        Self { body, ..*self }
    }
}

/// A packet that has left its last link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit<P> {
    /// When it arrives: now or later, for a link may have a delay behind it, or wait for a tick.
    pub at_ns: u64,
    /// The packet.
    pub packet: Packet<Transit<P>>,
}

/// A link, what packets meet before it, and the delay behind it.
#[derive(Clone, Debug)]
struct Hop<P> {
    chosen: DropPattern,
    impairments: Option<Box<Impairments>>,
    /// Packets that come late.
    late: Waiting<P>,
    link: Evented<Transit<P>>,
    delay: Line,
    delays: Changes,
    /// Packets in the delay, if others may overtake them there or another link follows.
    behind: Waiting<P>,
    /// A delay that is more than a line.
    path: Option<Box<Path>>,
}

/// What happens behind a link besides a delay of which only the length counts.
#[derive(Clone, Debug)]
struct Path {
    /// The link is the interface of hosts, which hear what has left.
    is_own: bool,
    jitter: Option<Jittered>,
    overtaking: bool,
    limit: Option<Limit>,
}

/// How many packets a queue and the delay behind it hold.
#[derive(Clone, Debug)]
struct Limit {
    packets: u64,
    /// When the packets in the delay leave it, in order of time.
    leave_ns: VecDeque<u64>,
    dropped_packets: u64,
}

impl Path {
    fn new(link: &Bottleneck, stream: impl Fn(Draw) -> Stream) -> Option<Self> {
        let (jitter, is_own) = (link.delay_jitter, link.at == Place::Sender);
        (jitter.is_some() || link.limit_packets.is_some() || is_own).then(|| Self {
            is_own,
            jitter: jitter.map(|jitter| Jittered::new(jitter, stream)),
            overtaking: jitter.is_some_and(|jitter| jitter.overtaking),
            limit: link.limit_packets.map(|packets| Limit {
                packets,
                leave_ns: VecDeque::new(),
                dropped_packets: 0,
            }),
        })
    }

    /// When a packet arrives that enters the delay now.
    fn arrives_ns(&mut self, now_ns: u64, delay: &mut Line) -> u64 {
        let at_ns = match &mut self.jitter {
            Some(jitter) => jitter.arrives_ns(now_ns, delay.delay_ns()),
            None => delay.arrives_ns(now_ns),
        };
        if let Some(limit) = &mut self.limit {
            let place = limit
                .leave_ns
                .partition_point(|&leaves_ns| leaves_ns <= at_ns);
            limit.leave_ns.insert(place, at_ns);
        }
        at_ns
    }

    /// Whether no packet has room beside those of the queue and those in the delay.
    fn is_full(&mut self, now_ns: u64, queue_packets: u64, keeps: impl FnOnce() -> bool) -> bool {
        let Some(limit) = &mut self.limit else {
            return false;
        };
        while limit
            .leave_ns
            .front()
            .is_some_and(|&leaves_ns| leaves_ns <= now_ns)
        {
            limit.leave_ns.pop_front();
        }
        let full = queue_packets + limit.leave_ns.len() as u64 >= limit.packets && !keeps();
        limit.dropped_packets += u64::from(full);
        full
    }
}

/// Packets, and when each goes on, in order of time.
type Waiting<P> = VecDeque<(u64, Packet<Transit<P>>)>;

/// Links and routes.
#[derive(Clone, Debug)]
pub struct Network<P> {
    hops: Vec<Hop<P>>,
    routes: Vec<Vec<usize>>,
    /// Link `i` of `n` is element `i`, the delay behind it element `n + i`, the packets that come late
    /// to it element `2 n + i`. So at equal times packets leave links before packets reach links.
    schedule: Schedule,
}

/// What packets meet before the queue of a link, if anything. Its limit is counted there too.
fn impairments(link: &Bottleneck, stream: impl Fn(Draw) -> Stream) -> Option<Impairments> {
    let any = link.loss.is_some()
        || !link.loss_at.is_empty()
        || link.duplicate_ppb > 0
        || link.reorder.is_some()
        || link.policer.is_some()
        || link.limit_packets.is_some();
    any.then(|| {
        let changes = LossChanges::new(link.loss, &link.loss_at, stream(Draw::Outage));
        let late = link
            .reorder
            .map_or((0, 0), |late| (late.p_ppb, late.delay_ns));
        Impairments::new(
            Losses::new(link.loss, changes, stream(Draw::Loss)),
            Share::new(link.duplicate_ppb, stream(Draw::Duplicate)),
            (Share::new(late.0, stream(Draw::Reorder)), late.1),
            link.policer.as_ref().map(Policer::new),
        )
    })
}

impl<P> Network<P> {
    /// An idle network. A route has the indices of the links that it visits, in order, and at least
    /// one.
    pub fn new(seed: u64, links: &[Bottleneck], routes: Vec<Vec<usize>>) -> Self {
        let hops = links.iter().zip(1..).map(|(link, number)| {
            let stream = |draw| Stream::for_owner(seed, Owner::Link(number), draw);
            let steps = link.delay_at.iter();
            Hop {
                chosen: DropPattern::new(link.drop_every_packets, &link.drop_packets),
                impairments: impairments(link, stream).map(Box::new),
                late: VecDeque::new(),
                link: Evented::new(link, stream(Draw::Queue)),
                delay: Line::new(link.delay_ns, 0, stream(Draw::Jitter)),
                delays: Changes::new(steps.map(|step| (step.time_ns, step.delay_ns))),
                behind: VecDeque::new(),
                path: Path::new(link, stream).map(Box::new),
            }
        });
        let kinds = if links.iter().any(|link| link.reorder.is_some()) {
            3
        } else {
            2
        };
        let mut network = Self {
            hops: hops.collect(),
            routes,
            schedule: Schedule::new(kinds * links.len()),
        };
        for (index, hop) in network.hops.iter().enumerate() {
            network.schedule.set(index, hop.link.next_event_ns());
        }
        network
    }

    /// Asks the ledger of each data packet from now on, until it has nothing more to say.
    #[cold]
    pub fn watch(&mut self) {
        self.hops.iter_mut().for_each(|hop| hop.chosen.watch(true));
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
            if element >= links {
                let hop = &mut self.hops[element % links];
                let comes_late = element >= 2 * links;
                let waiting = if comes_late {
                    &mut hop.late
                } else {
                    &mut hop.behind
                };
                let arriving = waiting.pop_front();
                let next_ns = waiting.front().map_or(NEVER, |first| first.0);
                self.schedule.set(element, next_ns);
                match arriving {
                    Some((_, packet)) if comes_late => {
                        self.police(element % links, at_ns, packet, ledger);
                    }
                    Some((_, packet)) if self.is_through(&packet) => {
                        return Some(Exit { at_ns, packet });
                    }
                    Some((_, packet)) => self.enter(at_ns, packet, ledger),
                    None => (),
                }
                continue;
            }
            let hop = &mut self.hops[element];
            let departed = hop.link.handle(at_ns, ledger);
            self.schedule.set(element, hop.link.next_event_ns());
            let Some((leaves_ns, mut packet)) = departed else {
                continue;
            };
            while let Some((_, delay_ns)) = hop.delays.due(leaves_ns) {
                hop.delay.change(delay_ns);
            }
            packet.body.hop += 1;
            if hop.path.is_some() {
                match self.enter_path(element, leaves_ns, packet, ledger) {
                    None => continue,
                    exit => return exit,
                }
            }
            let at_ns = hop.delay.arrives_ns(leaves_ns);
            let route = &self.routes[packet.body.route as usize];
            if packet.body.hop as usize == route.len() {
                return Some(Exit { at_ns, packet });
            }
            if hop.behind.is_empty() {
                self.schedule.set(links + element, at_ns);
            }
            hop.behind.push_back((at_ns, packet));
        }
    }

    /// Whether a packet has left its last link.
    fn is_through(&self, packet: &Packet<Transit<P>>) -> bool {
        packet.body.hop as usize == self.routes[packet.body.route as usize].len()
    }

    /// A packet enters a delay that is more than a line. Returns the packet if it arrives behind all
    /// that are on their way.
    #[cold]
    fn enter_path(
        &mut self,
        element: usize,
        now_ns: u64,
        packet: Packet<Transit<P>>,
        ledger: &mut impl Ledger<Transit<P>>,
    ) -> Option<Exit<P>> {
        let is_through = self.is_through(&packet);
        let hop = &mut self.hops[element];
        let path = hop.path.as_mut()?;
        if path.is_own {
            ledger.left(&packet, now_ns);
        }
        let at_ns = path.arrives_ns(now_ns, &mut hop.delay);
        if is_through && !path.overtaking {
            return Some(Exit { at_ns, packet });
        }
        let place = hop.behind.partition_point(|each| each.0 <= at_ns);
        hop.behind.insert(place, (at_ns, packet));
        if place == 0 {
            self.schedule.set(self.hops.len() + element, at_ns);
        }
        None
    }

    /// The state of a link at `now_ns`, after the events until then.
    pub fn state(&mut self, link: usize, now_ns: u64) -> LinkState {
        let hop = &mut self.hops[link];
        let mut state = hop.link.state(now_ns);
        state.totals.lost_packets = hop.chosen.dropped_packets();
        if let Some(impairments) = &hop.impairments {
            state.totals.lost_packets += impairments.lost_packets;
            state.totals.policed_packets = impairments.policed_packets;
        }
        if let Some(limit) = hop.path.as_ref().and_then(|path| path.limit.as_ref()) {
            state.totals.dropped_packets += limit.dropped_packets;
        }
        state
    }

    /// The room of the first queue on a route, after the events until `now_ns`.
    pub fn room(&mut self, now_ns: u64, route: usize) -> Buffer {
        self.hops[self.routes[route][0]].link.room(now_ns)
    }

    /// How many links there are.
    pub fn links(&self) -> usize {
        self.hops.len()
    }

    /// How many packets come late, are in queues, on wires and in the delays between links.
    pub fn packets(&self) -> u64 {
        let waiting = |hop: &Hop<P>| (hop.late.len() + hop.behind.len()) as u64;
        let of = |hop: &Hop<P>| hop.link.packets() + waiting(hop);
        self.hops.iter().map(of).sum()
    }

    /// A packet reaches the next link of its route.
    #[inline(always)]
    fn enter(
        &mut self,
        now_ns: u64,
        packet: Packet<Transit<P>>,
        ledger: &mut impl Ledger<Transit<P>>,
    ) {
        let route = &self.routes[packet.body.route as usize];
        let index = route[packet.body.hop as usize];
        let hop = &mut self.hops[index];
        if packet.body.is_data && hop.chosen.is_due() {
            self.judge(index, now_ns, packet, ledger);
        } else if hop.impairments.is_none() {
            self.enqueue(index, now_ns, packet, ledger);
        } else {
            self.impair(index, now_ns, packet, ledger);
        }
    }

    /// Loses a packet of the pattern, or one that is aimed at.
    #[cold]
    fn judge(
        &mut self,
        index: usize,
        now_ns: u64,
        packet: Packet<Transit<P>>,
        ledger: &mut impl Ledger<Transit<P>>,
    ) {
        let aimed = ledger.aims_at(&packet);
        let chosen = &mut self.hops[index].chosen;
        let drops = chosen.judge(aimed == Some(true), || ledger.keeps(&packet));
        if aimed.is_none() {
            chosen.watch(false);
        }
        if drops {
            ledger.dropped(packet, Cause::Loss);
        } else {
            self.impair(index, now_ns, packet, ledger);
        }
    }

    /// Loses a packet, copies it, or lets it come late.
    #[inline(never)]
    fn impair(
        &mut self,
        index: usize,
        now_ns: u64,
        packet: Packet<Transit<P>>,
        ledger: &mut impl Ledger<Transit<P>>,
    ) {
        let Some(impairments) = &mut self.hops[index].impairments else {
            self.enqueue(index, now_ns, packet, ledger);
            return;
        };
        if impairments.loses(now_ns, || ledger.keeps(&packet)) {
            ledger.dropped(packet, Cause::Loss);
            return;
        }
        let copied = impairments.copies.takes();
        let copy = copied.then(|| ledger.copied(&packet)).flatten();
        for packet in std::iter::once(packet).chain(copy) {
            let hop = &mut self.hops[index];
            let impairments = hop.impairments.as_mut();
            let late_ns = impairments.map_or(0, |each| each.late_ns());
            if late_ns == 0 {
                self.police(index, now_ns, packet, ledger);
                continue;
            }
            if hop.late.is_empty() {
                let element = 2 * self.hops.len() + index;
                self.schedule.set(element, now_ns + late_ns);
            }
            self.hops[index].late.push_back((now_ns + late_ns, packet));
        }
    }

    /// A packet reaches the policer.
    fn police(
        &mut self,
        index: usize,
        now_ns: u64,
        packet: Packet<Transit<P>>,
        ledger: &mut impl Ledger<Transit<P>>,
    ) {
        let hop = &mut self.hops[index];
        let impairments = hop.impairments.as_mut();
        let mut keeps = || ledger.keeps(&packet);
        if impairments.is_some_and(|each| each.polices(now_ns, packet.bytes, &mut keeps)) {
            ledger.dropped(packet, Cause::Policed);
        } else if (hop.path.as_mut())
            .is_some_and(|path| path.is_full(now_ns, hop.link.packets(), &mut keeps))
        {
            ledger.dropped(packet, Cause::Full);
        } else {
            self.enqueue(index, now_ns, packet, ledger);
        }
    }

    /// A packet reaches the queue.
    #[inline(always)]
    fn enqueue(
        &mut self,
        index: usize,
        now_ns: u64,
        mut packet: Packet<Transit<P>>,
        ledger: &mut impl Ledger<Transit<P>>,
    ) {
        packet.arrived_ns = now_ns;
        let link = &mut self.hops[index].link;
        let before_ns = link.next_event_ns();
        link.enqueue(now_ns, packet, ledger);
        let next_ns = link.next_event_ns();
        if next_ns != before_ns {
            self.schedule.set(index, next_ns);
        }
    }
}
