//! The other host: every algorithm also compiles to a BPF object that libbpf can load,
//! and clang's BPF target refuses what the native build refuses.

mod common;

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use ackclock_host::Algorithm;
use common::UserFile;
use object::{Object, ObjectSection, ObjectSymbol};

const ALGORITHMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms");

/// Every clang here that compiles for BPF; if there is none that is said on stderr.
fn clangs() -> Vec<String> {
    let versions = (11..=30).map(|version| format!("clang-{version}"));
    let mut found: Vec<_> = ["clang".to_string()].into_iter().chain(versions).collect();
    found.retain(|clang| {
        let targets = Command::new(clang).arg("-print-targets").output();
        targets.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("bpf"))
    });
    let missing = if found.is_empty() {
        "no clang with the bpf target"
    } else if !Path::new("/usr/include/bpf/bpf_helpers.h").exists() {
        found.clear();
        "no libbpf headers (Debian: libbpf-dev)"
    } else {
        return found;
    };
    // Straight to stderr: the test harness would keep eprintln! to itself.
    let _ = writeln!(
        std::io::stderr(),
        "SKIPPED: the BPF build is not tested, {missing}"
    );
    found
}

fn compile(clang: &str, source: &Path, object: &Path) -> Output {
    // clang 14 is known to run away on harmless code; it shall not take the machine along.
    Command::new("sh")
        .args(["-c", "ulimit -v 4000000; exec \"$@\"", "sh", clang])
        .args([
            "-target",
            "bpf",
            "-mcpu=v3",
            "-g",
            "-O2",
            "-std=gnu11",
            "-Wall",
            "-Wextra",
            "-Werror",
        ])
        .args(["-fno-strict-aliasing", "-fno-strict-overflow"])
        .arg("-I")
        .arg(Path::new(ALGORITHMS).join("include"))
        .arg("-c")
        .arg(source)
        .arg("-o")
        .arg(object)
        .output()
        .unwrap()
}

#[test]
fn every_algorithm_is_a_struct_ops_object() {
    let directory = tempfile::tempdir().unwrap();
    let clangs = clangs();
    let root = Path::new(ALGORITHMS).join("..");
    let mut algorithms = Algorithm::all().to_vec();
    let skeleton = root.join("examples/my_cc.c"); // what `ackclock new` writes
    algorithms.push(Algorithm::compile(&skeleton).unwrap());
    let builds = clangs
        .iter()
        .flat_map(|clang| algorithms.iter().map(move |one| (clang, one)));
    for (clang, algorithm) in builds {
        let name = algorithm.name();
        let source = root.join(algorithm.source_path());
        let object = directory.path().join(format!("{name}.o"));
        let output = compile(clang, &source, &object);
        assert!(
            output.status.success(),
            "{name}: {}",
            String::from_utf8_lossy(&output.stderr)
        );

        let data = std::fs::read(&object).unwrap();
        let elf = object::File::parse(&*data).unwrap();
        let section = |name: &str| {
            elf.section_by_name(name)
                .map(|section| section.data().unwrap())
        };
        assert!(
            section(".struct_ops.link").is_some_and(|data| !data.is_empty()),
            "{name}"
        );
        assert!(
            section(".BTF").is_some() && section(".BTF.ext").is_some(),
            "{name}"
        );
        assert_eq!(section("license"), Some(&b"GPL\0"[..]), "{name}");
        let ops = section(".struct_ops.link").unwrap();
        // TCP_CA_NAME_MAX is 16.
        let prefix = if name.len() > 12 { "" } else { "ac_" };
        let bpf_name = format!("{prefix}{name}\0");
        assert!(
            ops.windows(bpf_name.len())
                .any(|part| part == bpf_name.as_bytes()),
            "{name}"
        );

        // A loader patches each parameter in .rodata, where its default stands.
        for param in algorithm.params() {
            let wanted = format!("cc_param_{}", param.name);
            let symbol = elf
                .symbols()
                .find(|symbol| symbol.name() == Ok(&wanted))
                .expect(&wanted);
            let place = elf
                .section_by_index(symbol.section_index().unwrap())
                .unwrap();
            assert_eq!(place.name(), Ok(".rodata"), "{wanted}");
            let at = symbol.address() as usize;
            let value = u32::from_le_bytes(place.data().unwrap()[at..at + 4].try_into().unwrap());
            assert_eq!(value, param.default, "{name}: {wanted}");
        }
        // Flows share nothing that can be written.
        for shared in [".data", ".bss"] {
            assert!(
                section(shared).is_none_or(<[u8]>::is_empty),
                "{name} has {shared}"
            );
        }
    }
}

#[test]
fn clang_refuses_what_the_kernel_would() {
    let wrongs = [
        ("tcp_sk(sk)->snd_una = 1;", "const-qualified"),
        ("tcp_sk(sk)->snd_cwnd *= 0.7;", "not supported"),
        ("(void)inet_csk_ca(sk);", "cc_private"), // no CC_PRIVATE
    ];
    let clangs = clangs();
    for (clang, (body, complaint)) in clangs
        .iter()
        .flat_map(|clang| wrongs.map(|wrong| (clang, wrong)))
    {
        let file = UserFile::new(&format!(
            "#include \"tcp_cc.h\"\nCC_HOOK(void, wrong, struct sock *sk) {{ {body} }}\n"
        ));
        let output = compile(clang, &file.path, &file.directory.path().join("wrong.o"));
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && messages.contains(complaint),
            "{body}: {messages}"
        );
    }
}
