/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The kernel's names beyond tcp_cc.h that need no variable outside the socket. Files that `ackclock
 * import` has written include it, and kernel_dialect.h. The names and their meaning are the kernel's
 * (6.12); the code is ours. In a module they are the kernel's own.
 */
#ifndef KERNEL_NAMES_H
#define KERNEL_NAMES_H

#include "tcp_cc.h"

#ifdef __KERNEL__
#include <linux/inet_diag.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/win_minmax.h>
#else
#include "cc_types.h"
#include "limits.h"

/* tcp_cc_types.h has these in part only. */
#define minmax cc_kernel_minmax
#define minmax_sample cc_kernel_minmax_sample

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

/* <linux/errno.h>. */
enum { EPERM = 1, ENOENT = 2, ESRCH = 3, EINTR = 4, EIO = 5, ENXIO = 6, E2BIG = 7, ENOEXEC = 8,
	EBADF = 9, ECHILD = 10, EAGAIN = 11, ENOMEM = 12, EACCES = 13, EFAULT = 14, ENOTBLK = 15,
	EBUSY = 16, EEXIST = 17, EXDEV = 18, ENODEV = 19, ENOTDIR = 20, EISDIR = 21, EINVAL = 22,
	ENFILE = 23, EMFILE = 24, ENOTTY = 25, ETXTBSY = 26, EFBIG = 27, ENOSPC = 28, ESPIPE = 29,
	EROFS = 30, EMLINK = 31, EPIPE = 32, EDOM = 33, ERANGE = 34, EDEADLK = 35, ENAMETOOLONG = 36,
	ENOLCK = 37, ENOSYS = 38, ENOTEMPTY = 39, ELOOP = 40, ENOMSG = 42, EIDRM = 43, ECHRNG = 44,
	EL2NSYNC = 45, EL3HLT = 46, EL3RST = 47, ELNRNG = 48, EUNATCH = 49, ENOCSI = 50, EL2HLT = 51,
	EBADE = 52, EBADR = 53, EXFULL = 54, ENOANO = 55, EBADRQC = 56, EBADSLT = 57, EBFONT = 59,
	ENOSTR = 60, ENODATA = 61, ETIME = 62, ENOSR = 63, ENONET = 64, ENOPKG = 65, EREMOTE = 66,
	ENOLINK = 67, EADV = 68, ESRMNT = 69, ECOMM = 70, EPROTO = 71, EMULTIHOP = 72, EDOTDOT = 73,
	EBADMSG = 74, EOVERFLOW = 75, ENOTUNIQ = 76, EBADFD = 77, EREMCHG = 78, ELIBACC = 79,
	ELIBBAD = 80, ELIBSCN = 81, ELIBMAX = 82, ELIBEXEC = 83, EILSEQ = 84, ERESTART = 85,
	ESTRPIPE = 86, EUSERS = 87, ENOTSOCK = 88, EDESTADDRREQ = 89, EMSGSIZE = 90, EPROTOTYPE = 91,
	ENOPROTOOPT = 92, EPROTONOSUPPORT = 93, ESOCKTNOSUPPORT = 94, EOPNOTSUPP = 95, EPFNOSUPPORT = 96,
	EAFNOSUPPORT = 97, EADDRINUSE = 98, EADDRNOTAVAIL = 99, ENETDOWN = 100, ENETUNREACH = 101,
	ENETRESET = 102, ECONNABORTED = 103, ECONNRESET = 104, ENOBUFS = 105, EISCONN = 106,
	ENOTCONN = 107, ESHUTDOWN = 108, ETOOMANYREFS = 109, ETIMEDOUT = 110, ECONNREFUSED = 111,
	EHOSTDOWN = 112, EHOSTUNREACH = 113, EALREADY = 114, EINPROGRESS = 115, ESTALE = 116,
	EUCLEAN = 117, ENOTNAM = 118, ENAVAIL = 119, EISNAM = 120, EREMOTEIO = 121, EDQUOT = 122,
	ENOMEDIUM = 123, EMEDIUMTYPE = 124, ECANCELED = 125, ENOKEY = 126, EKEYEXPIRED = 127,
	EKEYREVOKED = 128, EKEYREJECTED = 129, EOWNERDEAD = 130, ENOTRECOVERABLE = 131, ERFKILL = 132,
	ENOTSUPP = 524 };
enum { EWOULDBLOCK = EAGAIN, EDEADLOCK = EDEADLK };

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
#define div64_long(a, b) cc_div_signed(a, (long)(b))
#define div_s64(a, b) cc_div_signed(a, (s32)(b))
#define div64_s64(a, b) cc_div_signed(a, b)
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

/* a / b, for BPF divides unsigned numbers only. */
static inline s64 cc_div_signed(s64 a, s64 b)
{
	u64 quotient = (a < 0 ? -(u64)a : (u64)a) / (b < 0 ? -(u64)b : (u64)b);

	return (a < 0) == (b < 0) ? quotient : -quotient;
}

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

/* Time. */
#define USER_HZ 100
#define TCP_TS_HZ 1000
#define NSEC_PER_USEC 1000L
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_SEC 1000000000L
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
#define tcp_time_stamp_ms(tp) ((u32)div_u64((tp)->tcp_mstamp, USEC_PER_MSEC))
#define tcp_time_stamp_ts(tp) tcp_time_stamp_ms(tp)
#define tcp_stamp32_us_delta(t1, t0) ((u32)max_t(s32, (u32)(t1) - (u32)(t0), 0))
#define ktime_to_ns(t) ((s64)(t))
#define ktime_to_us(t) ((s64)(t) / NSEC_PER_USEC)
#define ktime_to_ms(t) ((s64)(t) / NSEC_PER_MSEC)
#define ktime_sub(a, b) ((a) - (b))
#define ktime_add(a, b) ((a) + (b))
#define ktime_us_delta(a, b) ktime_to_us((a) - (b))

/* Of <net/tcp.h> and <linux/win_minmax.h>. */
#define TCP_CA_NAME_MAX 16
#define TCP_INIT_CWND 10
#define MAX_TCP_HEADER 320
#define MAX_TCP_WINDOW 32767U
#define MAX_TCP_OPTION_SPACE 40
#define TCP_MIN_MSS 88U
#define TCP_MSS_DEFAULT 536U
#define GSO_LEGACY_MAX_SIZE 65536u
#define GSO_MAX_SIZE GSO_LEGACY_MAX_SIZE

enum { TCPF_CA_Open = 1 << TCP_CA_Open, TCPF_CA_Disorder = 1 << TCP_CA_Disorder,
       TCPF_CA_CWR = 1 << TCP_CA_CWR, TCPF_CA_Recovery = 1 << TCP_CA_Recovery,
       TCPF_CA_Loss = 1 << TCP_CA_Loss };
enum { TCP_ESTABLISHED = 1, TCP_CLOSE = 7, TCP_LISTEN = 10 };

/* Counters of the kernel that nobody reads here. */
#define NET_INC_STATS(net, field) ((void)0)
#define NET_ADD_STATS(net, field, n) ((void)0)
#define __NET_INC_STATS NET_INC_STATS
#define __NET_ADD_STATS NET_ADD_STATS
#define TCP_INC_STATS(net, field) ((void)0)

#define tcp_mss_to_mtu(sk, mss) ((int)(mss) + 20 + 20 + 12)
#define tcp_left_out(tp) ((tp)->sacked_out + (tp)->lost_out)
#define tcp_current_ssthresh(sk) cc_kernel_current_ssthresh(sk)
#define tcp_max_tso_deferred_mss(tp) 3U
#define inet_sk(sk) ((struct inet_sock *)(sk))
#define sk_pacing_shift_update(sk, shift) ((void)(sk), (void)(shift))
#define bytes_to_packets(bytes, mss) DIV_ROUND_UP(bytes, mss)

/* No BPF program answers at a socket. */
enum { BPF_SOCK_OPS_BASE_RTT = 7 };
#define tcp_call_bpf(sk, op, nargs, args) ((void)(sk), -1)
#define tcp_call_bpf_2arg(sk, op, a, b) ((void)(sk), -1)

/* Linux's default: it does not change a flow's label (tcp_plb_enabled = 0). */
struct tcp_plb_state {
	u8 consec_cong_rounds : 5, unused : 3;
	u32 pause_until;
};
#define TCP_PLB_SCALE 8
#define tcp_plb_init(sk, plb) ((void)((plb)->consec_cong_rounds = 0, (plb)->pause_until = 0))
#define tcp_plb_update_state(sk, plb, ratio) ((void)(ratio))
#define tcp_plb_check_rehash(sk, plb) ((void)0)
#define tcp_plb_update_state_upon_rto(sk, plb) ((void)0)

/* The largest (smallest) value of a window: lib/win_minmax.c, by its rules. */
struct minmax_sample {
	u32 t;	/* when it was seen */
	u32 v;	/* the value */
};

struct minmax {
	struct minmax_sample s[3];	/* the best, the second and the third; each is younger */
};

#define minmax_get(m) ((m)->s[0].v)

static inline u32 minmax_reset(struct minmax *m, u32 t, u32 meas)
{
	m->s[0] = m->s[1] = m->s[2] = (struct minmax_sample){ t, meas };
	return meas;
}

static inline u32 cc_kernel_minmax_add(struct minmax *m, u32 win, struct minmax_sample new)
{
	u32 age = new.t - m->s[0].t;

	if (age > win) {
		/* The best is too old, and perhaps the second, too. */
		for (int i = 0; i < 2 && new.t - m->s[0].t > win; i++) {
			m->s[0] = m->s[1];
			m->s[1] = m->s[2];
			m->s[2] = new;
		}
	} else if (m->s[1].t == m->s[0].t && age > win / 4) {
		m->s[1] = m->s[2] = new;
	} else if (m->s[2].t == m->s[1].t && age > win / 2) {
		m->s[2] = new;
	}
	return m->s[0].v;
}

#define CC_KERNEL_RUNNING(name, is_as_good)                                            \
	static inline u32 name(struct minmax *m, u32 win, u32 t, u32 meas)             \
	{                                                                              \
		struct minmax_sample new = { t, meas };                                \
                                                                                       \
		if (meas is_as_good m->s[0].v || t - m->s[2].t > win)                  \
			return minmax_reset(m, t, meas);                               \
		if (meas is_as_good m->s[1].v)                                         \
			m->s[1] = m->s[2] = new;                                       \
		else if (meas is_as_good m->s[2].v)                                    \
			m->s[2] = new;                                                 \
		return cc_kernel_minmax_add(m, win, new);                              \
	}
CC_KERNEL_RUNNING(minmax_running_max, >=)
CC_KERNEL_RUNNING(minmax_running_min, <=)

static inline u32 cc_kernel_current_ssthresh(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u8 state = tcp_ca_state(sk);

	if (state == TCP_CA_CWR || state == TCP_CA_Recovery)
		return tp->snd_ssthresh;
	return max(tp->snd_ssthresh, (tp->snd_cwnd >> 1) + (tp->snd_cwnd >> 2));
}

#endif

/* For a table of constants: one of 4, 8, 16 or 32 bytes clang puts where libbpf does not look. */
#ifdef __bpf__
#define CC_TABLE __attribute__((used))
#else
#define CC_TABLE
#endif

/* What the kernel itself has without the socket. */
#define cc_clock_ns(sk) (tcp_sk(sk)->tcp_clock_cache)
#define cc_clock_us(sk) (tcp_sk(sk)->tcp_mstamp)
#ifdef __KERNEL__
#define cc_jiffies(sk) ((void)(sk), jiffies)
#elif defined(__bpf__)
#define cc_jiffies(sk) ((void)(sk), (unsigned long)bpf_jiffies64())
#else
#define cc_jiffies(sk) ((unsigned long)tcp_jiffies32(sk))
#endif

static inline unsigned long cc_msecs_to_jiffies(const struct sock *sk, u32 msecs)
{
	return ((u64)msecs * cc_hz(sk) + MSEC_PER_SEC - 1) / MSEC_PER_SEC;
}

static inline u32 cc_jiffies_to_msecs(const struct sock *sk, u64 ticks)
{
	return (ticks * MSEC_PER_SEC + cc_hz(sk) - 1) / cc_hz(sk);
}

static inline u32 cc_jiffies_to_usecs(const struct sock *sk, u64 ticks)
{
	return ticks * USEC_PER_SEC / cc_hz(sk);
}

/* A random number below n. */
static inline u32 cc_random_below(struct sock *sk, u32 n)
{
	return ((u64)cc_random(sk) * n) >> 32;
}

static inline void cc_random_bytes(struct sock *sk, void *to, size_t size)
{
	for (u32 i = 0; i < size; i++)
		((u8 *)to)[i] = cc_random(sk) >> 24;
}

/* snd_cwnd_clamp = packets, in init. */
static inline void cc_set_cwnd_clamp(struct sock *sk, u32 packets)
{
#ifdef __bpf__
	u32 ssthresh = tcp_sk(sk)->snd_ssthresh;

	/* TCP_BPF_SNDCWND_CLAMP, which sets ssthresh, too. */
	bpf_setsockopt(sk, CC_SOL_TCP, 1002, &packets, sizeof(packets));
	tcp_sk(sk)->snd_ssthresh = ssthresh;
#else
	*(u32 *)&tcp_sk(sk)->snd_cwnd_clamp = packets;
#endif
}

#endif
