//! The RTT as a receiver measures it: from the handshake, and from the timestamps that data echo
//! (`tcp_rcv_rtt_measure_ts`). It says how long a compressed ACK waits (`__tcp_ack_snd_check`).
//!
//! How to drive it: tell it of ACKs that leave ([`leaves`](ReceiverRtt::leaves)), of segments that
//! arrive ([`arrives`](ReceiverRtt::arrives)), and of the end of the handshake
//! ([`established`](ReceiverRtt::established)).
//!
//! An ACK's timestamp is in whole milliseconds, and only the first segment with another echo is a
//! sample. So it is enough to know the first ACK of each millisecond. The simulated packets do not
//! carry the echo: it is that of the last ACK that had reached the sender when the segment left.

use ackclock_net::schedule::NEVER;
use std::collections::VecDeque;

const NS_PER_MS: u64 = 1_000_000;
/// Eighths of a µs: the unit of both estimates (`rcv_rtt_est.rtt_us`, `srtt_us`).
const UNITS_PER_US: u64 = 8;
/// `tcp_comp_sack_delay_ns`
const MAX_DELAY_NS: u64 = 1_000_000;

/// How a kernel compresses ACKs (`__tcp_ack_snd_check`, `tcp_compressed_ack_kick`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// For 5 % of the RTT. The ACK has the timestamp of the last arrival.
    Linux6,
    /// For 33 % of the RTT (`tcp_comp_sack_rtt_percent`). The timer refreshes the clock.
    Linux7,
}

impl Compression {
    /// Smallest RTT of a path, in whole ms, on which an ACK always waits as long as it may.
    pub(super) const fn long_rtt_ns(self) -> u64 {
        match self {
            Self::Linux6 => 20 * MAX_DELAY_NS,
            Self::Linux7 => 4 * MAX_DELAY_NS,
        }
    }

    /// `tcp_comp_sack_slack_ns`. The timer uses the slack to its end.
    pub(super) const fn slack_ns(self) -> u64 {
        match self {
            Self::Linux6 => 100_000,
            Self::Linux7 => 10_000,
        }
    }

    /// How long an ACK waits, by an RTT in eighths of a µs.
    pub(super) const fn delay_ns(self, rtt: u64) -> u64 {
        let delay_ns = match self {
            Self::Linux6 => rtt * (1_000 / UNITS_PER_US) / 20,
            Self::Linux7 => (rtt + (rtt >> 2)) * 33,
        };
        if delay_ns < MAX_DELAY_NS {
            delay_ns
        } else {
            MAX_DELAY_NS
        }
    }

    /// How long an ACK waits on a path of which nothing but the RTT is known.
    pub(super) fn delay_of_path(self, rtt_ns: u64) -> u32 {
        let delay_ns = match self {
            Self::Linux6 => rtt_ns / 20,
            Self::Linux7 => rtt_ns / 100 * 33,
        };
        delay_ns.min(MAX_DELAY_NS) as u32
    }

    /// Whether the timestamp of a compressed ACK is of the time when it leaves.
    pub(super) const fn refreshes(self) -> bool {
        matches!(self, Self::Linux7)
    }
}

/// What a receiver knows of the RTT.
#[derive(Debug)]
pub(super) struct ReceiverRtt {
    /// The milliseconds of the receiver's clock begin so long after those of the run.
    phase_ns: u64,
    /// How long an ACK takes to the sender.
    back_ns: u64,
    /// When ACKs left, and their timestamps: of each millisecond the first that may not have
    /// reached the sender yet.
    stamps: VecDeque<(u64, u64)>,
    /// The same of all ACKs that are on their way, if they pass queues: only what reaches the sender is in
    /// `stamps`, with the time when it does.
    on_their_way: Option<VecDeque<(u64, u64)>>,
    last_stamp_ms: u64,
    /// What the data that arrives echoes; `rcv_rtt_last_tsecr`.
    echoed_ms: u64,
    sampled_ms: u64,
    /// When a segment arrived last, of those that `arrives` was told of.
    arrival_ns: u64,
    /// `rcv_rtt_est.rtt_us`; 0: no sample.
    estimate: u64,
    /// `srtt_us`: of the handshake; 0: the last packet of the handshake has not arrived.
    handshake: u64,
}

impl ReceiverRtt {
    /// Of a receiver that has answered a SYN at `answered_ns`. `back_ns`: how long an ACK takes to the sender;
    /// `None`: [`reaches`](Self::reaches) tells of each that is not lost.
    pub(super) fn new(answered_ns: u64, back_ns: Option<u64>, phase_ns: u64) -> Self {
        let mut new = Self {
            phase_ns: phase_ns % NS_PER_MS,
            back_ns: back_ns.unwrap_or(0),
            stamps: VecDeque::new(),
            on_their_way: back_ns.is_none().then(VecDeque::new),
            last_stamp_ms: 0,
            echoed_ms: 0,
            sampled_ms: 0,
            arrival_ns: answered_ns,
            estimate: 0,
            handshake: 0,
        };
        new.echoed_ms = new.ms(answered_ns);
        new.last_stamp_ms = new.echoed_ms;
        new
    }

    /// The millisecond of a time: 1 or later.
    fn ms(&self, at_ns: u64) -> u64 {
        (at_ns + NS_PER_MS - self.phase_ns) / NS_PER_MS
    }

    /// The handshake took so long, from the SYN-ACK on.
    pub(super) fn established(&mut self, rtt_ns: u64) {
        self.handshake = (rtt_ns / 1_000).max(1) * UNITS_PER_US;
    }

    /// An ACK leaves at `now_ns`. Its timestamp is of that time, or of the last arrival if the clock
    /// is not refreshed for it.
    pub(super) fn leaves(&mut self, now_ns: u64, stale: bool) {
        let stamp_ms = self.ms(if stale { self.arrival_ns } else { now_ns });
        match &mut self.on_their_way {
            Some(acks) => acks.push_back((now_ns, stamp_ms)),
            None => self.shows(now_ns, stamp_ms),
        }
    }

    fn shows(&mut self, at_ns: u64, stamp_ms: u64) {
        if stamp_ms > self.last_stamp_ms {
            self.last_stamp_ms = stamp_ms;
            self.stamps.push_back((at_ns, stamp_ms));
        }
    }

    /// An ACK that left at `left_ns` has reached the sender.
    pub(super) fn reaches(&mut self, left_ns: u64, now_ns: u64) {
        let Some(acks) = &mut self.on_their_way else {
            return;
        };
        let older = acks.partition_point(|ack| ack.0 <= left_ns);
        let last = acks.drain(..older).next_back();
        if let Some((_, stamp_ms)) = last.filter(|ack| ack.0 == left_ns) {
            self.shows(now_ns, stamp_ms);
        }
    }

    /// A segment arrives at `now_ns` that was sent at `sent_ns`. Others may have arrived since the
    /// last call, in the same millisecond as that one, with the same echo.
    pub(super) fn arrives(&mut self, now_ns: u64, sent_ns: u64) {
        while sent_ns >= self.same_echo_until_ns() {
            if let Some((_, stamp_ms)) = self.stamps.pop_front() {
                self.echoed_ms = stamp_ms;
            }
        }
        self.arrival_ns = now_ns;
        self.sample(now_ns);
    }

    /// The timestamps of a segment that was sent at `sent_ns`: its own, and its echo.
    pub(super) fn stamps_of(&self, sent_ns: u64) -> (u64, u64) {
        let seen = |&&(left_ns, _): &&(u64, u64)| left_ns + self.back_ns <= sent_ns;
        let last = self.stamps.iter().take_while(seen).last();
        (
            self.ms(sent_ns),
            last.map_or(self.echoed_ms, |&(_, stamp_ms)| stamp_ms),
        )
    }

    /// When the next ACK with another timestamp reaches the sender.
    pub(super) fn same_echo_until_ns(&self) -> u64 {
        (self.stamps.front()).map_or(NEVER, |&(left_ns, _)| left_ns + self.back_ns)
    }

    /// `tcp_rcv_rtt_measure_ts` and `tcp_rcv_rtt_update`
    fn sample(&mut self, now_ns: u64) {
        if self.echoed_ms == self.sampled_ms {
            return;
        }
        self.sampled_ms = self.echoed_ms;
        let age_us = 1_000 * (self.ms(now_ns) - self.echoed_ms);
        if age_us == 0 {
        } else if self.estimate == 0 || UNITS_PER_US * age_us < self.estimate {
            self.estimate = UNITS_PER_US * age_us;
        } else {
            self.estimate += age_us - self.estimate / UNITS_PER_US;
        }
    }

    /// Until when `leaves` need not be called, nor `arrives` of a segment with the same echo: the end
    /// of the millisecond, once an ACK of this millisecond has left.
    pub(super) fn settled_until_ns(&self, now_ns: u64) -> u64 {
        let now_ms = self.ms(now_ns);
        if now_ms == self.last_stamp_ms {
            now_ms * NS_PER_MS + self.phase_ns
        } else {
            0
        }
    }

    /// `rcv_rtt_est.rtt_us`, in eighths of a µs; 0: it has no sample.
    pub(super) fn estimate(&self) -> u64 {
        self.estimate
    }

    /// What a compressed ACK's wait is a share of, in eighths of a µs.
    pub(super) fn smallest(&self) -> u64 {
        match self.handshake {
            0 => self.estimate,
            handshake => self.estimate.min(handshake),
        }
    }
}

/// The RTT as a receiver without timestamps measures it: how long a window of data takes, at least
/// (`tcp_rcv_rtt_measure`).
#[derive(Debug)]
pub(super) struct WindowRtt {
    /// Segments of the window.
    window: u64,
    /// When the measurement began, and with which segment it ends; `None`: no data has arrived.
    began: Option<(u64, u64)>,
    /// As of [`ReceiverRtt`].
    estimate: u64,
    handshake: u64,
}

impl WindowRtt {
    /// Of a window of so many segments.
    pub(super) fn new(window: u64) -> Self {
        Self {
            window,
            began: None,
            estimate: 0,
            handshake: 0,
        }
    }

    /// The handshake took so long, from the SYN-ACK on.
    pub(super) fn established(&mut self, rtt_ns: u64) {
        self.handshake = (rtt_ns / 1_000).max(1) * UNITS_PER_US;
    }

    /// Data in order arrives at `now_ns`; the next segment is `rcv_nxt`.
    pub(super) fn arrives(&mut self, now_ns: u64, rcv_nxt: u64) {
        if let Some((began_ns, end)) = self.began {
            if rcv_nxt < end {
                return;
            }
            let sample = (now_ns / 1_000 - began_ns / 1_000).max(1) * UNITS_PER_US;
            if self.estimate == 0 || sample < self.estimate {
                self.estimate = sample;
            }
        }
        self.began = Some((now_ns, rcv_nxt + self.window));
    }

    /// What a compressed ACK's wait is a share of, in eighths of a µs.
    pub(super) fn smallest(&self) -> u64 {
        match self.handshake {
            0 => self.estimate,
            handshake => self.estimate.min(handshake),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000;

    /// The SYN is answered at 10.3 ms. ACKs take 3 ms to the sender, and segments 3.3 ms back: they
    /// arrive at 16.6, 22.9, 29.2 and 35.5 ms, and echo the timestamps 10, 16, 22 and 29.
    #[test]
    fn samples_are_whole_milliseconds() {
        let mut rtt = ReceiverRtt::new(10_300 * US, Some(3_000 * US), 0);
        rtt.established(6_300 * US);
        assert_eq!(Compression::Linux6.delay_ns(rtt.smallest()), 0); // no sample yet
        let mut delays = Vec::new();
        for turn in 1..=4 {
            let arrives_ns = (10_300 + 6_300 * turn) * US;
            rtt.arrives(arrives_ns, arrives_ns - 3_300 * US);
            rtt.leaves(arrives_ns, false);
            delays.push(Compression::Linux6.delay_ns(rtt.smallest()));
        }
        // 16 - 10 = 6 ms; 22 - 16 = 6; 29 - 22 = 7: 6 + 1/8; 35 - 29 = 6, which is less.
        assert_eq!(delays, [300_000, 300_000, 306_250, 300_000]);
        rtt.established(5_900 * US);
        assert_eq!(Compression::Linux6.delay_ns(rtt.smallest()), 295_000);
    }

    /// Of the segments with one timestamp only the first is a sample: those with a later one wait in
    /// a queue.
    #[test]
    fn one_sample_of_each_timestamp() {
        let mut rtt = ReceiverRtt::new(1_000 * US, Some(3_000 * US), 0);
        rtt.established(90_000 * US);
        for (now_ms, sent_ms) in [(7, 4), (8, 5), (9, 6)] {
            rtt.arrives(now_ms * 1_000 * US, sent_ms * 1_000 * US);
        }
        assert_eq!(rtt.estimate, 6_000 * UNITS_PER_US);
        rtt.leaves(9_000 * US, false);
        rtt.leaves(9_500 * US, false);
        rtt.leaves(10_100 * US, false);
        // The ACK of 9 ms reaches the sender at 12 ms, that of 10.1 ms at 13.1 ms.
        rtt.arrives(17_000 * US, 12_000 * US);
        assert_eq!(rtt.estimate, (6_000 - 6_000 / 8 + 8_000 / 8) * UNITS_PER_US);
        rtt.arrives(17_100 * US, 13_000 * US);
        assert_eq!(rtt.stamps.len(), 1);
        rtt.arrives(17_200 * US, 13_100 * US);
        assert_eq!(rtt.stamps.len(), 0);
        let before = 6_250 * UNITS_PER_US;
        assert_eq!(rtt.estimate, before - before / 8 + 7_000);
    }

    /// Segments of the same millisecond that nobody told of leave the same estimate.
    #[test]
    fn segments_with_the_same_echo_may_be_left_out() {
        let run = |told: bool| {
            let mut rtt = ReceiverRtt::new(0, Some(2_000 * US), 400 * US);
            rtt.established(18_000 * US);
            for turn in 0..400_u64 {
                let now_ns = (7_000 + 130 * turn) * US;
                let sent_ns = now_ns - (3_000 + 20 * turn % 977) * US;
                let settled = now_ns < rtt.settled_until_ns(now_ns - 130 * US);
                if told || !settled || sent_ns >= rtt.same_echo_until_ns() {
                    rtt.arrives(now_ns, sent_ns);
                    rtt.leaves(now_ns, false);
                }
            }
            rtt.arrives(60_000 * US, 58_000 * US);
            rtt.estimate
        };
        assert_eq!(run(true), run(false));
    }

    /// By 33 %, in the kernel's integers; and never more than 1 ms.
    #[test]
    fn linux_7_waits_for_a_third_of_the_rtt() {
        let units = |us: u64| us * UNITS_PER_US;
        let waits =
            |us| [Compression::Linux6, Compression::Linux7].map(|of| of.delay_ns(units(us)));
        assert_eq!(waits(1_000), [50_000, 330_000]);
        assert_eq!(waits(3_000), [150_000, 990_000]);
        assert_eq!(waits(4_000), [200_000, MAX_DELAY_NS]);
        assert_eq!(Compression::Linux7.delay_ns(7), 8 * 33);
        for of in [Compression::Linux6, Compression::Linux7] {
            assert_eq!(
                of.delay_ns(of.long_rtt_ns() / 1_000 * UNITS_PER_US),
                MAX_DELAY_NS
            );
        }
    }

    /// Linux 6: `tcp_compressed_ack_kick` does not refresh the clock.
    #[test]
    fn a_compressed_ack_has_the_timestamp_of_the_last_arrival() {
        let mut rtt = ReceiverRtt::new(0, Some(0), 0);
        rtt.arrives(4_900 * US, 0);
        rtt.leaves(5_200 * US, true);
        assert_eq!(rtt.stamps, [(5_200 * US, 5)]);
    }

    /// A window of ten segments takes 30 ms at first, then 50: the smallest counts, and at most the
    /// handshake. Before the first ends, an ACK waits for nothing.
    #[test]
    fn a_window_takes_a_round_trip() {
        let mut rtt = WindowRtt::new(10);
        rtt.established(40 * NS_PER_MS);
        let smallest = |rtt: &WindowRtt| rtt.smallest() / UNITS_PER_US;
        for (at_ms, rcv_nxt, smallest_us) in [
            (5, 1, 0),
            (30, 10, 0),
            (35, 11, 30_000),
            (85, 21, 30_000),
            (105, 31, 20_000),
            (165, 41, 20_000),
        ] {
            rtt.arrives(at_ms * NS_PER_MS, rcv_nxt);
            assert_eq!(smallest(&rtt), smallest_us, "{at_ms} ms");
        }
        let mut slow = WindowRtt::new(10);
        slow.established(40 * NS_PER_MS);
        slow.arrives(0, 1);
        slow.arrives(90 * NS_PER_MS, 11);
        assert_eq!(smallest(&slow), 40_000);
    }

    /// ACKs that leave at 1, 2 and 3 ms pass queues: the second is lost, the others arrive at 4 and 12 ms.
    #[test]
    fn data_echo_what_has_reached_the_sender() {
        const MS: u64 = 1_000 * US;
        let mut rtt = ReceiverRtt::new(0, None, 0);
        for left_ns in [MS, 2 * MS, 3 * MS] {
            rtt.leaves(left_ns, false);
        }
        rtt.reaches(MS, 4 * MS);
        rtt.reaches(3 * MS, 12 * MS);
        rtt.arrives(10 * MS, 5 * MS);
        assert_eq!(rtt.estimate(), 8 * 9_000);
        rtt.arrives(20 * MS, 13 * MS);
        assert_eq!(rtt.estimate(), 8 * 9_000 + 17_000 - 9_000);
        rtt.reaches(2 * MS, 13 * MS);
        assert_eq!(rtt.same_echo_until_ns(), NEVER, "it was overtaken");
    }
}
