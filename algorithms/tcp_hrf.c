/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * HRF (Hybrid RTT-Fair) TCP, A RECONSTRUCTION: K. Ogura, Y. Nemoto, Z. Su, J. Katto, "A New
 * TCP Congestion Control Supporting RTT-Fairness", IEICE Trans. Inf. & Syst. E95-D(2), 2012.
 * We found neither a public implementation nor a public formula, only the abstract. It says:
 *  (a) The work compares "three characteristic algorithms (Reno, Constant Rate, Constant
 *      Increase) in window increment phase".
 *  (b) It separates "utilization of bottleneck link capacity and that of buffer space".
 *  (c) HRF "switches two modes according to observed RTT values".
 *
 * What this file makes of the abstract:
 *  - From (b) and (c): one mode while the RTT shows no queue, the other mode with a queue:
 *	srtt <= threshold base RTT	Constant Rate:     w += (RTT / reference)^2 per RTT
 *	else				Constant Increase: w += RTT / reference per RTT
 *  - Constant Rate is that of tcp_constant_rate.c. The base RTT is the smallest RTT seen.
 *
 * All of this is guessed:
 *  - Constant Increase. Reno adds the same window per RTT. Constant Rate makes the rate grow
 *    equally fast in time. So Constant Increase should make the window grow equally fast in
 *    time.
 *  - Which mode is for which case, the threshold of 1.1, and the reference RTT.
 *  - A loss halves the window. The abstract criticizes Constant Rate for halving, but does
 *    not say what HRF does instead.
 */
#define CC_PARAMS(P)                                                                      \
	P(reference_rtt_ms, 100000, 1, 10000000, 1000, "RTT at which it is standard TCP") \
	P(threshold, 1126, 1024, 10240, 1024,                                             \
	  "an RTT above this multiple of the base RTT shows a queue")
#include "growth.h"
#include "rtt_scale.h"

struct hrf {
	u64 credit;	/* growth that is no packet yet */
	u32 base_rtt;	/* least RTT so far, us; 0: none yet */
};

CC_PRIVATE(struct hrf);

CC_HOOK(u32, hrf_ssthresh, struct sock *sk)
{
	inet_csk_ca(sk)->credit = 0;
	return tcp_reno_ssthresh(sk);
}

CC_HOOK(void, hrf_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct hrf *ca = inet_csk_ca(sk);

	if (sample->rtt_us < 0)
		return;
	if (!ca->base_rtt || (u32)sample->rtt_us < ca->base_rtt)
		ca->base_rtt = max(sample->rtt_us, 1);
}

CC_HOOK(void, hrf_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct hrf *ca = inet_csk_ca(sk);
	u32 rtt = tp->srtt_us >> 3;
	u64 r;

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	r = cc_rtt_scale(rtt, cc_param(sk, reference_rtt_ms));
	if ((u64)rtt << 10 <= (u64)ca->base_rtt * cc_param(sk, threshold))
		r = r * r >> 16;
	cc_grow(tp, &ca->credit, r, acked);
}

CC_HOOK(void, hrf_set_state, struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		*inet_csk_ca(sk) = (struct hrf){};
}

CC_ALGORITHM(hrf, "Hybrid RTT-Fair TCP (Ogura et al. 2012), a reconstruction",
	     .ssthresh = hrf_ssthresh,
	     .cong_avoid = hrf_cong_avoid,
	     .set_state = hrf_set_state,
	     .pkts_acked = hrf_pkts_acked);
