//! Packets that a device merges, and what it holds of a flow (`tcp_gro_receive`).

use super::super::ack::Ack;
use super::super::ecn::Marks;
use ackclock_net::schedule::NEVER;

/// A packet for TCP, of one segment or more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) first: u64,
    pub(crate) segments: u64,
    pub(crate) sent_ns: u64,
    pub(crate) marks: Marks,
    pub(crate) pushed: bool,
    /// It ends the flow.
    pub(crate) last: bool,
    /// Whether it has a full segment, or at least data.
    pub(crate) is_full: bool,
    pub(crate) has_data: bool,
}

/// What a device holds of a flow.
#[derive(Debug)]
pub(super) struct Gro {
    pub(super) quiet_ns: u64,
    /// Most segments of a packet.
    pub(super) most: u64,
    /// The packet, its timestamps, and the jiffy in which its first segment came.
    pub(super) held: Option<(Packet, (u64, u64), u64)>,
    pub(super) flush_at_ns: u64,
    /// The second ACK of a packet that was flushed.
    pub(super) second: Option<Ack>,
    /// Segments of the duplicate that the next ACK reports.
    pub(super) duplicate_segments: u64,
}

impl Gro {
    /// Segments that are held.
    pub(super) fn waiting(&self) -> u64 {
        self.held.map_or(0, |(packet, ..)| packet.segments)
    }

    /// Handles a packet in this jiffy. Returns what goes to TCP.
    pub(super) fn receive(
        &mut self,
        now_ns: u64,
        jiffies: u64,
        new: Packet,
        stamps: (u64, u64),
    ) -> [Option<Packet>; 2] {
        let ends = new.pushed || new.last || !new.is_full;
        let most = self.most;
        let joined = self.held.as_mut().filter(|(packet, of, _)| {
            packet.first + packet.segments == new.first
                && packet.segments < most
                && *of == stamps
                && new.has_data
                && (packet.marks.field, false) == (new.marks.field, new.marks.cwr)
        });
        let done = if let Some((packet, ..)) = joined {
            packet.segments += 1;
            (packet.pushed, packet.last) = (new.pushed, new.last);
            let is_done = ends || self.held.is_some_and(|(.., since)| since != jiffies);
            [self.held.take_if(|_| is_done), None].map(|held| held.map(|(packet, ..)| packet))
        } else {
            let before = self.held.take().map(|(packet, ..)| packet);
            self.held = (!ends).then_some((new, stamps, jiffies));
            [before, ends.then_some(new)]
        };
        self.flush_at_ns = match self.held {
            Some(_) => now_ns + self.quiet_ns,
            None => NEVER,
        };
        done
    }
}
