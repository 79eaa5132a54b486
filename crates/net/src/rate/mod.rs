//! When the service of a packet ends: one short file for each kind of rate.

mod constant;
mod policer;
mod steps;
mod ticks;
mod trace;

pub use constant::ConstantRate;
pub use policer::{Policer, PolicerParameters};
pub use steps::{RateStep, SteppedRate};
pub use ticks::{Release, Ticks};
pub use trace::Trace;

use crate::link::Bottleneck;

/// The rate of a link.
#[derive(Clone, Debug)]
pub enum Rate {
    /// A wire or a token bucket, whose rate may change at times.
    Stepped(SteppedRate),
    /// The opportunities of a recorded link.
    Trace(Trace),
}

impl Rate {
    /// The rate of an idle link at time 0.
    pub fn new(bottleneck: &Bottleneck) -> Self {
        match &bottleneck.trace_ms {
            Some(times_ms) => Self::Trace(Trace::new(times_ms)),
            None => Self::Stepped(SteppedRate::new(
                bottleneck.rate_bps,
                bottleneck.burst_bytes,
                &bottleneck.rate_at,
            )),
        }
    }

    /// Serves a packet that is ready now, after all packets before it. Returns when its last bit
    /// leaves.
    #[inline]
    pub fn serve(&mut self, now_ns: u64, bytes: u32) -> u64 {
        match self {
            Self::Stepped(rate) => rate.serve(now_ns, bytes),
            Self::Trace(trace) => trace.serve(now_ns, bytes),
        }
    }

    /// As [`SteppedRate::run`].
    #[inline]
    pub fn run(&mut self, now_ns: u64, leaves_ns: u64) -> u64 {
        match self {
            Self::Stepped(rate) => rate.run(now_ns, leaves_ns),
            Self::Trace(_) => leaves_ns,
        }
    }
}
