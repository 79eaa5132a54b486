//! Rate halving (Linux up to 3.1; `tcp_cwnd_down`, `tcp_complete_cwr`, `tcp_moderate_cwnd`). The
//! window shrinks by one segment for every second ACK down to ssthresh, and never exceeds in
//! flight + 1. A burst of losses therefore drags cwnd far below ssthresh.
//!
//! How to drive it: call [`on_ack`](RateHalving::on_ack) in CWR and Recovery,
//! [`end`](RateHalving::end) after them, and [`moderate`](RateHalving::moderate) after other
//! dubious ACKs.

use super::super::constants::REORDERING;
use super::super::flags::AckFlags;
use super::super::host::Host;

/// How many segments above those in flight cwnd moderation allows.
const MAX_BURST: u32 = REORDERING;

/// Rate halving. Its state (is this the second ACK?) is in `snd_cwnd_cnt`, as in Linux.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateHalving {
    /// Whether each ACK counts, or only those that bring news.
    pub(crate) each_ack: bool,
}

impl RateHalving {
    /// Takes one segment from cwnd for every second ACK (`tcp_cwnd_down`).
    pub(crate) fn on_ack(self, host: &mut Host, flags: &AckFlags) {
        let news = flags.una_advanced || flags.data_sacked || flags.duplicate_sack;
        if !(news || self.each_ack) {
            return;
        }
        let least = host.min_cwnd();
        let tp = host.tp();
        let halves = tp.snd_cwnd_cnt + 1;
        let mut cwnd = tp.snd_cwnd;
        if halves >> 1 > 0 && cwnd > least {
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
    use super::super::super::host::riding;
    use super::*;
    use crate::scenario::Profile;

    const NEWS: RateHalving = RateHalving { each_ack: false };

    fn window(algorithm: &str, packets_out: u32) -> Host {
        let mut host = riding(algorithm, Profile::Linux2_6_25, 20);
        host.counts().sent(packets_out);
        host.begin_reduction();
        host
    }

    fn windows(halving: RateHalving) -> Vec<u32> {
        let mut host = window("reno", 20);
        let tells = AckFlags {
            data_sacked: true,
            ..AckFlags::default()
        };
        let mut windows = Vec::new();
        for _ in 0..4 {
            halving.on_ack(&mut host, &AckFlags::default());
            halving.on_ack(&mut host, &tells);
            windows.push(host.tp().snd_cwnd);
        }
        windows
    }

    /// An ACK that brings no news counted in 2.6.18.
    #[test]
    fn every_second_ack() {
        assert_eq!(windows(NEWS), [20, 19, 19, 18]);
        assert_eq!(windows(RateHalving { each_ack: true }), [19, 18, 17, 16]);
    }

    /// `tcp_reno_min_cwnd`: half of ssthresh for standard TCP, ssthresh for CUBIC.
    #[test]
    fn how_far_it_goes() {
        let tells = AckFlags {
            una_advanced: true,
            ..AckFlags::default()
        };
        for (algorithm, ssthresh, least) in [
            ("reno", 10, 5),
            ("yeah", 10, 5),
            ("cubic@2.6.18", 16, 16),
            ("htcp", 10, 10),
            ("veno", 10, 10),
        ] {
            let mut host = window(algorithm, 20);
            host.set_ssthresh(ssthresh);
            for _ in 0..60 {
                NEWS.on_ack(&mut host, &tells);
            }
            assert_eq!(host.tp().snd_cwnd, least, "{algorithm}");
            NEWS.end(&mut host);
            assert_eq!(host.tp().snd_cwnd, least, "{algorithm}: slow start follows");
        }
    }

    #[test]
    fn no_more_than_what_is_in_flight_allows() {
        let mut host = window("reno", 5);
        NEWS.moderate(&mut host);
        assert_eq!(host.tp().snd_cwnd, 8);
        let tells = AckFlags {
            una_advanced: true,
            ..AckFlags::default()
        };
        NEWS.on_ack(&mut host, &tells);
        assert_eq!(host.tp().snd_cwnd, 6);
        NEWS.end(&mut host);
        assert_eq!(host.tp().snd_cwnd, 6, "below ssthresh it stays there");
        host.set_cwnd(15);
        NEWS.end(&mut host);
        assert_eq!(host.tp().snd_cwnd, 10);
    }
}
