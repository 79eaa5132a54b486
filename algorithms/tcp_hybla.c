/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * TCP Hybla: C. Caini, R. Firrincieli, "TCP Hybla: A TCP Enhancement for Heterogeneous
 * Networks", Int. J. Satellite Communications and Networking 22(5), 2004. A connection
 * grows as fast as one with RTT_0 = 25 ms. With rho = RTT / RTT_0, at least 1, each ACK adds
 *
 *	2^rho - 1	in slow start
 *	rho^2 / cwnd	in congestion avoidance
 *
 * A loss costs half of the window.
 *
 * Preset linux (the default) is the Hybla of Linux 6.12. It differs from the paper:
 *  - It computes rho again only when the smoothed RTT reaches a new minimum, so a queue does
 *    not raise rho.
 *  - It counts ACKs, not packets. With delayed ACKs it grows half as fast.
 *  - It computes growth in whole multiples of 1/128 packet, rounded down for each ACK. Above
 *    64 rho^2 packets growth drops to half of the law, and above 128 rho^2 to standard TCP's.
 *  - ssthresh does not begin rho times larger.
 *  - Outside the Open state it is standard TCP.
 * Preset caini2004 counts packets, and its fractions are fine enough.
 *
 * As in Linux, the first window is rho packets. Up to 250 ms this is fewer than the host's
 * 10, and up to 50 ms it is a single packet. initial_window = 0 keeps the host's window.
 * Linux's limit of 65535 packets is the parameter max_cwnd here; Linux uses snd_cwnd_clamp.
 * The largest exponent of 16 and the table for 2^fraction are Linux's. Here rho is at most
 * 8191 (an RTT of 200 s).
 */
#define CC_PARAMS(P)                                                                      \
	P(rtt0, 25, 1, 10000, 1, "RTT_0: grow as fast as a connection with this RTT, ms") \
	P(initial_window, 1, 0, 1, 1, "first window 0: the host's; 1: rho packets")       \
	P(max_cwnd, 65535, 2, 1000000, 1, "maximum cwnd, packets")                        \
	P(count_packets, 0, 0, 1, 1, "growth counts 0: ACKs; 1: ACKed packets")           \
	P(fraction_bits, 7, 7, 20, 1, "compute growth in units of 1/2^fraction_bits packet")

#define CC_PRESETS(P)                \
	P("linux", "", "Linux 6.12") \
	P("caini2004", "count_packets=1 fraction_bits=20", "the paper")

#include "tcp_cc.h"

struct hybla {
	u32 rho_3ls;		/* rho << 3 */
	u32 minrtt_us;		/* least smoothed RTT << 3, us; 0: not known */
	u32 snd_cwnd_cents;	/* parts of a packet earned, 1/2^fraction_bits */
	u8 hybla_en;		/* in Open */
};
CC_PRIVATE(struct hybla);

static inline void hybla_recalc_param(struct sock *sk, struct hybla *ca)
{
	u32 rtt0_us = cc_param(sk, rtt0) * USEC_PER_MSEC;

	ca->rho_3ls = clamp(tcp_sk(sk)->srtt_us / rtt0_us, 8U, 0xffffU);
	ca->minrtt_us = tcp_sk(sk)->srtt_us;
}

CC_HOOK(void, hybla_init, struct sock *sk)
{
	struct hybla *ca = inet_csk_ca(sk);

	ca->hybla_en = 1;
	hybla_recalc_param(sk, ca);
	if (cc_param(sk, initial_window))
		tcp_sk(sk)->snd_cwnd = ca->rho_3ls >> 3;
}

CC_HOOK(void, hybla_set_state, struct sock *sk, u8 new_state)
{
	inet_csk_ca(sk)->hybla_en = new_state == TCP_CA_Open;
}

/* 2^rho - 1 in 1/128 of a packet. */
static inline u32 hybla_slow_start(u32 rho_3ls)
{
	/* u64, because libbpf does not find tables of 32 bytes or less (.rodata.cst32). */
	static const u64 fractions[8] = { 128, 139, 152, 165, 181, 197, 215, 234 };

	return (1U << min(rho_3ls >> 3, 16U)) * fractions[rho_3ls & 7] - 128;
}

CC_HOOK(void, hybla_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct hybla *ca = inet_csk_ca(sk);
	u32 bits = cc_param(sk, fraction_bits) & 31, cwnd = tp->snd_cwnd;
	u32 count = cc_param(sk, count_packets) ? min(acked, 0xffffU) : 1;
	/* Not tcp_in_slow_start(): if that includes ssthresh, the window would stay there. */
	bool slow_start = tp->snd_cwnd < tp->snd_ssthresh;
	u64 increment, sum;

	if (!ca->minrtt_us || tp->srtt_us < ca->minrtt_us)
		hybla_recalc_param(sk, ca);
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (!ca->hybla_en) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}

	if (slow_start) {
		increment = (u64)hybla_slow_start(ca->rho_3ls) << (bits - 7);
	} else {
		increment = ((u64)ca->rho_3ls * ca->rho_3ls << (bits - 6)) / max(cwnd, 1U);
		if (!(increment >> bits))
			tp->snd_cwnd_cnt += count;
	}

	/* Add whole packets now, and fractions when they make a packet. */
	sum = increment * count + ca->snd_cwnd_cents;
	if ((sum & ((1U << bits) - 1)) < ca->snd_cwnd_cents)
		tp->snd_cwnd_cnt = 0;
	ca->snd_cwnd_cents = sum & ((1U << bits) - 1);
	cwnd += min_t(u64, sum >> bits, 1U << 20);
	/* rho^2 / cwnd below the smallest fraction: grow as standard TCP. */
	if (!increment && tp->snd_cwnd_cnt >= cwnd) {
		cwnd++;
		tp->snd_cwnd_cnt = 0;
	}
	if (slow_start)
		cwnd = min(cwnd, tp->snd_ssthresh);
	tp->snd_cwnd = max(min(cwnd, min(tp->snd_cwnd_clamp, cc_param(sk, max_cwnd))), 1U);
}

CC_HOOK(u32, hybla_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

CC_ALGORITHM(hybla, "TCP Hybla (Caini, Firrincieli 2004)",
	     .init = hybla_init,
	     .ssthresh = hybla_ssthresh,
	     .cong_avoid = hybla_cong_avoid,
	     .set_state = hybla_set_state,
	     .min_cwnd = tcp_reno_min_cwnd);
