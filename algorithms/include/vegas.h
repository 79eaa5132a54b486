/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The measurements of TCP Vegas, for algorithms that estimate a queue as Vegas does:
 * L. Brakmo, L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global
 * Internet", IEEE JSAC 13(8), 1995. As in Linux the RTT of a window is the smallest of
 * its samples, which delayed ACKs do not disturb. The RTT of the empty path is the
 * smallest since the connection last began to send.
 */
#ifndef VEGAS_H
#define VEGAS_H

#include "tcp_cc.h"

enum { VEGAS_NO_RTT = 0x7fffffff };

struct vegas {
	u32 beg_snd_nxt;	/* sequence number that ends this RTT */
	u32 cntRTT;		/* samples in this RTT */
	u32 minRTT;		/* their least, us */
	u32 baseRTT;		/* least of all, us */
	u8 doing_vegas_now;	/* in Open */
};

static inline void vegas_forget_round(struct vegas *vegas)
{
	vegas->cntRTT = 0;
	vegas->minRTT = VEGAS_NO_RTT;
}

/* Starts a new measurement. */
static inline void vegas_enable(const struct tcp_sock *tp, struct vegas *vegas)
{
	vegas->doing_vegas_now = 1;
	vegas->beg_snd_nxt = tp->snd_nxt;
	vegas_forget_round(vegas);
}

static inline void vegas_init(const struct tcp_sock *tp, struct vegas *vegas)
{
	vegas->baseRTT = VEGAS_NO_RTT;
	vegas_enable(tp, vegas);
}

/* RTTs during recovery say little: measure in Open only. */
static inline void vegas_state(const struct tcp_sock *tp, struct vegas *vegas, u8 new_state)
{
	if (new_state == TCP_CA_Open)
		vegas_enable(tp, vegas);
	else
		vegas->doing_vegas_now = 0;
}

/* After a pause the path may have changed. */
static inline void vegas_cwnd_event(const struct tcp_sock *tp, struct vegas *vegas,
				    enum tcp_ca_event event)
{
	if (event == CA_EVENT_CWND_RESTART || event == CA_EVENT_TX_START)
		vegas_init(tp, vegas);
}

static inline void vegas_pkts_acked(struct vegas *vegas, const struct ack_sample *sample)
{
	u32 rtt_us = (u32)sample->rtt_us + 1;	/* never 0 */

	if (sample->rtt_us < 0)
		return;
	vegas->baseRTT = min(vegas->baseRTT, rtt_us);
	vegas->minRTT = min(vegas->minRTT, rtt_us);
	vegas->cntRTT++;
}

/* Whether the window in flight at the start of this RTT is ACKed; then the next RTT
 * begins. The caller forgets the samples after use. */
static inline bool vegas_round_ends(const struct tcp_sock *tp, struct vegas *vegas, u32 ack)
{
	if (!after(ack, vegas->beg_snd_nxt))
		return false;
	vegas->beg_snd_nxt = tp->snd_nxt;
	return true;
}

/* With one or two samples the delay may be that of a delayed ACK. */
static inline bool vegas_has_samples(const struct vegas *vegas)
{
	return vegas->cntRTT > 2;
}

#endif
