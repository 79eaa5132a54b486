/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Scalable TCP: T. Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area
 * Networks", ACM SIGCOMM CCR 33(2), 2003. The window grows by a = 0.01 per ACKed packet, and
 * a loss costs the part b = 1/8 of the window. The time to recover from a loss therefore does
 * not depend on the window.
 *
 * Preset linux (the default) is Linux 6.12. It has no legacy window, but it never grows
 * slower than standard TCP. Below 100 packets this is faster than the paper.
 * Preset kelly2003 has the paper's legacy window: standard TCP up to 16 packets, and growth
 * of 0.01 per packet above.
 * Preset linux-2.6 is Linux before 5.x. It counted ACKs, and used 50 instead of 100 to
 * compensate for delayed ACKs.
 */
#define CC_PARAMS(P)                                                           \
	P(ai_cnt, 100, 1, 65535, 1, "1/a: ACKed packets per packet of growth") \
	P(b, 128, 1, 1023, 1024, "part of the window that a loss costs")       \
	P(low_window, 0, 0, 1000000, 1,                                        \
	  "standard TCP up to this window, packets; 0: never grow slower than standard TCP")

#define CC_PRESETS(P)                                                                    \
	P("linux", "", "Linux 6.12")                                                         \
	P("linux-2.6", "ai_cnt=50", "Linux 2.6.13 to 4.x")                                   \
	P("kelly2003", "low_window=16", "the paper")

#include "tcp_cc.h"

static inline bool scalable_is_legacy(struct sock *sk)
{
	return tcp_sk(sk)->snd_cwnd <= cc_param(sk, low_window);
}

CC_HOOK(void, tcp_scalable_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 ai_cnt = cc_param(sk, ai_cnt);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	if (scalable_is_legacy(sk))
		ai_cnt = tp->snd_cwnd;
	else if (!cc_param(sk, low_window))
		ai_cnt = min(tp->snd_cwnd, ai_cnt);
	tcp_cong_avoid_ai(tp, max(ai_cnt, 1U), acked);
}

CC_HOOK(u32, tcp_scalable_ssthresh, struct sock *sk)
{
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	if (scalable_is_legacy(sk))
		return max(cwnd / 2, 2U);
	return max(cwnd - (u32)((u64)cwnd * cc_param(sk, b) >> 10), 2U);
}

CC_ALGORITHM(scalable, "Scalable TCP (Kelly 2003)",
	     .ssthresh = tcp_scalable_ssthresh,
	     .cong_avoid = tcp_scalable_cong_avoid,
	     .min_cwnd = tcp_reno_min_cwnd);
