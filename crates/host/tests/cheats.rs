//! Files that want more than is theirs: each is refused, or ends its process with one line.

use crate::common;

use std::fs;

use ackclock_host::{Algorithm, CaState, CongestionControl, HostConfig, RateSample};
use common::{in_a_process, UserFile};

/// A file whose cong_avoid does `what`; `before` stands before the hooks.
pub(crate) fn file(before: &str, what: &str) -> UserFile {
    UserFile::new(&format!(
        "#include \"tcp_cc.h\"\nstruct x {{ u32 a[4]; }};\nCC_PRIVATE(struct x);\n{before}\n\
         CC_HOOK(void, x_avoid, struct sock *sk, u32 ack, u32 acked) {{\n\
         struct tcp_sock *tp = tcp_sk(sk); struct x *ca = inet_csk_ca(sk); {what} }}\n\
         CC_ALGORITHM(x, \"x\", .ssthresh = tcp_reno_ssthresh, .cong_avoid = x_avoid);\n"
    ))
}

/// What is said of it when it runs.
pub(crate) fn said(file: &UserFile, more: &[(&str, &str)]) -> (bool, String) {
    let path = file.path.to_str().unwrap();
    let output = in_a_process("cheats::two_flows", &[&[("BAD", path)], more].concat());
    let said = String::from_utf8_lossy(&output.stderr).replace(path, "FILE");
    (output.status.success(), said)
}

#[test]
#[ignore = "run by the tests of cheats, with BAD=FILE"]
fn two_flows() {
    let configured = Algorithm::configure(&std::env::var("BAD").unwrap()).unwrap();
    let [mut flow, rival] = [0, 1].map(|_| {
        let mut flow = CongestionControl::new(&configured, HostConfig::default());
        flow.init();
        flow.tp_mut().snd_cwnd = 100;
        flow
    });
    for _ in 0..3 {
        flow.cong_avoid(0, 1);
        flow.cong_control(0, 0, &RateSample::default());
    }
    flow.ssthresh();
    flow.set_state(CaState::Recovery);
    assert_eq!(rival.tp().snd_cwnd, 100, "the rival's window");
    println!("survived");
}

const SCAN: &str = "for (u64 *at = (u64 *)(tp + 1); at < (u64 *)(tp + 64); at++)\n\
    if (((struct tcp_sock *)at)->mss_cache == 1448) ((struct tcp_sock *)at)->snd_cwnd = 2;";

/// What a file does, and what is said of it.
const CHEATS: [(&str, &str); 26] = [
    (SCAN, "reads memory that is not its own"),
    ("((u8 *)inet_csk_ca(sk))[8192] = 0;", "writes to memory that is not its own"),
    ("*(volatile u32 *)&tp->delivered += 1000;", "writes delivered of its socket, which only the host may write"),
    ("*(volatile u32 *)&tp->packets_out = 0;", "writes packets_out of its socket"),
    ("*(volatile u64 *)&tp->tcp_mstamp = 0;", "writes tcp_mstamp of its socket"),
    ("*(volatile u32 *)&tp->srtt_us = 8;", "writes srtt_us of its socket"),
    ("*(volatile u8 *)&inet_csk(sk)->icsk_ca_state = 0;", "writes icsk_ca_state of its socket"),
    ("*(volatile u8 *)&tp->is_cwnd_limited = 1;", "writes is_cwnd_limited of its socket"),
    ("*(volatile u32 *)&sk->sk_host.jiffies = 0;", "writes to its socket where only the host may"),
    ("ca->a[27] = 1;", "writes beyond the 104 bytes of its private state"),
    ("((volatile u64 *)sk)[-1] = 1;", "writes to memory that is not its own"),
    ("tp->snd_cwnd = *(volatile u32 *)((u8 *)sk - 4096);", "reads memory that is not its own"),
    ("volatile u64 *up = (u64 *)&up; for (u32 i = 0; i < 4096; i++) ack += up[i]; tp->snd_cwnd = ack;", "reads memory that is not its own"),
    ("volatile u64 *up = (u64 *)&up; for (u32 i = 0; i < 4096; i++) up[i] = 0;", "writes"),
    ("tcp_slow_start((struct tcp_sock *)((u8 *)tp + 65536), 1000);", "gives a helper a socket that is not its own"),
    ("tcp_cong_avoid_ai((struct tcp_sock *)((u8 *)tp - 65536), 1, 1000);", "gives a helper a socket that is not its own"),
    ("__builtin_memset((u8 *)tp + ack + 4096, 0, 64 + ack);", "writes to memory that is not its own"),
    ("__builtin_memcpy(ca, (u8 *)tp + 8192, 64 + ack);", "reads memory that is not its own"),
    ("*(volatile u32 *)x_avoid = 0xc3;", "memory that is not its own"),
    ("static const u32 table[4] = {1, 2, 3, 4}; ((volatile u32 *)table)[ack & 3] = 9;", "memory that is not its own"),
    ("tp->snd_cwnd = acked / ack;", "divides by zero"),
    ("u32 zero = acked - acked; tp->snd_cwnd = 20 + 5 / zero;", "divides by zero"),
    ("volatile s32 low = -2147483647 - 1, by = -1; tp->snd_cwnd = low / by;", "divides by zero, which the kernel's BPF makes 0, or the least integer by -1"),
    ("sk->sk_host.params = (void *)0x1000;", "writes to its socket where only the host may"),
    ("tp->snd_cwnd = *(volatile u32 *)(u64)ack;", "reads through a null pointer"),
    ("u32 here[4]; for (u32 i = 0; i < 8 + acked; i++) ((volatile u32 *)here)[i] = i; tp->snd_cwnd = here[ack & 3];", "writes"),
];

#[test]
fn a_file_touches_its_own_state_and_nothing_else() {
    let clang = std::process::Command::new("clang")
        .arg("--version")
        .output();
    let has_clang = clang.is_ok();
    for (what, words) in CHEATS {
        // Arm computes what x86 refuses.
        if words.contains("least integer") && !cfg!(target_arch = "x86_64") {
            continue;
        }
        // gcc alone checks stores (docs/security.md).
        if words.starts_with("reads") && !has_clang {
            println!("skipped, for want of clang: {what}");
            continue;
        }
        // gcc computes this one before it runs, and sees that it has no result.
        let folds = !has_clang && what.contains("/ zero");
        let words = if folds { "stops itself" } else { words };
        let (survived, said) = said(&file("", what), &[]);
        assert!(!survived, "{what}: survived");
        assert!(
            said.starts_with("error: FILE") && said.contains(words) && said.lines().count() == 1,
            "{what}: {said}"
        );
        assert!(said.contains(", function "), "{what}: {said}");
        // An array on the stack is looked at where its function ends.
        let has_line = said.starts_with("error: FILE:");
        assert!(
            has_line || said.contains("an array on its stack"),
            "{what}: {said}"
        );
    }
}

/// A file in the kernel's form may choose other ops of its own, as DCTCP does, in init.
#[test]
fn ops_are_those_of_the_file() {
    let nowhere = "inet_csk(sk)->icsk_ca_ops = (void *)0x1000;";
    let other = "inet_csk(sk)->icsk_ca_ops = &other;";
    for (init, avoid, words) in [
        (other, "", ""),
        (
            nowhere,
            "",
            "writes icsk_ca_ops of its socket with what is no ops of the file",
        ),
        (
            "",
            other,
            "writes icsk_ca_ops of its socket, which only init may write",
        ),
    ] {
        let file = UserFile::new(&format!(
            "#include <linux/module.h>\n#include <net/tcp.h>\n\
             #define OPS .ssthresh = tcp_reno_ssthresh, .undo_cwnd = tcp_reno_undo_cwnd\n\
             static struct tcp_congestion_ops other = {{ OPS, .cong_avoid = tcp_reno_cong_avoid }};\n\
             static void avoid(struct sock *sk, u32 ack, u32 acked) {{ {avoid} }}\n\
             static void at_first(struct sock *sk) {{ {init} }}\n\
             static struct tcp_congestion_ops x = {{ OPS, .cong_avoid = avoid, .init = at_first, \
             .name = \"x\" }};\n\
             static int begin(void) {{ return tcp_register_congestion_control(&x); }}\n\
             module_init(begin);\n"
        ));
        let (survived, said) = said(&file, &[]);
        assert_eq!(survived, words.is_empty(), "{init}{avoid}: {said}");
        let line = if init.is_empty() {
            "5, function avoid"
        } else {
            "6, function at_first"
        };
        let start = format!("error: FILE:{line}: {words}");
        assert!(survived || said.starts_with(&start), "{said}");
    }
}

#[test]
fn a_trusted_file_is_not_checked() {
    let write = "*(volatile u32 *)&tp->delivered += 1000;";
    let (survived, said) = said(&file("", write), &[("ACKCLOCK_TRUST", "1")]);
    assert!(survived, "{said}");
}

/// What a hook needs is allowed: its socket, its sample, its parameters, arrays on its stack, constants.
#[test]
fn what_is_its_own_is_allowed() {
    let before = "static const u32 table[4] = {1, 2, 3, 4};\n\
        static u32 sum(const u32 *of, u32 n) { u32 all = 0; for (u32 i = 0; i < n && i < 8; i++) all += of[i]; return all; }\n\
        CC_HOOK(void, x_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs) {\n\
        tcp_sk(sk)->app_limited = rs->delivered + rs->tx_in_flight + (u32)rs->lost; }";
    let what = "u32 here[8] = {1, 2, ack}; struct x copy = *ca; copy.a[ack & 3] += table[acked & 3];\n\
        *ca = copy; tp->snd_cwnd = sum(here, 3) + sum(ca->a, 4) + 100; tp->snd_ssthresh = 50;\n\
        sk->sk_pacing_rate = 1000; tp->snd_cwnd_cnt += tcp_slow_start(tp, acked);\n\
        tcp_cong_avoid_ai(tp, 10, 1); ca->a[3] ^= cc_random(sk); tcp_reno_cong_avoid(sk, ack, acked);";
    let (survived, said) = said(&file(before, what), &[]);
    assert!(survived, "{said}");
}

/// What no check could see, or would run at another time, is refused before it runs.
#[test]
fn what_no_check_sees_is_refused() {
    let hidden = "__asm__(\"nop\");";
    for (before, what, words) in [
        (
            "",
            "u32 (*volatile f)(u32) = (void *)(u64)ack; tp->snd_cwnd = f(1);",
            "calls a function through a pointer",
        ),
        (
            "",
            "((void (*)(void))((u8 *)x_avoid + 13))();",
            "calls a function through a pointer",
        ),
        (
            "__attribute__((no_sanitize(\"kernel-address\"))) static void f(u32 *x) { *x = 0; }",
            "f((u32 *)tp + ack);",
            "the attribute no_sanitize",
        ),
        (
            "#pragma GCC optimize (\"-fno-sanitize=kernel-address\")",
            "",
            "#pragma GCC optimize",
        ),
        (
            "__attribute__((section(\".text\"))) static const u8 code[] = {0xc3};",
            "ca->a[0] = code[ack & 1];",
            "the attribute section",
        ),
        (
            "static void f(void) { cc_random((struct sock *)8); }\n\
             __attribute__((section(\".init_array\"), used)) static void (*const g)(void) = f;",
            "",
            "the attribute section",
        ),
        ("[[gnu::no_sanitize_address]] void f(void);", "", "[["),
        (
            "",
            "tp->snd_cwnd = (u32)__builtin_ia32_rdtsc();",
            "__builtin_ia32_rdtsc",
        ),
        ("# 1 \"file.c\" 3", hidden, "inline assembly"),
        ("#pragma GCC system_header", hidden, "inline assembly"),
        (
            "static const char *text = R\"x(\" )x\"; void f(void) { __asm__(\"nop\"); }",
            "",
            "a raw string",
        ),
        (
            "",
            "tp->snd_cwnd = (u64)__builtin_frame_address(0);",
            "__builtin_frame_address",
        ),
        (
            "",
            "__builtin_longjmp((void **)ca, 1);",
            "__builtin_longjmp",
        ),
        ("int system(const char *);", "system(\"true\");", "system"),
        (
            "int _init(void); int _init(void) { return 0; }",
            "",
            "`_init`",
        ),
        (
            "int __gmon_start__(void); int __gmon_start__(void) { return 0; }",
            "",
            "`__gmon_start__`",
        ),
        (
            "void __cxa_finalize(void *); void __cxa_finalize(void *x) {}",
            "",
            "`__cxa_finalize`",
        ),
        (
            "void __asan_load8_noabort(u64 x); void __asan_load8_noabort(u64 x) {}",
            "",
            "__asan_load8_noabort",
        ),
        (
            "static __attribute__((noinline)) void __asan_f(u32 *x) { *x = 0; }",
            "__asan_f((u32 *)tp + 4096);",
            "__asan_f",
        ),
        ("", "*(u32 __seg_fs *)8 = 1;", "__seg_fs"),
        (
            "extern u64 __stack_chk_fail[1 << 28];",
            "__stack_chk_fail[99999] = 1;",
            "__stack_chk_fail",
        ),
        (
            "# 1 \"file.c\" 3\n#pragma GCC diagnostic ignored \"-Wvla\"",
            "u8 here[-4096ull * ack]; here[acked] = 1; tp->snd_cwnd = here[0];",
            "variable length array",
        ),
        (
            "#pragma clang diagnostic ignored \"-Wframe-larger-than\"",
            "u8 here[1 << 20]; here[acked] = 1; tp->snd_cwnd = here[ack];",
            "is larger than 8192 bytes",
        ),
        (
            "# 1 \"file.c\" 3",
            "tp->snd_cwnd = __TIME__[7];",
            "'__TIME__' undeclared",
        ),
        (
            "",
            "tp->snd_cwnd = __BASE_FILE__[18];",
            "'__BASE_FILE__' undeclared",
        ),
        (
            "#include \"/etc/passwd\"",
            "",
            ":4: a file outside its directory (/etc/passwd)",
        ),
        ("char __start_cc_ours[8] = {1};", "", "`__start_cc_ours`"),
        ("static u32 shared; ", "shared++;", "shared"),
        ("static __thread u32 own; ", "own++;", "own"),
        (
            "extern const char big[3000000000u]; const char big[3000000000u] = {1};",
            "",
            "does not compile",
        ),
    ] {
        let message = file(before, what).compile();
        let message = message.expect_err("must be refused").to_string();
        assert!(message.contains(words), "{before} {what}: {message}");
        assert!(message.lines().count() <= 4, "{message}");
    }
}

/// A macro of the user that stands in a header of ours.
#[test]
fn a_header_of_ours_hides_nothing() {
    let hook = fs::read_to_string(file("", "poke(sk);").path).unwrap();
    let hook = hook.split_once('\n').unwrap().1.to_string();
    for (hidden, words) in [
        (
            "static void poke(struct sock *sk) __attribute__((no_sanitize(\"kernel-address\")));",
            ":4: the attribute no_sanitize",
        ),
        ("__asm__(\".text\");", ":4: inline assembly"),
    ] {
        let text = format!(
            "#define OF_CC_PARAM_MEMBER\n#define OF_CC_PARAM_CHECK struct sock; {hidden}\n\
             #define CC_PARAMS(P) OF_##P\n#include \"tcp_cc.h\"\n#undef CC_PARAMS\n\
             #define CC_PARAMS(P)\nstatic void poke(struct sock *sk) {{}}\n{hook}"
        );
        let message = UserFile::new(&text).compile().expect_err("must be refused");
        assert!(message.to_string().contains(words), "{message}");
    }
}

/// By way of the directory of our headers, whose name changes.
#[test]
fn a_file_elsewhere_is_refused_with_its_place() {
    let other = UserFile::new("__attribute__((no_sanitize(\"kernel-address\"))) void f(void);\n");
    let path = other.path.display();
    for name in [format!("\"{path}\""), format!("<../../../../../..{path}>")] {
        let file = file(&format!("#include {name}"), "");
        let message = file.compile().expect_err("must be refused").to_string();
        assert!(
            message.contains(":4: a file outside its directory (/") && message.lines().count() == 1,
            "{message}"
        );
    }
}

/// A function whose end cannot be reached would go on in the next one.
#[test]
fn code_that_cannot_be_reached_ends_the_run() {
    let before = "static __attribute__((noinline)) void f(volatile u32 *x) { *x = 1; __builtin_unreachable(); }";
    let (survived, said) = said(&file(before, "u32 x; f(&x); tp->snd_cwnd = x;"), &[]);
    assert!(
        !survived && said.contains("function f: stops itself"),
        "{said}"
    );
}

/// A hook that begins behind a check.
#[test]
fn a_hook_is_a_function() {
    let text =
        "CC_HOOK(void, x_avoid, struct sock *sk, u32 ack, u32 acked) { tcp_sk(sk)->snd_cwnd = 9; }";
    for hook in [
        "(void *)((u8 *)x_avoid + 13)",
        "(void *)0x1234",
        "(void *)table",
    ] {
        let file = UserFile::new(&format!(
            "#include \"tcp_cc.h\"\nstatic const u64 table[4] = {{1}};\n{text}\n\
             CC_ALGORITHM(x, \"x\", .ssthresh = tcp_reno_ssthresh, .cong_avoid = {hook});\n"
        ));
        let message = file.compile().expect_err("must be refused").to_string();
        assert!(
            message.contains("a hook is not the beginning of a function"),
            "{hook}: {message}"
        );
    }
}

/// Something else of that name than CC_ALGORITHM defines.
#[test]
fn a_forged_module_is_no_algorithm() {
    for forged in [
        "__attribute__((visibility(\"default\"))) const u64 cc_module[40] = {1, 2, 3, 4, 5, 6, 7};",
        "__attribute__((visibility(\"default\"))) const u8 cc_module = 7;",
    ] {
        let file = UserFile::new(&format!("#include \"tcp_cc.h\"\n{forged}\n"));
        let message = file.compile().expect_err("must be refused").to_string();
        assert!(message.contains("CC_ALGORITHM"), "{message}");
    }
}

/// A variable without a value is refused where a compiler sees it, and else 0: the run repeats.
#[test]
fn a_variable_without_a_value_is_refused_or_zero() {
    let seen = "static u32 unset(u32 x) { u32 y; if (x > 5) y = x; return y; }";
    let message = file(seen, "tp->snd_cwnd = 20 + unset(acked);").compile();
    let message = message.expect_err("must be refused").to_string();
    assert!(message.contains("uninitialized"), "{message}");

    let unseen = "static __attribute__((noinline)) void set(u32 *y, u32 x) { if (x > 5) *y = x; }";
    let file = file(unseen, "u32 y; set(&y, acked); tp->snd_cwnd = 20 + y;");
    let configured = Algorithm::configure(file.path.to_str().unwrap()).unwrap();
    let mut flow = CongestionControl::new(&configured, HostConfig::default());
    flow.init();
    flow.cong_avoid(0, 1);
    assert_eq!(flow.tp().snd_cwnd, 20);
}
