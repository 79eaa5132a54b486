//! The part of the link emulator without clock and I/O: real packets pass the simulator's own link.
//!
//! [`EmulatedDumbbell`] holds the packets between the two hosts and says when each packet is due.
//! `testbed::realtime` reads and writes the packets at those times. Departures follow the
//! virtual clock of [`ackclock_net::link::Predicted`]: a late wake-up changes when a packet is
//! written, never which packets leave or are dropped.

mod dumbbell;
mod lateness;
mod ring;

pub(crate) use dumbbell::room;
pub use dumbbell::{Due, EmulatedDumbbell, Toward, FIRST_PORT};
pub use lateness::Lateness;
