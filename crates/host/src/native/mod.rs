//! What asks for a system below it: a compiler, a loader, signals, files, clocks.

pub mod apart;
pub(crate) mod call;
pub(crate) mod checked;
pub(crate) mod compile;
pub(crate) mod compiler;
pub mod confine;
pub(crate) mod crash;
pub mod fuzz;
pub(crate) mod kernel_compile;
pub(crate) mod kernel_form;
pub(crate) mod kernel_module;
pub(crate) mod library;
pub(crate) mod lines;
pub(crate) mod memory;
pub(crate) mod scratch;
pub(crate) mod source;
pub(crate) mod struct_ops;
pub(crate) mod thread_clock;
pub(crate) mod translated;
pub(crate) mod trust;
