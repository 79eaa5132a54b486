/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Writes down what its hooks are told. CONTRACT_HOOKS: more members of CC_ALGORITHM. */
#include "tcp_cc.h"

struct contract {
	u64 counter;		/* an address of the test, where `release` counts */
	u32 rates;		/* samples with a rate */
	u32 largest_kbps;	/* the largest, of payload */
	u32 invalid;		/* samples without one */
	u32 app_limited;	/* samples of packets sent while the application was the limit */
	u32 retransmitted;	/* samples of retransmissions */
	s32 flag;		/* of the last call */
	u32 in_flight;		/* of the last ack_sample */
	u32 min_rtt_us;
	u32 least_rto;
	u32 largest_rto;
};

CC_PRIVATE(struct contract);

CC_HOOK(void, contract_release, struct sock *sk)
{
	struct contract *ca = inet_csk_ca(sk);

	if (ca->counter)
		++*(u64 *)(unsigned long)ca->counter;
}

CC_HOOK(u32, contract_ssthresh, struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd / 2, 2U);
}

CC_HOOK(void, contract_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct contract *ca = inet_csk_ca(sk);
	u32 rto = inet_csk(sk)->icsk_rto;

	ca->in_flight = sample->in_flight;
	ca->min_rtt_us = tcp_min_rtt(tcp_sk(sk));
	if (!ca->least_rto || rto < ca->least_rto)
		ca->least_rto = rto;
	ca->largest_rto = max(ca->largest_rto, rto);
}

CC_HOOK(void, contract_cong_control, struct sock *sk, u32 ack, int flag,
	const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct contract *ca = inet_csk_ca(sk);

	ca->flag = flag;
	ca->app_limited += rs->is_app_limited;
	ca->retransmitted += rs->is_retrans;
	if (rs->interval_us > 0) {
		u64 bits = 8ULL * rs->delivered * tp->mss_cache;

		ca->rates++;
		ca->largest_kbps = max(ca->largest_kbps,
				       (u32)(bits * MSEC_PER_SEC / (u64)rs->interval_us));
	} else {
		ca->invalid++;
	}
	if (rs->losses > 0)
		tp->snd_cwnd = max(tp->snd_cwnd * 7 / 10, 4U);
	else
		tp->snd_cwnd = min(tp->snd_cwnd + rs->acked_sacked, 500U);
	/* A window of the table of samples, which shows the rate. */
	tp->snd_ssthresh = max(ca->largest_kbps, 1U);
}

CC_HOOK(u32, contract_sndbuf_expand, struct sock *sk)
{
	return 1;
}

CC_HOOK(u32, contract_min_tso_segs, struct sock *sk)
{
	return 6;
}

#ifndef CONTRACT_HOOKS
#define CONTRACT_HOOKS .cong_control = contract_cong_control
#endif

CC_ALGORITHM(contract, "writes down what its hooks are told", .release = contract_release,
	     .ssthresh = contract_ssthresh, .pkts_acked = contract_pkts_acked, CONTRACT_HOOKS);
