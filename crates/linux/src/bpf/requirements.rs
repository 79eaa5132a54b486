//! What registering an algorithm needs of machine and user.

use std::fs;
use std::path::Path;

use super::KernelError;

/// The types of the kernel.
pub(crate) const BTF: &str = "/sys/kernel/btf/vmlinux";
/// Links of `struct_ops`, which make registering atomic.
pub(crate) const LINKS_SINCE: (u32, u32) = (6, 4);
const CAPABILITIES: [(&str, u32); 4] = [
    ("CAP_NET_ADMIN", 12),
    ("CAP_SYS_ADMIN", 21),
    ("CAP_PERFMON", 38),
    ("CAP_BPF", 39),
];

/// Checks that this process can do `what` on this kernel.
///
/// # Errors
/// The first thing that is missing.
pub fn require(what: &str) -> Result<(), KernelError> {
    let (release, version) = kernel();
    if version < LINKS_SINCE {
        return Err(KernelError::TooOld {
            release,
            what: "the link by which BPF congestion control is registered",
            since: "6.4",
        });
    }
    if !has_btf() {
        return Err(KernelError::NoBtf);
    }
    if !missing_capabilities().is_empty() {
        return Err(KernelError::NotRoot { what: what.into() });
    }
    Ok(())
}

pub(crate) fn has_btf() -> bool {
    Path::new(BTF).exists()
}

/// The kernel's release, and its (major, minor).
pub(crate) fn kernel() -> (String, (u32, u32)) {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .map(|part| part.parse().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    (release.trim().to_string(), version)
}

/// Those that this process lacks.
pub(crate) fn missing_capabilities() -> Vec<&'static str> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0);
    let missing = CAPABILITIES
        .iter()
        .filter(|(_, bit)| effective >> bit & 1 == 0);
    missing.map(|(name, _)| *name).collect()
}
