//! The bursts of TSO: their size (`tcp_tso_autosize`), and when a small burst waits for a larger
//! one (`tcp_tso_should_defer`; in Linux 2.6 `tcp_tso_win_divisor`).
//!
//! How to drive it: ask [`limit`](Bursts::limit) before each transmission. If there is enough data
//! for a burst, [`defers`](Bursts::defers) says whether to wait for the next ACK.

use super::constants::{GSO_HEADER_BYTES, GSO_MAX_BYTES, TSO_WIN_DIVISOR};
use super::host::Host;
use super::write_queue::Head;
use ackclock_host::CaState;

/// `tcp_tso_rtt_log`: paths shorter than 2⁹ µs get larger bursts.
const TSO_RTT_LOG: u32 = 9;
/// A burst waits only if the last burst left within this time (if paced: if the next one may have left
/// within it), and the next ACK is due within it.
const TSO_DEFER_NS: u64 = 1_000_000;

/// How a host makes bursts. With TSO the kernel decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bursts {
    /// 1 ms of the pacing rate, more on short paths (Linux 4.5 on).
    Autosized,
    /// 64 KB, once a third of the window is free (Linux 2.6.18).
    Saved,
    /// The same, but data waits for less than two ticks, or for one ACK (Linux 2.6.32).
    SavedTwoTicks,
    /// One segment at a time: paced, without TSO.
    Single,
    /// As much as the window allows: without TSO the window is the only limit.
    Window,
    /// The same, up to the next segment with PSH (Linux 6).
    Written,
}

impl Bursts {
    /// Maximum segments in a burst.
    #[inline]
    pub(super) fn limit(&self, host: &mut Host, min_rtt_us: u32) -> u32 {
        match self {
            Self::Autosized => {
                let min_segments = host.min_tso_segs();
                let tp = host.tp();
                let halvings = min_rtt_us >> TSO_RTT_LOG;
                let most = GSO_MAX_BYTES - GSO_HEADER_BYTES; // `sk_gso_max_size`
                let more = most >> halvings.min(u64::BITS - 1);
                let bytes = (tp.inet_conn.sk.sk_pacing_rate >> 10) + more;
                let mss = tp.mss_cache.max(1);
                ((bytes.min(most) as u32) / mss).max(min_segments)
            }
            Self::Saved | Self::SavedTwoTicks => {
                (GSO_MAX_BYTES as u32 / host.tp().mss_cache).max(1)
            }
            Self::Single => 1,
            Self::Window | Self::Written => u32::MAX,
        }
    }

    /// Maximum segments in a packet of new data, for the sake of the window: two packets share it
    /// (`tcp_cwnd_test`, Linux 3.17 on).
    #[inline]
    pub(super) fn share(&self, cwnd: u32) -> u32 {
        match self {
            Self::Autosized => (cwnd / 2).max(1),
            _ => cwnd,
        }
    }

    /// Whether the head of the write queue waits for the next ACK, which will allow a full burst of
    /// `burst` segments. The congestion window now allows `quota` segments and the receive window
    /// `room` and `rest` bytes more. The head of the window, which that ACK acknowledges, was sent at `head_sent_ns`.
    #[inline]
    pub(super) fn defers(
        &self,
        host: &Host,
        (quota, room, rest): (u64, u64, u64),
        burst: u64,
        head: &Head,
        head_sent_ns: u64,
    ) -> Defers {
        if matches!(self, Self::Single | Self::Window | Self::Written) {
            return Defers::No;
        }
        let tp = host.tp();
        let state = tp.inet_conn.icsk_ca_state;
        let now_ns = host.now_ns();
        if *self == Self::Autosized
            && (now_ns.saturating_sub(tp.tcp_wstamp_ns) > TSO_DEFER_NS
                || head.segments == 1
                || state >= CaState::Recovery as u8
                || tp.packets_out == 0)
        {
            return Defers::No;
        }
        let limit = quota.min(room);
        let window = u64::from(tp.snd_cwnd).min(room + u64::from(tp.packets_out));
        if *self != Self::Autosized {
            let waited_long = *self == Self::SavedTwoTicks && host.deferred_ticks() > 1;
            let waits = state == CaState::Open as u8
                && !waited_long
                && quota < burst
                && quota <= head.segments.min(room)
                && u64::from(TSO_WIN_DIVISOR) * quota < window;
            return if waits { Defers::ForCwnd } else { Defers::No };
        }
        let is_third = match rest {
            0 => 3 * limit >= window,
            _ => {
                let (mss, cwnd) = (u64::from(tp.mss_cache), u64::from(tp.snd_cwnd));
                let room_bytes = room * mss + rest;
                let window_bytes = room_bytes + u64::from(tp.packets_out) * mss;
                (quota * mss).min(room_bytes) >= window_bytes.min(cwnd * mss) / 3
            }
        };
        if limit >= burst || (!head.tail && limit >= head.segments) || is_third {
            return Defers::No;
        }
        // Do not wait either if the next ACK is more than min(srtt/2, 1 ms) away.
        let srtt_ns = u64::from(tp.srtt_us) * 125;
        let next_ack_ns = head_sent_ns + srtt_ns;
        if next_ack_ns > now_ns + (srtt_ns / 2).min(TSO_DEFER_NS) {
            return Defers::No;
        }
        let room = room + u64::from(rest > 0);
        if quota.min(room) > head.segments {
            Defers::ForData
        } else if quota < room {
            Defers::ForCwnd
        } else {
            Defers::ForWindow
        }
    }
}

/// Whether a burst waits, and for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Defers {
    No,
    /// The congestion window is the limit.
    ForCwnd,
    /// The receive window is the limit.
    ForWindow,
    /// The application may write more.
    ForData,
}

#[cfg(test)]
mod tests {
    use super::super::host::reno;
    use super::super::profile::Kernel;
    use super::*;
    use crate::scenario::Profile;

    /// No limit.
    const ROOM: u64 = 1 << 40;

    fn bursts(profile: Profile, tso: bool, pacing: bool) -> Bursts {
        Kernel::for_profile(profile).bursts(tso, pacing)
    }

    #[test]
    fn how_large() {
        let new = Profile::Linux6;
        let mut host = reno(new, 100);
        // 1 ms at 100 Mb/s is 12.2 kB (rate >> 10), and a path of 100 ms adds nothing.
        host.set_pacing_rate(12_500_000);
        assert_eq!(bursts(new, true, false).limit(&mut host, 100_000), 8);
        // min_rtt >> 9 is 1: half of 64 KiB more, without room for headers: 12 207 + 32 607 bytes.
        assert_eq!(bursts(new, true, false).limit(&mut host, 600), 30);
        host.set_pacing_rate(1_000);
        assert_eq!(
            bursts(new, true, true).limit(&mut host, 100_000),
            2,
            "tcp_min_tso_segs"
        );
        assert_eq!(bursts(new, false, true).limit(&mut host, 100_000), 1);
        assert_eq!(
            bursts(new, false, false).limit(&mut host, 100_000),
            u32::MAX
        );
        let mut host = reno(Profile::Linux2_6_25, 100);
        assert_eq!(
            bursts(Profile::Linux2_6_25, true, false).limit(&mut host, 100_000),
            45
        );
    }

    /// Linux 6 waits for an ACK that is due within 1 ms, and only right after it has sent.
    #[test]
    fn when_it_waits() {
        let autosized = bursts(Profile::Linux6, true, false);
        let mut host = reno(Profile::Linux6, 100);
        host.publish_rtt(8 * 100_000, 0);
        host.counts().sent(90);
        host.set_next_send_ns(host.now_ns());
        let head_ns = |next_ack_us: u64| host.now_ns() + next_ack_us * 1_000 - 100_000_000;
        let packet = |segments, tail| Head { segments, tail };
        let defers = |quota, next_ack_us| {
            autosized.defers(
                &host,
                (quota, ROOM, 0),
                20,
                &packet(45, false),
                head_ns(next_ack_us),
            )
        };
        assert_eq!(defers(10, 1_000), Defers::ForCwnd);
        assert_eq!(defers(10, 1_001), Defers::No);
        assert_eq!(defers(20, 0), Defers::No, "a full burst");
        assert_eq!(defers(34, 0), Defers::No, "a third of the window");
        let what = |head, room| autosized.defers(&host, (10, room, 0), 20, &head, head_ns(0));
        assert_eq!(what(packet(10, false), ROOM), Defers::No, "all of a packet");
        assert_eq!(what(packet(10, true), ROOM), Defers::ForCwnd);
        assert_eq!(what(packet(9, true), ROOM), Defers::ForData);
        assert_eq!(what(packet(1, true), ROOM), Defers::No, "a single segment");
        assert_eq!(what(packet(45, false), 10), Defers::ForWindow);
        // The window ends inside the next segment.
        let rest =
            |rest| autosized.defers(&host, (10, 10, rest), 20, &packet(45, false), head_ns(0));
        assert_eq!([rest(0), rest(1)], [Defers::ForWindow, Defers::ForCwnd]);
        let single = bursts(Profile::Linux6, false, false);
        let head = packet(45, false);
        assert_eq!(
            single.defers(&host, (10, ROOM, 0), 20, &head, head_ns(0)),
            Defers::No
        );
        let head_ns = head_ns(0);
        host.clock(host.now_ns() + 1_000_001);
        assert_eq!(
            autosized.defers(&host, (10, ROOM, 0), 20, &head, head_ns),
            Defers::No,
            "the last burst was long ago"
        );
        host.set_next_send_ns(host.now_ns() - 1_000_000);
        assert_eq!(
            autosized.defers(&host, (10, ROOM, 0), 20, &packet(45, false), head_ns),
            Defers::ForCwnd,
            "it took its time at the pacing rate"
        );
    }

    /// Linux 2.6 saves until a third of the window is free, in Open only.
    #[test]
    fn when_linux_2_6_waits() {
        let saved = bursts(Profile::Linux2_6_25, true, false);
        let mut host = reno(Profile::Linux2_6_25, 90);
        let head = Head {
            segments: ROOM,
            tail: true,
        };
        let defers = |host: &Host, quota, room, burst| {
            saved.defers(host, (quota, room, 0), burst, &head, 0) != Defers::No
        };
        assert!(defers(&host, 29, ROOM, 45) && !defers(&host, 30, ROOM, 45));
        assert!(!defers(&host, 29, 87, 45), "the receive window is smaller");
        assert!(!defers(&host, 29, ROOM, 29), "a full burst");
        host.set_state(CaState::Disorder);
        assert!(!defers(&host, 29, ROOM, 45));
    }

    /// `tso_deferred`: an ACK more than a tick after the last one that let data wait sends it.
    #[test]
    fn linux_2_6_32_waits_for_less_than_two_ticks() {
        for (profile, sends) in [
            (Profile::Linux2_6_18, false),
            (Profile::Linux2_6_25, false),
            (Profile::Linux2_6_32, true),
        ] {
            let saved = bursts(profile, true, false);
            let mut host = reno(profile, 90);
            let head = Head {
                segments: ROOM,
                tail: true,
            };
            let defers =
                |host: &Host| saved.defers(host, (29, ROOM, 0), 45, &head, 0) != Defers::No;
            assert!(defers(&host));
            host.note_deferred();
            for _ in 0..3 {
                host.clock(host.now_ns() + 1_000_000);
                assert!(defers(&host), "each ACK begins the wait anew");
                host.note_deferred();
            }
            host.clock(host.now_ns() + 2_000_000);
            assert_eq!(defers(&host), !sends, "{profile:?}");
            host.note_sent();
            assert!(defers(&host));
        }
    }
}
