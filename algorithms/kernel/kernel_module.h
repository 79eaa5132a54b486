/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Of <linux/module.h>: what a file registers, and its parameters, for module.c. */
#ifndef KERNEL_MODULE_H
#define KERNEL_MODULE_H

#define THIS_MODULE ((struct module *)0)
#define KBUILD_MODNAME "ackclock"

CC_HIDDEN int tcp_register_congestion_control(struct tcp_congestion_ops *ops);
CC_HIDDEN void tcp_unregister_congestion_control(struct tcp_congestion_ops *ops);

#define CC_NOTHING _Static_assert(1, "")
#ifdef __bpf__
/* It has run in the native host, which tells what it has set. */
#define module_init(function) CC_NOTHING
#elif defined(CC_KERNEL_BESIDE)
/* Another file's functions are wanted, as Yeah wants those of Vegas; it registers nothing. */
#define module_init(function) static __used int (*const cc_kernel_beside)(void) = function
#else
#define module_init(function)                    \
	CC_HIDDEN int cc_kernel_init(void);      \
	int cc_kernel_init(void)                 \
	{                                        \
		return function();               \
	}                                        \
	CC_NOTHING
#endif
#define late_initcall(function) module_init(function)
#define subsys_initcall(function) module_init(function)
#define fs_initcall(function) module_init(function)
#define device_initcall(function) module_init(function)
#ifdef __bpf__
#define module_exit(function) CC_NOTHING
#else
#define module_exit(function) static __used void (*const cc_kernel_exit)(void) = function
#endif
#define MODULE_LICENSE(text) CC_NOTHING
#define MODULE_AUTHOR(text) CC_NOTHING
#define MODULE_VERSION(text) CC_NOTHING
#define MODULE_ALIAS(text) CC_NOTHING
#define MODULE_SOFTDEP(text) CC_NOTHING
#define MODULE_INFO(name, text) CC_NOTHING
#define MODULE_IMPORT_NS(name) CC_NOTHING
#define EXPORT_SYMBOL(name) CC_NOTHING
#define EXPORT_SYMBOL_GPL(name) CC_NOTHING
#if defined(CC_KERNEL_BESIDE) || defined(__bpf__)
#define MODULE_DESCRIPTION(text) CC_NOTHING
#else
#define MODULE_DESCRIPTION(text) \
	CC_HIDDEN extern const char cc_kernel_summary[]; const char cc_kernel_summary[] = text
#endif

/* BPF programs may call them; here nobody does. */
#define __bpf_kfunc_start_defs() CC_NOTHING
#define __bpf_kfunc_end_defs() CC_NOTHING
#define BTF_SET_START(name) static const int name = 0;
#define BTF_SET_END(name)
#define BTF_SET8_START(name) static const int name = 0;
#define BTF_SET8_END(name)
#define BTF_KFUNCS_START(name) static const int name = 0;
#define BTF_KFUNCS_END(name)
#define BTF_ID(kind, ...)
#define BTF_ID_FLAGS(kind, ...)
enum { BPF_PROG_TYPE_STRUCT_OPS = 27 };
struct btf_kfunc_id_set {
	struct module *owner;
	const int *set;
};
#define register_btf_kfunc_id_set(type, set) ((void)(set), 0)

/*
 * Parameters. `kind` is the name of a type as module_param has it. The section has the address of
 * each description: the linker makes an array of it.
 */
struct kernel_param {
	const char *name;
	void *arg;
};

struct kernel_param_ops {
	unsigned int flags;
	int (*set)(const char *val, const struct kernel_param *kp);
	int (*get)(char *buffer, const struct kernel_param *kp);
	void (*free)(void *arg);
};

struct cc_kernel_param {
	const char *name;
	const char *doc;	/* of MODULE_PARM_DESC, which then has nothing else */
	const char *kind;	/* of module_param_cb: "" */
	void *value;
	u32 order;		/* in the file: a compiler keeps none */
	u32 size, len;		/* bytes of an element; how many of an array, else 0 */
	void *given;		/* int: of an array: how many the user has given */
	const struct kernel_param_ops *ops;
};

#define CC_PASTE(a, b) a##b
#define CC_PASTED(a, b) CC_PASTE(a, b)
#ifdef __bpf__
#define CC_KERNEL_PARAM(at, ...) CC_NOTHING
#else
#define CC_KERNEL_PARAM(at, ...)                                                            \
	static const struct cc_kernel_param CC_PASTED(cc_kernel_param_, at) = {             \
		.order = at, __VA_ARGS__                                                    \
	};                                                                                  \
	static const struct cc_kernel_param *const CC_PASTED(cc_kernel_param_at_, at)        \
		__attribute__((used, section("cc_kernel_params"))) =                        \
			&CC_PASTED(cc_kernel_param_, at)
#endif
#define module_param_named(param, variable, type, perm)                                     \
	CC_KERNEL_PARAM(__COUNTER__, .name = #param, .kind = #type, .value = &(variable),   \
			.size = sizeof(variable))
#define module_param(variable, type, perm) module_param_named(variable, variable, type, perm)
#define module_param_unsafe module_param
#define core_param module_param_named
#define module_param_array_named(param, array, type, nump, perm)                            \
	CC_KERNEL_PARAM(__COUNTER__, .name = #param, .kind = #type, .value = (array),       \
			.size = sizeof((array)[0]), .len = ARRAY_SIZE(array), .given = (nump))
#define module_param_array(array, type, nump, perm) \
	module_param_array_named(array, array, type, nump, perm)
#define module_param_cb(param, param_ops, variable, perm)                                   \
	CC_KERNEL_PARAM(__COUNTER__, .name = #param, .kind = "", .value = (variable),       \
			.size = sizeof(*(variable)), .ops = (param_ops))
#define MODULE_PARM_DESC(param, text) \
	CC_KERNEL_PARAM(__COUNTER__, .name = #param, .doc = text)

CC_HIDDEN int param_set_int(const char *val, const struct kernel_param *kp);
CC_HIDDEN int param_set_uint_minmax(const char *val, const struct kernel_param *kp,
				    unsigned int least, unsigned int most);
CC_HIDDEN int param_set_bool(const char *val, const struct kernel_param *kp);
CC_HIDDEN int param_get_int(char *buffer, const struct kernel_param *kp);
#define param_set_uint param_set_int
#define param_get_uint param_get_int
#define param_get_bool param_get_int

#endif
