//! Compiles a file in the kernel's form: once for each HZ, as the kernel is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::algorithm::{fingerprint, Origin, Reads, CHECKED_TEXT, KERNEL_SUPPORT};
use crate::compile::{Job, Name};
use crate::compiler::Compiler;
use crate::kernel_form::{KernelFile, Target, MOST_CA_PRIV};
use crate::messages;
use crate::preprocessed::{Preprocessed, FILE_LABEL, LABEL_LINE};
use crate::scratch::Scratch;
use crate::source;
use crate::struct_ops;
use crate::{algorithm, Algorithm, AlgorithmError, Source};

/// What is compiled: the preprocessed file, and those whose functions it calls.
pub(crate) struct Texts {
    texts: Vec<String>,
    /// The file, where an #if looks at HZ: it is preprocessed for each.
    of_each_hz: Option<Source>,
    /// Has its cong_control the two arguments that Linux 6.9 had?
    has_two_arguments: bool,
    /// Has it options of sockets of its own?
    has_options: bool,
    /// What it defines, and our headers do, too.
    own_names: Vec<String>,
}

/// What module.c and kernel_module.h give besides what any file may call.
const GIVEN: [&str; 14] = [
    "tcp_register_congestion_control",
    "tcp_unregister_congestion_control",
    "cc_kernel_slot",
    "cc_kernel_socket",
    "cc_kernel_current",
    "cc_kernel_alloc",
    "cc_kernel_calloc",
    "cc_kernel_free",
    "param_set_int",
    "param_set_uint_minmax",
    "param_get_int",
    "cc_kernel_storage",
    "CONFIG_HZ",
    "LINUX_KERNEL_VERSION",
];

/// Directories of Linux's headers.
const LINUX: [&str; 8] = [
    "linux/",
    "net/",
    "asm/",
    "asm-generic/",
    "uapi/",
    "crypto/",
    "trace/",
    "vdso/",
];

/// A kernel with room for what any file keeps of a socket.
const ROOMY: Target = Target {
    ca_priv: MOST_CA_PRIV,
    ..Target::FIRST
};

/// Names in one sentence: more than any congestion control of Linux uses.
const MOST_NAMES: usize = 40;

/// cc_kernel_socket() of a file that is not trusted, and of one that is.
const ASKED: &str = "__attribute__((visibility(\"hidden\"))) struct sock *cc_kernel_socket(void);";
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
const IN_LINE: &str = "extern __attribute__((visibility(\"hidden\"))) long cc_kernel_slot;
static inline struct sock *cc_kernel_socket(void)
{ struct sock *sk; __asm__(\"mov %%fs:(%1), %0\" : \"=r\"(sk) : \"r\"(cc_kernel_slot)); return sk; }";
#[cfg(all(target_os = "linux", target_arch = "aarch64"))]
const IN_LINE: &str = "extern __attribute__((visibility(\"hidden\"))) long cc_kernel_slot;
static inline struct sock *cc_kernel_socket(void)
{ char *at; __asm__(\"mrs %0, tpidr_el0\" : \"=r\"(at)); return *(struct sock **)(at + cc_kernel_slot); }";
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
const IN_LINE: &str =
    "extern __attribute__((visibility(\"hidden\"))) __thread struct sock *cc_kernel_current;
static inline struct sock *cc_kernel_socket(void) { return cc_kernel_current; }";

/// What stands before a file's text: what is known only now.
fn prelude(target: Target, has_two_arguments: bool, is_checked: bool) -> String {
    let Target { hz, ca_priv } = target;
    let arguments = if has_two_arguments {
        "struct sock *, const struct rate_sample *"
    } else {
        "struct sock *, unsigned int, int, const struct rate_sample *"
    };
    format!(
        "enum {{ CC_HZ = {hz}, CC_CA_PRIV = {ca_priv} }};\nstruct sock;\nstruct rate_sample;\n\
         typedef void cc_kernel_cong_control({arguments});\n{}\n",
        if is_checked { ASKED } else { IN_LINE }
    )
}

impl Job<'_> {
    /// Refuses, all at once, the names that the file uses and no host has, with the headers `missing`.
    pub(crate) fn check_names(
        &self,
        compiler: &Compiler,
        scratch: &Scratch,
        text: &str,
        missing: Vec<Name>,
    ) -> Result<(), AlgorithmError> {
        // With an unknown type a compiler does not look into a function: it gets one, and looks again.
        let mut invented: Vec<String> = Vec::new();
        let mut found: Vec<Name> = Vec::new();
        let is_kernels = Preprocessed::new(text, scratch.path()).is_kernels();
        let mut text = text.to_string();
        loop {
            let types = invented.iter().map(|name| match name.split_once(' ') {
                Some(_) => format!("{name} {{ int cc_invented; }};\n"),
                None => format!("typedef struct {{ int cc_invented; }} {name};\n"),
            });
            let whole = types.collect::<String>() + &text;
            let Err(output) = self.object(compiler, scratch, &whole, ROOMY, false)? else {
                break;
            };
            let written = String::from_utf8_lossy(&output.stderr);
            let more = messages::unserved(&written, &self.name(), scratch.path());
            // What an earlier look said of others was for want of the type.
            found.retain(|(name, _)| invented.contains(name));
            let is_of = |name: &str| {
                invented
                    .iter()
                    .any(|of| name.ends_with(&format!(" of {of}")))
            };
            for (name, place) in more {
                if !is_of(&name) && found.iter().all(|(known, _)| *known != name) {
                    found.push((name, place));
                }
            }
            let mut types = messages::unknown_types(&written);
            types.retain(|name| !invented.contains(name));
            types.sort();
            types.dedup();
            if types.is_empty() {
                let names = found.iter().map(|(name, _)| name);
                let ended = names.fold(text.clone(), |text, name| source::ended(&text, name));
                if ended == text {
                    break;
                }
                text = ended;
            }
            if invented.len() > MOST_NAMES {
                break;
            }
            invented.extend(types);
        }
        // In the order of the file.
        let line = |name: &Name| {
            let line = name.1.rsplit(':').next().map(str::parse::<u32>);
            line.and_then(Result::ok)
        };
        found.sort_by_key(line);
        let mut names = missing;
        names.extend(found);
        if names.is_empty() {
            return Ok(());
        }
        let names = names
            .iter()
            .map(|(name, place)| format!("{name} ({place})"));
        Err(self.unserved(names, is_kernels))
    }

    /// Names the first of what the simulator has not, and how many more there are: a file that is no
    /// congestion control has hundreds. Linux in virtual time compiles a file of the kernel's form
    /// with its own headers: it serves all but a header that is not one of Linux.
    fn unserved(
        &self,
        names: impl ExactSizeIterator<Item = String>,
        is_kernels: bool,
    ) -> AlgorithmError {
        let more = names.len().saturating_sub(MOST_NAMES);
        let names: Vec<String> = names.take(MOST_NAMES).collect();
        let is_linux = |name: &String| match name.strip_prefix('<') {
            Some(header) => LINUX.iter().any(|of| header.starts_with(of)),
            None => !name.starts_with('"'),
        };
        let (nobody, instead) = match is_kernels && names.iter().all(is_linux) {
            true => (
                "the simulator does not serve",
                "run, sweep, response, evaluate and conform take it with --on vlinux, which has \
                 Linux's own headers; or ",
            ),
            false => ("no host of ackclock serves", ""),
        };
        let mut names = names.join(", ");
        if more > 0 {
            names += &format!(" and {more} more");
        }
        self.refuse(&format!(
            "uses what {nobody}: {names}; {instead}leave it out of the file, or out with #ifdef"
        ))
    }

    /// The object of one text, or what the compiler says.
    fn object(
        &self,
        compiler: &Compiler,
        scratch: &Scratch,
        text: &str,
        target: Target,
        has_two_arguments: bool,
    ) -> Result<Result<Vec<u8>, std::process::Output>, AlgorithmError> {
        let whole = prelude(target, has_two_arguments, false) + text;
        let file = scratch.write("kernel.i", whole.as_bytes());
        let file = file.map_err(|error| self.cannot(&error))?;
        let object = scratch.path().join("kernel.o");
        let output = compiler.run(scratch.path(), |cc| {
            cc.args(["-g", "-fmax-errors=0", "-x", "cpp-output", "-c"]);
            cc.arg(&file).arg("-o").arg(&object);
        });
        let output = output.map_err(|error| self.cannot(&error))?;
        if !output.status.success() {
            return Ok(Err(output));
        }
        let object = fs::read(&object).map_err(|error| self.cannot(&error))?;
        Ok(Ok(object))
    }

    /// Takes the snapshot of a file in the kernel's form. Also: is it what the files still contain?
    pub(crate) fn kernel_form(
        &self,
        source: Source,
        compiler: &Compiler,
        scratch: &Scratch,
        snapshot: &Preprocessed<'_>,
        reads: Reads,
    ) -> Result<(Algorithm, bool), AlgorithmError> {
        let ours = scratch.path();
        let tries = [
            (Target::FIRST, false),
            (Target::FIRST, true),
            (ROOMY, false),
            (ROOMY, true),
        ];
        let mut own_names: Vec<String> = Vec::new();
        let (text, object, target, has_two_arguments) = loop {
            let text = struct_ops::module(snapshot, &own_names);
            let mut refused = None;
            let mut taken = None;
            for (target, two) in tries {
                match self.object(compiler, scratch, &text, target, two)? {
                    Ok(object) => {
                        taken = Some((object, target, two));
                        break;
                    }
                    Err(output) => drop(refused.get_or_insert(output)),
                }
            }
            let twice = match (&taken, &refused) {
                (Some((object, ..)), _) => source::defined(object),
                (None, Some(output)) => {
                    messages::defined_again(&String::from_utf8_lossy(&output.stderr))
                }
                (None, None) => Vec::new(),
            };
            let is_new = |name: &String| {
                let is_ours = taken.is_none() || algorithm::GIVEN.contains(&name.as_str());
                is_ours && !own_names.contains(name) && snapshot.word(name).is_some()
            };
            let new: Vec<_> = twice.into_iter().filter(is_new).collect();
            match taken {
                Some((object, target, two)) if new.is_empty() => break (text, object, target, two),
                None if new.is_empty() => {
                    return Err(self.refused(&refused.expect("it was refused"), ours))
                }
                _ => own_names.extend(new),
            }
        };

        let mut unknown = self.unknown(&object)?;
        let mut sources = vec![source];
        let mut texts = vec![text];
        let mut contents = snapshot.contents();
        let mut included = snapshot.included();
        // Yeah calls functions of Vegas, whose header it includes: they lie beside it.
        for header in snapshot.included() {
            let beside = header.with_extension("c");
            let is_other = beside.is_file() && beside != sources[0].path;
            if unknown.is_empty() || header.extension() != Some("h".as_ref()) || !is_other {
                continue;
            }
            let other = source::read(&beside).map_err(|error| self.unreadable(&error))?;
            let text = self.beside(compiler, scratch, &other)?;
            let object = self.object(compiler, scratch, &text, target, has_two_arguments)?;
            let object = object.map_err(|output| self.refused(&output, ours))?;
            let defined = source::defined(&object);
            unknown.retain(|name| !defined.contains(name));
            let preprocessed = Preprocessed::new(&text, ours);
            contents += &preprocessed.contents();
            included.extend(preprocessed.included());
            texts.push(text);
        }
        if !unknown.is_empty() {
            let names = unknown.iter().map(|name| match snapshot.word(name) {
                Some((file, line)) => format!("{name} ({}:{line})", self.shown(&file)),
                None => name.clone(),
            });
            return Err(self.unserved(names, true));
        }
        included.sort();
        included.dedup();
        included.retain(|path| *path != sources[0].path);
        for path in &included {
            let read = source::read(path).map_err(|error| self.unreadable(&error))?;
            sources.push(read);
        }
        let own_text = String::from_utf8_lossy(&sources[0].text).into_owned();
        let mut made_of = vec![
            own_text.as_str(),
            &contents,
            &compiler.identity,
            CHECKED_TEXT,
        ];
        made_of.extend(KERNEL_SUPPORT.iter().map(|(_, text)| *text));
        let fingerprint = fingerprint(&made_of);
        let texts = Texts {
            texts,
            of_each_hz: source::asks_hz(&sources[0].text).then(|| sources[0].clone()),
            has_two_arguments,
            has_options: snapshot.word("tcp_prot").is_some(),
            own_names,
        };
        let path = self.path().to_owned();
        let has_two_arguments = texts.has_two_arguments;
        let to_fuzz = self.to_fuzz;
        let compile = move |kernel, whole| {
            Job::for_file(&path, to_fuzz).kernel_library(&texts, kernel, whole)
        };
        let origin = Origin {
            path: self.name(),
            sources,
            fingerprint,
            reads,
        };
        let needs_more = target == ROOMY;
        let file = KernelFile::new(origin, Box::new(compile), has_two_arguments, needs_more);
        // The headers were read after the preprocessor did: with some, the next look compiles anew.
        Ok((file.algorithm()?, included.is_empty()))
    }

    /// The text of a file beside the user's, of which only functions are wanted.
    fn beside(
        &self,
        compiler: &Compiler,
        scratch: &Scratch,
        source: &Source,
    ) -> Result<String, AlgorithmError> {
        let name = source.path.to_string_lossy();
        let name = name.replace('\\', "\\\\").replace('"', "\\\"");
        let label = format!("# 1 \"{name}\"\n");
        let file = self.write_labelled(scratch, "beside.c", &label, &source.text)?;
        let directory = source.path.parent().unwrap_or(Path::new("/"));
        let only = ["-DCC_KERNEL_BESIDE"];
        let (text, missing) = self.preprocess(compiler, scratch, &file, directory, &only)?;
        let snapshot = Preprocessed::new(&text, scratch.path());
        self.refuse_words(compiler, &snapshot, directory)?;
        self.check_names(compiler, scratch, &text, missing)?;
        Ok(text)
    }

    /// A file whose #if look at HZ.
    fn preprocessed_for(
        &self,
        compiler: &Compiler,
        scratch: &Scratch,
        source: &Source,
        hz: u32,
    ) -> Result<String, AlgorithmError> {
        let file = self.write_labelled(scratch, FILE_LABEL, LABEL_LINE, &source.text)?;
        let directory = source.path.parent().unwrap_or(Path::new("/"));
        let only = format!("-DCC_HZ={hz}");
        let (text, _) = self.preprocess(compiler, scratch, &file, directory, &[&only])?;
        let snapshot = Preprocessed::new(&text, scratch.path());
        self.refuse_words(compiler, &snapshot, directory)?;
        Ok(text)
    }

    /// The functions that neither the object has nor a host.
    fn unknown(&self, object: &[u8]) -> Result<Vec<String>, AlgorithmError> {
        let (mut unknown, _) = self.look_at(object)?;
        unknown.retain(|name| !GIVEN.contains(&name.as_str()));
        Ok(unknown)
    }

    /// The library for a kernel. `is_whole`: each variable is as it was written, whatever a compiler
    /// could make of it.
    pub(crate) fn kernel_library(
        &self,
        texts: &Texts,
        target: Target,
        is_whole: bool,
    ) -> Result<Vec<u8>, AlgorithmError> {
        // Without optimisation a plain `inline` function is called: the second makes it one.
        let more = if is_whole {
            &["-O0", "-fgnu89-inline"][..]
        } else {
            &[]
        };
        let scratch = self.scratch()?;
        let ours = scratch.path();
        let compiler = self.find_compiler()?;
        let write = |name: &str, text: &[u8]| -> Result<PathBuf, AlgorithmError> {
            let written = scratch.write(name, text);
            written.map_err(|error| self.cannot(&error))
        };
        let checker = compiler.checker();
        let prelude = prelude(target, texts.has_two_arguments, checker.is_some());
        let mut objects = Vec::new();
        let own = match &texts.of_each_hz {
            Some(source) => {
                let text = self.preprocessed_for(&compiler, &scratch, source, target.hz)?;
                struct_ops::module(&Preprocessed::new(&text, ours), &texts.own_names)
            }
            None => texts.texts[0].clone(),
        };
        let beside = texts.texts[1..].iter();
        for (index, text) in std::iter::once(&own).chain(beside).enumerate() {
            let file = write(&format!("{index}.i"), (prelude.clone() + text).as_bytes())?;
            let object = ours.join(format!("{index}.o"));
            match checker {
                Some(checker) => {
                    self.checked(checker, &scratch, &file, &object, more)?;
                    let made = fs::read(&object).map_err(|error| self.cannot(&error))?;
                    self.unknown(&made)?;
                }
                None => self.compiler(&compiler, ours, |cc| {
                    cc.args(["-g", "-x", "cpp-output", "-c"]).arg(&file);
                    cc.args(more).arg("-o").arg(&object);
                })?,
            }
            objects.push(object);
        }
        let prelude = write("prelude.h", prelude.as_bytes())?;
        let [module, library] = ["module.o", "algorithm.so"].map(|name| ours.join(name));
        self.compiler(&compiler, ours, |cc: &mut Command| {
            for place in ["include", "kernel"] {
                cc.arg("-I").arg(ours.join(place));
            }
            if texts.has_two_arguments {
                cc.arg("-DCC_KERNEL_TWO_ARGUMENTS");
            }
            cc.args(texts.has_options.then_some("-DCC_SETSOCKOPT"));
            if checker.is_some() {
                cc.args(["-DCC_CHECKED", "-fomit-frame-pointer"]); // CC_LEAVE
            } else {
                // A hook of module.c jumps to the file's.
                cc.arg("-foptimize-sibling-calls");
            }
            cc.arg("-include").arg(&prelude).arg("-c");
            cc.arg(ours.join("kernel/module.c")).arg("-o").arg(&module);
        })?;
        objects.push(module);
        self.link(&compiler, &scratch, &objects, &library)?;
        fs::read(&library).map_err(|error| self.cannot(&error))
    }
}
