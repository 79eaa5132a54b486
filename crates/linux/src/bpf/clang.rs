// How C becomes BPF: included by build.rs, for what is built in, and by compile.rs, for a
// user's file.

use std::path::Path;
use std::process::Command;

/// What to say when there is none.
pub const NO_CLANG: &str =
    "no clang with the bpf target; install one, such as Debian's clang, or name it in CLANG";

const FLAGS: &str = "-target bpf -mcpu=v3 -g -O2 -std=gnu11 -Wall -Wextra -Werror \
    -fno-strict-aliasing -fno-strict-overflow";

/// The clang to compile with: $CLANG, else clang, else the newest clang-N.
pub fn find() -> Option<String> {
    match std::env::var("CLANG") {
        Ok(chosen) if !chosen.is_empty() => Some(chosen).filter(|clang| has_bpf(clang)),
        _ => all().into_iter().next(),
    }
}

/// Every clang here that compiles for BPF.
pub fn all() -> Vec<String> {
    let numbered = (11..=30).rev().map(|version| format!("clang-{version}"));
    let names = std::iter::once("clang".to_string()).chain(numbered);
    names.filter(|clang| has_bpf(clang)).collect()
}

fn has_bpf(clang: &str) -> bool {
    let targets = Command::new(clang).arg("-print-targets").output();
    targets.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("bpf"))
}

/// The command that compiles `source`. clang 14 is known to run away on harmless code, so
/// its memory is limited.
pub fn command(clang: &str, include: &[&Path], source: &Path, object: &Path) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -v 4000000; exec \"$@\"", "sh", clang])
        .args(FLAGS.split_whitespace())
        .env("LC_ALL", "C");
    for directory in include {
        command.arg("-I").arg(directory);
    }
    command.arg("-c").arg(source).arg("-o").arg(object);
    command
}
