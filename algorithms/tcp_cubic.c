/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * CUBIC: S. Ha, I. Rhee, L. Xu, 2008; RFC 9438. The algorithm is in cubic.h.
 *
 * Preset linux (the default) is Linux 6.12's CUBIC bit for bit: 49 504 hook calls
 * recorded of a 6.18 kernel come out alike, private state too. From Algorithm 1 of the paper (preset
 * ha2008) Linux differs in that it
 *  - multiplies the window by 0.7 at a loss, not 0.8, and has HyStart;
 *  - evaluates the curve only when cwnd changed or 1/32 s passed, and at most once
 *    per jiffy (update_gate);
 *  - grows by at most one packet per 2 ACKed (min_cnt), and by at least one per 20
 *    until the first loss (start_cnt).
 * Both presets differ from the paper's text: W_tcp is counted in whole packets; time
 * while the application was idle does not count; undo restores prior_cwnd, as Linux
 * does, which is what the paper's last_max is without fast convergence. And from Linux:
 * initial_ssthresh holds with HyStart too.
 *
 * Preset linux-2.6.32 (CUBIC 2.3) is the above before Linux counted packets: cnt is
 * divided by the packets that an ACK stands for, and may be 1. Its HyStart took
 * dMin/16 and 2 to 16 jiffies where today's takes dMin/8 and 4 to 16 ms; ours is
 * today's.
 *
 * Preset rfc9438: K = 0 and W_max = cwnd until the first loss and after a timeout (4.8),
 * target at most 1.5 cwnd (4.2: that is min_cnt = 2), W_est as Reno's above cwnd_prior
 * (4.3). From the RFC it differs in that
 *  - W_est counts whole packets, by 8/15 = 0.533 for alpha = 0.529, and the window follows
 *    it through cnt, not at once;
 *  - slow start has HyStart, not HyStart++; a loss reduces cwnd, not the flight; a spurious
 *    loss gives back the window alone (4.9 is a MAY).
 *
 * Older versions are the rows of the 2008 paper's table 1. All have beta 0.8, no HyStart,
 * cnt = 50 exactly until the first loss, counted ACKs, undo to W_last_max. Run them on
 * profile linux-2.6.25, whose helpers they had.
 *	2.0-pre		2.6.13		no clamp, no fast convergence
 *	2.6.18.1	2.6.15-18.1	scaling bug: K as it should be, curve of 32/410 of its
 *					height, growth at most 20 packets/s
 *	2.6.18		-		Algorithm 1 of Leith et al. 2007: without that bug of the
 *					curve, with its clamp of 20 dMin per RTT
 *	2.0		2.6.19-21	growth at most 32 packets per RTT
 *	2.1		2.6.22		only above W_max
 *	2.6.22-rc4	2.6.22-24	no initial ssthresh of 100
 *	2.2		2.6.25-28	no clamp; the kernel's, where ha2008 is the paper's text
 * 2.6.21's cube root and 2.6.23's source of RTTs are no difference here: all versions have
 * the table's root and the host's RTT. Where sources disagree:
 *  - The clamp of 2.0 and 2.1 is table 1's 32 packets per RTT; the code of 2.6.22 had
 *    160 packets/s (max_rate=160), which is the same at 200 ms.
 *  - 2.0-pre is Leith et al.'s "lacks the clamp on increase rate and the mode switch" of
 *    the authors' first algorithm. Table 1's "original implementation clamped" is taken to
 *    be 2.0's.
 *  - Leith et al. leave slow start at cwnd = ssthresh (line 7) and count to more than cnt
 *    (line 28); those kernels go on in slow start there and count to cnt.
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
	return cubic_reduce(sk, inet_csk_ca(sk));
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
