//! Programs on the hosts of a scenario, on Linux in virtual time.

use super::limits::{MAX_DURATION_NS, MAX_RTT_NS, NS_PER_S};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A program on one of two hosts, which `--on vlinux` runs as it is (docs/programs.md).
///
/// A lone bottleneck is there in both directions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Its words, as a shell reads them.
    #[schemars(length(min = 1))]
    pub command: String,
    /// Its host: `"client"`, whose data passes the links, or `"server"`.
    #[schemars(extend("default" = "client"))]
    pub side: Side,
    /// When it begins. Servers with the same time begin one by one, each once the one before has a port,
    /// and clients after them.
    #[schemars(range(max = MAX_DURATION_NS), extend("default" = 0))]
    pub start_ns: u64,
    /// When it is asked to end (SIGTERM); without it, it may run to the end of the scenario.
    #[schemars(range(max = MAX_DURATION_NS))]
    pub stop_ns: Option<u64>,
    /// What each of its system calls takes: computing takes no time.
    #[schemars(range(max = NS_PER_S), extend("default" = 1_000))]
    pub call_ns: u64,
    /// Variables of its environment beside the user's, as a shell reads them: `"A=1 B='of two words'"`.
    #[schemars(extend("default" = ""))]
    pub environment: String,
    /// Files and directories that stand in its directory, as a shell reads them: `"nginx.conf 'my page'"`.
    /// Paths begin at the scenario file; it finds them by their last names.
    #[schemars(extend("default" = ""))]
    pub files: String,
    /// The algorithm with which sockets of its host begin (default: Linux's own, `kernel:cubic`).
    pub algorithm: Option<String>,
    /// RTT without queues, one for all programs (default: the scenario's).
    #[schemars(range(min = 1, max = MAX_RTT_NS), example = NS_PER_S / 10)]
    pub rtt_ns: u64,
}

/// The host of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Its data passes the links.
    Client,
    /// Its data passes the bottleneck of the other direction, if there is one.
    Server,
}
