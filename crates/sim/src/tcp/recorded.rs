//! A sender that follows a record: another host has sent the packets, and got the ACKs. The sender
//! decides nothing, so that it never drifts; after each packet it says what it would still send.
//!
//! How to drive it: [`follow`](Sender::follow) once, then [`handle_ack`](Sender::handle_ack) with each ACK, [`follow_new`](Sender::follow_new) and
//! [`follow_again`](Sender::follow_again) with what was sent, then [`would_send`](Sender::would_send).
//! [`run_reordering`](Sender::run_reordering) before each packet: of the timers only the one that finds
//! losses fires by itself. A timeout, or a probe, is where the record shows one.

use super::bursts::{Bursts, Defers};
use super::limits::{FlowLimits, Limits};
use super::plan::Any;
use super::ranges::Range;
use super::sender::Sender;
use super::timers::Timer;
use ackclock_net::schedule::NEVER;

/// What a sender would still send after a packet of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Would {
    /// Segments; 0: its window is full, or it waits for the next ACK.
    pub segments: u32,
    /// When pacing lets the first of them leave.
    pub from_ns: u64,
    /// Whether it paces.
    pub paces: bool,
}

impl Sender {
    /// The record has what was written: nothing but the window limits.
    pub fn follow(&mut self) {
        let all = FlowLimits {
            segments: u64::MAX,
            receive_window: u64::MAX,
            send_buffer: u64::MAX,
        };
        self.limits = Limits::new(all, u64::MAX, false, false);
    }

    /// New segments have left. Returns by how many they are more than the window allows.
    pub fn follow_new(&mut self, now_ns: u64, segments: u32) -> u32 {
        self.host.clock(now_ns);
        let probes = self.timers.timeout_ns() <= now_ns && self.timers.awaits_probe();
        let in_flight = self.host.in_flight();
        let over = (in_flight + segments).saturating_sub(self.tp().snd_cwnd);
        self.validation.restart_after_idle(&mut self.host);
        let mut left = segments;
        while left > 0 {
            // As many in a burst as it would have sent, so that its packets end where the host's do.
            let (cwnd, in_flight) = (self.tp().snd_cwnd, self.host.in_flight());
            let mut wanted = left;
            if !matches!(self.bursts, Bursts::Window | Bursts::Written) {
                let quota = cwnd.saturating_sub(in_flight).max(1);
                let burst = self.bursts.limit(&mut self.host, self.rtt.min_us());
                wanted = left.min(quota).min(self.bursts.share(cwnd)).min(burst);
            }
            let head = self
                .queue
                .head(self.board.nxt(), Limits::NONE, wanted.into());
            let leaves = u64::from(wanted).min(head.segments) as u32;
            self.send::<Any>(leaves, in_flight);
            left -= leaves;
        }
        if probes && over > 0 {
            self.nothing_to_send();
            self.tlp.on_sent(false, self.board.nxt());
            self.tcp_rearm_rto();
            return 0;
        }
        over
    }

    /// Segments have left again. If the sender does not know that they are lost, its timer must have
    /// fired, of those for timeouts after `silence`. Returns by how many they are more than the window
    /// allows.
    pub fn follow_again(&mut self, now_ns: u64, (first, end): Range, silence: bool) -> u32 {
        self.host.clock(now_ns);
        let (una, nxt) = (self.board.una(), self.board.nxt());
        if first >= nxt || end <= una || (first..end).all(|each| self.board.has_arrived(each)) {
            return 0;
        }
        let first = first.max(una);
        if !self.board.waits(first) && self.timers.awaits_reordering() {
            self.timers.arm(Timer::Reordering, now_ns);
            self.handle_timeout(now_ns);
        }
        let is_known = self.board.waits(first) || !silence;
        let probe = !is_known && end == nxt && self.timers.awaits_probe();
        let mut timed = probe;
        if !is_known && !probe && first == una && self.host.in_flight() > 0 {
            self.timers.arm(Timer::Retransmission, now_ns);
            self.handle_timeout(now_ns);
            timed = true;
        }
        let in_flight = self.host.in_flight();
        let Some(burst) =
            self.board
                .resend_recorded(self.host.counts(), now_ns, (first, end), probe)
        else {
            return 0;
        };
        if probe {
            self.tlp.on_sent(true, nxt);
        }
        self.retransmitted(burst);
        if first == una || probe {
            self.tcp_rearm_rto();
        }
        match timed {
            true => 0,
            false => (in_flight + burst.segments).saturating_sub(self.tp().snd_cwnd),
        }
    }

    /// The timer of reordering fires if it is due before `now_ns`. Returns when it has.
    pub fn run_reordering(&mut self, now_ns: u64) -> Option<u64> {
        let due_ns = self.timers.timeout_ns().max(self.host.now_ns());
        let due = self.timers.awaits_reordering() && due_ns < now_ns;
        due.then(|| {
            self.handle_timeout(due_ns);
            due_ns
        })
    }

    /// Ends a turn: what it would send now, if its application has written.
    pub fn would_send(&mut self, now_ns: u64) -> Would {
        self.host.clock(now_ns);
        let paces = self.tp().inet_conn.sk.sk_pacing_status != super::pacing::SK_PACING_NONE;
        let (in_flight, cwnd) = (self.host.in_flight(), self.tp().snd_cwnd);
        let from_ns = self.tp().tcp_wstamp_ns.max(now_ns);
        let mut would = Would {
            segments: cwnd.saturating_sub(in_flight),
            from_ns: if paces { from_ns } else { now_ns },
            paces,
        };
        let is_lost = self.tp().lost_out > self.tp().retrans_out;
        let bursts = self.bursts;
        if would.segments == 0
            || is_lost
            || from_ns > now_ns
            || matches!(bursts, Bursts::Window | Bursts::Written | Bursts::Single)
        {
            self.nothing_to_send();
            return would;
        }
        let burst = bursts.limit(&mut self.host, self.rtt.min_us());
        let wanted = u64::from(would.segments.min(bursts.share(cwnd)).min(burst));
        let head = self.queue.head(self.board.nxt(), Limits::NONE, wanted);
        let allowed = (would.segments.into(), Limits::NONE, 0);
        let head_ns = self.board.head_sent_ns();
        match bursts.defers(&self.host, allowed, burst.into(), &head, head_ns) {
            Defers::No => self.nothing_to_send(),
            defers => {
                self.host.note_deferred();
                self.end_of_turn::<Any>(defers == Defers::ForCwnd);
                (would.segments, would.from_ns) = (0, NEVER);
            }
        }
        would
    }
}
