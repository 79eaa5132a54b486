//! The BPF file system, where a link outlives the process that made it.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::namespaces::Namespace;
use super::KernelError;

const ROOT: &str = "/sys/fs/bpf";
const PREFIX: &str = "ackclock_";
/// Followed by the namespace's inode. No algorithm's pin: names have no `-`.
const PREVIOUS_DEFAULT: &str = "ackclock-previous-default-";

/// The BPF file system, mounted, and locked against other deployments.
pub(crate) struct BpfFs {
    _lock: File,
    /// Was it mounted for this?
    pub mounted: bool,
}

impl BpfFs {
    /// Waits for its turn; mounts the file system where it is not.
    pub fn lock() -> Result<Self, KernelError> {
        let mut mounted = false;
        loop {
            let what = || format!("open {ROOT}");
            let lock = File::open(ROOT).map_err(|error| KernelError::system(what(), error))?;
            // SAFETY: a plain system call; its result is checked.
            if unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX) } != 0 {
                let error = io::Error::last_os_error();
                return Err(KernelError::system(format!("lock {ROOT}"), error));
            }
            if is_mounted(&lock) {
                return Ok(Self {
                    _lock: lock,
                    mounted,
                });
            }
            // Another may have mounted it while we waited: then this is the directory below.
            if !here() {
                if fs::read_link("/proc/self/ns/mnt").ok() != fs::read_link("/proc/1/ns/mnt").ok() {
                    return Err(KernelError::PrivateMounts);
                }
                mount().map_err(|error| {
                    let what = format!("mount the BPF file system (mount -t bpf bpf {ROOT})");
                    KernelError::system(what, error)
                })?;
                mounted = true;
            }
        }
    }

    pub fn pin(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("{ROOT}/{PREFIX}{name}"))
    }

    /// The default algorithm that the first of ours replaced in a namespace, if one did.
    pub fn previous_default(&self, namespace: u64) -> Option<String> {
        let target = fs::read_link(previous_default(namespace)).ok()?;
        Some(target.to_string_lossy().into_owned())
    }

    /// Keeps it, in a symbolic link, since this file system has no plain files.
    pub fn set_previous_default(&self, namespace: u64, name: &str) -> io::Result<()> {
        let path = previous_default(namespace);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => symlink(name, path),
        }
    }

    /// Forgets those of namespaces that are gone or have none of ours as default.
    pub fn tidy_previous_defaults(&self, namespaces: &[Namespace]) -> io::Result<()> {
        for entry in fs::read_dir(ROOT)? {
            let path = entry?.path();
            let wanted = |namespace: &&Namespace| path == previous_default(namespace.inode);
            let ours = namespaces
                .iter()
                .find(wanted)
                .and_then(|namespace| namespace.default_algorithm().ok())
                .is_some_and(|default| self.pin(&default).exists());
            if path.to_string_lossy().contains(PREVIOUS_DEFAULT) && !ours {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

fn previous_default(namespace: u64) -> PathBuf {
    PathBuf::from(format!("{ROOT}/{PREVIOUS_DEFAULT}{namespace}"))
}

/// Where that algorithm is pinned, if the BPF file system is there.
pub(crate) fn pinned(name: &str) -> Option<PathBuf> {
    Some(PathBuf::from(format!("{ROOT}/{PREFIX}{name}"))).filter(|path| path.exists())
}

/// Is there a BPF file system?
pub(crate) fn here() -> bool {
    File::open(ROOT).is_ok_and(|root| is_mounted(&root))
}

fn is_mounted(root: &File) -> bool {
    // SAFETY: statfs is a plain structure of numbers, which fstatfs fills.
    unsafe {
        let mut status: libc::statfs = std::mem::zeroed();
        libc::fstatfs(root.as_raw_fd(), &raw mut status) == 0
            && status.f_type == libc::BPF_FS_MAGIC as libc::__fsword_t
    }
}

fn mount() -> io::Result<()> {
    let text = |text: &str| CString::new(text).expect("no zero byte");
    let (source, root, kind) = (text("bpf"), text(ROOT), text("bpf"));
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC | libc::MS_RELATIME;
    // SAFETY: three C strings that live through the call, and no data.
    let done = unsafe {
        libc::mount(
            source.as_ptr(),
            root.as_ptr(),
            kind.as_ptr(),
            flags,
            std::ptr::null(),
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
