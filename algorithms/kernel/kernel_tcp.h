/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Of <net/tcp.h> and <linux/inet_diag.h>, what kernel_names.h does not have. */
#ifndef KERNEL_TCP_H
#define KERNEL_TCP_H

#define TCP_RTO_MAX ((unsigned int)(120 * HZ))
#define TCP_RTO_MIN ((unsigned int)(HZ / 5))
#define TCP_TIMEOUT_INIT ((unsigned int)HZ)

/* A socket that begins has no marks to clear; the host sends none for Reno. */
#define INET_ECN_dontxmit(sk) ((void)(sk))
#ifdef __bpf__
#define tcp_ca_needs_ecn(sk) ((void)(sk), !!(CC_FLAGS & TCP_CONG_NEEDS_ECN))
#else
#define tcp_ca_needs_ecn(sk) (!!(inet_csk(sk)->icsk_ca_ops->flags & TCP_CONG_NEEDS_ECN))
#endif
#undef __tcp_send_ack
#define __tcp_send_ack(sk, rcv_nxt, flags) ((void)(flags), (__tcp_send_ack)(sk, rcv_nxt))

/* What get_info tells the program ss. */
struct tcpvegas_info {
	u32 tcpv_enabled, tcpv_rttcnt, tcpv_rtt, tcpv_minrtt;
};

struct tcp_dctcp_info {
	u16 dctcp_enabled, dctcp_ce_state;
	u32 dctcp_alpha, dctcp_ab_ecn, dctcp_ab_tot;
};

struct tcp_bbr_info {
	u32 bbr_bw_lo, bbr_bw_hi, bbr_min_rtt, bbr_pacing_gain, bbr_cwnd_gain;
};

union tcp_cc_info {
	struct tcpvegas_info vegas;
	struct tcp_dctcp_info dctcp;
	struct tcp_bbr_info bbr;
};

enum { INET_DIAG_VEGASINFO = 3, INET_DIAG_DCTCPINFO = 9, INET_DIAG_BBRINFO = 16 };

/* The host has its two forms; prelude.h says which one this file has. */
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
	u32 (*tso_segs)(struct sock *sk, u32 mss_now);	/* of Google's BBRv3, in its place */
	u32 (*tso_segs_goal)(struct sock *sk);	/* of Linux before 4.18, the same */
	cc_kernel_cong_control *cong_control;
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*min_cwnd)(const struct sock *sk);	/* Linux 2.6 calls it, and no later one */
	u32 (*sndbuf_expand)(struct sock *sk);
	size_t (*get_info)(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	u32 flags;
	u32 key;
	char name[TCP_CA_NAME_MAX];
	struct module *owner;
};

#endif
