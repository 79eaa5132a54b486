/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Congestion avoidance with an increase per RTT that need not be whole packets. */
#ifndef GROWTH_H
#define GROWTH_H

#include "tcp_cc.h"

enum { GROWTH_ONE = 1 << 16 };	/* an increase of one packet per RTT */

/*
 * cwnd += acked * per_rtt / cwnd. A remainder below one packet stays in *credit, in
 * 1/(65536 cwnd) packet. A window at most doubles per RTT.
 */
static inline void cc_grow(struct tcp_sock *tp, u64 *credit, u64 per_rtt, u32 acked)
{
	u64 packet = (u64)max(tp->snd_cwnd, 1U) << 16;

	*credit += min_t(u64, per_rtt, packet) * acked;
	if (*credit >= packet) {
		u32 grown = *credit / packet;

		*credit -= grown * packet;
		tp->snd_cwnd = min(tp->snd_cwnd + grown, tp->snd_cwnd_clamp);
	}
}

#endif
