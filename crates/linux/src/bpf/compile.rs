//! The BPF object of an algorithm: built in, or compiled from a user's file.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use ackclock_host::messages;
use ackclock_host::{
    confine, Configured, Preprocessed, Scratch, FILE_LABEL, KERNEL_SUPPORT, LABEL_LINE, SUPPORT,
};
use object::{Object, ObjectSection, SectionKind};

use super::kernel_form::KernelForm;
use super::lines::Lines;
use super::{clang, KernelError};

include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// Warnings that are errors in a user's file; the other ones are not.
const REFUSED: [&str; 7] = [
    "-Wno-error",
    "-Werror=uninitialized",
    "-Werror=sometimes-uninitialized",
    "-Werror=implicit-function-declaration",
    "-Werror=int-conversion",
    "-Werror=incompatible-pointer-types",
    "-Werror=return-type",
];

/// Of files in the kernel's form: no header of the system is read.
const KERNEL_FLAGS: [&str; 1] = ["-nostdinc"];

/// An algorithm for BPF.
#[derive(Debug)]
pub struct BpfObject {
    /// The ELF object.
    pub elf: Cow<'static, [u8]>,
    /// A hash of all that decides about it: what the simulator runs of the file, and what BPF does.
    pub fingerprint: u64,
    /// Of a file in the kernel's form: what its variables contain.
    pub(super) variables: HashMap<String, Vec<u8>>,
}

/// The object of an algorithm for BPF.
///
/// # Errors
/// A user's file that clang refuses, that has other parts for BPF than the simulator has read, or no
/// clang.
pub fn object(configured: &Configured) -> Result<BpfObject, KernelError> {
    let algorithm = configured.algorithm();
    match algorithm.source_path().strip_prefix("algorithms/") {
        Some(name) if algorithm.is_built_in() => Ok(BpfObject {
            elf: built_in(name).into(),
            fingerprint: algorithm.fingerprint(),
            variables: HashMap::new(),
        }),
        _ => compile(configured),
    }
}

/// The object that build.rs made of a C file.
pub(crate) fn built_in(name: &str) -> &'static [u8] {
    let found = OBJECTS.iter().find(|(each, _)| *each == name);
    found.expect("build.rs compiles every file").1
}

/// Compiles the text that the simulator's code is made of, whatever the file contains by now.
fn compile(configured: &Configured) -> Result<BpfObject, KernelError> {
    let algorithm = configured.algorithm();
    let name = algorithm.source_path();
    let kernel = KernelForm::compile(configured)?;
    let cannot = |error| KernelError::system(format!("compile {name}"), error);
    let no_clang = || KernelError::Other(format!("{name}: {}", clang::NO_CLANG));
    let clang = clang::find().ok_or_else(no_clang)?;
    let (own, included) = algorithm.sources().split_first().expect("the file itself");
    let scratch = Scratch::new().map_err(cannot)?;
    let ours = SUPPORT
        .iter()
        .chain(KERNEL_SUPPORT)
        .filter(|(name, _)| name.ends_with(".h"));
    for (name, text) in ours {
        scratch.write(name, text.as_bytes()).map_err(cannot)?;
    }
    for (name, text) in LIBBPF_HEADERS {
        let name = format!("libbpf/bpf/{name}");
        scratch.write(&name, text.as_bytes()).map_err(cannot)?;
    }
    let text = match &kernel {
        Some(kernel) => kernel.text.clone(),
        None => {
            let text = own.text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&own.text);
            [LABEL_LINE.as_bytes(), text].concat()
        }
    };
    let file = scratch
        .write(&format!("user/{FILE_LABEL}"), &text)
        .map_err(cannot)?;
    let at = |name: &str| scratch.path().join(name);
    let refused = |messages| KernelError::DoesNotCompile {
        path: name.into(),
        messages,
    };
    let make = |output: &Path, only: &[&str]| {
        let headers = [&at("include"), &at("kernel"), &at("libbpf")];
        let headers = headers.map(PathBuf::as_path);
        let headers = headers
            .iter()
            .copied()
            .filter(|each| kernel.is_some() || !each.ends_with("kernel"));
        let headers: Vec<_> = headers.collect();
        let mut command = clang::command(&clang, &headers, &file, output);
        confine::command(&mut command, scratch.path());
        let written = command
            .envs(["TMPDIR", "HOME"].map(|each| (each, scratch.path())))
            .stdin(Stdio::null())
            .args(if kernel.is_some() {
                &KERNEL_FLAGS[..]
            } else {
                &[]
            })
            .arg("-iquote")
            .arg(own.path.parent().unwrap_or(Path::new("/")))
            .args(REFUSED)
            .args(only)
            .output()
            .map_err(cannot)?;
        if !written.status.success() {
            let written = String::from_utf8_lossy(&written.stderr);
            return Err(refused(messages::errors(&written, name, scratch.path())));
        }
        fs::read(output).map_err(cannot)
    };
    let text = make(&at("algorithm.i"), &["-E"])?;
    let text = String::from_utf8_lossy(&text);
    let text = Preprocessed::new(&text, scratch.path());
    if let Some((_, line)) = text.own_assembly() {
        return Err(refused(format!(
            "{name}:{line}: inline assembly, for BPF alone: write it in C"
        )));
    }
    let is_known = |path: &PathBuf| included.iter().any(|source| source.path == *path);
    if let Some(other) = text.included().iter().find(|path| !is_known(path)) {
        return Err(refused(format!(
            "{} is included for BPF alone, so that the simulator has not read it: include it always",
            other.display()
        )));
    }
    let elf = make(&at("algorithm.o"), &[])?;
    let changed = included
        .iter()
        .find(|source| fs::read(&source.path).ok().as_ref() != Some(&source.text));
    if let Some(source) = changed {
        return Err(refused(format!(
            "{} changed in the meantime: run the command again",
            source.path.display()
        )));
    }
    if let Some((place, number)) = other_helper(&elf, name) {
        return Err(refused(format!(
            "{place}: calls the kernel's BPF helper {number}, which no other host has: use what tcp_cc.h offers"
        )));
    }
    Ok(BpfObject {
        elf: elf.into(),
        fingerprint: algorithm.fingerprint_with(&text.contents()),
        variables: kernel.map(|kernel| kernel.variables).unwrap_or_default(),
    })
}

/// The helpers of BPF (`enum bpf_func_id`) that our headers call: bpf_ktime_get_ns, bpf_get_prandom_u32,
/// bpf_setsockopt, bpf_sk_storage_get, bpf_tcp_send_ack, bpf_jiffies64.
const HELPERS: [i32; 6] = [5, 7, 49, 107, 116, 118];

/// The first call of another, as a file may make by its number: where, and which.
fn other_helper(elf: &[u8], path: &str) -> Option<(String, i32)> {
    /// BPF_JMP | BPF_CALL, and no register: a helper.
    const CALLS: [u8; 2] = [0x85, 0];
    let file = object::File::parse(elf).ok()?;
    let lines = Lines::from_object(&file, FILE_LABEL, path);
    let code = file
        .sections()
        .filter(|each| each.kind() == SectionKind::Text);
    code.filter_map(|section| Some((section.name().ok()?.to_string(), section.data().ok()?)))
        .find_map(|(section, data)| {
            let mut each = data.chunks_exact(8).enumerate();
            each.find_map(|(index, code)| {
                let number = i32::from_le_bytes(code[4..8].try_into().expect("four bytes"));
                let other = code[0] == CALLS[0] && code[1] >> 4 == CALLS[1];
                (other && !HELPERS.contains(&number))
                    .then(|| (lines.find(&section, 8 * index), number))
            })
        })
}
