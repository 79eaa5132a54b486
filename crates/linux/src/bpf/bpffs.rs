//! The BPF file system, where a link outlives the process that made it.
//!
//! Everything of ours is in one directory that belongs to root and that only root can enter.
//! The directory is there while something is deployed. Where somebody mounted the file system for all
//! users, they can still write beside it: nothing there is read.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{symlink, DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{access, flock, fstatfs, Access, FlockOperation, FsWord};
use rustix::io::Errno;
use rustix::mount::{mount, mount_change, MountFlags, MountPropagationFlags};

use super::namespaces::NetworkNamespace;
use super::KernelError;
use crate::sys;

const ROOT: &str = "/sys/fs/bpf";
const DIRECTORY: &str = "/sys/fs/bpf/ackclock";
/// Followed by the namespace's inode. No algorithm's pin: names have no `-`.
const PREVIOUS_DEFAULT: &str = "previous-default-";
/// How long a command waits for another that deploys.
const LOCK_WAIT: Duration = Duration::from_secs(20);
/// After this a waiting command says so.
const LOCK_PATIENCE: Duration = Duration::from_millis(200);
/// How long it waits for another that mounts, which takes microseconds. Every user of the
/// machine can hold that lock, so nobody waits for longer.
const MOUNT_WAIT: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(10);

/// For how long what is done to the machine stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stay {
    /// Until it is undone.
    UntilUndone,
    /// Until the calling thread ends: a rehearsal.
    ThisThread,
}

/// Who asks for a change of the machine.
pub trait Caller {
    /// Hears what the change waits for, and warnings.
    fn tell(&self, text: &str);

    /// Shall it stop waiting?
    fn is_interrupted(&self) -> bool;
}

/// Nobody listens.
impl Caller for () {
    fn tell(&self, _: &str) {}

    fn is_interrupted(&self) -> bool {
        false
    }
}

/// The BPF file system, mounted, and locked against other deployments.
#[derive(Debug)]
pub(crate) struct BpfFs {
    /// Nothing where a rehearsal found what another user made: there is no directory to lock.
    directory: Option<File>,
    /// Was it mounted for this?
    pub mounted: bool,
    /// What a rehearsal found in the place of the directory: `user 1000 made …`.
    pub planted: Option<String>,
}

impl BpfFs {
    /// Mounts the file system where it is not, and waits for its turn. `caller` hears what it
    /// waits for.
    pub fn lock(stay: Stay, caller: &dyn Caller) -> Result<Self, KernelError> {
        let mounted = mount_if_missing(stay)?;
        check_root()?;
        let started = Instant::now();
        loop {
            let directory = match open_directory(stay, caller)? {
                Opened::Ours(directory) => directory,
                Opened::Planted(planted) => {
                    return Ok(Self {
                        directory: None,
                        mounted,
                        planted: Some(planted),
                    })
                }
            };
            wait_for(&directory, started, caller)?;
            // Whoever held it may have removed it.
            if is_same(&directory, Path::new(DIRECTORY)) {
                return Ok(Self {
                    directory: Some(directory),
                    mounted,
                    planted: None,
                });
            }
        }
    }

    /// Checks that something could be pinned.
    pub fn check_writable(&self) -> Result<(), KernelError> {
        check_writable(if self.directory.is_some() {
            DIRECTORY
        } else {
            ROOT
        })
    }

    /// Where an algorithm of that name is pinned, or is to be.
    pub fn pin(&self, name: &str) -> PathBuf {
        Path::new(DIRECTORY).join(name)
    }

    /// Names of the algorithms that are pinned, sorted.
    pub fn pinned(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(DIRECTORY)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if !name.contains('-') {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// The default algorithm that the first of ours replaced in a namespace, if one did.
    pub fn previous_default(&self, namespace: u64) -> Option<String> {
        previous_default(namespace)
    }

    /// Keeps it, in a symbolic link, since this file system has no plain files.
    pub fn set_previous_default(&self, namespace: u64, name: &str) -> io::Result<()> {
        let path = previous_default_path(namespace);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => symlink(name, path),
        }
    }

    /// Forgets those of namespaces that are gone or have none of ours as default.
    pub fn tidy_previous_defaults(&self, namespaces: &[NetworkNamespace]) -> io::Result<()> {
        for entry in fs::read_dir(DIRECTORY)? {
            let path = entry?.path();
            let wanted =
                |namespace: &&NetworkNamespace| path == previous_default_path(namespace.inode);
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

impl Drop for BpfFs {
    fn drop(&mut self) {
        if self.directory.is_some() {
            // Removal fails while something is deployed. Who waits for the lock looks again.
            let _ = fs::remove_dir(DIRECTORY);
        }
    }
}

fn previous_default_path(namespace: u64) -> PathBuf {
    PathBuf::from(format!("{DIRECTORY}/{PREVIOUS_DEFAULT}{namespace}"))
}

/// The default algorithm that `undeploy` restores in a namespace, where one is kept.
pub(crate) fn previous_default(namespace: u64) -> Option<String> {
    let path = previous_default_path(namespace);
    is_ours()
        .then(|| fs::read_link(path).ok())?
        .map(|target| target.to_string_lossy().into_owned())
}

/// Where that algorithm is pinned, if it is.
pub(crate) fn pinned(name: &str) -> Option<PathBuf> {
    let path = Path::new(DIRECTORY).join(name);
    (is_ours() && path.exists()).then_some(path)
}

/// Is there a BPF file system?
pub(crate) fn here() -> bool {
    File::open(ROOT).is_ok_and(|root| is_mounted(&root))
}

/// Is there none, so that nothing is deployed?
///
/// # Errors
/// There may be one that this process cannot see.
pub(crate) fn is_missing() -> Result<bool, KernelError> {
    if here() {
        Ok(false)
    } else if in_private_mounts() {
        Err(KernelError::Other("this command runs in a mount namespace of its own (as under `ip netns exec` or `unshare --mount`), where no BPF file system is mounted: a deployment would end with the command; run `nsenter --net=/run/netns/NAME ackclock ...` instead of `ip netns exec NAME`, or run `mount -t bpf -o mode=0700 bpf /sys/fs/bpf` before you enter the namespace".into()))
    } else {
        Ok(true)
    }
}

/// Is there a directory, and is it root's?
fn is_ours() -> bool {
    here() && fs::symlink_metadata(DIRECTORY).is_ok_and(|found| is_roots(&found))
}

/// A directory that root made and where nobody else can write.
fn is_roots(found: &Metadata) -> bool {
    found.is_dir() && found.uid() == 0 && found.mode() & 0o022 == 0
}

fn is_same(open: &File, path: &Path) -> bool {
    let identity = |found: &Metadata| (found.dev(), found.ino());
    let [open, there] = [open.metadata(), fs::symlink_metadata(path)];
    matches!((&open, &there), (Ok(open), Ok(there)) if identity(open) == identity(there))
}

/// Mounts the BPF file system if there is none; was there none?
fn mount_if_missing(stay: Stay) -> Result<bool, KernelError> {
    if !is_missing()? {
        return Ok(false);
    }
    // Of two commands at once the second finds what the first has mounted.
    let below =
        File::open(ROOT).map_err(|error| KernelError::system(format!("open {ROOT}"), error))?;
    let started = Instant::now();
    while !try_lock(&below).unwrap_or(true) && started.elapsed() < MOUNT_WAIT {
        sleep(POLL);
    }
    if here() {
        return Ok(false);
    }
    if stay == Stay::ThisThread {
        own_mounts().map_err(|error| KernelError::system("make a mount namespace", error))?;
    }
    mount("bpf", ROOT, "bpf", MOUNT_FLAGS, c"mode=0700").map_err(|error| {
        let what = format!("mount the BPF file system (mount -t bpf -o mode=0700 bpf {ROOT})");
        KernelError::system(what, error)
    })?;
    Ok(true)
}

/// Refuses a file system in which others could replace the directory.
fn check_root() -> Result<(), KernelError> {
    let found = fs::metadata(ROOT)
        .map_err(|error| KernelError::system(format!("look at {ROOT}"), error))?;
    let (uid, mode) = (found.uid(), found.mode() & 0o7777);
    let (mut what, mut fix) = (Vec::new(), Vec::new());
    if uid != 0 {
        what.push(format!("belongs to user {uid}"));
        fix.push(format!("chown root {ROOT}"));
    }
    if mode & 0o022 != 0 && mode & 0o1000 == 0 {
        what.push(format!("has mode {mode:04o}"));
        fix.push(format!("chmod 0700 {ROOT}"));
    }
    if what.is_empty() {
        return Ok(());
    }
    let what = format!("{ROOT} {}", what.join(" and "));
    Err(KernelError::is_unsafe(&what, &fix.join(" && ")))
}

/// Checks that something could be made in a directory.
fn check_writable(directory: &str) -> Result<(), KernelError> {
    let refused = |error| KernelError::system(format!("write in {directory}"), error);
    access(directory, Access::WRITE_OK).map_err(refused)
}

/// What is at [`DIRECTORY`].
enum Opened {
    /// Our directory.
    Ours(File),
    /// Another user's, as `user 1000 made …`.
    Planted(String),
}

/// Our directory, made where it is not. What another user put in its place is moved aside; a
/// rehearsal lets it be.
fn open_directory(stay: Stay, caller: &dyn Caller) -> Result<Opened, KernelError> {
    const ATTEMPTS: u32 = 100;
    let cannot = |error| KernelError::system(format!("make {DIRECTORY}"), error);
    for attempt in 0..ATTEMPTS {
        match DirBuilder::new().mode(0o700).create(DIRECTORY) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(cannot(error))
            }
            _ => {}
        }
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW)
            .open(DIRECTORY);
        if let Ok(directory) = opened {
            if directory.metadata().is_ok_and(|found| is_roots(&found)) {
                return Ok(Opened::Ours(directory));
            }
        }
        let Ok(planted) = fs::symlink_metadata(DIRECTORY) else {
            continue; // removed meanwhile
        };
        if is_roots(&planted) {
            continue; // made anew meanwhile
        }
        check_writable(ROOT)?;
        let found = format!("user {} made {DIRECTORY}", planted.uid());
        if stay == Stay::ThisThread {
            return Ok(Opened::Planted(found));
        }
        let aside = format!("{ROOT}/not-ackclock-{}-{attempt}", std::process::id());
        if fs::rename(DIRECTORY, &aside).is_ok() {
            caller.tell(&format!("warning: {found}; it is now {aside}"));
        }
    }
    let owner = fs::symlink_metadata(DIRECTORY).map_or(0, |found| found.uid());
    let what = format!("user {owner} keeps putting something at {DIRECTORY}");
    Err(KernelError::is_unsafe(&what, &format!("chmod 0700 {ROOT}")))
}

/// Waits for another command, at most until [`LOCK_WAIT`] after `started`.
fn wait_for(directory: &File, started: Instant, caller: &dyn Caller) -> Result<(), KernelError> {
    let mut told = false;
    loop {
        let got = try_lock(directory);
        if got.map_err(|error| KernelError::system(format!("lock {DIRECTORY}"), error))? {
            return Ok(());
        }
        let waited = started.elapsed();
        if waited >= LOCK_WAIT {
            let (s, holder) = (waited.as_secs(), holder(directory));
            return Err(KernelError::Other(format!("gave up after {s} s: {holder} holds the lock of deployments; wait until it ends, or end it, and try again")));
        }
        if caller.is_interrupted() {
            return Err(KernelError::Interrupted);
        }
        if !told && waited >= LOCK_PATIENCE {
            caller.tell(&format!(
                "waiting for {}, which holds the lock of deployments",
                holder(directory)
            ));
            told = true;
        }
        sleep(POLL);
    }
}

/// Takes the lock if nobody has it; was it free?
fn try_lock(directory: &File) -> io::Result<bool> {
    match flock(directory, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Who holds that lock, as `process 1234 (python3)`, by /proc/locks.
fn holder(directory: &File) -> String {
    let unknown = || "a process that /proc/locks does not show".to_string();
    let Ok(found) = directory.metadata() else {
        return unknown();
    };
    let (major, minor) = (libc::major(found.dev()), libc::minor(found.dev()));
    let wanted = format!("{major:02x}:{minor:02x}:{}", found.ino());
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let pid = locks.lines().find_map(|line| {
        let mut words = line
            .split_whitespace()
            .skip_while(|word| *word != "FLOCK")
            .skip(3);
        let pid: u32 = words.next()?.parse().ok()?;
        (words.next()? == wanted && pid > 0).then_some(pid)
    });
    pid.map_or_else(unknown, |pid| {
        let command = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        format!("process {pid} ({})", command.trim())
    })
}

fn is_mounted(root: &File) -> bool {
    fstatfs(root).is_ok_and(|status| status.f_type == libc::BPF_FS_MAGIC as FsWord)
}

/// Is this known to be another mount namespace than that of process 1 or of a process above
/// this one? What is mounted here would then end with the command. A link that cannot be read
/// tells nothing: a process without all the capabilities of the other may not read it.
fn in_private_mounts() -> bool {
    let Ok(own) = fs::read_link("/proc/thread-self/ns/mnt") else {
        return false;
    };
    let differs =
        |pid: u32| fs::read_link(format!("/proc/{pid}/ns/mnt")).is_ok_and(|other| other != own);
    let mut pid = std::process::id();
    while pid > 1 {
        pid = parent(pid).unwrap_or(0);
        if differs(pid) {
            return true;
        }
    }
    differs(1)
}

fn parent(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}

/// Gives the calling thread mounts of its own, which end with it.
fn own_mounts() -> io::Result<()> {
    sys::unshare(libc::CLONE_NEWNS)?;
    let private = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    Ok(mount_change("/", private)?)
}

const MOUNT_FLAGS: MountFlags = MountFlags::NOSUID
    .union(MountFlags::NODEV)
    .union(MountFlags::NOEXEC)
    .union(MountFlags::RELATIME);
