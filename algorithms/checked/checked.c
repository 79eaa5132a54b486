/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Linked to a user's file that is not trusted. The compiler makes each of its loads and stores call
 * __asan_load4_noabort and its like (-fsanitize=kernel-address, without shadow memory); here is what
 * they allow. A load: the socket of this call, its parameters, the sample, the stack below the call,
 * the file's own constants and what kzalloc gave. A store: what the contract lets an algorithm write,
 * the stack and what kzalloc gave. As WebAssembly the file has a memory of its own, which wasm.c fills.
 */
#include "cc_call.h"

typedef __SIZE_TYPE__ size_t;

static long cc_slot CC_OURS = 1;
static u64 cc_params_size CC_OURS = 1;
static struct tcp_congestion_ops cc_theirs CC_OURS = { .flags = 1 };

#define COLD __attribute__((cold, noinline))

#ifdef __wasm__
struct cc_call cc_current_hook;
/* The linker's: where the file's constants begin, and where all that it was linked with ends. */
extern CC_HIDDEN const char __global_base[], __data_end[];

#define CALL() (&cc_current_hook)
#define FILE_START __global_base
#define FILE_END __data_end
/* The frame of who called is above. */
#define stack_pointer ((size_t)__builtin_frame_address(0))
#define OF_CALLER stack_pointer
/* A frame ends where the one begins that called. */
#define STACK_END __builtin_frame_address(0)
#else
/* The linker's: the file in memory, from its header to its end. */
extern CC_HIDDEN const char __ehdr_start[], _end[];
extern CC_HIDDEN __attribute__((weak)) const char __start_cc_ours[], __stop_cc_ours[];

#define CALL() CC_CALL(cc_slot)
#define FILE_START __ehdr_start
#define FILE_END _end
/* The stack pointer here: the frame of who called is above. */
#ifdef __x86_64__
register u64 stack_pointer __asm__("rsp");
#else
register u64 stack_pointer __asm__("sp");
#endif
/* Where the frame of who called begins: what writes it must not write where it returns to itself. */
#define OF_CALLER ((u64)__builtin_frame_address(0) + 2 * sizeof(void *))
/* Where the caller keeps what it needs when the hook returns. */
#define STACK_END ((const char *)__builtin_frame_address(0) + sizeof(void *))
#endif

/* Bytes of a socket that an algorithm may write. */
#define SOCK(member) __builtin_offsetof(struct tcp_sock, inet_conn.icsk_inet.sk.member)
#define CSK(member) __builtin_offsetof(struct tcp_sock, inet_conn.member)
#define TP(member) __builtin_offsetof(struct tcp_sock, member)
#define SIZE(type, member) sizeof(((struct type *)0)->member)
#define BYTES(from, size) [(from) ... (from) + (size) - 1] = 1
#define OF_SOCK(member) BYTES(SOCK(member), SIZE(sock, member))
#define OF_CSK(member) BYTES(CSK(member), SIZE(inet_connection_sock, member))
#define OF_TP(member) BYTES(TP(member), SIZE(tcp_sock, member))
static const u8 cc_may_write[sizeof(struct tcp_sock)] = {
	OF_SOCK(sk_host.random), OF_SOCK(sk_host.is_reno),
	OF_SOCK(sk_host.acks), OF_SOCK(sk_host.ack_ecn_flags), OF_SOCK(sk_host.ack_rcv_nxt),
	OF_SOCK(sk_host.enters_cwr), OF_SOCK(sk_pacing_rate), OF_SOCK(sk_pacing_status),
	OF_SOCK(sk_prot),
	OF_CSK(icsk_ack.pending), OF_CSK(icsk_ca_priv), OF_TP(snd_cwnd), OF_TP(snd_cwnd_cnt),
	OF_TP(snd_cwnd_stamp), OF_TP(snd_ssthresh), OF_TP(snd_cwnd_clamp), OF_TP(app_limited),
	OF_TP(ecn_flags), OF_TP(fast_ack_mode),
};

/* The names of the others. */
#define NAMED(from, size, name) { from, size, name }
#define N_SOCK(member) NAMED(SOCK(member), SIZE(sock, member), #member)
#define N_CSK(member) NAMED(CSK(member), SIZE(inet_connection_sock, member), #member)
#define N_TP(member) NAMED(TP(member), SIZE(tcp_sock, member), #member)
static const struct {
	u16 from, size;
	const char *name;
} cc_read_only[] = {
	N_SOCK(sk_gso_max_size), N_SOCK(sk_max_pacing_rate), N_SOCK(sk_pacing_shift), N_SOCK(sk_family),
	N_CSK(icsk_rto), N_CSK(icsk_ca_state), N_TP(tcp_mstamp), N_TP(delivered_mstamp),
	N_TP(tcp_clock_cache), N_TP(tcp_wstamp_ns), N_TP(bytes_acked), N_TP(snd_una), N_TP(snd_nxt),
	N_TP(snd_cwnd_used), N_TP(prior_cwnd), N_TP(prior_ssthresh), N_TP(packets_out),
	N_TP(retrans_out), N_TP(sacked_out), N_TP(lost_out), N_TP(max_packets_out),
	N_TP(delivered), N_TP(lost), N_TP(total_retrans), N_TP(srtt_us), N_TP(mdev_us),
	N_TP(rtt_min), N_TP(lsndtime), N_TP(mss_cache), N_TP(delivered_ce), N_TP(rcv_nxt),
	N_TP(is_cwnd_limited), N_TP(rx_opt), N_TP(bytes_sent),
	N_TP(data_segs_out), N_TP(write_seq), N_TP(snd_wnd), N_TP(tlp_orig_data_app_limited),
};

static __attribute__((always_inline)) inline bool inside(u64 at, u64 size, u64 start, u64 length)
{
	u64 off = at - start;

	return size <= length && off <= length - size;
}

/* A block of kzalloc (kernel/module.c). */
struct block {
	struct block *next;
	u64 size;
	char data[];
};

static bool in_a_block(const struct cc_call *call, u64 at, u64 size)
{
	for (const struct block *block = call->sk->sk_host.blocks; block; block = block->next)
		if (inside(at, size, (u64)block->data, block->size))
			return true;
	return false;
}

/* The handler of crash.rs reads what this leaves. */
static COLD void breach(struct cc_call *call, const char *pc, const char *of, const char *what)
{
	call->breach_of = of;
	call->breach = what;
	call->breach_at = pc;
	__builtin_trap();
}

static COLD void load_elsewhere(struct cc_call *call, u64 at, u64 size, const char *pc)
{
	if (in_a_block(call, at, size))
		return;
	if (at < 4096)
		breach(call, pc, "", "reads through a null pointer");
	breach(call, pc, "", "reads memory that is not its own (a bad pointer or index)");
}

static COLD void store_elsewhere(struct cc_call *call, u64 at, u64 size, const char *pc)
{
	u64 off = at - (u64)call->sk;

#ifndef __wasm__
	/* A variable of the file: module_init may write it, and later the page is read only. */
	if (inside(at, size, (u64)FILE_START, FILE_END - FILE_START) &&
	    !(at + size > (u64)__start_cc_ours && at < (u64)__stop_cc_ours))
		return;
#endif
	if (in_a_block(call, at, size))
		return;
	/* In the kernel's form it is icsk_ca_ops, and there are no hooks of ours; else the parameters. */
	if (!cc_theirs.ssthresh && inside(off, size, SOCK(sk_host.params), SIZE(sock, sk_host.params))) {
		call->switched_at = pc;
		if (call->may_switch)
			return;
		breach(call, pc, "icsk_ca_ops", " of its socket, which only init may write");
	}
	if (inside(at, size, (u64)call->sample, call->sample_size))
		breach(call, pc, "", "writes to its sample, which is const");
	if (inside(off, 1, CSK(icsk_guard), sizeof(u64)) ||
	    inside(off, 1, CSK(icsk_ca_priv), SIZE(inet_connection_sock, icsk_ca_priv)))
		breach(call, pc, "",
		       "writes beyond the 104 bytes of its private state (a bad index or pointer)");
	if (off < sizeof(struct tcp_sock)) {
		for (u64 i = 0; i < ARRAY_SIZE(cc_read_only); i++)
			if (off - cc_read_only[i].from < cc_read_only[i].size)
				breach(call, pc, cc_read_only[i].name,
				       " of its socket, which only the host may write");
		breach(call, pc, "", "writes to its socket where only the host may");
	}
	if (at < 4096)
		breach(call, pc, "", "writes through a null pointer");
	breach(call, pc, "", "writes to memory that is not its own (a bad pointer or index)");
}

/* `stack`: what of it is used. */
static __attribute__((always_inline)) inline void load(u64 at, u64 size, u64 stack, const char *pc)
{
	struct cc_call *call = CALL();

	if (inside(at, size, (u64)call->sk, sizeof(struct tcp_sock)) ||
	    inside(at, size, (u64)call->params, cc_params_size) ||
	    inside(at, size, stack, (u64)call->stack_end - stack) ||
	    inside(at, size, (u64)call->sample, call->sample_size) ||
	    inside(at, size, (u64)FILE_START, FILE_END - FILE_START))
		return;
	load_elsewhere(call, at, size, pc);
}

static __attribute__((always_inline)) inline void store(u64 at, u64 size, u64 stack, const char *pc)
{
	struct cc_call *call = CALL();
	u64 off = at - (u64)call->sk;

	if (inside(at, size, (u64)call->priv, SIZE(inet_connection_sock, icsk_ca_priv)) ||
	    inside(at, size, stack, (u64)call->stack_end - stack))
		return;
	if (inside(off, size, 0, sizeof(struct tcp_sock))) {
		u64 byte = 0;

		while (byte < size && cc_may_write[off + byte])
			byte++;
		if (byte == size)
			return;
	}
	store_elsewhere(call, at, size, pc);
}

#define CHECKS(size)                                    \
	CC_HIDDEN void __asan_load##size##_noabort(size_t at);  \
	void __asan_load##size##_noabort(size_t at)             \
	{                                               \
		load(at, size, stack_pointer, CC_PC);                     \
	}                                               \
	CC_HIDDEN void __asan_store##size##_noabort(size_t at); \
	void __asan_store##size##_noabort(size_t at)            \
	{                                               \
		store(at, size, stack_pointer, CC_PC);                    \
	}
CHECKS(1)
CHECKS(2)
CHECKS(4)
CHECKS(8)
CHECKS(16)

CC_HIDDEN void __asan_loadN_noabort(size_t at, size_t size);
void __asan_loadN_noabort(size_t at, size_t size)
{
	if (size)
		load(at, size, stack_pointer, CC_PC);
}

CC_HIDDEN void __asan_storeN_noabort(size_t at, size_t size);
void __asan_storeN_noabort(size_t at, size_t size)
{
	if (size)
		store(at, size, stack_pointer, CC_PC);
}

CC_HIDDEN void __asan_handle_no_return(void);
void __asan_handle_no_return(void)
{
}

#ifdef __wasm__
/* What a frame must still have at its end; other systems have it for each process. */
CC_HIDDEN extern size_t __stack_chk_guard;
size_t __stack_chk_guard = 0x5af3c9d1;
#endif

/* Of -fstack-protector-all: a frame of the file was written over. */
CC_HIDDEN void __stack_chk_fail(void);
void __stack_chk_fail(void)
{
	breach(CALL(), CC_PC, "", "writes beyond an array on its stack");
}

/* Of -fsanitize: also what the compiler knows to be so, and makes anything of. */
#define UNDEFINED(of, what)                             \
	CC_HIDDEN void __ubsan_handle_##of##_minimal(void); \
	void __ubsan_handle_##of##_minimal(void)            \
	{                                                   \
		breach(CALL(), CC_PC, "", what);                  \
	}
#define OVERFLOWS(verb) verb " more than a signed number holds, which only -fwrapv defines; use u32 or s64"
UNDEFINED(divrem_overflow,
	  "divides by zero, which the kernel's BPF makes 0; test the divisor first")
UNDEFINED(add_overflow, OVERFLOWS("adds"))
UNDEFINED(sub_overflow, OVERFLOWS("subtracts"))
UNDEFINED(mul_overflow, OVERFLOWS("multiplies to"))
UNDEFINED(negate_overflow, OVERFLOWS("negates"))
UNDEFINED(shift_out_of_bounds,
	  "shifts by more bits than the number has, which each processor does its own way")
UNDEFINED(out_of_bounds, "takes an index beyond its array")

/* What a compiler calls by itself for copies. */
CC_HIDDEN void *memcpy(void *to, const void *from, size_t size);
CC_HIDDEN void *memmove(void *to, const void *from, size_t size);
CC_HIDDEN void *memset(void *to, int value, size_t size);
CC_HIDDEN int memcmp(const void *a, const void *b, size_t size);

static void move(char *to, const char *from, size_t size, u64 stack, const char *pc)
{
	if (!size)
		return;
	load((u64)from, size, stack, pc);
	store((u64)to, size, stack, pc);
	if ((u64)to - (u64)from < size)
		while (size--)
			to[size] = from[size];
	else
		for (size_t i = 0; i < size; i++)
			to[i] = from[i];
}

void *memcpy(void *to, const void *from, size_t size)
{
	move(to, from, size, OF_CALLER, CC_PC);
	return to;
}

void *memmove(void *to, const void *from, size_t size)
{
	move(to, from, size, OF_CALLER, CC_PC);
	return to;
}

void *memset(void *to, int value, size_t size)
{
	char *at = to;

	if (size)
		store((u64)to, size, OF_CALLER, CC_PC);
	for (size_t i = 0; i < size; i++)
		at[i] = value;
	return to;
}

int memcmp(const void *a, const void *b, size_t size)
{
	const u8 *x = a, *y = b;

	if (size) {
		load((u64)a, size, OF_CALLER, CC_PC);
		load((u64)b, size, OF_CALLER, CC_PC);
	}
	for (size_t i = 0; i < size; i++)
		if (x[i] != y[i])
			return x[i] - y[i];
	return 0;
}

void cc_enter(struct sock *sk, bool has_private, struct cc_return *returns, const void *sample,
	      u64 sample_size)
{
	struct cc_call *call = CALL();

	call->returns = returns;
	call->returns_end = returns + CC_DEPTH;
	call->sk = sk;
	call->priv = has_private ? (const char *)sk + CSK(icsk_ca_priv) : NULL;
	call->params = sk->sk_host.params;
	call->sample = sample;
	call->sample_size = sample_size;
	call->may_switch = false;
	call->stack_end = STACK_END;
}

void cc_own(const void *sk, const char *pc)
{
	struct cc_call *call = CALL();

	if (sk != call->sk)
		breach(call, pc, "", "gives a helper a socket that is not its own");
}

void __asan_not_returned(void)
{
	breach(CALL(), CC_PC, "", "has written over where it returns to, or what it returns with");
}

void __asan_too_deep(void)
{
	breach(CALL(), CC_PC, "", "runs out of stack; the kernel has 512 bytes of it and no recursion");
}

void cc_not_ops(void)
{
	struct cc_call *call = CALL();

	breach(call, call->switched_at, "icsk_ca_ops",
	       " of its socket with what is no ops of the file");
}

void cc_not_given(const char *pc)
{
	breach(CALL(), pc, "", "frees what kzalloc did not give, or what was freed");
}

/* The hooks that the host calls for a file of our dialect. */
#define HOOK(type, name, parameters, sample, ...)                                 \
	static type hook_##name parameters                                       \
	{                                                                         \
		struct cc_return returns[CC_DEPTH];                               \
		cc_enter((struct sock *)sk, true, returns, sample);               \
		AND_LEAVE_##type(cc_theirs.name(__VA_ARGS__))                     \
	}
#define AND_LEAVE_void(call) call; CC_LEAVE();
#define AND_LEAVE_u32(call) u32 answer = call; CC_LEAVE(); return answer;
#define NO_SAMPLE NULL, 0
#define SAMPLE(of) of, sizeof(*of)
HOOK(u32, ssthresh, (struct sock *sk), NO_SAMPLE, sk)
HOOK(void, cong_avoid, (struct sock *sk, u32 ack, u32 acked), NO_SAMPLE, sk, ack, acked)
HOOK(void, set_state, (struct sock *sk, u8 new_state), NO_SAMPLE, sk, new_state)
HOOK(void, cwnd_event, (struct sock *sk, enum tcp_ca_event ev), NO_SAMPLE, sk, ev)
HOOK(void, in_ack_event, (struct sock *sk, u32 flags), NO_SAMPLE, sk, flags)
HOOK(void, pkts_acked, (struct sock *sk, const struct ack_sample *sample), SAMPLE(sample), sk, sample)
HOOK(u32, min_tso_segs, (struct sock *sk), NO_SAMPLE, sk)
HOOK(void, cong_control, (struct sock *sk, u32 ack, int flag, const struct rate_sample *rs),
     SAMPLE(rs), sk, ack, flag, rs)
HOOK(u32, undo_cwnd, (struct sock *sk), NO_SAMPLE, sk)
HOOK(u32, min_cwnd, (const struct sock *sk), NO_SAMPLE, sk)
HOOK(u32, sndbuf_expand, (struct sock *sk), NO_SAMPLE, sk)
HOOK(void, init, (struct sock *sk), NO_SAMPLE, sk)
HOOK(void, release, (struct sock *sk), NO_SAMPLE, sk)

static void prepare(long current_slot, u64 size)
{
	cc_slot = current_slot;
	cc_params_size = size;
}

static void hooks(const struct tcp_congestion_ops *of, struct tcp_congestion_ops *into)
{
	*into = cc_theirs = *of;
#define WRAP(name) into->name = of->name ? hook_##name : NULL
	WRAP(ssthresh);
	WRAP(cong_avoid);
	WRAP(set_state);
	WRAP(cwnd_event);
	WRAP(in_ack_event);
	WRAP(pkts_acked);
	WRAP(min_tso_segs);
	WRAP(cong_control);
	WRAP(undo_cwnd);
	WRAP(min_cwnd);
	WRAP(sndbuf_expand);
	WRAP(init);
	WRAP(release);
}

/* crates/host/src/native/call.rs mirrors it. */
__attribute__((visibility("default"))) const struct cc_checked {
	void (*prepare)(long current_slot, u64 cc_params_size);
	void (*hooks)(const struct tcp_congestion_ops *of, struct tcp_congestion_ops *into);
	const char *start, *end;
} cc_checked = { prepare, hooks, FILE_START, FILE_END };
