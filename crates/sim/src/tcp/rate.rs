//! The delivery-rate sample of an ACK (`tcp_rate.c`, draft-cheng-iccrg-delivery-rate-estimation):
//! how many packets the network has delivered since the packet left that the ACK newly delivers,
//! and how long this took.
//!
//! How to drive it: call [`on_sent`](RateSampler::on_sent) for each transmission. For each ACK call
//! [`on_delivered`](RateSampler::on_delivered) with the newest packet that it has delivered, and then
//! [`sample`](RateSampler::sample) with the answer.

use super::host::Host;
use super::scoreboard::{SentOrder, FIRST_CAPACITY};
use super::transmit::Transmit;
use ackclock_host::RateSample;

/// The state of the connection when a packet was sent (`tx` of `tcp_skb_cb`).
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    delivered: u32,
    is_app_limited: bool,
    /// `delivered_mstamp`, µs: when the interval of ACKs begins.
    delivered_us: u64,
    /// `first_tx_mstamp`, µs: when the interval of sending begins.
    first_sent_us: u64,
}

/// What few algorithms read of it.
#[derive(Clone, Copy, Debug, Default)]
struct CountsThen {
    delivered_ce: u32,
    lost: u32,
    /// With the packet itself (`tcp_set_tx_in_flight`).
    in_flight: u32,
}

/// The packet that was sent last of all that an ACK newly delivers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Newest {
    segment: u64,
    sent: Sent,
    /// The interval of sending, µs.
    sending_us: u64,
    is_retrans: bool,
    counts: Option<CountsThen>,
}

/// The counts of an ACK that a sample has besides the rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckCounts {
    /// RTT, µs; −1 without a sample.
    pub rtt_us: i32,
    pub newly_lost: u32,
    pub newly_delivered: u32,
    /// Packets in flight before the ACK.
    pub prior_in_flight: u32,
    /// Whether it tells of marks.
    pub ece: bool,
    /// Whether it may answer a probe that repeats data, or the original.
    pub may_answer_probe: bool,
}

/// Keeps the state of each packet of the window, for algorithms that read it.
#[derive(Clone, Debug)]
pub(super) struct RateSampler(Option<Box<Window>>);

#[derive(Clone, Debug)]
struct Window {
    /// A ring indexed by segment & (length − 1).
    sent: Vec<Sent>,
    /// The same; empty if the algorithm reads none of it.
    counts: Vec<CountsThen>,
    /// When the packet left that was delivered last, µs.
    first_sent_us: u64,
}

impl RateSampler {
    /// Makes a sampler; one that is not `wanted` does nothing. `counts`: with [`CountsThen`].
    pub(super) fn new(wanted: bool, counts: bool) -> Self {
        let window = || Window {
            sent: vec![Sent::default(); FIRST_CAPACITY],
            counts: vec![CountsThen::default(); FIRST_CAPACITY * usize::from(counts)],
            first_sent_us: 0,
        };
        Self(wanted.then(|| Box::new(window())))
    }

    /// Notes a transmission (`tcp_rate_skb_sent`). `una` is the head of the window. `idle`: no
    /// packet was out, so both intervals begin now.
    #[inline]
    pub(super) fn on_sent(&mut self, host: &mut Host, una: u64, burst: Transmit, idle: bool) {
        if idle {
            host.stamp_delivered();
        }
        if let Some(window) = &mut self.0 {
            window.on_sent(host, una, burst, idle);
        }
    }

    /// Whether an algorithm reads the samples.
    pub(super) fn is_wanted(&self) -> bool {
        self.0.is_some()
    }

    /// Whether the algorithm reads counts of what was sent.
    #[inline]
    pub(super) fn keeps_counts(&self) -> bool {
        (self.0.as_ref()).is_some_and(|window| !window.counts.is_empty())
    }

    /// Whether the application had left nothing to send when a segment of the window was sent. False if
    /// the algorithm does not read the delivery rate.
    pub(super) fn was_app_limited(&self, segment: u64) -> bool {
        self.0.as_ref().is_some_and(|window| {
            let mask = window.sent.len() as u64 - 1;
            window.sent[(segment & mask) as usize].is_app_limited
        })
    }

    /// What the sender knew when it sent the newest packet that the ACK delivers
    /// (`tcp_rate_skb_delivered`).
    #[inline]
    pub(super) fn on_delivered(&mut self, newest: Option<(SentOrder, bool)>) -> Option<Newest> {
        let ((sent_ns, segment), is_retrans) = newest?;
        Some((self.0.as_mut()?).on_delivered(sent_ns, segment, is_retrans))
    }

    /// The sample of an ACK (`tcp_rate_gen`). Without a newest packet there is none.
    #[inline(never)]
    pub(super) fn sample(host: &Host, newest: Option<Newest>, counts: &AckCounts) -> RateSample {
        let sample = RateSample {
            prior_mstamp: 0,
            delivered: -1,
            interval_us: -1,
            rtt_us: counts.rtt_us.into(),
            losses: counts.newly_lost as i32,
            acked_sacked: counts.newly_delivered,
            prior_in_flight: counts.prior_in_flight,
            is_ece: counts.ece,
            is_acking_tlp_retrans_seq: counts.may_answer_probe,
            // Linux suspects an ACK of less than a full packet; a packet here is always full.
            is_ack_delayed: false,
            ..RateSample::default()
        };
        let Some(newest) = newest else { return sample };
        let (tp, sent) = (host.tp(), newest.sent);
        let acks_us = tp.tcp_mstamp - sent.delivered_us;
        let last_end = newest.segment as u32 + 1;
        let then = newest.counts;
        let since = |now: u32, then: u32| (now.wrapping_sub(then) as i32).max(0);
        // A retransmission that an original answers would seem to be faster than the path.
        let interval_us = acks_us.max(newest.sending_us);
        let too_short = interval_us < tp.rtt_min.s[0].v.into();
        RateSample {
            prior_mstamp: sent.delivered_us,
            prior_delivered: sent.delivered,
            delivered: tp.delivered.wrapping_sub(sent.delivered) as i32,
            interval_us: if too_short { -1 } else { interval_us as i64 },
            snd_interval_us: newest.sending_us as u32,
            rcv_interval_us: acks_us as u32,
            last_end_seq: last_end.wrapping_mul(tp.mss_cache),
            prior_delivered_ce: then.map_or(0, |then| then.delivered_ce),
            delivered_ce: then.map_or(0, |then| since(tp.delivered_ce, then.delivered_ce)),
            prior_lost: then.map_or(0, |then| then.lost),
            lost: then.map_or(0, |then| since(tp.lost, then.lost)),
            tx_in_flight: then.map_or(0, |then| then.in_flight),
            is_app_limited: sent.is_app_limited,
            is_retrans: newest.is_retrans,
            ..sample
        }
    }

    /// Bytes delivered since the newest packet left (`in_flight` of an `ack_sample`; Linux 5.16).
    /// 0 if the algorithm does not read it.
    #[inline]
    pub(super) fn in_flight_bytes(&self, host: &Host, newest: Option<Newest>) -> u32 {
        if self.0.is_none() {
            return 0;
        }
        let tp = host.tp();
        let prior = newest.map_or(0, |newest| newest.sent.delivered);
        tp.delivered.wrapping_sub(prior).wrapping_mul(tp.mss_cache)
    }
}

impl Window {
    #[inline(never)]
    fn on_sent(&mut self, host: &mut Host, una: u64, burst: Transmit, idle: bool) {
        if !self.counts.is_empty() {
            host.publish_sent(burst.segments);
        }
        let tp = host.tp();
        if idle {
            self.first_sent_us = tp.tcp_mstamp;
        }
        let sent = Sent {
            delivered: tp.delivered,
            is_app_limited: tp.app_limited != 0,
            delivered_us: tp.delivered_mstamp,
            first_sent_us: self.first_sent_us,
        };
        note(&mut self.sent, una, burst, sent);
        if !self.counts.is_empty() {
            let then = CountsThen {
                delivered_ce: tp.delivered_ce,
                lost: tp.lost,
                in_flight: host.in_flight(),
            };
            note(&mut self.counts, una, burst, then);
        }
    }

    #[inline(never)]
    fn on_delivered(&mut self, sent_ns: u64, segment: u64, is_retrans: bool) -> Newest {
        let mask = self.sent.len() as u64 - 1;
        let place = (segment & mask) as usize;
        let sent = self.sent[place];
        self.first_sent_us = sent_ns / 1_000;
        Newest {
            sent,
            sending_us: self.first_sent_us.saturating_sub(sent.first_sent_us),
            is_retrans,
            segment,
            counts: self.counts.get(place).copied(),
        }
    }
}

/// Keeps `each` for the segments of a burst, in a ring that holds the window from `una`.
#[inline]
fn note<T: Copy + Default>(ring: &mut Vec<T>, una: u64, burst: Transmit, each: T) {
    let end = burst.first + u64::from(burst.segments);
    if end - una > ring.len() as u64 {
        grow(ring, una, burst.first, end);
    }
    for segment in burst.first..end {
        let mask = ring.len() as u64 - 1;
        ring[(segment & mask) as usize] = each;
    }
}

/// Makes room for the window from `una` to `end`, whose segments below `held` are in the ring.
#[cold]
fn grow<T: Copy + Default>(ring: &mut Vec<T>, una: u64, held: u64, end: u64) {
    let capacity = ((end - una) as usize).next_power_of_two();
    let mut larger = vec![T::default(); capacity];
    for segment in una..held {
        let at = |len: usize| (segment & (len as u64 - 1)) as usize;
        larger[at(capacity)] = ring[at(ring.len())];
    }
    *ring = larger;
}

#[cfg(test)]
mod tests {
    use super::super::host::reno;
    use super::super::scoreboard::{Delivery, Scoreboard};
    use super::*;
    use crate::scenario::Profile;

    const S: u64 = 1_000_000_000;
    const COUNTS: AckCounts = AckCounts {
        rtt_us: 100_000,
        newly_lost: 0,
        newly_delivered: 2,
        prior_in_flight: 10,
        ece: false,
        may_answer_probe: false,
    };

    /// A connection that the application has just begun to write to, at 1 s; its RTT is 100 ms.
    struct Connection {
        host: Host,
        board: Scoreboard,
        rate: RateSampler,
    }

    impl Connection {
        fn new() -> Self {
            let mut host = reno(Profile::Linux6, 10);
            host.publish_min_rtt(100_000);
            host.check_app_limited();
            Self {
                host,
                board: Scoreboard::new(),
                rate: RateSampler::new(true, true),
            }
        }

        fn send(&mut self, segments: u32) {
            let (now_ns, idle) = (self.host.now_ns(), self.host.tp().packets_out == 0);
            let burst = self.board.send(self.host.counts(), now_ns, segments, false);
            let una = self.board.una();
            self.rate.on_sent(&mut self.host, una, burst, idle);
        }

        /// An ACK `at_us` after 1 s. Returns delivered and interval_us, and what the packet was.
        fn ack(&mut self, at_us: u64, ack: u64, sack: (u64, u64)) -> (i32, i64, bool, bool) {
            self.host.clock(S + at_us * 1_000);
            let before = self.host.tp().delivered;
            let mut delivery = Delivery {
                youngest_ns: u64::MAX,
                echo_ns: u64::MAX,
                ..Delivery::default()
            };
            self.board.sack(self.host.counts(), sack, 0, &mut delivery);
            if ack > self.board.una() {
                self.board
                    .acknowledge(self.host.counts(), ack, 0, &mut delivery);
            }
            let newest = self.rate.on_delivered(delivery.sampled);
            let newly = self.host.tp().delivered - before;
            self.host.note_delivered(newly);
            let sample = RateSampler::sample(&self.host, newest, &COUNTS);
            assert_eq!(sample.prior_mstamp == 0, newly == 0);
            assert!(!sample.is_ack_delayed, "a packet is never less than full");
            assert_eq!(
                sample.delivered,
                newest.map_or(-1, |_| {
                    (self.host.tp().delivered - sample.prior_delivered) as i32
                })
            );
            (
                sample.delivered,
                sample.interval_us,
                sample.is_app_limited,
                sample.is_retrans,
            )
        }
    }

    const NONE: (u64, u64) = (0, 0);

    /// Each interval goes back to what was known when the packet left.
    #[test]
    fn acknowledgements() {
        let mut tcp = Connection::new();
        tcp.send(10);
        // Written after a pause: the first window is limited by the application.
        assert_eq!(tcp.ack(100_000, 2, NONE), (2, 100_000, true, false));
        tcp.send(2);
        assert_eq!(tcp.ack(101_000, 4, NONE), (4, 101_000, true, false));
        tcp.send(2);
        assert_eq!(tcp.ack(104_000, 10, NONE), (10, 104_000, true, false));
        // Sent at 100 ms, when 2 packets were delivered; now 12 are.
        assert_eq!(tcp.ack(201_000, 12, NONE), (10, 101_000, false, false));
        // Sent 101 ms after the first window; its ACKs took only 100.5 ms.
        assert_eq!(tcp.ack(201_500, 14, NONE), (10, 101_000, false, false));
        // Nothing is out: both intervals begin anew.
        tcp.host.clock(S + 900_000_000);
        tcp.send(1);
        assert_eq!(tcp.ack(1_000_000, 15, NONE), (1, 100_000, false, false));
    }

    #[test]
    fn sacks_and_a_retransmission() {
        let mut tcp = Connection::new();
        tcp.send(10);
        assert_eq!(tcp.ack(100_000, 0, (1, 4)), (3, 100_000, true, false));
        tcp.board.judge_by_distance(tcp.host.counts());
        let now_ns = tcp.host.now_ns();
        let again = tcp.board.retransmit(tcp.host.counts(), now_ns, 1).unwrap();
        assert_eq!(again.first, 0);
        tcp.rate.on_sent(&mut tcp.host, 0, again, false);
        assert_eq!(tcp.ack(150_000, 0, (4, 5)), (4, 150_000, true, false));
        // The newest packet is the retransmission, which left after 3 packets were delivered.
        assert_eq!(tcp.ack(200_000, 5, NONE), (2, 100_000, false, true));
        assert_eq!(tcp.ack(210_000, 5, NONE), (-1, -1, false, false));
        // The ACK of an original that seems to answer a retransmission: shorter than any RTT.
        tcp.host.clock(S + 250_000_000);
        let again = tcp
            .board
            .retransmit_last(tcp.host.counts(), S + 250_000_000);
        tcp.rate.on_sent(&mut tcp.host, 5, again.unwrap(), false);
        let (_, interval_us, _, is_retrans) = tcp.ack(251_000, 10, NONE);
        assert_eq!((interval_us, is_retrans), (150_000, true), "by its sending");
        tcp.host.publish_min_rtt(250_001);
        tcp.send(1);
        assert_eq!(tcp.ack(501_000, 11, NONE), (1, -1, false, false));
    }

    #[test]
    fn a_large_window() {
        let mut tcp = Connection::new();
        tcp.send(500);
        assert_eq!(tcp.ack(100_000, 400, NONE).0, 400);
        for _ in 0..30 {
            tcp.send(100);
        }
        assert_eq!(tcp.ack(150_000, 500, NONE), (500, 150_000, true, false));
        assert_eq!(tcp.ack(200_000, 501, NONE), (101, 100_000, false, false));
        assert_eq!(
            tcp.ack(201_000, 3_500, NONE),
            (3_100, 101_000, false, false)
        );
    }

    #[test]
    fn the_counts_of_an_ack() {
        let host = reno(Profile::Linux6, 10);
        let counts = AckCounts {
            rtt_us: -1,
            newly_lost: 3,
            newly_delivered: 4,
            prior_in_flight: 5,
            ece: true,
            may_answer_probe: true,
        };
        let sample = RateSampler::sample(&host, None, &counts);
        assert_eq!((sample.rtt_us, sample.losses), (-1, 3));
        assert_eq!((sample.acked_sacked, sample.prior_in_flight), (4, 5));
        assert!(sample.is_ece && sample.is_acking_tlp_retrans_seq);
    }

    /// An algorithm that reads no sample pays for none.
    #[test]
    fn only_for_those_who_read_it() {
        let rate = RateSampler::new(false, false);
        assert!(rate.0.is_none());
    }
}
