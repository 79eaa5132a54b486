/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Compound TCP: K. Tan, J. Song, Q. Zhang, M. Sridharan, "A Compound TCP Approach for
 * High-speed and Long Distance Networks", INFOCOM 2006; draft-sridharan-tcpm-ctcp-02. The
 * window is the sum of standard TCP's window, cwnd, and a delay-based window, dwnd:
 * win = cwnd + dwnd.
 *
 *	per ACK		cwnd += 1 / win
 *	per RTT		diff = win (1 - baseRTT / RTT), the packets waiting in the queue
 *			dwnd += max(alpha win^k - 1, 0)		if diff < gamma
 *			dwnd = max(dwnd - zeta diff, 0)		otherwise
 *	at a loss	cwnd /= 2, dwnd = max(win (1 - beta) - cwnd / 2, 0)
 *
 * alpha = 1/8, beta = 1/2, k = 3/4, zeta = 1, gamma = 30 packets. Slow start is standard,
 * with dwnd = 0. The same holds after a timeout. dwnd is used from low_window packets on.
 *
 * RTT is the host's smoothed RTT. A spurious loss restores win, all of it as cwnd.
 *
 * Deviations and guesses:
 *  - gamma is fixed, as in the paper. The draft sets gamma automatically (5 to 30 packets,
 *    from the queue that standard TCP would hold). We left this out, because the draft does
 *    not define precisely enough the queue of a window that was never used.
 *  - low_window is recalled from the draft, not checked.
 *  - Microsoft's own implementation is closed, so we could not compare with it.
 */
#define CC_PARAMS(P)                                                             \
	P(alpha, 128, 1, 10240, 1024, "dwnd grows by alpha win^k - 1 per RTT")   \
	P(k, 768, 0, 1024, 1024, "exponent of win in that growth")               \
	P(beta, 512, 0, 1023, 1024, "part of win that a loss costs")             \
	P(zeta, 1024, 0, 10240, 1024, "dwnd falls by zeta diff per RTT")         \
	P(gamma, 30, 1, 10000, 1, "dwnd falls from this many queued packets on") \
	P(low_window, 38, 2, 10000, 1, "dwnd is used from this window on, packets")
#include "growth.h"
#include "power.h"

struct compound {
	u64 credit;	/* growth of cwnd that is no packet yet */
	u64 dwnd;	/* of 1024 */
	u32 base_rtt;	/* us; 0: none yet */
	u32 end_seq;	/* ends the round that goes on */
};

CC_PRIVATE(struct compound);

/* Once per RTT: the new dwnd, in 1/1024 packet. */
static inline u64 compound_dwnd(struct sock *sk, const struct compound *ca, u32 win)
{
	u32 rtt = tcp_sk(sk)->srtt_us >> 3;
	u64 diff = rtt > ca->base_rtt ? ((u64)win << 10) * (rtt - ca->base_rtt) / rtt : 0;
	u64 change;

	if (diff < (u64)cc_param(sk, gamma) << 10) {
		change = cc_power(win, 1, cc_param(sk, k), 1024) * cc_param(sk, alpha) >> 16;
		return ca->dwnd + (change > 1024 ? min_t(u64, change - 1024, (u64)win << 10) : 0);
	}
	change = diff * cc_param(sk, zeta) >> 10;
	return ca->dwnd > change ? ca->dwnd - change : 0;
}

CC_HOOK(void, compound_init, struct sock *sk)
{
	inet_csk_ca(sk)->end_seq = tcp_sk(sk)->snd_nxt;
}

CC_HOOK(u32, compound_ssthresh, struct sock *sk)
{
	struct compound *ca = inet_csk_ca(sk);
	u32 win = tcp_sk(sk)->snd_cwnd;
	u32 cwnd = win - min_t(u64, ca->dwnd >> 10, win);
	u32 kept = (u64)win * (1024 - cc_param(sk, beta)) >> 10;

	ca->credit = 0;
	ca->dwnd = kept > cwnd / 2 ? (u64)(kept - cwnd / 2) << 10 : 0;
	return max(max(kept, cwnd / 2), 2U);
}

CC_HOOK(void, compound_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct compound *ca = inet_csk_ca(sk);

	if (sample->rtt_us < 0)
		return;
	if (!ca->base_rtt || (u32)sample->rtt_us < ca->base_rtt)
		ca->base_rtt = max(sample->rtt_us, 1);
}

CC_HOOK(void, compound_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct compound *ca = inet_csk_ca(sk);
	u32 win;
	u64 dwnd;

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		ca->dwnd = 0;
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	cc_grow(tp, &ca->credit, GROWTH_ONE, acked);
	if (!after(tp->snd_una, ca->end_seq))
		return;
	ca->end_seq = tp->snd_nxt;

	win = tp->snd_cwnd;
	ca->dwnd = min_t(u64, ca->dwnd, (u64)(win - min(win, 2U)) << 10);
	dwnd = win < cc_param(sk, low_window) ? ca->dwnd : compound_dwnd(sk, ca, win);
	tp->snd_cwnd = min_t(u64, win - (ca->dwnd >> 10) + (dwnd >> 10), tp->snd_cwnd_clamp);
	ca->dwnd = dwnd;
}

CC_HOOK(void, compound_set_state, struct sock *sk, u8 new_state)
{
	struct compound *ca = inet_csk_ca(sk);

	if (new_state != TCP_CA_Loss)
		return;
	ca->dwnd = 0;
	ca->credit = 0;
}

CC_ALGORITHM(compound, "Compound TCP (Tan, Song, Zhang, Sridharan 2006)",
	     .init = compound_init,
	     .ssthresh = compound_ssthresh,
	     .cong_avoid = compound_cong_avoid,
	     .set_state = compound_set_state,
	     .pkts_acked = compound_pkts_acked);
