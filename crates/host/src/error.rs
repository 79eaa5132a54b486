//! Why a spec or a C file cannot be used, in words for its user.

use std::io::ErrorKind;

use crate::spelling::did_you_mean;

/// Why an algorithm cannot be loaded or configured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AlgorithmError(pub(crate) String);

/// What is said at more than one place.
impl AlgorithmError {
    /// A text that does not follow `NAME_OR_PATH[@preset][:name=value,…]`.
    pub(crate) fn bad_spec(spec: &str, problem: &str) -> Self {
        Self(format!("`{spec}`: {problem}; write NAME[@preset][:parameter=value,...], such as cubic@ha2008:beta=0.7"))
    }

    /// The algorithm has no such parameter, or preset.
    pub(crate) fn unknown(algorithm: &str, what: &str, name: &str, known: &[&str]) -> Self {
        let hint = did_you_mean(name, known);
        let known = match known {
            [] => format!("it has no {what}s"),
            _ => format!("its {what}s: {}", known.join(", ")),
        };
        Self(format!("{algorithm} has no {what} `{name}`{hint}; {known}"))
    }

    /// A parameter outside its range.
    pub(crate) fn out_of_range(setting: &str, min: &str, max: &str) -> Self {
        Self(format!(
            "{setting} is out of range; choose a value from {min} to {max}"
        ))
    }

    /// The file cannot be read.
    pub(crate) fn unreadable(path: &str, reason: &str) -> Self {
        Self(format!("cannot read {path}: {reason}"))
    }

    /// There is no C file: `error` is what the system says of it.
    pub(crate) fn no_source(path: &str, why: ErrorKind, error: &str) -> Self {
        let reason = match why {
            ErrorKind::IsADirectory => {
                return Self(format!(
                    "{path} is a directory; give a C source file, NAME.c"
                ));
            }
            ErrorKind::InvalidInput => {
                return Self(format!("{path} is not a C source file (expected NAME.c)"));
            }
            ErrorKind::InvalidData => "it contains zero bytes: it is not text, or not in UTF-8",
            ErrorKind::NotFound => "there is no such file; `ackclock new NAME` writes NAME.c",
            ErrorKind::PermissionDenied => "you may not read it",
            _ => error,
        };
        Self::unreadable(path, reason)
    }

    /// The compiler refuses the file; its first messages.
    pub(crate) fn does_not_compile(path: &str, errors: &str) -> Self {
        Self(format!("{path} does not compile:\n{errors}"))
    }

    /// The file computes with `float` or `double`; where the compiler saw it, or what it needs.
    pub(crate) fn floating_point(path: &str, place: &str) -> Self {
        Self(format!("{path} uses floating point, which the kernel forbids ({place}); write fixed point, such as cwnd * 717 / 1024 instead of 0.7 * cwnd"))
    }

    /// The file calls functions that the hosts do not offer.
    pub(crate) fn unknown_function(path: &str, functions: &str) -> Self {
        Self(format!("{path} calls {functions}, which the kernel does not offer to an algorithm; algorithms/include/tcp_cc.h lists the functions that a file may call"))
    }

    /// The file has variables that all flows would share.
    pub(crate) fn mutable_globals(path: &str, variables: &str) -> Self {
        Self(format!("{path} has variables outside the socket ({variables}), which all flows would share; keep state in the structure named by CC_PRIVATE, and declare constants const"))
    }

    /// The file has machine code in it.
    pub(crate) fn inline_assembly(path: &str, line: usize) -> Self {
        Self(format!("{path}:{line}: inline assembly; the simulator and BPF have none: write it in C, or give a module of Linux --on vlinux"))
    }

    /// The compiler of this machine checks no loads.
    pub(crate) fn unchecked_loads(path: &str) -> Self {
        Self(format!("{path}: a file is judged only where clang is, as gcc does not check what it reads: apt-get install clang; for a file of your own: ackclock --trust"))
    }

    /// The file calls a function through a pointer.
    pub(crate) fn indirect_call(path: &str, line: usize) -> Self {
        Self(format!("{path}:{line}: calls a function through a pointer, which no check can follow; the kernel's BPF cannot either: call it by name"))
    }

    /// The file has code that would run when it is loaded.
    pub(crate) fn constructor(path: &str) -> Self {
        Self(format!("{path} has a constructor or an indirect function (code that runs when the file is loaded); the kernel runs nothing but the hooks: remove it"))
    }

    /// The file registers no algorithm.
    pub(crate) fn not_an_algorithm(path: &str) -> Self {
        Self(format!("{path} registers no algorithm; end the file with CC_ALGORITHM(name, \"summary\", .ssthresh = ..., .cong_avoid = ...);"))
    }

    /// What the file declares contradicts itself.
    pub(crate) fn bad_declaration(path: &str, problem: &str) -> Self {
        Self(format!("{path}: {problem}"))
    }

    /// The operating system refused.
    pub(crate) fn cannot_load(path: &str, error: &dyn std::error::Error) -> Self {
        Self(format!("cannot load {path}: {error}"))
    }
}
