/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Bad on purpose: ten times its window in each RTT, and a tenth less at a loss. */
#include "tcp_cc.h"

CC_HOOK(u32, ten_ssthresh, struct sock *sk)
{
	return max_t(u32, tcp_sk(sk)->snd_cwnd * 9 / 10, 2);
}

CC_HOOK(void, ten_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, min_t(u32, tp->snd_cwnd + 9 * acked, 100000));
}

CC_ALGORITHM(ten_times, "ten times its window in each RTT", .ssthresh = ten_ssthresh,
	     .cong_avoid = ten_cong_avoid);
