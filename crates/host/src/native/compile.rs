//! A user's own C file: compiled, checked for what the kernel would refuse, loaded.
//!
//! One snapshot decides everything. The file is read once, and preprocessed once; that very text is
//! compiled and hashed. So an edit while this runs changes nothing, and the fingerprint is always
//! that of the code that runs.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolFlags, SymbolKind};

use crate::algorithm::{
    fingerprint, Origin, Reads, CHECKED, CHECKED_TEXT, GIVEN, KERNEL_SUPPORT, SUPPORT,
};
use crate::checked::Checked;
use crate::compiler::{self, Compiler};
use crate::kernel_form::FIRST_HZ;
use crate::library::Loaded;
use crate::messages;
use crate::module::{self, MODULE};
use crate::preprocessed::{shown, with_all_errors, Preprocessed, FILE_LABEL, LABEL_LINE};
use crate::scratch::Scratch;
use crate::source;
use crate::translated::{self, Unseen};
use crate::{allowed, call, trust, Algorithm, AlgorithmError, Source};

impl Algorithm {
    /// Compiles and loads a user's C file, once per process and contents.
    ///
    /// # Errors
    /// The file cannot be read or compiled, breaks a rule of restricted C, or declares
    /// no usable algorithm.
    pub fn compile(path: &Path) -> Result<Algorithm, AlgorithmError> {
        compile(path, path, false)
    }
}

/// What was compiled in this process, by file, `$CC`, whether it is trusted, and what for.
type Compiled = HashMap<(PathBuf, String, bool, bool), Algorithm>;

/// Compiles the file at `at`, unless this process did so and no source of it changed since.
/// Errors call it `path`. `to_fuzz`: what C leaves undefined ends the process.
pub(crate) fn compile(path: &Path, at: &Path, to_fuzz: bool) -> Result<Algorithm, AlgorithmError> {
    static COMPILED: Mutex<Option<Compiled>> = Mutex::new(None);

    let job = Job { path, at, to_fuzz };
    let source = job.read()?;
    let key = (
        source.path.clone(),
        compiler::chosen(),
        trust::is_trusted(),
        to_fuzz,
    );
    // Held while compiling, so that threads that want the same file compile it once.
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let compiled = compiled.get_or_insert_default();
    if let Some(known) = compiled.get(&key) {
        let unchanged = |source: &Source| {
            source::read(&source.path).is_ok_and(|current| current.text == source.text)
        };
        let (own, included) = known.sources().split_first().expect("the file itself");
        if own.text == source.text && included.iter().all(unchanged) {
            return Ok(known.clone());
        }
    }
    let (algorithm, is_current) = job.run(source)?;
    if is_current {
        compiled.insert(key, algorithm.clone());
    }
    Ok(algorithm)
}

pub(crate) struct Job<'a> {
    /// What the user calls the file.
    path: &'a Path,
    /// Where it is.
    at: &'a Path,
    pub(crate) to_fuzz: bool,
}

impl<'a> Job<'a> {
    pub(crate) fn for_file(path: &'a Path, to_fuzz: bool) -> Self {
        Self {
            path,
            at: path,
            to_fuzz,
        }
    }

    /// The text of the file, if it is one.
    pub(crate) fn read(&self) -> Result<Source, AlgorithmError> {
        let metadata = fs::metadata(self.at).map_err(|error| self.unreadable(&error))?;
        let is_c = self
            .at
            .extension()
            .is_some_and(|extension| extension == "c");
        if metadata.is_dir() {
            return Err(self.unreadable(&io::ErrorKind::IsADirectory.into()));
        }
        if !is_c || !metadata.is_file() {
            return Err(self.unreadable(&io::ErrorKind::InvalidInput.into()));
        }
        // Absolute, so that its first letter means nothing to a compiler.
        let path = std::path::absolute(self.at).map_err(|error| self.unreadable(&error))?;
        let source = source::read(&path).map_err(|error| self.unreadable(&error))?;
        if source.text.contains(&0) {
            return Err(self.unreadable(&io::ErrorKind::InvalidData.into()));
        }
        Ok(source)
    }

    /// Compiles the snapshot. Also: is it what the files still contain?
    fn run(&self, source: Source) -> Result<(Algorithm, bool), AlgorithmError> {
        let scratch = self.scratch()?;
        let ours = scratch.path();
        let compiler = self.find_compiler()?;
        let file = self.write_labelled(&scratch, FILE_LABEL, LABEL_LINE, &source.text)?;
        let [preprocessed, object, library] =
            ["file.i", "algorithm.o", "algorithm.so"].map(|name| ours.join(name));
        // Headers in quotation marks lie beside the file.
        let directory = source.path.parent().unwrap_or(Path::new("/")).to_owned();
        let include = |cc: &mut Command| including(cc, ours, &directory);
        let hz = format!("-DCC_HZ={FIRST_HZ}");
        let hz = source::asks_hz(&source.text).then_some(hz.as_str());
        let preprocess = || self.preprocess(&compiler, &scratch, &file, &directory, hz.as_slice());
        let (text, missing) = preprocess()?;
        fs::write(&preprocessed, &text).map_err(|error| self.cannot(&error))?;
        let snapshot = Preprocessed::new(&text, ours);
        let is_kernels = snapshot.is_kernels();
        if is_kernels || !missing.is_empty() {
            self.check_names(&compiler, &scratch, &text, missing)?;
        }
        self.refuse_words(&compiler, &snapshot, &directory)?;
        let reads = Reads::from_words(|word| snapshot.word(word).is_some());
        if is_kernels {
            return self.kernel_form(source, &compiler, &scratch, &snapshot, reads);
        }
        // Once more for its messages: before the preprocessor every column is the user's.
        let explained = |compiler: &Compiler, refused| {
            let again = self.compiler(compiler, ours, |cc| {
                include(cc);
                cc.args(["-x", "c", "-c"]).arg(&file).arg("-o").arg(&object);
            });
            again.err().unwrap_or(refused)
        };
        let compiled = self.compiler(&compiler, ours, |cc| {
            cc.args(compiler.checker().is_none().then_some("-g"));
            cc.args(["-x", "cpp-output", "-c"]).arg(&preprocessed);
            cc.arg("-o").arg(&object);
        });
        compiled.map_err(|refused| explained(&compiler, refused))?;
        self.check(&fs::read(&object).map_err(|error| self.cannot(&error))?)?;
        if let Some(checker) = compiler.checker() {
            let checked = self.checked(checker, &scratch, &preprocessed, &object, &[]);
            checked.map_err(|refused| explained(checker, refused))?;
            self.check(&fs::read(&object).map_err(|error| self.cannot(&error))?)?;
        }
        self.link(&compiler, &scratch, &[object], &library)?;

        let included = snapshot.included();
        let mut sources = vec![source];
        for path in &included {
            let read = source::read(path);
            sources.push(
                read.map_err(|error| AlgorithmError::unreadable(&shown(path), &error.to_string()))?,
            );
        }
        // The headers were read after the preprocessor did. If it still finds what it found then,
        // it found what was read.
        let contents = snapshot.contents();
        let is_current =
            included.is_empty() || Preprocessed::new(&preprocess()?.0, ours).contents() == contents;
        let own_text = String::from_utf8_lossy(&sources[0].text);
        let fingerprint = fingerprint(&[
            &own_text,
            contents.as_str(),
            &compiler.identity,
            CHECKED_TEXT,
        ]);

        let library = Loaded::open(&library, &self.name(), MODULE);
        let library = library.map_err(|error| self.cannot(&*error))?;
        let not_one = || AlgorithmError::not_an_algorithm(&self.name());
        let module = library.module().ok_or_else(not_one)?;
        if let Some(checked) = Checked::in_library(&library) {
            // SAFETY: it looks only where the file lies.
            if !unsafe { module::is_whole(module, checked.place()) } {
                return Err(not_one());
            }
        }
        // SAFETY: CC_ALGORITHM gives the symbol this type, and `library` is still loaded.
        let declared = unsafe { module::read(module) };
        let origin = Origin {
            path: self.name(),
            sources,
            fingerprint,
            reads,
        };
        Ok((Algorithm::new(declared, origin, Some(library))?, is_current))
    }

    /// Is it in the kernel's form, whether or not a host can run it?
    pub(crate) fn is_kernel_form(&self, source: &Source) -> Result<bool, AlgorithmError> {
        let scratch = self.scratch()?;
        let compiler = self.find_compiler()?;
        let file = self.write_labelled(&scratch, FILE_LABEL, LABEL_LINE, &source.text)?;
        let directory = source.path.parent().unwrap_or(Path::new("/"));
        let (text, _) = self.preprocess(&compiler, &scratch, &file, directory, &[])?;
        Ok(Preprocessed::new(&text, scratch.path()).is_kernels())
    }

    /// Makes the object of a file that is not trusted, by way of its assembly, so that code which no
    /// check sees is refused.
    pub(crate) fn checked(
        &self,
        checker: &Compiler,
        scratch: &Scratch,
        preprocessed: &Path,
        object: &Path,
        more: &[&str],
    ) -> Result<(), AlgorithmError> {
        if trust::is_strangers() && !checker.checks_loads() {
            return Err(AlgorithmError::unchecked_loads(&self.name()));
        }
        let ours = scratch.path();
        let assembly = object.with_extension("s");
        self.compiler(checker, ours, |cc| {
            cc.args(["-g", "-x", "cpp-output", "-S"]).arg(preprocessed);
            cc.args(checker.checks().split_whitespace()).args(more);
            cc.arg("-o").arg(&assembly);
        })?;
        let text = fs::read_to_string(&assembly).map_err(|error| self.cannot(&error))?;
        if let Some(unseen) = translated::unseen(&text) {
            let (Unseen::Assembly((file, line)) | Unseen::Indirect((file, line))) = &unseen;
            let (path, line) = (self.shown(Path::new(file)), *line);
            return Err(match unseen {
                Unseen::Assembly(_) => AlgorithmError::inline_assembly(&path, line),
                Unseen::Indirect(_) => AlgorithmError::indirect_call(&path, line),
            });
        }
        let text = translated::prepared(&text, &call::Compared::here());
        fs::write(&assembly, text).map_err(|error| self.cannot(&error))?;
        self.compiler(checker, ours, |cc| {
            cc.arg("-c").arg(&assembly).arg("-o").arg(object);
        })
    }

    /// Links objects to a library, with what checks them if the file is not trusted.
    pub(crate) fn link(
        &self,
        compiler: &Compiler,
        scratch: &Scratch,
        objects: &[PathBuf],
        library: &Path,
    ) -> Result<(), AlgorithmError> {
        let ours = scratch.path();
        let mut given = Vec::new();
        match compiler.checker() {
            None => given.push(ours.join("host/tcp_cong.c")),
            Some(_) => {
                for (index, object) in CHECKED.iter().enumerate() {
                    let written = scratch.write(&format!("checked/{index}.o"), object);
                    given.push(written.map_err(|error| self.cannot(&error))?);
                }
            }
        }
        self.compiler(compiler, ours, |cc| {
            cc.arg("-I").arg(ours.join("include"));
            // No code of the compiler's own, which would write when the process ends.
            cc.args(["-shared", "-nostartfiles"]);
            if cfg!(target_os = "linux") {
                cc.arg("-Wl,-z,relro,-z,now,-z,noexecstack");
            }
            cc.args(objects).args(&given).arg("-o").arg(library);
        })
    }

    /// Refuses assembly, and in a file that is not trusted words that could switch checks off, or hide other words, and
    /// files that do not lie in its directory.
    pub(crate) fn refuse_words(
        &self,
        compiler: &Compiler,
        snapshot: &Preprocessed<'_>,
        directory: &Path,
    ) -> Result<(), AlgorithmError> {
        if compiler.checker().is_some() {
            return allowed::check(snapshot, directory, |file| self.shown(file));
        }
        match snapshot.assembly() {
            None => Ok(()),
            Some((file, line)) => Err(AlgorithmError::inline_assembly(&self.shown(&file), line)),
        }
    }

    /// A directory with all that files are compiled with.
    pub(crate) fn scratch(&self) -> Result<Scratch, AlgorithmError> {
        let scratch = Scratch::new().map_err(|error| self.cannot(&error))?;
        for (name, text) in SUPPORT.iter().chain(KERNEL_SUPPORT) {
            let written = scratch.write(name, text.as_bytes());
            written.map_err(|error| self.cannot(&error))?;
        }
        Ok(scratch)
    }

    pub(crate) fn find_compiler(&self) -> Result<Compiler, AlgorithmError> {
        Compiler::find(self.to_fuzz).map_err(|tried| {
            let path = self.name();
            AlgorithmError(format!("cannot compile {path}: no C compiler was found (tried {tried}); install one, such as Debian's package gcc, or name one in CC"))
        })
    }

    /// Writes a user's text; `label` is the line that tells the compiler what to call it.
    pub(crate) fn write_labelled(
        &self,
        scratch: &Scratch,
        name: &str,
        label: &str,
        text: &[u8],
    ) -> Result<PathBuf, AlgorithmError> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let written = scratch.write(&format!("user/{name}"), &[label.as_bytes(), text].concat());
        written.map_err(|error| self.cannot(&error))
    }

    /// What the preprocessor makes of a file. Also the headers that are missing, with their places:
    /// it goes on without them.
    pub(crate) fn preprocess(
        &self,
        compiler: &Compiler,
        scratch: &Scratch,
        file: &Path,
        directory: &Path,
        more: &[&str],
    ) -> Result<(String, Vec<Name>), AlgorithmError> {
        const MOST: usize = 100;
        let ours = scratch.path();
        let mut missing = Vec::new();
        loop {
            let output = compiler.run(ours, |cc| {
                including(cc, ours, directory);
                cc.args(more).args(["-x", "c", "-E"]).arg(file);
            });
            let output = output.map_err(|error| self.cannot(&error))?;
            if output.status.success() {
                let text = String::from_utf8_lossy(&output.stdout);
                return Ok((with_all_errors(&text), missing));
            }
            let written = String::from_utf8_lossy(&output.stderr);
            let header = messages::missing_header(&written, &self.name());
            let header = header.filter(|_| missing.len() < MOST);
            let (header, place) = header.ok_or_else(|| self.refused(&output, ours))?;
            let empty = scratch.write(&format!("missing/{header}"), b"");
            empty.map_err(|error| self.cannot(&error))?;
            let quoted = format!("\"{header}\"");
            let text = fs::read(file).unwrap_or_default();
            let shown = if String::from_utf8_lossy(&text).contains(&quoted) {
                format!("{quoted}, which is not beside the file")
            } else {
                format!("<{header}>")
            };
            missing.push((shown, place));
        }
    }

    /// Runs the C compiler, which must succeed.
    pub(crate) fn compiler(
        &self,
        compiler: &Compiler,
        ours: &Path,
        arguments: impl FnOnce(&mut Command),
    ) -> Result<(), AlgorithmError> {
        match compiler.run(ours, arguments) {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(self.refused(&output, ours)),
            Err(error) => Err(self.cannot(&error)),
        }
    }

    pub(crate) fn refused(&self, output: &Output, ours: &Path) -> AlgorithmError {
        let written = String::from_utf8_lossy(&output.stderr);
        if written.contains("No space left on device") {
            let full = io::Error::from_raw_os_error(libc::ENOSPC);
            return self.cannot(&Scratch::explain(&full));
        }
        let mib = |bytes| bytes >> 20;
        // The assembler's words, and gcc's of an assembler that a signal ended.
        let large = ["File too large", "File size limit exceeded"];
        let limit = if written.contains("out of memory") {
            Some(format!(
                "the compiler needs more memory than {} MiB; does the file include something endless?",
                mib(compiler::MEMORY_LIMIT_BYTES)
            ))
        } else if large.iter().any(|words| written.contains(words)) {
            Some(format!(
                "the compiler writes more than {} MiB; is a constant as large?",
                mib(compiler::FILE_LIMIT_BYTES)
            ))
        } else {
            None
        };
        if let Some(errors) = limit {
            return AlgorithmError::does_not_compile(&self.name(), &errors);
        }
        let text = fs::read_to_string(self.at).unwrap_or_default();
        match messages::refused(&written, &self.name(), &text, ours) {
            Some(error) => error,
            None => {
                let stopped = format!("the compiler stopped: {}", output.status);
                AlgorithmError::does_not_compile(&self.name(), &stopped)
            }
        }
    }

    /// Refuses in the object what the kernel would refuse in the program.
    fn check(&self, object: &[u8]) -> Result<(), AlgorithmError> {
        let (unknown, variables) = self.look_at(object)?;
        if let Some(variables) = variables {
            return Err(AlgorithmError::mutable_globals(&self.name(), &variables));
        }
        if !unknown.is_empty() {
            let functions = unknown.join(", ");
            return Err(AlgorithmError::unknown_function(&self.name(), &functions));
        }
        Ok(())
    }

    /// The functions that an object calls and that are not ours, and the variables that its code may
    /// write, if there are any. An error is what no file may have.
    pub(crate) fn look_at(
        &self,
        object: &[u8],
    ) -> Result<(Vec<String>, Option<String>), AlgorithmError> {
        let object = object::File::parse(object).map_err(|error| self.cannot(&error))?;

        // A constructor, or the resolver of an indirect function. A constructor that the compiler
        // dropped has no section here, and nothing of it runs.
        let is_constructor = |name: &str| {
            ["init", "fini", "ctors", "dtors", "mod_init_func"]
                .iter()
                .any(|kind| name.trim_start_matches(['.', '_']).starts_with(kind))
                || name.starts_with(".preinit")
        };
        let runs = object
            .sections()
            .any(|section| section.size() > 0 && section.name().is_ok_and(is_constructor));
        let resolves = object.symbols().any(|symbol| {
            matches!(symbol.flags(), SymbolFlags::Elf { st_info, .. }
                if st_info.st_type() == object::elf::STT_GNU_IFUNC)
        });
        if runs || resolves {
            return Err(AlgorithmError::constructor(&self.name()));
        }
        let mut unknown: Vec<String> = Vec::new();
        let mut variables: Vec<String> = Vec::new();
        for symbol in object.symbols() {
            let name = symbol.name().unwrap_or_default().to_string();
            let is_given = GIVEN.contains(&name.as_str()) || allowed::is_check(&name);
            let is_reserved = RESERVED.contains(&name.as_str()) || allowed::is_check(&name);
            if is_reserved && symbol.is_global() && !symbol.is_undefined() {
                let errors = messages::taken(&name);
                return Err(AlgorithmError::does_not_compile(&self.name(), &errors));
            }
            if symbol.is_undefined() && !name.is_empty() && !is_given {
                unknown.push(name);
            } else if symbol.kind() == SymbolKind::Data || symbol.kind() == SymbolKind::Tls {
                let section = symbol
                    .section_index()
                    .and_then(|index| object.section_by_index(index).ok());
                if symbol.is_common() || section.is_some_and(|section| is_writable(&section)) {
                    variables.push(name);
                }
            }
        }
        if let Some(name) = unknown.iter().find(|name| is_soft_float(name)) {
            let place = format!("it needs {name}");
            return Err(AlgorithmError::floating_point(&self.name(), &place));
        }
        let has_variables = !variables.is_empty()
            || object
                .sections()
                .any(|section| is_writable(&section) && section.size() > 0);
        Ok((unknown, has_variables.then(|| variables.join(", "))))
    }

    pub(crate) fn name(&self) -> String {
        shown(self.path)
    }

    /// The name of a file that the compiler read.
    pub(crate) fn shown(&self, file: &Path) -> String {
        let is_own = file == Path::new(FILE_LABEL);
        shown(if is_own { self.path } else { file })
    }

    pub(crate) fn unreadable(&self, error: &io::Error) -> AlgorithmError {
        AlgorithmError::no_source(&self.name(), error.kind(), &error.to_string())
    }

    /// What is wrong with the file.
    pub(crate) fn refuse(&self, problem: &str) -> AlgorithmError {
        AlgorithmError(format!("{} {problem}", self.name()))
    }

    /// What the user calls the file.
    pub(crate) fn path(&self) -> &Path {
        self.path
    }

    pub(crate) fn cannot(&self, error: &dyn std::error::Error) -> AlgorithmError {
        AlgorithmError::cannot_load(&self.name(), error)
    }
}

/// A name that a file uses, and where: `file.c:12`.
pub(crate) type Name = (String, String);

/// Where headers are: ours, and in quotation marks those beside the file.
pub(crate) fn including(cc: &mut Command, ours: &Path, directory: &Path) {
    // Headers of BPF are ours, whatever lies beside the file.
    for place in ["kernel/first", "include", "kernel", "missing"] {
        cc.arg("-I").arg(ours.join(place));
    }
    cc.arg("-iquote").arg(ours.join("kernel/first"));
    // Its name is another one each time: no __FILE__ may have it.
    let mut hidden = OsString::from("-fmacro-prefix-map=");
    hidden.push(ours);
    hidden.push("=ackclock");
    cc.arg(hidden);
    cc.arg("-iquote").arg(directory);
}

/// Names to which the linker or the loader gives a meaning.
const RESERVED: [&str; 9] = [
    "_init",
    "_fini",
    "_end",
    "__ehdr_start",
    "__start_cc_ours",
    "__stop_cc_ours",
    "__gmon_start__",
    "__cxa_finalize",
    "cc_checked",
];

/// Is it a routine of libgcc or compiler-rt for floating point, such as `__muldf3`,
/// `__floatunsidf` or `__gtdf2`, or one of libm?
fn is_soft_float(symbol: &str) -> bool {
    let libm = [
        "sqrt", "cbrt", "pow", "exp", "log", "fabs", "floor", "ceil", "round", "fmin", "fmax",
    ];
    let modes = ["sf", "df", "xf", "tf"];
    (symbol.starts_with("__") && modes.iter().any(|mode| symbol.contains(mode)))
        || libm.iter().any(|name| {
            symbol
                .strip_prefix(name)
                .is_some_and(|rest| matches!(rest, "" | "f" | "l"))
        })
}

/// Constants with addresses in them (`.data.rel.ro`) are written only by the loader.
fn is_writable<'data>(section: &impl ObjectSection<'data>) -> bool {
    let writable = matches!(
        section.kind(),
        SectionKind::Data
            | SectionKind::UninitializedData
            | SectionKind::Tls
            | SectionKind::UninitializedTls
    );
    writable
        && !section
            .name()
            .is_ok_and(|name| name.starts_with(".data.rel.ro"))
}
