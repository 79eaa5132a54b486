//! GRO of the receiver's device (`napi_gro_receive`, `tcp_gro_receive`): packets in sequence become one, of up
//! to 64 KiB, which TCP takes as one. It waits for more until the device has been quiet for a time
//! (`gro_flush_timeout`), until a packet comes in a later jiffy (`napi_gro_flush`), or for the end of a burst
//! (PSH, FIN, a short segment).

use super::super::ack::Ack;
use super::merged::{Gro, Packet};
use super::Receiver;
use ackclock_net::schedule::NEVER;

/// `GRO_LEGACY_MAX_SIZE`: one with its headers is shorter.
const MAX_BYTES: u32 = 65_536;

impl Receiver {
    /// Its device merges packets until it has been quiet for so long. `headers`: IP bytes of a packet without its
    /// segment.
    pub(crate) fn merge_packets(&mut self, quiet_ns: u64, segment_bytes: u32, headers: u32) {
        self.read_after_batches();
        let most = (MAX_BYTES - 1 - headers) / segment_bytes;
        if let Some(batch) = &mut self.batch {
            batch.gro = Some(Gro {
                quiet_ns,
                most: most.max(1).into(),
                held: None,
                flush_at_ns: NEVER,
                second: None,
                duplicate_segments: 1,
            });
        }
    }

    pub(super) fn gro(&mut self) -> Option<&mut Gro> {
        self.batch.as_mut()?.gro.as_mut()
    }

    /// Handles a packet that arrives at a device with GRO. Returns the ACKs that leave, in their order.
    #[cold]
    pub(crate) fn handle_packet(&mut self, now_ns: u64, packet: Packet) -> [Option<Ack>; 5] {
        self.clock.advance(now_ns);
        // The end of the handshake is lost, or comes later.
        self.established(now_ns);
        let jiffies = self.clock.jiffies();
        let stamps = (self.rtt.as_ref()).map_or((0, 0), |rtt| rtt.stamps_of(packet.sent_ns));
        let Some(gro) = self.gro() else {
            return [const { None }; 5];
        };
        let second = gro.second.take();
        let done = gro.receive(now_ns, jiffies, packet, stamps);
        self.await_flush();
        let [one, two] = done.map(|packet| packet.map_or([None, None], |packet| self.take(packet)));
        let ([a, b], [c, d]) = (one, two);
        [second, a, b, c, d]
    }

    /// The device has been quiet for long enough, if it has. Returns the ACK that leaves, if one does.
    #[cold]
    pub(super) fn flush(&mut self, now_ns: u64) -> Option<Option<Ack>> {
        let gro = self.gro().filter(|gro| gro.flush_at_ns <= now_ns)?;
        gro.flush_at_ns = NEVER;
        let (second, held) = (gro.second.take(), gro.held.take());
        self.await_flush();
        if second.is_some() {
            return Some(second);
        }
        let [early, answer] = self.take(held?.0);
        if early.is_none() {
            return Some(answer);
        }
        if let Some(gro) = self.gro().filter(|_| answer.is_some()) {
            (gro.second, gro.flush_at_ns) = (answer, now_ns);
            self.await_flush();
        }
        Some(early)
    }

    /// TCP takes a packet.
    fn take(&mut self, packet: Packet) -> [Option<Ack>; 2] {
        if let Some(echo) = &mut self.echo {
            let old = packet.first + packet.segments < self.last_ack_sent;
            self.acks_now |= echo.take_marks(packet.marks, old);
        }
        let (first, segments) = (packet.first, packet.segments);
        let answer = self.handle_any(first, segments, packet.sent_ns, packet.pushed, packet.last);
        let early = self.echo.as_mut().and_then(|echo| echo.early.take());
        [early, answer]
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::ecn::Marks;
    use super::super::super::profile::{Kernel, Switches};
    use super::*;
    use crate::scenario::Profile;

    const US: u64 = 1_000;
    const MS: u64 = 1_000 * US;

    /// Packets that arrive 12 us apart, as Linux 6.12 merges them: 45 of 1448 bytes each are one, a tick
    /// or PSH ends one, and one that waits leaves after 20 us. Quick ACKs answer each of them.
    #[test]
    fn a_packet_ends() {
        let kernel = Kernel::for_profile(Profile::Linux6);
        let switches = Switches::usual(Profile::Linux6);
        let mut receiver = Receiver::new(&kernel, &switches, kernel.clock(1000, 0), 4 * MS);
        receiver.merge_packets(20 * US, 1448, 52);
        let (mut next, mut acks) = (0, Vec::new());
        let mut arrive = |from_ns: u64, segments: u64, pushed: bool| {
            for each in 0..=segments {
                // After the last packet the device becomes quiet.
                let quiet_ns = if each == segments { 8 * US + 1 } else { 0 };
                let now_ns = from_ns + each * 12 * US + quiet_ns;
                while receiver.poll_timeout() < now_ns {
                    let due_ns = receiver.poll_timeout();
                    let answer = receiver.handle_timeout(due_ns);
                    acks.extend(answer.map(|ack| (due_ns, ack.ack)));
                }
                if each == segments {
                    break;
                }
                let packet = Packet {
                    first: next,
                    segments: 1,
                    sent_ns: from_ns - 2 * MS,
                    marks: Marks::default(),
                    pushed: pushed && each + 1 == segments,
                    last: false,
                    is_full: true,
                    has_data: true,
                };
                next += 1;
                let answers = receiver.handle_packet(now_ns, packet);
                acks.extend(answers.into_iter().flatten().map(|ack| (now_ns, ack.ack)));
            }
            std::mem::take(&mut acks)
        };
        let at = |us| 100 * MS + us * US;
        // The 46th begins another.
        let full = arrive(at(100), 50, false);
        assert_eq!(full, [(at(640), 45), (at(708), 50)]);
        assert_eq!(arrive(at(800), 3, true), [(at(824), 53)]);
        // The tick at 101 ms: the first packet after it joins, and ends it.
        assert_eq!(arrive(at(980), 4, false), [(at(1004), 56), (at(1036), 57)]);
    }

    /// What follows a gap is another packet, and so is what echoes another timestamp.
    #[test]
    fn a_gap_ends_a_packet() {
        let new = |first| Packet {
            first,
            segments: 1,
            sent_ns: 0,
            marks: Marks::default(),
            pushed: false,
            last: false,
            is_full: true,
            has_data: true,
        };
        let mut gro = Gro {
            quiet_ns: 20 * US,
            most: 45,
            held: None,
            flush_at_ns: NEVER,
            second: None,
            duplicate_segments: 1,
        };
        let mut ranges = Vec::new();
        for (first, stamps) in [
            (0, (1, 1)),
            (1, (1, 1)),
            (3, (1, 1)),
            (4, (1, 1)),
            (5, (1, 2)),
        ] {
            let done = gro.receive(first * 12 * US, 0, new(first), stamps);
            ranges.extend(done.into_iter().flatten().map(|of| (of.first, of.segments)));
        }
        assert_eq!(ranges, [(0, 2), (3, 2)]);
        assert_eq!(gro.flush_at_ns, 80 * US);
    }
}
