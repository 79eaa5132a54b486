/*
 * slow_start: standard TCP (RFC 5681) with another slow start, from slow_start.h. Any algorithm's file
 * can have them so.
 *
 *	ackclock compare scenario.toml --algorithm ./slow_start.c@search
 */
#define CC_PARAMS(P) \
	P(kind, 0, 0, 3, 1, "0: classic, 1: HyStart++, 2: SEARCH, 3: limited slow start")
#define CC_PRESETS(P)                                              \
	P("hystart_pp", "kind=1", "HyStart++ (RFC 9406)")           \
	P("search", "kind=2", "SEARCH (draft-chung-ccwg-search-09)") \
	P("limited", "kind=3", "limited slow start (RFC 3742)")
#include "tcp_cc.h"
#include "slow_start.h"

CC_STORAGE(struct cc_slow_start);

CC_HOOK(void, slow_start_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct cc_slow_start *ss = cc_storage(sk);

	if (ss)
		cc_slow_start_rtt(ss, sample->rtt_us);
}

CC_HOOK(u32, slow_start_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

CC_HOOK(void, slow_start_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = cc_slow_start_grow(tp, cc_storage(sk), cc_param(sk, kind), acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

CC_ALGORITHM(slow_start, "standard TCP with a slow start of your choice",
	     .ssthresh = slow_start_ssthresh,
	     .cong_avoid = slow_start_cong_avoid,
	     .pkts_acked = slow_start_pkts_acked);
