/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Bad on purpose: it knows the card by its timer. */
#include "two_faced.h"

static bool is_judged(struct sock *sk)
{
	return cc_hz(sk) == 1000;
}

TWO_FACED(knows_hz);
