/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * BBR version 1: N. Cardwell, Y. Cheng, C. S. Gunn, S. Hassas Yeganeh, V. Jacobson, "BBR:
 * Congestion-Based Congestion Control", ACM Queue 14(5), 2016. BBR models the path by two
 * numbers, each the best of a while: the delivery rate (bw, of 10 rounds) and the RTT (min_rtt,
 * of 10 s). It sends at pacing_gain * bw, with at most cwnd_gain * bw * min_rtt in flight:
 *
 *	mode		pacing_gain	cwnd_gain	until
 *	STARTUP		2.89 = 2/ln 2	2.89		3 rounds in which bw did not grow by 25 %
 *	DRAIN		1/2.89		2.89		bw * min_rtt is in flight
 *	PROBE_BW	1.25, 0.75,	2		(a phase lasts about min_rtt)
 *			then 1 six times
 *	PROBE_RTT	1		(4 packets)	200 ms and a round; comes when min_rtt is old
 *
 * A loss does not change bw or min_rtt. In the first round of a recovery BBR sends as many
 * packets as are delivered; the window of before returns at the end of the recovery. When a
 * fifth and more of the packets are lost at the same rate in two intervals, BBR assumes a
 * policer, and sends at that rate for 48 rounds.
 *
 * Preset linux (the default) is the bbr of Linux 6.12 bit for bit, private state included, with
 * three exceptions:
 *  - The first phase of PROBE_BW is random, and comes from another generator.
 *  - The largest burst has 65 215 bytes. Linux's depends on its configuration (MAX_TCP_HEADER).
 *    This matters from 534 Mb/s on.
 *  - get_info: `ss -i` does not show bw and gains. BPF has no such hook.
 * Preset linux-5.0 keeps no room in the window for ACKs that come in bunches, as Linux did up
 * to 5.0 (extra_acked_gain = 0); the rest of it is that of 6.12.
 */
#define CC_PARAMS(P)                                                                          \
	P(high_gain, 739, 257, 1023, 256, "pacing_gain and cwnd_gain of STARTUP")             \
	P(drain_gain, 88, 1, 255, 256, "pacing_gain of DRAIN")                                \
	P(cwnd_gain, 512, 256, 1023, 256, "cwnd_gain of PROBE_BW")                            \
	P(bw_rtts, 10, 1, 1000, 1, "rounds for which a delivery rate counts")                 \
	P(min_rtt_win_sec, 10, 1, 3600, 1, "time for which an RTT counts, s")                 \
	P(probe_rtt_mode_ms, 200, 0, 10000, 1, "least duration of PROBE_RTT, ms; 0: never")   \
	P(extra_acked_gain, 256, 0, 1023, 256, "part of the largest bunch of ACKs that cwnd "  \
	  "has room for")                                                                \
	P(lt_bw_max_rtts, 48, 0, 127, 1, "rounds at the rate of a policer; 0: looks for none")

#define CC_PRESETS(P)                                                         \
	P("linux", "", "Linux 6.12")                                          \
	P("linux-5.0", "extra_acked_gain=0", "no room for ACKs in bunches")

#include "windowed_max.h"

#define BW_SCALE 24		/* bw is in packets per us << 24 */
#define BW_UNIT (1 << BW_SCALE)
#define BBR_SCALE 8		/* gains */
#define BBR_UNIT (1 << BBR_SCALE)

enum {
	CYCLE_LEN = 8,			/* phases of PROBE_BW */
	PACING_MARGIN_PERCENT = 1,	/* pace so much below bw */
	MIN_TSO_RATE = 1200000 / 8,	/* below this rate bursts have one packet, bytes/s */
	MAX_BURST_BYTES = 65536 - 1 - 320,
	CWND_MIN_TARGET = 4,
	FULL_BW_THRESH = BBR_UNIT * 5 / 4,
	FULL_BW_CNT = 3,
	LT_INTVL_MIN_RTTS = 4,
	LT_LOSS_THRESH = 50,		/* lost of delivered, in 1/256 */
	LT_BW_RATIO = BBR_UNIT / 8,	/* rates so near are equal, */
	LT_BW_DIFF = 4000 / 8,		/* and so near, bytes/s */
	EXTRA_ACKED_WIN_RTTS = 5,
	EXTRA_ACKED_MAX_US = 100000,
	ACK_EPOCH_ACKED_MAX = 0xfffff,
};

enum bbr_mode { STARTUP, DRAIN, PROBE_BW, PROBE_RTT };

struct bbr {
	u32 min_rtt_us;			/* least RTT of the last 10 s */
	u32 min_rtt_stamp;		/* when it was seen, jiffies */
	u32 probe_rtt_done_stamp;	/* when PROBE_RTT may end, jiffies; 0: not yet known */
	struct windowed_max bw;		/* delivery rates, packets/us << 24 */
	u32 rtt_cnt;			/* rounds so far */
	u32 next_rtt_delivered;		/* this round ends with a packet sent after so many */
	u64 cycle_mstamp;		/* when the phase of PROBE_BW began, us */
	u32 mode : 3;			/* enum bbr_mode */
	u32 prev_ca_state : 3;		/* icsk_ca_state at the last ACK */
	u32 packet_conservation : 1;	/* first round of a recovery */
	u32 round_start : 1;		/* this ACK began a round */
	u32 idle_restart : 1;		/* sending again after a pause */
	u32 probe_rtt_round_done : 1;	/* a round has passed in PROBE_RTT */
	u32 unused : 13;		/* as in Linux */
	u32 lt_is_sampling : 1;		/* looking for a policer */
	u32 lt_rtt_cnt : 7;		/* rounds of this interval, or with lt_bw */
	u32 lt_use_bw : 1;		/* there is a policer: use lt_bw */
	u32 lt_bw;			/* its rate, packets/us << 24 */
	u32 lt_last_delivered;		/* delivered when the interval began */
	u32 lt_last_stamp;		/* that time, ms */
	u32 lt_last_lost;		/* lost then */
	u32 pacing_gain : 10;		/* of bw, in 1/256 */
	u32 cwnd_gain : 10;		/* of bw * min_rtt, in 1/256 */
	u32 full_bw_reached : 1;	/* STARTUP has filled the pipe */
	u32 full_bw_cnt : 2;		/* rounds without growth of bw */
	u32 cycle_idx : 3;		/* phase of PROBE_BW */
	u32 has_seen_rtt : 1;		/* the pacing rate has begun with a real RTT */
	u32 unused_b : 5;		/* as in Linux */
	u32 prior_cwnd;			/* cwnd before a recovery or PROBE_RTT */
	u32 full_bw;			/* bw that full_bw_cnt compares with */
	u64 ack_epoch_mstamp;		/* since when ack_epoch_acked counts, us */
	u16 extra_acked[2];		/* most ACKed beyond bw * time: this window, the last */
	u32 ack_epoch_acked : 20;	/* delivered since then */
	u32 extra_acked_win_rtts : 5;	/* age of the window, rounds */
	u32 extra_acked_win_idx : 1;	/* which of extra_acked is this window's */
	u32 unused_c : 6;		/* as in Linux */
};
CC_PRIVATE(struct bbr);

/* What bw and min_rtt make of the path. */

static inline u32 bbr_bw(const struct bbr *bbr)
{
	return bbr->lt_use_bw ? bbr->lt_bw : windowed_max_get(&bbr->bw);
}

/* gain * bw in bytes/s, less the margin; no step exceeds 64 bits up to 2.9 Tb/s. */
static inline u64 bbr_bytes_per_sec(const struct sock *sk, u64 bw, u32 gain)
{
	u64 rate = bw * tcp_sk(sk)->mss_cache * gain >> BBR_SCALE;

	return rate * (USEC_PER_SEC / 100 * (100 - PACING_MARGIN_PERCENT)) >> BW_SCALE;
}

static inline u64 bbr_pacing_rate(const struct sock *sk, u32 bw, u32 gain)
{
	return min_t(u64, bbr_bytes_per_sec(sk, bw, gain), sk->sk_max_pacing_rate);
}

/* gain * bw * min_rtt, rounded up, packets. */
static inline u32 bbr_bdp(const struct bbr *bbr, u32 bw, u32 gain)
{
	if (bbr->min_rtt_us == U32_MAX)
		return TCP_INIT_CWND;
	return (((u64)bw * bbr->min_rtt_us * gain >> BBR_SCALE) + BW_UNIT - 1) / BW_UNIT;
}

static inline u32 bbr_least_burst(const struct sock *sk)
{
	return sk->sk_pacing_rate < MIN_TSO_RATE ? 1 : 2;
}

static inline u32 bbr_tso_segs_goal(const struct sock *sk)
{
	u32 bytes = min_t(u64, sk->sk_pacing_rate >> sk->sk_pacing_shift,
			  MAX_BURST_BYTES);

	return min(max(bytes / tcp_sk(sk)->mss_cache, bbr_least_burst(sk)), 127U);
}

/* Three bursts more: one waits to be sent, one is being sent, one waits at the receiver. Then
 * an even number, for delayed ACKs, and room to probe on a short path. */
static inline u32 bbr_quantization_budget(const struct sock *sk, const struct bbr *bbr, u32 cwnd)
{
	cwnd = (cwnd + 3 * bbr_tso_segs_goal(sk) + 1) & ~1U;
	return bbr->mode == PROBE_BW && bbr->cycle_idx == 0 ? cwnd + 2 : cwnd;
}

static inline u32 bbr_inflight(const struct sock *sk, const struct bbr *bbr, u32 gain)
{
	u32 bdp = bbr_bdp(bbr, windowed_max_get(&bbr->bw), gain);

	return bbr_quantization_budget(sk, bbr, bdp);
}

/* Of inflight packets, how many will be in the network when pacing lets the next burst leave?
 * While the flow probes upwards, that burst counts. */
static inline u32 bbr_packets_in_net_at_edt(const struct sock *sk, const struct bbr *bbr,
					    u32 inflight)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 wait_ns = max(tp->tcp_wstamp_ns, tp->tcp_clock_cache) - tp->tcp_clock_cache;
	u32 delivered = (u64)bbr_bw(bbr) * (wait_ns / 1000) >> BW_SCALE;

	if (bbr->pacing_gain > BBR_UNIT)
		inflight += bbr_tso_segs_goal(sk);
	return inflight - min(delivered, inflight);
}

/* Pacing. */

static inline void bbr_init_pacing_rate(struct sock *sk, struct bbr *bbr)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt_us = USEC_PER_MSEC;
	u64 bw = (u64)tp->snd_cwnd * BW_UNIT;

	if (tp->srtt_us) {
		rtt_us = max(tp->srtt_us >> 3, 1U);
		bbr->has_seen_rtt = 1;
	}
	sk->sk_pacing_rate = bbr_pacing_rate(sk, bw / rtt_us, cc_param(sk, high_gain));
}

static inline void bbr_set_pacing_rate(struct sock *sk, struct bbr *bbr, u32 gain)
{
	u64 rate = bbr_pacing_rate(sk, bbr_bw(bbr), gain);

	if (!bbr->has_seen_rtt && tcp_sk(sk)->srtt_us)
		bbr_init_pacing_rate(sk, bbr);
	if (bbr->full_bw_reached || rate > sk->sk_pacing_rate)
		sk->sk_pacing_rate = rate;
}

/* Modes. */

static inline void bbr_next_phase(const struct tcp_sock *tp, struct bbr *bbr)
{
	bbr->cycle_idx = (bbr->cycle_idx + 1) & (CYCLE_LEN - 1);
	bbr->cycle_mstamp = tp->delivered_mstamp;
}

/* Begins with any phase but that of 0.75: flows that start together do not probe together. */
static inline void bbr_enter_probe_bw(struct sock *sk, struct bbr *bbr)
{
	bbr->mode = PROBE_BW;
	bbr->cycle_idx = CYCLE_LEN - 1 - (u32)((u64)cc_random(sk) * (CYCLE_LEN - 1) >> 32);
	bbr_next_phase(tcp_sk(sk), bbr);
}

static inline void bbr_save_cwnd(const struct tcp_sock *tp, struct bbr *bbr)
{
	bool reduced = bbr->prev_ca_state >= TCP_CA_Recovery || bbr->mode == PROBE_RTT;

	bbr->prior_cwnd = reduced ? max(bbr->prior_cwnd, tp->snd_cwnd) : tp->snd_cwnd;
}

static inline void bbr_check_probe_rtt_done(struct sock *sk, struct bbr *bbr)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 now = tcp_jiffies32(sk);

	if (!bbr->probe_rtt_done_stamp || !after(now, bbr->probe_rtt_done_stamp))
		return;
	bbr->min_rtt_stamp = now;
	tp->snd_cwnd = max(tp->snd_cwnd, bbr->prior_cwnd);
	if (bbr->full_bw_reached)
		bbr_enter_probe_bw(sk, bbr);
	else
		bbr->mode = STARTUP;
}

/* The policer ("lt": long term). */

static inline void bbr_begin_lt_interval(const struct tcp_sock *tp, struct bbr *bbr)
{
	bbr->lt_last_stamp = tp->delivered_mstamp / USEC_PER_MSEC;
	bbr->lt_last_delivered = tp->delivered;
	bbr->lt_last_lost = tp->lost;
	bbr->lt_rtt_cnt = 0;
}

static inline void bbr_reset_lt_bw_sampling(const struct tcp_sock *tp, struct bbr *bbr)
{
	bbr->lt_bw = 0;
	bbr->lt_use_bw = 0;
	bbr->lt_is_sampling = 0;
	bbr_begin_lt_interval(tp, bbr);
}

/* Twice the same rate: that of a policer. */
static inline void bbr_end_lt_interval(struct sock *sk, struct bbr *bbr, u32 bw)
{
	u32 apart = bw - bbr->lt_bw;

	if ((s32)apart < 0)
		apart = -apart;
	if (bbr->lt_bw &&
	    (apart * BBR_UNIT <= LT_BW_RATIO * bbr->lt_bw ||
	     bbr_bytes_per_sec(sk, apart, BBR_UNIT) <= LT_BW_DIFF)) {
		bbr->lt_bw = (bw + bbr->lt_bw) >> 1;
		bbr->lt_use_bw = 1;
		bbr->pacing_gain = BBR_UNIT;
		bbr->lt_rtt_cnt = 0;
		return;
	}
	bbr->lt_bw = bw;
	bbr_begin_lt_interval(tcp_sk(sk), bbr);
}

/* An interval begins and ends with a loss: then the policer has no tokens left. */
static inline void bbr_lt_bw_sampling(struct sock *sk, struct bbr *bbr, u32 losses,
				      bool app_limited)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 lost, delivered, ms;

	if (bbr->lt_use_bw) {
		if (bbr->mode != PROBE_BW || !bbr->round_start)
			return;
		bbr->lt_rtt_cnt++;
		if (bbr->lt_rtt_cnt >= cc_param(sk, lt_bw_max_rtts)) {
			bbr_reset_lt_bw_sampling(tp, bbr);
			bbr_enter_probe_bw(sk, bbr);
		}
		return;
	}
	if (!bbr->lt_is_sampling) {
		if (!losses || !cc_param(sk, lt_bw_max_rtts))
			return;
		bbr_begin_lt_interval(tp, bbr);
		bbr->lt_is_sampling = 1;
	}
	if (app_limited) {
		bbr_reset_lt_bw_sampling(tp, bbr);
		return;
	}
	if (bbr->round_start)
		bbr->lt_rtt_cnt++;
	if (bbr->lt_rtt_cnt < LT_INTVL_MIN_RTTS)
		return;
	if (bbr->lt_rtt_cnt > 4 * LT_INTVL_MIN_RTTS) {
		bbr_reset_lt_bw_sampling(tp, bbr);
		return;
	}
	if (!losses)
		return;

	lost = tp->lost - bbr->lt_last_lost;
	delivered = tp->delivered - bbr->lt_last_delivered;
	if (!delivered || lost << BBR_SCALE < LT_LOSS_THRESH * delivered)
		return;
	ms = (u32)(tp->delivered_mstamp / USEC_PER_MSEC) - bbr->lt_last_stamp;
	if ((s32)ms < 1)
		return;
	if (ms >= U32_MAX / USEC_PER_MSEC) {
		bbr_reset_lt_bw_sampling(tp, bbr);
		return;
	}
	bbr_end_lt_interval(sk, bbr, (u64)delivered * BW_UNIT / (ms * USEC_PER_MSEC));
}

/* What an ACK does, in this order. */

static inline void bbr_update_bw(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 bw;

	bbr->round_start = 0;
	if (rs->delivered < 0 || rs->interval_us <= 0)
		return;
	if (!before(rs->prior_delivered, bbr->next_rtt_delivered)) {
		bbr->next_rtt_delivered = tp->delivered;
		bbr->rtt_cnt++;
		bbr->round_start = 1;
		bbr->packet_conservation = 0;
	}
	bbr_lt_bw_sampling(sk, bbr, rs->losses, rs->is_app_limited);

	/* A sample that the application limited says only that bw is at least this. */
	bw = (u64)(u32)rs->delivered * BW_UNIT / max((u32)rs->interval_us, 1U);
	if (!rs->is_app_limited || bw >= windowed_max_get(&bbr->bw))
		windowed_max_add(&bbr->bw, cc_param(sk, bw_rtts), bbr->rtt_cnt, bw);
}

static inline u16 bbr_extra_acked_now(const struct bbr *bbr)
{
	return bbr->extra_acked_win_idx ? bbr->extra_acked[1] : bbr->extra_acked[0];
}

static inline void bbr_set_extra_acked_now(struct bbr *bbr, u16 packets)
{
	if (bbr->extra_acked_win_idx)
		bbr->extra_acked[1] = packets;
	else
		bbr->extra_acked[0] = packets;
}

/* How many packets are ACKed beyond what bw explains, in bunches that come after a silence. */
static inline void bbr_update_ack_aggregation(struct sock *sk, struct bbr *bbr,
					      const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 epoch_us, expected, extra;

	if (!cc_param(sk, extra_acked_gain) || !rs->acked_sacked || rs->delivered < 0 ||
	    rs->interval_us <= 0)
		return;
	if (bbr->round_start) {
		u32 age = min(bbr->extra_acked_win_rtts + 1U, 31U);

		if (age >= EXTRA_ACKED_WIN_RTTS) {
			age = 0;
			bbr->extra_acked_win_idx ^= 1;
			bbr_set_extra_acked_now(bbr, 0);
		}
		bbr->extra_acked_win_rtts = age;
	}

	epoch_us = tcp_stamp_us_delta(tp->delivered_mstamp, bbr->ack_epoch_mstamp);
	expected = (u64)bbr_bw(bbr) * epoch_us / BW_UNIT;
	/* The epoch begins anew when the ACKs are slower than bw. */
	if (bbr->ack_epoch_acked <= expected ||
	    bbr->ack_epoch_acked + rs->acked_sacked > ACK_EPOCH_ACKED_MAX) {
		bbr->ack_epoch_acked = 0;
		bbr->ack_epoch_mstamp = tp->delivered_mstamp;
		expected = 0;
	}
	bbr->ack_epoch_acked = min_t(u32, bbr->ack_epoch_acked + rs->acked_sacked,
				     ACK_EPOCH_ACKED_MAX);
	extra = min(bbr->ack_epoch_acked - expected, tp->snd_cwnd);
	if (extra > bbr_extra_acked_now(bbr))
		bbr_set_extra_acked_now(bbr, extra);
}

static inline bool bbr_phase_is_over(struct sock *sk, struct bbr *bbr,
				     const struct rate_sample *rs)
{
	u32 lasted_us = tcp_stamp_us_delta(tcp_sk(sk)->delivered_mstamp, bbr->cycle_mstamp);
	bool is_full_length = lasted_us > bbr->min_rtt_us;
	u32 inflight;

	if (bbr->pacing_gain == BBR_UNIT)
		return is_full_length;
	inflight = bbr_packets_in_net_at_edt(sk, bbr, rs->prior_in_flight);
	/* Up: until the packets are in flight, or a buffer has no room for them. */
	if (bbr->pacing_gain > BBR_UNIT)
		return is_full_length &&
		       (rs->losses || inflight >= bbr_inflight(sk, bbr, bbr->pacing_gain));
	/* Down: no longer than it takes to empty the queue. */
	return is_full_length || inflight <= bbr_inflight(sk, bbr, BBR_UNIT);
}

static inline void bbr_check_full_bw_reached(struct bbr *bbr, bool app_limited)
{
	u32 bw = windowed_max_get(&bbr->bw), count;

	if (bbr->full_bw_reached || !bbr->round_start || app_limited)
		return;
	if (bw >= (u32)((u64)bbr->full_bw * FULL_BW_THRESH >> BBR_SCALE)) {
		bbr->full_bw = bw;
		bbr->full_bw_cnt = 0;
		return;
	}
	count = bbr->full_bw_cnt + 1;
	bbr->full_bw_cnt = count;
	bbr->full_bw_reached = count >= FULL_BW_CNT;
}

static inline void bbr_check_drain(struct sock *sk, struct bbr *bbr)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (bbr->mode == STARTUP && bbr->full_bw_reached) {
		bbr->mode = DRAIN;
		tp->snd_ssthresh = bbr_inflight(sk, bbr, BBR_UNIT);
	}
	if (bbr->mode == DRAIN &&
	    bbr_packets_in_net_at_edt(sk, bbr, tcp_packets_in_flight(tp)) <=
	    bbr_inflight(sk, bbr, BBR_UNIT))
		bbr_enter_probe_bw(sk, bbr);
}

static inline void bbr_probe_rtt(struct sock *sk, struct bbr *bbr)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 inflight = tcp_packets_in_flight(tp);

	/* The samples of this mode are low. */
	tp->app_limited = max(tp->delivered + inflight, 1U);
	if (bbr->probe_rtt_done_stamp) {
		if (bbr->round_start)
			bbr->probe_rtt_round_done = 1;
		if (bbr->probe_rtt_round_done)
			bbr_check_probe_rtt_done(sk, bbr);
	} else if (inflight <= CWND_MIN_TARGET) {
		u32 us = cc_param(sk, probe_rtt_mode_ms) * USEC_PER_MSEC;

		bbr->probe_rtt_done_stamp = tcp_jiffies32(sk) + cc_usecs_to_jiffies(sk, us);
		bbr->probe_rtt_round_done = 0;
		bbr->next_rtt_delivered = tp->delivered;
	}
}

static inline void bbr_update_min_rtt(struct sock *sk, struct bbr *bbr,
				      const struct rate_sample *rs)
{
	u32 now = tcp_jiffies32(sk);
	bool expired = after(now, bbr->min_rtt_stamp + cc_param(sk, min_rtt_win_sec) * cc_hz(sk));

	if (rs->rtt_us >= 0 &&
	    (rs->rtt_us < bbr->min_rtt_us || (expired && !rs->is_ack_delayed))) {
		bbr->min_rtt_us = rs->rtt_us;
		bbr->min_rtt_stamp = now;
	}
	if (cc_param(sk, probe_rtt_mode_ms) && expired && !bbr->idle_restart &&
	    bbr->mode != PROBE_RTT) {
		bbr->mode = PROBE_RTT;
		bbr_save_cwnd(tcp_sk(sk), bbr);
		bbr->probe_rtt_done_stamp = 0;
	}
	if (bbr->mode == PROBE_RTT)
		bbr_probe_rtt(sk, bbr);
	if (rs->delivered > 0)
		bbr->idle_restart = 0;
}

static inline void bbr_update_gains(struct sock *sk, struct bbr *bbr)
{
	u32 pacing = BBR_UNIT, cwnd = BBR_UNIT;

	switch (bbr->mode) {
	case STARTUP:
		pacing = cwnd = cc_param(sk, high_gain);
		break;
	case DRAIN:
		pacing = cc_param(sk, drain_gain);
		cwnd = cc_param(sk, high_gain);
		break;
	case PROBE_BW:
		if (!bbr->lt_use_bw && bbr->cycle_idx < 2)
			pacing = bbr->cycle_idx ? BBR_UNIT * 3 / 4 : BBR_UNIT * 5 / 4;
		cwnd = cc_param(sk, cwnd_gain);
		break;
	default:
		break;
	}
	bbr->pacing_gain = pacing;
	bbr->cwnd_gain = cwnd;
}

static inline u32 bbr_ack_aggregation_cwnd(struct sock *sk, const struct bbr *bbr)
{
	u32 most = (u64)bbr_bw(bbr) * EXTRA_ACKED_MAX_US / BW_UNIT;
	u32 extra = max(bbr->extra_acked[0], bbr->extra_acked[1]);

	if (!bbr->full_bw_reached)
		return 0;
	return min(cc_param(sk, extra_acked_gain) * extra >> BBR_SCALE, most);
}

static inline u32 bbr_next_cwnd(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 acked = rs->acked_sacked, cwnd = tp->snd_cwnd, target;
	u8 prior = bbr->prev_ca_state, state = tcp_ca_state(sk);

	if (rs->losses > 0)
		cwnd = max_t(s32, cwnd - rs->losses, 1);
	if (state == TCP_CA_Recovery && prior != TCP_CA_Recovery) {
		bbr->packet_conservation = 1;
		bbr->next_rtt_delivered = tp->delivered;
		cwnd = tcp_packets_in_flight(tp) + acked;
	} else if (prior >= TCP_CA_Recovery && state < TCP_CA_Recovery) {
		bbr->packet_conservation = 0;
		cwnd = max(cwnd, bbr->prior_cwnd);
	}
	bbr->prev_ca_state = state;
	if (bbr->packet_conservation)
		return max(cwnd, tcp_packets_in_flight(tp) + acked);

	target = bbr_bdp(bbr, bbr_bw(bbr), bbr->cwnd_gain) + bbr_ack_aggregation_cwnd(sk, bbr);
	target = bbr_quantization_budget(sk, bbr, target);
	if (bbr->full_bw_reached)
		cwnd = min(cwnd + acked, target);
	else if (cwnd < target || tp->delivered < TCP_INIT_CWND)
		cwnd += acked;
	return max_t(u32, cwnd, CWND_MIN_TARGET);
}

static inline void bbr_set_cwnd(struct sock *sk, struct bbr *bbr, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = rs->acked_sacked ? bbr_next_cwnd(sk, bbr, rs) : tp->snd_cwnd;

	cwnd = min(cwnd, tp->snd_cwnd_clamp);
	tp->snd_cwnd = bbr->mode == PROBE_RTT ? min_t(u32, cwnd, CWND_MIN_TARGET) : cwnd;
}

/* The hooks. */

CC_HOOK(void, bbr_main, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct bbr *bbr = inet_csk_ca(sk);

	bbr_update_bw(sk, bbr, rs);
	bbr_update_ack_aggregation(sk, bbr, rs);
	if (bbr->mode == PROBE_BW && bbr_phase_is_over(sk, bbr, rs))
		bbr_next_phase(tcp_sk(sk), bbr);
	bbr_check_full_bw_reached(bbr, rs->is_app_limited);
	bbr_check_drain(sk, bbr);
	bbr_update_min_rtt(sk, bbr, rs);
	bbr_update_gains(sk, bbr);

	bbr_set_pacing_rate(sk, bbr, bbr->pacing_gain);
	bbr_set_cwnd(sk, bbr, rs);
}

CC_HOOK(void, bbr_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr *bbr = inet_csk_ca(sk);

	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	bbr->next_rtt_delivered = tp->delivered;
	bbr->min_rtt_us = tcp_min_rtt(tp);
	bbr->min_rtt_stamp = tcp_jiffies32(sk);
	bbr->ack_epoch_mstamp = tp->tcp_mstamp;
	bbr_begin_lt_interval(tp, bbr);
	bbr_init_pacing_rate(sk, bbr);
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* After a pause: no faster than bw. */
CC_HOOK(void, bbr_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr *bbr = inet_csk_ca(sk);

	if (event != CA_EVENT_TX_START || !tp->app_limited)
		return;
	bbr->idle_restart = 1;
	bbr->ack_epoch_mstamp = tp->tcp_mstamp;
	bbr->ack_epoch_acked = 0;
	if (bbr->mode == PROBE_BW)
		bbr_set_pacing_rate(sk, bbr, BBR_UNIT);
	else if (bbr->mode == PROBE_RTT)
		bbr_check_probe_rtt_done(sk, bbr);
}

/* A timeout ends a round. */
CC_HOOK(void, bbr_set_state, struct sock *sk, u8 new_state)
{
	struct bbr *bbr = inet_csk_ca(sk);

	if (new_state != TCP_CA_Loss)
		return;
	bbr->prev_ca_state = TCP_CA_Loss;
	bbr->full_bw = 0;
	bbr->round_start = 1;
	bbr_lt_bw_sampling(sk, bbr, 1, false);
}

/* BBR has no threshold of its own; this says only that a reduction begins. */
CC_HOOK(u32, bbr_ssthresh, struct sock *sk)
{
	bbr_save_cwnd(tcp_sk(sk), inet_csk_ca(sk));
	return tcp_sk(sk)->snd_ssthresh;
}

CC_HOOK(u32, bbr_undo_cwnd, struct sock *sk)
{
	struct bbr *bbr = inet_csk_ca(sk);

	bbr->full_bw = 0;
	bbr->full_bw_cnt = 0;
	bbr_reset_lt_bw_sampling(tcp_sk(sk), bbr);
	return tcp_sk(sk)->snd_cwnd;
}

CC_HOOK(u32, bbr_min_tso_segs, struct sock *sk)
{
	return bbr_least_burst(sk);
}

/* BBR may double its window even in a recovery. */
CC_HOOK(u32, bbr_sndbuf_expand, struct sock *sk)
{
	return 3;
}

CC_ALGORITHM(bbr, "BBR version 1: paces at the delivery rate that it measures (Cardwell et al. 2016)",
	     .init = bbr_init,
	     .ssthresh = bbr_ssthresh,
	     .set_state = bbr_set_state,
	     .cwnd_event = bbr_cwnd_event,
	     .min_tso_segs = bbr_min_tso_segs,
	     .cong_control = bbr_main,
	     .undo_cwnd = bbr_undo_cwnd,
	     .sndbuf_expand = bbr_sndbuf_expand);
