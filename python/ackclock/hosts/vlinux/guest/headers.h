/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What a packet is, by its headers. */
#ifndef HEADERS_H
#define HEADERS_H

#include <linux/ip.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>

/* The TCP header of a packet with data; NULL: it has none, or is of no TCP. */
static inline const struct tcphdr *data_header(const struct sk_buff *skb)
{
	const struct iphdr *ip = ip_hdr(skb);
	const struct tcphdr *tcp = (void *)ip + 4 * ip->ihl;

	if (skb->protocol != htons(ETH_P_IP) || ip->protocol != IPPROTO_TCP)
		return NULL;
	return ntohs(ip->tot_len) == 4 * (ip->ihl + tcp->doff) ? NULL : tcp;
}

#endif
