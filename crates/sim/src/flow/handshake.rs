//! The handshake of a connection: one state machine, whatever network its packets take.
//!
//! How to drive it: at the time of [`next_event_ns`](Connecting::next_event_ns) ask what is
//! [`due`](Connecting::due). When a packet has left its last link, or is dropped, tell it:
//! [`syn_left`](Connecting::syn_left), [`syn_ack_left`](Connecting::syn_ack_left). Nobody waits for
//! the last packet of the handshake: data follows at once.

use crate::scenario::EcnMode;
use crate::tcp::Handshake;
use ackclock_net::schedule::NEVER;

/// A connection that is not open: it has not started, or a SYN is on its way.
pub(crate) struct Connecting {
    /// How many SYNs have left.
    pub(crate) syns: u32,
    retry_at_ns: u64,
    /// When a SYN that will be answered reaches the other host, if its answer is an event of its own.
    syn_at_ns: u64,
    answer_at_ns: u64,
    /// Whether a SYN that will be answered, or its answer, is on its way.
    answered: bool,
    /// When that SYN left.
    syn_sent_ns: u64,
    /// When the other host answered it.
    answered_ns: u64,
    /// How both hosts will use ECN.
    pub(crate) ecn: EcnMode,
}

/// What a host does now.
pub(crate) enum Due {
    /// The client sends a SYN. The first that arrives is `answered`; later SYNs change nothing.
    Syn { answered: bool },
    /// The server answers a SYN.
    SynAck,
    /// The client has the answer, which left at that time: the connection is open.
    Open(Handshake, u64),
}

impl Connecting {
    /// The first SYN leaves at `start_ns`.
    pub(crate) fn new(start_ns: u64, ecn: EcnMode) -> Self {
        Self {
            syns: 0,
            retry_at_ns: start_ns,
            syn_at_ns: NEVER,
            answer_at_ns: NEVER,
            answered: false,
            syn_sent_ns: 0,
            answered_ns: 0,
            ecn,
        }
    }

    pub(crate) fn next_event_ns(&self) -> u64 {
        (self.retry_at_ns)
            .min(self.syn_at_ns)
            .min(self.answer_at_ns)
    }

    /// What is due at `now_ns`. A SYN that leaves now is sent again at `retry_ns`.
    pub(crate) fn due(&mut self, now_ns: u64, retry_ns: u64) -> Due {
        if self.answer_at_ns <= now_ns {
            let handshake = Handshake {
                now_ns,
                rtt_ns: now_ns - self.syn_sent_ns,
                ecn: self.ecn,
            };
            return Due::Open(handshake, self.answered_ns);
        }
        if self.syn_at_ns <= now_ns {
            (self.syn_at_ns, self.answered_ns) = (NEVER, now_ns);
            return Due::SynAck;
        }
        self.syns += 1;
        self.retry_at_ns = retry_ns;
        let first = !std::mem::replace(&mut self.answered, true);
        if first {
            self.syn_sent_ns = now_ns;
        }
        Due::Syn { answered: first }
    }

    /// The SYN that will be answered reaches the server at `at_ns`; `None`: it is dropped. Without a
    /// queue on the way back, `back_ns`, its answer leaves then.
    pub(crate) fn syn_left(&mut self, at_ns: Option<u64>, back_ns: Option<u64>) {
        match (at_ns, back_ns) {
            (None, _) => (self.answered, self.ecn) = (false, self.ecn.after_lost_syn(self.syns)),
            (Some(at_ns), None) => self.syn_at_ns = at_ns,
            (Some(at_ns), Some(back_ns)) => {
                (self.answered_ns, self.answer_at_ns) = (at_ns, at_ns + back_ns);
            }
        }
    }

    /// The answer reaches the client at `at_ns`; `None`: it is dropped.
    pub(crate) fn syn_ack_left(&mut self, at_ns: Option<u64>) {
        match at_ns {
            Some(at_ns) => self.answer_at_ns = at_ns,
            None => self.answered = false,
        }
    }
}
