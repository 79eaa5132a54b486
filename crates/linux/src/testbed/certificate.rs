//! The certificate of a kernel run: how well the run kept time, and whether it is valid.

use super::carrier::Measured;
use super::namespace::TunNamespace;
use super::TestbedError;
use crate::emulator::{Counts, EmulatedNetwork};
use ackclock_net::link::{Bottleneck, LinkState};
use ackclock_sim::scenario::Scenario;
use ackclock_sim::topology::Topology;
use std::fs;
use std::sync::Arc;

/// Upper bound of the p99 of lateness, µs.
pub const BOUND_P99_US: f64 = 500.0;
/// Upper bound of the lateness of any packet, µs: half of the kernel's smallest retransmission
/// timeout. With a larger lateness a pause of the machine looks like a pause of the network.
pub const BOUND_MAX_US: f64 = 100_000.0;
/// How far the rate of a busy link may differ from the scenario's, as a fraction.
const BOUND_RATE: f64 = 0.01;
/// Busy time that a measurement of the rate needs at least.
const LEAST_BUSY_NS: i64 = 100_000_000;

const SYN_BYTES: f64 = 60.0;

/// The calibration certificate of a run.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
pub struct Certificate {
    /// Rate of the link in the scenario, bit/s. Of several links, the one whose measured rate is
    /// furthest off.
    pub rate_bps: f64,
    /// Measured rate while that link was busy, bit/s; `None` if no link sent data back to back, at
    /// its rate, for 0.1 s.
    pub achieved_rate_bps: Option<f64>,
    /// Smallest RTT that a sender measured, less the scenario's RTT and the transmission of a SYN,
    /// µs. A SYN is the smallest packet that gets an answer. `None` if no sender measured an RTT.
    pub min_rtt_excess_us: Option<f64>,
    /// Packets delivered, in both directions.
    pub delivered_packets: u64,
    /// Lateness of packets, µs: from when a packet was due until it was written. Median.
    pub lateness_p50_us: f64,
    /// 99th percentile of lateness, µs.
    pub lateness_p99_us: f64,
    /// 99.9th percentile of lateness, µs.
    pub lateness_p999_us: f64,
    /// Largest lateness, µs.
    pub lateness_max_us: f64,
    /// Lateness of the latest sample, µs.
    pub sample_lateness_max_us: f64,
    /// Packets that the TUN devices dropped.
    pub tun_dropped_packets: u64,
    /// Packets lost at any other place than the links and the TUN devices.
    pub lost_elsewhere_packets: u64,
    /// Packets that the emulator took and neither delivered, dropped nor still has; and packets that
    /// a link accepted and neither sent nor still has.
    pub unaccounted_packets: u64,
    /// Bytes that links sent beyond what their rates and bursts allow.
    pub beyond_rate_bytes: u64,
    /// Copies that links made of packets.
    pub copied_packets: u64,
    /// Marks (ECN) that queues set.
    pub marked_packets: u64,
    /// Marked packets that the emulator delivered.
    pub ce_delivered_packets: u64,
    /// Marked packets that the hosts' kernel received (`InCEPkts`).
    pub ce_received_packets: u64,
    /// Share of a core that the emulator and the sockets used.
    pub cpu: f64,
    /// Share of the machine's CPU time that its host took away.
    pub stolen: f64,
    /// Load average when the run ended.
    pub load: f64,
    /// What the emulator requested and did not get: real-time priority.
    pub notes: Vec<String>,
    /// Why the run is not valid; empty if it is.
    pub problems: Vec<String>,
}

/// What a certificate says beside the timing.
#[derive(Debug)]
pub(super) struct Seen {
    /// Smallest RTT of each sender, µs; 0 if it measured none.
    pub(super) min_rtts_us: Vec<u32>,
    pub(super) tun_dropped_packets: u64,
    /// Packets with the mark "congestion experienced" that the hosts received.
    pub(super) ce_packets: u64,
    pub(super) counts: Counts,
    /// Packets that the emulator still had at the end.
    pub(super) inside_packets: u64,
    /// The links at the end.
    pub(super) states: Vec<LinkState>,
    pub(super) stolen: f64,
    pub(super) load: f64,
}

impl Seen {
    /// At the end of a run of so many nanoseconds; `before`: the [`machine_time`] when it began. RTTs are
    /// the caller's.
    pub(super) fn new(
        network: &mut EmulatedNetwork,
        [senders, receivers]: &[Arc<TunNamespace>; 2],
        duration_ns: u64,
        before: (f64, f64),
    ) -> Result<Self, TestbedError> {
        Ok(Self {
            min_rtts_us: Vec::new(),
            tun_dropped_packets: senders.dropped_packets()? + receivers.dropped_packets()?,
            ce_packets: senders.ce_packets()? + receivers.ce_packets()?,
            states: network.states(duration_ns).collect(),
            counts: network.counts(),
            inside_packets: network.packets(),
            stolen: stolen_since(before),
            load: load(),
        })
    }
}

impl Certificate {
    pub(super) fn new(
        scenario: &Scenario,
        topology: &Topology,
        measured: &Measured,
        seen: &Seen,
    ) -> Self {
        let excesses = (0..).zip(&seen.min_rtts_us).filter(|each| *each.1 > 0);
        let excesses = excesses.map(|(flow, min_rtt_us)| {
            f64::from(*min_rtt_us) - nominal_rtt_us(scenario, topology, flow)
        });
        let off = |rates: &(f64, f64)| (rates.1 / rates.0 - 1.0).abs();
        let busy = measured
            .links
            .iter()
            .map(|link| (link.rate_bps, link.total()));
        let rates = busy
            .filter(|(_, busy)| busy.ns >= LEAST_BUSY_NS)
            .map(|(rate_bps, busy)| (rate_bps as f64, busy.bytes as f64 * 8e9 / busy.ns as f64))
            .max_by(|one, two| off(one).total_cmp(&off(two)));
        let counts = &seen.counts;
        let accounted = counts.delivered + counts.dropped + seen.inside_packets;
        let of_links = seen.states.iter().map(|state| {
            let accounted = state.totals.sent_packets + state.queue.packets;
            state.totals.enqueued_packets.abs_diff(accounted)
        });
        let links = topology.links.iter().zip(&seen.states);
        let beyond_rate = links.map(|(link, state)| {
            let most_bytes = most_bytes(link, scenario.duration_ns);
            state.totals.sent_bytes.saturating_sub(most_bytes)
        });
        let lateness = &measured.lateness;
        let not_realtime = measured.not_realtime.as_ref();
        let mut certificate = Self {
            rate_bps: rates.map_or(scenario.bottleneck.rate_bps as f64, |rates| rates.0),
            achieved_rate_bps: rates.map(|rates| rates.1),
            min_rtt_excess_us: excesses.min_by(f64::total_cmp),
            delivered_packets: lateness.total(),
            lateness_p50_us: lateness.quantile_us(0.5),
            lateness_p99_us: lateness.quantile_us(0.99),
            lateness_p999_us: lateness.quantile_us(0.999),
            lateness_max_us: lateness.max_us(),
            sample_lateness_max_us: measured.sample_late_ns as f64 / 1e3,
            tun_dropped_packets: seen.tun_dropped_packets,
            lost_elsewhere_packets: counts.strangers + measured.lost_packets,
            unaccounted_packets: (counts.taken + counts.copied).abs_diff(accounted)
                + of_links.sum::<u64>(),
            beyond_rate_bytes: beyond_rate.sum(),
            copied_packets: counts.copied,
            marked_packets: counts.marked,
            ce_delivered_packets: counts.delivered_ce,
            ce_received_packets: seen.ce_packets,
            cpu: measured.cpu_time.as_secs_f64() * 1e9 / scenario.duration_ns as f64,
            stolen: seen.stolen,
            load: seen.load,
            notes: not_realtime
                .map(|error| format!("no real-time priority: {error}"))
                .into_iter()
                .collect(),
            problems: Vec::new(),
        };
        certificate.problems = certificate.judge();
        certificate
    }

    /// Whether the run is valid.
    pub fn is_valid(&self) -> bool {
        self.problems.is_empty()
    }

    fn judge(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.lateness_p99_us > BOUND_P99_US {
            problems.push(format!(
                "1 % of the packets were more than {:.0} us late, the bound is {BOUND_P99_US:.0} us",
                self.lateness_p99_us
            ));
        }
        if self.lateness_max_us > BOUND_MAX_US {
            problems.push(format!(
                "a packet was {:.0} us late, the bound is {BOUND_MAX_US:.0} us",
                self.lateness_max_us
            ));
        }
        if let Some(achieved_bps) = self.achieved_rate_bps {
            let off = achieved_bps / self.rate_bps - 1.0;
            if off.abs() > BOUND_RATE {
                problems.push(format!(
                    "the busy link ran {:+.1} % off its rate, the bound is {:.0} %",
                    100.0 * off,
                    100.0 * BOUND_RATE
                ));
            }
        }
        let lost = self.tun_dropped_packets + self.lost_elsewhere_packets;
        if lost > 0 {
            problems.push(format!("{lost} packets were lost outside the links"));
        }
        if self.unaccounted_packets > 0 {
            problems.push(format!(
                "the emulator lost count of {} packets",
                self.unaccounted_packets
            ));
        }
        if self.beyond_rate_bytes > 0 {
            problems.push(format!(
                "links sent {} bytes more than their rates allow",
                self.beyond_rate_bytes
            ));
        }
        let (delivered, received) = (self.ce_delivered_packets, self.ce_received_packets);
        if delivered > self.marked_packets + self.copied_packets || received != delivered {
            problems.push(format!(
                "queues set {} marks, {delivered} marked packets were delivered, and the hosts \
                 received {received}",
                self.marked_packets
            ));
        }
        problems
    }
}

/// The smallest RTT that a flow can measure, µs: of its SYN and the answer, which have one size.
fn nominal_rtt_us(scenario: &Scenario, topology: &Topology, flow: usize) -> f64 {
    let path = &topology.paths[flow];
    let back = path.acks.map_or(&[][..], |route| &topology.routes[route]);
    let wires = topology.routes[path.data].iter().chain(back);
    // A SYN takes no time where it finds a bucket full of tokens.
    let wires = wires
        .map(|&link| &topology.links[link])
        .filter(|link| link.burst_bytes == 0);
    let syn_us: f64 = wires
        .map(|link| SYN_BYTES * 8e6 / link.rate_bps as f64)
        .sum();
    (scenario.flows[flow].rtt_ns + path.delay_ns) as f64 / 1e3 + syn_us
}

/// Upper bound of what a link can send in this time. A departure is rounded down to whole
/// nanoseconds.
fn most_bytes(link: &Bottleneck, ns: u64) -> u64 {
    if link.trace_ms.is_some() {
        return u64::MAX;
    }
    let bits_ns = u128::from(link.most_bps()) * u128::from(ns + 1);
    (bits_ns / 8_000_000_000) as u64 + link.burst_bytes
}

/// Ticks that the host stole from all cores so far, and all ticks so far.
pub(super) fn machine_time() -> (f64, f64) {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let first = text.lines().next().unwrap_or_default();
    let ticks: Vec<f64> = first
        .split(' ')
        .filter_map(|each| each.parse().ok())
        .collect();
    let stolen = ticks.get(7).copied().unwrap_or(0.0);
    (stolen, ticks.iter().take(8).sum::<f64>().max(1.0))
}

/// Share of all cores' time that the host stole since then.
fn stolen_since((stolen, all): (f64, f64)) -> f64 {
    let now = machine_time();
    (now.0 - stolen) / (now.1 - all).max(1.0)
}

/// Load average of the last minute.
fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first = text.split(' ').next().unwrap_or_default();
    first.parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Certificate {
        Certificate {
            rate_bps: 1e8,
            achieved_rate_bps: Some(0.995e8),
            lateness_p99_us: 400.0,
            lateness_max_us: 50_000.0,
            ..Certificate::default()
        }
    }

    type Spoil = fn(&mut Certificate);

    #[test]
    fn each_bound_is_judged() {
        assert!(good().judge().is_empty());
        let unmeasured = Certificate {
            achieved_rate_bps: None,
            ..good()
        };
        assert!(unmeasured.judge().is_empty());
        let marked = Certificate {
            marked_packets: 10,
            ce_delivered_packets: 9,
            ce_received_packets: 9,
            ..good()
        };
        assert!(marked.judge().is_empty());
        let spoil: [(&str, Spoil); 11] = [
            ("1 % of the packets", |c| c.lateness_p99_us = 501.0),
            ("a packet was 190107 us late", |c| {
                c.lateness_max_us = 190_107.0;
            }),
            ("+2.0 % off", |c| c.achieved_rate_bps = Some(1.02e8)),
            ("-2.0 % off", |c| c.achieved_rate_bps = Some(0.98e8)),
            ("1 packets were lost", |c| c.tun_dropped_packets = 1),
            ("1 packets were lost", |c| c.lost_elsewhere_packets = 1),
            ("lost count of 1 packets", |c| c.unaccounted_packets = 1),
            ("links sent 1 bytes more", |c| c.beyond_rate_bytes = 1),
            ("received 1", |c| c.ce_received_packets = 1),
            ("queues set 9 marks", |c| {
                (c.marked_packets, c.ce_delivered_packets) = (9, 9);
            }),
            ("queues set 8 marks", |c| {
                (c.marked_packets, c.ce_delivered_packets) = (8, 9);
                c.ce_received_packets = 9;
            }),
        ];
        for (wanted, spoil) in spoil {
            let mut spoilt = good();
            spoil(&mut spoilt);
            let problems = spoilt.judge();
            assert_eq!(problems.len(), 1, "{wanted}: {problems:?}");
            assert!(problems[0].contains(wanted), "{problems:?}");
        }
    }
}
