/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Linked with checked.c to a user's file that is a WebAssembly module: it has a memory of its own, into
 * which the page copies the socket for each hook. lab/guest.js calls it.
 */
#include "cc_call.h"

#define EXPORT(name) __attribute__((export_name(#name))) name

extern const struct cc_module cc_module;
extern struct cc_call cc_current_hook;
extern const struct cc_checked {
	void (*prepare)(long current_slot, u64 cc_params_size);
	void (*hooks)(const struct tcp_congestion_ops *of, struct tcp_congestion_ops *into);
	const char *start, *end;
} cc_checked;

static struct tcp_congestion_ops ops;

const struct cc_module *EXPORT(cc_prepare)(u32 params_size)
{
	cc_checked.prepare(0, params_size);
	cc_checked.hooks(&cc_module.ops, &ops);
	return &cc_module;
}

/* Calls a hook, by its place in struct tcp_congestion_ops. `sk` has the values of the engine's socket. */
u32 EXPORT(cc_hook)(u32 hook, struct sock *sk, u32 first, u32 second, const void *sample,
		    const void *params, void *blocks)
{
	sk->sk_host.params = params;
	sk->sk_host.blocks = blocks;
	switch (hook) {
	case 0:
		return ops.ssthresh(sk);
	case 1:
		ops.cong_avoid(sk, first, second);
		return 0;
	case 2:
		ops.set_state(sk, first);
		return 0;
	case 3:
		ops.cwnd_event(sk, first);
		return 0;
	case 4:
		ops.in_ack_event(sk, first);
		return 0;
	case 5:
		ops.pkts_acked(sk, sample);
		return 0;
	case 6:
		return ops.min_tso_segs(sk);
	case 7:
		ops.cong_control(sk, first, second, sample);
		return 0;
	case 8:
		return ops.undo_cwnd(sk);
	case 9:
		return ops.min_cwnd(sk);
	case 10:
		return ops.sndbuf_expand(sk);
	case 11:
		ops.init(sk);
		return 0;
	default:
		ops.release(sk);
		return 0;
	}
}

/* What a hook that has trapped did wrong: two strings, or NULL. */
const char *EXPORT(cc_breach_of)(void)
{
	return cc_current_hook.breach_of;
}

const char *EXPORT(cc_breach)(void)
{
	return cc_current_hook.breach;
}
