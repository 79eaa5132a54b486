/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Westwood+: S. Mascolo, C. Casetti, M. Gerla, M. Y. Sanadidi, R. Wang, "TCP Westwood:
 * Bandwidth Estimation for Enhanced Transport over Wireless Links", MobiCom 2001;
 * L. A. Grieco, S. Mascolo, "Performance Evaluation and Comparison of Westwood+, New
 * Reno, and Vegas TCP Congestion Control", ACM SIGCOMM CCR 34(2), 2004. Westwood+ grows as
 * Reno. After a loss the window is the one that fills the pipe without a queue:
 *
 *	ssthresh = BWE RTT_min
 *
 * BWE is the smoothed rate of ACKed bytes, sampled once per RTT (at least 50 ms).
 *
 * Preset linux (the default) is the Westwood of Linux 6.12. It differs from the paper of 2004:
 *  - It smooths twice, with weight 7/8 each. The paper smooths once, with 0.9.
 *  - It measures RTTs in jiffies, rounded up. It measures RTT_min again after a timeout.
 *  - It halves the window during recovery, as Reno does, and sets it when recovery ends.
 *  - After recovery it always sets cwnd to ssthresh. The paper does so only if cwnd is larger.
 * Preset grieco2004 has the paper's filter. Sums have 64 bits; Linux's sums overflow.
 */
#define CC_PARAMS(P)                                                        \
	P(filters, 2, 1, 2, 1, "number of times that BWE is smoothed")      \
	P(gain, 896, 0, 1023, 1024, "weight of the old value in smoothing") \
	P(rtt_min, 50, 1, 10000, 1, "minimum duration of a sample of BWE, ms")

#define CC_PRESETS(P)                \
	P("linux", "", "Linux 6.12") \
	P("grieco2004", "filters=1 gain=922", "the paper")

#include "tcp_cc.h"

struct westwood {
	u32 bw_ns_est;		/* rate smoothed once, bytes per jiffy */
	u32 bw_est;		/* and twice: BWE */
	u32 rtt_win_sx;		/* when the sample being taken began, jiffies */
	u32 bk;			/* bytes ACKed in it */
	u32 snd_una;		/* ACKed when last looked, sequence number */
	u32 accounted;		/* bytes counted at duplicate ACKs, not yet ACKed */
	u32 rtt;		/* of the last ACK, jiffies */
	u32 rtt_min;		/* least, jiffies */
	u8 first_ack;
	u8 reset_rtt_min;
};
CC_PRIVATE(struct westwood);

CC_HOOK(void, tcp_westwood_init, struct sock *sk)
{
	struct westwood *ca = inet_csk_ca(sk);

	*ca = (struct westwood){
		.rtt = 20 * cc_hz(sk),
		.rtt_min = 20 * cc_hz(sk),
		.rtt_win_sx = tcp_jiffies32(sk),
		.snd_una = tcp_sk(sk)->snd_una,
		.first_ack = 1,
		.reset_rtt_min = 1,
	};
}

static inline u32 westwood_do_filter(u32 was, u32 is, u32 gain)
{
	return ((u64)was * gain + (u64)is * (1024 - gain)) >> 10;
}

static inline void westwood_filter(struct sock *sk, struct westwood *ca, u32 delta)
{
	u32 gain = cc_param(sk, gain), rate = ca->bk / delta;

	if (!ca->bw_ns_est && !ca->bw_est) {
		ca->bw_ns_est = ca->bw_est = rate;
		return;
	}
	ca->bw_ns_est = westwood_do_filter(ca->bw_ns_est, rate, gain);
	ca->bw_est = cc_param(sk, filters) < 2 ?
			     ca->bw_ns_est :
			     westwood_do_filter(ca->bw_est, ca->bw_ns_est, gain);
}

/* Ends a sample that has lasted an RTT. */
static inline void westwood_update_window(struct sock *sk, struct westwood *ca)
{
	u32 now = tcp_jiffies32(sk), delta = now - ca->rtt_win_sx;
	/* Rounded down, as HZ / 20 of Linux is. */
	u32 least = cc_param(sk, rtt_min) * cc_hz(sk) / 1000;

	if (ca->first_ack) {
		/* The bytes of the handshake are not data. */
		ca->snd_una = tcp_sk(sk)->snd_una;
		ca->first_ack = 0;
	}
	if (ca->rtt && delta > max(ca->rtt, least)) {
		westwood_filter(sk, ca, delta);
		ca->bk = 0;
		ca->rtt_win_sx = now;
	}
}

/* Bytes that arrived, by an ACK. A duplicate ACK stands for one packet; the next
 * cumulative ACK does not count this packet again. */
static inline u32 westwood_acked_count(const struct tcp_sock *tp, struct westwood *ca)
{
	u32 mss = max(tp->mss_cache, 1U), acked = tp->snd_una - ca->snd_una;

	ca->snd_una = tp->snd_una;
	if (!acked) {
		ca->accounted += mss;
		return mss;
	}
	if (acked <= mss)
		return acked;
	if (ca->accounted >= acked) {	/* a partial ACK */
		ca->accounted -= acked;
		return mss;
	}
	acked -= ca->accounted;
	ca->accounted = 0;
	return acked;
}

/* snd_una already includes this ACK. */
CC_HOOK(void, tcp_westwood_in_ack_event, struct sock *sk, u32 flags)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct westwood *ca = inet_csk_ca(sk);

	westwood_update_window(sk, ca);
	if (flags & CA_ACK_SLOWPATH) {
		ca->bk += westwood_acked_count(tp, ca);
	} else {
		ca->bk += tp->snd_una - ca->snd_una;
		ca->snd_una = tp->snd_una;
	}
	if (ca->reset_rtt_min)
		ca->rtt_min = ca->rtt;
	else
		ca->rtt_min = min(ca->rtt, ca->rtt_min);
	ca->reset_rtt_min = 0;
}

CC_HOOK(void, tcp_westwood_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	if (sample->rtt_us > 0)
		inet_csk_ca(sk)->rtt = cc_usecs_to_jiffies(sk, sample->rtt_us);
}

/* BWE RTT_min in packets */
static inline u32 westwood_bw_rttmin(const struct tcp_sock *tp, const struct westwood *ca)
{
	u64 packets = (u64)ca->bw_est * ca->rtt_min / max(tp->mss_cache, 1U);

	return max((u32)min_t(u64, packets, tp->snd_cwnd_clamp), 2U);
}

CC_HOOK(void, tcp_westwood_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct westwood *ca = inet_csk_ca(sk);

	if (event == CA_EVENT_COMPLETE_CWR) {
		tp->snd_cwnd = tp->snd_ssthresh = westwood_bw_rttmin(tp, ca);
	} else if (event == CA_EVENT_LOSS) {
		tp->snd_ssthresh = westwood_bw_rttmin(tp, ca);
		ca->reset_rtt_min = 1;
	}
}

CC_HOOK(u32, tcp_westwood_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

CC_HOOK(void, tcp_westwood_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

CC_ALGORITHM(westwood, "TCP Westwood+ (Grieco, Mascolo 2004)",
	     .init = tcp_westwood_init,
	     .ssthresh = tcp_westwood_ssthresh,
	     .cong_avoid = tcp_westwood_cong_avoid,
	     .cwnd_event = tcp_westwood_cwnd_event,
	     .in_ack_event = tcp_westwood_in_ack_event,
	     .pkts_acked = tcp_westwood_pkts_acked);
