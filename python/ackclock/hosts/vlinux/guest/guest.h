/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the files of the guest share. */
#ifndef GUEST_H
#define GUEST_H

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>

#define FIRST_PORT 10000
#define NEVER INT64_MAX
#define NAME 64

struct draw {
	int64_t pause_ns;
	uint64_t size;
	char *delays;	/* lines of the plan, each with a ; behind it, that make its RTT */
};

/* A phase of what an application writes: until the next one begins. */
struct write {
	int64_t at_ns;		/* after the flow is connected */
	uint64_t size;		/* INT64_MAX: without end */
	int64_t every_ns, pause_ns;
};

/* How fast an application reads, bit/s, from then on. */
struct pace {
	int64_t time_ns;
	uint64_t rate;
	int bytes;		/* at a time */
};

struct flow {
	uint32_t number;
	int sender, listener, receiver, unsent, draws_len, next_draw;
	char *namespace, *cc;
	struct draw *draws;	/* of a session */
	struct total *over;	/* its connections that have ended */
	int connected, shut, stopped;
	int64_t syns;		/* that were sent again; below 0: it is not established */
	int64_t start_ns, stop_ns;
	uint64_t size, written, window, buffer, full_ns, full_since_ns;
	uint64_t sent_before;	/* the common interval */
	uint64_t common_bytes;	/* see crates/sim/src/common.rs */
	uint64_t pacing_rate;	/* at most so many bytes per s; 0: it does not pace */
	struct sockaddr_in address;
	int lowat, piece, tuned;	/* tuned: Linux chooses the receive window */
	struct write *writes;
	int writes_len, next_write, awaits_answer;
	int64_t connected_ns, write_ns;	/* when it writes next */
	struct pace *paces;	/* of a reader with a rate of its own */
	int paces_len, next_pace, hungry;	/* hungry: it may read, and nothing is there */
	int64_t read_ns;	/* when it reads next */
	int unread;	/* nothing of the connection has been read */
	enum { ONCE, FILLED, ALWAYS } fill;	/* see room() */
	int datagram, mss;	/* of UDP: payload of a datagram and of a full segment, bytes; else 0 */
};

struct total {
	uint64_t flow, start_ns, delivered_bytes, sent_packets, retransmitted_packets, min_rtt_us;
	uint64_t receive_window_limited_us, send_buffer_limited_us, transfers, common_bytes;
};

struct transfer {
	uint64_t session, start_ns, completed_ns, size_bytes;
};

struct queue {
	int device;
	char kind[NAME];
};

struct command {
	int64_t time_ns;
	char *text;
};

/* What an event of epoll is about. */
enum { TIMER, LISTENER, RECEIVER, SENDER, PROGRAMS };
#define ABOUT(what, index) ((uint64_t)(what) << 32 | (uint32_t)(index))

/* The plan, in plan.c. */
extern struct flow *flows;
extern struct queue *queues;
extern struct command *commands;
extern int flows_len, queues_len, commands_len;
extern int64_t duration_ns, interval_ns, common_from_ns, common_until_ns;
void read_plan(const char *path);

/* guest.c; "-" is the namespace of the guest itself */
extern int epoll;
void die(const char *what);
int64_t now_ns(void);
int space_fd(const char *namespace);
void enter(const char *namespace);
FILE *output(const char *name);
void watch(int fd, uint32_t events, uint64_t data);
void watch_again(int fd, uint32_t events, uint64_t data);

/* applications.c */
int tcp_socket(const char *cc);
int udp_socket(void);
void clamp_window(const struct flow *flow, int fd);
void connect_flow(struct flow *flow, int index);
void end_transfer(struct flow *flow, FILE *transfers);
void write_flow(struct flow *flow, int index);
void begin_write(struct flow *flow, int index);
void stop_flow(struct flow *flow, int index);
void receive(struct flow *flow, int index, int what);
int64_t read_slowly(struct flow *flow, int index, int64_t at_ns);

/* sampling.c; `open_statistics`: of the queues, in the namespace that they are in */
void open_statistics(void);
int64_t cwnd_packets(const struct flow *flow);
uint64_t total_retransmitted(const struct flow *flow);
uint64_t unacknowledged_bytes(const struct flow *flow);
void add_totals(const struct flow *flow, struct total *to);
uint64_t sent_bytes(const struct flow *flow);
uint64_t acked_bytes(const struct flow *flow);
void sample_flow(struct flow *flow, int64_t at_ns, FILE *to);
void sample_queues(int64_t at_ns, FILE *to);
void copy(const char *from, FILE *to);

/* programs.c */
void add_hosts(char *line);
void add_program(const char *line);
void on_programs(int64_t at_ns);
int programs_are_idle(void);
int64_t keep_programs(int64_t at_ns, int *over);
void end_programs(int64_t at_ns);

/* network.c: does what a line of the plan says of the network */
void set_up(char *line);

#endif
