//! A TCP connection.

use super::error::check;
use super::limits::{
    MAX_DURATION_NS, MAX_LIMIT_BYTES, MAX_RTT_NS, MAX_TRANSFER_BYTES, MIN_RECEIVE_BUFFER_BYTES,
    NS_PER_S,
};
use super::{EcnMode, Profile, ScenarioError};
use crate::tcp::ReceiveBuffer;
use ackclock_host::{Configured, Snapshot};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The prefix of the name of one of the kernel's own algorithms, as in `kernel:cubic`.
pub const KERNEL: &str = "kernel:";

/// One TCP connection that always has data to send, or `count` of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// NAME[@PRESET][:PARAMETER=VALUE,…]. NAME is an algorithm of `ackclock list` or the path of a
    /// C file. `kernel:NAME` is Linux's own algorithm, only on the kernel and on vlinux.
    pub algorithm: String,
    /// What sends and receives in place of Linux's TCP: the QUIC stack `quinn` or `noq`, whose own
    /// CUBIC, Reno or BBR `algorithm` is then; or `udp` at a constant `rate`, with the algorithm `none`
    /// (default: Linux's TCP).
    // JSON leaves out none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<StackName>,
    /// TCP stack of its two hosts (default: the scenario's `profile`).
    // JSON leaves out none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Whether its hosts send bursts that the network card cuts into packets (default: the scenario's `tso`;
    /// that of its own `profile`, if the scenario says nothing).
    // JSON leaves out none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tso: Option<bool>,
    /// Direction of its data: `forward` or `reverse`. With a reverse flow or session the reverse
    /// path gets the same bottleneck, where ACKs and data share a queue.
    #[schemars(extend("default" = "forward"))]
    pub direction: Direction,
    /// Numbers of the links that its data passes, in order (default: every link).
    // JSON leaves out an empty list, which stands for the default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1_000), inner(range(min = 1, max = 1_000)))]
    pub route: Vec<u32>,
    /// Numbers of the links that its ACKs pass, in order (default: none).
    // JSON leaves out an empty list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1_000), inner(range(min = 1, max = 1_000)))]
    pub back: Vec<u32>,
    /// Round-trip propagation delay (default: the scenario's `rtt`). The delays of the
    /// links on its way come on top.
    #[schemars(range(min = 1_000, max = MAX_RTT_NS), example = NS_PER_S / 10)]
    pub rtt_ns: u64,
    /// Mean of an extra delay added to `rtt`, drawn once per connection from an exponential
    /// distribution.
    #[schemars(range(max = MAX_RTT_NS), extend("default" = 0))]
    pub rtt_exponential_ns: u64,
    /// Time at which it connects; of a session: at which its first pause starts.
    #[schemars(range(max = MAX_DURATION_NS), extend("default" = 0))]
    pub start_ns: u64,
    /// Longest extra delay after `start`, drawn uniformly from 0 to this.
    #[schemars(range(max = MAX_DURATION_NS), extend("default" = 0))]
    pub start_spread_ns: u64,
    /// Time at which its application stops sending (default: never).
    #[schemars(range(max = MAX_DURATION_NS))]
    pub stop_ns: Option<u64>,
    /// Its application writes a frame each so often, as sound and video do, and otherwise nothing: a
    /// table of the `size` of a frame (whole segments over TCP) and the time `every` (default: it always has
    /// data to send).
    // JSON leaves out none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<Frames>,
    /// What its application writes on the one connection, phase after phase: a list of tables of `at`,
    /// `size` (whole segments over TCP), `every` and `pause`. `frames` is the same with one phase (default:
    /// it always has data to send).
    // JSON leaves out an empty list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10_000))]
    pub writes: Vec<Write>,
    /// Data that it sends in all, over TCP in whole segments; of a session: the mean size of a transfer.
    /// "2MB" or "600packets" (default: one connection without end).
    #[schemars(range(min = 1, max = MAX_TRANSFER_BYTES))]
    pub size_bytes: Option<u64>,
    /// Receive window (default: no limit).
    #[schemars(range(min = 1, max = MAX_LIMIT_BYTES))]
    pub receive_window_bytes: Option<u64>,
    /// Most of its receive buffer (`tcp_rmem`), by which Linux tunes the window (default: it is constant).
    // JSON leaves out none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MIN_RECEIVE_BUFFER_BYTES, max = MAX_LIMIT_BYTES))]
    pub receive_buffer_bytes: Option<u64>,
    /// Sender's buffer for unacknowledged data (default: no limit).
    #[schemars(range(min = 1, max = MAX_LIMIT_BYTES))]
    pub send_buffer_bytes: Option<u64>,
    /// How fast the application of its receiver reads, "0bit": not at all. What it leaves fills
    /// `receive_buffer`, or twice `receive_window` (default: it reads all).
    // JSON leaves out none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_000_000_000_000_u64), example = 20_000_000)]
    pub read_rate_bps: Option<u64>,
    /// When `read_rate` changes: a list of tables of `time` and `rate`.
    // JSON leaves out an empty list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10_000))]
    pub read_rate_at: Vec<ReadStep>,
    /// Payload of a full segment in bytes, at most the scenario's `mss`, as from a smaller MTU at both
    /// hosts (default: the scenario's `mss`).
    // JSON leaves out none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 64, max = 65_483))]
    pub mss_bytes: Option<u32>,
    /// Packets of the initial window, as a route's `initcwnd` (default: 10; of Linux 2.6 as RFC 3390).
    // JSON leaves out none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub initcwnd: Option<u32>,
    /// Highest rate at which its sender paces, without headers, as `SO_MAX_PACING_RATE`; with one it
    /// paces, whatever `pacing` says (default: no limit).
    // JSON leaves out none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1_000, max = 1_000_000_000_000_u64))]
    pub max_pacing_rate_bps: Option<u64>,
    /// Whether both hosts use SACK (RFC 2018; `tcp_sack` of today's Linux); else NewReno (RFC 6582).
    // JSON leaves out `true`.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    #[schemars(extend("default" = true))]
    pub sack: bool,
    /// Whether time tells what is lost (RACK; `tcp_recovery` until Linux 6.16); else three SACKed segments
    /// above it do (RFC 6675), or as many as the path reorders.
    // JSON leaves out `true`.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    #[schemars(extend("default" = true))]
    pub rack: bool,
    /// Whether it sends tail loss probes (RFC 8985; `tcp_early_retrans` of today's Linux).
    // JSON leaves out `true`.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    #[schemars(extend("default" = true))]
    pub tlp: bool,
    /// Whether both hosts send timestamps (RFC 7323; `tcp_timestamps` of today's Linux), 12 bytes of each
    /// header. Without them SACK has room for a fourth block.
    // JSON leaves out `true`.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    #[schemars(extend("default" = true))]
    pub timestamps: bool,
    /// Whether its window shrinks when it has not been used for a timeout (RFC 2861;
    /// `tcp_slow_start_after_idle`).
    // JSON leaves out `true`.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    #[schemars(extend("default" = true))]
    pub slow_start_after_idle: bool,
    /// A timeout exceeds the RTT by this or more, as a route's `rto_min` at both hosts: no ACK is
    /// delayed for as long (default: 200 ms).
    // JSON leaves out none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1_000_000, max = 120_000_000_000_u64), example = 5_000_000)]
    pub rto_min_ns: Option<u64>,
    /// ssthresh at the start, as from a route's cached metric (default: no limit).
    #[schemars(range(min = 2, max = ackclock_host::TCP_INFINITE_SSTHRESH))]
    pub initial_ssthresh_packets: Option<u32>,
    /// Whether both hosts use ECN (RFC 3168), if the path lets the first SYN through.
    /// `"accurate"`: the receiver counts marks, and each ACK tells the count (RFC 9768).
    // JSON leaves out `false`.
    #[serde(default, skip_serializing_if = "EcnMode::is_off")]
    #[schemars(extend("default" = false))]
    pub ecn: EcnMode,
    /// Full segments per ACK (default: the scenario's `delayed_ack_segments`).
    // JSON leaves out none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 64))]
    pub delayed_ack_segments: Option<u32>,
    /// When the application of its receiver reads (default: the scenario's `reads`).
    // JSON leaves out none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<Reads>,
    /// The device of its receiver merges packets (GRO) until it has been quiet for so long
    /// (`gro_flush_timeout`), so that TCP takes up to 64 KiB as one (default: it merges none).
    // JSON leaves out none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1_000, max = 1_000_000), example = 20_000)]
    pub gro_ns: Option<u64>,
    /// What its receiver hides from it, to get more than its share: `nothing`; `losses`, so that it
    /// acknowledges packets that never came; or `marks`, of which it echoes none.
    // JSON leaves out `nothing`.
    #[serde(default, skip_serializing_if = "Hides::is_nothing")]
    #[schemars(extend("default" = "nothing"))]
    pub hides: Hides,
    /// How fast `udp` sends, IP headers included.
    // JSON leaves out none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1_000, max = 1_000_000_000_000_u64), example = 20_000_000)]
    pub rate_bps: Option<u64>,
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_yes(value: &bool) -> bool {
    *value
}

/// A change of how fast an application reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadStep {
    /// When it changes; if it then reads at all, it reads at once.
    #[schemars(range(max = MAX_DURATION_NS), example = 20_000_000_000_u64)]
    pub time_ns: u64,
    /// The rate from then on; "0bit": it does not read.
    #[schemars(range(max = 1_000_000_000_000_u64), example = 25_000_000)]
    pub rate_bps: u64,
}

/// When the application of a receiver reads (`linux-6`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reads {
    /// As soon as data has arrived. The receiver then acknowledges the end of each burst.
    #[serde(alias = "at once")]
    AtOnce,
    /// Each 256 KiB (`SO_RCVLOWAT`).
    Bulk,
}

/// What may stand in the place of Linux's TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StackName {
    /// quinn-proto.
    Quinn,
    /// noq-proto.
    Noq,
    /// UDP at a constant rate.
    Udp,
}

impl StackName {
    /// As in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quinn => "quinn",
            Self::Noq => "noq",
            Self::Udp => "udp",
        }
    }
}

/// What a receiver hides from its sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Hides {
    /// The receiver is honest.
    #[default]
    Nothing,
    /// The receiver acknowledges what is missing.
    Losses,
    /// The receiver does not echo ECN's marks.
    Marks,
}

impl Hides {
    fn is_nothing(&self) -> bool {
        *self == Self::Nothing
    }
}

/// What an application writes, the first frame as soon as it is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Frames {
    /// Size of a frame; over TCP rounded up to full segments.
    #[schemars(range(min = 1, max = 1_u64 << 40), example = 10_000)]
    pub size_bytes: u64,
    /// Time between two frames.
    #[schemars(range(min = 1_000, max = MAX_DURATION_NS), example = 20_000_000)]
    pub every_ns: u64,
}

/// A phase of what an application writes. It lasts until the next one begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// When it begins: time after the flow is connected.
    #[schemars(range(max = MAX_DURATION_NS), extend("default" = 0))]
    pub at_ns: u64,
    /// Size of a write; over TCP rounded up to full segments (default: from then on there is always data).
    #[schemars(range(min = 1, max = 1_u64 << 40), example = 10_000)]
    pub size_bytes: Option<u64>,
    /// Time between two writes (default: it writes once).
    #[schemars(range(min = 1_000, max = MAX_DURATION_NS), example = 20_000_000)]
    pub every_ns: Option<u64>,
    /// Instead of `every`: the pause from when all is acknowledged until it writes again, as who answers
    /// one request after the other.
    #[schemars(range(max = MAX_DURATION_NS), example = 1_000_000_000)]
    pub pause_ns: Option<u64>,
}

/// Bytes of the option with timestamps, padded.
pub(crate) const STAMPS_BYTES: u32 = 12;

impl Flow {
    /// What its headers have less than others.
    pub(crate) fn missing_bytes(&self) -> u32 {
        match self.timestamps {
            true => 0,
            false => STAMPS_BYTES,
        }
    }

    /// The receive buffer whose room is its window: one that Linux tunes, or if its reader is slow, that of a
    /// constant window. `mss`: bytes of its segments.
    pub(crate) fn receive_buffer(&self, mss: u64) -> Option<ReceiveBuffer> {
        let constant = self
            .receive_window_bytes
            .filter(|_| self.read_rate_bps.is_some());
        let constant = constant.map(|bytes| ReceiveBuffer::Fixed(2 * (bytes / mss * mss)));
        self.receive_buffer_bytes
            .map(ReceiveBuffer::Tuned)
            .or(constant)
    }

    /// Checks what its application writes.
    pub(super) fn check_writes(&self, of: &str) -> Result<(), ScenarioError> {
        let value = || match self.frames {
            Some(frames) => format!("{frames:?}"),
            None => format!("{:?}", self.writes),
        };
        let name = if self.frames.is_some() {
            "frames"
        } else {
            "writes"
        };
        let refuse = |ok: bool, fix: &str| check(ok, &format!("{of}.{name}"), value(), fix);
        let some = self.frames.is_some() || !self.writes.is_empty();
        refuse(
            !some || self.size_bytes.is_none(),
            "what is written says how much; leave out size, or this",
        )?;
        refuse(
            self.frames.is_none() || self.writes.is_empty(),
            "writes says the same; leave out one of the two",
        )?;
        for (number, phase) in self.writes.iter().enumerate() {
            let next = self.writes.get(number + 1);
            let refuse = |ok, fix: &str| refuse(ok, &format!("phase {}: {fix}", number + 1));
            refuse(
                next.is_none_or(|next| next.at_ns > phase.at_ns),
                "the next begins no later; give each a later at",
            )?;
            refuse(
                phase.every_ns.is_none() || phase.pause_ns.is_none(),
                "has every and pause; leave out one of the two",
            )?;
            let again = phase.every_ns.is_some() || phase.pause_ns.is_some();
            refuse(
                phase.size_bytes.is_some() || (next.is_none() && !again),
                "has no size, so it has no end; give it one, or make it the last",
            )?;
        }
        Ok(())
    }

    /// A flow that starts at once, never ends, and that only its algorithm limits.
    pub fn endless(algorithm: &str, rtt_ns: u64) -> Self {
        let given = json!({
            "algorithm": algorithm, "direction": "forward", "rtt_ns": rtt_ns, "rtt_exponential_ns": 0,
            "start_ns": 0, "start_spread_ns": 0,
        });
        serde_json::from_value(given).expect("every other field may be missing")
    }

    pub(super) fn configure(
        &self,
        of: &str,
        hz: u32,
        snapshot: &Snapshot,
    ) -> Result<Configured, ScenarioError> {
        let configured = snapshot.configure(&self.algorithm);
        // A file in the kernel's form is compiled for the scenario's HZ.
        let loaded = configured.and_then(|configured| configured.load(hz).map(|_| configured));
        loaded.map_err(|error| ScenarioError {
            field: format!("{of}.algorithm"),
            value: self.algorithm.clone(),
            fix: error.to_string(),
        })
    }
}

/// Which of the two queues the data passes; the ACKs pass the other queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Queue 1.
    Forward,
    /// Queue 2.
    Reverse,
}
