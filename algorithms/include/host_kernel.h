/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The Linux kernel as host: an algorithm is a BPF struct_ops program. */
#ifndef HOST_KERNEL_H
#define HOST_KERNEL_H

/* What libbpf's headers expect of linux/types.h. */
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
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "GPL";

extern u32 tcp_slow_start(struct tcp_sock *tp, u32 acked) __ksym;
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked) __ksym;
extern u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

/* Linux 2.6 alone had .min_cwnd; the loader leaves out what the kernel's structure does not have. */
#define tcp_reno_min_cwnd NULL

extern int CONFIG_HZ __kconfig;

#define cc_hz(sk) ((void)(sk), (u32)CONFIG_HZ)
#define tcp_jiffies32(sk) ((void)(sk), (u32)bpf_jiffies64())
#define cc_random(sk) ((void)(sk), bpf_get_prandom_u32())

/* Read-only data, so that the loader sets it and the verifier sees a constant. */
#define CC_PARAM_CONST(name, value, least, most, scale, doc) \
	const volatile u32 cc_param_##name = value;
CC_PARAMS(CC_PARAM_CONST)
#define cc_param(sk, name) ((void)(sk), cc_param_##name)

/* So that the object's BTF has the private state, for whoever shows it. */
#define CC_PRIVATE_LAYOUT(type) const volatile type cc_private_layout = {}

/* The kernel makes it, of zeros, when it is asked for first, and frees it with the socket. */
#define CC_STORAGE_MAKE(kind)                                                           \
	struct {                                                                        \
		__uint(type, 24); /* BPF_MAP_TYPE_SK_STORAGE */                         \
		__uint(map_flags, 1); /* BPF_F_NO_PREALLOC */                           \
		__type(key, int);                                                       \
		__type(value, kind);                                                    \
	} cc_storage_map SEC(".maps")
#define cc_storage(sk) ((cc_stored *)bpf_sk_storage_get(&cc_storage_map, sk, 0, 1))

/* Written by the loader: what it loaded, for whoever finds it in the kernel later. */
#define CC_LABEL_SIZE 1024
const volatile char cc_label[CC_LABEL_SIZE] = {};

static inline bool tcp_in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

static inline bool tcp_is_cwnd_limited(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return true;
	return tcp_in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out;
}

static inline void cc_call_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	cc_cwnd_from_1(sk);
	tcp_reno_cong_avoid(sk, ack, acked);
}

static inline u8 tcp_ca_state(const struct sock *sk)
{
	return BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_state);
}

static inline void __tcp_send_ack(struct sock *sk, u32 rcv_nxt)
{
	bpf_tcp_send_ack(tcp_sk(sk), rcv_nxt);
}

/* A BPF program cannot change the hooks of a socket itself. The socket then also sends no ECT. */
#define CC_SOL_TCP 6
#define CC_TCP_CONGESTION 13
static inline void cc_become_reno(struct sock *sk)
{
	char reno[] = "reno";

	bpf_setsockopt(sk, CC_SOL_TCP, CC_TCP_CONGESTION, reno, sizeof(reno));
}

#define CC_HOOK(type, name, ...)                                     \
	SEC("struct_ops") __attribute__((always_inline)) type        \
	BPF_PROG(name, __VA_ARGS__)

/*
 * Reno's functions as hooks. "?": loaded only if the algorithm has them, or has no undo_cwnd of its
 * own. Their names mean the kernel's functions where they are called, and elsewhere these programs.
 */
SEC("?struct_ops") u32 BPF_PROG(cc_reno_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("?struct_ops") void BPF_PROG(cc_reno_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	cc_call_cong_avoid(sk, ack, acked);
}

SEC("?struct_ops") u32 BPF_PROG(cc_reno_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

static inline u32 cc_call_ssthresh(struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

static inline u32 cc_call_undo_cwnd(struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}
#define tcp_reno_ssthresh cc_reno_ssthresh
#define tcp_reno_cong_avoid cc_reno_cong_avoid
#define tcp_reno_undo_cwnd cc_reno_undo_cwnd
#define cc_reno_ssthresh(sk) cc_call_ssthresh(sk)
#define cc_reno_cong_avoid(sk, ack, acked) cc_call_cong_avoid(sk, ack, acked)
#define cc_reno_undo_cwnd(sk) cc_call_undo_cwnd(sk)

/*
 * Since Linux 7.1 CA_EVENT_TX_START does not go to cwnd_event, but to a hook of its own. The loader
 * leaves it out where the kernel's structure does not have it.
 *
 * The loader writes another name where the kernel has one of its own.
 */
#define CC_ALGORITHM(algorithm, summary, ...)                                           \
	CC_CHECK_NAME(algorithm);                                                       \
	static const struct tcp_congestion_ops cc_hooks = { __VA_ARGS__ };              \
	SEC("?struct_ops") void BPF_PROG(cc_tx_start)                                   \
	{                                                                               \
		u64 arguments[] = { ctx[0], CA_EVENT_TX_START };                        \
                                                                                        \
		if (cc_hooks.cwnd_event)                                                \
			cc_hooks.cwnd_event(arguments);                                 \
	}                                                                               \
	_Pragma("clang diagnostic push")                                                \
	_Pragma("clang diagnostic ignored \"-Winitializer-overrides\"")                 \
	SEC(".struct_ops.link") struct tcp_congestion_ops cc_##algorithm = {            \
		.undo_cwnd = cc_reno_undo_cwnd,                                      \
		.cwnd_event_tx_start = cc_tx_start,                                     \
		.flags = TCP_CONG_NON_RESTRICTED,                                       \
		__VA_ARGS__,                                                            \
		.name = #algorithm,                                                     \
	};                                                                              \
	_Pragma("clang diagnostic pop")                                                 \
	_Static_assert(1, "")

#endif
