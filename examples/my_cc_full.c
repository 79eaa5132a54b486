/*
 * my_cc: standard TCP that stops growing while its packets wait longer than `target` in the queue.
 * It has what most algorithms need: private state, parameters, init and samples of the RTT.
 *
 *	ackclock run scenario.toml --algorithm ./my_cc.c:target=5
 *
 * As in the kernel, you can use neither floating point nor global variables. tcp_cc.h describes the
 * other hooks, larger state, and presets.
 */

/* Each parameter: name, default, minimum, maximum, scale, description. 512 of 1024 means 0.5. */
#define CC_PARAMS(P)                                               \
	P(beta, 512, 1, 1023, 1024, "window multiplier at a loss") \
	P(target, 10, 0, 1000, 1, "queueing delay without growth, ms")
#include "tcp_cc.h"

/* The state of a flow, at most 104 bytes; zero when the connection begins. */
struct my_cc {
	u32 min_rtt_us; /* the shortest RTT so far: the path without a queue */
	u32 rtt_us;	/* the last RTT */
};
CC_PRIVATE(struct my_cc);

/* TCP calls this when the connection begins. */
CC_HOOK(void, my_cc_init, struct sock *sk)
{
	struct my_cc *ca = inet_csk_ca(sk);

	ca->min_rtt_us = U32_MAX;
	ca->rtt_us = 0;
}

/* TCP calls this for every ACK of new data. The RTT of its newest packet is negative if unknown. */
CC_HOOK(void, my_cc_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct my_cc *ca = inet_csk_ca(sk);

	if (sample->rtt_us <= 0)
		return;
	ca->rtt_us = sample->rtt_us;
	ca->min_rtt_us = min(ca->min_rtt_us, ca->rtt_us);
}

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
	struct my_cc *ca = inet_csk_ca(sk);

	if (!tcp_is_cwnd_limited(sk))
		return; /* the application limits the flow, not the window */
	if (ca->rtt_us > ca->min_rtt_us &&
	    ca->rtt_us - ca->min_rtt_us > cc_param(sk, target) * USEC_PER_MSEC) {
		tp->snd_ssthresh = min(tp->snd_ssthresh, max(tp->snd_cwnd, 2U)); /* slow start ends */
		return;
	}
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked); /* add one packet per ACKed packet */
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked); /* add one packet per RTT */
}

/* The name (for `ackclock list`, figures and the kernel), a description, and the hooks. */
CC_ALGORITHM(my_cc, "standard TCP that stops growing while its packets wait in the queue",
	     .init = my_cc_init,
	     .pkts_acked = my_cc_pkts_acked,
	     .ssthresh = my_cc_ssthresh,
	     .cong_avoid = my_cc_cong_avoid);
