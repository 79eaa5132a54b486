//! What this machine can do with the real kernel, and how to get the rest.

use std::fs::OpenOptions;
use std::num::NonZero;
use std::process::{Command, Stdio};
use std::{io, thread};

use crate::bpf::{self, clang, namespaces, requirements};
use crate::sys;

/// One thing that was looked at.
#[derive(Debug)]
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
pub struct Finding {
    /// What it is.
    pub what: &'static str,
    /// Is it there?
    pub ok: bool,
    /// Can nothing be deployed without it?
    pub needed: bool,
    /// What was found.
    pub found: String,
    /// How to get it, where it is not there.
    pub fix: &'static str,
}

/// Looks at everything that deploying, telemetry and the testbed use. Leaves nothing behind.
///
/// The finding `deploy` is a rehearsal, by the code of [`deploy`](bpf::deploy): it is ok if and
/// only if a deployment would succeed now, and then so is all else that is needed.
pub fn doctor() -> Vec<Finding> {
    let finding = |what, ok, needed, found: String, fix| Finding {
        what,
        ok,
        needed,
        found,
        fix,
    };
    let (release, version) = requirements::kernel();
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
    ];
    let missing = requirements::missing_capabilities();
    if missing.is_empty() {
        let found = "all that ackclock uses".into();
        findings.push(finding("capabilities", true, false, found, ""));
    }
    for each in missing {
        let found = format!("missing: {}", each.cost);
        let is_root = sys::user() == 0;
        let fix = match each.name {
            _ if !is_root => "run as root (sudo)",
            "CAP_BPF" | "CAP_PERFMON" => "nothing to do",
            "CAP_SYS_RESOURCE" => {
                "nothing to do, except under ip netns exec and unshare: use nsenter there"
            }
            _ => "start the container with --privileged",
        };
        findings.push(finding(each.name, false, each.needed, found, fix));
    }
    let rehearsed = bpf::rehearse();
    let registered = match &rehearsed {
        Ok(_) => Ok(()),
        Err(_) => bpf::Registered::load("reno").map(drop),
    };
    findings.push(finding(
        "struct_ops",
        registered.is_ok(),
        true,
        registered.map_or_else(
            |error| error.to_string(),
            |()| "works: registered reno for a moment".into(),
        ),
        "see what was found",
    ));
    findings.push(finding(
        "deploy",
        rehearsed.is_ok(),
        true,
        match &rehearsed {
            Ok(rehearsed) => {
                let mut found = format!(
                    "works; the BPF file system {}",
                    if rehearsed.mounted {
                        "is not mounted, deploy will mount it"
                    } else {
                        "is mounted"
                    }
                );
                if let Some(planted) = &rehearsed.planted {
                    found += &format!("; {planted}, deploy will move it aside");
                }
                found
            }
            Err(error) => error.to_string(),
        },
        "see what was found",
    ));
    let sysctl = OpenOptions::new().write(true).open(namespaces::DEFAULT);
    findings.push(finding(
        "default algorithm",
        sysctl.is_ok(),
        false,
        said(&sysctl.map(drop)),
        "for deploy --default: run where /proc/sys can be written",
    ));
    let clang = clang::find();
    findings.push(finding(
        "clang",
        clang.is_some(),
        false,
        clang.unwrap_or_else(|| "no clang that compiles for BPF".into()),
        "to deploy your own C files: apt-get install clang",
    ));
    let namespaces = in_new_namespace(|| Ok(()));
    findings.push(finding(
        "network namespaces",
        namespaces.is_ok(),
        false,
        said(&namespaces),
        "for the testbed: run as root (sudo)",
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
        "for the testbed: run as root (sudo); modprobe tun",
    ));
    let netem = in_new_namespace(|| {
        let arguments = ["qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"];
        let mut tc = Command::new("tc");
        tc.args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        match tc.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => Err(io::Error::other("the kernel does not have it")),
            Err(_) => Err(io::Error::other("unknown: the command tc is missing")),
        }
    });
    findings.push(finding(
        "netem",
        netem.is_ok(),
        false,
        said(&netem),
        "ackclock does not need it: the testbed has its own emulator",
    ));
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    findings.push(finding(
        "cores",
        cores >= 2,
        false,
        cores.to_string(),
        "the testbed needs two: one for the link emulator, one for TCP",
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
    sys::on_thread(|| {
        sys::unshare(libc::CLONE_NEWNET)?;
        work()
    })
}
