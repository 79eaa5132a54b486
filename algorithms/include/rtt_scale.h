/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef RTT_SCALE_H
#define RTT_SCALE_H

#include "tcp_cc.h"

/* RTT / reference in 1/65536, at most 4096 (2^28, whose square does not overflow). Before
 * the first sample the RTT counts as the reference. */
static inline u64 cc_rtt_scale(u32 rtt_us, u32 reference_us)
{
	return rtt_us ? min_t(u64, ((u64)rtt_us << 16) / reference_us, 1ULL << 28) : 1 << 16;
}

#endif
