/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The window, or the pacing rate, is what the parameters say at each ACK: somebody else changes
 * them on the way. A loss changes neither, and a timeout the window until the next ACK, as with BBR.
 * With a rate the window is 2 rate min_rtt + 4, which bounds what an outage leaves in flight.
 */
#define CC_PARAMS(P)                                                       \
	P(window, 10, 1, 1000000, 1, "congestion window, packets")         \
	P(rate, 0, 0, 4000000000, 1000, "pacing rate, Mbit/s; 0: the window rules")
#include "tcp_cc.h"

CC_HOOK(void, given_init, struct sock *sk)
{
	tcp_sk(sk)->snd_cwnd = cc_param(sk, window);
	if (cc_param(sk, rate) && sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

CC_HOOK(void, given_cong_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 rate = (u64)cc_param(sk, rate) * 125;

	tp->snd_cwnd = cc_param(sk, window);
	if (rate) {
		sk->sk_pacing_rate = rate;
		rate = div_u64(2 * rate * tcp_min_rtt(tp), USEC_PER_SEC);
		tp->snd_cwnd = min(div_u64(rate, tp->mss_cache) + 4, 1000000ULL);
	}
}

CC_HOOK(u32, given_ssthresh, struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

CC_HOOK(u32, given_undo_cwnd, struct sock *sk)
{
	return tcp_sk(sk)->snd_cwnd;
}

CC_ALGORITHM(given, "the window or the rate that its parameters say",
	     .init = given_init,
	     .ssthresh = given_ssthresh,
	     .cong_control = given_cong_control,
	     .undo_cwnd = given_undo_cwnd);
