//! Rate halving (Linux up to 3.1; `tcp_cwnd_down`, `tcp_complete_cwr`, `tcp_moderate_cwnd`). The
//! window shrinks by one segment for every second ACK down to ssthresh, and never exceeds in
//! flight + 1. A burst of losses therefore drags cwnd far below ssthresh.
//!
//! How to drive it: call [`on_ack`](RateHalving::on_ack) in CWR and Recovery,
//! [`end`](RateHalving::end) after them, and [`moderate`](RateHalving::moderate) after other
//! dubious ACKs.

use super::super::host::Host;
use super::super::profile::REORDERING;
use super::super::sender::AckFlags;

/// How many segments above those in flight cwnd moderation allows.
const MAX_BURST: u32 = REORDERING;

/// Rate halving. Its state (is this the second ACK?) is in `snd_cwnd_cnt`, as in Linux.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateHalving;

impl RateHalving {
    /// Takes one segment from cwnd for every second ACK that brings news (`tcp_cwnd_down`).
    pub(crate) fn on_ack(self, host: &mut Host, flags: &AckFlags) {
        if !(flags.una_advanced || flags.data_sacked || flags.duplicate_sack) {
            return;
        }
        let tp = host.tp();
        let halves = tp.snd_cwnd_cnt + 1;
        let mut cwnd = tp.snd_cwnd;
        if halves >> 1 > 0 && cwnd > tp.snd_ssthresh {
            cwnd -= halves >> 1;
        }
        host.set_cwnd_cnt(halves & 1);
        host.set_cwnd(cwnd.min(host.in_flight() + 1));
        host.stamp_cwnd();
    }

    pub(crate) fn end(self, host: &mut Host) {
        let tp = host.tp();
        host.set_cwnd(tp.snd_cwnd.min(tp.snd_ssthresh));
        host.stamp_cwnd();
    }

    pub(crate) fn moderate(self, host: &mut Host) {
        host.set_cwnd(host.tp().snd_cwnd.min(host.in_flight() + MAX_BURST));
        host.stamp_cwnd();
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::host::reno;
    use super::*;
    use crate::scenario::Profile;

    fn window(packets_out: u32) -> Host {
        let mut host = reno(Profile::Linux2_6_25, 20);
        host.counts().sent(packets_out);
        host.begin_reduction();
        host
    }

    #[test]
    fn every_second_ack_that_tells_something() {
        let mut host = window(20);
        let tells = AckFlags {
            data_sacked: true,
            ..AckFlags::default()
        };
        let mut windows = Vec::new();
        for _ in 0..4 {
            RateHalving.on_ack(&mut host, &AckFlags::default());
            RateHalving.on_ack(&mut host, &tells);
            windows.push(host.tp().snd_cwnd);
        }
        assert_eq!(windows, [20, 19, 19, 18]);
        host.set_cwnd(10);
        RateHalving.on_ack(&mut host, &tells);
        RateHalving.on_ack(&mut host, &tells);
        assert_eq!(host.tp().snd_cwnd, 10, "ssthresh");
    }

    #[test]
    fn no_more_than_what_is_in_flight_allows() {
        let mut host = window(5);
        RateHalving.moderate(&mut host);
        assert_eq!(host.tp().snd_cwnd, 8);
        let tells = AckFlags {
            una_advanced: true,
            ..AckFlags::default()
        };
        RateHalving.on_ack(&mut host, &tells);
        assert_eq!(host.tp().snd_cwnd, 6);
        RateHalving.end(&mut host);
        assert_eq!(host.tp().snd_cwnd, 6, "below ssthresh it stays there");
        host.set_cwnd(15);
        RateHalving.end(&mut host);
        assert_eq!(host.tp().snd_cwnd, 10);
    }
}
