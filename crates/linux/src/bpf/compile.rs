//! The BPF object of an algorithm: built in, or compiled from a user's file.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use ackclock_host::{Algorithm, SUPPORT};
use tempfile::TempDir;

use super::{clang, KernelError};

include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// Lines of a compiler's messages that are worth reading at once.
const MESSAGE_LINES: usize = 16;

/// The ELF object of an algorithm for BPF.
///
/// # Errors
/// A user's file that clang refuses, or no clang.
pub fn object(algorithm: &Algorithm) -> Result<Cow<'static, [u8]>, KernelError> {
    match algorithm.source_path().strip_prefix("algorithms/") {
        Some(name) if algorithm.is_built_in() => Ok(built_in(name).into()),
        _ => compile(Path::new(algorithm.source_path())).map(Cow::from),
    }
}

/// The object that build.rs made of a C file.
pub(crate) fn built_in(name: &str) -> &'static [u8] {
    let found = OBJECTS.iter().find(|(each, _)| *each == name);
    found.expect("build.rs compiles every file").1
}

fn compile(path: &Path) -> Result<Vec<u8>, KernelError> {
    let name = || path.display().to_string();
    let cannot = |error| KernelError::system(format!("compile {}", name()), error);
    let clang = clang::find().ok_or_else(|| KernelError::NoClang { path: name() })?;
    let directory = TempDir::with_prefix("ackclock-").map_err(cannot)?;
    let at = |name: &str| directory.path().join(name);
    fs::create_dir_all(at("libbpf/bpf")).map_err(cannot)?;
    fs::create_dir_all(at("include")).map_err(cannot)?;
    let ours = SUPPORT
        .iter()
        .filter(|(name, _)| name.starts_with("include/"));
    let libbpf = LIBBPF_HEADERS.iter();
    let files = ours
        .map(|(name, text)| (at(name), text))
        .chain(libbpf.map(|(name, text)| (at("libbpf/bpf").join(name), text)));
    for (file, text) in files {
        fs::write(file, text).map_err(cannot)?;
    }
    let object = at("algorithm.o");
    let output = clang::command(&clang, &[&at("include"), &at("libbpf")], path, &object).output();
    let output = output.map_err(cannot)?;
    if !output.status.success() {
        let messages = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<_> = messages.lines().take(MESSAGE_LINES).collect();
        return Err(KernelError::DoesNotCompile {
            path: name(),
            messages: lines.join("\n"),
        });
    }
    fs::read(&object).map_err(cannot)
}
