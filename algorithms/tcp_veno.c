/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * TCP Veno: C. P. Fu, S. C. Liew, "TCP Veno: TCP Enhancement for Transmission Over
 * Wireless Access Networks", IEEE JSAC 21(2), 2003. Reno with Vegas's estimate of the
 * queue, N = cwnd (1 - baseRTT / RTT):
 *
 *	N < beta	grows as Reno; a loss is the radio link's and costs 1/5 of the window
 *	N >= beta	grows by one packet in every other RTT; a loss costs half
 *
 * This is the Veno of Linux 6.12. It takes as RTT the smallest sample since the last ACK that
 * cong_avoid saw (one or two samples), not that of a whole RTT. It counts N in half packets.
 * In the slow case the part of a window that remains when the window grows is lost, as in
 * Linux.
 */
#define CC_PARAMS(P) \
	P(beta, 6, 0, 20000, 2, "queued packets that mean congestion")

#define CC_PRESETS(P)                                                           \
	P("linux", "", "Linux 6.12")

#include "vegas.h"

struct veno {
	struct vegas vegas;
	u32 diff;	/* N << 1 */
	u8 inc;		/* the next full window of ACKs grows cwnd */
};
CC_PRIVATE(struct veno);

CC_HOOK(void, tcp_veno_init, struct sock *sk)
{
	struct veno *ca = inet_csk_ca(sk);

	vegas_init(tcp_sk(sk), &ca->vegas);
	ca->inc = 1;
}

CC_HOOK(u32, tcp_veno_ssthresh, struct sock *sk)
{
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	if (inet_csk_ca(sk)->diff < cc_param(sk, beta))
		return max((u32)((u64)cwnd * 4 / 5), 2U);
	return max(cwnd / 2, 2U);
}

static inline void tcp_veno_grow(struct sock *sk, struct veno *ca, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tp->snd_cwnd;

	ca->diff = 2 * cwnd - (u32)(2ULL * cwnd * ca->vegas.baseRTT / ca->vegas.minRTT);
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
		cwnd = tp->snd_cwnd;
	}
	if (ca->diff < cc_param(sk, beta)) {
		tcp_cong_avoid_ai(tp, max(cwnd, 1U), acked);
	} else if (tp->snd_cwnd_cnt < cwnd) {
		tp->snd_cwnd_cnt += acked;
	} else {
		if (ca->inc)
			tp->snd_cwnd = min(cwnd + 1, tp->snd_cwnd_clamp);
		ca->inc = !ca->inc;
		tp->snd_cwnd_cnt = 0;
	}
}

CC_HOOK(void, tcp_veno_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct veno *ca = inet_csk_ca(sk);

	if (!ca->vegas.doing_vegas_now) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (vegas_has_samples(&ca->vegas)) {
		tcp_veno_grow(sk, ca, acked);
		tp->snd_cwnd = min(max(tp->snd_cwnd, 2U), tp->snd_cwnd_clamp);
	} else {
		tcp_reno_cong_avoid(sk, ack, acked);
	}
	ca->vegas.minRTT = VEGAS_NO_RTT;
}

CC_HOOK(void, tcp_veno_set_state, struct sock *sk, u8 new_state)
{
	struct veno *ca = inet_csk_ca(sk);

	ca->vegas.doing_vegas_now = new_state == TCP_CA_Open;
	if (new_state == TCP_CA_Open)
		ca->vegas.minRTT = VEGAS_NO_RTT;
}

CC_HOOK(void, tcp_veno_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event != CA_EVENT_CWND_RESTART && event != CA_EVENT_TX_START)
		return;
	vegas_init(tcp_sk(sk), &inet_csk_ca(sk)->vegas);
	inet_csk_ca(sk)->inc = 1;
}

CC_HOOK(void, tcp_veno_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	vegas_pkts_acked(&inet_csk_ca(sk)->vegas, sample);
}

CC_ALGORITHM(veno, "TCP Veno (Fu, Liew 2003)",
	     .init = tcp_veno_init,
	     .ssthresh = tcp_veno_ssthresh,
	     .cong_avoid = tcp_veno_cong_avoid,
	     .set_state = tcp_veno_set_state,
	     .cwnd_event = tcp_veno_cwnd_event,
	     .pkts_acked = tcp_veno_pkts_acked);
