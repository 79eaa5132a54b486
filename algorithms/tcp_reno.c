/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Standard TCP: slow start and congestion avoidance of RFC 5681. It counts packets, not
 * ACKs (RFC 3465), where the host does. This is Linux's "reno".
 */
#include "tcp_cc.h"

CC_HOOK(u32, reno_ssthresh, struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd / 2, 2U);
}

CC_HOOK(void, reno_cong_avoid, struct sock *sk, u32 ack, u32 acked)
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

CC_ALGORITHM(reno, "standard TCP (RFC 5681)",
	     .ssthresh = reno_ssthresh,
	     .cong_avoid = reno_cong_avoid,
	     .min_cwnd = tcp_reno_min_cwnd);
