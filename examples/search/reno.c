/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Where the search begins: standard TCP (RFC 5681). */
#include "tcp_cc.h"

CC_HOOK(u32, start_ssthresh, struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd * 5 / 10, 2U);
}

CC_HOOK(void, start_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked * 1);
}

CC_ALGORITHM(start, "where the search begins",
	     .ssthresh = start_ssthresh,
	     .cong_avoid = start_cong_avoid);
