// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Linked to a file in the kernel's form, as it was published. What the file registers waits here
 * until a name is written to `ackclock_add`, since Linux may have an algorithm of the same name:
 *
 *	echo "NAME [OPS]" > /sys/module/MODULE/parameters/ackclock_add
 *
 * OPS: of several, the one of that name; else the first. With `ackclock_set=PARAMETER=VALUE` a
 * module is loaded with that value of PARAMETER, or of an element: PARAMETER[2]. What does not go
 * is told in a line of the kernel's log.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <net/tcp.h>

int ackclock_register(struct tcp_congestion_ops *ops);
void ackclock_unregister(struct tcp_congestion_ops *ops);

static struct tcp_congestion_ops *registered[16];
/* Their names in the file. */
static char names[ARRAY_SIZE(registered)][TCP_CA_NAME_MAX];

#ifdef TWO_ARGUMENTS
/* Before Linux 6.10 cong_control had two arguments. */
typedef void two_arguments(struct sock *sk, const struct rate_sample *rs);
static two_arguments *controls[ARRAY_SIZE(registered)];

static void four_arguments(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	for (int i = 0; i < ARRAY_SIZE(registered); i++)
		if (registered[i] == inet_csk(sk)->icsk_ca_ops)
			return controls[i](sk, rs);
}
#endif

/* Linux 7.1 and later tell of CA_EVENT_TX_START in a hook of its own. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
static void tx_start(struct sock *sk)
{
	inet_csk(sk)->icsk_ca_ops->cwnd_event(sk, CA_EVENT_TX_START);
}

static void divide_events(struct tcp_congestion_ops *ops)
{
	if (ops->cwnd_event && !ops->cwnd_event_tx_start)
		ops->cwnd_event_tx_start = tx_start;
}
#else
static void divide_events(struct tcp_congestion_ops *ops)
{
}
#endif

/* For tcp_register_congestion_control() of the file. */
int ackclock_register(struct tcp_congestion_ops *ops)
{
	divide_events(ops);
	for (int i = 0; i < ARRAY_SIZE(registered); i++) {
		if (!registered[i]) {
			registered[i] = ops;
			strscpy(names[i], ops->name);
#ifdef TWO_ARGUMENTS
			controls[i] = (two_arguments *)ops->cong_control;
			if (ops->cong_control)
				ops->cong_control = four_arguments;
#endif
			return 0;
		}
		if (!strncmp(names[i], ops->name, TCP_CA_NAME_MAX))
			return -EEXIST;
	}
	return -ENOSPC;
}

/* A module_init that fails takes back what it has registered. */
void ackclock_unregister(struct tcp_congestion_ops *ops)
{
	for (int i = 0; i < ARRAY_SIZE(registered); i++)
		if (registered[i] == ops)
			registered[i] = NULL;
}

/* The same ops once more, which have a name already. */
static struct tcp_congestion_ops *copy_of(int number)
{
	struct tcp_congestion_ops *ops = kmemdup(registered[number], sizeof(*ops), GFP_KERNEL);

	for (int i = number; ops && i < ARRAY_SIZE(registered); i++) {
		if (registered[i])
			continue;
		registered[i] = ops;
		strscpy(names[i], names[number]);
#ifdef TWO_ARGUMENTS
		controls[i] = controls[number];
#endif
		return ops;
	}
	kfree(ops);
	return NULL;
}

static int add(const char *line, const struct kernel_param *kp)
{
	char name[TCP_CA_NAME_MAX], wanted[TCP_CA_NAME_MAX] = "", all[sizeof(names)] = "";
	int err;

	if (sscanf(line, "%15s %15s", name, wanted) < 1)
		return -EINVAL;
	for (int i = 0; i < ARRAY_SIZE(registered) && registered[i]; i++) {
		struct tcp_congestion_ops *ops = registered[i];

		if (*wanted && strcmp(names[i], wanted)) {
			strlcat(all, *all ? ", " : "", sizeof(all));
			strlcat(all, names[i], sizeof(all));
			continue;
		}
		if (strcmp(ops->name, names[i]))
			ops = copy_of(i);
		if (!ops)
			return -ENOMEM;
		strscpy(ops->name, name);
		err = tcp_register_congestion_control(ops);
		if (err)
			pr_err("Linux does not register %s (error %d)\n", names[i], -err);
		return err;
	}
	if (*wanted)
		pr_err("registers no %s; it registers %s\n", wanted, *all ? all : "nothing");
	else
		pr_err("module_init registers no congestion control\n");
	return -ENOENT;
}

static const struct kernel_param_ops add_ops = { .set = add };
module_param_cb(ackclock_add, &add_ops, NULL, 0200);

/* `setting` is "PARAMETER=VALUE" or "PARAMETER[2]=VALUE"; PARAMETER has `len` letters. */
static int set_value(const struct kernel_param *kp, const char *setting, size_t len)
{
	const char *value = strchr(setting, '=') + 1;
	struct kernel_param one = *kp;
	unsigned int index;
	int err;

	if (setting[len] == '[') {
		const struct kparam_array *array = kp->arr;

		if (kp->ops != &param_array_ops || sscanf(setting + len, "[%u]=", &index) != 1 ||
		    index >= array->max) {
			pr_err("has no element %.*s\n", (int)(value - 1 - setting), setting);
			return -ENOENT;
		}
		one.ops = array->ops;
		one.arg = array->elem + array->elemsize * index;
		if (array->num)
			*array->num = max(*array->num, index + 1);
	}
	err = one.ops->set ? one.ops->set(value, &one) : -EPERM;
	if (err)
		pr_err("parameter %.*s: its own check refuses %s (error %d)\n", (int)len, setting,
		       value, -err);
	return err;
}

static int set(const char *setting, const struct kernel_param *own)
{
	const struct kernel_param *kp = THIS_MODULE->kp + THIS_MODULE->num_kp;
	size_t len = strcspn(setting, "[=");
	char all[512] = "";

	if (!strchr(setting, '='))
		return -EINVAL;
	while (kp-- > THIS_MODULE->kp) {
		if (strlen(kp->name) == len && !strncmp(kp->name, setting, len))
			return set_value(kp, setting, len);
		if (strstarts(kp->name, "ackclock_"))
			continue;
		strlcat(all, *all ? ", " : "", sizeof(all));
		strlcat(all, kp->name, sizeof(all));
	}
	pr_err("has no parameter %.*s; its parameters: %s\n", (int)len, setting,
	       *all ? all : "none");
	return -ENOENT;
}

static const struct kernel_param_ops set_ops = { .set = set };
module_param_cb(ackclock_set, &set_ops, NULL, 0);
