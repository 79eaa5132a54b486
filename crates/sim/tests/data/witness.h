/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Reno that remembers, in a hash, every call of a hook, what it was told and what it saw. */
#include "tcp_cc.h"

struct witness {
	u64 seen;
};

CC_PRIVATE(struct witness);

static inline void see(struct sock *sk, u64 value)
{
	struct witness *witness = inet_csk_ca(sk);
	u64 seen = witness->seen;

	witness->seen = ((seen << 5 | seen >> 59) ^ value) * 0x517cc1b727220a95ULL;
}

static inline void look(struct sock *sk, u64 hook)
{
	struct tcp_sock *tp = tcp_sk(sk);

	see(sk, hook);
	see(sk, tp->tcp_mstamp);
	see(sk, (u64)tp->snd_una << 32 | tp->snd_nxt);
	see(sk, (u64)tp->snd_cwnd << 32 | tp->snd_cwnd_cnt);
	see(sk, (u64)tp->snd_ssthresh << 32 | tp->snd_cwnd_stamp);
	see(sk, (u64)tp->snd_cwnd_used << 32 | tp->max_packets_out);
	see(sk, (u64)tp->prior_cwnd << 32 | tp->prior_ssthresh);
	see(sk, (u64)tp->packets_out << 32 | tp->retrans_out);
	see(sk, (u64)tp->sacked_out << 32 | tp->lost_out);
	see(sk, (u64)tp->delivered << 32 | tp->lost);
	see(sk, (u64)tp->srtt_us << 32 | tp->mdev_us);
	see(sk, (u64)tp->lsndtime << 32 | tp->total_retrans);
	see(sk, (u64)tp->is_cwnd_limited << 32 | inet_csk(sk)->icsk_ca_state);
	see(sk, tcp_jiffies32(sk));
	see(sk, sk->sk_pacing_rate);
}

CC_HOOK(void, witness_init, struct sock *sk)
{
	look(sk, 1);
}

CC_HOOK(u32, witness_ssthresh, struct sock *sk)
{
	look(sk, 2);
	return max(tcp_sk(sk)->snd_cwnd / 2, 2U);
}

CC_HOOK(void, witness_set_state, struct sock *sk, u8 new_state)
{
	look(sk, 3);
	see(sk, new_state);
}

CC_HOOK(void, witness_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	look(sk, 4);
	see(sk, event);
}

CC_HOOK(void, witness_in_ack_event, struct sock *sk, u32 flags)
{
	look(sk, 5);
	see(sk, flags);
}

CC_HOOK(void, witness_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	look(sk, 6);
	see(sk, (u64)sample->pkts_acked << 32 | (u32)sample->rtt_us);
	see(sk, sample->in_flight);
}

CC_HOOK(u32, witness_undo_cwnd, struct sock *sk)
{
	look(sk, 7);
	return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}

CC_HOOK(u32, witness_min_tso_segs, struct sock *sk)
{
	look(sk, 8);
	return 2;
}

#define WITNESS                                   \
	.init = witness_init,                     \
	.ssthresh = witness_ssthresh,             \
	.set_state = witness_set_state,           \
	.cwnd_event = witness_cwnd_event,         \
	.in_ack_event = witness_in_ack_event,     \
	.pkts_acked = witness_pkts_acked,         \
	.undo_cwnd = witness_undo_cwnd,           \
	.min_tso_segs = witness_min_tso_segs
