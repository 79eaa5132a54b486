/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What happened to packets with data: of a flow, or of programs from one port to another. */
#ifndef CONVERSATIONS_H
#define CONVERSATIONS_H

#include <linux/jhash.h>
#include <linux/proc_fs.h>
#include <linux/vmalloc.h>

#include "headers.h"

#define CONVERSATIONS 65536

struct counts {
	u64 dropped;	/* data packets that a queue dropped */
	u64 marked_packets;	/* data packets that arrived with CE */
	u64 link_lost_packets;	/* data packets that a link lost */
	u64 policed_packets;	/* data packets that a policer dropped */
	u64 sent;	/* datagrams */
	u64 arrived;	/* bytes in them */
};

struct conversation {
	u32 address;	/* from there */
	u16 from_port, to_port;
	u32 protocol;
	u32 unused;
	struct counts counts;
};

/* Those of programs, and the place of each plus 1, by its hash. */
static struct conversation *conversations;
static u32 conversations_len;
static u32 *conversation_places;

/* That of a packet with data; NULL: there are too many. */
static struct counts *conversation_of(const struct sk_buff *skb)
{
	const struct iphdr *ip = ip_hdr(skb);
	const struct udphdr *ports = (void *)ip + 4 * ip->ihl;
	struct conversation wanted = {
		.address = ntohl(ip->saddr),
		.from_port = ntohs(ports->source),
		.to_port = ntohs(ports->dest),
		.protocol = ip->protocol,
	};
	size_t size = offsetof(struct conversation, unused);
	u32 place = jhash(&wanted, size, 0) % (2 * CONVERSATIONS);

	for (; conversation_places[place]; place = (place + 1) % (2 * CONVERSATIONS))
		if (!memcmp(&conversations[conversation_places[place] - 1], &wanted, size))
			return &conversations[conversation_places[place] - 1].counts;
	if (conversations_len == CONVERSATIONS)
		return NULL;
	conversations[conversations_len] = wanted;
	conversation_places[place] = ++conversations_len;
	return &conversations[conversations_len - 1].counts;
}

static ssize_t read_conversations(struct file *file, char __user *to, size_t size, loff_t *at)
{
	return simple_read_from_buffer(to, size, at, conversations,
				       conversations_len * sizeof(*conversations));
}

static const struct proc_ops of_conversations = { .proc_read = read_conversations };

/* Returns whether there is no room for them. */
static bool begin_conversations(struct proc_dir_entry *directory)
{
	conversations = vzalloc(CONVERSATIONS * sizeof(*conversations));
	conversation_places = vzalloc(2 * CONVERSATIONS * sizeof(*conversation_places));
	return !conversations || !conversation_places ||
	       !proc_create("conversations", 0400, directory, &of_conversations);
}

#endif
