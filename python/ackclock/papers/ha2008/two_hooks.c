/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Standard TCP in two hooks, the ones that an algorithm must have by section 4.2: "when an ACK
 * arrives, cong_avoid increments cwnd by one if the current cwnd is less than ssthresh.
 * Otherwise, cong_avoid increments cwnd by 1/cwnd".
 */
#define CC_PARAMS(P) P(keep, 50, 1, 99, 100, "part of the window that a loss leaves")

#include "tcp_cc.h"

CC_HOOK(u32, two_hooks_ssthresh, struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd * cc_param(sk, keep) / 100, 2U);
}

CC_HOOK(void, two_hooks_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

CC_ALGORITHM(two_hooks, "standard TCP in two hooks",
	     .ssthresh = two_hooks_ssthresh,
	     .cong_avoid = two_hooks_cong_avoid);
