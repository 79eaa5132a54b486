// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Slow start ends where twice the data delivered an RTT ago was not delivered since: bins of bytes over
 * a window of 3.5 RTT, in the style of the IETF's draft SEARCH. Growth is Reno's.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <net/tcp.h>

#define WINDOW_BINS 10
#define EXTRA_BINS 15
#define TOTAL_BINS (WINDOW_BINS + EXTRA_BINS + 1)
#define BIN_MAX_SHIFT 31

static int factor_tenths __read_mostly = 35;
module_param(factor_tenths, int, 0644);
static int threshold_percent __read_mostly = 35;
module_param(threshold_percent, int, 0644);
static int reset_at __read_mostly = 2;
module_param(reset_at, int, 0644);

struct search_bins {
	u64 bytes[TOTAL_BINS];	/* all bytes acknowledged at the end of each bin */
};

struct search {
	struct search_bins *bins;
	u64 bin_end_us;
	u32 bin_us;
	s32 current;	/* the last bin; -1: none */
	u8 scale : 5, is_off : 1, unused : 2;
};

static void search_reset(struct sock *sk)
{
	struct search *ca = inet_csk_ca(sk);

	ca->current = -1;
	ca->bin_us = 0;
	ca->bin_end_us = 0;
	ca->scale = 0;
	if (ca->bins)
		memset(ca->bins, 0, sizeof(*ca->bins));
}

static void search_init(struct sock *sk)
{
	struct search *ca = inet_csk_ca(sk);

	ca->bins = kmalloc(sizeof(*ca->bins), GFP_NOWAIT | __GFP_NOWARN);
	ca->is_off = !ca->bins;
	search_reset(sk);
}

static void search_release(struct sock *sk)
{
	struct search *ca = inet_csk_ca(sk);

	kfree(ca->bins);
	ca->bins = NULL;
}

static u64 search_delivered(const struct search *ca, s32 from, s32 to, u32 fraction)
{
	const u64 *bytes = ca->bins->bytes;
	u64 whole = bytes[to % TOTAL_BINS] - bytes[from % TOTAL_BINS];

	whole *= 100 - fraction;
	if (from > 0)
		whole += (bytes[(to - 1) % TOTAL_BINS] - bytes[(from - 1) % TOTAL_BINS]) * fraction;
	return div_u64(whole, 100);
}

static void search_update(struct sock *sk, u32 rtt_us)
{
	struct search *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u64 now_us = tp->tcp_mstamp, passed, prev, curr, norm;
	u32 bins_of_rtt, i;
	s32 before;

	if (!ca->bin_us) {
		ca->bin_us = max(rtt_us * factor_tenths / (WINDOW_BINS * 10), 1U);
		ca->bin_end_us = now_us + ca->bin_us;
		ca->bins->bytes[0] = tp->bytes_acked;
		ca->current = 0;
		return;
	}
	if (time_before64(now_us, ca->bin_end_us))
		return;
	passed = div_u64(now_us - ca->bin_end_us, ca->bin_us) + 1;
	if (passed > reset_at * WINDOW_BINS) {
		search_reset(sk);
		return;
	}
	for (i = 0; i < passed; i++)
		ca->bins->bytes[++ca->current % TOTAL_BINS] = tp->bytes_acked;
	ca->bin_end_us += passed * ca->bin_us;
	bins_of_rtt = rtt_us / ca->bin_us;
	before = ca->current - bins_of_rtt;
	if (before < WINDOW_BINS || bins_of_rtt >= EXTRA_BINS)
		return;
	prev = search_delivered(ca, before - WINDOW_BINS, before,
				(rtt_us % ca->bin_us) * 100 / ca->bin_us);
	curr = search_delivered(ca, ca->current - WINDOW_BINS, ca->current, 0);
	if (!prev)
		return;
	norm = 2 * prev > curr ? div64_u64((2 * prev - curr) * 100, 2 * prev) : 0;
	if (norm >= threshold_percent)
		tp->snd_ssthresh = tcp_snd_cwnd(tp);
}

static void search_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct search *ca = inet_csk_ca(sk);

	if (sample->rtt_us > 0 && !ca->is_off && tcp_in_slow_start(tcp_sk(sk)))
		search_update(sk, sample->rtt_us);
}

static void search_state(struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		search_reset(sk);
}

static struct tcp_congestion_ops tcp_search = {
	.init		= search_init,
	.release	= search_release,
	.pkts_acked	= search_acked,
	.set_state	= search_state,
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "search",
};

static int __init search_register(void)
{
	BUILD_BUG_ON(sizeof(struct search) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&tcp_search);
}

static void __exit search_unregister(void)
{
	tcp_unregister_congestion_control(&tcp_search);
}

module_init(search_register);
module_exit(search_unregister);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("search");
