//! Every error of an algorithm or of a C file, in words for the user.

/// Why an algorithm cannot be loaded or configured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AlgorithmError {
    /// No built-in algorithm has that name.
    #[error("unknown algorithm `{name}`{hint}; `ackclock list` shows all, and a C file of your own needs its path, such as ./{name}.c")]
    UnknownAlgorithm {
        /// What the user wrote.
        name: String,
        /// `; did you mean …?`, or nothing.
        hint: String,
    },
    /// The algorithm has no such preset.
    #[error("{algorithm} has no preset `{name}`{hint}; {known}")]
    UnknownPreset {
        /// Name of the algorithm.
        algorithm: String,
        /// What the user wrote.
        name: String,
        /// `; did you mean …?`, or nothing.
        hint: String,
        /// What the algorithm has.
        known: String,
    },
    /// The algorithm has no such parameter.
    #[error("{algorithm} has no parameter `{name}`{hint}; {known}")]
    UnknownParameter {
        /// Name of the algorithm.
        algorithm: String,
        /// What the user wrote.
        name: String,
        /// `; did you mean …?`, or nothing.
        hint: String,
        /// What the algorithm has.
        known: String,
    },
    /// A parameter outside its range.
    #[error(
        "{algorithm}: {parameter} = {value} is out of range; choose a value from {min} to {max}"
    )]
    OutOfRange {
        /// Name of the algorithm.
        algorithm: String,
        /// Name of the parameter.
        parameter: String,
        /// What the user wrote.
        value: String,
        /// Least value.
        min: String,
        /// Greatest value.
        max: String,
    },
    /// The value of a parameter is not a number, or not a whole number where it must be one.
    #[error("{algorithm}: {parameter} = `{value}` is not {expected}")]
    BadNumber {
        /// Name of the algorithm.
        algorithm: String,
        /// Name of the parameter.
        parameter: String,
        /// What was given.
        value: String,
        /// What it must be, and what to write.
        expected: String,
    },
    /// A text that does not follow `NAME_OR_PATH[@preset][:name=value,…]`.
    #[error("`{spec}`: {problem}; write NAME[@preset][:parameter=value,...], such as cubic@ha2008:beta=0.7")]
    BadSpec {
        /// The text.
        spec: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The file cannot be read.
    #[error("cannot read {path}: {reason}")]
    Unreadable {
        /// The file.
        path: String,
        /// The system's words.
        reason: String,
    },
    /// The host has no system below it that could compile a user's file.
    #[error("{path}: a C file of your own runs only with `ackclock explore` or `ackclock run`, which compile it")]
    BuiltInOnly {
        /// The file.
        path: String,
    },
    /// There is no C compiler to compile a user's file with.
    #[error("cannot compile {path}: no C compiler was found (tried {tried}); install one, such as Debian's package gcc, or name one in CC")]
    NoCompiler {
        /// The file.
        path: String,
        /// Commands that were tried.
        tried: String,
    },
    /// The compiler refuses the file.
    #[error("{path} does not compile:\n{errors}")]
    DoesNotCompile {
        /// The file.
        path: String,
        /// The compiler's first messages.
        errors: String,
    },
    /// The file computes with `float` or `double`.
    #[error("{path} uses floating point, which the kernel forbids{place}; write fixed point, such as cwnd * 717 / 1024 instead of 0.7 * cwnd")]
    FloatingPoint {
        /// The file.
        path: String,
        /// Where the compiler saw it, or which function it needs.
        place: String,
    },
    /// The file calls functions that the hosts do not offer.
    #[error("{path} calls {functions}, which the kernel does not offer to an algorithm; algorithms/include/tcp_cc.h lists the functions that a file may call")]
    UnknownFunction {
        /// The file.
        path: String,
        /// The functions.
        functions: String,
    },
    /// The file uses what the hosts do not have, or all but Linux itself.
    #[error(
        "{path} uses what {nobody}: {names}; {instead}leave it out of the file, or out with #ifdef"
    )]
    Unserved {
        /// The file.
        path: String,
        /// Who does not serve it.
        nobody: &'static str,
        /// Where else the file may run.
        instead: &'static str,
        /// Each name, with its place.
        names: String,
    },
    /// The file has variables that all flows would share.
    #[error("{path} has variables outside the socket ({variables}), which all flows would share; keep state in the structure named by CC_PRIVATE, and declare constants const")]
    MutableGlobals {
        /// The file.
        path: String,
        /// The variables.
        variables: String,
    },
    /// The file has machine code in it.
    #[error("{path}:{line}: inline assembly; the simulator and BPF have none: write it in C, or give a module of Linux --on vlinux")]
    InlineAssembly {
        /// The file.
        path: String,
        /// The line.
        line: usize,
    },
    /// The file has a word of the compiler's that could switch checks off.
    #[error("{path}:{line}: {word} is not for a file that is checked: remove it, or say `ackclock --trust` if the file is your own")]
    NotAllowed {
        /// The file.
        path: String,
        /// The line.
        line: usize,
        /// The word.
        word: String,
    },
    /// The file has a name that is not ASCII.
    #[error("{path}:{line}: {word} is no name for the kernel, which takes ASCII letters, digits and _: rename it")]
    NotAscii {
        /// The file.
        path: String,
        /// The line.
        line: usize,
        /// The name.
        word: String,
    },
    /// The file calls a function through a pointer.
    #[error("{path}:{line}: calls a function through a pointer, which no check can follow; the kernel's BPF cannot either: call it by name")]
    IndirectCall {
        /// The file.
        path: String,
        /// The line.
        line: usize,
    },
    /// The file has code that would run when it is loaded.
    #[error("{path} has a constructor or an indirect function (code that runs when the file is loaded); the kernel runs nothing but the hooks: remove it")]
    Constructor {
        /// The file.
        path: String,
    },
    /// A directory.
    #[error("{path} is a directory; give a C source file, NAME.c")]
    Directory {
        /// The directory.
        path: String,
    },
    /// Not a C source file.
    #[error("{path} is not a C source file (expected NAME.c)")]
    NotC {
        /// The file.
        path: String,
    },
    /// The file registers no algorithm.
    #[error("{path} registers no algorithm; end the file with CC_ALGORITHM(name, \"summary\", .ssthresh = ..., .cong_avoid = ...);")]
    NotAnAlgorithm {
        /// The file.
        path: String,
    },
    /// A file in the kernel's form registers none.
    #[error("{path} registers no algorithm; its module_init must call tcp_register_congestion_control(&ops), with ssthresh, undo_cwnd, and cong_avoid or cong_control in ops")]
    RegistersNothing {
        /// The file.
        path: String,
    },
    /// A hook that every algorithm needs is absent.
    #[error("{algorithm} ({path}) has no {hook}; CC_ALGORITHM must name one, .{hook} = ...")]
    MissingHook {
        /// Name of the algorithm.
        algorithm: String,
        /// Its file.
        path: String,
        /// The absent hook.
        hook: &'static str,
    },
    /// The parameters or presets declared in the file contradict each other.
    #[error("{path}: {problem}")]
    BadDeclaration {
        /// Its file.
        path: String,
        /// What is wrong.
        problem: String,
    },
    /// The operating system refused.
    #[error("cannot load {path}: {reason}")]
    CannotLoad {
        /// The file.
        path: String,
        /// The system's words.
        reason: String,
    },
}
