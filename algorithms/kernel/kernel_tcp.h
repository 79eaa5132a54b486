/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Of <net/tcp.h>, <linux/win_minmax.h> and <linux/inet_diag.h>, what tcp_cc.h does not have. */
#ifndef KERNEL_TCP_H
#define KERNEL_TCP_H

#define TCP_CA_NAME_MAX 16
#define TCP_INIT_CWND 10
#define MAX_TCP_HEADER 320
#define MAX_TCP_WINDOW 32767U
#define MAX_TCP_OPTION_SPACE 40
#define TCP_MIN_MSS 88U
#define TCP_MSS_DEFAULT 536U
#define TCP_RTO_MAX ((unsigned int)(120 * HZ))
#define TCP_RTO_MIN ((unsigned int)(HZ / 5))
#define TCP_TIMEOUT_INIT ((unsigned int)HZ)
#define GSO_LEGACY_MAX_SIZE 65536u
#define GSO_MAX_SIZE GSO_LEGACY_MAX_SIZE

enum { TCPF_CA_Open = 1 << TCP_CA_Open, TCPF_CA_Disorder = 1 << TCP_CA_Disorder,
       TCPF_CA_CWR = 1 << TCP_CA_CWR, TCPF_CA_Recovery = 1 << TCP_CA_Recovery,
       TCPF_CA_Loss = 1 << TCP_CA_Loss };
enum { TCP_ESTABLISHED = 1, TCP_CLOSE = 7, TCP_LISTEN = 10 };

/* Counters of the kernel that nobody reads here. */
#define NET_INC_STATS(net, field) ((void)0)
#define NET_ADD_STATS(net, field, n) ((void)0)
#define __NET_INC_STATS NET_INC_STATS
#define __NET_ADD_STATS NET_ADD_STATS
#define TCP_INC_STATS(net, field) ((void)0)

/* A socket that begins has no marks to clear; the host sends none for Reno. */
#define INET_ECN_dontxmit(sk) ((void)(sk))
#define tcp_ca_needs_ecn(sk) (!!(inet_csk(sk)->icsk_ca_ops->flags & TCP_CONG_NEEDS_ECN))
#define tcp_mss_to_mtu(sk, mss) ((int)(mss) + 20 + 20 + 12)
#define tcp_left_out(tp) ((tp)->sacked_out + (tp)->lost_out)
#define tcp_current_ssthresh(sk) cc_kernel_current_ssthresh(sk)
#define tcp_max_tso_deferred_mss(tp) 3U
#define inet_sk(sk) ((struct inet_sock *)(sk))
#define sk_pacing_shift_update(sk, shift) ((void)(sk), (void)(shift))
#define bytes_to_packets(bytes, mss) DIV_ROUND_UP(bytes, mss)
#undef __tcp_send_ack
#define __tcp_send_ack(sk, rcv_nxt, flags) ((void)(flags), (__tcp_send_ack)(sk, rcv_nxt))

/* No BPF program answers at a socket. */
enum { BPF_SOCK_OPS_BASE_RTT = 7 };
#define tcp_call_bpf(sk, op, nargs, args) ((void)(sk), -1)
#define tcp_call_bpf_2arg(sk, op, a, b) ((void)(sk), -1)

/* Linux's default: it does not change a flow's label (tcp_plb_enabled = 0). */
struct tcp_plb_state {
	u8 consec_cong_rounds : 5, unused : 3;
	u32 pause_until;
};
#define TCP_PLB_SCALE 8
#define tcp_plb_init(sk, plb) ((void)((plb)->consec_cong_rounds = 0, (plb)->pause_until = 0))
#define tcp_plb_update_state(sk, plb, ratio) ((void)(ratio))
#define tcp_plb_check_rehash(sk, plb) ((void)0)
#define tcp_plb_update_state_upon_rto(sk, plb) ((void)0)

/* The largest (smallest) value of a window: lib/win_minmax.c, by its rules. */
struct minmax_sample {
	u32 t;	/* when it was seen */
	u32 v;	/* the value */
};

struct minmax {
	struct minmax_sample s[3];	/* the best, the second and the third; each is younger */
};

#define minmax_get(m) ((m)->s[0].v)

static inline u32 minmax_reset(struct minmax *m, u32 t, u32 meas)
{
	m->s[0] = m->s[1] = m->s[2] = (struct minmax_sample){ t, meas };
	return meas;
}

static inline u32 cc_kernel_minmax_add(struct minmax *m, u32 win, struct minmax_sample new)
{
	u32 age = new.t - m->s[0].t;

	if (age > win) {
		/* The best is too old, and perhaps the second, too. */
		for (int i = 0; i < 2 && new.t - m->s[0].t > win; i++) {
			m->s[0] = m->s[1];
			m->s[1] = m->s[2];
			m->s[2] = new;
		}
	} else if (m->s[1].t == m->s[0].t && age > win / 4) {
		m->s[1] = m->s[2] = new;
	} else if (m->s[2].t == m->s[1].t && age > win / 2) {
		m->s[2] = new;
	}
	return m->s[0].v;
}

#define CC_KERNEL_RUNNING(name, is_as_good)                                            \
	static inline u32 name(struct minmax *m, u32 win, u32 t, u32 meas)             \
	{                                                                              \
		struct minmax_sample new = { t, meas };                                \
                                                                                       \
		if (meas is_as_good m->s[0].v || t - m->s[2].t > win)                  \
			return minmax_reset(m, t, meas);                               \
		if (meas is_as_good m->s[1].v)                                         \
			m->s[1] = m->s[2] = new;                                       \
		else if (meas is_as_good m->s[2].v)                                    \
			m->s[2] = new;                                                 \
		return cc_kernel_minmax_add(m, win, new);                              \
	}
CC_KERNEL_RUNNING(minmax_running_max, >=)
CC_KERNEL_RUNNING(minmax_running_min, <=)

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
	cc_kernel_cong_control *cong_control;
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*sndbuf_expand)(struct sock *sk);
	size_t (*get_info)(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	u32 flags;
	u32 key;
	char name[TCP_CA_NAME_MAX];
	struct module *owner;
};

static inline u32 cc_kernel_current_ssthresh(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;

	if (state == TCP_CA_CWR || state == TCP_CA_Recovery)
		return tp->snd_ssthresh;
	return max(tp->snd_ssthresh, (tp->snd_cwnd >> 1) + (tp->snd_cwnd >> 2));
}

#endif
