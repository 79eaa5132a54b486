/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * LEDBAT++, for transfers in the background: draft-irtf-iccrg-ledbat-plus-plus-01. LEDBAT++ keeps
 * at most target (60 ms) of queueing delay, and yields to flows that queue more:
 *
 *	W += GAIN					per RTT, while delay < target
 *	W += max(GAIN - C W (delay / target - 1), -W/2)	per RTT, otherwise
 *	GAIN = 1 / min(16, ceil(2 target / base))
 *
 * base is the least RTT of 10 minutes, and delay the least of the last 4 RTTs, less base. So
 * LEDBAT++ is slower than standard TCP on short paths. Its slow start grows by GAIN per packet ACKed;
 * the first one ends when delay exceeds 3/4 of target. A loss halves the window.
 *
 * A flow that starts on a queue takes it for the path (the latecomer's advantage). The cure is the
 * slowdown: the window is 2 for 2 RTTs, and then returns by slow start. The first slowdown begins 2
 * RTTs after the end of the first slow start; each later one after 9 times the duration of the last
 * one. So they take a tenth of the time at most, and all flows see the empty path.
 *
 * Differences from the draft:
 *  - The delays are RTTs, as the draft has it, of the host's ACKs: a delayed ACK counts as it is.
 *  - base is kept by the filter that Linux has for such values (windowed_max.h), not as ten
 *    minima of a minute each.
 *  - The rule per RTT is spread over its ACKs.
 *  - A loss in a slowdown halves the window to which the slowdown returns.
 * Preset no-slowdown has none, as LEDBAT (RFC 6817).
 */
#define CC_PARAMS(P)                                                               \
	P(target_ms, 60, 1, 1000, 1, "queueing delay that it keeps, ms")           \
	P(constant, 1024, 0, 65536, 1024, "C: how fast it yields")                 \
	P(most_parts, 16, 1, 1024, 1, "GAIN is at least 1 / most_parts")           \
	P(slowdown, 1, 0, 1, 1, "1: slows down now and then to measure the path")

#define CC_PRESETS(P)                                                      \
	P("draft", "", "draft-irtf-iccrg-ledbat-plus-plus-01")             \
	P("no-slowdown", "slowdown=0", "keeps what it takes for the path")

#include "windowed_max.h"

enum { INITIAL_CWND = 2, MIN_CWND = 2, SLOWDOWN_RTTS = 2, PAUSE = 9, BASE_MS = 600000 };

struct ledbat_pp {
	struct windowed_max base;	/* U32_MAX less the RTTs of 10 minutes, us; in ms */
	u32 rtt[4];			/* the last RTTs, us */
	u32 fraction;			/* of a packet, beyond cwnd, in 65536ths */
	u32 next_us;			/* when the next slowdown is due */
	u32 began_us;			/* when this one began */
	u8 phase;			/* of a slowdown */
	u8 first_slow_start;		/* it goes on */
};
CC_PRIVATE(struct ledbat_pp);

enum { AVOIDING, FROZEN, RETURNING };

CC_HOOK(void, ledbat_pp_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat_pp *ca = inet_csk_ca(sk);

	windowed_max_reset(&ca->base, tp->tcp_mstamp / USEC_PER_MSEC, 0);
	ca->first_slow_start = 1;
	tp->snd_cwnd = INITIAL_CWND;
}

CC_HOOK(void, ledbat_pp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct ledbat_pp *ca = inet_csk_ca(sk);
	u32 rtt_us = max(sample->rtt_us, 1);

	if (sample->rtt_us < 0)
		return;
	ca->rtt[3] = ca->rtt[2];
	ca->rtt[2] = ca->rtt[1];
	ca->rtt[1] = ca->rtt[0];
	ca->rtt[0] = rtt_us;
	windowed_max_add(&ca->base, BASE_MS, tcp_sk(sk)->tcp_mstamp / USEC_PER_MSEC,
			 U32_MAX - rtt_us);
}

static inline u32 ledbat_pp_base_us(const struct ledbat_pp *ca)
{
	return U32_MAX - windowed_max_get(&ca->base);
}

static inline u32 ledbat_pp_delay_us(const struct ledbat_pp *ca)
{
	u32 rtt_us = min_not_zero(min_not_zero(ca->rtt[0], ca->rtt[1]),
				  min_not_zero(ca->rtt[2], ca->rtt[3]));
	u32 base_us = ledbat_pp_base_us(ca);

	return rtt_us - min(base_us, rtt_us);
}

/* 1 / GAIN. */
static inline u32 ledbat_pp_parts(struct sock *sk, const struct ledbat_pp *ca)
{
	u32 base_us = max(ledbat_pp_base_us(ca), 1U);
	u32 twice_us = 2 * cc_param(sk, target_ms) * USEC_PER_MSEC;

	/* Without a sample base is 2^32 us. */
	return clamp((u32)(((u64)twice_us + base_us - 1) / base_us), 1U,
		     cc_param(sk, most_parts));
}

/* The window in 65536ths of a packet. */
static inline u64 ledbat_pp_window(const struct tcp_sock *tp, const struct ledbat_pp *ca)
{
	return ((u64)tp->snd_cwnd << 16) + ca->fraction;
}

static inline void ledbat_pp_set_window(struct tcp_sock *tp, struct ledbat_pp *ca, u64 window)
{
	window = clamp_t(u64, window, MIN_CWND << 16, (u64)tp->snd_cwnd_clamp << 16);
	tp->snd_cwnd = window >> 16;
	ca->fraction = window & 0xffff;
}

static inline void ledbat_pp_slow_start(struct sock *sk, struct ledbat_pp *ca, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 grown = ledbat_pp_window(tp, ca) + ((u64)acked << 16) / ledbat_pp_parts(sk, ca);

	ledbat_pp_set_window(tp, ca, min(grown, (u64)tp->snd_ssthresh << 16));
	/* Above the clamp there is no more to come. */
	if (tp->snd_cwnd >= tp->snd_cwnd_clamp)
		tp->snd_ssthresh = min(tp->snd_ssthresh, tp->snd_cwnd);
}

static inline void ledbat_pp_avoid(struct sock *sk, struct ledbat_pp *ca, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 delay_us = ledbat_pp_delay_us(ca);
	u32 target_us = cc_param(sk, target_ms) * USEC_PER_MSEC;
	u64 window = ledbat_pp_window(tp, ca);
	u64 gain = ((u64)acked << 16) / ledbat_pp_parts(sk, ca) / max(tp->snd_cwnd, 1U);
	u64 loss = 0;

	if (delay_us > target_us)
		loss = ((u64)(delay_us - target_us) << 16) / target_us * cc_param(sk, constant) / 1024;
	loss = min_t(u64, loss * acked, ((u64)acked << 15) + gain);
	ledbat_pp_set_window(tp, ca, window + gain - min(loss, window));
	/* Or slow start would restore what has just been given up. */
	tp->snd_ssthresh = min(tp->snd_ssthresh, tp->snd_cwnd);
}

/* Begins, goes on with or ends a slowdown. Returns whether the window must stay as it is. */
static inline bool ledbat_pp_slow_down(struct sock *sk, struct ledbat_pp *ca)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 now = tp->tcp_mstamp, rtts_us = SLOWDOWN_RTTS * max(tp->srtt_us >> 3, 1U);

	switch (ca->phase) {
	case AVOIDING:
		if (!cc_param(sk, slowdown) || before(now, ca->next_us))
			return false;
		ca->phase = FROZEN;
		ca->began_us = now;
		tp->snd_ssthresh = max_t(u32, tp->snd_cwnd, MIN_CWND);
		ledbat_pp_set_window(tp, ca, MIN_CWND << 16);
		return true;
	case FROZEN:
		if (now - ca->began_us < rtts_us)
			return true;
		ca->phase = RETURNING;
		return false;
	default:
		if (!tcp_in_slow_start(tp)) {
			ca->phase = AVOIDING;
			ca->next_us = now + PAUSE * (now - ca->began_us);
		}
		return false;
	}
}

CC_HOOK(void, ledbat_pp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat_pp *ca = inet_csk_ca(sk);
	u32 target_us = cc_param(sk, target_ms) * USEC_PER_MSEC;

	if (ca->first_slow_start &&
	    (!tcp_in_slow_start(tp) || ledbat_pp_delay_us(ca) > target_us / 4 * 3)) {
		ca->first_slow_start = 0;
		tp->snd_ssthresh = min(tp->snd_ssthresh, max_t(u32, tp->snd_cwnd, MIN_CWND));
		ca->next_us = (u32)tp->tcp_mstamp + SLOWDOWN_RTTS * (tp->srtt_us >> 3);
	}
	if (!ca->first_slow_start && ledbat_pp_slow_down(sk, ca))
		return;
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp) && tp->snd_cwnd != tp->snd_ssthresh)
		ledbat_pp_slow_start(sk, ca, acked);
	else
		ledbat_pp_avoid(sk, ca, acked);
}

CC_HOOK(u32, ledbat_pp_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat_pp *ca = inet_csk_ca(sk);
	/* A slowdown keeps the window in ssthresh, unless an undo has restored an infinite one. */
	bool kept = ca->phase != AVOIDING && tp->snd_ssthresh < TCP_INFINITE_SSTHRESH;
	u32 window = kept ? max(tp->snd_cwnd, tp->snd_ssthresh) : tp->snd_cwnd;

	return max_t(u32, window / 2, MIN_CWND);
}

CC_ALGORITHM(ledbat_pp, "LEDBAT++: background transfers with at most 60 ms of queueing delay",
	     .init = ledbat_pp_init,
	     .ssthresh = ledbat_pp_ssthresh,
	     .cong_avoid = ledbat_pp_cong_avoid,
	     .pkts_acked = ledbat_pp_pkts_acked);
