//! What limits a flow besides cwnd: its data, the receive window, the send buffer. It also measures
//! how long the receive window and the send buffer limited it (`tcpi_rwnd_limited` and
//! `tcpi_sndbuf_limited` of `tcp_info`).
//!
//! How to drive it: ask [`available`](Limits::available) before new data is sent, and call
//! [`note`](Limits::note) when nothing more can be sent.

use super::advertised_window::GROWTH_SEGMENTS;
use super::constants::SNDBUF_BYTES;
use super::host::Host;
use super::scoreboard::Scoreboard;

/// Limits of a flow besides cwnd, in segments.
#[derive(Clone, Copy, Debug)]
pub struct FlowLimits {
    /// How much the application writes in total.
    pub segments: u64,
    /// Receive window.
    pub receive_window: u64,
    /// Send buffer.
    pub send_buffer: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    ReceiveWindow,
    SendBuffer,
}

/// The limits, and how long each limited the flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// `segments`: what the application has offered so far.
    flow: FlowLimits,
    /// What it writes in total, segments.
    total: u64,
    /// What the application has offered so far ends there with PSH; `u64::MAX`: it says itself where.
    offered: u64,
    /// When this is acknowledged, there is something to tell: all, or the answer to a request.
    reports_at: u64,
    /// The segment with the FIN ends there: above `total` while the application has not closed; 0: it never
    /// does.
    fin_end: u64,
    /// The last segment with data is no full one.
    ends_short: bool,
    /// How much the application has written so far, segments.
    written: u64,
    /// The receive window until new data are acknowledged: the handshake shows no scaled one, ACKs of a gap do.
    first_window: u64,
    /// By so many segments the first ACK's window is larger than later ones.
    growth: u8,
    /// The end of the first ACK's window, once it has come. A window never ends before it.
    first_edge: u64,
    /// Bytes of a segment that is not all in the window.
    pub(super) edge_bytes: u64,
    /// The application says when it writes.
    has_explicit_writes: bool,
    /// The application fills a send buffer of its own size again, after each ACK.
    refills: bool,
    /// The application has written once, up to there, and has found no room; 0: it always has room.
    first_write: u32,
    /// `sk_sndbuf` until it writes again.
    pub(super) sndbuf_bytes: u64,
    /// Nothing but cwnd ever limits the flow, and all is written.
    are_none: bool,
    /// Each limit is looked at, also if none is.
    long_way: bool,
    by: Option<Limit>,
    since_ns: u64,
    receive_window_ns: u64,
    send_buffer_ns: u64,
}

impl Limits {
    /// More segments than any flow sends; twice as many can be counted.
    pub(super) const NONE: u64 = u64::MAX >> 1;

    /// `first_window`: what the handshake shows, or `u64::MAX` if it does not limit. `clamps_window`: the
    /// receiver has asked for a window below its right edge.
    pub(super) fn new(
        flow: FlowLimits,
        first_window: u64,
        clamps_window: bool,
        long_way: bool,
    ) -> Self {
        Self {
            flow,
            first_window: first_window.min(flow.receive_window),
            growth: if clamps_window {
                GROWTH_SEGMENTS as u8
            } else {
                0
            },
            first_edge: 0,
            edge_bytes: 0,
            total: flow.segments,
            reports_at: flow.segments,
            offered: flow.segments,
            fin_end: 0,
            ends_short: false,
            written: 0,
            has_explicit_writes: false,
            refills: flow.send_buffer != u64::MAX,
            first_write: 0,
            sndbuf_bytes: SNDBUF_BYTES,
            are_none: false,
            long_way,
            by: None,
            since_ns: 0,
            receive_window_ns: 0,
            send_buffer_ns: 0,
        }
    }

    /// The receiver tunes its window: the handshake shows so many segments, and each ACK tells the window.
    pub(super) fn tune(&mut self, first_window: u64) {
        self.flow.receive_window = first_window;
        (self.first_window, self.growth) = (first_window, 0);
    }

    /// An ACK tells a window that ends so many bytes behind a segment. An ACK of nothing new lets it end no
    /// earlier (`tcp_may_update_window`).
    pub(super) fn advertise_edge(&mut self, edge: u64, bytes: u64, is_new: bool) {
        self.flow.receive_window = 0;
        if is_new || (edge, bytes) > (self.first_edge, self.edge_bytes) {
            (self.first_edge, self.edge_bytes) = (edge, bytes);
        }
    }

    /// When this is acknowledged, there is something to tell.
    #[inline]
    pub(super) fn reports_at(&self) -> u64 {
        self.reports_at
    }

    /// Where the data ends that the application has so far: there is a PSH.
    #[inline]
    pub(super) fn offered(&self) -> u64 {
        self.offered
    }

    /// The application has nothing yet. `has_explicit_writes`: it says itself when it writes, and where PSH is.
    pub(super) fn begin_without_data(&mut self, has_explicit_writes: bool) {
        (self.are_none, self.has_explicit_writes) = (false, has_explicit_writes);
        self.refills &= !has_explicit_writes;
        self.first_write = 0;
        (self.flow.segments, self.offered, self.fin_end) = (0, u64::MAX, 0);
    }

    /// The application has more; [`NONE`](Self::NONE): without end.
    pub(super) fn offer(&mut self, segments: u64) {
        self.flow.segments = match segments {
            Self::NONE => self.total,
            _ => self.total.min(self.flow.segments + segments),
        };
        if !self.has_explicit_writes {
            self.offered = self.flow.segments;
        }
    }

    /// The application closes when it has written all, of which the last segment may be short. A flow without
    /// end never does.
    pub(super) fn close_when_written(&mut self, ends_short: bool) {
        self.ends_short = ends_short;
        self.fin_end = self.total.checked_add(1).unwrap_or(0);
    }

    /// `tcp_send_fin`: the application has written all, and closes. What has not left takes the FIN along;
    /// else the FIN is a packet of its own, a segment behind the last. Returns whether it closes now.
    #[inline]
    pub(super) fn close(&mut self, board: &Scoreboard) -> bool {
        if self.fin_end <= self.total || (self.refills && self.written < self.total) {
            return false;
        }
        if board.nxt() < self.total {
            self.fin_end = self.total;
        } else {
            (self.total, self.written) = (self.fin_end, self.fin_end);
            (self.flow.segments, self.reports_at) = (self.fin_end, self.fin_end);
        }
        true
    }

    /// Whether a FIN of its own has left, and the segment before it has room for it.
    pub(super) fn has_loose_fin(&self) -> bool {
        self.ends_short && self.fin_end == self.total && self.offered < self.total
    }

    /// The last segment takes the FIN in.
    pub(super) fn collapse_fin(&mut self) {
        self.fin_end = self.offered;
        (self.total, self.written) = (self.offered, self.offered);
        (self.flow.segments, self.reports_at) = (self.offered, self.offered);
    }

    /// Where the segment with the FIN ends, if it has left.
    #[inline]
    pub(super) fn fin_end(&self) -> u64 {
        self.fin_end
    }

    /// Whether the application has closed: header prediction is over (`tcp_rcv_state_process`).
    #[inline]
    pub(super) fn are_closed(&self) -> bool {
        (1..=self.total).contains(&self.fin_end)
    }

    /// What the application has so far is to be acknowledged before it has more.
    pub(super) fn report_when_acked(&mut self) {
        self.reports_at = self.flow.segments;
    }

    /// The application goes on whether that is acknowledged or not.
    pub(super) fn report_at_end(&mut self) {
        self.reports_at = self.total;
    }

    /// Whether the application says itself when it writes.
    #[inline]
    pub(super) fn has_explicit_writes(&self) -> bool {
        self.has_explicit_writes
    }

    /// Whether an ACK has come.
    pub(super) fn has_ack(&self) -> bool {
        self.first_edge > 0
    }

    /// Stops the application: it writes no segment from `nxt` on.
    pub(super) fn stop_at(&mut self, nxt: u64) {
        self.are_none = false;
        self.flow.segments = self.flow.segments.min(nxt);
        (self.total, self.offered) = (self.flow.segments, self.flow.segments);
        (self.reports_at, self.fin_end) = (self.total, 0);
    }

    /// Whether an ACK first lets leave what the application has written, and then the application
    /// fills the send buffer again (`tcp_data_snd_check`: `tcp_check_space` comes last).
    #[inline]
    pub(super) fn refills(&self) -> bool {
        self.refills
    }

    /// What the application has written so far ends there.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Lets the application write what the send buffer has room for. Returns whether it writes now,
    /// and had left nothing to send.
    #[inline]
    pub(super) fn write(&mut self, board: &Scoreboard) -> bool {
        if self.written >= self.flow.segments {
            return false;
        }
        let room = match self.first_write {
            0 => board.una().saturating_add(self.flow.send_buffer),
            end => end.into(),
        };
        let end = self.flow.segments.min(room);
        let dry = board.nxt() >= self.written && end > self.written;
        self.written = end;
        self.are_none = self.is_unlimited();
        dry && !self.has_explicit_writes
    }

    fn is_unlimited(&self) -> bool {
        let limits = self.written & self.flow.segments & self.flow.send_buffer;
        let heard = self.first_edge > 0 || self.first_window == u64::MAX;
        let held = self.by.is_some();
        limits & self.flow.receive_window == u64::MAX && heard && !held && !self.long_way
    }

    /// The application first writes so many segments, which fill the send buffer.
    pub(super) fn begin_with_first_write(&mut self, segments: u64) {
        if self.flow.send_buffer == u64::MAX && segments < self.flow.segments {
            (self.first_write, self.refills) = (segments as u32, true);
            self.offered = segments;
        }
    }

    /// The end of the first write, if the application has not written again.
    #[inline]
    pub(super) fn first_write(&self) -> Option<u64> {
        (self.first_write > 0).then_some(self.first_write.into())
    }

    /// The application writes again, and from then on has room for all (`SO_SNDBUF`).
    pub(super) fn write_again(&mut self) {
        (self.first_write, self.refills) = (0, false);
        self.offered = self.flow.segments;
    }

    /// Whether nothing but cwnd ever limits the flow, and all is written.
    #[inline]
    pub(super) fn are_none(&self) -> bool {
        self.are_none
    }

    /// New segments that the application has written.
    #[inline]
    pub(super) fn unsent(&self, board: &Scoreboard) -> u64 {
        let end = match self.refills {
            true => self.written,
            false => board.una().saturating_add(self.flow.send_buffer),
        };
        self.flow.segments.min(end).saturating_sub(board.nxt())
    }

    /// New segments that fit the receive window.
    #[inline]
    pub(super) fn room(&self, board: &Scoreboard) -> u64 {
        let window = match self.first_edge {
            0 => self.first_window,
            _ => self.flow.receive_window,
        };
        let end = board.una().saturating_add(window);
        end.max(self.first_edge).saturating_sub(board.nxt())
    }

    /// The ACK that has come may be the first. Each of the `sacked` segments that came before has let the window
    /// grow, as the first in order does.
    #[inline]
    pub(super) fn note_first_ack(&mut self, board: &Scoreboard, sacked: u32) {
        if self.first_edge > 0 {
            return;
        }
        if self.growth > 0 && sacked > 0 {
            let grown = GROWTH_SEGMENTS * u64::from(sacked);
            // Its ACK shows a scaled window.
            self.first_window = self.flow.receive_window.saturating_add(grown);
            let grown = (grown + GROWTH_SEGMENTS).min(u8::MAX.into());
            self.growth = self.growth.max(grown as u8);
        }
        if board.una() > 0 {
            let window = self.flow.receive_window.saturating_add(self.growth.into());
            self.first_edge = board.una().saturating_add(window);
            self.are_none = self.is_unlimited();
        }
    }

    /// New segments that the application has written and that fit the receive window.
    #[inline]
    pub(super) fn available(&self, board: &Scoreboard) -> u64 {
        self.unsent(board).min(self.room(board))
    }

    /// Notes why nothing more can be sent.
    #[inline]
    pub(super) fn note(&mut self, board: &Scoreboard, host: &Host) {
        let unsent = board.nxt() < self.flow.segments;
        let by = if !unsent || host.cwnd_is_full() {
            None
        } else if self.room(board) == 0 {
            Some(Limit::ReceiveWindow)
        } else if self.unsent(board) == 0 {
            Some(Limit::SendBuffer)
        } else {
            None
        };
        if by != self.by {
            self.add_until(host.now_ns());
            self.by = by;
            self.are_none = self.is_unlimited();
        }
    }

    fn add_until(&mut self, now_ns: u64) {
        let for_ns = now_ns - self.since_ns;
        self.since_ns = now_ns;
        match self.by {
            Some(Limit::ReceiveWindow) => self.receive_window_ns += for_ns,
            Some(Limit::SendBuffer) => self.send_buffer_ns += for_ns,
            None => (),
        }
    }

    /// Nanoseconds up to `now_ns` in which (receive window, send buffer) limited the flow.
    pub(super) fn held_ns(mut self, now_ns: u64) -> (u64, u64) {
        self.add_until(now_ns);
        (self.receive_window_ns, self.send_buffer_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::super::host::reno;
    use super::*;
    use crate::scenario::Profile;

    const S: u64 = 1_000_000_000;

    #[test]
    fn what_is_available_and_what_holds_back() {
        let mut limits = Limits::new(
            FlowLimits {
                segments: 100,
                receive_window: 30,
                send_buffer: 20,
            },
            u64::MAX,
            true,
            false,
        );
        let mut host = reno(Profile::Linux6, 1_000);
        let mut board = Scoreboard::new();
        assert_eq!(limits.available(&board), 0, "nothing is written yet");
        limits.write(&board);
        assert_eq!(limits.available(&board), 20);
        board.send(host.counts(), S, 20, false);
        assert_eq!(limits.available(&board), 0);
        limits.note(&board, &host);
        host.clock(3 * S);
        assert_eq!(limits.held_ns(3 * S), (0, 2 * S));
        host.set_cwnd(20);
        limits.note(&board, &host);
        assert_eq!(limits.held_ns(9 * S), (0, 2 * S), "cwnd did");
        limits.stop_at(20);
        assert_eq!((limits.total, limits.available(&board)), (20, 0));

        let mut limits = Limits::new(
            FlowLimits {
                segments: 100,
                receive_window: 20,
                send_buffer: 30,
            },
            u64::MAX,
            true,
            false,
        );
        host.set_cwnd(1_000);
        limits.note(&board, &host);
        assert_eq!(limits.held_ns(4 * S), (S, 0));
        limits.stop_at(20);
        limits.note(&board, &host);
        assert_eq!(limits.held_ns(9 * S), (0, 0), "nothing is left to send");
    }

    /// The first ACK, of 1 segment, offers 2 segments more than 10: up to the 13th. Later ACKs offer 10
    /// and no less than that.
    #[test]
    fn the_first_ack_offers_more() {
        let mut limits = Limits::new(
            FlowLimits {
                segments: 100,
                receive_window: 10,
                send_buffer: 100,
            },
            u64::MAX,
            true,
            false,
        );
        let mut board = Scoreboard::new();
        let mut host = reno(Profile::Linux6, 1_000);
        board.send(host.counts(), S, 10, false);
        for (una, room) in [(1, 3), (2, 3), (3, 3), (4, 4)] {
            board.acknowledge_clean(host.counts(), una);
            limits.note_first_ack(&board, 0);
            assert_eq!(limits.room(&board), room, "{una}");
        }
    }

    /// Two segments behind a gap wait when the first fills it: each of the three lets a window of 10 grow by two,
    /// and the ACKs of the gap show that already.
    #[test]
    fn what_waits_lets_the_window_grow() {
        let flow = FlowLimits {
            segments: 100,
            receive_window: 10,
            send_buffer: 100,
        };
        let mut limits = Limits::new(flow, 8, true, false);
        let mut board = Scoreboard::new();
        let mut host = reno(Profile::Linux6, 1_000);
        board.send(host.counts(), S, 3, false);
        for (una, sacked, end) in [(0, 0, 8), (0, 1, 12), (0, 2, 14), (3, 0, 3 + 10 + 6)] {
            if una > 0 {
                board.acknowledge_clean(host.counts(), una);
            }
            limits.note_first_ack(&board, sacked);
            assert_eq!(limits.room(&board), end - 3, "{una} {sacked}");
        }
    }

    /// Of 20 segments all have left, or 19: the FIN is the 21st segment, or it is on the 20th. A send buffer of 8
    /// holds the last of them only when 12 are acknowledged.
    #[test]
    fn where_the_fin_is() {
        for (send_buffer, una, nxt, fin_end, available) in [
            (u64::MAX, 0, 20, Some(21), 1),
            (u64::MAX, 0, 19, Some(20), 1),
            (8, 11, 19, None, 0),
            (8, 12, 20, Some(21), 1),
        ] {
            let flow = FlowLimits {
                segments: 20,
                receive_window: u64::MAX,
                send_buffer,
            };
            let mut limits = Limits::new(flow, u64::MAX, true, false);
            let mut board = Scoreboard::new();
            let mut host = reno(Profile::Linux6, 1_000);
            limits.close_when_written(false);
            board.send(host.counts(), S, nxt as u32, false);
            if una > 0 {
                board.acknowledge_clean(host.counts(), una);
            }
            limits.write(&board);
            let closed = fin_end.is_some();
            assert_eq!(
                (limits.close(&board), limits.are_closed()),
                (closed, closed)
            );
            assert!(!limits.close(&board), "once");
            let is_alone = fin_end == Some(21);
            assert_eq!(limits.fin_end(), fin_end.unwrap_or(21));
            assert_eq!(limits.reports_at(), 20 + u64::from(is_alone));
            assert_eq!(limits.available(&board), available);
        }
        let flow = FlowLimits {
            segments: u64::MAX,
            receive_window: u64::MAX,
            send_buffer: u64::MAX,
        };
        let mut endless = Limits::new(flow, u64::MAX, true, false);
        endless.close_when_written(false);
        assert!(!endless.are_closed());
    }

    /// 8 packets leave until the first ACK has come, and then nothing limits.
    #[test]
    fn the_handshake_shows_a_smaller_window() {
        let flow = FlowLimits {
            segments: u64::MAX,
            receive_window: u64::MAX,
            send_buffer: u64::MAX,
        };
        let mut limits = Limits::new(flow, 8, true, false);
        let mut board = Scoreboard::new();
        let mut host = reno(Profile::Linux6, 1_000);
        limits.write(&board);
        limits.note_first_ack(&board, 0);
        assert_eq!((limits.room(&board), limits.are_none()), (8, false));
        board.send(host.counts(), S, 8, false);
        board.acknowledge_clean(host.counts(), 1);
        limits.note_first_ack(&board, 0);
        assert!(limits.are_none());
    }
}
