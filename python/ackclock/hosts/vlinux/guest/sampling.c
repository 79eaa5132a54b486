/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What measures: TCP_INFO of the flows, and the statistics of the queues. */
#define _GNU_SOURCE
#include "guest.h"

#include <fcntl.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int route_socket = -1, lost_file, counts_file = -1;

/* What Python reads has the names of the columns of docs/tables.md. */
struct sample {
	uint64_t time_ns;
	uint32_t flow, cwnd_packets, ssthresh_packets, srtt_us, min_rtt_us, in_flight_packets;
	uint64_t delivered_packets, delivered_bytes, lost_packets, retransmitted_packets;
	uint64_t state;
};

struct queue_sample {
	uint64_t time_ns, queue, queue_packets, queue_bytes, sojourn_us, dropped_packets, limit_dropped;
	uint64_t marked_packets, sent_packets, sent_bytes, link_lost_packets, policed_packets;
};

/* One per flow, as recorder.c writes it. */
struct counts {
	uint64_t dropped, marked_packets, link_lost_packets, policed_packets, sent, arrived;
};

/* One per queue, as recorder.c writes it. */
struct lost {
	uint64_t link_lost, policed, sojourn_ns;
};

static void look(const struct flow *flow, struct tcp_info *info)
{
	socklen_t size = sizeof(*info);

	memset(info, 0, sizeof(*info));
	if (getsockopt(flow->sender, IPPROTO_TCP, TCP_INFO, info, &size))
		die("TCP_INFO");
}

/* SYN and FIN count as a byte each. */
static uint64_t delivered_bytes(const struct flow *flow, const struct tcp_info *info)
{
	uint64_t acked = info->tcpi_bytes_acked ? info->tcpi_bytes_acked - 1 : 0;

	return acked < flow->written ? acked : flow->written;
}

static struct counts counts_of(const struct flow *flow)
{
	struct counts counts;

	if (counts_file < 0)
		counts_file = open("/proc/ackclock/counts", O_RDONLY | O_CLOEXEC);
	if (pread(counts_file, &counts, sizeof(counts), (flow->number - 1) * sizeof(counts)) != sizeof(counts))
		die("/proc/ackclock/counts");
	return counts;
}

uint64_t unacknowledged_bytes(const struct flow *flow)
{
	struct tcp_info info;

	look(flow, &info);
	return flow->written - delivered_bytes(flow, &info);
}

/* What all connections of a flow have sent, each byte once; of UDP what has arrived, as in the simulator. */
uint64_t sent_bytes(const struct flow *flow)
{
	uint64_t over = flow->over ? flow->over->delivered_bytes : 0, unsent;
	struct tcp_info info;

	if (!flow->connected)
		return over;
	if (flow->datagram)
		return counts_of(flow).arrived;
	look(flow, &info);
	unsent = info.tcpi_notsent_bytes; /* a FIN that waits is one of them */
	return over + (unsent < flow->written ? flow->written - unsent : 0);
}

/* What has been acknowledged of that. */
uint64_t acked_bytes(const struct flow *flow)
{
	uint64_t over = flow->over ? flow->over->delivered_bytes : 0;

	if (flow->datagram)
		return counts_of(flow).arrived;
	return flow->connected ? over + flow->written - unacknowledged_bytes(flow) : over;
}

int64_t cwnd_packets(const struct flow *flow)
{
	struct tcp_info info;

	look(flow, &info);
	return info.tcpi_snd_cwnd;
}

/* SYNs count, as in Linux. */
uint64_t total_retransmitted(const struct flow *flow)
{
	struct tcp_info info;

	look(flow, &info);
	return info.tcpi_total_retrans;
}

/* Packets of data. */
static uint64_t retransmitted(const struct flow *flow, const struct tcp_info *info)
{
	return flow->syns < 0 ? 0 : info->tcpi_total_retrans - flow->syns;
}

static uint32_t min_rtt_us(const struct tcp_info *info)
{
	return info->tcpi_min_rtt == UINT32_MAX ? 0 : info->tcpi_min_rtt;
}

void sample_flow(struct flow *flow, int64_t at_ns, FILE *to)
{
	struct tcp_info info;
	struct sample sample;

	if (flow->datagram) {
		uint64_t bytes = counts_of(flow).arrived;

		sample = (struct sample){
			.time_ns = at_ns,
			.flow = flow->number,
			.ssthresh_packets = INT32_MAX,
			.delivered_packets = bytes / flow->mss,
			.delivered_bytes = bytes,
		};
		fwrite(&sample, sizeof(sample), 1, to);
		return;
	}
	look(flow, &info);
	sample = (struct sample){
		.time_ns = at_ns,
		.flow = flow->number,
		.cwnd_packets = info.tcpi_snd_cwnd,
		.ssthresh_packets = info.tcpi_snd_ssthresh,
		.srtt_us = info.tcpi_rtt,
		.min_rtt_us = min_rtt_us(&info),
		.in_flight_packets = info.tcpi_unacked + info.tcpi_retrans - info.tcpi_sacked - info.tcpi_lost,
		.delivered_packets = info.tcpi_delivered ? info.tcpi_delivered - 1 : 0,
		.delivered_bytes = delivered_bytes(flow, &info),
		.lost_packets = retransmitted(flow, &info) +
			(info.tcpi_lost > info.tcpi_retrans ? info.tcpi_lost - info.tcpi_retrans : 0),
		.retransmitted_packets = retransmitted(flow, &info),
		.state = info.tcpi_ca_state,
	};
	fwrite(&sample, sizeof(sample), 1, to);
}

/* Adds what the open connection has done. */
void add_totals(const struct flow *flow, struct total *to)
{
	struct tcp_info info;

	if (flow->datagram) {
		to->delivered_bytes = counts_of(flow).arrived;
		to->sent_packets = counts_of(flow).sent;
		return;
	}
	look(flow, &info);
	to->delivered_bytes += delivered_bytes(flow, &info);
	to->sent_packets += info.tcpi_data_segs_out;
	to->retransmitted_packets += retransmitted(flow, &info);
	to->min_rtt_us = min_rtt_us(&info);
	to->receive_window_limited_us += info.tcpi_rwnd_limited;
	to->send_buffer_limited_us += info.tcpi_sndbuf_limited + flow->full_ns / 1000;
}

void open_statistics(void)
{
	if (route_socket >= 0)
		return;
	route_socket = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	lost_file = open("/proc/ackclock/lost", O_RDONLY | O_CLOEXEC);
	if (route_socket < 0 || lost_file < 0)
		die("the statistics of the queues");
}

static void of_aqm(const char *kind, const void *stats, size_t size, struct queue_sample *to)
{
	union {
		struct tc_codel_xstats codel;
		struct tc_fq_codel_xstats fq_codel;
		struct tc_fq_qd_stats fq;
		struct tc_pie_xstats pie;
		struct tc_red_xstats red;
	} x = { 0 };

	memcpy(&x, stats, size < sizeof(x) ? size : sizeof(x));
	if (!strcmp(kind, "codel")) {
		to->marked_packets = x.codel.ecn_mark + x.codel.ce_mark;
		to->limit_dropped = x.codel.drop_overlimit;
	} else if (!strcmp(kind, "fq_codel") && x.fq_codel.type == TCA_FQ_CODEL_XSTATS_QDISC) {
		to->marked_packets = x.fq_codel.qdisc_stats.ecn_mark + x.fq_codel.qdisc_stats.ce_mark;
		to->limit_dropped = x.fq_codel.qdisc_stats.drop_overlimit;
	} else if (!strcmp(kind, "pie")) {
		to->marked_packets = x.pie.ecn_mark;
		to->limit_dropped = x.pie.overlimit;
	} else if (!strcmp(kind, "red")) {
		to->marked_packets = x.red.marked;
		to->limit_dropped = x.red.pdrop;
	} else if (!strcmp(kind, "fq")) {
		to->marked_packets = x.fq.ce_mark;
		to->limit_dropped = to->dropped_packets - x.fq.flows_plimit;
	}
}

/* The statistics of the qdisc at the root, and of the AQM below it if there is one. */
static void of_qdisc(const struct nlmsghdr *header, struct queue_sample *samples)
{
	const struct tcmsg *message = NLMSG_DATA(header);
	int rest = header->nlmsg_len - NLMSG_LENGTH(sizeof(*message)), number = 0;
	struct rtattr *each = (void *)((char *)message + NLMSG_ALIGN(sizeof(*message)));
	int is_root = message->tcm_parent == TC_H_ROOT, with_child, is_queue;
	const struct rtattr *own = NULL;
	struct queue_sample *to;

	while (number < queues_len && queues[number].device != message->tcm_ifindex)
		number++;
	if (number == queues_len)
		return;
	to = &samples[number];
	with_child = strcmp(queues[number].kind, "-") != 0;
	is_queue = with_child ? TC_H_MAJ(message->tcm_handle) == 0x100000 : is_root;
	for (; RTA_OK(each, rest); each = RTA_NEXT(each, rest)) {
		int inner = RTA_PAYLOAD(each);

		if ((each->rta_type & NLA_TYPE_MASK) != TCA_STATS2)
			continue;
		for (struct rtattr *stat = RTA_DATA(each); RTA_OK(stat, inner); stat = RTA_NEXT(stat, inner)) {
			int type = stat->rta_type & NLA_TYPE_MASK;

			if (type == TCA_STATS_QUEUE && is_queue) {
				const struct gnet_stats_queue *queue = RTA_DATA(stat);

				to->queue_packets = queue->qlen;
				to->queue_bytes = queue->backlog;
				to->dropped_packets = queue->drops;
			} else if (type == TCA_STATS_BASIC && is_root) {
				struct gnet_stats_basic basic;

				memcpy(&basic, RTA_DATA(stat), sizeof(basic));
				to->sent_bytes = basic.bytes;
				to->sent_packets = basic.packets;
			} else if (type == TCA_STATS_PKT64 && is_root) {
				memcpy(&to->sent_packets, RTA_DATA(stat), sizeof(uint64_t));
			} else if (type == TCA_STATS_APP && is_queue && with_child) {
				own = stat;
			}
		}
	}
	if (own) /* which needs the drops, that come later */
		of_aqm(queues[number].kind, RTA_DATA(own), RTA_PAYLOAD(own), to);
}

void sample_queues(int64_t at_ns, FILE *to)
{
	struct {
		struct nlmsghdr header;
		struct tcmsg message;
	} request = {
		.header = { .nlmsg_len = sizeof(request), .nlmsg_type = RTM_GETQDISC,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.message.tcm_family = AF_UNSPEC,
	};
	static char answer[1 << 16];
	struct queue_sample samples[queues_len];
	struct lost lost[queues_len];

	memset(samples, 0, sizeof(samples));
	if (send(route_socket, &request, sizeof(request), 0) < 0)
		die("RTM_GETQDISC");
	for (int done = 0; !done;) {
		ssize_t size = recv(route_socket, answer, sizeof(answer), 0);

		if (size <= 0)
			die("RTM_GETQDISC");
		for (struct nlmsghdr *each = (void *)answer; NLMSG_OK(each, size); each = NLMSG_NEXT(each, size)) {
			done |= each->nlmsg_type == NLMSG_DONE || each->nlmsg_type == NLMSG_ERROR;
			if (each->nlmsg_type == RTM_NEWQDISC)
				of_qdisc(each, samples);
		}
	}
	if (pread(lost_file, lost, sizeof(lost), 0) != sizeof(lost))
		die("/proc/ackclock/lost");
	for (int i = 0; i < queues_len; i++) {
		samples[i].time_ns = at_ns;
		samples[i].queue = i + 1;
		samples[i].link_lost_packets = lost[i].link_lost;
		samples[i].policed_packets = lost[i].policed;
		samples[i].sojourn_us = lost[i].sojourn_ns / 1000;
	}
	fwrite(samples, sizeof(*samples), queues_len, to);
}

void copy(const char *from, FILE *to)
{
	static char data[1 << 18];
	int fd = open(from, O_RDONLY);
	ssize_t size;

	if (fd < 0)
		die(from);
	while ((size = read(fd, data, sizeof(data))) > 0)
		fwrite(data, 1, size, to);
	close(fd);
}
