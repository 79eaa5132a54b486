//! What Python asks about a user's C file, which it has clang compile.

use std::io::ErrorKind;

use ackclock_host::guest;
use ackclock_host::{CHECKED_SUPPORT, KERNEL_SUPPORT, LABEL_LINE, SUPPORT};
use ackclock_sim::{RunError, Scenario};
use serde_json::{json, Map, Value};

use super::{refuse, Refusal};

/// What is compiled with a file, and linked to it; all know it as `-DCC_CHECKED -fno-builtin`.
const LINKED: [&str; 3] = ["checked/checked.c", "checked/wasm.c", "host/tcp_cong.c"];
/// Flags of wasm-ld: 32 KB of stack, below what else lies in the memory, which has 4 MB at most.
const LINK: &str = "--no-entry --stack-first -z stack-size=32768 --max-memory=4194304 \
                    --export=__heap_base --export=cc_module";

/// What a file is compiled with, by paths, and clang's flags: for all files, and for a user's besides; what is
/// linked to it, and the linker's flags.
pub fn about() -> Value {
    let texts = SUPPORT.iter().chain(CHECKED_SUPPORT);
    let texts: Map<_, _> = texts
        .map(|(path, text)| ((*path).into(), (*text).into()))
        .collect();
    let flags: Vec<_> = guest::flags().collect();
    let user_flags: Vec<_> = guest::flags_of_a_user().collect();
    let link: Vec<_> = LINK.split_whitespace().collect();
    json!({
        "files": texts, "flags": flags, "user_flags": user_flags, "linked": LINKED, "link_flags": link,
    })
}

doors! {

fn c_files() -> Value {
    let mut about = about();
    for (path, text) in KERNEL_SUPPORT {
        about["files"][format!("include/{path}")] = (*text).into();
    }
    about["label"] = LABEL_LINE.into();
    about
}

fn read_c_file(path: String, directory: String, preprocessed: String) -> Result<Value, Refusal> {
    let read = guest::read(&path, &directory, &preprocessed).map_err(refuse)?;
    Ok(json!([read.text, read.included, read.contents]))
}

fn check_c_file(path: String, assembly: String) -> Result<(), Refusal> {
    guest::check(&path, &assembly).map_err(refuse)
}

fn refused_c_file(path: String, text: String, written: String) -> Result<(), Refusal> {
    Err(refuse(guest::refused(&path, &text, &written)))
}

fn no_c_file(path: String, why: String, error: String) -> Result<(), Refusal> {
    let why = match &*why {
        "IsADirectoryError" => ErrorKind::IsADirectory,
        "FileNotFoundError" => ErrorKind::NotFound,
        "PermissionError" => ErrorKind::PermissionDenied,
        "NotADirectoryError" => ErrorKind::NotADirectory,
        "suffix" => ErrorKind::InvalidInput,
        "zero" => ErrorKind::InvalidData,
        _ => ErrorKind::Other,
    };
    Err(refuse(guest::no_source(&path, why, &error)))
}

fn trapped(trap: String, socket: usize) -> (&'static str, String) {
    // SAFETY: Python has it from the hook that has trapped.
    let moment = unsafe { guest::moment(std::ptr::without_provenance(socket)) };
    (guest::trapped(&trap), moment)
}

fn stalled(json: String) -> Result<(), Refusal> {
    let scenario = Scenario::parse(&json).map_err(refuse)?;
    Err(Refusal(json!(["AlgorithmError", RunError::stalled(&scenario).to_string()])))
}

}
