/*
 * my_cc: standard TCP that keeps a share `beta` of its window at a loss. Change it and run it:
 *
 *	ackclock run scenario.toml --algorithm ./my_cc.c:beta=0.7
 *
 * As in the kernel, you can use neither floating point nor global variables. Keep the state of
 * a flow in its socket. tcp_cc.h describes private state, the other hooks, and presets.
 */

/* A parameter: name, default, minimum, maximum, scale, description. 512 of 1024 means 0.5. */
#define CC_PARAMS(P) P(beta, 512, 1, 1023, 1024, "window multiplier at a loss")
#include "tcp_cc.h"

/* TCP calls this once per loss event. It returns the new ssthresh, in packets. */
CC_HOOK(u32, my_cc_ssthresh, struct sock *sk)
{
	/* 64 bits: a window times 1024 may need more than 32. */
	return max_t(u32, (u64)tcp_sk(sk)->snd_cwnd * cc_param(sk, beta) / 1024, 2);
}

/* TCP calls this for every ACK of new data outside recovery. The ACK is for `acked` packets. */
CC_HOOK(void, my_cc_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return; /* the application limits the flow, not the window */
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked); /* add one packet per ACKed packet */
		if (!acked)
			return;
	}
	/* Add one packet per `snd_cwnd` ACKed packets: one per RTT. A smaller number grows faster. */
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

/* The name (for `ackclock list`, figures and the kernel), a description, and the hooks. */
CC_ALGORITHM(my_cc, "standard TCP that keeps a share beta of its window at a loss",
	     .ssthresh = my_cc_ssthresh,
	     .cong_avoid = my_cc_cong_avoid);
