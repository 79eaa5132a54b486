//! What the short way of a sender need not ask (ADR 17). `Sender::special` is what makes an ACK or a
//! burst uncommon, in one word, as Linux's `pred_flags`: found for an ACK, forgotten by each slow path. A
//! [`Plan`] is what is the same for a flow's whole life.

use super::bursts::Bursts;
use super::loss::{LossDetection, Tlp};
use ackclock_host::Era;

/// A bit of `Sender::special`: a slow path may have changed each state. Or an ACK is not predicted: the
/// state is not Open, or a segment of the window is SACKed, lost or in doubt.
pub(super) const SLOW: u8 = 1;
/// More than cwnd may limit the flow.
pub(super) const LIMITED: u8 = 2;
/// The flow is paced, uses ECN, has a hook that few have, or none of the plans.
pub(super) const RARE: u8 = 4;

/// What is known of a sender.
pub(crate) trait Plan {
    /// Packets are out, none is SACKed, lost or sent again, the state is Open, and nothing is to be sent
    /// again.
    const PREDICTED: bool = true;
    /// Besides that nothing is special: its kernel, and its bursts.
    const COMMON: Option<(Era, Bursts)> = None;
}

/// Nothing is known.
pub(crate) enum Any {}
/// Its ACKs are predicted.
pub(crate) enum Predicted {}
/// A common sender of Linux 6: with TSO, RACK and tail loss probes.
pub(crate) enum Linux6 {}
/// A common sender of Linux 2.6: without TSO.
pub(crate) enum Linux2_6 {}

impl Plan for Any {
    const PREDICTED: bool = false;
}
impl Plan for Predicted {}
impl Plan for Linux6 {
    const COMMON: Option<(Era, Bursts)> = Some((Era::Linux6, Bursts::Autosized));
}
impl Plan for Linux2_6 {
    const COMMON: Option<(Era, Bursts)> = Some((Era::Linux2_6, Bursts::Window));
}

/// What is special about a sender for its whole life. `rare`: it has a hook or a queue that few have.
pub(super) fn lasting_specials(
    plan: (Era, Bursts, &LossDetection, &Tlp),
    rare: bool,
    long_way: bool,
) -> u8 {
    let known = match plan {
        (Era::Linux6, Bursts::Autosized, LossDetection::Rack(_), tlp) => tlp.is_enabled(),
        (Era::Linux2_6, Bursts::Window, ..) => true,
        _ => false,
    };
    SLOW * u8::from(long_way) + RARE * u8::from(rare || !known)
}
