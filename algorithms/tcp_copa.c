/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Copa: V. Arun, H. Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the
 * Internet", NSDI 2018. Copa heads for the rate at which 1/delta of its packets are queued:
 *
 *	target = 1 / (delta d_q)	d_q = RTTstanding - RTTmin, the queueing delay
 *	cwnd += or -= v / (delta cwnd)	per packet ACKed, as cwnd / RTTstanding is below or
 *					above the target
 *
 * RTTstanding is the least RTT of the last srtt / 2, and RTTmin that of the last 10 s. The
 * velocity v is 1. It doubles once per RTT when the window has gone in one direction for 3 RTTs,
 * until the direction changes. Slow start doubles the window per RTT until the rate first exceeds
 * the target. Packets are paced at twice cwnd / RTTstanding.
 *
 * Default mode (delta is 0.5; a loss changes nothing): the queue of Copa flows swings between 0
 * and 2.5 N / delta packets every 5 RTTs (section 3), so it is nearly empty once in 5 RTTs: d_q is
 * below a tenth of RTTmax - RTTmin, RTTmax the largest RTT of the last 4 RTTs. If it was not, other
 * flows keep it full, and Copa competes: 1/delta grows by 1 per RTT, halves at a loss (at most
 * once per RTT), and is at least 2. As soon as the queue is nearly empty again, delta is 0.5.
 *
 * The paper leaves open what follows. The authors' own program (genericCC) has the first two; the
 * others are guesses:
 *  - The window is at least 2 packets.
 *  - The velocity has an upper limit, here v / delta at most cwnd: a window at most doubles per RTT.
 *  - The velocity is 1 also as soon as a step goes in the other direction, not only at the end of
 *    an RTT. mvfst does so, too.
 *  - A timeout starts slow start again.
 *  - A flow that its application limits does not grow.
 *  - The least and the largest RTTs of a while are those of the filter that Linux has for such
 *    values (windowed_max.h): they may be forgotten late by a part of the while.
 * Tests hold the default mode's queue to section 3, and the modes to what they are for.
 *
 * Four flows and more that start one after the other take one another for flows that fill the
 * queue: the newcomer's slow start overshoots, the queue needs more than 5 RTTs to drain, and then
 * all compete for good. The paper says that such flows return to default mode (section 2.2); here
 * they do not. Others found the same ("Copa+", INFOCOM 2022: Copa fails to empty the queue
 * periodically). Preset default-mode never competes.
 * Beside a flow that fills the queue for more than 10 s RTTmin forgets the empty path. When the
 * other flow has gone, some queue stands, and drains by a few packets each 10 s: at 50 Mb/s and 40
 * ms 38 packets were left after 50 s where packets came one by one, and 7 after 5 s with bursts.
 */
#define CC_PARAMS(P)                                                                        \
	P(delta, 512, 1, 65536, 1024, "1/delta packets of each flow are queued")            \
	P(min_rtt_win_ms, 10000, 100, 600000, 1, "time for which a least RTT counts, ms")   \
	P(competitive, 1, 0, 1, 1, "1: competes with flows that fill the queue")

#define CC_PRESETS(P)                              \
	P("nsdi2018", "", "the paper")             \
	P("default-mode", "competitive=0", "never competes")

#include "windowed_max.h"

enum { COPA_ONE = 1 << 10, MIN_CWND = 2, PATIENCE_RTTS = 5, SAME_DIRECTION_RTTS = 3 };

struct copa {
	struct windowed_max least;	/* U32_MAX less the RTTs of 10 s, us */
	struct windowed_max standing;	/* U32_MAX less the RTTs of srtt / 2, us */
	struct windowed_max largest;	/* RTTs of 4 RTTs, us */
	u32 per_delta;			/* 1/delta now, in 1024ths */
	u32 velocity;			/* v */
	u32 fraction;			/* of a packet, beyond cwnd, in 65536ths */
	u32 round_end;			/* sequence number that ends this RTT */
	u32 round_cwnd;			/* cwnd when it began */
	u32 emptied_us;			/* when the queue was nearly empty */
	u8 same_direction;		/* RTTs in which cwnd went the same way */
	u8 was_up;			/* that way is up */
	u8 slow_start;			/* the rate has not yet exceeded the target */
	u8 lost;			/* packets in this RTT */
};
CC_PRIVATE(struct copa);

static inline u32 copa_default_per_delta(struct sock *sk)
{
	return COPA_ONE * COPA_ONE / cc_param(sk, delta);
}

static inline u32 copa_least(const struct windowed_max *rtts)
{
	return U32_MAX - windowed_max_get(rtts);
}

static inline void copa_restart(struct sock *sk, struct copa *ca)
{
	ca->slow_start = 1;
	ca->velocity = 1;
	ca->same_direction = 0;
	ca->round_end = tcp_sk(sk)->snd_nxt;
	ca->round_cwnd = tcp_sk(sk)->snd_cwnd;
}

CC_HOOK(void, copa_init, struct sock *sk)
{
	struct copa *ca = inet_csk_ca(sk);
	u32 now = tcp_sk(sk)->tcp_mstamp;

	/* 0 is an RTT of 2^32 us: any sample replaces it. */
	windowed_max_reset(&ca->least, now, 0);
	windowed_max_reset(&ca->standing, now, 0);
	windowed_max_reset(&ca->largest, now, 0);
	ca->per_delta = copa_default_per_delta(sk);
	ca->emptied_us = now;
	copa_restart(sk, ca);
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* Once per RTT: does the window go on in the same direction? */
static inline void copa_end_round(struct tcp_sock *tp, struct copa *ca)
{
	bool up = tp->snd_cwnd > ca->round_cwnd;

	if (up != ca->was_up || tp->snd_cwnd == ca->round_cwnd) {
		ca->velocity = 1;
		ca->same_direction = 0;
	} else if (ca->same_direction < SAME_DIRECTION_RTTS) {
		ca->same_direction++;
	} else {
		ca->velocity = min(ca->velocity * 2, 1U << 16);
	}
	ca->was_up = up;
	ca->round_end = tp->snd_nxt;
	ca->round_cwnd = tp->snd_cwnd;
}

/* Which mode, and its delta. round: this ACK ends an RTT. */
static inline void copa_choose_mode(struct sock *sk, struct copa *ca, u32 queueing_us, bool round)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 now = tp->tcp_mstamp, usual = copa_default_per_delta(sk);
	u32 swing_us = windowed_max_get(&ca->largest) - copa_least(&ca->least);

	if ((u64)queueing_us * 10 <= swing_us)
		ca->emptied_us = now;
	if (!cc_param(sk, competitive) ||
	    now - ca->emptied_us <= PATIENCE_RTTS * (tp->srtt_us >> 3)) {
		ca->per_delta = usual;
	} else if (round) {
		ca->per_delta = ca->lost ? ca->per_delta / 2 : ca->per_delta + COPA_ONE;
		ca->per_delta = clamp(ca->per_delta, usual, 1U << 20);
	}
	if (round)
		ca->lost = 0;
}

/* cwnd +- acked v / (delta cwnd). */
static inline void copa_move(struct tcp_sock *tp, struct copa *ca, u32 acked, bool up)
{
	u64 step = min_t(u64, (u64)ca->velocity * ca->per_delta, (u64)tp->snd_cwnd * COPA_ONE);
	u64 change = acked * (step << 6) / max(tp->snd_cwnd, 1U);
	u64 window = ((u64)tp->snd_cwnd << 16) + ca->fraction;

	window = up ? window + change : window - min(change, window);
	window = clamp_t(u64, window, MIN_CWND << 16, (u64)tp->snd_cwnd_clamp << 16);
	tp->snd_cwnd = window >> 16;
	ca->fraction = window & 0xffff;
}

CC_HOOK(void, copa_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct copa *ca = inet_csk_ca(sk);
	u32 now = tp->tcp_mstamp, srtt_us = max(tp->srtt_us >> 3, 1U);
	u32 standing_us, queueing_us;
	bool round, up;

	ca->lost |= rs->losses > 0;
	if (rs->rtt_us >= 0) {
		u32 rtt_us = max((u32)rs->rtt_us, 1U);

		windowed_max_add(&ca->least, cc_param(sk, min_rtt_win_ms) * USEC_PER_MSEC, now,
				 U32_MAX - rtt_us);
		windowed_max_add(&ca->standing, srtt_us / 2, now, U32_MAX - rtt_us);
		windowed_max_add(&ca->largest, 4 * srtt_us, now, rtt_us);
	}
	if (!windowed_max_get(&ca->largest) || !rs->acked_sacked)
		return;
	standing_us = copa_least(&ca->standing);
	queueing_us = standing_us - min(copa_least(&ca->least), standing_us);

	round = after(ack, ca->round_end);
	if (round)
		copa_end_round(tp, ca);
	copa_choose_mode(sk, ca, queueing_us, round);

	/* cwnd / RTTstanding <= 1 / (delta d_q) */
	up = (u64)tp->snd_cwnd * queueing_us * COPA_ONE <= (u64)standing_us * ca->per_delta;
	if (!up)
		ca->slow_start = 0;
	if (!ca->slow_start && up != ca->was_up) {
		ca->velocity = 1;
		ca->same_direction = 0;
	}
	if (!up || tcp_is_cwnd_limited(sk)) {
		if (ca->slow_start)
			tp->snd_cwnd = min(tp->snd_cwnd + rs->acked_sacked, tp->snd_cwnd_clamp);
		else
			copa_move(tp, ca, rs->acked_sacked, up);
	}
	sk->sk_pacing_rate = 2ULL * tp->snd_cwnd * tp->mss_cache * USEC_PER_SEC / standing_us;
}

CC_HOOK(u32, copa_ssthresh, struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

CC_HOOK(u32, copa_undo_cwnd, struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}

CC_HOOK(void, copa_set_state, struct sock *sk, u8 new_state)
{
	struct copa *ca = inet_csk_ca(sk);

	if (new_state == TCP_CA_Loss) {
		ca->lost = 1;
		copa_restart(sk, ca);
	}
}

CC_ALGORITHM(copa, "Copa: keeps 1/delta packets in the queue (Arun, Balakrishnan 2018)",
	     .init = copa_init,
	     .ssthresh = copa_ssthresh,
	     .set_state = copa_set_state,
	     .cong_control = copa_control,
	     .undo_cwnd = copa_undo_cwnd);
