//! Explicit congestion notification (RFC 3168, RFC 9768), as Linux does it (`tcp_ecn_*` of
//! `tcp_input.c` and `tcp_output.c`, `tcp_ecn.h`). The sender's side is in the socket's `ecn_flags`, which [`Host`] writes; this
//! file has what goes over the path, and the receiver's echo.
//!
//! An algorithm that needs ECN (`TCP_CONG_NEEDS_ECN`, as DCTCP) runs at the receiver, too: it hears
//! of each packet whether it has a mark (`CA_EVENT_ECN_*`), and says what ACKs echo. This file
//! writes the few fields of the receiver's socket that such an algorithm reads.
//!
//! How to drive the echo: call [`take_marks`](Echo::take_marks) for each data packet, then
//! [`check_ce`](Echo::check_ce) for each packet that is new. [`tell`](Echo::tell) gives what an ACK
//! says.
//!
//! [`Host`]: super::host::Host

pub(super) use ackclock_host::{
    TCP_ECN_ECT_1 as ECT_1, TCP_ECN_MODE_ACCECN as ACCURATE, TCP_ECN_OK as OK,
    TCP_ECN_QUEUE_CWR as QUEUE_CWR,
};

use super::ack::Ack;
use ackclock_host::{CaEvent, CongestionControl, ICSK_ACK_NOW, TCP_ECN_DEMAND_CWR, TCP_ECN_SEEN};
use ackclock_net::queue::Ecn;

/// What ECN says in a data packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Its ECN field.
    pub field: Ecn,
    /// The flag CWR: the sender has reduced its window.
    pub cwr: bool,
}

/// What the receiver's TCP is about to do when a packet arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub now_ns: u64,
    pub jiffies: u64,
    /// The next expected segment, after this packet.
    pub rcv_nxt: u64,
    /// `icsk_ack.pending`
    pub pending: u8,
}

/// What the receiver must do because of the marks of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Orders {
    /// The next two ACKs leave at once.
    pub quick: bool,
    /// An ACK must leave for this packet.
    pub now: bool,
    /// Before it, an ACK for all segments below this one, with or without ECE.
    pub before: Option<(u64, bool)>,
}

/// Accurate ECN: the receiver acknowledges so many marked packets at once (RFC 9768, 3.2.2.5.1).
const MARKS_PER_ACK: u32 = 2;

/// The receiver's count of marks (RFC 9768).
#[derive(Debug, Default)]
struct Counter {
    /// Packets with a mark that have arrived, in any order (r.cep, from 0).
    ce_packets: u32,
    /// How many of them ACKs have told.
    told: u32,
    /// The ECN field of the newest packet (`prev_ecnfield`).
    field: Ecn,
}

impl Counter {
    /// `tcp_ecn_received_counters`: a packet arrives. Returns whether an ACK must leave now.
    fn count(&mut self, field: Ecn) -> bool {
        let changed = self.field != field;
        self.field = field;
        self.ce_packets = self.ce_packets.wrapping_add((field == Ecn::Ce).into());
        changed || self.ce_packets.wrapping_sub(self.told) >= MARKS_PER_ACK
    }
}

/// The receiver's memory of marks.
#[derive(Debug, Default)]
pub(super) struct Echo {
    /// `TCP_ECN_DEMAND_CWR`: each ACK carries ECE until the sender answers with CWR.
    demands_cwr: bool,
    /// `TCP_ECN_SEEN`: a packet that allows marks has arrived.
    seen: bool,
    /// The marks of the packet that is being handled.
    marks: Marks,
    /// The algorithm of this end, if it needs ECN.
    algorithm: Option<CongestionControl>,
    /// With accurate ECN; it replaces all of the above.
    counter: Option<Counter>,
    /// The ACK that leaves before the one of the packet that is being handled.
    pub(super) early: Option<Ack>,
}

impl Echo {
    /// The echo of a connection that uses ECN. `algorithm`: needs ECN.
    pub(super) fn new(algorithm: Option<CongestionControl>) -> Self {
        let mut echo = Self {
            algorithm,
            ..Self::default()
        };
        if let Some(cc) = &mut echo.algorithm {
            cc.tp_mut().ecn_flags = OK;
            cc.init();
        }
        echo
    }

    /// The echo of a connection with accurate ECN.
    pub(super) fn accurate() -> Self {
        Self {
            counter: Some(Counter::default()),
            ..Self::default()
        }
    }

    /// Whether the connection uses accurate ECN.
    pub(super) fn is_accurate(&self) -> bool {
        self.counter.is_some()
    }

    /// What an ACK that leaves now tells of marks ([`Ack::ece`]).
    pub(super) fn tell(&mut self) -> Option<u32> {
        match &mut self.counter {
            None => self.demands_cwr.then_some(0),
            Some(counter) => {
                counter.told = counter.ce_packets;
                Some(counter.ce_packets)
            }
        }
    }

    /// Takes the marks of a packet. Returns whether an ACK must leave now. After CWR it must
    /// (`tcp_ecn_accept_cwr`): the sender's window may be as small as this packet. `old`: ACKs covered
    /// the packet before it came; such a packet is no longer acceptable, and not counted.
    pub(super) fn take_marks(&mut self, marks: Marks, old: bool) -> bool {
        if let Some(counter) = &mut self.counter {
            return !old && counter.count(marks.field);
        }
        self.marks = marks;
        if marks.cwr {
            self.demands_cwr = false;
        }
        marks.cwr
    }

    /// `tcp_ecn_check_ce`, for a packet that is new.
    pub(super) fn check_ce(&mut self, arrival: Arrival) -> Orders {
        if self.is_accurate() {
            return Orders::default();
        }
        let field = self.marks.field;
        let mut orders = match field {
            Ecn::NotEct => Orders::default(),
            Ecn::Ce => self.call(CaEvent::EcnIsCe, arrival),
            Ecn::Ect0 | Ecn::Ect1 => self.call(CaEvent::EcnNoCe, arrival),
        };
        let retransmission = field == Ecn::NotEct && self.seen;
        let first_mark = field == Ecn::Ce && !self.demands_cwr;
        self.demands_cwr |= field == Ecn::Ce;
        self.seen |= field != Ecn::NotEct;
        orders.quick = retransmission || first_mark;
        orders
    }

    /// Calls `cwnd_event` of the receiver's algorithm.
    fn call(&mut self, event: CaEvent, arrival: Arrival) -> Orders {
        let Some(cc) = &mut self.algorithm else {
            return Orders::default();
        };
        let tp = cc.tp_mut();
        tp.rcv_nxt = (arrival.rcv_nxt as u32).wrapping_mul(tp.mss_cache);
        tp.tcp_mstamp = arrival.now_ns / 1_000;
        tp.inet_conn.sk.sk_host.jiffies = arrival.jiffies as u32;
        tp.inet_conn.sk.sk_host.acks = 0;
        tp.inet_conn.icsk_ack.pending = arrival.pending;
        for (flag, is_set) in [
            (TCP_ECN_DEMAND_CWR, self.demands_cwr),
            (TCP_ECN_SEEN, self.seen),
        ] {
            tp.ecn_flags = tp.ecn_flags & !flag | if is_set { flag } else { 0 };
        }
        cc.cwnd_event(event);
        let tp = cc.tp();
        let (csk, host) = (&tp.inet_conn, &tp.inet_conn.sk.sk_host);
        self.demands_cwr = tp.ecn_flags & TCP_ECN_DEMAND_CWR != 0;
        let before = (host.acks > 0).then(|| {
            let behind = tp.rcv_nxt.wrapping_sub(host.ack_rcv_nxt) / tp.mss_cache;
            let ece = host.ack_ecn_flags & TCP_ECN_DEMAND_CWR != 0;
            (arrival.rcv_nxt.saturating_sub(behind.into()), ece)
        });
        Orders {
            quick: false,
            now: csk.icsk_ack.pending & ICSK_ACK_NOW != 0,
            before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_host::{Algorithm, HostConfig, ICSK_ACK_SCHED, ICSK_ACK_TIMER};

    /// What a packet with these marks makes the echo order, if it is the segment below `rcv_nxt`.
    fn arrives(echo: &mut Echo, field: Ecn, cwr: bool, rcv_nxt: u64, pending: u8) -> Orders {
        let now = echo.take_marks(Marks { field, cwr }, false);
        let mut orders = echo.check_ce(Arrival {
            now_ns: 1_000_000,
            jiffies: 1,
            rcv_nxt,
            pending,
        });
        orders.now |= now;
        orders
    }

    /// One mark is echoed until CWR; a packet may have both.
    #[test]
    fn the_echo_lasts_until_cwr() {
        let mut echo = Echo::default();
        let mut next = |field, cwr| (arrives(&mut echo, field, cwr, 1, 0), echo.tell().is_some());
        let (none, quick) = (
            Orders::default(),
            Orders {
                quick: true,
                ..Orders::default()
            },
        );
        let (now, both) = (Orders { now: true, ..none }, Orders { now: true, ..quick });
        assert_eq!(next(Ecn::Ect0, false), (none, false));
        assert_eq!(next(Ecn::Ce, false), (quick, true));
        assert_eq!(next(Ecn::Ce, false), (none, true));
        assert_eq!(next(Ecn::Ect0, false), (none, true));
        assert_eq!(next(Ecn::Ect0, true), (now, false));
        assert_eq!(next(Ecn::Ce, true), (both, true));
    }

    /// A packet that allows no marks is taken for a retransmission, once others allowed them.
    #[test]
    fn a_retransmission_is_acknowledged_quickly() {
        let mut echo = Echo::default();
        assert!(!arrives(&mut echo, Ecn::NotEct, false, 1, 0).quick);
        assert!(!arrives(&mut echo, Ecn::Ect0, false, 2, 0).quick);
        assert!(arrives(&mut echo, Ecn::NotEct, false, 3, 0).quick);
        assert!(echo.tell().is_none());
    }

    /// DCTCP (RFC 8257, 3.2): ECE says whether the newest packets have marks, and each change is told
    /// at once. If an ACK waits, it leaves first, and says what was before.
    #[test]
    fn dctcp_tells_each_change() {
        let configured = Algorithm::configure("dctcp").unwrap();
        let cc = CongestionControl::new(&configured, HostConfig::default());
        let mut echo = Echo::new(Some(cc));
        let waits = ICSK_ACK_SCHED | ICSK_ACK_TIMER;
        let order = |now, before| Orders {
            quick: false,
            now,
            before,
        };
        for (rcv_nxt, field, pending, expected, due) in [
            (1, Ecn::Ect0, ICSK_ACK_SCHED, order(false, None), false),
            (2, Ecn::Ect0, waits, order(false, None), false),
            (3, Ecn::Ce, ICSK_ACK_SCHED, order(true, None), true),
            (4, Ecn::Ce, ICSK_ACK_SCHED, order(false, None), true),
            // One without a mark arrives, and an ACK of the four before waits.
            (5, Ecn::Ect0, waits, order(true, Some((4, true))), false),
            (6, Ecn::Ce, waits, order(true, Some((5, false))), true),
        ] {
            let orders = arrives(&mut echo, field, false, rcv_nxt, pending);
            assert_eq!(
                (orders, echo.tell().is_some()),
                (expected, due),
                "{rcv_nxt}"
            );
        }
        // CWR ends the echo of RFC 3168; here the next packet decides.
        let orders = arrives(&mut echo, Ecn::Ce, true, 7, ICSK_ACK_SCHED);
        assert_eq!((orders, echo.tell().is_some()), (order(true, None), true));
    }
}
