/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Bad on purpose: keeps its window at a loss. */
#include "tcp_cc.h"

CC_HOOK(u32, never_ssthresh, struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd, 2U);
}

CC_HOOK(void, never_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_cong_avoid_ai(tcp_sk(sk), tcp_sk(sk)->snd_cwnd, acked);
}

CC_ALGORITHM(never_backs_off, "keeps its window at a loss", .ssthresh = never_ssthresh,
	     .cong_avoid = never_cong_avoid);
