//! A session: a source of connections that waits, connects, sends, and starts again. Long runs have
//! millions of transfers, so a session keeps totals, and one row per transfer.

use crate::record::{SessionRow, TransferRow};
use crate::scenario::{Scenario, Session as SessionScenario, Sizes, MAX_TRANSFER_BYTES};
use crate::tcp::Sender;
use ackclock_net::rng::{Draw, Owner, Stream};

pub(crate) struct Session {
    mean_bytes: Option<u64>,
    sizes: Sizes,
    gap_ns: u64,
    gap_stream: Stream,
    size_stream: Stream,
    /// Totals of the connections that have ended.
    over: SessionRow,
}

impl Session {
    pub(crate) fn new(number: u32, scenario: &Scenario, session: &SessionScenario) -> Self {
        let stream = |draw| Stream::of(scenario.seed, Owner::Session(number), draw);
        Self {
            mean_bytes: session.flow.size_bytes,
            sizes: session.sizes,
            gap_ns: session.gap_ns,
            gap_stream: stream(Draw::Gap),
            size_stream: stream(Draw::Size),
            over: SessionRow {
                session: number,
                transfers: 0,
                delivered_bytes: 0,
                sent_packets: 0,
                retransmitted_packets: 0,
                dropped_packets: 0,
                recoveries: 0,
                timeouts: 0,
            },
        }
    }

    pub(crate) fn draw_gap_ns(&mut self) -> u64 {
        self.gap_stream.exponential(self.gap_ns)
    }

    /// Draws the size of the next transfer, bytes; `None` if the transfer has no end.
    pub(crate) fn draw_bytes(&mut self) -> Option<u64> {
        let mean = self.mean_bytes?;
        let bytes = match self.sizes {
            Sizes::Equal => return Some(mean),
            Sizes::Pareto(shape) => self
                .size_stream
                .pareto(mean as f64, f64::from(shape) / 1_000.0),
            Sizes::Lognormal(sigma) => self
                .size_stream
                .lognormal(mean as f64, f64::from(sigma) / 1_000.0),
        };
        // `as` saturates.
        Some((bytes.round() as u64).clamp(1, MAX_TRANSFER_BYTES))
    }

    /// Adds a completed transfer to the totals.
    pub(crate) fn complete(&mut self, transfer: &TransferRow, sender: &Sender) {
        let (sent, retransmitted, _) = sender.totals();
        self.over.transfers += 1;
        self.over.delivered_bytes += transfer.size_bytes;
        self.over.sent_packets += sent;
        self.over.retransmitted_packets += retransmitted;
    }

    /// Totals of the connections that have ended.
    pub(crate) fn over(&self) -> SessionRow {
        self.over.clone()
    }
}
