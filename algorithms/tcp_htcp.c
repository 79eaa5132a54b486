/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * H-TCP: D. Leith, R. Shorten, "H-TCP: TCP for High-Speed and Long-Distance Networks",
 * PFLDnet 2004; draft-leith-tcp-htcp. Delta is the time since the last congestion, in s.
 * Growth per RTT is
 *
 *	alpha = 2 (1 - beta) (1 + 10 (Delta - 1) + ((Delta - 1) / 2)^2)
 *
 * and 2 (1 - beta) in the first second. A loss multiplies the window by beta = RTT_min /
 * RTT_max, limited to 0.5 to 0.8 (adaptive backoff), so that the queue just empties. beta is
 * 0.5 if throughput has changed by more than 20 % since the previous loss.
 *
 * Preset linux (the default) is the H-TCP of Linux 6.12. It differs from the paper:
 *  - It counts Delta from the end of recovery (epoch_from_end).
 *  - It scales growth by RTT / 100 ms, limited to 1/10 to 2 (use_rtt_scaling). The paper
 *    calls this optional.
 *  - It computes in jiffies, with alpha in whole steps of 2 (1 - beta). It grows by at most
 *    one packet per ACK, and drops the credit above this.
 *  - It adapts the backoff only if RTT_min is above 10 ms.
 * Preset leith2004 has Delta and the scaling of the paper. For the fixed backoff of Leith et
 * al. 2007, figure 9, use adaptive_backoff=0. Arithmetic is in 64 bits. Linux's overflows
 * after weeks without a loss. alpha is limited to one window per ACK.
 */
#define CC_PARAMS(P)                                                                           \
	P(adaptive_backoff, 1, 0, 1, 1, "a loss multiplies the window by 1: RTT_min/RTT_max; " \
	  "0: fixed_backoff")                                                                  \
	P(fixed_backoff, 102, 1, 127, 128,                                                     \
	  "window multiplier at a loss if adaptive_backoff=0")                                 \
	P(beta_min, 64, 1, 127, 128,                                                           \
	  "smallest adaptive multiplier; also if throughput changed")                          \
	P(beta_max, 102, 1, 127, 128, "largest adaptive multiplier")                           \
	P(use_bandwidth_switch, 1, 0, 1, 1,                                                    \
	  "1: use beta_min if throughput changed by more than 20 %")                           \
	P(use_rtt_scaling, 1, 0, 1, 1, "1: multiply growth by RTT / 100 ms")                   \
	P(epoch_from_end, 1, 0, 1, 1, "Delta counts from 0: the loss; 1: the end of recovery")

#define CC_PRESETS(P)                                                     \
	P("linux", "", "Linux 6.12")                                      \
	P("leith2004", "use_rtt_scaling=0 epoch_from_end=0", "the paper") \
	P("backoff-0.8", "adaptive_backoff=0", "Leith et al. 2007, figure 9")

#include "tcp_cc.h"

enum {
	ALPHA_BASE = 1 << 7,	/* 1.0 */
	ALPHA_MOST = 1 << 27,	/* a window per ACK */
};

struct htcp {
	u32 alpha;		/* growth per RTT << 7 */
	u32 beta;		/* backoff << 7 */
	u32 modeswitch;		/* the backoff may adapt: throughput was steady */
	u32 pkts_acked;		/* of the last ACK */
	u32 packetcount;	/* ACKed since lasttime, ... */
	u32 minRTT;		/* jiffies */
	u32 maxRTT;		/* jiffies */
	u32 last_cong;		/* when Delta began, jiffies */
	u32 undo_last_cong;	/* the three before the loss, for undo; 0: not in one */
	u32 undo_maxRTT;
	u32 undo_old_maxB;
	u32 Bi;			/* throughput, packets/s: smoothed, ... */
	u32 maxB;		/* ... its maximum since the loss ... */
	u32 old_maxB;		/* ... and in the epoch before */
	u32 lasttime;		/* ... when the count of packets began, jiffies */
};
CC_PRIVATE(struct htcp);

static inline u32 htcp_cong_time(struct sock *sk, const struct htcp *ca)
{
	return tcp_jiffies32(sk) - ca->last_cong;
}

static inline u32 htcp_msecs(struct sock *sk, u32 ms)
{
	return cc_usecs_to_jiffies(sk, ms * USEC_PER_MSEC);
}

static inline void htcp_alpha_update(struct sock *sk, struct htcp *ca)
{
	u32 hz = cc_hz(sk), diff = htcp_cong_time(sk, ca), scale;
	u64 factor = 1;

	if (diff > hz) {
		u64 d = diff - hz;

		factor += (10 * d + (d / 2) * (d / 2) / hz) / hz;
	}
	if (cc_param(sk, use_rtt_scaling) && ca->minRTT) {
		scale = clamp((u32)(((u64)hz << 3) / (10ULL * ca->minRTT)), 4U, 80U);
		factor = max((factor << 3) / scale, 1ULL);
	}
	ca->alpha = min_t(u64, 2 * factor * (128 - ca->beta), ALPHA_MOST);
}

/* A change of throughput by over 20 %: others came or went. */
static inline bool htcp_throughput_changed(struct sock *sk, struct htcp *ca)
{
	u64 old = ca->old_maxB;

	if (!cc_param(sk, use_bandwidth_switch))
		return false;
	ca->old_maxB = ca->maxB;
	return 5ULL * ca->maxB < 4 * old || 5ULL * ca->maxB > 6 * old;
}

static inline void htcp_beta_update(struct sock *sk, struct htcp *ca)
{
	u32 least = cc_param(sk, beta_min);

	if (!cc_param(sk, adaptive_backoff)) {
		ca->beta = cc_param(sk, fixed_backoff);
		return;
	}
	if (htcp_throughput_changed(sk, ca)) {
		ca->beta = least;
		ca->modeswitch = 0;
	} else if (ca->modeswitch && ca->minRTT > htcp_msecs(sk, 10) && ca->maxRTT) {
		u32 beta = min_t(u64, ((u64)ca->minRTT << 7) / ca->maxRTT, 128);

		ca->beta = max(min(beta, cc_param(sk, beta_max)), least);
	} else {
		ca->beta = least;
		ca->modeswitch = 1;
	}
}

CC_HOOK(void, htcp_init, struct sock *sk)
{
	struct htcp *ca = inet_csk_ca(sk);

	/* pkts_acked has seen the answer to the SYN. */
	*ca = (struct htcp){
		.alpha = ALPHA_BASE,
		.beta = cc_param(sk, beta_min),
		.pkts_acked = 1,
		.last_cong = tcp_jiffies32(sk),
	};
}

CC_HOOK(u32, htcp_ssthresh, struct sock *sk)
{
	struct htcp *ca = inet_csk_ca(sk);

	htcp_beta_update(sk, ca);
	htcp_alpha_update(sk, ca);
	/* RTT_max ages, so that a path that became shorter is noticed. */
	if (ca->minRTT && ca->maxRTT > ca->minRTT)
		ca->maxRTT = ca->minRTT + (u64)(ca->maxRTT - ca->minRTT) * 95 / 100;
	return max((u32)((u64)tcp_sk(sk)->snd_cwnd * ca->beta >> 7), 2U);
}

CC_HOOK(void, htcp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct htcp *ca = inet_csk_ca(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		tcp_slow_start(tp, acked);
		return;
	}
	if ((u64)tp->snd_cwnd_cnt * ca->alpha >> 7 >= tp->snd_cwnd) {
		tp->snd_cwnd = min(tp->snd_cwnd + 1, tp->snd_cwnd_clamp);
		tp->snd_cwnd_cnt = 0;
		htcp_alpha_update(sk, ca);
	} else {
		tp->snd_cwnd_cnt += ca->pkts_acked;
	}
	ca->pkts_acked = 1;
}

static inline void htcp_measure_rtt(struct sock *sk, struct htcp *ca, u32 rtt)
{
	if (!ca->minRTT || rtt < ca->minRTT)
		ca->minRTT = rtt;
	if (tcp_ca_state(sk) != TCP_CA_Open)
		return;
	ca->maxRTT = max(ca->maxRTT, ca->minRTT);
	/* It rises by at most 20 ms at a time: a single outlier does not count. */
	if (rtt > ca->maxRTT && rtt <= ca->maxRTT + htcp_msecs(sk, 20))
		ca->maxRTT = rtt;
}

static inline void htcp_measure_throughput(struct sock *sk, struct htcp *ca, u32 acked)
{
	u32 now = tcp_jiffies32(sk), cwnd = tcp_sk(sk)->snd_cwnd;
	u32 alpha = max(ca->alpha >> 7, 1U), rate;

	if (tcp_ca_state(sk) > TCP_CA_Disorder) {
		ca->packetcount = 0;
		ca->lasttime = now;
		return;
	}
	ca->packetcount += acked;
	if ((u64)ca->packetcount + alpha < cwnd || !ca->minRTT || now - ca->lasttime < ca->minRTT)
		return;

	rate = (u64)ca->packetcount * cc_hz(sk) / (now - ca->lasttime);
	if (htcp_cong_time(sk, ca) / ca->minRTT <= 3) {
		ca->maxB = ca->Bi = rate;
	} else {
		ca->Bi = (3ULL * ca->Bi + rate) / 4;
		ca->maxB = max(ca->maxB, ca->Bi);
	}
	ca->packetcount = 0;
	ca->lasttime = now;
}

CC_HOOK(void, htcp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct htcp *ca = inet_csk_ca(sk);

	if (tcp_ca_state(sk) == TCP_CA_Open)
		ca->pkts_acked = sample->pkts_acked;
	if (sample->rtt_us > 0)
		htcp_measure_rtt(sk, ca, cc_usecs_to_jiffies(sk, sample->rtt_us));
	if (cc_param(sk, use_bandwidth_switch))
		htcp_measure_throughput(sk, ca, sample->pkts_acked);
}

CC_HOOK(void, htcp_set_state, struct sock *sk, u8 new_state)
{
	struct htcp *ca = inet_csk_ca(sk);

	if (new_state == TCP_CA_Open) {
		if (ca->undo_last_cong && cc_param(sk, epoch_from_end))
			ca->last_cong = tcp_jiffies32(sk);
		ca->undo_last_cong = 0;
	} else if (new_state >= TCP_CA_CWR) {
		ca->undo_last_cong = ca->last_cong;
		ca->undo_maxRTT = ca->maxRTT;
		ca->undo_old_maxB = ca->old_maxB;
		ca->last_cong = tcp_jiffies32(sk);
	}
}

CC_HOOK(u32, htcp_undo_cwnd, struct sock *sk)
{
	struct htcp *ca = inet_csk_ca(sk);

	if (ca->undo_last_cong) {
		ca->last_cong = ca->undo_last_cong;
		ca->maxRTT = ca->undo_maxRTT;
		ca->old_maxB = ca->undo_old_maxB;
		ca->undo_last_cong = 0;
	}
	return tcp_reno_undo_cwnd(sk);
}

CC_ALGORITHM(htcp, "H-TCP (Leith, Shorten 2004)",
	     .init = htcp_init,
	     .ssthresh = htcp_ssthresh,
	     .cong_avoid = htcp_cong_avoid,
	     .set_state = htcp_set_state,
	     .pkts_acked = htcp_pkts_acked,
	     .undo_cwnd = htcp_undo_cwnd);
