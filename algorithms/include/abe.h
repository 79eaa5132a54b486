/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Alternative Backoff with ECN (RFC 8511): a mark comes from a short queue, as AQM keeps it. So a
 * sender that is marked may keep more of its window than one that lost a packet. Section 3.1 says
 * when: in congestion avoidance, and not if packets are lost at the same time.
 */
#ifndef ABE_H
#define ABE_H

#include "tcp_cc.h"

/* In ssthresh(): is this reduction for a mark? `echoed`: the last ACK had ECE. */
static inline bool abe_is_for_mark(struct sock *sk, bool echoed)
{
	struct tcp_sock *tp = tcp_sk(sk);

	/* A lost packet is counted before ssthresh() is called. */
	return echoed && !tp->lost_out && !tcp_in_slow_start(tp);
}

#endif
