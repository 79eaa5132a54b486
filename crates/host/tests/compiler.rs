//! The compiler of a stranger's file may do as little as its code.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use ackclock_host::apart;

use crate::common::{in_a_process, UserFile};

const FILE: &str = "#include \"tcp_cc.h\"\n\
    CC_ALGORITHM(mine, \"\", .ssthresh = tcp_reno_ssthresh, .cong_avoid = tcp_reno_cong_avoid);\n";

/// As if a file had found a hole in it: each run also writes beside the file, and reads it.
#[test]
fn a_compiler_writes_in_its_own_directory_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (program, beside) = (directory.path().join("cc"), directory.path().join("beside"));
    let text = format!(
        "#!/bin/sh\ncase $1 in --version) ;; *) cp \"$0\" '{0}'; cp \"$0\" \"$TMPDIR/own\" || exit 9 ;; esac 2>/dev/null\nexec cc \"$@\"\n",
        beside.display()
    );
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let variables = [("CC", program.to_str().unwrap())];
    let output = in_a_process("compiler::compiles", &variables);
    assert!(output.status.success(), "{output:?}");
    let is_confined = apart::confinement().starts_with("confined: files");
    assert_eq!(beside.exists(), !is_confined);
}

#[test]
#[ignore = "run by a_compiler_writes_in_its_own_directory_alone, with CC"]
fn compiles() {
    UserFile::new(FILE).compile().unwrap();
}
