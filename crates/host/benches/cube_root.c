/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A program without any library, so that it also builds for 32-bit x86, the machines of 2008.
 * It takes 1000 cube roots of what CUBIC takes them of: 2^40 / C times a distance from W_max, here
 * of up to 2^17 packets at random. METHOD: 0: none, the loop alone; 1: bisection; 2: the table and
 * Newton-Raphson. It prints the least clocks of RUNS times, and the last random number. With EACH
 * it prints the least clocks of each argument of the first time, of so many times: of 64 roots of
 * it, because a processor may count its clocks in steps of dozens.
 */
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

/* The processor's instruction, as the kernel's fls64() of x86. */
static inline u32 fls64(u64 x)
{
	u32 high = x >> 32, low = x;

	if (high)
		return 64 - __builtin_clz(high);
	return low ? 32 - __builtin_clz(low) : 0;
}

#ifdef __i386__
/* high:low / divisor, where high < divisor */
static inline u32 divide(u32 high, u32 low, u32 divisor, u32 *rest)
{
	u32 quotient;

	__asm__("divl %4" : "=a"(quotient), "=d"(*rest) : "0"(low), "1"(high), "rm"(divisor) : "cc");
	return quotient;
}

/* 64-bit division is a routine on 32-bit x86: this is what libgcc has under this name, exact. */
u64 __udivdi3(u64 n, u64 d)
{
	u32 high = n >> 32, divisor = d, rest, shift;
	u64 quotient;

	if (!(d >> 32)) {
		u32 first = high / divisor;

		return (u64)first << 32 | divide(high % divisor, n, divisor, &rest);
	}
	/* An estimate by the highest 32 bits of d, too large by at most 1 (Warren, divlu). */
	shift = __builtin_clz((u32)(d >> 32));
	quotient = divide(n >> 33, n >> 1, d << shift >> 32, &rest) >> (31 - shift);
	if (quotient)
		quotient--;
	return n - quotient * d >= d ? quotient + 1 : quotient;
}

static long system_call(long number, long a, const void *b, long c)
{
	__asm__ volatile("int $0x80" : "+a"(number) : "b"(a), "c"(b), "d"(c) : "memory");
	return number;
}
enum { WRITE = 4, EXIT = 1 };
#else
static long system_call(long number, long a, const void *b, long c)
{
	__asm__ volatile("syscall"
			 : "+a"(number)
			 : "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return number;
}
enum { WRITE = 1, EXIT = 60 };
#endif

#include "roots.h"

static inline u32 root_of(u32 random)
{
	u64 a = (1ULL << 40) / 410 * (random & 0x1ffff);

	if (METHOD == 1)
		return bisection(a);
	if (METHOD == 2)
		return newton(a);
	return a >> 20;
}

/* xorshift32: the next waits for this one, as in a kernel that takes but one. */
static inline u32 next(u32 random, u32 root)
{
	random += root;
	random ^= random << 13;
	random ^= random >> 17;
	random ^= random << 5;
	return random;
}

__attribute__((unused)) static u32 thousand_roots(u32 random)
{
	for (u32 i = 0; i < 1000; i++)
		random = next(random, root_of(random));
	return random;
}

static inline u64 clocks(void)
{
	u32 low, high;

	__asm__ volatile("lfence; rdtsc; lfence" : "=a"(low), "=d"(high));
	return (u64)high << 32 | low;
}


static char *decimal(char *end, u32 number, char after)
{
	*--end = after;
	do
		*--end = '0' + number % 10;
	while (number /= 10);
	return end;
}

static char text[16000];

#ifdef EACH
enum { SAME = 64 };
static u32 least[1000];

/* Root after root of one argument: each waits for the one before. */
static u32 same_root(u32 random)
{
	u32 root = 0;

	for (u32 i = 0; i < SAME; i++) {
		root = root_of(random);
		__asm__ volatile("xor %1, %0; xor %1, %0" : "+r"(random) : "r"(root) : "cc");
	}
	return root;
}

static char *taken(char *begin)
{
	for (u32 run = 0; run < EACH; run++) {
		u32 random = 1;

		for (u32 i = 0; i < 1000; i++) {
			u64 began = clocks();
			u32 root = same_root(random);
			u32 took = clocks() - began;

			if (!run || took < least[i])
				least[i] = took;
			random = next(random, root);
		}
	}
	for (u32 i = 0; i < 1000; i++)
		begin = decimal(begin, least[i], i ? ' ' : '\n');
	return begin;
}
#else
static char *taken(char *begin)
{
	u32 least = ~0U, random = 0;

	for (u32 run = 0; run < RUNS; run++) {
		u64 began = clocks();
		u32 took;

		random = thousand_roots(1 + run);
		took = clocks() - began;
		if (took < least)
			least = took;
	}
	return decimal(decimal(begin, random, '\n'), least, ' ');
}
#endif

__attribute__((used)) static void program(void)
{
	char *begin = taken(text + sizeof text);

	system_call(WRITE, 1, begin, text + sizeof text - begin);
	system_call(EXIT, 0, 0, 0);
}

/* The stack as a called function has it. */
__asm__(".globl _start\n_start:\n\tcall program\n");
