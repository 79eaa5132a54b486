// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Tables that module_init computes, arrays of parameters, conditions on HZ, several ops. */
#include <linux/kernel.h>
#include <linux/module.h>
#include <net/tcp.h>

#undef pr_fmt
#define pr_fmt(fmt) "tables: " fmt

static int shares[4] = { 50, 60, 70, -1 };
static unsigned int shares_given = 4;
module_param_array(shares, int, &shares_given, 0644);
MODULE_PARM_DESC(shares, "window that stays, percent; negative: the one before");
static short shift __read_mostly = -2;
module_param(shift, short, 0444);
static char *label = "none";
module_param(label, charp, 0444);
static bool loud;
module_param(loud, bool, 0644);

#if HZ >= 1000
#define TICKS 4
#elif HZ > 100
#define TICKS 1
#else
#define TICKS 0
#endif

static u16 roots[64] __ro_after_init;
static u32 cut[4] __ro_after_init;

static u32 tables_ssthresh(struct sock *sk)
{
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	return max(cwnd * cut[(cwnd >> 4) & 3] / 100 + roots[cwnd & 63] * TICKS, 2U);
}

static u32 tables_soft_ssthresh(struct sock *sk)
{
	return max(tables_ssthresh(sk) + abs(shift), 2U);
}

static struct tcp_congestion_ops tables[] = {
	{
		.ssthresh = tables_ssthresh, .cong_avoid = tcp_reno_cong_avoid,
		.undo_cwnd = tcp_reno_undo_cwnd, .owner = THIS_MODULE, .name = "tables",
	},
	{
		.ssthresh = tables_soft_ssthresh, .cong_avoid = tcp_reno_cong_avoid,
		.undo_cwnd = tcp_reno_undo_cwnd, .owner = THIS_MODULE, .name = "tables_soft",
	},
};

static int __init tables_register(void)
{
	int i, err;

	if (shares_given > ARRAY_SIZE(shares) || shift > 8)
		return -EDOM;
	for (i = 0; i < ARRAY_SIZE(roots); i++)
		roots[i] = int_sqrt(i << 4);
	for (i = 0; i < ARRAY_SIZE(cut); i++) {
		if (shares[i] > 100)
			return -EOPNOTSUPP;
		cut[i] = shares[i] < 0 && i ? cut[i - 1] : abs(shares[i]);
	}
	for (i = 0; i < ARRAY_SIZE(tables); i++) {
		err = tcp_register_congestion_control(&tables[i]);
		if (err)
			goto undo;
	}
	if (loud)
		pr_notice("%s: %d shares\n", label, shares_given);
	return 0;
undo:
	while (--i >= 0)
		tcp_unregister_congestion_control(&tables[i]);
	return err;
}

static void __exit tables_unregister(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(tables); i++)
		tcp_unregister_congestion_control(&tables[i]);
}

late_initcall(tables_register);
module_exit(tables_unregister);
MODULE_LICENSE("GPL v2");
MODULE_DESCRIPTION("tables");
