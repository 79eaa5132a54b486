/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The applications of all flows in the virtual Linux, and what measures them.
 *
 * It is the first program of the machine, and but for tc the only one. It follows the file `plan` of the
 * directory that the host starts the machine in, writes what it measures there, and ends the machine.
 *
 * The plan has one line per thing, done in order; times are ns from the start of the run:
 *
 *	space SPACE			makes a namespace; "-" is the machine's own
 *	set SPACE FILE VALUE		a file of the system
 *	load MODULE PARAMETERS		as insmod does
 *	up SPACE DEVICE
 *	pair SPACE DEVICE SPACE DEVICE MTU	a veth pair that carries packets one by one
 *	segments SPACE DEVICE MOST	that a sender may leave to the device to cut
 *	address SPACE DEVICE ADDRESS
 *	route SPACE DEVICE TO SOURCE TABLE MTU INITCWND QUICKACK RTO_MIN_MS	0: Linux's own
 *	rule SPACE DEVICE TABLE		what comes at the device follows that table
 *	tc SPACE COMMANDS		with semicolons between them
 *	delay SPACE DEVICE NS		what leaves at the device is late
 *	dualpi2 SPACE DEVICE NUMBERS	a queue below the bucket of the device
 *	step SPACE DEVICE LIMIT BYTES	one that marks above so many
 *	run DURATION INTERVAL		the end, and the time between samples
 *	common FROM UNTIL		the common interval (crates/sim/src/common.rs)
 *	queue NAMESPACE DEVICE KIND	whose queue to sample; KIND of the AQM below a tbf, or none
 *	flow NUMBER SENDER RECEIVER ADDRESS CC CC_AT_RECEIVER START STOP SIZE WINDOW BUFFER UNSENT
 *		PACING_RATE LOWAT
 *	udp NUMBER SENDER RECEIVER ADDRESS START STOP DATAGRAM MSS
 *					a flow of UDP, whose rate is its device's
 *	draw PAUSE SIZE [LINE;]...	the flow above is a session: its next connection, SIZE long, and
 *					what makes its RTT
 *	write AT SIZE EVERY PAUSE	the flow above writes so, AT after it is connected (SIZE "-": without
 *					end; PAUSE: from when all is acknowledged)
 *	read TIME RATE BYTES		the flow above reads so many bytes at a time, from then on at this rate
 *	hosts CLIENT DEVICE ADDRESS SERVER ADDRESS LINGERS SNAPLEN DIRECTORY
 *					where programs run, and packets are captured (SNAPLEN 0: are not)
 *	program NUMBER HOST KIND START STOP CALL	programs.c has the numbers of HOST and KIND
 *	at TIME LINE			one of the first 14, at that time
 *
 * "-" stands for nothing (STOP: never; SIZE, WINDOW, BUFFER: no limit). The WINDOW "tuned" is Linux's,
 * "buffer:BYTES" that of a receive buffer. What it measures is in samples.bin,
 * queues.bin, records.bin, packets.bin, flows.bin, transfers.bin and counts.bin, which ackclock/hosts/vlinux/records.py reads.
 * All of it is one process: it opens each socket in the namespace of its host.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int epoll;
static int64_t base_ns;
static int home, timer, next_command;

void die(const char *what)
{
	fprintf(stderr, "guest: %s: %s\n", what, strerror(errno));
	exit(1);
}

int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec - base_ns;
}

int space_fd(const char *namespace)
{
	char path[NAME + 16];
	int fd;

	if (!strcmp(namespace, "-"))
		return home;
	snprintf(path, sizeof(path), "/run/netns/%s", namespace);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die(path);
	return fd;
}

void enter(const char *namespace)
{
	int fd = space_fd(namespace);

	if (setns(fd, CLONE_NEWNET))
		die(namespace);
	if (fd != home)
		close(fd);
}

void watch(int fd, uint32_t events, uint64_t data)
{
	struct epoll_event event = { .events = events, .data.u64 = data };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		die("epoll_ctl");
}

void watch_again(int fd, uint32_t events, uint64_t data)
{
	struct epoll_event event = { .events = events, .data.u64 = data };

	if (epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event))
		die("epoll_ctl");
}

/* What each flow carries in the common interval. Returns when to look next. */
static int64_t look_at_common(int64_t at_ns)
{
	static int looks;

	if (looks == 0 && common_from_ns <= at_ns) {
		for (int i = 0; i < flows_len; i++)
			flows[i].sent_before = sent_bytes(&flows[i]);
		looks++;
	}
	if (looks == 1 && common_until_ns <= at_ns) {
		for (int i = 0; i < flows_len; i++) {
			uint64_t acked = acked_bytes(&flows[i]), before = flows[i].sent_before;

			flows[i].common_bytes = acked > before ? acked - before : 0;
		}
		looks++;
	}
	return looks == 0 ? common_from_ns : looks == 1 ? common_until_ns : NEVER;
}

/* Does what is due; returns when the next thing is. `over`: the last program has ended. */
static int64_t keep_time(int *over, FILE *samples, FILE *to_queues, FILE *records, FILE *packets)
{
	static int64_t next_sample_ns;
	int64_t at_ns = now_ns(), next_ns = duration_ns, look_ns = look_at_common(at_ns);
	int64_t programs_ns = keep_programs(at_ns, over);

	if (look_ns < next_ns)
		next_ns = look_ns;
	if (programs_ns < next_ns)
		next_ns = programs_ns;
	for (int i = 0; i < flows_len; i++) {
		struct flow *flow = &flows[i];

		if (!flow->connected && flow->start_ns <= at_ns)
			connect_flow(flow, i);
		if (!flow->stopped && flow->stop_ns <= at_ns) {
			flow->stopped = 1;
			flow->size = flow->written;
			stop_flow(flow, i);
		}
		if (flow->writes && flow->write_ns <= at_ns)
			begin_write(flow, i);
		if (flow->writes && flow->write_ns < next_ns)
			next_ns = flow->write_ns;
		if (flow->paces) {
			int64_t read_ns = read_slowly(flow, i, at_ns);

			if (read_ns < next_ns)
				next_ns = read_ns;
		}
		if (!flow->connected && flow->start_ns < next_ns)
			next_ns = flow->start_ns;
		if (!flow->stopped && flow->stop_ns < next_ns)
			next_ns = flow->stop_ns;
	}
	while (next_command < commands_len && commands[next_command].time_ns <= at_ns)
		set_up(commands[next_command++].text);
	if (next_command < commands_len && commands[next_command].time_ns < next_ns)
		next_ns = commands[next_command].time_ns;
	/* Between packets of programs nothing changes: the next sample is after the next packet. */
	if (!flows_len && programs_are_idle())
		next_sample_ns = NEVER;
	else if (interval_ns && (!next_sample_ns || next_sample_ns == NEVER))
		next_sample_ns = at_ns > 0 ? (at_ns / interval_ns + 1) * interval_ns : interval_ns;
	if (interval_ns && next_sample_ns <= at_ns) {
		for (int i = 0; i < flows_len; i++)
			if (flows[i].connected && !flows[i].draws)
				sample_flow(&flows[i], at_ns, samples);
		sample_queues(at_ns, to_queues);
		copy("/proc/ackclock/records", records);
		copy("/proc/ackclock/packets", packets);
		fprintf(stdout, "%lld\n", (long long)at_ns);
		next_sample_ns = (at_ns / interval_ns + 1) * interval_ns;
	}
	if (interval_ns && next_sample_ns < next_ns)
		next_ns = next_sample_ns;
	return next_ns;
}

static void set_timer(int64_t at_ns)
{
	int64_t ns = base_ns + (at_ns < NEVER / 2 ? at_ns : NEVER / 2);
	struct itimerspec when = { .it_value = { ns / 1000000000, ns % 1000000000 } };

	if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL))
		die("timerfd_settime");
}

FILE *output(const char *name)
{
	FILE *file = fopen(name, "we");

	if (!file)
		die(name);
	return file;
}

/* All that packets do in an instant is before all that processes do in it. */
static void put_packets_first(void)
{
	struct sched_param first = { .sched_priority = 2 }, second = { .sched_priority = 1 };
	char path[NAME], name[NAME];
	int pid = 0, found = 0;

	while (!found && ++pid < 1000) {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		file = fopen(path, "re");
		if (!file)
			continue;
		found = fscanf(file, "%63s", name) == 1 && !strcmp(name, "ksoftirqd/0");
		fclose(file);
	}
	/* One that the scheduler shares time with would be first at each whole second. */
	if (!found || sched_setscheduler(pid, SCHED_FIFO, &first) || sched_setscheduler(0, SCHED_FIFO, &second))
		die("ksoftirqd");
}

static int run(void)
{
	struct rlimit files = { 1 << 20, 1 << 20 };
	struct epoll_event events[256];
	FILE *samples, *to_queues, *records, *packets, *totals, *transfers, *counts;

	prctl(PR_SET_TIMERSLACK, 1UL);
	setrlimit(RLIMIT_NOFILE, &files);
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	put_packets_first();
	home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	watch(timer, EPOLLIN, ABOUT(TIMER, 0));
	read_plan("plan");
	enter("-");
	samples = output("samples.bin");
	to_queues = output("queues.bin");
	records = output("records.bin");
	packets = output("packets.bin");
	totals = output("flows.bin");
	transfers = output("transfers.bin");
	counts = output("counts.bin");

	/* Time 0: a whole second, so that runs do not differ by how long the start took. */
	base_ns = (now_ns() / 1000000000 + 2) * 1000000000;
	set_timer(commands_len && commands[0].time_ns < 0 ? commands[0].time_ns : 0);
	for (int over = 0, done = 0; !done && !over;) {
		int found = epoll_wait(epoll, events, 256, -1);

		for (int i = 0; i < found; i++) {
			int index = (uint32_t)events[i].data.u64, what = events[i].data.u64 >> 32;
			uint64_t expirations;

			if (what == PROGRAMS) {
				on_programs(now_ns());
				set_timer(keep_time(&over, samples, to_queues, records, packets));
			} else if (what == SENDER && flows[index].draws && events[i].events & EPOLLRDHUP) {
				end_transfer(&flows[index], transfers);
				set_timer(keep_time(&over, samples, to_queues, records, packets));
			} else if (what == SENDER) {
				write_flow(&flows[index], index);
				if (flows[index].writes)
					set_timer(keep_time(&over, samples, to_queues, records, packets));
			} else if (what != TIMER) {
				receive(&flows[index], index, what);
				if (flows[index].paces)
					set_timer(keep_time(&over, samples, to_queues, records, packets));
			} else if (read(timer, &expirations, 8) == 8) {
				set_timer(keep_time(&over, samples, to_queues, records, packets));
				done = now_ns() >= duration_ns;
			}
		}
	}
	end_programs(now_ns());
	look_at_common(duration_ns);
	for (int i = 0; i < flows_len; i++) {
		struct flow *flow = &flows[i];
		struct total total = { 0 };

		if (flow->draws)
			total = *flow->over;
		total.flow = flow->number;
		total.start_ns = flow->start_ns;
		total.common_bytes = flow->common_bytes;
		if (flow->connected) {
			struct transfer row = { flow->number, flow->start_ns, 0, flow->size };

			add_totals(flow, &total);
			if (flow->draws && flow->size != INT64_MAX)
				fwrite(&row, sizeof(row), 1, transfers);
		}
		fwrite(&total, sizeof(total), 1, totals);
	}
	sample_queues(now_ns(), output("end.bin"));
	copy("/proc/ackclock/records", records);
	copy("/proc/ackclock/packets", packets);
	copy("/proc/ackclock/counts", counts);
	fflush(NULL);
	fprintf(stdout, "%lld\nbase %lld\n", (long long)now_ns(), (long long)base_ns);
	return 0;
}

int main(void)
{
	pid_t pid;
	int status;

	setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
	if (mount("none", "/mnt", "hostfs", 0, "/proc/self/cwd") || mount("proc", "/proc", "proc", 0, NULL) ||
	    mount("sysfs", "/sys", "sysfs", 0, NULL) || mount("tmpfs", "/run", "tmpfs", 0, NULL) ||
	    chdir("/mnt") || !freopen("progress", "w", stdout) || !freopen("log", "w", stderr))
		return 1;
	pid = fork();
	if (!pid)
		return run();
	waitpid(pid, &status, 0);
	fprintf(stderr, "exit status %d\n", status);
	fclose(stderr);
	return reboot(RB_POWER_OFF);
}
