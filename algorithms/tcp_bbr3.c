/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * BBR version 3: N. Cardwell, I. Swett, J. Beshay (eds.), "BBR Congestion Control",
 * draft-ietf-ccwg-bbr, text of August 2026. As version 1 (tcp_bbr.c) it models the path by the
 * largest delivery rate (max_bw, of two cycles of PROBE_BW) and the smallest RTT (min_rtt, of 10 s).
 * Unlike version 1 it also learns from losses how many packets the path can hold:
 *
 *	state	pacing gain  cwnd gain	cwnd is at most			until
 *	STARTUP	2.77	2						3 rounds in which the rate did not
 *									grow by 25 %, or 6 losses in a round
 *									and more than 2 % lost
 *	DRAIN	0.5	2	inflight_st				the BDP is in flight, or 3 rounds
 *	DOWN	0.9	2	inflight_lt, inflight_st		the BDP is in flight
 *	CRUISE	1	2	0.85 inflight_lt, inflight_st		2 to 3 s, or 63 rounds, from DOWN on
 *	REFILL	1	2	inflight_lt				a round
 *	UP	1.25	2.25	inflight_lt, which grows		the rate grows no more, or a loss
 *	PROBE_RTT 1	0.5	0.85 inflight_lt, inflight_st		200 ms and a round; each 5 s
 *
 * If more than 2 % are lost in REFILL or UP, inflight_lt (long term) becomes what was in flight
 * then. In UP it grows by 1 packet in the first round, by 2 in the second, by 4 in the third. In
 * other states a round with a loss reduces bw_st and inflight_st (short term) by 30 %, but not below
 * what the round delivered; REFILL forgets both.
 *
 * The draft asks its host for more than Linux has:
 *  - tx_in_flight, the packets in flight when a packet was sent. Here: those delivered and lost from
 *    then on. Exact without reordering.
 *  - lost, counted from when a packet was sent. Here: those lost since the loss round began, and
 *    for a packet that is older as large a share as in the round before. Up to a round too early or
 *    late.
 *  - A call for each lost packet. Here: one per ACK, with the sample of the newest packet that
 *    it delivers. That is later than the lost one by the reordering window, 3 packets or RTT / 4,
 *    so inflight_lt is larger by a quarter of these in UP. Several lost ranges on one ACK count as one
 *    of the six that end STARTUP.
 *  - Whether the receiver has SACK: assumed.
 * What differs on purpose:
 *  - A mark (ECE) counts as the loss of more than 2 %, once per round. The draft leaves out ECN.
 *  - "Inflight >= inflight_lt" in UP takes the packets before the ACK: after it there are
 *    always fewer than cwnd.
 *  - After a timeout inflight_st begins with the window of before, not with 1 packet.
 *  - A delayed ACK does not renew an RTT that is too old, as in version 1.
 *  - The age of extra_acked is 5 to 10 rounds: of two windows of 5.
 * Preset google has the constants of Google's branch of Linux (v3, 2023), without its use of ECN.
 */
#define CC_PARAMS(P)                                                                              \
	P(startup_gain, 2770, 1001, 10000, 1000, "pacing gain of STARTUP")                        \
	P(drain_gain, 500, 1, 999, 1000, "pacing gain of DRAIN")                                  \
	P(down_gain, 900, 1, 999, 1000, "pacing gain of DOWN")                                    \
	P(cwnd_gain, 2000, 1000, 10000, 1000, "window in BDPs, but in UP and PROBE_RTT")          \
	P(loss_thresh, 20, 0, 500, 1000, "share of lost packets that a probe may cause")          \
	P(beta, 700, 1, 1000, 1000, "least part of the model that a round with a loss leaves")     \
	P(headroom, 150, 0, 900, 1000, "part of inflight_lt that CRUISE leaves to others")        \
	P(full_loss_cnt, 6, 1, 7, 1, "ACKs with losses in a round that may end STARTUP")          \
	P(drain_rtts, 3, 0, 6, 1, "rounds after which DRAIN ends; 0: only once it has drained")    \
	P(probe_rtt_win_ms, 5000, 1, 3600000, 1, "time after which PROBE_RTT comes, ms")          \
	P(probe_rtt_mode_ms, 200, 0, 10000, 1, "least duration of PROBE_RTT, ms")

#define CC_PRESETS(P)                                                                \
	P("draft", "", "draft-ietf-ccwg-bbr, August 2026")                           \
	P("google", "drain_gain=347 down_gain=910 drain_rtts=0", \
	  "Google's branch of Linux, v3")

#include "tcp_cc.h"

#define BW_SCALE 24		/* rates are in packets per us << 24 */
#define BW_UNIT (1 << BW_SCALE)
#define UNBOUNDED 0xffffffU	/* of 24 bits: there is no bound */
#define SHARE_SCALE 10

enum {
	UNIT = 1000,			/* of gains and shares */
	UP_GAIN = 1250,
	PROBE_RTT_CWND_GAIN = 500,
	PACING_MARGIN_PERCENT = 1,	/* pace so much below bw */
	MIN_PIPE_CWND = 4,
	FULL_BW_CNT = 3,
	MIN_RTT_WIN_MS = 10000,
	MAX_RENO_RTTS = 63,		/* rounds after which a new probe comes at the latest, */
	MIN_PROBE_WAIT_MS = 2000,	/* and time, to which up to 1 s is added */
	MAX_UP_ROUNDS = 30,
	EXTRA_ACKED_WIN_RTTS = 5,
	EXTRA_ACKED_MAX = 0xfffff,
	MAX_BURST_BYTES = 65536,
};

enum bbr3_state { STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT };
/* Which samples arrive: */
enum bbr3_ack_phase {
	ACKS_INIT,		/* not of a probe */
	ACKS_REFILLING,		/* of REFILL */
	ACKS_PROBE_STARTING,	/* still of REFILL, but UP has begun */
	ACKS_PROBE_FEEDBACK,	/* of UP */
	ACKS_PROBE_STOPPING,	/* still of UP, but it has ended */
};
/* What a loss has ended that may have been none. */
enum bbr3_undo { UNDO_NONE, UNDO_STARTUP, UNDO_UP };

struct bbr3 {
	u32 min_rtt_us;			/* least RTT of 10 s */
	u32 min_rtt_ms;			/* when it was seen */
	u32 probe_rtt_min_us;		/* least RTT of 5 s */
	u32 probe_rtt_min_ms;		/* when it was seen */
	u32 max_bw[2];			/* largest rate of the last cycle, of this one */
	u32 bw_st;			/* short-term bound; U32_MAX: none */
	u32 undo_bw_st;			/* that before the loss */
	u32 bw_latest;			/* largest rate of the loss round */
	u32 full_bw;			/* rate that full_bw_cnt compares with */
	u32 next_round_delivered;	/* this round ends with a packet sent after so many */
	u32 loss_round_delivered;	/* the same of the loss round */
	u32 loss_round_lost;		/* tp->lost when that began */
	u32 cycle_ms;			/* when DOWN began; in PROBE_RTT: when it may end */
	u32 extra_acked_us;		/* since when extra_acked_delivered counts */
	u16 extra_acked[2];		/* most ACKed beyond bw * time: two windows */
	u32 extra_acked_delivered : 20;
	u32 lost_share : 12;		/* lost per delivered, in the loss round before, in 1/1024 */
	u32 inflight_lt : 24;		/* long-term bound, packets */
	u32 state : 3;			/* enum bbr3_state */
	u32 ack_phase : 3;		/* enum bbr3_ack_phase */
	u32 undo_state : 2;		/* enum bbr3_undo */
	u32 inflight_st : 24;		/* short-term bound, packets */
	u32 full_bw_cnt : 2;		/* rounds in which the rate did not grow */
	u32 full_bw_now : 1;		/* it does not grow now */
	u32 full_bw_reached : 1;	/* STARTUP is over */
	u32 round_start : 1;		/* this ACK began a round */
	u32 prev_ca_state : 3;		/* icsk_ca_state at the last ACK */
	u32 undo_inflight_lt : 24;	/* inflight_lt before the loss */
	u32 loss_events : 3;		/* ACKs with losses in this loss round, up to 7 */
	u32 drain_rounds : 3;		/* rounds in DRAIN, up to 7 */
	u32 probe_rtt_timed : 1;	/* cycle_ms says when PROBE_RTT may end */
	u32 probe_rtt_round_done : 1;	/* a round has passed since */
	u32 undo_inflight_st : 24;	/* inflight_st before the loss */
	u32 up_rounds : 5;		/* rounds in UP */
	u32 idle_restart : 1;		/* sending again after a pause */
	u32 is_bw_probe_sample : 1;	/* a loss would be of this probe */
	u32 is_loss_in_round : 1;	/* one in this loss round */
	u32 inflight_latest : 24;	/* most delivered between a packet and its ACK, loss round */
	u32 rounds_since_probe_up : 6;	/* up to 63 */
	u32 prev_probe_too_high : 1;	/* the last UP ended with losses */
	u32 prev_probe_precautionary : 1;	/* it ended at inflight_lt, as the one before had losses */
	u32 prior_cwnd : 24;		/* cwnd before a recovery or PROBE_RTT */
	u32 has_seen_rtt : 1;		/* the pacing rate has begun with a real RTT */
	u32 extra_acked_win_rtts : 3;	/* age of the window of extra_acked, rounds */
	u32 extra_acked_win_idx : 1;	/* which of the two it is */
	u32 unused : 3;
	u32 up_acked_per_inc : 24;	/* packets ACKed in UP for 1 more in inflight_lt */
	u32 bw_probe_wait : 8;		/* wait for the next probe beyond 2 s, in 1/256 s */
	u32 up_acked : 24;		/* ACKed towards the next */
	u32 unused_b : 8;
};
CC_PRIVATE(struct bbr3);

/* Functions that are not inline keep the verifier's work below its limit. */

/* What an ACK says of the newest packet that it delivers. */
struct sample {
	u32 bw;			/* delivery rate; 0: none */
	u32 tx_in_flight;	/* packets in flight when it was sent, with itself */
	u32 lost;		/* packets lost since then */
	u32 prior_in_flight;	/* packets in flight before the ACK */
	u32 acked;		/* packets that it delivers */
	bool is_app_limited;
	bool loss_round_start;
};

/* What the model makes of the path. */

static inline u32 bbr3_now_ms(const struct tcp_sock *tp)
{
	return tp->tcp_mstamp / USEC_PER_MSEC;
}

static inline u32 bbr3_max_bw(const struct bbr3 *bbr)
{
	return max(bbr->max_bw[0], bbr->max_bw[1]);
}

static inline u32 bbr3_bw(const struct bbr3 *bbr)
{
	return min(bbr3_max_bw(bbr), bbr->bw_st);
}

/* gain * bw * min_rtt, rounded up, packets. */
static inline u32 bbr3_bdp(const struct bbr3 *bbr, u32 bw, u32 gain)
{
	u64 packets;

	if (bbr->min_rtt_us == U32_MAX)
		return TCP_INIT_CWND;
	packets = ((u64)bw * bbr->min_rtt_us + BW_UNIT - 1) >> BW_SCALE;
	return min_t(u64, (packets * gain + UNIT - 1) / UNIT, UNBOUNDED - 1);
}

/* What the BDP is, unless congestion has cut the window. */
static inline u32 bbr3_target_inflight(const struct tcp_sock *tp, const struct bbr3 *bbr)
{
	return min(bbr3_bdp(bbr, bbr3_bw(bbr), UNIT), tp->snd_cwnd);
}

/* What is sent at once: the data of 1 ms. */
static inline u32 bbr3_quantum(const struct sock *sk)
{
	u32 bytes = min_t(u64, sk->sk_pacing_rate / MSEC_PER_SEC, MAX_BURST_BYTES);

	return max(bytes / tcp_sk(sk)->mss_cache, 2U);
}

/* Room for three bursts: one waits to be sent, one is being sent, one waits at the receiver. */
static inline u32 bbr3_quantize(const struct sock *sk, const struct bbr3 *bbr, u32 packets)
{
	packets = max3(packets, 3 * bbr3_quantum(sk), (u32)MIN_PIPE_CWND);
	return bbr->state == UP ? packets + 2 : packets;
}

static inline u32 bbr3_inflight(const struct sock *sk, const struct bbr3 *bbr, u32 bw)
{
	return bbr3_quantize(sk, bbr, bbr3_bdp(bbr, bw, UNIT));
}

/* Leaves room for others to grow. */
static inline u32 bbr3_inflight_with_headroom(struct sock *sk, const struct bbr3 *bbr)
{
	u32 most = bbr->inflight_lt, headroom;

	if (most == UNBOUNDED)
		return UNBOUNDED;
	headroom = max((u32)((u64)most * cc_param(sk, headroom) / UNIT), 1U);
	return max_t(s32, most - headroom, MIN_PIPE_CWND);
}

static inline u32 bbr3_probe_rtt_cwnd(const struct bbr3 *bbr)
{
	return max_t(u32, bbr3_bdp(bbr, bbr3_bw(bbr), PROBE_RTT_CWND_GAIN), MIN_PIPE_CWND);
}

static inline bool bbr3_is_in_probe_bw(const struct bbr3 *bbr)
{
	return bbr->state >= DOWN && bbr->state <= UP;
}

static inline bool bbr3_is_probing_bw(const struct bbr3 *bbr)
{
	return bbr->state == STARTUP || bbr->state == REFILL || bbr->state == UP;
}

static inline bool bbr3_is_inflight_too_high(struct sock *sk, const struct sample *s)
{
	return (u64)s->lost * UNIT > (u64)s->tx_in_flight * cc_param(sk, loss_thresh);
}

/* Pacing. */

static inline u32 bbr3_pacing_gain(struct sock *sk, const struct bbr3 *bbr)
{
	switch (bbr->state) {
	case STARTUP:
		return cc_param(sk, startup_gain);
	case DRAIN:
		return cc_param(sk, drain_gain);
	case DOWN:
		return cc_param(sk, down_gain);
	case UP:
		return UP_GAIN;
	default:
		return UNIT;
	}
}

/* No step exceeds 64 bits up to 2.9 Tb/s. */
static inline u64 bbr3_pacing_rate(const struct sock *sk, u64 bw, u32 gain)
{
	u64 rate = bw * tcp_sk(sk)->mss_cache * gain / UNIT;

	rate = rate * (USEC_PER_SEC / 100 * (100 - PACING_MARGIN_PERCENT)) >> BW_SCALE;
	return min_t(u64, rate, sk->sk_max_pacing_rate);
}

static inline void bbr3_init_pacing_rate(struct sock *sk, struct bbr3 *bbr)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt_us = USEC_PER_MSEC;
	u64 bw = (u64)tp->snd_cwnd * BW_UNIT;

	if (tp->srtt_us) {
		rtt_us = max(tp->srtt_us >> 3, 1U);
		bbr->has_seen_rtt = 1;
	}
	sk->sk_pacing_rate = bbr3_pacing_rate(sk, bw / rtt_us, cc_param(sk, startup_gain));
}

static __noinline void bbr3_set_pacing_rate(struct sock *sk, struct bbr3 *bbr, u32 gain)
{
	u64 rate = bbr3_pacing_rate(sk, bbr3_bw(bbr), gain);

	if (!bbr->has_seen_rtt && tcp_sk(sk)->srtt_us)
		bbr3_init_pacing_rate(sk, bbr);
	if (bbr->full_bw_reached || rate > sk->sk_pacing_rate)
		sk->sk_pacing_rate = rate;
}

/* States. */

static inline void bbr3_start_round(const struct tcp_sock *tp, struct bbr3 *bbr)
{
	bbr->next_round_delivered = tp->delivered;
}

static inline void bbr3_reset_full_bw(struct bbr3 *bbr, u32 bw)
{
	bbr->full_bw = bw;
	bbr->full_bw_cnt = 0;
	bbr->full_bw_now = 0;
}

static inline void bbr3_reset_congestion_signals(struct bbr3 *bbr)
{
	bbr->is_loss_in_round = 0;
	bbr->bw_latest = 0;
	bbr->inflight_latest = 0;
}

static inline void bbr3_reset_short_term_model(struct bbr3 *bbr)
{
	bbr->bw_st = U32_MAX;
	bbr->inflight_st = UNBOUNDED;
}

static inline void bbr3_start_down(struct sock *sk, struct bbr3 *bbr)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 random = cc_random(sk);

	bbr3_reset_congestion_signals(bbr);
	bbr->up_acked_per_inc = UNBOUNDED;
	/* Flows that probe together see each other's losses. */
	bbr->rounds_since_probe_up = random & 1;
	bbr->bw_probe_wait = random >> 24;
	bbr->cycle_ms = bbr3_now_ms(tp);
	bbr->ack_phase = ACKS_PROBE_STOPPING;
	bbr3_start_round(tp, bbr);
	bbr->state = DOWN;
}

static inline void bbr3_start_refill(const struct tcp_sock *tp, struct bbr3 *bbr)
{
	bbr3_reset_short_term_model(bbr);
	bbr->up_rounds = 0;
	bbr->up_acked = 0;
	bbr->prev_probe_precautionary = 0;
	bbr->ack_phase = ACKS_REFILLING;
	bbr3_start_round(tp, bbr);
	bbr->state = REFILL;
}

static inline void bbr3_raise_inflight_lt_slope(const struct tcp_sock *tp, struct bbr3 *bbr)
{
	u32 packets = tp->snd_cwnd >> bbr->up_rounds;

	bbr->up_rounds = min_t(u32, bbr->up_rounds + 1, MAX_UP_ROUNDS);
	bbr->up_acked_per_inc = clamp(packets, 1U, UNBOUNDED);
}

static inline void bbr3_start_up(const struct tcp_sock *tp, struct bbr3 *bbr,
				 const struct sample *s)
{
	bbr->ack_phase = ACKS_PROBE_STARTING;
	bbr3_start_round(tp, bbr);
	bbr3_reset_full_bw(bbr, s->bw);
	bbr->state = UP;
	bbr3_raise_inflight_lt_slope(tp, bbr);
}

/* By the clock, or after as many rounds as Reno would need to grow back. */
static inline bool bbr3_is_time_to_probe_bw(const struct tcp_sock *tp, const struct bbr3 *bbr)
{
	u32 wait_ms = MIN_PROBE_WAIT_MS + (bbr->bw_probe_wait * MSEC_PER_SEC >> 8);
	u32 rounds = min_t(u32, bbr3_target_inflight(tp, bbr), MAX_RENO_RTTS);

	return after(bbr3_now_ms(tp), bbr->cycle_ms + wait_ms) ||
	       bbr->rounds_since_probe_up >= rounds;
}

/* Losses. */

static inline void bbr3_save_cwnd(const struct tcp_sock *tp, struct bbr3 *bbr)
{
	bool reduced = bbr->prev_ca_state >= TCP_CA_Recovery || bbr->state == PROBE_RTT;
	u32 cwnd = min(tp->snd_cwnd, UNBOUNDED);

	bbr->prior_cwnd = reduced ? max_t(u32, bbr->prior_cwnd, cwnd) : cwnd;
}

static inline void bbr3_save_state_upon_loss(const struct tcp_sock *tp, struct bbr3 *bbr)
{
	bbr3_save_cwnd(tp, bbr);
	bbr->undo_state = UNDO_NONE;
	bbr->undo_bw_st = bbr->bw_st;
	bbr->undo_inflight_st = bbr->inflight_st;
	bbr->undo_inflight_lt = bbr->inflight_lt;
}

static inline void bbr3_note_loss(const struct tcp_sock *tp, struct bbr3 *bbr)
{
	if (!bbr->is_loss_in_round) {
		bbr->loss_round_delivered = tp->delivered;
		bbr3_save_state_upon_loss(tp, bbr);
	}
	bbr->is_loss_in_round = 1;
}

/* How many packets were in flight when the losses exceeded loss_thresh? */
static inline u32 bbr3_inflight_at_loss(struct sock *sk, const struct sample *s, u32 losses)
{
	u32 thresh = cc_param(sk, loss_thresh);
	u32 inflight_prev = s->tx_in_flight - min(s->tx_in_flight, losses);
	u32 lost_prev = s->lost - min(s->lost, losses);
	u64 may_lose = (u64)inflight_prev * thresh, had_lost = (u64)lost_prev * UNIT;

	if (may_lose <= had_lost)
		return inflight_prev;
	return inflight_prev + (u32)((may_lose - had_lost) / (UNIT - thresh));
}

static inline void bbr3_handle_inflight_too_high(struct sock *sk, struct bbr3 *bbr,
						 const struct sample *s, u32 inflight)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	bbr->prev_probe_too_high = 1;
	bbr->is_bw_probe_sample = 0;
	if (!s->is_app_limited) {
		u64 least = (u64)bbr3_target_inflight(tp, bbr) * cc_param(sk, beta) / UNIT;

		bbr->inflight_lt = clamp_t(u32, inflight, least, UNBOUNDED - 1);
	}
	if (bbr->state == UP) {
		bbr->undo_state = UNDO_UP;
		bbr3_start_down(sk, bbr);
	}
}

static __noinline void bbr3_handle_losses(struct sock *sk, struct bbr3 *bbr, const struct sample *s,
				      u32 losses)
{
	u8 state = tcp_ca_state(sk);
	bool marked = state == TCP_CA_CWR && bbr->prev_ca_state != TCP_CA_CWR;

	if (!losses && !marked)
		return;
	bbr3_note_loss(tcp_sk(sk), bbr);
	bbr->loss_events = min(bbr->loss_events + 1U, 7U);
	if (!bbr->is_bw_probe_sample)
		return;
	if (marked)
		bbr3_handle_inflight_too_high(sk, bbr, s, s->tx_in_flight);
	else if (bbr3_is_inflight_too_high(sk, s))
		bbr3_handle_inflight_too_high(sk, bbr, s, bbr3_inflight_at_loss(sk, s, losses));
}

/* What an ACK does, in this order. */

static inline void bbr3_get_sample(const struct tcp_sock *tp, const struct bbr3 *bbr,
				   const struct rate_sample *rs, struct sample *s)
{
	u32 earlier = bbr->loss_round_delivered - rs->prior_delivered;

	s->acked = rs->acked_sacked;
	s->prior_in_flight = rs->prior_in_flight;
	s->is_app_limited = rs->is_app_limited;
	if (rs->delivered <= 0)
		return;
	if (rs->interval_us > 0)
		s->bw = (u64)(u32)rs->delivered * BW_UNIT / (u32)rs->interval_us;
	s->lost = tp->lost - bbr->loss_round_lost;
	if ((s32)earlier > 0)
		s->lost += (u64)earlier * bbr->lost_share >> SHARE_SCALE;
	s->tx_in_flight = rs->delivered + s->lost;
}

static __noinline void bbr3_update_latest_delivery_signals(const struct tcp_sock *tp,
						       struct bbr3 *bbr,
						       const struct rate_sample *rs,
						       struct sample *s)
{
	u32 delivered;

	if (rs->delivered <= 0)
		return;
	bbr->bw_latest = max(bbr->bw_latest, s->bw);
	bbr->inflight_latest =
		clamp_t(u32, rs->delivered, (u32)bbr->inflight_latest, UNBOUNDED - 1);
	if (before(rs->prior_delivered, bbr->loss_round_delivered))
		return;
	delivered = max(tp->delivered - bbr->loss_round_delivered, 1U);
	bbr->lost_share = min_t(u64,
				((u64)(tp->lost - bbr->loss_round_lost) << SHARE_SCALE) / delivered,
				0xfff);
	bbr->loss_round_delivered = tp->delivered;
	bbr->loss_round_lost = tp->lost;
	s->loss_round_start = 1;
}

static inline void bbr3_update_max_bw(const struct tcp_sock *tp, struct bbr3 *bbr,
				      const struct rate_sample *rs, const struct sample *s)
{
	bbr->round_start = 0;
	if (rs->delivered <= 0)
		return;
	if (!before(rs->prior_delivered, bbr->next_round_delivered)) {
		bbr3_start_round(tp, bbr);
		bbr->round_start = 1;
		bbr->rounds_since_probe_up = min(bbr->rounds_since_probe_up + 1U, 63U);
		bbr->drain_rounds = min(bbr->drain_rounds + 1U, 7U);
	}
	/* A sample that the application limited says only that the path has at least this. */
	if (!s->is_app_limited || s->bw >= bbr3_max_bw(bbr))
		bbr->max_bw[1] = max(bbr->max_bw[1], s->bw);
}

static __noinline void bbr3_adapt_lower_bounds(struct sock *sk, struct bbr3 *bbr,
					   const struct sample *s)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 beta = cc_param(sk, beta), cwnd = tp->snd_cwnd;

	if (!s->loss_round_start)
		return;
	if (!bbr3_is_probing_bw(bbr) && bbr->is_loss_in_round) {
		if (bbr->bw_st == U32_MAX)
			bbr->bw_st = bbr3_max_bw(bbr);
		if (bbr->inflight_st == UNBOUNDED) {
			if (bbr->prev_ca_state == TCP_CA_Loss)
				cwnd = max_t(u32, cwnd, bbr->prior_cwnd);
			bbr->inflight_st = min(cwnd, UNBOUNDED - 1);
		}
		bbr->bw_st = max(bbr->bw_latest, (u32)((u64)bbr->bw_st * beta / UNIT));
		bbr->inflight_st = max_t(u32, bbr->inflight_latest,
					 (u64)bbr->inflight_st * beta / UNIT);
	}
	bbr->is_loss_in_round = 0;
}

static inline void bbr3_keep_extra_acked(struct bbr3 *bbr, u32 packets)
{
	if (bbr->extra_acked_win_idx)
		bbr->extra_acked[1] = packets;
	else
		bbr->extra_acked[0] = packets;
}

/* How many packets are ACKed beyond what bw explains, in bunches that come after a silence. */
static __noinline void bbr3_update_ack_aggregation(struct sock *sk, struct bbr3 *bbr,
					       const struct sample *s)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 now_us = tp->tcp_mstamp, expected, extra, kept;

	if (!s->acked)
		return;
	if (bbr->round_start) {
		u32 age = bbr->extra_acked_win_rtts + 1;

		/* In STARTUP one round counts. */
		if (age >= EXTRA_ACKED_WIN_RTTS || !bbr->full_bw_reached) {
			age = 0;
			bbr->extra_acked_win_idx ^= 1;
			bbr3_keep_extra_acked(bbr, 0);
		}
		bbr->extra_acked_win_rtts = age;
	}
	expected = min_t(u64, (u64)bbr3_bw(bbr) * (now_us - bbr->extra_acked_us) >> BW_SCALE,
			 EXTRA_ACKED_MAX);
	/* It counts anew when the ACKs are slower than bw. */
	if (bbr->extra_acked_delivered <= expected ||
	    bbr->extra_acked_delivered + s->acked > EXTRA_ACKED_MAX) {
		bbr->extra_acked_delivered = 0;
		bbr->extra_acked_us = now_us;
		expected = 0;
	}
	bbr->extra_acked_delivered =
		min_t(u32, bbr->extra_acked_delivered + s->acked, EXTRA_ACKED_MAX);
	extra = min3(bbr->extra_acked_delivered - expected, tp->snd_cwnd, (u32)U16_MAX);
	kept = bbr->extra_acked_win_idx ? bbr->extra_acked[1] : bbr->extra_acked[0];
	if (extra > kept)
		bbr3_keep_extra_acked(bbr, extra);
}

static inline void bbr3_check_full_bw_reached(struct bbr3 *bbr, const struct sample *s)
{
	u32 count;

	if (bbr->full_bw_now || !bbr->round_start || s->is_app_limited)
		return;
	if (s->bw >= (u64)bbr->full_bw * 5 / 4) {
		bbr3_reset_full_bw(bbr, s->bw);
		return;
	}
	count = bbr->full_bw_cnt + 1;
	bbr->full_bw_cnt = count;
	if (count >= FULL_BW_CNT) {
		bbr->full_bw_now = 1;
		bbr->full_bw_reached = 1;
	}
}

/* A whole loss round in Recovery has many losses, in several places. */
static inline void bbr3_check_startup_high_loss(struct sock *sk, struct bbr3 *bbr,
						const struct sample *s)
{
	if (bbr->full_bw_reached || !s->loss_round_start ||
	    tcp_ca_state(sk) != TCP_CA_Recovery ||
	    bbr->loss_events < cc_param(sk, full_loss_cnt) || !bbr3_is_inflight_too_high(sk, s))
		return;
	bbr->undo_state = UNDO_STARTUP;
	bbr->full_bw_now = 1;
	bbr->full_bw_reached = 1;
	bbr->inflight_lt = max_t(u32, bbr3_bdp(bbr, bbr3_bw(bbr), UNIT), bbr->inflight_latest);
}

static __noinline void bbr3_check_drain(struct sock *sk, struct bbr3 *bbr)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 rounds = cc_param(sk, drain_rtts);

	if (bbr->state == STARTUP && bbr->full_bw_reached) {
		bbr->state = DRAIN;
		bbr->drain_rounds = 0;
	}
	if (bbr->state == DRAIN &&
	    (tcp_packets_in_flight(tp) <= bbr3_inflight(sk, bbr, bbr3_bw(bbr)) ||
	     (rounds && bbr->drain_rounds > rounds)))
		bbr3_start_down(sk, bbr);
}

static inline void bbr3_probe_inflight_lt_upward(const struct tcp_sock *tp, struct bbr3 *bbr,
						 const struct sample *s)
{
	u32 acked = bbr->up_acked + s->acked, per_inc = max_t(u32, bbr->up_acked_per_inc, 1);

	if (!tp->is_cwnd_limited || tp->snd_cwnd < bbr->inflight_lt)
		return;
	bbr->inflight_lt = min(bbr->inflight_lt + acked / per_inc, UNBOUNDED - 1);
	bbr->up_acked = acked % per_inc;
	if (bbr->round_start)
		bbr3_raise_inflight_lt_slope(tp, bbr);
}

/* Returns whether it has begun a state. */
static inline bool bbr3_adapt_long_term_model(struct sock *sk, struct bbr3 *bbr,
					      const struct sample *s)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (bbr->ack_phase == ACKS_PROBE_STARTING && bbr->round_start)
		bbr->ack_phase = ACKS_PROBE_FEEDBACK;
	if (bbr->ack_phase == ACKS_PROBE_STOPPING && bbr->round_start) {
		bbr->is_bw_probe_sample = 0;
		bbr->ack_phase = ACKS_INIT;
		if (bbr3_is_in_probe_bw(bbr)) {
			/* The next cycle; one without samples changes nothing. */
			if (!s->is_app_limited && bbr->max_bw[1]) {
				bbr->max_bw[0] = bbr->max_bw[1];
				bbr->max_bw[1] = 0;
			}
			/* The careful probe has met no loss: now without care. */
			if (bbr->prev_probe_precautionary && !bbr->prev_probe_too_high) {
				bbr3_start_refill(tp, bbr);
				return true;
			}
		}
	}
	if (bbr3_is_inflight_too_high(sk, s) || bbr->inflight_lt == UNBOUNDED)
		return false;
	bbr->inflight_lt = clamp_t(u32, s->tx_in_flight, (u32)bbr->inflight_lt, UNBOUNDED - 1);
	if (bbr->state == UP)
		bbr3_probe_inflight_lt_upward(tp, bbr, s);
	return false;
}

static inline bool bbr3_is_time_to_go_down(const struct tcp_sock *tp, struct bbr3 *bbr,
					   const struct sample *s)
{
	/* After a probe with losses: no longer than it takes to have as many in flight. */
	if (bbr->prev_probe_too_high && s->prior_in_flight >= bbr->inflight_lt) {
		bbr->prev_probe_precautionary = 1;
		return true;
	}
	/* The bound, not the path, limits the rate: look again whether it grows. */
	if (tp->is_cwnd_limited && tp->snd_cwnd >= bbr->inflight_lt) {
		bbr3_reset_full_bw(bbr, s->bw);
		return false;
	}
	return bbr->full_bw_now;
}

static __noinline void bbr3_update_cycle(struct sock *sk, struct bbr3 *bbr, const struct sample *s)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 inflight = tcp_packets_in_flight(tp);

	if (!bbr->full_bw_reached || bbr3_adapt_long_term_model(sk, bbr, s))
		return;
	switch (bbr->state) {
	case DOWN:
	case CRUISE:
		if (bbr3_is_time_to_probe_bw(tp, bbr))
			bbr3_start_refill(tp, bbr);
		else if (bbr->state == DOWN && inflight <= bbr3_inflight_with_headroom(sk, bbr) &&
			 inflight <= bbr3_inflight(sk, bbr, bbr3_max_bw(bbr)))
			bbr->state = CRUISE;
		break;
	case REFILL:
		if (bbr->round_start) {
			bbr->is_bw_probe_sample = 1;
			bbr3_start_up(tp, bbr, s);
		}
		break;
	case UP:
		if (bbr3_is_time_to_go_down(tp, bbr, s)) {
			bbr->prev_probe_too_high = 0;
			bbr3_start_down(sk, bbr);
		}
		break;
	default:
		break;
	}
}

/* Returns whether the RTT of 5 s is too old. */
static inline bool bbr3_update_min_rtt(struct sock *sk, struct bbr3 *bbr,
				       const struct rate_sample *rs)
{
	u32 now_ms = bbr3_now_ms(tcp_sk(sk));
	bool expired = after(now_ms, bbr->probe_rtt_min_ms + cc_param(sk, probe_rtt_win_ms));

	if (rs->rtt_us >= 0 &&
	    (rs->rtt_us < bbr->probe_rtt_min_us || (expired && !rs->is_ack_delayed))) {
		bbr->probe_rtt_min_us = rs->rtt_us;
		bbr->probe_rtt_min_ms = now_ms;
	}
	if (bbr->probe_rtt_min_us < bbr->min_rtt_us ||
	    after(now_ms, bbr->min_rtt_ms + MIN_RTT_WIN_MS)) {
		bbr->min_rtt_us = bbr->probe_rtt_min_us;
		bbr->min_rtt_ms = bbr->probe_rtt_min_ms;
	}
	return expired;
}

static inline void bbr3_check_probe_rtt_done(struct sock *sk, struct bbr3 *bbr)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 now_ms = bbr3_now_ms(tp);

	if (!bbr->probe_rtt_timed || !after(now_ms, bbr->cycle_ms))
		return;
	bbr->probe_rtt_min_ms = now_ms;
	tp->snd_cwnd = max_t(u32, tp->snd_cwnd, bbr->prior_cwnd);
	bbr3_reset_short_term_model(bbr);
	if (!bbr->full_bw_reached) {
		bbr->state = STARTUP;
		return;
	}
	/* DOWN has nothing to drain. */
	bbr3_start_down(sk, bbr);
	bbr->state = CRUISE;
}

static __noinline void bbr3_check_probe_rtt(struct sock *sk, struct bbr3 *bbr, bool expired)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 inflight = tcp_packets_in_flight(tp);

	if (bbr->state != PROBE_RTT) {
		if (!expired || bbr->idle_restart)
			return;
		bbr3_save_cwnd(tp, bbr);
		bbr->state = PROBE_RTT;
		bbr->probe_rtt_timed = 0;
		bbr->ack_phase = ACKS_PROBE_STOPPING;
		bbr3_start_round(tp, bbr);
	}
	/* The samples of this state are low. */
	tp->app_limited = max(tp->delivered + inflight, 1U);
	if (bbr->probe_rtt_timed) {
		if (bbr->round_start)
			bbr->probe_rtt_round_done = 1;
		if (bbr->probe_rtt_round_done)
			bbr3_check_probe_rtt_done(sk, bbr);
	} else if (inflight <= bbr3_probe_rtt_cwnd(bbr)) {
		bbr->cycle_ms = bbr3_now_ms(tp) + cc_param(sk, probe_rtt_mode_ms);
		bbr->probe_rtt_timed = 1;
		bbr->probe_rtt_round_done = 0;
		bbr3_start_round(tp, bbr);
	}
}

static inline void bbr3_advance_latest_delivery_signals(struct bbr3 *bbr,
							const struct rate_sample *rs,
							const struct sample *s)
{
	if (!s->loss_round_start)
		return;
	bbr->bw_latest = s->bw;
	bbr->inflight_latest = min_t(u32, rs->delivered, UNBOUNDED - 1);
	bbr->loss_events = 0;
}

static inline u32 bbr3_max_inflight(struct sock *sk, const struct bbr3 *bbr)
{
	u32 gain = cc_param(sk, cwnd_gain);
	u32 extra_acked = max(bbr->extra_acked[0], bbr->extra_acked[1]);

	if (bbr->state == UP)
		gain += gain / 8;
	else if (bbr->state == PROBE_RTT)
		gain = PROBE_RTT_CWND_GAIN;
	return bbr3_quantize(sk, bbr, bbr3_bdp(bbr, bbr3_bw(bbr), gain) + extra_acked);
}

static inline u32 bbr3_bound_for_model(struct sock *sk, const struct bbr3 *bbr)
{
	u32 most = UNBOUNDED;

	if (bbr->state == CRUISE || bbr->state == PROBE_RTT)
		most = bbr3_inflight_with_headroom(sk, bbr);
	else if (bbr3_is_in_probe_bw(bbr))
		most = bbr->inflight_lt;
	most = max_t(u32, min_t(u32, most, bbr->inflight_st), MIN_PIPE_CWND);
	return most >= UNBOUNDED ? U32_MAX : most;
}

static __noinline void bbr3_set_cwnd(struct sock *sk, struct bbr3 *bbr, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u8 prior = bbr->prev_ca_state, state = tcp_ca_state(sk);
	u32 cwnd = tp->snd_cwnd, most;

	bbr->prev_ca_state = state;
	if (prior >= TCP_CA_Recovery && state < TCP_CA_Recovery)
		cwnd = max_t(u32, cwnd, bbr->prior_cwnd);
	if (acked) {
		most = bbr3_max_inflight(sk, bbr);
		if (bbr->full_bw_reached)
			cwnd = min(cwnd + acked, most);
		else if (cwnd < most || tp->delivered < TCP_INIT_CWND)
			cwnd += acked;
		cwnd = max_t(u32, cwnd, MIN_PIPE_CWND);
	}
	if (bbr->state == PROBE_RTT)
		cwnd = min(cwnd, bbr3_probe_rtt_cwnd(bbr));
	tp->snd_cwnd = min3(cwnd, bbr3_bound_for_model(sk, bbr), tp->snd_cwnd_clamp);
}

/* The hooks. */

CC_HOOK(void, bbr3_main, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *bbr = inet_csk_ca(sk);
	struct sample s = {};
	bool expired;

	bbr3_get_sample(tp, bbr, rs, &s);
	bbr3_handle_losses(sk, bbr, &s, max(rs->losses, 0));

	bbr3_update_latest_delivery_signals(tp, bbr, rs, &s);
	bbr3_update_max_bw(tp, bbr, rs, &s);
	bbr3_adapt_lower_bounds(sk, bbr, &s);
	bbr3_update_ack_aggregation(sk, bbr, &s);
	bbr3_check_full_bw_reached(bbr, &s);
	bbr3_check_startup_high_loss(sk, bbr, &s);
	bbr3_check_drain(sk, bbr);
	bbr3_update_cycle(sk, bbr, &s);
	expired = bbr3_update_min_rtt(sk, bbr, rs);
	bbr3_check_probe_rtt(sk, bbr, expired);
	if (rs->delivered > 0)
		bbr->idle_restart = 0;
	bbr3_advance_latest_delivery_signals(bbr, rs, &s);

	bbr3_set_pacing_rate(sk, bbr, bbr3_pacing_gain(sk, bbr));
	bbr3_set_cwnd(sk, bbr, s.acked);
}

CC_HOOK(void, bbr3_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *bbr = inet_csk_ca(sk);

	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	bbr->min_rtt_us = bbr->probe_rtt_min_us = tcp_min_rtt(tp);
	bbr->min_rtt_ms = bbr->probe_rtt_min_ms = bbr3_now_ms(tp);
	bbr->extra_acked_us = tp->tcp_mstamp;
	bbr->inflight_lt = UNBOUNDED;
	bbr->up_acked_per_inc = UNBOUNDED;
	bbr3_reset_short_term_model(bbr);
	bbr3_start_round(tp, bbr);
	bbr->loss_round_delivered = tp->delivered;
	bbr->loss_round_lost = tp->lost;
	bbr3_init_pacing_rate(sk, bbr);
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* After a pause: no faster than bw. */
CC_HOOK(void, bbr3_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *bbr = inet_csk_ca(sk);

	if (event != CA_EVENT_TX_START || !tp->app_limited)
		return;
	bbr->idle_restart = 1;
	bbr->extra_acked_us = tp->tcp_mstamp;
	bbr->extra_acked_delivered = 0;
	if (bbr3_is_in_probe_bw(bbr))
		bbr3_set_pacing_rate(sk, bbr, UNIT);
	else if (bbr->state == PROBE_RTT)
		bbr3_check_probe_rtt_done(sk, bbr);
}

CC_HOOK(void, bbr3_set_state, struct sock *sk, u8 new_state)
{
	struct bbr3 *bbr = inet_csk_ca(sk);

	if (new_state != TCP_CA_Loss)
		return;
	bbr->prev_ca_state = TCP_CA_Loss;
	bbr3_note_loss(tcp_sk(sk), bbr);
}

/* BBR has no threshold of its own; this says only that a reduction begins. */
CC_HOOK(u32, bbr3_ssthresh, struct sock *sk)
{
	bbr3_save_state_upon_loss(tcp_sk(sk), inet_csk_ca(sk));
	return tcp_sk(sk)->snd_ssthresh;
}

/* Nothing was lost. */
CC_HOOK(u32, bbr3_undo_cwnd, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *bbr = inet_csk_ca(sk);

	bbr->is_loss_in_round = 0;
	bbr3_reset_full_bw(bbr, 0);
	bbr->bw_st = max(bbr->bw_st, bbr->undo_bw_st);
	bbr->inflight_st = max_t(u32, bbr->inflight_st, bbr->undo_inflight_st);
	bbr->inflight_lt = max_t(u32, bbr->inflight_lt, bbr->undo_inflight_lt);
	if (bbr->undo_state == UNDO_STARTUP && bbr->state != STARTUP) {
		bbr->full_bw_reached = 0;
		if (bbr->state != PROBE_RTT)
			bbr->state = STARTUP;
	} else if (bbr->undo_state == UNDO_UP && bbr->state != UP && bbr->state != PROBE_RTT) {
		bbr3_start_refill(tp, bbr);
	}
	bbr->undo_state = UNDO_NONE;
	return max_t(u32, tp->snd_cwnd, bbr->prior_cwnd);
}

CC_HOOK(u32, bbr3_min_tso_segs, struct sock *sk)
{
	return 2;
}

/* As version 1. */
CC_HOOK(u32, bbr3_sndbuf_expand, struct sock *sk)
{
	return 3;
}

CC_ALGORITHM(bbr3, "BBR version 3: a model of the path, bounded by losses (draft-ietf-ccwg-bbr)",
	     .init = bbr3_init,
	     .ssthresh = bbr3_ssthresh,
	     .set_state = bbr3_set_state,
	     .cwnd_event = bbr3_cwnd_event,
	     .min_tso_segs = bbr3_min_tso_segs,
	     .cong_control = bbr3_main,
	     .undo_cwnd = bbr3_undo_cwnd,
	     .sndbuf_expand = bbr3_sndbuf_expand);
