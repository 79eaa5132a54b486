/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * YeAH-TCP: A. Baiocchi, A. P. Castellani, F. Vacirca, "YeAH-TCP: Yet Another Highspeed
 * TCP", PFLDnet 2007. Once per RTT YeAH estimates the number of its packets in the queue,
 * from the smallest RTT of the samples:
 *
 *	Q = cwnd (RTT - baseRTT) / RTT
 *
 * Fast mode, while Q <= alpha and RTT - baseRTT <= baseRTT / phy: grows as Scalable TCP.
 *
 * Slow mode, otherwise: grows as Reno. If Q > alpha, it also gives up Q / gamma packets at
 * once (precautionary decongestion), but at most 1/2^epsilon of the window. The window never
 * goes below reno_count, the window that a competing Reno flow would have.
 *
 * A loss costs Q packets, and at least 1/2^delta of the window. If the flow was in slow mode
 * for rho RTTs, Reno flows compete, and a loss costs half of the window. Names and constants
 * are Linux's, which are the paper's. As in Linux 6.12, fast mode grows by one packet per 100
 * ACKed packets, but never slower than Reno.
 */
#define CC_PARAMS(P)                                                                         \
	P(alpha, 80, 1, 100000, 1, "maximum of its own packets in the queue")                \
	P(gamma, 1, 1, 100, 1, "above alpha, give up 1/gamma of the queue")                  \
	P(delta, 3, 0, 15, 1, "a loss costs at least 1/2^delta of the window")               \
	P(epsilon, 1, 0, 15, 1, "without a loss, give up at most 1/2^epsilon of the window") \
	P(phy, 8, 1, 1000, 1, "a queueing delay above baseRTT/phy means congestion")         \
	P(rho, 16, 0, 1000000, 1, "after this many congested RTTs Reno flows compete")       \
	P(zeta, 50, 1, 1000000, 1,                                                           \
	  "reno_count resets after this many RTTs without congestion")                       \
	P(ai_cnt, 100, 1, 65535, 1, "fast mode: ACKed packets per packet of growth")

#define CC_PRESETS(P) \
	P("linux", "", "Linux 6.12")

#include "vegas.h"

struct yeah {
	struct vegas vegas;
	u32 lastQ;		/* Q of the last RTT, packets */
	u32 doing_reno_now;	/* RTTs in slow mode */
	u32 reno_count;		/* window of a Reno flow, packets */
	u32 fast_count;		/* RTTs in fast mode */
};
CC_PRIVATE(struct yeah);

CC_HOOK(void, tcp_yeah_init, struct sock *sk)
{
	struct yeah *ca = inet_csk_ca(sk);

	vegas_init(tcp_sk(sk), &ca->vegas);
	ca->reno_count = 2;
}

/* Once per RTT, with enough samples. */
static inline void tcp_yeah_adjust(struct sock *sk, struct yeah *ca)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tp->snd_cwnd, alpha = cc_param(sk, alpha);
	u32 base = ca->vegas.baseRTT, rtt = ca->vegas.minRTT;
	u32 queue = (u64)cwnd * (rtt - base) / rtt;

	if (queue > alpha || rtt - base > base / cc_param(sk, phy)) {
		if (queue > alpha && cwnd > ca->reno_count) {
			cwnd -= min(queue / cc_param(sk, gamma), cwnd >> cc_param(sk, epsilon));
			cwnd = max(cwnd, max(ca->reno_count, 2U));
			tp->snd_cwnd = min(cwnd, tp->snd_cwnd_clamp);
			tp->snd_ssthresh = tp->snd_cwnd;
		}
		if (ca->reno_count <= 2)
			ca->reno_count = max(tp->snd_cwnd / 2, 2U);
		else
			ca->reno_count++;
		ca->doing_reno_now = min(ca->doing_reno_now + 1, 0xffffffU);
	} else {
		ca->fast_count++;
		if (ca->fast_count > cc_param(sk, zeta)) {
			ca->reno_count = 2;
			ca->fast_count = 0;
		}
		ca->doing_reno_now = 0;
	}
	ca->lastQ = queue;
}

CC_HOOK(void, tcp_yeah_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct yeah *ca = inet_csk_ca(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked) {
		u32 w = max(tp->snd_cwnd, 1U);

		tcp_cong_avoid_ai(tp, ca->doing_reno_now ? w : min(w, cc_param(sk, ai_cnt)), acked);
	}

	if (vegas_round_ends(tp, &ca->vegas, ack)) {
		if (vegas_has_samples(&ca->vegas))
			tcp_yeah_adjust(sk, ca);
		vegas_forget_round(&ca->vegas);
	}
}

CC_HOOK(u32, tcp_yeah_ssthresh, struct sock *sk)
{
	struct yeah *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd, half = max(cwnd / 2, 2U), reduction = half;

	if (ca->doing_reno_now < cc_param(sk, rho))
		reduction = max(min(ca->lastQ, half), cwnd >> cc_param(sk, delta));
	ca->fast_count = 0;
	ca->reno_count = max(ca->reno_count / 2, 2U);
	return max(cwnd - min(reduction, cwnd), 2U);
}

CC_HOOK(void, tcp_yeah_set_state, struct sock *sk, u8 new_state)
{
	vegas_state(tcp_sk(sk), &inet_csk_ca(sk)->vegas, new_state);
}

CC_HOOK(void, tcp_yeah_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	vegas_cwnd_event(tcp_sk(sk), &inet_csk_ca(sk)->vegas, event);
}

CC_HOOK(void, tcp_yeah_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	vegas_pkts_acked(&inet_csk_ca(sk)->vegas, sample);
}

CC_ALGORITHM(yeah, "YeAH-TCP (Baiocchi, Castellani, Vacirca 2007)",
	     .init = tcp_yeah_init,
	     .ssthresh = tcp_yeah_ssthresh,
	     .cong_avoid = tcp_yeah_cong_avoid,
	     .set_state = tcp_yeah_set_state,
	     .cwnd_event = tcp_yeah_cwnd_event,
	     .pkts_acked = tcp_yeah_pkts_acked,
	     .min_cwnd = tcp_reno_min_cwnd);
