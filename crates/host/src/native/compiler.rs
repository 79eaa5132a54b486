//! The C compiler of a user's files: which one it is, and how it is run.

use std::env;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::algorithm::CHECKED;
use crate::native::confine;
use crate::trust;

/// As build.rs compiles the built-in algorithms, which have all warnings besides.
const FLAGS: &str = include_str!("cflags.txt");
/// No header of the system, no code but the objects (LTO), a return address for every call (crash.rs); and errors for what the
/// kernel's build or its verifier would refuse. Other warnings are not errors.
const REFUSED: &str = include_str!("refused.txt");
/// Each load and store calls a function of algorithms/checked/checked.c.
const CHECKS_OF_GCC: &str = include_str!("checks-gcc.txt");
/// Also each division, as the compiler makes anything of one by what it knows to be 0.
const CHECKS_OF_CLANG: &str = include_str!("checks-clang.txt");
/// Where a clang may be.
const CLANGS: [&str; 8] = [
    "clang", "clang-21", "clang-20", "clang-19", "clang-18", "clang-17", "clang-16", "clang-14",
];
/// Bytes of the largest file that a compiler may write.
pub(crate) const FILE_LIMIT_BYTES: u64 = 64 << 20;
/// Seconds of CPU time and bytes of memory that a compiler may use for one file.
const CPU_LIMIT_S: u64 = 30;
pub(crate) const MEMORY_LIMIT_BYTES: u64 = 1 << 30;
/// A compiler may wait so long: for the disk, or because a file includes a pipe.
const WAIT_LIMIT: Duration = Duration::from_secs(60);

/// A C compiler of this machine.
#[derive(Clone)]
pub(crate) struct Compiler {
    /// The program and the words after it in `$CC`.
    words: Vec<String>,
    /// What of it decides about the code that it makes: where it is, its version, all flags.
    pub(crate) identity: String,
    is_clang: bool,
    /// Flags that give variables without a value 0, so that a run repeats.
    zeroes: Vec<&'static str>,
    /// Whether its code also stops where C leaves the behaviour undefined.
    to_fuzz: bool,
    /// What makes code that checks what it touches; `None` for trusted files.
    checker: Option<Box<Compiler>>,
}

impl Compiler {
    /// What `$CC` names, else `cc`, `gcc` or `clang`; if there is none, what was tried.
    pub(crate) fn find(to_fuzz: bool) -> Result<Self, String> {
        let tried = match chosen().as_str() {
            "" => vec!["cc", "gcc", "clang"],
            cc => vec![cc],
        }
        .into_iter()
        .map(String::from)
        .collect::<Vec<_>>();
        let found = tried.iter().find_map(|cc| Self::probe(cc));
        let mut found = found.ok_or_else(|| tried.join(", "))?;
        if !CHECKED.is_empty() && !trust::is_trusted() {
            // gcc takes a store for checked if a load of the place was: it can check stores alone.
            let mut clangs = CLANGS.iter().filter(|_| !found.is_clang);
            let checker = clangs.find_map(|clang| Self::probe(clang));
            let mut checker = checker.unwrap_or_else(|| found.clone());
            checker.to_fuzz = to_fuzz;
            found.identity += &format!("{}\n{}", checker.identity, checker.checks());
            found.checker = Some(Box::new(checker));
        }
        Ok(found)
    }

    /// The compiler of that name, if it is there.
    fn probe(cc: &str) -> Option<Self> {
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
        let is_clang = version.contains("clang");
        let zeroes = zeroes(is_clang, major(&version));
        let identity = format!(
            "{}\n{rest}\n{version}\n{FLAGS}\n{REFUSED}\n{zeroes:?}",
            program.display()
        );
        Some(Self {
            words,
            identity,
            is_clang,
            zeroes,
            to_fuzz: false,
            checker: None,
        })
    }

    /// What makes code that checks what it touches; `None` for trusted files.
    pub(crate) fn checker(&self) -> Option<&Self> {
        self.checker.as_deref()
    }

    /// Whether it checks loads, and not stores alone.
    pub(crate) fn checks_loads(&self) -> bool {
        self.is_clang
    }

    /// The flags for it.
    pub(crate) fn checks(&self) -> String {
        let (checks, bounds) = match self.is_clang {
            true => (CHECKS_OF_CLANG, "array-bounds"),
            false => (CHECKS_OF_GCC, "bounds"),
        };
        let undefined = format!("signed-integer-overflow,shift-exponent,{bounds}");
        match self.to_fuzz {
            true => {
                format!("{checks} -fno-wrapv -fsanitize={undefined} -fsanitize-recover={undefined}")
            }
            false => checks.into(),
        }
    }

    /// Runs it, without input, within limits, and so that it writes in `scratch` alone.
    pub(crate) fn run(
        &self,
        scratch: &Path,
        arguments: impl FnOnce(&mut Command),
    ) -> io::Result<Output> {
        let mut command = Command::new(&self.words[0]);
        command
            .args(&self.words[1..])
            .args(FLAGS.split_whitespace())
            .args(REFUSED.split_whitespace())
            .args(&self.zeroes)
            .env("LC_ALL", "C")
            .envs(["TMPDIR", "HOME"].map(|each| (each, scratch)))
            .env_remove("XDG_CACHE_HOME")
            .stdin(Stdio::null());
        arguments(&mut command);
        limit(&mut command);
        confine::command(&mut command, scratch);
        output_within(&mut command, WAIT_LIMIT)
    }
}

/// What a command writes. It and what it has started are ended after `most`.
fn output_within(command: &mut Command, most: Duration) -> io::Result<Output> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.process_group(0).spawn()?;
    let group = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    thread::scope(|scope| {
        let (sender, output) = mpsc::channel();
        scope.spawn(move || sender.send(child.wait_with_output()));
        output.recv_timeout(most).unwrap_or_else(|_| {
            // SAFETY: a plain system call. The group is there: the thread still waits for its output.
            unsafe { libc::killpg(group, libc::SIGKILL) };
            Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!(
                    "the compiler took longer than {} s; does the file include a pipe or a device?",
                    most.as_secs()
                ),
            ))
        })
    })
}

/// Flags of compilers that know them, by the first number of their version.
fn zeroes(is_clang: bool, major: u32) -> Vec<&'static str> {
    const ZERO: &str = "-ftrivial-auto-var-init=zero";
    const ALLOW: &str = "-enable-trivial-auto-var-init-zero-knowing-it-will-be-removed-from-clang";
    match (is_clang, major) {
        (false, 12..) | (true, 16..) => vec![ZERO],
        (true, 8..) => vec![ZERO, ALLOW],
        _ => vec![],
    }
}

/// The 12 of `gcc (Debian 12.2.0-14) 12.2.0`.
fn major(version: &str) -> u32 {
    let mut words = version
        .lines()
        .next()
        .unwrap_or_default()
        .split([' ', ')', '(']);
    let number = |word: &str| word.split_once('.')?.0.parse().ok();
    words.find_map(number).unwrap_or(0)
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
            set(libc::RLIMIT_FSIZE, FILE_LIMIT_BYTES);
            Ok(())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// A compiler's driver starts another program, which reads the file and keeps the pipes open: the
    /// output ends when both have ended.
    #[test]
    fn a_compiler_that_waits_for_a_pipe_is_ended() -> io::Result<()> {
        let directory = tempfile::tempdir()?;
        let pipe = directory.path().join("rival.h");
        assert!(Command::new("mkfifo").arg(&pipe).status()?.success());
        let begun = Instant::now();
        let mut driver = Command::new("sh");
        driver.args(["-c", "cat \"$1\" & wait", "sh"]).arg(&pipe);
        let ended = output_within(&mut driver, Duration::from_millis(500));
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(begun.elapsed() < Duration::from_secs(20));
        Ok(())
    }

    #[test]
    fn what_a_compiler_writes_is_returned() -> io::Result<()> {
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; exit 3"]);
        let output = output_within(&mut command, WAIT_LIMIT)?;
        assert_eq!(
            (output.stdout.as_slice(), output.stderr.as_slice()),
            (&b"out\n"[..], &b"err\n"[..])
        );
        assert_eq!(output.status.code(), Some(3));
        Ok(())
    }
}
