//! What lies between two hosts: losses, queues, links and delays, the order of events, and the random
//! streams. This crate has no clock and does no I/O. The simulator moves its time from event to
//! event; the emulator of `ackclock-linux` uses the same code on the real clock.
#![forbid(unsafe_code)]

pub mod buffer;
pub mod changes;
pub mod impair;
pub mod line;
pub mod link;
pub mod network;
pub mod queue;
pub mod rate;
pub mod ring;
pub mod rng;
pub mod schedule;
