//! The host contract: the socket that an algorithm sees, and its hooks.
//!
//! Only this module writes the fields of the socket, and only it calls hooks. The algorithm itself
//! may also write the fields marked *. The mechanisms call the methods of [`Host`] and [`Counts`]
//! to say what has happened. A test compares this table with the fields of `TcpSock`.
//!
//! How to drive it: call [`clock`](Host::clock) first in each call to the sender. Then call the
//! methods in the order of `tcp_ack`.
//!
//! | field | written by | test |
//! |---|---|---|
//! | `tcp_mstamp`, `sk_host.jiffies` | [`clock`](Host::clock) | `host::tests::the_clock_ticks_at_its_phase` |
//! | `snd_una`, `snd_nxt` | [`publish_sequence`](Host::publish_sequence), [`in_ack_event`](Host::in_ack_event) | `host::tests::sequence_numbers_count_bytes_and_wrap`, `tests/sender.rs` |
//! | `snd_cwnd` * | [`set_cwnd`](Host::set_cwnd), [`undo`](Host::undo), [`restart_cwnd`](Host::restart_cwnd) | `tests/{rfc,undo,sender}.rs` |
//! | `snd_ssthresh` * | [`begin_reduction`](Host::begin_reduction), [`set_ssthresh`](Host::set_ssthresh), [`undo`](Host::undo), [`restart_cwnd`](Host::restart_cwnd) | `tests/{rfc,undo,sender}.rs` |
//! | `snd_cwnd_cnt` * | [`set_cwnd_cnt`](Host::set_cwnd_cnt) | `tests/undo.rs` |
//! | `snd_cwnd_stamp` * | [`stamp_cwnd`](Host::stamp_cwnd) | `host::tests::growth_is_stamped` |
//! | `snd_cwnd_used`, `is_cwnd_limited`, `max_packets_out` | [`set_usage`](Host::set_usage), [`set_cwnd_used`](Host::set_cwnd_used) | `validate::tests` |
//! | `prior_cwnd` | [`begin_reduction`](Host::begin_reduction) | `host::tests::a_reduction_is_undone` |
//! | `prior_ssthresh` | [`set_prior_ssthresh`](Host::set_prior_ssthresh) | `host::tests::a_reduction_is_undone` |
//! | `packets_out`, `sacked_out`, `lost_out`, `retrans_out`, `delivered`, `lost`, `total_retrans` | [`Counts`], for the scoreboard | `Scoreboard::check`, `scoreboard::tests` |
//! | `srtt_us`, `mdev_us` | [`publish_rtt`](Host::publish_rtt) | `tests/rfc.rs`, `rtt::tests` |
//! | `lsndtime` | [`note_sent`](Host::note_sent) | `host::tests::sending_is_dated` |
//! | `sk_pacing_rate` * | [`set_pacing_rate`](Host::set_pacing_rate) | `pacing::tests` |
//! | `icsk_ca_state` | [`set_state`](Host::set_state) | `tests/sender.rs` |
//! | `snd_cwnd_clamp`, `sk_gso_max_size`, `sk_pacing_status` * | [`new`](Host::new), once | `host::tests::what_a_connection_begins_with` |
//! | `mss_cache`, `sk_host.{hz, era, random, params}` | `CongestionControl::new`, once | `ackclock-host` |
//! | `icsk_rto`, `app_limited` *, `ecn_flags` * | nobody: they keep the values of `CongestionControl::new` | – |
//! | `icsk_ca_priv` * | only the algorithm | – |
//! | `icsk_guard` | `CongestionControl::new`, once, for the checks of `ackclock-host` | `ackclock-host` |

use super::profile::{Kernel, Switches};
use ackclock_host::{
    AckSample, CaEvent, CaState, CongestionControl, RateSample, TcpSock, TCP_INFINITE_SSTHRESH,
};

/// `CA_ACK_SLOWPATH` and `CA_ACK_WIN_UPDATE` of `in_ack_event`.
const CA_ACK_SLOWPATH: u32 = 1;
const CA_ACK_WIN_UPDATE: u32 = 2;
/// Largest congestion window, packets: 1 Tb/s over 200 ms.
pub(super) const MAX_CWND: u32 = 1 << 24;

/// What an algorithm sees of its host, and the host's clock.
pub(super) struct Host {
    cc: CongestionControl,
    /// Time of the current call.
    now_ns: u64,
    tick_ns: u64,
    next_tick_ns: u64,
    /// `lsndtime` in nanoseconds; 0: nothing was sent.
    last_send_ns: u64,
}

impl Host {
    /// The clock first ticks at `tick_phase_ns`. Does not call `init`.
    pub(super) fn new(
        mut cc: CongestionControl,
        kernel: &Kernel,
        switches: &Switches,
        now_ns: u64,
        tick_phase_ns: u64,
    ) -> Self {
        let tp = cc.tp_mut();
        let hz = tp.inet_conn.sk.sk_host.hz;
        tp.snd_cwnd = kernel.initial_cwnd(tp.mss_cache);
        tp.snd_cwnd_clamp = u32::MAX;
        tp.inet_conn.sk.sk_gso_max_size = super::bursts::GSO_MAX_BYTES as u32;
        tp.inet_conn.sk.sk_pacing_status = u32::from(switches.pacing);
        let mut host = Self {
            cc,
            now_ns,
            tick_ns: 1_000_000_000 / u64::from(hz),
            next_tick_ns: tick_phase_ns,
            last_send_ns: 0,
        };
        host.clock(now_ns);
        host
    }

    // --- What the host shows

    /// The socket.
    #[inline]
    pub(super) fn tp(&self) -> &TcpSock {
        self.cc.tp()
    }

    /// Time of the current call.
    #[inline]
    pub(super) fn now_ns(&self) -> u64 {
        self.now_ns
    }

    #[inline]
    pub(super) fn jiffies(&self) -> u32 {
        self.tp().inet_conn.sk.sk_host.jiffies
    }

    /// The length of a jiffy, µs.
    #[inline]
    pub(super) fn tick_us(&self) -> u64 {
        self.tick_ns / 1_000
    }

    /// When data was last sent, or the window restarted; 0: never.
    #[inline]
    pub(super) fn last_send_ns(&self) -> u64 {
        self.last_send_ns
    }

    /// `tcp_packets_in_flight`.
    #[inline]
    pub(super) fn in_flight(&self) -> u32 {
        let tp = self.tp();
        tp.packets_out - (tp.sacked_out + tp.lost_out) + tp.retrans_out
    }

    /// Whether the window is full.
    #[inline]
    pub(super) fn cwnd_is_full(&self) -> bool {
        self.in_flight() >= self.tp().snd_cwnd
    }

    #[inline]
    pub(super) fn state(&self) -> CaState {
        match self.tp().inet_conn.icsk_ca_state {
            0 => CaState::Open,
            1 => CaState::Disorder,
            2 => CaState::Cwr,
            3 => CaState::Recovery,
            _ => CaState::Loss,
        }
    }

    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.tp().inet_conn.icsk_ca_state == CaState::Open as u8
    }

    /// `tcp_in_cwnd_reduction`.
    #[inline]
    pub(super) fn in_cwnd_reduction(&self) -> bool {
        let state = self.tp().inet_conn.icsk_ca_state;
        state == CaState::Cwr as u8 || state == CaState::Recovery as u8
    }

    /// `tcp_current_ssthresh`: the maximum of ssthresh and three quarters of cwnd; ssthresh itself
    /// during a reduction.
    pub(super) fn current_ssthresh(&self) -> u32 {
        let tp = self.tp();
        if self.in_cwnd_reduction() {
            tp.snd_ssthresh
        } else {
            tp.snd_ssthresh.max((tp.snd_cwnd >> 1) + (tp.snd_cwnd >> 2))
        }
    }

    /// A window with a value that an algorithm must not set: its name, its value, its maximum.
    #[inline]
    pub(super) fn fault(&self) -> Option<(&'static str, u32, u32)> {
        let tp = self.tp();
        if tp.snd_cwnd.wrapping_sub(1) >= MAX_CWND {
            return Some(("snd_cwnd", tp.snd_cwnd, MAX_CWND));
        }
        (tp.snd_ssthresh.wrapping_sub(1) >= TCP_INFINITE_SSTHRESH).then_some((
            "snd_ssthresh",
            tp.snd_ssthresh,
            TCP_INFINITE_SSTHRESH,
        ))
    }

    // --- What happens to the connection

    /// Sets the clock to the time of a call.
    #[inline]
    pub(super) fn clock(&mut self, now_ns: u64) {
        debug_assert!(now_ns >= self.now_ns);
        self.now_ns = now_ns;
        let tp = self.cc.tp_mut();
        tp.tcp_mstamp = now_ns / 1_000;
        if now_ns >= self.next_tick_ns {
            let ticks = (now_ns - self.next_tick_ns) / self.tick_ns + 1;
            self.next_tick_ns += ticks * self.tick_ns;
            let jiffies = &mut tp.inet_conn.sk.sk_host.jiffies;
            *jiffies = jiffies.wrapping_add(ticks as u32);
        }
    }

    /// Notes that data leaves.
    #[inline]
    pub(super) fn note_sent(&mut self) {
        self.last_send_ns = self.now_ns;
        self.cc.tp_mut().lsndtime = self.jiffies();
    }

    /// The counts of the scoreboard.
    #[inline]
    pub(super) fn counts(&mut self) -> Counts<'_> {
        Counts(self.cc.tp_mut())
    }

    /// Shows algorithms the sequence numbers as the kernel counts them: bytes, modulo 2³².
    #[inline]
    pub(super) fn publish_sequence(&mut self, una: u64, nxt: u64) {
        let tp = self.cc.tp_mut();
        tp.snd_una = (una as u32).wrapping_mul(tp.mss_cache);
        tp.snd_nxt = (nxt as u32).wrapping_mul(tp.mss_cache);
    }

    /// Shows srtt << 3 and the mean deviation << 2, µs.
    #[inline]
    pub(super) fn publish_rtt(&mut self, srtt_us: u32, mdev_us: u32) {
        let tp = self.cc.tp_mut();
        (tp.srtt_us, tp.mdev_us) = (srtt_us, mdev_us);
    }

    /// Sets `sk_pacing_rate`, bytes per second.
    #[inline]
    pub(super) fn set_pacing_rate(&mut self, rate: u64) {
        self.cc.tp_mut().inet_conn.sk.sk_pacing_rate = rate;
    }

    #[inline]
    pub(super) fn set_cwnd(&mut self, cwnd: u32) {
        self.cc.tp_mut().snd_cwnd = cwnd;
    }

    /// Notes that the window was changed or validated now.
    #[inline]
    pub(super) fn stamp_cwnd(&mut self) {
        self.cc.tp_mut().snd_cwnd_stamp = self.jiffies();
    }

    pub(super) fn set_cwnd_cnt(&mut self, count: u32) {
        self.cc.tp_mut().snd_cwnd_cnt = count;
    }

    pub(super) fn set_ssthresh(&mut self, ssthresh: u32) {
        self.cc.tp_mut().snd_ssthresh = ssthresh;
    }

    /// Sets the ssthresh that an undo restores; 0: an undo restores nothing.
    pub(super) fn set_prior_ssthresh(&mut self, ssthresh: u32) {
        self.cc.tp_mut().prior_ssthresh = ssthresh;
    }

    /// Sets whether cwnd was the limit, and how many packets were out.
    #[inline]
    pub(super) fn set_usage(&mut self, limited: bool, packets_out: u32) {
        let tp = self.cc.tp_mut();
        tp.is_cwnd_limited = u8::from(limited);
        tp.max_packets_out = packets_out;
    }

    /// Sets the maximum of packets out while cwnd was not the limit.
    #[inline]
    pub(super) fn set_cwnd_used(&mut self, packets: u32) {
        self.cc.tp_mut().snd_cwnd_used = packets;
    }

    /// Sets the window after an idle time. The window counts as used.
    pub(super) fn restart_cwnd(&mut self, cwnd: u32, ssthresh: u32) {
        self.set_ssthresh(ssthresh);
        self.set_cwnd(cwnd);
        self.stamp_cwnd();
        self.set_cwnd_used(0);
        self.last_send_ns = self.now_ns;
    }

    // --- The hooks

    pub(super) fn init(&mut self) {
        self.cc.init();
    }

    /// Calls `in_ack_event`. Linux has already moved snd_una. The fast path is for new data without
    /// SACK.
    #[inline]
    pub(super) fn in_ack_event(&mut self, una: u64, fast: bool) {
        if !self.cc.has_in_ack_event() {
            return;
        }
        let tp = self.cc.tp_mut();
        tp.snd_una = (una as u32).wrapping_mul(tp.mss_cache);
        self.cc.in_ack_event(if fast {
            CA_ACK_WIN_UPDATE
        } else {
            CA_ACK_SLOWPATH
        });
    }

    #[inline]
    pub(super) fn pkts_acked(&mut self, sample: &AckSample) {
        if self.cc.has_pkts_acked() {
            self.cc.pkts_acked(sample);
        }
    }

    /// Calls `cong_avoid` for `acked` delivered packets.
    #[inline]
    pub(super) fn grow(&mut self, acked: u32) {
        let ack = self.tp().snd_una;
        self.cc.cong_avoid(ack, acked);
        self.stamp_cwnd();
    }

    #[inline]
    pub(super) fn has_cong_control(&self) -> bool {
        self.cc.has_cong_control()
    }

    #[inline]
    pub(super) fn cong_control(&mut self, sample: &RateSample) {
        let ack = self.tp().snd_una;
        self.cc.cong_control(ack, 0, sample);
    }

    #[inline]
    pub(super) fn min_tso_segs(&mut self) -> u32 {
        self.cc.min_tso_segs()
    }

    #[inline]
    pub(super) fn event(&mut self, event: CaEvent) {
        self.cc.cwnd_event(event);
    }

    pub(super) fn set_state(&mut self, state: CaState) {
        self.cc.set_state(state);
    }

    /// Starts a reduction: the algorithm says where it ends (`ssthresh`).
    pub(super) fn begin_reduction(&mut self) {
        let tp = self.cc.tp_mut();
        tp.prior_cwnd = tp.snd_cwnd;
        let ssthresh = self.cc.ssthresh();
        self.set_ssthresh(ssthresh);
    }

    /// Undoes a spurious reduction: back to the window before it (`undo_cwnd`).
    pub(super) fn undo(&mut self) {
        if self.tp().prior_ssthresh > 0 {
            let cwnd = self.cc.undo_cwnd();
            let tp = self.cc.tp_mut();
            tp.snd_cwnd = cwnd;
            tp.snd_ssthresh = tp.snd_ssthresh.max(tp.prior_ssthresh);
        }
        self.stamp_cwnd();
    }
}

/// The counts of packets. They are in the socket, where algorithms see them. The scoreboard reports
/// what happened to each packet.
pub(super) struct Counts<'a>(&'a mut TcpSock);

impl Counts<'_> {
    /// The counts.
    #[inline]
    pub(super) fn get(&self) -> &TcpSock {
        self.0
    }

    #[inline]
    pub(super) fn sent(&mut self, segments: u32) {
        self.0.packets_out += segments;
    }

    /// The cumulative acknowledgement advanced over these packets.
    #[inline]
    pub(super) fn acknowledged(&mut self, segments: u32) {
        self.0.packets_out -= segments;
    }

    #[inline]
    pub(super) fn delivered(&mut self, segments: u32) {
        self.0.delivered = self.0.delivered.wrapping_add(segments);
    }

    #[inline]
    pub(super) fn sacked(&mut self) {
        self.0.sacked_out += 1;
    }

    #[inline]
    pub(super) fn no_longer_sacked(&mut self) {
        self.0.sacked_out -= 1;
    }

    /// A segment is judged lost, for the first time or again.
    #[inline]
    pub(super) fn lost(&mut self, again: bool) {
        self.0.lost_out += u32::from(!again);
        self.0.lost = self.0.lost.wrapping_add(1);
    }

    /// A segment is no longer judged lost.
    #[inline]
    pub(super) fn no_longer_lost(&mut self, was: bool) {
        self.0.lost_out -= u32::from(was);
    }

    pub(super) fn none_lost(&mut self) {
        self.0.lost_out = 0;
    }

    /// The retransmission of a segment is in flight.
    #[inline]
    pub(super) fn retransmitted(&mut self) {
        self.0.retrans_out += 1;
    }

    /// The retransmission of a segment, if there was one, is no longer in flight.
    #[inline]
    pub(super) fn no_longer_retransmitted(&mut self, was: bool) {
        self.0.retrans_out -= u32::from(was);
    }

    /// A segment was retransmitted, lost or not.
    #[inline]
    pub(super) fn resent(&mut self) {
        self.0.total_retrans = self.0.total_retrans.wrapping_add(1);
    }
}

/// Reno on a host with 1000 ticks a second, at 1 s, jiffy 1001; cwnd is `cwnd`.
#[cfg(test)]
pub(super) fn reno(profile: crate::scenario::Profile, cwnd: u32) -> Host {
    use ackclock_host::{Algorithm, HostConfig};
    let kernel = Kernel::of(profile);
    let config = HostConfig {
        hz: 1000,
        era: kernel.era,
        ..HostConfig::default()
    };
    let cc = CongestionControl::new(&Algorithm::configure("reno").unwrap(), config);
    let mut host = Host::new(cc, &kernel, &Switches::usual(profile), 1_000_000_000, 0);
    host.set_cwnd(cwnd);
    host
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Profile;
    use ackclock_host::{Algorithm, HostConfig};

    const S: u64 = 1_000_000_000;

    /// The head of this file says who writes each field that an algorithm sees, and names its test.
    #[test]
    fn the_table_is_complete() {
        let (fields, this) = (
            include_str!("../../../host/src/sock.rs"),
            include_str!("host.rs"),
        );
        let rows: Vec<_> = this
            .lines()
            .filter(|line| line.starts_with("//! |"))
            .collect();
        let holders = ["sk_host", "sk", "inet_conn", "reserved"];
        let mut checked = 0;
        for name in ["CcHost", "Sock", "InetConnectionSock", "TcpSock"] {
            let (_, body) = fields.split_once(&format!("pub struct {name} {{")).unwrap();
            let (body, _) = body.split_once('}').unwrap();
            for line in body
                .lines()
                .filter_map(|line| line.trim().strip_prefix("pub "))
            {
                let (field, _) = line.split_once(':').unwrap();
                let named = |row: &&&str| {
                    row.split(|c: char| !c.is_alphanumeric() && c != '_')
                        .any(|word| word == field)
                };
                let count = rows.iter().filter(named).count();
                assert!(count > 0 || holders.contains(&field), "{field} has no row");
                checked += count;
            }
        }
        assert!(checked > 30, "{checked}");
        let tests = rows
            .iter()
            .flat_map(|row| row.split("`host::tests::").skip(1));
        for test in tests.map(|rest| rest.split('`').next().unwrap()) {
            assert!(this.contains(&format!("fn {test}()")), "{test}");
        }
    }

    #[test]
    fn what_a_connection_begins_with() {
        for (profile, cwnd, pacing) in [
            (Profile::Linux6, 10, true),
            (Profile::Linux2_6_25, 3, false),
        ] {
            let kernel = Kernel::of(profile);
            let algorithm = Algorithm::configure("reno").unwrap();
            let cc = CongestionControl::new(&algorithm, HostConfig::default());
            let switches = Switches {
                pacing,
                ..Switches::usual(profile)
            };
            let host = Host::new(cc, &kernel, &switches, S, 0);
            let (tp, sk) = (host.tp(), &host.tp().inet_conn.sk);
            assert_eq!((tp.snd_cwnd, tp.snd_cwnd_clamp), (cwnd, u32::MAX));
            assert_eq!(tp.snd_ssthresh, TCP_INFINITE_SSTHRESH);
            assert_eq!(sk.sk_gso_max_size, 65_536);
            assert_eq!(sk.sk_pacing_status, u32::from(pacing));
            assert_eq!(host.state(), CaState::Open);
        }
    }

    /// 4 ms ticks, the first at 1 ms.
    #[test]
    fn the_clock_ticks_at_its_phase() {
        let kernel = Kernel::of(Profile::Linux6);
        let algorithm = Algorithm::configure("reno").unwrap();
        let cc = CongestionControl::new(&algorithm, HostConfig::default());
        let switches = Switches::usual(Profile::Linux6);
        let mut host = Host::new(cc, &kernel, &switches, 0, 1_000_000);
        assert_eq!(host.tick_us(), 4_000);
        for (now_ns, jiffies) in [
            (999_999, 0),
            (1_000_000, 1),
            (4_999_999, 1),
            (13_000_000, 4),
        ] {
            host.clock(now_ns);
            assert_eq!(
                (host.jiffies(), host.tp().tcp_mstamp),
                (jiffies, now_ns / 1_000)
            );
        }
    }

    #[test]
    fn sequence_numbers_count_bytes_and_wrap() {
        let mut host = reno(Profile::Linux6, 10);
        host.publish_sequence(3, 1 << 32);
        assert_eq!((host.tp().snd_una, host.tp().snd_nxt), (3 * 1448, 0));
        // 2³² bytes are 2 966 137 segments and 920 bytes.
        host.publish_sequence(2_966_137, 2_966_138);
        let tp = host.tp();
        assert_eq!((tp.snd_una.wrapping_add(920), tp.snd_nxt), (0, 1448 - 920));
    }

    #[test]
    fn growth_is_stamped() {
        let mut host = reno(Profile::Linux6, 10);
        host.set_usage(true, 10);
        host.clock(2 * S);
        host.grow(2);
        assert_eq!((host.tp().snd_cwnd, host.tp().snd_cwnd_stamp), (12, 2_001));
    }

    #[test]
    fn sending_is_dated() {
        let mut host = reno(Profile::Linux6, 10);
        assert_eq!(host.last_send_ns(), 0);
        host.clock(S + 2_500_000);
        host.note_sent();
        assert_eq!(
            (host.tp().lsndtime, host.last_send_ns()),
            (1_003, S + 2_500_000)
        );
    }

    #[test]
    fn a_reduction_is_undone() {
        let mut host = reno(Profile::Linux6, 20);
        host.set_ssthresh(12);
        assert_eq!(host.current_ssthresh(), 15, "three quarters of cwnd");
        host.set_prior_ssthresh(15);
        host.begin_reduction();
        assert_eq!((host.tp().prior_cwnd, host.tp().snd_ssthresh), (20, 10));
        host.set_state(CaState::Recovery);
        assert!(host.in_cwnd_reduction());
        assert_eq!(host.current_ssthresh(), 10, "it is that already");
        host.set_cwnd(7);
        host.undo();
        assert_eq!((host.tp().snd_cwnd, host.tp().snd_ssthresh), (20, 15));
        host.set_prior_ssthresh(0);
        host.set_cwnd(7);
        host.undo();
        assert_eq!(host.tp().snd_cwnd, 7, "there was nothing to restore");
    }

    #[test]
    fn windows_that_no_sender_can_live_with() {
        let mut host = reno(Profile::Linux6, MAX_CWND);
        assert_eq!(host.fault(), None);
        host.set_cwnd(MAX_CWND + 1);
        assert_eq!(host.fault(), Some(("snd_cwnd", MAX_CWND + 1, MAX_CWND)));
        host.set_cwnd(1);
        host.set_ssthresh(0);
        assert_eq!(
            host.fault(),
            Some(("snd_ssthresh", 0, TCP_INFINITE_SSTHRESH))
        );
    }
}
