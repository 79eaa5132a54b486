/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * TCP Libra: G. Marfia, C. Palazzi, G. Pau, M. Gerla, M. Sanadidi, M. Roccetti, "TCP Libra:
 * Exploring RTT-Fairness for TCP", 2005, and "Balancing Video on Demand Flows over Links
 * with Heterogeneous Delays", MobiMedia 2007. T is the RTT:
 *
 *	per ACK:	w += alpha / w * T^2 / (T + T0)
 *			alpha = k1 C exp(-k2 (T - Tmin) / (Tmax - Tmin))
 *	at a loss:	w -= T1 w / (2 (T + T0))
 *
 * k1 = k2 = 2, T0 = T1 = 1 s. The exponential slows growth as the queue fills.
 *
 * We found no implementation by the authors, and did not have the papers. The formulas are
 * from descriptions of the papers. These are guesses:
 *  - C is in Mb/s. (In packets/s, growth at 100 Mb/s and 100 ms would be 150 packets per RTT.
 *    In Mb/s, it is 1.8 times standard TCP's.)
 *  - The authors measure C by packet pairs. A hook sees packet pairs only through ACKs that
 *    are delayed and compressed. Here C is the parameter capacity_mbps.
 *  - T is the host's smoothed RTT, and Tmin and Tmax are the extremes of its samples. Without
 *    a sample, growth is standard TCP's. A timeout forgets Tmin and Tmax.
 *  - A window at most doubles per RTT.
 */
#define CC_PARAMS(P)                                                       \
	P(k1, 2048, 1, 1048576, 1024, "growth per Mb/s of capacity")       \
	P(k2, 2048, 0, 10240, 1024, "how much a full queue slows growth")  \
	P(t0_ms, 1000, 1, 10000, 1, "T0 of the formulas, ms")              \
	P(t1_ms, 1000, 1, 10000, 1,                                        \
	  "T1: a loss costs the part T1 / (2 (T + T0)) of the window, ms") \
	P(capacity_mbps, 100, 1, 1000000, 1, "C: rate of the bottleneck, Mb/s")
#include "growth.h"
#include "power.h"

struct libra {
	u64 credit;	/* growth that is no packet yet */
	u32 rtt_min;	/* us; 0: none yet */
	u32 rtt_max;
};

enum {
	LIBRA_RTT_MAX = 10000000,	/* us: the formulas' integers hold to here */
	LIBRA_LOG2_E = 94548,		/* of 65536 */
};

CC_PRIVATE(struct libra);

static inline u32 libra_rtt(const struct sock *sk)
{
	return min_t(u32, tcp_sk(sk)->srtt_us >> 3, LIBRA_RTT_MAX);
}

/* exp(-k2 (T - Tmin) / (Tmax - Tmin)) in 1/65536. */
static inline u64 libra_penalty(struct sock *sk, const struct libra *ca, u32 rtt)
{
	u64 queue;

	if (ca->rtt_max <= ca->rtt_min || rtt <= ca->rtt_min)
		return POWER_ONE;
	queue = min_t(u64, ((u64)(rtt - ca->rtt_min) << 10) / (ca->rtt_max - ca->rtt_min), 1024);
	return cc_exp2(-(s64)(queue * cc_param(sk, k2) * LIBRA_LOG2_E >> 20));
}

/* Growth per RTT, in 1/65536 packet. */
static inline u64 libra_increase(struct sock *sk, const struct libra *ca)
{
	u32 rtt = libra_rtt(sk);
	u64 t;

	if (!rtt)
		return GROWTH_ONE;
	t = (u64)rtt * rtt / (rtt + cc_param(sk, t0_ms) * USEC_PER_MSEC);	/* us */
	t = t * cc_param(sk, capacity_mbps) / 1000;			/* Mb/s * ms */
	t = min_t(u64, t, 1ULL << 30) * cc_param(sk, k1) / 1000;	/* packets << 10 */
	t = min_t(u64, t, 1ULL << 40);
	return t * libra_penalty(sk, ca, rtt) >> 10;
}

CC_HOOK(u32, libra_ssthresh, struct sock *sk)
{
	u32 cwnd = tcp_sk(sk)->snd_cwnd;
	u64 t = libra_rtt(sk) + cc_param(sk, t0_ms) * USEC_PER_MSEC;
	u64 decrease = (u64)cwnd * cc_param(sk, t1_ms) * USEC_PER_MSEC / (2 * t);

	inet_csk_ca(sk)->credit = 0;
	return cwnd > decrease ? max_t(u32, cwnd - decrease, 2) : 2;
}

CC_HOOK(void, libra_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct libra *ca = inet_csk_ca(sk);
	u32 rtt = max(sample->rtt_us, 1);

	if (sample->rtt_us < 0)
		return;
	if (!ca->rtt_min || rtt < ca->rtt_min)
		ca->rtt_min = rtt;
	ca->rtt_max = max(ca->rtt_max, rtt);
}

CC_HOOK(void, libra_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct libra *ca = inet_csk_ca(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	cc_grow(tp, &ca->credit, libra_increase(sk, ca), acked);
}

CC_HOOK(void, libra_set_state, struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		*inet_csk_ca(sk) = (struct libra){};
}

CC_ALGORITHM(libra, "TCP Libra (Marfia et al. 2005), with the capacity as a parameter",
	     .ssthresh = libra_ssthresh,
	     .cong_avoid = libra_cong_avoid,
	     .set_state = libra_set_state,
	     .pkts_acked = libra_pkts_acked);
