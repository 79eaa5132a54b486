/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The witness of an algorithm with `cong_control`: it halves when packets are lost. */
#include "witness.h"

CC_HOOK(void, witness_cong_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);

	look(sk, 9);
	see(sk, ack);
	see(sk, rs->rtt_us);
	see(sk, (u64)rs->losses << 32 | rs->acked_sacked);
	see(sk, (u64)rs->prior_in_flight << 32 | (u32)rs->delivered);
	see(sk, (u64)rs->prior_delivered << 32 | (u32)flag);
	see(sk, rs->prior_mstamp);
	see(sk, rs->interval_us);
	see(sk, rs->is_app_limited << 1 | rs->is_retrans);
	if (rs->losses > 0)
		tp->snd_cwnd = max(tp->snd_cwnd / 2, 4U);
	else
		tp->snd_cwnd = min(tp->snd_cwnd + rs->acked_sacked, 200U);
	sk->sk_pacing_rate = 2000000;
}

CC_ALGORITHM(witness_control, "remembers every hook", .cong_control = witness_cong_control,
	     WITNESS);
