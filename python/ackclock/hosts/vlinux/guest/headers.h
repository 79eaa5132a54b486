/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What a packet is, by its headers. */
#ifndef HEADERS_H
#define HEADERS_H

#include <linux/ip.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <linux/udp.h>

/* The UDP header of a datagram; NULL: it is none. */
static inline const struct udphdr *datagram(const struct sk_buff *skb)
{
	const struct iphdr *ip = ip_hdr(skb);

	if (skb->protocol != htons(ETH_P_IP) || ip->protocol != IPPROTO_UDP)
		return NULL;
	return (void *)ip + 4 * ip->ihl;
}

/* The port that a packet with data goes to; 0: it has none. */
static inline __be16 data_port(const struct sk_buff *skb)
{
	const struct iphdr *ip = ip_hdr(skb);
	const struct tcphdr *tcp = (void *)ip + 4 * ip->ihl;
	const struct udphdr *udp = datagram(skb);

	if (udp)
		return udp->dest;
	if (skb->protocol != htons(ETH_P_IP) || ip->protocol != IPPROTO_TCP)
		return 0;
	return ntohs(ip->tot_len) == 4 * (ip->ihl + tcp->doff) ? 0 : tcp->dest;
}

#endif
