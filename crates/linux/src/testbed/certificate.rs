//! The certificate of a kernel run: how well the run kept time, and whether it is valid.

use super::realtime::Measured;
use ackclock_sim::scenario::Scenario;

/// Upper bound of the p99 of lateness, µs.
pub const BOUND_P99_US: f64 = 500.0;
/// Upper bound of the lateness of any packet, µs: half of the kernel's smallest retransmission
/// timeout. With a larger lateness a pause of the machine looks like a pause of the network.
pub const BOUND_MAX_US: f64 = 100_000.0;
/// How far the rate of a busy link may differ from the scenario's, as a fraction.
pub const BOUND_RATE: f64 = 0.01;
/// Busy time that a measurement of the rate needs at least.
const LEAST_BUSY_NS: u64 = 100_000_000;

const SYN_BYTES: f64 = 60.0;

/// The calibration certificate of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Certificate {
    /// Rate of the bottleneck in the scenario, bit/s.
    pub rate_bps: f64,
    /// Measured rate while the link was busy, bit/s; `None` if it was busy for less than 0.1 s.
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
    /// Packets lost at any other place than the bottleneck and the TUN devices.
    pub lost_elsewhere_packets: u64,
    /// Share of a core that the emulator and the sockets used.
    pub cpu: f64,
    /// Share of the machine's CPU time that its host took away.
    pub stolen: f64,
    /// Load average when the run ended.
    pub load: f64,
    /// What the emulator requested and did not get: real-time priority, locked memory.
    pub notes: Vec<String>,
    /// Why the run is not valid; empty if it is.
    pub problems: Vec<String>,
}

impl Certificate {
    pub(super) fn new(
        scenario: &Scenario,
        measured: &Measured,
        min_rtts_us: impl Iterator<Item = u32>,
        [tun_dropped_packets, lost_elsewhere_packets]: [u64; 2],
        [stolen, load]: [f64; 2],
    ) -> Self {
        let rate_bps = scenario.bottleneck.rate_bps as f64;
        let syn_us = SYN_BYTES * 8e6 / rate_bps;
        let excesses = min_rtts_us
            .zip(&scenario.flows)
            .filter(|(min_rtt_us, _)| *min_rtt_us > 0)
            .map(|(min_rtt_us, flow)| f64::from(min_rtt_us) - flow.rtt_ns as f64 / 1e3 - syn_us);
        let lateness = &measured.lateness;
        let asked = [
            ("real-time priority", &measured.not_realtime),
            ("locked memory", &measured.not_locked),
        ];
        let notes = asked
            .into_iter()
            .filter_map(|(what, error)| Some(format!("no {what}: {}", error.as_ref()?)));
        let mut certificate = Self {
            rate_bps,
            achieved_rate_bps: (measured.busy_ns >= LEAST_BUSY_NS)
                .then(|| measured.busy_bytes as f64 * 8e9 / measured.busy_ns as f64),
            min_rtt_excess_us: excesses.min_by(f64::total_cmp),
            delivered_packets: lateness.total(),
            lateness_p50_us: lateness.quantile_us(0.5),
            lateness_p99_us: lateness.quantile_us(0.99),
            lateness_p999_us: lateness.quantile_us(0.999),
            lateness_max_us: lateness.max_us(),
            sample_lateness_max_us: measured.sample_late_ns as f64 / 1e3,
            tun_dropped_packets,
            lost_elsewhere_packets,
            cpu: measured.cpu_time.as_secs_f64() * 1e9 / scenario.duration_ns as f64,
            stolen,
            load,
            notes: notes.collect(),
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
            problems.push(format!("{lost} packets were lost outside the bottleneck"));
        }
        problems
    }
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
        let spoil: [(&str, Spoil); 6] = [
            ("1 % of the packets", |c| c.lateness_p99_us = 501.0),
            ("a packet was 190107 us late", |c| {
                c.lateness_max_us = 190_107.0;
            }),
            ("+2.0 % off", |c| c.achieved_rate_bps = Some(1.02e8)),
            ("-2.0 % off", |c| c.achieved_rate_bps = Some(0.98e8)),
            ("1 packets were lost", |c| c.tun_dropped_packets = 1),
            ("1 packets were lost", |c| c.lost_elsewhere_packets = 1),
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
