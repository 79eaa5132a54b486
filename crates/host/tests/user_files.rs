//! Users' own C files: what loads, and what is said when one does not.

use crate::common;

use std::path::Path;
use std::{fs, thread};

use ackclock_host::{Algorithm, CaState, CongestionControl, HostConfig};
use common::UserFile;

const HOOKS: &str = "
CC_HOOK(u32, my_ssthresh, struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd / 2, 2U);
}

CC_HOOK(void, my_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}
";
const REGISTER: &str =
    "CC_ALGORITHM(my_cc, \"mine\", .ssthresh = my_ssthresh, .cong_avoid = my_cong_avoid);\n";

/// A whole file around `body`.
fn file(body: &str) -> UserFile {
    UserFile::new(&format!("#include \"tcp_cc.h\"\n{body}\n{HOOKS}{REGISTER}"))
}

fn refusal(file: &UserFile) -> String {
    file.compile().expect_err("must be refused").to_string()
}

fn flow(algorithm: &Path, settings: &str) -> CongestionControl {
    let configured = Algorithm::configure(&format!("{}{settings}", algorithm.display())).unwrap();
    CongestionControl::new(&configured, HostConfig::default())
}

#[test]
fn two_hooks_are_an_algorithm() {
    let file = file("");
    let algorithm = file.compile().unwrap();
    assert_eq!((algorithm.name(), algorithm.summary()), ("my_cc", "mine"));
    assert_eq!(algorithm.source_path(), file.path.to_str().unwrap());
    assert!(algorithm.params().is_empty() && algorithm.presets().is_empty());
    assert_eq!(algorithm.head(), "");

    let mut flow = flow(&file.path, "");
    assert!(!flow.has_pkts_acked() && !flow.has_in_ack_event() && !flow.has_cong_control());
    flow.init();
    flow.tp_mut().is_cwnd_limited = 1;
    flow.cong_avoid(0, 2);
    assert_eq!((flow.tp().snd_cwnd, flow.ssthresh()), (12, 6));
    flow.tp_mut().prior_cwnd = 20;
    assert_eq!((flow.undo_cwnd(), flow.min_tso_segs()), (20, 2));
    flow.release();
}

#[test]
fn it_may_have_every_hook_parameters_presets_and_state() {
    let file = UserFile::new(
        r#"
#define CC_PARAMS(P) P(step, 3, 1, 9, 1, "what is added") P(share, 512, 0, 1024, 1024, "kept")
#define CC_PRESETS(P) P("bold", "step=9 share=768", "more of it")
#include "tcp_cc.h"

struct everything { u32 calls; u32 last; u64 room[12]; };
CC_PRIVATE(struct everything);

static void note(struct sock *sk, u32 what)
{
	struct everything *ca = inet_csk_ca(sk);

	ca->calls++;
	ca->last = what;
}

CC_HOOK(void, e_init, struct sock *sk) { note(sk, 1); }
CC_HOOK(void, e_release, struct sock *sk) { note(sk, 2); }
CC_HOOK(u32, e_ssthresh, struct sock *sk) { return tcp_sk(sk)->snd_cwnd * cc_param(sk, share) / 1024; }
CC_HOOK(void, e_cong_avoid, struct sock *sk, u32 ack, u32 acked) { tcp_sk(sk)->snd_cwnd += cc_param(sk, step); }
CC_HOOK(void, e_set_state, struct sock *sk, u8 new_state) { note(sk, 100 * tcp_ca_state(sk) + new_state); }
CC_HOOK(void, e_cwnd_event, struct sock *sk, enum tcp_ca_event ev) { note(sk, 1000 + ev); }
CC_HOOK(void, e_in_ack_event, struct sock *sk, u32 flags) { note(sk, 2000 + flags); }
CC_HOOK(void, e_pkts_acked, struct sock *sk, const struct ack_sample *sample) { note(sk, sample->rtt_us + sample->pkts_acked); }
CC_HOOK(u32, e_min_tso_segs, struct sock *sk) { return 7; }
CC_HOOK(void, e_cong_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs) { note(sk, ack + flag + rs->delivered); }
CC_HOOK(u32, e_undo_cwnd, struct sock *sk) { return 77; }

CC_ALGORITHM(everything, "every hook",
	     .init = e_init, .release = e_release, .ssthresh = e_ssthresh,
	     .cong_avoid = e_cong_avoid, .set_state = e_set_state, .cwnd_event = e_cwnd_event,
	     .in_ack_event = e_in_ack_event, .pkts_acked = e_pkts_acked,
	     .min_tso_segs = e_min_tso_segs, .cong_control = e_cong_control,
	     .undo_cwnd = e_undo_cwnd);
"#,
    );
    let mut plain = flow(&file.path, "");
    let mut bold = flow(&file.path, "@bold:step=4");
    plain.cong_avoid(0, 1);
    bold.cong_avoid(0, 1);
    assert_eq!((plain.tp().snd_cwnd, bold.tp().snd_cwnd), (13, 14));
    assert_eq!((plain.ssthresh(), bold.ssthresh()), (6, 10));

    let note = |cc: &CongestionControl| {
        let word = cc.tp().inet_conn.icsk_ca_priv[0];
        (word as u32, (word >> 32) as u32)
    };
    let rs = ackclock_host::RateSample {
        delivered: 5,
        ..Default::default()
    };
    plain.init();
    assert_eq!(note(&plain), (1, 1));
    plain.set_state(CaState::Recovery);
    assert_eq!(note(&plain), (2, 3)); // the hook saw the old state, Open
    plain.set_state(CaState::Open);
    assert_eq!(note(&plain), (3, 300));
    plain.cwnd_event(ackclock_host::CaEvent::Loss);
    assert_eq!(note(&plain), (4, 1003));
    plain.in_ack_event(4);
    assert_eq!(note(&plain), (5, 2004));
    plain.pkts_acked(&ackclock_host::AckSample {
        pkts_acked: 2,
        rtt_us: 100,
        in_flight: 0,
    });
    assert_eq!(note(&plain), (6, 102));
    plain.cong_control(1000, 20, &rs);
    assert_eq!(note(&plain), (7, 1025));
    assert_eq!((plain.undo_cwnd(), plain.min_tso_segs()), (77, 7));
    plain.release();
    assert_eq!(note(&plain), (8, 2));
    assert!(plain.has_pkts_acked() && plain.has_in_ack_event() && plain.has_cong_control());
    assert_eq!(note(&bold), (0, 0)); // flows share nothing
}

#[test]
fn a_copied_socket_keeps_the_flows_own_parameters() {
    let cubic = Algorithm::configure("cubic:initial_ssthresh=50").unwrap();
    let reno = Algorithm::configure("reno").unwrap();
    let mut one = CongestionControl::new(&cubic, HostConfig::default());
    let other = CongestionControl::new(&reno, HostConfig::default());
    *one.tp_mut() = other.tp().clone();
    drop(other);
    one.init();
    assert_eq!(one.tp().snd_ssthresh, 50);
}

#[test]
fn a_macro_without_its_semicolon_is_shown_at_its_line() {
    let private = |end| format!("struct mine {{ u32 a; }};\n\nCC_PRIVATE(struct mine){end}");
    let without = REGISTER.replace(';', "");
    let last = format!("#include \"tcp_cc.h\"\n{HOOKS}{without}");
    for (file, place) in [
        (file(&private("")), "4: write ; after CC_PRIVATE(…)"),
        (UserFile::new(&last), "12: write ; after CC_ALGORITHM(…)"),
    ] {
        let message = refusal(&file);
        let place = format!("{}:{place}", file.path.display());
        assert!(message.ends_with(&place), "{message}");
    }
    file(&private(";")).compile().unwrap();
}

#[test]
fn what_does_not_compile_is_shown_at_the_users_line() {
    let file = file("CC_HOOK(void, broken, struct sock *sk) { tcp_sk(sk)->snd_cwnd = nonsense; }");
    let message = refusal(&file);
    let path = file.path.display();
    assert!(
        message.starts_with(&format!("{path} does not compile:\n")),
        "{message}"
    );
    assert!(
        message.contains(&format!("{path}:2:")) && message.contains("nonsense"),
        "{message}"
    );
}

#[test]
fn fields_that_the_kernel_keeps_to_itself_are_read_only() {
    for field in [
        "snd_una",
        "snd_cwnd_clamp",
        "prior_cwnd",
        "packets_out",
        "srtt_us",
    ] {
        let message = refusal(&file(&format!(
            "CC_HOOK(void, wrong, struct sock *sk) {{ tcp_sk(sk)->{field} = 1; }}"
        )));
        assert!(
            (message.contains("read-only") || message.contains("const-qualified"))
                && message.contains(field),
            "{message}"
        );
    }
}

#[test]
fn a_missing_compiler_is_said_to_be_missing() {
    // In a process of its own, whose environment no other test reads.
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "user_files::without_a_compiler",
            "--ignored",
            "-q",
        ])
        .env("CC", "no-such-cc")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(
        output.stdout.starts_with(b"\nrunning 1 test\n"),
        "{output:?}"
    );
}

#[test]
#[ignore = "run by a_missing_compiler_is_said_to_be_missing, with CC=no-such-cc"]
fn without_a_compiler() {
    let message = refusal(&file(""));
    assert!(
        message.contains("no C compiler") && message.contains("tried no-such-cc"),
        "{message}"
    );
}

#[test]
fn floating_point_is_refused() {
    for body in [
        "u32 f(u32 a) { return a * 0.7; }",
        "double sqrt(double); u32 f(u32 a) { return sqrt(a); }",
        "struct p { double x; }; int h(struct p *p) { return p->x > 0.5; }",
        "u32 f(u32 a) { float x = a; return x * x / 3; }",
    ] {
        let file = file(body);
        let message = refusal(&file);
        let start = format!(
            "{} uses floating point, which the kernel forbids (",
            file.path.display()
        );
        assert!(message.starts_with(&start), "{message}");
        assert!(message.contains("write fixed point, such as"), "{message}");
    }
    // What the compiler computes itself is no floating point.
    file("u32 f(u32 a) { return a * (u32)(0.7 * 1024) / 1024; }")
        .compile()
        .unwrap();
}

#[test]
fn functions_that_the_kernel_does_not_give_are_refused() {
    let message = refusal(&file("int rand(void);\nint f(void) { return rand(); }"));
    assert!(
        message.contains("calls rand, which the kernel does not offer to an algorithm"),
        "{message}"
    );
    // No header of the system is read.
    let with_header = file("#include <stdlib.h>\nint f(void) { return rand(); }");
    let path = with_header.path.display().to_string();
    let expected = format!(
        "{path} uses what no host of ackclock serves: <stdlib.h> ({path}:2), rand ({path}:3); "
    );
    let message = refusal(&with_header);
    assert!(message.starts_with(&expected), "{message}");
}

#[test]
fn variables_that_flows_would_share_are_refused() {
    for body in [
        "u32 counter; u32 f(void) { return counter++; }",
        "static u32 counter = 5; u32 f(void) { return counter++; }",
        "u32 f(void) { static u32 counter; return counter++; }",
        "__thread u32 counter; u32 f(void) { return counter++; }",
    ] {
        let message = refusal(&file(body));
        assert!(
            message.contains("variables outside the socket (") && message.contains("counter"),
            "{message}"
        );
    }
    let constants =
        "static const u32 t[] = { 1, 2 }; static const char *const names[] = { \"a\", \"b\" };
        u32 f(u32 i) { return t[i & 1] + names[i & 1][0]; }";
    file(constants).compile().unwrap();
}

#[test]
fn a_name_is_as_short_as_the_kernel_wants_it() {
    let named = |name| {
        let register = REGISTER.replace("my_cc", name);
        UserFile::new(&format!("#include \"tcp_cc.h\"\n{HOOKS}{register}"))
    };
    assert_eq!(
        named("fifteen_letters").compile().unwrap().name(),
        "fifteen_letters"
    );
    let message = refusal(&named("sixteen_letters_"));
    assert!(
        message.contains("the name of sixteen_letters_ has more than 15 characters"),
        "{message}"
    );
}

#[test]
fn private_state_is_bounded() {
    let message = refusal(&file(
        "struct large { u32 x[27]; };\nCC_PRIVATE(struct large);",
    ));
    let expected = "struct large is larger than the 104 bytes of private state that a socket has";
    assert!(message.contains(expected), "{message}");
    assert!(message.contains("with CC_STORAGE"), "{message}");
    let message = refusal(&file(
        "struct large { u32 x[15001]; };\nCC_STORAGE(struct large);",
    ));
    let expected = "struct large is larger than 60000 bytes";
    assert!(message.contains(expected), "{message}");
    file("struct fits { u32 x[26]; };\nCC_PRIVATE(struct fits);")
        .compile()
        .unwrap();
}

#[test]
fn a_file_must_register_an_algorithm_with_its_hooks() {
    let include = "#include \"tcp_cc.h\"\n";
    let register = |hooks| {
        UserFile::new(&format!(
            "{include}{HOOKS}CC_ALGORITHM(my_cc, \"mine\", {hooks});\n"
        ))
    };
    let unused = "__attribute__((used)) CC_HOOK(void, unused, struct sock *sk) { (void)my_ssthresh; (void)my_cong_avoid; }\n";

    let message = refusal(&UserFile::new(&format!("{include}{HOOKS}{unused}")));
    assert!(
        message.contains("registers no algorithm; end the file with CC_ALGORITHM("),
        "{message}"
    );

    let message = refusal(&register(
        "(void *)0, .cong_avoid = my_cong_avoid, .release = (void *)my_ssthresh",
    ));
    assert!(
        message.contains("has no ssthresh; CC_ALGORITHM must name one, .ssthresh ="),
        "{message}"
    );

    let message = refusal(&register(
        ".ssthresh = my_ssthresh, .release = (void *)my_cong_avoid",
    ));
    assert!(message.contains("has no cong_avoid"), "{message}");
}

/// What files of the kernel have and a host would not serve.
#[test]
fn what_no_host_serves_is_refused_by_name() {
    let both = ".ssthresh = my_ssthresh, .cong_avoid = my_cong_avoid";
    for (member, words) in [
        (
            ".flags = 1 << 4",
            "CC_ALGORITHM does not take .flags with other bits than TCP_CONG_NON_RESTRICTED, \
             _NEEDS_ECN, _NEEDS_ACCECN and _ECT_1_NEGOTIATION: remove them",
        ),
        (
            ".name = \"mine\"",
            "CC_ALGORITHM does not take .name: its first argument is the name; remove it",
        ),
        (".get_info = 0", "get_info"),
    ] {
        let message = refusal(&UserFile::new(&format!(
            "#include \"tcp_cc.h\"\n{HOOKS}CC_ALGORITHM(my_cc, \"mine\", {both}, {member});\n"
        )));
        assert!(message.contains(words), "{message}");
    }
    for field in ["copied_seq", "rcv_wnd"] {
        let file = file(&format!(
            "CC_HOOK(u32, wrong, struct sock *sk) {{ return tcp_sk(sk)->{field}; }}"
        ));
        let message = refusal(&file);
        let list =
            "algorithms/include/tcp_cc_types.h lists the fields and the hooks that a host serves";
        assert!(
            message.contains(field) && message.ends_with(list),
            "{message}"
        );
    }
}

/// Simulations keep what these need only for files that use them.
#[test]
fn built_in_algorithms_use_no_word_that_is_watched() {
    let rare = ["in_flight;", "in_flight)"];
    let contract = ["tcp_cc.h", "tcp_cc_types.h", "layout.c"];
    let headers = ackclock_host::SUPPORT
        .iter()
        .filter(|(name, _)| !contract.iter().any(|ours| name.ends_with(ours)))
        .map(|(_, text)| (*text).to_string());
    let files = Algorithm::all()
        .iter()
        .map(|each| String::from_utf8(each.sources()[0].text.clone()).unwrap());
    let texts: Vec<_> = headers.chain(files).collect();
    assert!(texts.len() > 20);
    for (text, word) in texts.iter().flat_map(|text| rare.map(|word| (text, word))) {
        // Not the end of another word, as prior_in_flight.
        let found = text
            .match_indices(word)
            .find(|(at, _)| !text[..*at].ends_with('_'));
        assert!(found.is_none(), "{word} in {text}");
    }
    let file = file("static inline u32 f(const struct ack_sample *s) { return s->in_flight; }");
    let algorithm = file.compile().unwrap();
    assert!(algorithm.reads_delivery_rate());
    assert!(!Algorithm::find("cubic").unwrap().reads_delivery_rate());
}

#[test]
fn contradictory_declarations_are_refused() {
    for (declaration, part) in [
        (
            "CC_PARAMS(P) P(x, 5, 6, 7, 1, \"\")",
            "parameter x: the default 5 is out of range; choose one from the minimum 6 to the maximum 7",
        ),
        ("CC_PARAMS(P) P(x, 6, 6, 7, 0, \"\")", "parameter x"),
        (
            "CC_PRESETS(P) P(\"p\", \"y=1\", \"\")",
            "preset p: my_cc has no parameter `y`",
        ),
        (
            "CC_PRESETS(P) P(\"p\", \"x=9\", \"\")\n#define CC_PARAMS(P) P(x, 6, 6, 7, 1, \"\")",
            "preset p: my_cc: x = 9 is out of range",
        ),
    ] {
        let file = UserFile::new(&format!(
            "#define {declaration}\n#include \"tcp_cc.h\"\n{HOOKS}{REGISTER}"
        ));
        let message = refusal(&file);
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn a_file_is_compiled_once_and_again_when_it_or_its_header_changes() {
    let file = UserFile::new(&format!(
        "#include \"tcp_cc.h\"\n#include \"mine.h\"\n{HOOKS}{REGISTER}"
    ));
    let header = file.directory.path().join("mine.h");
    fs::write(&header, "enum { N = 1 };\n").unwrap();
    let first = file.compile().unwrap();
    assert!(std::ptr::eq(first.name(), file.compile().unwrap().name()));

    fs::write(&header, "enum { N = 2 };\n").unwrap();
    let second = file.compile().unwrap();
    assert_ne!(first.fingerprint(), second.fingerprint());
    fs::write(&header, "enum { N = 1 };\n").unwrap();
    assert_eq!(first.fingerprint(), file.compile().unwrap().fingerprint());

    fs::remove_file(&header).unwrap();
    assert!(refusal(&file).contains("mine.h"));
    fs::write(&header, "enum { N = 1 };\n").unwrap();

    // The same text elsewhere is the same algorithm to a cache of results.
    let copy = UserFile::new(&fs::read_to_string(&file.path).unwrap());
    fs::copy(&header, copy.directory.path().join("mine.h")).unwrap();
    assert_eq!(first.fingerprint(), copy.compile().unwrap().fingerprint());
}

#[test]
fn threads_may_want_it_at_once() {
    let file = file("/* wanted by many */");
    let names: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| file.compile().unwrap()))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert!(names
        .iter()
        .all(|algorithm| std::ptr::eq(algorithm.name(), names[0].name())));
}

#[test]
fn the_code_outlives_the_file() {
    let file = file("/* short-lived */");
    let mut flow = flow(&file.path, "");
    drop(file);
    let mut flow = thread::spawn(move || {
        flow.init();
        flow
    })
    .join()
    .unwrap();
    assert_eq!(flow.ssthresh(), 5);
}

#[test]
fn a_path_may_have_spaces_and_colons() {
    let directory = tempfile::tempdir().unwrap();
    let odd = directory.path().join("my own: files @home");
    fs::create_dir(&odd).unwrap();
    let path = odd.join("my cc.c");
    fs::copy(&file("").path, &path).unwrap();
    let configured = Algorithm::configure(path.to_str().unwrap()).unwrap();
    assert_eq!(configured.algorithm().name(), "my_cc");
    assert_eq!(configured.spec(), path.to_str().unwrap());
}

#[test]
fn what_is_no_c_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("notes.txt");
    std::fs::write(&text, "no C").unwrap();
    for path in [text.as_path(), std::path::Path::new("/dev/null")] {
        let error = Algorithm::compile(path).unwrap_err().to_string();
        assert!(
            error.ends_with("is not a C source file (expected NAME.c)")
                && error.lines().count() == 1,
            "{error}"
        );
    }
}
