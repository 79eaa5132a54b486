//! The short way of segments in order, which most packets take (ADR 17): one segment, or two that one
//! ACK answers.

use super::super::ack::Ack;
use super::Receiver;
use ackclock_net::schedule::NEVER;

impl Receiver {
    /// Whether a segment that arrives now needs no more than
    /// [`handle_ordinary`](Self::handle_ordinary), unless it is the last. No timer is due then, no
    /// segment that was sent later has come (PAWS), and it echoes no other ACK. If it says so, handle
    /// the segment so.
    #[inline]
    pub(crate) fn is_ordinary(&self, now_ns: u64, segment: u64, sent_ns: u64) -> bool {
        let in_order = segment == self.rcv_nxt && sent_ns >= self.ts_recent_ns;
        in_order && sent_ns < self.same_echo_until_ns && now_ns < self.ordinary_until_ns
    }

    /// Until when each segment in order finds this state: at most one segment waits for its ACK, and the
    /// timer of delayed ACKs was armed in this jiffy, unless no ACK is delayed. An ACK of two segments
    /// leaves the window field as it is.
    #[inline(always)]
    pub(super) fn ordinary_until_ns(&self) -> u64 {
        let jiffies = self.clock.jiffies() as u32;
        let armed = match self.segments_per_ack {
            1 => self.last_arrival == jiffies && !self.clamped,
            _ => {
                self.armed == (jiffies, self.ato)
                    && !(self.clamped && self.advertised.falls_with(2))
            }
        };
        if !armed || !self.is_settled() || self.long_way {
            return 0;
        }
        let settled_ns = match &self.rtt {
            Some(rtt) => rtt.settled_until_ns(self.clock.now_ns()),
            None => NEVER,
        };
        settled_ns.min(self.clock.next_tick_ns())
    }

    /// No gap, the delay of ACKs settled, and an application that reads each segment. Then nothing waits
    /// to be reported either.
    #[inline]
    fn is_settled(&self) -> bool {
        self.out_of_order.is_empty()
            && self.echo.is_none()
            && self.quick_acks == 0
            && self.ato == self.min_ato
            && self.read_segments == 1
    }

    /// What [`handle_any`](Self::handle_any) does with a segment in order while
    /// [`is_ordinary`](Self::is_ordinary): most packets come this way.
    #[inline]
    pub(crate) fn handle_ordinary(&mut self, sent_ns: u64, pushed: bool) -> Option<Ack> {
        let first = self.rcv_nxt == self.last_ack_sent;
        if first {
            self.ts_recent_ns = sent_ns;
        }
        self.rcv_nxt += 1;
        self.reads_at = self.rcv_nxt + 1;
        if first && !pushed && self.segments_per_ack > 1 {
            (self.scheduled, self.delayed) = (true, true);
            return None;
        }
        (self.scheduled, self.delayed) = (false, false);
        self.last_ack_sent = self.rcv_nxt;
        Some(Ack::new(self.rcv_nxt, self.ts_recent_ns))
    }

    /// Whether two segments that leave together and arrive at these times need no more than
    /// [`handle_pair`](Self::handle_pair): one ACK leaves. `pushed`: the second has the PSH flag. If it
    /// says so, handle them so.
    #[inline(always)]
    pub fn is_ordinary_pair(
        &self,
        at_ns: [u64; 2],
        sent_ns: u64,
        segment: u64,
        pushed: bool,
    ) -> bool {
        let one_waits = self.rcv_nxt != self.last_ack_sent;
        segment == self.rcv_nxt
            && sent_ns < self.same_echo_until_ns
            && self.segments_per_ack > 1
            && !(pushed && one_waits)
            && at_ns[1] < self.ordinary_until_ns
    }

    /// What [`handle_ordinary`](Self::handle_ordinary) does with two segments. Returns the ACK, and
    /// which segment causes it: the second, or the first if one waited for its ACK.
    #[inline(always)]
    pub fn handle_pair(&mut self, sent_ns: u64) -> (usize, Ack) {
        let one_waited = self.rcv_nxt != self.last_ack_sent;
        let echo_ns = self.ts_recent_ns;
        self.ts_recent_ns = echo_ns.max(sent_ns);
        self.rcv_nxt += 2;
        self.reads_at = self.rcv_nxt + 1;
        debug_assert!(self.scheduled == one_waited && self.delayed == one_waited);
        if one_waited {
            self.last_ack_sent = self.rcv_nxt - 1;
            return (0, Ack::new(self.last_ack_sent, echo_ns));
        }
        self.last_ack_sent = self.rcv_nxt;
        (1, Ack::new(self.last_ack_sent, self.ts_recent_ns))
    }
}
