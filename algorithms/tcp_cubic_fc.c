/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Cubic-FC: N. Cao, W. Zhang, "Cubic with Faster Convergence: An Improved Cubic Fast
 * Convergence Mechanism". This is CUBIC (cubic.h) that detects when it lost bandwidth to a
 * competitor, and then gives way to the competitor for one epoch.
 *
 * CUBIC alternates between two kinds of epoch:
 *  - P1: a loss below W_max. Fast convergence lowers W_max, and a long epoch follows that
 *    ends in max probing.
 *  - P2: a loss above W_max. W_max becomes the window of the loss, and a short epoch follows
 *    that ends near the plateau.
 * Cubic-FC counts epochs from a loss t0 that begins a P1:
 *
 *	t0  CP1  t1  CP2  t2  BR1  t3  BR2  t4
 *
 * CP1, CP2 (competition detection): as CUBIC. The losses t0 and t2 are of the same kind, so
 * at t2 Cubic-FC compares their windows:
 *	delta = min(cwnd_t0 - cwnd_t2, delta_max),  delta_max = loss_cwnd (1 - beta)
 * A delta above sigma loss_cwnd means competition. Then f says how much to release. f is a
 * tent over delta: 0 at 0 and at delta_max, and f_max at delta_i.
 *	ssthresh = loss_cwnd beta - f delta_max
 *	W_max = loss_cwnd (1 + beta) / 2 - f delta_max / 2
 * BR1 (bandwidth release): the curve's clock runs at 1 - f.
 * BR2: W_max = cwnd_t3 and f = 0, to hold what is left. At t4 everything starts again.
 * (Here beta is the factor of the window at a loss. The paper's beta is 1 minus this.)
 *
 * The paper leaves some points open. This file does the following; docs/adr/0004-cubic-fc.md
 * has the results of the other readings:
 *  - t0 is a loss that lowers W_max. CP1 and BR1 are then the long epochs, "suitable for
 *    probing competitive flows and releasing bandwidth".
 *  - A loss t1 that also lowers W_max is still t1.
 *  - Without competition at t2, t2 may itself be the t0 of the next count.
 *  - loss_cwnd is always cwnd_t2: "the congestion event at the end of last phase", and that
 *    phase is detection. It is also the window to be reduced.
 *  - delta below 0 is not competition.
 *  - A timeout forgets the phases, together with the rest of CUBIC's state.
 *  - A spurious loss does not restore the phases.
 *  - The slowed clock includes the look-ahead dMin, as the time in Linux's code does.
 *  - For a delta_i other than half of delta_max (the paper's value), the far side of the
 *    tent still ends at 0.
 *
 * The paper's hosts ran Linux 2.6.32. Presets linux-2.6.32 and linux-2.6.32-backports are the
 * two CUBICs of that name; tcp_cubic.c lists the differences. The paper does not say which.
 */
#define CC_PARAMS(P)                                                                        \
	CUBIC_PARAMS(P)                                                                     \
	P(f_max, 614, 0, 1023, 1024,                                                        \
	  "maximum f: release this part of delta_max, slow the clock by it")                \
	P(sigma, 51, 0, 1023, 1024, "delta above this part of loss_cwnd means competition") \
	P(delta_i, 512, 1, 1023, 1024, "f is f_max at this part of delta_max")
#define CC_PRESETS(P) CUBIC_PRESETS(P)
#include "cubic.h"

/* The kind of the current epoch. */
enum cubic_fc_phase {
	PHASE_NONE,	/* plain CUBIC, until a t0 */
	PHASE_CP1,
	PHASE_CP2,
	PHASE_BR1,
	PHASE_BR2,
};

struct cubic_fc {
	struct cubic cubic;
	u32 cwnd_t0;	/* window of the loss t0 */
	u32 clock;	/* speed of the curve's time, of 1024 */
	u8 phase;	/* enum cubic_fc_phase */
};

CC_PRIVATE(struct cubic_fc);

static inline void cubic_fc_reset(struct sock *sk, struct cubic_fc *fc)
{
	fc->phase = PHASE_NONE;
	fc->clock = CUBIC_REAL_TIME;
	cubic_reset(sk, &fc->cubic);
}

/* f(delta) in 1/1024; 0 < delta <= delta_max. */
static inline u32 cubic_fc_tent(struct sock *sk, u32 delta, u32 delta_max)
{
	u32 delta_i = (u64)delta_max * cc_param(sk, delta_i) / 1024;

	if (delta <= delta_i)
		return (u64)cc_param(sk, f_max) * delta / delta_i;
	return (u64)cc_param(sk, f_max) * (delta_max - delta) / (delta_max - delta_i);
}

/* The window lost between t0 and t2; 0 without competition. */
static inline u32 cubic_fc_delta(struct sock *sk, const struct cubic_fc *fc, u32 cwnd_t2,
				 u32 delta_max)
{
	u32 delta;

	if (cwnd_t2 >= fc->cwnd_t0)
		return 0;
	delta = min(fc->cwnd_t0 - cwnd_t2, delta_max);
	return delta > (u64)cwnd_t2 * cc_param(sk, sigma) / 1024 ? delta : 0;
}

/* t2 with competition: BR1 begins. */
static inline u32 cubic_fc_release(struct sock *sk, struct cubic_fc *fc, u32 cwnd, u32 f,
				   u32 delta_max)
{
	u32 beta = cc_param(sk, beta);
	u32 ssthresh = cubic_reduce(sk, &fc->cubic, cc_param(sk, beta));
	u32 released = min_t(u64, (u64)f * delta_max / 1024, ssthresh);

	fc->phase = PHASE_BR1;
	fc->clock = CUBIC_REAL_TIME - f;
	fc->cubic.last_max_cwnd = (u64)cwnd * (1024 + beta) / 2048 - released / 2;
	return max(ssthresh - released, 2U);
}

CC_HOOK(void, cubicfc_init, struct sock *sk)
{
	struct cubic_fc *fc = inet_csk_ca(sk);

	fc->clock = CUBIC_REAL_TIME;
	cubic_init(sk, &fc->cubic);
}

/* A loss: one epoch and phase ends, the next begins. */
CC_HOOK(u32, cubicfc_ssthresh, struct sock *sk)
{
	struct cubic_fc *fc = inet_csk_ca(sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;
	bool lowers = cwnd < fc->cubic.last_max_cwnd;
	u32 ended = fc->phase;
	u32 ssthresh;

	if (ended == PHASE_CP2) {
		u32 delta_max = (u64)cwnd * (1024 - cc_param(sk, beta)) / 1024;
		u32 delta = cubic_fc_delta(sk, fc, cwnd, delta_max);

		if (delta)
			return cubic_fc_release(sk, fc, cwnd, cubic_fc_tent(sk, delta, delta_max),
						delta_max);
	}

	fc->clock = CUBIC_REAL_TIME;
	ssthresh = cubic_reduce(sk, &fc->cubic, cc_param(sk, beta));

	if (ended == PHASE_BR1) {
		fc->phase = PHASE_BR2;
		fc->cubic.last_max_cwnd = cwnd;
	} else if (ended == PHASE_CP1) {
		fc->phase = PHASE_CP2;
	} else if (lowers) {
		fc->phase = PHASE_CP1;
		fc->cwnd_t0 = cwnd;
	} else {
		fc->phase = PHASE_NONE;
	}
	return ssthresh;
}

CC_HOOK(void, cubicfc_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct cubic_fc *fc = inet_csk_ca(sk);

	cubic_cong_avoid(sk, &fc->cubic, acked, fc->clock, CUBIC_PLAIN_K);
}

CC_HOOK(void, cubicfc_set_state, struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		cubic_fc_reset(sk, inet_csk_ca(sk));
}

CC_HOOK(u32, cubicfc_undo_cwnd, struct sock *sk)
{
	return cubic_undo_cwnd(sk, &inet_csk_ca(sk)->cubic);
}

CC_HOOK(void, cubicfc_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	cubic_cwnd_event(sk, &inet_csk_ca(sk)->cubic, event);
}

CC_HOOK(void, cubicfc_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	cubic_pkts_acked(sk, &inet_csk_ca(sk)->cubic, sample);
}

CC_ALGORITHM(cubic_fc, "CUBIC with faster convergence (Cao, Zhang)",
	     .init = cubicfc_init,
	     .ssthresh = cubicfc_ssthresh,
	     .cong_avoid = cubicfc_cong_avoid,
	     .set_state = cubicfc_set_state,
	     .undo_cwnd = cubicfc_undo_cwnd,
	     .cwnd_event = cubicfc_cwnd_event,
	     .pkts_acked = cubicfc_pkts_acked);
