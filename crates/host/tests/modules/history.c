// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A ring of 400 bytes and a matrix, allocated in init: what out-of-tree modules keep of the past. */
#include <linux/module.h>
#include <linux/slab.h>
#include <net/tcp.h>

#define RING_LENGTH 100

struct ring {
	u32 cwnd[RING_LENGTH];
	u16 head, count;
};

struct past {
	struct ring *ring;
	u32 **rows;
	u32 losses;
};

static void past_init(struct sock *sk)
{
	struct past *ca = inet_csk_ca(sk);
	int i;

	memset(ca, 0, sizeof(*ca));
	ca->ring = kzalloc(sizeof(*ca->ring), GFP_ATOMIC);
	ca->rows = kcalloc(4, sizeof(*ca->rows), GFP_ATOMIC | __GFP_NOWARN);
	if (!ca->ring || !ca->rows)
		return;
	for (i = 0; i < 4; i++)
		ca->rows[i] = kmalloc_array(8, sizeof(u32), GFP_ATOMIC);
}

static void past_release(struct sock *sk)
{
	struct past *ca = inet_csk_ca(sk);
	int i;

	for (i = 0; ca->rows && i < 4; i++)
		kfree(ca->rows[i]);
	kfree(ca->rows);
	kfree(ca->ring);
}

static void past_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct past *ca = inet_csk_ca(sk);
	struct ring *ring = ca->ring;

	if (ring) {
		ring->cwnd[ring->head] = tcp_snd_cwnd(tcp_sk(sk));
		ring->head = (ring->head + 1) % RING_LENGTH;
		ring->count = min_t(u16, ring->count + 1, RING_LENGTH);
		if (ca->rows && ca->rows[ring->head % 4])
			ca->rows[ring->head % 4][ring->head % 8] = ack;
	}
	tcp_reno_cong_avoid(sk, ack, acked);
}

static u32 past_ssthresh(struct sock *sk)
{
	struct past *ca = inet_csk_ca(sk);
	u32 least = tcp_snd_cwnd(tcp_sk(sk));
	u16 i;

	ca->losses++;
	for (i = 0; ca->ring && i < ca->ring->count; i++)
		least = min(least, ca->ring->cwnd[i]);
	return max(least * 3 / 4, 2U);
}

static struct tcp_congestion_ops past __read_mostly = {
	.init		= past_init,
	.release	= past_release,
	.ssthresh	= past_ssthresh,
	.cong_avoid	= past_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "past",
};

static int __init past_register(void)
{
	BUILD_BUG_ON(sizeof(struct past) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&past);
}

static void __exit past_unregister(void)
{
	tcp_unregister_congestion_control(&past);
}

module_init(past_register);
module_exit(past_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("history");
