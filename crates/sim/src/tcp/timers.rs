//! The timers of the sender: retransmission timeouts (RFC 6298), tail loss probes and the
//! reordering timer (RFC 8985). As in Linux only one of the three is armed at a time.
//!
//! How to drive it: call [`arm`](Timers::arm) or [`arm_rto`](Timers::arm_rto). At the time of
//! [`timeout_ns`](Timers::timeout_ns), [`take`](Timers::take) returns the timer that is due. Call
//! [`timed_out`](Timers::timed_out) after a timeout, and [`on_progress`](Timers::on_progress) when an
//! ACK advances. How long the timeout is, and its back-off, is `icsk_rto` of the [`Host`].

use super::constants::{RTO_MAX_US, RTO_MIN_US};
use super::host::Host;
use crate::record::TimerKind;
use ackclock_net::schedule::NEVER;

/// `tcp_retries2`, and the most doublings: `TCP_RTO_MAX` is 2^9 times `TCP_RTO_MIN`, and more.
const MOST_PROBES: u32 = 15;
const MOST_PROBE_SHIFT: u32 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    None,
    Retransmission,
    LossProbe,
    Reordering,
    WindowProbe,
}

/// `tcp_rto_delta_us`: how far the timeout of a segment is away; 0: it has passed.
pub(super) fn until_us(host: &Host, sent_ns: u64) -> u64 {
    (sent_ns / 1_000 + host.rto_us()).saturating_sub(host.now_us())
}

/// Pacing may hold the next packet back.
const PACED: u8 = 1;
/// Timers of other hosts may fire at the same time.
const PLACED: u8 = 2;

/// The timer of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    timer: Timer,
    at_ns: u64,
    /// Its place among the timers that fire at that time, if other hosts' may.
    place: u64,
    /// Timeouts since `una` last advanced.
    retransmits: u32,
    /// `icsk_backoff` of probes of a closed window.
    probes: u32,
    /// What most timers need not ask: [`PACED`], [`PLACED`].
    uncommon: u8,
}

impl Timers {
    pub(super) const fn new() -> Self {
        Self {
            timer: Timer::None,
            at_ns: NEVER,
            place: 0,
            retransmits: 0,
            probes: 0,
            uncommon: 0,
        }
    }

    #[inline]
    pub(super) fn arm(&mut self, timer: Timer, at_ns: u64) {
        (self.timer, self.at_ns) = (timer, at_ns);
    }

    /// Arms a timer for so many jiffies.
    #[inline]
    pub(super) fn arm_for(&mut self, timer: Timer, host: &Host, wait: u64) {
        if self.uncommon & PLACED > 0 && host.fires_ns(wait) != self.at_ns {
            self.place = host.place_in_wheel(wait);
        }
        self.arm(timer, host.fires_ns(wait));
    }

    /// Other hosts count the same jiffies.
    pub(super) fn take_places(&mut self) {
        self.uncommon |= PLACED;
    }

    #[inline]
    pub(super) fn disarm(&mut self) {
        self.arm(Timer::None, NEVER);
    }

    /// Arms a timer for so many jiffies, and those until pacing lets the next packet leave
    /// (`tcp_reset_xmit_timer`, `tcp_pacing_delay`).
    #[inline]
    pub(super) fn arm_paced(&mut self, timer: Timer, host: &Host, wait: u64) {
        if self.uncommon > 0 {
            return self.arm_uncommon(timer, host, wait);
        }
        self.arm(timer, host.fires_ns(wait));
    }

    #[cold]
    #[inline(never)]
    fn arm_uncommon(&mut self, timer: Timer, host: &Host, wait: u64) {
        if self.uncommon & PACED == 0 {
            return self.arm_for(timer, host, wait);
        }
        self.arm_for(timer, host, wait + host.pacing_delay());
    }

    /// A packet has left at the pacing rate.
    #[inline]
    pub(super) fn pace(&mut self) {
        self.uncommon |= PACED;
    }

    /// Arms the timeout, `icsk_rto` from now. If another timer has replaced the timeout, it counts
    /// from the sending of the head.
    #[inline(always)]
    pub(super) fn arm_rto(&mut self, host: &Host, head_sent_ns: impl Fn() -> u64) {
        let wait = match self.timer {
            Timer::LossProbe | Timer::Reordering => {
                let until_us = until_us(host, head_sent_ns());
                host.jiffies_of_us(until_us).max(1)
            }
            Timer::None | Timer::Retransmission | Timer::WindowProbe => host.rto(),
        };
        self.arm_paced(Timer::Retransmission, host, wait);
    }

    /// Whether the reordering timer is armed.
    #[inline]
    pub(super) fn awaits_reordering(&self) -> bool {
        self.timer == Timer::Reordering
    }

    /// Whether no timer is armed.
    #[inline]
    pub(super) fn is_off(&self) -> bool {
        self.timer == Timer::None
    }

    /// Whether the timer is for a tail loss probe.
    #[inline]
    pub(super) fn awaits_probe(&self) -> bool {
        self.timer == Timer::LossProbe
    }

    /// What is armed.
    pub(super) fn kind(&self) -> TimerKind {
        match self.timer {
            Timer::None => TimerKind::None,
            Timer::Retransmission => TimerKind::Retransmission,
            Timer::LossProbe => TimerKind::LossProbe,
            Timer::Reordering => TimerKind::Reordering,
            Timer::WindowProbe => TimerKind::WindowProbe,
        }
    }

    /// The place of what is armed among the timers that fire with it: the greatest is first.
    pub(super) fn place(&self) -> u64 {
        self.place
    }

    #[inline]
    pub(super) fn timeout_ns(&self) -> u64 {
        self.at_ns
    }

    /// A closed window is probed after the timeout, each time after twice as long (`tcp_probe0_when`).
    #[cold]
    pub(super) fn arm_window_probe(&mut self, host: &Host) {
        let base = host.rto().max(host.jiffies_of_us(RTO_MIN_US.into()));
        let most = host.jiffies_of_us(RTO_MAX_US);
        let wait = (base << self.probes.min(MOST_PROBE_SHIFT)).min(most);
        self.arm_paced(Timer::WindowProbe, host, wait);
    }

    /// A probe leaves.
    pub(super) fn window_probed(&mut self) {
        self.probes = (self.probes + 1).min(MOST_PROBES);
    }

    /// The window is open (`tcp_ack_probe`).
    pub(super) fn window_opens(&mut self) {
        self.probes = 0;
        if self.timer == Timer::WindowProbe {
            self.disarm();
        }
    }

    /// The timer that is due; it is off then.
    pub(super) fn take(&mut self, now_ns: u64) -> Option<Timer> {
        if now_ns < self.at_ns {
            return None;
        }
        let timer = self.timer;
        self.disarm();
        Some(timer)
    }

    /// A probe is about to be sent in the timer's stead.
    pub(super) fn wait_for_probe(&mut self) {
        self.arm(Timer::LossProbe, NEVER);
    }

    /// The retransmission timer fired.
    pub(super) fn timed_out(&mut self) {
        self.retransmits += 1;
    }

    /// Timeouts since `una` last advanced.
    pub(super) fn retransmits(&self) -> u32 {
        self.retransmits
    }

    /// `una` advanced.
    #[inline]
    pub(super) fn on_progress(&mut self) {
        self.retransmits = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::host::reno;
    use super::*;
    use crate::scenario::Profile;

    const MS: u64 = 1_000_000;

    #[test]
    fn one_timer_at_a_time() {
        let mut timers = Timers::new();
        assert_eq!(timers.timeout_ns(), NEVER);
        assert_eq!(timers.take(NEVER - 1), None);
        timers.arm(Timer::LossProbe, 200 * MS);
        timers.arm(Timer::Reordering, 100 * MS);
        assert_eq!(timers.take(100 * MS - 1), None);
        assert_eq!(timers.take(100 * MS), Some(Timer::Reordering));
        assert_eq!(timers.take(500 * MS), None);
        timers.wait_for_probe();
        assert!(timers.awaits_probe() && timers.timeout_ns() == NEVER);
    }

    /// Where another timer had its place, the timeout counts from the head's sending. Jiffies begin
    /// at whole milliseconds, and the wheel counts eights of them (the first jiffy is one).
    #[test]
    fn what_the_timeout_counts_from() {
        let mut host = reno(Profile::Linux6, 10);
        host.clock(1_100 * MS);
        let mut timers = Timers::new();
        timers.arm_rto(&host, || 1_000 * MS);
        assert_eq!(timers.timeout_ns(), host.fires_ns(300));
        for other in [Timer::LossProbe, Timer::Reordering] {
            timers.arm(other, 1_150 * MS);
            timers.arm_rto(&host, || 1_000 * MS);
            assert_eq!(timers.timeout_ns(), host.fires_ns(200));
            timers.arm(other, 1_150 * MS);
            timers.arm_rto(&host, || 700 * MS);
            assert_eq!(timers.timeout_ns(), host.fires_ns(1), "never in the past");
        }
    }

    /// `tcp_probe0_base`: also where `rto_min` is less.
    #[test]
    fn a_window_probe_waits_200_ms_at_least() {
        let mut host = reno(Profile::Linux6, 10);
        host.clock(1_100 * MS);
        host.publish_rto(50_000);
        let mut timers = Timers::new();
        for jiffies in [200, 400, 800] {
            timers.arm_window_probe(&host);
            assert_eq!(timers.timeout_ns(), host.fires_ns(jiffies));
            timers.window_probed();
        }
        timers.window_opens();
        host.publish_rto(300_000);
        timers.arm_window_probe(&host);
        assert_eq!(timers.timeout_ns(), host.fires_ns(300));
    }

    /// 10 ms and a bit until the next packet may leave are 10 jiffies more.
    #[test]
    fn a_paced_flow_waits_longer() {
        let mut host = reno(Profile::Linux6, 10);
        host.clock(1_100 * MS);
        host.set_next_send_ns(1_110 * MS + 999_999);
        let mut timers = Timers::new();
        timers.pace();
        timers.arm_rto(&host, || 1_000 * MS);
        assert_eq!(timers.timeout_ns(), host.fires_ns(310));
        timers.arm_paced(Timer::LossProbe, &host, 20);
        assert_eq!(timers.timeout_ns(), host.fires_ns(30));
        host.set_next_send_ns(1_090 * MS);
        timers.arm_rto(&host, || 1_000 * MS);
        assert_eq!(
            timers.timeout_ns(),
            host.fires_ns(200),
            "from the head's sending"
        );
    }
}
