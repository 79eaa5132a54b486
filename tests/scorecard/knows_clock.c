/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Bad on purpose: it knows the card by its length. */
#include "two_faced.h"

static bool is_judged(struct sock *sk)
{
	return tcp_sk(sk)->tcp_mstamp < 400000000;
}

TWO_FACED(knows_clock);
