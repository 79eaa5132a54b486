//! What a run comes to in numbers: what `ackclock.results.summary` tells of flows and queues, under the
//! same keys. Rows leave memory as they are told, so sums are kept of them.

use ackclock_net::link::Bottleneck;
use ackclock_sim::record::{EventKind, EventTable, FlowTable, QueueTable, SampleTable};
use ackclock_sim::scenario::Direction;
use ackclock_sim::{Prepared, RunResult, Scenario};
use serde_json::{json, Value};

/// IP bytes that an opportunity of a trace carries.
const OPPORTUNITY_BYTES: f64 = 1500.0;

/// Sum and count of values above 0: one is 0 until it is measured.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: u64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: u32) {
        self.sum += u64::from(value);
        self.count += u64::from(value > 0);
    }

    fn value(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }
}

/// What was sampled of a flow.
#[derive(Clone, Debug, Default)]
struct FlowSeen {
    cwnd: Mean,
    srtt_us: Mean,
    /// The last regular sample: time, window, RTT. Of rows at one time the last counts.
    last: Option<(u64, u32, u32)>,
    completed_us: Option<u64>,
}

impl FlowSeen {
    fn take(&mut self, row: Option<(u64, u32, u32)>) {
        let before = std::mem::replace(&mut self.last, row);
        if let Some((time_us, cwnd, srtt_us)) = before {
            if row.is_none_or(|(next_us, ..)| next_us > time_us) {
                self.cwnd.add(cwnd);
                self.srtt_us.add(srtt_us);
            }
        }
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
#[derive(Debug)]
pub struct Seen {
    interval_us: u64,
    flows: Vec<FlowSeen>,
    queues: Vec<QueueSeen>,
}

impl Seen {
    /// Nothing yet.
    pub fn of(scenario: &Scenario) -> Self {
        Self {
            interval_us: scenario.sample_interval_ns / 1_000,
            flows: vec![FlowSeen::default(); scenario.flows.len()],
            queues: Vec::new(),
        }
    }

    /// Takes the next rows.
    pub fn take(&mut self, part: &RunResult) {
        self.take_events(&part.events);
        self.take_samples(&part.samples);
        self.take_queues(&part.queues);
    }

    fn take_events(&mut self, rows: &EventTable) {
        for (index, kind) in rows.kind.iter().enumerate() {
            if *kind == EventKind::Completed {
                self.flows[rows.flow[index] as usize - 1].completed_us = Some(rows.time_us[index]);
            }
        }
    }

    fn take_samples(&mut self, rows: &SampleTable) {
        for (index, time_us) in rows.time_us.iter().copied().enumerate() {
            let flow = &mut self.flows[rows.flow[index] as usize - 1];
            let is_regular = self.interval_us > 0 && time_us % self.interval_us == 0;
            if is_regular && flow.completed_us.is_none_or(|end_us| time_us <= end_us) {
                flow.take(Some((
                    time_us,
                    rows.cwnd_packets[index],
                    rows.srtt_us[index],
                )));
            }
        }
    }

    fn take_queues(&mut self, rows: &QueueTable) {
        for (index, number) in rows.queue.iter().enumerate() {
            let number = *number as usize;
            if self.queues.len() < number {
                self.queues.resize(number, QueueSeen::default());
            }
            let queue = &mut self.queues[number - 1];
            queue.rows += 1;
            queue.packets += rows.queue_packets[index];
            queue.sojourns_us.push(rows.sojourn_us[index] as f64);
            queue.last_us = rows.time_us[index];
            queue.sent_bytes = rows.sent_bytes[index];
            queue.lost = rows.link_lost_packets[index] + rows.policed_packets[index];
            queue.dropped = rows.dropped_packets[index];
            queue.marked = rows.marked_packets[index];
        }
    }

    /// The summary of a run that has ended; `packets`: those sent.
    pub fn summary(mut self, prepared: &Prepared, flows: &FlowTable, packets: u64) -> Value {
        let scenario = prepared.scenario();
        let end_ns = scenario.duration_ns;
        let common_ns = scenario.common_interval_ns().unwrap_or(0..end_ns);
        let common_s = (common_ns.end - common_ns.start) as f64 / 1e9;
        let goodput_bps = |index: usize| 8.0 * flows.common_bytes[index] as f64 / common_s;
        let forward = (0..scenario.flows.len())
            .filter(|index| scenario.flows[*index].direction == Direction::Forward);
        let jain = jain_index(&forward.map(goodput_bps).collect::<Vec<_>>());
        let links = 1 + scenario.links.len();
        let shares = self.queues.iter().zip(1..=links);
        let shares =
            shares.filter_map(|(queue, number)| utilisation(queue, link(scenario, number)));
        let utilisation = shares.reduce(f64::max);
        for flow in &mut self.flows {
            flow.take(None);
        }
        let each = self.flows.iter().enumerate().map(|(index, seen)| {
            let flow = &scenario.flows[index];
            let (start_us, completed_us) = (flows.start_us[index], flows.completed_us[index]);
            let end_us = match completed_us {
                0 => end_ns / 1000,
                time_us => time_us,
            };
            let lived_us = end_us.saturating_sub(start_us);
            json!({
                "flow": index + 1,
                "algorithm": prepared.algorithms()[&flow.algorithm].algorithm().name(),
                "direction": flow.direction,
                "goodput_bps": goodput_bps(index),
                "lifetime_bps": 8e6 * flows.delivered_bytes[index] as f64 / lived_us as f64,
                "mean_cwnd_packets": seen.cwnd.value(),
                "mean_rtt_s": seen.srtt_us.value().map(|mean_us| mean_us / 1e6),
                "retransmitted_packets": flows.retransmitted_packets[index],
                "recoveries": flows.recoveries[index],
                "timeouts": flows.timeouts[index],
                "receiver_limited": (lived_us > 0)
                    .then(|| flows.receive_window_limited_us[index] as f64 / lived_us as f64),
            })
        });
        let flows: Vec<_> = each.collect();
        let queues = self.queues.iter_mut().zip(1..);
        let queues: Vec<_> = queues
            .map(|(queue, number)| told(queue, number, scenario))
            .collect();
        json!({
            "backend": "sim",
            "seed": scenario.seed,
            "duration_s": end_ns as f64 / 1e9,
            "common_s": [common_ns.start as f64 / 1e9, common_ns.end as f64 / 1e9],
            "utilisation": utilisation,
            "jain_index": jain,
            "packets": packets,
            "flows": flows,
            "queues": queues,
        })
    }
}

/// The link of a queue. One beyond the links is the bottleneck's copy on the way back.
pub fn link(scenario: &Scenario, number: usize) -> &Bottleneck {
    match number {
        2.. => scenario
            .links
            .get(number - 2)
            .unwrap_or(&scenario.bottleneck),
        _ => &scenario.bottleneck,
    }
}

fn told(queue: &mut QueueSeen, number: usize, scenario: &Scenario) -> Value {
    let link = link(scenario, number);
    queue.sojourns_us.sort_by(f64::total_cmp);
    let delay_s = |share| quantile(&queue.sojourns_us, share).map(|time_us| time_us / 1e6);
    let kind = json!(link.queue);
    let discipline = match kind.as_object().and_then(|of| of.keys().next()) {
        Some(name) => name.as_str(),
        None => kind.as_str().unwrap_or("drop_tail"),
    };
    json!({
        "queue": number,
        "discipline": discipline,
        "utilisation": utilisation(queue, link),
        "mean_queue_packets": queue.packets as f64 / queue.rows as f64,
        "median_delay_s": delay_s(0.5),
        "high_delay_s": delay_s(0.95),
        "lost_packets": queue.lost,
        "dropped_packets": queue.dropped,
        "marked_packets": queue.marked,
    })
}

/// Share of a link's rate, and of its full bucket, in use until the last sample; `None` of a link that is dead all the time.
fn utilisation(queue: &QueueSeen, link: &Bottleneck) -> Option<f64> {
    let capacity_bits = capacity_bits(link, queue.last_us) + 8.0 * link.burst_bytes as f64;
    (capacity_bits > 0.0).then(|| 8.0 * queue.sent_bytes as f64 / capacity_bits)
}

/// What a link can carry until a time, IP bits: `ackclock.scenario.links.capacity_bits`.
pub fn capacity_bits(link: &Bottleneck, until_us: u64) -> f64 {
    if let Some((times_ms, last_ms)) = link.trace_ms.as_ref().and_then(|of| Some((of, of.last()?)))
    {
        let (periods, rest_us) = (until_us / (last_ms * 1_000), until_us % (last_ms * 1_000));
        let within = times_ms.partition_point(|time_ms| time_ms * 1_000 <= rest_us);
        let opportunities = periods * times_ms.len() as u64 + within as u64;
        return 8.0 * OPPORTUNITY_BYTES * opportunities as f64;
    }
    let until_ns = 1_000 * until_us;
    let (mut bits, mut from_ns, mut rate_bps) = (0.0, 0, link.rate_bps);
    for step in &link.rate_at {
        let to_ns = step.time_ns.min(until_ns);
        bits += rate_bps as f64 * to_ns.saturating_sub(from_ns) as f64 / 1e9;
        (from_ns, rate_bps) = (to_ns, step.rate_bps);
    }
    bits + rate_bps as f64 * until_ns.saturating_sub(from_ns) as f64 / 1e9
}

/// (Σx)² / (n Σx²): 1 if all shares are equal, 1/n if one share has all.
pub fn jain_index(shares: &[f64]) -> Option<f64> {
    let squares = shares.len() as f64 * shares.iter().map(|each| each * each).sum::<f64>();
    (squares > 0.0).then(|| shares.iter().sum::<f64>().powi(2) / squares)
}

/// A quantile of sorted values, between two of them on the straight line.
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let place = share * sorted.len().checked_sub(1)? as f64;
    let (low, high) = (sorted[place as usize], sorted[place.ceil() as usize]);
    Some(low + place.fract() * (high - low))
}
