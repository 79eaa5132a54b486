/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What a thread runs: a hook of a user's file, and what the file may touch meanwhile. It lies in the
 * host (host/current.c), at one distance from every thread's own address, which files are told.
 */
#ifndef CC_CALL_H
#define CC_CALL_H

#include "tcp_cc.h"

/* A function of the file runs: its return address, and where that lies. */
struct cc_return {
	const char *to;
	const void *at;
};

/* Functions of a file that may run at a time, one called by the other. */
#ifdef __wasm__
#define CC_DEPTH 1
#else
#define CC_DEPTH 128
#endif

/* crates/host/src/native/call.rs mirrors it. */
struct cc_call {
	struct sock *sk;	/* first: files in the kernel's form read it */
	const char *priv;	/* its icsk_ca_priv; NULL: module_init runs, which has none */
	const char *params;	/* those of our dialect */
	const char *sample;	/* the argument of pkts_acked or cong_control */
	u64 sample_size;
	const char *stack_end;	/* the file's frames lie below */
	/* A breach: where, what was touched, and what is wrong with that. */
	const char *breach_at, *breach_of, *breach;
	/* Where the file's functions that run were called from, in the frame of who calls the hook. */
	struct cc_return *returns, *returns_end;
	bool may_switch;	/* init of a file in the kernel's form runs: it may write icsk_ca_ops */
	const char *switched_at;	/* where it did */
};

/* Where the caller is. A WebAssembly module does not know; its host does. */
#ifdef __wasm__
#define CC_PC NULL
#else
#define CC_PC ((const char *)__builtin_return_address(0))
#endif

#define CC_HIDDEN __attribute__((visibility("hidden")))
/* What no code of a file may write, not even module_init. */
#define CC_OURS __attribute__((section("cc_ours")))

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
static inline char *cc_thread(void)
{
	char *thread;

#ifdef __x86_64__
	__asm__("mov %%fs:0, %0" : "=r"(thread));
#else
	__asm__("mrs %0, tpidr_el0" : "=r"(thread));
#endif
	return thread;
}
#define CC_CALL(slot) ((struct cc_call *)(cc_thread() + (slot)))
#endif

/* checked.c: a hook begins. Its caller has `returns` in its frame, and must not jump to the hook. */
CC_HIDDEN __attribute__((__noinline__)) void cc_enter(struct sock *sk, bool has_private,
						  struct cc_return *returns,
						  const void *sample, u64 sample_size);
/*
 * What a hook leaves in the registers that a function must keep is not believed: who calls a hook has this
 * behind it, and so keeps them in its own frame.
 */
#ifdef __x86_64__
#define CC_LEAVE() __asm__ volatile("" : : : "rbx", "rbp", "r12", "r13", "r14", "r15", "memory")
#elif defined(__aarch64__)
#define CC_LEAVE() __asm__ volatile("" : : : "x19", "x20", "x21", "x22", "x23", "x24", "x25", \
				    "x26", "x27", "x28", "memory")
#else
#define CC_LEAVE() ((void)0)
#endif
/* A function of the file returns to where it was not called from, or too many run. */
CC_HIDDEN void __asan_not_returned(void);
CC_HIDDEN void __asan_too_deep(void);
/* A breach at `pc` if it is not the socket of the hook that runs. */
CC_HIDDEN void cc_own(const void *sk, const char *pc);
/* A breach where icsk_ca_ops was written. */
CC_HIDDEN void cc_not_ops(void);
/* A breach at `pc`: a kfree of what no kzalloc gave. */
CC_HIDDEN void cc_not_given(const char *pc);

#endif
