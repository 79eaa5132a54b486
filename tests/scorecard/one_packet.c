/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Bad on purpose: its window is one packet for ever. */
#include "tcp_cc.h"

CC_HOOK(u32, one_ssthresh, struct sock *sk)
{
	return 2;
}

CC_HOOK(void, one_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_snd_cwnd_set(tcp_sk(sk), 1);
}

CC_ALGORITHM(one_packet, "a window of one packet", .ssthresh = one_ssthresh,
	     .cong_avoid = one_cong_avoid);
