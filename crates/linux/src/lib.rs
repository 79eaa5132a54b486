//! The real kernel.
//!
//! [`bpf`] registers algorithms of `algorithms/` as BPF `struct_ops` and streams their state.
#![warn(missing_docs)]

pub mod bpf;
mod doctor;

pub use doctor::{doctor, Finding};
