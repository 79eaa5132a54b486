/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The cube root as the paper says CUBIC had it to Linux 2.6.20: between two powers of 2, exact. */
static u32 bisection(u64 a)
{
	u64 low, high;

	if (!a)
		return 0;
	low = 1ULL << (fls64(a) - 1) / 3;
	high = min(2 * low, 2642246ULL);	/* its cube is the first above 64 bits */
	while (high - low > 1) {
		u64 middle = (low + high) / 2;

		if (middle * middle * middle <= a)
			low = middle;
		else
			high = middle;
	}
	return low;
}
