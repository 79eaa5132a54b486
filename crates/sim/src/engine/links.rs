//! Links that know at once when a packet leaves, so that no packet needs an event.

use super::simulation::Simulation;
use super::taps;
use super::wire::Wire;
use crate::capture::Data;
use crate::header::Header;
use crate::tcp::Transmit;
use crate::RunError;
use ackclock_net::impair::DropPattern;
use ackclock_net::link::{Bottleneck, LinkState, Predicted};
use ackclock_net::queue::Cause;

/// The links, and the losses of data before them. Route `i` is link `i`.
pub(super) struct Links {
    pub(super) links: Vec<Predicted>,
    pub(super) losses: Vec<DropPattern>,
}

impl Links {
    pub(super) fn new(links: &[Bottleneck]) -> Self {
        let loss =
            |link: &Bottleneck| DropPattern::new(link.drop_every_packets, &link.drop_packets);
        Self {
            links: links.iter().map(Predicted::new).collect(),
            losses: links.iter().map(loss).collect(),
        }
    }
}

/// Offers a packet to a link. Returns when it leaves; `None`: it is dropped.
fn enqueue(link: &mut Predicted, long_way: bool, now_ns: u64, bytes: u32) -> Option<u64> {
    match long_way {
        true => link.enqueue_the_long_way(now_ns, bytes),
        false => link.enqueue(now_ns, bytes),
    }
}

impl Wire for Links {
    #[inline]
    fn offer(sim: &mut Simulation<'_, Self>, element: usize, now_ns: u64, burst: Transmit) {
        let flow = &mut sim.flows[element];
        let route = flow.path.data;
        let (link, loss) = (&mut sim.wire.links[route], &mut sim.wire.losses[route]);
        // The last segments may be smaller, some are lost before the link, and some are captured.
        let plain = burst.range().end < flow.segments
            && sim.capture.is_none()
            && !sim.long_way
            && loss.passes(burst.segments);
        if !plain {
            sim.offer_each(element, now_ns, burst);
            return;
        }
        let dropped = flow.carry(link, &mut sim.hash, now_ns, burst);
        sim.census.dropped += dropped;
        sim.census.received += u64::from(burst.segments) - dropped;
    }

    fn send(
        sim: &mut Simulation<'_, Self>,
        element: usize,
        now_ns: u64,
        route: usize,
        header: Header,
    ) {
        let flow = &mut sim.flows[element];
        let (link, bytes) = (&mut sim.wire.links[route], header.bytes(flow.scenario));
        let departs_ns = enqueue(link, sim.long_way, now_ns, bytes);
        match (header, departs_ns) {
            (Header::Ack(ack), Some(departs_ns)) => flow.send_ack(departs_ns, ack),
            (Header::Ack(_), None) => sim.census.acks_dropped += 1,
            (header, departs_ns) => {
                let field = flow.control_field();
                sim.control_left(element, &header, departs_ns, field);
            }
        }
    }

    #[inline]
    fn run_fast(
        sim: &mut Simulation<'_, Self>,
        until_ns: u64,
        left: &mut u32,
    ) -> Result<bool, RunError> {
        sim.run_fast(until_ns, left)?;
        Ok(true)
    }

    fn watch(&mut self) {
        self.losses.iter_mut().for_each(|loss| loss.watch(true));
    }

    fn links(&self) -> usize {
        self.links.len()
    }

    fn state(&mut self, link: usize, now_ns: u64) -> LinkState {
        let mut state = self.links[link].state(now_ns);
        state.totals.lost_packets = self.losses[link].dropped_packets();
        state
    }
}

impl Simulation<'_, Links> {
    /// Offers the packets of a burst one by one.
    #[cold]
    pub(super) fn offer_each(&mut self, element: usize, now_ns: u64, burst: Transmit) {
        let flow = (element, &self.flows[element]);
        taps::sent(&mut self.capture, flow, now_ns, burst);
        let flow = &mut self.flows[element];
        let route = flow.path.data;
        let (link, loss) = (&mut self.wire.links[route], &mut self.wire.losses[route]);
        for segment in burst.range() {
            let (aims, number) = (&mut self.aims, element as u32);
            let departs_ns = if flow.has_data(segment)
                && loss.is_due()
                && loss.judge(aims.drops(number), || aims.keeps(number))
            {
                Err(Cause::Loss)
            } else {
                let bytes = flow.packet_bytes(segment);
                let departs_ns = enqueue(link, self.long_way, now_ns, bytes);
                let keeps = departs_ns.is_none() && aims.keeps(number);
                let beyond_ns = keeps.then(|| link.enqueue_beyond(now_ns, bytes));
                departs_ns.or(beyond_ns).ok_or(Cause::Full)
            };
            if aims.are_over() {
                loss.watch(false);
            }
            match departs_ns {
                Ok(departs_ns) => {
                    self.hash.add(departs_ns);
                    self.census.received += 1;
                    let at_ns = departs_ns + flow.forth_ns;
                    match &mut self.capture {
                        None => {
                            flow.receive(at_ns, now_ns, segment, burst);
                        }
                        Some(capture) => {
                            let data = Data::new(segment, now_ns, burst);
                            taps::receive(capture, (element, flow), at_ns, data);
                        }
                    }
                }
                Err(cause) => {
                    self.hash.add(segment);
                    flow.dropped(segment, cause);
                    self.census.dropped += 1;
                }
            }
        }
    }
}
