/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Prague, for low queueing delay (L4S, RFC 9330): draft-briscoe-iccrg-prague-congestion-control, with
 * the constants of the Linux L4S tree. As DCTCP it measures the share of marked packets and reduces
 * its window by as much; but it may share a path with standard TCP:
 *
 *	alpha += (marked / delivered - alpha) / 16	per RTT, from the first mark on; begins as 1
 *	cwnd -= cwnd alpha / 2				at a mark, once per RTT
 *	cwnd += ai / cwnd				per unmarked packet, also after a reduction
 *
 * Its packets carry ECT(1), by which a queue knows it (RFC 9331), and the receiver counts marks (RFC
 * 9768): scenario key ecn = "accurate". After 500 RTTs a flow with a short RTT behaves as one of 25 ms:
 * its RTT, above, is max(RTT, 25 ms), and ai = (RTT / max(RTT, 25 ms))^2; ai is 1 before. A loss halves
 * the window. Slow start ends at the first mark or loss. Packets are paced at cwnd / RTT, in slow start
 * at twice this.
 *
 * What differs:
 *  - Windows are at least 2 packets, as in the Linux L4S tree.
 *  - Without accurate ECN the flow is Reno. Linux 6.18 has no accurate ECN, so there it is always Reno.
 *  - Bursts are the host's, of up to 1 ms of the pacing rate; the draft asks for 0.25 ms.
 *  - A loss in the RTT of a mark halves the window, whatever the mark took.
 * With reference_rtt_ms=0 the flow keeps its own RTT and ai = 1: as DCTCP, faster on short paths.
 */
#define CC_PARAMS(P)                                                                     \
	P(reference_rtt_ms, 25000, 0, 1000000, 1000, "RTT of flows with shorter RTTs; 0: their own") \
	P(from_round, 500, 0, 1000000, 1, "RTTs before that")                            \
	P(shift_g, 4, 0, 10, 1, "weight of the last RTT in alpha is 1 / 2^shift_g")

#define CC_PRESETS(P) P("draft", "", "the draft and the Linux L4S tree")

#include "tcp_cc.h"

enum { ALPHA_ONE = 1 << 20, MIN_CWND = 2 };

struct prague {
	u32 alpha;		/* share of marked packets, in 2^-20 */
	u32 old_delivered;	/* delivered when this RTT began */
	u32 old_delivered_ce;	/* delivered_ce then */
	u32 seen_ce;		/* delivered_ce at the last ACK */
	u32 round_us;		/* when this RTT began */
	u32 reduced_us;		/* when a mark last reduced the window */
	u32 rounds;		/* RTTs so far */
	u32 fraction;		/* of a packet, beyond cwnd, in 65536ths */
	u8 marked;		/* there was a mark */
};
CC_PRIVATE(struct prague);

CC_HOOK(void, prague_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = inet_csk_ca(sk);

	if (!(tp->ecn_flags & TCP_ECN_MODE_ACCECN)) {
		cc_become_reno(sk);
		return;
	}
	tp->ecn_flags |= TCP_ECN_ECT_1;
	ca->alpha = ALPHA_ONE;
	ca->old_delivered = tp->delivered;
	ca->old_delivered_ce = ca->seen_ce = tp->delivered_ce;
	ca->round_us = ca->reduced_us = tp->tcp_mstamp;
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* The RTT that the flow behaves as if it had. */
static inline u32 prague_rtt_us(struct sock *sk, const struct prague *ca)
{
	u32 rtt_us = max(tcp_sk(sk)->srtt_us >> 3, 1U);

	return ca->rounds < cc_param(sk, from_round) ? rtt_us
						     : max(rtt_us, cc_param(sk, reference_rtt_ms));
}

static inline void prague_update_alpha(struct sock *sk, struct prague *ca)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 delivered = tp->delivered - ca->old_delivered, shift_g = cc_param(sk, shift_g);
	u64 ce = tp->delivered_ce - ca->old_delivered_ce;

	if (ca->marked) {
		u32 share = min_t(u64, (ce << 20) / max(delivered, 1U), ALPHA_ONE);

		ca->alpha = ca->alpha - (ca->alpha >> shift_g) + (share >> shift_g);
	}
	ca->old_delivered = tp->delivered;
	ca->old_delivered_ce = tp->delivered_ce;
	ca->round_us = tp->tcp_mstamp;
	ca->rounds++;
}

static inline void prague_set_window(struct tcp_sock *tp, struct prague *ca, u64 window)
{
	window = clamp_t(u64, window, MIN_CWND << 16, (u64)tp->snd_cwnd_clamp << 16);
	tp->snd_cwnd = window >> 16;
	ca->fraction = window & 0xffff;
}

static inline void prague_grow(struct sock *sk, struct prague *ca, u32 acked, u32 virtual_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 ratio = ((u64)max(tp->srtt_us >> 3, 1U) << 16) / virtual_us, per_packet;

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	per_packet = (ratio * ratio >> 16) / max(tp->snd_cwnd, 1U);
	prague_set_window(tp, ca, ((u64)tp->snd_cwnd << 16) + ca->fraction + acked * per_packet);
}

CC_HOOK(void, prague_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = inet_csk_ca(sk);
	u32 now = tp->tcp_mstamp, virtual_us = prague_rtt_us(sk, ca);
	u32 marked = tp->delivered_ce - ca->seen_ce, rtt_us = max(tp->srtt_us >> 3, 1U);
	u64 rate;

	ca->seen_ce = tp->delivered_ce;
	if (marked && (!ca->marked || now - ca->reduced_us >= virtual_us)) {
		u64 window = ((u64)tp->snd_cwnd << 16) + ca->fraction;

		ca->marked = 1;
		ca->reduced_us = now;
		prague_set_window(tp, ca, window - (window * ca->alpha >> 21));
		tp->snd_ssthresh = tp->snd_cwnd;
	}
	if (now - ca->round_us >= virtual_us)
		prague_update_alpha(sk, ca);
	if (tcp_ca_state(sk) < TCP_CA_Recovery || tcp_ca_state(sk) == TCP_CA_Loss)
		prague_grow(sk, ca, rs->acked_sacked - min(marked, rs->acked_sacked), virtual_us);
	rate = (u64)tp->snd_cwnd * tp->mss_cache * USEC_PER_SEC / rtt_us;
	sk->sk_pacing_rate = tcp_in_slow_start(tp) ? 2 * rate : rate;
}

static inline void prague_halve(struct tcp_sock *tp)
{
	tp->snd_ssthresh = max_t(u32, tp->snd_cwnd / 2, MIN_CWND);
}

/* A mark begins a reduction, too: prague_control has made it. */
CC_HOOK(u32, prague_ssthresh, struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

CC_HOOK(void, prague_set_state, struct sock *sk, u8 new_state)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (new_state == TCP_CA_Recovery && new_state != tcp_ca_state(sk)) {
		prague_halve(tp);
		tp->snd_cwnd = tp->snd_ssthresh;
	}
}

CC_HOOK(void, prague_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_LOSS)
		prague_halve(tcp_sk(sk));
}

CC_HOOK(u32, prague_undo_cwnd, struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}

CC_ALGORITHM(prague, "Prague: DCTCP for paths that are shared, with ECT(1) (L4S)",
	     .init = prague_init,
	     .ssthresh = prague_ssthresh,
	     .set_state = prague_set_state,
	     .cwnd_event = prague_cwnd_event,
	     .cong_control = prague_control,
	     .undo_cwnd = prague_undo_cwnd);
