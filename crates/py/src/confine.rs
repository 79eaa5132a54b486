//! What a process that runs strangers' files may still do: compute, read files, and write below a few directories.

use std::path::PathBuf;

use ackclock_py_tables::refuse;
use pyo3::prelude::*;

/// Confines this process, its threads and whatever it starts, for good: it writes only below these
/// directories, and to /dev/null, has no network and signals no process but its own (Landlock; signals
/// from Linux 6.12 on), and makes no namespace, socket or mount, nor looks into other processes
/// (seccomp), as far as this Linux can. The thread that calls must be the only one. Returns what holds.
///
/// Raises AckclockError.
#[pyfunction]
pub fn confine(directories: Vec<PathBuf>) -> PyResult<String> {
    on_linux::confine(&directories).map_err(|error| refuse(format!("confine: {error}")))
}

#[cfg(not(target_os = "linux"))]
mod on_linux {
    pub fn confine(_: &[std::path::PathBuf]) -> Result<String, Box<dyn std::error::Error>> {
        Ok("not confined: this is not Linux".into())
    }
}

#[cfg(target_os = "linux")]
mod on_linux {
    use std::collections::BTreeMap;
    use std::env::consts::ARCH;
    use std::error::Error;
    use std::path::{Path, PathBuf};

    use landlock::{
        Access as _, AccessFs, AccessNet, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
        RulesetCreatedAttr as _, RulesetStatus, Scope, ABI,
    };
    use seccompiler::{apply_filter, BpfProgram, SeccompAction, SeccompFilter};

    /// What neither the simulator nor a compiler calls.
    const REFUSED: [i64; 37] = [
        libc::SYS_socket,
        libc::SYS_connect,
        libc::SYS_bind,
        libc::SYS_listen,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pidfd_open,
        libc::SYS_pidfd_getfd,
        libc::SYS_pidfd_send_signal,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_move_mount,
        libc::SYS_open_tree,
        libc::SYS_fsopen,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_io_uring_setup,
        libc::SYS_userfaultfd,
        libc::SYS_keyctl,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_kexec_load,
        libc::SYS_open_by_handle_at,
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_sethostname,
        libc::SYS_reboot,
        libc::SYS_swapon,
        libc::SYS_quotactl,
    ];

    pub fn confine(directories: &[PathBuf]) -> Result<String, Box<dyn Error>> {
        let abi = ABI::V6;
        let beneath = |path: &Path, access| -> Result<_, Box<dyn Error>> {
            Ok(PathBeneath::new(PathFd::new(path)?, access))
        };
        let mut rules = Ruleset::default()
            .handle_access(AccessFs::from_write(abi))?
            .handle_access(AccessNet::from_all(abi))?
            .scope(Scope::from_all(abi))?
            .create()?
            .add_rule(beneath(Path::new("/dev/null"), AccessFs::WriteFile.into())?)?;
        for each in directories {
            rules = rules.add_rule(beneath(each, AccessFs::from_write(abi))?)?;
        }
        let files = match rules.restrict_self()?.ruleset {
            RulesetStatus::FullyEnforced => "files, network and signals (Landlock)",
            RulesetStatus::PartiallyEnforced => "files (an older Landlock)",
            RulesetStatus::NotEnforced => "not files (no Landlock: Linux 5.13 has it)",
        };
        let calls = match refuse_calls() {
            Ok(()) => "system calls (seccomp)".into(),
            Err(error) => format!("not system calls ({error})"),
        };
        Ok(format!("confined: {files}; {calls}"))
    }

    fn refuse_calls() -> Result<(), Box<dyn Error>> {
        let rules: BTreeMap<_, _> = REFUSED.into_iter().map(|call| (call, vec![])).collect();
        let refuses = SeccompAction::Errno(libc::EPERM as u32);
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuses, ARCH.try_into()?)?;
        apply_filter(&BpfProgram::try_from(filter)?)?;
        Ok(())
    }
}
