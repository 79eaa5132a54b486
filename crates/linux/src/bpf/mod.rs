//! Algorithms in the running kernel, through BPF `struct_ops`.
