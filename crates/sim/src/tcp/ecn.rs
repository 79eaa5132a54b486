//! Explicit congestion notification (RFC 3168), as Linux does it (`tcp_ecn_*` of `tcp_input.c` and
//! `tcp_output.c`). The sender's side is in the socket's `ecn_flags`, which [`Host`] writes; this
//! file has what goes over the path, and the receiver's echo.
//!
//! How to drive the echo: call [`accept_cwr`](Echo::accept_cwr) for each data packet, then
//! [`check_ce`](Echo::check_ce) for each packet that is new.
//!
//! [`Host`]: super::host::Host

/// `TCP_ECN_OK`, `TCP_ECN_QUEUE_CWR`: bits of `ecn_flags`.
pub(super) const OK: u8 = 1;
pub(super) const QUEUE_CWR: u8 = 2;

use ackclock_net::queue::Ecn;

/// What ECN says in a data packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Its ECN field.
    pub field: Ecn,
    /// The flag CWR: the sender has reduced its window.
    pub cwr: bool,
}

/// The receiver's memory of marks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Echo {
    /// `TCP_ECN_DEMAND_CWR`: each ACK carries ECE until the sender answers with CWR.
    demands_cwr: bool,
    /// `TCP_ECN_SEEN`: a packet that allows marks has arrived.
    seen: bool,
}

impl Echo {
    /// Whether an ACK that leaves now carries ECE.
    #[inline]
    pub(super) fn is_due(self) -> bool {
        self.demands_cwr
    }

    /// `tcp_ecn_accept_cwr`. Returns whether an ACK must leave now: the sender's window may be as
    /// small as this packet.
    pub(super) fn accept_cwr(&mut self, marks: Marks) -> bool {
        if marks.cwr {
            self.demands_cwr = false;
        }
        marks.cwr
    }

    /// `tcp_ecn_check_ce`. Returns whether the next two ACKs leave at once.
    pub(super) fn check_ce(&mut self, marks: Marks) -> bool {
        let retransmission = marks.field == Ecn::NotEct && self.seen;
        let first_mark = marks.field == Ecn::Ce && !self.demands_cwr;
        self.demands_cwr |= marks.field == Ecn::Ce;
        self.seen |= marks.field != Ecn::NotEct;
        retransmission || first_mark
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(field: Ecn, cwr: bool) -> Marks {
        Marks { field, cwr }
    }

    /// One mark is echoed until CWR; a packet may have both.
    #[test]
    fn the_echo_lasts_until_cwr() {
        let mut echo = Echo::default();
        assert!(!echo.check_ce(marks(Ecn::Ect0, false)) && !echo.is_due());
        assert!(echo.check_ce(marks(Ecn::Ce, false)) && echo.is_due());
        assert!(!echo.check_ce(marks(Ecn::Ce, false)));
        assert!(!echo.accept_cwr(marks(Ecn::Ect0, false)) && echo.is_due());
        assert!(echo.accept_cwr(marks(Ecn::Ce, true)) && !echo.is_due());
        assert!(echo.check_ce(marks(Ecn::Ce, true)) && echo.is_due());
    }

    /// A packet that allows no marks is taken for a retransmission, once others allowed them.
    #[test]
    fn a_retransmission_is_acknowledged_quickly() {
        let mut echo = Echo::default();
        assert!(!echo.check_ce(marks(Ecn::NotEct, false)));
        assert!(!echo.check_ce(marks(Ecn::Ect0, false)));
        assert!(echo.check_ce(marks(Ecn::NotEct, false)) && !echo.is_due());
    }
}
