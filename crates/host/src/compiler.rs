//! The C compiler of a user's files: which one it is, and how it is run.

use std::env;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// As build.rs compiles the built-in algorithms, which have all warnings besides.
const FLAGS: &str = include_str!("cflags.txt");
/// No header of the system, no code but the objects (LTO), a return address for every call (crash.rs); and errors for what the
/// kernel's build or its verifier would refuse. Other warnings are not errors.
const REFUSED: &str = "-nostdinc -fno-lto -fno-optimize-sibling-calls -Werror=implicit-int \
    -Werror=implicit-function-declaration \
    -Werror=int-conversion -Werror=incompatible-pointer-types -Werror=return-type \
    -Werror=date-time -Werror=div-by-zero -Werror=vla -Werror=frame-larger-than=8192";
/// Seconds of CPU time and bytes of memory that a compiler may use for one file.
const CPU_LIMIT_S: u64 = 30;
pub(crate) const MEMORY_LIMIT_BYTES: u64 = 1 << 30;

/// A C compiler of this machine.
#[derive(Clone)]
pub(crate) struct Compiler {
    /// The program and the words after it in `$CC`.
    words: Vec<String>,
    /// What of it decides about the code that it makes: where it is, its version, all flags.
    pub(crate) identity: String,
}

impl Compiler {
    /// What `$CC` names, else `cc`, `gcc` or `clang`; if there is none, what was tried.
    pub(crate) fn find() -> Result<Self, String> {
        let tried = match chosen().as_str() {
            "" => vec!["cc", "gcc", "clang"],
            cc => vec![cc],
        }
        .into_iter()
        .map(String::from)
        .collect::<Vec<_>>();
        let found = tried.iter().find_map(|cc| {
            let words: Vec<_> = cc.split_whitespace().map(String::from).collect();
            let program = resolve(words.first()?)?;
            let version = Command::new(&words[0])
                .args(&words[1..])
                .arg("--version")
                .env("LC_ALL", "C")
                .stdin(Stdio::null())
                .output()
                .ok()?;
            let version = String::from_utf8_lossy(&version.stdout);
            let rest = words[1..].join(" ");
            let identity = format!(
                "{}\n{rest}\n{version}\n{FLAGS}\n{REFUSED}",
                program.display()
            );
            Some(Self { words, identity })
        });
        found.ok_or_else(|| tried.join(", "))
    }

    /// Runs it, without input and within limits.
    pub(crate) fn run(&self, arguments: impl FnOnce(&mut Command)) -> io::Result<Output> {
        let mut command = Command::new(&self.words[0]);
        command
            .args(&self.words[1..])
            .args(FLAGS.split_whitespace())
            .args(REFUSED.split_whitespace())
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
        arguments(&mut command);
        limit(&mut command);
        command.output()
    }
}

/// The compiler that the user asks for; empty: none in particular.
pub(crate) fn chosen() -> String {
    env::var("CC").unwrap_or_default().trim().to_string()
}

/// Where a program is, links followed.
fn resolve(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Path::new(program).canonicalize().ok();
    }
    let path = env::var_os("PATH")?;
    let mut places = env::split_paths(&path).map(|directory| directory.join(program));
    places.find(|file| file.is_file())?.canonicalize().ok()
}

/// A file can make a compiler run for hours (macros that double) or fill the memory.
fn limit(command: &mut Command) {
    let set = |resource, most: u64| {
        let limit = libc::rlimit {
            rlim_cur: most as libc::rlim_t,
            rlim_max: most as libc::rlim_t,
        };
        // A lower limit that is already there is not raised: the error is no matter.
        // SAFETY: `limit` is valid during the call.
        unsafe { libc::setrlimit(resource, &raw const limit) };
    };
    // SAFETY: between fork and exec only setrlimit is called, which is async-signal-safe.
    unsafe {
        command.pre_exec(move || {
            set(libc::RLIMIT_CPU, CPU_LIMIT_S);
            set(libc::RLIMIT_AS, MEMORY_LIMIT_BYTES);
            Ok(())
        });
    }
}
