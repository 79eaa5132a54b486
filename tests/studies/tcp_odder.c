// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <linux/module.h>
#include <linux/slab.h>
#include <net/tcp.h>

static int steps[2] = { 1, 2 };
module_param_array(steps, int, NULL, 0644);
static int pause = HZ;
module_param(pause, int, 0644);
static u32 losses;

static u32 odder_ssthresh(struct sock *sk)
{
	void **memory = inet_csk_ca(sk);

	if (!*memory)
		*memory = kzalloc(200, GFP_ATOMIC);
	losses++;
	return max(tcp_snd_cwnd(tcp_sk(sk)) / 2 + steps[0] + pause, 2U);
}

static void odder_release(struct sock *sk)
{
	void **memory = inet_csk_ca(sk);

	kfree(*memory);
}

static struct tcp_congestion_ops odder = {
	.ssthresh	= odder_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.release	= odder_release,
	.name		= "odder",
};

static int __init odder_register(void)
{
	return tcp_register_congestion_control(&odder);
}

module_init(odder_register);
MODULE_LICENSE("Dual BSD/GPL");
