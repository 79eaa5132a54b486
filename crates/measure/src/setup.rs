//! What must be known of a scenario to measure its run. It is read from the canonical form, of which it
//! takes no more than it needs: also that of a machine that was watched, which has no links.

use std::ops::{Range, RangeInclusive};

use serde::Deserialize;

/// IP bytes that an opportunity of a trace carries.
const OPPORTUNITY_BYTES: f64 = 1500.0;

/// Declares what is read of an object of the canonical form; a key but the first that it does not have
/// is 0 or `None`.
macro_rules! read {
    ($(
        $(#[$doc:meta])*
        $name:ident {
            $(#[$first_doc:meta])*
            $first:ident: $first_type:ty,
            $($(#[$field_doc:meta])* $field:ident: $type:ty,)*
        }
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, Deserialize)]
        #[serde(default)]
        #[cfg_attr(feature = "python", derive(pyo3::FromPyObject), pyo3(from_item_all))]
        pub struct $name {
            $(#[$first_doc])*
            pub $first: $first_type,
            $($(#[$field_doc])* #[cfg_attr(feature = "python", pyo3(default))] pub $field: $type,)*
        }
    )*};
}

read! {
    /// A scenario.
    Setup {
        /// Length of the run.
        duration_ns: u64,
        /// Time between two regular samples; 0: there are none.
        sample_interval_ns: u64,
        /// Payload of a full segment.
        mss_bytes: u32,
        /// IP and TCP header of a segment.
        header_bytes: u32,
        /// The first link.
        bottleneck: Option<Link>,
        /// The links behind it.
        links: Vec<Link>,
        /// The flows, in the order of their numbers.
        flows: Vec<Flow>,
        /// The sessions, in the order of their numbers.
        sessions: Vec<Session>,
    }

    /// A link.
    Link {
        /// Its rate at the start.
        rate_bps: u64,
        /// Changes of the rate.
        rate_at: Vec<RateStep>,
        /// Times of the opportunities of a recorded link.
        trace_ms: Option<Vec<u64>>,
        /// Size of its token bucket.
        burst_bytes: u64,
    }

    /// A change of a link's rate.
    RateStep {
        /// When.
        time_ns: u64,
        /// The rate from then on.
        rate_bps: u64,
    }

    /// A flow.
    Flow {
        /// Propagation delay there and back.
        rtt_ns: u64,
        /// "reverse": its data goes back.
        direction: Option<String>,
        /// Payload until it ends.
        size_bytes: Option<u64>,
        /// When it stops.
        stop_ns: Option<u64>,
        /// Payload of its full segments.
        mss_bytes: Option<u32>,
        /// What its receiver hides.
        hides: Option<String>,
        /// What it writes at regular times.
        frames: Option<Frames>,
        /// What sends in place of Linux's TCP.
        stack: Option<String>,
    }

    /// What a flow writes at regular times.
    Frames {
        /// Size of a frame.
        size_bytes: u64,
        /// Time from one to the next.
        every_ns: u64,
    }

    /// A session.
    Session {
        /// The flow of each transfer.
        flow: Flow,
    }
}

impl Setup {
    /// Simulated time.
    pub fn duration_s(&self) -> f64 {
        self.duration_ns as f64 / 1e9
    }

    /// Payload that the bottleneck can carry: its mean rate without the headers.
    pub fn capacity_bps(&self) -> f64 {
        let Some(link) = &self.bottleneck else {
            return f64::NAN;
        };
        let rate_bps = link.capacity_bits(0.0, self.duration_s()) / self.duration_s();
        rate_bps * f64::from(self.mss_bytes) / f64::from(self.mss_bytes + self.header_bytes)
    }

    /// The link of a queue, by its number from 1. One beyond the links is the bottleneck's copy on the
    /// way back.
    pub fn link(&self, queue: usize) -> Option<&Link> {
        let behind = self.links.get(queue.wrapping_sub(2));
        behind.or(self.bottleneck.as_ref())
    }

    /// Numbers of the queues of links.
    pub fn queues(&self) -> RangeInclusive<usize> {
        1..=1 + self.links.len()
    }

    /// Payload of a full segment of a flow.
    pub fn mss_of(&self, flow: &Flow) -> u64 {
        flow.mss_bytes.unwrap_or(self.mss_bytes).into()
    }

    /// Indices of the flows that send forward.
    pub fn forward(&self) -> Vec<usize> {
        let is_forward = |flow: &usize| self.flows[*flow].direction.as_deref() != Some("reverse");
        (0..self.flows.len()).filter(is_forward).collect()
    }

    /// Whether a sample at this time is at a multiple of the sample interval.
    pub fn is_regular(&self, time_us: u64) -> bool {
        let interval_us = self.sample_interval_ns / 1_000;
        interval_us > 0 && time_us % interval_us == 0
    }

    /// When each flow ends, µs: when it has completed (0: it has not), or with the run.
    pub fn ends_us(&self, completed_us: &[u64]) -> Vec<f64> {
        let end_us = self.duration_ns as f64 / 1e3;
        let ends = completed_us.iter().map(|time_us| *time_us as f64);
        ends.map(|time_us| if time_us > 0.0 { time_us } else { end_us })
            .collect()
    }

    /// The common interval of a run, or all of it if there is none: `starts_us` has when each flow
    /// connected.
    pub fn common_ns(&self, starts_us: &[u64]) -> Range<u64> {
        let long = self.flows.iter().zip(starts_us);
        let long = long.filter(|(flow, _)| flow.size_bytes.is_none());
        let times = long.map(|(flow, start_us)| (1_000 * start_us, flow.stop_ns));
        common_interval_ns(times, self.duration_ns).unwrap_or(0..self.duration_ns)
    }
}

/// The common interval, in which all flows without a size are active: from the last start to the first
/// stop, or to the end of the run; `None` if there is no such time. `long` has start and stop of each.
pub fn common_interval_ns(
    long: impl Iterator<Item = (u64, Option<u64>)>,
    end_ns: u64,
) -> Option<Range<u64>> {
    let common = long.map(|(start_ns, stop_ns)| (start_ns, stop_ns.unwrap_or(end_ns)));
    let (from_ns, until_ns) =
        common.reduce(|one, other| (one.0.max(other.0), one.1.min(other.1)))?;
    let until_ns = until_ns.min(end_ns);
    (from_ns < until_ns).then_some(from_ns..until_ns)
}

impl Link {
    /// What it can carry from one time to another, IP bits. The opportunities of a trace count at their
    /// times, with 1500 bytes each.
    pub fn capacity_bits(&self, from_s: f64, until_s: f64) -> f64 {
        if let Some((times_ms, last_ms)) = self
            .trace_ms
            .as_ref()
            .and_then(|times| Some((times, times.last()?)))
        {
            let until = |time_s: f64| {
                let time_us = (time_s * 1e6).round() as u64;
                let (periods, rest_us) = (time_us / (last_ms * 1_000), time_us % (last_ms * 1_000));
                let within = times_ms.partition_point(|time_ms| time_ms * 1_000 <= rest_us);
                periods * times_ms.len() as u64 + within as u64
            };
            return 8.0 * OPPORTUNITY_BYTES * (until(until_s) - until(from_s)) as f64;
        }
        let (mut bits, mut since_s, mut rate_bps) = (0.0, 0.0, self.rate_bps);
        let steps = self
            .rate_at
            .iter()
            .map(|step| (step.time_ns as f64 / 1e9, step.rate_bps));
        for (time_s, next_bps) in steps.chain([(f64::INFINITY, 0)]) {
            let within_s = until_s.min(time_s) - from_s.max(since_s);
            bits += rate_bps as f64 * within_s.max(0.0);
            (since_s, rate_bps) = (time_s, next_bps);
        }
        bits
    }

    /// Share of its rate, and of its full bucket, that bytes are which it sent from one time to another;
    /// NaN of a link that is dead all the time.
    pub fn share(&self, sent_bytes: f64, from_s: f64, until_s: f64) -> f64 {
        let bits = self.capacity_bits(from_s, until_s) + 8.0 * self.burst_bytes as f64;
        if bits > 0.0 {
            8.0 * sent_bytes / bits
        } else {
            f64::NAN
        }
    }
}
