// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A rule of no use in the kernel's form: what modules do besides growing a window.
 */
#include <linux/module.h>
#include <linux/version.h>
#include <net/tcp.h>
#include "odd_shift.h"

#define ODD_PERIOD (HZ / 20)	/* 50 ms */
#define ODD_GAIN(x) ((x) * gain / 64)

/* share of the window that stays */
static unsigned int keep __read_mostly = 700; /* of 1024 */
module_param(keep, uint, 0644);
MODULE_PARM_DESC(keep, "share \"kept\" at a loss");
static int gain = 64;
module_param_named(speed, gain, int, 0644);
static bool is_shy;
module_param(is_shy, bool, 0444);

static int quiet = 3, loud = 7;
static unsigned long patience = 2 * HZ;
static u32 lowest __ro_after_init;
static u64 table_factor;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
typedef u32 odd_t;
#else
typedef u16 odd_t;
#endif

struct odd {
	odd_t	since;	/* jiffies */
	u32	slow;
};

static bool odd_is_late(const struct odd *ca);

static inline u32 odd_elapsed(const struct odd *ca)
{
	return tcp_jiffies32 - ca->since;
}

static bool odd_is_late(const struct odd *ca)
{
	return odd_elapsed(ca) > ODD_PERIOD && time_before32(ca->since, jiffies + patience);
}

static void odd_init(struct sock *sk)
{
	struct odd *ca = inet_csk_ca(sk);

	ca->since = tcp_jiffies32;
	ca->slow = quiet + get_random_u32_below(2);
}

static u32 odd_ssthresh(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct odd *ca = inet_csk_ca(sk);

	odd_init(sk);
	if (is_shy)
		ca->slow++;
	return max(tcp_snd_cwnd(tp) * keep >> ODD_SHIFT, lowest);
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
static void odd_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
#else
static void odd_control(struct sock *sk, const struct rate_sample *rs)
#endif
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct odd *ca = inet_csk_ca(sk);
	const struct inet_connection_sock *icsk = inet_csk(sk);
	u32 keep = 1;	/* hides the parameter */

	if (icsk->icsk_ca_state >= TCP_CA_Recovery)
		tcp_snd_cwnd_set(tp, max(tp->snd_ssthresh, keep));
	else if (tcp_in_slow_start(tp))
		tcp_slow_start(tp, rs->acked_sacked);
	else if (odd_is_late(ca))
		goto gain;
	return;
gain:
	tcp_cong_avoid_ai(tp, ODD_GAIN(tcp_snd_cwnd(tp)) + (u32)table_factor, rs->acked_sacked);
}

static struct tcp_congestion_ops odd __read_mostly = {
	.init		= odd_init,
	.ssthresh	= odd_ssthresh,
	.cong_control	= odd_control,
#ifdef ODD_SHIFT
	.undo_cwnd	= tcp_reno_undo_cwnd,
#endif
	.owner		= THIS_MODULE,
	.name		= "odd",
};

static int __init odd_register(void)
{
	BUILD_BUG_ON(sizeof(struct odd) > ICSK_CA_PRIV_SIZE);
	if (keep > 1024)
		keep = 1024;
	lowest = 2;
	table_factor = 1ULL << 10;
	do_div(table_factor, keep + loud);
	if (is_shy)
		lowest++;
	return tcp_register_congestion_control(&odd);
}

static void __exit odd_unregister(void)
{
	tcp_unregister_congestion_control(&odd);
}

module_init(odd_register);
module_exit(odd_unregister);

MODULE_AUTHOR("Nobody");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("An odd rule");
