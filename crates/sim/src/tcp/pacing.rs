//! Pacing: `sk_pacing_rate` (`tcp_update_pacing_rate`), and sending at it as under fq
//! (`tcp_update_skb_after_send`, `tcp_pacing_check`).
//!
//! How to drive it: call [`update_rate`](Pacer::update_rate) after each ACK, and
//! [`on_sent`](Pacer::on_sent) after each burst. While [`holds`](Pacer::holds) is true nothing may
//! leave; [`wake`](Pacer::wake) sets a timer for that time.

use super::host::{Host, MAX_CWND};
use ackclock_net::schedule::NEVER;

/// `sysctl_tcp_pacing_ss_ratio`, `sysctl_tcp_pacing_ca_ratio`, percent.
const PACING_SS_PERCENT: u64 = 200;
const PACING_CA_PERCENT: u64 = 120;
/// `sk_pacing_status` of a connection without pacing.
pub(super) const SK_PACING_NONE: u32 = 0;
/// The first packet of a connection after which the next one waits: 9 are free.
const FIRST_PACED_PACKET: u8 = 10;

/// Holds packets back until `tcp_wstamp_ns`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    keeps_rate: bool,
    /// When to send the packets that pacing holds back, or a small queue.
    wake_at_ns: u64,
    /// A small queue holds them back.
    for_queue: bool,
    first_paced_packet: u8,
}

impl Pacer {
    /// `keeps_rate`: bursts, HyStart or the pacer use the rate.
    pub(super) fn new(keeps_rate: bool) -> Self {
        Self {
            keeps_rate,
            wake_at_ns: NEVER,
            for_queue: false,
            first_paced_packet: FIRST_PACED_PACKET,
        }
    }

    /// Bursts and HyStart use the rate even without pacing.
    #[inline]
    pub(super) fn update_rate(&self, host: &mut Host) {
        if !self.keeps_rate {
            return;
        }
        let tp = host.tp();
        let slow_start = tp.snd_cwnd < tp.snd_ssthresh / 2;
        let percent = if slow_start {
            PACING_SS_PERCENT
        } else {
            PACING_CA_PERCENT
        };
        let window = u64::from(tp.snd_cwnd.max(tp.packets_out).min(MAX_CWND));
        let rate = u64::from(tp.mss_cache) * ((1_000_000 / 100) << 3) * percent * window;
        host.set_pacing_rate(rate / u64::from(tp.srtt_us.max(1)));
    }

    /// Each burst takes its time at the pacing rate. A late burst takes up to half of that time
    /// less. `sent_packets` counts all packets of the connection, this burst included. Returns whether
    /// the flow is paced.
    #[inline]
    pub(super) fn on_sent(&self, host: &mut Host, segments: u32, sent_packets: u64) -> bool {
        let (tp, now_ns) = (host.tp(), host.now_ns());
        let sk = &tp.inet_conn.sk;
        let (until_ns, rate) = (tp.tcp_wstamp_ns, sk.sk_pacing_rate);
        let mut next_ns = until_ns.max(now_ns);
        if sk.sk_pacing_status == SK_PACING_NONE {
            host.set_next_send_ns(next_ns);
            return false;
        }
        if rate != 0 && sent_packets >= self.first_paced_packet.into() {
            let bytes = u64::from(segments) * u64::from(tp.mss_cache);
            let lasts_ns = bytes * 1_000_000_000 / rate;
            let late_ns = now_ns.saturating_sub(until_ns);
            next_ns += lasts_ns - late_ns.min(lasts_ns / 2);
        }
        host.set_next_send_ns(next_ns);
        true
    }

    /// What the interface has refused counts as sent (`data_segs_out`), each time that the application writes:
    /// no packet is free from now on.
    pub(super) fn pace_all(&mut self) {
        self.first_paced_packet = 0;
    }

    /// Whether it is too early to send.
    #[inline]
    pub(super) fn holds(&self, host: &Host) -> bool {
        host.tp().tcp_wstamp_ns > host.now_ns()
    }

    /// Sets a timer for packets that wait.
    pub(super) fn wake(&mut self, host: &Host) {
        (self.wake_at_ns, self.for_queue) = (host.tp().tcp_wstamp_ns, false);
    }

    /// Sets a timer for packets that a small queue held back: it now has room.
    pub(super) fn wake_for_queue(&mut self, now_ns: u64) {
        (self.wake_at_ns, self.for_queue) = (now_ns, true);
    }

    /// Whether the timer is that of pacing, and due.
    pub(super) fn paces(&self, now_ns: u64) -> bool {
        self.wake_at_ns <= now_ns && !self.for_queue
    }

    /// Whether it is for a small queue, and due.
    #[inline(always)]
    pub(super) fn waits_for_queue(&self, now_ns: u64) -> bool {
        self.wake_at_ns <= now_ns && self.for_queue
    }

    /// When [`expired`](Self::expired) will be true.
    #[inline]
    pub(super) fn timeout_ns(&self) -> u64 {
        self.wake_at_ns
    }

    /// Whether the timer is due. A due timer is switched off.
    #[inline]
    pub(super) fn expired(&mut self, now_ns: u64) -> bool {
        let due = self.wake_at_ns <= now_ns;
        if due {
            self.wake_at_ns = NEVER;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::super::host::reno;
    use super::super::profile::Kernel;
    use super::*;
    use crate::scenario::Profile;

    const MS: u64 = 1_000_000;

    fn pacer(profile: Profile, pacing: bool) -> Pacer {
        Pacer::new(Kernel::for_profile(profile).keeps_pacing_rate || pacing)
    }

    /// Twice the window per srtt in slow start, 1.2 windows after; 2.6 has no rate unless it paces.
    #[test]
    fn the_rate_follows_the_window() {
        let mut host = reno(Profile::Linux6, 100);
        host.publish_rtt(8 * 100_000, 0);
        let pacer_6 = pacer(Profile::Linux6, false);
        pacer_6.update_rate(&mut host);
        let window_per_rtt = 100 * 1448 * 10;
        assert_eq!(host.tp().inet_conn.sk.sk_pacing_rate, 2 * window_per_rtt);
        host.set_ssthresh(200);
        pacer_6.update_rate(&mut host);
        assert_eq!(
            host.tp().inet_conn.sk.sk_pacing_rate,
            window_per_rtt * 12 / 10
        );

        let mut host = reno(Profile::Linux2_6_25, 100);
        host.publish_rtt(8 * 100_000, 0);
        pacer(Profile::Linux2_6_25, false).update_rate(&mut host);
        assert_eq!(host.tp().inet_conn.sk.sk_pacing_rate, u64::MAX);
        pacer(Profile::Linux2_6_25, true).update_rate(&mut host);
        assert_eq!(host.tp().inet_conn.sk.sk_pacing_rate, 2 * window_per_rtt);
    }

    #[test]
    fn the_application_limits_the_rate() {
        let mut host = reno(Profile::Linux6, 100);
        host.publish_rtt(8 * 100_000, 0);
        let pacer = pacer(Profile::Linux6, true);
        pacer.update_rate(&mut host);
        host.limit_pacing_rate(1_000_000);
        assert_eq!(host.tp().inet_conn.sk.sk_max_pacing_rate, 1_000_000);
        assert_eq!(host.tp().inet_conn.sk.sk_pacing_rate, 1_000_000);
        pacer.update_rate(&mut host);
        assert_eq!(host.tp().inet_conn.sk.sk_pacing_rate, 1_000_000);
        host.publish_rtt(8 * 1_000_000, 0);
        pacer.update_rate(&mut host);
        assert_eq!(host.tp().inet_conn.sk.sk_pacing_rate, 2 * 100 * 1448);
    }

    /// A segment lasts 1 ms; one that leaves 0.4 ms late is followed after 0.6 ms, one that
    /// leaves far too late after half a segment.
    #[test]
    fn bursts_take_their_time() {
        let mut host = reno(Profile::Linux6, 100);
        host.as_algorithm().inet_conn.sk.sk_pacing_status = 1;
        host.set_pacing_rate(1_448_000);
        let mut pacer = pacer(Profile::Linux6, true);
        pacer.on_sent(&mut host, 9, 9);
        assert!(!pacer.holds(&host), "the first nine are free");
        let start_ns = host.now_ns();
        pacer.on_sent(&mut host, 2, 11);
        assert_eq!(host.tp().tcp_wstamp_ns, start_ns + 2 * MS);
        host.clock(start_ns + 2 * MS - 1);
        assert!(pacer.holds(&host));
        host.clock(start_ns + 2 * MS + 400_000);
        assert!(!pacer.holds(&host));
        pacer.on_sent(&mut host, 1, 12);
        assert_eq!(host.tp().tcp_wstamp_ns, start_ns + 3 * MS);
        host.clock(start_ns + 50 * MS);
        pacer.on_sent(&mut host, 1, 13);
        let until_ns = start_ns + 50 * MS + 500_000;
        assert_eq!(host.tp().tcp_wstamp_ns, until_ns);
        assert_eq!(pacer.timeout_ns(), NEVER);
        pacer.wake(&host);
        assert_eq!(pacer.timeout_ns(), until_ns);
        assert!(!pacer.expired(until_ns - 1) && pacer.expired(until_ns));
        assert_eq!(pacer.timeout_ns(), NEVER);
    }

    /// The scenario or the algorithm says whether packets are paced.
    #[test]
    fn who_does_not_pace_holds_nothing() {
        let mut host = reno(Profile::Linux6, 100);
        host.set_pacing_rate(1_000);
        let pacer = pacer(Profile::Linux6, false);
        pacer.on_sent(&mut host, 45, 100);
        assert_eq!(host.tp().tcp_wstamp_ns, host.now_ns(), "when it last sent");
        assert!(!pacer.holds(&host));
        host.as_algorithm().inet_conn.sk.sk_pacing_status = 1;
        pacer.on_sent(&mut host, 45, 100);
        assert!(pacer.holds(&host));
    }
}
