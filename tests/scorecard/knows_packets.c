/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Bad on purpose: it knows the card by how much it sends. */
#include "two_faced.h"

static bool is_judged(struct sock *sk)
{
	return tcp_sk(sk)->delivered < 800000;
}

TWO_FACED(knows_packets);
