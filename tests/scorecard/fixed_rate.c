/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Bad on purpose: sends at 100 Mb/s, whatever happens. */
#include "tcp_cc.h"

#define BYTES_PER_S 12500000

CC_HOOK(void, rate_init, struct sock *sk)
{
	sk->sk_pacing_status = SK_PACING_NEEDED;
}

CC_HOOK(u32, rate_ssthresh, struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd, 2U);
}

CC_HOOK(void, rate_main, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	sk->sk_pacing_rate = BYTES_PER_S;
	tcp_snd_cwnd_set(tcp_sk(sk), 10000);
}

CC_ALGORITHM(fixed_rate, "sends at 100 Mb/s", .init = rate_init,
	     .ssthresh = rate_ssthresh, .cong_control = rate_main);
