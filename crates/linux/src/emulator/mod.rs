//! The link emulator's pure part: real packets through the simulator's own link, no clock, no I/O.
//!
//! [`Dumbbell`] holds the packets between the two hosts and says when each is due;
//! `testbed::realtime` reads and writes them at those times. Departures follow the
//! virtual clock of [`ackclock_sim::link::Link`]: waking up late changes when a packet is
//! written out, never which packets leave or are dropped.

mod dumbbell;
mod lateness;
mod ring;

pub(crate) use dumbbell::room;
pub use dumbbell::{Due, Dumbbell, Toward, FIRST_PORT};
pub use lateness::Lateness;
