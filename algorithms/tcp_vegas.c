/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * TCP Vegas: L. Brakmo, L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a
 * Global Internet", IEEE JSAC 13(8), 1995. Once per RTT Vegas estimates the number of its
 * packets in the queue:
 *
 *	diff = cwnd (RTT - baseRTT) / RTT
 *
 * The window grows by one packet if diff is below alpha, and shrinks by one packet if diff is
 * above beta. Slow start ends when diff is above gamma.
 *
 * Preset linux (the default) is the Vegas of Linux 6.12. It differs from the paper:
 *  - It divides by baseRTT, not by RTT. With a long queue diff is larger.
 *  - It uses the smallest RTT of a window, not the mean.
 *  - Slow start doubles the window in each RTT, not in every other RTT. At the end of slow
 *    start the window drops to what the path held.
 *  - It raises ssthresh to 3/4 of the window after each RTT. When it shrinks the window, it
 *    also lowers ssthresh to the window.
 *  - A loss halves the window. The paper gives up a quarter if its own retransmission rule
 *    found the loss. That rule belongs to the endpoint; no preset here has it.
 * Preset brakmo1995 divides by RTT, and its slow start grows in every other RTT.
 */
#define CC_PARAMS(P)                                                                       \
	P(alpha, 2, 0, 10000, 1, "grow while fewer packets than this are queued")          \
	P(beta, 4, 0, 10000, 1, "shrink while more packets than this are queued")          \
	P(gamma, 1, 0, 10000, 1, "slow start ends when more packets than this are queued") \
	P(slow_start_rounds, 1, 1, 2, 1, "slow start doubles the window 1: in each RTT; "  \
	  "2: in every other RTT")                                                         \
	P(over_rtt, 0, 0, 1, 1, "divide the queueing delay by 0: baseRTT; 1: RTT")

#define CC_PRESETS(P)                \
	P("linux", "", "Linux 6.12") \
	P("brakmo1995", "slow_start_rounds=2 over_rtt=1", "the paper")

#include "vegas.h"

struct tcp_vegas {
	struct vegas vegas;
	u8 pausing;	/* slow start does not grow in this RTT */
};
CC_PRIVATE(struct tcp_vegas);

CC_HOOK(void, tcp_vegas_init, struct sock *sk)
{
	vegas_init(tcp_sk(sk), &inet_csk_ca(sk)->vegas);
}

CC_HOOK(u32, tcp_vegas_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

static inline void tcp_vegas_slow_start(struct sock *sk, struct tcp_vegas *ca, u32 acked)
{
	if (!ca->pausing)
		tcp_slow_start(tcp_sk(sk), acked);
}

/* When the window shrinks, ssthresh follows it. On hosts where slow start includes cwnd =
 * ssthresh (Linux 2.6) ssthresh goes below, or slow start would restore the packet at once. */
static inline void tcp_vegas_hold_ssthresh(struct tcp_sock *tp)
{
	tp->snd_ssthresh = min(tp->snd_ssthresh, tp->snd_cwnd);
	if (tcp_in_slow_start(tp))
		tp->snd_ssthresh = max(tp->snd_cwnd - 1, 2U);
}

/* Once per RTT, with enough samples. */
static inline void tcp_vegas_adjust(struct sock *sk, struct tcp_vegas *ca, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tp->snd_cwnd, rtt = ca->vegas.minRTT, base = ca->vegas.baseRTT;
	u64 diff = (u64)cwnd * (rtt - base) / (cc_param(sk, over_rtt) ? rtt : base);

	if (tcp_in_slow_start(tp)) {
		if (diff <= cc_param(sk, gamma)) {
			tcp_vegas_slow_start(sk, ca, acked);
		} else {
			u32 target = (u64)cwnd * base / rtt;

			tp->snd_cwnd = max(min(cwnd, target + 1), 2U);
			tcp_vegas_hold_ssthresh(tp);
		}
	} else if (diff > cc_param(sk, beta)) {
		tp->snd_cwnd = max(cwnd, 3U) - 1;
		tcp_vegas_hold_ssthresh(tp);
	} else if (diff < cc_param(sk, alpha)) {
		tp->snd_cwnd = cwnd + 1;
	}

	tp->snd_cwnd = min(max(tp->snd_cwnd, 2U), tp->snd_cwnd_clamp);
	tp->snd_ssthresh = max(tp->snd_ssthresh, tp->snd_cwnd / 2 + tp->snd_cwnd / 4);
}

CC_HOOK(void, tcp_vegas_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_vegas *ca = inet_csk_ca(sk);

	if (!ca->vegas.doing_vegas_now) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	if (vegas_round_ends(tcp_sk(sk), &ca->vegas, ack)) {
		ca->pausing = !ca->pausing && cc_param(sk, slow_start_rounds) > 1;
		if (vegas_has_samples(&ca->vegas))
			tcp_vegas_adjust(sk, ca, acked);
		else
			tcp_reno_cong_avoid(sk, ack, acked);
		vegas_forget_round(&ca->vegas);
	} else if (tcp_in_slow_start(tcp_sk(sk))) {
		tcp_vegas_slow_start(sk, ca, acked);
	}
}

CC_HOOK(void, tcp_vegas_set_state, struct sock *sk, u8 new_state)
{
	vegas_state(tcp_sk(sk), &inet_csk_ca(sk)->vegas, new_state);
}

CC_HOOK(void, tcp_vegas_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	vegas_cwnd_event(tcp_sk(sk), &inet_csk_ca(sk)->vegas, event);
}

CC_HOOK(void, tcp_vegas_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	vegas_pkts_acked(&inet_csk_ca(sk)->vegas, sample);
}

CC_ALGORITHM(vegas, "TCP Vegas (Brakmo, Peterson 1995)",
	     .init = tcp_vegas_init,
	     .ssthresh = tcp_vegas_ssthresh,
	     .cong_avoid = tcp_vegas_cong_avoid,
	     .set_state = tcp_vegas_set_state,
	     .cwnd_event = tcp_vegas_cwnd_event,
	     .pkts_acked = tcp_vegas_pkts_acked,
	     .min_cwnd = tcp_reno_min_cwnd);
