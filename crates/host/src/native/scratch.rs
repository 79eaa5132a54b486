//! Directories for compiles, below `TMPDIR`: private, and gone afterwards.
//!
//! A process that is killed leaves its directory behind. The next one collects it: each owner
//! holds a lock on its directory, which the system releases when the owner dies, however it dies.

use std::fs::{self, File, Permissions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;
use std::{env, io};

use tempfile::TempDir;

const PREFIX: &str = "ackclock-cc-";
/// A directory younger than this may not be locked yet.
const YOUNG: Duration = Duration::from_secs(60);

/// A directory of mode 0700 that is removed when this is dropped.
#[derive(Debug)]
pub struct Scratch {
    directory: TempDir,
    path: PathBuf,
    _lock: File,
}

impl Scratch {
    /// Makes one in the directory for temporary files (`TMPDIR`, else /tmp).
    ///
    /// # Errors
    /// The directory cannot be made there; the message names the place and what to do.
    pub fn new() -> io::Result<Self> {
        static COLLECT: Once = Once::new();
        COLLECT.call_once(|| collect(&env::temp_dir()));
        let make = || {
            let directory = tempfile::Builder::new()
                .prefix(PREFIX)
                .permissions(Permissions::from_mode(0o700))
                .tempdir()?;
            let lock = File::open(directory.path())?;
            // Not every file system has locks; without one nobody collects the directory.
            try_lock(&lock);
            // Absolute, so that a compiler takes it for a path whatever TMPDIR begins with.
            let path = directory.path().canonicalize()?;
            Ok(Self {
                directory,
                path,
                _lock: lock,
            })
        };
        make().map_err(|error: io::Error| Self::explain(&error))
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file, and the directories above it.
    ///
    /// # Errors
    /// The file cannot be written; the message names the place and what to do.
    pub fn write(&self, name: &str, contents: &[u8]) -> io::Result<PathBuf> {
        let file = self.path.join(name);
        fs::create_dir_all(file.parent().unwrap_or(self.directory.path()))
            .and_then(|()| fs::write(&file, contents))
            .map_err(|error| Self::explain(&error))?;
        Ok(file)
    }

    /// What to say when the directory for temporary files is unusable.
    pub(crate) fn explain(error: &io::Error) -> io::Error {
        use io::ErrorKind as Kind;
        let kind = error.kind();
        let reason = match kind {
            Kind::StorageFull | Kind::QuotaExceeded => "no space left".into(),
            Kind::PermissionDenied | Kind::ReadOnlyFilesystem => "not writable".into(),
            Kind::NotFound | Kind::NotADirectory => "no such directory".into(),
            _ => error.to_string(),
        };
        let place = env::temp_dir();
        io::Error::new(
            kind,
            format!(
                "the directory for temporary files, {}: {reason}; set TMPDIR to another one",
                place.display()
            ),
        )
    }
}

/// Removes what killed processes of this user left in `place`.
fn collect(place: &Path) {
    let Ok(entries) = fs::read_dir(place) else {
        return;
    };
    for entry in entries.flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        let young = metadata
            .modified()
            .ok()
            .and_then(|modified| modified.elapsed().ok())
            .is_none_or(|age| age < YOUNG);
        // SAFETY: geteuid cannot fail.
        let mine = metadata.uid() == unsafe { libc::geteuid() };
        if !metadata.is_dir() || !mine || young {
            continue;
        }
        if File::open(entry.path()).is_ok_and(|directory| try_lock(&directory)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn try_lock(directory: &File) -> bool {
    // SAFETY: the descriptor is open.
    unsafe { libc::flock(directory.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn age(directory: &Path) {
        let old = std::time::SystemTime::now() - 2 * YOUNG;
        File::open(directory).unwrap().set_modified(old).unwrap();
    }

    #[test]
    fn it_is_private_and_goes() {
        let scratch = Scratch::new().unwrap();
        let path = scratch.path().to_path_buf();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o700);
        scratch.write("a/b", b"c").unwrap();
        drop(scratch);
        assert!(!path.exists());
    }

    #[test]
    fn what_the_dead_left_is_collected_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = place.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("algorithm.o"), "").unwrap();
            path
        };
        let (dead, young) = (make("ackclock-cc-dead"), make("ackclock-cc-young"));
        let (alive, other) = (make("ackclock-cc-alive"), make("another"));
        let owner = File::open(&alive).unwrap();
        assert!(try_lock(&owner));
        for directory in [&dead, &alive, &other] {
            age(directory);
        }
        collect(place.path());
        assert!(!dead.exists());
        assert!(young.exists() && alive.exists() && other.exists());
        // Not by dropping it: a compiler that another test starts at this moment has a copy of the
        // descriptor until its program begins, and the copy would hold the lock.
        // SAFETY: the descriptor is open.
        assert_eq!(unsafe { libc::flock(owner.as_raw_fd(), libc::LOCK_UN) }, 0);
        age(&alive);
        collect(place.path());
        assert!(!alive.exists());
    }
}
