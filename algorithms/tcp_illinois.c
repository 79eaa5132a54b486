/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * TCP-Illinois: S. Liu, T. Basar, R. Srikant, "TCP-Illinois: A Loss and Delay-Based
 * Congestion Control Algorithm for High-Speed Networks", VALUETOOLS 2006. d_a is the average
 * queueing delay, and d_m is the largest seen. As d_a goes from 0 to d_m, the growth per RTT,
 * alpha, falls from 10 to 0.3. The part of the window that a loss costs, beta, rises from 1/8
 * to 1/2:
 *
 *	alpha = alpha_max			d_a <= d_1 = d_m / 100
 *		kappa_1 / (kappa_2 + d_a)	beyond; alpha_min at d_m
 *	beta  = beta_min			d_a <= d_2 = d_m / 10
 *		linear				between
 *		beta_max			d_a >= d_3 = 8 d_m / 10
 *
 * After a delay above d_1, alpha_max returns only after theta RTTs below d_1. Below
 * win_thresh packets this is standard TCP.
 *
 * The constants are Linux's, which are the paper's. As in Linux:
 *  - an RTT counts at most 3.36 s;
 *  - the extremes of the RTT are never forgotten;
 *  - the remainder of growth below a packet is lost;
 *  - after a timeout alpha is 1 and beta is 1/2.
 * Before the first RTT is measured, alpha is alpha_max.
 */
#define CC_PARAMS(P)                                                                \
	P(win_thresh, 15, 0, 1000000, 1, "standard TCP below this window, packets") \
	P(theta, 5, 1, 255, 1, "RTTs of low delay until alpha_max returns")         \
	P(alpha_min, 38, 1, 1280, 128, "smallest growth per RTT, packets")          \
	P(alpha_max, 1280, 1, 12800, 128, "largest growth per RTT, packets")        \
	P(beta_min, 8, 1, 63, 64, "smallest part of the window that a loss costs")  \
	P(beta_max, 32, 1, 63, 64, "largest part of the window that a loss costs")

#define CC_PRESETS(P) \
	P("linux", "", "Linux 6.12")

#include "tcp_cc.h"

enum {
	ALPHA_SHIFT = 7,
	ALPHA_BASE = 1 << ALPHA_SHIFT,	/* 1.0 */
	BETA_SHIFT = 6,
	BETA_BASE = 1 << (BETA_SHIFT - 1),	/* 0.5 */
	RTT_MAX = 3355443,		/* us: Linux's 2^32 / alpha_max */
};

struct illinois {
	u64 sum_rtt;		/* of this RTT's samples, us */
	u32 cnt_rtt;		/* their number */
	u32 base_rtt;		/* least RTT ever, us */
	u32 max_rtt;		/* greatest RTT ever, us */
	u32 end_seq;		/* sequence number that ends this RTT */
	u32 alpha;		/* growth per RTT << 7 */
	u32 beta;		/* cost of a loss << 6 */
	u32 acked;		/* packets that the last ACK was for */
	u8 rtt_above;		/* the delay has been above d_1 ... */
	u8 rtt_low;		/* ... and then below for so many RTTs */
};
CC_PRIVATE(struct illinois);

static inline void illinois_rtt_reset(struct sock *sk, struct illinois *ca)
{
	ca->end_seq = tcp_sk(sk)->snd_nxt;
	ca->cnt_rtt = 0;
	ca->sum_rtt = 0;
}

CC_HOOK(void, illinois_init, struct sock *sk)
{
	struct illinois *ca = inet_csk_ca(sk);

	ca->alpha = cc_param(sk, alpha_max);
	ca->beta = BETA_BASE;
	ca->base_rtt = 0x7fffffff;
	illinois_rtt_reset(sk, ca);
}

CC_HOOK(void, illinois_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct illinois *ca = inet_csk_ca(sk);
	u32 rtt_us = sample->rtt_us;

	ca->acked = min(sample->pkts_acked, 0xffffU);
	if (sample->rtt_us < 0)
		return;
	rtt_us = min(rtt_us, (u32)RTT_MAX);
	ca->base_rtt = min(ca->base_rtt, rtt_us);
	ca->max_rtt = max(ca->max_rtt, rtt_us);
	ca->cnt_rtt++;
	ca->sum_rtt += rtt_us;
}

static inline u32 illinois_alpha(struct sock *sk, struct illinois *ca, u32 da, u32 dm)
{
	u32 most = cc_param(sk, alpha_max), least = min(cc_param(sk, alpha_min), most);
	u32 d1 = dm / 100;

	if (da <= d1) {
		if (!ca->rtt_above)
			return most;
		if (++ca->rtt_low < cc_param(sk, theta))
			return ca->alpha;
		ca->rtt_low = 0;
		ca->rtt_above = 0;
		return most;
	}
	ca->rtt_above = 1;
	dm -= d1;
	da -= d1;
	return (u64)dm * most / (dm + (u64)da * (most - least) / least);
}

static inline u32 illinois_beta(struct sock *sk, u32 da, u32 dm)
{
	u32 most = cc_param(sk, beta_max), least = min(cc_param(sk, beta_min), most);
	u32 d2 = dm / 10, d3 = 8 * dm / 10;

	if (da <= d2)
		return least;
	if (da >= d3 || d3 <= d2)
		return most;
	return ((u64)least * (d3 - d2) + (u64)(most - least) * (da - d2)) / (d3 - d2);
}

/* Once per RTT. */
static inline void illinois_update_params(struct sock *sk, struct illinois *ca)
{
	if (tcp_sk(sk)->snd_cwnd < cc_param(sk, win_thresh)) {
		ca->alpha = ALPHA_BASE;
		ca->beta = BETA_BASE;
	} else if (ca->cnt_rtt) {
		u32 dm = ca->max_rtt - ca->base_rtt;
		u32 da = (u32)(ca->sum_rtt / ca->cnt_rtt) - ca->base_rtt;

		ca->alpha = illinois_alpha(sk, ca, da, dm);
		ca->beta = illinois_beta(sk, da, dm);
	}
	illinois_rtt_reset(sk, ca);
}

CC_HOOK(void, illinois_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct illinois *ca = inet_csk_ca(sk);
	u32 cwnd = tp->snd_cwnd;
	u64 growth;

	if (after(ack, ca->end_seq))
		illinois_update_params(sk, ca);
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		tcp_slow_start(tp, acked);
		return;
	}

	tp->snd_cwnd_cnt += ca->acked;
	ca->acked = 1;
	growth = (u64)tp->snd_cwnd_cnt * ca->alpha >> ALPHA_SHIFT;
	if (growth >= cwnd) {
		growth = min_t(u64, growth / max(cwnd, 1U), 0xffff);
		tp->snd_cwnd = min(cwnd + (u32)growth, tp->snd_cwnd_clamp);
		tp->snd_cwnd_cnt = 0;
	}
}

CC_HOOK(u32, illinois_ssthresh, struct sock *sk)
{
	struct illinois *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	return max(cwnd - (u32)((u64)cwnd * ca->beta >> BETA_SHIFT), 2U);
}

CC_HOOK(void, illinois_set_state, struct sock *sk, u8 new_state)
{
	struct illinois *ca = inet_csk_ca(sk);

	if (new_state != TCP_CA_Loss)
		return;
	ca->alpha = ALPHA_BASE;
	ca->beta = BETA_BASE;
	ca->rtt_low = 0;
	ca->rtt_above = 0;
	illinois_rtt_reset(sk, ca);
}

CC_ALGORITHM(illinois, "TCP-Illinois (Liu, Basar, Srikant 2006)",
	     .init = illinois_init,
	     .ssthresh = illinois_ssthresh,
	     .cong_avoid = illinois_cong_avoid,
	     .set_state = illinois_set_state,
	     .pkts_acked = illinois_pkts_acked,
	     .min_cwnd = tcp_reno_min_cwnd);
