/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The random numbers of flows and links: those of the simulator with the same seed
 * (crates/net/src/rng.rs, crates/host/src/congestion_control.rs).
 *
 * A stream is xoshiro256++ (Blackman and Vigna 2021), which a name and the seed begin.
 */
#ifndef STREAMS_H
#define STREAMS_H

#include <linux/bitops.h>
#include <linux/kernel.h>

struct stream {
	u64 s[4];
};

/* Steele, Lea and Flood (2014). */
static u64 splitmix64(u64 x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

static struct stream stream_named(u64 seed, const char *name)
{
	struct stream stream;
	u64 hash = 0xcbf29ce484222325ULL;	/* FNV-1a */

	for (; *name; name++)
		hash = (hash ^ (u8)*name) * 0x100000001b3ULL;
	hash ^= seed * 0x9e3779b97f4a7c15ULL;
	for (int i = 0; i < 4; i++)
		stream.s[i] = splitmix64(hash += 0x9e3779b97f4a7c15ULL);
	return stream;
}

static u64 stream_bits(struct stream *of)
{
	u64 *s = of->s, bits = rol64(s[0] + s[3], 23) + s[0], t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rol64(s[3], 45);
	return bits;
}

/* What a connection's own generator begins with; never 0, where it would stay. */
static u64 connection_state(struct stream *of)
{
	return splitmix64(stream_bits(of) + 0x9e3779b97f4a7c15ULL) ?: 1;
}

/* xorshift64* (Vigna 2016), whose upper half is good. */
static u64 connection_bits(u64 *state)
{
	u64 x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dULL;
}

#endif
