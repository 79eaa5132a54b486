//! Compiles every `algorithms/tcp_*.c` and writes the registry of them, so that a
//! new algorithm is one new C file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../algorithms");
    let root = root
        .canonicalize()
        .expect("algorithms/ lies beside crates/");
    println!("cargo:rerun-if-changed={}", root.display());

    let algorithms = files(&root, |name| {
        name.starts_with("tcp_") && name.ends_with(".c")
    });
    let mut support = files(&root.join("include"), |name| name.ends_with(".h"));
    support.extend(files(&root.join("host"), |name| name.ends_with(".c")));
    let kernel = tree(&root.join("kernel"));
    let checked = files(&root.join("checked"), |_| true);
    for file in algorithms
        .iter()
        .chain(&support)
        .chain(&kernel)
        .chain(&checked)
    {
        println!("cargo:rerun-if-changed={}", file.display());
    }

    let mut compiler = cc::Build::new();
    compiler.include(root.join("include")).warnings(false);
    let warnings = ["-Wall", "-Wextra", "-Werror"];
    let flags = include_str!("src/native/cflags.txt").split_whitespace();
    // wasm has neither other registers nor code that may lie anywhere.
    let is_wasm = env::var("CARGO_CFG_TARGET_ARCH").unwrap() == "wasm32";
    let flags = flags.filter(|flag| !is_wasm || !["-fPIC", "-mgeneral-regs-only"].contains(flag));
    for flag in flags.chain(warnings) {
        compiler.flag(flag);
    }

    let mut library = cc::Build::new();
    let mut symbols = String::new();
    let mut table = String::new();
    for file in &algorithms {
        let name = file.file_name().unwrap().to_str().unwrap();
        let symbol = format!("cc_module_{}", name.trim_end_matches(".c"));
        let object = compiler
            .clone()
            .define("CC_MODULE", symbol.as_str())
            .file(file)
            .compile_intermediates();
        library.objects(object);
        writeln!(symbols, "    static {symbol}: Module;").unwrap();
        writeln!(
            table,
            "    (&raw const {symbol}, \"algorithms/{name}\", include_str!({file:?})),"
        )
        .unwrap();
    }
    let host = support
        .iter()
        .filter(|file| file.extension().unwrap() == "c");
    library.objects(compiler.clone().files(host).compile_intermediates());
    library.compile("ackclock_algorithms");
    let objects = checked_objects(&compiler, &root);

    let mut registry = format!(
        "unsafe extern \"C\" {{\n{symbols}}}\n\
         /// (module, path, text) of every built-in algorithm.\n\
         fn built_in() -> [(*const Module, &'static str, &'static str); {}] {{ [\n{table}] }}\n\
         /// (path below `algorithms/`, text) of what algorithms are compiled with.\n",
        algorithms.len()
    );
    list(&mut registry, "SUPPORT", &support, &root);
    registry +=
        "/// The same of files in the kernel's form, with the headers that those include.\n";
    list(&mut registry, "KERNEL_SUPPORT", &kernel, &root);
    registry += "/// The same of what is linked to a file that is checked.\n";
    list(&mut registry, "CHECKED_SUPPORT", &checked, &root);
    registry += "/// What is linked to a user's file that is not trusted; nothing where files cannot be checked.\n\
         pub(crate) static CHECKED: &[&[u8]] = &[\n";
    for object in objects {
        writeln!(registry, "    include_bytes!({object:?}),").unwrap();
    }
    let text = root.join("checked/checked.c");
    registry += &format!("];\npub(crate) const CHECKED_TEXT: &str = include_str!({text:?});\n");
    let out = Path::new(&env::var("OUT_DIR").unwrap()).join("registry.rs");
    fs::write(out, registry).unwrap();
}

/// checked.c, and the helpers with checks of what they are given.
fn checked_objects(compiler: &cc::Build, root: &Path) -> Vec<PathBuf> {
    let target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap();
    let is_known = ["x86_64", "aarch64"].contains(&target("ARCH").as_str());
    if target("OS") != "linux" || !is_known {
        return Vec::new();
    }
    // The helpers have another object in the library.
    let out = Path::new(&env::var("OUT_DIR").unwrap()).join("checked");
    let mut plain = compiler.clone();
    plain
        .out_dir(&out)
        .flag("-fno-builtin")
        .flag("-fno-optimize-sibling-calls")
        .flag("-fomit-frame-pointer") // CC_LEAVE
        .flag_if_supported("-fno-tree-loop-distribute-patterns");
    let mut objects = plain
        .file(root.join("checked/checked.c"))
        .compile_intermediates();
    let mut helpers = compiler.clone();
    helpers.out_dir(&out).define("CC_CHECKED", None);
    objects.extend(
        helpers
            .file(root.join("host/tcp_cong.c"))
            .compile_intermediates(),
    );
    objects
}

/// Writes a static with the path and the text of each file.
fn list(registry: &mut String, name: &str, files: &[PathBuf], root: &Path) {
    writeln!(registry, "pub static {name}: &[(&str, &str)] = &[").unwrap();
    for file in files {
        let path = file.strip_prefix(root).unwrap();
        writeln!(registry, "    ({path:?}, include_str!({file:?})),").unwrap();
    }
    writeln!(registry, "];").unwrap();
}

/// The files in the directory and in those below it.
fn tree(directory: &Path) -> Vec<PathBuf> {
    let (below, mut all): (Vec<_>, Vec<_>) = files(directory, |_| true)
        .into_iter()
        .partition(|path| path.is_dir());
    for directory in below {
        all.extend(tree(&directory));
    }
    all
}

/// The directory's files whose name is wanted, sorted.
fn files(directory: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    println!("cargo:rerun-if-changed={}", directory.display());
    let mut files: Vec<_> = fs::read_dir(directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.file_name()
                .and_then(|name| name.to_str())
                .is_some_and(&wanted)
        })
        .collect();
    files.sort();
    files
}
