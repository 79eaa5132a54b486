//! A receiver whose application reads at a rate of its own ([`Reader`]): the window falls, closes, and opens
//! again as it reads (`__tcp_cleanup_rbuf`), and probes of a closed window are answered.

use super::super::ack::Ack;
use super::reader::Reader;
use super::Receiver;
use ackclock_net::schedule::NEVER;

/// `tcp_invalid_ratelimit`: of packets without data that were out of the window, more are not answered.
const PROBES_US: u64 = 500_000;

impl Receiver {
    /// Its application reads at these rates, bit/s, from these times on, ns. It needs a
    /// [`ReceiveBuffer`](super::ReceiveBuffer).
    pub fn read_slowly(&mut self, steps: impl Iterator<Item = (u64, u64)>) {
        if let Some(tuned) = &mut self.tuned {
            tuned.reader = Some(Reader::new(steps));
        }
        // There always is a reader that acknowledges what it reads.
        self.reads_at = 0;
    }

    fn reader(&mut self) -> Option<&mut Reader> {
        self.tuned.as_mut()?.reader.as_mut()
    }

    pub(super) fn reads_slowly(&self) -> bool {
        (self.tuned.as_ref()).is_some_and(|tuned| tuned.reader.is_some())
    }

    /// Whether what is due at this time is the reader, which comes after the packets of the instant.
    #[cold]
    pub(crate) fn only_reads(&self, at_ns: u64) -> bool {
        let reader = self.tuned.as_ref().and_then(|tuned| tuned.reader.as_ref());
        if reader.is_none() {
            return self.only_reads_batch(at_ns);
        }
        let timers_ns = |of: &Reader| of.compressed_at_ns.min(of.probe_at_ns);
        reader.is_some_and(|of| timers_ns(of).min(self.delayed_ack_at_ns) > at_ns)
    }

    /// A compressed ACK leaves at this time. Sets when something is due besides delayed ACKs.
    #[cold]
    pub(super) fn await_reader(&mut self, compressed_at_ns: u64) {
        let Some(tuned) = &mut self.tuned else {
            return;
        };
        let waits = tuned.queue.has_unread();
        let Some(reader) = &mut tuned.reader else {
            return;
        };
        reader.compressed_at_ns = compressed_at_ns;
        let reads_ns = reader.reads_at_ns(waits).min(reader.probe_at_ns);
        self.compressed_at_ns = reads_ns.min(compressed_at_ns);
    }

    /// A packet that probes the window arrives at this time.
    #[cold]
    pub(crate) fn on_window_probe(&mut self, at_ns: u64) {
        if let Some(reader) = self.reader() {
            reader.probe_at_ns = at_ns;
            let compressed_at_ns = reader.compressed_at_ns;
            self.await_reader(compressed_at_ns);
        }
    }

    /// Handles what is due besides delayed ACKs; `None`: nothing, or a delayed ACK comes first.
    #[cold]
    pub(super) fn handle_rare(&mut self, now_ns: u64) -> Option<Option<Ack>> {
        if self.batch.is_some() {
            return self.handle_batch(now_ns);
        }
        let (jiffies, most) = (self.clock.jiffies(), self.clock.jiffies_of_us(PROBES_US));
        let delayed_at_ns = self.delayed_ack_at_ns;
        let Some(reader) = self.reader().filter(|of| of.compressed_at_ns > now_ns) else {
            return Some(Some(self.ack()));
        };
        if reader.probe_at_ns <= now_ns {
            reader.probe_at_ns = NEVER;
            let answers = reader.answered.is_none_or(|at| jiffies - at >= most);
            if answers {
                reader.answered = Some(jiffies);
                return Some(Some(self.ack()));
            }
            let compressed_at_ns = reader.compressed_at_ns;
            self.await_reader(compressed_at_ns);
            return Some(None);
        }
        (delayed_at_ns > now_ns).then(|| self.read_if_due(None))
    }

    /// The application reads a segment if it is time (`tcp_recvmsg`). Returns `answer`, or the ACK that reading
    /// causes.
    pub(super) fn read_if_due(&mut self, answer: Option<Ack>) -> Option<Ack> {
        let (now_ns, bytes) = (self.clock.now_ns(), self.advertised.segment_bytes().into());
        let (next, rtt) = (
            self.rcv_nxt,
            self.rtt.as_ref().map_or(0, |rtt| rtt.estimate()),
        );
        let mut tuned = self.tuned.take()?;
        let reader = tuned.reader.as_mut()?;
        let compressed_at_ns = reader.compressed_at_ns;
        let reads = reader.reads(now_ns, bytes, tuned.queue.has_unread());
        let read = tuned.queue.read() + u64::from(reads);
        let mut answers = false;
        if reads {
            tuned.queue.read_to(read);
            tuned.reads(read, next - read, now_ns / 1_000, rtt);
            let arrived = next - self.last_ack_sent;
            let ends = self.pushed && read == next && self.out_of_order.is_empty();
            answers = self.scheduled && (arrived >= self.enough || ends);
            if !answers {
                let (doubles, is_tight) = tuned.doubles(next);
                answers = doubles;
                if is_tight {
                    self.quick_acks = 0;
                }
            }
        }
        self.tuned = Some(tuned);
        self.await_reader(compressed_at_ns);
        answer.or_else(|| answers.then(|| self.ack()))
    }
}
