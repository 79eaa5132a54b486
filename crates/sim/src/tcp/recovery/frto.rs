//! F-RTO (RFC 5682; `tcp_process_loss`): after a timeout the sender sends new data before it
//! retransmits more. The next ACKs then show whether the timeout was spurious.
//!
//! How to drive it: call [`begin`](Frto::begin) at a timeout, and [`on_ack`](Frto::on_ack) for each
//! ACK in Loss. Call [`give_up`](Frto::give_up) if there is no new data.

/// What an ACK in Loss shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    pub(crate) una_advanced: bool,
    pub(crate) data_sacked: bool,
    /// The ACK neither advances `snd_una` nor has a D-SACK (`num_dupack`).
    pub(crate) duplicate: bool,
    /// A segment that was never retransmitted was delivered.
    pub(crate) original_delivered: bool,
    /// New data was sent since the timeout.
    pub(crate) sent_new: bool,
    /// All segments that were out at the timeout are acknowledged.
    pub(crate) recovered: bool,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Undo the timeout.
    Spurious,
    /// Send new data first.
    SendNew,
    /// Use conventional recovery.
    Retransmit,
}

/// F-RTO on a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frto {
    enabled: bool,
    active: bool,
}

impl Frto {
    pub(crate) const fn new(enabled: bool) -> Self {
        Self {
            enabled,
            active: false,
        }
    }

    /// Starts at a timeout. `allowed`: the state before the timeout allows F-RTO (section 3: not
    /// Recovery).
    pub(crate) fn begin(&mut self, allowed: bool) {
        self.active = self.enabled && allowed;
    }

    /// Handles an ACK in Loss (2.1, steps 2 and 3).
    pub(crate) fn on_ack(&mut self, evidence: Evidence) -> Step {
        if !self.active {
            return Step::Retransmit;
        }
        if evidence.original_delivered {
            return Step::Spurious;
        }
        if evidence.sent_new {
            if evidence.data_sacked || evidence.duplicate {
                self.active = false;
            }
        } else if evidence.una_advanced && !evidence.recovered {
            return Step::SendNew;
        }
        Step::Retransmit
    }

    /// Uses conventional recovery from now on.
    pub(crate) fn give_up(&mut self) {
        self.active = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Evidence = Evidence {
        una_advanced: false,
        data_sacked: false,
        duplicate: false,
        original_delivered: false,
        sent_new: false,
        recovered: false,
    };

    fn begun() -> Frto {
        let mut frto = Frto::new(true);
        frto.begin(true);
        frto
    }

    #[test]
    fn rfc5682_2_1() {
        // Step 2b, then 3b.
        let mut frto = begun();
        let advanced = Evidence {
            una_advanced: true,
            ..NOTHING
        };
        assert_eq!(frto.on_ack(advanced), Step::SendNew);
        let original = Evidence {
            original_delivered: true,
            sent_new: true,
            ..advanced
        };
        assert_eq!(frto.on_ack(original), Step::Spurious);
        // Step 3a: a duplicate ACK. From now on no delivery of an original counts.
        let mut frto = begun();
        let duplicate = Evidence {
            duplicate: true,
            sent_new: true,
            ..NOTHING
        };
        assert_eq!(frto.on_ack(duplicate), Step::Retransmit);
        assert_eq!(frto.on_ack(original), Step::Retransmit);
        // Step 2a: all is acknowledged.
        let all = Evidence {
            recovered: true,
            ..advanced
        };
        assert_eq!(begun().on_ack(all), Step::Retransmit);
    }

    #[test]
    fn only_where_it_is_on_and_allowed() {
        let original = Evidence {
            original_delivered: true,
            ..NOTHING
        };
        for (enabled, allowed) in [(false, true), (true, false)] {
            let mut frto = Frto::new(enabled);
            frto.begin(allowed);
            assert_eq!(frto.on_ack(original), Step::Retransmit);
        }
        let mut frto = begun();
        frto.give_up();
        assert_eq!(frto.on_ack(original), Step::Retransmit);
    }
}
