/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The kernel's own BBR, and a record of each call: what it was given and what it did.
 * Its functions are kfuncs, so that this is an algorithm that only hands on.
 */
#include "tcp_cc.h"

/* Of 64 bits each, in the order of kernel_bbr.rs. */
struct record {
	u64 sk, hook, argument0, argument1, jiffies, hz, tcp_mstamp, tcp_clock_cache,
	    tcp_wstamp_ns, delivered_mstamp, sk_pacing_rate, sk_pacing_status,
	    sk_max_pacing_rate, sk_pacing_shift, icsk_ca_state, snd_cwnd, snd_ssthresh,
	    snd_cwnd_clamp, packets_out, retrans_out, sacked_out, lost_out, delivered,
	    lost, app_limited, mss_cache, srtt_us, min_rtt_us;
	u64 rs_prior_delivered, rs_delivered, rs_interval_us, rs_rtt_us, rs_losses,
	    rs_acked_sacked, rs_prior_in_flight, rs_is_app_limited, rs_is_ack_delayed;
	u64 jiffies_after, result, snd_cwnd_after, snd_ssthresh_after,
	    sk_pacing_rate_after, sk_pacing_status_after, app_limited_after;
	u64 private[13];
};

#include "record.h"

extern void bbr_init(struct sock *sk) __ksym;
extern void bbr_main(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs) __ksym;
extern u32 bbr_sndbuf_expand(struct sock *sk) __ksym;
extern u32 bbr_undo_cwnd(struct sock *sk) __ksym;
extern void bbr_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym;
extern u32 bbr_ssthresh(struct sock *sk) __ksym;
extern u32 bbr_min_tso_segs(struct sock *sk) __ksym;
extern void bbr_set_state(struct sock *sk, u8 new_state) __ksym;

static __always_inline struct record *begin(struct sock *sk, enum hook hook, u32 argument0,
					    u32 argument1)
{
	struct record *r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!r) {
		__sync_fetch_and_add(&lost_records, 1);
		return 0;
	}
	__builtin_memset(r, 0, sizeof(*r));
	r->sk = (u64)sk;
	r->hook = hook;
	r->argument0 = argument0;
	r->argument1 = argument1;
	r->jiffies = tcp_jiffies32(sk);
	r->hz = cc_hz(sk);
	r->tcp_mstamp = tp->tcp_mstamp;
	r->tcp_clock_cache = tp->tcp_clock_cache;
	r->tcp_wstamp_ns = tp->tcp_wstamp_ns;
	r->delivered_mstamp = tp->delivered_mstamp;
	r->sk_pacing_rate = sk->sk_pacing_rate;
	r->sk_pacing_status = sk->sk_pacing_status;
	r->sk_max_pacing_rate = sk->sk_max_pacing_rate;
	r->sk_pacing_shift = sk->sk_pacing_shift;
	r->icsk_ca_state = tcp_ca_state(sk);
	r->snd_cwnd = tp->snd_cwnd;
	r->snd_ssthresh = tp->snd_ssthresh;
	r->snd_cwnd_clamp = tp->snd_cwnd_clamp;
	r->packets_out = tp->packets_out;
	r->retrans_out = tp->retrans_out;
	r->sacked_out = tp->sacked_out;
	r->lost_out = tp->lost_out;
	r->delivered = tp->delivered;
	r->lost = tp->lost;
	r->app_limited = tp->app_limited;
	r->mss_cache = tp->mss_cache;
	r->srtt_us = tp->srtt_us;
	r->min_rtt_us = tcp_min_rtt(tp);
	return r;
}

static __always_inline u32 end(struct record *r, struct sock *sk, u32 result)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const u64 *private = inet_csk(sk)->icsk_ca_priv;

	if (!r)
		return result;
	r->jiffies_after = tcp_jiffies32(sk);
	r->result = result;
	r->snd_cwnd_after = tp->snd_cwnd;
	r->snd_ssthresh_after = tp->snd_ssthresh;
	r->sk_pacing_rate_after = sk->sk_pacing_rate;
	r->sk_pacing_status_after = sk->sk_pacing_status;
	r->app_limited_after = tp->app_limited;
	for (int i = 0; i < 13; i++)
		r->private[i] = private[i];
	bpf_ringbuf_submit(r, 0);
	return result;
}

CC_HOOK(void, record_init, struct sock *sk)
{
	struct record *r = begin(sk, INIT, 0, 0);

	bbr_init(sk);
	end(r, sk, 0);
}

CC_HOOK(void, record_cong_control, struct sock *sk, u32 ack, int flag,
	const struct rate_sample *rs)
{
	struct record *r = begin(sk, CONG_CONTROL, ack, flag);

	if (r) {
		r->rs_prior_delivered = rs->prior_delivered;
		r->rs_delivered = rs->delivered;
		r->rs_interval_us = rs->interval_us;
		r->rs_rtt_us = rs->rtt_us;
		r->rs_losses = rs->losses;
		r->rs_acked_sacked = rs->acked_sacked;
		r->rs_prior_in_flight = rs->prior_in_flight;
		r->rs_is_app_limited = rs->is_app_limited;
		r->rs_is_ack_delayed = rs->is_ack_delayed;
	}
	bbr_main(sk, ack, flag, rs);
	end(r, sk, 0);
}

CC_HOOK(u32, record_ssthresh, struct sock *sk)
{
	struct record *r = begin(sk, SSTHRESH, 0, 0);

	return end(r, sk, bbr_ssthresh(sk));
}

CC_HOOK(void, record_set_state, struct sock *sk, u8 new_state)
{
	struct record *r = begin(sk, SET_STATE, new_state, 0);

	bbr_set_state(sk, new_state);
	end(r, sk, 0);
}

CC_HOOK(void, record_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct record *r = begin(sk, CWND_EVENT, event, 0);

	bbr_cwnd_event(sk, event);
	end(r, sk, 0);
}

CC_HOOK(u32, record_undo_cwnd, struct sock *sk)
{
	struct record *r = begin(sk, UNDO_CWND, 0, 0);

	return end(r, sk, bbr_undo_cwnd(sk));
}

/* These two have no state. */
CC_HOOK(u32, record_min_tso_segs, struct sock *sk)
{
	return bbr_min_tso_segs(sk);
}

CC_HOOK(u32, record_sndbuf_expand, struct sock *sk)
{
	return bbr_sndbuf_expand(sk);
}

CC_ALGORITHM(ac_record_bbr, "the kernel's BBR, recorded",
	     .init = record_init,
	     .ssthresh = record_ssthresh,
	     .cong_control = record_cong_control,
	     .set_state = record_set_state,
	     .undo_cwnd = record_undo_cwnd,
	     .cwnd_event = record_cwnd_event,
	     .min_tso_segs = record_min_tso_segs,
	     .sndbuf_expand = record_sndbuf_expand);
