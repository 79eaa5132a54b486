//! One program of all tests of this crate: built and linked once, run on every core.

mod elements;
mod linux;
mod queues;
