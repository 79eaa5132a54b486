//! The network between the senders' host and the receivers' host: the bottleneck, then the delay of
//! each flow.
//!
//! As in the simulator, all propagation delay is behind the bottleneck, on the way back, where
//! packets are small.

use super::ring::Ring;
use ackclock_net::impair::EveryNth;
use ackclock_net::line::Line;
use ackclock_net::link::{Buffer, Predicted};
use ackclock_net::rng::{Draw, Owner, Stream};
use ackclock_net::schedule::{Schedule, NEVER};
use ackclock_sim::record::QueueRow;
use ackclock_sim::scenario::Scenario;
use std::collections::VecDeque;

/// The receiver of flow `i` (from 1) listens on this port plus `i`.
pub const FIRST_PORT: u16 = 20_000;
/// The largest packet without payload: IP and TCP headers with all options.
const MOST_HEADER_BYTES: usize = 80;

/// Which host a packet goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toward {
    /// Data that has passed the bottleneck.
    Receiver,
    /// Answers of the receiver, after the propagation delay.
    Sender,
}

/// A packet that is due.
#[derive(Debug, PartialEq, Eq)]
pub struct Due<'a> {
    /// The host that gets the packet.
    pub toward: Toward,
    /// Index of the flow, from 0.
    pub flow: usize,
    /// When the packet became due, nanoseconds from the start.
    pub due_ns: u64,
    /// The IP packet.
    pub bytes: &'a [u8],
}

/// A flow: its ACKs on their way to the sender.
#[derive(Debug)]
struct Flow {
    line: Line,
    acks: VecDeque<Ack>,
    dropped_packets: u64,
}

#[derive(Clone, Copy, Debug)]
struct Ack {
    due_ns: u64,
    len: usize,
    bytes: [u8; MOST_HEADER_BYTES],
}

/// The bottleneck and the delay lines, with their packets. Times are nanoseconds from the start.
#[derive(Debug)]
pub struct EmulatedDumbbell {
    link: Predicted,
    queue: Ring,
    flows: Vec<Flow>,
    /// Flow `i` is element `i`; the bottleneck comes last.
    schedule: Schedule,
    packet_bytes: usize,
    losses: EveryNth,
    lost_outside: u64,
}

impl EmulatedDumbbell {
    /// Makes an empty network, and allocates the memory of the queue.
    pub fn new(scenario: &Scenario) -> Self {
        let packet_bytes = scenario.packet_bytes() as usize;
        let (packets, bytes) = room(scenario);
        let count = scenario.flows.len();
        let flows = scenario.flows.iter().enumerate().map(|(index, flow)| {
            let bits = u128::from(scenario.bottleneck.rate_bps) * u128::from(flow.rtt_ns);
            let in_flight = (bits / 8_000_000_000 / packet_bytes as u128) as usize;
            let owner = Owner::Flow(index as u32 + 1);
            let jitter = Stream::of(scenario.seed, owner, Draw::Jitter);
            Flow {
                line: Line::new(flow.rtt_ns, scenario.jitter_ns, jitter),
                acks: VecDeque::with_capacity(2 * in_flight / count + 64),
                dropped_packets: 0,
            }
        });
        Self {
            link: Predicted::new(&scenario.bottleneck),
            queue: Ring::new(packets as usize, bytes as usize, packet_bytes),
            flows: flows.collect(),
            schedule: Schedule::new(count + 1),
            packet_bytes,
            losses: EveryNth::new(scenario.bottleneck.drop_every_packets),
            lost_outside: 0,
        }
    }

    /// The memory of the queue, so that the caller can lock it.
    pub fn memory(&self) -> &[u8] {
        self.queue.memory()
    }

    /// The buffer for the next packet from the senders' host; `None` if the queue's memory is full.
    #[inline]
    pub fn room(&mut self) -> Option<&mut [u8]> {
        self.queue.room(self.packet_bytes)
    }

    /// Gives the packet of `len` bytes in [`room`](Self::room) to the bottleneck.
    /// Returns the index of its flow; `None` if the packet belongs to no flow.
    #[inline]
    pub fn enqueue(&mut self, now_ns: u64, len: usize) -> Option<usize> {
        let packet = self.queue.room(self.packet_bytes)?.get(..len)?;
        let Some(header) = Header::of(packet) else {
            self.lost_outside += 1;
            return None;
        };
        let flow = self.flow(header.destination_port)?;
        if header.carries_data && self.losses.drops() {
            self.flows[flow].dropped_packets += 1;
            return Some(flow);
        }
        let Some(due_ns) = self.link.enqueue(now_ns, len as u32) else {
            self.flows[flow].dropped_packets += u64::from(header.carries_data);
            return Some(flow);
        };
        self.queue.push(len, flow as u32, due_ns);
        self.set_bottleneck();
        Some(flow)
    }

    /// Takes a packet from the receivers' host to the senders' host. Returns the index of its flow;
    /// `None` if the packet belongs to no flow.
    #[inline]
    pub fn answer(&mut self, now_ns: u64, packet: &[u8]) -> Option<usize> {
        let Some(header) = Header::of(packet).filter(|_| packet.len() <= MOST_HEADER_BYTES) else {
            self.lost_outside += 1;
            return None;
        };
        let flow = self.flow(header.source_port)?;
        let to_sender = &mut self.flows[flow];
        let mut ack = Ack {
            due_ns: to_sender.line.arrives_ns(now_ns),
            len: packet.len(),
            bytes: [0; MOST_HEADER_BYTES],
        };
        ack.bytes[..packet.len()].copy_from_slice(packet);
        if to_sender.acks.is_empty() {
            self.schedule.set(flow, ack.due_ns);
        }
        to_sender.acks.push_back(ack);
        Some(flow)
    }

    /// When the next packet is due; [`NEVER`] if the network is empty.
    #[inline]
    pub fn next_due_ns(&self) -> u64 {
        self.schedule.first().0
    }

    /// The packet that is due first; `None` if it is not due by `now_ns`.
    #[inline]
    pub fn first_due(&self, now_ns: u64) -> Option<Due<'_>> {
        let (due_ns, element) = self.schedule.first();
        if due_ns > now_ns {
            return None;
        }
        if let Some(flow) = self.flows.get(element) {
            let ack = flow.acks.front()?;
            return Some(Due {
                toward: Toward::Sender,
                flow: element,
                due_ns,
                bytes: &ack.bytes[..ack.len],
            });
        }
        let (due_ns, flow, bytes) = self.queue.front()?;
        Some(Due {
            toward: Toward::Receiver,
            flow: flow as usize,
            due_ns,
            bytes,
        })
    }

    /// Removes the packet that is due first.
    #[inline]
    pub fn pop(&mut self) {
        let (_, element) = self.schedule.first();
        if let Some(flow) = self.flows.get_mut(element) {
            flow.acks.pop_front();
            let next = flow.acks.front().map_or(NEVER, |ack| ack.due_ns);
            self.schedule.set(element, next);
        } else {
            self.queue.pop();
            self.set_bottleneck();
        }
    }

    /// The state of the bottleneck's queue at `now_ns`.
    pub fn queue_row(&mut self, now_ns: u64) -> QueueRow {
        QueueRow::of(now_ns, 1, &self.link.state(now_ns))
    }

    /// How many data packets of a flow the bottleneck has dropped.
    pub fn dropped_packets(&self, flow: usize) -> u64 {
        self.flows[flow].dropped_packets
    }

    /// How many packets were dropped because they are not TCP, or belong to no flow.
    pub fn lost_outside(&self) -> u64 {
        self.lost_outside
    }

    fn set_bottleneck(&mut self) {
        let due_ns = self.queue.front().map_or(NEVER, |(due_ns, ..)| due_ns);
        self.schedule.set(self.flows.len(), due_ns);
    }

    #[inline]
    fn flow(&mut self, port: u16) -> Option<usize> {
        let flow = usize::from(port.wrapping_sub(FIRST_PORT)).wrapping_sub(1);
        if flow < self.flows.len() {
            return Some(flow);
        }
        self.lost_outside += 1;
        None
    }
}

/// How many packets and bytes the queue must be able to hold.
pub(crate) fn room(scenario: &Scenario) -> (u64, u64) {
    // Packets that have left by the virtual clock wait here until they are written out.
    const LATE_PACKETS: u64 = 256;
    let packet_bytes = u64::from(scenario.packet_bytes());
    let (packets, bytes) = match scenario.bottleneck.buffer {
        Buffer::Packets(packets) => (packets, packets * packet_bytes),
        // The smallest packet is a bare ACK.
        Buffer::Bytes(bytes) => (bytes.div_ceil(u64::from(scenario.header_bytes)), bytes),
    };
    (packets + LATE_PACKETS, bytes + LATE_PACKETS * packet_bytes)
}

/// What the emulator reads of a packet.
struct Header {
    source_port: u16,
    destination_port: u16,
    carries_data: bool,
}

impl Header {
    #[inline]
    fn of(packet: &[u8]) -> Option<Self> {
        let ip_bytes = usize::from(packet.first()? & 0xf) * 4;
        let tcp = packet.get(ip_bytes..)?;
        if packet[0] >> 4 != 4 || *packet.get(9)? != 6 || tcp.len() < 20 {
            return None;
        }
        Some(Self {
            source_port: u16::from_be_bytes([tcp[0], tcp[1]]),
            destination_port: u16::from_be_bytes([tcp[2], tcp[3]]),
            carries_data: tcp.len() > usize::from(tcp[12] >> 4) * 4,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_net::link::Bottleneck;
    use ackclock_sim::scenario::{Flow, Profile, Reads};
    use proptest::prelude::*;

    fn scenario(rtts_ns: &[u64], jitter_ns: u64, bottleneck: Bottleneck) -> Scenario {
        let flow = |&rtt_ns| Flow::endless("reno", rtt_ns);
        Scenario {
            seed: 1,
            duration_ns: 1_000_000_000,
            profile: Profile::Linux6,
            hz: 250,
            mss_bytes: 1448,
            header_bytes: 52,
            jitter_ns,
            delayed_ack_segments: 2,
            reads: Reads::AtOnce,
            tso: true,
            pacing: false,
            bottleneck,
            links: Vec::new(),
            flows: rtts_ns.iter().map(flow).collect(),
            sessions: Vec::new(),
            sample_interval_ns: 0,
        }
    }

    fn bottleneck(buffer: Buffer) -> Bottleneck {
        Bottleneck::drop_tail(100_000_000, buffer)
    }

    /// An IPv4 TCP packet of `len` bytes.
    fn packet(source_port: u16, destination_port: u16, len: usize) -> Vec<u8> {
        let mut packet = vec![0; len];
        packet[0] = 0x45;
        packet[9] = 6;
        packet[20..22].copy_from_slice(&source_port.to_be_bytes());
        packet[22..24].copy_from_slice(&destination_port.to_be_bytes());
        packet[32] = 8 << 4;
        packet
    }

    fn offer(network: &mut EmulatedDumbbell, now_ns: u64, packet: &[u8]) -> Option<usize> {
        network.room().expect("room")[..packet.len()].copy_from_slice(packet);
        network.enqueue(now_ns, packet.len())
    }

    proptest! {
        /// Data leaves when the simulator's link says, to the nanosecond, whole and in order,
        /// however late the loop takes it out.
        #[test]
        fn carries_what_the_link_carries(
            packets in proptest::collection::vec((0_u64..200_000, 52_usize..1501, 0_u16..2), 1..200),
            buffer in prop_oneof![
                (1_u64..20).prop_map(Buffer::Packets),
                (1500_u64..20_000).prop_map(Buffer::Bytes)
            ],
            patience in 1_usize..40,
        ) {
            let scenario = scenario(&[40_000_000, 80_000_000], 0, bottleneck(buffer));
            let mut network = EmulatedDumbbell::new(&scenario);
            let mut link = Predicted::new(&scenario.bottleneck);
            let mut expected = VecDeque::new();
            let mut now_ns = 0;
            for (index, (gap_ns, len, flow)) in packets.into_iter().enumerate() {
                now_ns += gap_ns;
                let mut packet = packet(40_000, FIRST_PORT + 1 + flow, len);
                packet[4] = index as u8;
                prop_assert_eq!(offer(&mut network, now_ns, &packet), Some(usize::from(flow)));
                if let Some(due_ns) = link.enqueue(now_ns, len as u32) {
                    expected.push_back((due_ns, packet));
                }
                if index % patience == 0 {
                    while let Some(due) = network.first_due(now_ns) {
                        let (due_ns, packet) = expected.pop_front().expect("one more");
                        prop_assert_eq!((due.toward, due.due_ns), (Toward::Receiver, due_ns));
                        prop_assert_eq!(due.bytes, &packet[..]);
                        network.pop();
                    }
                    prop_assert!(expected.front().is_none_or(|(due_ns, _)| *due_ns > now_ns));
                }
            }
            prop_assert_eq!(network.queue_row(now_ns), QueueRow::of(now_ns, 1, &link.state(now_ns)));
            prop_assert_eq!(network.lost_outside(), 0);
        }

        /// Answers come out in order of the time at which they are due. Those of a flow keep their
        /// order.
        #[test]
        fn delays_answers(
            answers in proptest::collection::vec((0_u64..300_000, 0_u16..3), 1..200),
            jitter_ns in 0_u64..2_000_000,
        ) {
            let rtts_ns = [1_000_000, 40_000_000, 40_000_000];
            let scenario = scenario(&rtts_ns, jitter_ns, bottleneck(Buffer::Packets(10)));
            let mut network = EmulatedDumbbell::new(&scenario);
            let mut now_ns = 0;
            let mut sent: Vec<VecDeque<(u64, u8)>> = vec![VecDeque::new(); 3];
            for (index, (gap_ns, flow)) in answers.iter().enumerate() {
                now_ns += gap_ns;
                let mut packet = packet(FIRST_PORT + 1 + flow, 40_000, 52);
                packet[4] = index as u8;
                prop_assert_eq!(network.answer(now_ns, &packet), Some(usize::from(*flow)));
                sent[usize::from(*flow)].push_back((now_ns, index as u8));
            }
            let mut last_ns = 0;
            while let Some(due) = network.first_due(u64::MAX - 1) {
                let (sent_ns, mark) = sent[due.flow].pop_front().expect("one more");
                prop_assert_eq!((due.toward, due.bytes.len(), due.bytes[4]), (Toward::Sender, 52, mark));
                let late_ns = due.due_ns - sent_ns - rtts_ns[due.flow];
                prop_assert!(late_ns <= jitter_ns);
                prop_assert!(due.due_ns >= last_ns);
                last_ns = due.due_ns;
                network.pop();
            }
            prop_assert!(sent.iter().all(VecDeque::is_empty));
        }
    }

    #[test]
    fn loses_every_so_manieth_data_packet() {
        let every = Bottleneck {
            drop_every_packets: Some(3),
            ..bottleneck(Buffer::Packets(100))
        };
        let mut network = EmulatedDumbbell::new(&scenario(&[1_000_000], 0, every));
        for len in [1500, 52, 1500, 52, 1500, 1500] {
            offer(&mut network, 0, &packet(40_000, FIRST_PORT + 1, len));
        }
        assert_eq!(network.dropped_packets(0), 1);
        assert_eq!(network.queue_row(0).enqueued_packets, 5);
    }

    #[test]
    fn strangers_are_counted_and_not_carried() {
        let mut network =
            EmulatedDumbbell::new(&scenario(&[1_000_000], 0, bottleneck(Buffer::Packets(9))));
        let mut udp = packet(40_000, FIRST_PORT + 1, 100);
        udp[9] = 17;
        let no_flow = packet(40_000, FIRST_PORT + 2, 100);
        for stranger in [&udp[..], &no_flow, &[0x45], &[0x60; 100]] {
            assert_eq!(offer(&mut network, 0, stranger), None);
            assert_eq!(network.answer(0, stranger), None);
        }
        assert_eq!(
            network.answer(0, &packet(FIRST_PORT + 1, 40_000, 1500)),
            None
        );
        assert_eq!(network.lost_outside(), 9);
        assert_eq!(network.next_due_ns(), NEVER);
    }
}
