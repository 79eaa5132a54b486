/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The kernel's own CUBIC, and a record of each call: what it was given and what it did.
 * Its functions are kfuncs, so that this is an algorithm that only hands on.
 */
#include "tcp_cc.h"

/* Of 64 bits each, in the order of FIELDS in trace.rs. */
struct record {
	u64 sk, hook, argument0, argument1, pkts_acked, rtt_us, in_flight;
	u64 jiffies, hz, tcp_mstamp, sk_pacing_rate, sk_pacing_status, sk_gso_max_size;
	u64 icsk_ca_state, snd_una, snd_nxt, snd_cwnd, snd_cwnd_cnt, snd_ssthresh, snd_cwnd_clamp;
	u64 prior_cwnd, packets_out, max_packets_out, is_cwnd_limited, lsndtime, mss_cache, srtt_us;
	u64 jiffies_after, result, snd_cwnd_after, snd_cwnd_cnt_after, snd_ssthresh_after;
	u64 private[8];
};

#include "record.h"

extern void cubictcp_init(struct sock *sk) __ksym;
extern u32 cubictcp_recalc_ssthresh(struct sock *sk) __ksym;
extern void cubictcp_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern void cubictcp_state(struct sock *sk, u8 new_state) __ksym;
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) __ksym;

static __always_inline struct record *begin(struct sock *sk, enum hook hook, u32 argument0,
					    u32 argument1, const struct ack_sample *sample)
{
	struct record *r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!r) {
		__sync_fetch_and_add(&lost_records, 1);
		return 0;
	}
	r->sk = (u64)sk;
	r->hook = hook;
	r->argument0 = argument0;
	r->argument1 = argument1;
	r->pkts_acked = sample ? sample->pkts_acked : 0;
	r->rtt_us = sample ? sample->rtt_us : 0;
	r->in_flight = sample ? sample->in_flight : 0;
	r->jiffies = tcp_jiffies32(sk);
	r->hz = cc_hz(sk);
	r->tcp_mstamp = tp->tcp_mstamp;
	r->sk_pacing_rate = sk->sk_pacing_rate;
	r->sk_pacing_status = sk->sk_pacing_status;
	r->sk_gso_max_size = sk->sk_gso_max_size;
	r->icsk_ca_state = tcp_ca_state(sk);
	r->snd_una = tp->snd_una;
	r->snd_nxt = tp->snd_nxt;
	r->snd_cwnd = tp->snd_cwnd;
	r->snd_cwnd_cnt = tp->snd_cwnd_cnt;
	r->snd_ssthresh = tp->snd_ssthresh;
	r->snd_cwnd_clamp = tp->snd_cwnd_clamp;
	r->prior_cwnd = tp->prior_cwnd;
	r->packets_out = tp->packets_out;
	r->max_packets_out = tp->max_packets_out;
	r->is_cwnd_limited = BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
	r->lsndtime = tp->lsndtime;
	r->mss_cache = tp->mss_cache;
	r->srtt_us = tp->srtt_us;
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
	r->snd_cwnd_cnt_after = tp->snd_cwnd_cnt;
	r->snd_ssthresh_after = tp->snd_ssthresh;
	for (int i = 0; i < 8; i++)
		r->private[i] = private[i];
	bpf_ringbuf_submit(r, 0);
	return result;
}

CC_HOOK(void, record_init, struct sock *sk)
{
	struct record *r = begin(sk, INIT, 0, 0, 0);

	cubictcp_init(sk);
	end(r, sk, 0);
}

CC_HOOK(u32, record_ssthresh, struct sock *sk)
{
	struct record *r = begin(sk, SSTHRESH, 0, 0, 0);

	return end(r, sk, cubictcp_recalc_ssthresh(sk));
}

CC_HOOK(void, record_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct record *r = begin(sk, CONG_AVOID, ack, acked, 0);

	cubictcp_cong_avoid(sk, ack, acked);
	end(r, sk, 0);
}

CC_HOOK(void, record_set_state, struct sock *sk, u8 new_state)
{
	struct record *r = begin(sk, SET_STATE, new_state, 0, 0);

	cubictcp_state(sk, new_state);
	end(r, sk, 0);
}

CC_HOOK(void, record_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct record *r = begin(sk, CWND_EVENT, event, 0, 0);

	cubictcp_cwnd_event(sk, event);
	end(r, sk, 0);
}

CC_HOOK(void, record_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct record *r = begin(sk, PKTS_ACKED, 0, 0, sample);

	cubictcp_acked(sk, sample);
	end(r, sk, 0);
}

CC_HOOK(u32, record_undo_cwnd, struct sock *sk)
{
	struct record *r = begin(sk, UNDO_CWND, 0, 0, 0);

	return end(r, sk, tcp_reno_undo_cwnd(sk));
}

CC_ALGORITHM(ac_record_cubic, "the kernel's CUBIC, recorded",
	     .init = record_init,
	     .ssthresh = record_ssthresh,
	     .cong_avoid = record_cong_avoid,
	     .set_state = record_set_state,
	     .undo_cwnd = record_undo_cwnd,
	     .cwnd_event = record_cwnd_event,
	     .pkts_acked = record_pkts_acked);
