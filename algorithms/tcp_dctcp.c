/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * DCTCP, for data centres: RFC 8257; M. Alizadeh, A. Greenberg, D. A. Maltz, J. Padhye,
 * P. Patel, B. Prabhakar, S. Sengupta, M. Sridharan, "Data Center TCP (DCTCP)", ACM SIGCOMM
 * 2010. The queue marks every packet above a low threshold. The sender measures which share F
 * of its packets was marked, and reduces its window by as much as that:
 *
 *	alpha = (1 - g) alpha + g F	once per window, g = 2^-shift_g
 *	cwnd = cwnd (1 - alpha / 2)	once per window with a mark
 *
 * It grows as Reno does, and halves its window at a loss. The receiver runs DCTCP too: when a
 * marked packet follows an unmarked one, or the other way round, it first acknowledges what came
 * before, without or with ECE as that was, and then the new packet at once. So the sender can
 * count marked packets although ACKs are delayed.
 *
 * This is the dctcp of Linux 6.12, except that it does not move a flow to another path (PLB). It
 * uses ECN even if the flow does not ask for it. Without ECN, as when the SYN was lost, it is
 * Reno. On a path that does not mark, or that marks as for Reno, it takes more than its share:
 * RFC 8257, section 5, keeps it to networks of one owner.
 */
#define CC_PARAMS(P)                                                             \
	P(shift_g, 4, 0, 10, 1, "g is 1 / 2^shift_g: weight of the last window") \
	P(alpha_on_init, 1024, 0, 1024, 1024, "alpha of a new connection")

#include "tcp_cc.h"

#define DCTCP_MAX_ALPHA 1024U

struct dctcp {
	u32 old_delivered;	/* delivered when this window began */
	u32 old_delivered_ce;	/* delivered_ce then */
	u32 prior_rcv_nxt;	/* receiver: rcv_nxt before the newest packet */
	u32 dctcp_alpha;	/* alpha, in 1024ths */
	u32 next_seq;		/* this window ends when this byte is ACKed */
	u32 ce_state;		/* receiver: was the newest packet marked? */
	u32 loss_cwnd;		/* cwnd before the last reduction */
};
CC_PRIVATE(struct dctcp);

static inline void dctcp_reset(const struct tcp_sock *tp, struct dctcp *ca)
{
	ca->next_seq = tp->snd_nxt;
	ca->old_delivered = tp->delivered;
	ca->old_delivered_ce = tp->delivered_ce;
}

CC_HOOK(void, dctcp_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp *ca = inet_csk_ca(sk);

	if (!(tp->ecn_flags & (TCP_ECN_OK | TCP_ECN_MODE_ACCECN))) {
		cc_become_reno(sk);
		return;
	}
	ca->prior_rcv_nxt = tp->rcv_nxt;
	ca->dctcp_alpha = cc_param(sk, alpha_on_init);
	dctcp_reset(tp, ca);
}

CC_HOOK(u32, dctcp_ssthresh, struct sock *sk)
{
	struct dctcp *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	ca->loss_cwnd = cwnd;
	return max(cwnd - (u32)((u64)cwnd * ca->dctcp_alpha >> 11), 2U);
}

CC_HOOK(void, dctcp_update_alpha, struct sock *sk, u32 flags)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp *ca = inet_csk_ca(sk);
	u32 shift_g = cc_param(sk, shift_g), alpha = ca->dctcp_alpha;
	u32 delivered, delivered_ce;

	if (before(tp->snd_una, ca->next_seq))
		return;
	delivered = tp->delivered - ca->old_delivered;
	delivered_ce = tp->delivered_ce - ca->old_delivered_ce;
	/* Rounded down it would never reach 0. */
	alpha -= min_not_zero(alpha, alpha >> shift_g);
	if (delivered_ce) {
		u32 share = ((u64)delivered_ce << (10 - shift_g)) / max(delivered, 1U);

		alpha = min(alpha + share, DCTCP_MAX_ALPHA);
	}
	ca->dctcp_alpha = alpha;
	dctcp_reset(tp, ca);
}

static inline void dctcp_react_to_loss(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	inet_csk_ca(sk)->loss_cwnd = tp->snd_cwnd;
	tp->snd_ssthresh = max(tp->snd_cwnd >> 1, 2U);
}

/* A timeout is for dctcp_cwnd_event: otherwise one loss would halve the window twice. */
CC_HOOK(void, dctcp_state, struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Recovery && new_state != tcp_ca_state(sk))
		dctcp_react_to_loss(sk);
}

static inline void dctcp_ece_ack_cwr(struct sock *sk, u32 ce_state)
{
	if (ce_state)
		tcp_sk(sk)->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tcp_sk(sk)->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

/* The receiver: a packet has arrived, with a mark or without one. */
static inline void dctcp_ece_ack_update(struct sock *sk, struct dctcp *ca, u32 ce_state)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	if (ca->ce_state != ce_state) {
		if (icsk->icsk_ack.pending & ICSK_ACK_TIMER) {
			dctcp_ece_ack_cwr(sk, ca->ce_state);
			__tcp_send_ack(sk, ca->prior_rcv_nxt);
		}
		icsk->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	ca->prior_rcv_nxt = tcp_sk(sk)->rcv_nxt;
	ca->ce_state = ce_state;
	dctcp_ece_ack_cwr(sk, ce_state);
}

CC_HOOK(void, dctcp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	switch (event) {
	case CA_EVENT_ECN_IS_CE:
	case CA_EVENT_ECN_NO_CE:
		dctcp_ece_ack_update(sk, inet_csk_ca(sk), event == CA_EVENT_ECN_IS_CE);
		break;
	case CA_EVENT_LOSS:
		dctcp_react_to_loss(sk);
		break;
	default:
		break;
	}
}

CC_HOOK(u32, dctcp_cwnd_undo, struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd, inet_csk_ca(sk)->loss_cwnd);
}

CC_HOOK(void, dctcp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

CC_ALGORITHM(dctcp, "Data Center TCP (RFC 8257): reduces its window by the share of marked packets",
	     .flags = TCP_CONG_NEEDS_ECN,
	     .init = dctcp_init,
	     .in_ack_event = dctcp_update_alpha,
	     .cwnd_event = dctcp_cwnd_event,
	     .ssthresh = dctcp_ssthresh,
	     .cong_avoid = dctcp_cong_avoid,
	     .undo_cwnd = dctcp_cwnd_undo,
	     .set_state = dctcp_state);
