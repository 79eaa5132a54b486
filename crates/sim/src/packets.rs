//! The packets that a sender sends and gets, as rows of [`PacketTable`](crate::record::PacketTable).

use crate::record::{PacketKind, PacketRow, State};
use crate::tcp::{Ack, Sender, MOST_SACKS};
use ackclock_net::schedule::NEVER;

/// How much payload the packets of a flow have.
#[derive(Clone, Copy)]
pub(crate) struct Payload {
    segments: u64,
    mss_bytes: u64,
    last_bytes: u64,
}

impl Payload {
    /// Of so many segments, in packets of so many bytes, and the last, with such headers.
    pub(crate) fn new(header_bytes: u32, (segments, bytes, last): (u64, u32, u32)) -> Self {
        Self {
            segments,
            mss_bytes: (bytes - header_bytes).into(),
            last_bytes: (last - header_bytes).into(),
        }
    }

    /// All of it below a segment.
    pub(crate) fn below(self, segment: u64) -> u64 {
        if segment < self.segments {
            segment * self.mss_bytes
        } else {
            (self.segments - 1) * self.mss_bytes + self.last_bytes
        }
    }
}

impl PacketRow {
    /// The state of the sender of a flow, without a packet.
    pub(crate) fn from_sender(sender: &Sender, time_ns: u64, flow: u32, bytes: Payload) -> Self {
        let seen = sender.ack_row(time_ns, flow);
        let (rto_us, timer, fires_ns) = sender.timer();
        // Also while a probe leaves for the timer that has fired.
        let is_off = fires_ns == NEVER;
        let until_us = fires_ns.saturating_sub(time_ns) / 1_000;
        Self {
            time_ns,
            flow,
            una_bytes: bytes.below(seen.una),
            nxt_bytes: bytes.below(seen.nxt),
            cwnd_packets: seen.cwnd_packets,
            ssthresh_packets: seen.ssthresh_packets,
            srtt_us: seen.srtt_us,
            in_flight_packets: seen.in_flight_packets,
            rto_us,
            timer,
            timer_us: if is_off { 0 } else { until_us },
            state: State(sender.state() as u8),
            ..Self::default()
        }
    }

    /// The row of the data packet with this segment.
    pub(crate) fn of_data(&self, segment: u64, bytes: Payload) -> Self {
        Self {
            kind: PacketKind::Data,
            from_bytes: bytes.below(segment),
            to_bytes: bytes.below(segment + 1),
            ..self.clone()
        }
    }

    /// The row of an ACK.
    pub(crate) fn of_ack(self, ack: &Ack, bytes: Payload) -> Self {
        let mut blocks = [(0, 0); MOST_SACKS];
        for (block, &(from, to)) in blocks.iter_mut().zip(&*ack.sacks()) {
            *block = (bytes.below(from), bytes.below(to));
        }
        let [one, two, three, _] = blocks;
        Self {
            kind: PacketKind::Ack,
            ack_bytes: bytes.below(ack.ack),
            sack_1_from_bytes: one.0,
            sack_1_to_bytes: one.1,
            sack_2_from_bytes: two.0,
            sack_2_to_bytes: two.1,
            sack_3_from_bytes: three.0,
            sack_3_to_bytes: three.1,
            ..self
        }
    }
}
