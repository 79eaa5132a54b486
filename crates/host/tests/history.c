/* After a loss the window is three quarters of the smallest of the last 100 ACKs: 400 bytes of history. */
#include "tcp_cc.h"

#define LENGTH 100

struct history {
	u32 cwnd[LENGTH];	/* packets; 0: not yet */
	u32 next;
};
CC_STORAGE(struct history);

CC_HOOK(void, history_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct history *history = cc_storage(sk);

	if (history) {
		u32 at = history->next;

		if (at >= LENGTH)
			at = 0;
		history->cwnd[at] = tcp_snd_cwnd(tcp_sk(sk));
		history->next = at + 1;
	}
	tcp_reno_cong_avoid(sk, ack, acked);
}

CC_HOOK(u32, history_ssthresh, struct sock *sk)
{
	const struct history *history = cc_storage(sk);
	u32 least = tcp_snd_cwnd(tcp_sk(sk));

	if (!history)
		return tcp_reno_ssthresh(sk);
	for (u32 i = 0; i < LENGTH; i++)
		if (history->cwnd[i])
			least = min(least, history->cwnd[i]);
	return max(least * 3 / 4, 2U);
}

CC_ALGORITHM(history, "three quarters of the smallest window of 100 ACKs",
	     .ssthresh = history_ssthresh,
	     .cong_avoid = history_cong_avoid,
	     .undo_cwnd = tcp_reno_undo_cwnd);
