//! F-RTO with SACK, as in Linux 2.6.24 to 3.9 (RFC 4138, appendix B; `tcp_enter_frto`,
//! `tcp_process_frto`, `tcp_enter_frto_loss`): a timeout sends only the head again. The next two
//! ACKs show whether the rest was lost. If not, the window is reduced as for a single loss.
//!
//! How to drive it: `machine_2_6` does, when the retransmission timer fires and for each ACK.

/// How far the algorithm is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// No timeout is in doubt.
    Off,
    /// The head was sent again.
    HeadSent,
    /// Then two new segments were allowed.
    NewSent,
}

/// F-RTO on a connection.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct SackFrto {
    enabled: bool,
    pub(super) step: Step,
    /// What was sent before the timeout: segments below.
    pub(super) highmark: u64,
}

impl SackFrto {
    pub(in super::super) const fn new(enabled: bool) -> Self {
        Self {
            enabled,
            step: Step::Off,
            highmark: 0,
        }
    }

    pub(in super::super) fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Whether a timeout is in doubt. The sender then judges nothing lost.
    #[inline]
    pub(in super::super) fn is_active(&self) -> bool {
        self.step != Step::Off
    }
}
