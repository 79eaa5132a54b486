//! The registry: an algorithm, what it declares, and how to find it.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use crate::checked;
use crate::library::Loaded;
use crate::module::{self, Declared, Module};
use crate::param::{stored, Param, Preset};
use crate::sock::{
    TcpCongestionOps, TCP_CONG_ECT_1_NEGOTIATION, TCP_CONG_NEEDS_ACCECN, TCP_CONG_NEEDS_ECN,
    TCP_CONG_NON_RESTRICTED,
};
use crate::spelling::did_you_mean;
use crate::{AlgorithmError, KernelProgram};

include!(concat!(env!("OUT_DIR"), "/registry.rs"));

/// A file that an algorithm is compiled from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Where it was read; absolute, if it is a user's own file.
    pub path: PathBuf,
    /// What it contained.
    pub text: Vec<u8>,
}

/// What costs a host some work, by the words of a user's file. Built-in algorithms read none of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reads {
    /// `in_flight` of an `ack_sample`.
    pub(crate) in_flight: bool,
    /// The counts that a `rate_sample` has of the time when a packet was sent, and what was sent and
    /// written.
    pub(crate) counts_when_sent: bool,
    /// `rx_opt`.
    pub(crate) timestamps: bool,
}

impl Reads {
    pub(crate) fn from_words(has_word: impl Fn(&str) -> bool) -> Self {
        let counts = [
            "delivered_ce",
            "prior_delivered_ce",
            "prior_lost",
            "tx_in_flight",
            "lost",
            "data_segs_out",
            "bytes_sent",
            "write_seq",
            "snd_wnd",
        ];
        Self {
            in_flight: has_word("in_flight"),
            counts_when_sent: counts.into_iter().any(&has_word),
            timestamps: has_word("rx_opt"),
        }
    }
}

/// A congestion-control algorithm, built in or compiled from a user's file.
///
/// Cheap to clone; the code stays loaded as long as any clone lives.
#[derive(Clone)]
pub struct Algorithm(Arc<Inner>);

struct Inner {
    declared: Declared,
    origin: Origin,
    head: String,
    /// Holds the code that the hooks point to; `None` for built-in algorithms, and files in the
    /// kernel's form.
    library: Option<Loaded>,
    kernel: Option<Box<dyn KernelForm>>,
}

/// What an algorithm is made of.
#[derive(Clone)]
pub(crate) struct Origin {
    /// What the user calls its file.
    pub(crate) path: String,
    /// What was compiled, its own file first.
    pub(crate) sources: Vec<Source>,
    pub(crate) fingerprint: u64,
    pub(crate) reads: Reads,
}

/// A file in the kernel's form: one of the ops that it has registered.
pub(crate) trait KernelForm: Send + Sync {
    /// The address of the ops, which the socket has (icsk_ca_ops).
    fn ops(&self) -> usize;
    /// The algorithm with that name of the same file.
    fn registered(&self, name: &str) -> Result<Algorithm, AlgorithmError>;
    /// The same for hosts with that HZ, and with these values of the file's parameters.
    fn copy_for(&self, hz: u32, values: &Arc<[u32]>) -> Result<Algorithm, AlgorithmError>;
    /// What init has put into icsk_ca_ops instead.
    fn switched(&self, ops: usize) -> Algorithm;
    /// What another host makes of it, with that HZ and these values.
    fn program(&self, hz: u32, values: &Arc<[u32]>) -> Result<KernelProgram, AlgorithmError>;
}

impl Algorithm {
    /// The built-in algorithms, sorted by name.
    pub fn all() -> &'static [Algorithm] {
        static ALL: OnceLock<Vec<Algorithm>> = OnceLock::new();
        ALL.get_or_init(|| {
            let read = |(module, path, text): (_, &str, &str)| {
                let source = Source {
                    path: path.into(),
                    text: text.into(),
                };
                let origin = Origin {
                    path: path.into(),
                    sources: vec![source],
                    fingerprint: fingerprint(&[text]),
                    reads: Reads::default(),
                };
                // SAFETY: build.rs compiled that symbol from a file whose
                // CC_ALGORITHM defines it, into this very program.
                let declared = unsafe { module::read(module) };
                let algorithm = Self::new(declared, origin, None);
                algorithm.unwrap_or_else(|error| panic!("built-in algorithm: {error}"))
            };
            let mut all: Vec<_> = built_in().into_iter().map(read).collect();
            all.sort_by(|a, b| a.name().cmp(b.name()));
            all
        })
    }

    /// The built-in algorithm of that name.
    ///
    /// # Errors
    /// There is none; the message names the nearest.
    pub fn find(name: &str) -> Result<Algorithm, AlgorithmError> {
        let mut all = Self::all().iter();
        let found = all.find(|algorithm| algorithm.name() == name);
        found.cloned().ok_or_else(|| {
            let known: Vec<_> = Self::all().iter().map(Algorithm::name).collect();
            let hint = if IN_LINUX_ONLY.contains(&name) {
                format!(
                    "; Linux has it, ackclock does not yet \
                     (with --on kernel, kernel:{name} is the kernel's own)"
                )
            } else {
                did_you_mean(name, &known)
            };
            AlgorithmError(format!("unknown algorithm `{name}`{hint}; `ackclock list` shows all, and a C file of your own needs its path, such as ./{name}.c"))
        })
    }

    /// Its name, as in `CC_ALGORITHM`.
    pub fn name(&self) -> &str {
        &self.0.declared.name
    }

    /// What it is, in one line.
    pub fn summary(&self) -> &str {
        &self.0.declared.summary
    }

    /// Its C file: below the project's root if built in, else as the user gave it.
    pub fn source_path(&self) -> &str {
        &self.0.origin.path
    }

    /// What its file says of it: the text of its first comment of several lines.
    pub fn head(&self) -> &str {
        &self.0.head
    }

    /// Its parameters, in the order of declaration.
    pub fn params(&self) -> &[Param] {
        &self.0.declared.params
    }

    /// Its presets, in the order of declaration.
    pub fn presets(&self) -> &[Preset] {
        &self.0.declared.presets
    }

    /// A preset's settings as a user writes them after the colon: `beta=0.8,hystart=0`.
    pub fn settings(&self, preset: &Preset) -> String {
        let settings =
            stored(preset, self.params(), self.name()).expect("checked when it was loaded");
        let written = settings.iter().map(|&(index, stored)| {
            let param = &self.params()[index];
            format!("{}={}", param.name, param.display(stored))
        });
        written.collect::<Vec<_>>().join(",")
    }

    /// A hash of all that decides about its code. Built in: its C text and our headers, the same
    /// on every machine. A user's file: what was compiled, and the compiler with its flags, too.
    pub fn fingerprint(&self) -> u64 {
        self.0.origin.fingerprint
    }

    /// The same with a text that another host compiles of the file.
    pub fn fingerprint_with(&self, text: &str) -> u64 {
        fingerprint(&[&format!("{:016x}", self.fingerprint()), text])
    }

    /// Bytes of each socket's `CC_STORAGE`; 0: it has none.
    pub(crate) fn storage_bytes(&self) -> u32 {
        self.0.declared.storage_bytes
    }

    /// The files that it was compiled from, as they were then: its own, and those of a user's that
    /// it includes.
    pub fn sources(&self) -> &[Source] {
        &self.0.origin.sources
    }

    /// Does it set the window and the pacing rate itself, on every ACK?
    pub fn has_cong_control(&self) -> bool {
        self.0.declared.ops.cong_control.is_some()
    }

    /// Does it read what a host must keep of each packet: the delivery rate, or `in_flight` of an
    /// `ack_sample`?
    pub fn reads_delivery_rate(&self) -> bool {
        self.has_cong_control() || self.0.origin.reads.in_flight
    }

    /// Does it read `delivered_ce`, `lost` or `tx_in_flight` of a `rate_sample`, or what these are
    /// counted from?
    pub fn reads_counts_when_sent(&self) -> bool {
        self.0.origin.reads.counts_when_sent
    }

    /// Does it read the timestamps of ACKs (`rx_opt`)?
    pub fn reads_timestamps(&self) -> bool {
        self.0.origin.reads.timestamps
    }

    /// Do its connections use ECN whether or not the user asks for it, and does the receiver run
    /// the algorithm, too (`TCP_CONG_NEEDS_ECN`)?
    pub fn needs_ecn(&self) -> bool {
        self.0.declared.ops.flags & TCP_CONG_NEEDS_ECN != 0
    }

    /// Do its connections use accurate ECN whatever the user asks for (`TCP_CONG_NEEDS_ACCECN`)?
    pub fn needs_accurate_ecn(&self) -> bool {
        self.0.declared.ops.flags & TCP_CONG_NEEDS_ACCECN != 0
    }

    /// Do its packets carry ECT(1) where others carry ECT(0) (`TCP_CONG_ECT_1_NEGOTIATION`)?
    pub fn sends_ect_1(&self) -> bool {
        self.0.declared.ops.flags & TCP_CONG_ECT_1_NEGOTIATION != 0
    }

    /// Is it one of [`all`](Self::all), rather than a user's file?
    pub fn is_built_in(&self) -> bool {
        self.0.library.is_none() && self.0.kernel.is_none()
    }

    /// Is its file in the Linux kernel's form, with `struct tcp_congestion_ops` and `module_init`?
    pub fn is_kernel_form(&self) -> bool {
        self.0.kernel.is_some()
    }

    /// The number of a user's file where the page runs it.
    pub(crate) fn guest(&self) -> u32 {
        self.0.library.as_ref().map_or(0, Loaded::guest)
    }

    #[inline]
    pub(crate) fn kernel_form(&self) -> Option<&dyn KernelForm> {
        self.0.kernel.as_deref()
    }

    pub(crate) fn of_kernel_form(
        declared: Declared,
        origin: Origin,
        kernel: Box<dyn KernelForm>,
    ) -> Result<Self, AlgorithmError> {
        check_flags(&declared.ops).map_err(|problem| {
            let problem = format!("{} has .{problem}", declared.name);
            AlgorithmError::bad_declaration(&origin.path, &problem)
        })?;
        Ok(Self::made(declared, origin, None, Some(kernel)))
    }

    fn made(
        declared: Declared,
        origin: Origin,
        library: Option<Loaded>,
        kernel: Option<Box<dyn KernelForm>>,
    ) -> Self {
        Self(Arc::new(Inner {
            head: head(&String::from_utf8_lossy(&origin.sources[0].text)),
            declared,
            origin,
            library,
            kernel,
        }))
    }

    #[inline]
    pub(crate) fn ops(&self) -> &TcpCongestionOps {
        &self.0.declared.ops
    }

    /// An algorithm of our dialect, of what its file declares. `library` has the code, unless this
    /// program has it.
    pub(crate) fn new(
        mut declared: Declared,
        origin: Origin,
        library: Option<Loaded>,
    ) -> Result<Self, AlgorithmError> {
        let path = origin.path.clone();
        let bad = |problem: &str| AlgorithmError::bad_declaration(&path, problem);
        let ops = &mut declared.ops;
        let missing = match (ops.ssthresh, ops.cong_avoid, ops.cong_control) {
            (None, ..) => Some("ssthresh"),
            (_, None, None) => Some("cong_avoid"),
            _ => None,
        };
        if let Some(hook) = missing {
            let name = &declared.name;
            return Err(AlgorithmError(format!(
                "{name} ({path}) has no {hook}; CC_ALGORITHM must name one, .{hook} = ..."
            )));
        }
        let ignored =
            |hook: &str, fix: &str| bad(&format!("CC_ALGORITHM does not take .{hook}: {fix}"));
        check_flags(ops).map_err(|flags| ignored(&flags, "remove them"))?;
        if declared.storage_bytes > MOST_STORAGE_BYTES {
            let problem = format!("CC_STORAGE has more than {MOST_STORAGE_BYTES} bytes");
            return Err(bad(&problem));
        }
        if ops.name != [0; 16] {
            return Err(ignored("name", "its first argument is the name; remove it"));
        }
        if let Some(library) = &library {
            let hooks = checked::hooks(library, ops, declared.params.len());
            *ops = hooks.ok_or_else(|| bad("a hook is not the beginning of a function"))?;
        }
        let algorithm = Self::made(declared, origin, library, None);
        (algorithm.check_declarations()).map_err(|problem| bad(&problem))?;
        Ok(algorithm)
    }

    fn check_declarations(&self) -> Result<(), String> {
        for param in self.params() {
            let (name, min, max) = (&param.name, param.min, param.max);
            if param.scale == 0 {
                return Err(format!(
                    "parameter {name}: the scale is 0; write 1 for whole numbers, or 1024 for fractions"
                ));
            }
            if min > max {
                return Err(format!(
                    "parameter {name}: the minimum {min} is above the maximum {max}; swap them"
                ));
            }
            if !(min..=max).contains(&param.default) {
                return Err(format!(
                    "parameter {name}: the default {} is out of range; choose one from the minimum {min} to the maximum {max}",
                    param.default
                ));
            }
        }
        for preset in self.presets() {
            stored(preset, self.params(), self.name())
                .map_err(|error| format!("preset {}: {error}", preset.name))?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for Algorithm {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "Algorithm({} from {})",
            self.name(),
            self.source_path()
        )
    }
}

/// The name that ops of the kernel have.
pub(crate) fn name_of(ops: &TcpCongestionOps) -> String {
    let name = ops.name.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(name).into_owned()
}

/// An error names flags that no host has.
fn check_flags(ops: &TcpCongestionOps) -> Result<(), String> {
    let known = TCP_CONG_NON_RESTRICTED
        | TCP_CONG_NEEDS_ECN
        | TCP_CONG_NEEDS_ACCECN
        | TCP_CONG_ECT_1_NEGOTIATION;
    let text = "flags with other bits than TCP_CONG_NON_RESTRICTED, _NEEDS_ECN, _NEEDS_ACCECN and \
                _ECT_1_NEGOTIATION";
    (ops.flags & !known == 0)
        .then_some(())
        .ok_or_else(|| text.into())
}

/// The text of the first comment that begins with a line of `/*` alone.
fn head(source: &str) -> String {
    let source = source.replace("\r\n", "\n");
    let comment = source.split_once("/*\n").map_or("", |(_, rest)| rest);
    let comment = comment.split_once("*/").map_or("", |(comment, _)| comment);
    let lines = comment.lines().map(|line| line.trim_start());
    let lines: Vec<_> = lines
        .map(|line| {
            line.strip_prefix("* ")
                .or(line.strip_prefix('*'))
                .unwrap_or(line)
        })
        .collect();
    lines.join("\n").trim_end().to_string()
}

/// FNV-1a over the headers, the host and the algorithm's own texts.
pub(crate) fn fingerprint(sources: &[impl AsRef<str>]) -> u64 {
    let support = SUPPORT.iter().map(|(_, text)| *text);
    support
        .chain(sources.iter().map(AsRef::as_ref))
        .fold(0xcbf2_9ce4_8422_2325, |hash, text| {
            // The length keeps "ab" + "c" apart from "a" + "bc".
            text.bytes()
                .chain((text.len() as u64).to_le_bytes())
                .fold(hash, |hash: u64, byte| {
                    (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
                })
        })
}

/// What host_native.h declares, and what a compiler may call by itself.
pub(crate) const GIVEN: [&str; 14] = [
    "tcp_slow_start",
    "tcp_cong_avoid_ai",
    "tcp_reno_ssthresh",
    "tcp_reno_cong_avoid",
    "tcp_reno_undo_cwnd",
    "tcp_reno_min_cwnd",
    "__tcp_send_ack",
    "cc_random",
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "__stack_chk_fail",
    "_GLOBAL_OFFSET_TABLE_",
];

/// The limit of `CC_STORAGE`.
const MOST_STORAGE_BYTES: u32 = 60_000;

/// Algorithms of Linux that are not among the built-in ones.
const IN_LINUX_ONLY: [&str; 3] = ["cdg", "lp", "nv"];
