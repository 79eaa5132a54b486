/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Before a file in the kernel's form. BESIDE: of such a file, only its functions are wanted. */
#include <linux/export.h>

/* Linux has the symbols that its own files export. */
#undef EXPORT_SYMBOL
#undef EXPORT_SYMBOL_GPL
#define EXPORT_SYMBOL(name)
#define EXPORT_SYMBOL_GPL(name)

/* See kernel_file.c. */
#define tcp_register_congestion_control ackclock_register
#define tcp_unregister_congestion_control ackclock_unregister

#ifdef BESIDE
#include <linux/module.h>
#undef module_init
#undef module_exit
#define module_init(function) static int (*const beside_init)(void) __used = function
#define module_exit(function) static void (*const beside_exit)(void) __used = function
#endif
