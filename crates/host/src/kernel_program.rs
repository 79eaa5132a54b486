//! What another host than the simulator makes programs of.

use std::collections::HashMap;

/// What another host makes of a file in the kernel's form that this process has loaded.
#[derive(Clone, Debug)]
pub struct KernelProgram {
    /// The hooks of its ops, and their functions: the file's own, or Reno's of the kernel.
    pub hooks: Vec<(&'static str, String)>,
    /// Has its cong_control the two arguments that Linux 6.9 had?
    pub has_two_arguments: bool,
    /// Those of its ops.
    pub flags: u32,
    /// The file's variables as module_init has left them.
    pub variables: HashMap<String, Vec<u8>>,
}
