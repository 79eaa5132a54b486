/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Of <limits.h>, what a machine of 64 bits has. */
#ifndef CC_LIMITS_H
#define CC_LIMITS_H

#define CHAR_BIT 8
#define INT_MAX ((int)(~0U >> 1))
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX (~0U)
#define LONG_MAX ((long)(~0UL >> 1))
#define LONG_MIN (-LONG_MAX - 1)
#define ULONG_MAX (~0UL)
#define LLONG_MAX ((long long)(~0ULL >> 1))
#define LLONG_MIN (-LLONG_MAX - 1)
#define ULLONG_MAX (~0ULL)

#endif
