//! The network between the hosts, as a simulation drives it.

use super::simulation::Simulation;
use crate::census::TraceHash;
use crate::header::Header;
use crate::record::{EventRow, SampleRow};
use crate::tcp::Transmit;
use crate::RunError;
use ackclock_net::buffer::Buffer;
use ackclock_net::link::LinkState;
use ackclock_net::schedule::NEVER;

/// A network. Hosts [`offer`](Self::offer) it data, and [`send`](Self::send) it everything else. It
/// gives each packet to [`Flow`](crate::flow::Flow) when it knows when the packet leaves its last link:
/// at once, or at its [next event](Self::next_event_ns).
pub(super) trait Wire: Sized {
    /// Flows take turns: each handles all its events up to a time, and its receiver is behind.
    const IN_TURNS: bool = false;

    /// Takes the data packets of a burst.
    fn offer(sim: &mut Simulation<'_, Self>, element: usize, now_ns: u64, burst: Transmit);

    /// Takes an ACK or a packet of a handshake, for this route.
    fn send(
        sim: &mut Simulation<'_, Self>,
        element: usize,
        now_ns: u64,
        route: usize,
        header: Header,
    );

    /// When the next packet leaves a queue, if that is an event.
    fn next_event_ns(&self) -> u64 {
        NEVER
    }

    /// The room that the interface of a flow's sender has, if its queue is there.
    fn room(_sim: &mut Simulation<'_, Self>, _element: usize, _now_ns: u64) -> Buffer {
        Buffer::ENDLESS
    }

    /// Handles its events that are due.
    fn handle(_sim: &mut Simulation<'_, Self>, _now_ns: u64) {}

    /// Handles the events of flows up to `until_ns` on the fast path, at most `left`, which it counts
    /// down. Returns whether there is such a path.
    fn run_fast(
        _sim: &mut Simulation<'_, Self>,
        _until_ns: u64,
        _left: &mut u32,
    ) -> Result<bool, RunError> {
        Ok(false)
    }

    /// Data packets are [aimed](Simulation::aims) at: asks of each.
    fn watch(&mut self) {}

    /// How many links there are.
    fn links(&self) -> usize;

    /// A link at `now_ns`, after the events until then.
    fn state(&mut self, link: usize, now_ns: u64) -> LinkState;

    /// How many packets are in it, if they wait for events.
    fn packets(&self) -> u64 {
        0
    }

    /// The event of a flow begins: the element with this number.
    #[inline(always)]
    fn begin(&mut self, hash: &mut TraceHash, _element: usize, number: u32, now_ns: u64) {
        hash.add(now_ns ^ (u64::from(number) << 48));
    }

    /// The packet is an ACK of this segment.
    #[inline(always)]
    fn acked(&mut self, hash: &mut TraceHash, segment: u64) {
        hash.add(segment);
    }

    /// Rows that a flow has recorded.
    fn record(
        sim: &mut Simulation<'_, Self>,
        _element: usize,
        _now_ns: u64,
        event: EventRow,
        sample: Option<SampleRow>,
    ) {
        sim.result.events.push(event);
        if let Some(sample) = sample {
            sim.result.samples.push(sample);
        }
    }
}
