//! Algorithms in the running kernel, through BPF `struct_ops`.

mod clang;
mod compile;
mod error;
mod load;
mod requirements;

pub use compile::object;
pub use error::KernelError;
pub use load::{Registered, NAME_MAX};
pub use requirements::require;
