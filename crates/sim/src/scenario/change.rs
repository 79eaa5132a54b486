//! What goes another way from a time on: a branch of a run.

use super::limits::{MAX_DURATION_NS, MAX_RTT_NS, NS_PER_S};
use ackclock_net::impair::{LossStep, PARTS};
use ackclock_net::line::DelayStep;
use ackclock_net::link::Bottleneck;
use ackclock_net::rate::RateStep;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What goes another way from a time on, of a flow or a link: a branch of the run without it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When: after everything earlier, and before everything at this time.
    #[schemars(range(min = 1, max = MAX_DURATION_NS), example = 20 * NS_PER_S)]
    pub at_ns: u64,
    /// Number of a flow, for its `algorithm`, `drop_packets` or `keep_packets`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub flow: Option<u32>,
    /// The flow's algorithm from then on. The connection stays, as with `TCP_CONGESTION`; of the same
    /// algorithm only parameters change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<String>,
    /// How many of its next data packets are lost before the first queue; 0: no more are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_000_000))]
    pub drop_packets: Option<u32>,
    /// How many of its next data packets that would be lost are not: a full queue makes room; 0: no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_000_000))]
    pub keep_packets: Option<u32>,
    /// Number of a link, for its `rate`, `delay` or `loss`; 1: the bottleneck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub link: Option<u32>,
    /// Its rate from then on; "0bit": nothing leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_000_000_000_000_u64), example = 25_000_000)]
    pub rate_bps: Option<u64>,
    /// The delay behind it from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = MAX_RTT_NS), example = NS_PER_S / 10)]
    pub delay_ns: Option<u64>,
    /// Probability that a packet is lost from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = PARTS))]
    pub loss_ppb: Option<u64>,
}

/// A list of steps in order of time with one more, in the place of one at its time.
fn insert<T>(steps: &mut Vec<T>, step: T, time_ns: impl Fn(&T) -> u64) {
    steps.retain(|each| time_ns(each) != time_ns(&step));
    let place = steps.partition_point(|each| time_ns(each) < time_ns(&step));
    steps.insert(place, step);
}

impl Change {
    /// The index of its flow.
    pub(crate) fn element(&self) -> Option<usize> {
        self.flow.map(|number| number as usize - 1)
    }

    /// Makes it one more step of its link.
    pub(super) fn apply_to(&self, link: &mut Bottleneck) {
        let time_ns = self.at_ns;
        if let Some(rate_bps) = self.rate_bps {
            let step = RateStep { time_ns, rate_bps };
            insert(&mut link.rate_at, step, |step| step.time_ns);
        }
        if let Some(delay_ns) = self.delay_ns {
            let step = DelayStep { time_ns, delay_ns };
            insert(&mut link.delay_at, step, |step| step.time_ns);
        }
        if let Some(p_ppb) = self.loss_ppb {
            let step = LossStep { time_ns, p_ppb };
            insert(&mut link.loss_at, step, |step| step.time_ns);
        }
    }
}
