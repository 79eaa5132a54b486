/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * CUBIC: S. Ha, I. Rhee, L. Xu, 2008; RFC 9438. The algorithm is in cubic.h.
 *
 * Preset linux (the default) is the CUBIC of Linux 6.12, bit for bit. 49 504 hook calls
 * recorded in a 6.18 kernel give the same results here, private state included. Linux
 * differs from Algorithm 1 of the paper (preset ha2008):
 *  - A loss multiplies the window by 0.7, not by 0.8. Linux has HyStart.
 *  - Linux evaluates the curve only when cwnd has changed or 1/32 s has passed, and at most
 *    once per jiffy (update_gate).
 *  - The window grows by at most one packet per 2 ACKed packets (min_cnt). Until the first
 *    loss it grows by at least one packet per 20 ACKed packets (start_cnt).
 *
 *  - W_tcp is counted in whole packets, and grows by 8/15 per window of ACKs where alpha is
 *    0.529. With the paper's beta Linux has 8/23, where alpha is 1/3: 4.3 % more, and still
 *    more at small windows (one packet of W_tcp per 5 ACKs at a window of 2, not per 6).
 *    Preset ha2008 has alpha = 3 beta / (2 - beta) and parts of packets (exact_alpha).
 *  - The window grows when cnt packets are ACKed. In Algorithm 1, and in preset ha2008, it
 *    grows when more are (count_beyond): one packet per cnt + 2 ACKs.
 *
 * Both presets differ from the paper's text:
 *  - cnt and the points of the curve are whole numbers.
 *  - Time in which the application was idle does not count.
 *  - Undo restores prior_cwnd, as in Linux. Without fast convergence this is the paper's
 *    last_max.
 * Unlike Linux, initial_ssthresh also applies when HyStart is on.
 *
 * The paper contradicts itself once: after a loss without fast convergence W_last_max is cwnd
 * in Algorithm 1, but cwnd (1 - beta) in section 4.2. The curve would then have its plateau at
 * the reduced window. Every kernel has cwnd, and so have all presets: section 4.2 is an erratum.
 *
 * Two CUBICs (both 2.3) were called Linux 2.6.32. Both are from the time before Linux counted
 * packets: cnt is divided by the number of packets per ACK, cnt may be 1, and cnt is evaluated
 * at most once in 1/32 s while cwnd stands, but any number of times per jiffy.
 *	preset			linux-2.6.32		linux-2.6.32-backports
 *	kernel			as released		of distributions; 3.3
 *	until the first loss	the curve, no limit	cnt <= 20 (start_cnt)
 *	undo restores		W_last_max		the window before the loss
 *	HyStart's clock		jiffies			ms
 *	RTT may rise by		dMin/16, 2-16 jiffies	dMin/16, 4-16 ms
 *	length of a train	dMin/2 or more		more than dMin/2
 * In both, 8 RTTs of a round count for the rise, and a round of HyStart ends with an ACK in slow
 * start. Today's HyStart takes dMin/8 and all RTTs of a round. It ends a round with an RTT sample.
 * What these presets leave out of those kernels:
 *  - There the time in which the application was idle did count.
 *  - Linux 2.6.32 took no RTTs while its jiffies were negative, as in its first five minutes.
 *  - The backports count at most 32 packets per ACK.
 *
 * Preset rfc9438 follows the RFC: K = 0 and W_max = cwnd until the first loss and after a
 * timeout (section 4.8), a target of at most 1.5 cwnd (4.2; this is min_cnt = 2), and W_est
 * that grows as Reno's above cwnd_prior (4.3). It differs from the RFC:
 *  - W_est counts whole packets, by 8/15 = 0.533 where alpha is 0.529. The window follows
 *    W_est through cnt, not at once.
 *  - Slow start has HyStart; preset rfc9406 has HyStart++ (RFC 9406), with its constants, and L
 *    of 8 packets, or none if the socket paces. Its ssthresh at a loss is CUBIC's, not cwnd.
 *  - A loss reduces cwnd, not the packets in flight.
 *  - A spurious loss restores the window only (4.9 is a MAY).
 *
 * The older versions are the rows of the 2008 paper's table 1. All of them have beta 0.8, no
 * HyStart, cnt = 50 exactly until the first loss, counted ACKs, and undo to W_last_max. Run
 * them on a profile of Linux 2.6, which has those kernels' helpers.
 *	preset		Linux		what is special
 *	2.0-pre		2.6.13		no clamp, no fast convergence
 *	2.6.18.1	2.6.15-18.1	scaling bug: K is right, but the curve has 32/410 of its
 *					height; growth at most 20 packets/s
 *	2.6.18		-		Algorithm 1 of Leith et al. 2007: without the scaling bug,
 *					with the clamp of 20 dMin per RTT
 *	2.6.18.2	2.6.18.2	the bug's fix also has dMin in eighths of a jiffy, so the
 *					clamp is 160 dMin per RTT: the kernel of Leith et al.'s
 *					hosts, whose text has the clamp of before
 *	2.0		2.6.19-21	growth at most 32 packets per RTT
 *	2.1		2.6.22		the same clamp, but only above W_max
 *	2.6.22-rc4	2.6.22-24	no initial ssthresh of 100
 *	2.2		2.6.25-28	no clamp; the kernel's code (ha2008 is the paper's text)
 * All versions here have the table's cube root and the host's RTT. So the new cube root of
 * 2.6.21 and the new source of RTTs of 2.6.23 make no difference. Where sources disagree:
 *  - The clamp of 2.0 and 2.1 is table 1's 32 packets per RTT. The code of 2.6.22 had
 *    160 packets/s, as 2.6.18.2, which is the same at 200 ms.
 *  - 2.0-pre is what Leith et al. call the authors' first algorithm, which "lacks the clamp on
 *    increase rate and the mode switch". We take table 1's "original implementation clamped"
 *    to mean 2.0.
 *  - Leith et al. leave slow start at cwnd = ssthresh (line 7) and count to more than cnt
 *    (line 28). Those kernels continue slow start there and count to cnt, and so do we.
 */
#define CC_PARAMS(P) CUBIC_PARAMS(P)
#define CC_PRESETS(P) CUBIC_PRESETS(P)
#include "cubic.h"

CC_PRIVATE(struct cubic);

CC_HOOK(void, cubictcp_init, struct sock *sk)
{
	cubic_init(sk, inet_csk_ca(sk));
}

CC_HOOK(u32, cubictcp_ssthresh, struct sock *sk)
{
	return cubic_reduce(sk, inet_csk_ca(sk), cc_param(sk, beta));
}

CC_HOOK(void, cubictcp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	cubic_cong_avoid(sk, inet_csk_ca(sk), acked, CUBIC_REAL_TIME, CUBIC_PLAIN_K);
}

CC_HOOK(void, cubictcp_set_state, struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		cubic_reset(sk, inet_csk_ca(sk));
}

CC_HOOK(u32, cubictcp_undo_cwnd, struct sock *sk)
{
	return cubic_undo_cwnd(sk, inet_csk_ca(sk));
}

CC_HOOK(void, cubictcp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	cubic_cwnd_event(sk, inet_csk_ca(sk), event);
}

CC_HOOK(void, cubictcp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	cubic_pkts_acked(sk, inet_csk_ca(sk), sample);
}

CC_ALGORITHM(cubic, "CUBIC (Ha, Rhee, Xu 2008; RFC 9438) as in Linux",
	     .init = cubictcp_init,
	     .ssthresh = cubictcp_ssthresh,
	     .cong_avoid = cubictcp_cong_avoid,
	     .set_state = cubictcp_set_state,
	     .undo_cwnd = cubictcp_undo_cwnd,
	     .cwnd_event = cubictcp_cwnd_event,
	     .pkts_acked = cubictcp_pkts_acked);
