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

#define CC_NOT_IN_BPF
#include "cc_types.h"
#include "limits.h"
#include "tcp_cc.h"

/* tcp_cc_types.h has these in part only, or in another form. */
#define minmax cc_kernel_minmax
#define minmax_sample cc_kernel_minmax_sample
#define tcp_congestion_ops cc_kernel_ops
#undef inet_csk_ca
#define inet_csk_ca(sk) ((void *)inet_csk(sk)->icsk_ca_priv)
#define icsk_ca_ops icsk_inet.sk.sk_host.ops

/* The compiler and the linker. */
#define __init
#define __exit
#define __initdata
#define __initconst
#define __ro_after_init
#define __force
#define __user
#define __rcu
#define __pure __attribute__((pure))
#define __attribute_const__ __attribute__((const))
#define __packed __attribute__((packed))
#define __aligned(x) __attribute__((aligned(x)))
#define ____cacheline_aligned
#define ____cacheline_aligned_in_smp
#define __used __attribute__((used))
#define __unused __attribute__((unused))
#define __always_unused __attribute__((unused))
#define __must_check
#define __printf(a, b)
#define noinline __attribute__((noinline))
#define noinline_for_stack noinline
#define __inline inline
#define __cold
#define fallthrough __attribute__((fallthrough))
#define barrier() __asm__ volatile("" ::: "memory")
#define smp_mb() barrier()
#define smp_rmb() barrier()
#define smp_wmb() barrier()
#define prefetch(x) __builtin_prefetch(x)
#define prefetchw(x) __builtin_prefetch(x, 1)
#define container_of(pointer, type, member) \
	((type *)((char *)(pointer) - __builtin_offsetof(type, member)))
#define sizeof_field(type, member) sizeof(((type *)0)->member)
#define cmpxchg(pointer, old, new)                            \
	({ __typeof__(*(pointer)) cmpxchg_was = *(pointer);    \
	   if (cmpxchg_was == (old))                           \
		   *(pointer) = (new);                         \
	   cmpxchg_was; })
#define xchg(pointer, new) \
	({ __typeof__(*(pointer)) xchg_was = *(pointer); *(pointer) = (new); xchg_was; })
#define rcu_read_lock() ((void)0)
#define rcu_read_unlock() ((void)0)
#define IS_ENABLED(option) 0
#define IS_BUILTIN(option) 0
#define IS_MODULE(option) 0
#define IS_REACHABLE(option) 0
#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + (c))
#define LINUX_VERSION_CODE KERNEL_VERSION(6, 12, 0)
#define UTS_RELEASE "6.12.0"

enum { EPERM = 1, ENOENT = 2, EIO = 5, EAGAIN = 11, ENOMEM = 12, EBUSY = 16, EEXIST = 17,
       ENODEV = 19, EINVAL = 22, ERANGE = 34, ENOTSUPP = 524, EOPNOTSUPP = 95, ENOBUFS = 105 };

/* What it says to the kernel's log is not kept. */
#define KERN_EMERG
#define KERN_ALERT
#define KERN_CRIT
#define KERN_ERR
#define KERN_WARNING
#define KERN_NOTICE
#define KERN_INFO
#define KERN_DEBUG
__attribute__((format(printf, 1, 2))) static inline int cc_unsaid(const char *format, ...)
{
	(void)format;
	return 0;
}
#define printk(...) ({ if (0) cc_unsaid(__VA_ARGS__); 0; })
#define printk_once printk
#define printk_ratelimited printk
#define pr_emerg printk
#define pr_alert printk
#define pr_crit printk
#define pr_err printk
#define pr_warn printk
#define pr_notice printk
#define pr_info printk
#define pr_debug printk
#define pr_devel printk
#define pr_cont printk
#define pr_err_once printk
#define pr_warn_once printk
#define pr_info_once printk
#define pr_debug_once printk
#define pr_err_ratelimited printk
#define pr_warn_ratelimited printk
#define pr_info_ratelimited printk
#define pr_debug_ratelimited printk
#define net_dbg_ratelimited printk
#define net_info_ratelimited printk
#define net_warn_ratelimited printk
#define trace_printk printk
#define printk_ratelimit() 0
#define net_ratelimit() 0
#define dump_stack() ((void)0)
#define BUG() __builtin_trap()
#define BUG_ON(condition) ({ if (condition) __builtin_trap(); })
#define WARN_ON(condition) (!!(condition))
#define WARN(condition, ...) ({ printk(__VA_ARGS__); !!(condition); })
#define WARN_ONCE(condition, ...) WARN(condition, __VA_ARGS__)
#define BUILD_BUG_ON_MSG(condition, text) _Static_assert(!(condition), text)

/* Whole numbers. */
#define U32_C(x) x##U
#define U64_C(x) x##ULL
#define S8_MAX ((s8)(U8_MAX >> 1))
#define S16_MAX ((s16)(U16_MAX >> 1))
#define S32_MIN ((s32)(-S32_MAX - 1))
#define S64_MIN ((s64)(-S64_MAX - 1))
#define BITS_PER_BYTE 8
#define BITS_PER_LONG 64
#define BITS_PER_LONG_LONG 64
#define BITS_PER_TYPE(type) (sizeof(type) * 8)
#define PAGE_SIZE 4096UL
#define L1_CACHE_BYTES 64
#define BIT_ULL(n) (1ULL << (n))
#define BIT_MASK(n) (1UL << ((n) % 64))
#define GENMASK(high, low) ((~0UL << (low)) & (~0UL >> (63 - (high))))
#define GENMASK_ULL(high, low) ((~0ULL << (low)) & (~0ULL >> (63 - (high))))
/* An unsigned difference is taken as a signed one, as BBR wants it. */
#define abs(x)                                                                              \
	({ __typeof__(_Generic((x) + 0, unsigned int: 0, unsigned long: 0L,                 \
			       unsigned long long: 0LL, default: (x) + 0)) abs_x = (x);     \
	   abs_x < 0 ? -abs_x : abs_x; })
#define swap(a, b) \
	do { __typeof__(a) swap_a = (a); (a) = (b); (b) = swap_a; } while (0)
#define DIV_ROUND_CLOSEST(x, divisor)                                                   \
	({ __typeof__(x) closest_x = (x); __typeof__(divisor) closest_d = (divisor);    \
	   ((__typeof__(x))-1 > 0 || (__typeof__(divisor))-1 > 0 ||                     \
	    (closest_x > 0) == (closest_d > 0)) ?                                       \
		   (closest_x + closest_d / 2) / closest_d :                            \
		   (closest_x - closest_d / 2) / closest_d; })
#define DIV_ROUND_UP_ULL(n, d) (((u64)(n) + (d) - 1) / (d))
#define DIV_ROUND_DOWN_ULL(n, d) ((u64)(n) / (d))
#define DIV_ROUND_CLOSEST_ULL(x, d) (((u64)(x) + (d) / 2) / (d))
#define ALIGN(x, a) (((x) + (__typeof__(x))(a) - 1) & ~((__typeof__(x))(a) - 1))
#define roundup(x, y) (((x) + (y) - 1) / (y) * (y))
#define rounddown(x, y) ((x) / (y) * (y))
#define round_up(x, y) ALIGN(x, y)
#define round_down(x, y) ((x) & ~((__typeof__(x))(y) - 1))
#define div64_long(a, b) ((s64)(a) / (long)(b))
#define div_s64(a, b) ((s64)(a) / (s32)(b))
#define div64_s64(a, b) ((s64)(a) / (s64)(b))
#define mul_u32_u32(a, b) ((u64)(u32)(a) * (u32)(b))
#define mul_u64_u32_shr(a, b, shift) ((u64)(((unsigned __int128)(u64)(a) * (u32)(b)) >> (shift)))
#define mul_u64_u64_shr(a, b, shift) ((u64)(((unsigned __int128)(u64)(a) * (u64)(b)) >> (shift)))
#define mul_u64_u32_div(a, b, c) ((u64)((unsigned __int128)(u64)(a) * (u32)(b) / (u32)(c)))
#define mul_u64_u64_div_u64(a, b, c) ((u64)((unsigned __int128)(u64)(a) * (u64)(b) / (u64)(c)))
#define check_add_overflow(a, b, d) __builtin_add_overflow(a, b, d)
#define check_sub_overflow(a, b, d) __builtin_sub_overflow(a, b, d)
#define check_mul_overflow(a, b, d) __builtin_mul_overflow(a, b, d)
#define is_power_of_2(n) ({ unsigned long power_n = (n); power_n && !(power_n & (power_n - 1)); })
#define fls(x) ((int)fls64((u32)(x)))
#define fls_long(x) ((int)fls64(x))
#define __fls(x) ((unsigned long)fls64(x) - 1)
#define ffs(x) __builtin_ffs(x)
#define __ffs(x) ((unsigned long)__builtin_ctzl(x))
#define ffz(x) __ffs(~(x))
#define ilog2(x) ((int)fls64(x) - 1)
#define order_base_2(x) ({ u64 base_x = (x); base_x > 1 ? (int)fls64(base_x - 1) : 0; })
#define roundup_pow_of_two(x) (1UL << order_base_2(x))
#define rounddown_pow_of_two(x) (1UL << ilog2(x))
#define hweight8(x) ((unsigned int)__builtin_popcount((u8)(x)))
#define hweight32(x) ((unsigned int)__builtin_popcount((u32)(x)))
#define hweight64(x) ((unsigned long)__builtin_popcountll(x))

static inline u64 div_u64_rem(u64 dividend, u32 divisor, u32 *rest)
{
	*rest = dividend % divisor;
	return dividend / divisor;
}

static inline u64 div64_u64_rem(u64 dividend, u64 divisor, u64 *rest)
{
	*rest = dividend % divisor;
	return dividend / divisor;
}

/* The largest whole number whose square is at most x. */
static inline unsigned long int_sqrt(unsigned long x)
{
	unsigned long root = 0;

	for (int bit = ((int)fls64(x) - 1) / 2; x && bit >= 0; bit--) {
		unsigned long more = root | 1UL << bit;

		if (more * more <= x)
			root = more;
	}
	return root;
}
#define int_sqrt64(x) ((u32)int_sqrt(x))

/* Memory: the compiler's own. */
#define memset(to, value, size) __builtin_memset(to, value, size)
#define memcpy(to, from, size) __builtin_memcpy(to, from, size)
#define memmove(to, from, size) __builtin_memmove(to, from, size)
#define memcmp(a, b, size) __builtin_memcmp(a, b, size)

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
#define ZERO_OR_NULL_PTR(block) (!(block))

/* The socket whose hook this thread runs. module.c sets it before each hook. */
#define CC_HIDDEN __attribute__((visibility("hidden")))
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
/* The host's slot for it, beyond the thread's own address: no call finds it. */
extern CC_HIDDEN long cc_kernel_slot;

static inline struct sock *cc_kernel_socket(void)
{
	struct sock *sk;

#ifdef __x86_64__
	__asm__("mov %%fs:(%1), %0" : "=r"(sk) : "r"(cc_kernel_slot));
#else
	char *thread;

	__asm__("mrs %0, tpidr_el0" : "=r"(thread));
	sk = *(struct sock **)(thread + cc_kernel_slot);
#endif
	return sk;
}
#else
extern CC_HIDDEN __thread struct sock *cc_kernel_current;
#define cc_kernel_socket() cc_kernel_current
#endif

CC_HIDDEN void *cc_kernel_alloc(size_t size);
CC_HIDDEN void *cc_kernel_calloc(size_t n, size_t size);
CC_HIDDEN void cc_kernel_free(const void *block);

/* Time: the scenario's. CC_HZ is a constant of the compile. */
#define HZ CC_HZ
#define CONFIG_HZ CC_HZ
#define USER_HZ 100
#define TCP_TS_HZ 1000
#define NSEC_PER_USEC 1000L
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_SEC 1000000000L
#define TICK_NSEC (NSEC_PER_SEC / HZ)
#define jiffies ((unsigned long)cc_kernel_socket()->sk_host.jiffies)
#define jiffies_64 ((u64)jiffies)
#define get_jiffies_64() jiffies_64
#define tcp_jiffies32 ((u32)jiffies)
#define CC_AFTER(type, a, b) ((type)((b) - (a)) < 0)
#define time_after(a, b) CC_AFTER(long, (unsigned long)(a), (unsigned long)(b))
#define time_before(a, b) time_after(b, a)
#define time_after_eq(a, b) (!time_after(b, a))
#define time_before_eq(a, b) time_after_eq(b, a)
#define time_in_range(a, b, c) (time_after_eq(a, b) && time_before_eq(a, c))
#define time_after32(a, b) CC_AFTER(s32, (u32)(a), (u32)(b))
#define time_before32(a, b) time_after32(b, a)
#define time_between32(t, l, h) ((u32)(h) - (u32)(l) >= (u32)(t) - (u32)(l))
#define time_after64(a, b) CC_AFTER(s64, (u64)(a), (u64)(b))
#define time_before64(a, b) time_after64(b, a)
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
#define tcp_clock_ns() (tcp_sk(cc_kernel_socket())->tcp_clock_cache)
#define tcp_clock_us() (tcp_sk(cc_kernel_socket())->tcp_mstamp)
#define tcp_clock_ms() div_u64(tcp_clock_us(), USEC_PER_MSEC)
#define tcp_time_stamp_ms(tp) ((u32)div_u64((tp)->tcp_mstamp, USEC_PER_MSEC))
#define tcp_time_stamp_ts(tp) tcp_time_stamp_ms(tp)
#define tcp_stamp32_us_delta(t1, t0) ((u32)max_t(s32, (u32)(t1) - (u32)(t0), 0))
#define ktime_get_ns() tcp_clock_ns()
#define ktime_get_real_ns() tcp_clock_ns()
#define ktime_get_boottime_ns() tcp_clock_ns()
#define ktime_get() ((ktime_t)tcp_clock_ns())
#define ktime_get_real() ktime_get()
#define ktime_to_ns(t) ((s64)(t))
#define ktime_to_us(t) ((s64)(t) / NSEC_PER_USEC)
#define ktime_to_ms(t) ((s64)(t) / NSEC_PER_MSEC)
#define ktime_sub(a, b) ((a) - (b))
#define ktime_add(a, b) ((a) + (b))
#define ktime_us_delta(a, b) ktime_to_us((a) - (b))
#define local_clock() tcp_clock_ns()

/* Random numbers: the flow's, which its seed gives. */
#define get_random_u32() cc_random(cc_kernel_socket())
#define get_random_u16() ((u16)get_random_u32())
#define get_random_u8() ((u8)get_random_u32())
#define get_random_u64() ((u64)get_random_u32() << 32 | get_random_u32())
#define get_random_int() get_random_u32()
#define get_random_long() get_random_u64()
#define get_random_u32_below(n) ((u32)(((u64)get_random_u32() * (u32)(n)) >> 32))
#define get_random_u32_above(n) ((n) + 1 + get_random_u32_below(U32_MAX - (n)))
#define get_random_u32_inclusive(low, high) ((low) + get_random_u32_below((high) - (low) + 1))
#define prandom_u32() get_random_u32()
#define prandom_u32_max(n) get_random_u32_below(n)
#define get_random_bytes(to, size) cc_kernel_random_bytes(to, size)
#define prandom_bytes get_random_bytes
static inline void cc_kernel_random_bytes(void *to, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((u8 *)to)[i] = get_random_u32() >> 24;
}

#include "kernel_tcp.h"
#include "kernel_module.h"

#endif
