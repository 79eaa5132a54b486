//! Recovery from losses: the states ([`Machine`]), how cwnd falls ([`Reduction`]), and how the
//! sender finds out that a reduction was spurious ([`Undo`], [`Frto`]).

mod frto;
mod machine;
mod machine_2_6;
mod prr;
mod rate_halving;
mod sack_frto;
mod undo;

pub(super) use frto::{Evidence, Frto, Step};
pub(super) use prr::Prr;
pub(super) use rate_halving::RateHalving;
pub(super) use sack_frto::SackFrto;
pub(super) use undo::Undo;

use super::flags::AckFlags;
use super::host::Host;

/// How cwnd moves during a reduction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reduction {
    /// Proportional rate reduction (RFC 9937 with slow-start reduction bound).
    Prr(Prr),
    /// One segment less for every second ACK, never above in flight + 1 (Linux up to 3.1).
    RateHalving(RateHalving),
}

impl Reduction {
    /// Starts a reduction.
    pub(super) fn begin(&mut self, host: &mut Host) {
        if let Self::Prr(prr) = self {
            prr.begin();
        }
        host.set_cwnd_cnt(0);
    }

    /// Notes segments that leave during a reduction.
    #[inline]
    pub(super) fn on_sent(&mut self, segments: u32) {
        if let Self::Prr(prr) = self {
            prr.on_sent(segments);
        }
    }

    /// Handles an ACK during a reduction.
    pub(super) fn on_ack(&mut self, host: &mut Host, flags: &AckFlags) {
        match self {
            Self::Prr(prr) => prr.on_ack(host, flags),
            Self::RateHalving(halving) => halving.on_ack(host, flags),
        }
    }

    /// Ends the reduction, unless it was `undone`.
    pub(super) fn end(&self, host: &mut Host, undone: bool) {
        match self {
            Self::Prr(prr) => prr.end(host, undone),
            Self::RateHalving(halving) => halving.end(host),
        }
    }

    /// The window after a timeout.
    pub(super) fn cwnd_after_timeout(&self, host: &Host) -> u32 {
        match self {
            Self::Prr(_) => host.in_flight() + 1,
            Self::RateHalving(_) => 1,
        }
    }

    /// Linux 2.6 limits cwnd after a dubious ACK, so that few segments leave at once.
    pub(super) fn moderate(&self, host: &mut Host) {
        if let Self::RateHalving(halving) = self {
            halving.moderate(host);
        }
    }
}
