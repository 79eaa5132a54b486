/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * An algorithm as BPF bytecode with the native host, so that it can be called at will: the
 * socket is a map's value. Compiled with -U__bpf__ and ALGORITHM, the file.
 */
#include "tcp_cc_types.h"

typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u32 __wsum;
#include <bpf/bpf_helpers.h>

enum { BPF_MAP_TYPE_ARRAY = 2, CALLS = 1024, PARAMS = 64 };

/* A map's value cannot point to another, so cc_host.params is not used. */
u32 params[PARAMS];
#define cc_param(sk, name) ((void)(sk), ((const struct cc_params *)params)->name)
#define CC_ALGORITHM(algorithm, summary, ...) \
	static const struct tcp_congestion_ops ops = { __VA_ARGS__ }

/* Hidden: verified where they are called, with what they are called with. */
#pragma GCC visibility push(hidden)
#include ALGORITHM
#include "../host/tcp_cong.c"
#pragma GCC visibility pop

_Static_assert(sizeof(struct cc_params) <= sizeof(params), "more parameters than room");

enum hook { SSTHRESH, CONG_AVOID, SET_STATE, CWND_EVENT, IN_ACK_EVENT, PKTS_ACKED,
	    CONG_CONTROL, UNDO_CWND, INIT };

/* Mirrored in call.rs. */
struct call {
	u32 hook;
	u32 arguments[2];
	u32 result;
	struct ack_sample sample;
	struct rate_sample rate;
	struct tcp_sock tp;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CALLS);
	__type(key, u32);
	__type(value, struct call);
} calls SEC(".maps");

char cc_license[] SEC("license") = "GPL";

static long make_call(u32 index, void *unused)
{
	struct call *call = bpf_map_lookup_elem(&calls, &index);
	struct sock *sk = (struct sock *)&call->tp;

	if (!call)
		return 1;
	switch (call->hook) {
	case SSTHRESH:
		call->result = ops.ssthresh(sk);
		break;
	case CONG_AVOID:
		if (ops.cong_avoid)
			ops.cong_avoid(sk, call->arguments[0], call->arguments[1]);
		break;
	case SET_STATE:
		if (ops.set_state)
			ops.set_state(sk, call->arguments[0]);
		break;
	case CWND_EVENT:
		if (ops.cwnd_event)
			ops.cwnd_event(sk, call->arguments[0]);
		break;
	case IN_ACK_EVENT:
		if (ops.in_ack_event)
			ops.in_ack_event(sk, call->arguments[0]);
		break;
	case PKTS_ACKED:
		if (ops.pkts_acked)
			ops.pkts_acked(sk, &call->sample);
		break;
	case CONG_CONTROL:
		if (ops.cong_control)
			ops.cong_control(sk, call->arguments[0], call->arguments[1], &call->rate);
		break;
	case UNDO_CWND:
		call->result = ops.undo_cwnd ? ops.undo_cwnd(sk) : tcp_reno_undo_cwnd(sk);
		break;
	case INIT:
		if (ops.init)
			ops.init(sk);
		break;
	}
	return 0;
}

SEC("syscall") int make_calls(void *unused)
{
	return bpf_loop(CALLS, make_call, 0, 0);
}
