//! RTT estimation: what an ACK measures (`tcp_ack_update_rtt`), Linux's variant of RFC 6298, and
//! the windowed minimum.
//!
//! How to drive it: call [`on_ack`](RoundTrip::on_ack) with what each ACK delivered.

use super::ack::Ack;
use super::constants::RTO_MAX_US;
use super::host::Host;
use super::profile::Switches;
use super::scoreboard::Delivery;

/// What a sender knows about its RTT.
#[derive(Clone, Debug)]
pub(super) struct RoundTrip {
    estimator: RttEstimator,
    min: WindowedMin,
    /// Both ends send timestamps.
    stamps: bool,
}

impl RoundTrip {
    /// Makes an estimate from a handshake of `handshake_ns`, in whole microseconds of the clock; 0: it
    /// could not be measured.
    pub(super) fn new(now_ns: u64, handshake_ns: u64, switches: &Switches) -> Self {
        let handshake_us = in_us(now_ns / 1_000 - (now_ns - handshake_ns) / 1_000);
        let rto_min_us = switches.rto_min_us();
        let mut rtt = Self {
            estimator: RttEstimator::new(handshake_us, 0, rto_min_us),
            min: WindowedMin::new(switches.long_way),
            stamps: switches.timestamps,
        };
        match handshake_ns {
            0 => rtt.estimator = RttEstimator::unknown(rto_min_us),
            _ => rtt.min.sample(now_ns, handshake_us),
        }
        rtt
    }

    /// The timestamp that an ACK echoes; `u64::MAX`: it has none.
    #[inline]
    pub(super) fn echo_ns(&self, ack: &Ack) -> u64 {
        match self.stamps {
            true => ack.echo_ns,
            false => u64::MAX,
        }
    }

    /// Updates the estimators with an ACK. Returns the RTT for `pkts_acked`, µs; `None` without a
    /// sample. `una` and `nxt` are the values after the ACK.
    #[inline(always)]
    pub(super) fn on_ack(
        &mut self,
        now_ns: u64,
        delivery: &Delivery,
        (una, nxt): (u64, u64),
        una_advanced: bool,
    ) -> Option<u32> {
        // The clocks of TCP count whole microseconds, that of timestamps whole milliseconds.
        let age_us = |sent_ns: u64| in_us(now_ns / 1_000 - sent_ns / 1_000);
        let (mut seq_rtt_us, mut ca_rtt_us) = (None, None);
        if let (Some((first, last)), false) = (delivery.acked_sent_ns, delivery.retransmitted_acked)
        {
            (seq_rtt_us, ca_rtt_us) = (Some(age_us(first)), Some(age_us(last)));
        }
        if let Some((first, last)) = delivery.sacked_sent_ns {
            ca_rtt_us = Some(age_us(last));
            seq_rtt_us = seq_rtt_us.or(Some(age_us(first)));
        }
        if seq_rtt_us.is_none() && una_advanced && self.stamps {
            // Karn: only the timestamp shows which transmission the ACK answers (`tcp_rtt_tsopt_us`).
            let age_ms = (now_ns / NS_PER_MS - delivery.echo_ns / NS_PER_MS).max(1);
            seq_rtt_us = Some(in_us(age_ms * 1_000));
            ca_rtt_us = seq_rtt_us;
        }
        let (seq_rtt_us, ca_rtt_us) = (seq_rtt_us?, ca_rtt_us?);
        self.min.sample(now_ns, ca_rtt_us.max(1));
        self.estimator.sample(seq_rtt_us, una, nxt);
        Some(ca_rtt_us)
    }

    /// As [`on_ack`](Self::on_ack), of an ACK that acknowledges segments that were sent once: the
    /// first and the last of them at these times. Returns the RTT for `pkts_acked`, µs.
    #[inline(always)]
    pub(super) fn on_plain_ack(
        &mut self,
        now_ns: u64,
        now_us: u64,
        (first_ns, last_ns): (u64, u64),
        (una, nxt): (u64, u64),
    ) -> u32 {
        let last_us = in_us(now_us - last_ns / 1_000);
        let first_us = in_us(now_us - first_ns / 1_000);
        self.min.sample(now_ns, last_us.max(1));
        self.estimator.sample(first_us, una, nxt);
        last_us
    }

    /// Shows algorithms what it knows.
    #[inline]
    pub(super) fn publish(&self, host: &mut Host) {
        host.publish_rtt(self.estimator.srtt_us, self.estimator.mdev_us);
        host.publish_min_rtt(self.min_us());
        host.publish_rto(self.estimator.rto_us());
    }

    /// Smallest RTT in the last 300 s, µs.
    #[inline]
    pub(super) fn min_us(&self) -> u32 {
        self.min.get()
    }
}

#[inline]
fn in_us(us: u64) -> u32 {
    us.min(MAX_RTT_US.into()) as u32
}

const NS_PER_MS: u64 = 1_000_000;
/// Longest RTT that can be measured: srtt << 3 must fit an i32.
const MAX_RTT_US: u32 = (1 << 28) - 1;

/// Smoothed RTT, its variation, and the retransmission timeout.
#[derive(Clone, Debug)]
struct RttEstimator {
    /// srtt << 3, µs.
    srtt_us: u32,
    /// Mean deviation << 2, µs.
    mdev_us: u32,
    /// Largest deviation in the current window, µs.
    mdev_max_us: u32,
    /// 4 × the deviation in use, at least `rto_min_us`.
    rttvar_us: u32,
    rto_min_us: u32,
    /// The window ends when this segment is acknowledged.
    window_end: u64,
}

/// `TCP_TIMEOUT_FALLBACK`, µs.
const RTO_FALLBACK_US: u32 = 3_000_000;

impl RttEstimator {
    /// Without a sample: the timeout is 3 s (RFC 6298, 5.7; `tcp_init_metrics`).
    fn unknown(rto_min_us: u32) -> Self {
        Self {
            srtt_us: 0,
            mdev_us: RTO_FALLBACK_US,
            mdev_max_us: RTO_FALLBACK_US,
            rttvar_us: RTO_FALLBACK_US,
            rto_min_us,
            window_end: 0,
        }
    }

    /// Makes an estimator of the first sample; `nxt` is the next new segment.
    fn new(rtt_us: u32, nxt: u64, rto_min_us: u32) -> Self {
        let rtt_us = rtt_us.max(1);
        let rttvar_us = (rtt_us << 1).max(rto_min_us);
        Self {
            srtt_us: rtt_us << 3,
            mdev_us: rtt_us << 1,
            mdev_max_us: rttvar_us,
            rttvar_us,
            rto_min_us,
            window_end: nxt,
        }
    }

    #[cold]
    fn begin(&mut self, rtt_us: u32, nxt: u64) {
        *self = Self::new(rtt_us, nxt, self.rto_min_us);
    }

    /// Takes a sample. RFC 6298 section 2, in shifts, with two refinements of Linux. A falling RTT
    /// raises the deviation with only an eighth of the usual gain. The deviation in use is the
    /// largest of the last window, and decays once per window.
    #[inline]
    fn sample(&mut self, rtt_us: u32, una: u64, nxt: u64) {
        debug_assert!(rtt_us <= MAX_RTT_US);
        if self.srtt_us == 0 {
            return self.begin(rtt_us, nxt);
        }
        let rtt_us = rtt_us.max(1);
        let error = rtt_us as i32 - (self.srtt_us >> 3) as i32;
        // At least 1, as the sample is: 7/8 of a number is not below 0.
        self.srtt_us = (self.srtt_us as i32 + error) as u32;
        let mut excess = error.abs() - (self.mdev_us >> 2) as i32;
        if error < 0 && excess > 0 {
            excess >>= 3;
        }
        self.mdev_us = (self.mdev_us as i32 + excess) as u32;
        if self.mdev_us > self.mdev_max_us {
            self.mdev_max_us = self.mdev_us;
            self.rttvar_us = self.rttvar_us.max(self.mdev_max_us);
        }
        if una > self.window_end {
            if self.mdev_max_us < self.rttvar_us {
                self.rttvar_us -= (self.rttvar_us - self.mdev_max_us) >> 2;
            }
            self.window_end = nxt;
            self.mdev_max_us = self.rto_min_us;
        }
    }

    /// The retransmission timeout without back-off, µs.
    #[inline]
    fn rto_us(&self) -> u64 {
        (u64::from(self.srtt_us >> 3) + u64::from(self.rttvar_us)).min(RTO_MAX_US)
    }
}

/// The minimum over a sliding window, from its three best candidates (K. Nichols).
#[derive(Clone, Debug)]
struct WindowedMin {
    /// The minimum, then the minima of later samples.
    best: [Best; 3],
    /// Until then a sample above all of them changes nothing.
    settled_until_ns: u64,
    /// Each sample is compared with all of them.
    long_way: bool,
}

/// A minimum, and its time. Three without padding take 36 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, packed(4))]
struct Best(u64, u32);

/// `tcp_min_rtt_wlen`: 300 s.
const MIN_RTT_WINDOW_NS: u64 = 300_000_000_000;

impl WindowedMin {
    fn new(long_way: bool) -> Self {
        Self {
            best: [Best(0, u32::MAX); 3],
            settled_until_ns: 0,
            long_way,
        }
    }

    /// The minimum; `u32::MAX` before the first sample.
    #[inline]
    fn get(&self) -> u32 {
        self.best[0].1
    }

    /// Takes a sample.
    #[inline]
    fn sample(&mut self, now_ns: u64, value: u32) {
        if value <= self.best[2].1 || now_ns > self.settled_until_ns {
            self.renew(now_ns, value);
        }
    }

    #[inline(never)]
    fn renew(&mut self, now_ns: u64, value: u32) {
        self.replace(now_ns, value);
        if self.long_way {
            return;
        }
        let [first, second, third] = self.best.map(|Best(at_ns, _)| at_ns);
        self.settled_until_ns = first
            + match (second == first, third == second) {
                (true, _) => MIN_RTT_WINDOW_NS / 4,
                (false, true) => MIN_RTT_WINDOW_NS / 2,
                (false, false) => MIN_RTT_WINDOW_NS,
            };
    }

    fn replace(&mut self, now_ns: u64, value: u32) {
        let sample = Best(now_ns, value);
        let best = &mut self.best;
        let age_ns = now_ns - best[0].0;
        if value <= best[0].1 || now_ns - best[2].0 > MIN_RTT_WINDOW_NS {
            *best = [sample; 3];
            return;
        }
        if value <= best[1].1 {
            best[1] = sample;
            best[2] = sample;
        } else if value <= best[2].1 {
            best[2] = sample;
        }
        if age_ns > MIN_RTT_WINDOW_NS {
            // The minimum is too old: its successors move up.
            *best = [best[1], best[2], sample];
            if now_ns - best[0].0 > MIN_RTT_WINDOW_NS {
                *best = [best[1], best[2], sample];
            }
        } else if best[1].0 == best[0].0 && age_ns > MIN_RTT_WINDOW_NS / 4 {
            // Nothing better in a quarter of the window: keep a candidate from each part.
            best[1] = sample;
            best[2] = sample;
        } else if best[2].0 == best[1].0 && age_ns > MIN_RTT_WINDOW_NS / 2 {
            best[2] = sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::constants::RTO_MIN_US;
    use super::*;
    use crate::scenario::Profile;
    use proptest::prelude::*;

    /// `tcp_stamp_us_delta`: from 1 040 444.7 to 1 054 247.4 µs the clock counts 13 803.
    #[test]
    fn a_handshake_takes_whole_microseconds_of_the_clock() {
        let switches = Switches::usual(Profile::Linux6);
        let rtt = RoundTrip::new(1_054_247_400, 13_802_700, &switches);
        assert_eq!(rtt.min_us(), 13_803);
    }

    /// Without timestamps an ACK of what was sent again tells no RTT (Karn). Before the first one the
    /// timeout is 3 s (RFC 6298, 5.7).
    #[test]
    fn without_timestamps_what_was_sent_again_tells_nothing() {
        let switches = Switches {
            timestamps: false,
            ..Switches::usual(Profile::Linux6)
        };
        let mut rtt = RoundTrip::new(1_000_000_000, 0, &switches);
        assert_eq!(
            (rtt.min_us(), rtt.estimator.rto_us()),
            (u32::MAX, 3_000_000)
        );
        let mut delivery = Delivery {
            acked_sent_ns: Some((1_000_000_000, 1_000_000_000)),
            retransmitted_acked: true,
            echo_ns: 1_000_000_000,
            ..Delivery::default()
        };
        assert_eq!(rtt.on_ack(1_100_000_000, &delivery, (1, 10), true), None);
        delivery.retransmitted_acked = false;
        let sample = rtt.on_ack(1_100_000_000, &delivery, (1, 10), true);
        assert_eq!((sample, rtt.min_us()), (Some(100_000), 100_000));
        assert_eq!(rtt.estimator.rto_us(), 300_000);
    }

    /// Karn: the timestamps of one millisecond say 1 ms (`tcp_rtt_tsopt_us`).
    #[test]
    fn a_timestamp_measures_a_millisecond_at_least() {
        let mut rtt = RoundTrip::new(1_000_000_000, 0, &Switches::usual(Profile::Linux6));
        for (echo_ns, sample_us) in [(2_000_000_000, 1_000), (1_998_999_999, 2_000)] {
            let delivery = Delivery {
                acked_sent_ns: Some((1_000_000_000, 1_000_000_000)),
                retransmitted_acked: true,
                echo_ns,
                ..Delivery::default()
            };
            let sample = rtt.on_ack(2_000_400_000, &delivery, (1, 10), true);
            assert_eq!(sample, Some(sample_us));
        }
    }

    #[test]
    fn follows_rfc6298() {
        let mut rtt = RttEstimator::new(100_000, 10, RTO_MIN_US);
        // SRTT = R, RTTVAR = R/2, RTO = R + max(RTO_MIN, 4·R/2).
        assert_eq!((rtt.srtt_us >> 3, rtt.rto_us()), (100_000, 300_000));
        rtt.sample(180_000, 5, 20);
        // SRTT ← 7/8 SRTT + 1/8 R.
        assert_eq!(rtt.srtt_us >> 3, 110_000);
        for segment in 0..1000 {
            rtt.sample(100_000, segment, segment + 10);
        }
        // A steady RTT leaves RTO at SRTT + RTO_MIN.
        assert!((100_000..100_100).contains(&(rtt.srtt_us >> 3)));
        assert!(
            (300_000..301_000).contains(&rtt.rto_us()),
            "{}",
            rtt.rto_us()
        );
    }

    /// A route's `rto_min` takes the place of 200 ms: a steady RTT leaves RTO at SRTT + 5 ms.
    #[test]
    fn a_route_has_another_minimum() {
        let mut rtt = RttEstimator::new(1_000, 10, 5_000);
        assert_eq!(rtt.rto_us(), 6_000);
        (0..1000).for_each(|segment| rtt.sample(1_000, segment, segment + 10));
        assert_eq!(rtt.rto_us(), 6_000);
    }

    /// Linux: a fall of the RTT counts an eighth of a rise.
    #[test]
    fn a_falling_rtt_hardly_raises_the_deviation() {
        let deviation_after = |rtt_us| {
            let mut rtt = RttEstimator::new(100_000, 10, RTO_MIN_US);
            (0..1000).for_each(|_| rtt.sample(100_000, 0, 10));
            rtt.sample(rtt_us, 0, 10);
            rtt.mdev_us
        };
        assert!(deviation_after(150_000).abs_diff(50_000) < 10);
        assert!(deviation_after(50_000).abs_diff(50_000 / 8) < 10);
    }

    /// Linux: the part that RTO adds rises at once, and falls by a quarter of the excess per
    /// window.
    #[test]
    fn the_deviation_in_use_falls_once_per_window() {
        let mut rtt = RttEstimator::new(100_000, 10, RTO_MIN_US);
        (0..1000).for_each(|_| rtt.sample(100_000, 0, 10));
        let added = |rtt: &RttEstimator| rtt.rto_us() - u64::from(rtt.srtt_us >> 3);
        assert_eq!(added(&rtt), 200_000);
        rtt.sample(500_000, 5, 20); // by 400 ms
        let risen = added(&rtt);
        assert!(risen.abs_diff(400_000) < 10, "{risen}");
        (0..500).for_each(|_| rtt.sample(150_000, 10, 20));
        assert_eq!(added(&rtt), risen, "the window, to 10, goes on");
        rtt.sample(150_000, 11, 30);
        assert_eq!(added(&rtt), risen, "in which it was that large");
        rtt.sample(150_000, 21, 30);
        assert_eq!(added(&rtt), risen, "until 30");
        rtt.sample(150_000, 31, 50);
        assert!(added(&rtt).abs_diff(350_000) < 10, "{}", added(&rtt));
    }

    /// When the smallest RTT is 300 s old, the smallest later RTT follows, not the newest.
    #[test]
    fn the_windowed_minimum_knows_its_successors() {
        let mut minimum = WindowedMin::new(false);
        minimum.sample(0, 10);
        for at_s in (1..=401).step_by(4) {
            let value = match at_s {
                0..=80 => 20,
                81..=200 => 30,
                _ => 40,
            };
            minimum.sample(at_s * 1_000_000_000, value);
            let expected = match at_s {
                0..=300 => 10,
                301..=380 => 20,
                _ => 30,
            };
            assert_eq!(minimum.get(), expected, "{at_s} s");
        }
    }

    proptest! {
        #[test]
        fn windowed_minimum_is_a_recent_value_and_not_above_the_newest(
            samples in proptest::collection::vec((1_u64..40_000_000_000, 1_u32..1000), 1..60),
        ) {
            let (mut minimum, mut plain) = (WindowedMin::new(false), WindowedMin::new(false));
            let (mut now_ns, mut seen) = (0, Vec::new());
            for (gap_ns, value) in samples {
                now_ns += gap_ns;
                minimum.sample(now_ns, value);
                plain.replace(now_ns, value);
                prop_assert_eq!(minimum.best, plain.best, "each sample is looked at, or need not be");
                seen.push((now_ns, value));
                let recent = seen.iter().filter(|(at, _)| now_ns - at <= MIN_RTT_WINDOW_NS);
                prop_assert!(recent.clone().any(|&(_, v)| v == minimum.get()));
                prop_assert!(minimum.get() <= value);
                if now_ns <= MIN_RTT_WINDOW_NS {
                    prop_assert_eq!(minimum.get(), recent.map(|&(_, v)| v).min().unwrap());
                }
            }
        }
    }
}
