//! What registering an algorithm needs of machine and user.

use std::fs;
use std::path::Path;

use super::KernelError;
use crate::sys;

/// The types of the kernel.
pub(crate) const BTF: &str = "/sys/kernel/btf/vmlinux";
/// Links of `struct_ops`, which make registering atomic.
pub(crate) const LINKS_SINCE: (u32, u32) = (6, 4);
/// Something that root may do and this process may not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capability {
    pub name: &'static str,
    bit: u32,
    /// Can nothing be registered without it?
    pub needed: bool,
    /// What does not work without it.
    pub cost: &'static str,
}

const fn capability(name: &'static str, bit: u32, needed: bool, cost: &'static str) -> Capability {
    Capability {
        name,
        bit,
        needed,
        cost,
    }
}

/// What something here uses, of capabilities(7).
const CAPABILITIES: [Capability; 7] = [
    capability(
        "CAP_SYS_ADMIN",
        21,
        true,
        "deploy, status and the testbed do not work",
    ),
    capability("CAP_NET_ADMIN", 12, false, "the testbed does not work"),
    capability(
        "CAP_BPF",
        39,
        false,
        "nothing is lost: CAP_SYS_ADMIN includes it",
    ),
    capability(
        "CAP_PERFMON",
        38,
        false,
        "nothing is lost: CAP_SYS_ADMIN includes it",
    ),
    capability(
        "CAP_SYS_PTRACE",
        19,
        false,
        "status may miss sockets and holders in processes of others",
    ),
    capability(
        "CAP_SYS_RESOURCE",
        24,
        false,
        "deploy may not see whether it runs in a mount namespace of its own",
    ),
    capability(
        "CAP_SYS_NICE",
        23,
        false,
        "the testbed runs without real-time priority: more packets are late",
    ),
];

/// Checks that this process can do `what` on this kernel.
///
/// # Errors
/// The first thing that is missing.
pub fn require(what: &str) -> Result<(), KernelError> {
    let (release, version) = kernel();
    if version < LINKS_SINCE {
        return Err(KernelError::Other(format!("Linux {release} is too old: the link by which BPF congestion control is registered came with Linux 6.4")));
    }
    if !has_btf() {
        return Err(KernelError::Other("this kernel has no BTF: /sys/kernel/btf/vmlinux is missing, and BPF programs find the members of a socket by it; boot a kernel built with CONFIG_DEBUG_INFO_BTF=y, such as those of Debian, Ubuntu and Fedora".into()));
    }
    let missing = missing_capabilities();
    match missing.iter().find(|missing| missing.needed) {
        None => Ok(()),
        Some(missing) => Err(KernelError::not_root(what, missing.name)),
    }
}

/// As [`require`], for what changes the machine: its files must be root's.
pub(crate) fn require_root(what: &str) -> Result<(), KernelError> {
    require(what)?;
    match sys::user() {
        0 => Ok(()),
        user => Err(KernelError::not_root(
            what,
            &format!("the user number 0 (it has {user})"),
        )),
    }
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
pub(crate) fn missing_capabilities() -> Vec<Capability> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0);
    let missing = |each: &Capability| effective >> each.bit & 1 == 0;
    CAPABILITIES.into_iter().filter(missing).collect()
}
