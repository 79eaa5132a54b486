/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The one header that a congestion-control algorithm includes. A whole one:
 *
 *	#include "tcp_cc.h"
 *
 *	CC_HOOK(u32, half_ssthresh, struct sock *sk)
 *	{
 *		return max(tcp_sk(sk)->snd_cwnd / 2, 2U);
 *	}
 *
 *	CC_HOOK(void, half_cong_avoid, struct sock *sk, u32 ack, u32 acked)
 *	{
 *		tcp_reno_cong_avoid(sk, ack, acked);
 *	}
 *
 *	CC_ALGORITHM(half, "halves at a loss",
 *		     .ssthresh = half_ssthresh,
 *		     .cong_avoid = half_cong_avoid);
 *
 * The same file is a BPF struct_ops program of the Linux kernel (clang -target
 * bpf) and, natively, an algorithm of the simulator. So it must do with what the
 * kernel lets it: unsigned division, bounded loops, no floating point, no
 * variables outside the socket. Structures and hooks are in tcp_cc_types.h.
 *
 * Parameters and presets are declared once, before the #include:
 *
 *	#define CC_PARAMS(P) \
 *		P(beta, 717, 1, 1023, 1024, "window multiplier at a loss")
 *	#define CC_PRESETS(P) \
 *		P("gentle", "beta=900", "gives up little")
 *
 * A parameter is (name, default, minimum, maximum, scale, what it is): a u32 that
 * stands for value/scale, so that a user writes beta=0.7 and the file sees 717.
 * cc_param(sk, beta) reads it. A preset is (name, settings, what it is), its
 * settings the u32 values themselves.
 *
 * Private state is one structure of at most 104 bytes, zeroed when a connection
 * begins. CC_PRIVATE(struct half) names it; inet_csk_ca(sk) then points to it.
 * A larger one, of at most 60000 bytes, CC_STORAGE(struct history) names;
 * cc_storage(sk) points to it, or is NULL where the kernel had no memory for it.
 */
#ifndef TCP_CC_H
#define TCP_CC_H

/* A hook has the kernel's arguments, whether it needs them all or not. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#ifndef CC_PARAMS
#define CC_PARAMS(P)
#endif
#ifndef CC_PRESETS
#define CC_PRESETS(P)
#endif

#ifdef __KERNEL__
#include "cc_kernel_headers.h"
#else
#include "tcp_cc_types.h"

#define USEC_PER_SEC 1000000U
#define USEC_PER_MSEC 1000U
#define MSEC_PER_SEC 1000U
#define U8_MAX ((u8)~0U)
#define U16_MAX ((u16)~0U)
#define U32_MAX (~0U)
#define U64_MAX (~0ULL)
#define S32_MAX ((s32)(U32_MAX >> 1))
#define S64_MAX ((s64)(U64_MAX >> 1))
#define TCP_INIT_CWND 10
#define ICSK_CA_PRIV_SIZE (ICSK_CA_PRIV_WORDS * sizeof(u64))
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define BIT(n) ((cc_ulong)1 << (n))

/* Plain division; both hosts divide 64 bits. do_div(n, base) leaves the quotient in n. */
#define div_u64(dividend, divisor) ((u64)(dividend) / (u32)(divisor))
#define div64_u64(dividend, divisor) ((u64)(dividend) / (u64)(divisor))
#define div64_ul(dividend, divisor) ((u64)(dividend) / (cc_ulong)(divisor))
#define do_div(n, base)                                       \
	({ u32 do_div_base = (base);                           \
	   u32 do_div_rest = (u64)(n) % do_div_base;           \
	   (n) = (u64)(n) / do_div_base; do_div_rest; })

static inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}
#endif

#define min(a, b) \
	({ __typeof__(a) min_a = (a); __typeof__(b) min_b = (b); min_a < min_b ? min_a : min_b; })
#define max(a, b) \
	({ __typeof__(a) max_a = (a); __typeof__(b) max_b = (b); max_a > max_b ? max_a : max_b; })
#define clamp(value, lo, hi) min(max(value, lo), hi)
#define min_t(type, a, b) min((type)(a), (type)(b))
#define max_t(type, a, b) max((type)(a), (type)(b))
#define min3(a, b, c) min(min(a, b), c)
#define max3(a, b, c) max(max(a, b), c)
#define clamp_t(type, value, lo, hi) min_t(type, max_t(type, value, lo), hi)
#define clamp_val(value, lo, hi) clamp_t(__typeof__(value), value, lo, hi)
#define min_not_zero(a, b)                                                            \
	({ __typeof__(a) not_zero_a = (a); __typeof__(b) not_zero_b = (b);             \
	   not_zero_a == 0 ? not_zero_b : not_zero_b == 0 ? not_zero_a                 \
						: min(not_zero_a, not_zero_b); })

#define CC_NAME_SIZE 16 /* TCP_CA_NAME_MAX */
#define CC_CHECK_NAME(algorithm)                         \
	_Static_assert(sizeof(#algorithm) <= CC_NAME_SIZE, \
		       "the name of " #algorithm " has more than 15 characters")

#define CC_PRIVATE(type)                                                             \
	_Static_assert(sizeof(type) <= ICSK_CA_PRIV_SIZE,                            \
		       #type " is larger than the 104 bytes of private state that a " \
		       "socket has (icsk_ca_priv): name what is larger with CC_STORAGE");  \
	typedef type cc_private;                                                     \
	CC_PRIVATE_LAYOUT(type)
#define inet_csk_ca(sk) ((cc_private *)inet_csk(sk)->icsk_ca_priv)

/* CC_STORAGE_MAKE is the host's. */
#define CC_STORAGE(type)                                                             \
	_Static_assert(sizeof(type) <= 60000, #type " is larger than 60000 bytes");  \
	typedef type cc_stored;                                                      \
	CC_STORAGE_MAKE(type)

/*
 * Each host defines, the first six being the kernel's own functions:
 *	u32 tcp_slow_start(tp, acked)	grows cwnd; returns the ACKed packets left over
 *	void tcp_cong_avoid_ai(tp, w, acked)	grows cwnd by a packet per w ACKed
 *	u32 tcp_reno_ssthresh(sk)
 *	void tcp_reno_cong_avoid(sk, ack, acked)
 *	u32 tcp_reno_undo_cwnd(sk)
 *	void __tcp_send_ack(sk, rcv_nxt)	at the receiver: sends an ACK with this number;
 *					the simulator sends one per event, the last
 *	void cc_become_reno(sk)		in init, which then returns: without the ECN that the
 *					algorithm needs the socket is Reno, in all things
 *	cc_param(sk, name)		a parameter
 *	u32 tcp_jiffies32(sk)		now, in ticks of 1/cc_hz(sk) s, wrapping
 *	u32 cc_hz(sk)			ticks per second (HZ)
 *	u32 cc_random(sk)		32 random bits
 *	u8 tcp_ca_state(sk)		enum tcp_ca_state
 *	bool tcp_in_slow_start(tp)
 *	bool tcp_is_cwnd_limited(sk)	did cwnd, rather than the application, limit us?
 *	CC_HOOK(type, name, args...)	begins a hook
 *	CC_ALGORITHM(name, summary, .hook = function, ...)
 *
 * ssthresh and cong_avoid (or cong_control) are required. Without undo_cwnd a
 * spurious reduction is undone as Reno does: the larger of cwnd and prior_cwnd.
 * Without min_tso_segs a burst has at least 2 packets; without sndbuf_expand a send
 * buffer that grows has room for 2 windows. min_cwnd is Linux 2.6's: how low a
 * reduction may take cwnd, packets; without it ssthresh, with tcp_reno_min_cwnd half
 * of it. A kernel module takes no other. cong_control has its flag from Linux's
 * tcp_input.c (FLAG_*). The table at the top of crates/sim/src/tcp/host.rs says who
 * serves each hook and each field in the simulator.
 *
 * .flags = TCP_CONG_NEEDS_ECN is for algorithms like DCTCP: the connection uses ECN
 * in any case, and the receiver runs the algorithm, too, and has CA_EVENT_ECN_*.
 * As in Linux, .flags without TCP_CONG_NON_RESTRICTED leaves the algorithm to root.
 */

/* Whole numbers only: 0.5 would be cut to 0 without a word. */
#define CC_IS_FLOAT(x) _Generic((x), float: 1, double: 1, long double: 1, default: 0)
#define CC_IS_U32(x) (!CC_IS_FLOAT(x) && (s64)(x) == (u32)(x))
#define CC_PARAM_CHECK(name, value, least, most, scale, doc)                                  \
	_Static_assert(CC_IS_U32(value) && CC_IS_U32(least) && CC_IS_U32(most) && CC_IS_U32(scale), \
		       "parameter " #name ": write default, minimum, maximum and scale as whole " \
		       "numbers from 0 to 2^32 - 1; 0.5 is 512 with a scale of 1024");
CC_PARAMS(CC_PARAM_CHECK)

/* Before tcp_reno_cong_avoid, which divides by cwnd: Linux falls over if it is 0. */
static inline void cc_cwnd_from_1(struct sock *sk)
{
	if (!tcp_sk(sk)->snd_cwnd)
		tcp_sk(sk)->snd_cwnd = 1;
}

#ifdef __KERNEL__
#include "host_module.h"
#elif defined(__bpf__)
#include "host_kernel.h"
#else
#include "host_native.h"
#endif

/* The kernel divides by w, and falls over if it is 0. Natively 0 counts as 1, so there, too. */
#if defined(__KERNEL__) || defined(__bpf__)
static __always_inline void cc_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked)
{
	tcp_cong_avoid_ai(tp, w ? w : 1, acked);
}
#define tcp_cong_avoid_ai cc_cong_avoid_ai
#endif

/* Ticks that cover so many microseconds: rounded up. */
static inline u32 cc_usecs_to_jiffies(const struct sock *sk, u32 usecs)
{
	return ((u64)usecs * cc_hz(sk) + USEC_PER_SEC - 1) / USEC_PER_SEC;
}

#ifndef __KERNEL__
/* What files of the Linux kernel write without a thought. */
#ifndef NULL
#define NULL ((void *)0)
#endif
#ifndef likely
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#ifndef __noinline
#define __noinline __attribute__((noinline))
#endif
#ifndef __maybe_unused
#define __maybe_unused __attribute__((unused))
#endif
#ifndef READ_ONCE
#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile __typeof__(x) *)&(x) = (value))
#endif
#define __read_mostly
#define __bpf_kfunc
#define BUILD_BUG_ON(condition) _Static_assert(!(condition), "BUILD_BUG_ON: " #condition)
#define static_assert(condition, ...) _Static_assert(condition, "" #condition)
#define WARN_ON_ONCE(condition) (!!(condition))

static inline u32 tcp_snd_cwnd(const struct tcp_sock *tp)
{
	return tp->snd_cwnd;
}

static inline void tcp_snd_cwnd_set(struct tcp_sock *tp, u32 val)
{
	tp->snd_cwnd = val;
}

/* Microseconds from t0 to t1, never negative. */
static inline u32 tcp_stamp_us_delta(u64 t1, u64 t0)
{
	return max_t(s64, t1 - t0, 0);
}

/* Least RTT of the last 5 minutes, us; ~0 before the first. */
static inline u32 tcp_min_rtt(const struct tcp_sock *tp)
{
	return tp->rtt_min.s[0].v;
}

static inline u32 tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/* Is sequence number or time a before (after) b, modulo 2^32? */
static inline bool before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

static inline bool after(u32 a, u32 b)
{
	return before(b, a);
}

/* Is low <= number <= high, modulo 2^32? */
static inline bool between(u32 number, u32 low, u32 high)
{
	return high - low >= number - low;
}

/* Position of the highest bit set, 1 to 64; 0 for 0: the number of bits at and below it. Spelled
 * out because on __builtin_clzll clang 14 for BPF exhausts the memory of the machine, and without
 * branches because the verifier would follow each. */
static inline u32 fls64(u64 x)
{
	for (u32 step = 1; step <= 32; step <<= 1)
		x |= x >> step;
	x -= x >> 1 & 0x5555555555555555;
	x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return x * 0x0101010101010101 >> 56;
}
#endif

#endif
