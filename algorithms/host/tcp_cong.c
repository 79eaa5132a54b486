/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The helpers that the kernel gives its algorithms, natively, for either era of
 * it. An algorithm does not see which: under Linux 2.6 the simulator also calls
 * cong_avoid once per ACK with acked = 1.
 */
#include "cc_call.h"

/* A file that is not trusted gives its own socket to them, and no other. */
#ifdef CC_CHECKED
#define OWN(sk) cc_own(sk, CC_PC)
#else
#define OWN(sk) ((void)0)
#endif

/* Returns the ACKed packets that slow start had no use for. */
u32 tcp_slow_start(struct tcp_sock *tp, u32 acked)
{
	u32 cwnd;

	OWN(tp);
	if (cc_linux_2_6(tp)) {
		tp->snd_cwnd = min(tp->snd_cwnd + 1, tp->snd_cwnd_clamp);
		return 0;
	}
	cwnd = min(tp->snd_cwnd + acked, tp->snd_ssthresh);
	acked -= cwnd - tp->snd_cwnd;
	tp->snd_cwnd = min(cwnd, tp->snd_cwnd_clamp);
	return acked;
}

/* Additive increase: one packet per w packets ACKed. */
void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked)
{
	OWN(tp);
	/* The kernel would divide by 0, and fall over; tcp_cc.h keeps it from that. */
	w = max(w, 1U);
	if (cc_linux_2_6(tp)) {
		if (tp->snd_cwnd_cnt < w) {
			tp->snd_cwnd_cnt++;
			return;
		}
		tp->snd_cwnd_cnt = 0;
		tp->snd_cwnd = min(tp->snd_cwnd + 1, tp->snd_cwnd_clamp);
		return;
	}

	/* Credit earned while w was larger buys one packet, not a burst. */
	if (tp->snd_cwnd_cnt >= w) {
		tp->snd_cwnd_cnt = 0;
		tp->snd_cwnd++;
	}
	tp->snd_cwnd_cnt += acked;
	if (tp->snd_cwnd_cnt >= w) {
		u32 increase = tp->snd_cwnd_cnt / w;

		tp->snd_cwnd_cnt -= increase * w;
		tp->snd_cwnd += increase;
	}
	tp->snd_cwnd = min(tp->snd_cwnd, tp->snd_cwnd_clamp);
}

u32 tcp_reno_ssthresh(struct sock *sk)
{
	OWN(sk);
	return max(tcp_sk(sk)->snd_cwnd >> 1, 2U);
}

void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	OWN(sk);
	cc_cwnd_from_1(sk);
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	OWN(sk);
	return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}

u32 tcp_reno_min_cwnd(const struct sock *sk)
{
	OWN(sk);
	return tcp_sk(sk)->snd_ssthresh / 2;
}

/* The host sends it when the hook returns. Only a receiver's host looks; the last call counts. */
void __tcp_send_ack(struct sock *sk, u32 rcv_nxt)
{
	OWN(sk);
	sk->sk_host.acks = 1;
	sk->sk_host.ack_ecn_flags = tcp_sk(sk)->ecn_flags;
	sk->sk_host.ack_rcv_nxt = rcv_nxt;
}

/* xorshift64* (Marsaglia 2003, Vigna 2014): the same numbers on every machine. */
u32 cc_random(struct sock *sk)
{
	u64 x;

	OWN(sk);
	x = sk->sk_host.random;
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	sk->sk_host.random = x;
	return (x * 0x2545f4914f6cdd1dULL) >> 32;
}
