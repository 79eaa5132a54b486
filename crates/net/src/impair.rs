//! What happens to packets on their way to a queue.

use crate::rate::{Policer, PolicerParameters};
use crate::rng::{Draw, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Drops every Nth packet: losses at a known rate that no queue causes.
#[derive(Clone, Copy, Debug)]
pub struct EveryNth {
    every: u64,
    /// Packets until the next drop, that one included.
    left: u64,
    dropped_packets: u64,
}

impl EveryNth {
    /// Drops packet N, 2N, …; drops none with `None`.
    pub fn new(every_packets: Option<u64>) -> Self {
        let every = every_packets.unwrap_or(u64::MAX);
        Self {
            every,
            left: every,
            dropped_packets: 0,
        }
    }

    /// Packets dropped so far.
    pub fn dropped_packets(&self) -> u64 {
        self.dropped_packets
    }

    /// Whether none of the next packets is dropped. If so they have passed; if not ask
    /// [`drops`](Self::drops) for each.
    #[inline]
    pub fn passes(&mut self, packets: u32) -> bool {
        let all = self.left > packets.into();
        if all {
            self.left -= u64::from(packets);
        }
        all
    }

    /// Whether the next packet is dropped.
    #[inline]
    pub fn drops(&mut self) -> bool {
        self.left -= 1;
        let drops = self.left == 0;
        if drops {
            self.left = self.every;
            self.dropped_packets += 1;
        }
        drops
    }
}

/// One of how many packets, in the unit of probabilities.
pub const PARTS: u64 = 1_000_000_000;

/// Random loss of any packet: data, ACKs and handshakes, as netem's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Loss {
    /// Each packet is lost with the same probability, whatever happened to others.
    Bernoulli(Bernoulli),
    /// Losses in bursts: the model of Gilbert (1960) and Elliott (1963), as netem's `gemodel`.
    GilbertElliott(GilbertElliott),
}

/// Parameters of independent losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bernoulli {
    /// Probability that a packet is lost.
    #[schemars(range(max = PARTS))]
    pub p_ppb: u64,
}

/// Parameters of Gilbert's and Elliott's model. A packet is lost by the state that it finds, and may
/// change the state for the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    /// Probability that a packet changes the state from good to bad. A share p / (p + r) of the
    /// packets finds the bad state.
    #[schemars(range(max = PARTS))]
    pub p_ppb: u64,
    /// Probability that a packet changes the state from bad to good: the bad state lasts for 1 / r
    /// packets in the mean.
    #[schemars(range(min = 1, max = PARTS))]
    pub r_ppb: u64,
    /// Probability that a packet passes in the bad state. netem takes 1 − h.
    #[schemars(range(max = PARTS), extend("default" = 0))]
    pub h_ppb: u64,
    /// Probability that a packet passes in the good state. netem takes 1 − k.
    #[schemars(range(max = PARTS), extend("default" = PARTS))]
    pub k_ppb: u64,
}

/// Packets that come late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Reorder")]
pub struct ReorderParameters {
    /// Probability that a packet comes late.
    #[schemars(range(max = PARTS))]
    pub p_ppb: u64,
    /// How much later it reaches the queue. Packets that come meanwhile overtake it.
    #[schemars(range(min = 1, max = 100_000_000_000_u64), example = 10_000_000)]
    pub delay_ns: u64,
}

/// Loses packets at random.
#[derive(Clone, Debug)]
pub struct Losses {
    model: Option<Loss>,
    is_bad: bool,
    random: Stream,
}

impl Losses {
    /// In the good state. `random` is the stream of these losses ([`Draw::Loss`](crate::rng::Draw)).
    pub fn new(model: Option<Loss>, random: Stream) -> Self {
        Self {
            model,
            is_bad: false,
            random,
        }
    }

    /// Whether the next packet is lost.
    #[inline]
    pub fn drops(&mut self) -> bool {
        match self.model {
            None => false,
            Some(Loss::Bernoulli(model)) => self.happens(model.p_ppb),
            Some(Loss::GilbertElliott(model)) => {
                // Linux draws the change of the state first, and both for each packet.
                let (leaves, passes) = if self.is_bad {
                    (model.r_ppb, model.h_ppb)
                } else {
                    (model.p_ppb, model.k_ppb)
                };
                self.is_bad ^= self.happens(leaves);
                !self.happens(passes)
            }
        }
    }

    fn happens(&mut self, ppb: u64) -> bool {
        self.random.up_to(PARTS - 1) < ppb
    }
}

/// A random share of the packets, each with the same probability.
#[derive(Clone, Debug)]
pub struct Share {
    p_ppb: u64,
    random: Stream,
}

impl Share {
    /// Draws nothing if the probability is 0.
    pub fn new(p_ppb: u64, random: Stream) -> Self {
        Self { p_ppb, random }
    }

    /// Whether the next packet belongs to it.
    #[inline]
    pub fn takes(&mut self) -> bool {
        self.p_ppb > 0 && self.random.up_to(PARTS - 1) < self.p_ppb
    }
}

/// What packets meet before the queue of a link, in this order: losses, copies, an extra delay, a
/// policer.
#[derive(Clone, Debug)]
pub struct Impairments {
    losses: Losses,
    /// Packets lost so far.
    pub lost_packets: u64,
    /// Which packets are sent twice.
    pub copies: Share,
    late: Share,
    late_ns: u64,
    policer: Option<Policer>,
    /// Packets that the policer dropped so far.
    pub policed_packets: u64,
}

impl Impairments {
    /// Whether the next packet is lost.
    pub fn loses(&mut self) -> bool {
        let lost = self.losses.drops();
        self.lost_packets += u64::from(lost);
        lost
    }

    /// Whether the policer drops the next packet.
    pub fn polices(&mut self, now_ns: u64, bytes: u32) -> bool {
        let policer = self.policer.as_mut();
        let dropped = policer.is_some_and(|policer| policer.drops(now_ns, bytes));
        self.policed_packets += u64::from(dropped);
        dropped
    }

    /// The extra delay of the next packet; 0: none.
    pub fn late_ns(&mut self) -> u64 {
        if self.late.takes() {
            self.late_ns
        } else {
            0
        }
    }

    /// Those of a link, if it has any. `stream` gives the streams of the link.
    pub fn new(
        loss: Option<Loss>,
        duplicate_ppb: u64,
        reorder: Option<ReorderParameters>,
        policer: Option<&PolicerParameters>,
        stream: impl Fn(Draw) -> Stream,
    ) -> Option<Self> {
        let any = loss.is_some() || duplicate_ppb > 0 || reorder.is_some() || policer.is_some();
        let late = reorder.map_or((0, 0), |late| (late.p_ppb, late.delay_ns));
        any.then(|| Self {
            losses: Losses::new(loss, stream(Draw::Loss)),
            lost_packets: 0,
            copies: Share::new(duplicate_ppb, stream(Draw::Duplicate)),
            late: Share::new(late.0, stream(Draw::Reorder)),
            late_ns: late.1,
            policer: policer.map(Policer::new),
            policed_packets: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Owner;

    #[test]
    fn packet_n_2n_and_so_on() {
        for (every, expected) in [
            (Some(2), vec![2, 4, 6]),
            (Some(3), vec![3, 6]),
            (None, vec![]),
        ] {
            let mut loss = EveryNth::new(every);
            let dropped: Vec<_> = (1..8).filter(|_| loss.drops()).collect();
            assert_eq!(dropped, expected);
        }
    }

    /// Share of lost packets, and mean number of losses that follow each other.
    fn observed(model: Loss) -> [f64; 2] {
        const PACKETS: u32 = 4_000_000;
        let random = Stream::of(1, Owner::Link(1), Draw::Loss);
        let mut losses = Losses::new(Some(model), random);
        let (mut lost, mut bursts, mut before) = (0, 0, false);
        for _ in 0..PACKETS {
            let drops = losses.drops();
            lost += u32::from(drops);
            bursts += u32::from(drops && !before);
            before = drops;
        }
        [
            f64::from(lost) / f64::from(PACKETS),
            f64::from(lost) / f64::from(bursts),
        ]
    }

    /// Independent losses at p: a burst goes on with probability p, so its mean length is
    /// 1 / (1 − p).
    #[test]
    fn bernoulli_loses_its_share() {
        for p in [0.5, 0.1, 0.001] {
            let p_ppb = (p * PARTS as f64) as u64;
            let [share, burst] = observed(Loss::Bernoulli(Bernoulli { p_ppb }));
            assert!((share / p - 1.0).abs() < 0.04, "{p}: {share}");
            assert!((burst * (1.0 - p) - 1.0).abs() < 0.04, "{p}: {burst}");
        }
        let certain = observed(Loss::Bernoulli(Bernoulli { p_ppb: PARTS }));
        assert_eq!(certain[0], 1.0);
    }

    /// With π = p / (p + r) in the bad state, the share of losses is
    /// L = π (1 − h) + (1 − π) (1 − k). Two losses in sequence have the probability LL, the sum over
    /// two states in sequence. So a burst begins with probability L − LL, and lasts for L / (L − LL).
    #[test]
    fn gilbert_and_elliott_lose_in_bursts() {
        for [p, r, h, k] in [
            // Gilbert: all packets of the bad state are lost, 1 / r in the mean.
            [0.01, 0.25, 0.0, 1.0],
            // netem's manual: r = 1 − p is Bernoulli.
            [0.1, 0.9, 0.0, 1.0],
            [0.02, 0.1, 0.3, 0.99],
            [0.005, 0.02, 0.5, 1.0],
        ] {
            let ppb = |probability: f64| (probability * PARTS as f64).round() as u64;
            let [share, burst] = observed(Loss::GilbertElliott(GilbertElliott {
                p_ppb: ppb(p),
                r_ppb: ppb(r),
                h_ppb: ppb(h),
                k_ppb: ppb(k),
            }));
            let bad = p / (p + r);
            let lost = bad * (1.0 - h) + (1.0 - bad) * (1.0 - k);
            let after_bad = (1.0 - r) * (1.0 - h) + r * (1.0 - k);
            let after_good = p * (1.0 - h) + (1.0 - p) * (1.0 - k);
            let twice = bad * (1.0 - h) * after_bad + (1.0 - bad) * (1.0 - k) * after_good;
            let length = lost / (lost - twice);
            if h == 0.0 && k == 1.0 {
                assert!((length * r - 1.0).abs() < 1e-9);
            }
            assert!((share / lost - 1.0).abs() < 0.03, "{share}, not {lost}");
            assert!((burst / length - 1.0).abs() < 0.03, "{burst}, not {length}");
        }
    }
}
