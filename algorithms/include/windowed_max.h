/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The largest value of the last so many rounds (or of any other unit of time), in 24 bytes:
 * Kathleen Nichols' algorithm, as in Linux's lib/win_minmax.c. It keeps the best value, the
 * best since then, and the best since that one. When the best is too old, the next one
 * takes its place. So a value is forgotten on time, but the answer may be too small for a
 * while: the values between the three are lost.
 */
#ifndef WINDOWED_MAX_H
#define WINDOWED_MAX_H

#include "tcp_cc.h"

struct timed_value {
	u32 t;	/* when it was seen */
	u32 v;	/* the value */
};

struct windowed_max {
	struct timed_value s[3];	/* the best, the second and the third; each is younger */
};

static inline void windowed_max_reset(struct windowed_max *max, u32 now, u32 value)
{
	struct timed_value new = { now, value };

	max->s[0] = max->s[1] = max->s[2] = new;
}

static inline void windowed_max_drop(struct windowed_max *max, struct timed_value new)
{
	max->s[0] = max->s[1];
	max->s[1] = max->s[2];
	max->s[2] = new;
}

static inline void windowed_max_add(struct windowed_max *max, u32 window, u32 now, u32 value)
{
	struct timed_value new = { now, value };
	u32 age;

	/* A value that is as good as an older one makes that one, and all worse ones, useless. */
	if (value >= max->s[0].v || now - max->s[2].t > window) {
		windowed_max_reset(max, now, value);
		return;
	}
	if (value >= max->s[1].v)
		max->s[1] = max->s[2] = new;
	else if (value >= max->s[2].v)
		max->s[2] = new;

	age = now - max->s[0].t;
	if (age > window) {
		windowed_max_drop(max, new);
		if (now - max->s[0].t > window)
			windowed_max_drop(max, new);
	} else if (max->s[1].t == max->s[0].t && age > window / 4) {
		/* No second best for a quarter of the window: take one from the second quarter. */
		max->s[1] = max->s[2] = new;
	} else if (max->s[2].t == max->s[1].t && age > window / 2) {
		max->s[2] = new;
	}
}

static inline u32 windowed_max_get(const struct windowed_max *max)
{
	return max->s[0].v;
}

#endif
