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
//! [fingerprint](Algorithm::fingerprint) covers. It runs in the process that loads it ([`apart`]). Unless it is
//! trusted (`ACKCLOCK_TRUST=1`), each of its loads and stores is checked: it reads its socket, its sample, its
//! parameters, its stack and its constants, and writes what the contract lets it write. It has no
//! constructors, no inline assembly, no calls through pointers, and calls only the functions of
//! `tcp_cc.h`. When it crashes, or touches what is not its own, the process ends with status 1 and one
//! line that names the file, the line and the function.
#![warn(missing_docs)]
// Without a system below, nothing makes what only a user's file needs.
#![cfg_attr(not(feature = "native"), allow(dead_code))]

mod algorithm;
mod allowed;
mod configure;
mod congestion_control;
mod error;
mod guarded;
#[cfg(not(feature = "native"))]
pub mod guest;
mod kernel_program;
pub mod layout;
pub mod messages;
mod module;
#[cfg(feature = "native")]
mod native;
mod param;
mod places;
#[cfg(not(feature = "native"))]
mod plain;
mod pool;
mod prefetch;
mod preprocessed;
mod snapshot;
pub mod sock;
mod spelling;

#[cfg(not(feature = "native"))]
pub(crate) use plain::{checked, compile, crash, kernel_module, library, memory, thread_clock};

#[cfg(feature = "native")]
pub(crate) use native::{
    call, checked, compile, compiler, crash, kernel_form, kernel_module, library, lines, memory,
    scratch, source, struct_ops, thread_clock, translated, trust,
};

pub use algorithm::{Algorithm, Source, CHECKED_SUPPORT, KERNEL_SUPPORT, SUPPORT};
pub use configure::Configured;
pub use congestion_control::{CongestionControl, HostConfig, FALLBACK};
pub use error::AlgorithmError;
pub use kernel_module::KernelModule;
pub use kernel_program::KernelProgram;
pub use memory::{advise_large_pages, give_back_memory};
#[cfg(feature = "native")]
pub use native::{apart, confine, fuzz::fuzz, scratch::Scratch};
pub use param::{Param, Preset};
pub use pool::{PooledBox, PooledSlice};
pub use prefetch::prefetch;
pub use preprocessed::{Preprocessed, FILE_LABEL, LABEL_LINE};
pub use snapshot::Snapshot;
pub use sock::*;
pub use spelling::nearest;
pub use thread_clock::ThreadClock;
