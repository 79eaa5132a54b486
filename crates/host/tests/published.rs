//! What published modules and BPF files use besides what the kernel's own files do, one kind a test. The
//! files themselves are in docs/published-modules.md.

use crate::common::UserFile;
use crate::kernel_form::{file, flow, ops, refusal};

use ackclock_host::RateSample;

/// In Linux, too, a file may define what the kernel exports.
#[test]
fn its_own_functions_are_its_own() {
    let body = "
u32 tcp_reno_ssthresh(struct sock *sk) { return 7; }
static u32 tcp_slow_start(struct tcp_sock *tp, u32 acked) { tp->snd_cwnd += 100; return acked; }
static void my_avoid(struct sock *sk, u32 ack, u32 acked) { tcp_slow_start(tcp_sk(sk), acked); }
";
    let more = ".cong_avoid = my_avoid, .ssthresh = tcp_reno_ssthresh";
    let mut flow = flow(
        &file(&format!("{body}{}", ops("mine", more)), "mine"),
        "",
        250,
    )
    .unwrap();
    flow.cong_avoid(1, 1);
    assert_eq!((flow.ssthresh(), flow.tp().snd_cwnd), (7, 110));
}

/// 184 bytes for each socket, as SEARCH has, where Linux has 104.
#[test]
fn a_private_area_is_as_large_as_its_author_says() {
    let body = "
struct mine { u64 bins[22]; u32 n; u32 last; };
static void my_start(struct sock *sk)
{
	struct mine *ca = inet_csk_ca(sk);
	BUILD_BUG_ON(sizeof(*ca) > ICSK_CA_PRIV_SIZE);
	ca->last += 40 + ICSK_CA_PRIV_SIZE;
}
static u32 my_min_tso(struct sock *sk)
{
	struct mine *ca = inet_csk_ca(sk);
	return ca->last += ++ca->bins[21];
}
";
    let more = ".init = my_start, .min_tso_segs = my_min_tso";
    let file = file(&format!("{body}{}", ops("mine", more)), "mine");
    let message = flow(&file, "", 250).expect_err("104 bytes").to_string();
    let says = "keeps more than the 104 bytes of icsk_ca_priv that Linux has for each socket";
    assert!(
        message.contains(says) && message.contains(":icsk_ca_priv_bytes=256"),
        "{message}"
    );
    let new = || flow(&file, ":icsk_ca_priv_bytes=184", 250).unwrap();
    let mut flows = [new(), new()];
    let answers = flows
        .each_mut()
        .map(|flow| [flow.min_tso_segs(), flow.min_tso_segs()]);
    assert_eq!(answers, [[225, 227]; 2]);
}

/// A rate that an application sets with setsockopt, here by the scenario.
#[test]
fn an_option_of_sockets_is_set() {
    let body = "
#include <linux/sockptr.h>
struct mine { u64 rate; u32 gain; } __packed;
static struct proto tcp_prot_override __ro_after_init;
static int my_setsockopt(struct sock *sk, int level, int name, sockptr_t value, unsigned int len)
{
	struct mine mine;
	if (level != IPPROTO_TCP || name != 23301)
		return tcp_prot.setsockopt(sk, level, name, value, len);
	if (len < sizeof(mine))
		return -EINVAL;
	if (copy_from_sockptr(&mine, value, sizeof(mine)))
		return -EFAULT;
	if (mine.gain > 80)
		return -EINVAL;
	*(struct mine *)inet_csk_ca(sk) = mine;
	return 0;
}
static void my_start(struct sock *sk)
{
	BUG_ON(sk->sk_family != AF_INET);
	sk->sk_prot = &tcp_prot_override;
}
static u32 my_min_tso(struct sock *sk)
{
	struct mine *ca = inet_csk_ca(sk);
	return ca->rate / 1000 + ca->gain;
}
";
    let more = ".init = my_start, .min_tso_segs = my_min_tso";
    let file = file(&format!("{body}{}", ops("mine", more)), "mine");
    let text = std::fs::read_to_string(&file.path).unwrap();
    let sets = "int err = 0;\n\ttcp_prot_override = tcp_prot;\n\ttcp_prot_override.setsockopt = my_setsockopt;";
    std::fs::write(&file.path, text.replace("int err = 0;", sets)).unwrap();
    let flow_with = |settings: &str| flow(&file, settings, 250).map(|mut flow| flow.min_tso_segs());
    assert_eq!(flow_with("").unwrap(), 0);
    let value = ":sockopt=23301,sockopt_value[0]=2500000,sockopt_value[2]";
    assert_eq!(flow_with(&format!("{value}=15")).unwrap(), 2515);
    for (settings, error) in [
        (format!("{value}=81"), "-22 (EINVAL)"),
        (":sockopt=1".into(), "-92 (ENOPROTOOPT)"),
    ] {
        let message = flow_with(&settings).unwrap_err().to_string();
        assert!(message.contains(error), "{message}");
    }
}

/// The header that a make writes after it has tried the kernel, and bursts of other kernels.
#[test]
fn other_kernels_names_for_bursts() {
    let body = "
#include \"kernel_config.h\"
#ifdef TCP_CONGESTION_OPS_CONG_CONTROL_HAS_4_ARGS
static void my_main(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs) { }
#endif
static u32 goal(struct sock *sk) { return tcp_sk(sk)->app_limited; }
static u32 segs(struct sock *sk, u32 mss_now)
{
	return mss_now + sock_net(sk)->ipv4.sysctl_tcp_min_tso_segs;
}
";
    let two = ops("old", ".tso_segs_goal = goal, .cong_control = my_main")
        + &ops("new", ".tso_segs = segs");
    let file = file(&format!("{body}{two}"), "old new");
    let mut old = flow(&file, "", 250).unwrap();
    assert_eq!(old.min_tso_segs(), 2, "before the first ACK it says 0");
    old.tp_mut().app_limited = 9;
    assert_eq!(old.min_tso_segs(), 9);
    assert_eq!(flow(&file, "@new", 250).unwrap().min_tso_segs(), 1450);
    old.cong_control(1, 0, &RateSample::default());
}

/// The first packet that was not sent, and the end of the receiver's window.
#[test]
fn the_head_of_the_write_queue() {
    let body = "
static u32 my_min_tso(struct sock *sk)
{
	struct sk_buff *skb = tcp_send_head(sk);
	if (!skb)
		return 1;
	return after(TCP_SKB_CB(skb)->end_seq, tcp_wnd_end(tcp_sk(sk))) ? 2 : skb->len + TCP_SKB_CB(skb)->seq;
}
";
    let ops = ops("mine", ".min_tso_segs = my_min_tso");
    let mut flow = flow(&file(&format!("{body}{ops}"), "mine"), "", 250).unwrap();
    let mut says = |snd_nxt: u32, write_seq: u32, snd_wnd: u32| {
        let tp = flow.tp_mut();
        (tp.snd_nxt, tp.write_seq, tp.snd_wnd) = (snd_nxt, write_seq, snd_wnd);
        flow.min_tso_segs()
    };
    assert_eq!(says(5000, 5000, 65535), 1);
    assert_eq!(says(5000, 6000, 65535), 6000);
    assert_eq!(says(5000, 6000, 5999), 2);
    // 45 segments are a packet.
    assert_eq!(says(5000, 900_000, 100_000), 5000 + 45 * 1448);
}

/// A BPF file of one's own words: programs, a map, the kernel's HZ, and what such files define.
#[test]
fn a_struct_ops_file_runs() {
    let text = "
#include \"vmlinux.h\"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
char _license[] SEC(\"license\") = \"GPL\";
extern unsigned long CONFIG_HZ __kconfig;
extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;
#define min(a, b) ((a) < (b) ? (a) : (b))
static bool before(__u32 a, __u32 b) { return (__s32)(a - b) < 0; }
static __u64 div64_u64(__u64 a, __u64 b) { return a / b; }
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, int);
} kept SEC(\".maps\");
SEC(\"struct_ops\")
void BPF_PROG(my_start, struct sock *sk)
{
	int *value = bpf_sk_storage_get(&kept, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (value && !bpf_sk_storage_get(&kept, sk, NULL, 0))
		*value = 1000;
	if (value)
		*value += min(CONFIG_HZ, 1000) + before(1, 2) + div64_u64(9, 3);
}
SEC(\"struct_ops\")
__u32 BPF_PROG(my_ssthresh, struct sock *sk)
{
	int *value = bpf_sk_storage_get(&kept, sk, NULL, 0);
	return value ? *value : 0;
}
SEC(\"struct_ops\")
void BPF_PROG(my_avoid, struct sock *sk, __u32 ack, __u32 acked) { tcp_slow_start((void *)sk, acked); }
SEC(\"struct_ops\")
void BPF_PROG(my_main, struct sock *sk, const struct rate_sample *rs)
{
	((struct tcp_sock *)sk)->snd_cwnd = rs->acked_sacked + BPF_CORE_READ(rs, losses);
}
SEC(\"struct_ops\")
__u32 BPF_PROG(my_undo, struct sock *sk) { return 10; }
SEC(\".struct_ops\")
struct tcp_congestion_ops part = { .init = (void *)my_start, .name = \"part\" };
SEC(\".struct_ops.link\")
struct tcp_congestion_ops first = {
	.init = (void *)my_start, .ssthresh = (void *)my_ssthresh, .undo_cwnd = (void *)my_undo,
	.cong_avoid = (void *)my_avoid, .name = \"bpf_first\",
};
SEC(\".struct_ops.link\")
struct tcp_congestion_ops second = {
	.ssthresh = (void *)my_ssthresh, .undo_cwnd = (void *)my_undo,
	.cong_control = (void *)my_main, .name = \"bpf_second\",
};
";
    let file = UserFile::new(text);
    let mut first = flow(&file, "", 1000).unwrap();
    first.cong_avoid(1, 3);
    assert_eq!((first.ssthresh(), first.tp().snd_cwnd), (1004, 13));
    let mut second = flow(&file, "@bpf_second", 250).unwrap();
    let sample = RateSample {
        acked_sacked: 40,
        losses: 2,
        ..RateSample::default()
    };
    second.cong_control(1, 0, &sample);
    assert_eq!((second.ssthresh(), second.tp().snd_cwnd), (0, 42));
}

/// What only another kernel has stays one sentence.
#[test]
fn a_kernel_function_of_others_is_refused() {
    let body = "extern void cubictcp_init(struct sock *sk);
static void my_start(struct sock *sk) { cubictcp_init(sk); }\n";
    let message = refusal(&file(
        &format!("{body}{}", ops("mine", ".init = my_start")),
        "mine",
    ));
    assert!(
        message.contains("does not serve: cubictcp_init (FILE:"),
        "{message}"
    );
}
