/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * CUBIC with ABE (RFC 8511): it keeps 0.85 of the window at a mark, and 0.7 of it at a loss, as
 * Linux's CUBIC does. It needs a flow with ECN and a queue that marks; otherwise it is cubic.
 *
 * The RFC changes the multiplier alone. W_max of fast convergence takes the same multiplier, and
 * W_tcp still grows by the alpha that belongs to beta.
 */
#define CC_PARAMS(P) \
	CUBIC_PARAMS(P) \
	P(beta_ecn, 870, 1, 1023, 1024, "window multiplier at a mark")
#define CC_PRESETS(P) \
	P("linux", "", "Linux 6.12's CUBIC with ABE") \
	P("rfc9438", "start_cnt=0 update_gate=0 reno_above_prior=1", "RFC 9438 with ABE")
#include "cubic.h"
#include "abe.h"

struct cubic_abe {
	struct cubic cubic;
	u8 echoed;	/* the last ACK had ECE */
};

CC_PRIVATE(struct cubic_abe);

CC_HOOK(void, cubicabe_init, struct sock *sk)
{
	struct cubic_abe *abe = inet_csk_ca(sk);

	cubic_init(sk, &abe->cubic);
}

CC_HOOK(void, cubicabe_in_ack_event, struct sock *sk, u32 flags)
{
	struct cubic_abe *abe = inet_csk_ca(sk);

	abe->echoed = !!(flags & CA_ACK_ECE);
}

CC_HOOK(u32, cubicabe_ssthresh, struct sock *sk)
{
	struct cubic_abe *abe = inet_csk_ca(sk);
	bool mark = abe_is_for_mark(sk, abe->echoed);

	return cubic_reduce(sk, &abe->cubic, mark ? cc_param(sk, beta_ecn) : cc_param(sk, beta));
}

CC_HOOK(void, cubicabe_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct cubic_abe *abe = inet_csk_ca(sk);

	cubic_cong_avoid(sk, &abe->cubic, acked, CUBIC_REAL_TIME, CUBIC_PLAIN_K);
}

CC_HOOK(void, cubicabe_set_state, struct sock *sk, u8 new_state)
{
	struct cubic_abe *abe = inet_csk_ca(sk);

	if (new_state == TCP_CA_Loss)
		cubic_reset(sk, &abe->cubic);
}

CC_HOOK(u32, cubicabe_undo_cwnd, struct sock *sk)
{
	struct cubic_abe *abe = inet_csk_ca(sk);

	return cubic_undo_cwnd(sk, &abe->cubic);
}

CC_HOOK(void, cubicabe_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct cubic_abe *abe = inet_csk_ca(sk);

	cubic_cwnd_event(sk, &abe->cubic, event);
}

CC_HOOK(void, cubicabe_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct cubic_abe *abe = inet_csk_ca(sk);

	cubic_pkts_acked(sk, &abe->cubic, sample);
}

CC_ALGORITHM(cubic_abe, "CUBIC with ABE (RFC 8511): yields less to a mark than to a loss",
	     .init = cubicabe_init,
	     .ssthresh = cubicabe_ssthresh,
	     .cong_avoid = cubicabe_cong_avoid,
	     .set_state = cubicabe_set_state,
	     .undo_cwnd = cubicabe_undo_cwnd,
	     .cwnd_event = cubicabe_cwnd_event,
	     .in_ack_event = cubicabe_in_ack_event,
	     .pkts_acked = cubicabe_pkts_acked);
