/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * THE CONTRACT between a congestion-control algorithm and its host.
 *
 * The structures carry the Linux kernel's names, nesting and units (windows in
 * packets, times in the unit that ends the name, jiffies where Linux has
 * jiffies), trimmed to what algorithms use. Under BPF they carry
 * preserve_access_index: CO-RE finds each member in the running kernel by its
 * name, so order and omissions do not matter. Natively they are plain
 * structures that crates/host/src/sock.rs mirrors with #[repr(C)]; a test
 * compares every offset with `cc_layout` (host/layout.c).
 *
 * A member that the BPF verifier does not let a program write is const here, so
 * that both compilers refuse what the kernel would refuse. Files in the kernel's
 * form write one more.
 */
#ifndef TCP_CC_TYPES_H
#define TCP_CC_TYPES_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;
/* Linux's long, which has 64 bits on every host. */
typedef __UINT64_TYPE__ cc_ulong;
typedef __INT64_TYPE__ cc_long;

#ifndef __cplusplus
#define bool _Bool
#define true 1
#define false 0
#endif

#ifndef CC_NOT_IN_BPF
#define CC_NOT_IN_BPF const
#endif

/* icsk_ca_state and the argument of set_state (RFC 5681, RFC 6675; Linux tcp.h). */
enum tcp_ca_state {
	TCP_CA_Open = 0,	/* nothing unusual */
	TCP_CA_Disorder = 1,	/* duplicate ACKs or SACKs, no loss inferred yet */
	TCP_CA_CWR = 2,		/* window reduced for ECN or local congestion */
	TCP_CA_Recovery = 3,	/* fast recovery */
	TCP_CA_Loss = 4,	/* after a retransmission timeout */
};

/* The argument of cwnd_event. */
enum tcp_ca_event {
	CA_EVENT_TX_START = 0,		/* first transmit with nothing in flight */
	CA_EVENT_CWND_RESTART = 1,	/* idle for an RTO or longer */
	CA_EVENT_COMPLETE_CWR = 2,	/* CWR or Recovery ended */
	CA_EVENT_LOSS = 3,		/* retransmission timeout */
	CA_EVENT_ECN_NO_CE = 4,		/* at the receiver: data without a mark has arrived */
	CA_EVENT_ECN_IS_CE = 5,		/* at the receiver: data with a mark has arrived */
};

/* The flags of in_ack_event. */
enum tcp_ca_ack_event_flags {
	CA_ACK_SLOWPATH = 1 << 0,
	CA_ACK_WIN_UPDATE = 1 << 1,
	CA_ACK_ECE = 1 << 2,
};

/* The .flags of CC_ALGORITHM. Without .flags an algorithm has the first. */
enum {
	TCP_CONG_NON_RESTRICTED = 1 << 0,	/* every user may choose it */
	TCP_CONG_NEEDS_ECN = 1 << 1,	/* both ends use ECN, and the receiver has CA_EVENT_ECN_* */
	TCP_CONG_NEEDS_ACCECN = 1 << 2,	/* both ends use accurate ECN (RFC 9768; Linux 7.0) */
	TCP_CONG_ECT_1_NEGOTIATION = 1 << 3,	/* until init, packets that allow marks carry ECT(1) */
};

/* Bits of ecn_flags. */
enum {
	TCP_ECN_OK = 1 << 0,		/* both ends have agreed to use ECN */
	TCP_ECN_QUEUE_CWR = 1 << 1,	/* the next new packet carries CWR */
	TCP_ECN_DEMAND_CWR = 1 << 2,	/* each ACK carries ECE */
	TCP_ECN_SEEN = 1 << 3,		/* a packet that allows marks has arrived */
	TCP_ECN_MODE_ACCECN = 1 << 4,	/* both ends use accurate ECN (RFC 9768), not TCP_ECN_OK */
	TCP_ECN_ECT_1 = 1 << 5,		/* data carries ECT(1) (RFC 9331); not in Linux 6.18 */
};

/* Bits of icsk_ack.pending. */
enum {
	ICSK_ACK_SCHED = 1 << 0,	/* an ACK is due for what has arrived */
	ICSK_ACK_TIMER = 1 << 1,	/* it waits for the delayed-ACK timer */
	ICSK_ACK_PUSHED = 1 << 2,	/* a segment had PSH */
	ICSK_ACK_NOW = 1 << 4,		/* an ACK must leave now */
};

enum { SK_PACING_NONE = 0, SK_PACING_NEEDED = 1, SK_PACING_FQ = 2 };

/* Words of private state that a socket gives its algorithm. */
#define ICSK_CA_PRIV_WORDS 13
#define TCP_INFINITE_SSTHRESH 0x7fffffff

#ifdef __bpf__
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#else
/*
 * What only the native host has: its clock, its random numbers and the flow's
 * parameter block. Algorithms reach it through tcp_cc.h (tcp_jiffies32,
 * cc_hz, cc_random, cc_param), never directly.
 */
struct cc_host {
	union {
		const void *params;	/* struct cc_params of the algorithm's file */
		const struct cc_kernel_ops *ops;	/* of a file in the kernel's form: its hooks */
	};
	u64 random;		/* state of the flow's xorshift generator, never 0 */
	const u32 jiffies;	/* jiffies of HZ ticks since boot, wrapping */
	const u32 hz;		/* ticks per second */
	const u8 era;		/* enum cc_era: which kernel's helpers to be */
	u8 is_reno;		/* cc_become_reno was called */
	u8 acks;		/* __tcp_send_ack was called, */
	u8 ack_ecn_flags;	/* with these flags, */
	u32 ack_rcv_nxt;	/* for this rcv_nxt */
	void *blocks;		/* what kzalloc gave to this socket, or CC_STORAGE */
	u8 enters_cwr;		/* tcp_enter_cwr was called */
};
#endif

#ifdef __bpf__
struct sock_common {
	const volatile unsigned char skc_state;
};
#endif

struct sock {
#ifdef __bpf__
	struct sock_common __sk_common;
#define sk_state __sk_common.skc_state
#else
	struct cc_host sk_host;
#endif
	cc_ulong sk_pacing_rate;	/* bytes per second */
	u32 sk_pacing_status;		/* SK_PACING_* */
	const u32 sk_gso_max_size;	/* bytes */
	const cc_ulong sk_max_pacing_rate;	/* what the application allows, bytes per second */
	const u8 sk_pacing_shift;	/* a burst has the data of 1/2^this s */
#ifndef __bpf__
	const u8 sk_state;		/* TCP_ESTABLISHED */
	const u16 sk_family;		/* AF_INET */
	const struct proto *sk_prot;	/* of files in the kernel's form: options of sockets */
#endif
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	const u32 icsk_rto;	/* retransmission timeout with its back-off, jiffies */
#ifdef __bpf__
	const struct cc_kernel_ops *icsk_ca_ops;	/* of files in the kernel's form */
	u8 icsk_ca_state : 5;
#else
	const u8 icsk_ca_state;	/* enum tcp_ca_state */
#endif
	struct {
		u8 pending;	/* ICSK_ACK_*; what this end will acknowledge */
	} icsk_ack;
	u64 icsk_ca_priv[ICSK_CA_PRIV_WORDS];
#ifndef __bpf__
	const u64 icsk_guard;	/* shows whether something wrote beyond the private state */
#endif
};

/* The timestamps of the ACK being handled (RFC 7323), ms. */
struct tcp_options_received {
	const u32 rcv_tsval;	/* the receiver's clock when the ACK left */
	const u32 rcv_tsecr;	/* ours when what it acknowledges left */
};

/* A windowed minimum (linux/win_minmax.h); tcp_min_rtt() reads it. */
struct minmax_sample {
	const u32 v;
};

struct minmax {
	struct minmax_sample s[1];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	const u64 tcp_mstamp;		/* time of the event being handled, us */
	const u64 delivered_mstamp;	/* time when `delivered` last rose, us */
	const u64 tcp_clock_cache;	/* tcp_mstamp in ns */
	const u64 tcp_wstamp_ns;	/* pacing: when the next packet may leave */
	const u64 bytes_acked;		/* all bytes acknowledged so far, and 1 for the SYN */
	const u32 snd_una;		/* first unacknowledged byte, wrapping */
	const u32 snd_nxt;		/* next byte to be sent, wrapping */
	u32 snd_cwnd;			/* congestion window, packets */
	u32 snd_cwnd_cnt;		/* credit of tcp_cong_avoid_ai, packets */
	u32 snd_cwnd_stamp;		/* jiffies of the last validation of cwnd */
	u32 snd_ssthresh;		/* slow-start threshold, packets */
	CC_NOT_IN_BPF u32 snd_cwnd_clamp;	/* cwnd never exceeds this, packets */
	const u32 snd_cwnd_used;	/* most packets out while not cwnd-limited */
	const u32 prior_cwnd;		/* cwnd when the last reduction began, packets */
	const u32 prior_ssthresh;	/* ssthresh saved at its start, packets */
	const u32 packets_out;		/* sent and not cumulatively ACKed, packets */
	const u32 retrans_out;		/* retransmitted and not yet ACKed, packets */
	const u32 sacked_out;		/* SACKed, packets */
	const u32 lost_out;		/* deemed lost, packets */
	const u32 max_packets_out;	/* most packets_out in the last window */
	const u32 delivered;		/* all packets delivered so far, and 1 for the handshake */
	const u32 lost;			/* all packets deemed lost so far */
	const u32 total_retrans;	/* all retransmissions so far */
	const u32 srtt_us;		/* smoothed RTT << 3, us */
	const u32 mdev_us;		/* medium deviation << 2, us */
	struct minmax rtt_min;		/* least RTT of the last 5 minutes, us */
	const u32 lsndtime;		/* jiffies of the last data packet sent */
	const u32 mss_cache;		/* bytes of payload in a full packet */
	const u32 delivered_ce;		/* of `delivered`, packets whose ACK had ECE */
	const u32 rcv_nxt;		/* next byte that this end expects, wrapping */
	u32 app_limited;		/* limited until delivered exceeds this; 0: not limited */
	u8 ecn_flags;			/* TCP_ECN_*; 0: the connection has no ECN */
#ifdef __bpf__
	u8 is_cwnd_limited : 1;
#else
	const u8 is_cwnd_limited;	/* was the last flight limited by cwnd? */
#endif
	struct tcp_options_received rx_opt;
	const u64 bytes_sent;		/* all payload sent so far, again or not */
	const u32 data_segs_out;	/* the same in packets */
	const u32 write_seq;		/* where the application's data end, or 1000 packets of them */
	const u32 snd_wnd;		/* bytes from snd_una that the receiver takes */
#ifndef __bpf__
	/* Of Google's BBRv3, whose kernel has them. */
	const u8 tlp_orig_data_app_limited;	/* was the data limited that a probe repeats? */
	u8 fast_ack_mode;	/* no effect: a receiver here reads what arrives */
#endif
};

/* What pkts_acked is told about an ACK. */
struct ack_sample {
	const u32 pkts_acked;	/* packets newly cumulatively ACKed */
	const s32 rtt_us;	/* RTT of the newest of them, or -1 */
	const u32 in_flight;	/* bytes delivered since the newest delivered packet was sent */
};

/*
 * Delivery-rate sample of an ACK (draft-cheng-iccrg-delivery-rate-estimation): `delivered`
 * packets in `interval_us`. "The packet" is the one that was sent last of all that the ACK newly
 * delivers. interval_us is -1 if there is no sample: if the ACK delivers nothing (then delivered
 * is -1, too), or if the interval is shorter than tcp_min_rtt().
 */
struct rate_sample {
	const u64 prior_mstamp;		/* tp->delivered_mstamp when the packet was sent; 0: none */
	const u32 prior_delivered;	/* tp->delivered then */
	const u32 prior_delivered_ce;	/* tp->delivered_ce then */
	const s32 delivered;		/* packets delivered since */
	const s32 delivered_ce;		/* of them, packets whose ACK had ECE */
	const cc_long interval_us;		/* the longer of the next two */
	const u32 snd_interval_us;	/* the interval of sending */
	const u32 rcv_interval_us;	/* the interval of ACKs */
	const cc_long rtt_us;		/* RTT of the packet that was ACKed or SACKed last, or -1 */
	const int losses;		/* packets marked lost on this ACK */
	const u32 acked_sacked;		/* packets newly ACKed or SACKed */
	const u32 prior_in_flight;	/* in flight before this ACK */
	const u32 last_end_seq;		/* the sequence number where the packet ends */
	const bool is_app_limited;	/* was the packet sent while app_limited was not 0? */
	const bool is_retrans;		/* was the packet a retransmission? */
	const bool is_ack_delayed;	/* may the ACK have waited for the delayed-ACK timer? */
#ifndef __bpf__
	/* Of Google's BBRv3, whose kernel has them. */
	const bool is_ece;		/* did the ACK tell of marks? */
	const bool is_acking_tlp_retrans_seq;	/* may it answer a probe, or the original? */
	const u32 prior_lost;		/* tp->lost when the packet was sent */
	const u32 tx_in_flight;		/* packets in flight then, with itself */
	const s32 lost;			/* packets deemed lost since */
#endif
};

#ifdef __bpf__
#pragma clang attribute pop
/* A BPF program has one argument, the array of the hook's. */
struct tcp_congestion_ops {
	u32 (*ssthresh)(u64 *ctx);
	void (*cong_avoid)(u64 *ctx);
	void (*set_state)(u64 *ctx);
	void (*cwnd_event)(u64 *ctx);
	void (*in_ack_event)(u64 *ctx);
	void (*pkts_acked)(u64 *ctx);
	u32 (*min_tso_segs)(u64 *ctx);
	void (*cong_control)(u64 *ctx);
	u32 (*undo_cwnd)(u64 *ctx);
	u32 (*min_cwnd)(u64 *ctx);
	u32 (*sndbuf_expand)(u64 *ctx);
	void (*init)(u64 *ctx);
	void (*release)(u64 *ctx);
	u32 flags;
	char name[16];
	void (*cwnd_event_tx_start)(u64 *ctx);	/* since Linux 7.1 */
};
#else
/* Hooks in the order in which a connection meets them; only ssthresh and
 * cong_avoid (or cong_control) are required: the host defaults the others, as
 * tcp_cc.h says at CC_ALGORITHM. */
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*min_cwnd)(const struct sock *sk);
	u32 (*sndbuf_expand)(struct sock *sk);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	u32 flags;
	char name[16];
};
#endif

#endif
