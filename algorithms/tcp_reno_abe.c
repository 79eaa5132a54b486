/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Standard TCP with ABE (RFC 8511): it keeps 0.8 of the window at a mark, and half of it at a loss.
 * It needs a flow with ECN and a queue that marks; otherwise it is reno.
 */
#define CC_PARAMS(P) P(beta_ecn, 819, 512, 1023, 1024, "window multiplier at a mark")
#include "abe.h"

struct reno_abe {
	u8 echoed;	/* the last ACK had ECE */
};

CC_PRIVATE(struct reno_abe);

CC_HOOK(void, renoabe_in_ack_event, struct sock *sk, u32 flags)
{
	struct reno_abe *abe = inet_csk_ca(sk);

	abe->echoed = !!(flags & CA_ACK_ECE);
}

CC_HOOK(u32, renoabe_ssthresh, struct sock *sk)
{
	struct reno_abe *abe = inet_csk_ca(sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	if (abe_is_for_mark(sk, abe->echoed))
		return max((u32)((u64)cwnd * cc_param(sk, beta_ecn) / 1024), 2U);
	return tcp_reno_ssthresh(sk);
}

CC_HOOK(void, renoabe_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

CC_ALGORITHM(reno_abe, "standard TCP with ABE (RFC 8511): yields less to a mark than to a loss",
	     .ssthresh = renoabe_ssthresh,
	     .cong_avoid = renoabe_cong_avoid,
	     .in_ack_event = renoabe_in_ack_event);
