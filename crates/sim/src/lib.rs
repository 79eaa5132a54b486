//! A fast, deterministic packet simulator with a TCP endpoint that behaves as Linux does.
#![forbid(unsafe_code)]

mod acks;
pub mod batch;
pub mod capture;
mod census;
pub mod common_interval;
mod control;
pub mod describe;
pub mod engine;
mod error;
mod flow;
pub mod follow;
pub mod guest;
mod header;
pub mod packet_script;
mod packets;
pub mod record;
pub mod scenario;
pub mod schema;
mod session;
pub mod tcp;
pub mod topology;
mod udp;
pub mod write_schedule;

pub use census::Census;
pub use control::{Control, STALL_LIMIT};
pub use engine::{run, run_with, Acting, OnRows, Options, Run, Seen, SEEN};
pub use error::RunError;
pub use record::RunResult;
pub use scenario::{Prepared, Scenario, ScenarioError};
