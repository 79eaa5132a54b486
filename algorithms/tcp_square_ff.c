/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * SQUARE:FF and its forerunner: T. Koza, Y. Akiyama, S. Yamaguchi, "SQUARE: FF on CUBIC
 * TCP over Links with Different RTT". This is CUBIC (cubic.h) with a shorter time to recovery
 * K at a longer RTT, so that a flow with a large RTT regains its window sooner:
 *
 *	(3)	K = cbrt(W_max beta / (C RTT))		preset cbrt: exponent 1/3
 *	(4)	K = cbrt(W_max beta / C) / sqrt(RTT)	the default: exponent 1/2
 *
 * Both are CUBIC's K multiplied by (reference RTT / RTT)^exponent. Exponent 0 is CUBIC.
 * Nothing else in equation (1) changes: the curve is C (t - K)^3 + W_max.
 *
 * We know of no implementation by the authors. The paper leaves some points open. This file
 * does the following (docs/adr/0006-square-ff.md has the reasons):
 *  - The paper gives no unit for RTT. The parameter reference_rtt_ms is this unit: the RTT at
 *    which K is CUBIC's. Its default is 1 ms, what the kernel's own RTTs are in. Any other
 *    default would be chosen by its outcome.
 *  - RTT is dMin, which Linux's CUBIC has, with its value when a loss ends an epoch.
 *  - "W_max beta" is W_max - cwnd at the start of the epoch, as everywhere in cubic.h.
 *  - (4) changes K alone, so the curve no longer starts at the window after the loss. If the
 *    curve starts above that window, the window follows as fast as min_cnt allows. If it
 *    starts below, the window waits for the curve.
 *  - Friendliness, fast convergence, HyStart and the reset at a timeout are CUBIC's.
 *
 * The paper's hosts ran Linux 2.6.32. Presets linux-2.6.32 and linux-2.6.32-backports are the
 * two CUBICs of that name with (4), and cbrt-2.6.32 and cbrt-2.6.32-backports with (3).
 * tcp_cubic.c lists their differences. The paper does not say which.
 */
#define CC_PARAMS(P)                                                           \
	CUBIC_PARAMS(P)                                                        \
	P(exponent, 3, 0, 6, 6,                                                \
	  "K is divided by this power of the RTT: 1/2 in eq. (4), 1/3 in (3)") \
	P(reference_rtt_ms, 1000, 1, 10000000, 1000, "RTT at which K is CUBIC's")
#define CC_PRESETS(P)                                                        \
	CUBIC_PRESETS(P)                                                     \
	P("cbrt", "exponent=2", "eq. (3): third root of the RTT")            \
	P("cbrt-2.6.32", "exponent=2 " CUBIC_2_6_32,                        \
	  "eq. (3) on the CUBIC of Linux 2.6.32 as released")                \
	P("cbrt-2.6.32-backports", "exponent=2 " CUBIC_2_6_32_BACKPORTS,     \
	  "eq. (3) on the CUBIC of Linux 2.6.32 of distributions")
#include "cubic.h"
#include "power.h"

struct square_ff {
	struct cubic cubic;
	u64 k_scale;	/* (reference RTT / RTT)^exponent of 65536 */
};

CC_PRIVATE(struct square_ff);

static inline u64 square_ff_k_scale(struct sock *sk, u32 rtt_us)
{
	if (!rtt_us)
		return CUBIC_PLAIN_K;
	return clamp(cc_power(cc_param(sk, reference_rtt_ms), rtt_us, cc_param(sk, exponent), 6),
		     1ULL, 1ULL << 40);
}

CC_HOOK(void, squareff_init, struct sock *sk)
{
	struct square_ff *ff = inet_csk_ca(sk);

	ff->k_scale = CUBIC_PLAIN_K;
	cubic_init(sk, &ff->cubic);
}

CC_HOOK(u32, squareff_ssthresh, struct sock *sk)
{
	struct square_ff *ff = inet_csk_ca(sk);

	ff->k_scale = square_ff_k_scale(sk, ff->cubic.delay_min);
	return cubic_reduce(sk, &ff->cubic, cc_param(sk, beta));
}

CC_HOOK(void, squareff_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct square_ff *ff = inet_csk_ca(sk);

	cubic_cong_avoid(sk, &ff->cubic, acked, CUBIC_REAL_TIME, ff->k_scale);
}

CC_HOOK(void, squareff_set_state, struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		cubic_reset(sk, &inet_csk_ca(sk)->cubic);
}

CC_HOOK(u32, squareff_undo_cwnd, struct sock *sk)
{
	return cubic_undo_cwnd(sk, &inet_csk_ca(sk)->cubic);
}

CC_HOOK(void, squareff_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	cubic_cwnd_event(sk, &inet_csk_ca(sk)->cubic, event);
}

CC_HOOK(void, squareff_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	cubic_pkts_acked(sk, &inet_csk_ca(sk)->cubic, sample);
}

CC_ALGORITHM(square_ff, "CUBIC with feedback for RTT fairness (Koza, Akiyama, Yamaguchi)",
	     .init = squareff_init,
	     .ssthresh = squareff_ssthresh,
	     .cong_avoid = squareff_cong_avoid,
	     .set_state = squareff_set_state,
	     .undo_cwnd = squareff_undo_cwnd,
	     .cwnd_event = squareff_cwnd_event,
	     .pkts_acked = squareff_pkts_acked);
