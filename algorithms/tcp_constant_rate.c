/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The Constant-Rate window increase: S. Floyd, "Connections with Multiple Congested
 * Gateways in Packet-Switched Networks, Part 1", CCR 21(5), 1991; evaluated by T. Henderson,
 * E. Sahouria, S. McCanne, R. Katz, "On Improving the Fairness of TCP Congestion
 * Avoidance", GLOBECOM 1998. As SQUARE:FF's paper puts it, each connection
 *
 *	"increases its window size by roughly a r^2 packets each roundtrip time, for some
 *	fixed constant a, and for r the calculated average roundtrip time"
 *
 * The rate w / r then grows equally fast at every r. Everything else is standard TCP.
 *
 * Here a = 1 / reference_rtt^2, so at the reference RTT this is standard TCP. r is the
 * host's smoothed RTT, queueing included. Two things are guesses:
 *  - reference_rtt. Floyd leaves a free, and Henderson et al. find no value that is good for
 *    all networks.
 *  - The limit of growth: a window at most doubles per RTT. A large r would exceed this.
 */
#define CC_PARAMS(P) \
	P(reference_rtt_ms, 100000, 1, 10000000, 1000, "RTT at which it is standard TCP")
#include "growth.h"
#include "rtt_scale.h"

struct constant_rate {
	u64 credit;	/* growth that is no packet yet */
};

CC_PRIVATE(struct constant_rate);

CC_HOOK(u32, constant_rate_ssthresh, struct sock *sk)
{
	inet_csk_ca(sk)->credit = 0;
	return tcp_reno_ssthresh(sk);
}

CC_HOOK(void, constant_rate_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 r;

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	r = cc_rtt_scale(tp->srtt_us >> 3, cc_param(sk, reference_rtt_ms));
	cc_grow(tp, &inet_csk_ca(sk)->credit, r * r >> 16, acked);
}

CC_ALGORITHM(constant_rate, "standard TCP that grows by a RTT^2 per RTT (Floyd 1991)",
	     .ssthresh = constant_rate_ssthresh,
	     .cong_avoid = constant_rate_cong_avoid);
