/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The applications of all flows in the virtual Linux, and what measures them.
 *
 *	guest run PLAN OUT
 *	guest load MODULE PARAMETERS	as insmod does
 *	guest off			ends the machine
 *
 * PLAN has one line per thing, in any order; times are ns from the start of the run:
 *
 *	run DURATION INTERVAL		the end, and the time between samples
 *	queue NAMESPACE DEVICE KIND	whose queue to sample; KIND of the AQM below a tbf, or none
 *	flow NUMBER SENDER RECEIVER ADDRESS CC CC_AT_RECEIVER START STOP SIZE WINDOW BUFFER UNSENT
 *		PACED LOWAT
 *	draw PAUSE SIZE			the flow above is a session: its next connection, SIZE long
 *	at TIME COMMAND...		run a command of the shell at that time
 *
 * "-" stands for nothing (STOP: never; SIZE, WINDOW, BUFFER: no limit). OUT gets samples.bin,
 * queues.bin, records.bin, flows.bin, transfers.bin and counts.bin, which ackclock/vlinux/records.py reads.
 * All of it is one process: it opens each socket in the namespace of its host.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FIRST_PORT 10000
#define NEVER INT64_MAX
#define NAME 64

struct draw {
	int64_t pause_ns;
	uint64_t size;
};

struct flow {
	uint32_t number;
	int sender, listener, receiver, paced, unsent, draws_len, next_draw;
	char *namespace, *cc;
	struct draw *draws;	/* of a session */
	struct total *over;	/* its connections that have ended */
	int connected, shut, stopped;
	int64_t start_ns, stop_ns;
	uint64_t size, written, window, buffer, full_ns, full_since_ns;
	struct sockaddr_in address;
	int lowat;
	int unread;	/* nothing of the connection has been read */
	enum { ONCE, FILLED, ALWAYS } fill;	/* see room() */
};

struct sample {
	uint64_t time_ns;
	uint32_t flow, cwnd, ssthresh, srtt_us, min_rtt_us, in_flight;
	uint64_t delivered_packets, delivered_bytes, lost, retransmitted;
	uint64_t state;
};

struct total {
	uint64_t flow, start_ns, delivered_bytes, sent, retransmitted, min_rtt_us;
	uint64_t window_limited_us, buffer_limited_us, transfers;
};

struct transfer {
	uint64_t session, start_ns, completed_ns, size;
};

struct queue_sample {
	uint64_t time_ns, queue, packets, bytes, sojourn_us, dropped, limit_dropped, marked;
	uint64_t sent_packets, sent_bytes, link_lost, policed;
};

/* One per queue, as recorder.c writes it. */
struct lost {
	uint64_t link_lost, policed;
};

struct queue {
	int device;
	char kind[NAME];
};

struct command {
	int64_t time_ns;
	char *text;
};

static struct flow *flows;
static struct queue *queues;
static struct command *commands;
static int flows_len, queues_len, commands_len, next_command;
static int64_t base_ns, duration_ns, interval_ns;
static int route_socket = -1, lost_file, epoll, timer, home;

static void die(const char *what)
{
	fprintf(stderr, "guest: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec - base_ns;
}

static void enter(const char *namespace)
{
	char path[NAME + 16];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", namespace);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(path);
	close(fd);
}

static int tcp_socket(const char *cc)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die("socket");
	if (strcmp(cc, "-") && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, strlen(cc)))
		die(cc);
	return fd;
}

static void watch(int fd, uint32_t events, uint64_t data)
{
	struct epoll_event event = { .events = events, .data.u64 = data };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		die("epoll_ctl");
}

static void watch_again(int fd, uint32_t events, uint64_t data)
{
	struct epoll_event event = { .events = events, .data.u64 = data };

	if (epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event))
		die("epoll_ctl");
}

/* What an event of epoll is about. */
enum { TIMER, LISTENER, RECEIVER, SENDER };
#define ABOUT(what, index) ((uint64_t)(what) << 32 | (uint32_t)(index))

static void clamp_window(const struct flow *flow, int fd)
{
	/* Above half of the receive buffer the window neither limits nor grows: no quick ACKs. */
	int bytes = flow->window ? flow->window : 120000000;

	setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &bytes, sizeof(bytes));
}

static int64_t number_of(const char *text, int64_t nothing)
{
	return strcmp(text, "-") ? strtoll(text, NULL, 10) : nothing;
}

static void add_flow(char *line)
{
	char sender[NAME], receiver[NAME], address[NAME], cc[NAME], cc_at_receiver[NAME];
	char start[NAME], stop[NAME], size[NAME], window[NAME], buffer[NAME], unsent[NAME];
	int one = 1;
	struct flow flow = { .receiver = -1, .address.sin_family = AF_INET };

	if (sscanf(line, "%u %63s %63s %63s %63s %63s %63s %63s %63s %63s %63s %63s %d %d",
		   &flow.number, sender, receiver, address, cc, cc_at_receiver, start, stop, size,
		   window, buffer, unsent, &flow.paced, &flow.lowat) != 14 ||
	    inet_pton(AF_INET, address, &flow.address.sin_addr) != 1) {
		errno = EINVAL;
		die(line);
	}
	flow.start_ns = number_of(start, 0);
	flow.stop_ns = number_of(stop, NEVER);
	flow.size = number_of(size, INT64_MAX);
	flow.window = number_of(window, 0);
	flow.buffer = number_of(buffer, INT64_MAX);
	flow.unsent = number_of(unsent, 1 << 20);
	flow.namespace = strdup(sender);
	flow.cc = strdup(cc);

	enter(receiver);
	flow.listener = tcp_socket(cc_at_receiver);
	flow.address.sin_port = htons(FIRST_PORT + flow.number);
	setsockopt(flow.listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (flow.window)
		clamp_window(&flow, flow.listener);
	if (bind(flow.listener, (void *)&flow.address, sizeof(flow.address)) || listen(flow.listener, 1))
		die("listen");
	flows = realloc(flows, (flows_len + 1) * sizeof(*flows));
	flows[flows_len] = flow;
	watch(flow.listener, EPOLLIN, ABOUT(LISTENER, flows_len));
	flows_len++;
}

static void add_draw(const char *line)
{
	struct flow *flow = &flows[flows_len - 1];
	char size[NAME];
	struct draw draw;

	if (sscanf(line, "%ld %63s", &draw.pause_ns, size) != 2) {
		errno = EINVAL;
		die(line);
	}
	draw.size = number_of(size, INT64_MAX);
	if (!flow->draws) {
		flow->over = calloc(1, sizeof(*flow->over));
		flow->start_ns += draw.pause_ns;
		flow->size = draw.size;
		flow->next_draw = 1;
	}
	flow->draws = realloc(flow->draws, (flow->draws_len + 1) * sizeof(draw));
	flow->draws[flow->draws_len++] = draw;
}

static void add_queue(const char *line)
{
	char namespace[NAME], device[NAME];
	struct queue queue;

	if (sscanf(line, "%63s %63s %63s", namespace, device, queue.kind) != 3) {
		errno = EINVAL;
		die(line);
	}
	enter(namespace);
	queue.device = if_nametoindex(device);
	if (route_socket < 0)
		route_socket = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (route_socket < 0 || !queue.device)
		die(device);
	queues = realloc(queues, (queues_len + 1) * sizeof(*queues));
	queues[queues_len++] = queue;
}

static void read_plan(const char *path)
{
	char *line = NULL;
	size_t size = 0;
	FILE *file = fopen(path, "r");

	if (!file)
		die(path);
	while (getline(&line, &size, file) > 0) {
		int at = 0;
		long long time_ns;

		if (!strncmp(line, "run ", 4)) {
			sscanf(line, "run %ld %ld", &duration_ns, &interval_ns);
		} else if (!strncmp(line, "flow ", 5)) {
			add_flow(line + 5);
		} else if (!strncmp(line, "draw ", 5)) {
			add_draw(line + 5);
		} else if (!strncmp(line, "queue ", 6)) {
			add_queue(line + 6);
		} else if (sscanf(line, "at %lld %n", &time_ns, &at) == 1 && at) {
			commands = realloc(commands, (commands_len + 1) * sizeof(*commands));
			commands[commands_len++] = (struct command){ time_ns, strdup(line + at) };
		}
	}
	fclose(file);
	free(line);
}

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

static uint32_t min_rtt_us(const struct tcp_info *info)
{
	return info->tcpi_min_rtt == UINT32_MAX ? 0 : info->tcpi_min_rtt;
}

static void sample_flow(struct flow *flow, int64_t at_ns, FILE *to)
{
	struct tcp_info info;
	struct sample sample;

	look(flow, &info);
	sample = (struct sample){
		.time_ns = at_ns,
		.flow = flow->number,
		.cwnd = info.tcpi_snd_cwnd,
		.ssthresh = info.tcpi_snd_ssthresh,
		.srtt_us = info.tcpi_rtt,
		.min_rtt_us = min_rtt_us(&info),
		.in_flight = info.tcpi_unacked + info.tcpi_retrans - info.tcpi_sacked - info.tcpi_lost,
		.delivered_packets = info.tcpi_delivered ? info.tcpi_delivered - 1 : 0,
		.delivered_bytes = delivered_bytes(flow, &info),
		.lost = info.tcpi_total_retrans +
			(info.tcpi_lost > info.tcpi_retrans ? info.tcpi_lost - info.tcpi_retrans : 0),
		.retransmitted = info.tcpi_total_retrans,
		.state = info.tcpi_ca_state,
	};
	fwrite(&sample, sizeof(sample), 1, to);
}

static void of_aqm(const char *kind, const void *stats, size_t size, struct queue_sample *to)
{
	union {
		struct tc_codel_xstats codel;
		struct tc_fq_codel_xstats fq;
		struct tc_pie_xstats pie;
		struct tc_red_xstats red;
	} x = { 0 };

	memcpy(&x, stats, size < sizeof(x) ? size : sizeof(x));
	if (!strcmp(kind, "codel")) {
		to->marked = x.codel.ecn_mark + x.codel.ce_mark;
		to->limit_dropped = x.codel.drop_overlimit;
		to->sojourn_us = x.codel.ldelay;
	} else if (!strcmp(kind, "fq_codel") && x.fq.type == TCA_FQ_CODEL_XSTATS_QDISC) {
		to->marked = x.fq.qdisc_stats.ecn_mark + x.fq.qdisc_stats.ce_mark;
		to->limit_dropped = x.fq.qdisc_stats.drop_overlimit;
	} else if (!strcmp(kind, "pie")) {
		to->marked = x.pie.ecn_mark;
		to->limit_dropped = x.pie.overlimit;
		to->sojourn_us = x.pie.delay;
	} else if (!strcmp(kind, "red")) {
		to->marked = x.red.marked;
		to->limit_dropped = x.red.pdrop;
	}
}

/* The statistics of the qdisc at the root, and of the AQM below it if there is one. */
static void of_qdisc(const struct nlmsghdr *header, struct queue_sample *samples)
{
	const struct tcmsg *message = NLMSG_DATA(header);
	int rest = header->nlmsg_len - NLMSG_LENGTH(sizeof(*message)), number = 0;
	struct rtattr *each = (void *)((char *)message + NLMSG_ALIGN(sizeof(*message)));
	int is_root = message->tcm_parent == TC_H_ROOT, with_child, is_queue;
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

				to->packets = queue->qlen;
				to->bytes = queue->backlog;
				to->dropped = queue->drops;
			} else if (type == TCA_STATS_BASIC && is_root) {
				struct gnet_stats_basic basic;

				memcpy(&basic, RTA_DATA(stat), sizeof(basic));
				to->sent_bytes = basic.bytes;
				to->sent_packets = basic.packets;
			} else if (type == TCA_STATS_PKT64 && is_root) {
				memcpy(&to->sent_packets, RTA_DATA(stat), sizeof(uint64_t));
			} else if (type == TCA_STATS_APP && is_queue && with_child) {
				of_aqm(queues[number].kind, RTA_DATA(stat), RTA_PAYLOAD(stat), to);
			}
		}
	}
}

static void sample_queues(int64_t at_ns, FILE *to)
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
		samples[i].link_lost = lost[i].link_lost;
		samples[i].policed = lost[i].policed;
	}
	fwrite(samples, sizeof(*samples), queues_len, to);
}

static void copy(const char *from, FILE *to)
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

/* Gives a socket to the recorder. */
static void tell_kernel(const char *file, int socket)
{
	char path[NAME];
	int fd;

	snprintf(path, sizeof(path), "/proc/ackclock/%s", file);
	fd = open(path, O_WRONLY);
	if (fd < 0 || dprintf(fd, "%d", socket) < 0)
		die(path);
	close(fd);
}

static void connect_flow(struct flow *flow, int index)
{
	enter(flow->namespace);
	flow->sender = tcp_socket(flow->cc);
	setns(home, CLONE_NEWNET);
	if (flow->paced) {
		uint64_t unlimited = UINT64_MAX - 1;

		if (setsockopt(flow->sender, SOL_SOCKET, SO_MAX_PACING_RATE, &unlimited, sizeof(unlimited)))
			die("SO_MAX_PACING_RATE");
	}
	if (setsockopt(flow->sender, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &flow->unsent, sizeof(flow->unsent)))
		die("TCP_NOTSENT_LOWAT");
	if (connect(flow->sender, (void *)&flow->address, sizeof(flow->address)) && errno != EINPROGRESS)
		die("connect");
	flow->connected = 1;
	flow->fill = ONCE;
	if (flow->buffer != INT64_MAX)
		tell_kernel("writer", flow->sender);
	watch(flow->sender, EPOLLOUT | EPOLLRDHUP | EPOLLET, ABOUT(SENDER, index));
}

/* Adds what the open connection has done. */
static void add_totals(const struct flow *flow, struct total *to)
{
	struct tcp_info info;

	look(flow, &info);
	to->delivered_bytes += delivered_bytes(flow, &info);
	to->sent += info.tcpi_data_segs_out;
	to->retransmitted += info.tcpi_total_retrans;
	to->min_rtt_us = min_rtt_us(&info);
	to->window_limited_us += info.tcpi_rwnd_limited;
	to->buffer_limited_us += info.tcpi_sndbuf_limited + flow->full_ns / 1000;
}

/* The receiver of a session has all, and its FIN has come: the next connection. */
static void end_transfer(struct flow *flow, FILE *transfers)
{
	struct transfer row = { flow->number, flow->start_ns, now_ns(), flow->size };

	fwrite(&row, sizeof(row), 1, transfers);
	add_totals(flow, flow->over);
	flow->over->transfers++;
	close(flow->sender);
	flow->connected = flow->shut = 0;
	flow->written = flow->full_ns = flow->full_since_ns = 0;
	flow->start_ns = NEVER;
	if (flow->next_draw < flow->draws_len) {
		const struct draw *draw = &flow->draws[flow->next_draw++];

		flow->start_ns = row.completed_ns + draw->pause_ns;
		flow->size = draw->size;
	}
}

/*
 * What else the application may write; 0: it waits. It fills the socket once, so that the first
 * packets are those of a send buffer. From then on there is always room, because a write that finds
 * none marks its last packet with PSH, which the receiver acknowledges at once.
 */
static uint64_t room(struct flow *flow, int index)
{
	int unsent, bytes = 1 << 29;

	if (flow->fill == ONCE)
		return UINT64_MAX;
	if (flow->fill == FILLED) {
		flow->fill = ALWAYS;
		if (setsockopt(flow->sender, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)))
			die("SO_SNDBUF");
		watch_again(flow->sender, EPOLLOUT | EPOLLRDHUP, ABOUT(SENDER, index));
	}
	if (ioctl(flow->sender, SIOCOUTQNSD, &unsent))
		die("SIOCOUTQNSD");
	bytes = unsent + 1 < flow->unsent ? flow->unsent - unsent - 1 : 0;
	return bytes < 1 << 16 ? bytes : 1 << 16;
}

/* Writes until the socket is full, or the application's own limit is reached. */
static void write_flow(struct flow *flow, int index)
{
	/* More than a socket holds at first: what is written in pieces shows in the packets. */
	static char zeros[1 << 21];
	struct tcp_info info;

	if (!flow->connected || flow->shut)
		return;
	if (flow->full_since_ns) {
		flow->full_ns += now_ns() - flow->full_since_ns;
		flow->full_since_ns = 0;
	}
	while (flow->written < flow->size) {
		uint64_t most = flow->size - flow->written, may;
		ssize_t sent;

		if (flow->buffer != INT64_MAX) {
			look(flow, &info);
			may = flow->written - delivered_bytes(flow, &info);
			may = flow->buffer > may ? flow->buffer - may : 0;
			if (!may)
				flow->full_since_ns = now_ns();
		} else {
			may = room(flow, index);
		}
		most = most < may ? most : may;
		if (!most)
			return;
		most = most < sizeof(zeros) ? most : sizeof(zeros);
		sent = send(flow->sender, zeros, most,
			    MSG_NOSIGNAL | (flow->written + most < flow->size ? MSG_MORE : 0));
		if (sent < 0) {
			flow->fill = FILLED;
			return;
		}
		flow->written += sent;
	}
	/* The FIN goes with the last segment, so the receiver acknowledges it at once. */
	shutdown(flow->sender, SHUT_WR);
	flow->shut = 1;
	watch_again(flow->sender, EPOLLRDHUP | EPOLLET, ABOUT(SENDER, index));
}

static void receive(struct flow *flow, int index, int what)
{
	if (what == LISTENER) {
		int fd = accept4(flow->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			return;
		flow->receiver = fd;
		flow->unread = flow->lowat;
		watch(fd, EPOLLIN, ABOUT(RECEIVER, index));
		return;
	}
	for (;;) {
		ssize_t size = recv(flow->receiver, NULL, 1 << 30, MSG_TRUNC);

		if (size > 0 && flow->unread) {
			/* Once data has come, the clamp holds. */
			clamp_window(flow, flow->receiver);
			if (flow->lowat > 1)
				setsockopt(flow->receiver, SOL_SOCKET, SO_RCVLOWAT, &flow->lowat, sizeof(flow->lowat));
			else if (!flow->draws) {
				/* A system call costs the virtual machine more than the packet does. */
				tell_kernel("reader", flow->receiver);
				epoll_ctl(epoll, EPOLL_CTL_DEL, flow->receiver, NULL);
			}
			flow->unread = 0;
		} else if (size == 0) {
			epoll_ctl(epoll, EPOLL_CTL_DEL, flow->receiver, NULL);
			if (flow->draws)
				close(flow->receiver);
			return;
		} else if (size < 0) {
			return;
		}
	}
}

/* Does what is due; returns when the next thing is. */
static int64_t keep_time(FILE *samples, FILE *to_queues, FILE *records)
{
	static int64_t next_sample_ns;
	int64_t at_ns = now_ns(), next_ns = duration_ns;

	for (int i = 0; i < flows_len; i++) {
		struct flow *flow = &flows[i];

		if (!flow->connected && flow->start_ns <= at_ns)
			connect_flow(flow, i);
		if (!flow->stopped && flow->stop_ns <= at_ns) {
			flow->stopped = 1;
			flow->size = flow->written;
			write_flow(flow, i);
		}
		if (!flow->connected && flow->start_ns < next_ns)
			next_ns = flow->start_ns;
		if (!flow->stopped && flow->stop_ns < next_ns)
			next_ns = flow->stop_ns;
	}
	while (next_command < commands_len && commands[next_command].time_ns <= at_ns)
		if (system(commands[next_command++].text))
			die("a command of the plan failed");
	if (next_command < commands_len && commands[next_command].time_ns < next_ns)
		next_ns = commands[next_command].time_ns;
	if (!next_sample_ns)
		next_sample_ns = interval_ns;
	if (interval_ns && next_sample_ns <= at_ns) {
		for (int i = 0; i < flows_len; i++)
			if (flows[i].connected && !flows[i].draws)
				sample_flow(&flows[i], at_ns, samples);
		sample_queues(at_ns, to_queues);
		copy("/proc/ackclock/records", records);
		fprintf(stdout, "%lld\n", (long long)at_ns);
		next_sample_ns = (at_ns / interval_ns + 1) * interval_ns;
	}
	if (interval_ns && next_sample_ns < next_ns)
		next_ns = next_sample_ns;
	return next_ns;
}

static void set_timer(int64_t at_ns)
{
	int64_t ns = base_ns + at_ns;
	struct itimerspec when = { .it_value = { ns / 1000000000, ns % 1000000000 } };

	if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL))
		die("timerfd_settime");
}

static FILE *output(const char *directory, const char *name)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "we");
	if (!file)
		die(path);
	return file;
}

static int load(const char *path, const char *parameters)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || syscall(SYS_finit_module, fd, parameters, 0))
		die(path);
	return 0;
}

static int run(const char *plan, const char *directory)
{
	struct rlimit files = { 1 << 20, 1 << 20 };
	struct epoll_event events[256];
	FILE *samples, *to_queues, *records, *totals, *transfers, *counts;

	prctl(PR_SET_TIMERSLACK, 1UL);
	setrlimit(RLIMIT_NOFILE, &files);
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	lost_file = open("/proc/ackclock/lost", O_RDONLY | O_CLOEXEC);
	home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	watch(timer, EPOLLIN, ABOUT(TIMER, 0));
	read_plan(plan);
	setns(home, CLONE_NEWNET);
	samples = output(directory, "samples.bin");
	to_queues = output(directory, "queues.bin");
	records = output(directory, "records.bin");
	totals = output(directory, "flows.bin");
	transfers = output(directory, "transfers.bin");
	counts = output(directory, "counts.bin");

	/* Time 0: a whole second, so that runs do not differ by how long the start took. */
	base_ns = (now_ns() / 1000000000 + 2) * 1000000000;
	set_timer(0);
	for (int done = 0; !done;) {
		int found = epoll_wait(epoll, events, 256, -1);

		for (int i = 0; i < found; i++) {
			int index = (uint32_t)events[i].data.u64, what = events[i].data.u64 >> 32;
			uint64_t expirations;

			if (what == SENDER && flows[index].draws && events[i].events & EPOLLRDHUP) {
				end_transfer(&flows[index], transfers);
				set_timer(keep_time(samples, to_queues, records));
			} else if (what == SENDER) {
				write_flow(&flows[index], index);
			} else if (what != TIMER) {
				receive(&flows[index], index, what);
			} else if (read(timer, &expirations, 8) == 8) {
				set_timer(keep_time(samples, to_queues, records));
				done = now_ns() >= duration_ns;
			}
		}
	}
	for (int i = 0; i < flows_len; i++) {
		struct flow *flow = &flows[i];
		struct total total = { 0 };

		if (flow->draws)
			total = *flow->over;
		total.flow = flow->number;
		total.start_ns = flow->start_ns;
		if (flow->connected) {
			struct transfer row = { flow->number, flow->start_ns, 0, flow->size };

			add_totals(flow, &total);
			if (flow->draws && flow->size != INT64_MAX)
				fwrite(&row, sizeof(row), 1, transfers);
		}
		fwrite(&total, sizeof(total), 1, totals);
	}
	sample_queues(duration_ns, output(directory, "end.bin"));
	copy("/proc/ackclock/records", records);
	copy("/proc/ackclock/counts", counts);
	fflush(NULL);
	fprintf(stdout, "base %lld\n", (long long)base_ns);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "run"))
		return run(argv[2], argv[3]);
	if (argc == 4 && !strcmp(argv[1], "load"))
		return load(argv[2], argv[3]);
	if (argc == 2 && !strcmp(argv[1], "off"))
		return reboot(RB_POWER_OFF);
	return 2;
}
