//! What can go wrong with the kernel, in words for its user.

use ackclock_host::AlgorithmError;

/// Why the kernel does not do as asked.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
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
    },
    /// The name is in use, and not by a deployment.
    #[error("another program has registered an algorithm `{0}` in the kernel; choose another name with --name (`ackclock status` shows who holds `{0}`)")]
    NameTaken(String),
    /// The caller did not want to wait any longer.
    #[error("interrupted while waiting for another deployment; nothing was changed")]
    Interrupted,
    /// Anything else: what is wrong, and what to do.
    #[error("{0}")]
    Other(String),
}

impl From<AlgorithmError> for KernelError {
    fn from(error: AlgorithmError) -> Self {
        Self::Other(error.to_string())
    }
}

impl KernelError {
    /// The operating system got in the way of what was tried.
    pub(crate) fn system(what: impl AsRef<str>, reason: impl ToString) -> Self {
        Self::Other(format!("cannot {}: {}", what.as_ref(), reason.to_string()))
    }

    /// A capability, or the user number 0, is missing.
    pub(super) fn not_root(what: &str, missing: &str) -> Self {
        Self::Other(format!("{what} needs root; this process lacks {missing}: run it with sudo, in a container with --privileged. The simulator needs no root"))
    }

    /// A name that the kernel cannot have.
    pub(super) fn bad_name(name: &str, problem: &str) -> Self {
        Self::Other(format!(
            "name `{name}`: {problem}; choose another name with --name"
        ))
    }

    /// Other users could change what is deployed; a command against that.
    pub(super) fn is_unsafe(what: &str, fix: &str) -> Self {
        Self::Other(format!(
            "{what}, so that other users could change what is deployed; run `{fix}`"
        ))
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
