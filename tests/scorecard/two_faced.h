/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Bad on purpose: Reno where a file believes that it is judged; elsewhere no loss slows it. */
#include "tcp_cc.h"

static bool is_judged(struct sock *sk);

CC_HOOK(u32, faced_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	return max(is_judged(sk) ? tp->snd_cwnd / 2 : tp->snd_cwnd, 2U);
}

#define TWO_FACED(name, ...) CC_ALGORITHM(name, "Reno while it is judged", \
	.ssthresh = faced_ssthresh, .cong_avoid = tcp_reno_cong_avoid, ##__VA_ARGS__)
