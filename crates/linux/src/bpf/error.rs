//! What can go wrong with the kernel, in words for its user.

use ackclock_host::AlgorithmError;

/// Why the kernel does not do as asked.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The algorithm is not as asked for.
    #[error(transparent)]
    Algorithm(#[from] AlgorithmError),
    /// A capability is missing.
    #[error("{what} needs root; this process lacks {missing}: run it with sudo, in a container with --privileged. The simulator needs no root")]
    NotRoot {
        /// What was asked for.
        what: String,
        /// Capabilities, or the user number 0.
        missing: String,
    },
    /// The kernel does not describe its types.
    #[error("this kernel has no BTF: /sys/kernel/btf/vmlinux is missing, and BPF programs find the members of a socket by it; boot a kernel built with CONFIG_DEBUG_INFO_BTF=y, such as those of Debian, Ubuntu and Fedora")]
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
    #[error("this kernel does not support congestion control in BPF: its BTF has no bpf_struct_ops_tcp_congestion_ops; boot a kernel built with CONFIG_BPF_SYSCALL=y, CONFIG_BPF_JIT=y and CONFIG_NET=y")]
    NoStructOps,
    /// The kernel has a hook for one of the events, and this is not registered there.
    #[error("{spec} would miss CA_EVENT_TX_START: this kernel sends it to the hook cwnd_event_tx_start of Linux 7.1, and libbpf did not register it there; boot an older kernel, and report this with the output of `ackclock doctor`")]
    MissesEvent {
        /// The algorithm.
        spec: String,
    },
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
    #[error(
        "the kernel's verifier refuses {spec}{place}: {reason}; {}",
        fix(reason)
    )]
    Refused {
        /// The algorithm.
        spec: String,
        /// Line of the C file, as ` (my_cc.c:4)`; empty if the log names none.
        place: String,
        /// The verifier's last words.
        reason: String,
        /// The end of the verifier's log.
        log: String,
    },
    /// A name that the kernel cannot have.
    #[error("name `{name}`: {problem}; choose another name with --name")]
    BadName {
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The name is in use, and not by a deployment.
    #[error("another program has registered an algorithm `{name}` in the kernel; choose another name with --name (`ackclock status` shows who holds `{name}`)")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// The name is that of another deployment.
    #[error("`{name}` is already deployed as {deployed}, and you asked for {wanted}; run `ackclock undeploy {name}` first, or choose another name with --name")]
    DeployedOtherwise {
        /// The name.
        name: String,
        /// Spec of what is deployed.
        deployed: String,
        /// Spec of what was asked for.
        wanted: String,
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
    #[error("this command runs in a mount namespace of its own (as under `ip netns exec` or `unshare --mount`), where no BPF file system is mounted: a deployment would end with the command; run `nsenter --net=/run/netns/NAME ackclock ...` instead of `ip netns exec NAME`, or run `mount -t bpf -o mode=0700 bpf /sys/fs/bpf` before you enter the namespace")]
    PrivateMounts,
    /// Other users could change what is deployed.
    #[error("{what}, so that other users could change what is deployed; run `{fix}`")]
    Unsafe {
        /// What was found.
        what: String,
        /// A command.
        fix: String,
    },
    /// Another command holds the lock.
    #[error("gave up after {waited_s} s: {holder} holds the lock of deployments; wait until it ends, or end it, and try again")]
    Locked {
        /// Who.
        holder: String,
        /// How long this command waited.
        waited_s: u64,
    },
    /// The caller did not want to wait any longer.
    #[error("interrupted while waiting for another deployment; nothing was changed")]
    Interrupted,
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

pub(super) const LOOP_FIX: &str = "bound each loop by a constant, like `for (i = 0; i < 32; i++)`";

/// What to change in the C file, by the verifier's last words.
pub(super) fn fix(reason: &str) -> &'static str {
    const LOOP: [&str; 4] = ["too large", "too complex", "infinite loop", "back-edge"];
    if LOOP.iter().any(|words| reason.contains(words)) {
        LOOP_FIX
    } else if reason.contains("memory access") || reason.contains("access to map value") {
        "check each index against the length of its array before you use it"
    } else if ["invalid variable offset", "math between trusted_ptr"]
        .iter()
        .any(|words| reason.contains(words))
    {
        "no variable can index an array of inet_csk_ca(sk): write a branch for each index"
    } else if reason.contains("write into map") {
        "keep what changes in inet_csk_ca(sk): a file's variables are read only"
    } else {
        "docs/kernel.md says what the verifier allows"
    }
}
