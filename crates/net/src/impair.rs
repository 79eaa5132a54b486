//! What happens to packets on their way to a queue.

use crate::rate::Policer;
use crate::rng::Stream;
use crate::schedule::NEVER;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Drops every Nth packet, or those of a list: losses that are known, and that no queue causes.
#[derive(Clone, Debug)]
pub struct DropPattern {
    every: u64,
    /// The gaps between the packets of a list: the last is the next.
    gaps: Vec<u64>,
    /// Packets until the next drop, that one included.
    left: u64,
    /// What `left` would be, while it is 1 so that somebody [looks](Self::watch) at each packet.
    hidden: Option<u64>,
    dropped_packets: u64,
}

impl DropPattern {
    /// Drops packet N, 2N, …, or those of a list, which ascends; drops none if there is neither.
    pub fn new(every_packets: Option<u64>, numbers: &[u64]) -> Self {
        let before = std::iter::once(&0).chain(numbers);
        let gaps = numbers.iter().zip(before);
        let mut gaps: Vec<_> = gaps.map(|(number, before)| number - before).collect();
        gaps.reverse();
        let every = every_packets.unwrap_or(u64::MAX);
        Self {
            every,
            left: gaps.pop().unwrap_or(every),
            gaps,
            hidden: None,
            dropped_packets: 0,
        }
    }

    /// Packets dropped so far.
    pub fn dropped_packets(&self) -> u64 {
        self.dropped_packets
    }

    /// Whether each packet [is due](Self::is_due) from now on, and does not [pass](Self::passes) with
    /// others, whether or not it is to be dropped.
    #[cold]
    pub fn watch(&mut self, watches: bool) {
        match (watches, self.hidden) {
            (true, None) => (self.hidden, self.left) = (Some(self.left), 1),
            (false, Some(left)) => (self.hidden, self.left) = (None, left),
            _ => (),
        }
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

    /// Whether the next packet may be dropped: if so [`judge`](Self::judge) says whether it is.
    #[inline]
    pub fn is_due(&mut self) -> bool {
        self.left -= 1;
        self.left == 0
    }

    /// Whether a packet that is due is dropped. `keeps` is asked for one that is to be dropped; `aimed`: it
    /// is dropped whatever the pattern says.
    #[inline]
    pub fn judge(&mut self, aimed: bool, keeps: impl FnOnce() -> bool) -> bool {
        let mut left = self.hidden.map_or(0, |left| left - 1);
        let in_pattern = left == 0;
        if in_pattern {
            left = self.gaps.pop().unwrap_or(self.every);
        }
        match &mut self.hidden {
            Some(hidden) => (*hidden, self.left) = (left, 1),
            None => self.left = left,
        }
        let drops = aimed || in_pattern && !keeps();
        self.dropped_packets += u64::from(drops);
        drops
    }

    /// Whether the next packet is dropped.
    #[inline]
    pub fn drops(&mut self) -> bool {
        self.is_due() && self.judge(false, || false)
    }
}

/// How many of the next packets of which flows are lost, and how many that would be lost are not.
#[derive(Clone, Debug, Default)]
pub struct Aims(Vec<(u32, [u32; 2])>);

impl Aims {
    /// The next `drops` packets of a flow are lost; of those that would be lost the next `keeps` are not.
    /// `None`: what was said before stays.
    pub fn set(&mut self, flow: u32, drops: Option<u32>, keeps: Option<u32>) {
        for (which, packets) in [drops, keeps].into_iter().enumerate() {
            let Some(packets) = packets else { continue };
            let mut aim = [0, 0];
            aim[which] = packets;
            self.0.retain(|of| of.0 != flow || of.1[which] == 0);
            self.0.extend((packets > 0).then_some((flow, aim)));
        }
    }

    /// Whether nothing is left to do.
    pub fn are_over(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the next packet of a flow is lost.
    pub fn drops(&mut self, flow: u32) -> bool {
        self.take(flow, 0)
    }

    /// Whether a packet of a flow that would be lost is not.
    pub fn keeps(&mut self, flow: u32) -> bool {
        self.take(flow, 1)
    }

    fn take(&mut self, flow: u32, which: usize) -> bool {
        let mut aims = self.0.iter_mut();
        let Some((_, left)) = aims.find(|aim| aim.0 == flow && aim.1[which] > 0) else {
            return false;
        };
        left[which] -= 1;
        self.0.retain(|aim| aim.1 != [0, 0]);
        true
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
    /// Gilbert's and Elliott's model by time: good and bad times of exponential lengths.
    BadTimes(BadTimes),
    /// Outages at regular times, in which every packet is lost.
    Outages(Outages),
}

/// A change of the probability of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LossStep {
    /// When the probability changes.
    #[schemars(range(max = 3_600_000_000_000_000_u64), example = 20_000_000_000_u64)]
    pub time_ns: u64,
    /// Probability that a packet is lost from then on, whatever `loss` says; 1: the link is down.
    #[schemars(range(max = PARTS))]
    pub p_ppb: u64,
}

/// Parameters of losses in bad times. The first time is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BadTimes {
    /// Mean length of a good time, in which no packet is lost.
    #[schemars(
        range(min = 1_000, max = 3_600_000_000_000_000_u64),
        example = 5_000_000_000_u64
    )]
    pub good_ns: u64,
    /// Mean length of a bad time.
    #[schemars(
        range(min = 1_000, max = 3_600_000_000_000_000_u64),
        example = 16_700_000
    )]
    pub bad_ns: u64,
    /// Probability that a packet passes in a bad time.
    #[schemars(range(max = PARTS), extend("default" = 0))]
    pub h_ppb: u64,
}

/// Parameters of regular outages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outages {
    /// Time from the start of an outage to the next one, and until the first.
    #[schemars(
        range(min = 1_000, max = 3_600_000_000_000_000_u64),
        example = 15_000_000_000_u64
    )]
    pub every_ns: u64,
    /// How long each lasts.
    #[schemars(
        range(min = 1_000, max = 3_600_000_000_000_000_u64),
        example = 16_700_000
    )]
    pub lasts_ns: u64,
}

/// When the probability of a loss changes by itself, and to what: without end, in order of time.
#[derive(Clone, Debug)]
struct Times {
    model: Loss,
    random: Stream,
    at_ns: u64,
    is_bad: bool,
}

impl Iterator for Times {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        let (lasts_ns, p_ppb) = match (self.model, self.is_bad) {
            (Loss::BadTimes(of), true) => (self.random.exponential(of.bad_ns), 0),
            (Loss::BadTimes(of), false) => (self.random.exponential(of.good_ns), PARTS - of.h_ppb),
            (Loss::Outages(of), true) => (of.lasts_ns, 0),
            (Loss::Outages(of), false) if self.at_ns == 0 => (of.every_ns, PARTS),
            (Loss::Outages(of), false) => (of.every_ns - of.lasts_ns, PARTS),
            _ => return None,
        };
        // Two changes at one time would be in no order.
        self.at_ns += lasts_ns.max(1);
        self.is_bad = !self.is_bad;
        Some((self.at_ns, p_ppb))
    }
}

/// The changes of a link's probability of a loss, time and parts in [`PARTS`], in order of time: those
/// of `loss_at`, or of a model in time, which has no end. They do not depend on packets.
#[derive(Clone, Debug)]
pub struct LossChanges {
    listed: std::vec::IntoIter<(u64, u64)>,
    times: Option<Times>,
}

impl LossChanges {
    /// Those of a list, or without one of a model. `random` is the stream of these times.
    pub fn new(model: Option<Loss>, listed: &[LossStep], random: Stream) -> Self {
        let model = model.filter(|_| listed.is_empty());
        let listed = listed.iter().map(|step| (step.time_ns, step.p_ppb));
        Self {
            listed: listed.collect::<Vec<_>>().into_iter(),
            times: model.map(|model| Times {
                model,
                random,
                at_ns: 0,
                is_bad: false,
            }),
        }
    }
}

impl Iterator for LossChanges {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        self.listed.next().or_else(|| self.times.as_mut()?.next())
    }
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
    changes: LossChanges,
    /// When the probability changes, and to what.
    next: (u64, u64),
}

impl Losses {
    /// In the good state. `random` is the stream of these losses ([`Draw::Loss`](crate::rng::Draw)).
    pub fn new(model: Option<Loss>, mut changes: LossChanges, random: Stream) -> Self {
        Self {
            model,
            is_bad: false,
            random,
            next: changes.next().unwrap_or((NEVER, 0)),
            changes,
        }
    }

    /// Whether the next packet is lost.
    #[inline]
    pub fn drops(&mut self, now_ns: u64) -> bool {
        while self.next.0 <= now_ns {
            let p_ppb = self.next.1;
            self.model = Some(Loss::Bernoulli(Bernoulli { p_ppb }));
            self.next = self.changes.next().unwrap_or((NEVER, 0));
        }
        match self.model {
            // A model in time begins with a good time.
            None | Some(Loss::BadTimes(_) | Loss::Outages(_)) => false,
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
    /// Whether the next packet is lost; `keeps` is asked if so.
    pub fn loses(&mut self, now_ns: u64, keeps: impl FnOnce() -> bool) -> bool {
        let lost = self.losses.drops(now_ns) && !keeps();
        self.lost_packets += u64::from(lost);
        lost
    }

    /// Whether the policer drops the next packet; `keeps` is asked if so.
    pub fn polices(&mut self, now_ns: u64, bytes: u32, keeps: impl FnOnce() -> bool) -> bool {
        let policer = self.policer.as_mut();
        let dropped = policer.is_some_and(|policer| policer.drops(now_ns, bytes)) && !keeps();
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

    /// `late`: which packets come late, and how much.
    pub fn new(
        losses: Losses,
        copies: Share,
        late: (Share, u64),
        policer: Option<Policer>,
    ) -> Self {
        Self {
            losses,
            lost_packets: 0,
            copies,
            late: late.0,
            late_ns: late.1,
            policer,
            policed_packets: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Draw, Owner};

    fn stream(draw: Draw) -> Stream {
        Stream::for_owner(1, Owner::Link(1), draw)
    }

    #[test]
    fn packet_n_2n_and_so_on_or_those_of_a_list() {
        for (every, list, expected) in [
            (Some(2), vec![], vec![2, 4, 6]),
            (Some(3), vec![], vec![3, 6]),
            (None, vec![], vec![]),
            (None, vec![1, 2, 6], vec![1, 2, 6]),
        ] {
            let mut loss = DropPattern::new(every, &list);
            let dropped: Vec<_> = (1..8).filter(|_| loss.drops()).collect();
            assert_eq!(dropped, expected);
        }
    }

    /// Who looks at each packet changes nothing, whenever that begins and ends.
    #[test]
    fn a_watched_pattern_drops_the_same() {
        for (from, until) in [(1, 9), (2, 4), (3, 3), (4, 7)] {
            let mut loss = DropPattern::new(None, &[2, 3, 6]);
            let mut dropped = Vec::new();
            for number in 1..9 {
                if number == from {
                    loss.watch(true);
                }
                if number == until {
                    loss.watch(false);
                }
                assert!(
                    !(from..until).contains(&number) || !loss.passes(1),
                    "{number}"
                );
                dropped.extend(loss.drops().then_some(number));
            }
            assert_eq!(dropped, [2, 3, 6]);
            assert_eq!(loss.dropped_packets(), 3);
        }
    }

    #[test]
    fn aims_are_of_a_flow_and_end() {
        let mut aims = Aims::default();
        aims.set(1, Some(2), Some(1));
        aims.set(2, Some(5), None);
        assert!(!aims.drops(3) && !aims.keeps(2));
        assert_eq!([(); 3].map(|()| aims.drops(1)), [true, true, false]);
        assert_eq!([(); 2].map(|()| aims.keeps(1)), [true, false]);
        aims.set(2, None, Some(7));
        aims.set(2, Some(0), None);
        assert!(!aims.drops(2) && aims.keeps(2) && !aims.are_over());
        aims.set(2, None, Some(0));
        assert!(aims.are_over());
    }

    /// A packet each ms: which are lost.
    fn lost_ms(loss: Loss, listed: &[LossStep], packets: u64) -> Vec<u64> {
        let changes = LossChanges::new(Some(loss), listed, stream(Draw::Outage));
        let mut losses = Losses::new(Some(loss), changes, stream(Draw::Loss));
        let sent = 0..packets;
        sent.filter(|ms| losses.drops(ms * 1_000_000)).collect()
    }

    #[test]
    fn outages_and_changes_lose_at_their_times() {
        let outages = Loss::Outages(Outages {
            every_ns: 20_000_000,
            lasts_ns: 2_500_000,
        });
        assert_eq!(lost_ms(outages, &[], 50), [20, 21, 22, 40, 41, 42]);
        let step = |ms: u64, p_ppb| LossStep {
            time_ns: ms * 1_000_000,
            p_ppb,
        };
        let down = [step(3, PARTS), step(6, 0)];
        assert_eq!(lost_ms(outages, &down, 50), [3, 4, 5]);
    }

    /// Bad times take bad / (good + bad) of the time; a bad time of mean b begins every good + bad, and
    /// has a packet of every ms: at least one with probability b (1 − exp(−1/b)).
    #[test]
    fn bad_times_last_as_long_as_they_should() {
        let (good, bad) = (80.0, 20.0);
        let times = Loss::BadTimes(BadTimes {
            good_ns: 80_000_000,
            bad_ns: 20_000_000,
            h_ppb: 0,
        });
        let packets = 2_000_000;
        let lost = lost_ms(times, &[], packets);
        let share = lost.len() as f64 / packets as f64;
        assert!((share / 0.2 - 1.0).abs() < 0.03, "{share}");
        let starts = lost.windows(2).filter(|two| two[1] > two[0] + 1).count() as f64;
        let seen = |mean: f64| mean * (1.0 - (-1.0 / mean).exp());
        let expected = packets as f64 / (good + bad) * seen(bad) * seen(good);
        assert!(
            (starts / expected - 1.0).abs() < 0.03,
            "{starts}, not {expected}"
        );
    }

    /// Share of lost packets, and mean number of losses that follow each other.
    fn observed(model: Loss) -> [f64; 2] {
        const PACKETS: u32 = 4_000_000;
        let changes = LossChanges::new(None, &[], stream(Draw::Outage));
        let mut losses = Losses::new(Some(model), changes, stream(Draw::Loss));
        let (mut lost, mut bursts, mut before) = (0, 0, false);
        for _ in 0..PACKETS {
            let drops = losses.drops(0);
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
