//! What each flow has had delivered until a time.

use crate::values::{interpolated, steps};
use crate::{Setup, Table};

/// Payload that was delivered (ACKed or SACKed), by the samples. Between two of them it is on the
/// straight line, so they need not be equally spaced.
#[derive(Clone, Debug)]
pub struct Delivered {
    /// Of each flow bits of a packet, times in µs and packets delivered until then, from 0 on.
    flows: Vec<(f64, Vec<f64>, Vec<f64>)>,
}

impl Delivered {
    /// Nothing yet.
    pub fn new(setup: &Setup) -> Self {
        let of = |flow| (8.0 * setup.mss_of(flow) as f64, vec![0.0], vec![0.0]);
        Self {
            flows: setup.flows.iter().map(of).collect(),
        }
    }

    /// Takes the next samples.
    pub fn take(&mut self, samples: &dyn Table) {
        let (time_us, packets) = (samples.u64("time_us"), samples.u64("delivered_packets"));
        for (row, flow) in samples.u32("flow").iter().enumerate() {
            let (_, times_us, delivered) = &mut self.flows[*flow as usize - 1];
            times_us.push(time_us[row] as f64);
            delivered.push(packets[row] as f64);
        }
    }

    /// Until a time, of a flow by its index; NaN behind its last sample.
    pub fn bits(&self, flow: usize, time_s: f64) -> f64 {
        let (packet_bits, times_us, packets) = &self.flows[flow];
        interpolated(time_s * 1e6, times_us, packets) * packet_bits
    }

    /// Of a flow by its index, in the time between two edges.
    pub fn throughput_bps(&self, flow: usize, from_s: f64, until_s: f64) -> f64 {
        (self.bits(flow, until_s) - self.bits(flow, from_s)) / (until_s - from_s)
    }

    /// Time from the last start until the forward flows share fairly; `None`: not by the end. The first
    /// window begins then in which each has at least `share` of its part of the bottleneck. Windows slide
    /// by 1 s.
    pub fn convergence_s(
        &self,
        setup: &Setup,
        last_start_s: f64,
        window_s: f64,
        share: f64,
    ) -> Option<f64> {
        let forward = setup.forward();
        let fair_bps = share * setup.capacity_bps() / forward.len() as f64;
        let starts_s = steps(last_start_s, setup.duration_s() - window_s + 1e-6, 1.0);
        let is_fair = |from_s: &f64| {
            forward.iter().all(|flow| {
                let bits = self.bits(*flow, from_s + window_s) - self.bits(*flow, *from_s);
                bits / window_s >= fair_bps
            })
        };
        Some(starts_s.iter().position(is_fair)? as f64)
    }
}
