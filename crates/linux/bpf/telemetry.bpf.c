/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A record of the sender's state per ACK, through a ring buffer. tcp_probe fires for every
 * segment that an established socket receives, before it is handled: a record shows the state
 * that the ACK meets, which is what the ACK before it left.
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef signed int __s32;
typedef signed long long __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u32 __wsum;
typedef _Bool bool;

#pragma GCC diagnostic ignored "-Wunused-parameter"	/* BPF_PROG's ctx */
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
	BPF_RB_AVAIL_DATA = 0,
	BPF_RB_RING_SIZE = 1,
	RING_BYTES = 1 << 24,
	SOCKETS_MAX = 1 << 16,
	CA_PRIV_WORDS = 13,
	MOST_SACKS = 3,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sock_common {
	u16 skc_num;		/* local port */
	__be16 skc_dport;	/* remote port */
};

struct sock {
	struct sock_common __sk_common;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u8 icsk_ca_state : 5;
	u64 icsk_ca_priv[CA_PRIV_WORDS];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_una;
	u32 snd_nxt;
	u64 bytes_acked;
	u32 snd_cwnd;
	u32 snd_ssthresh;
	u32 srtt_us;
	u32 packets_out;
	u32 retrans_out;
	u32 sacked_out;
	u32 lost_out;
};

struct sk_buff {
	unsigned char *data;	/* the header of TCP */
};
#pragma clang attribute pop

/* Mirrored by `AckRecord` in src/bpf/telemetry.rs. */
struct record {
	u64 time_ns;		/* CLOCK_MONOTONIC */
	u64 cookie;		/* SO_COOKIE of the socket */
	u32 cwnd_packets;
	u32 ssthresh_packets;
	u32 srtt_us;
	u32 in_flight_packets;
	u16 local_port;
	u16 remote_port;
	u32 state;		/* enum tcp_ca_state */
	u64 una_bytes;		/* below the first byte of data: 0 */
	u64 nxt_bytes;
	u64 ack_bytes;
	u64 sacks[MOST_SACKS][2];
	u64 ca_priv[CA_PRIV_WORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} records SEC(".maps");

/* Cookies of the sockets to watch, where filter_by_cookie. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SOCKETS_MAX);
	__type(key, u64);
	__type(value, u8);
} cookies SEC(".maps");

/* Records that found the ring full, per CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} lost SEC(".maps");

const volatile bool filter_by_cookie = 0;
const volatile u16 filter_port = 0;	/* local or remote; 0: any */

char telemetry_license[] SEC("license") = "GPL";

/* As Linux writes it: a timestamp, and SACK blocks behind it. */
struct header {
	u16 ports[2];
	u32 seq, ack;
	u8 words, flags;	/* words: in the upper half */
	u16 window, checksum, urgent;
	u8 timestamp[12];
	u8 sack[4];		/* NOP, NOP, 5, length */
	u32 blocks[MOST_SACKS][2];
};

/* A sequence number in bytes of the connection. */
static u64 bytes_at(const struct record *record, const struct tcp_sock *tp, u32 big_endian)
{
	return record->una_bytes + (int)(__builtin_bswap32(big_endian) - tp->snd_una);
}

static void read_header(struct record *record, const struct tcp_sock *tp, const struct sk_buff *skb)
{
	struct header header = {};
	u32 length, blocks = 0;

	/* The SYN is one of them. */
	record->una_bytes = tp->bytes_acked - 1;
	record->nxt_bytes = record->una_bytes + (tp->snd_nxt - tp->snd_una);
	bpf_probe_read_kernel(&header, 20, skb->data);
	length = (header.words >> 4) * 4;
	record->ack_bytes = bytes_at(record, tp, header.ack);
	if (length > 32)
		bpf_probe_read_kernel(&header, sizeof(header), skb->data);
	if (header.sack[2] == 5)
		blocks = header.sack[3] / 8;
	for (u32 i = 0; i < MOST_SACKS; i++)
		for (u32 end = 0; end < 2; end++)
			record->sacks[i][end] = i < blocks ? bytes_at(record, tp, header.blocks[i][end]) : 0;
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(probe, struct sock *sk, struct sk_buff *skb)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct inet_connection_sock *icsk = &tp->inet_conn;
	u16 local = sk->__sk_common.skc_num;
	u16 remote = __builtin_bswap16(sk->__sk_common.skc_dport);
	struct record *record;
	u64 cookie;

	/* A receiver has nothing out. */
	if (!tp || !tp->packets_out)
		return 0;
	if (filter_port && local != filter_port && remote != filter_port)
		return 0;
	cookie = bpf_get_socket_cookie(sk);
	if (filter_by_cookie && !bpf_map_lookup_elem(&cookies, &cookie))
		return 0;

	record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
	if (!record) {
		u32 zero = 0;
		u64 *count = bpf_map_lookup_elem(&lost, &zero);

		if (count)
			(*count)++;
		return 0;
	}
	record->time_ns = bpf_ktime_get_ns();
	record->cookie = cookie;
	record->cwnd_packets = tp->snd_cwnd;
	record->ssthresh_packets = tp->snd_ssthresh;
	record->srtt_us = tp->srtt_us >> 3;
	record->in_flight_packets =
		tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
	record->local_port = local;
	record->remote_port = remote;
	record->state = BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state);
	read_header(record, tp, skb);
	for (u32 word = 0; word < CA_PRIV_WORDS; word++)
		record->ca_priv[word] = icsk->icsk_ca_priv[word];
	/* Waking the reader costs more than the record: when a quarter of the ring is full. */
	bpf_ringbuf_submit(record, bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) <
					   bpf_ringbuf_query(&records, BPF_RB_RING_SIZE) / 4
					   ? BPF_RB_NO_WAKEUP
					   : BPF_RB_FORCE_WAKEUP);
	return 0;
}
