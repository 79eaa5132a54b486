//! The network namespaces of the machine, and what TCP does in each.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::inet_diag;
use crate::sys;

/// The default algorithm of the current network namespace.
pub(crate) const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// A network namespace, kept alive by an open file.
pub(crate) struct NetworkNamespace {
    /// `here`, the name that `ip netns` gave it, or a process in it.
    pub name: String,
    pub inode: u64,
    file: File,
}

impl NetworkNamespace {
    /// Every namespace that has a thread or a name, this one first.
    pub fn all() -> Vec<Self> {
        let mut found = vec![(
            "here".to_string(),
            PathBuf::from("/proc/thread-self/ns/net"),
        )];
        for path in entries("/run/netns") {
            found.push((file_name(&path), path));
        }
        for process in entries("/proc") {
            let pid = file_name(&process);
            if pid.bytes().all(|byte| byte.is_ascii_digit()) {
                let command = fs::read_to_string(process.join("comm")).unwrap_or_default();
                let name = format!("pid {pid} ({})", command.trim());
                // A thread can be in a namespace that its process is not in.
                for thread in entries(process.join("task")) {
                    found.push((name.clone(), thread.join("ns/net")));
                }
            }
        }
        let mut seen = HashSet::new();
        found
            .into_iter()
            .filter_map(|(name, path)| {
                let file = File::open(path).ok()?;
                let status = file.metadata().ok()?;
                let inode = status.ino();
                seen.insert(inode).then_some(Self { name, inode, file })
            })
            .collect()
    }

    /// Does `work` in this namespace, on a thread of its own.
    fn enter<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        sys::on_thread(|| {
            sys::enter_network(self.file.as_fd())?;
            work()
        })
    }

    /// How many TCP sockets use each algorithm.
    pub fn sockets(&self) -> io::Result<BTreeMap<String, usize>> {
        self.enter(inet_diag::sockets_by_algorithm)
    }

    /// Its default algorithm, `net.ipv4.tcp_congestion_control`.
    pub fn default_algorithm(&self) -> io::Result<String> {
        self.enter(|| Ok(fs::read_to_string(DEFAULT)?.trim().to_string()))
    }

    pub fn set_default_algorithm(&self, name: &str) -> io::Result<()> {
        self.enter(|| fs::write(DEFAULT, name))
    }
}

fn entries(directory: impl AsRef<Path>) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
