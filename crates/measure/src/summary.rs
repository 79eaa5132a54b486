//! What a run comes to. Rows may leave memory as they come, so sums are kept of them.

use serde::Serialize;

use crate::values::{interpolated, jain_index, quantile};
use crate::{Setup, Table};

/// A connection of a program with less of the goodput of its fastest is one for control.
const CONTROL: f64 = 0.01;

/// The mean of a column over the regular samples of each flow in a window, until the flow completes: only
/// of values that are measured, above 0.
#[derive(Clone, Debug)]
pub struct Means {
    column: String,
    flows: Vec<Mean>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: u64,
    count: u64,
    /// The last row. Of rows at one time the last counts.
    last: Option<(u64, u32)>,
}

impl Mean {
    fn take(&mut self, row: Option<(u64, u32)>) {
        let before = std::mem::replace(&mut self.last, row);
        if let Some((time_us, value)) = before {
            if row.is_none_or(|(next_us, _)| next_us > time_us) {
                self.sum += u64::from(value);
                self.count += u64::from(value > 0);
            }
        }
    }
}

impl Means {
    /// Nothing yet, of "cwnd_packets" or "srtt_us".
    pub fn new(setup: &Setup, column: &str) -> Self {
        Self {
            column: column.into(),
            flows: vec![Mean::default(); setup.flows.len()],
        }
    }

    /// Takes the next samples: those from `from_us` on, until `until_us` of each flow.
    pub fn take(&mut self, setup: &Setup, samples: &dyn Table, from_us: f64, until_us: &[f64]) {
        let (time_us, values) = (samples.u64("time_us"), samples.u32(&self.column));
        for (row, flow) in samples.u32("flow").iter().enumerate() {
            let (time_us, flow) = (time_us[row], *flow as usize - 1);
            let within = time_us as f64 >= from_us && time_us as f64 <= until_us[flow];
            if within && setup.is_regular(time_us) {
                self.flows[flow].take(Some((time_us, values[row])));
            }
        }
    }

    /// Of each flow; `None` of one without a value.
    pub fn values(self) -> Vec<Option<f64>> {
        let value = |mut mean: Mean| {
            mean.take(None);
            (mean.count > 0).then(|| mean.sum as f64 / mean.count as f64)
        };
        self.flows.into_iter().map(value).collect()
    }
}

/// What was sampled of a queue.
#[derive(Clone, Debug, Default)]
struct QueueSeen {
    rows: u64,
    packets: u64,
    sojourns_us: Vec<f64>,
    last_us: u64,
    sent_bytes: u64,
    lost: u64,
    dropped: u64,
    marked: u64,
}

/// What the rows of a run came to so far.
#[derive(Clone, Debug)]
pub struct Seen {
    cwnd_packets: Means,
    srtt_us: Means,
    queues: Vec<QueueSeen>,
}

/// What a run comes to.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
pub struct Summary {
    /// The common interval, or the whole run.
    pub common_s: [f64; 2],
    /// Share of the rate in use, of the link that is used most.
    pub utilisation: Option<f64>,
    /// Of the goodputs of the forward flows.
    pub jain_index: Option<f64>,
    /// Each flow.
    pub flows: Vec<FlowSummary>,
    /// Each queue that was sampled.
    pub queues: Vec<QueueSummary>,
}

/// What a flow comes to.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
pub struct FlowSummary {
    /// Payload sent and acknowledged in the common interval.
    pub goodput_bps: Option<f64>,
    /// Payload acknowledged in order, from its start to its end.
    pub lifetime_bps: Option<f64>,
    /// Over its regular samples.
    pub mean_cwnd_packets: Option<f64>,
    /// As above, smoothed.
    pub mean_rtt_s: Option<f64>,
    /// In the whole run.
    pub retransmitted_packets: u64,
    /// How often it entered fast recovery.
    pub recoveries: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// The share of its time in which its receive window was the limit.
    pub receiver_limited: Option<f64>,
}

/// What a queue comes to.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
pub struct QueueSummary {
    /// Its number.
    pub queue: usize,
    /// Share of its link's rate in use.
    pub utilisation: Option<f64>,
    /// Its length over the samples.
    pub mean_queue_packets: f64,
    /// Sojourn time.
    pub median_delay_s: Option<f64>,
    /// As above, the 95th percentile.
    pub high_delay_s: Option<f64>,
    /// Lost before it, at a policer or on the link.
    pub lost_packets: u64,
    /// Dropped.
    pub dropped_packets: u64,
    /// Marked (ECN).
    pub marked_packets: u64,
}

impl Seen {
    /// What it takes of the samples.
    pub const SAMPLE_COLUMNS: &[&str] = &["time_us", "flow", "cwnd_packets", "srtt_us"];
    /// What it takes of the queues.
    pub const QUEUE_COLUMNS: &[&str] = &[
        "time_us",
        "queue",
        "queue_packets",
        "sojourn_us",
        "sent_bytes",
        "link_lost_packets",
        "policed_packets",
        "dropped_packets",
        "marked_packets",
    ];

    /// Nothing yet.
    pub fn new(setup: &Setup) -> Self {
        Self {
            cwnd_packets: Means::new(setup, "cwnd_packets"),
            srtt_us: Means::new(setup, "srtt_us"),
            queues: Vec::new(),
        }
    }

    /// Takes the next samples, until the flows complete.
    pub fn take_samples(&mut self, setup: &Setup, samples: &dyn Table, completed_us: &[u64]) {
        let until_us = setup.ends_us(completed_us);
        self.cwnd_packets.take(setup, samples, 0.0, &until_us);
        self.srtt_us.take(setup, samples, 0.0, &until_us);
    }

    /// Takes the next rows of queues.
    pub fn take_queues(&mut self, rows: &dyn Table) {
        let (time_us, packets) = (rows.u64("time_us"), rows.u64("queue_packets"));
        let (sojourn_us, sent_bytes) = (rows.u64("sojourn_us"), rows.u64("sent_bytes"));
        let (lost, policed) = (rows.u64("link_lost_packets"), rows.u64("policed_packets"));
        let (dropped, marked) = (rows.u64("dropped_packets"), rows.u64("marked_packets"));
        for (row, number) in rows.u32("queue").iter().enumerate() {
            let number = *number as usize;
            if self.queues.len() < number {
                self.queues.resize(number, QueueSeen::default());
            }
            let queue = &mut self.queues[number - 1];
            queue.rows += 1;
            queue.packets += packets[row];
            queue.sojourns_us.push(sojourn_us[row] as f64);
            queue.last_us = time_us[row];
            queue.sent_bytes = sent_bytes[row];
            queue.lost = lost[row] + policed[row];
            queue.dropped = dropped[row];
            queue.marked = marked[row];
        }
    }

    /// The summary of a run that has ended. Of programs some connections may be for control, which
    /// Jain's index leaves out.
    pub fn summary(self, setup: &Setup, flows: &dyn Table, of_programs: bool) -> Summary {
        let common_ns = setup.common_ns(flows.u64("start_us"));
        let goodputs_bps = goodputs_bps(setup, flows);
        let lifetimes_bps = lifetimes_bps(setup, flows);
        let mut compared: Vec<_> = setup
            .forward()
            .iter()
            .map(|flow| goodputs_bps[*flow])
            .collect();
        if of_programs {
            let least_bps = CONTROL * compared.iter().copied().fold(0.0, f64::max);
            compared.retain(|goodput_bps| *goodput_bps >= least_bps);
        }
        let (cwnds, srtts_us) = (self.cwnd_packets.values(), self.srtt_us.values());
        let ends_us = setup.ends_us(flows.u64("completed_us"));
        let each = (0..setup.flows.len()).map(|flow| {
            let total = |column| flows.u64(column)[flow];
            let lived_us = ends_us[flow] - total("start_us") as f64;
            let limited_us = total("receive_window_limited_us") as f64;
            FlowSummary {
                goodput_bps: finite(goodputs_bps[flow]),
                lifetime_bps: finite(lifetimes_bps[flow]),
                mean_cwnd_packets: cwnds[flow],
                mean_rtt_s: srtts_us[flow].map(|srtt_us| srtt_us / 1e6),
                retransmitted_packets: total("retransmitted_packets"),
                recoveries: total("recoveries"),
                timeouts: total("timeouts"),
                receiver_limited: (lived_us > 0.0).then(|| limited_us / lived_us),
            }
        });
        let flows: Vec<_> = each.collect();
        let seen = self
            .queues
            .into_iter()
            .zip(1..)
            .filter(|(queue, _)| queue.rows > 0);
        let queues: Vec<_> = seen
            .map(|(queue, number)| queue.summary(setup, number))
            .collect();
        let links = queues
            .iter()
            .filter(|queue| setup.queues().contains(&queue.queue));
        Summary {
            common_s: [common_ns.start as f64 / 1e9, common_ns.end as f64 / 1e9],
            utilisation: links.filter_map(|queue| queue.utilisation).reduce(f64::max),
            jain_index: finite(jain_index(&compared)),
            flows,
            queues,
        }
    }
}

impl QueueSeen {
    fn summary(mut self, setup: &Setup, number: usize) -> QueueSummary {
        self.sojourns_us.sort_by(f64::total_cmp);
        let delay_s = |share| quantile(&self.sojourns_us, share).map(|time_us| time_us / 1e6);
        let last_s = self.last_us as f64 / 1e6;
        let share = setup.link(number).filter(|_| last_s > 0.0);
        let share = share.map(|link| link.share(self.sent_bytes as f64, 0.0, last_s));
        QueueSummary {
            queue: number,
            utilisation: share.and_then(finite),
            mean_queue_packets: self.packets as f64 / self.rows as f64,
            median_delay_s: delay_s(0.5),
            high_delay_s: delay_s(0.95),
            lost_packets: self.lost,
            dropped_packets: self.dropped,
            marked_packets: self.marked,
        }
    }
}

/// Payload sent and acknowledged in the common interval, of each flow.
pub fn goodputs_bps(setup: &Setup, flows: &dyn Table) -> Vec<f64> {
    let common_ns = setup.common_ns(flows.u64("start_us"));
    let common_s = common_ns.end as f64 / 1e9 - common_ns.start as f64 / 1e9;
    let bytes = flows.u64("common_bytes").iter();
    bytes.map(|bytes| 8.0 * *bytes as f64 / common_s).collect()
}

/// Payload acknowledged in order, from each flow's start to its end.
pub fn lifetimes_bps(setup: &Setup, flows: &dyn Table) -> Vec<f64> {
    let times_us = setup
        .ends_us(flows.u64("completed_us"))
        .into_iter()
        .zip(flows.u64("start_us"));
    let bytes = flows.u64("delivered_bytes").iter().zip(times_us);
    bytes
        .map(|(bytes, (end_us, start_us))| 8e6 * *bytes as f64 / (end_us - *start_us as f64))
        .collect()
}

/// Share of a link's rate in use from one time to another (default: the last sample), of the link of a
/// queue (default: of the one in most use). `rows` are those of the queues, in order.
pub fn utilisation(
    setup: &Setup,
    rows: &[&dyn Table],
    from_s: f64,
    until_s: Option<f64>,
    queue: Option<usize>,
) -> f64 {
    let share = |number: usize| {
        let (mut times_us, mut sent_bytes) = (vec![0.0], vec![0.0]);
        for rows in rows {
            let (time_us, sent) = (rows.u64("time_us"), rows.u64("sent_bytes"));
            for (row, queue) in rows.u32("queue").iter().enumerate() {
                if *queue as usize == number {
                    times_us.push(time_us[row] as f64);
                    sent_bytes.push(sent[row] as f64);
                }
            }
        }
        let last_s = times_us[times_us.len() - 1] / 1e6;
        let until_s = until_s.unwrap_or(last_s);
        if from_s < until_s && until_s <= last_s {
            let at = |time_s: f64| interpolated(time_s * 1e6, &times_us, &sent_bytes);
            let link = setup.link(number);
            return link.map_or(f64::NAN, |link| {
                link.share(at(until_s) - at(from_s), from_s, until_s)
            });
        }
        f64::NAN
    };
    match queue {
        Some(number) => share(number),
        None => setup.queues().map(share).fold(f64::NAN, f64::max),
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
