/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The witness of an algorithm with `cong_avoid`. */
#include "witness.h"

CC_HOOK(void, witness_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	look(sk, 9);
	see(sk, (u64)ack << 32 | acked);
	tcp_reno_cong_avoid(sk, ack, acked);
}

CC_ALGORITHM(witness, "remembers every hook", .cong_avoid = witness_cong_avoid, WITNESS);
