//! Background traffic.

use super::limits::MAX_DURATION_NS;
use super::Flow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Background traffic, one connection after another: web traffic, downloads.
///
/// A session waits, opens a connection, sends, and starts again when all data is acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// The form of each connection. `stop_ns` is `None`.
    pub flow: Flow,
    /// Mean pause before each connection, drawn from an exponential distribution.
    #[schemars(range(max = MAX_DURATION_NS), extend("default" = 0))]
    pub gap_ns: u64,
    /// Distribution of the sizes around their mean.
    pub sizes: Sizes,
    /// Whether each connection starts with the ssthresh that the route kept of those before
    /// (`tcp_update_metrics`): Linux 2.6 does so, and later kernels if `tcp_no_ssthresh_metrics_save` is 0.
    /// The first one starts with `initial_ssthresh_packets`. Each session has a route of its own.
    // JSON leaves out `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("default" = false))]
    pub route_ssthresh: bool,
}

/// The distribution of the sizes of a session's transfers, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sizes {
    /// All sizes are equal.
    Equal,
    /// Shape of a Pareto distribution of sizes (default: equal sizes).
    Pareto(#[schemars(range(min = 1_001, max = 100_000))] u32),
    /// Standard deviation of the logarithm of lognormal sizes (default: equal sizes).
    Lognormal(#[schemars(range(min = 1, max = 10_000))] u32),
}
