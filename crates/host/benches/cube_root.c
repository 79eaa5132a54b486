/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ssthresh() takes 1000 cube roots, of what cubic.h takes them of: 2^40 / C times a distance
 * from W_max, here of up to 2^17 packets at random from snd_cwnd on.
 */
#define CC_PARAMS(P)                                                                    \
	CUBIC_PARAMS(P)                                                                 \
	P(method, 0, 0, 2, 1, "0: none, the loop alone; 1: bisection; 2: cubic.h's")
#include "cubic.h"
#include "bisection.h"

CC_PRIVATE(struct cubic);

CC_HOOK(u32, roots_ssthresh, struct sock *sk)
{
	u32 random = tcp_sk(sk)->snd_cwnd, root = 0;

	for (u32 i = 0; i < 1000; i++) {
		u64 a = (1ULL << 4 * CUBIC_SCALE) / 410 * (random & 0x1ffff);

		switch (cc_param(sk, method)) {
		case 1:
			root = bisection(a);
			break;
		case 2:
			root = cubic_root(a);
			break;
		default:
			root = a >> 20;
		}
		/* xorshift32: the next waits for this one, as in a kernel that takes but one. */
		random += root;
		random ^= random << 13;
		random ^= random >> 17;
		random ^= random << 5;
	}
	return random;
}

CC_ALGORITHM(roots, "cube roots", .ssthresh = roots_ssthresh, .cong_avoid = tcp_reno_cong_avoid);
