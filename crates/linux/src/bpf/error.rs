//! What can go wrong with the kernel, in words for its user.

use ackclock_host::AlgorithmError;

/// Why the kernel does not do as asked.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The algorithm is not as asked for.
    #[error(transparent)]
    Algorithm(#[from] AlgorithmError),
    /// A capability is missing.
    #[error("{what} needs root (CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN and CAP_SYS_ADMIN); run it with sudo. The simulator needs no root")]
    NotRoot {
        /// What was asked for.
        what: String,
    },
    /// The kernel does not describe its types.
    #[error("this kernel has no BTF (/sys/kernel/btf/vmlinux is missing), by which BPF programs find the socket's members; boot one built with CONFIG_DEBUG_INFO_BTF=y, as those of Debian, Ubuntu and Fedora are")]
    NoBtf,
    /// The kernel lacks something that came later.
    #[error("Linux {release} is too old: {what} came with Linux {since}")]
    TooOld {
        /// The kernel here.
        release: String,
        /// What it lacks.
        what: &'static str,
        /// The first that has it.
        since: &'static str,
    },
    /// The kernel's configuration lacks something.
    #[error("this kernel cannot have congestion control in BPF: its BTF has no bpf_struct_ops_tcp_congestion_ops (CONFIG_BPF_SYSCALL, CONFIG_BPF_JIT and CONFIG_NET are needed)")]
    NoStructOps,
    /// A user's file, and nothing to compile it with.
    #[error("{path}: {}", super::clang::NO_CLANG)]
    NoClang {
        /// The file.
        path: String,
    },
    /// clang refuses the file.
    #[error("{path} does not compile for BPF:\n{messages}")]
    DoesNotCompile {
        /// The file.
        path: String,
        /// The compiler's first messages.
        messages: String,
    },
    /// The verifier refuses the program.
    #[error("the kernel's verifier refuses {spec}:\n{log}")]
    Refused {
        /// The algorithm.
        spec: String,
        /// The end of the verifier's log.
        log: String,
    },
    /// A name that the kernel cannot have.
    #[error("name = `{name}`: {problem}; give another with --name")]
    BadName {
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The name is in use.
    #[error("the kernel has an algorithm `{name}` already; give another name with --name, or free this one with `ackclock undeploy {name}` if `ackclock status` lists it")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// Nothing of that name is deployed.
    #[error("`{name}` is not deployed; {known}")]
    NotDeployed {
        /// The name.
        name: String,
        /// What is.
        known: String,
    },
    /// What would be mounted ends with the command.
    #[error("this command has a mount namespace of its own without the BPF file system, as under `ip netns exec`: what is deployed in it ends with it; use nsenter --net=/run/netns/NAME instead")]
    PrivateMounts,
    /// The operating system got in the way.
    #[error("cannot {what}: {reason}")]
    System {
        /// What was tried.
        what: String,
        /// The system's words.
        reason: String,
    },
}

impl KernelError {
    pub(crate) fn system(what: impl Into<String>, reason: impl ToString) -> Self {
        Self::System {
            what: what.into(),
            reason: reason.to_string(),
        }
    }
}
