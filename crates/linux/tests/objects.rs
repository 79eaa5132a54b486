//! The other host: every algorithm also compiles to a BPF object that libbpf can load,
//! and clang's BPF target refuses what the native build refuses.

use std::path::Path;
use std::process::Output;

use ackclock_host::Algorithm;
use object::{Object, ObjectSection, ObjectSymbol};

#[allow(dead_code, reason = "the crate uses the rest")]
#[path = "../src/bpf/clang.rs"]
mod clang;

const ALGORITHMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms");

/// Every clang here that compiles for BPF: at least that which built this.
fn clangs() -> Vec<String> {
    let found = clang::all();
    assert!(!found.is_empty());
    found
}

fn compile(clang: &str, source: &Path, object: &Path) -> Output {
    let ours = Path::new(ALGORITHMS).join("include");
    let libbpf = Path::new(env!("LIBBPF_INCLUDE"));
    clang::command(clang, &[&ours, libbpf], source, object)
        .output()
        .unwrap()
}

#[test]
fn every_algorithm_is_a_struct_ops_object() {
    let directory = tempfile::tempdir().unwrap();
    let clangs = clangs();
    let root = Path::new(ALGORITHMS).join("..");
    let mut algorithms = Algorithm::all().to_vec();
    for skeleton in ["my_cc.c", "my_cc_full.c"] {
        // What `ackclock new` writes.
        let path = root.join("examples").join(skeleton);
        algorithms.push(Algorithm::compile(&path).unwrap());
    }
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
        let bpf_name = format!("{name}\0");
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
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("wrong.c");
        let text =
            format!("#include \"tcp_cc.h\"\nCC_HOOK(void, wrong, struct sock *sk) {{ {body} }}\n");
        std::fs::write(&file, text).unwrap();
        let output = compile(clang, &file, &directory.path().join("wrong.o"));
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && messages.contains(complaint),
            "{body}: {messages}"
        );
    }
}

#[test]
fn a_users_object_is_of_the_text_that_the_simulator_runs() {
    let style = Path::new(ALGORITHMS).join("../crates/host/tests/kernel_style.c");
    let configure = |file: &Path| Algorithm::configure(file.to_str().unwrap()).unwrap();
    let style = configure(&style);
    assert!(ackclock_linux::bpf::object(&style).is_ok_and(|object| !object.elf.is_empty()));

    let directory = tempfile::tempdir().unwrap();
    let (file, header) = (
        directory.path().join("-my $cc.c"),
        directory.path().join("my.h"),
    );
    let hooks = "CC_ALGORITHM(my, \"m\", .ssthresh = s, .cong_avoid = a);\n";
    let text = format!(
        "#include \"tcp_cc.h\"\n#include \"my.h\"\n\
         CC_HOOK(u32, s, struct sock *sk) {{ return tcp_reno_ssthresh(sk); }}\n\
         CC_HOOK(void, a, struct sock *sk, u32 ack, u32 acked) {{ tcp_reno_cong_avoid(sk, ack, acked); }}\n{hooks}"
    );
    std::fs::write(&file, &text).unwrap();
    std::fs::write(&header, "").unwrap();
    let loaded = configure(&file);
    std::fs::write(&file, "nonsense").unwrap();
    assert!(ackclock_linux::bpf::object(&loaded).is_ok());
    std::fs::write(&header, "enum { OTHER };").unwrap();
    let error = ackclock_linux::bpf::object(&loaded)
        .unwrap_err()
        .to_string();
    assert!(error.contains("my.h changed in the meantime"), "{error}");

    std::fs::write(
        &file,
        format!("{text}#ifdef __bpf__\nint f(void) {{ return nonsense; }}\n#endif\n"),
    )
    .unwrap();
    let error = ackclock_linux::bpf::object(&configure(&file));
    let error = error.unwrap_err().to_string();
    let place = format!("{}:7:22: use of undeclared identifier", file.display());
    assert!(
        error.contains(&place) && error.lines().count() == 2,
        "{error}"
    );
}
