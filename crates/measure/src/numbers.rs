//! What the scorecard measures of a run. "Mine" are the flows of the scenario's first table. Harm needs
//! a second run.

use std::ops::Range;

use crate::values::{higher, jain_index, mean, percent, quantile, steps};
use crate::{Delivered, Flow, Setup, Table};

/// What a run leaves out at its start.
const WARM_UP_S: f64 = 10.0;
/// Windows in which a newcomer must have its share, and the share.
const FAIR_WINDOW_S: f64 = 10.0;
const FAIR_SHARE: f64 = 0.8;
/// A flow starves in a second in which it has less than this part of its fair share.
const STARVED: f64 = 0.1;
/// The link is full in a second in which flows have this part of what it can carry.
const FULL: f64 = 0.9;
/// Codes of kinds of events.
const ESTABLISHED: u8 = 0;
const TIMEOUT: u8 = 4;

/// A number, or a bound of it: the end of the run cut it off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// This number.
    Is(f64),
    /// This or more.
    AtLeast(f64),
}

use Number::{AtLeast, Is};

type Named = (&'static str, Option<Number>);

fn bounded(value: f64, known: bool) -> Number {
    if known {
        Is(value)
    } else {
        AtLeast(value)
    }
}

/// A run with all its rows.
pub struct Run<'a> {
    /// What was run.
    pub setup: &'a Setup,
    /// Its table of this name.
    pub flows: &'a dyn Table,
    /// As above.
    pub samples: &'a dyn Table,
    /// As above.
    pub queues: &'a dyn Table,
    /// As above.
    pub events: &'a dyn Table,
    /// As above.
    pub transfers: &'a dyn Table,
}

/// The numbers of a run by their names; the first `mine` flows are those of the algorithm.
pub fn numbers(run: &Run<'_>, mine: usize) -> Vec<Named> {
    let of = Measured::new(run, mine);
    let mut found = of.shares();
    found.extend(of.packets());
    found.extend(of.transfers());
    found.push(("full_s", Some(of.full_s())));
    let mut delays_ms: Vec<_> = (0..of.count())
        .flat_map(|flow| of.frame_delays_ms(flow))
        .collect();
    delays_ms.sort_by(f64::total_cmp);
    found.push(("frame_median_ms", quantile(&delays_ms, 0.5).map(Is)));
    found.push(("frame_p95_ms", quantile(&delays_ms, 0.95).map(Is)));
    found
}

struct Measured<'a> {
    setup: &'a Setup,
    run: &'a Run<'a>,
    mine: usize,
    end_s: f64,
    start_s: f64,
    capacity_bps: f64,
    fair_mbps: f64,
    delivered: Delivered,
}

impl<'a> Measured<'a> {
    fn new(run: &'a Run<'a>, mine: usize) -> Self {
        let (setup, end_s) = (run.setup, run.setup.duration_s());
        let mut delivered = Delivered::new(setup);
        delivered.take(run.samples);
        Self {
            setup,
            run,
            mine,
            end_s,
            start_s: if end_s > 2.0 * WARM_UP_S {
                WARM_UP_S
            } else {
                0.0
            },
            capacity_bps: setup.capacity_bps(),
            fair_mbps: setup.capacity_bps() / 1e6 / setup.flows.len().max(1) as f64,
            delivered,
        }
    }

    fn count(&self) -> usize {
        self.setup.flows.len()
    }

    /// Utilisation, throughput, shares, delays in the bottleneck's queue.
    fn shares(&self) -> Vec<Named> {
        let mbps = self.rates_mbps();
        let (mine, others) = mbps.split_at(self.mine);
        let some = self.count() > 1;
        let slowest = mbps.iter().copied().fold(f64::INFINITY, least);
        let fastest = -mbps.iter().map(|mbps| -mbps).fold(f64::INFINITY, least);
        let mut delays_ms = self.delays_ms();
        let delay_ms = mean(&delays_ms);
        delays_ms.sort_by(f64::total_cmp);
        let starved = (!others.is_empty()).then(|| self.starved_percent());
        vec![
            ("utilisation", Some(Is(self.utilisation()))),
            ("mine_mbps", Some(Is(mean(mine)))),
            (
                "others_mbps",
                (!others.is_empty()).then(|| Is(mean(others))),
            ),
            ("mine_share", Some(Is(mean(mine) / self.fair_mbps))),
            ("jain", some.then(|| Is(jain_index(&mbps)))),
            (
                "slowest_over_fastest",
                (some && fastest != 0.0).then(|| Is(slowest / fastest)),
            ),
            ("convergence_s", some.then(|| self.convergence_s())),
            ("delay_mean_ms", Some(Is(delay_ms))),
            ("delay_p95_ms", quantile(&delays_ms, 0.95).map(Is)),
            ("delay_p99_ms", quantile(&delays_ms, 0.99).map(Is)),
            ("others_starved_percent", starved.map(Is)),
        ]
    }

    /// Losses, marks, retransmissions and timeouts.
    fn packets(&self) -> Vec<Named> {
        let (all, mine, others) = (0..self.count(), 0..self.mine, self.mine..self.count());
        let sum = |column: &str, of: &Range<usize>| {
            self.run.flows.u64(column)[of.clone()].iter().sum::<u64>() as f64
        };
        let sent = |of| sum("sent_packets", of);
        let lost = |of| {
            percent(
                sum("dropped_packets", of) - sum("link_lost_packets", of),
                sent(of),
            )
        };
        let marked = percent(sum("marked_packets", &all), sent(&all));
        let again = percent(sum("retransmitted_packets", &mine), sent(&mine));
        let rtt_ns = self.setup.flows.iter().map(|flow| flow.rtt_ns).min();
        let rtts = self.end_s / (rtt_ns.unwrap_or(0) as f64 / 1e9);
        let late = self.late_retransmissions() / (rtts / 2.0);
        vec![
            ("loss_percent", Some(Is(lost(&all)))),
            (
                "others_loss_percent",
                (!others.is_empty()).then(|| Is(lost(&others))),
            ),
            ("marked_percent", Some(Is(marked))),
            ("retransmitted_percent", Some(Is(again))),
            ("undos", Some(Is(sum("undos", &mine)))),
            ("timeouts", Some(Is(sum("timeouts", &mine)))),
            (
                "sent_per_rtt",
                Some(Is(sent(&mine) / self.mine as f64 / rtts)),
            ),
            ("late_retransmissions_per_rtt", Some(Is(late))),
            ("backoff", self.backoff().map(Is)),
        ]
    }

    /// Of each flow from the warm-up on, while all are active. What a receiver acknowledges that hides
    /// losses may not have come: such a run has its goodputs, warm-up included.
    fn rates_mbps(&self) -> Vec<f64> {
        let common_ns = self.setup.common_ns(self.run.flows.u64("start_us"));
        let (from_s, until_s) = (common_ns.start as f64 / 1e9, common_ns.end as f64 / 1e9);
        let hides = |flow: &Flow| flow.hides.as_deref() == Some("losses");
        let lied = self.setup.flows.iter().any(hides);
        let common_bytes = self.run.flows.u64("common_bytes");
        let rate_bps = |flow: usize| {
            if lied {
                8.0 * common_bytes[flow] as f64 / (until_s - from_s)
            } else {
                self.delivered
                    .throughput_bps(flow, self.start_s.max(from_s), until_s)
            }
        };
        (0..self.count()).map(|flow| rate_bps(flow) / 1e6).collect()
    }

    /// Share of the rate in use after the warm-up, of the link that is used most.
    fn utilisation(&self) -> f64 {
        crate::summary::utilisation(self.setup, &[self.run.queues], self.start_s, None, None)
    }

    fn delays_ms(&self) -> Vec<f64> {
        let (time_us, sojourn_us) = (
            self.run.queues.u64("time_us"),
            self.run.queues.u64("sojourn_us"),
        );
        let mut found = Vec::new();
        for (row, queue) in self.run.queues.u32("queue").iter().enumerate() {
            if *queue == 1 && time_us[row] as f64 >= self.start_s * 1e6 {
                found.push(1e3 * (sojourn_us[row] as f64 / 1e6));
            }
        }
        if found.is_empty() {
            found.push(0.0);
        }
        found
    }

    /// Time until the last forward flow has had its share, with the window in which it had.
    fn convergence_s(&self) -> Number {
        let starts_us = self.run.flows.u64("start_us").iter().copied();
        let last_s = starts_us.max().unwrap_or(0) as f64 / 1e6;
        match self
            .delivered
            .convergence_s(self.setup, last_s, FAIR_WINDOW_S, FAIR_SHARE)
        {
            Some(time_s) => Is(time_s + FAIR_WINDOW_S),
            None => AtLeast(self.end_s - last_s),
        }
    }

    /// Seconds in which a flow of the others starved.
    fn starved_percent(&self) -> f64 {
        let edges_s = steps(WARM_UP_S.min(self.end_s / 2.0), self.end_s + 1e-9, 1.0);
        let (mut starved, mut all) = (0_u32, 0_u32);
        for flow in self.mine..self.count() {
            for edges in edges_s.windows(2) {
                let rate_bps = self.delivered.throughput_bps(flow, edges[0], edges[1]);
                all += 1;
                starved += u32::from(rate_bps / 1e6 < STARVED * self.fair_mbps);
            }
        }
        100.0 * (f64::from(starved) / f64::from(all.max(1)))
    }

    /// Retransmissions of a flow of mine in the last half of the run.
    fn late_retransmissions(&self) -> f64 {
        let samples = self.run.samples;
        let (time_us, again) = (samples.u64("time_us"), samples.u64("retransmitted_packets"));
        let half_us = self.setup.duration_ns as f64 / 2e3;
        let mut of_flows = vec![(0, 0); self.count()];
        for (row, flow) in samples.u32("flow").iter().enumerate() {
            if self.setup.is_regular(time_us[row]) {
                let (early, all) = &mut of_flows[*flow as usize - 1];
                *all = again[row];
                if time_us[row] as f64 <= half_us {
                    *early = *all;
                }
            }
        }
        let late = of_flows[..self.mine].iter().map(|(early, all)| all - early);
        late.sum::<u64>() as f64 / self.mine as f64
    }

    /// Times of the events of a kind, of a flow by its index.
    fn times_us(&self, kind: u8, flow: usize) -> Vec<f64> {
        let (events, kinds) = (self.run.events, self.run.events.codes("kind"));
        let rows = kinds
            .iter()
            .zip(events.u32("flow"))
            .zip(events.u64("time_us"));
        rows.filter(|((each, of), _)| **each == kind && **of as usize == flow + 1)
            .map(|(_, time_us)| *time_us as f64)
            .collect()
    }

    /// Median of one wait for a timeout over the wait before it.
    fn backoff(&self) -> Option<f64> {
        let mut ratios = Vec::new();
        for flow in 0..self.mine {
            let times_us = self.times_us(TIMEOUT, flow);
            let waits: Vec<_> = times_us.windows(2).map(|of| of[1] - of[0]).collect();
            ratios.extend(waits.windows(2).map(|of| of[1] / of[0]));
        }
        ratios.sort_by(f64::total_cmp);
        quantile(&ratios, 0.5)
    }

    /// Slowdown, completion and its share of the transfers of sessions. One on an empty link would need
    /// its handshake, an RTT, and its size over the rate.
    fn transfers(&self) -> [Named; 4] {
        let transfers = self.run.transfers;
        let rtt_ns = self
            .setup
            .sessions
            .first()
            .map_or(0, |session| session.flow.rtt_ns);
        let sizes = transfers
            .u64("size_bytes")
            .iter()
            .zip(transfers.u64("start_us"));
        let (mut slowdowns, mut lates_s, mut done) = (Vec::new(), Vec::new(), 0_u32);
        for ((size_bytes, start_us), completed_us) in sizes.zip(transfers.u64("completed_us")) {
            // One without end counts with the time that it had; then a quantile is only a bound.
            let late_s = match completed_us {
                0 => self.end_s - *start_us as f64 / 1e6,
                _ => (completed_us - start_us) as f64 / 1e6,
            };
            done += u32::from(*completed_us != 0);
            let ideal_s =
                2.0 * (rtt_ns as f64 / 1e9) + 8.0 * *size_bytes as f64 / self.capacity_bps;
            slowdowns.push((late_s / ideal_s).max(1.0));
            lates_s.push(late_s);
        }
        slowdowns.sort_by(f64::total_cmp);
        lates_s.sort_by(f64::total_cmp);
        let some = !slowdowns.is_empty();
        let share = f64::from(done) / slowdowns.len() as f64;
        let p99 = |sorted: &[f64]| some.then(|| higher(sorted, 0.99));
        let known = |value, least| bounded(value, share >= least);
        [
            (
                "slowdown_median",
                quantile(&slowdowns, 0.5).map(|value| known(value, 0.5)),
            ),
            (
                "slowdown_p99",
                p99(&slowdowns).map(|value| known(value, 0.99)),
            ),
            ("completed_percent", some.then_some(Is(100.0 * share))),
            (
                "completion_p99_ms",
                p99(&lates_s).map(|late_s| known(1e3 * late_s, 0.99)),
            ),
        ]
    }

    /// Time until a second in which the link carried what makes it full.
    fn full_s(&self) -> Number {
        let edges_s = steps(0.0, self.end_s + 1e-9, (self.end_s / 50.0).min(1.0));
        let is_full = |edges: &[f64]| {
            let rate_bps = |flow| self.delivered.throughput_bps(flow, edges[0], edges[1]);
            (0..self.count()).map(rate_bps).sum::<f64>() >= FULL * self.capacity_bps
        };
        match edges_s.windows(2).position(is_full) {
            Some(index) => Is(edges_s[index + 1]),
            None => AtLeast(self.end_s),
        }
    }

    /// Of the frames that a flow writes after the warm-up, without those of the last second.
    fn frame_delays_ms(&self, flow: usize) -> Vec<f64> {
        let established_us = self.times_us(ESTABLISHED, flow).first().copied();
        let within_s = self.start_s..self.end_s - 1.0;
        let delays_s = frame_delays_s(self.setup, self.run.samples, flow, established_us, within_s);
        delays_s.into_iter().map(|delay_s| 1e3 * delay_s).collect()
    }
}

/// From the writing of each frame of a flow until it is delivered, to one sample interval, of the frames
/// that it writes within some time. One that never comes counts with the time that it had.
pub fn frame_delays_s(
    setup: &Setup,
    samples: &dyn Table,
    flow: usize,
    established_us: Option<f64>,
    within_s: Range<f64>,
) -> Vec<f64> {
    let of = &setup.flows[flow];
    let Some((frames, established_us)) = of.frames.as_ref().zip(established_us) else {
        return Vec::new();
    };
    let (time_us, bytes) = (samples.u64("time_us"), samples.u64("delivered_bytes"));
    let rows = samples.u32("flow").iter().enumerate();
    let rows: Vec<_> = rows
        .filter(|(_, of)| **of as usize == flow + 1)
        .map(|(row, _)| row)
        .collect();
    let mss_bytes = setup.mss_of(of);
    // Only a stack of its own writes single bytes.
    let frame_bytes = match of.stack {
        Some(_) => frames.size_bytes,
        None => frames.size_bytes.div_ceil(mss_bytes) * mss_bytes,
    };
    let written_us = steps(
        established_us,
        1e6 * within_s.end,
        frames.every_ns as f64 / 1e3,
    );
    let mut found = Vec::new();
    for (count, written_us) in (1..).zip(written_us) {
        let row = rows.partition_point(|row| bytes[*row] < count * frame_bytes);
        let acked_us = rows
            .get(row)
            .map_or(1e6 * setup.duration_s(), |row| time_us[*row] as f64);
        if written_us >= 1e6 * within_s.start {
            found.push((acked_us - written_us) / 1e6);
        }
    }
    found
}

/// NaN is the least, as numpy has it.
fn least(one: f64, other: f64) -> f64 {
    if one.is_nan() || other.is_nan() {
        f64::NAN
    } else {
        one.min(other)
    }
}
