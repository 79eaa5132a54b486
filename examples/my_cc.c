/*
 * my_cc: standard TCP that keeps a share `beta` of its window at a loss. Change it and run it:
 *
 *	ackclock run scenario.toml --algorithm ./my_cc.c:beta=0.7
 *
 * There is no floating point and no memory but the socket's, as in the kernel. tcp_cc.h says
 * what else there is: private state, more hooks, presets.
 */

/* A parameter: its name, default, least, most, and what stands for 1: 512 of 1024 is 0.5. */
#define CC_PARAMS(P) P(beta, 512, 1, 1023, 1024, "window multiplier at a loss")
#include "tcp_cc.h"

/* Called once when a loss is seen: the window to fall back to, in packets. */
CC_HOOK(u32, my_cc_ssthresh, struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd * cc_param(sk, beta) / 1024, 2U);
}

/* Called for every ACK of new data outside recovery: `acked` packets have arrived. */
CC_HOOK(void, my_cc_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return; /* the application, not the window, was the limit */
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked); /* one packet more per packet ACKed */
		if (!acked)
			return;
	}
	/* One packet more per `snd_cwnd` ACKed, hence per RTT. Fewer: grows faster. */
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

/* How it is called: in `ackclock list ./my_cc.c`, in figures and in the kernel. */
CC_ALGORITHM(my_cc, "standard TCP that keeps a share beta of its window at a loss",
	     .ssthresh = my_cc_ssthresh,
	     .cong_avoid = my_cc_cong_avoid);
