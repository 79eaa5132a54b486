/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Of what published modules use: packets, options of sockets, earlier kernels, and Google's BBRv3. */
#ifndef KERNEL_OTHERS_H
#define KERNEL_OTHERS_H

/* What their make writes of a kernel whose cong_control has four arguments. */
#define TCP_CONGESTION_OPS_CONG_CONTROL_HAS_4_ARGS
#define TCP_CONGESTION_OPS_HAS_TSO_SEGS

/* How many packets of 1/2^sk_pacing_shift s are in a burst, at least so many. */
#define tcp_tso_autosize(sk, mss_now, min_tso_segs)                                             \
	max_t(u32, min_t(u64, (sk)->sk_pacing_rate >> (sk)->sk_pacing_shift,                    \
			 (sk)->sk_gso_max_size - 1 - MAX_TCP_HEADER) / (mss_now), min_tso_segs)

/* Linux's defaults; no connection sees another namespace. */
struct net {
	struct {
		u8 sysctl_tcp_min_tso_segs, sysctl_tcp_tso_rtt_log, sysctl_tcp_plb_enabled, sysctl_tcp_ecn;
		int sysctl_tcp_pacing_ss_ratio, sysctl_tcp_pacing_ca_ratio, sysctl_tcp_reordering;
	} ipv4;
};
static inline struct net *cc_kernel_net(void)
{
	static const struct net net = { { 2, 9, 0, 2, 200, 120, 3 } };

	return (struct net *)&net;
}
#define sock_net(sk) ((void)(sk), cc_kernel_net())
#define init_net (*cc_kernel_net())

#ifndef __bpf__
/*
 * A packet of the write queue: the first that was not sent, as far as the application has written. Nothing
 * of a packet is kept here, so that others are not offered.
 */
struct tcp_skb_cb {
	u32 seq, end_seq;
	u8 sacked;
};
struct sk_buff {
	struct tcp_skb_cb cc_cb;
	u32 len;
};
#define TCP_SKB_CB(skb) ((struct tcp_skb_cb *)&(skb)->cc_cb)
#define tcp_skb_pcount(skb) DIV_ROUND_UP((skb)->len, tcp_sk(cc_kernel_socket())->mss_cache)
#define tcp_send_head(sk)                                                                       \
	(tcp_sk(sk)->write_seq == tcp_sk(sk)->snd_nxt ? (struct sk_buff *)NULL                  \
	 : &(struct sk_buff){ { tcp_sk(sk)->snd_nxt, cc_kernel_head_end(tcp_sk(sk)), 0 },       \
			      cc_kernel_head_end(tcp_sk(sk)) - tcp_sk(sk)->snd_nxt })
#define tcp_wnd_end(tp) ((tp)->snd_una + (tp)->snd_wnd)
static inline u32 cc_kernel_head_end(const struct tcp_sock *tp)
{
	return tp->snd_nxt + min_t(u32, tp->write_seq - tp->snd_nxt,
				   (GSO_MAX_SIZE - 1 - MAX_TCP_HEADER) / tp->mss_cache * tp->mss_cache);
}

/* Options of sockets. The kernel's own are not served. */
enum { AF_INET = 2, AF_INET6 = 10, IPPROTO_TCP = 6, SOL_TCP = 6 };
#define _LINUX_SOCKPTR_H
typedef struct {
	const void *at;
} sockptr_t;
struct proto {
	int (*setsockopt)(struct sock *sk, int level, int optname, sockptr_t optval,
			  unsigned int optlen);
	int (*getsockopt)(struct sock *sk, int level, int optname, char *optval, int *optlen);
};
static inline int cc_kernel_no_option(struct sock *sk, int level, int optname, sockptr_t optval,
				      unsigned int optlen)
{
	(void)sk, (void)level, (void)optname, (void)optval, (void)optlen;
	return -ENOPROTOOPT;
}
static const __attribute__((unused)) struct proto tcp_prot = { .setsockopt = cc_kernel_no_option };
static inline int copy_from_sockptr(void *to, sockptr_t from, size_t size)
{
	memcpy(to, from.at, size);
	return 0;
}
#define copy_from_user(to, from, size) (memcpy(to, from, size), 0UL)
#endif

#endif
