//! Packets that arrive at one instant, as from one poll of a network card: the application reads after all of
//! them (it runs when NET_RX has ended), so that one ACK may leave for all (`__tcp_cleanup_rbuf`).

use super::super::ack::Ack;
use super::reader::Batch;
use super::Receiver;
use ackclock_net::schedule::NEVER;

impl Receiver {
    /// Several packets may arrive at one instant.
    pub fn read_after_batches(&mut self) {
        self.batch = Some(Box::new(Batch {
            reads_at_ns: NEVER,
            compressed_at_ns: NEVER,
            gro: None,
        }));
        self.long_way = true;
    }

    /// The application will read what has come, if packets may come together. Returns whether it will.
    #[inline(always)]
    pub(super) fn reads_later(&mut self) -> bool {
        self.batch.is_some() && self.read_later()
    }

    #[cold]
    fn read_later(&mut self) -> bool {
        let now_ns = self.clock.now_ns();
        if let Some(batch) = &mut self.batch {
            // `tcp_grow_window`, until the application asks for a smaller window: after the first read.
            let grows = batch.reads_at_ns == now_ns && self.reads_at == 1;
            if grows && self.clamped && self.advertised.grows() {
                self.quick_acks |= 1;
            }
            batch.reads_at_ns = now_ns;
            self.compressed_at_ns = batch.due_ns();
        }
        true
    }

    /// A compressed ACK leaves at this time, or none does.
    #[cold]
    pub(super) fn await_batch(&mut self, compressed_at_ns: u64) {
        if let Some(batch) = &mut self.batch {
            batch.compressed_at_ns = compressed_at_ns;
            self.compressed_at_ns = batch.due_ns();
        }
    }

    /// The device flushes what it holds at another time, or holds nothing.
    pub(super) fn await_flush(&mut self) {
        if let Some(batch) = &self.batch {
            self.compressed_at_ns = batch.due_ns();
        }
    }

    /// Whether what is due at this time is only the application, which comes after the packets of the instant.
    pub(crate) fn only_reads_batch(&self, at_ns: u64) -> bool {
        (self.batch.as_ref())
            .is_some_and(|of| of.compressed_at_ns.min(self.delayed_ack_at_ns) > at_ns)
    }

    /// Handles what is due besides delayed ACKs; `None`: a delayed ACK comes first.
    #[cold]
    pub(super) fn handle_batch(&mut self, now_ns: u64) -> Option<Option<Ack>> {
        // Of equal times: TIMER_SOFTIRQ is before NET_RX, and HRTIMER_SOFTIRQ, of compressed ACKs, behind it.
        if self.delayed_ack_at_ns > now_ns {
            if let Some(answer) = self.flush(now_ns) {
                return Some(answer);
            }
        }
        let batch = self.batch.as_mut()?;
        if batch.compressed_at_ns <= now_ns {
            return Some(Some(self.ack()));
        }
        if self.delayed_ack_at_ns <= now_ns {
            return None;
        }
        batch.reads_at_ns = NEVER;
        self.compressed_at_ns = batch.due_ns();
        Some(self.read_now(None))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::profile::{Kernel, Reads, Switches};
    use super::*;
    use crate::scenario::Profile;

    const MS: u64 = 1_000_000;

    /// Segments 0 to 2 come before the first read, so that each lets the window grow: 16 quick ACKs follow
    /// theirs. Later one ACK answers four that come together, when the application reads.
    #[test]
    fn one_ack_answers_a_batch() {
        let kernel = Kernel::for_profile(Profile::Linux6);
        let switches = Switches {
            reads: Reads::AtOnce,
            ..Switches::usual(Profile::Linux6)
        };
        let mut receiver = Receiver::new(&kernel, &switches, kernel.clock(1000, 0), 20 * MS);
        receiver.read_after_batches();
        let mut arrive = |now_ns: u64, segments: std::ops::Range<u64>| {
            let mut acks: Vec<_> = segments
                .filter_map(|each| receiver.handle_segment(now_ns, each, now_ns - MS, false, false))
                .map(|ack| ack.ack)
                .collect();
            assert_eq!(receiver.poll_timeout(), now_ns);
            assert!(receiver.only_reads_batch(now_ns));
            acks.extend(receiver.handle_timeout(now_ns).map(|ack| ack.ack));
            acks
        };
        assert_eq!(arrive(100 * MS, 0..3), [1, 2, 3]);
        for segment in 3..19 {
            let now_ns = (100 + segment) * MS;
            assert_eq!(arrive(now_ns, segment..segment + 1), [segment + 1]);
        }
        assert_eq!(arrive(120 * MS, 19..23), [23]);
        assert!(arrive(121 * MS, 23..24).is_empty());
        assert_eq!(arrive(122 * MS, 24..25), [25]);
    }
}
