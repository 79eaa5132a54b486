//! Packets that hosts offer to the network.

use super::evented::Header;
use super::{taps, Path, Simulation};
use crate::capture::Data;
use crate::flow::Phase;
use crate::tcp::{Ack, Transmit};
use ackclock_net::link::Predicted;
use ackclock_net::queue::{Cause, Ecn};

/// IP bytes of a SYN and of a bare ACK, with timestamps.
pub(super) const SYN_BYTES: u32 = 60;
pub(super) const ACK_BYTES: u32 = 52;
/// Bytes of the SACK option, padded, and of each of its blocks.
const SACK_BYTES: u32 = 4;
const SACK_BLOCK_BYTES: u32 = 8;

/// Offers a packet to a link that predicts departures. Returns when it leaves; `None`: it is dropped.
fn enqueue(link: &mut Predicted, long_way: bool, now_ns: u64, bytes: u32) -> Option<u64> {
    match long_way {
        true => link.enqueue_the_long_way(now_ns, bytes),
        false => link.enqueue(now_ns, bytes),
    }
}

impl Simulation<'_> {
    /// Sends the packets that the sender has ready, through the bottleneck to the receiver.
    #[inline(never)]
    pub(super) fn transmit(&mut self, element: usize, now_ns: u64) {
        loop {
            let flow = &mut self.flows[element];
            let Phase::Open(connection) = &mut flow.phase else {
                return;
            };
            let Some(burst) = connection.sender.poll_transmit(now_ns) else {
                return;
            };
            self.census.sent += u64::from(burst.segments);
            let route = flow.way.data;
            let Path::Predicted { links, losses } = &mut self.path else {
                self.send_burst(element, now_ns, burst);
                continue;
            };
            let (link, loss) = (&mut links[route], &mut losses[route]);
            // The last segment may be smaller, some are lost before the link, and some are captured.
            let plain = burst.range().end != flow.segments
                && self.capture.is_none()
                && !self.long_way
                && loss.passes(burst.segments);
            if !plain {
                self.transmit_each(element, now_ns, burst);
                continue;
            }
            let dropped = flow.carry(link, &mut self.hash, now_ns, burst);
            self.census.dropped += dropped;
            self.census.received += u64::from(burst.segments) - dropped;
        }
    }

    /// Sends the packets of a burst one by one.
    #[cold]
    pub(super) fn transmit_each(&mut self, element: usize, now_ns: u64, burst: Transmit) {
        self.tap_sent(element, now_ns, burst);
        let flow = &mut self.flows[element];
        let route = flow.way.data;
        let Path::Predicted { links, losses } = &mut self.path else {
            return;
        };
        for segment in burst.range() {
            let departure = if losses[route].drops() {
                Err(Cause::Loss)
            } else {
                let bytes = flow.packet_bytes(segment);
                let departs_ns = enqueue(&mut links[route], self.long_way, now_ns, bytes);
                departs_ns.ok_or(Cause::Full)
            };
            match departure {
                Ok(departs_ns) => {
                    self.hash.add(departs_ns);
                    self.census.received += 1;
                    let at_ns = departs_ns + flow.forth_ns;
                    match &mut self.capture {
                        None => flow.receive_any(at_ns, now_ns, segment, burst),
                        Some(capture) => {
                            let data = Data::new(segment, now_ns, burst);
                            taps::receive(capture, (element, flow), at_ns, data);
                        }
                    }
                }
                Err(cause) => {
                    self.hash.add(segment);
                    flow.dropped(cause);
                    self.census.dropped += 1;
                }
            }
        }
    }

    /// Sends an ACK of a receiver, through the queue on the way back if there is one.
    pub(super) fn acknowledge(&mut self, element: usize, now_ns: u64, ack: Ack) {
        let flow = &mut self.flows[element];
        if let Some(capture) = &mut self.capture {
            capture.clock(now_ns);
            capture.ack_leaves(now_ns, element, flow.control_field(), &ack);
        }
        let Some(route) = flow.way.acks else {
            flow.send_ack(now_ns, ack);
            return;
        };
        self.census.acks_sent += 1;
        let blocks = ack.sacks().len() as u32;
        let option = if blocks > 0 {
            SACK_BYTES + blocks * SACK_BLOCK_BYTES
        } else {
            0
        };
        let bytes = ACK_BYTES + option;
        let Path::Predicted { links, .. } = &mut self.path else {
            let (field, header) = (flow.control_field(), Header::Ack(ack));
            self.send(element, now_ns, route, bytes, field, header);
            return;
        };
        match enqueue(&mut links[route], self.long_way, now_ns, bytes) {
            Some(departs_ns) => flow.send_ack(departs_ns, ack),
            None => self.census.acks_dropped += 1,
        }
    }

    /// Sends a packet of a handshake on a route.
    pub(super) fn control(&mut self, element: usize, now_ns: u64, route: usize, header: Header) {
        let field = self.flows[element].control_field();
        let bytes = match header {
            Header::Established => ACK_BYTES,
            _ => SYN_BYTES,
        };
        let Path::Predicted { links, .. } = &mut self.path else {
            self.send(element, now_ns, route, bytes, field, header);
            return;
        };
        let departs_ns = enqueue(&mut links[route], self.long_way, now_ns, bytes);
        self.control_left(element, &header, departs_ns, field);
    }

    /// A packet of a handshake has left its last link, or `None`: it is dropped.
    pub(super) fn control_left(
        &mut self,
        element: usize,
        header: &Header,
        departs_ns: Option<u64>,
        field: Ecn,
    ) {
        let flow = &mut self.flows[element];
        if let (Some(capture), Some(at_ns)) = (&mut self.capture, departs_ns) {
            taps::control(capture, (element, flow), at_ns, field, header);
        }
        flow.control_left(header, departs_ns);
    }
}
