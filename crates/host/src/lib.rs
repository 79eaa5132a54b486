//! Runs congestion-control algorithms written in the restricted C of
//! `algorithms/` inside this process.
//!
//! ```
//! use ackclock_host::{Algorithm, CaState, CongestionControl, HostConfig};
//!
//! let cubic = Algorithm::configure("cubic@ha2008:fast_convergence=0")?;
//! let mut flow = CongestionControl::new(&cubic, HostConfig::default());
//! flow.init();
//! flow.tp_mut().snd_cwnd = 100;
//! flow.tp_mut().snd_ssthresh = flow.ssthresh();
//! flow.set_state(CaState::Recovery);
//! assert_eq!(flow.tp().snd_ssthresh, 79); // 100 * 819 / 1024
//! # Ok::<(), ackclock_host::AlgorithmError>(())
//! ```
//!
//! The caller is the TCP sender: it keeps [`TcpSock`] true and calls the hooks as
//! `tcp_ack` of Linux does.
//!
//! The built-in C code is trusted. A user's file is compiled from one snapshot of its text, which its
//! [fingerprint](Algorithm::fingerprint) covers. It runs in this process. Unless it is
//! trusted (`ACKCLOCK_TRUST=1`), each of its loads and stores is checked: it reads its socket, its sample, its
//! parameters, its stack and its constants, and writes what the contract lets it write. It has no
//! constructors, no inline assembly, no calls through pointers, and calls only the functions of
//! `tcp_cc.h`. When it crashes, or touches what is not its own, the process ends with status 1 and one
//! line that names the file, the line and the function.
#![warn(missing_docs)]

mod algorithm;
mod allowed;
mod call;
mod checked;
mod compile;
mod compiler;
mod configure;
mod congestion_control;
mod crash;
mod error;
mod guarded;
mod kernel_compile;
mod kernel_form;
mod kernel_module;
mod kernel_program;
#[cfg(test)]
mod layout;
mod library;
mod lines;
pub mod memory;
pub mod messages;
mod module;
mod param;
mod pool;
mod prefetch;
mod scratch;
mod snapshot;
pub mod sock;
mod source;
mod spelling;
mod thread_clock;
mod translated;
mod trust;

pub use algorithm::{Algorithm, KERNEL_SUPPORT, SUPPORT};
pub use configure::Configured;
pub use congestion_control::{CongestionControl, HostConfig};
pub use error::AlgorithmError;
pub use kernel_module::KernelModule;
pub use kernel_program::KernelProgram;
pub use memory::{advise_large_pages, give_back_memory};
pub use param::{Param, Preset};
pub use pool::{PooledBox, PooledSlice};
pub use prefetch::prefetch;
pub use scratch::Scratch;
pub use snapshot::Snapshot;
pub use sock::*;
pub use source::{Preprocessed, Source};
pub use thread_clock::ThreadClock;
