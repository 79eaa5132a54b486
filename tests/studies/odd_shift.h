/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef ODD_SHIFT_H
#define ODD_SHIFT_H
#define ODD_SHIFT 10
#endif
