//! What this machine can do with the real kernel, and how to get the rest.

use std::fs::OpenOptions;
use std::num::NonZero;
use std::process::{Command, Stdio};
use std::{io, thread};

use crate::bpf::{self, bpffs, clang, requirements};

/// One thing that was looked at.
#[derive(Debug)]
pub struct Finding {
    /// What it is.
    pub what: &'static str,
    /// Is it there?
    pub ok: bool,
    /// Can nothing of the real kernel be used without it?
    pub needed: bool,
    /// What was found.
    pub found: String,
    /// How to get it, where it is not there.
    pub fix: &'static str,
}

/// Looks at everything that deploying, telemetry and the testbed use. Leaves nothing behind.
pub fn doctor() -> Vec<Finding> {
    let finding = |what, ok, needed, found: String, fix| Finding {
        what,
        ok,
        needed,
        found,
        fix,
    };
    let (release, version) = requirements::kernel();
    let missing = requirements::missing_capabilities();
    let mut findings = vec![
        finding(
            "kernel",
            version >= requirements::LINKS_SINCE,
            true,
            format!("Linux {release}"),
            "boot Linux 6.4 or newer",
        ),
        finding(
            "types (BTF)",
            requirements::has_btf(),
            true,
            requirements::BTF.into(),
            "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y",
        ),
        finding(
            "capabilities",
            missing.is_empty(),
            true,
            if missing.is_empty() {
                "all".into()
            } else {
                format!("without {}", missing.join(", "))
            },
            "run as root (sudo), in a container with --privileged",
        ),
    ];
    let trial = bpf::Registered::load("reno");
    findings.push(finding(
        "struct_ops",
        trial.is_ok(),
        true,
        match &trial {
            Ok(registered) => format!(
                "registered reno as {} and unregistered it",
                registered.name()
            ),
            Err(error) => error.to_string(),
        },
        "see what is missing above; CONFIG_BPF_SYSCALL=y and CONFIG_BPF_JIT=y",
    ));
    drop(trial);
    findings.push(finding(
        "BPF file system",
        bpffs::here() || missing.is_empty(),
        true,
        if bpffs::here() {
            "mounted".into()
        } else {
            "not mounted; deploy does it".into()
        },
        "mount -t bpf bpf /sys/fs/bpf",
    ));
    let clang = clang::find();
    findings.push(finding(
        "clang",
        clang.is_some(),
        false,
        clang.unwrap_or_else(|| "none that compiles for BPF".into()),
        "for C files of your own: apt-get install clang",
    ));
    let namespaces = in_new_namespace(|| Ok(()));
    findings.push(finding(
        "network namespaces",
        namespaces.is_ok(),
        false,
        said(&namespaces),
        "for the testbed: run as root",
    ));
    let tun = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/net/tun")
        .map(drop);
    findings.push(finding(
        "TUN",
        tun.is_ok(),
        false,
        said(&tun),
        "for the link emulator: run as root; modprobe tun",
    ));
    let netem = in_new_namespace(|| {
        let arguments = ["qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"];
        let mut tc = Command::new("tc");
        tc.args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        match tc.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => Err(io::Error::other("the kernel has none")),
            Err(_) => Err(io::Error::other("no command tc to try it with")),
        }
    });
    findings.push(finding(
        "netem",
        netem.is_ok(),
        false,
        said(&netem),
        "nothing here needs it, the testbed has its own emulator; modprobe sch_netem, apt-get install iproute2",
    ));
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    findings.push(finding(
        "cores",
        cores >= 2,
        false,
        cores.to_string(),
        "the link emulator keeps one busy, and the stack wants another",
    ));
    findings
}

fn said(outcome: &io::Result<()>) -> String {
    outcome
        .as_ref()
        .map_or_else(ToString::to_string, |()| "works".into())
}

/// Does `work` in a namespace that ends with it.
fn in_new_namespace(work: impl FnOnce() -> io::Result<()> + Send) -> io::Result<()> {
    let enter = || {
        // SAFETY: unshare changes nothing but the namespace of the calling thread.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            return Err(io::Error::last_os_error());
        }
        work()
    };
    thread::scope(|scope| scope.spawn(enter).join().expect("it does not panic"))
}
