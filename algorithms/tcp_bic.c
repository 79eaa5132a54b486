/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * BIC: L. Xu, K. Harfoush, I. Rhee, "Binary Increase Congestion Control (BIC) for
 * Fast Long-Distance Networks", INFOCOM 2004; S. Ha, I. Rhee, L. Xu, 2008, section 3.1.
 * BIC was Linux's default from 2.6.8 to 2.6.18.
 *
 * Below W_max, the window of the last loss, the window grows by a fixed part of its
 * distance to W_max in each RTT. It grows by at most S_max packets (additive increase)
 * and by at least S_min. Above W_max the same curve follows in mirror image (max probing).
 *
 * Preset linux (the default) is the BIC of Linux 6.12. It differs from the paper:
 *  - It grows by 1/4 of the distance, not by half (B). S_max is 16 packets, not 32. A loss
 *    multiplies the window by 0.8, not by 0.875.
 *  - It takes 5 RTTs for each of the last packets (smooth_part / B). The paper has an
 *    S_min of 0.01 instead.
 *  - It evaluates the law only when cwnd has changed or 1/32 s has passed.
 *  - It compensates for delayed ACKs twice. It divides cnt by the number of packets per
 *    ACK, but Linux has counted packets, not ACKs, since 3.x. With delayed ACKs the window
 *    therefore grows twice as fast as the law. With the larger ACKs of offloading receivers
 *    it grows faster still, up to doubling in an RTT.
 *
 * Preset linux-2.6.18 counts ACKs, as BIC assumes, and begins with an ssthresh of 100.
 * After a spurious loss the preset restores the window from before the loss. That kernel
 * restored W_max, which fast convergence may have lowered. Before 2.6.15 S_max was 32.
 *
 * Preset xu2004 has the paper's constants and does not compensate for delayed ACKs. Its
 * S_max and beta are from the paper's experiments.
 *
 * One more difference from Linux: initial_ssthresh belongs to a flow, not to the machine.
 */
#define CC_PARAMS(P)                                                                          \
	P(beta, 819, 1, 1023, 1024, "window multiplier at a loss (1 minus the paper's beta)") \
	P(max_increment, 16, 1, 65535, 1, "S_max: maximum growth per RTT, packets")           \
	P(B, 4, 2, 64, 1, "growth per RTT is 1/B of the distance to W_max")                   \
	P(smooth_part, 20, 1, 1000, 1,                                                        \
	  "packets of growth near W_max take smooth_part/B RTTs each")                         \
	P(low_window, 14, 0, 1000000, 1, "standard TCP up to this window, packets")           \
	P(fast_convergence, 1, 0, 1, 1, "1: lower W_max further if a loss comes below it")    \
	P(start_cnt, 20, 0, 1000, 1,                                                          \
	  "maximum ACKed packets per packet of growth until the first loss; 0: no limit")     \
	P(update_gate, 1, 0, 1, 1,                                                            \
	  "evaluate the law 0: on every ACK; 1: if cwnd changed or 1/32 s passed")            \
	P(delayed_ack, 1, 0, 1, 1, "1: divide cnt by the number of packets per ACK")          \
	P(count_acks, 0, 0, 1, 1, "1: count ACKs, not packets (Linux 2.6)")                   \
	P(initial_ssthresh, 0, 0, TCP_INFINITE_SSTHRESH, 1,                                   \
	  "slow start ends at this window, packets; 0: the host's value")

#define CC_PRESETS(P)                                                                        \
	P("linux", "", "Linux 6.12")                                                         \
	P("linux-2.6.18", "count_acks=1 initial_ssthresh=100", "Linux 2.6.15 to 2.6.18")     \
	P("xu2004", "beta=896 max_increment=32 B=2 start_cnt=0 update_gate=0 delayed_ack=0", \
	  "the paper's constants")

#include "tcp_cc.h"

enum { ACK_RATIO_SHIFT = 4 };

struct bictcp {
	u32 cnt;		/* ACKed packets (ACKs) per packet of growth */
	u32 last_max_cwnd;	/* W_max; 0: no loss yet */
	u32 last_cwnd;		/* cwnd and ... */
	u32 last_time;		/* ... jiffies when cnt was computed */
	u32 delayed_ack;	/* packets per ACK << 4, smoothed */
};
CC_PRIVATE(struct bictcp);

static inline void bictcp_reset(struct bictcp *ca)
{
	*ca = (struct bictcp){ .delayed_ack = 2 << ACK_RATIO_SHIFT };
}

CC_HOOK(void, bictcp_init, struct sock *sk)
{
	bictcp_reset(inet_csk_ca(sk));
	if (cc_param(sk, initial_ssthresh))
		tcp_sk(sk)->snd_ssthresh = cc_param(sk, initial_ssthresh);
}

/* ACKed packets per packet of growth, above low_window. */
static inline u32 bictcp_cnt(struct sock *sk, const struct bictcp *ca, u32 cwnd)
{
	u32 max_increment = cc_param(sk, max_increment), parts = cc_param(sk, B);
	u32 last_max = ca->last_max_cwnd;
	u32 smooth = (u64)cwnd * cc_param(sk, smooth_part) / parts;
	u32 fastest = max(cwnd / max_increment, 1U);

	if (cwnd < last_max) {
		u32 part = (last_max - cwnd) / parts;

		if (part > max_increment)
			return fastest;		/* additive increase */
		return part <= 1 ? smooth : cwnd / part;	/* binary search */
	}
	if (cwnd - last_max < parts)
		return smooth;
	if (cwnd - last_max < max_increment * (parts - 1))
		return (u64)cwnd * (parts - 1) / (cwnd - last_max);	/* max probing */
	return fastest;
}

static inline void bictcp_update(struct sock *sk, struct bictcp *ca, u32 cwnd)
{
	u32 now = tcp_jiffies32(sk);

	if (cc_param(sk, update_gate) && ca->last_cwnd == cwnd &&
	    now - ca->last_time <= cc_hz(sk) / 32)
		return;
	ca->last_cwnd = cwnd;
	ca->last_time = now;

	if (cwnd <= cc_param(sk, low_window)) {
		ca->cnt = cwnd;
		return;
	}
	ca->cnt = bictcp_cnt(sk, ca, cwnd);
	if (!ca->last_max_cwnd && cc_param(sk, start_cnt))
		ca->cnt = min(ca->cnt, cc_param(sk, start_cnt));
	if (cc_param(sk, delayed_ack))
		ca->cnt = ((u64)ca->cnt << ACK_RATIO_SHIFT) / ca->delayed_ack;
	ca->cnt = max(ca->cnt, 1U);
}

CC_HOOK(void, bictcp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bictcp *ca = inet_csk_ca(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	bictcp_update(sk, ca, tp->snd_cwnd);
	tcp_cong_avoid_ai(tp, ca->cnt, cc_param(sk, count_acks) ? min(acked, 1U) : acked);
}

CC_HOOK(u32, bictcp_ssthresh, struct sock *sk)
{
	struct bictcp *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd, beta = cc_param(sk, beta);

	if (cwnd < ca->last_max_cwnd && cc_param(sk, fast_convergence))
		ca->last_max_cwnd = (u64)cwnd * (1024 + beta) / 2048;
	else
		ca->last_max_cwnd = cwnd;
	if (cwnd <= cc_param(sk, low_window))
		return max(cwnd / 2, 2U);
	return max((u32)((u64)cwnd * beta / 1024), 2U);
}

CC_HOOK(void, bictcp_set_state, struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		bictcp_reset(inet_csk_ca(sk));
}

CC_HOOK(void, bictcp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct bictcp *ca = inet_csk_ca(sk);

	/* Never 0: what is below 16 stays. An ACK stands for less than 2^16 packets. */
	if (tcp_ca_state(sk) == TCP_CA_Open)
		ca->delayed_ack += min(sample->pkts_acked, 0xffffU) -
				   (ca->delayed_ack >> ACK_RATIO_SHIFT);
}

CC_ALGORITHM(bic, "BIC (Xu, Harfoush, Rhee 2004) as in Linux",
	     .init = bictcp_init,
	     .ssthresh = bictcp_ssthresh,
	     .cong_avoid = bictcp_cong_avoid,
	     .set_state = bictcp_set_state,
	     .pkts_acked = bictcp_pkts_acked);
