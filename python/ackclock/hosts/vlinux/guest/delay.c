/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What tc of iproute2 6.1 cannot set up: a netem that delays by whole nanoseconds (it sends 64 ns at a
 * time), DualPI2, and a RED of the queue itself, which has one threshold.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Packets of a queue that is never full. */
#define NEVER_FULL 10000000
/* A rate keeps the order of packets when the delay changes. This one takes no time. */
#define BYTES_PER_S 125000000000000ULL

struct request {
	struct nlmsghdr header;
	struct tcmsg message;
	char attributes[512];
};

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

/* A request for a qdisc of a device of this namespace. */
static struct request qdisc(const char *device, uint32_t parent, uint32_t handle, const char *kind)
{
	struct request request = {
		.header = {
			.nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg)),
			.nlmsg_type = RTM_NEWQDISC,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_REPLACE | NLM_F_ACK,
		},
		.message = {
			.tcm_ifindex = if_nametoindex(device),
			.tcm_parent = parent,
			.tcm_handle = handle,
		},
	};

	put(&request, TCA_KIND, kind, strlen(kind) + 1);
	return request;
}

/* Asks the kernel for it. All that follows `options` is part of these. */
static int ask(struct request *request, struct rtattr *options, const char *device)
{
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
		char more[1024];
	} answer;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	options->rta_len = (char *)request + request->header.nlmsg_len - (char *)options;
	if (fd < 0 || send(fd, request, request->header.nlmsg_len, 0) < 0 ||
	    recv(fd, &answer, sizeof(answer), 0) < 0)
		die("netlink");
	errno = -answer.error.error;
	if (errno)
		die(device);
	return 0;
}

/* Gives a device of this namespace a netem, or changes the one that it has. */
int set_delay(const char *device, int64_t delay_ns)
{
	struct tc_netem_qopt usual = { .limit = NEVER_FULL };
	struct tc_netem_rate rate = { .rate = UINT32_MAX };
	uint64_t rate64 = BYTES_PER_S;
	struct request request = qdisc(device, TC_H_ROOT, 0, "netem");
	struct rtattr *options = put(&request, TCA_OPTIONS, &usual, sizeof(usual));

	put(&request, TCA_NETEM_LATENCY64, &delay_ns, sizeof(delay_ns));
	put(&request, TCA_NETEM_RATE64, &rate64, sizeof(rate64));
	put(&request, TCA_NETEM_RATE, &rate, sizeof(rate));
	return ask(&request, options, device);
}

/*
 * Gives the bucket of a device a DualPI2: packets, target and update in us, alpha and beta in 1/256 Hz,
 * step in us, coupling, share of the classic queue in percent.
 */
int set_dualpi2(const char *device, char **numbers)
{
	/* TCA_DUALPI2_* of Linux 6.17 and later; Debian 12 does not have them. */
	static const struct {
		int type, size;
	} fields[] = { { 1, 4 }, { 3, 4 }, { 4, 4 }, { 5, 4 }, { 6, 4 }, { 8, 4 }, { 10, 1 }, { 13, 1 } };
	struct request request = qdisc(device, TC_H_MAKE(1 << 16, 1), 0x10 << 16, "dualpi2");
	struct rtattr *options = put(&request, TCA_OPTIONS | NLA_F_NESTED, NULL, 0);
	/* Packets are the limit, not their memory (TCA_DUALPI2_MEMORY_LIMIT). */
	uint32_t value = UINT32_MAX;

	put(&request, 2, &value, sizeof(value));
	for (int i = 0; i < DUALPI2_NUMBERS; i++) {
		value = strtoul(numbers[i], NULL, 10);
		put(&request, fields[i].type, &value, fields[i].size);
	}
	return ask(&request, options, device);
}

/*
 * Gives the bucket of a device a RED that marks each packet which finds more than so many bytes, and no
 * other. It drops what finds no room in `limit` bytes.
 */
int set_step(const char *device, uint32_t limit, uint32_t threshold)
{
	/* The average is the queue, also after an idle time (`Wlog`, and the table of shifts). */
	struct tc_red_qopt usual = {
		.limit = limit,
		.qth_min = threshold + 1,
		.qth_max = threshold + 1,
	};
	uint32_t set = TC_RED_ECN | TC_RED_NODROP;
	struct nla_bitfield32 flags = { .value = set, .selector = set };
	struct request request = qdisc(device, TC_H_MAKE(1 << 16, 1), 0x10 << 16, "red");
	struct rtattr *options = put(&request, TCA_OPTIONS | NLA_F_NESTED, NULL, 0);
	unsigned char shifts[256];

	memset(shifts, 31, sizeof(shifts));
	put(&request, TCA_RED_PARMS, &usual, sizeof(usual));
	put(&request, TCA_RED_STAB, shifts, sizeof(shifts));
	put(&request, TCA_RED_FLAGS, &flags, sizeof(flags));
	return ask(&request, options, device);
}
