/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Each thread's current socket, for files in the kernel's form: jiffies has no argument. It lies at
 * one distance from every thread's own address, which the files are told.
 */
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
static __thread void *current __attribute__((tls_model("initial-exec")));

long cc_current_slot(void);
long cc_current_slot(void)
{
	char *thread;

#ifdef __x86_64__
	__asm__("mov %%fs:0, %0" : "=r"(thread));
#else
	__asm__("mrs %0, tpidr_el0" : "=r"(thread));
#endif
	return (char *)&current - thread;
}
#else
long cc_current_slot(void);
long cc_current_slot(void)
{
	return 0;
}
#endif
