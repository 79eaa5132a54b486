/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The two cube roots that Ha et al. 2008 compare (table 1): CUBIC's first one, by bisection, and
 * the table with one step of Newton-Raphson of Linux 2.6.21, whose results are those of cubic.h.
 * They need u32, u64 and fls64.
 */

/* The integer nearest to the cube root: a = i * 8^j with i < 8 has its root between the roots of
 * i and i + 1 times 2^j; then the interval is halved. */
static u32 bisection(u64 a)
{
	/* 65536 times the cube roots of 0 to 7, rounded down */
	static const u64 root[8] = { 0, 65536, 82570, 94519, 104031, 112064, 119086, 125365 };
	u64 octal, low, high, below, above, scale = 1;

	if (!a)
		return 0;
	for (octal = a; octal >= 8; octal >>= 3)
		scale <<= 1;
	low = scale * root[octal] >> 16;
	high = octal == 7 ? 2 * scale : (scale * (root[octal + 1] + 1) + 65535) >> 16;

	while (low + 1 < high) {
		u64 middle = (low + high) >> 1;
		u64 cube = middle * middle * middle;

		if (cube == a)
			return middle;
		if (cube < a)
			low = middle;
		else
			high = middle;
	}

	below = low * low * low;
	above = high * high * high;
	below = below < a ? a - below : below - a;
	above = above < a ? a - above : above - a;
	return below < above ? low : high;
}

static u32 newton(u64 a)
{
	static const u8 root[64] = {
		  0,  54,  54,  54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156,
		157, 161, 164, 168, 170, 173, 176, 179, 181, 185, 187, 190, 192, 194, 197, 199,
		200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221, 222, 224, 225, 227, 229,
		231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
	};
	u32 bits = fls64(a), shift, x;

	if (bits < 7)
		return (root[a & 63] + 35) >> 6;
	shift = (bits * 84 >> 8) - 1;
	x = ((root[(a >> 3 * shift) & 63] + 10) << shift) >> 6;
	x = 2 * x + (u32)(a / ((u64)x * (x - 1)));
	return x * 341 >> 10;
}
