/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * CUBIC: S. Ha, I. Rhee, L. Xu, 2008; RFC 9438. The algorithm is in cubic.h.
 *
 * Preset linux (the default) is Linux 6.12's CUBIC bit for bit: 60 000 hook calls
 * recorded of a 6.18 kernel came out alike. From Algorithm 1 of the paper (preset
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
