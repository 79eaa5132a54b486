/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * HighSpeed TCP: S. Floyd, RFC 3649, 2003. Up to 38 packets this is standard TCP. Above, the
 * growth per RTT is a(w), and a loss costs the part b(w) of the window. Both follow from the
 * response function that reaches 83000 packets at a loss rate of 1e-7:
 *
 *	b(w) = 0.5 - 0.4 log(w / 38) / log(83000 / 38)
 *	a(w) = w^2 0.078 / w^1.2 2 b(w) / (2 - b(w))
 *
 * The table is Linux's. Row i (from 1) has the window at which a(w) reaches i, and b(w) in
 * 1/256, rounded down. A test checks every row against the formulas. A window between two
 * rows uses the upper row, so growth is up to 1 packet per RTT more than a(w).
 *
 * Preset linux (the default) is the HighSpeed TCP of Linux 6.12. It differs from the RFC:
 *  - It counts ACKs, not packets. An ACK for n packets counts once, so growth is 1/n of the
 *    law with delayed ACKs, and less with offloading receivers.
 *  - It looks up the row in congestion avoidance only. The first loss, at the end of slow
 *    start, therefore costs half of the window, however large the window is.
 * Preset rfc3649 has neither difference. Linux also lowers snd_cwnd_clamp to 2^32 / 128. No
 * window reaches this limit, and a BPF program may not write it.
 */
#define CC_PARAMS(P)                                                                  \
	P(count_packets, 0, 0, 1, 1, "growth counts 0: ACKs; 1: ACKed packets")       \
	P(lookup_at_loss, 0, 0, 1, 1,                                                 \
	  "a loss costs by the table 0: at the last window of congestion avoidance; " \
	  "1: at the window of the loss")

#define CC_PRESETS(P)                \
	P("linux", "", "Linux 6.12") \
	P("rfc3649", "count_packets=1 lookup_at_loss=1", "the RFC")

#include "tcp_cc.h"

struct hstcp {
	u32 ai;		/* row of the table; growth per RTT is ai + 1 */
};
CC_PRIVATE(struct hstcp);

struct hstcp_row {
	u32 cwnd;	/* the row holds up to this window, packets */
	u32 md;		/* part of the window that a loss costs, 1/256 */
};

static const struct hstcp_row hstcp_table[] = {
	{ 38, 128 },    { 118, 112 },   { 221, 104 },   { 347, 98 },    { 495, 93 },
	{ 663, 89 },    { 851, 86 },    { 1058, 83 },   { 1284, 81 },   { 1529, 78 },
	{ 1793, 76 },   { 2076, 74 },   { 2378, 72 },   { 2699, 71 },   { 3039, 69 },
	{ 3399, 68 },   { 3778, 66 },   { 4177, 65 },   { 4596, 64 },   { 5036, 62 },
	{ 5497, 61 },   { 5979, 60 },   { 6483, 59 },   { 7009, 58 },   { 7558, 57 },
	{ 8130, 56 },   { 8726, 55 },   { 9346, 54 },   { 9991, 53 },   { 10661, 52 },
	{ 11358, 52 },  { 12082, 51 },  { 12834, 50 },  { 13614, 49 },  { 14424, 48 },
	{ 15265, 48 },  { 16137, 47 },  { 17042, 46 },  { 17981, 45 },  { 18955, 45 },
	{ 19965, 44 },  { 21013, 43 },  { 22101, 43 },  { 23230, 42 },  { 24402, 41 },
	{ 25618, 41 },  { 26881, 40 },  { 28193, 39 },  { 29557, 39 },  { 30975, 38 },
	{ 32450, 38 },  { 33986, 37 },  { 35586, 36 },  { 37253, 36 },  { 38992, 35 },
	{ 40808, 35 },  { 42707, 34 },  { 44694, 33 },  { 46776, 33 },  { 48961, 32 },
	{ 51258, 32 },  { 53677, 31 },  { 56230, 30 },  { 58932, 30 },  { 61799, 29 },
	{ 64851, 28 },  { 68113, 28 },  { 71617, 27 },  { 75401, 26 },  { 79517, 26 },
	{ 84035, 25 },  { 89053, 24 },
};
enum { HSTCP_ROWS = sizeof(hstcp_table) / sizeof(hstcp_table[0]) };

/* Binary search, with bounds that the verifier sees: the first row that holds cwnd, or the last. */
static inline void hstcp_lookup(struct hstcp *ca, u32 cwnd)
{
	u32 row = 0;

	for (u32 step = 64; step; step >>= 1) {
		u32 next = row + step;

		if (next < HSTCP_ROWS && cwnd > hstcp_table[next - 1].cwnd)
			row = next;
	}
	ca->ai = row;
}

CC_HOOK(void, hstcp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct hstcp *ca = inet_csk_ca(sk);
	u32 growth;

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!cc_param(sk, count_packets) || !acked)
			return;		/* Linux drops what slow start left over */
	}

	hstcp_lookup(ca, tp->snd_cwnd);
	growth = ca->ai + 1;
	if (cc_param(sk, count_packets))
		growth *= min(acked, 0xffffU);
	tp->snd_cwnd_cnt += growth;
	if (tp->snd_cwnd_cnt >= tp->snd_cwnd) {
		u32 increase = cc_param(sk, count_packets) ? tp->snd_cwnd_cnt / tp->snd_cwnd : 1;

		tp->snd_cwnd_cnt -= increase * tp->snd_cwnd;
		tp->snd_cwnd = min(tp->snd_cwnd + increase, tp->snd_cwnd_clamp);
	}
}

CC_HOOK(u32, hstcp_ssthresh, struct sock *sk)
{
	struct hstcp *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd, row;

	if (cc_param(sk, lookup_at_loss))
		hstcp_lookup(ca, cwnd);
	row = min(ca->ai, (u32)HSTCP_ROWS - 1);
	return max(cwnd - (u32)((u64)cwnd * hstcp_table[row].md >> 8), 2U);
}

CC_ALGORITHM(highspeed, "HighSpeed TCP (RFC 3649)",
	     .ssthresh = hstcp_ssthresh,
	     .cong_avoid = hstcp_cong_avoid,
	     .min_cwnd = tcp_reno_min_cwnd);
