/* Names and habits of the Linux kernel's own files; compiled for both hosts by tests. */
#define CC_PARAMS(P) P(gain, 64, 1, 1024, 256, "gain")
#include "tcp_cc.h"

struct style {
	u32 min_rtt_us;
	u32 unused_for_now;
	u64 sum;
};
CC_PRIVATE(struct style);

BUILD_BUG_ON(sizeof(struct style) > ICSK_CA_PRIV_SIZE);
static_assert(TCP_INIT_CWND == 10, "initial window");

static const u32 style_table[] __read_mostly = { 1, 2, 4, 8 };

static u32 style_not_called(u32 x)
{
	return x + 1;
}

static __always_inline u32 style_bound(struct tcp_sock *tp, u32 cwnd)
{
	int not_used;
	u32 set_only;

	set_only = cwnd;
	if (unlikely(!cwnd))
		cwnd = TCP_INIT_CWND;
	cwnd = clamp(cwnd, 2U, tp->snd_cwnd_clamp);
	cwnd = clamp_t(u32, cwnd, 2, U32_MAX);
	cwnd = clamp_val(cwnd, 2, 1000000);
	return min3(cwnd, max3(cwnd, 4U, 2U), min_not_zero(tp->snd_ssthresh, cwnd));
}

CC_HOOK(void, style_init, struct sock *sk)
{
	struct style *ca = inet_csk_ca(sk);

	ca->min_rtt_us = U32_MAX;
	WRITE_ONCE(ca->sum, 0);
}

CC_HOOK(void, style_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct style *ca = inet_csk_ca(sk);
	u64 n = READ_ONCE(ca->sum) + ((u64)tp->srtt_us << 10);
	u32 rest;

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp) && likely(before(tp->snd_una, tp->snd_nxt))) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	n = div_u64(n, max_t(u32, tp->srtt_us, 1));
	n = div64_u64(n, 3) + div64_ul(n, 5) + DIV_ROUND_UP(n, 7);
	rest = do_div(n, 10);
	ca->sum = n + rest + style_table[rest & (ARRAY_SIZE(style_table) - 1)] + BIT(3);
	if (WARN_ON_ONCE(!tcp_snd_cwnd(tp)))
		tcp_snd_cwnd_set(tp, 1);
	tcp_cong_avoid_ai(tp, style_bound(tp, tcp_snd_cwnd(tp)), acked);
	if (between(tp->snd_una, ack, tp->snd_nxt) && after(ack, tp->snd_una))
		tcp_snd_cwnd_set(tp, min_t(u32, tcp_snd_cwnd(tp), tp->snd_cwnd_clamp));
	if (tcp_stamp_us_delta(tp->tcp_mstamp, ca->sum) / USEC_PER_MSEC > MSEC_PER_SEC)
		ca->min_rtt_us = 0;
}

CC_HOOK(u32, style_ssthresh, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tcp_snd_cwnd(tp) >> 1U, 2U);
}

CC_HOOK(u32, style_undo_cwnd, struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)), tcp_sk(sk)->prior_cwnd);
}

CC_ALGORITHM(style, "as the kernel writes",
	     .init = style_init,
	     .ssthresh = style_ssthresh,
	     .cong_avoid = style_cong_avoid,
	     .undo_cwnd = style_undo_cwnd);
