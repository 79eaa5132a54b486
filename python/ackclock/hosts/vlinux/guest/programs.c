/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Programs of the user's on the hosts of a way: each sees the files of the machine outside, and what it
 * writes stays here; at the end the files that it changed in its directory are copied out. Their TCP
 * connections are read as `ss` reads them, from the first packet on every 10 ms.
 *
 * What calls cost a program is its RLIMIT_RTTIME (edits.py), which means nothing to it otherwise.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <net/if_arp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000LL
/* Between two readings of connections, and two looks at the ports of a server. */
#define EVERY_NS (10 * MS)
#define LOOKS_NS MS
/* For a server to open its port, and for programs to end when they are asked to. */
#define OPENS_NS (10000 * MS)
#define ENDS_NS (2000 * MS)
/* Of one file, also of what a program prints. */
#define MOST_BYTES (1 << 30)
#define ROOT "/run/root"
/* States of a TCP socket that carries data: include/net/tcp_states.h. */
#define CARRIES (1 << 1 | 1 << 4 | 1 << 8 | 1 << 9 | 1 << 11)
#define LISTENS "0A"

enum { CLIENT, SERVER, HOSTS };

static struct host {
	char space[NAME], address[NAME];
	int asked, heard;	/* netlink: of connections, of those that end */
} hosts[HOSTS];

struct program {
	int number, host, pid, status;
	/* A server is waited for until it has a port; the end of the command ends the run. */
	enum { SERVES, COMMANDS, STANDS_BESIDE } kind;
	int64_t start_ns, call_ns, stop_ns;
};

/* As connections.py reads it: what the kernel answered follows. */
struct reading {
	uint64_t time_ns;
	uint32_t size;
	uint8_t from_server, ended, unused[2];
};

static struct program *programs;
static int programs_len, begun, tap = -1, exits = -1, snaplen;
static char directory[4096];
static int64_t lingers_ns, next_reading_ns = NEVER, next_look_ns = NEVER, ended_ns = -1, killed_ns;
static FILE *connections, *packets;
static int ports_before;

static void needs(int holds, const char *what)
{
	if (!holds)
		die(what);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	needs(file && fputs(text, file) >= 0 && !fclose(file), path);
}

/* A file system of memory there. */
static void mount_memory(const char *path, const char *options)
{
	mkdir(path, 0755);
	needs(!mount("tmpfs", path, "tmpfs", 0, options), path);
}

/* Makes a directory, and those above it. */
static void make_path(const char *path)
{
	char some[2 * sizeof(directory)];

	for (const char *at = path; (at = strchr(at + 1, '/')) != NULL;) {
		snprintf(some, sizeof(some), "%.*s", (int)(at - path), path);
		mkdir(some, 0755);
	}
	mkdir(path, 0755);
}

static void make_devices(void)
{
	static const struct {
		const char *name;
		int major, minor;
	} nodes[] = { { "null", 1, 3 }, { "zero", 1, 5 }, { "full", 1, 7 }, { "random", 1, 8 },
		      { "urandom", 1, 9 }, { "tty", 5, 0 } };
	char path[NAME];

	umask(0);
	mount_memory(ROOT "/dev", "mode=755");
	for (unsigned int i = 0; i < sizeof(nodes) / sizeof(*nodes); i++) {
		snprintf(path, sizeof(path), ROOT "/dev/%s", nodes[i].name);
		needs(!mknod(path, S_IFCHR | 0666, makedev(nodes[i].major, nodes[i].minor)), path);
	}
	mkdir(ROOT "/dev/pts", 0755);
	needs(!mount("devpts", ROOT "/dev/pts", "devpts", 0, "newinstance,ptmxmode=0666"), "devpts");
	mount_memory(ROOT "/dev/shm", "mode=1777");
	symlink("pts/ptmx", ROOT "/dev/ptmx");
	symlink("/proc/self/fd", ROOT "/dev/fd");
	symlink("/proc/self/fd/0", ROOT "/dev/stdin");
	symlink("/proc/self/fd/1", ROOT "/dev/stdout");
	symlink("/proc/self/fd/2", ROOT "/dev/stderr");
	umask(022);
}

/* Copies what a directory has. */
static void copy_all(const char *from, const char *to)
{
	pid_t pid = fork();

	if (!pid) {
		execlp("cp", "cp", "-rP", from, to, NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
}

/* The root directory of programs: that of the machine outside below what they write. */
static void make_root(void)
{
	char text[4 * NAME], inside[sizeof(directory) + NAME];

	mount_memory("/run/written", "mode=755,size=1g");
	mkdir("/run/written/files", 0755);
	mkdir("/run/written/work", 0755);
	mkdir(ROOT, 0755);
	needs(!mount("overlay", ROOT, "overlay", 0,
		     "lowerdir=/,upperdir=/run/written/files,workdir=/run/written/work"), "overlay");
	snprintf(inside, sizeof(inside), ROOT "%s", directory);
	mkdir("/run/here", 0755);
	needs(!mount(inside, "/run/here", NULL, MS_BIND, NULL), directory);
	needs(!mount("proc", ROOT "/proc", "proc", 0, NULL), "/proc");
	make_devices();
	mount_memory(ROOT "/tmp", "mode=1777,size=1g");
	mount_memory(ROOT "/run", "mode=755,size=1g");
	/* It may be in one of these. */
	make_path(inside);
	needs(!mount("/run/here", inside, NULL, MS_BIND, NULL), directory);
	copy_all("given/.", inside);
	snprintf(text, sizeof(text), "127.0.0.1 localhost\n::1 localhost\n%s client\n%s server\n",
		 hosts[CLIENT].address, hosts[SERVER].address);
	write_file(ROOT "/etc/hosts", text);
	write_file(ROOT "/etc/resolv.conf", "");
}

/* A certificate of the run for its two hosts, which the environment of the programs names. */
static void make_certificate(void)
{
	char subject[5 * NAME];
	int status;
	pid_t pid;

	mkdir(ROOT "/run/ackclock", 0755);
	if (access("/usr/bin/openssl", X_OK))
		return;
	snprintf(subject, sizeof(subject), "subjectAltName=DNS:localhost,DNS:client,DNS:server,IP:%s,IP:%s",
		 hosts[CLIENT].address, hosts[SERVER].address);
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		if (chroot(ROOT) || chdir("/run/ackclock") || null < 0)
			_exit(1);
		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		execl("/usr/bin/openssl", "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
		      "ec_paramgen_curve:prime256v1", "-nodes", "-days", "3650", "-subj", "/CN=server",
		      "-addext", subject, "-keyout", "key.pem", "-out", "cert.pem", NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
}

/* The client's interfaces: that packets pass there, and, with a snaplen, which. */
static void open_tap(void)
{
	struct sock_filter short_of = BPF_STMT(BPF_RET | BPF_K, 1);
	struct sock_fprog filter = { .len = 1, .filter = &short_of };
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int one = 1, bytes = snaplen ? 256 << 20 : 1 << 12;

	short_of.k = snaplen ? snaplen : 1;
	tap = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	needs(tap >= 0 &&
	      !setsockopt(tap, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) &&
	      !setsockopt(tap, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) &&
	      !setsockopt(tap, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one)) &&
	      !setsockopt(tap, SOL_PACKET, PACKET_AUXDATA, &one, sizeof(one)) &&
	      !bind(tap, (void *)&at, sizeof(at)), "a capture");
	watch(tap, EPOLLIN | EPOLLONESHOT, ABOUT(PROGRAMS, 0));
}

static void begin_pcapng(void)
{
	/* A section of this byte order, and an interface of raw IP with times in ns. */
	uint32_t section[] = { 0x0a0d0d0a, 28, 0x1a2b3c4d, 1, UINT32_MAX, UINT32_MAX, 28 };
	uint32_t interface[] = { 1, 32, 101, snaplen, 1 << 16 | 9, 9, 0, 32 };

	packets = output("packets.pcapng");
	needs(fwrite(section, sizeof(section), 1, packets) &&
	      fwrite(interface, sizeof(interface), 1, packets), "packets.pcapng");
}

/* CLIENT ITS_ADDRESS SERVER ITS_ADDRESS LINGERS_NS SNAPLEN DIRECTORY */
void add_hosts(char *line)
{
	sigset_t child;
	int at = 0;

	needs(sscanf(line, "%63s %63s %63s %63s %ld %d %n", hosts[CLIENT].space, hosts[CLIENT].address,
		     hosts[SERVER].space, hosts[SERVER].address, &lingers_ns, &snaplen, &at) == 6 && at, line);
	snprintf(directory, sizeof(directory), "%s", line + at);
	make_root();
	make_certificate();
	for (int i = 0; i < HOSTS; i++) {
		struct sockaddr_nl ending = { .nl_family = AF_NETLINK };

		ending.nl_groups = 1 << (SKNLGRP_INET_TCP_DESTROY - 1) | 1 << (SKNLGRP_INET6_TCP_DESTROY - 1);
		enter(hosts[i].space);
		hosts[i].asked = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
		hosts[i].heard = socket(AF_NETLINK, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
		needs(hosts[i].asked >= 0 && hosts[i].heard >= 0 &&
		      !bind(hosts[i].heard, (void *)&ending, sizeof(ending)), "sock_diag");
		watch(hosts[i].heard, EPOLLIN, ABOUT(PROGRAMS, 0));
		if (i == CLIENT)
			open_tap();
	}
	enter("-");
	connections = output("connections.bin");
	if (snaplen)
		begin_pcapng();
	/* What they leave behind is this process's to wait for. */
	prctl(PR_SET_CHILD_SUBREAPER, 1UL);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	exits = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
	watch(exits, EPOLLIN, ABOUT(PROGRAMS, 0));
}

/* NUMBER HOST KIND START STOP CALL_NS; its words and its environment are in files. */
void add_program(const char *line)
{
	struct program program = { .pid = -1, .status = -1 };
	char stop[NAME];

	needs(sscanf(line, "%d %d %d %ld %63s %ld", &program.number, &program.host, (int *)&program.kind,
		     &program.start_ns, stop, &program.call_ns) == 6, line);
	program.stop_ns = strcmp(stop, "-") ? strtoll(stop, NULL, 10) : NEVER;
	programs = realloc(programs, (programs_len + 1) * sizeof(program));
	programs[programs_len++] = program;
}

/* The strings of a file, each of which ends with 0, and NULL. */
static char **strings(int number, const char *what)
{
	char path[NAME], *text = NULL, **found;
	size_t size = 0;
	ssize_t bytes;
	FILE *file;
	int len = 0;

	snprintf(path, sizeof(path), "%d.%s", number, what);
	file = fopen(path, "re");
	needs(file != NULL, path);
	bytes = getdelim(&text, &size, EOF, file);
	fclose(file);
	found = calloc((bytes > 0 ? bytes : 0) + 1, sizeof(*found));
	for (char *at = text; bytes > 0 && at < text + bytes; at += strlen(at) + 1)
		found[len++] = at;
	return found;
}

static int output_of(int number, const char *what)
{
	char path[NAME];
	int fd;

	snprintf(path, sizeof(path), "%d.%s", number, what);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	needs(fd >= 0, path);
	return fd;
}

/* A limit of both kinds. */
static void limit(int what, rlim_t soft, rlim_t hard)
{
	struct rlimit to = { soft, hard };

	setrlimit(what, &to);
}

/* Becomes the program. */
static void become(const struct program *program)
{
	char **words = strings(program->number, "words"), **its = strings(program->number, "environment");
	int out = output_of(program->number, "out"), err = output_of(program->number, "err");
	int failed = output_of(program->number, "failed");
	struct sched_param usual = { 0 };
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	sched_setscheduler(0, SCHED_OTHER, &usual);
	enter(hosts[program->host].space);
	setsid();
	/* A sysfs shows the devices of the namespace in which it is mounted. */
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("sysfs", ROOT "/sys", "sysfs", 0, NULL) || chroot(ROOT) || chdir(directory) ||
	    dup2(open("/dev/null", O_RDONLY), 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(126);
	limit(RLIMIT_NOFILE, 1024, 1 << 20);
	/* What it prints is a file of the machine outside. */
	limit(RLIMIT_FSIZE, MOST_BYTES, MOST_BYTES);
	limit(RLIMIT_RTTIME, program->call_ns, program->call_ns);
	environ = its;
	execvp(words[0], words);
	dprintf(failed, "%s", strerror(errno));
	_exit(127);
}

/* The ports of this thread's namespace on which programs listen for TCP, or have for UDP. */
static int count_ports(const char *space)
{
	static const char *const files[] = { "tcp", "tcp6", "udp", "udp6" };
	char path[NAME], *line = NULL, state[8];
	size_t size = 0;
	int found = 0;

	enter(space);
	for (int i = 0; i < 4; i++) {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/thread-self/net/%s", files[i]);
		file = fopen(path, "re");
		while (file && getline(&line, &size, file) > 0)
			if (sscanf(line, " %*[0-9]: %*s %*s %7s", state) == 1)
				found += i > 1 || !strcmp(state, LISTENS);
		if (file)
			fclose(file);
	}
	free(line);
	enter("-");
	return found;
}

static void begin_program(struct program *program, int64_t at_ns)
{
	program->start_ns = at_ns;
	if (program->kind == SERVES)
		ports_before = count_ports(hosts[program->host].space);
	program->pid = fork();
	needs(program->pid >= 0, "fork");
	if (!program->pid)
		become(program);
}

/* Why there is no run: `words` follow the number of the program. */
static void give_up(const struct program *program, const char *words)
{
	char path[NAME];

	snprintf(path, sizeof(path), "%d.gave_up", program->number);
	write_file(path, words);
	ended_ns = now_ns();
}

/* Begins what is next: a server once the one before has its port, then the command. */
static int64_t begin_next(int64_t at_ns)
{
	const struct program *last = begun ? &programs[begun - 1] : NULL;
	int has_port;

	if (last && last->kind == SERVES) {
		has_port = count_ports(hosts[last->host].space) > ports_before;
		if (last->pid < 0)
			give_up(last, "ended before it had a port");
		else if (!has_port && at_ns - last->start_ns > OPENS_NS)
			give_up(last, "has opened no port in 10 s");
		if (!has_port)	/* the longer it takes, the more seldom */
			return at_ns + LOOKS_NS + (at_ns - last->start_ns) / 16;
	}
	if (begun < programs_len) {
		if (programs[begun].kind == STANDS_BESIDE && at_ns < programs[begun].start_ns)
			return programs[begun].start_ns;
		begin_program(&programs[begun++], at_ns);
	}
	return begun < programs_len ? at_ns + LOOKS_NS : NEVER;
}

/* Whether a program is there; those that ended tell their status. */
static int reap(int64_t at_ns)
{
	char path[NAME], text[NAME];
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (int i = 0; i < begun; i++) {
			struct program *program = &programs[i];

			if (program->pid != pid)
				continue;
			program->pid = -1;
			snprintf(path, sizeof(path), "%d.status", program->number);
			snprintf(text, sizeof(text), "%d %lld %lld\n", status,
				 (long long)program->start_ns, (long long)at_ns);
			write_file(path, text);
			if (program->kind == COMMANDS && ended_ns < 0)
				ended_ns = at_ns;
		}
	return pid == 0;
}

/* Asks for the connections of a host; returns whether there is one. */
static int read_host(int host, int64_t at_ns)
{
	static const int families[] = { AF_INET, AF_INET6 };
	static char answer[1 << 16];
	int found = 0;

	for (int i = 0; i < 2; i++) {
		struct {
			struct nlmsghdr header;
			struct inet_diag_req_v2 wanted;
		} request = {
			.header = { .nlmsg_len = sizeof(request), .nlmsg_type = SOCK_DIAG_BY_FAMILY,
				    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
			.wanted = { .sdiag_family = families[i], .sdiag_protocol = IPPROTO_TCP,
				    .idiag_ext = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1),
				    .idiag_states = CARRIES },
		};

		needs(send(hosts[host].asked, &request, sizeof(request), 0) > 0, "sock_diag");
		for (int done = 0; !done;) {
			ssize_t size = recv(hosts[host].asked, answer, sizeof(answer), 0), rest = size;
			struct reading head = { .time_ns = at_ns, .size = size, .from_server = host };

			needs(size > 0, "sock_diag");
			for (struct nlmsghdr *each = (void *)answer; NLMSG_OK(each, rest);
			     each = NLMSG_NEXT(each, rest)) {
				done |= each->nlmsg_type == NLMSG_DONE || each->nlmsg_type == NLMSG_ERROR;
				found |= each->nlmsg_type == SOCK_DIAG_BY_FAMILY;
			}
			fwrite(&head, sizeof(head), 1, connections);
			fwrite(answer, size, 1, connections);
		}
	}
	return found;
}

static int read_connections(int64_t at_ns)
{
	return read_host(CLIENT, at_ns) | read_host(SERVER, at_ns);
}

/* The connections that have ended. */
static void read_ended(int64_t at_ns)
{
	static char answer[1 << 16];

	for (int i = 0; i < HOSTS; i++) {
		ssize_t size;

		while ((size = recv(hosts[i].heard, answer, sizeof(answer), 0)) > 0) {
			struct reading head = { .time_ns = at_ns, .size = size, .from_server = i, .ended = 1 };

			fwrite(&head, sizeof(head), 1, connections);
			fwrite(answer, size, 1, connections);
		}
	}
}

/* Writes a packet, of which so many bytes are there; `to_run`: from the machine's clock to the run's. */
static void write_packet(struct msghdr *message, const char *bytes, uint32_t kept, int64_t to_run)
{
	static const char zeros[4];
	const struct sockaddr_ll *from = message->msg_name;
	uint32_t padding = -kept & 3, head[] = { 6, 44 + kept + padding, 0, 0, 0, kept, kept };
	/* Inbound or outbound, and the end of options. */
	uint32_t tail[] = { 4 << 16 | 2, from->sll_pkttype == PACKET_OUTGOING ? 2 : 1, 0, head[1] };
	struct tpacket_auxdata of;
	struct timespec at = { 0 };
	int64_t ns;

	for (struct cmsghdr *each = CMSG_FIRSTHDR(message); each; each = CMSG_NXTHDR(message, each))
		if (each->cmsg_level == SOL_SOCKET && each->cmsg_type == SO_TIMESTAMPNS) {
			memcpy(&at, CMSG_DATA(each), sizeof(at));
		} else if (each->cmsg_level == SOL_PACKET && each->cmsg_type == PACKET_AUXDATA) {
			memcpy(&of, CMSG_DATA(each), sizeof(of));
			head[6] = of.tp_len;
		}
	ns = at.tv_sec * 1000000000LL + at.tv_nsec + to_run;
	if (ns < 0 || from->sll_hatype == ARPHRD_LOOPBACK)
		return;
	head[3] = ns >> 32;
	head[4] = ns;
	fwrite(head, sizeof(head), 1, packets);
	fwrite(bytes, kept, 1, packets);
	fwrite(zeros, padding, 1, packets);
	fwrite(tail, sizeof(tail), 1, packets);
}

/* Takes the packets that have passed; returns whether there was one. */
static int drain(void)
{
	enum { MOST = 64, LARGEST = 1 << 11 };
	static char data[MOST][LARGEST], controls[MOST][128];
	static struct sockaddr_ll from[MOST];
	static struct iovec parts[MOST];
	static struct mmsghdr messages[MOST];
	struct timespec clock;
	int found, any = 0;
	int64_t to_run;

	clock_gettime(CLOCK_REALTIME, &clock);
	to_run = now_ns() - clock.tv_sec * 1000000000LL - clock.tv_nsec;
	do {
		for (int i = 0; i < MOST; i++) {
			parts[i] = (struct iovec){ data[i], LARGEST };
			messages[i].msg_hdr = (struct msghdr){
				.msg_name = &from[i], .msg_namelen = sizeof(from[i]), .msg_iov = &parts[i],
				.msg_iovlen = 1, .msg_control = controls[i], .msg_controllen = sizeof(controls[i]),
			};
		}
		found = recvmmsg(tap, messages, MOST, MSG_TRUNC | MSG_DONTWAIT, NULL);
		for (int i = 0; i < found && packets; i++)
			write_packet(&messages[i].msg_hdr, data[i], messages[i].msg_len, to_run);
		any |= found > 0;
	} while (found == MOST);
	return any;
}

/* Something of the programs has happened: a packet passed, a connection ended, a program ended. */
void on_programs(int64_t at_ns)
{
	struct signalfd_siginfo exited;

	while (read(exits, &exited, sizeof(exited)) == sizeof(exited))
		;
	read_ended(at_ns);
	if (next_reading_ns == NEVER && at_ns >= 0)
		next_reading_ns = (at_ns / EVERY_NS + 1) * EVERY_NS;
}

/* Whether no packet of theirs has passed for a while. */
int programs_are_idle(void)
{
	return programs_len && next_reading_ns == NEVER;
}

/* What they have written in their directory. */
static void keep_files(void)
{
	char from[sizeof(directory) + NAME];

	snprintf(from, sizeof(from), "/run/written/files%s/.", directory);
	if (access(from, R_OK))
		return;
	mkdir("files", 0755);
	copy_all(from, "files");
}

/* Does what is due; returns when the next thing is. `over`: the run is. */
int64_t keep_programs(int64_t at_ns, int *over)
{
	int is_there;
	int64_t next_ns;

	if (!programs_len)
		return NEVER;
	if (at_ns < 0)
		return 0;
	is_there = reap(at_ns);
	if (next_reading_ns <= at_ns) {
		next_reading_ns = (at_ns / EVERY_NS + 1) * EVERY_NS;
		read_connections(at_ns);
		if (!drain()) {
			/* Until a packet passes. */
			next_reading_ns = NEVER;
			watch_again(tap, EPOLLIN | EPOLLONESHOT, ABOUT(PROGRAMS, 0));
		}
	}
	if (ended_ns < 0 && next_look_ns == NEVER && !begun)
		next_look_ns = at_ns;
	if (ended_ns < 0 && next_look_ns <= at_ns)
		next_look_ns = begin_next(at_ns);
	for (int i = 0; i < begun; i++)
		if (programs[i].stop_ns <= at_ns) {
			if (programs[i].pid > 0)
				kill(programs[i].pid, SIGTERM);
			programs[i].stop_ns = NEVER;
		}
	next_ns = next_reading_ns < next_look_ns ? next_reading_ns : next_look_ns;
	for (int i = 0; i < begun; i++)
		if (programs[i].stop_ns < next_ns)
			next_ns = programs[i].stop_ns;
	if (ended_ns < 0)
		return next_ns;
	/* Connections may close first. */
	if (!killed_ns) {
		if (at_ns < ended_ns + lingers_ns && read_host(CLIENT, at_ns))
			return at_ns + EVERY_NS;
		kill(-1, SIGTERM);
		killed_ns = at_ns;
	}
	/* The kernel tells a little later of connections that have ended. */
	if (at_ns < killed_ns + (is_there ? ENDS_NS : EVERY_NS))
		return at_ns + EVERY_NS;
	kill(-1, SIGKILL);
	*over = 1;
	return NEVER;
}

/* The run is over. */
void end_programs(int64_t at_ns)
{
	if (!programs_len)
		return;
	kill(-1, SIGKILL);
	drain();
	read_ended(at_ns);
	read_connections(at_ns);
	while (waitpid(-1, NULL, 0) > 0)
		;
	copy("/proc/ackclock/conversations", output("conversations.bin"));
	keep_files();
}
