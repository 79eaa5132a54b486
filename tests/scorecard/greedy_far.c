/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Bad on purpose: Reno, but thirty times as fast where the RTT is longer than 120 ms. */
#include "tcp_cc.h"

CC_HOOK(u32, far_ssthresh, struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd / 2, 2U);
}

CC_HOOK(void, far_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	if (tp->srtt_us >> 3 > 120000)
		acked *= 30;
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

CC_ALGORITHM(greedy_far, "Reno, too fast where the RTT is long", .ssthresh = far_ssthresh,
	     .cong_avoid = far_cong_avoid);
