/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The simulator as host: an algorithm is a table of functions. */
#ifndef HOST_NATIVE_H
#define HOST_NATIVE_H

/* Which kernel's helpers the host is. */
enum cc_era {
	CC_ERA_LINUX_2_6 = 0,	/* one packet per ACK; slow start while cwnd <= ssthresh */
	CC_ERA_LINUX_6 = 1,	/* packets are counted; slow start while cwnd < ssthresh */
};

/* host/tcp_cong.c */
u32 tcp_slow_start(struct tcp_sock *tp, u32 acked);
void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked);
u32 tcp_reno_ssthresh(struct sock *sk);
void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked);
u32 tcp_reno_undo_cwnd(struct sock *sk);
u32 tcp_reno_min_cwnd(const struct sock *sk);
void __tcp_send_ack(struct sock *sk, u32 rcv_nxt);
u32 cc_random(struct sock *sk);

/* When init returns the host puts Reno in the algorithm's place. */
static inline void cc_become_reno(struct sock *sk)
{
	sk->sk_host.is_reno = 1;
}

/*
 * Reduces the window without a loss, unless a reduction is under way. It begins when the hook has
 * returned: ssthresh and set_state are called then. No BPF program can call it.
 */
static inline void tcp_enter_cwr(struct sock *sk)
{
	sk->sk_host.enters_cwr = 1;
}

static inline u32 tcp_jiffies32(const struct sock *sk)
{
	return sk->sk_host.jiffies;
}

static inline u8 tcp_ca_state(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_state;
}

static inline u32 cc_hz(const struct sock *sk)
{
	return sk->sk_host.hz;
}

static inline bool cc_linux_2_6(const struct tcp_sock *tp)
{
	return tp->inet_conn.icsk_inet.sk.sk_host.era == CC_ERA_LINUX_2_6;
}

static inline bool tcp_in_slow_start(const struct tcp_sock *tp)
{
	return cc_linux_2_6(tp) ? tp->snd_cwnd <= tp->snd_ssthresh : tp->snd_cwnd < tp->snd_ssthresh;
}

/*
 * In slow start Linux 6 lets cwnd grow to twice what was in use; Linux 2.6 has only
 * the sender's verdict.
 */
static inline bool tcp_is_cwnd_limited(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (tp->is_cwnd_limited)
		return true;
	return !cc_linux_2_6(tp) && tcp_in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out;
}

#define CC_PARAM_MEMBER(name, value, least, most, scale, doc) u32 name;
struct cc_params {
	CC_PARAMS(CC_PARAM_MEMBER)
};
#ifndef cc_param
#define cc_param(sk, name) (((const struct cc_params *)(sk)->sk_host.params)->name)
#endif

/* What an algorithm's file exports; crates/host/src/module.rs mirrors it. */
struct cc_param_desc {
	const char *name;
	const char *doc;
	u32 value, least, most, scale;
};

struct cc_preset_desc {
	const char *name;
	const char *settings;
	const char *doc;
};

struct cc_module {
	const char *name;
	const char *summary;
	const struct cc_param_desc *params;
	const struct cc_preset_desc *presets;
	u32 params_len, presets_len;
	const u32 *storage_bytes;
	struct tcp_congestion_ops ops;
};

#define CC_PARAM_DESC(name, value, least, most, scale, doc) \
	{ #name, doc, value, least, most, scale },
#define CC_PRESET_DESC(name, settings, doc) { name, settings, doc },

/* The symbol of the module; the build gives each built-in file its own. */
#ifndef CC_MODULE
#define CC_MODULE cc_module
#endif

#define CC_PRIVATE_LAYOUT(type) _Static_assert(1, "")

/* Without CC_STORAGE it is 0. The block lies behind two words of the host's. */
static const u32 cc_storage_bytes;
#define CC_STORAGE_MAKE(type) static const u32 cc_storage_bytes = sizeof(type)
#define cc_storage(sk) ((cc_stored *)cc_stored_at(sk))
static inline void *cc_stored_at(const struct sock *sk)
{
	u64 *block = sk->sk_host.blocks;

	return block ? block + 2 : (void *)0;
}

#define CC_HOOK(type, name, ...) static type name(__VA_ARGS__)

#ifndef CC_ALGORITHM
#define CC_ALGORITHM(algorithm, about, ...)                                             \
	CC_CHECK_NAME(algorithm);                                                       \
	static const struct cc_param_desc cc_param_descs[] = {                          \
		CC_PARAMS(CC_PARAM_DESC)                                                \
	};                                                                              \
	static const struct cc_preset_desc cc_preset_descs[] = {                        \
		CC_PRESETS(CC_PRESET_DESC)                                              \
	};                                                                              \
	__attribute__((visibility("default"))) const struct cc_module CC_MODULE = {     \
		.name = #algorithm,                                                     \
		.summary = about,                                                       \
		.params = cc_param_descs,                                               \
		.presets = cc_preset_descs,                                             \
		.params_len = sizeof(cc_param_descs) / sizeof(struct cc_param_desc),    \
		.presets_len = sizeof(cc_preset_descs) / sizeof(struct cc_preset_desc), \
		.storage_bytes = &cc_storage_bytes,                                     \
		.ops = { __VA_ARGS__ },                                                 \
	}
#endif

#endif
