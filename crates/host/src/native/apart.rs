//! A process of its own for a file's code: a copy of this one that can do nothing but compute.

use std::fs::File;
use std::io;
use std::io::{BufReader, Read as _, Seek as _};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};

use super::confine;

/// It ends when this is dropped, or when the thread that made it does.
pub struct Apart {
    process: libc::pid_t,
    /// What it writes to its standard error.
    words: File,
}

impl Apart {
    /// Whether this system has such processes.
    pub const IS_POSSIBLE: bool = cfg!(target_os = "linux");

    /// Begins `work` there, with one thread: it gets what it writes to, and how it is confined. Of all
    /// that is open here, that and `kept` are open there. Also: what reads what it wrote.
    ///
    /// `work` must not ask for what another thread of this process may hold, as Python's lock.
    ///
    /// # Errors
    /// The system gives no pipe, or no process.
    #[cfg(not(target_os = "linux"))]
    pub fn start(_: &[RawFd], _: impl FnOnce(File, String)) -> io::Result<(Self, BufReader<File>)> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[cfg(target_os = "linux")]
    #[expect(missing_docs, reason = "as above")]
    pub fn start(
        kept: &[RawFd],
        work: impl FnOnce(File, String),
    ) -> io::Result<(Self, BufReader<File>)> {
        let mut ends = [0; 2];
        // SAFETY: plain system calls; each descriptor has one owner.
        let (words, reads, writes) = unsafe {
            let words = checked(libc::memfd_create(c"words".as_ptr(), libc::MFD_CLOEXEC))?;
            let words = File::from_raw_fd(words);
            checked(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC))?;
            (
                words,
                File::from_raw_fd(ends[0]),
                File::from_raw_fd(ends[1]),
            )
        };
        // SAFETY: the C library makes its own locks usable in the copy.
        let process = checked(unsafe { libc::fork() })?;
        if process != 0 {
            return Ok((
                Self { process, words },
                BufReader::with_capacity(1 << 16, reads),
            ));
        }
        let done = catch_unwind(AssertUnwindSafe(|| {
            be_alone(&[kept, &[writes.as_raw_fd()]].concat(), &words);
            let how = confine::to_computing();
            work(writes, how);
        }));
        // SAFETY: nothing of the copied process runs on the way out.
        unsafe { libc::_exit(i32::from(done.is_err())) }
    }

    /// Ends it. Returns its last line, which says why if it died.
    pub fn end(mut self) -> String {
        self.kill();
        let mut words = Vec::new();
        let read = (self.words.rewind())
            .and_then(|()| BufReader::new(&self.words).read_to_end(&mut words));
        let words = String::from_utf8_lossy(if read.is_ok() { &words } else { b"" });
        let last = words.trim().lines().last().unwrap_or_default();
        let last = if last.starts_with("warning: ") {
            ""
        } else {
            last
        };
        last.strip_prefix("error: ").unwrap_or(last).to_string()
    }

    fn kill(&mut self) {
        if self.process == 0 {
            return;
        }
        // SAFETY: plain system calls. The process is there until it is waited for.
        unsafe {
            libc::kill(self.process, libc::SIGKILL);
            while libc::waitpid(self.process, std::ptr::null_mut(), 0) == -1
                && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
            {}
        }
        self.process = 0;
        self.warn();
    }

    /// Its warnings are this process's, each once.
    fn warn(&mut self) {
        static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let mut words = Vec::new();
        if self.words.rewind().is_err() || self.words.read_to_end(&mut words).is_err() {
            return;
        }
        let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
        for line in String::from_utf8_lossy(&words).lines() {
            // Without the flow and the time.
            let (what, _) = line.rsplit_once(" (flow").unwrap_or((line, ""));
            if what.starts_with("warning: ") && !said.iter().any(|each| each == what) {
                eprintln!("{what}");
                said.push(what.into());
            }
        }
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        self.kill();
    }
}

/// How a process that runs a file's code is confined here.
pub fn confinement() -> String {
    #[cfg(target_os = "linux")]
    {
        let told = Apart::start(&[], |mut told, how| {
            let _ = io::Write::write_all(&mut told, how.as_bytes());
        });
        let read = told.and_then(|(_apart, mut told)| io::read_to_string(&mut told));
        read.unwrap_or_else(|error| format!("not confined: {error}"))
    }
    #[cfg(not(target_os = "linux"))]
    confine::to_computing()
}

#[cfg(target_os = "linux")]
fn checked(returned: libc::c_int) -> io::Result<libc::c_int> {
    (returned >= 0)
        .then_some(returned)
        .ok_or_else(io::Error::last_os_error)
}

/// Leaves open what is kept alone, and ends with the process that it is a copy of.
#[cfg(target_os = "linux")]
fn be_alone(kept: &[RawFd], words: &File) {
    let mut kept: Vec<_> = kept.iter().map(|each| *each as libc::c_uint).collect();
    kept.sort_unstable();
    // SAFETY: plain system calls, on what nothing else of this process uses any more.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        libc::dup2(null, 0);
        libc::dup2(null, 1);
        libc::dup2(words.as_raw_fd(), 2);
        let mut first = 3;
        for each in kept {
            if first < each {
                libc::syscall(libc::SYS_close_range, first, each - 1, 0);
            }
            first = each + 1;
        }
        libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0);
    }
}
