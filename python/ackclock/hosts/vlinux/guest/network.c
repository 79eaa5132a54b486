/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Sets up namespaces, devices, addresses and routes, which plan.c says, by netlink: a program takes
 * 10 ms of processor time to start in the machine, and a namespace needs one for each of its lines.
 * Queues are left to tc, but for what that of iproute2 6.1 cannot set up: a netem that delays by whole
 * nanoseconds (it sends 64 ns at a time), DualPI2, and a RED of the queue itself, which has one
 * threshold.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/fib_rules.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What is at the other end of each device. */
#define NEIGHBOUR "10.254.0.1"
/* Packets of a queue that is never full. */
#define NEVER_FULL 10000000
/* A rate keeps the order of packets when the delay changes. This one takes no time. */
#define BYTES_PER_S 125000000000000ULL

/* Reads fields of a line, all or none. */
#define FIELDS(line, number, ...) needs(sscanf(line, __VA_ARGS__) == (number), line)

struct request {
	struct nlmsghdr header;
	char body[1024];
};

static void needs(int holds, const char *line)
{
	if (!holds) {
		errno = EINVAL;
		die(line);
	}
}

static struct request begin(int type, int flags, const void *message, int size)
{
	struct request request = {
		.header = {
			.nlmsg_len = NLMSG_LENGTH(size),
			.nlmsg_type = type,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags,
		},
	};

	memcpy(request.body, message, size);
	return request;
}

static struct rtattr *put(struct request *to, int type, const void *data, int size)
{
	struct rtattr *at = (void *)((char *)to + NLMSG_ALIGN(to->header.nlmsg_len));

	at->rta_type = type;
	at->rta_len = RTA_LENGTH(size);
	if (size)
		memcpy(RTA_DATA(at), data, size);
	to->header.nlmsg_len = NLMSG_ALIGN(to->header.nlmsg_len) + RTA_ALIGN(at->rta_len);
	return at;
}

static void put_u32(struct request *to, int type, uint32_t value)
{
	put(to, type, &value, sizeof(value));
}

/* All that follows `nest` is part of it. */
static void end(const struct request *request, struct rtattr *nest)
{
	nest->rta_len = (const char *)request + request->header.nlmsg_len - (char *)nest;
}

/* Asks the kernel for it, in this namespace. */
static void ask(struct request *request, const char *what)
{
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
		char more[1024];
	} answer;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0 || send(fd, request, request->header.nlmsg_len, 0) < 0 ||
	    recv(fd, &answer, sizeof(answer), 0) < 0)
		die("netlink");
	close(fd);
	errno = -answer.error.error;
	if (errno)
		die(what);
}

static void put_address(struct request *to, int type, const char *text)
{
	struct in_addr address;

	if (!strcmp(text, "-"))
		return;
	needs(inet_pton(AF_INET, text, &address) == 1, text);
	put(to, type, &address, sizeof(address));
}

static void make_space(char *line)
{
	char path[NAME + 16];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%.63s", line);
	mkdir("/run/netns", 0755);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || unshare(CLONE_NEWNET) || mount("/proc/self/ns/net", path, NULL, MS_BIND, NULL))
		die(path);
	close(fd);
}

/* Of a file of the system, in a namespace. */
static void set(char *line)
{
	char space[NAME], path[4096];
	int at = 0, fd;

	FIELDS(line, 2, "%63s %4095s %n", space, path, &at);
	enter(space);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, line + at, strlen(line + at)) < 0)
		die(path);
	close(fd);
}

static void load(char *line)
{
	char path[NAME];
	int at = 0, fd;

	FIELDS(line, 1, "%63s %n", path, &at);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || syscall(SYS_finit_module, fd, line + at, 0))
		die(path);
	close(fd);
}

static void bring_up(char *line)
{
	struct ifinfomsg message = { .ifi_flags = IFF_UP, .ifi_change = IFF_UP };
	char space[NAME], device[NAME];
	struct request request;

	FIELDS(line, 2, "%63s %63s", space, device);
	enter(space);
	message.ifi_index = if_nametoindex(device);
	request = begin(RTM_NEWLINK, 0, &message, sizeof(message));
	ask(&request, device);
}

/* One end of a pair, whose hardware address ends in `last`. */
static void put_end(struct request *to, const char *space, const char *device, int last, uint32_t mtu)
{
	unsigned char mac[] = { 2, 0, 0, 0, 0, last };

	put(to, IFLA_IFNAME, device, strlen(device) + 1);
	put(to, IFLA_ADDRESS, mac, sizeof(mac));
	put_u32(to, IFLA_MTU, mtu);
	put_u32(to, IFLA_NET_NS_FD, space_fd(space));
}

/* A device that merges and cuts no packets, and knows what is at its other end. */
static void begin_device(const char *space, const char *device, int neighbours_last)
{
	static const uint32_t switches[] = { ETHTOOL_SGSO, ETHTOOL_STSO, ETHTOOL_SGRO };
	struct ndmsg message = { .ndm_family = AF_INET, .ndm_state = NUD_PERMANENT };
	unsigned char mac[] = { 2, 0, 0, 0, 0, neighbours_last };
	char line[2 * NAME];
	struct request request;
	int fd;

	snprintf(line, sizeof(line), "%s %s", space, device);
	bring_up(line);
	message.ndm_ifindex = if_nametoindex(device);
	request = begin(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &message, sizeof(message));
	put_address(&request, NDA_DST, NEIGHBOUR);
	put(&request, NDA_LLADDR, mac, sizeof(mac));
	ask(&request, device);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	for (unsigned int i = 0; i < sizeof(switches) / sizeof(*switches); i++) {
		struct ethtool_value off = { .cmd = switches[i] };
		struct ifreq to = { .ifr_data = (void *)&off };

		strncpy(to.ifr_name, device, IFNAMSIZ - 1);
		if (ioctl(fd, SIOCETHTOOL, &to))
			die(device);
	}
	close(fd);
}

static void make_pair(char *line)
{
	struct ifinfomsg message = { 0 };
	char space[NAME], device[NAME], other_space[NAME], other[NAME];
	struct request request = begin(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &message, sizeof(message));
	struct rtattr *info, *data, *peer;
	uint32_t mtu;

	FIELDS(line, 5, "%63s %63s %63s %63s %u", space, device, other_space, other, &mtu);
	put_end(&request, space, device, 1, mtu);
	info = put(&request, IFLA_LINKINFO, NULL, 0);
	put(&request, IFLA_INFO_KIND, "veth", sizeof("veth"));
	data = put(&request, IFLA_INFO_DATA, NULL, 0);
	peer = put(&request, VETH_INFO_PEER, &message, sizeof(message));
	put_end(&request, other_space, other, 2, mtu);
	end(&request, peer);
	end(&request, data);
	end(&request, info);
	enter("-");
	ask(&request, line);
	begin_device(space, device, 2);
	begin_device(other_space, other, 1);
}

static void limit_segments(char *line)
{
	struct ifinfomsg message = { 0 };
	char space[NAME], device[NAME];
	struct request request;
	uint32_t most;

	FIELDS(line, 3, "%63s %63s %u", space, device, &most);
	enter(space);
	message.ifi_index = if_nametoindex(device);
	request = begin(RTM_NEWLINK, 0, &message, sizeof(message));
	put_u32(&request, IFLA_GSO_MAX_SEGS, most);
	ask(&request, device);
}

/* A device that merges what comes (`ethtool -K DEVICE gro on`), until it has been quiet for so long, ns. */
static void merge(char *line)
{
	char space[NAME], device[NAME], path[2 * NAME + 64], wait[NAME];
	struct ethtool_value on = { .cmd = ETHTOOL_SGRO, .data = 1 };
	struct ifreq to = { .ifr_data = (void *)&on };
	int fd;

	FIELDS(line, 3, "%63s %63s %63s", space, device, wait);
	enter(space);
	strncpy(to.ifr_name, device, IFNAMSIZ - 1);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCETHTOOL, &to))
		die(device);
	close(fd);
	/* A sysfs shows the devices of the namespace in which it is mounted. */
	mkdir("/run/sys", 0755);
	if (mount("sysfs", "/run/sys", "sysfs", 0, NULL))
		die("/run/sys");
	snprintf(path, sizeof(path), "/run/sys/class/net/%s/gro_flush_timeout", device);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, wait, strlen(wait)) < 0)
		die(path);
	close(fd);
	umount("/run/sys");
}

static void add_address(char *line)
{
	struct ifaddrmsg message = { .ifa_family = AF_INET, .ifa_prefixlen = 32 };
	char space[NAME], device[NAME], address[NAME];
	struct request request;

	FIELDS(line, 3, "%63s %63s %63s", space, device, address);
	enter(space);
	message.ifa_index = if_nametoindex(device);
	request = begin(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &message, sizeof(message));
	put_address(&request, IFA_LOCAL, address);
	put_address(&request, IFA_ADDRESS, address);
	ask(&request, line);
}

static void add_route(char *line)
{
	static const int metrics[] = { RTAX_MTU, RTAX_INITCWND, RTAX_QUICKACK, RTAX_RTO_MIN };
	struct rtmsg message = {
		.rtm_family = AF_INET,
		.rtm_protocol = RTPROT_BOOT,
		.rtm_type = RTN_UNICAST,
		.rtm_flags = RTNH_F_ONLINK,
	};
	char space[NAME], device[NAME], to[NAME], source[NAME];
	struct request request;
	struct rtattr *nest;
	uint32_t table, values[4];

	FIELDS(line, 9, "%63s %63s %63s %63s %u %u %u %u %u", space, device, to, source, &table,
	       &values[0], &values[1], &values[2], &values[3]);
	enter(space);
	message.rtm_table = table ? RT_TABLE_UNSPEC : RT_TABLE_MAIN;
	message.rtm_dst_len = strcmp(to, "-") ? 32 : 0;
	request = begin(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &message, sizeof(message));
	put_address(&request, RTA_DST, to);
	put_address(&request, RTA_GATEWAY, NEIGHBOUR);
	put_address(&request, RTA_PREFSRC, source);
	put_u32(&request, RTA_OIF, if_nametoindex(device));
	if (table)
		put_u32(&request, RTA_TABLE, table);
	nest = put(&request, RTA_METRICS, NULL, 0);
	for (int i = 0; i < 4; i++)
		if (values[i])
			put_u32(&request, metrics[i], values[i]);
	if (values[3]) /* only counts where it is locked */
		put_u32(&request, RTAX_LOCK, 1 << RTAX_RTO_MIN);
	end(&request, nest);
	ask(&request, line);
}

/* What comes at the device of the hub follows a table of its own. */
static void add_rule(char *line)
{
	struct fib_rule_hdr message = { .family = AF_INET, .action = FR_ACT_TO_TBL };
	char space[NAME], device[NAME];
	struct request request;
	uint32_t table;

	FIELDS(line, 3, "%63s %63s %u", space, device, &table);
	enter(space);
	request = begin(RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL, &message, sizeof(message));
	put(&request, FRA_IIFNAME, device, strlen(device) + 1);
	put_u32(&request, FRA_TABLE, table);
	ask(&request, line);
}

/* Its commands end in semicolons here, in lines there. */
static void run_tc(char *line)
{
	char *const words[] = { "tc", "-batch", "-", NULL };
	posix_spawn_file_actions_t actions;
	int at = 0, pipes[2], status;
	char space[NAME];
	pid_t pid;

	FIELDS(line, 1, "%63s %n", space, &at);
	enter(space);
	for (char *found = line; (found = strchr(found, ';')) != NULL;)
		*found = '\n';
	posix_spawn_file_actions_init(&actions);
	if (pipe2(pipes, O_CLOEXEC) || write(pipes[1], line + at, strlen(line + at)) < 0)
		die("pipe");
	posix_spawn_file_actions_adddup2(&actions, pipes[0], 0);
	close(pipes[1]);
	errno = posix_spawnp(&pid, "tc", &actions, NULL, words, environ);
	if (errno || waitpid(pid, &status, 0) != pid || status)
		die(line + at);
	close(pipes[0]);
	posix_spawn_file_actions_destroy(&actions);
}

/* A request for a qdisc of a device. Its options follow, up to `give`. */
static struct request qdisc(const char *space, const char *device, uint32_t parent, uint32_t handle,
			    const char *kind)
{
	struct tcmsg message = { .tcm_parent = parent, .tcm_handle = handle };
	struct request request;

	enter(space);
	message.tcm_ifindex = if_nametoindex(device);
	request = begin(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, &message, sizeof(message));
	put(&request, TCA_KIND, kind, strlen(kind) + 1);
	return request;
}

/* Gives a device a netem, or changes the one that it has. */
static void set_delay(char *line)
{
	struct tc_netem_qopt usual = { .limit = NEVER_FULL };
	struct tc_netem_rate rate = { .rate = UINT32_MAX };
	uint64_t rate64 = BYTES_PER_S;
	char space[NAME], device[NAME];
	struct request request;
	struct rtattr *options;
	int64_t delay_ns;
	int overtaking;

	FIELDS(line, 4, "%63s %63s %ld %d", space, device, &delay_ns, &overtaking);
	request = qdisc(space, device, TC_H_ROOT, 0, "netem");
	options = put(&request, TCA_OPTIONS, &usual, sizeof(usual));
	put(&request, TCA_NETEM_LATENCY64, &delay_ns, sizeof(delay_ns));
	if (!overtaking) {
		put(&request, TCA_NETEM_RATE64, &rate64, sizeof(rate64));
		put(&request, TCA_NETEM_RATE, &rate, sizeof(rate));
	}
	end(&request, options);
	ask(&request, device);
}

/*
 * Gives the bucket of a device a DualPI2: packets, target and update in us, alpha and beta in 1/256 Hz,
 * step in us, coupling, share of the classic queue in percent.
 */
static void set_dualpi2(char *line)
{
	/* TCA_DUALPI2_* of Linux 6.17 and later; Debian 12 does not have them. */
	static const struct {
		int type, size;
	} fields[] = { { 1, 4 }, { 3, 4 }, { 4, 4 }, { 5, 4 }, { 6, 4 }, { 8, 4 }, { 10, 1 }, { 13, 1 } };
	char space[NAME], device[NAME];
	struct request request;
	struct rtattr *options;
	int at = 0;
	char *rest;

	FIELDS(line, 2, "%63s %63s %n", space, device, &at);
	request = qdisc(space, device, TC_H_MAKE(1 << 16, 1), 0x10 << 16, "dualpi2");
	options = put(&request, TCA_OPTIONS | NLA_F_NESTED, NULL, 0);
	/* Packets are the limit, not their memory (TCA_DUALPI2_MEMORY_LIMIT). */
	put_u32(&request, 2, UINT32_MAX);
	rest = line + at;
	for (unsigned int i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		uint32_t value = strtoul(rest, &rest, 10);

		put(&request, fields[i].type, &value, fields[i].size);
	}
	end(&request, options);
	ask(&request, device);
}

/*
 * Gives the bucket of a device a RED that marks each packet which finds more than so many bytes, and no
 * other. It drops what finds no room in `limit` bytes.
 */
static void set_step(char *line)
{
	/* The average is the queue, also after an idle time (`Wlog`, and the table of shifts). */
	struct tc_red_qopt usual = { 0 };
	uint32_t set = TC_RED_ECN | TC_RED_NODROP;
	struct nla_bitfield32 flags = { .value = set, .selector = set };
	char space[NAME], device[NAME];
	unsigned char shifts[256];
	struct request request;
	struct rtattr *options;

	FIELDS(line, 4, "%63s %63s %u %u", space, device, &usual.limit, &usual.qth_min);
	usual.qth_max = ++usual.qth_min;
	memset(shifts, 31, sizeof(shifts));
	request = qdisc(space, device, TC_H_MAKE(1 << 16, 1), 0x10 << 16, "red");
	options = put(&request, TCA_OPTIONS | NLA_F_NESTED, NULL, 0);
	put(&request, TCA_RED_PARMS, &usual, sizeof(usual));
	put(&request, TCA_RED_STAB, shifts, sizeof(shifts));
	put(&request, TCA_RED_FLAGS, &flags, sizeof(flags));
	end(&request, options);
	ask(&request, device);
}

void set_up(char *line)
{
	static const struct {
		const char *name;
		void (*does)(char *line);
	} commands[] = {
		{ "space", make_space }, { "set", set }, { "load", load }, { "up", bring_up },
		{ "pair", make_pair }, { "segments", limit_segments }, { "address", add_address },
		{ "route", add_route }, { "rule", add_rule }, { "tc", run_tc }, { "delay", set_delay },
		{ "dualpi2", set_dualpi2 }, { "step", set_step }, { "gro", merge },
	};
	char name[NAME];
	int at = 0;

	FIELDS(line, 1, "%63s %n", name, &at);
	for (unsigned int i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(name, commands[i].name)) {
			commands[i].does(line + at);
			enter("-");
			return;
		}
	needs(0, line);
}
