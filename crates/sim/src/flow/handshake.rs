//! The handshake of a connection: one state machine, whatever network its packets take.
//!
//! How to drive it: at the time of [`next_event_ns`](Connecting::next_event_ns) ask what is
//! [`due`](Connecting::due). When a packet has left its last link, or is dropped, tell it:
//! [`syn_left`](Connecting::syn_left), [`syn_ack_left`](Connecting::syn_ack_left). Nobody waits for
//! the last packet of the handshake: data follows at once.

use crate::scenario::EcnMode;
use crate::tcp::Handshake;
use ackclock_net::schedule::NEVER;

const NS_PER_MS: u64 = 1_000_000;

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
    /// When that SYN left, and which it was.
    syn_sent_ns: u64,
    answered_syn: u32,
    /// When the other host answered it.
    answered_ns: u64,
    /// How both hosts will use ECN.
    pub(crate) ecn: EcnMode,
    /// Its packets have timestamps.
    stamps: bool,
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
    /// The first SYN leaves at `start_ns`. `stamps`: packets have timestamps.
    pub(crate) fn new(start_ns: u64, ecn: EcnMode, stamps: bool) -> Self {
        Self {
            syns: 0,
            retry_at_ns: start_ns,
            syn_at_ns: NEVER,
            answer_at_ns: NEVER,
            answered: false,
            syn_sent_ns: 0,
            answered_syn: 0,
            answered_ns: 0,
            ecn,
            stamps,
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
                rtt_ns: self.rtt_ns(now_ns),
                ecn: self.ecn,
                one_packet: self.syns > 2 && (self.answered_syn > 1 || !self.stamps),
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
            (self.syn_sent_ns, self.answered_syn) = (now_ns, self.syns);
        }
        Due::Syn { answered: first }
    }

    /// The first RTT. If a SYN was sent again, only timestamps tell it, in whole ms
    /// (`tcp_rtt_tsopt_us`); 0: nothing does.
    fn rtt_ns(&self, now_ns: u64) -> u64 {
        match self.syns {
            1 => now_ns - self.syn_sent_ns,
            _ if !self.stamps => 0,
            _ => (now_ns / NS_PER_MS - self.syn_sent_ns / NS_PER_MS).max(1) * NS_PER_MS,
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000 * NS_PER_MS;

    /// SYNs leave each second from 0 on. All `lost` are, and the next one is answered after 100.4 ms.
    #[test]
    fn what_lost_syns_leave() {
        for (lost, rtt_us, one_packet) in
            [(0, 100_400, false), (1, 100_000, false), (2, 100_000, true)]
        {
            let mut connecting = Connecting::new(0, EcnMode::Off, true);
            for syn in 0..lost {
                let due = connecting.due(syn * S, (syn + 1) * S);
                assert!(matches!(due, Due::Syn { answered: true }));
                connecting.syn_left(None, None);
            }
            connecting.due(lost * S, NEVER);
            let answered_ns = lost * S + 50 * NS_PER_MS;
            connecting.syn_left(Some(answered_ns), Some(50_400_000));
            let Due::Open(handshake, _) = connecting.due(answered_ns + 50_400_000, NEVER) else {
                panic!("{lost}: not open");
            };
            assert_eq!(handshake.rtt_ns / 1_000, rtt_us);
            assert_eq!(handshake.one_packet, one_packet);
        }
    }

    /// Without timestamps the answer may be that to any SYN: no RTT, and all of them count as lost.
    #[test]
    fn without_timestamps_two_syns_tell_nothing() {
        for (syns, one_packet) in [(2, false), (3, true)] {
            let mut connecting = Connecting::new(0, EcnMode::Off, false);
            connecting.due(0, S);
            connecting.syn_left(Some(S), Some(3 * S));
            for _ in 1..syns {
                connecting.due(S, 2 * S);
            }
            let Due::Open(handshake, _) = connecting.due(4 * S, NEVER) else {
                panic!("not open");
            };
            assert_eq!((handshake.rtt_ns, handshake.one_packet), (0, one_packet));
        }
    }

    /// Two more SYNs leave before the first is answered: they were not needed (`tcp_try_undo_spurious_syn`).
    #[test]
    fn a_late_answer_is_no_loss() {
        let mut connecting = Connecting::new(0, EcnMode::Off, true);
        connecting.due(0, S);
        connecting.syn_left(Some(S), Some(3 * S / 2));
        connecting.due(S, 2 * S);
        connecting.due(2 * S, NEVER);
        let Due::Open(handshake, _) = connecting.due(5 * S / 2, NEVER) else {
            panic!("not open");
        };
        assert_eq!((handshake.rtt_ns, handshake.one_packet), (5 * S / 2, false));
    }
}
