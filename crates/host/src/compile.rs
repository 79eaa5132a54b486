//! A user's own C file: compiled, checked for what the kernel would refuse, loaded.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};
use std::{env, fs, io};

use libloading::Library;
use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};
use tempfile::TempDir;

use crate::algorithm::{fingerprint, SUPPORT};
use crate::module::Module;
use crate::{Algorithm, AlgorithmError};

/// As build.rs compiles the built-in ones.
const FLAGS: &str = include_str!("cflags.txt");
/// Lines of a compiler's messages that are worth reading at once.
const MESSAGE_LINES: usize = 16;

struct Compiled {
    /// The file and the user's headers that it includes.
    sources: Vec<PathBuf>,
    algorithm: Algorithm,
}

/// Compiles `path`, unless this process did so and no source of it changed since.
pub(crate) fn compile(path: &Path) -> Result<Algorithm, AlgorithmError> {
    static COMPILED: Mutex<Option<HashMap<PathBuf, Compiled>>> = Mutex::new(None);

    let job = Job { path };
    let file = path
        .canonicalize()
        .map_err(|error| job.unreadable(&error))?;
    if !file.is_file() || path.extension().is_none_or(|extension| extension != "c") {
        return Err(AlgorithmError::NotC { path: job.name() });
    }
    // Held while compiling, so that threads that want the same file compile it once.
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let compiled = compiled.get_or_insert_default();
    if let Some(known) = compiled.get(&file) {
        let same = |texts: Vec<String>| fingerprint(&texts) == known.algorithm.fingerprint();
        if job.read(&known.sources).is_ok_and(same) {
            return Ok(known.algorithm.clone());
        }
    }
    let (sources, algorithm) = job.run()?;
    compiled.insert(
        file,
        Compiled {
            sources,
            algorithm: algorithm.clone(),
        },
    );
    Ok(algorithm)
}

struct Job<'a> {
    path: &'a Path,
}

impl Job<'_> {
    fn run(&self) -> Result<(Vec<PathBuf>, Algorithm), AlgorithmError> {
        let directory = TempDir::with_prefix("ackclock-").map_err(|error| self.cannot(&error))?;
        let at = |name: &str| directory.path().join(name);
        for (name, text) in SUPPORT {
            let file = at(name);
            fs::create_dir_all(file.parent().expect("include/ or host/"))
                .and_then(|()| fs::write(file, text))
                .map_err(|error| self.cannot(&error))?;
        }

        let flags: Vec<_> = FLAGS.split_whitespace().collect();
        let (object, dependencies, library) =
            (at("algorithm.o"), at("dependencies"), at("algorithm.so"));
        self.compiler(|cc| {
            cc.args(&flags).arg("-I").arg(at("include"));
            cc.args(["-MMD", "-MF"]).arg(&dependencies);
            cc.args(["-x", "c", "-c"])
                .arg(self.path)
                .arg("-o")
                .arg(&object);
        })?;
        self.check(&fs::read(&object).map_err(|error| self.cannot(&error))?)?;
        self.compiler(|cc| {
            cc.args(&flags).arg("-I").arg(at("include"));
            cc.arg("-shared")
                .arg(&object)
                .arg(at("host/tcp_cong.c"))
                .arg("-o")
                .arg(&library);
        })?;

        let sources = read_dependencies(&dependencies, directory.path())
            .map_err(|error| self.cannot(&error))?;
        let texts = self.read(&sources)?;
        // SAFETY: running a user's code is what was asked for. The object has no
        // constructors of its own beyond what the C runtime brings.
        let library = unsafe { Library::new(&library) }.map_err(|error| self.cannot(&error))?;
        // SAFETY: CC_ALGORITHM gives the symbol this type; `from_module` takes over
        // the library, so the pointer stays good.
        let algorithm = unsafe {
            let module = library
                .get::<*const Module>(b"cc_module\0")
                .map(|symbol| *symbol);
            let module =
                module.map_err(|_| AlgorithmError::NotAnAlgorithm { path: self.name() })?;
            Algorithm::from_module(module, &self.name(), &texts, Some(library))?
        };
        crate::crash::explain_division_by_zero(&self.name());
        Ok((sources, algorithm))
    }

    /// Runs the C compiler, which must succeed.
    fn compiler(&self, arguments: impl Fn(&mut Command)) -> Result<(), AlgorithmError> {
        let chosen = env::var("CC").ok().filter(|cc| !cc.trim().is_empty());
        let tried = chosen.map_or_else(
            || vec!["cc".into(), "gcc".into(), "clang".into()],
            |cc| vec![cc],
        );
        for cc in &tried {
            let mut words = cc.split_whitespace();
            let mut command = Command::new(words.next().unwrap_or("cc"));
            command.args(words).env("LC_ALL", "C");
            arguments(&mut command);
            return match command.output() {
                Ok(output) if output.status.success() => Ok(()),
                Ok(output) => Err(self.refused(&output)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => Err(self.cannot(&error)),
            };
        }
        Err(AlgorithmError::NoCompiler {
            path: self.name(),
            tried: tried.join(", "),
        })
    }

    fn refused(&self, output: &Output) -> AlgorithmError {
        let messages = String::from_utf8_lossy(&output.stderr);
        // gcc's words, for x86 and for Arm, where -mgeneral-regs-only leaves no register.
        let float = ["with SSE disabled", "use of floating-point"];
        let complaint =
            |line: &&str| line.contains("error") && float.iter().any(|text| line.contains(text));
        if let Some(line) = messages.lines().find(complaint) {
            let place = line
                .split(" error")
                .next()
                .unwrap_or_default()
                .trim_end_matches(':');
            return AlgorithmError::FloatingPoint {
                path: self.name(),
                place: format!(" ({place})"),
            };
        }
        let mut lines: Vec<_> = messages.lines().take(MESSAGE_LINES).collect();
        let status = output.status.to_string();
        if lines.is_empty() {
            lines.push(&status);
        }
        AlgorithmError::DoesNotCompile {
            path: self.name(),
            errors: lines.join("\n"),
        }
    }

    /// Refuses in the object what the kernel would refuse in the program.
    fn check(&self, object: &[u8]) -> Result<(), AlgorithmError> {
        let object = object::File::parse(object).map_err(|error| self.cannot(&error))?;

        let mut unknown: Vec<String> = Vec::new();
        let mut variables: Vec<String> = Vec::new();
        for symbol in object.symbols() {
            let name = symbol.name().unwrap_or_default().to_string();
            if symbol.is_undefined() && !name.is_empty() && !GIVEN.contains(&name.as_str()) {
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
            return Err(AlgorithmError::FloatingPoint {
                path: self.name(),
                place: format!(" (it needs {name})"),
            });
        }
        if !variables.is_empty()
            || object
                .sections()
                .any(|section| is_writable(&section) && section.size() > 0)
        {
            return Err(AlgorithmError::MutableGlobals {
                path: self.name(),
                variables: variables.join(", "),
            });
        }
        if !unknown.is_empty() {
            return Err(AlgorithmError::UnknownFunction {
                path: self.name(),
                functions: unknown.join(", "),
            });
        }
        Ok(())
    }

    fn read(&self, sources: &[PathBuf]) -> Result<Vec<String>, AlgorithmError> {
        let texts: Result<Vec<_>, _> = sources.iter().map(fs::read).collect();
        let texts = texts.map_err(|error| self.unreadable(&error))?;
        Ok(texts
            .iter()
            .map(|text| String::from_utf8_lossy(text).into_owned())
            .collect())
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn unreadable(&self, error: &io::Error) -> AlgorithmError {
        AlgorithmError::Unreadable {
            path: self.name(),
            reason: error.to_string(),
        }
    }

    fn cannot(&self, error: &dyn std::error::Error) -> AlgorithmError {
        AlgorithmError::CannotLoad {
            path: self.name(),
            reason: error.to_string(),
        }
    }
}

/// What host_native.h declares, and what a compiler may call by itself.
const GIVEN: [&str; 11] = [
    "tcp_slow_start",
    "tcp_cong_avoid_ai",
    "tcp_reno_ssthresh",
    "tcp_reno_cong_avoid",
    "tcp_reno_undo_cwnd",
    "cc_random",
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "_GLOBAL_OFFSET_TABLE_",
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

/// The files of a make rule, without those in the temporary directory.
fn read_dependencies(file: &Path, temporary: &Path) -> io::Result<Vec<PathBuf>> {
    let rule = fs::read_to_string(file)?
        .replace("\\\n", " ")
        .replace("\\ ", "\0");
    let files = rule.split_once(": ").map_or("", |(_, files)| files);
    Ok(files
        .split_whitespace()
        .map(|name| PathBuf::from(name.replace('\0', " ")))
        .filter(|path| !path.starts_with(temporary))
        .collect())
}
