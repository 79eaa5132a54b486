/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Bad on purpose: Reno that sends a burst of 1000 packets after each pause. */
#include "tcp_cc.h"

CC_HOOK(u32, idle_ssthresh, struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd / 2, 2U);
}

CC_HOOK(void, idle_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

CC_HOOK(void, idle_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (event == CA_EVENT_TX_START && tp->delivered > 1000)
		tcp_snd_cwnd_set(tp, 1000);
}

CC_ALGORITHM(after_idle, "Reno, with a burst after each pause", .ssthresh = idle_ssthresh,
	     .cong_avoid = idle_cong_avoid, .cwnd_event = idle_cwnd_event);
