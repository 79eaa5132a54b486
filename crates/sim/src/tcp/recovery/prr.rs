//! Proportional rate reduction (RFC 9937, with the slow-start reduction bound;
//! `tcp_cwnd_reduction`): the sender may send a share ssthresh/cwnd of the delivered packets.
//!
//! How to drive it: call [`begin`](Prr::begin) when a reduction begins. Then call
//! [`on_sent`](Prr::on_sent) for each transmission and [`on_ack`](Prr::on_ack) for each ACK. Call
//! [`end`](Prr::end) at the end.

use super::super::flags::AckFlags;
use super::super::host::Host;
use ackclock_host::{TcpSock, TCP_INFINITE_SSTHRESH};

/// Packets delivered and sent in this reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prr {
    delivered: u32,
    out: u32,
}

impl Prr {
    pub(crate) const fn new() -> Self {
        Self {
            delivered: 0,
            out: 0,
        }
    }

    pub(crate) fn begin(&mut self) {
        *self = Self::new();
    }

    #[inline]
    pub(crate) fn on_sent(&mut self, segments: u32) {
        self.out += segments;
    }

    /// Sets cwnd to the packets in flight plus the packets that may be sent now.
    pub(crate) fn on_ack(&mut self, host: &mut Host, flags: &AckFlags) {
        if flags.newly_delivered == 0 || host.tp().prior_cwnd == 0 {
            return;
        }
        let in_flight = host.in_flight();
        let cwnd = in_flight + self.budget(host.tp(), in_flight, flags);
        host.set_cwnd(cwnd);
    }

    /// How many packets may be sent now.
    fn budget(&mut self, tp: &TcpSock, in_flight: u32, flags: &AckFlags) -> u32 {
        self.delivered += flags.newly_delivered;
        let (delivered, out) = (self.delivered, i64::from(self.out));
        let budget = if tp.snd_ssthresh < in_flight {
            // Proportional: send ssthresh/prior_cwnd of the delivered packets.
            let share = u64::from(tp.snd_ssthresh) * u64::from(delivered);
            share.div_ceil(u64::from(tp.prior_cwnd)) as i64 - out
        } else {
            let mut budget = (i64::from(delivered) - out).max(flags.newly_delivered.into());
            if flags.una_advanced && flags.newly_lost == 0 {
                budget += 1;
            }
            budget.min((tp.snd_ssthresh - in_flight).into())
        };
        // The first ACK of a recovery always retransmits.
        budget.max(i64::from(out == 0)).max(0) as u32
    }

    /// Sets cwnd to ssthresh, unless the reduction was undone.
    pub(crate) fn end(&self, host: &mut Host, undone: bool) {
        let ssthresh = host.tp().snd_ssthresh;
        if ssthresh < TCP_INFINITE_SSTHRESH && !undone {
            host.set_cwnd(ssthresh);
            host.stamp_cwnd();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::host::reno;
    use super::*;
    use crate::scenario::Profile;

    /// A window of 20 packets, which Reno reduces to 10, with `lost` lost packets.
    fn begun(lost: u32) -> (Host, Prr) {
        let mut host = reno(Profile::Linux6, 20);
        host.counts().sent(20);
        host.begin_reduction();
        for _ in 0..lost {
            host.counts().lost(false);
        }
        (host, Prr::new())
    }

    fn delivers(host: &mut Host, prr: &mut Prr, sacked: u32) -> u32 {
        for _ in 0..sacked {
            host.counts().sacked();
        }
        let flags = AckFlags {
            newly_delivered: sacked,
            ..AckFlags::default()
        };
        prr.on_ack(host, &flags);
        host.tp().snd_cwnd - host.in_flight()
    }

    /// RFC 9937, 6: above ssthresh half of the delivered packets may be sent.
    #[test]
    fn proportional() {
        let (mut host, mut prr) = begun(1);
        let mut sent = 0;
        for _ in 0..18 {
            let budget = delivers(&mut host, &mut prr, 1);
            prr.on_sent(budget);
            host.counts().sent(budget);
            sent += budget;
        }
        assert_eq!((sent, host.in_flight()), (9, 10));
    }

    /// Below ssthresh (many losses): as many as were delivered, and one more if no packet is newly
    /// lost.
    #[test]
    fn slow_start_bound() {
        let (mut host, mut prr) = begun(15);
        assert_eq!(delivers(&mut host, &mut prr, 2), 2);
        prr.on_sent(2);
        let flags = AckFlags {
            newly_delivered: 1,
            una_advanced: true,
            ..AckFlags::default()
        };
        prr.on_ack(&mut host, &flags);
        assert_eq!(host.tp().snd_cwnd - host.in_flight(), 2);
        // But not beyond ssthresh.
        let flags = AckFlags {
            newly_delivered: 100,
            ..flags
        };
        prr.on_ack(&mut host, &flags);
        assert_eq!(host.tp().snd_cwnd, 10);
    }

    #[test]
    fn an_ack_that_delivers_nothing_changes_nothing() {
        let (mut host, mut prr) = begun(1);
        prr.on_ack(&mut host, &AckFlags::default());
        assert_eq!(host.tp().snd_cwnd, 20);
    }

    #[test]
    fn it_ends_at_ssthresh() {
        let (mut host, prr) = begun(1);
        prr.end(&mut host, true);
        assert_eq!(host.tp().snd_cwnd, 20);
        prr.end(&mut host, false);
        assert_eq!(host.tp().snd_cwnd, 10);
        host.set_ssthresh(TCP_INFINITE_SSTHRESH);
        prr.end(&mut host, false);
        assert_eq!(host.tp().snd_cwnd, 10, "there was no reduction");
    }
}
