/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What a congestion control of the Linux kernel finds behind <linux/...> and <net/...>: a file in
 * the kernel's form runs as it was published. The names and their meaning are the kernel's
 * (6.12); the code is ours, on the socket of tcp_cc_types.h.
 *
 * The host compiles the file once for each HZ (CC_HZ), sets its module parameters, calls
 * module_init, and then lets nothing write its variables: flows share them. module.c is the other
 * side of this header.
 */
#ifndef KERNEL_DIALECT_H
#define KERNEL_DIALECT_H

#ifndef __bpf__
#define CC_NOT_IN_BPF
#endif
#include "kernel_names.h"

/* tcp_cc_types.h has these in another form. */
#define tcp_congestion_ops cc_kernel_ops
#undef inet_csk_ca
#undef ICSK_CA_PRIV_SIZE
/* CC_CA_PRIV: bytes of it, which a user may raise. A larger one is in memory of its own. */
#define ICSK_CA_PRIV_SIZE ((size_t)CC_CA_PRIV)
#define CC_HAS_LARGE_PRIV (CC_CA_PRIV > 8 * ICSK_CA_PRIV_WORDS)
#define inet_csk_ca(sk)                                                 \
	(CC_HAS_LARGE_PRIV ? *(void **)inet_csk(sk)->icsk_ca_priv       \
			   : (void *)inet_csk(sk)->icsk_ca_priv)

#define GFP_KERNEL 0u
#define GFP_ATOMIC 0u
#define GFP_NOWAIT 0u
#define __GFP_NOWARN 0u
#define __GFP_ZERO 0u
#define __GFP_NORETRY 0u
#define kmalloc(size, flags) ((void)(flags), cc_kernel_alloc(size))
#define kzalloc(size, flags) ((void)(flags), cc_kernel_alloc(size))
#define kvmalloc kmalloc
#define kvzalloc kzalloc
#define kcalloc(n, size, flags) ((void)(flags), cc_kernel_calloc(n, size))
#define kmalloc_array kcalloc
#define kvcalloc kcalloc
#define kfree(block) cc_kernel_free(block)
#define kvfree kfree
#define kfree_sensitive kfree
#define vmalloc(size) cc_kernel_alloc(size)
#define vzalloc vmalloc
#define vfree kfree
#define ZERO_OR_NULL_PTR(block) (!(block))

#ifdef __bpf__
#include "kernel_bpf.h"
#else
#define icsk_ca_ops icsk_inet.sk.sk_host.ops

/* The host writes cc_kernel_socket() before this text: the socket whose hook this thread runs. */
#define CC_HIDDEN __attribute__((visibility("hidden")))

CC_HIDDEN void *cc_kernel_alloc(size_t size);
CC_HIDDEN void *cc_kernel_calloc(size_t n, size_t size);
CC_HIDDEN void cc_kernel_free(const void *block);

#define jiffies ((unsigned long)cc_kernel_socket()->sk_host.jiffies)
#define tcp_clock_ns() (tcp_sk(cc_kernel_socket())->tcp_clock_cache)
#define tcp_clock_us() (tcp_sk(cc_kernel_socket())->tcp_mstamp)
#endif

/* Time: the scenario's. CC_HZ is a constant of the compile. */
#define HZ CC_HZ
#define CONFIG_HZ CC_HZ
#define TICK_NSEC (NSEC_PER_SEC / HZ)
#define jiffies_64 ((u64)jiffies)
#define get_jiffies_64() jiffies_64
#undef tcp_jiffies32
#define tcp_jiffies32 ((u32)jiffies)
#define time_is_before_jiffies(a) time_after(jiffies, a)
#define time_is_after_jiffies(a) time_before(jiffies, a)
#define MAX_JIFFY_OFFSET ((long)(~0UL >> 2))

static inline unsigned long cc_kernel_ticks(u64 n, u64 per_second)
{
	return (n * CC_HZ + per_second - 1) / per_second;
}
#define usecs_to_jiffies(us) cc_kernel_ticks((u32)(us), USEC_PER_SEC)
#define msecs_to_jiffies(ms) cc_kernel_ticks((u32)(ms), MSEC_PER_SEC)
#define secs_to_jiffies(s) ((unsigned long)(s) * HZ)
#define nsecs_to_jiffies(ns) ((unsigned long)((u64)(ns) / TICK_NSEC))
#define jiffies_to_msecs(j) ((unsigned int)(((u64)(j) * MSEC_PER_SEC + HZ - 1) / HZ))
#define jiffies_to_usecs(j) ((unsigned int)((u64)(j) * USEC_PER_SEC / HZ))
#define jiffies_to_nsecs(j) ((u64)jiffies_to_usecs(j) * NSEC_PER_USEC)
#define tcp_clock_ms() div_u64(tcp_clock_us(), USEC_PER_MSEC)
#define ktime_get_ns() tcp_clock_ns()
#define ktime_get_real_ns() tcp_clock_ns()
#define ktime_get_boottime_ns() tcp_clock_ns()
#define ktime_get() ((ktime_t)tcp_clock_ns())
#define ktime_get_real() ktime_get()
#define local_clock() tcp_clock_ns()

/* Random numbers: the flow's, which its seed gives. */
#define get_random_u32() cc_random(cc_kernel_socket())
#define get_random_u16() ((u16)get_random_u32())
#define get_random_u8() ((u8)get_random_u32())
#define get_random_u64() ((u64)get_random_u32() << 32 | get_random_u32())
#define get_random_int() get_random_u32()
#define get_random_long() get_random_u64()
#define get_random_u32_below(n) cc_random_below(cc_kernel_socket(), n)
#define get_random_u32_above(n) ((n) + 1 + get_random_u32_below(U32_MAX - (n)))
#define get_random_u32_inclusive(low, high) ((low) + get_random_u32_below((high) - (low) + 1))
#define prandom_u32() get_random_u32()
#define prandom_u32_max(n) get_random_u32_below(n)
#define get_random_bytes(to, size) cc_random_bytes(cc_kernel_socket(), to, size)
#define prandom_bytes get_random_bytes

#include "kernel_tcp.h"
#include "kernel_others.h"
#include "kernel_module.h"

#endif
