//! Users' own C files: what loads, and what is said when one does not.

use std::path::Path;

use ackclock_host::{Algorithm, AlgorithmError, CongestionControl, HostConfig};

/// Writes `body` after the include into a file of its own and compiles it.
fn compile(body: &str) -> Result<Algorithm, AlgorithmError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("my_cc.c");
    std::fs::write(&path, format!("#include \"tcp_cc.h\"\n{body}")).unwrap();
    Algorithm::compile(&path)
}

/// What is said about it.
fn refusal(body: &str) -> String {
    compile(body).expect_err("must be refused").to_string()
}

const HOOKS: &str = "
CC_HOOK(u32, my_ssthresh, struct sock *sk) { return max(tcp_sk(sk)->snd_cwnd / 2, 2U); }
CC_HOOK(void, my_cong_avoid, struct sock *sk, u32 ack, u32 acked) { tcp_reno_cong_avoid(sk, ack, acked); }
";
const REGISTER: &str =
    "CC_ALGORITHM(my_cc, \"mine\", .ssthresh = my_ssthresh, .cong_avoid = my_cong_avoid);";

#[test]
fn two_hooks_are_an_algorithm() {
    let algorithm = compile(&format!("{HOOKS}{REGISTER}")).unwrap();
    assert_eq!((algorithm.name(), algorithm.summary()), ("my_cc", "mine"));
    assert!(algorithm.source_path().ends_with("my_cc.c"));
    assert!(algorithm.params().is_empty());
}

#[test]
fn floating_point_is_refused() {
    for body in [
        "u32 f(u32 a) { return a * 0.7; }",
        "double sqrt(double); u32 f(u32 a) { return sqrt(a); }",
        "struct p { double x; }; int h(struct p *p) { return p->x > 0.5; }",
    ] {
        let message = refusal(&format!("{body}{HOOKS}{REGISTER}"));
        assert!(message.contains("floating point"), "{message}");
    }
}

#[test]
fn smoke() {
    let cubic = Algorithm::configure("cubic@ha2008:beta=0.7").unwrap();
    assert_eq!(cubic.spec(), "cubic@ha2008:beta=0.7");
    let mut flow = CongestionControl::new(&cubic, HostConfig::default());
    flow.init();
    let _ = Path::new("");
}
