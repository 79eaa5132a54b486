//! Compiles every `algorithms/tcp_*.c` and `bpf/*.bpf.c` for BPF, and embeds the objects
//! and libbpf's headers, with which a user's file is compiled.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, process};

#[path = "src/bpf/clang.rs"]
mod clang;

const LIBBPF_HEADERS: [&str; 4] = [
    "bpf_core_read.h",
    "bpf_helper_defs.h",
    "bpf_helpers.h",
    "bpf_tracing.h",
];

fn main() {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap());
    let out = PathBuf::from(env::var("OUT_DIR").unwrap());
    let libbpf = PathBuf::from(env::var("DEP_BPF_INCLUDE").expect("libbpf-sys names its headers"));
    let algorithms = here.join("../../algorithms").canonicalize().unwrap();
    for watched in [
        algorithms.as_path(),
        &here.join("bpf"),
        &here.join("src/bpf/clang.rs"),
    ] {
        println!("cargo::rerun-if-changed={}", watched.display());
    }
    println!("cargo::rerun-if-env-changed=CLANG");
    println!("cargo::rustc-env=LIBBPF_INCLUDE={}", libbpf.display());
    let Some(clang) = clang::find() else {
        println!("cargo::error={}", clang::NO_CLANG);
        process::exit(1);
    };

    let mut sources = files(&algorithms, "tcp_", ".c");
    sources.extend(files(&here.join("bpf"), "", ".bpf.c"));
    let include = [&algorithms.join("include"), &libbpf];
    let mut objects = String::new();
    for source in sources {
        let name = source.file_name().unwrap().to_str().unwrap();
        let object = out.join(name).with_extension("o");
        let include = include.map(|directory| directory.as_path());
        let output = clang::command(&clang, &include, &source, &object).output();
        let output = output.unwrap_or_else(|error| panic!("{clang}: {error}"));
        if !output.status.success() {
            let messages = String::from_utf8_lossy(&output.stderr);
            panic!("{name} does not compile for BPF with {clang}:\n{messages}");
        }
        writeln!(objects, "    ({name:?}, include_bytes!({object:?})),").unwrap();
    }
    let mut headers = String::new();
    for name in LIBBPF_HEADERS {
        let file = libbpf.join("bpf").join(name);
        writeln!(headers, "    ({name:?}, include_str!({file:?})),").unwrap();
    }
    let text = format!(
        "/// (name of the C file, its BPF object).\n\
         static OBJECTS: &[(&str, &[u8])] = &[\n{objects}];\n\
         /// (name below bpf/, text) of libbpf's headers for BPF programs.\n\
         static LIBBPF_HEADERS: &[(&str, &str)] = &[\n{headers}];\n"
    );
    fs::write(out.join("objects.rs"), text).unwrap();
}

/// The directory's files of such names, sorted.
fn files(directory: &Path, prefix: &str, suffix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| {
        panic!("{}: {error}", directory.display());
    });
    let mut files: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(prefix) && name.ends_with(suffix)
        })
        .collect();
    files.sort();
    files
}
