//! A user's file is compiled from one snapshot: code, fingerprint and file never disagree.

use crate::common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ackclock_host::{Algorithm, CongestionControl, HostConfig};
use common::{in_a_process, UserFile};

/// An algorithm whose ssthresh is a number from its header, plus `own`.
fn text(own: u32) -> String {
    format!(
        "#include \"tcp_cc.h\"\n#include \"mine.h\"\n\
         CC_HOOK(u32, s_ssthresh, struct sock *sk) {{ return MINE + {own}; }}\n\
         CC_HOOK(void, s_cong_avoid, struct sock *sk, u32 ack, u32 acked) {{ }}\n\
         CC_ALGORITHM(s, \"s\", .ssthresh = s_ssthresh, .cong_avoid = s_cong_avoid);\n"
    )
}

fn header(number: u32) -> String {
    format!("#define MINE {number}\n")
}

fn file(own: u32, mine: u32) -> UserFile {
    let file = UserFile::new(&text(own));
    fs::write(file.directory.path().join("mine.h"), header(mine)).unwrap();
    file
}

/// What the loaded code answers, and its fingerprint.
fn code(path: &Path) -> (u32, u64) {
    let configured = Algorithm::configure(path.to_str().unwrap()).unwrap();
    let fingerprint = configured.algorithm().fingerprint();
    let mut flow = CongestionControl::new(&configured, HostConfig::default());
    (flow.ssthresh(), fingerprint)
}

fn passes(test: &str, variables: &[(&str, &str)]) {
    let output = in_a_process(test, variables);
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A compiler that runs `script` after each of its compilations.
fn compiler(directory: &Path, script: &str) -> String {
    let path = directory.join("cc");
    fs::write(
        &path,
        format!("#!/bin/sh\ngcc \"$@\"; status=$?\n{script}\nexit $status\n"),
    )
    .unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    path.to_str().unwrap().into()
}

#[test]
fn an_edit_during_a_compile_parts_no_code_from_its_fingerprint() {
    let tools = tempfile::tempdir().unwrap();
    // Each step of the compiler ends with an edit of the file and of its header.
    let edit = "n=$(cat \"$EDITS/n\"); n=$((n + 1)); echo $n > \"$EDITS/n\"\n\
                [ -z \"$EDITED\" ] || {\n\
                echo \"#define MINE ${n}000\" > \"$EDITED/mine.h\"\n\
                sed -i \"s/MINE + [0-9]*/MINE + $n/\" \"$EDITED/my_cc.c\"; }";
    let cc = compiler(tools.path(), edit);
    fs::write(tools.path().join("n"), "0").unwrap();
    let edits = tools.path().to_str().unwrap();
    passes(
        "snapshot::edited_while_compiled",
        &[("CC", &cc), ("EDITS", edits)],
    );
}

#[test]
#[ignore = "run by an_edit_during_a_compile_parts_no_code_from_its_fingerprint"]
fn edited_while_compiled() {
    let edited = file(7, 100);
    // SAFETY: the only test of this process.
    unsafe { std::env::set_var("EDITED", edited.directory.path()) };
    let first = code(&edited.path);
    assert_eq!(
        first.0 % 100,
        7,
        "the file's own text is what there was at the start"
    );
    // The cache holds nothing that the files do not contain.
    let second = code(&edited.path);
    assert_ne!(second, first);
    // SAFETY: as above.
    unsafe { std::env::remove_var("EDITED") };
    assert_eq!(code(&file(7, first.0 - 7).path), first);
    let now = code(&edited.path);
    let (own, mine) = (
        fs::read_to_string(&edited.path).unwrap(),
        fs::read_to_string(edited.directory.path().join("mine.h")).unwrap(),
    );
    let copy = UserFile::new(&own);
    fs::write(copy.directory.path().join("mine.h"), mine).unwrap();
    assert_eq!(code(&copy.path), now);
}

#[test]
fn the_fingerprint_is_of_file_headers_compiler_and_flags() {
    let tools = tempfile::tempdir().unwrap();
    let cc = compiler(tools.path(), "");
    let print = tools.path().join("fingerprint");
    let source = file(1, 2);
    let fingerprint = |cc: &str| {
        let variables = [
            ("CC", cc),
            ("SOURCE", source.path.to_str().unwrap()),
            ("PRINT", print.to_str().unwrap()),
        ];
        passes("snapshot::print_a_fingerprint", &variables);
        fs::read_to_string(&print).unwrap()
    };
    let mut seen = vec![fingerprint("gcc"), fingerprint("gcc -O1"), fingerprint(&cc)];
    assert_eq!(fingerprint("gcc"), seen[0]);
    // Another version at the same place.
    let script = fs::read_to_string(&cc).unwrap();
    let newer = "#!/bin/sh\n[ \"$1\" != --version ] || { echo 99.1; exit; }";
    fs::write(&cc, script.replacen("#!/bin/sh", newer, 1)).unwrap();
    seen.push(fingerprint(&cc));
    fs::write(source.directory.path().join("mine.h"), header(3)).unwrap();
    seen.push(fingerprint("gcc"));
    fs::write(&source.path, text(5)).unwrap();
    seen.push(fingerprint("gcc"));
    let mut unique = seen.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), seen.len(), "{seen:?}");
}

#[test]
#[ignore = "run by the_fingerprint_is_of_file_headers_compiler_and_flags"]
fn print_a_fingerprint() {
    let path = std::env::var("SOURCE").unwrap();
    let (_, fingerprint) = code(Path::new(&path));
    fs::write(std::env::var("PRINT").unwrap(), fingerprint.to_string()).unwrap();
}

#[test]
fn an_unusable_directory_for_temporary_files_is_named() {
    for (place, reason) in [
        ("/no/such/place", "no such directory"),
        ("/sys", "not writable"),
        ("/dev/null", "no such directory"),
    ] {
        passes(
            "snapshot::without_a_temporary_directory",
            &[("TMPDIR", place), ("REASON", reason)],
        );
    }
}

#[test]
#[ignore = "run by an_unusable_directory_for_temporary_files_is_named"]
fn without_a_temporary_directory() {
    let error = Algorithm::compile(Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/my_cc.c"
    )));
    let error = error.unwrap_err().to_string();
    let place = std::env::var("TMPDIR").unwrap();
    let reason = std::env::var("REASON").unwrap();
    let said = format!("the directory for temporary files, {place}: {reason}; set TMPDIR");
    assert!(
        error.contains(&said) && error.lines().count() == 1,
        "{error}"
    );
}
