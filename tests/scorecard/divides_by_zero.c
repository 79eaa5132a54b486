/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Bad on purpose: divides by zero at its first loss. */
#include "tcp_cc.h"

CC_HOOK(u32, divides_ssthresh, struct sock *sk)
{
	volatile u32 zero = 0;

	return tcp_sk(sk)->snd_cwnd / zero;
}

CC_HOOK(void, divides_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

CC_ALGORITHM(divides_by_zero, "divides by zero at its first loss", .ssthresh = divides_ssthresh,
	     .cong_avoid = divides_cong_avoid);
