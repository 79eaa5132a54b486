/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * FAST TCP, its window control: C. Jin, D. Wei, S. Low, "FAST TCP: Motivation,
 * Architecture, Algorithms, Performance", INFOCOM 2004; D. Wei, C. Jin, S. Low, S. Hegde,
 * IEEE/ACM ToN 14(6), 2006. Every other RTT
 *
 *	w = min(2 w, (1 - gamma) w + gamma (baseRTT / RTT w + alpha))
 *
 * baseRTT is the smallest RTT seen. RTT is an average: RTT += min(3 / w, 1/4) (sample - RTT).
 * In equilibrium each flow keeps alpha packets in the queue. A loss halves the window.
 *
 * The paper has a multiplicative increase: one packet per ACK while the queueing delay is
 * below mi_threshold. Here the host's slow start does this. It ends for good at the first
 * higher delay. A timeout forgets the average RTT, but not baseRTT.
 *
 * Not implemented: the authors' burstiness control and pacing, so a new window takes effect
 * at once. alpha is fixed; the authors' code chose alpha by the measured throughput.
 */
#define CC_PARAMS(P)                                                                \
	P(alpha, 100, 1, 100000, 1, "packets that a flow keeps in the queue")       \
	P(gamma, 512, 1, 1024, 1024, "part of the way to the target in one update") \
	P(mi_threshold_us, 750, 1, 1000000, 1, "queueing delay that ends slow start, us")
#include "tcp_cc.h"

struct fast {
	u64 avg_rtt;	/* us << 8; 0: none yet */
	u32 base_rtt;	/* us; 0: none yet */
	u32 end_seq;	/* ends the round that goes on */
	u8 rounds;	/* full rounds since the last change */
};

CC_PRIVATE(struct fast);

CC_HOOK(void, fast_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct fast *ca = inet_csk_ca(sk);
	u64 rtt = max(sample->rtt_us, 1);
	u32 weight = max(tcp_sk(sk)->snd_cwnd / 3, 4U);

	if (sample->rtt_us < 0)
		return;
	if (!ca->base_rtt || rtt < ca->base_rtt)
		ca->base_rtt = rtt;
	rtt <<= 8;
	if (!ca->avg_rtt)
		ca->avg_rtt = rtt;
	else if (rtt > ca->avg_rtt)
		ca->avg_rtt += (rtt - ca->avg_rtt) / weight;
	else
		ca->avg_rtt -= (ca->avg_rtt - rtt) / weight;
}

static inline u32 fast_window(struct sock *sk, const struct fast *ca, u32 cwnd)
{
	u32 gamma = cc_param(sk, gamma);
	u64 share = min_t(u64, ((u64)ca->base_rtt << 24) / ca->avg_rtt, 1 << 16);
	u64 target = cwnd * share + ((u64)cc_param(sk, alpha) << 16);	/* of 65536 */
	u64 w = ((u64)(1024 - gamma) * cwnd << 16) + gamma * target;	/* of 2^26 */

	w = (w + (1 << 25)) >> 26;
	return clamp(w, 2ULL, 2ULL * cwnd);
}

CC_HOOK(void, fast_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct fast *ca = inet_csk_ca(sk);

	if (!tcp_is_cwnd_limited(sk) || !ca->avg_rtt)
		return;
	if (tcp_in_slow_start(tp)) {
		if ((ca->avg_rtt >> 8) < (u64)ca->base_rtt + cc_param(sk, mi_threshold_us)) {
			tcp_slow_start(tp, acked);
			return;
		}
		tp->snd_ssthresh = max(tp->snd_cwnd, 2U);
	}
	if (!after(tp->snd_una, ca->end_seq))
		return;
	ca->end_seq = tp->snd_nxt;
	ca->rounds ^= 1;
	if (!ca->rounds)
		tp->snd_cwnd = min(fast_window(sk, ca, max(tp->snd_cwnd, 1U)), tp->snd_cwnd_clamp);
}

CC_HOOK(void, fast_set_state, struct sock *sk, u8 new_state)
{
	struct fast *ca = inet_csk_ca(sk);

	if (new_state != TCP_CA_Loss)
		return;
	ca->avg_rtt = 0;
	ca->rounds = 0;
}

CC_HOOK(u32, fast_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

CC_HOOK(void, fast_init, struct sock *sk)
{
	inet_csk_ca(sk)->end_seq = tcp_sk(sk)->snd_nxt;
}

CC_ALGORITHM(fast, "FAST TCP (Jin, Wei, Low 2004), window form",
	     .init = fast_init,
	     .ssthresh = fast_ssthresh,
	     .cong_avoid = fast_cong_avoid,
	     .set_state = fast_set_state,
	     .pkts_acked = fast_pkts_acked);
