// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A fixed rate with a share for losses, in the style of tcp-brutal: two arguments of cong_control. */
#include <linux/module.h>
#include <linux/math64.h>
#include <net/tcp.h>

#define SLOTS 3
#define MIN_SAMPLES 50
#define MIN_ACK_PERCENT 80

struct slot {
	u64 sec;
	u32 acked, lost;
};

struct fixed {
	u64 rate;
	u32 gain;
	struct slot slots[SLOTS];
};

static unsigned long rate_bytes_per_s = 1250000;
module_param(rate_bytes_per_s, ulong, 0644);
MODULE_PARM_DESC(rate_bytes_per_s, "rate to send at");
static int gain_tenths = 15;
module_param(gain_tenths, int, 0644);
static int offset_packets;
module_param(offset_packets, int, 0644);

static void fixed_init(struct sock *sk)
{
	struct fixed *ca = inet_csk_ca(sk);

	tcp_sk(sk)->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	ca->rate = rate_bytes_per_s;
	ca->gain = gain_tenths;
	memset(ca->slots, 0, sizeof(ca->slots));
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

static u32 fixed_ssthresh(struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

static u32 fixed_undo_cwnd(struct sock *sk)
{
	return tcp_sk(sk)->snd_cwnd;
}

static void fixed_update(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct fixed *ca = inet_csk_ca(sk);
	u64 sec = div_u64(tp->tcp_mstamp, USEC_PER_SEC);
	u64 rate = ca->rate, cwnd;
	u32 acked = 0, lost = 0, share = 100, i;
	u32 rtt_ms = max_t(u32, (tp->srtt_us >> 3) / USEC_PER_MSEC, 1);

	for (i = 0; i < SLOTS; i++) {
		if (ca->slots[i].sec + SLOTS < sec)
			continue;
		acked += ca->slots[i].acked;
		lost += ca->slots[i].lost;
	}
	if (acked + lost >= MIN_SAMPLES)
		share = max_t(u32, acked * 100 / (acked + lost), MIN_ACK_PERCENT);
	rate *= 100;
	rate = div_u64(rate, share);
	cwnd = div_u64(rate, MSEC_PER_SEC) * rtt_ms * ca->gain;
	do_div(cwnd, 10 * max_t(u32, tp->mss_cache, 1));
	tp->snd_cwnd = max_t(s64, min_t(u64, cwnd, tp->snd_cwnd_clamp) + offset_packets, 4);
	WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
}

static void fixed_main(struct sock *sk, const struct rate_sample *rs)
{
	struct fixed *ca = inet_csk_ca(sk);
	u64 sec = div_u64(tcp_sk(sk)->tcp_mstamp, USEC_PER_SEC);
	struct slot *slot;
	u32 at;

	if (rs->delivered < 0 || rs->interval_us <= 0)
		return;
	div_u64_rem(sec, SLOTS, &at);
	slot = &ca->slots[at];
	if (slot->sec != sec) {
		slot->sec = sec;
		slot->acked = slot->lost = 0;
	}
	slot->acked += rs->acked_sacked;
	slot->lost += rs->losses;
	fixed_update(sk);
}

static struct tcp_congestion_ops tcp_fixed = {
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "fixed",
	.owner = THIS_MODULE,
	.init = fixed_init,
	.cong_control = fixed_main,
	.ssthresh = fixed_ssthresh,
	.undo_cwnd = fixed_undo_cwnd,
};

static int __init fixed_register(void)
{
	BUILD_BUG_ON(sizeof(struct fixed) > ICSK_CA_PRIV_SIZE);
	BUILD_BUG_ON(SLOTS < 1);
	return tcp_register_congestion_control(&tcp_fixed);
}

static void __exit fixed_unregister(void)
{
	tcp_unregister_congestion_control(&tcp_fixed);
}

module_init(fixed_register);
module_exit(fixed_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("fixed");
