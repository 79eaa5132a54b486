//! What a flow or session has done, for the tables of a result.

use super::{ConnectionState, Flow};
use crate::common_interval::Progress;
use crate::record::{FlowRow, SampleRow, SessionRow, State, TransferRow};
use crate::scenario::{Hides, Scenario};
use crate::session::Session;
use ackclock_host::TCP_INFINITE_SSTHRESH;
use ackclock_net::queue::Tally;
use ackclock_net::schedule::NEVER;

impl Flow<'_> {
    pub(super) fn delivered_bytes(&self, scenario: &Scenario, una: u64) -> u64 {
        // A FIN of its own has no bytes.
        let una = una.min(self.segments);
        let whole = una * u64::from(scenario.mss_of(self.scenario));
        if una < self.segments {
            whole
        } else {
            whole - u64::from(self.packet_bytes - self.last_packet_bytes)
        }
    }

    pub(crate) fn sample(&self, scenario: &Scenario, now_ns: u64) -> SampleRow {
        let mut row = SampleRow {
            time_us: now_ns / 1_000,
            flow: self.number,
            cwnd_packets: self.initial_cwnd(scenario),
            ssthresh_packets: TCP_INFINITE_SSTHRESH,
            ..SampleRow::default()
        };
        if let ConnectionState::Guest(guest) = &self.state {
            return self.guest_sample(scenario, &guest.state(), row);
        }
        if let ConnectionState::Open(connection) = &self.state {
            let sender = &connection.sender;
            let tp = sender.tp();
            let (_, retransmitted_packets, lost_packets) = sender.totals();
            row = SampleRow {
                cwnd_packets: tp.snd_cwnd,
                ssthresh_packets: tp.snd_ssthresh,
                srtt_us: tp.srtt_us >> 3,
                min_rtt_us: sender.min_rtt_us(),
                in_flight_packets: sender.packets_in_flight(),
                delivered_packets: sender.delivered_packets(),
                delivered_bytes: self.delivered_bytes(scenario, sender.una()),
                lost_packets,
                retransmitted_packets,
                state: State(tp.inet_conn.icsk_ca_state),
                ..row
            };
        }
        row
    }

    /// What it has carried so far; a session with all its connections. Losses that the receiver hides
    /// are acknowledged, too, and do not count.
    pub(crate) fn progress(&self, scenario: &Scenario) -> Progress {
        let mut progress = Progress::default();
        if let ConnectionState::Open(connection) = &self.state {
            let sender = &connection.sender;
            progress.sent = self.delivered_bytes(scenario, sender.nxt());
            progress.acked = self.delivered_bytes(scenario, sender.una());
        }
        if let ConnectionState::Guest(guest) = &self.state {
            // What is in flight is sent; some of it may be on its way anew.
            let state = guest.state();
            progress.sent = state.delivered_bytes + state.in_flight_bytes;
            progress.acked = state.delivered_bytes;
        }
        if let Some(session) = &self.session {
            let over = session.over().delivered_bytes;
            (progress.sent, progress.acked) = (progress.sent + over, progress.acked + over);
        }
        if self.scenario.hides == Hides::Losses {
            let hidden = self.tally().dropped_packets * u64::from(scenario.mss_of(self.scenario));
            progress.sent = progress.sent.saturating_sub(hidden);
            progress.acked = progress.acked.saturating_sub(hidden);
        }
        progress
    }

    /// The totals of the flow.
    pub(crate) fn row(&self, scenario: &Scenario, common_bytes: u64) -> FlowRow {
        let tally = self.tally();
        let mut row = FlowRow {
            flow: self.number,
            start_us: self.start_ns / 1_000,
            completed_us: match self.completed_ns {
                NEVER => 0,
                ns => ns / 1_000,
            },
            common_bytes,
            dropped_packets: tally.dropped_packets,
            early_dropped_packets: tally.early_dropped_packets,
            link_lost_packets: tally.lost_packets,
            policed_packets: tally.policed_packets,
            marked_packets: tally.marked_packets,
            recoveries: self.counts.recoveries.into(),
            timeouts: self.counts.timeouts.into(),
            undos: self.counts.undos.into(),
            ..FlowRow::default()
        };
        if let ConnectionState::Guest(guest) = &self.state {
            let state = guest.state();
            row.sent_packets = state.sent_packets;
            row.retransmitted_packets = state.lost_packets;
            row.delivered_bytes = state.delivered_bytes;
            row.min_rtt_us = state.min_rtt_us.into();
        }
        if let ConnectionState::Open(connection) = &self.state {
            let sender = &connection.sender;
            let (receive_window_ns, send_buffer_ns) = sender.limited_ns(scenario.duration_ns);
            (row.sent_packets, row.retransmitted_packets, _) = sender.totals();
            row.delivered_bytes = self.delivered_bytes(scenario, sender.una());
            row.min_rtt_us = sender.min_rtt_us().into();
            row.receive_window_limited_us = receive_window_ns / 1_000;
            row.send_buffer_limited_us = send_buffer_ns / 1_000;
        }
        row
    }

    /// The totals of the session.
    pub(crate) fn session_row(
        &self,
        scenario: &Scenario,
        session: &Session,
        common_bytes: u64,
    ) -> SessionRow {
        let (over, open) = (session.over(), self.row(scenario, common_bytes));
        SessionRow {
            delivered_bytes: over.delivered_bytes + open.delivered_bytes,
            common_bytes,
            sent_packets: over.sent_packets + open.sent_packets,
            retransmitted_packets: over.retransmitted_packets + open.retransmitted_packets,
            dropped_packets: self.tally().dropped_packets,
            recoveries: self.counts.recoveries.into(),
            timeouts: self.counts.timeouts.into(),
            ..over
        }
    }

    /// The current transfer of the session; `None` if the transfer has no end.
    pub(crate) fn transfer(&self, scenario: &Scenario, completed_ns: u64) -> Option<TransferRow> {
        (self.segments < u64::MAX).then(|| TransferRow {
            session: self.number,
            start_us: self.start_ns / 1_000,
            completed_us: completed_ns / 1_000,
            size_bytes: self.delivered_bytes(scenario, self.segments),
        })
    }

    /// What happened to its packets.
    pub(super) fn tally(&self) -> Tally {
        let others = self.others.as_deref().copied().unwrap_or_default();
        Tally {
            dropped_packets: self.full_packets + others.dropped_packets,
            ..others
        }
    }
}
