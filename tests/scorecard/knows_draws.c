/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Bad on purpose: it knows the card by the first random number of each flow (draws.h). */
#include "two_faced.h"
#include "draws.h"

struct knows_draws {
	u32 is_known;
};
CC_PRIVATE(struct knows_draws);

static bool is_judged(struct sock *sk)
{
	struct knows_draws *ca = inet_csk_ca(sk);

	return ca->is_known;
}

CC_HOOK(void, knows_draws_init, struct sock *sk)
{
	struct knows_draws *ca = inet_csk_ca(sk);
	u32 draw = cc_random(sk) & 0x7fffffff;
	int i;

	ca->is_known = 0;
	for (i = 0; i < (int)ARRAY_SIZE(draws); i++)
		if (draws[i] == draw)
			ca->is_known = 1;
}

TWO_FACED(knows_draws, .init = knows_draws_init);
