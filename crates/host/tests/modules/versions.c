// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* One file for many kernels: conditions on the version, also within the ops; kfuncs; exports. */
#include <linux/version.h>
#include <linux/module.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/inet_diag.h>
#include <net/tcp.h>

#ifndef KERNEL_VERSION
#error "this is no kernel"
#endif
#if LINUX_VERSION_CODE < KERNEL_VERSION(4, 9, 0)
#error "cong_control came with 4.9"
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define MAIN_ARGS struct sock *sk, u32 ack, int flag, const struct rate_sample *rs
#else
#define MAIN_ARGS struct sock *sk, const struct rate_sample *rs
#endif
#if IS_ENABLED(CONFIG_MPTCP)
#define HAS_MPTCP 1
#else
#define HAS_MPTCP 0
#endif

struct versions {
	u32 rounds;
	u32 mode : 2, pad : 30;
} __packed __aligned(8);

struct outer {
	u32 before;
	struct versions inner;
};

static u32 outer_before(struct versions *inner)
{
	return container_of(inner, struct outer, inner)->before;
}

#ifdef __bpf_kfunc_start_defs
__bpf_kfunc_start_defs();
#endif

__bpf_kfunc void versions_main(MAIN_ARGS)
{
	struct outer *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	if (rs->delivered < 0 || rs->interval_us <= 0)
		return;
	ca->inner.rounds++;
	WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, READ_ONCE(sk->sk_max_pacing_rate), 1250000));
	tcp_snd_cwnd_set(tp, clamp_t(u32, 12 + HAS_MPTCP + outer_before(&ca->inner), 4,
				     tp->snd_cwnd_clamp));
}
EXPORT_SYMBOL_GPL(versions_main);

__bpf_kfunc u32 versions_ssthresh(struct sock *sk)
{
	return max_t(u32, tcp_snd_cwnd(tcp_sk(sk)) >> 1, 2);
}
EXPORT_SYMBOL(versions_ssthresh);

#ifdef __bpf_kfunc_end_defs
__bpf_kfunc_end_defs();
#endif

static size_t versions_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	if (!(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	memset(&info->vegas, 0, sizeof(info->vegas));
	*attr = INET_DIAG_VEGASINFO;
	return sizeof(struct tcpvegas_info);
}

static struct tcp_congestion_ops tcp_versions __read_mostly = {
#ifdef TCP_CONG_NON_RESTRICTED
	.flags		= TCP_CONG_NON_RESTRICTED,
#endif
	.cong_control	= versions_main,
	.ssthresh	= versions_ssthresh,
	.undo_cwnd	= tcp_reno_undo_cwnd,
#if LINUX_VERSION_CODE >= KERNEL_VERSION(4, 20, 0)
	.get_info	= versions_info,
#endif
	.owner		= THIS_MODULE,
	.name		= "versions",
};

BTF_KFUNCS_START(tcp_versions_kfunc_ids)
BTF_ID_FLAGS(func, versions_main)
BTF_ID_FLAGS(func, versions_ssthresh)
BTF_KFUNCS_END(tcp_versions_kfunc_ids)

static const struct btf_kfunc_id_set tcp_versions_kfunc_set = {
	.owner = THIS_MODULE,
	.set   = &tcp_versions_kfunc_ids,
};

static int __init versions_register(void)
{
	int ret;

	BUILD_BUG_ON(sizeof(struct outer) > ICSK_CA_PRIV_SIZE);
	ret = register_btf_kfunc_id_set(BPF_PROG_TYPE_STRUCT_OPS, &tcp_versions_kfunc_set);
	if (ret < 0)
		return ret;
	pr_info("versions: registered\n");
	return tcp_register_congestion_control(&tcp_versions);
}

static void __exit versions_unregister(void)
{
	tcp_unregister_congestion_control(&tcp_versions);
}

module_init(versions_register);
module_exit(versions_unregister);
MODULE_AUTHOR("nobody");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION("0.1");
MODULE_DESCRIPTION("versions");
