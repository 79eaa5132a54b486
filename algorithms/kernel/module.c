/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Linked to a file in the kernel's form. The host (crates/host/src/native/kernel_form.rs) reads cc_kernel,
 * sets parameters, calls start, and takes the hooks of what was registered.
 */
#include "kernel_dialect.h"
#include "cc_call.h"

/* Bytes that a socket may have from kzalloc at a time, and module_init. */
#define MOST_BYTES 65536
#define MOST_REGISTERED 16

extern CC_HIDDEN __attribute__((weak)) int cc_kernel_init(void);
extern CC_HIDDEN __attribute__((weak)) const char cc_kernel_summary[];
extern CC_HIDDEN __attribute__((weak)) const struct cc_kernel_param
	*const __start_cc_kernel_params[], *const __stop_cc_kernel_params[];

long cc_kernel_slot CC_OURS = 1;

/* The socket of module_init, which has none. */
static struct tcp_sock cc_no_connection = { .inet_conn.icsk_inet.sk.sk_family = AF_INET };
#define nobody cc_no_connection.inet_conn.icsk_inet.sk

/* A file that is not trusted asks by a call (checked.c); a trusted one has it in line. */
#ifdef CC_CHECKED
struct sock *cc_kernel_socket(void)
{
	return CC_CALL(cc_kernel_slot)->sk;
}

#define ENTERS(...)                          \
	struct cc_return returns[CC_DEPTH];  \
	cc_enter(__VA_ARGS__)
#define ENTER(sk, ...) ENTERS(sk, true, returns, __VA_ARGS__)
#define ENTER_NOBODY() ENTERS(&nobody, false, returns, NULL, 0)
#elif defined(CC_CALL)
#define ENTER(sk, ...) enter(sk)
#define ENTER_NOBODY() enter(&nobody)
static inline void enter(struct sock *sk)
{
#ifdef __x86_64__
	__asm__ volatile("mov %1, %%fs:(%0)" : : "r"(cc_kernel_slot), "r"(sk) : "memory");
#else
	CC_CALL(cc_kernel_slot)->sk = sk;
#endif
}
#else
#define ENTER(sk, ...) (cc_kernel_current = (sk))
#define ENTER_NOBODY() ENTER(&nobody)
__thread struct sock *cc_kernel_current;
#endif

#ifndef CC_CHECKED
#undef CC_LEAVE
#define CC_LEAVE() ((void)0)
#endif
#define AND_LEAVE_void(call) \
	call;                \
	CC_LEAVE();
#define AND_LEAVE_u32(call) \
	u32 answer = call;  \
	CC_LEAVE();         \
	return answer;

/*
 * An option of sockets that the file has itself (sk_prot), as an application sets it after init. It is
 * tried once, with module_init, so that an error is told; its setter is then known.
 */
#ifdef CC_SETSOCKOPT
static u32 sockopt, sockopt_value[4];
CC_KERNEL_PARAM(1000000, .name = "sockopt", .kind = "uint", .value = &sockopt, .size = 4);
CC_KERNEL_PARAM(1000001, .name = "sockopt", .doc = "TCP's option that is set at each socket; 0: none");
CC_KERNEL_PARAM(1000002, .name = "sockopt_value", .kind = "uint", .value = sockopt_value, .size = 4, .len = 4);
CC_KERNEL_PARAM(1000003, .name = "sockopt_value", .doc = "its value, as words of 4 bytes, the low one first");
static int (*cc_setter)(struct sock *, int, int, sockptr_t, unsigned int) CC_OURS = NULL;
#define SETS_OPTION (sockopt != 0)
#define OPTION_SETTER cc_setter
#define SET_OPTION(sk) \
	cc_setter(sk, IPPROTO_TCP, sockopt, (sockptr_t){ sockopt_value }, sizeof(sockopt_value))
#else
#define SETS_OPTION 0
#define OPTION_SETTER NULL
#define SET_OPTION(sk) 0
#endif

/* Each hook goes through icsk_ca_ops, which a file may change in init to other ops that it has. */
#ifdef CC_CHECKED
extern CC_HIDDEN const char __ehdr_start[], _end[];
#define OPS(sk) own_ops((sk)->sk_host.ops)
static inline const struct tcp_congestion_ops *own_ops(const struct tcp_congestion_ops *ops)
{
	u64 off = (u64)ops - (u64)__ehdr_start;

	if (off > (u64)(_end - __ehdr_start) - sizeof(*ops))
		cc_not_ops();
	return ops;
}
#else
#define OPS(sk) ((sk)->sk_host.ops)
#endif
#define NO_SAMPLE NULL, 0
#define HOOK(type, name, arguments, ...)          \
	static type hook_##name arguments         \
	{                                         \
		ENTER(sk, NO_SAMPLE);             \
		AND_LEAVE_##type(OPS(sk)->name(__VA_ARGS__)) \
	}
HOOK(u32, ssthresh, (struct sock *sk), sk)
HOOK(void, cong_avoid, (struct sock *sk, u32 ack, u32 acked), sk, ack, acked)
HOOK(void, set_state, (struct sock *sk, u8 new_state), sk, new_state)
HOOK(void, cwnd_event, (struct sock *sk, enum tcp_ca_event ev), sk, ev)
HOOK(void, in_ack_event, (struct sock *sk, u32 flags), sk, flags)
HOOK(u32, undo_cwnd, (struct sock *sk), sk)
HOOK(u32, sndbuf_expand, (struct sock *sk), sk)

static u32 hook_min_tso_segs(struct sock *sk)
{
	const struct cc_kernel_ops *ops = OPS(sk);

	ENTER(sk, NO_SAMPLE);
	AND_LEAVE_u32(ops->min_tso_segs ? ops->min_tso_segs(sk)
		      : ops->tso_segs ? ops->tso_segs(sk, tcp_sk(sk)->mss_cache)
				      : ops->tso_segs_goal(sk) ?: 2)
}

static void hook_init(struct sock *sk)
{
	ENTER(sk, NO_SAMPLE);
	if (CC_HAS_LARGE_PRIV)
		*(void **)inet_csk(sk)->icsk_ca_priv = cc_kernel_alloc(CC_CA_PRIV);
#ifdef CC_CHECKED
	CC_CALL(cc_kernel_slot)->may_switch = true;
#endif
	if (OPS(sk)->init)
		OPS(sk)->init(sk);
	if (SETS_OPTION)
		SET_OPTION(sk);
	CC_LEAVE();
	(void)OPS(sk);
}

static void hook_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	ENTER(sk, sample, sizeof(*sample));
	OPS(sk)->pkts_acked(sk, sample);
	CC_LEAVE();
}

static void hook_cong_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	ENTER(sk, rs, sizeof(*rs));
#ifdef CC_KERNEL_TWO_ARGUMENTS
	(void)ack;
	(void)flag;
	OPS(sk)->cong_control(sk, rs);
#else
	OPS(sk)->cong_control(sk, ack, flag, rs);
#endif
	CC_LEAVE();
}

/* A block of kzalloc: the next of its socket lies before it. */
struct block {
	struct block *next;
	size_t size;
	u64 data[];
};

extern void *calloc(size_t n, size_t size);
extern void free(void *block);

static u64 cc_init_memory[MOST_BYTES / 8];
static size_t cc_init_used;

void *cc_kernel_alloc(size_t size)
{
	struct sock *sk = cc_kernel_socket();
	struct block *block;
	size_t used = size;

	if (size > MOST_BYTES)
		return NULL;
	if (sk == &nobody) {
		void *memory = cc_init_memory + cc_init_used;
		size_t words = (size + 7) / 8;

		if (cc_init_used + words > ARRAY_SIZE(cc_init_memory))
			return NULL;
		cc_init_used += words;
		return memory;
	}
	for (block = sk->sk_host.blocks; block; block = block->next)
		used += block->size;
	block = used > MOST_BYTES ? NULL : calloc(1, sizeof(*block) + size);
	if (!block)
		return NULL;
	block->next = sk->sk_host.blocks;
	block->size = size;
	sk->sk_host.blocks = block;
	return block->data;
}

void *cc_kernel_calloc(size_t n, size_t size)
{
	return size && n > MOST_BYTES / size ? NULL : cc_kernel_alloc(n * size);
}

void cc_kernel_free(const void *memory)
{
	struct sock *sk = cc_kernel_socket();

	if (!memory || sk == &nobody)
		return;
	for (void **at = &sk->sk_host.blocks; *at; at = (void **)&((struct block *)*at)->next) {
		struct block *block = *at;

		if (block->data == memory) {
			*at = block->next;
			free(block);
			return;
		}
	}
	/* As in the kernel: what was not given, or was given back, is not freed. */
#ifdef CC_CHECKED
	cc_not_given(__builtin_return_address(0));
#endif
	__builtin_trap();
}

/* Of bpf_sk_storage_get: a block that begins with the address of its map. */
void *cc_kernel_storage(const void *map, size_t size, u64 flags)
{
	struct block *block = cc_kernel_socket()->sk_host.blocks;
	const void **made;

	for (; block; block = block->next)
		if (*(const void **)block->data == map)
			return block->data + 1;
	made = flags ? cc_kernel_alloc(sizeof(*made) + size) : NULL;
	if (!made)
		return NULL;
	*made = map;
	return made + 1;
}

/* What a BPF file asks by name. */
#undef CONFIG_HZ
CC_HIDDEN extern const u64 CONFIG_HZ, LINUX_KERNEL_VERSION;
const u64 CONFIG_HZ = CC_HZ, LINUX_KERNEL_VERSION = LINUX_VERSION_CODE;

/* What a file leaves at the end is freed for it. */
static void release(struct sock *sk)
{
	ENTER(sk, NO_SAMPLE);
	if (OPS(sk)->release)
		OPS(sk)->release(sk);
	CC_LEAVE();
	while (sk->sk_host.blocks)
		cc_kernel_free(((struct block *)sk->sk_host.blocks)->data);
}

/* Not zero: in a section of its own. Copies, for a file may write its variables (crash.rs). */
static struct tcp_congestion_ops cc_copies[MOST_REGISTERED] CC_OURS = { { .flags = 0 } };
static struct tcp_congestion_ops *cc_registered[MOST_REGISTERED + 1] CC_OURS = { NULL };
static u32 cc_registered_len CC_OURS = 0;

int tcp_register_congestion_control(struct tcp_congestion_ops *ops)
{
	if (!ops->ssthresh || !ops->undo_cwnd || !(ops->cong_avoid || ops->cong_control))
		return -EINVAL;
	for (u32 i = 0; i < cc_registered_len; i++)
		if (!__builtin_strncmp(cc_registered[i]->name, ops->name, TCP_CA_NAME_MAX))
			return -EEXIST;
	if (cc_registered_len == MOST_REGISTERED)
		return -ENOBUFS;
	cc_copies[cc_registered_len] = *ops;
	cc_registered[cc_registered_len] = &cc_copies[cc_registered_len];
	cc_registered_len++;
	return 0;
}

void tcp_unregister_congestion_control(struct tcp_congestion_ops *ops)
{
	(void)ops;
}

/* The hooks that the host calls for these ops; `own`: the file's, for the host to look at. */
#undef tcp_congestion_ops
static void hooks(const struct cc_kernel_ops *ops, struct tcp_congestion_ops *into,
		  const void *own[16])
{
	const void *all[16] = {
		ops->ssthresh, ops->cong_avoid, ops->set_state, ops->cwnd_event,
		ops->in_ack_event, ops->pkts_acked, ops->min_tso_segs, ops->cong_control,
		ops->undo_cwnd, ops->sndbuf_expand, ops->get_info, ops->init, ops->release,
		ops->tso_segs, ops->tso_segs_goal, OPTION_SETTER,
	};

	for (u32 i = 0; i < ARRAY_SIZE(all); i++)
		own[i] = all[i];
#define TAKE(name) into->name = ops->name ? hook_##name : NULL
	TAKE(ssthresh);
	TAKE(cong_avoid);
	TAKE(set_state);
	TAKE(cwnd_event);
	TAKE(in_ack_event);
	TAKE(pkts_acked);
	into->min_tso_segs = ops->min_tso_segs || ops->tso_segs || ops->tso_segs_goal
				     ? hook_min_tso_segs : NULL;
	TAKE(cong_control);
	TAKE(undo_cwnd);
	TAKE(sndbuf_expand);
	into->init = ops->init || CC_HAS_LARGE_PRIV || SETS_OPTION ? hook_init : NULL;
	into->release = release;
	into->min_cwnd = NULL;
	into->flags = ops->flags;
	for (u32 i = 0; i < TCP_CA_NAME_MAX; i++)
		into->name[i] = ops->name[i];
}

static s64 number(const char *text)
{
	u64 value = 0;
	bool is_negative = *text == '-';

	for (text += is_negative; *text >= '0' && *text <= '9'; text++)
		value = value * 10 + *text - '0';
	return is_negative ? -(s64)value : (s64)value;
}

static s64 get(const struct cc_kernel_param *param, u32 index)
{
	const char *at = (const char *)param->value + index * param->size;

	switch (param->size) {
	case 1:
		return *(const u8 *)at;
	case 2:
		return *(const s16 *)at;
	case 4:
		return *(const s32 *)at;
	default:
		return *(const s64 *)at;
	}
}

static void put(void *at, u32 size, s64 value)
{
	switch (size) {
	case 1:
		*(u8 *)at = value;
		break;
	case 2:
		*(u16 *)at = value;
		break;
	case 4:
		*(u32 *)at = value;
		break;
	default:
		*(u64 *)at = value;
	}
}

int param_set_int(const char *val, const struct kernel_param *kp)
{
	*(int *)kp->arg = number(val);
	return 0;
}

int param_set_uint_minmax(const char *val, const struct kernel_param *kp, unsigned int least,
			  unsigned int most)
{
	s64 value = number(val);

	if (value < least || value > most)
		return -EINVAL;
	*(unsigned int *)kp->arg = value;
	return 0;
}

int param_set_bool(const char *val, const struct kernel_param *kp)
{
	*(bool *)kp->arg = number(val) != 0;
	return 0;
}

int param_get_int(char *buffer, const struct kernel_param *kp)
{
	(void)kp;
	buffer[0] = 0;
	return 0;
}

/* `text` is `value`. Returns 0 or an error, negative. */
static int set(const struct cc_kernel_param *param, u32 index, s64 value, const char *text)
{
	struct kernel_param kp = { param->name, param->value };

	int answer = -EPERM;
	ENTER_NOBODY();
	if (param->ops) {
		if (param->ops->set)
			answer = param->ops->set(text, &kp);
		CC_LEAVE();
		return answer;
	}
	put((char *)param->value + index * param->size, param->size, value);
	if (param->given)
		*(u32 *)param->given = max(*(u32 *)param->given, index + 1);
	return 0;
}

static const char *summary(void)
{
	return cc_kernel_summary ? cc_kernel_summary : "";
}

/* Before all else: where each thread has the socket. */
static void prepare(long slot)
{
	cc_kernel_slot = slot;
	nobody.sk_host.random = 1;
}

static int try_option(void)
{
#ifdef CC_SETSOCKOPT
	if (cc_registered[0]->init)
		cc_registered[0]->init(&nobody);
	if (!nobody.sk_prot || !nobody.sk_prot->setsockopt)
		return -ENOPROTOOPT;
	cc_setter = nobody.sk_prot->setsockopt;
#endif
	return SET_OPTION(&nobody);
}

/* Returns what module_init returns. */
static int start(void)
{
	int answer;
	ENTER_NOBODY();
	answer = cc_kernel_init ? cc_kernel_init() : 0;
	if (!answer && SETS_OPTION && cc_registered_len)
		answer = try_option();
	CC_LEAVE();
	return answer;
}

__attribute__((visibility("default"))) const struct cc_kernel {
	const struct cc_kernel_param *const *params, *const *params_end;
	struct cc_kernel_ops *const *registered;
	const char *(*summary)(void);
	void (*prepare)(long slot);
	s64 (*get)(const struct cc_kernel_param *param, u32 index);
	int (*set)(const struct cc_kernel_param *param, u32 index, s64 value, const char *text);
	int (*start)(void);
	void (*hooks)(const struct cc_kernel_ops *ops, struct tcp_congestion_ops *into,
		      const void *own[16]);
} cc_kernel = {
	__start_cc_kernel_params, __stop_cc_kernel_params, cc_registered,
	summary, prepare, get, set, start, hooks,
};
