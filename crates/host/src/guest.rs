//! A user's file as a WebAssembly module: the page compiles it, and the module has a memory of its own,
//! into which the page copies the socket for each hook (`algorithms/checked/wasm.c`).

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{OnceLock, PoisonError, RwLock};

use crate::algorithm::{fingerprint, Origin, Reads, GIVEN};
use crate::guarded::{Guarded, Moment, DIVIDES, NO_STACK, STOPS};
use crate::module::Declared;
use crate::param::{Param, Preset};
use crate::places::Places;
use crate::preprocessed::{shown, with_all_errors, Preprocessed, FILE_LABEL};
use crate::sock::{AckSample, CaEvent, RateSample, TcpCongestionOps, TcpSock, HOOKS};
use crate::{allowed, messages, Algorithm, AlgorithmError, Source};

/// Flags of clang for all files.
pub fn flags() -> impl Iterator<Item = &'static str> {
    let flags = include_str!("native/cflags.txt").split_whitespace();
    // WebAssembly has neither other registers nor code that may lie anywhere.
    let flags = flags.filter(|flag| !["-fPIC", "-mgeneral-regs-only"].contains(flag));
    // Copies are calls, which are checked.
    flags.chain("--target=wasm32-unknown-unknown -mcpu=mvp -nostdinc".split_whitespace())
}

/// Those of a user's file besides.
pub fn flags_of_a_user() -> impl Iterator<Item = &'static str> {
    let refused = include_str!("native/refused.txt").split_whitespace();
    let checks = include_str!("native/checks-clang.txt").split_whitespace();
    // The stack is the module's own, and small.
    let unknown = |flag: &&str| flag.contains("frame-larger") || flag.contains("stack-clash");
    let flags = refused.chain(checks).filter(move |flag| !unknown(flag));
    // Clang does not offer its checks of addresses for WebAssembly, but makes them.
    let flags = flags.flat_map(|flag| {
        let is_hidden = flag.contains("kernel-address");
        is_hidden.then_some("-Xclang").into_iter().chain([flag])
    });
    flags.chain(["-ftrivial-auto-var-init=zero", "-gline-tables-only"])
}

/// What the preprocessor made of a file.
pub struct Read {
    /// What is compiled: it hides no errors.
    pub text: String,
    /// The files that it includes, without ours.
    pub included: Vec<PathBuf>,
    /// What is compiled, without the names of files.
    pub contents: String,
}

/// Reads what clang's preprocessor makes of the file `path`, with our headers in `include/`. Refuses words
/// that switch checks off, or hide others, and files that do not lie in `directory`.
///
/// # Errors
/// Attributes, builtins and pragmas that no file may have, raw strings, names beyond ASCII, inline assembly,
/// and a file in the kernel's form.
pub fn read(path: &str, directory: &str, preprocessed: &str) -> Result<Read, AlgorithmError> {
    let text = with_all_errors(preprocessed);
    let snapshot = Preprocessed::new(&text, Path::new("include"));
    if snapshot.is_kernels() {
        return Err(AlgorithmError(format!(
            "{path} is a module of the kernel, which only the native engine of Linux runs; \
             `ackclock new NAME` writes a file that runs everywhere"
        )));
    }
    allowed::check(&snapshot, Path::new(directory), |file| {
        let own = [Some(FILE_LABEL.as_ref()), Path::new(path).file_name()];
        match own.contains(&Some(file.as_os_str())) {
            true => path.into(),
            false => shown(file),
        }
    })?;
    Ok(Read {
        included: snapshot.included(),
        contents: snapshot.contents(),
        text,
    })
}

/// What is said of the file `path`, of that `text`, that a compiler or a linker refused with these words.
pub fn refused(path: &str, text: &str, written: &str) -> AlgorithmError {
    if written.contains("undefined symbol: cc_module") {
        return AlgorithmError::not_an_algorithm(path);
    }
    if let Some((_, name)) = written.split_once("undefined symbol: ") {
        let name = name.lines().next().unwrap_or_default();
        return AlgorithmError::unknown_function(path, name);
    }
    let refused = messages::refused(written, path, text, Path::new("include"));
    refused.unwrap_or_else(|| AlgorithmError::does_not_compile(path, "the compiler stopped"))
}

/// Why `path` is no C file: `error` is what the system says.
pub fn no_source(path: &str, why: ErrorKind, error: &str) -> AlgorithmError {
    AlgorithmError::no_source(path, why, error)
}

/// Refuses what the kernel would refuse, by the assembly that clang makes of the file `path`.
///
/// # Errors
/// Inline assembly, a call through a pointer, floating point, a constructor, variables that can be
/// written, or a call of a function that no host has.
pub fn check(path: &str, assembly: &str) -> Result<(), AlgorithmError> {
    let labels = assembly
        .lines()
        .filter(|line| !line.starts_with(['\t', ' ', '.']));
    let labels = labels.filter_map(|line| Some(line.split_once(':')?.0));
    let own: HashSet<_> = labels.collect();
    let checks = ["__asan_", "__ubsan_", "__stack_chk_"];
    let is_check = |name: &str| checks.iter().any(|check| name.starts_with(check));
    let is_known = |name: &str| own.contains(name) || GIVEN.contains(&name) || is_check(name);
    let (mut variables, mut unknown) = (Vec::new(), Vec::new());
    let (mut places, mut section) = (Places::default(), "");
    for line in assembly.lines() {
        let code = line.trim_start();
        if places.is_told(code) {
            continue;
        }
        let (_, line) = places.place();
        if places.is_inline(code) {
            return Err(AlgorithmError::inline_assembly(path, line));
        }
        let (word, rest) = code.split_once(['\t', ' ']).unwrap_or((code, ""));
        match word {
            "call_indirect" => return Err(AlgorithmError::indirect_call(path, line)),
            "call" if !is_known(rest) && !unknown.contains(&rest) => unknown.push(rest),
            ".section" => {
                section = rest.split(',').next().unwrap_or_default();
                let kinds = [".data.", ".bss.", ".tdata.", ".tbss."];
                variables.extend(kinds.iter().find_map(|kind| section.strip_prefix(kind)));
            }
            // The checks of clang have one, which is empty.
            ".int32" if section.starts_with(".init_array") && rest != "asan.module_ctor" => {
                return Err(AlgorithmError::constructor(path));
            }
            _ if word.starts_with("f32.") || word.starts_with("f64.") => {
                let place = format!("{path}:{line}");
                return Err(AlgorithmError::floating_point(path, &place));
            }
            _ => (),
        }
    }
    if !variables.is_empty() {
        return Err(AlgorithmError::mutable_globals(path, &variables.join(", ")));
    }
    if !unknown.is_empty() {
        return Err(AlgorithmError::unknown_function(path, &unknown.join(", ")));
    }
    Ok(())
}

/// A hook that the page calls in the module of a file.
pub struct Hook<'a> {
    /// Number of the file, by the order in which they were added, from 0.
    pub guest: u32,
    /// Place of the hook in `struct tcp_congestion_ops`.
    pub hook: u32,
    /// The socket, which the hook may change.
    pub socket: &'a mut TcpSock,
    /// What it is given besides.
    pub arguments: [u32; 2],
    /// The sample that it is given; empty: none.
    pub sample: &'a [u8],
    /// The values of the parameters.
    pub params: &'a [u32],
    /// `CC_STORAGE` behind two words of the host's; empty: there is none.
    pub block: &'a mut [u64],
}

/// What a trap of a hook, in the words of wasmtime, comes to; empty: it says so itself.
pub fn trapped(trap: &str) -> &'static str {
    match trap {
        "INTEGER_DIVISION_BY_ZERO" | "INTEGER_OVERFLOW" => DIVIDES,
        "UNREACHABLE" => STOPS,
        "STACK_OVERFLOW" | "MEMORY_OUT_OF_BOUNDS" => NO_STACK,
        _ => "",
    }
}

/// Which flow it was, when, and with what window.
///
/// # Safety
/// `socket` is what the hook that has trapped got.
pub unsafe fn moment(socket: *const TcpSock) -> String {
    // SAFETY: the caller's.
    unsafe { Moment::from_socket(socket) }.to_string()
}

/// Calls a hook, and returns what it returns.
pub type Caller = fn(Hook<'_>) -> u32;

struct Guest {
    algorithm: Algorithm,
    call: Caller,
}

static GUESTS: RwLock<Vec<Guest>> = RwLock::new(Vec::new());

/// A file that was compiled to a module.
pub struct Compiled<'a> {
    /// What the user calls it.
    pub path: &'a str,
    /// Its own text, and the files that it includes.
    pub sources: Vec<Source>,
    /// All else that decides about its code.
    pub made_by: &'a str,
    /// The memory of its module as it was linked.
    pub memory: &'a [u8],
    /// Where `cc_module` lies in it.
    pub module: u32,
}

/// Adds a file: from then on its path is its algorithm.
///
/// # Errors
/// The file declares no usable algorithm.
pub fn add(compiled: Compiled<'_>, call: Caller) -> Result<(), AlgorithmError> {
    let Compiled { path, sources, .. } = compiled;
    let bytes = compiled.memory;
    let declared = Memory { bytes }.declared(compiled.module);
    let declared = declared.ok_or_else(|| AlgorithmError::not_an_algorithm(path))?;
    let texts = sources
        .iter()
        .map(|each| String::from_utf8_lossy(&each.text));
    let mut texts: Vec<_> = texts.collect();
    let reads = Reads::from_words(|word| {
        let is_part = |part: char| part.is_alphanumeric() || part == '_';
        let mut words = texts
            .iter()
            .flat_map(|text| text.split(|part| !is_part(part)));
        words.any(|each| each == word)
    });
    texts.push(compiled.made_by.into());
    let mut guests = GUESTS.write().unwrap_or_else(PoisonError::into_inner);
    let number = u32::try_from(guests.len()).expect("a scenario names few files");
    let fingerprint = fingerprint(&texts);
    drop(texts);
    let origin = Origin {
        path: path.into(),
        sources,
        fingerprint,
        reads,
    };
    let algorithm = Algorithm::new(declared, origin, Some(Loaded { number }))?;
    guests.push(Guest { algorithm, call });
    Ok(())
}

/// Adds the file of a path that is asked for, if it can.
pub type Finder = fn(&str) -> Result<bool, String>;

static FINDER: OnceLock<Finder> = OnceLock::new();

/// Who is asked for files that were not added.
pub fn ask(finder: Finder) {
    FINDER.get_or_init(|| finder);
}

/// The algorithm of a file that was added, or that is there when it is asked for.
pub(crate) fn find(path: &Path) -> Result<Algorithm, AlgorithmError> {
    let plain = |path: &'_ Path| path.strip_prefix("./").unwrap_or(path).to_owned();
    let added = || {
        let guests = GUESTS.read().unwrap_or_else(PoisonError::into_inner);
        let mut added = guests.iter().map(|guest| &guest.algorithm);
        let found = added.find(|added| plain(Path::new(added.source_path())) == plain(path));
        found.cloned()
    };
    if let Some(found) = added() {
        return Ok(found);
    }
    let name = path.display().to_string();
    let asked = FINDER.get().map(|finder| finder(&name)).transpose();
    let found = asked.map_err(AlgorithmError)?.and_then(|_| added());
    found.ok_or_else(|| {
        AlgorithmError(format!("{name}: a C file of your own runs only with `ackclock explore`, or with the native engine of Linux: they compile it"))
    })
}

/// The loaded code of a user's file.
pub(crate) struct Loaded {
    /// By the order in which files were added.
    number: u32,
}

impl Loaded {
    /// What the sockets of its flows carry.
    pub(crate) fn guest(&self) -> u32 {
        self.number
    }
}

/// The memory of a module. No address in it is trusted: the file may have made it up.
struct Memory<'a> {
    bytes: &'a [u8],
}

impl Memory<'_> {
    fn at(&self, at: u32, len: u32) -> Option<&[u8]> {
        let end = at.checked_add(len)?;
        self.bytes.get(at as usize..end as usize)
    }

    fn words<const N: usize>(&self, at: u32) -> Option<[u32; N]> {
        let mut words = [0; N];
        for (word, bytes) in words
            .iter_mut()
            .zip(self.at(at, 4 * N as u32)?.chunks_exact(4))
        {
            *word = u32::from_le_bytes(bytes.try_into().ok()?);
        }
        Some(words)
    }

    fn text(&self, at: u32) -> Option<String> {
        let rest = self.bytes.get(at as usize..)?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(&rest[..end]).into_owned())
    }

    /// `struct cc_module`, whose pointers have 32 bits.
    fn declared(&self, module: u32) -> Option<Declared> {
        const WORDS: u32 = 4;
        let [name, summary, params, presets, params_len, presets_len, storage_bytes] =
            self.words(module)?;
        let ops = module + 7 * WORDS;
        let hooks: [u32; HOOKS] = self.words(ops)?;
        let [flags] = self.words(ops + HOOKS as u32 * WORDS)?;
        let written = self.at(ops + (HOOKS as u32 + 1) * WORDS, 16)?;
        let param = |index: u32| {
            let at = params.checked_add(index.checked_mul(6 * WORDS)?)?;
            let [name, doc, default, min, max, scale] = self.words(at)?;
            Some(Param {
                name: self.text(name)?,
                doc: self.text(doc)?,
                default,
                min,
                max,
                scale,
                is_signed: false,
            })
        };
        let preset = |index: u32| {
            let at = presets.checked_add(index.checked_mul(3 * WORDS)?)?;
            let [name, settings, doc] = self.words(at)?;
            Some(Preset {
                name: self.text(name)?,
                settings: self.text(settings)?,
                doc: self.text(doc)?,
            })
        };
        let [storage_bytes] = self.words(storage_bytes)?;
        Some(Declared {
            name: self.text(name)?,
            summary: self.text(summary)?,
            params: (0..params_len).map(param).collect::<Option<_>>()?,
            presets: (0..presets_len).map(preset).collect::<Option<_>>()?,
            storage_bytes,
            ops: TcpCongestionOps {
                flags,
                name: written.try_into().ok()?,
                ..those(&hooks)
            },
        })
    }
}

/// Calls a hook of the socket's file.
///
/// # Safety
/// `sk` is what a hook gets: the socket of a [`Guarded`], with its parameters and its block. Nothing
/// else refers to them during the call.
unsafe fn call(sk: *mut TcpSock, hook: u32, arguments: [u32; 2], sample: *const [u8]) -> u32 {
    // SAFETY: the caller's. A block begins with the next one and its size (CongestionControl::new).
    unsafe {
        let number = Guarded::guest(sk);
        let guests = GUESTS.read().unwrap_or_else(PoisonError::into_inner);
        let guest = &guests[number as usize];
        let host = (*sk).inet_conn.sk.sk_host.clone();
        let params = guest.algorithm.params().len();
        let block: &mut [u64] = match host.blocks.cast::<u64>() {
            none if none.is_null() => &mut [],
            block => {
                let words = 2 + (*block.add(1)).div_ceil(8) as usize;
                std::slice::from_raw_parts_mut(block, words)
            }
        };
        let returned = (guest.call)(Hook {
            guest: number,
            hook,
            socket: &mut *sk,
            arguments,
            sample: &*sample,
            params: std::slice::from_raw_parts(host.params.cast(), params),
            block,
        });
        // In the module's memory they have other addresses.
        (*sk).inet_conn.sk.sk_host.params = host.params;
        (*sk).inet_conn.sk.sk_host.blocks = host.blocks;
        returned
    }
}

const NO_SAMPLE: *const [u8] = &[];

fn bytes<T>(sample: *const T) -> *const [u8] {
    std::ptr::slice_from_raw_parts(sample.cast(), size_of::<T>())
}

/// The hooks that call those of a module: 0 is none.
fn those(hooks: &[u32; HOOKS]) -> TcpCongestionOps {
    macro_rules! hook {
        ($number:literal, ($($name:ident: $type:ty),*), $first:expr, $second:expr, $sample:expr) => {{
            unsafe extern "C" fn hook(sk: *mut TcpSock $(, $name: $type)*) {
                // SAFETY: it is called as a hook.
                unsafe { call(sk, $number, [$first, $second], $sample) };
            }
            (hooks[$number] != 0).then_some(hook as unsafe extern "C" fn(*mut TcpSock $(, $type)*))
        }};
    }
    macro_rules! question {
        ($number:literal, $pointer:ty, $mutable:expr) => {{
            unsafe extern "C" fn hook(sk: $pointer) -> u32 {
                // SAFETY: it is called as a hook; the host has the socket for itself.
                unsafe { call($mutable(sk), $number, [0, 0], NO_SAMPLE) }
            }
            (hooks[$number] != 0).then_some(hook as unsafe extern "C" fn($pointer) -> u32)
        }};
    }
    TcpCongestionOps {
        ssthresh: question!(0, *mut TcpSock, std::convert::identity),
        cong_avoid: hook!(1, (ack: u32, acked: u32), ack, acked, NO_SAMPLE),
        set_state: hook!(2, (state: u8), state.into(), 0, NO_SAMPLE),
        cwnd_event: hook!(3, (event: CaEvent), event as u32, 0, NO_SAMPLE),
        in_ack_event: hook!(4, (flags: u32), flags, 0, NO_SAMPLE),
        pkts_acked: hook!(5, (sample: *const AckSample), 0, 0, bytes(sample)),
        min_tso_segs: question!(6, *mut TcpSock, std::convert::identity),
        cong_control: hook!(7, (ack: u32, flag: i32, rs: *const RateSample), ack, flag as u32, bytes(rs)),
        undo_cwnd: question!(8, *mut TcpSock, std::convert::identity),
        min_cwnd: question!(9, *const TcpSock, <*const TcpSock>::cast_mut),
        sndbuf_expand: question!(10, *mut TcpSock, std::convert::identity),
        init: hook!(11, (), 0, 0, NO_SAMPLE),
        release: hook!(12, (), 0, 0, NO_SAMPLE),
        ..TcpCongestionOps::default()
    }
}
