/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The Linux kernel as host, from its own source: an algorithm is a module.
 *
 *	obj-m += tcp_cubic.o		in a Makefile beside the file, and
 *	make -C SOURCE M=$PWD modules
 *
 * make a module that registers the algorithm once per line that is written to its
 * parameter `add`: a name of at most 15 characters, then parameters as whole numbers.
 *
 *	echo "half2 beta=512" > /sys/module/tcp_half/parameters/add
 *
 * Linux 6.12 or later.
 */
#ifndef HOST_MODULE_H
#define HOST_MODULE_H

#include <linux/version.h>

/* Bits that Linux 6 does not have yet. */
#ifndef TCP_ECN_MODE_ACCECN
#define TCP_ECN_MODE_ACCECN BIT(4)
#endif
#ifndef TCP_ECN_OK
#define TCP_ECN_OK TCP_ECN_MODE_RFC3168
#endif
#define TCP_ECN_ECT_1 BIT(5)

/* Linux 7.1 and later tell of CA_EVENT_TX_START in a hook of its own. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
static void cc_tx_start(struct sock *sk)
{
	const struct tcp_congestion_ops *ops = inet_csk(sk)->icsk_ca_ops;

	if (ops->cwnd_event)
		ops->cwnd_event(sk, CA_EVENT_TX_START);
}
#define CC_TX_START .cwnd_event_tx_start = cc_tx_start,
#else
#define CC_TX_START
#endif

#define ICSK_CA_PRIV_WORDS (ICSK_CA_PRIV_SIZE / sizeof(u64))

#define cc_hz(sk) ((void)(sk), (u32)HZ)
#define tcp_jiffies32(sk) ((void)(sk), (u32)jiffies)
#ifdef RANDOM_STREAMS	/* the virtual Linux: each flow draws its own numbers */
#define cc_random(sk) ((u32)(random_of_flow(sk) >> 32))
#else
#define cc_random(sk) ((void)(sk), get_random_u32())
#endif

/* Linux 2.6 alone had .min_cwnd: here it says what CC_ALGORITHM sets after it. */
#define min_cwnd owner
#define tcp_reno_min_cwnd NULL

static inline void cc_send_ack(struct sock *sk, u32 rcv_nxt)
{
	__tcp_send_ack(sk, rcv_nxt, 0);
}
#define __tcp_send_ack(sk, rcv_nxt) cc_send_ack(sk, rcv_nxt)

static inline void cc_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	cc_cwnd_from_1(sk);
	tcp_reno_cong_avoid(sk, ack, acked);
}
#define tcp_reno_cong_avoid cc_reno_cong_avoid

static inline u8 tcp_ca_state(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_state;
}

/* The algorithm with one set of parameters. */
#define CC_PARAM_MEMBER(name, value, least, most, scale, doc) u32 name;
struct cc_params {
	CC_PARAMS(CC_PARAM_MEMBER)
};
struct cc_instance {
	struct tcp_congestion_ops ops;
	struct cc_params params;
	void (*init)(struct sock *sk), (*release)(struct sock *sk);	/* the file's */
	struct list_head list;
};
#define cc_param(sk, name)                                                                      \
	(container_of(inet_csk(sk)->icsk_ca_ops, struct cc_instance, ops)->params.name)

struct cc_param_desc {
	const char *name;
	u32 offset;
};
#define CC_PARAM_DESC(name, value, least, most, scale, doc) \
	{ #name, offsetof(struct cc_params, name) },
#define CC_PARAM_VALUE(name, value, least, most, scale, doc) .name = value,

#define CC_PRIVATE_LAYOUT(type) _Static_assert(1, "")
#define CC_HOOK(type, name, ...) static type name(__VA_ARGS__)

/* Of CC_STORAGE: by the address of the socket. Without it the size is 0. */
static const u32 cc_storage_bytes;
static __maybe_unused DEFINE_XARRAY(cc_blocks);
#define CC_STORAGE_MAKE(type) static const u32 cc_storage_bytes = sizeof(type)
#define cc_storage(sk) ((cc_stored *)xa_load(&cc_blocks, (unsigned long)(sk)))

static inline struct cc_instance *cc_instance_of(const struct sock *sk)
{
	return container_of(inet_csk(sk)->icsk_ca_ops, struct cc_instance, ops);
}

static inline void cc_free_block(const struct sock *sk)
{
	kfree(xa_erase_bh(&cc_blocks, (unsigned long)sk));
}

/* init and release of an algorithm that has CC_STORAGE. */
static __maybe_unused void cc_start(struct sock *sk)
{
	struct cc_instance *own = cc_instance_of(sk);
	void *block = kzalloc(cc_storage_bytes, GFP_ATOMIC | __GFP_NOWARN);

	if (block && xa_err(xa_store_bh(&cc_blocks, (unsigned long)sk, block, GFP_ATOMIC)))
		kfree(block);
	if (own->init)
		own->init(sk);
	if (inet_csk(sk)->icsk_ca_ops != &own->ops)
		cc_free_block(sk);
}

static __maybe_unused void cc_end(struct sock *sk)
{
	struct cc_instance *own = cc_instance_of(sk);

	if (own->release)
		own->release(sk);
	cc_free_block(sk);
}

static struct tcp_congestion_ops cc_reno = {
	.name = "ac_reno",
	.owner = THIS_MODULE,
	.ssthresh = tcp_reno_ssthresh,
	.cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

/* As dctcp_init() does. */
static inline void cc_become_reno(struct sock *sk)
{
	inet_csk(sk)->icsk_ca_ops = &cc_reno;
	INET_ECN_dontxmit(sk);
}

#define CC_ALGORITHM(algorithm, summary, ...)                                                   \
	CC_CHECK_NAME(algorithm);                                                               \
	static const struct cc_instance cc_template = {                                         \
		.ops = { .undo_cwnd = tcp_reno_undo_cwnd,                                       \
			 .flags = TCP_CONG_NON_RESTRICTED,                                      \
			 CC_TX_START __VA_ARGS__, .owner = THIS_MODULE },                       \
		.params = { CC_PARAMS(CC_PARAM_VALUE) },                                        \
	};                                                                                      \
	static const struct cc_param_desc cc_descs[] = { CC_PARAMS(CC_PARAM_DESC) { NULL } };   \
	static LIST_HEAD(cc_instances);                                                         \
                                                                                                \
	static int cc_set(struct cc_params *params, char *setting)                              \
	{                                                                                       \
		char *value = strchr(setting, '=');                                             \
                                                                                                \
		if (!value)                                                                     \
			return -EINVAL;                                                         \
		*value++ = 0;                                                                   \
		for (const struct cc_param_desc *each = cc_descs; each->name; each++)           \
			if (!strcmp(each->name, setting))                                       \
				return kstrtou32(value, 10, (void *)params + each->offset);     \
		return -ENOENT;                                                                 \
	}                                                                                       \
                                                                                                \
	static int cc_add(const char *line, const struct kernel_param *kp)                      \
	{                                                                                       \
		struct cc_instance *added = kmemdup(&cc_template, sizeof(*added), GFP_KERNEL);  \
		char *text = kstrdup(line, GFP_KERNEL), *rest = text ? strim(text) : NULL;      \
		char *word = rest ? strsep(&rest, " ") : NULL;                                  \
		int err = added && word ? 0 : -ENOMEM;                                          \
                                                                                                \
		if (!err && strscpy(added->ops.name, word, TCP_CA_NAME_MAX) < 1)                \
			err = -EINVAL;                                                          \
		while (!err && (word = strsep(&rest, " ")))                                     \
			err = cc_set(&added->params, word);                                     \
		if (!err && cc_storage_bytes) {                                                 \
			added->init = added->ops.init;                                          \
			added->release = added->ops.release;                                    \
			added->ops.init = cc_start;                                             \
			added->ops.release = cc_end;                                            \
		}                                                                               \
		if (!err)                                                                       \
			err = tcp_register_congestion_control(&added->ops);                     \
		if (err)                                                                        \
			kfree(added);                                                           \
		else                                                                            \
			list_add(&added->list, &cc_instances);                                  \
		kfree(text);                                                                    \
		return err;                                                                     \
	}                                                                                       \
	static const struct kernel_param_ops cc_add_ops = { .set = cc_add };                    \
	module_param_cb(add, &cc_add_ops, NULL, 0200);                                          \
	MODULE_PARM_DESC(add, "registers " #algorithm ": NAME PARAMETER=NUMBER ...");           \
                                                                                                \
	static int __init cc_init(void)                                                         \
	{                                                                                       \
		return 0;                                                                       \
	}                                                                                       \
	static void __exit cc_exit(void)                                                        \
	{                                                                                       \
		struct cc_instance *each, *next;                                                \
                                                                                                \
		list_for_each_entry_safe(each, next, &cc_instances, list) {                     \
			tcp_unregister_congestion_control(&each->ops);                          \
			kfree(each);                                                            \
		}                                                                               \
	}                                                                                       \
	module_init(cc_init);                                                                   \
	module_exit(cc_exit);                                                                   \
	MODULE_LICENSE("Dual BSD/GPL");                                                         \
	MODULE_DESCRIPTION(summary)

#endif
