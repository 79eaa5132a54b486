//! What a sender reports to its caller: totals, windows, events.

use super::sender::{Sender, SenderEvent, Totals};
use super::writes::Push;
use super::written::ENDLESS;
use crate::record::{AckSeen, TimerKind};
use ackclock_host::{CaState, TcpSock};

impl Sender {
    /// The state that algorithms see.
    #[inline]
    pub fn tp(&self) -> &TcpSock {
        self.host.tp()
    }

    /// A window with a value that an algorithm must not set: its name, its value, its maximum.
    #[inline]
    pub fn fault(&self) -> Option<(&'static str, u32, u32)> {
        self.host.fault()
    }

    /// The current state of the recovery state machine.
    #[inline]
    pub fn state(&self) -> CaState {
        self.host.state()
    }

    /// Segments that are cumulatively acknowledged.
    #[inline]
    pub fn una(&self) -> u64 {
        self.board.una()
    }

    /// Segments that were sent, each counted once.
    pub fn nxt(&self) -> u64 {
        self.board.nxt()
    }

    /// Segments that the sender knows to be delivered: acknowledged or SACKed; without SACK those that
    /// Linux counts.
    pub fn delivered_packets(&self) -> u64 {
        let tp = self.tp();
        match self.loss.has_sack() {
            true => self.board.una() + u64::from(tp.sacked_out),
            // The handshake counts, too.
            false => tp.delivered.saturating_sub(1).into(),
        }
    }

    /// Three totals: data packets sent, retransmissions included; retransmissions; lost packets.
    pub fn totals(&self) -> (u64, u64, u64) {
        let Totals {
            sent,
            retransmitted,
            lost,
            fins: _,
        } = self.totals;
        (sent, retransmitted, lost)
    }

    /// Smallest RTT in the last 300 s, µs; 0 before the first sample.
    pub fn min_rtt_us(&self) -> u32 {
        match self.rtt.min_us() {
            u32::MAX => 0,
            min_rtt_us => min_rtt_us,
        }
    }

    /// Nanoseconds up to `now_ns` in which (receive window, send buffer) limited the flow.
    pub fn limited_ns(&self, now_ns: u64) -> (u64, u64) {
        self.limits.held_ns(now_ns)
    }

    /// Whether all data is written and acknowledged, or all that the application waits for.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.board.una() >= self.limits.reports_at()
    }

    /// The application has nothing to write until [`write`](Self::write).
    pub(crate) fn write_nothing(&mut self) {
        self.forget_plan();
        let has_explicit_writes = self.queue.write_nothing();
        self.limits.begin_without_data(has_explicit_writes);
        if has_explicit_writes {
            self.validation.set_explicit_writes();
            self.host.date_idleness();
        }
    }

    /// The application writes so many segments, or without end ([`ENDLESS`]). If it `waits`, the sender is
    /// complete when they are acknowledged. Then call [`write_packet`](Self::write_packet) until it
    /// returns `None`.
    pub(crate) fn write(&mut self, now_ns: u64, segments: u64, waits: bool) {
        self.forget_plan();
        self.host.clock(now_ns);
        self.in_softirq.writes(now_ns);
        self.limits.report_at_end();
        if self.limits.has_explicit_writes() {
            if self.limits.unsent(&self.board) == 0 {
                self.host.check_app_limited();
                self.validation.on_write(&mut self.host);
            }
            self.queue.begin_write(segments);
        } else {
            self.limits.offer(segments);
        }
        self.awaits_answer = waits;
    }

    /// The application fills one more packet. Returns what may leave then; `None`: all is written.
    pub(crate) fn write_packet(&mut self) -> Option<Option<Push>> {
        let (next, has_ack) = (self.board.nxt(), self.limits.has_ack());
        let Some((segments, push)) = self.queue.write_packet(next, has_ack) else {
            if std::mem::take(&mut self.awaits_answer) {
                self.limits.report_when_acked();
            }
            return None;
        };
        self.limits.offer(segments);
        Some(push)
    }

    /// Nothing can leave now: an application that writes without end goes on whenever there is room.
    pub(crate) fn write_on(&mut self) {
        if self.queue.write_on() {
            self.limits.offer(ENDLESS);
        }
    }

    /// The other end shows a window of so many segments; each ACK tells its own.
    pub(crate) fn show_window(&mut self, segments: u64) {
        self.limits.tune(segments);
        self.queue.fix_window(segments);
    }

    /// By how many segments the path is assumed to reorder (`tcpi_reordering`).
    pub(crate) fn reordering(&self) -> u32 {
        self.loss.reordering()
    }

    /// Packets of a FIN alone that it has sent.
    pub(crate) fn fins(&self) -> u64 {
        self.totals.fins
    }

    /// The application closes when it has written all. `ends_short`: the last segment is no full one.
    pub fn close_when_written(&mut self, ends_short: bool) {
        self.limits.close_when_written(ends_short);
    }

    /// Where the segment with the FIN ends, if it has left; with a FIN of its own that is one behind the data.
    #[inline]
    pub(crate) fn fin_end(&self) -> u64 {
        self.limits.fin_end()
    }

    /// Stops the application: it writes no more than the sender has already sent.
    pub fn stop_writing(&mut self) {
        self.forget_plan();
        self.limits.stop_at(self.board.nxt());
    }

    /// A row for a table of all ACKs.
    pub(crate) fn ack_row(&self, time_ns: u64, flow: u32) -> AckSeen {
        let tp = self.tp();
        AckSeen {
            time_ns,
            flow,
            una: self.board.una(),
            nxt: self.board.nxt(),
            cwnd_packets: tp.snd_cwnd,
            ssthresh_packets: tp.snd_ssthresh,
            srtt_us: tp.srtt_us >> 3,
            in_flight_packets: self.host.in_flight(),
            app_limited: tp.app_limited,
            pacing_rate: tp.inet_conn.sk.sk_pacing_rate,
            private: tp.inet_conn.icsk_ca_priv,
        }
    }

    /// The retransmission timeout with its back-off, µs; the timer that is armed, and when it fires.
    pub(crate) fn timer(&self) -> (u64, TimerKind, u64) {
        (
            self.host.rto_us(),
            self.timers.kind(),
            self.timers.timeout_ns(),
        )
    }

    /// Takes the events since the last call: the kind, cwnd before it, packets in flight before it.
    pub fn take_events(&mut self) -> Vec<(SenderEvent, u32, u32)> {
        self.events.take().map_or_else(Vec::new, |events| events.0)
    }

    /// Whether [`take_events`](Self::take_events) has events.
    #[inline]
    pub fn has_events(&self) -> bool {
        self.events.is_some()
    }

    /// packets_out − (sacked_out + lost_out) + retrans_out.
    #[inline]
    pub fn packets_in_flight(&self) -> u32 {
        self.host.in_flight()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout).
    #[inline]
    pub fn poll_timeout(&self) -> u64 {
        self.timers.timeout_ns().min(self.pacer.timeout_ns())
    }

    /// A row for the events table.
    pub(super) fn note(&mut self, event: SenderEvent) {
        let row = (event, self.tp().snd_cwnd, self.host.in_flight());
        self.events.get_or_insert_default().0.push(row);
    }
}
