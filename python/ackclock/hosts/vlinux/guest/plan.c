/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Reads the plan: guest.c says what is in it. */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <linux/filter.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

struct flow *flows;
struct queue *queues;
struct command *commands;
int flows_len, queues_len, commands_len;
int64_t duration_ns, interval_ns, common_from_ns, common_until_ns;

static int64_t number_of(const char *text, int64_t nothing)
{
	return strcmp(text, "-") ? strtoll(text, NULL, 10) : nothing;
}

static void add_flow(char *line)
{
	char sender[NAME], receiver[NAME], address[NAME], cc[NAME], cc_at_receiver[NAME];
	char start[NAME], stop[NAME], size[NAME], window[NAME], buffer[NAME], unsent[NAME], rate[NAME];
	int one = 1, held;
	struct flow flow = { .receiver = -1, .address.sin_family = AF_INET };

	if (sscanf(line, "%u %63s %63s %63s %63s %63s %63s %63s %63s %63s %63s %63s %63s %d",
		   &flow.number, sender, receiver, address, cc, cc_at_receiver, start, stop, size,
		   window, buffer, unsent, rate, &flow.lowat) != 14 ||
	    inet_pton(AF_INET, address, &flow.address.sin_addr) != 1) {
		errno = EINVAL;
		die(line);
	}
	flow.start_ns = number_of(start, 0);
	flow.stop_ns = number_of(stop, NEVER);
	flow.size = number_of(size, INT64_MAX);
	held = strncmp(window, "buffer:", 7) ? 0 : strtol(window + 7, NULL, 10);
	flow.tuned = held || !strcmp(window, "tuned");
	flow.window = held ? held : flow.tuned ? 0 : number_of(window, 0);
	flow.buffer = number_of(buffer, INT64_MAX);
	flow.unsent = number_of(unsent, 1 << 20);
	flow.pacing_rate = number_of(rate, 0);
	flow.namespace = strdup(sender);
	flow.cc = strdup(cc);

	enter(receiver);
	flow.listener = tcp_socket(cc_at_receiver);
	flow.address.sin_port = htons(FIRST_PORT + flow.number);
	setsockopt(flow.listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (held && setsockopt(flow.listener, SOL_SOCKET, SO_RCVBUFFORCE, &held, sizeof(held)))
		die("SO_RCVBUFFORCE");
	if (flow.window)
		clamp_window(&flow, flow.listener);
	if (bind(flow.listener, (void *)&flow.address, sizeof(flow.address)) || listen(flow.listener, 1))
		die("listen");
	flows = realloc(flows, (flows_len + 1) * sizeof(*flows));
	flows[flows_len] = flow;
	watch(flow.listener, EPOLLIN, ABOUT(LISTENER, flows_len));
	flows_len++;
}

static void add_udp(char *line)
{
	/* Takes nothing of what arrives, which recorder.c counts. */
	struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog filter = { .len = 1, .filter = &nothing };
	char sender[NAME], receiver[NAME], address[NAME], stop[NAME];
	struct flow flow = { .address.sin_family = AF_INET };

	if (sscanf(line, "%u %63s %63s %63s %ld %63s %d %d", &flow.number, sender, receiver, address,
		   &flow.start_ns, stop, &flow.datagram, &flow.mss) != 8 ||
	    inet_pton(AF_INET, address, &flow.address.sin_addr) != 1) {
		errno = EINVAL;
		die(line);
	}
	flow.stop_ns = number_of(stop, NEVER);
	flow.namespace = strdup(sender);

	enter(receiver);
	flow.receiver = udp_socket();
	flow.address.sin_port = htons(FIRST_PORT + flow.number);
	if (setsockopt(flow.receiver, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) ||
	    bind(flow.receiver, (void *)&flow.address, sizeof(flow.address)))
		die("bind");
	flows = realloc(flows, (flows_len + 1) * sizeof(*flows));
	flows[flows_len++] = flow;
}

static void add_draw(const char *line)
{
	struct flow *flow = &flows[flows_len - 1];
	char size[NAME];
	struct draw draw;
	int at = 0;

	if (sscanf(line, "%ld %63s %n", &draw.pause_ns, size, &at) != 2) {
		errno = EINVAL;
		die(line);
	}
	draw.size = number_of(size, INT64_MAX);
	draw.delays = strdup(line + at);
	if (!flow->draws) {
		flow->over = calloc(1, sizeof(*flow->over));
		flow->start_ns += draw.pause_ns;
		flow->size = draw.size;
		flow->next_draw = 1;
	}
	flow->draws = realloc(flow->draws, (flow->draws_len + 1) * sizeof(draw));
	flow->draws[flow->draws_len++] = draw;
}

static void add_write(const char *line)
{
	struct flow *flow = &flows[flows_len - 1];
	char size[NAME], every[NAME], pause[NAME];
	struct write write;

	if (sscanf(line, "%ld %63s %63s %63s", &write.at_ns, size, every, pause) != 4) {
		errno = EINVAL;
		die(line);
	}
	write.size = number_of(size, INT64_MAX);
	write.every_ns = number_of(every, NEVER);
	write.pause_ns = number_of(pause, NEVER);
	flow->size = 0;
	flow->write_ns = NEVER;
	flow->writes = realloc(flow->writes, (flow->writes_len + 1) * sizeof(write));
	flow->writes[flow->writes_len++] = write;
}

static void add_pace(const char *line)
{
	struct flow *flow = &flows[flows_len - 1];
	struct pace pace;

	if (sscanf(line, "%ld %lu %d", &pace.time_ns, &pace.rate, &pace.bytes) != 3) {
		errno = EINVAL;
		die(line);
	}
	flow->read_ns = NEVER;
	flow->paces = realloc(flow->paces, (flow->paces_len + 1) * sizeof(pace));
	flow->paces[flow->paces_len++] = pace;
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
	if (!queue.device)
		die(device);
	open_statistics();
	queues = realloc(queues, (queues_len + 1) * sizeof(*queues));
	queues[queues_len++] = queue;
}

void read_plan(const char *path)
{
	char *line = NULL;
	size_t size = 0;
	FILE *file = fopen(path, "r");

	if (!file)
		die(path);
	while (getline(&line, &size, file) > 0) {
		int at = 0;
		long long time_ns;

		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "run ", 4)) {
			sscanf(line, "run %ld %ld", &duration_ns, &interval_ns);
		} else if (!strncmp(line, "common ", 7)) {
			sscanf(line, "common %ld %ld", &common_from_ns, &common_until_ns);
		} else if (!strncmp(line, "flow ", 5)) {
			add_flow(line + 5);
		} else if (!strncmp(line, "udp ", 4)) {
			add_udp(line + 4);
		} else if (!strncmp(line, "draw ", 5)) {
			add_draw(line + 5);
		} else if (!strncmp(line, "write ", 6)) {
			add_write(line + 6);
		} else if (!strncmp(line, "read ", 5)) {
			add_pace(line + 5);
		} else if (!strncmp(line, "hosts ", 6)) {
			add_hosts(line + 6);
		} else if (!strncmp(line, "program ", 8)) {
			add_program(line + 8);
		} else if (!strncmp(line, "queue ", 6)) {
			add_queue(line + 6);
		} else if (sscanf(line, "at %lld %n", &time_ns, &at) == 1 && at) {
			commands = realloc(commands, (commands_len + 1) * sizeof(*commands));
			commands[commands_len++] = (struct command){ time_ns, strdup(line + at) };
		} else {
			set_up(line);
		}
	}
	fclose(file);
	free(line);
}
