//! What a process that has to do with strangers' files may still do, for good.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Confines this process, its threads and whatever it starts: it reads files and starts programs, as a
/// compiler must, but writes only below these directories, and to /dev/null, has no network and
/// signals no process but its own (Landlock; signals from Linux 6.12 on), and makes no namespace,
/// socket or mount, nor looks into other processes (seccomp), as far as this Linux can. The thread that
/// calls must be the only one. Returns what holds: "confined: …", or "not confined: …" and why.
pub fn to_directories(directories: &[PathBuf]) -> String {
    on_this_system::to_directories(directories)
}

/// Confines what a command starts in that way to one directory, as far as this Linux can.
pub fn command(command: &mut Command, directory: &Path) {
    on_this_system::command(command, directory);
}

/// Confines this process, as that does, to computing: it has threads and memory, and reads and writes what
/// is open; it opens and starts nothing, and no signal reaches another process.
pub fn to_computing() -> String {
    on_this_system::to_computing()
}

#[cfg(not(target_os = "linux"))]
mod on_this_system {
    pub fn to_directories(_: &[std::path::PathBuf]) -> String {
        to_computing()
    }

    pub fn command(_: &mut std::process::Command, _: &std::path::Path) {}

    pub fn to_computing() -> String {
        "not confined: this is not Linux".into()
    }
}

#[cfg(target_os = "linux")]
mod on_this_system {
    use std::collections::BTreeMap;
    use std::env::consts::ARCH;
    use std::error::Error;
    use std::os::unix::process::CommandExt as _;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use landlock::{
        Access as _, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
        RulesetCreated, RulesetCreatedAttr as _, RulesetStatus, Scope, ABI,
    };
    use seccompiler::{
        apply_filter, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
        SeccompFilter, SeccompRule,
    };

    type Fallible<T> = Result<T, Box<dyn Error>>;
    type Rules = BTreeMap<i64, Vec<SeccompRule>>;

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

    /// What threads that compute call.
    const COMPUTING: [i64; 32] = [
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_readv,
        libc::SYS_writev,
        libc::SYS_lseek,
        libc::SYS_fstat,
        libc::SYS_close,
        libc::SYS_mmap,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_mprotect,
        libc::SYS_madvise,
        libc::SYS_brk,
        libc::SYS_futex,
        libc::SYS_clone3, // the other filter has no such call
        libc::SYS_set_robust_list,
        libc::SYS_rseq,
        libc::SYS_membarrier,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        libc::SYS_restart_syscall,
        libc::SYS_sched_yield,
        libc::SYS_sched_getaffinity,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_clock_gettime,
        libc::SYS_clock_nanosleep,
        libc::SYS_getrandom,
        libc::SYS_exit,
        libc::SYS_exit_group,
    ];

    pub fn to_directories(directories: &[PathBuf]) -> String {
        let files = || -> Fallible<_> { Ok(writing(directories)?.restrict_self()?.ruleset) };
        let calls = || -> Fallible<()> { Ok(apply_filter(&refusing()?)?) };
        confined(files(), calls())
    }

    pub fn command(command: &mut Command, directory: &Path) {
        // All that allocates is done here: between fork and exec there are system calls alone.
        let mut files = writing(&[directory.into()]).ok();
        let calls = refusing().ok();
        let confine = move || {
            if let Some(files) = files.take() {
                let _ = files.restrict_self();
            }
            if let Some(calls) = &calls {
                let _ = apply_filter(calls);
            }
            Ok(())
        };
        // SAFETY: see above.
        unsafe { command.pre_exec(confine) };
    }

    /// Writing below these directories alone.
    fn writing(directories: &[PathBuf]) -> Fallible<RulesetCreated> {
        let writes = AccessFs::from_write(ABI::V6);
        let null = beneath(Path::new("/dev/null"), AccessFs::WriteFile.into())?;
        let of = |each: &PathBuf| beneath(each, writes);
        let rest: Fallible<Vec<_>> = directories.iter().map(of).collect();
        landlock(writes, [null].into_iter().chain(rest?))
    }

    fn refusing() -> Fallible<BpfProgram> {
        let rules = REFUSED.into_iter().map(|call| (call, vec![])).collect();
        filter(rules, SeccompAction::Allow, libc::EPERM)
    }

    pub fn to_computing() -> String {
        let calls = || -> Fallible<()> {
            let own = u64::from(std::process::id());
            let is = |argument, op, value| -> Fallible<_> {
                let condition =
                    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value)?;
                Ok(vec![SeccompRule::new(vec![condition])?])
            };
            let thread = libc::CLONE_THREAD as u64;
            let mut rules: Rules = COMPUTING.into_iter().map(|call| (call, vec![])).collect();
            let a_thread = is(0, SeccompCmpOp::MaskedEq(thread), thread)?;
            rules.insert(libc::SYS_clone, a_thread);
            for of_itself in [libc::SYS_tgkill, libc::SYS_process_vm_readv] {
                rules.insert(of_itself, is(0, SeccompCmpOp::Eq, own)?);
            }
            // No filter sees what clone3 is asked for: without it, the C library calls clone.
            let clone3 = Rules::from([(libc::SYS_clone3, vec![])]);
            apply_filter(&filter(clone3, SeccompAction::Allow, libc::ENOSYS)?)?;
            let program = SeccompFilter::new(
                rules,
                SeccompAction::Errno(libc::EPERM as u32),
                SeccompAction::Allow,
                ARCH.try_into()?,
            )?;
            Ok(apply_filter(&BpfProgram::try_from(program)?)?)
        };
        let files = || -> Fallible<_> {
            let none = landlock(AccessFs::from_all(ABI::V6), [])?;
            Ok(none.restrict_self()?.ruleset)
        };
        confined(files(), calls())
    }

    fn beneath(path: &Path, access: BitFlags<AccessFs>) -> Fallible<PathBeneath<PathFd>> {
        Ok(PathBeneath::new(PathFd::new(path)?, access))
    }

    /// What takes this access away but for the rules, with all ports, and signals to others.
    fn landlock(
        access: BitFlags<AccessFs>,
        rules: impl IntoIterator<Item = PathBeneath<PathFd>>,
    ) -> Fallible<RulesetCreated> {
        let mut set = Ruleset::default()
            .handle_access(access)?
            .handle_access(AccessNet::from_all(ABI::V6))?
            .scope(Scope::from_all(ABI::V6))?
            .create()?;
        for rule in rules {
            set = set.add_rule(rule)?;
        }
        Ok(set)
    }

    /// Answers these calls with an error.
    fn filter(rules: Rules, others: SeccompAction, error: i32) -> Fallible<BpfProgram> {
        let refuses = SeccompAction::Errno(error as u32);
        let filter = SeccompFilter::new(rules, others, refuses, ARCH.try_into()?)?;
        Ok(BpfProgram::try_from(filter)?)
    }

    fn confined(files: Fallible<RulesetStatus>, calls: Fallible<()>) -> String {
        let none = "no Landlock: Linux 5.13 has it".to_string();
        let (files, no_files) = match files {
            Ok(RulesetStatus::FullyEnforced) => ("files, network and signals (Landlock)", None),
            Ok(RulesetStatus::PartiallyEnforced) => ("files (an older Landlock)", None),
            Ok(RulesetStatus::NotEnforced) => ("", Some(none)),
            Err(error) => ("", Some(error.to_string())),
        };
        match (no_files, calls) {
            (None, Ok(())) => format!("confined: {files}; system calls (seccomp)"),
            (None, Err(error)) => format!("confined: {files}; not system calls ({error})"),
            (Some(why), Ok(())) => {
                format!("confined: system calls (seccomp); not files ({why})")
            }
            (Some(why), Err(error)) => format!("not confined: {why}; {error}"),
        }
    }
}
