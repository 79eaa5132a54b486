/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Powers and exponentials in integers, for algorithms whose formulas need them. */
#ifndef POWER_H
#define POWER_H

#include "tcp_cc.h"

enum { POWER_ONE = 1 << 16 };	/* 1.0: results have 16 fraction bits */

/* Both loops have no branches: the verifier would follow all 2^16 paths through them. */

/* log2(x) in 1/65536, x > 0: the fraction bit by bit, by squaring. */
static inline s64 cc_log2(u64 x)
{
	u32 whole = fls64(x) - 1, fraction = 0;
	u64 m = whole > 31 ? x >> (whole - 31) : x << (31 - whole);

	for (u32 bit = 0; bit < 16; bit++) {
		m = m * m >> 31;
		fraction = fraction << 1 | m >> 32;
		m >>= m >> 32;
	}
	return (s64)whole * POWER_ONE + fraction;
}

/* 2^(y / 65536) in 1/65536; 0 below the range, 2^62 above it. */
static inline u64 cc_exp2(s64 y)
{
	enum { ROOT_ONE = 1U << 31 };
	/* 1 and 2^(2^-i) in 1/2^31, i = 1..16 */
	static const u32 root[16][2] = {
		{ ROOT_ONE, 3037000500 }, { ROOT_ONE, 2553802834 }, { ROOT_ONE, 2341847524 },
		{ ROOT_ONE, 2242560872 }, { ROOT_ONE, 2194507417 }, { ROOT_ONE, 2170868212 },
		{ ROOT_ONE, 2159144272 }, { ROOT_ONE, 2153306067 }, { ROOT_ONE, 2150392887 },
		{ ROOT_ONE, 2148937775 }, { ROOT_ONE, 2148210589 }, { ROOT_ONE, 2147847087 },
		{ ROOT_ONE, 2147665360 }, { ROOT_ONE, 2147574502 }, { ROOT_ONE, 2147529075 },
		{ ROOT_ONE, 2147506361 },
	};
	s64 whole = y >> 16;
	u64 m = ROOT_ONE;

	for (u32 i = 0; i < 16; i++)
		m = m * root[i][y >> (15 - i) & 1] >> 31;
	if (whole < -16)
		return 0;
	if (whole > 45)
		return 1ULL << 62;
	return whole < 15 ? m >> (15 - whole) : m << (whole - 15);
}

/* (a / b)^(numerator / denominator) in 1/65536; a, b, denominator > 0. */
static inline u64 cc_power(u64 a, u64 b, u32 numerator, u32 denominator)
{
	s64 y = cc_log2(a) - cc_log2(b);
	s64 negative = y < 0;
	u64 size = (u64)(negative ? -y : y) * numerator / denominator;

	return cc_exp2(negative ? -(s64)size : (s64)size);
}

#endif
