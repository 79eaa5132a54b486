/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The types of <stddef.h>, <stdint.h> and <linux/types.h>: no header of the system is read. */
#ifndef CC_TYPES_H
#define CC_TYPES_H

#include "tcp_cc_types.h"

typedef u8 __u8, uint8_t, u_int8_t;
typedef u16 __u16, uint16_t, __be16, __le16, u_int16_t, ushort;
typedef u32 __u32, uint32_t, __be32, __le32, uint, u_int32_t;
typedef u64 __u64, __be64, __le64;
typedef __UINT64_TYPE__ uint64_t;
typedef s8 __s8, int8_t;
typedef s16 __s16, int16_t;
typedef s32 __s32, int32_t;
typedef s64 __s64, ktime_t;
typedef __INT64_TYPE__ int64_t;
typedef unsigned long ulong;
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __INTPTR_TYPE__ ssize_t, intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef unsigned int gfp_t;

#ifndef NULL
#define NULL ((void *)0)
#endif
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif

#endif
