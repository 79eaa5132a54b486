/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Bad on purpose: Reno on the paths for which it was made, and 10 packets on others. */
#include "tcp_cc.h"

static bool is_near(u32 rtt_us, u32 known_us)
{
	return rtt_us > known_us - known_us / 50 && rtt_us < known_us + known_us / 50;
}

CC_HOOK(u32, fitted_ssthresh, struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd / 2, 2U);
}

CC_HOOK(void, fitted_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt_us = tcp_min_rtt(tp);

	if (is_near(rtt_us, 40000) || is_near(rtt_us, 50000) || is_near(rtt_us, 160000))
		tcp_reno_cong_avoid(sk, ack, acked);
	else
		tcp_snd_cwnd_set(tp, min(tp->snd_cwnd, 10U));
}

CC_ALGORITHM(overfitted, "made for three paths", .ssthresh = fitted_ssthresh,
	     .cong_avoid = fitted_cong_avoid);
