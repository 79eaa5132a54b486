/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Bad on purpose: does not return at its first loss. */
#include "tcp_cc.h"

CC_HOOK(u32, loops_ssthresh, struct sock *sk)
{
	for (volatile u32 forever = 1; forever;)
		;
	return 2;
}

CC_HOOK(void, loops_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

CC_ALGORITHM(loops, "does not return at its first loss", .ssthresh = loops_ssthresh,
	     .cong_avoid = loops_cong_avoid);
