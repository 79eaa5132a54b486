//! The real kernel.
//!
//! [`bpf`] registers algorithms of `algorithms/` as BPF `struct_ops` and streams their state.
//! [`testbed`] runs scenarios on the kernel's TCP through the [`emulator`].
#![warn(missing_docs)]

pub mod bpf;
mod doctor;
pub mod emulator;
mod sys;
pub mod testbed;

pub use doctor::{doctor, Finding};
