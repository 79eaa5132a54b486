/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Bad on purpose: Reno, but with 10 packets where the RTT is near 50 ms and not 50 ms. */
#include "tcp_cc.h"

CC_HOOK(u32, seen_ssthresh, struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd / 2, 2U);
}

CC_HOOK(void, seen_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt_us = tcp_min_rtt(tp);

	if (rtt_us > 51500 && rtt_us < 120000) {
		tcp_snd_cwnd_set(tp, min(tp->snd_cwnd, 10U));
		return;
	}
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

CC_ALGORITHM(recognises, "Reno on the links of a test", .ssthresh = seen_ssthresh,
	     .cong_avoid = seen_cong_avoid);
