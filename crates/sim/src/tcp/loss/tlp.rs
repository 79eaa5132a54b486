//! Tail loss probes (RFC 8985, 7; `tcp_schedule_loss_probe`, `tcp_send_loss_probe`,
//! `tcp_process_tlp_ack`): after two RTTs without an ACK the sender sends one segment. The SACK of
//! that segment shows which segments were lost.
//!
//! How to drive it: [`wait_us`](Tlp::wait_us) says when to probe. Call [`on_sent`](Tlp::on_sent) after
//! the probe, and [`on_ack`](Tlp::on_ack) for each ACK while a probe [`is_out`](Tlp::is_out).

use super::super::constants::{TIMEOUT_INIT_US, TIMEOUT_MIN_US};
use super::super::host::Host;
use ackclock_host::CaState;
use std::num::NonZeroU64;

/// What an ACK says about a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Nothing, or that no segment was lost.
    Harmless,
    /// The ACK is of what was sent twice: either copy may have arrived.
    Ambiguous,
    /// The probe repaired a loss: the sender must reduce the window (7.4).
    Repaired,
}

/// The probe of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tlp {
    enabled: bool,
    /// `tlp_high_seq`: `nxt` after the probe that is out.
    high_seq: Option<NonZeroU64>,
    /// Whether that probe was a retransmission, and not new data.
    retransmitted: bool,
    rto_min_us: u32,
}

impl Tlp {
    pub(crate) const fn new(enabled: bool, rto_min_us: u32) -> Self {
        Self {
            enabled,
            high_seq: None,
            retransmitted: false,
            rto_min_us,
        }
    }

    /// How long to wait for a tail loss probe, µs: two RTTs, if the timeout is not earlier; `None`
    /// if the state allows no probe.
    #[inline]
    pub(crate) fn wait_us(&self, host: &Host) -> Option<u64> {
        let tp = host.tp();
        let state = tp.inet_conn.icsk_ca_state;
        let open = state == CaState::Open as u8 || state == CaState::Cwr as u8;
        if tp.packets_out == 0 || !open || tp.sacked_out > 0 {
            return None;
        }
        if tp.srtt_us == 0 {
            return Some(TIMEOUT_INIT_US);
        }
        // A single segment may wait for a delayed ACK.
        let grace_us = match tp.packets_out {
            1 => u64::from(self.rto_min_us),
            _ => TIMEOUT_MIN_US,
        };
        Some(u64::from(tp.srtt_us >> 2) + grace_us)
    }

    /// Whether the kernel sends probes at all.
    #[inline]
    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Whether a probe is out that no ACK has answered.
    #[inline]
    pub(crate) fn is_out(&self) -> bool {
        self.high_seq.is_some()
    }

    /// Whether a probe is out that was a retransmission.
    pub(crate) fn is_retransmission_out(&self) -> bool {
        self.high_seq.is_some() && self.retransmitted
    }

    /// Whether a segment that ends at `end` is the probe that is out.
    pub(crate) fn is_probe(&self, end: u64) -> bool {
        self.high_seq.is_some_and(|high_seq| high_seq.get() == end)
    }

    /// Notes that the probe left. `nxt` is now the next new segment.
    pub(crate) fn on_sent(&mut self, retransmitted: bool, nxt: u64) {
        self.retransmitted = retransmitted;
        self.high_seq = NonZeroU64::new(nxt);
    }

    /// RFC 8985, 7.4: says whether the probe has repaired a loss. A `pure_duplicate` acknowledges
    /// nothing new and has no SACK blocks.
    pub(crate) fn on_ack(
        &mut self,
        ack: u64,
        duplicate_sack: bool,
        pure_duplicate: bool,
    ) -> Answer {
        let Some(high_seq) = (self.high_seq)
            .map(NonZeroU64::get)
            .filter(|&high_seq| ack >= high_seq)
        else {
            return Answer::Harmless;
        };
        if !self.retransmitted || duplicate_sack {
            self.forget();
        } else if ack > high_seq {
            self.forget();
            return Answer::Repaired;
        } else if pure_duplicate {
            self.forget();
        } else {
            return Answer::Ambiguous;
        }
        Answer::Harmless
    }

    /// Forgets the probe: another mechanism handles losses now.
    pub(crate) fn forget(&mut self) {
        self.high_seq = None;
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::constants::RTO_MIN_US;
    use super::super::super::host::reno;
    use super::*;
    use crate::scenario::Profile;

    /// A probe of 10 segments (0 to 9) that sent the last of them again.
    fn probe() -> Tlp {
        let mut tlp = Tlp::new(true, RTO_MIN_US);
        tlp.on_sent(true, 10);
        assert!(tlp.is_out() && tlp.is_retransmission_out());
        tlp
    }

    /// RFC 8985, 7.4.2: only an ACK beyond the probe, without D-SACK, shows that it repaired.
    /// RFC 8985, 7.2: two RTTs, and for a lone segment the time that its ACK may be delayed; none while a
    /// SACK shows a hole.
    #[test]
    fn when_it_probes() {
        let mut host = reno(Profile::Linux6, 10);
        host.publish_rtt(8 * 100_000, 0);
        let tlp = Tlp::new(true, 150_000);
        assert_eq!(tlp.wait_us(&host), None, "nothing is out");
        host.counts().sent(1);
        assert_eq!(tlp.wait_us(&host), Some(350_000));
        host.counts().sent(3);
        assert_eq!(tlp.wait_us(&host), Some(200_000 + TIMEOUT_MIN_US));
        host.counts().sacked();
        assert_eq!(tlp.wait_us(&host), None, "a SACK shows a hole");
    }

    #[test]
    fn who_repaired_the_loss() {
        let mut tlp = probe();
        assert_eq!(tlp.on_ack(9, false, true), Answer::Harmless);
        assert_eq!(tlp.on_ack(10, false, false), Answer::Ambiguous);
        assert!(tlp.is_out(), "either copy may have arrived");
        assert_eq!(tlp.on_ack(11, false, false), Answer::Repaired);
        assert!(!tlp.is_out());

        let mut tlp = probe();
        assert_eq!(tlp.on_ack(11, true, false), Answer::Harmless);
        assert!(!tlp.is_out(), "both copies arrived");

        let mut tlp = probe();
        assert_eq!(tlp.on_ack(10, false, true), Answer::Harmless);
        assert!(!tlp.is_out(), "a duplicate ACK: both arrived");

        let mut tlp = Tlp::new(true, RTO_MIN_US);
        tlp.on_sent(false, 11);
        assert!(!tlp.is_retransmission_out());
        assert_eq!(tlp.on_ack(11, false, false), Answer::Harmless);
        assert!(!tlp.is_out(), "new data repairs nothing");
    }
}
