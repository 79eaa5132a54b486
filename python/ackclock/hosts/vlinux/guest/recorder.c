// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * What happens to the flows, recorded in the virtual kernel at the tracepoints of its TCP; and the
 * numbers that they draw.
 *
 * A flow is known by the port of its receiver, FIRST_PORT + its number. /proc/ackclock/records
 * gives `struct record`s, each once, in order of time; /proc/ackclock/counts a `struct counts`
 * per flow, flow 1 first; /proc/ackclock/lost a `struct lost` per link, link 1 first. A device whose name
 * begins with q, c, i or x and the number of a link drops for want of room, as asked, at random, or as a
 * policer.
 * In the device q a packet waits, from when it is given to it until it leaves. The datagrams of a flow
 * leave at the device with a u and its number.
 * The number of an open socket, written to /proc/ackclock/reader, has the kernel read and discard what arrives
 * there, at once, as an application would that has nothing else to do. One written to /proc/ackclock/stopper
 * loses what it has not sent, as if its application stopped. With the parameter packets=1, /proc/ackclock/packets
 * gives a `struct packet` for each packet that a sender sends or gets, each once, in their order. The layout is
 * that of ackclock/hosts/vlinux/records.py.
 */
#include <linux/ctype.h>
#include <linux/hashtable.h>
#include <linux/interrupt.h>
#include <linux/ip.h>
#include <linux/net.h>
#include <linux/module.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>
#include <linux/version.h>
#include <net/inet_ecn.h>
#include <net/sch_generic.h>
#include <net/tcp.h>

#include "conversations.h"
#include "headers.h"
#include "streams.h"

/* Of the virtual Linux alone (edits.py). */
extern struct Qdisc *(*queues_in_order)(struct Qdisc *head);
struct sk_buff *netem_head(struct Qdisc *sch);

#define FIRST_PORT 10000
#define RECORDS (1U << 19)
#define PACKETS (1U << 19)

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 19, 0)
#define TIMER(sk) (inet_csk(sk)->icsk_retransmit_timer)
#else
#define TIMER(sk) ((sk)->tcp_retransmit_timer)
#endif

static unsigned int flows = 1;
module_param(flows, uint, 0400);
static unsigned int links = 1;
module_param(links, uint, 0400);
static bool packets;
module_param(packets, bool, 0400);
/* Of the flows, those at the end. */
static unsigned int sessions;
module_param(sessions, uint, 0400);
static bool programs;
module_param(programs, bool, 0400);
static unsigned long long seed = 1;
module_param(seed, ullong, 0400);

enum { STATE, SLOW_START_EXIT, ESTABLISHED, COMPLETED };

struct record {
	u64 time_ns;
	u32 flow;
	u8 kind;	/* STATE, ... */
	u8 old_state;	/* enum tcp_ca_state, before ... */
	u8 new_state;	/* ... and after */
	u8 unused;
	u32 cwnd;
	u32 ssthresh;
	u32 in_flight;
	u32 prior_cwnd;
	u32 srtt_us;
	u32 lost_records;	/* so far: the buffer was full */
};

#define MOST_SACKS 3

/* Sequence numbers count from snd_una. */
struct packet {
	u64 time_ns;
	u64 una;		/* bytes of the connection that are acknowledged */
	u32 nxt;
	u32 flow;
	s32 from;		/* first byte of data; ACK number */
	u32 bytes;		/* of data; 0: an ACK */
	u32 segment;		/* bytes in each packet of the burst, but the last */
	s32 sacks[MOST_SACKS][2];
	u32 cwnd;
	u32 ssthresh;
	u32 in_flight;
	u32 srtt_us;
	u32 rto_us;
	s32 timer_us;		/* until it fires */
	u8 timer;		/* ICSK_TIME_RETRANS, ... */
	u8 state;
	u8 blocks;
	u8 unused;
	u32 lost;		/* as lost_records */
	u32 unused_too;
};

struct lost {
	u64 link_lost;
	u64 policed;	/* all packets */
	u64 sojourn_ns;	/* of the last packet that left the queue */
};

/* A packet in the device of a queue. */
struct waiting {
	struct hlist_node node;
	const struct sk_buff *skb;
	u64 since_ns;
};

static struct record *records;
static u32 head, tail, lost;
static struct packet *traffic;
static u32 traffic_head, traffic_tail, traffic_lost;
/* The sender's socket of each flow, from when it is established until it is closed. */
static struct sock **senders;
static struct counts *counts;
static struct lost *lost_by;
static u32 *ssthreshs;
/* What the congestion control of each flow draws: the stream, and the open connection. */
static struct chance {
	struct stream stream;
	u64 connection;
} *chances;
/* Of each link: its queue, its losses, the packets that come twice or that others overtake, and delays. */
static const char *const link_draws[] = { "queue", "loss", "duplicate", "reorder", "delay" };
static struct link_chance {
	struct stream of[ARRAY_SIZE(link_draws)];
} *link_chances;
static DEFINE_HASHTABLE(waits, 14);
/* sk_user_data of a sender whose application is woken by each ACK. */
static char writer;
/* Of one whose application has stopped, until all that it has sent is acknowledged. */
static char stopped;

/* Number of the flow of this port; 0: none. */
static u32 flow_of(__be16 port)
{
	u32 number = ntohs(port) - FIRST_PORT;

	return number <= flows ? number : 0;
}

static void record(struct sock *sk, u32 flow, u8 kind, u8 new_state)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct record *to;

	if (head - tail == RECORDS) {
		lost++;
		return;
	}
	to = &records[head++ % RECORDS];
	*to = (struct record){
		.time_ns = ktime_get_ns(),
		.flow = flow,
		.kind = kind,
		.old_state = inet_csk(sk)->icsk_ca_state,
		.new_state = new_state,
		.cwnd = tcp_snd_cwnd(tp),
		.ssthresh = tp->snd_ssthresh,
		.in_flight = tcp_packets_in_flight(tp),
		.prior_cwnd = tp->prior_cwnd,
		.srtt_us = tp->srtt_us >> 3,
		.lost_records = lost,
	};
}

static void on_state(void *data, struct sock *sk, const u8 ca_state)
{
	u32 flow = flow_of(inet_sk(sk)->inet_dport);

	if (flow)
		record(sk, flow, STATE, ca_state);
}

/* An ACK has arrived; TCP handles it now. */
static void on_ack(void *data, struct sock *sk, struct sk_buff *skb)
{
	u32 flow = flow_of(inet_sk(sk)->inet_dport);
	u32 ssthresh = tcp_sk(sk)->snd_ssthresh;
	u8 state = inet_csk(sk)->icsk_ca_state;

	if (!flow)
		return;
	if (ssthreshs[flow - 1] == TCP_INFINITE_SSTHRESH && ssthresh != TCP_INFINITE_SSTHRESH &&
	    state < TCP_CA_CWR)
		record(sk, flow, SLOW_START_EXIT, state);
	ssthreshs[flow - 1] = ssthresh;
	if (sk->sk_user_data == &writer && sk->sk_socket)
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	if (sk->sk_user_data == &stopped && TCP_SKB_CB(skb)->ack_seq == tcp_sk(sk)->write_seq) {
		sk->sk_user_data = NULL;
		record(sk, flow, COMPLETED, TCP_CA_Open);
	}
}

/* The state of a connection changes: FIN_WAIT2 is when all data and the FIN are acknowledged. */
static void on_connection(void *data, const struct sock *sk, const int old, const int new)
{
	u32 flow = sk->sk_protocol == IPPROTO_TCP ? flow_of(inet_sk(sk)->inet_dport) : 0;

	if (flow && packets && old == TCP_SYN_SENT && new == TCP_ESTABLISHED)
		senders[flow - 1] = (struct sock *)sk;
	if (flow && packets && new == TCP_CLOSE)
		senders[flow - 1] = NULL;
	if (flow && new == TCP_FIN_WAIT2) {
		record((struct sock *)sk, flow, COMPLETED, TCP_CA_Open);
	} else if (flow && old == TCP_SYN_SENT && new == TCP_ESTABLISHED) {
		chances[flow - 1].connection = connection_state(&chances[flow - 1].stream);
		((struct sock *)sk)->sk_use_task_frag = false; /* each flow has a process, and its pages, of its own */
		ssthreshs[flow - 1] = TCP_INFINITE_SSTHRESH;
		record((struct sock *)sk, flow, ESTABLISHED, TCP_CA_Open);
	}
}

/* Number of the flow whose data this is; 0: none. */
static u32 data_of(const struct sk_buff *skb)
{
	return flow_of(data_port(skb));
}

/* Of the flow, or of the program's conversation, whose data this is. */
static struct counts *counts_of(const struct sk_buff *skb)
{
	static struct counts none;
	u32 flow = data_of(skb);
	if (!flow && programs && data_port(skb))
		return conversation_of(skb) ?: &none;
	return flow ? &counts[flow - 1] : &none;
}

/* The blocks of an ACK: behind the timestamp, as Linux writes them. */
static void read_sacks(struct packet *to, const struct tcphdr *tcp, u32 una)
{
	const u8 *option = (const u8 *)(tcp + 1), *end = (const u8 *)tcp + 4 * tcp->doff;

	while (option < end && *option != TCPOPT_EOL) {
		if (*option == TCPOPT_NOP) {
			option++;
			continue;
		}
		if (option + 2 > end || option[1] < 2)
			return;
		if (*option == TCPOPT_SACK)
			for (; to->blocks < MOST_SACKS && to->blocks < option[1] / 8; to->blocks++)
				for (int i = 0; i < 2; i++)
					to->sacks[to->blocks][i] =
						get_unaligned_be32(option + 2 + 8 * to->blocks + 4 * i) - una;
		option += option[1];
	}
}

/* A packet of a sender, which has not changed its state yet. */
static void record_packet(const struct sock *sk, u32 flow, const struct sk_buff *skb, bool leaves)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct iphdr *ip = ip_hdr(skb);
	const struct tcphdr *tcp = (void *)ip + 4 * ip->ihl;
	u32 headers = 4 * (ip->ihl + tcp->doff);
	struct packet *to;

	if (traffic_head - traffic_tail == PACKETS) {
		traffic_lost++;
		return;
	}
	to = &traffic[traffic_head++ % PACKETS];
	*to = (struct packet){
		.time_ns = ktime_get_ns(),
		.una = tp->bytes_acked - 1,	/* the SYN is one of them */
		.nxt = tp->snd_nxt - tp->snd_una,
		.flow = flow,
		.from = (leaves ? ntohl(tcp->seq) : ntohl(tcp->ack_seq)) - tp->snd_una,
		.bytes = leaves ? skb->len - skb_network_offset(skb) - headers : 0,
		.segment = skb_shinfo(skb)->gso_size,
		.cwnd = tcp_snd_cwnd(tp),
		.ssthresh = tp->snd_ssthresh,
		.in_flight = tcp_packets_in_flight(tp),
		.srtt_us = tp->srtt_us >> 3,
		.rto_us = jiffies_to_usecs(icsk->icsk_rto),
		.timer_us = (s32)(TIMER(sk).expires - jiffies) * (s32)(USEC_PER_SEC / HZ),
		.timer = icsk->icsk_pending,
		.state = icsk->icsk_ca_state,
		.lost = traffic_lost,
	};
	if (!leaves)
		read_sacks(to, tcp, tp->snd_una);
}

/* Number of the flow, established, whose ACK this is; 0: none. */
static u32 acked_of(const struct sk_buff *skb)
{
	const struct iphdr *ip = ip_hdr(skb);
	const struct tcphdr *tcp = (void *)ip + 4 * ip->ihl;
	u32 flow;

	if (skb->protocol != htons(ETH_P_IP) || ip->protocol != IPPROTO_TCP)
		return 0;
	flow = flow_of(tcp->source);
	return flow && senders[flow - 1] ? flow : 0;
}

/* Number of the link whose queue this device has; 0: none. */
static u32 queue_of(const struct net_device *dev)
{
	u32 link;

	return dev && dev->name[0] == 'q' && !kstrtou32(dev->name + 1, 10, &link) && link <= links ?
		link : 0;
}

static u64 draw_of_flow(const struct sock *sk)
{
	u32 flow = flow_of(inet_sk(sk)->inet_dport);

	return flow ? connection_bits(&chances[flow - 1].connection) : get_random_u64();
}

/* `draw`: the first letter of what is drawn, and p for the delay of a path. */
static u64 draw_of_link(const struct net_device *dev, char draw)
{
	u32 link;

	if (kstrtou32(dev->name + 1, 10, &link) || !link || link > links)
		return get_random_u64();
	for (u32 i = 0; i < ARRAY_SIZE(link_draws) - 1; i++)
		if (*link_draws[i] == draw)
			return stream_bits(&link_chances[link - 1].of[i]);
	return stream_bits(&link_chances[link - 1].of[ARRAY_SIZE(link_draws) - 1]);
}

static void begin_streams(void)
{
	char name[32];

	for (u32 i = 0; i < flows; i++) {
		u32 plain = flows - sessions;

		snprintf(name, sizeof(name), i < plain ? "flow.%u.cc" : "session.%u.cc",
			 i < plain ? i + 1 : i + 1 - plain);
		chances[i].stream = stream_named(seed, name);
	}
	for (u32 i = 0; i < links; i++)
		for (u32 draw = 0; draw < ARRAY_SIZE(link_draws); draw++) {
			snprintf(name, sizeof(name), "link.%u.%s", i + 1, link_draws[draw]);
			link_chances[i].of[draw] = stream_named(seed, name);
		}
	random_of_flow = draw_of_flow;
	random_of_link = draw_of_link;
}

/* The place among the queues that run in one instant: links, the delays behind them, flows. */
static u32 turn_of(struct Qdisc *queue)
{
	const char *name = qdisc_dev(queue)->name;
	const struct sk_buff *skb;
	const struct tcphdr *tcp;
	u32 flow;

	if (*name == 'u' && !kstrtou32(name + 1, 10, &flow))
		return 2 + flow;
	if (!isdigit(name[1]) || (*name != 'r' && *name != 't'))
		return *name == 'w';
	skb = netem_head(queue);
	if (!skb || skb->protocol != htons(ETH_P_IP))
		return 2;
	tcp = (void *)ip_hdr(skb) + 4 * ip_hdr(skb)->ihl;
	return 2 + flow_of(*name == 'r' ? tcp->source : tcp->dest);
}

static struct Qdisc *sorted(struct Qdisc *head)
{
	struct Qdisc *first = NULL;

	while (head) {
		struct Qdisc *each = head, **at = &first;
		u32 turn = turn_of(each);

		head = each->next_sched;
		while (*at && turn_of(*at) <= turn)
			at = &(*at)->next_sched;
		each->next_sched = *at;
		*at = each;
	}
	return first;
}

static struct waiting *find_waiting(const struct sk_buff *skb)
{
	struct waiting *each;

	hash_for_each_possible(waits, each, node, (unsigned long)skb)
		if (each->skb == skb)
			return each;
	return NULL;
}

static void forget(struct waiting *of)
{
	if (of) {
		hash_del(&of->node);
		kfree(of);
	}
}

static void on_queued(void *data, struct sk_buff *skb)
{
	struct waiting *of;
	u32 flow;

	if (packets && skb->sk) {
		flow = data_of(skb);
		if (flow && senders[flow - 1] == skb->sk)
			record_packet(skb->sk, flow, skb, true);
	}
	if (!queue_of(skb->dev))
		return;
	forget(find_waiting(skb));
	of = kmalloc(sizeof(*of), GFP_ATOMIC);
	if (!of)
		return;
	of->skb = skb;
	of->since_ns = ktime_get_ns();
	hash_add(waits, &of->node, (unsigned long)skb);
}

/* Whether it is the interface of a host. */
static bool is_host(const struct net_device *dev)
{
	return str_has_prefix(dev->name, "sender") || !strcmp(dev->name, "receiver");
}

static void on_sent(void *data, const struct sk_buff *skb, const struct net_device *dev)
{
	u32 link = queue_of(dev), flow;
	struct waiting *of = link ? find_waiting(skb) : NULL;

	if (*dev->name == 'u' && (flow = data_of(skb)))
		counts[flow - 1].sent++;
	else if (programs && is_host(dev))
		counts_of(skb)->sent += max_t(u32, skb_shinfo(skb)->gso_segs, 1);
	if (of)
		lost_by[link - 1].sojourn_ns = ktime_get_ns() - of->since_ns;
	forget(of);
}

static void on_drop(void *data, struct sk_buff *skb, void *location,
		    enum skb_drop_reason reason, struct sock *rx_sk)
{
	struct counts *of;
	u32 link;

	if (!skb->dev || kstrtou32(skb->dev->name + 1, 10, &link) || !link || link > links)
		return;
	of = counts_of(skb);
	switch (skb->dev->name[0]) {
	case 'q':
		forget(find_waiting(skb));
		of->dropped++;
		break;
	case 'c':
	case 'i':
		of->link_lost_packets++;
		lost_by[link - 1].link_lost++;
		break;
	case 'x':
		of->policed_packets++;
		lost_by[link - 1].policed++;
		break;
	}
}

static void on_arrival(void *data, struct sk_buff *skb)
{
	struct counts *of;
	u32 flow;

	if (!skb->dev)
		return;
	if (packets && str_has_prefix(skb->dev->name, "sender")) {
		skb_reset_network_header(skb);
		flow = acked_of(skb);
		if (flow)
			record_packet(senders[flow - 1], flow, skb, false);
	}
	if (programs ? !is_host(skb->dev) : strcmp(skb->dev->name, "receiver"))
		return;
	skb_reset_network_header(skb);
	of = counts_of(skb);
	of->marked_packets += INET_ECN_is_ce(ip_hdr(skb)->tos);
	if (datagram(skb))
		of->arrived += ntohs(datagram(skb)->len) - sizeof(struct udphdr);
}

static ssize_t read_records(struct file *file, char __user *to, size_t size, loff_t *at)
{
	size_t written = 0;

	/* One reader, and one processor that writes. */
	for (; tail != head && written + sizeof(*records) <= size; tail++) {
		if (copy_to_user(to + written, &records[tail % RECORDS], sizeof(*records)))
			return -EFAULT;
		written += sizeof(*records);
	}
	return written;
}

static ssize_t read_packets(struct file *file, char __user *to, size_t size, loff_t *at)
{
	size_t written = 0;

	for (; traffic_tail != traffic_head && written + sizeof(*traffic) <= size; traffic_tail++) {
		if (copy_to_user(to + written, &traffic[traffic_tail % PACKETS], sizeof(*traffic)))
			return -EFAULT;
		written += sizeof(*traffic);
	}
	return written;
}

static ssize_t read_counts(struct file *file, char __user *to, size_t size, loff_t *at)
{
	return simple_read_from_buffer(to, size, at, counts, flows * sizeof(*counts));
}

static ssize_t read_lost(struct file *file, char __user *to, size_t size, loff_t *at)
{
	return simple_read_from_buffer(to, size, at, lost_by, links * sizeof(*lost_by));
}

static int discard(read_descriptor_t *desc, struct sk_buff *skb, unsigned int offset, size_t len)
{
	return len;
}

struct reader {
	struct sock *sk;
	struct tasklet_struct tasklet;
};

/* As an application it comes after TCP has decided whether the data that arrived is acknowledged. */
static void read_all(struct tasklet_struct *tasklet)
{
	struct sock *sk = container_of(tasklet, struct reader, tasklet)->sk;
	read_descriptor_t desc = { .count = 1 };

	bh_lock_sock(sk);
	if (!sock_owned_by_user(sk))
		tcp_read_sock(sk, &desc, discard);
	bh_unlock_sock(sk);
}

static void on_data(struct sock *sk)
{
	struct reader *reader = sk->sk_user_data;

	tasklet_schedule(&reader->tasklet);
}

/* The socket of whose file descriptor the number is written; the caller puts it. */
static struct socket *socket_of(const char __user *from, size_t size)
{
	int fd, err = kstrtoint_from_user(from, size, 10, &fd);
	struct socket *socket = err ? NULL : sockfd_lookup(fd, &err);

	return socket ?: ERR_PTR(err);
}

static ssize_t add_writer(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	struct socket *socket = socket_of(from, size);

	if (IS_ERR(socket))
		return PTR_ERR(socket);
	socket->sk->sk_user_data = &writer;
	sockfd_put(socket);
	return size;
}

static ssize_t stop_sender(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	struct socket *socket = socket_of(from, size);
	struct sk_buff *skb;

	if (IS_ERR(socket))
		return PTR_ERR(socket);
	lock_sock(socket->sk);
	while ((skb = tcp_send_head(socket->sk))) {
		tcp_unlink_write_queue(skb, socket->sk);
		tcp_wmem_free_skb(socket->sk, skb);
	}
	WRITE_ONCE(tcp_sk(socket->sk)->write_seq, tcp_sk(socket->sk)->snd_nxt);
	if (tcp_sk(socket->sk)->snd_una == tcp_sk(socket->sk)->snd_nxt)
		record(socket->sk, flow_of(inet_sk(socket->sk)->inet_dport), COMPLETED, TCP_CA_Open);
	else
		socket->sk->sk_user_data = &stopped;
	release_sock(socket->sk);
	sockfd_put(socket);
	return size;
}

static ssize_t add_reader(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	struct socket *socket = socket_of(from, size);
	struct reader *reader;

	if (IS_ERR(socket))
		return PTR_ERR(socket);
	reader = kzalloc(sizeof(*reader), GFP_KERNEL);
	if (!reader) {
		sockfd_put(socket);
		return -ENOMEM;
	}
	reader->sk = socket->sk;
	tasklet_setup(&reader->tasklet, read_all);
	lock_sock(socket->sk);
	socket->sk->sk_user_data = reader;
	socket->sk->sk_data_ready = on_data;
	release_sock(socket->sk);
	on_data(socket->sk);
	sockfd_put(socket);
	return size;
}

static const struct proc_ops of_reader = { .proc_write = add_reader };
static const struct proc_ops of_writer = { .proc_write = add_writer };
static const struct proc_ops of_stopper = { .proc_write = stop_sender };
static const struct proc_ops of_records = { .proc_read = read_records };
static const struct proc_ops of_packets = { .proc_read = read_packets };
static const struct proc_ops of_counts = { .proc_read = read_counts };
static const struct proc_ops of_lost = { .proc_read = read_lost };

static const struct {
	const char *name;
	void *probe;
} probes[] = {
	{ "tcp_cong_state_set", on_state },
	{ "tcp_probe", on_ack },
	{ "inet_sock_set_state", on_connection },
	{ "kfree_skb", on_drop },
	{ "netif_receive_skb", on_arrival },
	{ "net_dev_queue", on_queued },
	{ "net_dev_start_xmit", on_sent },
};

static void attach(struct tracepoint *tp, void *missing)
{
	for (int i = 0; i < ARRAY_SIZE(probes); i++)
		if (!strcmp(tp->name, probes[i].name) &&
		    !tracepoint_probe_register(tp, probes[i].probe, NULL))
			(*(int *)missing)--;
}

/* It stays until the machine ends. */
static int __init recorder_init(void)
{
	int missing = ARRAY_SIZE(probes);
	struct proc_dir_entry *directory = proc_mkdir("ackclock", NULL);

	records = vmalloc(RECORDS * sizeof(*records));
	counts = vzalloc((flows + 1) * sizeof(*counts));
	ssthreshs = vmalloc((flows + 1) * sizeof(*ssthreshs));
	lost_by = vzalloc(links * sizeof(*lost_by));
	traffic = packets ? vmalloc(PACKETS * sizeof(*traffic)) : NULL;
	senders = vzalloc((flows + 1) * sizeof(*senders));
	chances = vzalloc((flows + 1) * sizeof(*chances));
	link_chances = vzalloc(links * sizeof(*link_chances));
	if (!chances || !link_chances || !records || !counts || !lost_by || !ssthreshs || !directory ||
	    !senders || (packets && !traffic) || (programs && begin_conversations(directory)) ||
	    !proc_create("records", 0400, directory, &of_records) ||
	    !proc_create("packets", 0400, directory, &of_packets) ||
	    !proc_create("counts", 0400, directory, &of_counts) ||
	    !proc_create("lost", 0400, directory, &of_lost) ||
	    !proc_create("writer", 0200, directory, &of_writer) ||
	    !proc_create("stopper", 0200, directory, &of_stopper) ||
	    !proc_create("reader", 0200, directory, &of_reader))
		return -ENOMEM;
	for (u32 i = 0; i < flows; i++)
		ssthreshs[i] = TCP_INFINITE_SSTHRESH;
	begin_streams();
	queues_in_order = sorted;
	for_each_kernel_tracepoint(attach, &missing);
	return missing ? -ENOENT : 0;
}
module_init(recorder_init);
MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("Records flows for ackclock");
