/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Writes down which hooks were called, in order: one letter each, as many as fit. */
#include "tcp_cc.h"

struct hooks {
	u8 called[ICSK_CA_PRIV_SIZE - sizeof(u32)];
	u32 snd_una;	/* as the last in_ack_event saw it */
};

CC_PRIVATE(struct hooks);

static inline void note(struct sock *sk, u8 hook)
{
	struct hooks *hooks = inet_csk_ca(sk);
	u32 i;

	for (i = 0; i < sizeof(hooks->called); i++)
		if (!hooks->called[i]) {
			hooks->called[i] = hook;
			return;
		}
}

CC_HOOK(void, order_init, struct sock *sk)
{
	note(sk, 'i');
}

CC_HOOK(u32, order_ssthresh, struct sock *sk)
{
	note(sk, 's');
	return max(tcp_sk(sk)->snd_cwnd / 2, 2U);
}

CC_HOOK(void, order_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	note(sk, 'a');
	tcp_reno_cong_avoid(sk, ack, acked);
}

CC_HOOK(void, order_set_state, struct sock *sk, u8 new_state)
{
	note(sk, '0' + new_state);
}

CC_HOOK(void, order_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	note(sk, 'A' + event);
}

CC_HOOK(void, order_in_ack_event, struct sock *sk, u32 flags)
{
	struct hooks *hooks = inet_csk_ca(sk);
	bool moved = tcp_sk(sk)->snd_una != hooks->snd_una;

	hooks->snd_una = tcp_sk(sk)->snd_una;
	note(sk, flags & CA_ACK_SLOWPATH ? 'q' : moved ? 'f' : '?');
}

CC_HOOK(void, order_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	note(sk, 'p');
}

CC_HOOK(u32, order_undo_cwnd, struct sock *sk)
{
	note(sk, 'u');
	return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}

CC_ALGORITHM(hook_order, "reno that writes down its hooks",
	     .init = order_init,
	     .ssthresh = order_ssthresh,
	     .cong_avoid = order_cong_avoid,
	     .set_state = order_set_state,
	     .cwnd_event = order_cwnd_event,
	     .in_ack_event = order_in_ack_event,
	     .pkts_acked = order_pkts_acked,
	     .undo_cwnd = order_undo_cwnd);
