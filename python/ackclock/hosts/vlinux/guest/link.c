// SPDX-License-Identifier: GPL-2.0-only
/*
 * Qdiscs that Linux has not. /mnt/DEVICE.link has numbers of 64 bits for each.
 *
 * "wire": a wire whose rate changes and may be 0, or that of a recorded link, below the queue at its
 * class 1. Of a packet of TSO it sends one segment after the other, as a network card. Its numbers:
 * whether it is recorded, whether the queue is told when the wire idles, as by an interface and not by a
 * bucket, and the times of opportunities in ms, or pairs of time in ns and rate in bit/s, the first at
 * time 0.
 *
 * "chosen": drops packets of data that are chosen, and delays none. Its numbers: how many come between
 * two drops, that one included, or 0 and the numbers of those to drop, which ascend.
 *
 * "paced": packets leave at a constant rate. Its numbers: when the first leaves, ns, when none leaves any
 * more, and the rate in bit/s (IP). Packets are of one size.
 */
#include <linux/kernel_read_file.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/vmalloc.h>
#include <net/gso.h>
#include <net/pkt_sched.h>

#include "headers.h"

enum { IS_RECORDED, TELLS_IDLE, FIRST };
#define NEVER U64_MAX
#define NS_PER_MS 1000000ULL
/* An opportunity carries a full packet and what mahimahi counts beside it (TUN's header). */
#define OPPORTUNITY_BYTES 1504
#define TUN_BYTES 4

/* Time 0 of the run. */
static u64 zero_ns;

struct wire {
	struct qdisc_watchdog watchdog;
	u64 *of, count;
	struct Qdisc *child;
	bool serves;
	/* Segments left of the packet in service, if it is of TSO. */
	struct sk_buff *segments;
	/* When the packet in service leaves, or the one before has left. */
	u64 leaves_ns;
	/* What a whole nanosecond left of the last packet, 10^-9 bits. */
	u64 rest;
	u64 step;
	/* Recorded: when the present repetition began, and what is left of the last opportunity. */
	u64 base_ns, left_bytes;
};

static u64 serve_stepped(struct wire *wire, u64 from_ns, u64 bytes)
{
	const u64 *steps = wire->of + FIRST, count = wire->count / 2;
	u64 owed = bytes * 8 * NSEC_PER_SEC;

	if (from_ns == wire->leaves_ns)
		owed += wire->rest;
	while (1) {
		u64 rate, next_ns, ns;

		while (wire->step + 1 < count && steps[2 * wire->step + 2] <= from_ns)
			wire->step++;
		rate = steps[2 * wire->step + 1];
		next_ns = wire->step + 1 < count ? steps[2 * wire->step + 2] : NEVER;
		ns = rate ? div64_u64(owed, rate) : NEVER;
		if (rate && ns <= next_ns - from_ns) {
			wire->rest = owed - ns * rate;
			return from_ns + ns;
		}
		if (next_ns == NEVER)
			return NEVER;
		owed -= rate * (next_ns - from_ns);
		from_ns = next_ns;
	}
}

static u64 serve_recorded(struct wire *wire, u64 from_ns, u64 bytes)
{
	const u64 *times_ms = wire->of + FIRST, count = wire->count;
	u64 at_ns = wire->leaves_ns, period_ns = times_ms[count - 1] * NS_PER_MS;

	if (at_ns < from_ns)
		wire->left_bytes = 0;
	for (bytes += TUN_BYTES; bytes > wire->left_bytes;) {
		bytes -= wire->left_bytes;
		do {
			at_ns = wire->base_ns + times_ms[wire->step] * NS_PER_MS;
			if (++wire->step == count) {
				wire->step = 0;
				wire->base_ns += period_ns;
			}
		} while (at_ns < from_ns);
		wire->left_bytes = OPPORTUNITY_BYTES;
	}
	wire->left_bytes -= bytes;
	return at_ns;
}

/* The segments of a packet, without what its sender is told when it is freed: that comes at the last. */
static struct sk_buff *cut(struct sk_buff *skb)
{
	void (*destructor)(struct sk_buff *skb) = skb->destructor;
	struct sock *sk = skb->sk;
	struct sk_buff *segments;

	skb->destructor = NULL;
	skb->sk = NULL;
	segments = skb_gso_segment(skb, netif_skb_features(skb) & ~NETIF_F_GSO_MASK);
	skb->destructor = destructor;
	skb->sk = sk;
	return IS_ERR(segments) ? NULL : segments;
}

static void serve(struct Qdisc *sch, u64 now_ns)
{
	struct wire *wire = qdisc_priv(sch);
	struct Qdisc *child = wire->child;
	struct sk_buff *skb = child->ops->peek(child);
	u64 from_ns = max(now_ns, wire->leaves_ns), bytes;

	wire->serves = skb;
	if (!skb) {
		if (wire->of[TELLS_IDLE])
			child->ops->dequeue(child);
		return;
	}
	if (!wire->segments && skb_is_gso(skb))
		wire->segments = cut(skb);
	bytes = wire->segments ? wire->segments->len - ETH_HLEN : qdisc_pkt_len(skb);
	wire->leaves_ns = wire->of[IS_RECORDED] ? serve_recorded(wire, from_ns, bytes) :
						  serve_stepped(wire, from_ns, bytes);
}

static int wire_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct wire *wire = qdisc_priv(sch);
	unsigned int bytes = qdisc_pkt_len(skb);
	int error = qdisc_enqueue(skb, wire->child, to_free);

	if (error == NET_XMIT_SUCCESS) {
		sch->q.qlen++;
		sch->qstats.backlog += bytes;
	} else if (net_xmit_drop_count(error)) {
		qdisc_qstats_drop(sch);
	}
	/* As qdisc_run, which follows also a drop. */
	if (!wire->serves)
		serve(sch, ktime_get_ns() - zero_ns);
	return error;
}

static struct sk_buff *wire_dequeue(struct Qdisc *sch)
{
	struct wire *wire = qdisc_priv(sch);
	struct sk_buff *skb, *segment;

	if (!wire->serves || wire->leaves_ns == NEVER)
		return NULL;
	if (ktime_get_ns() - zero_ns < wire->leaves_ns) {
		qdisc_watchdog_schedule_ns(&wire->watchdog, zero_ns + wire->leaves_ns);
		return NULL;
	}
	segment = wire->segments;
	if (segment && segment->next) {
		wire->segments = segment->next;
		skb_mark_not_on_list(segment);
		serve(sch, wire->leaves_ns);
		return segment;
	}
	skb = qdisc_dequeue_peeked(wire->child);
	sch->q.qlen--;
	qdisc_qstats_backlog_dec(sch, skb);
	qdisc_bstats_update(sch, skb);
	if (segment) {
		wire->segments = NULL;
		consume_skb(skb);
		skb = segment;
	}
	serve(sch, wire->leaves_ns);
	return skb;
}

/* Reads the numbers of a qdisc. Returns how many they are, or an error. */
static ssize_t read_numbers(struct Qdisc *sch, u64 **of)
{
	void *text = NULL;
	char path[64];
	ssize_t bytes;

	snprintf(path, sizeof(path), "/mnt/%s.link", qdisc_dev(sch)->name);
	bytes = kernel_read_file_from_path(path, 0, &text, INT_MAX, NULL, READING_UNKNOWN);
	if (bytes < 0)
		return bytes;
	*of = text;
	return bytes / sizeof(**of);
}

static int wire_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct wire *wire = qdisc_priv(sch);
	ssize_t count;

	qdisc_watchdog_init(&wire->watchdog, sch);
	wire->child = &noop_qdisc;
	count = read_numbers(sch, &wire->of);
	if (count < 0)
		return count;
	wire->count = count - FIRST;
	return count <= FIRST ? -EINVAL : 0;
}

static void wire_reset(struct Qdisc *sch)
{
	struct wire *wire = qdisc_priv(sch);

	qdisc_reset(wire->child);
	kfree_skb_list(wire->segments);
	wire->segments = NULL;
	wire->serves = false;
	qdisc_watchdog_cancel(&wire->watchdog);
}

static void wire_destroy(struct Qdisc *sch)
{
	struct wire *wire = qdisc_priv(sch);

	qdisc_watchdog_cancel(&wire->watchdog);
	qdisc_put(wire->child);
	vfree(wire->of);
}

/* It has one class, 1. */
static unsigned long wire_find(struct Qdisc *sch, u32 class)
{
	return TC_H_MIN(class) == 1;
}

static struct Qdisc *wire_leaf(struct Qdisc *sch, unsigned long class)
{
	struct wire *wire = qdisc_priv(sch);

	return wire->child;
}

static int wire_graft(struct Qdisc *sch, unsigned long class, struct Qdisc *child, struct Qdisc **old,
		      struct netlink_ext_ack *extack)
{
	struct wire *wire = qdisc_priv(sch);

	*old = qdisc_replace(sch, child ?: &noop_qdisc, &wire->child);
	return 0;
}

static void wire_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	if (!walker->stop)
		tc_qdisc_stats_dump(sch, 1, walker);
}

static const struct Qdisc_class_ops wire_class_ops = {
	.find = wire_find,
	.leaf = wire_leaf,
	.graft = wire_graft,
	.walk = wire_walk,
};

static struct Qdisc_ops wire_ops = {
	.id = "wire",
	.cl_ops = &wire_class_ops,
	.priv_size = sizeof(struct wire),
	.enqueue = wire_enqueue,
	.dequeue = wire_dequeue,
	.peek = qdisc_peek_dequeued,
	.init = wire_init,
	.reset = wire_reset,
	.destroy = wire_destroy,
	.owner = THIS_MODULE,
};

enum { EVERY, NUMBERS };

struct chosen {
	u64 *of;
	ssize_t count;
	/* Packets of data so far, and how many of the numbers have come. */
	u64 packets, next;
};

static bool is_chosen(struct chosen *chosen)
{
	u64 every = chosen->of[EVERY], number = ++chosen->packets;

	if (every)
		return number % every == 0;
	if (NUMBERS + chosen->next == chosen->count || chosen->of[NUMBERS + chosen->next] != number)
		return false;
	chosen->next++;
	return true;
}

static int chosen_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	if (data_port(skb) && is_chosen(qdisc_priv(sch)))
		return qdisc_drop(skb, sch, to_free);
	return qdisc_enqueue_tail(skb, sch);
}

static int chosen_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct chosen *chosen = qdisc_priv(sch);

	chosen->count = read_numbers(sch, &chosen->of);
	if (chosen->count < 0)
		return chosen->count;
	return chosen->count < NUMBERS ? -EINVAL : 0;
}

static void chosen_destroy(struct Qdisc *sch)
{
	struct chosen *chosen = qdisc_priv(sch);

	vfree(chosen->of);
}

static struct Qdisc_ops chosen_ops = {
	.id = "chosen",
	.priv_size = sizeof(struct chosen),
	.enqueue = chosen_enqueue,
	.dequeue = qdisc_dequeue_head,
	.peek = qdisc_peek_head,
	.init = chosen_init,
	.reset = qdisc_reset_queue,
	.destroy = chosen_destroy,
	.owner = THIS_MODULE,
};

enum { START_NS, STOP_NS, RATE_BPS, PACED };

struct paced {
	struct qdisc_watchdog watchdog;
	u64 *of;
	u64 packets;
};

static struct sk_buff *paced_dequeue(struct Qdisc *sch)
{
	struct paced *paced = qdisc_priv(sch);
	struct sk_buff *skb = qdisc_peek_head(sch);
	u64 bits, due_ns;

	if (!skb)
		return NULL;
	bits = 8 * (skb->len - skb_network_offset(skb));
	due_ns = paced->of[START_NS] +
		 mul_u64_u64_div_u64(paced->packets * bits, NSEC_PER_SEC, paced->of[RATE_BPS]);
	if (due_ns >= paced->of[STOP_NS])
		return NULL;
	if (ktime_get_ns() - zero_ns < due_ns) {
		qdisc_watchdog_schedule_ns(&paced->watchdog, zero_ns + due_ns);
		return NULL;
	}
	paced->packets++;
	return qdisc_dequeue_head(sch);
}

static int paced_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	return qdisc_enqueue_tail(skb, sch);
}

static int paced_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct paced *paced = qdisc_priv(sch);
	ssize_t count;

	qdisc_watchdog_init(&paced->watchdog, sch);
	count = read_numbers(sch, &paced->of);
	if (count < 0)
		return count;
	return count != PACED ? -EINVAL : 0;
}

static void paced_reset(struct Qdisc *sch)
{
	struct paced *paced = qdisc_priv(sch);

	qdisc_reset_queue(sch);
	qdisc_watchdog_cancel(&paced->watchdog);
}

static void paced_destroy(struct Qdisc *sch)
{
	struct paced *paced = qdisc_priv(sch);

	qdisc_watchdog_cancel(&paced->watchdog);
	vfree(paced->of);
}

static struct Qdisc_ops paced_ops = {
	.id = "paced",
	.priv_size = sizeof(struct paced),
	.enqueue = paced_enqueue,
	.dequeue = paced_dequeue,
	.peek = qdisc_peek_head,
	.init = paced_init,
	.reset = paced_reset,
	.destroy = paced_destroy,
	.owner = THIS_MODULE,
};

/* Written less than half a second before or after time 0, which is a whole second. */
static int set_begins(const char *value, const struct kernel_param *kp)
{
	zero_ns = div64_u64(ktime_get_ns() + NSEC_PER_SEC / 2, NSEC_PER_SEC) * NSEC_PER_SEC;
	return 0;
}

static const struct kernel_param_ops begins_ops = { .set = set_begins };
module_param_cb(begins, &begins_ops, NULL, 0200);

static int __init link_load(void)
{
	return register_qdisc(&wire_ops) ?: register_qdisc(&chosen_ops) ?: register_qdisc(&paced_ops);
}
module_init(link_load);

MODULE_DESCRIPTION("What links do and no qdisc of Linux does");
MODULE_LICENSE("GPL");
