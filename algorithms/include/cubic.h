/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * CUBIC, for the algorithms that are CUBIC or change a part of it.
 *
 * S. Ha, I. Rhee, L. Xu, "CUBIC: A New TCP-Friendly High-Speed TCP Variant", ACM
 * SIGOPS Operating Systems Review 42(5), 2008. Numbers such as (3.7) are those of
 * its Algorithm 1. After a loss at cwnd W_max the window follows
 *
 *	W(t) = C (t - K)^3 + W_max,	K = cbrt((W_max - cwnd) / C)
 *
 * Units: windows in packets, curve time in 1/1024 s, C and beta in 1/1024. Here
 * beta is what the window is multiplied by, as in Linux and RFC 9438; the paper's
 * beta is its complement (0.2 where we write 0.8).
 */
#ifndef CUBIC_H
#define CUBIC_H

#define CUBIC_PARAMS(P)                                                                        \
	P(beta, 717, 1, 1023, 1024, "window multiplier at a loss (1 minus the paper's beta)")  \
	P(C, 410, 1, 10240, 1024, "scale of the cubic curve, packets/s^3")                     \
	P(fast_convergence, 1, 0, 1, 1, "1: lower W_max further if a loss comes below it")     \
	P(tcp_friendliness, 1, 0, 1, 1, "1: never grow slower than standard TCP")              \
	P(min_cnt, 2, 1, 100, 1, "minimum ACKed packets per packet of growth")                 \
	P(start_cnt, 20, 0, 1000, 1,                                                           \
	  "maximum ACKed packets per packet of growth until the first loss; 0: no limit")      \
	P(start_fixed, 0, 0, 1, 1, "1: until the first loss exactly start_cnt (up to 2.6.28)") \
	P(max_increment, 0, 0, 1000, 1, "maximum growth per RTT, packets; 0: no limit")        \
	P(max_rate, 0, 0, 10000, 1,                                                            \
	  "maximum growth per RTT, packets per s of dMin; 0: no limit")                        \
	P(clamp_concave, 1, 0, 1, 1, "1: max_increment and max_rate also apply below W_max")   \
	P(curve_scale, 1024, 1, 1024, 1024,                                                    \
	  "part of C that the curve uses; K always uses all of C")                             \
	P(reno_above_prior, 0, 0, 1, 1,                                                        \
	  "1: above the window of the last loss W_tcp grows as Reno (RFC 9438)")               \
	P(exact_alpha, 0, 0, 1, 1,                                                             \
	  "1: W_tcp has a fraction and grows by exactly alpha per window of ACKs; "            \
	  "0: by whole packets and Linux's rounded alpha")                                     \
	P(count_beyond, 0, 0, 1, 1,                                                            \
	  "1: grow when more than cnt packets are ACKed (Algorithm 1), not at cnt")            \
	P(undo_to_w_max, 0, 0, 1, 1, "1: a spurious loss restores W_last_max (Linux 2.6)")     \
	P(update_gate, 2, 0, 2, 1,                                                             \
	  "evaluate the curve 0: on every ACK; 1: if cwnd changed or 1/32 s passed; "          \
	  "2: as 1, but at most once per jiffy")                                               \
	P(delayed_ack, 0, 0, 1, 1,                                                             \
	  "1: compensate for hosts that count ACKs, not packets (Linux 2.6)")                  \
	P(initial_ssthresh, 0, 0, TCP_INFINITE_SSTHRESH, 1,                                    \
	  "slow start ends at this window, packets; 0: the host's value")                      \
	P(hystart, 1, 0, 2, 1,                                                                 \
	  "slow start ends 0: at ssthresh; 1: by HyStart; 2: by HyStart++ (RFC 9406)")         \
	P(hystart_detect, 3, 1, 3, 1,                                                          \
	  "HyStart watches 1: ACK trains; 2: rising delay; 3: both")                           \
	P(hystart_low_window, 16, 0, 1000000, 1, "HyStart works from this window on, packets") \
	P(hystart_ack_delta_us, 2000, 0, 1000000, 1, "largest gap within an ACK train, us")    \
	P(hystart_clock, 0, 0, 2, 1,                                                           \
	  "HyStart counts in 0: us, as today; 1: ms (Linux 2.6.39); 2: jiffies (2.6.29)")

#define CUBIC_PRESETS(P)                                                                       \
	P("linux", "", "Linux 6.12")                                                               \
	P("linux-2.6.32", CUBIC_2_6_32, "Linux 2.6.32 as released (CUBIC 2.3)")                    \
	P("linux-2.6.32-backports", CUBIC_2_6_32_BACKPORTS,                                        \
	  "Linux 2.6.32 of distributions, with CUBIC's changes up to Linux 3.3")                   \
	P("ha2008",                                                                                \
	  "beta=819 hystart=0 min_cnt=1 start_cnt=0 update_gate=0 exact_alpha=1 count_beyond=1",   \
	  "Algorithm 1 of Ha et al. 2008 (CUBIC 2.2)")                                             \
	P("rfc9438", "start_cnt=0 update_gate=0 reno_above_prior=1", "RFC 9438")                   \
	P("rfc9406", "start_cnt=0 update_gate=0 reno_above_prior=1 hystart=2",                     \
	  "RFC 9438 with HyStart++")                                                               \
	P("2.0-pre", CUBIC_2 " initial_ssthresh=100 fast_convergence=0",                           \
	  "the CUBIC authors' patch to Linux 2.6.13")                                              \
	P("2.0", CUBIC_2 " initial_ssthresh=100 max_increment=32", "Linux 2.6.19 to 2.6.21")       \
	P("2.6.18", CUBIC_2 " initial_ssthresh=100 max_rate=20", "Algorithm 1 of Leith et al. 2007") \
	P("2.6.18.2", CUBIC_2 " initial_ssthresh=100 max_rate=160",                                \
	  "Linux 2.6.18.2, without the scaling bug: the hosts of Leith et al. 2007")               \
	P("2.6.18.1", CUBIC_2 " initial_ssthresh=100 max_rate=20 curve_scale=80",                  \
	  "Linux 2.6.15 to 2.6.18.1, with the scaling bug")                                        \
	P("2.1", CUBIC_2 " initial_ssthresh=100 max_increment=32 clamp_concave=0",                 \
	  "Linux 2.6.22 before rc4")                                                               \
	P("2.6.22-rc4", CUBIC_2 " max_increment=32 clamp_concave=0", "Linux 2.6.22 to 2.6.24")     \
	P("2.2", CUBIC_2, "Linux 2.6.25 to 2.6.28")

/* What the kernels of CUBIC 2.0 to 2.2 have in common. */
#define CUBIC_2                                                                                \
	"beta=819 hystart=0 min_cnt=1 start_cnt=50 start_fixed=1 update_gate=1 delayed_ack=1 " \
	"undo_to_w_max=1"

/* The two CUBICs of Linux 2.6.32. */
#define CUBIC_2_6_32                                                                           \
	"min_cnt=1 start_cnt=0 update_gate=1 delayed_ack=1 undo_to_w_max=1 hystart_clock=2"
#define CUBIC_2_6_32_BACKPORTS "min_cnt=1 update_gate=1 delayed_ack=1 hystart_clock=1"

#include "tcp_cc.h"

struct cubic {
	u32 cnt;		/* ACKed packets per packet of growth */
	u32 last_max_cwnd;	/* W_last_max; 0: no loss yet */
	u32 last_cwnd;		/* cwnd and ... */
	u32 last_time;		/* ... jiffies when cnt was computed */
	u32 origin_point;	/* where this epoch's curve has its plateau */
	u32 K;			/* when it reaches it, 1/1024 s */
	u32 delay_min;		/* dMin: least RTT so far, us; 0: none yet */
	u32 epoch_start;	/* jiffies; 0: begins with the next ACK */
	u32 ack_cnt;		/* ACKed packets not yet credited to tcp_cwnd */
	u32 tcp_cwnd;		/* W_tcp: the window standard TCP would have */
	u32 ack_ratio;		/* packets per ACK << 4, smoothed */

	u32 round_start;	/* HyStart's round: when it began, by hystart_clock */
	u32 end_seq;		/* sequence number that ends it */
	u32 last_ack;		/* latest ACK of its train, by hystart_clock */
	u32 curr_rtt;		/* least of its first RTTs, us */
	u8 sample_cnt;		/* how many of them were seen */
	u8 found;		/* HyStart has ended a slow start */
	u8 css_round;		/* number of this conservative round of HyStart++; 0: slow start */
	u8 css_acked;		/* ACKed packets not yet credited in it */

	u32 tcp_fraction;	/* of W_tcp, 2^-32 packets, with exact_alpha */
	u32 last_rtt;		/* least RTT of HyStart++'s last round, us; 0: none */
	u32 css_rtt;		/* least RTT of the round that began the conservative ones, us */
};

enum {
	CUBIC_SCALE = 10,		/* C, beta and curve time have 10 fraction bits */
	CUBIC_REAL_TIME = 1024,		/* the clock that is not slowed */
	CUBIC_PLAIN_K = 1 << 16,	/* the K that is not scaled */
	CUBIC_K_MAX = 1 << 30,
	CUBIC_ACK_RATIO_SHIFT = 4,
	CUBIC_GATE_JIFFY = 2,

	HYSTART_ACK_TRAIN = 1,
	HYSTART_DELAY = 2,
	HYSTART_MIN_SAMPLES = 8,
	HYSTART_DELAY_MIN = 4000,	/* us */
	HYSTART_DELAY_MAX = 16000,	/* us */

	HYSTART_PLUS_PLUS = 2,
	CSS_GROWTH_DIVISOR = 4,
	CSS_ROUNDS = 5,
	HYSTART_L = 8,			/* packets per ACK */

	HYSTART_MS = 1,
	HYSTART_JIFFIES = 2,
};

/* Now, by the clock that HyStart has. */
static inline u32 cubic_hystart_now(const struct sock *sk)
{
	u64 now_us = tcp_sk(sk)->tcp_mstamp;

	if (cc_param(sk, hystart_clock) == HYSTART_JIFFIES)
		return tcp_jiffies32(sk);
	return cc_param(sk, hystart_clock) == HYSTART_MS ? now_us / USEC_PER_MSEC : now_us;
}

static inline void cubic_hystart_reset(struct sock *sk, struct cubic *ca)
{
	struct tcp_sock *tp = tcp_sk(sk);

	ca->round_start = ca->last_ack = cubic_hystart_now(sk);
	ca->end_seq = tp->snd_nxt;
	ca->curr_rtt = ~0U;
	ca->sample_cnt = 0;
}

/* cubic_reset(): at the start and after a timeout nothing is known. */
static inline void cubic_reset(struct sock *sk, struct cubic *ca)
{
	*ca = (struct cubic){ .ack_ratio = 2 << CUBIC_ACK_RATIO_SHIFT };
	cubic_hystart_reset(sk, ca);
}

static inline void cubic_init(struct sock *sk, struct cubic *ca)
{
	cubic_reset(sk, ca);
	if (cc_param(sk, initial_ssthresh))
		tcp_sk(sk)->snd_ssthresh = cc_param(sk, initial_ssthresh);
}

/*
 * Cube root as Linux computes it, bit for bit, since K shows in every window: a
 * table of the roots of 0..63 (in 1/64), then one step of Newton-Raphson. Off by
 * 1 and 0.16 % at most.
 */
static inline u32 cubic_root(u64 a)
{
	static const u8 root[64] = {
		  0,  54,  54,  54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156,
		157, 161, 164, 168, 170, 173, 176, 179, 181, 185, 187, 190, 192, 194, 197, 199,
		200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221, 222, 224, 225, 227, 229,
		231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
	};
	u32 bits = fls64(a), shift, x;

	if (bits < 7)
		return (root[a & 63] + 35) >> 6;

	/* a = m * 8^shift with m < 64: about 84/256 of the bits go to the shift */
	shift = (bits * 84 >> 8) - 1;
	x = ((root[(a >> 3 * shift) & 63] + 10) << shift) >> 6;

	/* x' = (2 x + a / x^2) / 3, with x (x - 1) for x^2 and 341/1024 for 1/3 */
	x = 2 * x + (u32)(a / ((u64)x * (x - 1)));
	return x * 341 >> 10;
}

/* On hosts that count ACKs, each ACK stands for several packets. */
static inline u32 cubic_cnt(struct sock *sk, const struct cubic *ca, u32 cnt)
{
	if (!cc_param(sk, delayed_ack))
		return cnt;
	return min_t(u64, ((u64)cnt << CUBIC_ACK_RATIO_SHIFT) / ca->ack_ratio, U32_MAX);
}

/* The smallest cnt: growth per RTT is at most max_increment and at most max_rate dMin. */
static inline u32 cubic_clamp(struct sock *sk, const struct cubic *ca, u32 cwnd)
{
	u32 increment = cc_param(sk, max_increment), rate = cc_param(sk, max_rate);
	u64 cnt = increment ? cwnd / increment : 0;

	if (rate && ca->delay_min)
		cnt = max(cnt, (u64)cwnd * USEC_PER_SEC / ((u64)rate * ca->delay_min));
	return min_t(u64, cnt, U32_MAX);
}

/* C offset^3 in packets, at most 2^32 - 1: exact, though the product needs more than 64 bits.
 * offset < 2^30, c < 2^14 */
static inline u32 cubic_delta(u64 offset, u32 c)
{
	u64 a = offset * offset, b = offset * c;
	u64 low = (a & U32_MAX) * (b & U32_MAX);
	u64 middle = (a >> 32) * (b & U32_MAX) + (a & U32_MAX) * (b >> 32) + (low >> 32);
	u64 high = (a >> 32) * (b >> 32);

	if (high >> 8)
		return U32_MAX;
	return min_t(u64, (high << 24) + (middle >> (4 * CUBIC_SCALE - 32)), U32_MAX);
}

/* cubic_update() (3.2), (3.4), (3.5): aims at the window one dMin ahead. */
static inline void cubic_follow_curve(struct sock *sk, struct cubic *ca, u32 cwnd, u32 now,
				      u32 acked, u32 clock, u64 k_scale)
{
	u64 t, offset;
	u32 delta, target;

	if (!ca->epoch_start) {
		ca->epoch_start = now;
		ca->ack_cnt = acked;
		ca->tcp_cwnd = cwnd;
		ca->tcp_fraction = 0;
		if (cwnd < ca->last_max_cwnd) {
			u64 factor = (1ULL << 4 * CUBIC_SCALE) / cc_param(sk, C);
			u64 k = cubic_root(factor *
					   min_t(u64, ca->last_max_cwnd - cwnd, U64_MAX / factor));

			ca->K = min_t(u64, k * k_scale >> 16, CUBIC_K_MAX);
			ca->origin_point = ca->last_max_cwnd;
		} else {
			ca->K = 0;
			ca->origin_point = cwnd;
		}
	}

	t = (u64)(now - ca->epoch_start) + cc_usecs_to_jiffies(sk, ca->delay_min);
	t = (t << CUBIC_SCALE) / cc_hz(sk);
	t = t * clock >> CUBIC_SCALE;

	/* If K is longer than the distance needs, the curve would start below the window. */
	offset = t < ca->K ? min_t(u64, ca->K - t, ((u64)ca->K << 16) / k_scale) : t - ca->K;
	delta = cubic_delta(offset, cc_param(sk, C) * cc_param(sk, curve_scale) >> 10);
	if (t < ca->K)
		target = ca->origin_point - min(delta, ca->origin_point);
	else
		target = ca->origin_point + min(delta, U32_MAX - ca->origin_point);

	ca->cnt = target > cwnd ? cwnd / (target - cwnd) : min_t(u64, 100ULL * cwnd, U32_MAX);
	if (t >= ca->K || cc_param(sk, clamp_concave))
		ca->cnt = max(ca->cnt, cubic_clamp(sk, ca, cwnd));
	if (!ca->last_max_cwnd && cc_param(sk, start_cnt))
		ca->cnt = cc_param(sk, start_fixed) ? cc_param(sk, start_cnt)
						    : min(ca->cnt, cc_param(sk, start_cnt));
	ca->cnt = cubic_cnt(sk, ca, ca->cnt);
}

/* cubic_tcp_friendliness() (3.3): W_tcp grows by alpha = 3 (1 - beta) / (1 + beta)
 * per window of ACKs; RFC 9438 4.3: by 1 once it is at the window of the last loss. */
static inline void cubic_tcp_friendliness(struct sock *sk, struct cubic *ca, u32 cwnd)
{
	u32 beta = cc_param(sk, beta);
	u64 window = (u64)cwnd * (8 * (1024 + beta) / 3 / (1024 - beta)) >> 3;
	u32 acks_per_packet = clamp(window, 1ULL, (u64)U32_MAX);

	if (cc_param(sk, reno_above_prior) && ca->tcp_cwnd >= tcp_sk(sk)->prior_cwnd)
		acks_per_packet = cwnd;
	if (ca->ack_cnt > acks_per_packet) {
		u32 growth = (ca->ack_cnt - 1) / acks_per_packet;

		ca->ack_cnt -= growth * acks_per_packet;
		ca->tcp_cwnd += growth;
	}
	if (ca->tcp_cwnd > cwnd)
		ca->cnt = min(ca->cnt, cubic_cnt(sk, ca, cwnd / (ca->tcp_cwnd - cwnd)));
}

/* The same in the paper's terms: W_tcp += alpha ack_cnt / cwnd, and no rounding. */
static inline void cubic_tcp_friendliness_exact(struct sock *sk, struct cubic *ca, u32 cwnd)
{
	u32 beta = cc_param(sk, beta);
	u64 alpha = (3ULL * (1024 - beta) << 32) / (1024 + beta);
	u64 growth, excess;

	if (cc_param(sk, reno_above_prior) && ca->tcp_cwnd >= tcp_sk(sk)->prior_cwnd)
		alpha = 1ULL << 32;
	/* alpha < 3 << 32 */
	growth = ca->tcp_fraction + alpha * min(ca->ack_cnt, 1U << 30) / max(cwnd, 1U);
	ca->ack_cnt = 0;
	ca->tcp_cwnd += growth >> 32;
	ca->tcp_fraction = growth;

	if (ca->tcp_cwnd < cwnd)
		return;
	excess = ((u64)(ca->tcp_cwnd - cwnd) << 32) + ca->tcp_fraction;
	if (excess) {
		u32 cnt = min_t(u64, ((u64)cwnd << 32) / excess, U32_MAX);

		ca->cnt = min(ca->cnt, cubic_cnt(sk, ca, cnt));
	}
}

/* Sets cnt. The curve's time passes at clock/1024 of real time, its K is k_scale/65536
 * of CUBIC's. */
static inline void cubic_update(struct sock *sk, struct cubic *ca, u32 acked, u32 clock,
				u64 k_scale)
{
	u32 cwnd = tcp_sk(sk)->snd_cwnd;
	u32 now = tcp_jiffies32(sk);
	u32 gate = cc_param(sk, update_gate);

	ca->ack_cnt += acked;
	if (gate && ca->last_cwnd == cwnd && now - ca->last_time <= cc_hz(sk) / 32)
		return;

	if (gate < CUBIC_GATE_JIFFY || !ca->epoch_start || now != ca->last_time) {
		ca->last_cwnd = cwnd;
		ca->last_time = now;
		cubic_follow_curve(sk, ca, cwnd, now, acked, clock, k_scale);
	}
	if (cc_param(sk, tcp_friendliness)) {
		if (cc_param(sk, exact_alpha))
			cubic_tcp_friendliness_exact(sk, ca, cwnd);
		else
			cubic_tcp_friendliness(sk, ca, cwnd);
	}
	ca->cnt = max(ca->cnt, cc_param(sk, min_cnt));
}

/* "if cwnd_cnt > cnt then cwnd + 1, cwnd_cnt = 0, else cwnd_cnt + 1" (Algorithm 1) */
static inline void cubic_count_beyond(struct tcp_sock *tp, u32 cnt, u32 acked)
{
	if (tp->snd_cwnd_cnt <= cnt) {
		tp->snd_cwnd_cnt += acked;
		return;
	}
	tp->snd_cwnd_cnt = 0;
	tp->snd_cwnd = min(tp->snd_cwnd + 1, tp->snd_cwnd_clamp);
}

/* HyStart++ is for the first slow start (RFC 9406, 4.3). */
static inline bool cubic_hystart_pp_over(const struct tcp_sock *tp)
{
	return tp->snd_ssthresh < TCP_INFINITE_SSTHRESH;
}

/* The growth that an ACK is worth: at most L without pacing, and a quarter in a conservative
 * round. */
static inline u32 cubic_hystart_pp_growth(const struct sock *sk, struct cubic *ca, u32 acked)
{
	if (cubic_hystart_pp_over(tcp_sk(sk)))
		return acked;
	if (sk->sk_pacing_status == SK_PACING_NONE)
		acked = min(acked, (u32)HYSTART_L);
	if (!ca->css_round)
		return acked;
	acked += ca->css_acked;
	ca->css_acked = acked % CSS_GROWTH_DIVISOR;
	return acked / CSS_GROWTH_DIVISOR;
}

static inline void cubic_cong_avoid(struct sock *sk, struct cubic *ca, u32 acked, u32 clock,
				    u64 k_scale)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		/* Linux 2.6 ends a round here, Linux 6 with the next RTT sample. */
		if (cc_param(sk, hystart) == HYSTART_PLUS_PLUS)
			acked = cubic_hystart_pp_growth(sk, ca, acked);
		else if (cc_param(sk, hystart_clock) && after(tp->snd_una, ca->end_seq))
			cubic_hystart_reset(sk, ca);
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	cubic_update(sk, ca, acked, clock, k_scale);
	if (cc_param(sk, count_beyond))
		cubic_count_beyond(tp, ca->cnt, acked);
	else
		tcp_cong_avoid_ai(tp, ca->cnt, acked);
}

/* "Packet loss" (3.6), (3.7): ends the epoch, returns the new ssthresh. */
static inline u32 cubic_reduce(struct sock *sk, struct cubic *ca, u32 beta)
{
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	ca->epoch_start = 0;
	if (cwnd < ca->last_max_cwnd && cc_param(sk, fast_convergence))
		ca->last_max_cwnd = (u64)cwnd * (1024 + beta) / 2048;
	else
		ca->last_max_cwnd = cwnd;
	return max((u32)((u64)cwnd * beta / 1024), 2U);
}

static inline u32 cubic_undo_cwnd(struct sock *sk, const struct cubic *ca)
{
	if (cc_param(sk, undo_to_w_max))
		return max(tcp_sk(sk)->snd_cwnd, ca->last_max_cwnd);
	return tcp_reno_undo_cwnd(sk);
}

/* The window does not grow while the application pauses. */
static inline void cubic_cwnd_event(struct sock *sk, struct cubic *ca, enum tcp_ca_event event)
{
	u32 now = tcp_jiffies32(sk);
	s32 idle = now - tcp_sk(sk)->lsndtime;

	if (event != CA_EVENT_TX_START || !ca->epoch_start || idle <= 0)
		return;
	ca->epoch_start += idle;
	if (after(ca->epoch_start, now))
		ca->epoch_start = now;
}

/* What the sender's own batching may add to an ACK train, us (at most 1 ms). */
static inline u32 cubic_hystart_ack_delay(const struct sock *sk)
{
	u64 rate = sk->sk_pacing_rate;

	if (!rate)
		return 0;
	return min_t(u64, USEC_PER_MSEC, (u64)sk->sk_gso_max_size * 4 * USEC_PER_SEC / rate);
}

/*
 * S. Ha, I. Rhee, "Hybrid Slow Start", PFLDnet 2008, with Linux's thresholds:
 * slow start ends when a train of closely spaced ACKs lasts as long as the
 * forward path, or when RTTs rise above the least by 1/8.
 */
static inline void cubic_hystart(struct sock *sk, struct cubic *ca, u32 rtt_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 detect = cc_param(sk, hystart_detect);
	s32 ack_delta_us = cc_param(sk, hystart_ack_delta_us);
	u32 now = tp->tcp_mstamp;

	if (after(tp->snd_una, ca->end_seq))
		cubic_hystart_reset(sk, ca);
	if (tp->snd_cwnd < cc_param(sk, hystart_low_window))
		return;

	if (detect & HYSTART_ACK_TRAIN && (s32)(now - ca->last_ack) <= ack_delta_us) {
		u32 threshold = ca->delay_min + cubic_hystart_ack_delay(sk);

		if (sk->sk_pacing_status == SK_PACING_NONE)
			threshold >>= 1;
		ca->last_ack = now;
		if ((s32)(now - ca->round_start) > (s32)threshold)
			ca->found = 1;
	}

	if (detect & HYSTART_DELAY) {
		ca->curr_rtt = min(ca->curr_rtt, rtt_us);
		if (ca->sample_cnt < HYSTART_MIN_SAMPLES)
			ca->sample_cnt++;
		else if (ca->curr_rtt > ca->delay_min + clamp(ca->delay_min >> 3,
							      (u32)HYSTART_DELAY_MIN,
							      (u32)HYSTART_DELAY_MAX))
			ca->found = 1;
	}

	if (ca->found)
		tp->snd_ssthresh = tp->snd_cwnd;
}

/* An RTT in eighths of HyStart's clock. */
static inline u32 cubic_hystart_eighths(const struct sock *sk, u32 rtt_us)
{
	if (cc_param(sk, hystart_clock) == HYSTART_JIFFIES)
		return max(cc_usecs_to_jiffies(sk, rtt_us) << 3, 1U);
	return max_t(u64, ((u64)rtt_us << 3) / USEC_PER_MSEC, 1);
}

/*
 * HyStart of Linux 2.6.29 to 5.5, in eighths of a jiffy, and since 2.6.39 in those of a ms. The
 * RTT may rise by 1/16: at least 2 jiffies or 4 ms, at most 16. Only 8 RTTs of a round count.
 */
static inline void cubic_hystart_2_6(struct sock *sk, struct cubic *ca, u32 rtt_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	bool in_jiffies = cc_param(sk, hystart_clock) == HYSTART_JIFFIES;
	u32 detect = cc_param(sk, hystart_detect);
	u32 delta_us = cc_param(sk, hystart_ack_delta_us);
	s32 delta = in_jiffies ? cc_usecs_to_jiffies(sk, delta_us) : delta_us / USEC_PER_MSEC;
	u32 delay_min = cubic_hystart_eighths(sk, ca->delay_min);
	u32 now = cubic_hystart_now(sk);

	if (tp->snd_cwnd < cc_param(sk, hystart_low_window))
		return;

	if (detect & HYSTART_ACK_TRAIN && (s32)(now - ca->last_ack) <= delta) {
		ca->last_ack = now;
		/* Half of dMin; in jiffies this is enough, in ms it takes more. */
		if ((s32)(now - ca->round_start) + in_jiffies > (s32)(delay_min >> 4))
			ca->found = 1;
	}

	if (detect & HYSTART_DELAY) {
		u32 rise = clamp(delay_min >> 4, in_jiffies ? 2U << 3 : 4U << 3, 16U << 3);

		if (ca->sample_cnt < HYSTART_MIN_SAMPLES) {
			ca->curr_rtt = min(ca->curr_rtt, rtt_us);
			ca->sample_cnt++;
		} else if (cubic_hystart_eighths(sk, ca->curr_rtt) > delay_min + rise) {
			ca->found = 1;
		}
	}

	if (ca->found)
		tp->snd_ssthresh = tp->snd_cwnd;
}

/*
 * P. Balasubramanian, Y. Huang, M. Olson, "HyStart++: Modified Slow Start for TCP", RFC 9406:
 * where the least RTT of a round is above the last round's by 1/8, up to five conservative
 * rounds begin, and slow start ends after them. An RTT below the first one's resumes it.
 */
static inline void cubic_hystart_pp(struct sock *sk, struct cubic *ca, u32 rtt_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 rise;

	if (cubic_hystart_pp_over(tp))
		return;
	if (after(tp->snd_una, ca->end_seq)) {
		ca->last_rtt = ca->sample_cnt ? ca->curr_rtt : 0;
		cubic_hystart_reset(sk, ca);
		if (ca->css_round && ++ca->css_round > CSS_ROUNDS) {
			tp->snd_ssthresh = tp->snd_cwnd;
			return;
		}
	}

	ca->curr_rtt = min(ca->curr_rtt, rtt_us);
	if (ca->sample_cnt < HYSTART_MIN_SAMPLES)
		ca->sample_cnt++;
	if (ca->sample_cnt < HYSTART_MIN_SAMPLES)
		return;

	if (ca->css_round) {
		if (ca->curr_rtt < ca->css_rtt)
			ca->css_round = 0;
		return;
	}
	rise = clamp(ca->last_rtt >> 3, (u32)HYSTART_DELAY_MIN, (u32)HYSTART_DELAY_MAX);
	if (ca->last_rtt && ca->curr_rtt >= ca->last_rtt + rise) {
		ca->css_rtt = ca->curr_rtt;
		ca->css_round = 1;
		ca->css_acked = 0;
	}
}

static inline void cubic_pkts_acked(struct sock *sk, struct cubic *ca,
				    const struct ack_sample *sample)
{
	u32 rtt_us = max(sample->rtt_us, 1);

	if (cc_param(sk, delayed_ack) && tcp_ca_state(sk) == TCP_CA_Open)
		ca->ack_ratio += sample->pkts_acked - (ca->ack_ratio >> CUBIC_ACK_RATIO_SHIFT);

	if (sample->rtt_us < 0)
		return;
	/* The first second after a loss still shows the queue that caused it. */
	if (ca->epoch_start && tcp_jiffies32(sk) - ca->epoch_start < cc_hz(sk))
		return;
	if (!ca->delay_min || rtt_us < ca->delay_min)
		ca->delay_min = rtt_us;
	if (!cc_param(sk, hystart) || ca->found || !tcp_in_slow_start(tcp_sk(sk)))
		return;
	if (cc_param(sk, hystart) == HYSTART_PLUS_PLUS)
		cubic_hystart_pp(sk, ca, rtt_us);
	else if (cc_param(sk, hystart_clock))
		cubic_hystart_2_6(sk, ca, rtt_us);
	else
		cubic_hystart(sk, ca, rtt_us);
}

#endif
