//! Algorithms in the running kernel, through BPF `struct_ops`.

pub(crate) mod bpffs;
mod check;
pub(crate) mod clang;
mod compile;
mod deploy;
mod error;
mod inet_diag;
mod kernel_form;
mod lines;
mod load;
pub(crate) mod namespaces;
mod private;
pub(crate) mod requirements;
mod status;
mod tables;
mod telemetry;

pub use bpffs::Caller;
pub use check::{check, Checked};
pub use compile::{object, BpfObject};
pub(crate) use deploy::rehearse;
pub use deploy::{deploy, deployed, undeploy, Deployed, Undeployed};
pub use error::KernelError;
pub use load::{unless_interrupted, Registered};
pub use private::PrivateField;
pub use requirements::require;
pub use status::{status, Status};
pub use telemetry::{AckRecord, Filter, Telemetry};
