/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Slow starts that end before the queue is full, for any algorithm's file: it gives each RTT to
 * cc_slow_start_rtt (in pkts_acked), and calls cc_slow_start_grow where it would call tcp_slow_start.
 * Their state is large: CC_STORAGE(struct cc_slow_start) has it. examples/slow_start.c is a whole one.
 *
 *	SS_CLASSIC	tcp_slow_start (RFC 5681)
 *	SS_HYSTART_PP	HyStart++ (RFC 9406, 4.2 and 4.3)
 *	SS_SEARCH	SEARCH (draft-chung-ccwg-search-09): bytes delivered in 3.5 RTTs, and in those that
 *			ended an RTT before; without a reset for an application that pauses
 *	SS_LIMITED	limited slow start (RFC 3742, 2)
 */
#ifndef SLOW_START_H
#define SLOW_START_H

enum cc_slow_start_kind { SS_CLASSIC, SS_HYSTART_PP, SS_SEARCH, SS_LIMITED };

enum {
	HPP_MIN_THRESH_US = 4000, HPP_MAX_THRESH_US = 16000, HPP_RTT_DIVISOR = 8, HPP_SAMPLES = 8,
	HPP_GROWTH_DIVISOR = 4, HPP_CSS_ROUNDS = 5, HPP_LIMIT = 8,
	SEARCH_WINDOW_BINS = 10, SEARCH_EXTRA_BINS = 15, SEARCH_BINS = 25, SEARCH_FACTOR = 35,
	SEARCH_THRESH_PERCENT = 35,
	LIMITED_MAX = 100,	/* max_ssthresh, packets */
};

struct cc_slow_start {
	u32 rtt_us;		/* the last sample */
	u32 credit;		/* packets ACKed that have not grown the window yet */
	/* HyStart++ */
	u32 round_end;		/* sequence number */
	u32 last_min_us, min_us;	/* least RTT of the last round, and of this; 0: none */
	u32 samples;
	u32 css_base_us;	/* least RTT when conservative slow start began; 0: it has not */
	u32 css_rounds;
	/* SEARCH: bytes ACKed when each bin ended; bins are a ring. */
	u32 bin_us;		/* 0: no RTT yet */
	u32 index;
	u64 bin_end_us;
	u64 bins[SEARCH_BINS];
};

static inline void cc_slow_start_rtt(struct cc_slow_start *ss, s32 rtt_us)
{
	if (rtt_us <= 0)
		return;
	ss->rtt_us = rtt_us;
	ss->samples++;
	ss->min_us = ss->min_us ? min(ss->min_us, (u32)rtt_us) : (u32)rtt_us;
}

/* Each ACKed packet grows the window by 1/per. */
static inline void cc_slow_start_add(struct tcp_sock *tp, struct cc_slow_start *ss, u32 acked, u32 per)
{
	ss->credit += acked;
	tp->snd_cwnd += ss->credit / per;
	ss->credit %= per;
}

static inline void cc_hystart_pp(struct tcp_sock *tp, struct cc_slow_start *ss, u32 acked)
{
	u32 thresh = clamp_t(u32, ss->last_min_us / HPP_RTT_DIVISOR, HPP_MIN_THRESH_US,
			     HPP_MAX_THRESH_US);

	if (ss->samples >= HPP_SAMPLES && ss->min_us) {
		if (ss->css_base_us && ss->min_us < ss->css_base_us) {
			ss->css_base_us = 0;
		} else if (!ss->css_base_us && ss->last_min_us &&
			   ss->min_us >= ss->last_min_us + thresh) {
			ss->css_base_us = ss->min_us;
			ss->css_rounds = 0;
		}
	}
	cc_slow_start_add(tp, ss, min_t(u32, acked, HPP_LIMIT),
			  ss->css_base_us ? HPP_GROWTH_DIVISOR : 1);
	if (before(tp->snd_una, ss->round_end))
		return;
	ss->round_end = tp->snd_nxt;
	ss->last_min_us = ss->min_us;
	ss->min_us = ss->samples = 0;
	if (ss->css_base_us && ++ss->css_rounds >= HPP_CSS_ROUNDS)
		tp->snd_ssthresh = tp->snd_cwnd;
}

/* Bytes of the window that ended with bin `end`. */
static inline u64 cc_search_window(const struct cc_slow_start *ss, u32 end)
{
	return ss->bins[end % SEARCH_BINS] - ss->bins[(end - SEARCH_WINDOW_BINS) % SEARCH_BINS];
}

static inline void cc_search(struct tcp_sock *tp, struct cc_slow_start *ss)
{
	u64 now_us = tp->tcp_mstamp, twice, sent;
	u32 passed, back, part, end;

	if (!ss->bin_us) {
		ss->bin_us = max_t(u32, ss->rtt_us * SEARCH_FACTOR / (10 * SEARCH_WINDOW_BINS), 1);
		ss->bin_end_us = now_us + ss->bin_us;
		ss->bins[0] = tp->bytes_acked;
		return;
	}
	if (now_us < ss->bin_end_us)
		return;
	passed = min_t(u64, div_u64(now_us - ss->bin_end_us, ss->bin_us) + 1, SEARCH_BINS);
	for (u32 i = 1; i < SEARCH_BINS; i++)
		if (i < passed)
			ss->bins[(ss->index + i) % SEARCH_BINS] = ss->bins[ss->index % SEARCH_BINS];
	ss->index += passed;
	ss->bin_end_us += (u64)passed * ss->bin_us;
	ss->bins[ss->index % SEARCH_BINS] = tp->bytes_acked;

	/* The window an RTT ago lies between two bins. */
	back = ss->rtt_us / ss->bin_us;
	part = ss->rtt_us % ss->bin_us * 100 / ss->bin_us;
	end = ss->index - back;
	if (back + 1 >= SEARCH_EXTRA_BINS || ss->index < back + 1 + SEARCH_WINDOW_BINS)
		return;
	sent = cc_search_window(ss, ss->index);
	twice = 2 * div_u64(cc_search_window(ss, end) * (100 - part) +
			    cc_search_window(ss, end - 1) * part, 100);
	if (twice > sent && (twice - sent) * 100 >= twice * SEARCH_THRESH_PERCENT)
		tp->snd_ssthresh = tp->snd_cwnd;
}

/* While cwnd is below ssthresh. Returns the ACKed packets that slow start had no use for. */
static inline u32 cc_slow_start_grow(struct tcp_sock *tp, struct cc_slow_start *ss, u32 kind, u32 acked)
{
	switch (ss ? kind : SS_CLASSIC) {
	case SS_HYSTART_PP:
		cc_hystart_pp(tp, ss, acked);
		return 0;
	case SS_LIMITED:
		cc_slow_start_add(tp, ss, acked,
				  tp->snd_cwnd > LIMITED_MAX ? tp->snd_cwnd / (LIMITED_MAX / 2) : 1);
		return 0;
	case SS_SEARCH:
		acked = tcp_slow_start(tp, acked);
		cc_search(tp, ss);
		return acked;
	default:
		return tcp_slow_start(tp, acked);
	}
}

#endif
