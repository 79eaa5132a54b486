//! What the scorecard measures of a run: `ackclock.questions.measure.Numbers`, under the same keys.
//!
//! Harm needs a second run: the page has it. "Mine" are the flows of the scenario's first table.

use ackclock_sim::record::EventKind;
use ackclock_sim::scenario::{Direction, Flow, Hides};
use ackclock_sim::{Prepared, RunResult, Scenario};
use serde_json::{Map, Value};

use crate::summary::{capacity_bits, jain_index, link, quantile};

/// What a run leaves out at its start.
const WARM_UP_S: f64 = 10.0;
/// Windows in which a newcomer must have its share, and the share.
const FAIR_WINDOW_S: f64 = 10.0;
const FAIR_SHARE: f64 = 0.8;
/// A flow starves in a second in which it has less than this part of its fair share.
const STARVED: f64 = 0.1;

/// A number, or a bound of it: the end of the run cut it off.
#[derive(Clone, Copy, Debug)]
enum Number {
    Is(f64),
    AtLeast(f64),
}

use Number::{AtLeast, Is};

fn bounded(value: f64, known: bool) -> Number {
    if known {
        Is(value)
    } else {
        AtLeast(value)
    }
}

/// A run with the samples of each flow.
#[derive(Debug)]
struct Measured<'a> {
    scenario: &'a Scenario,
    result: &'a RunResult,
    /// Flows of the algorithm that is judged.
    mine: usize,
    end_s: f64,
    capacity_bps: f64,
    /// Of each flow times in µs, and payload delivered until then in packets, from 0 on.
    delivered: Vec<(Vec<f64>, Vec<f64>)>,
}

/// The numbers of a run that kept all rows; the first `mine` flows are those of the algorithm. Names of
/// numbers that are only lower bounds are in `at_least`; a number without a value is null.
pub fn numbers(prepared: &Prepared, mine: usize, result: &RunResult) -> Value {
    let of = Measured::new(prepared.scenario(), mine, result);
    let (mut found, mut at_least) = (Map::new(), Vec::new());
    let all = of.shares().into_iter().chain(of.packets());
    for (name, number) in all.chain(of.times()) {
        let value = match number {
            Some(Is(value)) => Some(value),
            Some(AtLeast(value)) => {
                at_least.push(Value::from(name));
                Some(value)
            }
            None => None,
        };
        // A number that is none (NaN) is null, too.
        found.insert(name.into(), value.into());
    }
    found.insert("at_least".into(), at_least.into());
    found.into()
}

impl<'a> Measured<'a> {
    fn new(scenario: &'a Scenario, mine: usize, result: &'a RunResult) -> Self {
        let end_s = scenario.duration_ns as f64 / 1e9;
        let packet_bytes = f64::from(scenario.mss_bytes + scenario.header_bytes);
        let rate_bps = capacity_bits(&scenario.bottleneck, scenario.duration_ns / 1000) / end_s;
        let mut delivered = vec![(vec![0.0], vec![0.0]); scenario.flows.len()];
        for (index, flow) in result.samples.flow.iter().enumerate() {
            let (times_us, packets) = &mut delivered[*flow as usize - 1];
            times_us.push(result.samples.time_us[index] as f64);
            packets.push(result.samples.delivered_packets[index] as f64);
        }
        Self {
            scenario,
            result,
            mine,
            end_s,
            capacity_bps: rate_bps * f64::from(scenario.mss_bytes) / packet_bytes,
            delivered,
        }
    }

    fn count(&self) -> usize {
        self.scenario.flows.len()
    }

    fn start_s(&self) -> f64 {
        if self.end_s > 2.0 * WARM_UP_S {
            WARM_UP_S
        } else {
            0.0
        }
    }

    fn fair_mbps(&self) -> f64 {
        self.capacity_bps / 1e6 / self.count().max(1) as f64
    }

    fn rtt_s(&self) -> f64 {
        let rtts_ns = self.scenario.flows.iter().map(|flow| flow.rtt_ns);
        rtts_ns.min().unwrap_or(0) as f64 / 1e9
    }

    /// Utilisation, throughput, shares, delays in the bottleneck's queue.
    fn shares(&self) -> Vec<(&'static str, Option<Number>)> {
        let mbps = self.rates_mbps();
        let (mine, others) = mbps.split_at(self.mine);
        let some = self.count() > 1;
        let slowest = mbps.iter().copied().fold(f64::INFINITY, least);
        let fastest = mbps.iter().copied().fold(f64::NEG_INFINITY, most);
        let mut delays_ms = self.delays_ms();
        delays_ms.sort_by(f64::total_cmp);
        let starved = (!others.is_empty()).then(|| self.starved_percent());
        vec![
            ("utilisation", self.utilisation().map(Is)),
            ("mine_mbps", Some(Is(mean(mine)))),
            (
                "others_mbps",
                (!others.is_empty()).then(|| Is(mean(others))),
            ),
            ("mine_share", Some(Is(mean(mine) / self.fair_mbps()))),
            ("jain", some.then(|| jain_index(&mbps).map(Is)).flatten()),
            (
                "slowest_over_fastest",
                (some && fastest != 0.0).then(|| Is(slowest / fastest)),
            ),
            ("convergence_s", some.then(|| self.convergence_s())),
            ("delay_mean_ms", Some(Is(mean(&delays_ms)))),
            ("delay_p95_ms", quantile(&delays_ms, 0.95).map(Is)),
            ("delay_p99_ms", quantile(&delays_ms, 0.99).map(Is)),
            ("others_starved_percent", starved.map(Is)),
        ]
    }

    /// Losses, marks, retransmissions and timeouts.
    fn packets(&self) -> Vec<(&'static str, Option<Number>)> {
        let flows = &self.result.flows;
        let all = 0..self.count();
        let (mine, others) = (0..self.mine, self.mine..self.count());
        let sum =
            |column: &[u64], of: std::ops::Range<usize>| column[of].iter().sum::<u64>() as f64;
        let sent = |of: std::ops::Range<usize>| sum(&flows.sent_packets, of);
        let lost = |of: std::ops::Range<usize>| {
            let dropped = sum(&flows.dropped_packets, of.clone());
            percent(
                dropped - sum(&flows.link_lost_packets, of.clone()),
                sent(of),
            )
        };
        let retransmitted = sum(&flows.retransmitted_packets, mine.clone());
        let rtts = self.end_s / self.rtt_s();
        let late = self.late_retransmissions() / (rtts / 2.0);
        vec![
            ("loss_percent", Some(Is(lost(all.clone())))),
            (
                "others_loss_percent",
                (!others.is_empty()).then(|| Is(lost(others))),
            ),
            (
                "marked_percent",
                Some(Is(percent(
                    sum(&flows.marked_packets, all.clone()),
                    sent(all),
                ))),
            ),
            (
                "retransmitted_percent",
                Some(Is(percent(retransmitted, sent(mine.clone())))),
            ),
            ("undos", Some(Is(sum(&flows.undos, mine.clone())))),
            ("timeouts", Some(Is(sum(&flows.timeouts, mine.clone())))),
            (
                "sent_per_rtt",
                Some(Is(sent(mine) / self.mine as f64 / rtts)),
            ),
            ("late_retransmissions_per_rtt", Some(Is(late))),
            ("backoff", self.backoff().map(Is)),
        ]
    }

    /// Times of transfers and frames, and until the link is full.
    fn times(&self) -> Vec<(&'static str, Option<Number>)> {
        let mut found = self.transfers();
        found.push(("full_s", Some(self.full_s())));
        let mut delays_ms = self.frame_delays_ms();
        delays_ms.sort_by(f64::total_cmp);
        found.push(("frame_median_ms", quantile(&delays_ms, 0.5).map(Is)));
        found.push(("frame_p95_ms", quantile(&delays_ms, 0.95).map(Is)));
        found
    }

    /// Payload that a flow has had delivered until a time; NaN behind its last sample.
    fn delivered_bits(&self, flow: usize, time_s: f64) -> f64 {
        let (times_us, packets) = &self.delivered[flow];
        let mss_bits = 8.0 * f64::from(self.scenario.mss_of(&self.scenario.flows[flow]));
        interpolated(time_s * 1e6, times_us, packets) * mss_bits
    }

    /// Of a flow from one time to another, bit/s.
    fn throughput_bps(&self, flow: usize, from_s: f64, until_s: f64) -> f64 {
        let bits = self.delivered_bits(flow, until_s) - self.delivered_bits(flow, from_s);
        bits / (until_s - from_s)
    }

    /// The common interval, from the times at which flows connected: `measures.common_ns`.
    fn common_s(&self) -> (f64, f64) {
        let end_ns = self.scenario.duration_ns;
        let long = self.scenario.flows.iter().zip(&self.result.flows.start_us);
        let long: Vec<_> = long.filter(|(flow, _)| flow.size_bytes.is_none()).collect();
        let from_ns = long.iter().map(|(_, start_us)| 1000 * **start_us).max();
        let stops_ns = long.iter().filter_map(|(flow, _)| flow.stop_ns);
        let until_ns = stops_ns.min().unwrap_or(end_ns).min(end_ns);
        match from_ns.unwrap_or(0) {
            from_ns if from_ns < until_ns => (from_ns as f64 / 1e9, until_ns as f64 / 1e9),
            _ => (0.0, end_ns as f64 / 1e9),
        }
    }

    fn rates_mbps(&self) -> Vec<f64> {
        let (from_s, until_s) = self.common_s();
        let hides = |flow: &Flow| flow.hides == Hides::Losses;
        let lied = self.scenario.flows.iter().any(hides);
        let rate_bps = |flow| {
            if lied {
                8.0 * self.result.flows.common_bytes[flow] as f64 / (until_s - from_s)
            } else {
                self.throughput_bps(flow, self.start_s().max(from_s), until_s)
            }
        };
        (0..self.count()).map(|flow| rate_bps(flow) / 1e6).collect()
    }

    /// Share of the rate in use after the warm-up, of the link that is used most.
    fn utilisation(&self) -> Option<f64> {
        let queues = &self.result.queues;
        let share = |number: usize| {
            let (mut times_us, mut sent_bytes) = (vec![0.0], vec![0.0]);
            for (index, queue) in queues.queue.iter().enumerate() {
                if *queue as usize == number {
                    times_us.push(queues.time_us[index] as f64);
                    sent_bytes.push(queues.sent_bytes[index] as f64);
                }
            }
            let (start_us, last_us) = (self.start_s() * 1e6, *times_us.last()?);
            let bytes = sent_bytes.last()? - interpolated(start_us, &times_us, &sent_bytes);
            let link = link(self.scenario, number);
            let bits = capacity_bits(link, last_us as u64) - capacity_bits(link, start_us as u64)
                + 8.0 * link.burst_bytes as f64;
            (start_us < last_us && bits > 0.0).then(|| 8.0 * bytes / bits)
        };
        let links = 1..=1 + self.scenario.links.len();
        links.filter_map(share).reduce(f64::max)
    }

    fn delays_ms(&self) -> Vec<f64> {
        let queues = &self.result.queues;
        let rows = queues
            .queue
            .iter()
            .zip(&queues.time_us)
            .zip(&queues.sojourn_us);
        let within = |time_us| time_us as f64 >= self.start_s() * 1e6;
        let found: Vec<_> = rows
            .filter(|((queue, time_us), _)| **queue == 1 && within(**time_us))
            .map(|(_, sojourn_us)| *sojourn_us as f64 / 1e3)
            .collect();
        if found.is_empty() {
            vec![0.0]
        } else {
            found
        }
    }

    /// Time until the last forward flow has had its share, with the window in which it had.
    fn convergence_s(&self) -> Number {
        let starts_us = self.result.flows.start_us.iter().copied();
        let last_start_s = starts_us.max().unwrap_or(0) as f64 / 1e6;
        let forward: Vec<_> = (0..self.count())
            .filter(|flow| self.scenario.flows[*flow].direction == Direction::Forward)
            .collect();
        let fair_bps = FAIR_SHARE * self.capacity_bps / forward.len() as f64;
        let windows = steps(last_start_s, self.end_s - FAIR_WINDOW_S + 1e-6, 1.0);
        let fair = |from_s: &f64| {
            let rate_bps = |flow| self.throughput_bps(flow, *from_s, *from_s + FAIR_WINDOW_S);
            forward.iter().all(|flow| rate_bps(*flow) >= fair_bps)
        };
        match windows.iter().position(fair) {
            Some(index) => Is(index as f64 + FAIR_WINDOW_S),
            None => AtLeast(self.end_s - last_start_s),
        }
    }

    /// Seconds in which a flow of the others starved.
    fn starved_percent(&self) -> f64 {
        let edges_s = steps(WARM_UP_S.min(self.end_s / 2.0), self.end_s + 1e-9, 1.0);
        let least_bps = 1e6 * STARVED * self.fair_mbps();
        let (mut starved, mut all) = (0, 0);
        for flow in self.mine..self.count() {
            for edges in edges_s.windows(2) {
                all += 1;
                starved += i32::from(self.throughput_bps(flow, edges[0], edges[1]) < least_bps);
            }
        }
        percent(f64::from(starved), f64::from(all))
    }

    /// Retransmissions of a flow of mine in the last half of the run.
    fn late_retransmissions(&self) -> f64 {
        let samples = &self.result.samples;
        let half_us = self.scenario.duration_ns as f64 / 2e3;
        let interval_us = self.scenario.sample_interval_ns / 1000;
        let mut of_flows = vec![(0, 0); self.count()];
        for (index, flow) in samples.flow.iter().enumerate() {
            let time_us = samples.time_us[index];
            if interval_us > 0 && time_us % interval_us == 0 {
                let (early, all) = &mut of_flows[*flow as usize - 1];
                *all = samples.retransmitted_packets[index];
                if time_us as f64 <= half_us {
                    *early = *all;
                }
            }
        }
        let late = of_flows[..self.mine].iter().map(|(early, all)| all - early);
        late.sum::<u64>() as f64 / self.mine as f64
    }

    /// Median of one wait for a timeout over the wait before it.
    fn backoff(&self) -> Option<f64> {
        let events = &self.result.events;
        let mut times_us = vec![Vec::new(); self.count()];
        for (index, kind) in events.kind.iter().enumerate() {
            if *kind == EventKind::Timeout {
                times_us[events.flow[index] as usize - 1].push(events.time_us[index] as f64);
            }
        }
        let mut ratios = Vec::new();
        for of_flow in &times_us[..self.mine] {
            let waits: Vec<_> = of_flow.windows(2).map(|of| of[1] - of[0]).collect();
            ratios.extend(waits.windows(2).map(|of| of[1] / of[0]));
        }
        ratios.sort_by(f64::total_cmp);
        quantile(&ratios, 0.5)
    }

    /// Slowdown, completion and its share of the transfers of sessions.
    fn transfers(&self) -> Vec<(&'static str, Option<Number>)> {
        let transfers = &self.result.transfers;
        let Some(session) = self
            .scenario
            .sessions
            .first()
            .filter(|_| !transfers.is_empty())
        else {
            let names = [
                "slowdown_median",
                "slowdown_p99",
                "completed_percent",
                "completion_p99_ms",
            ];
            return names.map(|name| (name, None)).to_vec();
        };
        let rtt_s = session.flow.rtt_ns as f64 / 1e9;
        let (mut slowdowns, mut lates_s, mut done) = (Vec::new(), Vec::new(), 0_u32);
        for (index, completed_us) in transfers.completed_us.iter().enumerate() {
            let start_us = transfers.start_us[index];
            let late_s = match *completed_us {
                0 => self.end_s - start_us as f64 / 1e6,
                time_us => {
                    done += 1;
                    (time_us - start_us) as f64 / 1e6
                }
            };
            let bits = 8.0 * transfers.size_bytes[index] as f64;
            slowdowns.push((late_s / (2.0 * rtt_s + bits / self.capacity_bps)).max(1.0));
            lates_s.push(late_s);
        }
        slowdowns.sort_by(f64::total_cmp);
        lates_s.sort_by(f64::total_cmp);
        let share = f64::from(done) / slowdowns.len() as f64;
        // The value at a rank, or the next.
        let higher = |sorted: &[f64]| sorted[(0.99 * (sorted.len() - 1) as f64).ceil() as usize];
        let median = quantile(&slowdowns, 0.5);
        vec![
            (
                "slowdown_median",
                median.map(|value| bounded(value, share >= 0.5)),
            ),
            (
                "slowdown_p99",
                Some(bounded(higher(&slowdowns), share >= 0.99)),
            ),
            ("completed_percent", Some(Is(100.0 * share))),
            (
                "completion_p99_ms",
                Some(bounded(1e3 * higher(&lates_s), share >= 0.99)),
            ),
        ]
    }

    /// Time until a second in which the link carried 90 % of what it can.
    fn full_s(&self) -> Number {
        let edges_s = steps(0.0, self.end_s + 1e-9, (self.end_s / 50.0).min(1.0));
        let full = |edges: &[f64]| {
            let flows = 0..self.count();
            let bps: f64 = flows
                .map(|flow| self.throughput_bps(flow, edges[0], edges[1]))
                .sum();
            bps >= 0.9 * self.capacity_bps
        };
        match edges_s.windows(2).position(full) {
            Some(index) => Is(edges_s[index + 1]),
            None => AtLeast(self.end_s),
        }
    }

    /// From the writing of each frame until its last byte is ACKed.
    fn frame_delays_ms(&self) -> Vec<f64> {
        let (events, samples) = (&self.result.events, &self.result.samples);
        let end_us = self.scenario.duration_ns as f64 / 1e3;
        let mut found = Vec::new();
        for (number, flow) in (1..).zip(&self.scenario.flows) {
            let Some(frames) = &flow.frames else { continue };
            let mut rows = events.kind.iter().zip(&events.flow).zip(&events.time_us);
            let is_mine = |kind, of| kind == EventKind::Established && of == number;
            let Some((_, connected_us)) = rows.find(|((kind, of), _)| is_mine(**kind, **of)) else {
                continue;
            };
            let rows: Vec<_> = (0..samples.flow.len())
                .filter(|index| samples.flow[*index] == number)
                .collect();
            let mss_bytes = u64::from(self.scenario.mss_of(flow));
            let frame_bytes = frames.size_bytes.div_ceil(mss_bytes) * mss_bytes;
            let every_us = frames.every_ns as f64 / 1e3;
            let written_us = steps(*connected_us as f64, end_us - 1e6, every_us);
            for (count, written_us) in (1..).zip(written_us) {
                let ends = count * frame_bytes;
                let at = rows.partition_point(|index| samples.delivered_bytes[*index] < ends);
                let acked_us = rows
                    .get(at)
                    .map_or(end_us, |index| samples.time_us[*index] as f64);
                if written_us >= self.start_s() * 1e6 {
                    found.push((acked_us - written_us) / 1e3);
                }
            }
        }
        found
    }
}

/// `numpy.arange`.
fn steps(from: f64, until: f64, step: f64) -> Vec<f64> {
    let count = ((until - from) / step).ceil().max(0.0) as usize;
    (0..count).map(|index| from + index as f64 * step).collect()
}

/// Of a column that grows with the time, between two rows on the straight line; NaN behind the last.
fn interpolated(at: f64, times: &[f64], values: &[f64]) -> f64 {
    let after = times.partition_point(|time| *time <= at);
    let before = after - 1;
    if times[before] == at {
        return values[before];
    }
    let Some(next) = times.get(after) else {
        return f64::NAN;
    };
    let slope = (values[after] - values[before]) / (next - times[before]);
    slope * (at - times[before]) + values[before]
}

/// As numpy's, of which NaN is the least and the most.
fn least(one: f64, other: f64) -> f64 {
    if one.is_nan() || other.is_nan() {
        f64::NAN
    } else {
        one.min(other)
    }
}

fn most(one: f64, other: f64) -> f64 {
    -least(-one, -other)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn percent(some: f64, of: f64) -> f64 {
    if of > 0.0 {
        100.0 * some / of
    } else {
        0.0
    }
}
