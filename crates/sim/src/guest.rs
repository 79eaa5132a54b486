//! Transports that are not ours as flows, such as QUIC stacks: their datagrams pass the links of a
//! scenario in its time.
//!
//! The engine asks both ends of a [`Guest`] what they send and when their timers are due, and gives
//! them what arrives. A guest has no clock, socket or thread of its own, so a seed repeats its run.

use crate::scenario::Flow;
use ackclock_net::queue::Ecn;
use std::sync::OnceLock;

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The one that opens the connection, and sends the data.
    Sender,
    /// The one that takes the data.
    Receiver,
}

impl End {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Sender, Self::Receiver];
}

/// What one end sends to the other at once.
#[derive(Clone, Debug)]
pub struct Datagram {
    /// Payload of UDP.
    pub bytes: Box<[u8]>,
    /// The ECN field of its IP header, which links may change.
    pub ecn: Ecn,
}

/// IP and UDP headers of a datagram, bytes.
pub const HEADER_BYTES: u32 = 28;

/// What a connection is to be.
#[derive(Clone, Debug)]
pub struct Settings {
    /// When it begins, in simulated time, ns.
    pub now_ns: u64,
    /// Seed of its random numbers.
    pub seed: u64,
    /// Payload of the largest datagram, bytes.
    pub datagram_bytes: u16,
    /// Its algorithm is a name of [`Stack::algorithms`].
    pub flow: Flow,
}

impl Settings {
    /// The initial window in bytes, if the flow has one: packets of the largest size (RFC 9002, 7.2).
    pub fn initial_window(&self) -> Option<u64> {
        let packets = self.flow.initcwnd?;
        Some(u64::from(packets) * u64::from(self.datagram_bytes))
    }
}

/// Both ends of a connection between two hosts.
pub trait Guest: Send {
    /// What an end sends now, one datagram at a call; asked until it is `None`, after each of the
    /// other calls.
    fn poll_transmit(&mut self, end: End, now_ns: u64) -> Option<Datagram>;

    /// A datagram of the other end arrives.
    fn receive(&mut self, end: End, now_ns: u64, datagram: Datagram);

    /// When a timer of an end is due next, ns; `u64::MAX`: none runs.
    fn poll_timeout(&mut self, end: End) -> u64;

    /// Its timers that are due.
    fn handle_timeout(&mut self, end: End, now_ns: u64);

    /// What has happened to the sender since this was asked last.
    fn poll_event(&mut self) -> Option<Event>;

    /// What the sender and the receiver know now.
    fn state(&self) -> State;
}

/// What happens to a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is over.
    Established,
    /// The stack begins a reduction. With window and data in flight before it, bytes.
    Recovery(u64, u64),
    /// Persistent congestion (RFC 9002, section 7.6), or the connection times out. With the same.
    Timeout(u64, u64),
    /// All data is acknowledged.
    Completed,
}

/// What a connection knows.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    /// Congestion window of the sender, bytes.
    pub cwnd_bytes: u64,
    /// Slow-start threshold, bytes; `None`: it has none yet.
    pub ssthresh_bytes: Option<u64>,
    /// Data in flight, bytes.
    pub in_flight_bytes: u64,
    /// Smoothed RTT, us.
    pub srtt_us: u32,
    /// Shortest RTT, us.
    pub min_rtt_us: u32,
    /// Data that the receiver's application has got, bytes.
    pub delivered_bytes: u64,
    /// Packets that the sender sent, and those of them that it takes for lost.
    pub sent_packets: u64,
    /// See above.
    pub lost_packets: u64,
}

/// A transport.
#[derive(Debug)]
pub struct Stack {
    /// What `stack` in a flow says.
    pub name: &'static str,
    /// Names of its congestion controls: those of ours that are of the same kind.
    pub algorithms: &'static [&'static str],
    /// Opens a connection.
    pub open: fn(&Settings) -> Box<dyn Guest>,
}

static STACKS: OnceLock<&'static [Stack]> = OnceLock::new();

/// Makes these stacks known. Only the first call counts.
pub fn install(stacks: &'static [Stack]) {
    STACKS.get_or_init(|| stacks);
}

/// The stacks that are installed.
pub(crate) fn installed() -> &'static [Stack] {
    STACKS.get().copied().unwrap_or_default()
}
