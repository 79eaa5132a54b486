//! Tests that need the real kernel say why they do not run, where they cannot.
#![allow(dead_code, reason = "no test uses all of it")]

use std::fs;
use std::io::Write as _;
use std::process::Command;

/// Says on stderr why `what` is not tested here, if so.
pub fn skipped(what: &str) -> bool {
    skipped_without(what, &[])
}

/// As [`skipped`]; the test also needs those capabilities, by name and number.
pub fn skipped_without(what: &str, capabilities: &[(&str, u32)]) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = u64::from_str_radix(effective.unwrap().trim(), 16).unwrap();
    let mut missing = capabilities
        .iter()
        .filter(|(_, number)| effective >> number & 1 == 0);
    let why = match (ackclock_linux::bpf::require(what), missing.next()) {
        (Err(error), _) => error.to_string(),
        (_, Some((name, _))) => format!("the test of {what} needs {name}"),
        (Ok(()), None) => return false,
    };
    // Straight to stderr: the test harness would keep eprintln! to itself.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
    true
}

/// To set up a loopback interface.
pub const NET_ADMIN: (&str, u32) = ("CAP_NET_ADMIN", 12);
/// To be another user, with less than root has.
const LESS_THAN_ROOT: [(&str, u32); 4] = [
    ("CAP_CHOWN", 0),
    ("CAP_SETGID", 6),
    ("CAP_SETUID", 7),
    ("CAP_SETPCAP", 8),
];

/// Leaves the namespace of the machine, so that its settings stay what they are.
pub fn in_own_namespace(test: impl FnOnce() + Send) {
    let enter = || {
        // SAFETY: unshare changes nothing but the namespace of the calling thread.
        assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNET) }, 0);
        test();
    };
    std::thread::scope(|scope| scope.spawn(enter).join().unwrap());
}

const ALONE: &str = "ACKCLOCK_TEST_ALONE";
pub const BPFFS: &str = "/sys/fs/bpf";

/// Runs the body of the test of that name in a process that is alone in its namespaces of
/// mounts, processes and network, with no BPF file system: as on a machine that was just
/// booted. What it mounts and deploys ends with it.
pub fn alone(name: &str, test: impl FnOnce()) {
    alone_with(&[], name, test);
}

/// As [`alone`], with more options of unshare(1).
pub fn alone_with(options: &[&str], name: &str, test: impl FnOnce()) {
    if skipped_without("deploying", &LESS_THAN_ROOT) {
        return;
    }
    if std::env::var(ALONE).is_ok_and(|alone| alone == name) {
        while shell(&format!("umount {BPFFS} 2>&1")).is_ok() {}
        return test();
    }
    let namespaces = [
        "--mount",
        "--net",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ];
    let output = Command::new("unshare")
        .args(namespaces)
        .args(options)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(ALONE, name)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success(), "{}{}", said[0], said[1]);
    assert!(
        said[0].contains("1 passed"),
        "{name} is no test: {}",
        said[0]
    );
}

/// What a shell prints.
pub fn shell(script: &str) -> Result<String, String> {
    let output = Command::new("sh").args(["-c", script]).output().unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    if output.status.success() {
        Ok(said[0].trim().to_string())
    } else {
        Err(said.concat())
    }
}

/// Mounts the BPF file system as systemd does.
pub fn mount_bpffs() {
    shell(&format!("mount -t bpf -o mode=0700 bpf {BPFFS}")).unwrap();
}

/// Names in the BPF file system.
pub fn entries(directory: &str) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !name.ends_with(".debug")) // the kernel's own
        .collect();
    names.sort();
    names
}
