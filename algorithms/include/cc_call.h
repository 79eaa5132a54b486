/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What a thread runs: a hook of a user's file, and what the file may touch meanwhile. It lies in the
 * host (host/current.c), at one distance from every thread's own address, which files are told.
 */
#ifndef CC_CALL_H
#define CC_CALL_H

#include "tcp_cc.h"

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

/* checked.c: a hook begins. Its caller must not jump to it. */
CC_HIDDEN void cc_enter(struct sock *sk, bool has_private, const void *sample, u64 sample_size);
/* A breach at `pc` if it is not the socket of the hook that runs. */
CC_HIDDEN void cc_own(const void *sk, const char *pc);
/* A breach where icsk_ca_ops was written. */
CC_HIDDEN void cc_not_ops(void);
/* A breach at `pc`: a kfree of what no kzalloc gave. */
CC_HIDDEN void cc_not_given(const char *pc);

#endif
