//! A simulation: what it consists of, how it may be run, and what it gives.

use super::acting::Acting;
use crate::capture::Capture;
use crate::census::{Census, TraceHash};
use crate::common_interval::CommonInterval;
use crate::flow::Flow;
use crate::record::{AckSeen, PacketTable, RunResult};
use crate::scenario::Scenario;
use ackclock_net::impair::Aims;
use ackclock_net::schedule::{Schedule, FEW};

/// Hosts and the network between them.
pub(super) struct Simulation<'a, W> {
    pub(super) scenario: &'a Scenario,
    /// No short way is taken (ADR 17).
    pub(super) long_way: bool,
    /// Timers of several flows may fire at one time.
    pub(super) same_jiffies: bool,
    pub(super) wire: W,
    /// The flows, then the sessions.
    pub(super) flows: Vec<Flow<'a>>,
    /// Of the flows; without elements if they take turns.
    pub(super) schedule: Schedule,
    pub(super) hash: TraceHash,
    pub(super) result: RunResult,
    pub(super) census: Census,
    pub(super) common_interval: CommonInterval,
    /// Until when each flow's host is busy with an ACK; empty if ACKs take no time.
    pub(super) busy_until_ns: Vec<u64>,
    /// Packets that a branch of the run loses, and those that it does not.
    pub(super) aims: Aims,
    /// The ACKs of flows, if somebody wants them.
    pub(super) acks: Option<Vec<AckSeen>>,
    /// Who sets parameters at ACKs; then nobody wants those.
    pub(super) acting: Option<Acting<'a>>,
    /// The packets of senders, if somebody wants them.
    pub(super) packets: Option<PacketTable>,
    /// Writes the packets, if somebody wants them.
    pub(super) capture: Option<Box<Capture<'a>>>,
    /// Who takes rows before the end of the run.
    pub(super) on_rows: Option<&'a mut OnRows<'a>>,
}

/// Takes rows of a run as they come: a result with rows in the tables that grow with time. The
/// rows of all calls, and then those of the result, are the tables.
pub type OnRows<'a> = dyn FnMut(RunResult) + 'a;

/// How a scenario is simulated, and what is wanted besides its result. Each way gives the same result:
/// tests compare them.
#[derive(Default)]
pub struct Options<'a> {
    /// An event for each packet, even where its departure can be predicted. The trace hash is another.
    pub events: bool,
    /// No short way of the common packet (ADR 17).
    pub long_way: bool,
    /// Flows take turns in rounds, as thousands of them do, however few they are, if they can.
    pub rounds: bool,
    /// Whether [`Run::acks`] are wanted.
    pub acks: bool,
    /// Whether [`Run::packets`] are wanted.
    pub packets: bool,
    /// Takes the rows of the tables that grow with time whenever there are [`RunResult::MOST_ROWS`], so
    /// that a long run needs no more memory than a short one, and whenever the [`Control`] wants them.
    pub on_rows: Option<&'a mut OnRows<'a>>,
    /// Sets parameters of an algorithm on the way: another run.
    pub acting: Option<Acting<'a>>,
    /// Writes the packets.
    pub capture: Option<Capture<'a>>,
}

/// What a run gives.
#[derive(Debug, Default)]
pub struct Run {
    /// Its tables.
    pub result: RunResult,
    /// Where its packets went.
    pub census: Census,
    /// What each sender was like when each ACK arrived, if that was wanted.
    pub acks: Vec<AckSeen>,
    /// The packets that the senders of flows sent and got, if they were wanted.
    pub packets: Option<PacketTable>,
    /// Whether its flows took turns in rounds.
    pub in_rounds: bool,
}

impl Options<'_> {
    /// Nobody looks at each ACK or packet, and no short way is forbidden.
    pub(super) fn allow_fast_path(&self) -> bool {
        self.capture.is_none() && !self.acks && !self.packets && !self.long_way
    }
}

/// Whether the timers of several flows may fire at one time, and few enough to look which is first.
pub(super) fn share_jiffies(scenario: &Scenario, flows: usize) -> bool {
    scenario.jitter_ns == 0 && (2..=FEW).contains(&flows)
}
