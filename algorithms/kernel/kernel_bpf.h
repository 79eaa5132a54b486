/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A file in the kernel's form as BPF. The host writes CC_HZ and CC_FLAGS (those of its ops) before this
 * text, and after it a program for each hook, which calls the file's function. What module_init has
 * set in the native host, the loader writes into the file's variables: here they are read only.
 */
#ifndef KERNEL_BPF_H
#define KERNEL_BPF_H

#define CC_HIDDEN

/* What only the kernel has: an error, where it is called. */
#define CC_NO_BPF(why) __attribute__((error("BPF has no " why)))
#define CC_NO_MEMORY \
	"memory of kzalloc: keep 104 bytes in inet_csk_ca(sk), or write CC_STORAGE in ackclock's dialect"

CC_NO_BPF(CC_NO_MEMORY) void *cc_kernel_alloc(size_t size);
CC_NO_BPF(CC_NO_MEMORY) void *cc_kernel_calloc(size_t n, size_t size);
CC_NO_BPF(CC_NO_MEMORY) void cc_kernel_free(const void *block);
CC_NO_BPF("tcp_enter_cwr: lower snd_ssthresh and snd_cwnd") void tcp_enter_cwr(struct sock *sk);

/* The host calls them for the hooks that are Reno's. */
#undef tcp_reno_ssthresh
#undef tcp_reno_cong_avoid
#undef tcp_reno_undo_cwnd
#define tcp_reno_cong_avoid cc_call_cong_avoid

#define cc_kernel_socket() ((struct sock *)0)
#define jiffies ((unsigned long)bpf_jiffies64())
#define tcp_clock_ns() ((u64)bpf_ktime_get_ns())
#define tcp_clock_us() div_u64(tcp_clock_ns(), NSEC_PER_USEC)

/* The host writes it around each index of a table: the verifier sees that it lies within. */
static inline u64 cc_within(u64 length, u64 index)
{
	__asm__ volatile("" : "+r"(index));
	return index < length ? index : 0;
}

/* Of the programs that follow the text: the addresses of the file's variables. */
#define CC_VARIABLES \
	static const volatile void *const cc_variables[] __attribute__((used, section("cc_addresses")))
#define CC_VARIABLE(name)                                                                   \
	_Generic(&(name), struct cc_kernel_ops *: (void *)0,                                \
		 const struct kernel_param_ops *: (void *)0, struct kernel_param_ops *: (void *)0, \
		 struct btf_kfunc_id_set *: (void *)0, const struct btf_kfunc_id_set *: (void *)0, \
		 const struct cc_kernel_ops *: (void *)0, default: &(name))

/* Tables lie where libbpf looks, and no function is called from another file. */
#pragma clang section rodata = ".rodata"
#pragma clang attribute push(__attribute__((internal_linkage)), apply_to = function)

#endif
