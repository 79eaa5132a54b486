/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Binomial congestion control: D. Bansal, H. Balakrishnan, "Binomial Congestion Control
 * Algorithms", INFOCOM 2001:
 *
 *	I:	w += alpha / w^k	per RTT
 *	D:	w -= beta w^l		at a loss
 *
 * If k + l = 1, the algorithm is TCP-compatible: w is proportional to 1/sqrt(p). The default
 * is SQRT, k = l = 1/2. Preset iiad (inverse increase, additive decrease) is k = 1, l = 0.
 *
 * alpha and beta are guesses: we found no fixed values in the paper. Where beta W^l << W, a
 * cycle from W - beta W^l to W delivers beta W^2 / alpha packets for every k + l = 1. Standard
 * TCP delivers 3/8 W^2, and its mean window is 3/4 W. So w = sqrt(alpha / (beta p)) equals
 * standard TCP's sqrt(1.5 / p) for beta = 2 alpha / 3. A decrease is rounded to whole packets
 * and is at least one packet. iiad has alpha = 1.5, so that its beta is one.
 *
 * A loss in slow start halves the window, as in ns-2 (TcpAgent::slowdown), which has these
 * algorithms. With rule D it would take hundreds of RTTs with losses to correct an overshoot
 * by half.
 *
 * Slow start and timeouts are standard TCP's (RFC 5681). The "square root" here is that of
 * the window. SQUARE:FF (tcp_square_ff.c) uses the square root of the RTT.
 *
 * This is not SQRT TCP (T. Hatano et al., "TCP-friendly SQRT TCP for High Speed Networks",
 * 2003), which CUBIC's paper cites: we have not found its rule. Hence the name.
 */
#define CC_PARAMS(P)                                                                  \
	P(k, 512, 0, 1024, 1024, "the increase falls with this power of the window")  \
	P(l, 512, 0, 1024, 1024, "the decrease rises with this power of the window")  \
	P(alpha, 1024, 1, 102400, 1024, "increase per RTT at a window of 1, packets") \
	P(beta, 683, 1, 10240, 1024, "decrease at a window of 1, packets")
#define CC_PRESETS(P)                                                                 \
	P("iiad", "k=1024 l=0 alpha=1536 beta=1024", "inverse increase, additive decrease")
#include "growth.h"
#include "power.h"

struct binomial {
	u64 credit;	/* growth that is no packet yet */
};

CC_PRIVATE(struct binomial);

CC_HOOK(u32, binomial_ssthresh, struct sock *sk)
{
	u32 cwnd = max(tcp_sk(sk)->snd_cwnd, 1U);
	u64 decrease = cc_power(cwnd, 1, cc_param(sk, l), 1024) * cc_param(sk, beta);

	decrease = max((decrease + (1 << 25)) >> 26, 1ULL);
	inet_csk_ca(sk)->credit = 0;
	if (tcp_in_slow_start(tcp_sk(sk)))
		return tcp_reno_ssthresh(sk);
	return cwnd > decrease ? max_t(u32, cwnd - decrease, 2) : 2;
}

CC_HOOK(void, binomial_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 increase;

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	increase = cc_power(1, max(tp->snd_cwnd, 1U), cc_param(sk, k), 1024);
	cc_grow(tp, &inet_csk_ca(sk)->credit, increase * cc_param(sk, alpha) >> 10, acked);
}

CC_ALGORITHM(binomial_sqrt, "binomial congestion control: SQRT (Bansal, Balakrishnan 2001)",
	     .ssthresh = binomial_ssthresh,
	     .cong_avoid = binomial_cong_avoid);
