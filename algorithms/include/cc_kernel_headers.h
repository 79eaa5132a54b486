/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The types of a kernel module: Linux's own, in place of tcp_cc_types.h. */
#ifndef CC_KERNEL_HEADERS_H
#define CC_KERNEL_HEADERS_H

#include <linux/list.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/xarray.h>
#include <net/tcp.h>

/* tcp_cc.h has more lenient ones. */
#undef min
#undef max
#undef clamp
#undef min_t
#undef max_t
#undef min3
#undef max3
#undef clamp_t
#undef clamp_val
#undef min_not_zero

/* Here it needs the socket. */
#undef tcp_jiffies32

#endif
