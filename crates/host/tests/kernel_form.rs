//! Files in the Linux kernel's form: parameters, what they register, and what is said of those that
//! cannot run. The kernel's own files are in tests/hosts/test_kernel_files.py.

use crate::common;

use ackclock_host::{Algorithm, AlgorithmError, CongestionControl, HostConfig, RateSample};
use common::{in_a_process, UserFile};

pub(crate) const HEAD: &str = "
#include <linux/module.h>
#include <net/tcp.h>
";
const HOOKS: &str = "
static u32 my_ssthresh(struct sock *sk) { return max(tcp_snd_cwnd(tcp_sk(sk)) / 2, 2U); }
";

/// A file that registers `ops`, which `body` defines.
pub(crate) fn file(body: &str, ops: &str) -> UserFile {
    let register: String = ops
        .split_whitespace()
        .map(|ops| format!("err = err ?: tcp_register_congestion_control(&{ops});\n"))
        .collect();
    UserFile::new(&format!(
        "{HEAD}{HOOKS}{body}
static int __init my_init(void)
{{
	int err = 0;
	{register}	return err;
}}
static void __exit my_exit(void) {{ }}
module_init(my_init);
module_exit(my_exit);
MODULE_LICENSE(\"GPL\");
MODULE_DESCRIPTION(\"My TCP\");
"
    ))
}

/// Ops with these members besides the three that Linux asks for.
pub(crate) fn ops(name: &str, more: &str) -> String {
    format!(
        "static struct tcp_congestion_ops {name} __read_mostly = {{
	.ssthresh = my_ssthresh, .cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd, .owner = THIS_MODULE, .name = \"{name}\", {more}
}};
"
    )
}

pub(crate) fn flow(
    file: &UserFile,
    settings: &str,
    hz: u32,
) -> Result<CongestionControl, AlgorithmError> {
    let configured = Algorithm::configure(&format!("{}{settings}", file.path.display()))?;
    configured.load(hz)?;
    let host = HostConfig {
        hz,
        ..HostConfig::default()
    };
    let mut flow = CongestionControl::new(&configured, host);
    flow.init();
    Ok(flow)
}

pub(crate) fn refusal(file: &UserFile) -> String {
    let error = file.compile().expect_err("must be refused").to_string();
    error.replace(&file.path.display().to_string(), "FILE")
}

/// What module_init computes of the parameters and of HZ is the flow's; two sets of parameters are
/// two copies.
#[test]
fn parameters_and_hz_reach_module_init() {
    let body = "
static int gain __read_mostly = 3;
module_param(gain, int, 0644);
MODULE_PARM_DESC(gain, \"how much more\");
static bool slow;
module_param(slow, bool, 0444);
static unsigned int steps[3] = { 1, 2, 3 };
static int steps_given = 3;
module_param_array(steps, uint, &steps_given, 0644);
static u32 product __ro_after_init;
static const u32 ticks[HZ / 50] = { [HZ / 50 - 1] = HZ };
static u32 my_min_tso(struct sock *sk)
{
	return product * 10000 + steps[1] * 1000 + ticks[ARRAY_SIZE(ticks) - 1];
}
static u32 my_sndbuf(struct sock *sk) { return slow + 2; }
";
    let ops = ops(
        "mine",
        ".min_tso_segs = my_min_tso, .sndbuf_expand = my_sndbuf",
    );
    let mut file = file(&format!("{body}{ops}"), "mine");
    let text = std::fs::read_to_string(&file.path).unwrap();
    let text = text.replace("int err = 0;", "int err = 0;\n\tproduct = gain * 2;");
    std::fs::write(&file.path, text).unwrap();
    file.path = file.path.clone();

    let algorithm = file.compile().unwrap();
    assert_eq!((algorithm.name(), algorithm.summary()), ("mine", "My TCP"));
    let params: Vec<_> = algorithm
        .params()
        .iter()
        .map(|param| (param.name.as_str(), param.default, param.min, param.max))
        .collect();
    assert_eq!(
        params,
        [
            ("gain", 3, i32::MIN as u32, i32::MAX as u32),
            ("slow", 0, 0, 1),
            ("steps[0]", 1, 0, u32::MAX),
            ("steps[1]", 2, 0, u32::MAX),
            ("steps[2]", 3, 0, u32::MAX),
            ("icsk_ca_priv_bytes", 104, 104, 4096),
        ]
    );
    assert_eq!(algorithm.params()[0].doc, "how much more");

    let mut plain = flow(&file, "", 250).unwrap();
    let mut set = flow(&file, ":gain=5,slow=1,steps[1]=7", 1000).unwrap();
    assert_eq!((plain.min_tso_segs(), plain.sndbuf_expand()), (62_250, 2));
    assert_eq!((set.min_tso_segs(), set.sndbuf_expand()), (108_000, 3));
    let mut negative = flow(&file, ":gain=-1", 250).unwrap();
    assert_eq!(
        negative.min_tso_segs(),
        (-20_000_i32 + 2_250).cast_unsigned()
    );
    let spec = format!("{}:gain=-1,slow=1", file.path.display());
    assert_eq!(Algorithm::configure(&spec).unwrap().spec(), spec);
    for (setting, range) in [
        ("gain=-2147483649", "from -2147483648 to 2147483647"),
        ("slow=-1", "from 0 to 1"),
    ] {
        let error = flow(&file, &format!(":{setting}"), 250).unwrap_err();
        assert!(error.to_string().contains(range), "{error}");
    }
}

#[test]
fn several_ops_are_several_algorithms() {
    let second = ops("second", ".flags = TCP_CONG_NEEDS_ECN,");
    let file = file(&format!("{}{second}", ops("first", "")), "first second");
    let names = |spec: &str| {
        let configured = Algorithm::configure(&format!("{}{spec}", file.path.display()));
        let algorithm = configured.unwrap().load(250).unwrap();
        (algorithm.name().to_string(), algorithm.needs_ecn())
    };
    assert_eq!(names(""), ("first".into(), false));
    assert_eq!(names("@second"), ("second".into(), true));
    let unknown = format!("{}@third", file.path.display());
    let error = Algorithm::configure(&unknown).unwrap_err().to_string();
    assert!(error.contains("first, second"), "{error}");
}

/// Linux 6.9 gave cong_control two arguments, later ones give it four.
#[test]
fn both_forms_of_cong_control_run() {
    for (arguments, acked) in [("", "rs->delivered"), ("u32 ack, int flag, ", "ack + flag")] {
        let body = format!(
            "static void my_main(struct sock *sk, {arguments}const struct rate_sample *rs)
			{{ tcp_snd_cwnd_set(tcp_sk(sk), {acked}); }}\n"
        );
        let file = file(
            &format!("{body}{}", ops("mine", ".cong_control = my_main")),
            "mine",
        );
        let mut flow = flow(&file, "", 250).unwrap();
        let sample = RateSample {
            delivered: 42,
            ..RateSample::default()
        };
        flow.cong_control(40, 2, &sample);
        assert_eq!(flow.tp().snd_cwnd, 42);
    }
}

/// 400 bytes of history for each socket, and the clock and random numbers without an argument.
#[test]
fn a_socket_has_memory_time_and_random_numbers() {
    let body = "
struct mine { u32 *history; u32 n; };
static void my_start(struct sock *sk)
{
	struct mine *ca = inet_csk_ca(sk);
	BUILD_BUG_ON(sizeof(*ca) > ICSK_CA_PRIV_SIZE);
	ca->history = kcalloc(100, sizeof(u32), GFP_KERNEL);
	if (kmalloc(1 << 20, GFP_KERNEL) || kcalloc(1 << 30, 1 << 30, GFP_KERNEL))
		ca->n = 1000;
}
static void my_end(struct sock *sk) { kfree(((struct mine *)inet_csk_ca(sk))->history); }
static u32 my_min_tso(struct sock *sk)
{
	struct mine *ca = inet_csk_ca(sk);
	ca->history[ca->n++ % 100] = (u32)jiffies + get_random_u32_below(1);
	return ca->history[0] + ca->history[1] + ca->n;
}
";
    let more = ".init = my_start, .release = my_end, .min_tso_segs = my_min_tso";
    let file = file(&format!("{body}{}", ops("mine", more)), "mine");
    let mut flows = [flow(&file, "", 250).unwrap(), flow(&file, "", 250).unwrap()];
    for (jiffies, flow) in (7..).zip(&mut flows) {
        flow.tp_mut().inet_conn.sk.sk_host.jiffies = jiffies;
    }
    let answers = flows
        .each_mut()
        .map(|flow| [flow.min_tso_segs(), flow.min_tso_segs()]);
    assert_eq!(answers, [[7 + 1, 14 + 2], [8 + 1, 16 + 2]]);
}

#[test]
fn what_only_linux_serves_is_one_sentence() {
    let body = "
#include <linux/netdevice.h>
#include <net/no_such.h>
static void my_event(struct sock *sk, enum tcp_ca_event ev)
{
	struct sk_buff *skb = tcp_write_queue_head(sk);
	tcp_sk(sk)->no_such_member = NO_SUCH_CONSTANT;
	tcp_write_queue_head(sk);
}
";
    let message = refusal(&file(&format!("{body}{}", ops("mine", "")), "mine"));
    let start = "FILE uses what the simulator does not serve: <linux/netdevice.h> (FILE:7), \
                 <net/no_such.h> (FILE:8), tcp_write_queue_head (FILE:11), \
                 no_such_member of struct tcp_sock (FILE:12), NO_SUCH_CONSTANT (FILE:12); ";
    assert!(message.starts_with(start), "{message}");
    let end = "; run, sweep, response, evaluate and conform take it with --on vlinux, which has \
               Linux's own headers; or leave it out of the file, or out with #ifdef";
    assert!(message.ends_with(end), "{message}");
    assert_eq!(message.lines().count(), 1);
    // Linux has no such header either.
    let body = format!("#include <stdlib.h>\n{body}");
    let message = refusal(&file(&format!("{body}{}", ops("mine", "")), "mine"));
    assert!(message.starts_with("FILE uses what no host of ackclock serves: <stdlib.h> (FILE:"));
    assert!(!message.contains("vlinux"), "{message}");
    // A header without a directory lies beside its file; of many names the first are told.
    let many: String = (0..50).map(|n| format!("\tNO_SUCH_{n};\n")).collect();
    let body = format!("#include \"mine.h\"\nstatic void all(void)\n{{\n{many}}}\n");
    let message = refusal(&file(&format!("{body}{}", ops("mine", "")), "mine"));
    assert!(message.contains("serves: \"mine.h\", which is not beside the file (FILE:"));
    assert!(
        message.contains("NO_SUCH_38 (FILE:47) and 11 more; "),
        "{message}"
    );
    // Declared, so that only the linker misses it.
    let body = "extern int tcp_secret(void);
static u32 my_sndbuf(struct sock *sk) { return tcp_secret(); }\n";
    let body = format!("{body}{}", ops("mine", ".sndbuf_expand = my_sndbuf"));
    let message = refusal(&file(&body, "mine"));
    assert!(
        message.contains("does not serve: tcp_secret (FILE:"),
        "{message}"
    );
}

#[test]
fn what_module_init_does_wrong_is_told() {
    let message = refusal(&file(&ops("mine", ".undo_cwnd = NULL"), "mine"));
    assert!(
        message.contains("module_init returns -22 (EINVAL)"),
        "{message}"
    );
    let message = refusal(&file(&ops("mine", ""), ""));
    assert!(
        message.contains("registers no algorithm; its module_init"),
        "{message}"
    );
}

/// As in a kernel, each HZ is a compile of its own.
#[test]
fn a_condition_may_look_at_hz() {
    let body = "
#if HZ >= 500
enum { RATE = 2 };
#elif(CONFIG_HZ == 250)
enum { RATE = 1 };
#else
enum { RATE = HZ };
#endif
static u32 my_min_tso(struct sock *sk) { return RATE; }
";
    let ops = ops("mine", ".min_tso_segs = my_min_tso");
    let file = file(&format!("{body}{ops}"), "mine");
    for (hz, rate) in [(1000, 2), (250, 1), (100, 100)] {
        assert_eq!(flow(&file, "", hz).unwrap().min_tso_segs(), rate);
    }
}

#[test]
fn a_module_init_without_end_is_ended() {
    let endless = "static int endless(void) { volatile int zero = 0; while (!zero) ; return 0; }\n";
    let body = format!("{endless}{}", ops("x", ".init = 0,"));
    let text = std::fs::read_to_string(file(&body, "x").path).unwrap();
    let file = UserFile::new(&text.replace("int err = 0;", "int err = endless();"));
    let message = flow(&file, "", 250)
        .expect_err("must be refused")
        .to_string();
    assert!(
        message.contains("module_init has run for 5 s of CPU time"),
        "{message}"
    );
}

/// Each text is looked at: that for another HZ, and the file whose functions it calls.
#[test]
fn no_text_of_a_file_is_overlooked() {
    let off = "__attribute__((no_sanitize(\"kernel-address\")))";
    let by_hz = format!("#if HZ == 1000\n{off}\n#endif\nvoid my_other(void);\n");
    let hz = file(&(by_hz + &ops("x", "")), "x");
    let message = flow(&hz, "", 1000)
        .expect_err("must be refused")
        .to_string();
    assert!(message.contains(": the attribute no_sanitize"), "{message}");

    let text = ops("x", "").replace("tcp_reno_undo_cwnd", "other");
    let main = file(&format!("#include \"other.h\"\n{text}"), "x");
    let beside = |name: &str, text: &str| {
        std::fs::write(main.path.with_file_name(name), text).unwrap();
    };
    beside("other.h", "u32 other(struct sock *sk);\n");
    beside(
        "other.c",
        &format!(
            "{HEAD}\n#include \"other.h\"\n{off} u32 other(struct sock *sk) {{ return 9; }}\n"
        ),
    );
    let message = flow(&main, "", 250)
        .expect_err("must be refused")
        .to_string();
    assert!(
        message.contains("other.c:6: the attribute no_sanitize"),
        "{message}"
    );
}

#[test]
fn a_write_to_a_variable_is_a_warning() {
    let output = in_a_process("kernel_form::a_write_of_ours", &[]);
    let message = String::from_utf8_lossy(&output.stderr);
    let says =
        "my_cc.c:11, function my_min_tso: writes counter, which all flows and runs share: no \
                harm if nothing but messages reads it";
    let lines: Vec<_> = message.lines().filter(|line| line.contains(says)).collect();
    assert!(
        lines.len() == 1 && lines[0].starts_with("warning: "),
        "{message}"
    );
    assert_eq!(output.status.code(), Some(0), "{message}");
}

#[test]
#[ignore = "it ends its process"]
fn a_write_of_ours() {
    let body = "
static u32 counter;
static u32 my_min_tso(struct sock *sk)
{
	if (tcp_snd_cwnd(tcp_sk(sk)) > 1)
		counter++;
	return counter;
}
";
    let body = format!("{body}{}", ops("mine", ".min_tso_segs = my_min_tso"));
    let file = file(&body, "mine");
    let mut flows = [flow(&file, "", 250).unwrap(), flow(&file, "", 250).unwrap()];
    let answers = [0, 1, 0].map(|each| flows[each].min_tso_segs());
    assert_eq!(answers, [1, 2, 3]);
}

/// What another host is told: hooks by the names of their functions, variables as module_init left them.
#[test]
fn a_program_is_told_of_functions_and_variables() {
    let body = "
static int packets = 3;
module_param(packets, int, 0644);
static u32 window __ro_after_init, other = 5;
static u32 steps[3] = { 1, 2, 3 };
static u32 my_min_tso(struct sock *sk)
{
	static u32 own = 4;
	return window + other + steps[1] + own;
}
";
    let ops = ops(
        "mine",
        ".min_tso_segs = my_min_tso, .flags = TCP_CONG_NON_RESTRICTED",
    );
    let file = file(&format!("{body}{ops}"), "mine");
    let text = std::fs::read_to_string(&file.path).unwrap();
    let computes = "int err = 0;\n\twindow = packets * 7; other = 1; steps[1] = HZ;";
    std::fs::write(&file.path, text.replace("int err = 0;", computes)).unwrap();
    let spec = format!("{}:packets=6", file.path.display());
    let configured = Algorithm::configure(&spec).unwrap();
    let program = configured.kernel_program(100).unwrap().unwrap();
    assert!(!program.has_two_arguments && program.flags == 1);
    let mut hooks: Vec<_> = program
        .hooks
        .iter()
        .map(|(hook, function)| format!("{hook}={function}"))
        .collect();
    hooks.sort();
    assert_eq!(
        hooks,
        [
            "cong_avoid=tcp_reno_cong_avoid",
            "min_tso_segs=my_min_tso",
            "ssthresh=my_ssthresh",
            "undo_cwnd=tcp_reno_undo_cwnd",
        ]
    );
    let value = |name: &str| {
        let bytes = program.variables.get(name)?.chunks(4);
        let words = bytes.map(|word| u32::from_le_bytes(word.try_into().unwrap()));
        Some(words.collect::<Vec<_>>())
    };
    assert_eq!(value("window"), Some(vec![42]));
    assert_eq!(value("other"), Some(vec![1]));
    assert_eq!(value("steps"), Some(vec![1, 100, 3]));
    assert_eq!(value("own"), None);
    let reno = Algorithm::configure("reno").unwrap();
    assert!(reno.kernel_program(100).unwrap().is_none());
}
