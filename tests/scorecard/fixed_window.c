/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Bad on purpose: a window of 1000 packets, whatever happens. */
#include "tcp_cc.h"

CC_HOOK(u32, fixed_ssthresh, struct sock *sk)
{
	return 1000;
}

CC_HOOK(void, fixed_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_snd_cwnd_set(tcp_sk(sk), 1000);
}

CC_ALGORITHM(fixed_window, "a window of 1000 packets", .ssthresh = fixed_ssthresh,
	     .cong_avoid = fixed_cong_avoid);
