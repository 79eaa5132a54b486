//! Many flows take turns in rounds (ADR 18): a network that a simulation may [take](Many::take).
//!
//! Among many flows the state of each is far away in memory when its next event comes. But what a flow sends has no effect on it before its propagation delay
//! has passed. So if a round is no longer than that, all events of a flow in this round are known when
//! it begins. The flow handles them one behind the other, while its state is in the cache.
//!
//! What flows send is written down. At the end of a round the link takes the packets of all flows in
//! order of time: for that it needs no flow. In the next round each flow first gives its packets to its
//! receiver, and then its sender handles the ACKs.
//!
//! Result and hash are those of events in order of time. At equal times the flow with the lower number
//! goes first.

mod log;
mod packed;
mod resting;
mod round;
mod rounds;
mod turn;
mod windows;

use super::simulation::{share_jiffies, Simulation};
use super::wire::Wire;
use crate::census::TraceHash;
use crate::flow::Flow;
use crate::header::Header;
use crate::record::{EventRow, RunResult, SampleRow};
use crate::scenario::{Hides, Scenario};
use crate::tcp::Transmit;
use crate::topology::Topology;
use ackclock_net::buffer::Buffer;
use ackclock_net::impair::DropPattern;
use ackclock_net::link::{LinkState, Predicted, WaitingBriefly};
use resting::Resting;
use round::{Round, FLAGS, LOST, NO_ACK};

/// Rounds in the least propagation delay. With one a flow handles twice as many events in each, but what
/// flows send takes twice the memory; the time is the same.
const ROUNDS_PER_DELAY: u64 = 2;
/// A round is no longer, so that a SYN is repeated in a later one.
const LONGEST_NS: u64 = 500_000_000;
/// If fewer packets than this part of the flows leave the link in a round, a round brings nothing.
const MOST_FLOWS_PER_PACKET: u128 = 16;
/// Time and flow of what was recorded, and how many were recorded before it; then what.
type Row = ((u64, u32, u32), EventRow, Option<SampleRow>);

/// The link of flows that take turns in rounds.
pub(super) struct Many {
    link: Predicted<WaitingBriefly>,
    loss: DropPattern,
    length_ns: u64,
    /// When each flow wants to run next, if nothing arrives before.
    next_ns: Vec<u64>,
    /// The flows that have something to do in this round.
    due: Vec<u32>,
    /// How far the flows have taken the packets of the round before.
    taken: usize,
    resting: Resting,
    before: Round,
    now: Round,
    /// What flows have recorded in this round.
    rows: Vec<Row>,
}

impl Many {
    /// `None`: the flows of this scenario cannot take turns, or would do little in each.
    pub(super) fn take(
        scenario: &Scenario,
        topology: &Topology,
        flows: &mut [Flow<'_>],
    ) -> Option<Self> {
        if share_jiffies(scenario, flows.len()) {
            // In rounds the timers of an instant fire in the order of flows.
            return None;
        }
        let one_way = topology.paths.iter().all(|path| path.acks.is_none());
        let ([link], true, true) = (&topology.links[..], one_way, topology.is_predictable()) else {
            return None;
        };
        let delay_ns = |flow: &Flow<'_>| flow.forth_ns + flow.back.delay_ns();
        let length_ns = (flows.iter().map(delay_ns).min()? / ROUNDS_PER_DELAY).min(LONGEST_NS);
        let bytes = scenario.packet_bytes();
        let packets_in = |ns: u64| {
            let bits = u128::from(ns) * u128::from(link.rate_bps) / 1_000_000_000;
            bits / (u128::from(bytes) * 8)
        };
        let buffer_bytes = match link.buffer {
            Buffer::Packets(packets) => u128::from(packets) * u128::from(bytes),
            Buffer::Bytes(bytes) => bytes.into(),
        };
        let longest_queue_ns =
            buffer_bytes * 8_000_000_000 / u128::from(link.rate_bps) + 4 * u128::from(link.tick_ns);
        let fits = longest_queue_ns < u128::from(LOST) / 2
            && buffer_bytes < u128::from(WaitingBriefly::LIMIT) / 2
            && packets_in(scenario.duration_ns) < u128::from(NO_ACK) / 4
            && flows.len() < 1 << (u32::BITS - FLAGS);
        // The packets of a round are dropped, and read, in the next: too late for a look at their flow,
        // and a write may have ended since.
        let plain = scenario.flows.iter().all(|flow| {
            let reads = flow.read_rate_bps.is_none() && flow.gro_ns.is_none();
            let endless = flow.size_bytes.is_none() && flow.writes.is_empty();
            let ends_once = endless || flow.stop_ns.is_none();
            let equal = flow.mss_bytes.is_none() && flow.timestamps;
            flow.hides != Hides::Losses && reads && ends_once && equal
        });
        let plain = plain && scenario.sessions.is_empty() && scenario.sack_cost_ns == 0;
        let enough = packets_in(length_ns) >= (flows.len() as u128).div_ceil(MOST_FLOWS_PER_PACKET);
        if !(plain && fits && enough && length_ns > 0) {
            return None;
        }
        Some(Self {
            link: Predicted::new(link),
            loss: DropPattern::new(link.drop_every_packets, &link.drop_packets),
            length_ns,
            next_ns: flows.iter_mut().map(Flow::next_event_ns).collect(),
            due: Vec::new(),
            taken: 0,
            resting: Resting::new(flows.len()),
            before: Round::default(),
            now: Round::default(),
            rows: Vec::new(),
        })
    }

    /// Lists the flows that have something to do up to `until_ns`.
    fn list_due(&mut self, until_ns: u64) {
        self.due.clear();
        let mut sent = self
            .before
            .sent
            .iter()
            .map(|sent| sent.element() as u32)
            .peekable();
        for (element, &next_ns) in (0..).zip(&self.next_ns) {
            let mut due = next_ns <= until_ns;
            while sent.next_if_eq(&element).is_some() {
                due = true;
            }
            if due {
                self.due.push(element);
            }
        }
        self.taken = 0;
    }

    /// The round has ended: the link takes its packets, and the next begins.
    fn pass(&mut self, flows: &[Flow<'_>]) {
        let spare = &mut self.before;
        self.now.pass(&mut self.link, &mut self.loss, flows, spare);
        std::mem::swap(&mut self.before, &mut self.now);
    }

    /// Hands over what the flows of this round have recorded, in order of time.
    fn give_rows(&mut self, result: &mut RunResult) {
        self.rows.sort_unstable_by_key(|row| row.0);
        for (_, event, sample) in self.rows.drain(..) {
            result.events.push(event);
            if let Some(sample) = sample {
                result.samples.push(sample);
            }
        }
    }
}

impl Wire for Many {
    const IN_TURNS: bool = true;

    fn offer(sim: &mut Simulation<'_, Self>, element: usize, _now_ns: u64, burst: Transmit) {
        let last = burst.range().end >= sim.flows[element].segments;
        sim.wire.now.burst(burst, last);
    }

    fn send(
        sim: &mut Simulation<'_, Self>,
        _element: usize,
        _now_ns: u64,
        _route: usize,
        header: Header,
    ) {
        sim.wire.now.send(&header);
    }

    fn links(&self) -> usize {
        1
    }

    fn state(&mut self, _link: usize, now_ns: u64) -> LinkState {
        let mut state = self.link.state(now_ns);
        state.totals.lost_packets = self.loss.dropped_packets();
        state
    }

    fn begin(&mut self, _hash: &mut TraceHash, element: usize, _number: u32, now_ns: u64) {
        self.now.event(element, now_ns, None);
    }

    fn acked(&mut self, _hash: &mut TraceHash, segment: u64) {
        self.now.ack(segment);
    }

    fn record(
        sim: &mut Simulation<'_, Self>,
        element: usize,
        now_ns: u64,
        event: EventRow,
        sample: Option<SampleRow>,
    ) {
        let rows = &mut sim.wire.rows;
        let order = (now_ns, element as u32, rows.len() as u32);
        rows.push((order, event, sample));
    }
}
