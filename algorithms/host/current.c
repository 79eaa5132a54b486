/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Each thread's current hook. */
#include "cc_call.h"

struct cc_call *cc_current_call(void);
long cc_current_slot(void);

#ifdef CC_CALL
static __thread struct cc_call current __attribute__((tls_model("initial-exec")));

struct cc_call *cc_current_call(void)
{
	return &current;
}

long cc_current_slot(void)
{
	return (char *)&current - cc_thread();
}
#else
struct cc_call *cc_current_call(void)
{
	static struct cc_call none;

	return &none;
}

long cc_current_slot(void)
{
	return 0;
}
#endif
