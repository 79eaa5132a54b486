//! A session: a source of connections that waits, connects, sends, and starts again. Long runs have
//! millions of transfers, so a session keeps totals, and one row per transfer.

use crate::flow::LastFin;
use crate::record::{SessionRow, TransferRow};
use crate::scenario::{
    Connections, Scenario, Session as SessionScenario, Sizes, MAX_TRANSFER_BYTES,
};
use crate::tcp::Sender;
use ackclock_host::{CaState, TCP_INFINITE_SSTHRESH};
use ackclock_net::rng::{Draw, Owner, Stream};
use ackclock_net::schedule::NEVER;

pub(crate) struct Session {
    mean_bytes: Option<u64>,
    sizes: Sizes,
    gap_ns: u64,
    gap_stream: Stream,
    size_stream: Stream,
    /// Whether the route keeps an ssthresh.
    route_ssthresh: bool,
    /// Slow start ends at ssthresh, and not above (`tcp_in_slow_start`, Linux 3.19).
    is_new: bool,
    /// ssthresh at the start of the next connection.
    ssthresh: u32,
    /// Totals of the connections that have ended.
    over: SessionRow,
    /// Receivers of these that may send their FIN again.
    fins: Vec<LastFin>,
}

impl Scenario {
    /// The connections of a session, as many as fit in the run.
    pub fn connections(&self, session: usize) -> Connections {
        let (number, of) = (session as u32 + 1, &self.sessions[session]);
        let mut start = Stream::for_owner(self.seed, Owner::Session(number), Draw::Start);
        let mut source = Session::new(number, self, of);
        let most = self.duration_ns / (2 * of.flow.rtt_ns).max(1) + 1;
        let mut rtt = Stream::for_owner(self.seed, Owner::Session(number), Draw::Rtt);
        let mut rtt_ns = || of.flow.rtt_ns + rtt.exponential(of.flow.rtt_exponential_ns);
        let draw = |_| (source.draw_gap_ns(), source.draw_bytes(), rtt_ns());
        let start_ns = of.flow.start_ns + start.up_to(of.flow.start_spread_ns);
        (start_ns, (0..most).map(draw).collect())
    }
}

impl Session {
    pub(crate) fn new(number: u32, scenario: &Scenario, session: &SessionScenario) -> Self {
        let stream = |draw| Stream::for_owner(scenario.seed, Owner::Session(number), draw);
        Self {
            mean_bytes: session.flow.size_bytes,
            sizes: session.sizes,
            gap_ns: session.gap_ns,
            gap_stream: stream(Draw::Gap),
            size_stream: stream(Draw::Size),
            route_ssthresh: session.route_ssthresh,
            is_new: scenario.profile_of(&session.flow).is_new(),
            ssthresh: (session.flow.initial_ssthresh_packets).unwrap_or(TCP_INFINITE_SSTHRESH),
            over: SessionRow {
                session: number,
                ..SessionRow::default()
            },
            fins: Vec::new(),
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

    /// ssthresh at the start of the next connection.
    pub(crate) fn ssthresh(&self) -> u32 {
        self.ssthresh
    }

    /// Adds a completed transfer to the totals, and what its connection teaches the route.
    pub(crate) fn complete(&mut self, transfer: &TransferRow, sender: &Sender) {
        let (sent, retransmitted, _) = sender.totals();
        self.over.transfers += 1;
        self.over.delivered_bytes += transfer.size_bytes;
        self.over.sent_packets += sent;
        self.over.retransmitted_packets += retransmitted;
        if self.route_ssthresh {
            let tp = sender.tp();
            let open = tp.inet_conn.icsk_ca_state == CaState::Open as u8;
            let passed = tp.snd_cwnd + u32::from(self.is_new) > tp.snd_ssthresh;
            let measured = passed && open;
            self.ssthresh =
                ssthresh_of_route(self.ssthresh, tp.snd_cwnd, tp.snd_ssthresh, measured);
        }
    }

    /// A receiver has sent its FIN.
    pub(crate) fn await_last_ack(&mut self, fin: LastFin) {
        self.fins.push(fin);
    }

    /// The answer to the FIN of this connection reaches its receiver.
    pub(crate) fn last_ack_arrives(&mut self, connection: u32, at_ns: u64) {
        self.fins
            .iter_mut()
            .filter(|fin| fin.connection == connection)
            .for_each(|fin| fin.hears(at_ns));
        self.fins.retain(|fin| fin.reaches_ns() < NEVER);
    }

    /// When a FIN next reaches the sender's host again.
    pub(crate) fn next_fin_ns(&self) -> u64 {
        let times_ns = self.fins.iter().map(LastFin::reaches_ns);
        times_ns.min().unwrap_or(NEVER)
    }

    /// FINs reach the sender's host again. Returns of which connections its host answers them.
    pub(crate) fn take_fins(&mut self, now_ns: u64) -> Vec<u32> {
        let due = (self.fins.iter_mut()).filter(|fin| fin.reaches_ns() <= now_ns);
        let answered = due.filter_map(|fin| fin.answers().then_some(fin.connection));
        let answered = answered.collect();
        self.fins.retain(|fin| fin.reaches_ns() < NEVER);
        answered
    }

    /// Totals of the connections that have ended.
    pub(crate) fn over(&self) -> SessionRow {
        self.over.clone()
    }
}

/// What a route keeps of a connection that has ended (`tcp_update_metrics`); `TCP_INFINITE_SSTHRESH`:
/// nothing. `measured`: it was in congestion avoidance, and its state Open.
fn ssthresh_of_route(kept: u32, cwnd: u32, ssthresh: u32, measured: bool) -> u32 {
    let is_known = kept < TCP_INFINITE_SSTHRESH;
    if ssthresh >= TCP_INFINITE_SSTHRESH {
        // The first slow start has not ended.
        if is_known {
            kept.max(cwnd / 2)
        } else {
            kept
        }
    } else if measured {
        ssthresh.max(cwnd / 2)
    } else if is_known {
        kept.max(ssthresh)
    } else {
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked by hand from `tcp_update_metrics` of Linux 2.6.18: what was kept, the window and
    /// ssthresh at the end, whether the window is a measurement, and what is kept then.
    #[test]
    fn what_a_route_keeps() {
        const NONE: u32 = TCP_INFINITE_SSTHRESH;
        for (kept, cwnd, ssthresh, measured, expected) in [
            // Slow start without a loss teaches a route nothing that has no ssthresh yet.
            (NONE, 500, NONE, false, NONE),
            (100, 500, NONE, false, 250),
            (400, 500, NONE, false, 400),
            // Congestion avoidance: half of the window, or ssthresh if that is more. Lower, too.
            (NONE, 300, 200, true, 200),
            (900, 300, 200, true, 200),
            (900, 500, 200, true, 250),
            // In recovery, or below ssthresh: only upwards, and only if there is one.
            (NONE, 300, 200, false, NONE),
            (100, 300, 200, false, 200),
            (900, 300, 200, false, 900),
            (100, 200, 200, false, 200),
            (NONE, 150, 200, false, NONE),
        ] {
            let next = ssthresh_of_route(kept, cwnd, ssthresh, measured);
            assert_eq!(next, expected, "{kept} {cwnd} {ssthresh} {measured}");
        }
    }
}
