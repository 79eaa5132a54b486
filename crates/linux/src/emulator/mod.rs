//! The part of the link emulator without clock and I/O: real packets pass the simulator's own
//! network.
//!
//! [`EmulatedNetwork`] holds the packets between the two hosts and says when each packet is due.
//! `testbed::realtime` reads and writes the packets at those times. Links follow the virtual clock
//! of [`ackclock_net::network::Network`]: a late wake-up changes when a packet is written, never
//! which packets leave, or are dropped or marked.

mod header;
mod lateness;
mod network;

pub use header::Conversation;
pub use lateness::Lateness;
pub use network::{Counts, Due, EmulatedNetwork, Toward, FIRST_PORT};
