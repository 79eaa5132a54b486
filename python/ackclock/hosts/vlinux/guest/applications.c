/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The applications: what they write, and what reads it. */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* `sk_gso_max_size`: 64 KiB without room for headers. */
#define GSO_MAX_BYTES 65215
/* What an application writes at once that has more than its socket holds at first. */
#define FIRST_WRITE_BYTES (1 << 21)

int tcp_socket(const char *cc)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die("socket");
	if (strcmp(cc, "-") && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, strlen(cc)))
		die(cc);
	return fd;
}

int udp_socket(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die("socket");
	return fd;
}

void clamp_window(const struct flow *flow, int fd)
{
	/* Above half of the receive buffer the window neither limits nor grows: no quick ACKs. */
	int bytes = flow->window ? flow->window : 120000000;

	if (!flow->tuned)
		setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &bytes, sizeof(bytes));
}

/* The next phase may begin before the application writes again. */
static void await_phase(struct flow *flow)
{
	if (flow->next_write < flow->writes_len) {
		int64_t next_ns = flow->connected_ns + flow->writes[flow->next_write].at_ns;

		if (next_ns < flow->write_ns)
			flow->write_ns = next_ns;
	}
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

/* Whether its last phase is one write, and not without end. */
static int ends(const struct flow *flow)
{
	const struct write *last = flow->writes + flow->writes_len - 1;

	return flow->writes && last->size != INT64_MAX && last->every_ns == NEVER && last->pause_ns == NEVER;
}

/* Whether it does something when all is acknowledged. */
static int awaits_answers(const struct flow *flow)
{
	if (ends(flow))
		return 1;
	for (int i = 0; i < flow->writes_len; i++)
		if (flow->writes[i].pause_ns != NEVER)
			return 1;
	return 0;
}

static void connect_udp(struct flow *flow, int index)
{
	enter(flow->namespace);
	flow->sender = udp_socket();
	enter("-");
	if (connect(flow->sender, (void *)&flow->address, sizeof(flow->address)))
		die("connect");
	flow->connected = 1;
	write_flow(flow, index);
	watch(flow->sender, EPOLLOUT | EPOLLET, ABOUT(SENDER, index));
}

/* Has datagrams wait in its device, as many as its socket may. */
static void write_datagrams(const struct flow *flow)
{
	static char zeros[UINT16_MAX];

	while (send(flow->sender, zeros, flow->datagram, 0) >= 0)
		;
	if (errno != EAGAIN)
		die("send");
}

void connect_flow(struct flow *flow, int index)
{
	int most = 1 << 29, one = 1;

	if (flow->datagram) {
		connect_udp(flow, index);
		return;
	}
	for (char *end, *at = flow->draws ? flow->draws[flow->next_draw - 1].delays : ""; *at; at = end + 1) {
		end = strchr(at, ';');
		*end = 0;
		set_up(at);
	}
	enter(flow->namespace);
	flow->sender = tcp_socket(flow->cc);
	enter("-");
	if (flow->pacing_rate && setsockopt(flow->sender, SOL_SOCKET, SO_MAX_PACING_RATE,
					    &flow->pacing_rate, sizeof(flow->pacing_rate)))
		die("SO_MAX_PACING_RATE");
	if (setsockopt(flow->sender, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &flow->unsent, sizeof(flow->unsent)))
		die("TCP_NOTSENT_LOWAT");
	/* Whole segments, also into what is left of a window. */
	if (flow->paces && setsockopt(flow->sender, IPPROTO_TCP, TCP_CORK, &one, sizeof(one)))
		die("TCP_CORK");
	if (connect(flow->sender, (void *)&flow->address, sizeof(flow->address)) && errno != EINPROGRESS)
		die("connect");
	flow->connected = 1;
	flow->syns = -1;
	flow->fill = ONCE;
	/* What an application writes that has a limit of its own, the socket holds. */
	if ((flow->writes || flow->buffer != INT64_MAX) &&
	    setsockopt(flow->sender, SOL_SOCKET, SO_SNDBUF, &most, sizeof(most)))
		die("SO_SNDBUF");
	if (flow->buffer != INT64_MAX || awaits_answers(flow))
		tell_kernel("writer", flow->sender);
	watch(flow->sender, EPOLLOUT | EPOLLRDHUP | EPOLLET, ABOUT(SENDER, index));
}

/* The receiver of a session has all, and its FIN has come: the next connection. */
void end_transfer(struct flow *flow, FILE *transfers)
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
 * none marks its last packet with PSH, which the receiver acknowledges at once. Each write is as large
 * as TCP's largest packet, because PSH also shows where writes end (`forced_push`).
 */
static uint64_t room(struct flow *flow, int index)
{
	int unsent, mss, bytes = 1 << 29;
	socklen_t size = sizeof(mss);
	int first = flow->fill == ONCE;

	if (first && !flow->writes)
		return UINT64_MAX;
	if (flow->fill != ALWAYS) {
		flow->fill = ALWAYS;
		if (setsockopt(flow->sender, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)))
			die("SO_SNDBUF");
		if (getsockopt(flow->sender, IPPROTO_TCP, TCP_MAXSEG, &mss, &size))
			die("TCP_MAXSEG");
		flow->piece = GSO_MAX_BYTES / mss * mss;
		watch_again(flow->sender, EPOLLOUT | EPOLLRDHUP, ABOUT(SENDER, index));
	}
	if (first)
		return FIRST_WRITE_BYTES / flow->piece * flow->piece;
	if (ioctl(flow->sender, SIOCOUTQNSD, &unsent))
		die("SIOCOUTQNSD");
	bytes = unsent + 1 < flow->unsent ? flow->unsent - unsent - 1 : 0;
	return bytes < flow->piece ? 0 : flow->piece;
}

/* The application writes for the first time, or again. */
void begin_write(struct flow *flow, int index)
{
	const struct write *phase;
	int64_t at_ns = now_ns();

	if (flow->next_write < flow->writes_len &&
	    flow->connected_ns + flow->writes[flow->next_write].at_ns <= at_ns)
		flow->next_write++;
	flow->write_ns = NEVER;
	if (flow->next_write) {
		phase = &flow->writes[flow->next_write - 1];
		flow->size = phase->size == INT64_MAX ? INT64_MAX : flow->size + phase->size;
		flow->awaits_answer = phase->pause_ns != NEVER;
		if (phase->every_ns != NEVER)
			flow->write_ns = at_ns + phase->every_ns;
	}
	await_phase(flow);
	write_flow(flow, index);
}

/* All is acknowledged. */
static void answer(struct flow *flow)
{
	if (!flow->awaits_answer || flow->written < flow->size || unacknowledged_bytes(flow))
		return;
	flow->awaits_answer = 0;
	flow->write_ns = now_ns() + flow->writes[flow->next_write - 1].pause_ns;
	await_phase(flow);
}

/*
 * The first flight may be longer than the window that the handshake shows, which has no scale. So the first
 * write is of whole packets within it: else a short one leaves, too (`tcp_mss_split_point`).
 */
static uint64_t first_write(const struct flow *flow)
{
	int mss;
	socklen_t size = sizeof(mss);

	if (getsockopt(flow->sender, IPPROTO_TCP, TCP_MAXSEG, &mss, &size))
		die("TCP_MAXSEG");
	if (cwnd_packets(flow) * mss <= UINT16_MAX || (flow->window && flow->window <= UINT16_MAX))
		return UINT64_MAX;
	return UINT16_MAX / mss * mss;
}

/* Writes until the socket is full, or the application's own limit is reached. */
void write_flow(struct flow *flow, int index)
{
	/* More than a socket or a buffer holds: what is written in pieces shows in the packets. */
	static char zeros[64 << 20];

	if (!flow->connected || flow->shut)
		return;
	if (flow->datagram) {
		write_datagrams(flow);
		return;
	}
	if (flow->syns < 0)
		flow->syns = total_retransmitted(flow);
	if (flow->writes && !flow->connected_ns) {
		flow->connected_ns = now_ns();
		await_phase(flow);
	}
	answer(flow);
	if (flow->full_since_ns) {
		flow->full_ns += now_ns() - flow->full_since_ns;
		flow->full_since_ns = 0;
	}
	while (flow->written < flow->size) {
		uint64_t most = flow->size - flow->written, may;
		ssize_t sent;

		if (flow->buffer != INT64_MAX) {
			may = unacknowledged_bytes(flow);
			may = flow->buffer > may ? flow->buffer - may : 0;
			if (!may)
				flow->full_since_ns = now_ns();
		} else if (flow->size == INT64_MAX || !flow->writes) {
			may = room(flow, index);
		} else {
			may = UINT64_MAX;
		}
		most = most < may ? most : may;
		if (!most)
			return;
		if (!flow->written && most > first_write(flow))
			most = first_write(flow);
		most = most < sizeof(zeros) ? most : sizeof(zeros);
		sent = send(flow->sender, zeros, most,
			    MSG_NOSIGNAL | (flow->written + most < flow->size ? MSG_MORE : 0));
		if (sent < 0) {
			if (errno != EAGAIN)
				die("send");
			flow->fill = FILLED;
			return;
		}
		flow->written += sent;
	}
	if (flow->writes) {
		if (flow->next_write == flow->writes_len && ends(flow) && !unacknowledged_bytes(flow))
			stop_flow(flow, index);
		return;
	}
	/* The FIN goes with the last segment. */
	shutdown(flow->sender, SHUT_WR);
	flow->shut = 1;
	watch_again(flow->sender, EPOLLRDHUP | EPOLLET, ABOUT(SENDER, index));
}

/* The connection stays open, and nothing more is sent. */
void stop_flow(struct flow *flow, int index)
{
	if (!flow->connected || flow->shut)
		return;
	flow->shut = 1;
	if (flow->datagram)
		return;
	flow->write_ns = NEVER;
	tell_kernel("stopper", flow->sender);
	watch_again(flow->sender, EPOLLRDHUP | EPOLLET, ABOUT(SENDER, index));
}

/* The receiver has all. */
static void end_reading(const struct flow *flow)
{
	int at_once = 1;

	epoll_ctl(epoll, EPOLL_CTL_DEL, flow->receiver, NULL);
	/* The end is acknowledged at once, as by an application that closes. */
	if (flow->draws)
		close(flow->receiver);
	else
		setsockopt(flow->receiver, IPPROTO_TCP, TCP_QUICKACK, &at_once, sizeof(at_once));
}

/* Reads as much as it may at this time, at its own rate. Returns when it reads next, if nothing arrives. */
int64_t read_slowly(struct flow *flow, int index, int64_t at_ns)
{
	const struct pace *pace;
	ssize_t size;

	if (flow->receiver < 0 || flow->hungry)
		return NEVER;
	while (flow->next_pace < flow->paces_len && flow->paces[flow->next_pace].time_ns <= at_ns) {
		pace = &flow->paces[flow->next_pace++];
		flow->read_ns = pace->rate ? pace->time_ns : NEVER;
	}
	if (flow->read_ns <= at_ns) {
		pace = &flow->paces[flow->next_pace - 1];
		size = recv(flow->receiver, NULL, pace->bytes, MSG_TRUNC);
		if (!size)
			end_reading(flow);
		flow->hungry = size <= 0;
		if (size < 0)
			watch_again(flow->receiver, EPOLLIN | EPOLLONESHOT, ABOUT(RECEIVER, index));
		if (size <= 0)
			return NEVER;
		flow->read_ns = at_ns + size * 8000000000LL / (int64_t)pace->rate;
	}
	if (flow->next_pace < flow->paces_len && flow->paces[flow->next_pace].time_ns < flow->read_ns)
		return flow->paces[flow->next_pace].time_ns;
	return flow->read_ns;
}

void receive(struct flow *flow, int index, int what)
{
	if (what == LISTENER) {
		int fd = accept4(flow->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			return;
		flow->receiver = fd;
		flow->unread = flow->lowat;
		flow->hungry = 1;
		watch(fd, EPOLLIN | (flow->paces ? EPOLLONESHOT : 0), ABOUT(RECEIVER, index));
		return;
	}
	if (flow->paces) {
		flow->hungry = 0;
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
				watch_again(flow->receiver, EPOLLRDHUP | EPOLLET, ABOUT(RECEIVER, index));
			}
			flow->unread = 0;
		} else if (size == 0) {
			end_reading(flow);
			return;
		} else if (size < 0) {
			return;
		}
	}
}
