//! Bad C files: whatever one does, the user reads one clear line.

use crate::common;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Output;

use ackclock_host::{Algorithm, CaState, CongestionControl, HostConfig};
use common::{in_a_process, UserFile};

/// A file whose hooks are `body`, which defines x_ssthresh.
fn file(body: &str) -> UserFile {
    UserFile::new(&format!(
        "#include \"tcp_cc.h\"\n{body}\n\
         CC_ALGORITHM(x, \"x\", .ssthresh = x_ssthresh, .cong_avoid = tcp_reno_cong_avoid);\n"
    ))
}

/// A file whose ssthresh does `what`.
fn hook(what: &str) -> UserFile {
    file(&format!(
        "struct x {{ u32 a[4]; }};\nCC_PRIVATE(struct x);\n\
         CC_HOOK(u32, x_ssthresh, struct sock *sk) {{ u32 cwnd = tcp_sk(sk)->snd_cwnd; {what} return cwnd; }}"
    ))
}

fn refusal(file: &UserFile) -> String {
    file.compile().expect_err("must be refused").to_string()
}

#[test]
fn what_kernel_authors_write_compiles() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernel_style.c");
    let configured = Algorithm::configure(path).unwrap();
    let mut flow = CongestionControl::new(&configured, HostConfig::default());
    flow.init();
    flow.tp_mut().is_cwnd_limited = 1;
    flow.tp_mut().srtt_us = 8 * 100_000;
    flow.tp_mut().snd_nxt = 1448;
    flow.cong_avoid(0, 4);
    assert_eq!((flow.tp().snd_cwnd, flow.ssthresh()), (14, 7));
}

#[test]
fn a_parameter_that_is_no_whole_number_is_refused() {
    for params in [
        "P(beta, 0.5, 0, 1, 1, \"b\")",
        "P(beta, 512, 0.0f, 1024, 1024, \"b\")",
        "P(beta, 1, 0, 1.5, 1, \"b\")",
        "P(beta, 1, 0, 1, 1e3, \"b\")",
        "P(beta, -1, -2, 1, 1, \"b\")",
        "P(beta, 1, 0, 1ULL << 32, 1, \"b\")",
    ] {
        let file = UserFile::new(&format!(
            "#define CC_PARAMS(P) P(good, 1, 0, 2, 1, \"g\") \\\n\t{params}\n#include \"tcp_cc.h\"\n"
        ));
        let message = refusal(&file);
        let path = file.path.display();
        let expected = format!(
            "{path} does not compile:\n{path}:2:2: parameter beta: write default, minimum, maximum and \
             scale as whole numbers from 0 to 2^32 - 1; 0.5 is 512 with a scale of 1024"
        );
        assert_eq!(message, expected, "{params}");
    }
    let computed = "#define CC_PARAMS(P) P(beta, 7 * 1024 / 10, 1, 1 << 10, 1024U, \"b\")\n";
    let text = fs::read_to_string(hook("").path).unwrap();
    UserFile::new(&format!("{computed}{text}"))
        .compile()
        .unwrap();
}

#[test]
fn an_error_stands_at_the_users_line_and_column() {
    for (what, place, words) in [
        (
            "cwnd = max(cwnd, nonsense);",
            "5:101:",
            "'nonsense' undeclared",
        ),
        ("cwnd = min3(cwnd, 1U, tcp_sk);", "5:84:", ""),
        ("tcp_snd_cwnd(sk);", "5:97:", "incompatible pointer type"),
        (
            "no_such_function(1);",
            "5:84:",
            "implicit declaration of function 'no_such_function'",
        ),
        (
            "u32 vla[cwnd]; vla[0] = 1; cwnd = vla[cwnd / 2];",
            "5:84:",
            "variable length array",
        ),
        ("cwnd /= 0;", "5:89:", "division by zero"),
    ] {
        let file = hook(what);
        let message = refusal(&file);
        let path = file.path.display();
        let lines: Vec<_> = message.lines().collect();
        assert_eq!(lines[0], format!("{path} does not compile:"));
        assert!(
            lines[1].starts_with(&format!("{path}:4:")) && lines[1].contains(words),
            "{place} {message}"
        );
        assert!(
            lines.len() <= 4 && !message.contains("ackclock-cc-"),
            "{message}"
        );
    }
    // A file of many errors does not fill the screen.
    let many = hook(&"a = b; c = d;\n".repeat(50));
    assert!(refusal(&many).lines().count() <= 6);
}

#[test]
fn code_that_runs_at_loading_is_refused() {
    for body in [
        "__attribute__((constructor)) static void f(void) { cc_random((struct sock *)8); }",
        "__attribute__((destructor)) static void f(void) { cc_random((struct sock *)8); }",
        "static u32 r(void) { return 1; }\nstatic void *f(void) { return r; }\n\
         u32 g(void) __attribute__((ifunc(\"f\")));\nu32 h(void) { return g(); }",
    ] {
        let message = refusal(&file(&format!(
            "{body}\nCC_HOOK(u32, x_ssthresh, struct sock *sk) {{ return 2; }}"
        )));
        assert!(
            message.contains("has a constructor") && message.lines().count() == 1,
            "{message}"
        );
    }
}

#[test]
fn inline_assembly_is_refused_at_its_line() {
    for (body, line) in [
        ("asm(\".globl f\");", 2),
        (
            "\n\nstatic inline void f(void) { __asm__ volatile(\"syscall\"); }",
            4,
        ),
        ("#define PASTE as ## m\nPASTE(\"nop\");", 3),
    ] {
        let file = file(&format!(
            "{body}\nCC_HOOK(u32, x_ssthresh, struct sock *sk) {{ return 2; }}"
        ));
        let said = format!("{}:{line}: inline assembly", file.path.display());
        let message = refusal(&file);
        assert!(message.starts_with(&said), "{message}");
    }
}

/// gcc drops a constructor that does nothing but follow a null pointer: then no code of it runs.
/// clang keeps it, and then it is refused.
#[test]
fn a_constructor_is_refused_or_was_dropped_by_the_compiler() {
    for kind in [
        "constructor",
        "constructor(101)",
        "destructor",
        "destructor(200)",
    ] {
        let file = file(&format!(
            "__attribute__(({kind})) static void f(void) {{ *(volatile int *)0 = 1; }}\n\
             CC_HOOK(u32, x_ssthresh, struct sock *sk) {{ return 2; }}"
        ));
        match file.compile() {
            Err(error) => assert!(error.to_string().contains("has a constructor"), "{error}"),
            Ok(_) => {
                let (output, said) = run(&file);
                assert!(output.status.success(), "{kind}: {said}");
            }
        }
    }
}

#[test]
fn a_name_of_the_linkers_and_a_file_without_end_give_one_line() {
    let hook = "CC_HOOK(u32, x_ssthresh, struct sock *sk) { return 2; }";
    for (body, words) in [
        (
            "int _init(void);\nint _init(void) { return 0; }",
            "the compiler has a function or a variable `_init` itself; choose another name",
        ),
        (
            "#include \"/dev/zero\"",
            "the compiler needs more memory than 1024 MiB",
        ),
        (
            "static const u8 large[200 << 20] = {1};\nu8 y(u32 x);\nu8 y(u32 x) { return large[x]; }",
            "the compiler writes more than 64 MiB; is a constant as large?",
        ),
    ] {
        let file = file(&format!("{body}\n{hook}"));
        let message = refusal(&file);
        let lines: Vec<_> = message.lines().collect();
        let first = format!("{} does not compile:", file.path.display());
        assert!(
            lines.len() == 2 && lines[0] == first && lines[1].contains(words),
            "{message}"
        );
    }
}

#[test]
fn a_parameter_out_of_its_own_range_is_refused() {
    for (params, words) in [
        (
            "beta, 9, 1, 5, 1",
            "parameter beta: the default 9 is out of range; choose one from the minimum 1 to the maximum 5",
        ),
        (
            "beta, 3, 5, 1, 1",
            "parameter beta: the minimum 5 is above the maximum 1; swap them",
        ),
        ("beta, 3, 1, 5, 0", "parameter beta: the scale is 0; write 1 "),
    ] {
        let text = fs::read_to_string(hook("").path).unwrap();
        let define = format!("#define CC_PARAMS(P) P({params}, \"b\")\n");
        let message = refusal(&UserFile::new(&(define + &text)));
        assert!(message.contains(words), "{message}");
    }
}

/// The moment at which `bad_file` calls the hook.
const MOMENT: &str = " (flow 3 at 1.234567 s, cwnd 100)\n";

/// Runs `bad_file` on this file in a process of its own.
fn run(file: &UserFile) -> (Output, String) {
    let output = in_a_process("attacks::bad_file", &[("BAD", file.path.to_str().unwrap())]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

#[test]
#[ignore = "run by the tests of crashes, with BAD=FILE"]
fn bad_file() {
    let path = std::env::var("BAD").unwrap();
    let configured = Algorithm::configure(&path).unwrap();
    let run = || {
        let host = HostConfig {
            flow: 3,
            ..HostConfig::default()
        };
        let mut flow = CongestionControl::new(&configured, host);
        flow.init();
        flow.tp_mut().snd_cwnd = 100;
        flow.tp_mut().tcp_clock_cache = 1_234_567_891;
        let ssthresh = flow.ssthresh();
        flow.set_state(CaState::Recovery);
        flow.release();
        ssthresh
    };
    // As the workers of a sweep do, whose stacks have no handler's.
    std::thread::scope(|scope| scope.spawn(run).join().unwrap());
    println!("survived");
}

#[test]
fn a_crash_names_file_and_function() {
    for (what, words) in [
        (
            "volatile u32 *p = (void *)0; cwnd = *p;",
            "through a null pointer",
        ),
        ("*(volatile u32 *)0x10 = cwnd;", "through a null pointer"),
        (
            "*(volatile u32 *)0x123456789000 = cwnd;",
            "memory that is not its own",
        ),
        (
            "((volatile u32 *)sk)[1ULL << 40] = 1;",
            "memory that is not its own",
        ),
        ("volatile u32 zero = 0; cwnd /= zero;", "divides by zero"),
        ("__builtin_trap();", "stops itself"),
        (
            "memset((void *)0x1000, 0, 100000);",
            "memory that is not its own",
        ),
    ] {
        // Arm divides by zero without a fault, as BPF does.
        if words == "divides by zero" && !cfg!(target_arch = "x86_64") {
            continue;
        }
        let file = file(&format!(
            "void *memset(void *, int, unsigned long);\n\
             CC_HOOK(u32, x_ssthresh, struct sock *sk) \
             {{ u32 cwnd = tcp_sk(sk)->snd_cwnd; {what} return cwnd; }}"
        ));
        let (output, said) = run(&file);
        let start = format!("error: {}:3, function x_ssthresh: ", file.path.display());
        assert_eq!(output.status.code(), Some(1), "{what}: {said}");
        assert!(
            said.starts_with(&start) && said.contains(words) && said.ends_with(MOMENT),
            "{what}: {said}"
        );
    }
}

#[test]
fn recursion_without_end_is_named() {
    let file = file(
        "static u32 deep(u32 n, volatile u32 *up) { volatile u32 here[64]; here[n % 64] = n + *up; \
         return deep(n + 1, here + n % 64) + here[(n + 1) % 64]; }\n\
         CC_HOOK(u32, x_ssthresh, struct sock *sk) { u32 n = 1; return deep(0, &n); }",
    );
    let (output, said) = run(&file);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains(file.path.to_str().unwrap()) && said.contains("runs out of stack"),
        "{said}"
    );
}

#[test]
fn a_write_beside_the_private_state_or_the_socket_is_named() {
    for (what, words) in [
        (
            "((volatile u32 *)inet_csk_ca(sk))[26] = 1;",
            "writes beyond the 104 bytes of its private state",
        ),
        (
            "((volatile u32 *)sk)[-1] = 1;",
            "writes to memory that is not its own",
        ),
        (
            "for (u32 i = 0; i < 8; i++) ((volatile u64 *)(tcp_sk(sk) + 1))[i] = 1;",
            "writes to memory that is not its own",
        ),
    ] {
        let file = hook(what);
        let (output, said) = run(&file);
        assert_eq!(output.status.code(), Some(1), "{what}: {said}");
        let start = format!(
            "error: {}:4, function x_ssthresh: {words}",
            file.path.display()
        );
        assert!(
            said.starts_with(&start) && said.ends_with(MOMENT),
            "{what}: {said}"
        );
    }
    let (output, said) = run(&hook(
        "inet_csk_ca(sk)->a[3] = 1; ((volatile u32 *)inet_csk_ca(sk))[25] = 1;",
    ));
    assert!(output.status.success(), "{said}");
}

#[test]
fn a_crash_of_other_code_goes_where_it_went_before() {
    let good = hook("");
    let output = in_a_process(
        "attacks::a_crash_of_ours",
        &[("GOOD", good.path.to_str().unwrap())],
    );
    let said = String::from_utf8_lossy(&output.stderr);
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{said}");
    assert!(!said.contains("error: "), "{said}");
}

#[test]
#[ignore = "run by a_crash_of_other_code_goes_where_it_went_before"]
fn a_crash_of_ours() {
    let configured = Algorithm::configure(&std::env::var("GOOD").unwrap()).unwrap();
    CongestionControl::new(&configured, HostConfig::default()).ssthresh();
    // SAFETY: none.
    unsafe {
        std::ptr::null_mut::<u32>()
            .wrapping_add(4)
            .write_volatile(1)
    };
}

#[test]
fn odd_names_work() {
    let directory = tempfile::tempdir().unwrap();
    let text = fs::read(hook("").path).unwrap();
    let odd: [&[u8]; 14] = [
        b"$x.c",
        b"#1.c",
        b"-x.c",
        b"a b.c",
        b"it's.c",
        b"\"q\".c",
        b"@x.c",
        b"x@y.c",
        b"a:b.c",
        b"a:b=c.c",
        b"new\nline.c",
        b"back\\slash.c",
        b"%s.c",
        b"*.c",
    ];
    for name in odd {
        let path = directory.path().join(std::ffi::OsStr::from_bytes(name));
        fs::write(&path, &text).unwrap();
        let spec = path.to_str().unwrap();
        let configured = Algorithm::configure(spec).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(configured.algorithm().name(), "x", "{spec:?}");
        assert_eq!(configured.spec(), spec);
    }
    let path = directory
        .path()
        .join(std::ffi::OsStr::from_bytes(b"\xff.c"));
    fs::write(&path, &text).unwrap();
    assert_eq!(Algorithm::compile(&path).unwrap().name(), "x");
    // With an error inside, and a header beside it in an odd directory.
    let odd = directory.path().join("@ $dir #2\n");
    fs::create_dir(&odd).unwrap();
    let path = odd.join("-y.c");
    fs::write(odd.join("h.h"), "u32 oops(void) { return 1 }\n").unwrap();
    let text = String::from_utf8(text).unwrap() + "#include \"h.h\"\n";
    fs::write(&path, text).unwrap();
    let message = Algorithm::compile(&path).unwrap_err().to_string();
    assert!(
        message.contains("h.h:1:") && message.contains("expected ';'"),
        "{message}"
    );
}

#[test]
fn relative_names_links_line_ends_and_marks_work() {
    let output = in_a_process("attacks::relative_names", &[]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
#[ignore = "run by relative_names_links_line_ends_and_marks_work: it changes directory"]
fn relative_names() {
    let directory = tempfile::tempdir().unwrap();
    std::env::set_current_dir(&directory).unwrap();
    let text = fs::read_to_string(hook("").path).unwrap() + "#include \"own.h\"\n";
    fs::write("own.h", "/* nothing */\n").unwrap();
    fs::write("-plain.c", &text).unwrap();
    fs::write("crlf.c", text.replace('\n', "\r\n")).unwrap();
    fs::write("bom.c", format!("\u{feff}{text}")).unwrap();
    std::os::unix::fs::symlink("-plain.c", "link.c").unwrap();
    fs::write("notes.txt", &text).unwrap();
    let message = Algorithm::configure("notes.txt").unwrap_err().to_string();
    assert_eq!(
        message,
        "notes.txt is not a C source file (expected NAME.c)"
    );
    for name in ["-plain.c", "crlf.c", "bom.c", "link.c"] {
        let configured = Algorithm::configure(name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(configured.algorithm().source_path(), name);
    }
}

#[test]
fn what_is_no_file_of_c_is_refused_in_a_line() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("directory.c")).unwrap();
    fs::write(at("empty.c"), "").unwrap();
    fs::write(at("binary.c"), [0x7f, b'E', b'L', b'F', 0, 0]).unwrap();
    let utf16: Vec<u8> = "\u{feff}int x;"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    fs::write(at("utf16.c"), utf16).unwrap();
    fs::File::create(at("large.c"))
        .unwrap()
        .set_len(100 << 20)
        .unwrap();
    std::os::unix::fs::symlink("nowhere.c", at("dangling.c")).unwrap();
    for (path, words) in [
        (
            at("directory.c"),
            "is a directory; give a C source file, NAME.c",
        ),
        (at("empty.c"), "registers no algorithm"),
        (at("binary.c"), "it contains zero bytes"),
        (at("utf16.c"), "it contains zero bytes"),
        (
            at("large.c"),
            "it has 104857600 bytes; a C file may have 4194304",
        ),
        (
            at("dangling.c"),
            "there is no such file; `ackclock new NAME` writes",
        ),
        ("/dev/stdin".into(), "is not a C source file"),
    ] {
        let message = Algorithm::compile(Path::new(&path))
            .unwrap_err()
            .to_string();
        assert!(
            message.contains(words) && message.lines().count() == 1,
            "{message}"
        );
    }
}
