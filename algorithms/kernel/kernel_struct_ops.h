/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What a BPF struct_ops file finds behind "vmlinux.h", "bpf_tracing_net.h", "bpf_tcp_helpers.h" and
 * <bpf/...>: it is a file in the kernel's form without module_init. The host registers each struct
 * tcp_congestion_ops (native/struct_ops.rs). Its programs are plain functions.
 */
#ifndef KERNEL_STRUCT_OPS_H
#define KERNEL_STRUCT_OPS_H

#include "kernel_dialect.h"

/* Such files define these themselves: vmlinux.h has no macros, and no function in line. */
#undef abs
#undef cmpxchg
#undef prandom_u32_max
#undef get_random_u32_below
#undef xchg
#undef div_s64
#undef div64_s64
#undef div64_long
#undef div_u64
#undef div64_u64
#undef div64_ul
#undef do_div
#undef HZ
#undef CONFIG_HZ
#undef tcp_left_out
#undef DIV_ROUND_UP
#undef memset
#undef memcpy
#undef fls64
#undef GSO_MAX_SIZE
#undef USEC_PER_SEC
#undef USEC_PER_MSEC
#undef __bpf_kfunc
#undef TCP_CA_NAME_MAX
#define TCP_CA_NAME_MAX 16
#define GSO_MAX_SIZE GSO_LEGACY_MAX_SIZE

#define SEC(name) __attribute__((used))
#define BPF_PROG(name, args...) name(args)
#define BPF_STRUCT_OPS(name, args...) name(args)
#define __ksym
#define __kconfig
#define __weak
#define __hidden
#define __uint(name, value) int (*name)[value]
#define __type(name, kind) __typeof__(kind) *name
#define __bpf_kfunc

enum { BPF_MAP_TYPE_SK_STORAGE = 24, BPF_F_NO_PREALLOC = 1, BPF_SK_STORAGE_GET_F_CREATE = 1 };
enum { TCP_CONGESTION = 13, FLAG_DATA_ACKED = 4, FLAG_SYN_ACKED = 0x10, FLAG_DATA_SACKED = 0x20,
       FLAG_SND_UNA_ADVANCED = 0x400, FLAG_ACKED = 0x14, FLAG_FORWARD_PROGRESS = 0x34 };

#define BPF_CORE_READ(from, member) ((from)->member)
#define BPF_CORE_READ_BITFIELD(from, member) ((from)->member)
#define bpf_core_field_exists(field) 1
#define bpf_printk printk

#ifndef __bpf__
#define bpf_jiffies64() ((u64)jiffies)
#define bpf_ktime_get_ns() tcp_clock_ns()
#define bpf_get_prandom_u32() get_random_u32()
#define bpf_tcp_send_ack(tp, rcv_nxt) (__tcp_send_ack((struct sock *)(tp), rcv_nxt, 0), 0)
#define bpf_getsockopt(sk, level, option, value, size) (-ENOTSUPP)
#define bpf_setsockopt(sk, level, option, value, size) \
	cc_kernel_bpf_option((struct sock *)(sk), option, (const char *)(value))
#define bpf_sk_storage_get(map, sk, value_at, flags) \
	((__typeof__((map)->value))cc_kernel_storage(map, sizeof(*(map)->value), flags))
#define bpf_sk_storage_delete(map, sk) (-ENOENT)
CC_HIDDEN void *cc_kernel_storage(const void *map, size_t size, u64 flags);

/* Reno is the only other algorithm that a socket can change to, in init. */
static inline int cc_kernel_bpf_option(struct sock *sk, int option, const char *value)
{
	if (option != TCP_CONGESTION || __builtin_memcmp(value, "reno", 5))
		return -ENOTSUPP;
	cc_become_reno(sk);
	return 0;
}
#endif

#endif
