//! QUIC stacks as flows of the simulator ([`ackclock_sim::guest`]): one text for quinn's
//! family, and a file for what each stack alone says.
//!
//! A stack is its authors' code, with its own settings, but for this. Nothing is encrypted: packets have
//! the sizes that they have with AES-GCM, and the flights of a handshake those of TLS's
//! (`handshake.rs`). IDs of connections are counted and random numbers have a seed, so that a run can
//! be repeated. Flow control leaves room for all that a path takes, unless the scenario says otherwise.
//! Nobody searches for a larger MTU, and nobody hangs up after a long silence.

mod handshake;
mod host;
mod noq;
mod quinn;
mod watch;

use ackclock_sim::guest::{self, Stack};

/// The stacks of this crate. `bbr` is quinn's of version 1, `bbr3` noq's of version 3.
pub static STACKS: [Stack; 2] = [
    Stack {
        name: "quinn",
        algorithms: &["cubic", "reno", "bbr"],
        open: quinn::open,
    },
    Stack {
        name: "noq",
        algorithms: &["cubic", "reno", "bbr3"],
        open: noq::open,
    },
];

/// Makes them known to the simulator.
pub fn install() {
    guest::install(&STACKS);
}
