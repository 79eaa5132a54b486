/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Leaves windows that no sender can live with. */
#define CC_PARAMS(P)                                                  \
	P(cwnd, 1, 0, 0xffffffff, 1, "what cong_avoid makes of cwnd") \
	P(ssthresh, 2, 0, 0xffffffff, 1, "what ssthresh returns")
#include "tcp_cc.h"

struct wild {
	u8 unused;
};

CC_PRIVATE(struct wild);

CC_HOOK(u32, wild_ssthresh, struct sock *sk)
{
	return cc_param(sk, ssthresh);
}

CC_HOOK(void, wild_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
	if (cc_param(sk, cwnd) != 1)
		tcp_sk(sk)->snd_cwnd = cc_param(sk, cwnd);
}

CC_ALGORITHM(wild, "leaves windows that no sender can live with",
	     .ssthresh = wild_ssthresh,
	     .cong_avoid = wild_cong_avoid);
