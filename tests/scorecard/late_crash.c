/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Bad on purpose: Reno that divides by zero when its window exceeds 2000 packets. */
#include "tcp_cc.h"

CC_HOOK(u32, late_ssthresh, struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd / 2, 2U);
}

CC_HOOK(void, late_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (tp->snd_cwnd > 2000)
		acked /= tp->snd_cwnd / 50000;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

CC_ALGORITHM(late_crash, "Reno, until its window is large", .ssthresh = late_ssthresh,
	     .cong_avoid = late_cong_avoid);
